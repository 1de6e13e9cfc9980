# SPDX-License-Identifier: MIT
"""A tensor is transposed in memory for each use of it."""
import sys

import torch

ROUNDS = 60


def run(rearrange):
    torch.set_num_threads(1)
    images = torch.arange(3 * 2048 * 1024, dtype=torch.float32).reshape(3, 2048, 1024)
    total = 0
    for i in range(ROUNDS):
        total += int(rearrange(images)[i].sum() > 0)
    print(total)


def faulty():
    run(lambda images: images.permute(2, 1, 0).contiguous())  # fault: OP-COPY


def healthy():
    run(lambda images: images.permute(2, 1, 0))


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
