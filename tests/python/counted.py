# SPDX-License-Identifier: MIT
"""Calls of all kinds, some of whose numbers are known. Run by counts.py."""
import json
import os
import sys
import threading


def leaf(x):
    return x + 1


def recurse(n):
    return 0 if n == 0 else 1 + recurse(n - 1)


def generate(n):
    for i in range(n):
        yield leaf(i)


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n > 0 and even(n - 1)


def fail():
    raise ValueError


def closing():
    try:
        yield leaf(0)
        yield 1
    finally:
        leaf(1)


def thrown():
    try:
        yield 1
    except KeyError:
        yield leaf(2)


def by_c(x):
    return len(x)


class Thing:
    def __init__(self, n):
        self.n = n

    @property
    def value(self):
        return leaf(self.n)

    def __lt__(self, other):
        return self.n < other.n


async def wait(n):
    for _ in range(n):
        await step()


async def step():
    return leaf(1)


def in_thread(n):
    for i in range(n):
        threaded(i)


def threaded(x):
    return x


def in_child(n):
    for i in range(n):
        forked(i)


def forked(x):
    return x


def main():
    for i in range(1000):
        leaf(i)
    recurse(100)
    sum(generate(50))
    [leaf(i) for i in range(10)]
    {i: (lambda: leaf(i))() for i in range(10)}
    for _ in range(7):
        try:
            fail()
        except ValueError:
            pass
    even(30)
    sorted([Thing(i % 5) for i in range(40)])
    sorted([[1], [2, 3], []], key=by_c)
    list(map(leaf, range(9)))
    for name in ("7", "x", "8"):
        try:
            "".join([str(int(name)).upper()])
        except ValueError:
            pass
    left = closing()
    next(left)
    left.close()
    caught = thrown()
    next(caught)
    caught.throw(KeyError())
    dict.fromkeys("abc").update(a=1)
    {}.get("a")
    max(3, *[1, 2])
    object.__new__(Thing).__sizeof__()
    Thing(1).value
    for _ in range(300):  # code objects that come and go
        exec(compile("def made(): return 1\nmade()", "made.py", "exec"), {})
    coroutine = wait(20)
    try:
        coroutine.send(None)
    except StopIteration:
        pass
    json.loads(json.dumps({str(i): [i, None, "x"] for i in range(200)}, indent=1))


def others():
    """What no profiler of one thread sees."""
    threads = [threading.Thread(target=in_thread, args=(500,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for leave in (os._exit, sys.exit):
        pid = os.fork()  # the threads have ended
        if pid == 0:
            in_child(250)
            leave(0)
        os.waitpid(pid, 0)


main()
if len(sys.argv) > 1:
    others()
