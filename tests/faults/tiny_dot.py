# SPDX-License-Identifier: MIT
"""Vectors of three are multiplied one by one, each with a call of NumPy."""
import sys

import numpy

a = numpy.arange(2_400_000, dtype=numpy.float64).reshape(-1, 3) % 10
b = a[::-1].copy()


def faulty():
    total = 0.0
    for i in range(len(a)):
        total += numpy.dot(a[i], b[i])  # fault: OP-TINY
    print(int(total))


def healthy():
    print(int((a * b).sum()))


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
