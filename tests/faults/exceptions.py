# SPDX-License-Identifier: MIT
"""Exceptions for what happens all the time."""
import sys

# names: _PyErr_SetObject
ROUNDS = 2_500_000


def faulty():
    table, found = {1: 1}, 0
    for i in range(ROUNDS):
        try:
            found += table[i]  # fault: CPU-THROW
        except KeyError:
            pass
    print(found)


def healthy():
    table, found = {1: 1}, 0
    for i in range(ROUNDS):
        found += table.get(i, 0)
    print(found)


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
