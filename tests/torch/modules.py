# SPDX-License-Identifier: MIT
"""modules.py: models whose modules are known by their ways."""
import os

import torch
from torch import nn


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU())])
        self.apart = [nn.Linear(4, 4)]  # not registered

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return torch.tanh(self.apart[0](x))


def main():
    first, second = Outer(), Outer()
    for _ in range(3):
        first(torch.ones(2, 4)).sum().backward()
        second(torch.ones(2, 4))
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        return
    with torch.no_grad():
        first(torch.ones(2, 4))
    os._exit(0)


main()
