# SPDX-License-Identifier: MIT
"""A command is started for each of many files."""
import subprocess
import sys

NAMES = ["file-%d.txt" % i for i in range(250)]


def faulty():
    print(sum(len(subprocess.run(["basename", name, ".txt"], capture_output=True)  # fault: CPU-SPAWN
                  .stdout.strip()) for name in NAMES))


def healthy():
    print(sum(len(name[:-len(".txt")]) for name in NAMES))


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
