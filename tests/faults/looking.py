# SPDX-License-Identifier: MIT
"""Programs that are started by two, and looked after each 0.1 s."""
import subprocess
import sys
import time

PAIRS = 8
WORK = "print(sum(i * i for i in range(100000)), file=open('/dev/null', 'w'))"


def start():
    return [subprocess.Popen([sys.executable, "-S", "-c", WORK]) for _ in range(2)]


def faulty():
    done = 0
    for _ in range(PAIRS):
        running = start()
        while any(process.poll() is None for process in running):
            time.sleep(0.1)  # fault: IO-SLEEP
        done += len(running)
    print(done)


def healthy():
    done = 0
    for _ in range(PAIRS):
        running = start()
        for process in running:
            process.wait()
        done += len(running)
    print(done)


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
