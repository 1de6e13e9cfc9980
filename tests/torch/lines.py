# SPDX-License-Identifier: MIT
"""lines.py STEPS: what calls which op, and whose derivative is whose.

A comment names what its line calls, or what is the derivative of what it calls.
"""
import sys
import threading

import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.square()  # op: aten::square

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad.mul(x).mul(2)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3)
        self.norm = torch.nn.BatchNorm2d(8)
        self.last = torch.nn.Linear(8, 10)

    def forward(self, x):
        x = self.conv(x)  # backward: ConvolutionBackward0
        x = self.norm(x)  # backward: NativeBatchNormBackward0
        held = x.detach()
        x = Square.apply(x)  # backward: SquareBackward
        x = x + held  # backward: AddBackward0
        x = torch.relu(x)  # backward: ReluBackward0
        x = x.mean(dim=(2, 3))  # backward: MeanBackward1
        return self.last(x)  # backward: AddmmBackward0


def step(net, optimizer):
    optimizer.zero_grad()
    out = net(torch.rand(4, 3, 16, 16))
    loss = torch.nn.functional.cross_entropy(  # backward: NllLossBackward0
        out, torch.zeros(4, dtype=torch.long))
    loss.backward()
    optimizer.step()  # op: Optimizer.step#SGD.step


def work(steps):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(steps):
        step(net, optimizer)


def elsewhere(steps):
    """The forward pass in one thread, the backward pass in others."""
    x = torch.rand(8, 8, requires_grad=True)
    for _ in range(steps):
        y = x.sigmoid().sum()  # backward: SigmoidBackward0
        thread = threading.Thread(target=y.backward)
        thread.start()
        thread.join()


def made():
    """Functions that are made anew, often at the address of the one before."""
    for i in range(50):
        code = "\n" * i + "torch.ones(2).cos()"
        exec(compile(code, f"made{i % 5}.py", "exec"), {"torch": torch})  # pylint: disable=exec-used


if __name__ == "__main__":
    work(int(sys.argv[1]))
    elsewhere(int(sys.argv[1]))
    made()
