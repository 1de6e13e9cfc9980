# SPDX-License-Identifier: MIT
"""A loop in Python over the elements of a NumPy array."""
import sys

import numpy

values = numpy.arange(200_000) % 1000
ROUNDS = 25


def faulty():
    total = 0
    for _ in range(ROUNDS):
        for value in values:
            total += value * value  # fault: PY-INTERP
    print(int(total))


def healthy():
    print(sum(int((values * values).sum()) for _ in range(ROUNDS)))


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
