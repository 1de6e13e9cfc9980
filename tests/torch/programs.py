# SPDX-License-Identifier: MIT
"""programs.py NAME ARGUMENTS...: programs whose ops are known, for torch_ops.py."""
import sys
import threading

import torch
from torch.autograd.profiler import record_function
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.full((4,), float(index)).mul(2)


def threads():
    def work():
        for _ in range(1000):
            torch.ones(3).mul(2)
    started = [threading.Thread(target=work) for _ in range(4)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


def workers(number, method):
    number = int(number)
    loader = DataLoader(Numbers(), batch_size=8, num_workers=number,
                        multiprocessing_context=method if number else None)
    print(sum(batch.sum().item() for batch in loader))


def labels():
    for _ in range(3):
        with record_function("LABEL1: linear pass"):
            with record_function("LABEL1: linear pass, inner"):
                torch.rand(64, 64) @ torch.rand(64, 64)
            torch.rand(256, 256) @ torch.rand(256, 256)


def handed():
    for _ in range(10):
        label = record_function("handed on")
        label.__enter__()
        torch.ones(3).mul(2)
        thread = threading.Thread(target=label.__exit__, args=(None, None, None))
        thread.start()
        thread.join()
        torch.ones(3).mul(2)


def compiled():
    @torch.compile(dynamic=True)
    def step(x, y):
        return (x * y + torch.sin(x)).sum()
    torch.manual_seed(0)
    for size in (4, 7, 9):
        print(round(step(torch.rand(size), torch.rand(size)).item(), 4))


if __name__ == "__main__":
    {"threads": threads, "workers": workers, "labels": labels, "handed": handed,
     "compile": compiled}[sys.argv[1]](*sys.argv[2:])
