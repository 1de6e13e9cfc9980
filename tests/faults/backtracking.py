# SPDX-License-Identifier: MIT
"""A repetition within a repetition: a text that does not match is tried in all ways to split it."""
import re
import sys

WORDS = ["alpha", "beta", "gamma"]
LINES = [" ".join(WORDS[(i + j) % 3] for j in range(3)) + "xxxxxx!" for i in range(110)]
NESTED = re.compile(r"^(\w+\s?)*:$")
SINGLE = re.compile(r"^\w+(?:\s\w+)*:$")


def count(pattern, lines):
    found = 0
    for line in lines:
        found += bool(pattern.match(line))  # fault: CPU-MATCH
    return found


def faulty():
    print(count(NESTED, LINES))


def healthy():
    print(count(SINGLE, LINES))


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
