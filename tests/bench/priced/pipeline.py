# SPDX-License-Identifier: MIT
"""A thread reads records for another, which sums them: CUT leaves out the pause of each read."""
import os
import queue
import threading
import time

CUT = bool(os.environ.get("CUT"))
RECORDS = 400


def read_record(i):
    if not CUT:
        time.sleep(0.004)
    return i


def produce(records):
    for i in range(RECORDS):
        records.put(read_record(i))


def consume(records):
    for _ in range(RECORDS):
        value = records.get()
        for k in range(10000):
            value += k


def main():
    records = queue.Queue(4)
    producer = threading.Thread(target=produce, args=(records,))
    producer.start()
    consume(records)
    producer.join()


if __name__ == "__main__":
    main()
