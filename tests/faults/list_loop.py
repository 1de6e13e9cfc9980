# SPDX-License-Identifier: MIT
"""A matrix product of nested lists."""
import sys

import numpy

SIZE = 220


def faulty():
    a = [[(i + k) % 10 for k in range(SIZE)] for i in range(SIZE)]
    b = [[(i * k) % 10 for k in range(SIZE)] for i in range(SIZE)]
    total = 0
    for i in range(SIZE):
        for j in range(SIZE):
            cell = 0
            for k in range(SIZE):
                cell += a[i][k] * b[k][j]  # fault: PY-INTERP
            total += cell
    print(total)


def healthy():
    i, k = numpy.indices((SIZE, SIZE))
    a, b = (i + k) % 10, (i * k) % 10
    print(int((a.astype(float) @ b.astype(float)).sum()))


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
