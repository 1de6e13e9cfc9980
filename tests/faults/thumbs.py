# SPDX-License-Identifier: MIT
"""Pictures that go to the workers of a pool, and their numbers, which are enough."""
import multiprocessing
import sys

PICTURES = [bytes([i]) * 16_000_000 for i in range(6)]
ROUNDS = 10
STEP = 16


def shrink(picture):
    return sum(picture[::STEP])


def shrink_by_number(number):
    return shrink(PICTURES[number])


def faulty(pool):
    return pool.map(shrink, PICTURES)  # fault: PY-SERIALIZE


def healthy(pool):
    return pool.map(shrink_by_number, range(len(PICTURES)))


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    with multiprocessing.Pool(2) as workers:
        for _ in range(ROUNDS):
            SUMS = (healthy(workers) if sys.argv[1:] == ["healthy"] else faulty(workers))
        print(sum(SUMS))
