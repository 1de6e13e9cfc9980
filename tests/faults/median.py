# SPDX-License-Identifier: MIT
"""All is sorted again after each number that comes."""
import bisect
import sys

NUMBERS = 9_000


def numbers():
    seed = 1
    for _ in range(NUMBERS):
        seed = (seed * 1664525 + 1013904223) % 2**32
        yield seed


def faulty():
    seen, total = [], 0
    for number in numbers():
        seen.append(number)
        seen = sorted(seen)  # fault: CPU-SORT
        total += seen[len(seen) // 2]
    print(total)


def healthy():
    seen, total = [], 0
    for number in numbers():
        bisect.insort(seen, number)
        total += seen[len(seen) // 2]
    print(total)


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
