# SPDX-License-Identifier: MIT
"""More patterns than the re module keeps: each is compiled again and again."""
import re
import sys

NAMES = ["name%d" % i for i in range(600)]
LINES = ["name%d = %d" % (i % 700, i) for i in range(25)]


def faulty():
    found = 0
    for line in LINES:
        for name in NAMES:
            found += bool(re.match(r"%s\s*=\s*([0-9]+|[a-f]+)$" % name, line))  # fault: CPU-REGEX
    print(found)


def healthy():
    pattern = re.compile(r"(\w+)\s*=\s*([0-9]+|[a-f]+)$")
    names = set(NAMES)
    print(sum(bool(match) and match.group(1) in names for match in map(pattern.match, LINES)))


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
