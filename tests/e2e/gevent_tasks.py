# SPDX-License-Identifier: MIT
"""Greenlets of gevent: the report is what they have measured themselves."""
import json

from harness import main
from task_case import TaskCase, with_modules

# Each function adds up what it does: its life, its calls that block, its waits.
PROGRAM = """
import json, sys, time
import gevent, gevent.event, gevent.queue

truth, blocks = {}, []
def add(key, seconds):
    truth[key] = truth.get(key, 0) + seconds

def leaf(seconds):
    before = time.monotonic()
    gevent.sleep(seconds)  # line: leaf
    add("slept", time.monotonic() - before)
    add("asked", seconds)
    add("held", sum(max(end - max(begin, before + seconds), 0) for begin, end in blocks))

def sleeper(times):
    before = time.monotonic()
    for _ in range(times):
        leaf(0.1)  # line: sleeper
    add("sleeper", time.monotonic() - before)

def blocker(times, block):
    before = time.monotonic()
    for _ in range(times):
        gevent.sleep(0.05)
        if block:
            begin = time.monotonic()
            time.sleep(0.1)  # line: block
            blocks.append((begin, time.monotonic()))
            add("blocked", blocks[-1][1] - begin)
    add("blocker", time.monotonic() - before)

def getter(queue):
    before = time.monotonic()
    queue.get()  # line: get
    add("got", time.monotonic() - before)
    add("getter", time.monotonic() - before)

def main():
    queue = gevent.queue.Queue()
    tasks = [gevent.spawn(sleeper, 10) for _ in range(5)]
    tasks.append(gevent.spawn(blocker, 10, "healthy" not in sys.argv))
    waiting = gevent.spawn(getter, queue)
    gevent.joinall(tasks)
    queue.put(1)
    waiting.join()
    print(json.dumps(truth))

main()
"""

# Who sets an event, puts into a queue or releases a semaphore and then goes on keeps those that it wakes.
WAKING = """
import json, time
import gevent, gevent.event, gevent.lock, gevent.queue

late = 0
def waiter(wait, moments):
    global late
    for _ in range(5):
        wait()
        late += time.monotonic() - moments[-1]

def waker(wake, moments):
    for _ in range(5):
        gevent.sleep(0.02)
        moments.append(time.monotonic())
        wake()
        time.sleep(0.03)
        gevent.sleep(0.02)

queue, lock = gevent.queue.Queue(), gevent.lock.Semaphore(0)
ways = [(queue.get, lambda: queue.put(1)), (lock.acquire, lock.release)]
for wait, wake in ways:
    moments = []
    gevent.joinall([gevent.spawn(waiter, wait, moments), gevent.spawn(waker, wake, moments)])
print(json.dumps(late))
"""

# What a program does with greenlets itself, and what it raises, goes the way that it would have gone.
RAISING = """
import sys, threading, traceback
import gevent, greenlet, gevent.pool, gevent.threadpool

seen = set()
def trace(event, args):
    seen.add(event)
greenlet.settrace(trace)
profiled = set()
sys.setprofile(lambda frame, event, argument: profiled.add(getattr(argument, "__name__", "")))

def fails():
    gevent.sleep(0.001)
    raise ValueError("of a greenlet")

def timed():
    with gevent.Timeout(0.01, False):
        gevent.sleep(10)
    return "timed out"

def raw(first):
    second = greenlet.getcurrent().parent.switch(first + 1)
    try:
        greenlet.getcurrent().parent.switch(second=second)
    except KeyError as error:
        return repr(error)

own = greenlet.greenlet(raw)
print(own.switch(1), own.switch(5), own.throw(KeyError, KeyError("thrown")), own.dead)
task = gevent.spawn(fails)
task.join()
print(repr(task.exception))
traceback.print_tb(task.exception.__traceback__)
print(gevent.spawn(timed).get())
killed = gevent.spawn(gevent.sleep, 10)
gevent.sleep(0)
killed.kill()
print(killed.dead, gevent.pool.Pool(2).map(lambda n: n * n, range(5)))
print(gevent.get_hub().threadpool.apply(lambda: 42))
class Mine(gevent.Greenlet):
    def _run(self):
        gevent.sleep(0.001)
        return "mine"
mine = Mine()
mine.start()
print(mine.get(), sorted(seen))
sys.setprofile(None)
print(sorted(name for name in profiled if "notify" in name or name == "switch"))
print(greenlet.greenlet.switch, gevent.Greenlet.switch, greenlet.gettrace() is trace)
thread = threading.Thread(target=lambda: print(gevent.spawn(timed).get()))
thread.start()
thread.join()
gevent.spawn(gevent.sleep, 100)
gevent.sleep(0)
gevent.spawn(sys.exit, 7).join()
"""

# A greenlet whose inside is another one.
UNKNOWN = """
import greenlet
greenlet.__version__ = "1.0"
import gevent
print(gevent.spawn(lambda: gevent.sleep(0.01) or 1).get())
"""

SETTLED = """
import gevent
def served():
    gevent.sleep(100)
gevent.spawn(served)
gevent.sleep(0.5)
"""


class GeventTasks(TaskCase):
    def pythons(self, oldest=2):
        found = dict(with_modules("gevent", "greenlet", where=f"int(greenlet.__version__.split('.')[0]) >= {oldest}"))
        if not found:
            self.skipTest(f"no interpreter has gevent with greenlet {oldest}.0 or newer")
        return found.items()

    def test_sums_are_those_that_the_greenlets_have_measured(self):
        for version, python in self.pythons():
            with self.subTest(version):
                done = self.run_text(python, PROGRAM)
                self.check_blocked(done, json.loads(done.out), PROGRAM, "gevent", version)
                done = self.run_text(python, PROGRAM, "healthy")
                self.check_healthy(done, json.loads(done.out), PROGRAM, "gevent", version)

    def test_those_that_are_woken_are_ready_from_then_on(self):
        for version, python in self.pythons():
            with self.subTest(version):
                done = self.run_text(python, WAKING)
                waiter, = [row for row in self.rows(done.profile)
                           if row["kind"] == "task" and row["function"] == "waiter"]
                self.near(waiter["ready_ns"], json.loads(done.out), f"{version}: woken")

    def test_programs_do_what_they_do_without(self):
        for version, python in self.pythons():
            with self.subTest(version):
                done = self.check_as_bare(python, RAISING, status=7)
                self.assertIn(b"timed out", done.out)
                self.assertIn(b"of a greenlet", done.out)
                names = {row["function"] for row in self.rows(done.profile) if row["kind"] == "task"}
                self.assertLessEqual({"<module>", "fails"}, names)
                self.assertTrue([name for name in names if name.endswith("_run")])
                self.assertFalse([name for name in names if "Worker" in name])

    def test_greenlets_that_still_wait_at_the_end_have_waited(self):
        for version, python in self.pythons():
            with self.subTest(version):
                done = self.run_text(python, SETTLED)
                served, = [row for row in self.rows(done.profile)
                           if row["kind"] == "task" and row["function"] == "served"]
                self.assertGreater(served["waiting_ns"], 400_000_000)  # it begins late on a busy machine
                self.assertEqual(served["running_ns"] + served["ready_ns"] + served["waiting_ns"],
                                 served["total_ns"])

    def test_a_version_that_is_not_known_is_left_alone_and_said(self):
        for version, python in self.pythons(oldest=0):
            with self.subTest(version):
                done = self.run_text(python, UNKNOWN)
                self.assertEqual(done.out, b"1\n")
                self.assertIn("greenlet is not known", " ".join(done.report.split()))


if __name__ == "__main__":
    main()
