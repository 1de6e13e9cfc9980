# SPDX-License-Identifier: MIT
"""survive.py SECONDS KIND: what is hard on who reads Python's frames at any instant."""
import ctypes
import faulthandler
import gc
import json
import os
import subprocess
import sys
import threading
import time


def until(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield


def read_json(seconds):
    text = json.dumps({"key %d" % i: [i, str(i), {"a": i / 7}] for i in range(200)})
    for _ in until(seconds):
        json.loads(text, object_hook=lambda d: d)
        json.dumps(json.loads(text), default=str)


def execute(seconds):
    """Code objects that come and go, and memory that is given back."""
    for n, _ in enumerate(until(seconds)):
        body = "\n".join("    x%d = [%d] * 3" % (i, i) for i in range(n % 300))
        space = {}
        exec("def made_%d(a):\n%s\n    return a\n" % (n % 7, body), space)
        space["made_%d" % (n % 7)](n)
        eval("(lambda: %d)()" % n)
        if n % 50 == 0:
            kept = [compile("def f(): return %d" % i, "many", "exec") for i in range(300)]
            del kept, space
            gc.collect()


def churn(seconds):
    """Threads that live for a moment."""
    def work(depth):
        return sum(i for i in range(50)) if depth == 0 else work(depth - 1)

    for _ in until(seconds):
        started = [threading.Thread(target=work, args=(d,)) for d in (1, 20, 200)]
        for t in started:
            t.start()
        for t in started:
            t.join()


def fork(seconds):
    for n, _ in enumerate(until(seconds)):
        child = os.fork()
        if child == 0:
            execute(0.02)
            if n % 2:
                sys.exit(0)
            os._exit(0)
        os.waitpid(child, 0)


SHUTDOWN = """
import threading, time, zlib, atexit, weakref
def daemon():
    while True:
        zlib.compress(b'abc' * 20000)
        [x for x in range(500)]
for _ in range(3):
    threading.Thread(target=daemon, daemon=True).start()
class Late:
    def __del__(self):
        for _ in range(2000): pass
late = [Late() for _ in range(50)]
cycle = []; cycle.append((cycle, Late()))
atexit.register(lambda: [x * 2 for x in range(5000)])
time.sleep(0.02)
"""


def shutdown(seconds):
    """Interpreters that end while their daemon threads run."""
    for _ in until(seconds):
        status = subprocess.run([sys.executable, "-c", SHUTDOWN]).returncode
        if status:
            sys.exit("a child ended with %d" % status)


def recurse(seconds):
    def down(n):
        return down(n - 1) if n else 0

    def generate(n):
        if n:
            yield from generate(n - 1)
        yield n

    sys.setrecursionlimit(5000)
    for _ in until(seconds):
        down(2000)
        list(generate(150))
        try:
            (lambda f: f(f))(lambda f: f(f))
        except RecursionError:
            pass


def subinterpreters(seconds):
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        import _interpreters as interpreters
    for _ in until(seconds):
        made = interpreters.create()
        t = threading.Thread(target=interpreters.run_string, args=(
            made, "def f(n):\n    return f(n - 1) if n else sum(range(300))\n"
                  "for _ in range(300): f(20)\n"))
        t.start()
        execute(0.01)
        t.join()
        interpreters.destroy(made)


def foreign(seconds):
    """Callbacks from C, in Python threads and in the middle of C's sort."""
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int),
                               ctypes.POINTER(ctypes.c_int))(lambda a, b: a[0] - b[0])
    libc = ctypes.CDLL(None)
    for _ in until(seconds):
        numbers = (ctypes.c_int * 40)(*range(40, 0, -1))
        libc.qsort(numbers, 40, 4, compare)


KINDS = {f.__name__: f for f in (read_json, execute, churn, fork, shutdown, recurse,
                                 subinterpreters, foreign)}

if __name__ == "__main__":
    faulthandler.enable()
    KINDS[sys.argv[2]](float(sys.argv[1]))
    print("survived", sys.argv[2])
