# SPDX-License-Identifier: MIT
"""A DataLoader whose workers take longer for a batch than the model: CUT leaves decode() out."""
import os

import torch
from torch.utils.data import DataLoader, Dataset

CUT = bool(os.environ.get("CUT"))


def decode(i):
    value = 0
    for k in range(200000):
        value = (value * 31 + k + i) % 1000003
    return value


class Pictures(Dataset):
    def __len__(self):
        return 240

    def __getitem__(self, i):
        if not CUT:
            decode(i)
        return torch.ones(64)


def main():
    torch.set_num_threads(1)
    model = torch.nn.Linear(64, 64)
    for batch in DataLoader(Pictures(), batch_size=4, num_workers=1):
        model(batch).sum().backward()


if __name__ == "__main__":
    main()
