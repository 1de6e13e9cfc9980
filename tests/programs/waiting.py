# SPDX-License-Identifier: MIT
"""Python threads that wait for each other, with known truth: waiting.py SCENE."""
import concurrent.futures
import multiprocessing
import queue
import select
import sys
import threading
import time


def work(milliseconds):
    end = time.thread_time() + milliseconds / 1e3
    while time.thread_time() < end:
        for _ in range(200):
            pass


def compute():
    work(150)


def run(*functions):
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


LOCK = threading.Lock()
HELD = threading.Semaphore(0)


def store():
    time.sleep(0.006)


def keep():
    for _ in range(20):
        with LOCK:
            HELD.release()
            store()
        work(1)


def want():
    for _ in range(20):
        HELD.acquire()
        with LOCK:  # wanted
            pass


ITEMS = queue.Queue(1)


def produce():
    for i in range(30):
        store()
        ITEMS.put(i)
    ITEMS.put(None)


def consume():
    while ITEMS.get() is not None:  # wanted
        work(1)


def hold_shared(lock):
    for _ in range(20):
        with lock:
            store()
        work(1)


def share():
    lock = multiprocessing.get_context("fork").Lock()
    child = multiprocessing.get_context("fork").Process(target=hold_shared, args=(lock,))
    child.start()
    while child.is_alive():
        with lock:  # wanted
            pass
        time.sleep(0.001)
    child.join()


def count(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


def execute():
    """What threads do not make faster: one at a time has Python's lock."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(count, [1500000] * 8))


CHANGED = threading.Condition()
MADE = []


def make():
    for i in range(30):
        store()
        with CHANGED:
            MADE.append(i)
            CHANGED.notify()


def take():
    for _ in range(30):
        with CHANGED:
            while not MADE:
                CHANGED.wait()  # wanted
            MADE.pop()
        work(1)


def ask():
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        for _ in range(30):
            pool.submit(store).result()  # wanted
            work(1)


def fetch():
    select.select([], [], [], 0.01)


def fetch_in_turns():
    for _ in range(20):
        with LOCK:
            fetch()
        work(1)  # the others get it


def load(items):
    """A worker of a data loader."""
    for i in range(30):
        count(300000)
        items.put(i)
    items.put(None)


def train():
    items = multiprocessing.get_context("fork").Queue(2)
    worker = multiprocessing.get_context("fork").Process(target=load, args=(items,))
    worker.start()
    while items.get() is not None:  # wanted
        work(1)
    worker.join()


{"condition": lambda: run(make, take),
 "future": ask,
 "loader": train,
 "shared": share,
 "executor": execute,
 "gil": lambda: run(compute, compute, compute),
 "lock": lambda: run(keep, want),
 "locked_wait": lambda: run(*[fetch_in_turns] * 4),
 "queue": lambda: run(produce, consume)}[sys.argv[1]]()
