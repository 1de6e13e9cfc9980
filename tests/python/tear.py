# SPDX-License-Identifier: MIT
"""tear.py SECONDS [THREADS]: calls as fast as can be, each from a line that says whom it calls."""
import sys
import threading
import time


def leaf_one(x):
    y = x * 3
    y = y ^ 5
    return y & 255


def leaf_two(x):
    s = 0
    for i in range(8):
        s += i ^ x
    return s


def middle(x):
    a = leaf_one(x)  # calls leaf_one
    b = leaf_two(x)  # calls leaf_two
    return a + b


def rec(n):
    if n <= 0:
        return middle(n)  # calls middle
    r = rec(n - 1)  # calls rec
    return r + leaf_one(n)  # calls leaf_one


def generate(n):
    for i in range(n):
        yield middle(i)  # calls middle


def use(n):
    t = 0
    for v in generate(n):  # calls generate
        t += v
    return t


def order(n):
    return sorted(range(n), key=key)  # calls key


def key(v):
    return leaf_one(v)  # calls leaf_one


def deep(n):
    if n:
        return deep(n - 1)  # calls deep
    return middle(n)  # calls middle


def top(seconds):
    end = time.time() + seconds
    k = 0
    while time.time() < end:
        rec(10)  # calls rec
        use(5)  # calls use
        order(10)  # calls order
        deep(40)  # calls deep
        k += 1
    return k


if __name__ == "__main__":
    seconds = float(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    started = []
    for _ in range(count):
        started.append(threading.Thread(target=top, args=(seconds,)))
    for t in started:
        t.start()
    top(seconds)  # calls top
    for t in started:
        t.join()
