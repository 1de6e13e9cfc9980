# SPDX-License-Identifier: MIT
"""Batches that are made from lists of numbers at each step."""
import sys

import torch

ROWS = [[(i * 7919 + k) % 1000 / 1000 for k in range(256)] for i in range(2_000)]
STEPS, SIZE = 400, 500


def train(batch):
    weights, total = torch.full((256, 8), 0.5), 0.0
    for step in range(STEPS):
        total += float((batch(step * SIZE % len(ROWS)) @ weights)[0, 0])
    print(round(total, 2))


def faulty():
    def batch(start):
        return torch.tensor(ROWS[start:start + SIZE])  # fault: OP-LIST
    train(batch)


def healthy():
    table = torch.tensor(ROWS)

    def batch(start):
        return table[start:start + SIZE]
    train(batch)


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
