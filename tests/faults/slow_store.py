# SPDX-License-Identifier: MIT
"""A cache that threads share is locked while the slow store behind it is asked."""
import sys
import threading
import time
import zlib

THREADS, KEYS = 8, 10
LOCK = threading.Lock()
CACHE = {}
PAGE = bytes(i * 7 % 251 for i in range(50_000))


def ask_store(key):
    time.sleep(0.02)  # fault: CPU-HOLDER
    return key * 2


def get_locked(key):
    with LOCK:
        if key not in CACHE:
            CACHE[key] = ask_store(key)
        return CACHE[key]


def get_beside(key):
    zlib.compress(PAGE)
    with LOCK:
        return CACHE.setdefault(key, key * 2)


def work(number, get):
    for k in range(KEYS):
        get(number * KEYS + k)


if __name__ == "__main__":
    GET = get_beside if sys.argv[1:] == ["healthy"] else get_locked
    threads = [threading.Thread(target=work, args=(number, GET)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(len(CACHE))
