# SPDX-License-Identifier: MIT
"""Systems of equations, solved by way of inverse matrices."""
import sys

import numpy

SIZE, SYSTEMS = 700, 20


def system(random):
    return random.random((SIZE, SIZE)) + SIZE * numpy.eye(SIZE), random.random(SIZE)


def faulty():
    random, total = numpy.random.default_rng(1), 0.0
    for _ in range(SYSTEMS):
        a, b = system(random)
        total += (numpy.linalg.inv(a) @ b).sum()  # fault: OP-INVERSE
    print(round(float(total), 2))


def healthy():
    random, total = numpy.random.default_rng(1), 0.0
    for _ in range(SYSTEMS):
        a, b = system(random)
        total += numpy.linalg.solve(a, b).sum()
    print(round(float(total), 2))


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
