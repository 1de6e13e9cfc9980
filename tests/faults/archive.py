# SPDX-License-Identifier: MIT
"""Logs that are packed as small as can be, and read once."""
import sys
import zlib

BLOCKS = 12


def block(number):
    levels = ("info", "warning", "error")
    return "".join("%d %s %d\n" % (i * number, levels[i * i % 3], i * 7919 % 997)
                   for i in range(20_000)).encode()


def faulty():
    total = 0
    for number in range(BLOCKS):
        packed = zlib.compress(block(number), 9)  # fault: CPU-COMPRESS
        total += len(zlib.decompress(packed))
    print(total)


def healthy():
    total = 0
    for number in range(BLOCKS):
        packed = zlib.compress(block(number), 1)
        total += len(zlib.decompress(packed))
    print(total)


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
