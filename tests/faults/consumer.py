# SPDX-License-Identifier: MIT
"""Jobs go to a thread that looks for them now and then, and the producer waits for each result."""
import queue
import sys
import threading
import time
import zlib

JOBS = 40
PAYLOAD = bytes(i * 7 % 251 for i in range(20_000))


def wait_for(jobs):
    while jobs.empty():
        time.sleep(0.05)  # fault: IO-SLEEP
    return jobs.get()


def consume(jobs, results, take):
    for job in iter(lambda: take(jobs), None):
        results.put(zlib.crc32(job))


def produce(take):
    jobs, results = queue.Queue(), queue.Queue()
    consumer = threading.Thread(target=consume, args=(jobs, results, take))
    consumer.start()
    total = 0
    for _ in range(JOBS):
        jobs.put(PAYLOAD)
        total += results.get()
    jobs.put(None)
    consumer.join()
    print(total)


if __name__ == "__main__":
    produce(queue.Queue.get if sys.argv[1:] == ["healthy"] else wait_for)
