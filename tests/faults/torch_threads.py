# SPDX-License-Identifier: MIT
"""Far more threads for PyTorch's ops than there are CPUs."""
import os
import sys

import torch

SIZE = 1 << 21
ROUNDS = 120


def run(threads):
    torch.set_num_threads(threads)
    values = torch.arange(SIZE, dtype=torch.float32)
    for _ in range(ROUNDS):
        result = torch.tanh(values)  # fault: CPU-OVERSUB
    print(int(result.sum() > 0))


if __name__ == "__main__":
    run(len(os.sched_getaffinity(0)) * (1 if sys.argv[1:] == ["healthy"] else 16))
