# SPDX-License-Identifier: MIT
"""A thread whose result is waited for by sleeping and looking."""
import sys
import threading
import time
import zlib

DATA = bytes(1 << 20)


class Job(threading.Thread):
    def __init__(self, number):
        super().__init__()
        self.number, self.result = number, None

    def run(self):
        self.result = self.number
        for _ in range(20):
            self.result = zlib.crc32(DATA, self.result)


def faulty():
    total = 0
    for i in range(15):
        job = Job(i)
        job.start()
        while job.is_alive():
            time.sleep(0.1)  # fault: IO-SLEEP
        total += job.result
    print(total)


def healthy():
    total = 0
    for i in range(15):
        job = Job(i)
        job.start()
        job.join()
        total += job.result
    print(total)


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
