# SPDX-License-Identifier: MIT
"""Matrices of NumPy's usual double, where single precision is plenty."""
import sys

import numpy

SIZE = 1000
ROUNDS = 30


def product(dtype):
    a = (numpy.indices((SIZE, SIZE)).sum(axis=0) % 3).astype(dtype)
    b = a.T.copy()
    total = 0
    for _ in range(ROUNDS):
        total += int((a @ b)[0, 0])  # fault: OP-DOUBLE
    print(total)


if __name__ == "__main__":
    product(numpy.float32 if sys.argv[1:] == ["healthy"] else numpy.float64)
