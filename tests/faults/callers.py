# SPDX-License-Identifier: MIT
"""The name of the caller, found with its source file each time."""
import collections
import inspect
import sys

CALLS = 1_500


def orders(count, name):
    for i in range(CALLS):
        count[name()] += i % 7
    print(sorted(count.items()))


def faulty():
    def name():
        return inspect.stack()[1].function  # fault: PY-INSPECT
    orders(collections.Counter(), name)


def healthy():
    def name():
        return sys._getframe(1).f_code.co_name
    orders(collections.Counter(), name)


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
