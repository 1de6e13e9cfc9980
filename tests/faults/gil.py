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
    context = multiprocessing.get_context("fork")
    totals = context.Array("q", WORKERS)

    def work(first):
        for index in range(first, WORKERS, 2):
            totals[index] = compute(index)
    processes = [context.Process(target=work, args=(i,)) for i in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    print(sum(totals))


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
