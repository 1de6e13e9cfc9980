# SPDX-License-Identifier: MIT
"""A list in which each word is looked for from the beginning."""
import sys

WORDS = 6_000


def words():
    return ["word%d" % (i * 7919 % (WORDS * 2)) for i in range(WORDS * 2)]


def faulty():
    seen = []
    for word in words():
        if word not in seen:  # fault: CPU-QUADRATIC
            seen.append(word)
    print(len(seen))


def healthy():
    seen = set()
    for word in words():
        if word not in seen:
            seen.add(word)
    print(len(seen))


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
