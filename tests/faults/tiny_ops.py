# SPDX-License-Identifier: MIT
"""A tensor is worked on one number at a time."""
import sys

import torch

SIZE = 150_000


def faulty():
    torch.set_num_threads(1)
    values = torch.arange(SIZE, dtype=torch.float64)
    total = torch.zeros((), dtype=torch.float64)
    for i in range(SIZE):
        total += values[i] * 2 + 1  # fault: OP-TINY
    print(int(total))


def healthy():
    torch.set_num_threads(1)
    values = torch.arange(SIZE, dtype=torch.float64)
    print(int((values * 2 + 1).sum()))


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
