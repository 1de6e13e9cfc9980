# SPDX-License-Identifier: MIT
"""Vectors of three are multiplied one by one, each with a call of NumPy."""
import sys

import numpy

a = numpy.arange(120_000, dtype=numpy.float64).reshape(-1, 3) % 10
b = a[::-1].copy()
ROUNDS = 20


def faulty():
    total = 0.0
    for _ in range(ROUNDS):
        for i in range(len(a)):
            total += numpy.dot(a[i], b[i])  # fault: OP-TINY
    print(int(total))


def healthy():
    print(sum(int((a * b).sum()) for _ in range(ROUNDS)))


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
