# SPDX-License-Identifier: MIT
"""A text that is built by adding to it, while something else holds it too."""
import sys

LINES = 14_000


class Page:
    def __init__(self):
        self.text = ""

    def add(self, line):
        self.text = self.text + line  # fault: CPU-QUADRATIC


def faulty():
    page = Page()
    for i in range(LINES):
        page.add("line %d of the page\n" % i)
    print(len(page.text))


def healthy():
    lines = []
    for i in range(LINES):
        lines.append("line %d of the page\n" % i)
    print(len("".join(lines)))


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
