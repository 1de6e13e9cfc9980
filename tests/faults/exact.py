# SPDX-License-Identifier: MIT
"""Means of readings as fractions."""
import fractions
import sys

READINGS = [[(i * 7919 + k * 104729) % 1024 / 1024 for k in range(200)] for i in range(200)]


def faulty():
    total = 0.0
    for row in READINGS:
        exact = [fractions.Fraction(value) ** 2 + 1 for value in row]  # fault: PY-EXACT
        total += float(max(exact))
    print(round(total, 6))


def healthy():
    total = 0.0
    for row in READINGS:
        total += max([value ** 2 + 1 for value in row])
    print(round(total, 6))


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
