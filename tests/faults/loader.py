# SPDX-License-Identifier: MIT
"""Training that waits for its data, which are made in the training process."""
import sys

import torch


class Pictures(torch.utils.data.Dataset):
    def __init__(self, slowly):
        self.slowly = slowly
        self.pictures = None if slowly else torch.stack([self.decode(i) for i in range(4)])

    def __len__(self):
        return 4000

    def decode(self, i):
        pixels = [(i % 4 * 31 + k) % 256 for k in range(3 * 32 * 32)]
        return torch.tensor(pixels, dtype=torch.float32).reshape(3, 32, 32)

    def __getitem__(self, i):
        if self.slowly:
            return self.decode(i)
        return self.pictures[i % 4]


def train(slowly):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 64),
                                torch.nn.ReLU(), torch.nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
    steps = 0
    for _ in range(1):
        for batch in torch.utils.data.DataLoader(Pictures(slowly), batch_size=16):  # fault: OP-LOADER
            optimizer.zero_grad()
            model(batch).sum().backward()
            optimizer.step()
            steps += 1
    print(steps)


if __name__ == "__main__":
    train(sys.argv[1:] != ["healthy"])
