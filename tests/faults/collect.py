# SPDX-License-Identifier: MIT
"""A full garbage collection after each piece of work, with many objects alive."""
import gc
import sys

gc.disable()
table = [[i] for i in range(100_000)]
gc.enable()


def work(i):
    pair = [i]
    pair.append(pair)
    return len(pair) + sum(range(100_000))


def faulty():
    total = 0
    for i in range(240):
        total += work(i)
        gc.collect()  # fault: PY-GC
    print(total)


def healthy():
    total = 0
    for i in range(240):
        total += work(i)
    print(total)


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
