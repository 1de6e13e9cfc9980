# SPDX-License-Identifier: MIT
"""Settings that are read from their document for each request."""
import json
import sys

DOCUMENT = json.dumps({"section%d" % i: {"key%d" % j: i * j for j in range(40)}
                       for i in range(40)})
REQUESTS = 3_000


def answer(settings, i):
    return settings["section%d" % (i % 40)]["key%d" % (i % 40)]


def faulty():
    total = 0
    for i in range(REQUESTS):
        settings = json.loads(DOCUMENT)  # fault: PY-SERIALIZE
        total += answer(settings, i)
    print(total)


def healthy():
    settings = json.loads(DOCUMENT)
    total = 0
    for i in range(REQUESTS):
        total += answer(settings, i)
    print(total)


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
