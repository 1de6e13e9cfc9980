# SPDX-License-Identifier: MIT
"""Threads that compute in Python: one at a time can."""
import multiprocessing
import sys
import threading

WORKERS = 4


def compute(first):
    total = 0
    for i in range(first, 16_000_000, WORKERS):
        total += i * i % 7  # fault: PY-GIL
    return total


def faulty():
    totals = [0] * WORKERS

    def work(index):
        totals[index] = compute(index)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sum(totals))


def healthy():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(sum(pool.map(compute, range(WORKERS), chunksize=1)))


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
