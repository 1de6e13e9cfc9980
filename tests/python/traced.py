# SPDX-License-Identifier: MIT
"""traced.py [ROUNDS]: a comment names how often a function is called, or goes on. Work is shared out
so that samples tell where it was done."""
import sys
import threading


def work(count):
    total = 0
    for i in range(count):
        total += i * i % 7
    return total


class Net:
    def forward(self, count):  # calls: 23
        return self.layer(count) + work(count)

    def layer(self, count):  # calls: 23
        return work(2 * count)

    def broken(self):  # calls: 23
        raise ValueError


def numbers(count):  # calls: 138
    for i in range(count):
        yield work(10)


def step(net):  # calls: 23
    net.forward(SIZE)
    try:
        net.broken()
    except ValueError:
        pass
    return sum(numbers(5))


def deep(depth):  # calls: 61
    return 0 if depth == 0 else deep(depth - 1) + 1


def left():  # calls: 1
    sys.exit(0)


def untold():
    return work(10)


def main():
    net = Net()
    for _ in range(20):
        step(net)
    deep(60)
    untold()
    thread = threading.Thread(target=lambda: [step(net) for _ in range(3)])
    thread.start()
    thread.join()
    print("done", flush=True)
    left()


SIZE = int(sys.argv[1]) if len(sys.argv) > 1 else 100
main()
