# SPDX-License-Identifier: MIT
"""A grid is smoothed one element at a time."""
import sys

import numpy

SIZE, ROUNDS = 120, 80


def start():
    return numpy.arange(SIZE * SIZE, dtype=float).reshape(SIZE, SIZE) % 7


def faulty():
    grid = start()
    for _ in range(ROUNDS):
        for i in range(1, SIZE - 1):
            for k in range(1, SIZE - 1):
                grid[i, k] += grid[i - 1, k] + grid[i + 1, k] - 2 * grid[i, k]  # fault: PY-ELEMENT
    print(grid.shape)


def healthy():
    grid = start()
    for _ in range(100 * ROUNDS):
        grid[1:-1, 1:-1] = (grid[:-2, 1:-1] + grid[2:, 1:-1]) / 2
    print(grid.shape)


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
