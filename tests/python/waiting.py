# SPDX-License-Identifier: MIT
"""Waits in every way, and says where: for each wait a line "wait NAME MS [[function, file, line], …]".

The stack is what another thread sees twice within the wait, outermost frame first; MS is what
the wait took by the clock. "short" waits have no stack, and go by their line alone.
"""
import asyncio
import contextlib
import fcntl
import json
import os
import queue
import select
import signal
import socket
import subprocess
import sys
import threading
import time

import qualified

LONG = 0.3
out = threading.Lock()


def say(name, ms, stack):
    with out:
        os.write(1, f"wait {name} {ms:.3f} {json.dumps(stack)}\n".encode())


def stack_of(frame):
    found = []
    while frame:
        found.append([qualified.name_of(frame.f_code), frame.f_code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return found[::-1]


@contextlib.contextmanager
def wait(name, seen=True):
    """Tells of the wait that is its body."""
    stack = [stack_of(sys._getframe(2))[-1]]
    stack[0][2] += not seen  # it is the line below
    waiter = threading.get_ident()
    over = False
    begun = threading.Lock()
    begun.acquire()

    def watch():
        begun.acquire()
        looks = []
        for _ in range(2):
            time.sleep(LONG / 3)
            looks.append(stack_of(sys._current_frames()[waiter]))
        # On a busy machine one may come too late, or the wait itself does.
        stack[:] = [] if over or looks[0] != looks[1] else looks[0]

    watcher = threading.Thread(target=watch)
    if seen:
        watcher.start()
    start = time.perf_counter()
    begun.release()
    yield
    elapsed = time.perf_counter() - start
    over = True
    if seen:
        watcher.join()
    if stack:
        say(name, 1000 * elapsed, stack)


def later(action):
    """Does ACTION after a while, in another thread."""
    def act():
        time.sleep(LONG)
        action()

    thread = threading.Thread(target=act)
    thread.start()
    return thread


def sleep():
    with wait("sleep"):
        time.sleep(LONG)


def lock():
    held = threading.Lock()
    held.acquire()
    later(held.release)
    with wait("lock"):
        held.acquire()


def with_statement():
    held = threading.RLock()

    def hold():
        with held:
            time.sleep(LONG)

    thread = threading.Thread(target=hold)
    thread.start()
    time.sleep(LONG / 20)
    with wait("with"):
        with held:
            pass
    thread.join()


def condition():
    changed = threading.Condition()

    def change():
        with changed:
            changed.notify()

    later(change)
    with changed, wait("condition"):
        changed.wait()


def event():
    with wait("event"):
        threading.Event().wait(LONG)


def get():
    box = queue.Queue()
    later(lambda: box.put(1))
    with wait("queue"):
        box.get()


def join():
    thread = later(lambda: None)
    with wait("join"):
        thread.join()


def receive():
    here, there = socket.socketpair()
    later(lambda: there.send(b"x"))
    with wait("recv"):
        here.recv(1)
    here.close()
    there.close()


def receive_in_time():
    here, there = socket.socketpair()
    here.settimeout(10)
    later(lambda: there.send(b"x"))
    with wait("recv with a timeout"):
        here.recv(1)
    here.close()
    there.close()


def pipe():
    reader, writer = os.pipe()
    later(lambda: os.write(writer, b"x"))
    with wait("read"):
        os.read(reader, 1)
    os.close(reader)
    os.close(writer)


def buffered():
    reader, writer = os.pipe()
    later(lambda: os.write(writer, b"x\n"))
    with os.fdopen(reader) as lines, wait("readline"):
        lines.readline()
    os.close(writer)


def file_lock():
    path = f"/proc/{os.getpid()}/exe"
    first, second = os.open(path, os.O_RDONLY), os.open(path, os.O_RDONLY)
    fcntl.flock(first, fcntl.LOCK_EX)
    later(lambda: os.close(first))
    with wait("flock"):
        fcntl.flock(second, fcntl.LOCK_EX)
    os.close(second)


def child():
    process = subprocess.Popen(["sleep", str(LONG)])
    with wait("child"):
        process.wait()


def output():
    process = subprocess.Popen(["sh", "-c", f"sleep {LONG}; echo"], stdout=subprocess.PIPE)
    with wait("output of a child"):
        process.stdout.read()
    process.communicate()


def poll():
    with wait("select"):
        select.select([], [], [], LONG)
    with wait("epoll"):
        select.epoll().poll(LONG)


def pause():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    later(lambda: os.kill(os.getpid(), signal.SIGUSR2))
    with wait("sigwait"):
        signal.sigwait([signal.SIGUSR2])


def loop():
    with wait("asyncio"):
        asyncio.run(asyncio.sleep(LONG))


def generator():
    yield 1
    time.sleep(LONG)
    yield 2


def generated():
    with wait("generator"):
        list(generator())


def coroutine():
    async def inner():
        time.sleep(LONG)

    async def outer():
        await inner()

    with wait("coroutine"):
        asyncio.run(outer())


def deep(depth):
    if depth:
        deep(depth - 1)
    else:
        time.sleep(LONG)


def recursion():
    with wait("recursion"):
        deep(100)


def called_back():
    with wait("sort"):
        sorted([2, 1], key=lambda number: time.sleep(LONG / 2) or number)


def made_code():
    source = "import time\n\n\ndef made(seconds):\n    time.sleep(seconds)\n"
    names = {}
    exec(compile(source, "<made ünï>", "exec"), names)
    with wait("exec"):
        names["made"](LONG)


class Destroyed:
    def __del__(self):
        time.sleep(LONG)


def destroyed():
    with wait("__del__"):
        Destroyed()


def other_thread():
    def work():
        with wait("thread"):
            time.sleep(LONG)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def forked():
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        with wait("fork"):
            time.sleep(LONG)
        os._exit(0)
    with wait("waitpid"):
        os.waitpid(process, 0)


def short_sleeps():
    with wait("short sleeps", seen=False):
        for _ in range(200): time.sleep(0.002)  # noqa: E701


WAITS = [sleep, lock, with_statement, condition, event, get, join, receive, receive_in_time, pipe,
         buffered, file_lock, child, output, poll, pause, loop, generated, coroutine, recursion,
         called_back, made_code, destroyed, other_thread, forked, short_sleeps]


def main():
    for function in WAITS:
        if len(sys.argv) == 1 or function.__name__ in sys.argv[1:]:
            function()


main()
