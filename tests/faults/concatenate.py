# SPDX-License-Identifier: MIT
"""A NumPy array that grows by a row at a time: all of it is copied for each."""
import sys

import numpy

ROWS = 5_000


def row(i):
    return numpy.full((1, 64), i, dtype=numpy.float32)


def faulty():
    rows = numpy.empty((0, 64), dtype=numpy.float32)
    for i in range(ROWS):
        rows = numpy.concatenate([rows, row(i)])  # fault: MEM-COPY
    print(int(rows[:, 0].sum(dtype=float)))


def healthy():
    rows = numpy.concatenate([row(i) for i in range(ROWS)])
    print(int(rows[:, 0].sum(dtype=float)))


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
