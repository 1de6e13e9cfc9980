# SPDX-License-Identifier: MIT
"""Each line is written by itself."""
import sys
import tempfile

LINES = 600_000


def faulty():
    with tempfile.TemporaryFile("w", encoding="utf-8") as out:
        for i in range(LINES):
            print(i, file=out, flush=True)  # fault: IO-TINY


def healthy():
    with tempfile.TemporaryFile("w", encoding="utf-8") as out:
        for i in range(LINES):
            print(i, file=out)


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
