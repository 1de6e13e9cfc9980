# SPDX-License-Identifier: MIT
"""A queue that is a list, whose elements all move when the first one goes."""
import collections
import sys

ITEMS = 130_000


def faulty():
    queue = list(range(ITEMS))
    total = 0
    while queue:
        total += queue.pop(0)  # fault: CPU-QUADRATIC
    print(total)


def healthy():
    queue = collections.deque(range(ITEMS))
    total = 0
    while queue:
        total += queue.popleft()
    print(total)


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
