# SPDX-License-Identifier: MIT
"""A loop in Python over the elements of a NumPy array."""
import sys

import numpy

values = numpy.arange(4_000_000) % 1000


def faulty():
    total = 0
    for value in values:
        total += value * value  # fault: PY-INTERP
    print(int(total))


def healthy():
    print(int((values * values).sum()))


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
