# SPDX-License-Identifier: MIT
"""calling.py: a comment names the op that its line calls, and how often."""
import gc
import sys


class Ring:
    def __init__(self):
        self.own = [self]


def collect():
    for _ in range(7):
        gc.collect()  # calls: 7 garbage collection


def allocate(count):
    kept = []
    for _ in range(count):
        kept.append({0: Ring()})
    return kept


def numbers():
    try:
        import numpy
    except ImportError:
        return
    a = numpy.random.rand(60, 60) / 60
    for _ in range(40):
        a = a @ a / 30  # calls: 40 dgemm
    for _ in range(9):
        numpy.linalg.inv(a + numpy.eye(60))  # calls: 9 dgesv
    print("numpy")


gc.disable()
collect()
numbers()
if sys.argv[1:] == ["allocate"]:
    gc.enable()
    allocate(200000)
