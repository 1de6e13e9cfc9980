# SPDX-License-Identifier: MIT
"""Paths of a graph by products of its matrix, of whole numbers and of floating-point ones."""
import glob
import os
import sys

import numpy as np

NODES = 450


def has_names():
    """Whether NumPy's own functions have names, as in its wheels: they are what is recognized."""
    found = glob.glob(os.path.join(os.path.dirname(np.__file__), "*core", "_multiarray_umath*.so"))
    return any(b"LONG_matmul\0" in open(path, "rb").read() for path in found)


def adjacency():
    numbers = np.arange(NODES * NODES) * 2654435761 % 1009
    return (numbers < 100).astype(np.int64).reshape(NODES, NODES)


def paths(matrix):
    step = matrix
    for _ in range(4):
        step = np.minimum(step @ matrix, 1000)  # fault: PY-MATMUL
    return int(step.sum())


def faulty():
    print(paths(adjacency()))


def healthy():
    print(paths(adjacency().astype(np.float64)))


if __name__ == "__main__":
    if not has_names():
        sys.exit(77)
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
