# SPDX-License-Identifier: MIT
"""Tasks of asyncio, in each interpreter: what the report says of them is what they have measured themselves."""
import json
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "python"))
import interpreters  # noqa: E402
from harness import Case, main  # noqa: E402

WITHIN = 0.02  # of the truth
SLACK_NS = 5_000_000

# Each coroutine measures what it does, so that a busy machine changes the truth and not only the
# report: its life since it was made a task, its steps, its awaits and how late they came back. What
# of that was the blocker's doing is what its steps overlap.
PROGRAM = """
import asyncio, json, sys, time

truth = {}
steps, awaits = [], []
def add(key, seconds):
    truth[key] = truth.get(key, 0) + seconds

async def leaf(seconds):
    before = time.monotonic()
    await asyncio.sleep(seconds)  # line: leaf
    after = time.monotonic()
    add("slept", after - before)
    add("asked", seconds)
    awaits.append((before + seconds, after))

async def sleeper(made, times):
    for _ in range(times):
        await leaf(0.1)  # line: sleeper
    add("sleeper", time.monotonic() - made)

async def blocker(made, times, block):
    step = time.monotonic()
    for _ in range(times):
        steps.append((step, time.monotonic()))
        await asyncio.sleep(0.05)  # line: pause
        step = time.monotonic()
        if block:
            time.sleep(0.1)  # line: block
            add("blocked", time.monotonic() - step)
    steps.append((step, time.monotonic()))
    add("blocker", time.monotonic() - made)

async def getter(made, queue):
    get = time.monotonic()
    await queue.get()  # line: get
    add("get", time.monotonic() - get)
    add("getter", time.monotonic() - made)

async def main(block):
    if "python" in sys.argv:
        asyncio.get_running_loop().set_task_factory(
            lambda loop, coroutine, **more: asyncio.tasks._PyTask(coroutine, loop=loop, **more))
    queue = asyncio.Queue()
    tasks = [asyncio.ensure_future(sleeper(time.monotonic(), 10)) for _ in range(5)]
    tasks.append(asyncio.ensure_future(blocker(time.monotonic(), 10, block)))
    waiting = asyncio.ensure_future(getter(time.monotonic(), queue))
    waiting.set_name("the getter")
    await asyncio.gather(*tasks)
    queue.put_nowait(1)
    await waiting

def run():
    asyncio.run(main("healthy" not in sys.argv))

if "thread" in sys.argv:
    import threading
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
else:
    run()
truth["steps"] = sum(end - begin for begin, end in steps)
truth["delayed"] = sum(max(0, min(end, back) - max(begin, due))
                       for begin, end in steps for due, back in awaits)
print(json.dumps(truth))
"""

# Each block of 100 ms has data come at another moment; taken together, in the middle of the blocks.
SOCKETS = """
import asyncio, json, socket, threading, time

TIMES, BLOCK_S = 20, 0.1
late, block = [], None
began, taken = threading.Event(), threading.Event()

async def reader(ours):
    while True:
        data = await asyncio.get_running_loop().sock_recv(ours, 100)
        begin, end = block
        late.append((end - begin) / 2 + time.monotonic() - end)
        taken.set()

async def blocker():
    global block
    while len(late) < TIMES:
        await asyncio.sleep(0.001)
        begin = time.monotonic()
        began.set()
        time.sleep(BLOCK_S)
        block = begin, time.monotonic()

def send(theirs):
    for i in range(TIMES):
        began.clear()
        began.wait()
        time.sleep(BLOCK_S * 0.96 * (i + 0.5) / TIMES)
        taken.clear()
        theirs.sendall(b"data")
        taken.wait()

async def main():
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    task = asyncio.ensure_future(reader(ours))
    threading.Thread(target=send, args=(theirs,), daemon=True).start()
    await blocker()
    task.cancel()

asyncio.run(main())
print(json.dumps(sum(late)))
"""

# What is raised in steps and callbacks goes the way that it would have gone.
RAISING = """
import asyncio, sys

def callback():
    raise ValueError("of a callback")

async def leave():
    await asyncio.sleep(0)
    sys.exit(7)

async def main():
    loop = asyncio.get_running_loop()
    loop.call_soon(callback)
    await asyncio.sleep(0.01)  # so that the order of the two does not depend on a busy machine
    loop.call_later(0.001, callback)
    lost = asyncio.ensure_future(asyncio.wait_for(asyncio.sleep(1), 0.01))
    await asyncio.sleep(0.05)
    del lost
    try:
        loop._call_soon(callback, ())
    except (AttributeError, TypeError) as error:
        print(error)
    await asyncio.ensure_future(leave())

asyncio.run(main())
"""

# The second task of a turn may have the address of the first one.
FREED = """
import asyncio, gc

async def lost():
    await asyncio.get_running_loop().create_future()

async def other():
    await asyncio.sleep(0.001)

async def main():
    for _ in range(20):
        task = asyncio.ensure_future(lost())
        await asyncio.sleep(0)
        del task
        gc.collect()
        await asyncio.ensure_future(other())

asyncio.run(main())
"""

# Nothing comes after the last second of one that is killed.
KILLED = """
import asyncio, os, signal

async def tick(times):
    for _ in range(times):
        await asyncio.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(tick(250))
"""


UVLOOP = "import uvloop; uvloop.install()"  # in the first line of a program, which is empty


def with_uvloop():
    """Interpreters that have it, and a function that calls whatever can be called: 3.11 and newer."""
    for version, python in interpreters.find().items():
        if int(version.split(".")[1]) >= 11 and not version.endswith("t") and not subprocess.run(
                [python, "-c", "import uvloop"], capture_output=True, check=False).returncode:
            yield version, python


class AsyncioTasks(Case):
    def run_text(self, python, text, *words, status=0):
        script = self.path("app.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(text)
        done = self.profile_run([python, "-B", script, *words])
        self.assertEqual(done.status, status, done.err)
        return done

    def rows(self, profile):
        table = self.verb("report", "--export", "json=-", "--table", "asyncio_tasks", profile)
        self.assertEqual(table.returncode, 0, table.stderr)
        return json.loads(table.stdout)["tables"]["asyncio_tasks"]

    def findings(self, profile):
        document = self.verb("report", "--json", profile)
        return {row["id"]: row for row in json.loads(document.stdout)["findings"]}

    def near(self, ns, seconds, what):
        self.assertAlmostEqual(ns, seconds * 1e9, delta=seconds * 1e9 * WITHIN + SLACK_NS,
                               msg=f"{what}: {ns} ns")

    def check_sums(self, version, rows, truth, line_of, names):
        tasks = {row["function"]: row for row in rows if row["kind"] == "task"}
        for name in ("sleeper", "blocker", "getter"):
            row = tasks[name]
            self.near(row["total_ns"], truth[name], f"{version}: {name}")
            self.assertEqual(row["running_ns"] + row["ready_ns"] + row["waiting_ns"], row["total_ns"])
        self.assertEqual(tasks["sleeper"]["count"], 5)
        self.assertIsNone(tasks["sleeper"]["names"])
        self.assertEqual(tasks["getter"]["names"], names)
        self.near(tasks["sleeper"]["waiting_ns"], truth["asked"], f"{version}: waits")
        self.near(tasks["sleeper"]["waiting_ns"] + tasks["sleeper"]["ready_ns"], truth["slept"],
                  f"{version}: awaits")
        waits = {(row["function"], row["other_function"]): row for row in rows
                 if row["kind"] == "wait"}
        leaf = waits["sleeper", "leaf"]
        self.assertEqual((leaf["count"], leaf["other_line"]), (50, line_of("leaf")))
        self.assertTrue(leaf["chain"].startswith(
            f"sleeper (app.py:{line_of('sleeper')}) > leaf (app.py:{line_of('leaf')}) > sleep ("),
            leaf["chain"])
        self.near(leaf["waiting_ns"], truth["asked"], f"{version}: leaf")
        get = waits["getter", "getter"]
        self.assertEqual(get["other_line"], line_of("get"))
        self.near(get["waiting_ns"] + get["ready_ns"], truth["get"], f"{version}: get")
        return tasks

    def check_version(self, version, python, *words, program=PROGRAM):
        def line_of(mark):
            return 1 + next(i for i, line in enumerate(PROGRAM.splitlines())
                            if line.endswith(f"# line: {mark}"))

        name = None if "python" in words else "the getter"  # only C's tasks are asked
        done = self.run_text(python, program, *words)
        truth = json.loads(done.out)
        rows = self.rows(done.profile)
        tasks = self.check_sums(version, rows, truth, line_of, name)
        self.near(tasks["blocker"]["running_ns"], truth["steps"], f"{version}: steps")
        # On a busy machine a step of another task may be long, too.
        block = max((row for row in rows if row["kind"] == "block"), key=lambda row: row["total_ns"])
        self.assertEqual(block["function"], "blocker")
        self.assertLessEqual(block["total_ns"], truth["steps"] * 1e9 + SLACK_NS)
        # What they slept too long they waited for the blocker, but for the loop's own lateness.
        delay, = [row for row in rows if row["kind"] == "delay" and
                  (row["function"], row["other_function"]) == ("blocker", "sleeper")]
        self.assertLessEqual(delay["ready_ns"], (truth["slept"] - truth["asked"]) * 1e9 + SLACK_NS)
        self.assertGreater(delay["ready_ns"], 0.9 * truth["delayed"] * 1e9)
        finding = self.findings(done.profile)["PY-LOOP"]
        self.assertEqual((finding["function"], finding["line"]), ("blocker", line_of("block")))
        self.assertIn("asyncio tasks", done.report)
        self.assertIn("blocker (app.py:", done.report)

        done = self.run_text(python, program, "healthy", *words)
        rows = self.rows(done.profile)
        self.check_sums(version, rows, json.loads(done.out), line_of, name)
        self.assertNotIn("PY-LOOP", self.findings(done.profile))

    def test_sums_are_those_that_the_tasks_have_measured(self):
        for version, python in interpreters.find().items():
            if version.endswith("t"):
                continue
            with self.subTest(version):
                self.check_version(version, python)

    def test_tasks_that_are_written_in_python_and_loops_of_threads(self):
        for version, python in interpreters.find().items():
            if version.endswith("t"):
                continue
            for word in ("python", "thread"):
                with self.subTest(f"{version} {word}"):
                    self.check_version(version, python, word)

    def test_data_that_comes_while_the_loop_is_blocked_has_come_in_the_middle(self):
        for version, python in interpreters.find().items():
            if version.endswith("t"):
                continue
            with self.subTest(version):
                done = self.run_text(python, SOCKETS)
                late_ns = json.loads(done.out) * 1e9
                reader, = [row for row in self.rows(done.profile)
                           if row["kind"] == "task" and row["function"] == "reader"]
                self.assertAlmostEqual(reader["ready_ns"], late_ns, delta=0.15 * late_ns)

    def test_what_is_raised_is_told_as_without(self):
        for version, python in interpreters.find().items():
            with self.subTest(version):
                done = self.run_text(python, RAISING, status=7)
                bare = self.bare([python, "-B", self.path("app.py")])
                self.assertEqual(bare.returncode, 7, bare.stderr)
                self.assertEqual(done.out, bare.stdout)
                moments = re.compile(rb"when=[\d.]+|0x[\da-f]+")
                self.assertEqual(moments.sub(b"", done.err), moments.sub(b"", bare.stderr))
                self.assertIn(b"of a callback", done.err)

    def test_one_that_is_killed_has_told_most(self):
        for version, python in interpreters.find().items():
            if version.endswith("t"):
                continue
            with self.subTest(version):
                done = self.run_text(python, KILLED, status=-signal.SIGKILL)
                tick, = [row for row in self.rows(done.profile)
                         if row["kind"] == "task" and row["function"] == "tick"]
                self.assertGreater(tick["total_ns"], 1_500_000_000)

    def test_tasks_that_are_freed_while_they_wait_are_no_others(self):
        for version, python in interpreters.find().items():
            if version.endswith("t"):
                continue
            with self.subTest(version):
                done = self.run_text(python, FREED)
                counts = {row["function"]: row["count"] for row in self.rows(done.profile)
                          if row["kind"] == "task"}
                self.assertEqual((counts["lost"], counts["other"]), (20, 20))

    def test_tasks_on_a_loop_in_c_are_seen_as_on_asyncios_own(self):
        found = dict(with_uvloop())
        if not found:
            self.skipTest("no interpreter has uvloop")
        for version, python in found.items():
            for words in ((), ("python",), ("thread",)):
                with self.subTest(version, words=words):
                    self.check_version(version, python, *words, program=UVLOOP + PROGRAM)
            with self.subTest(version, program="sockets"):
                done = self.run_text(python, UVLOOP + SOCKETS)
                late_ns = json.loads(done.out) * 1e9
                reader, = [row for row in self.rows(done.profile)
                           if row["kind"] == "task" and row["function"] == "reader"]
                self.assertAlmostEqual(reader["ready_ns"], late_ns, delta=0.2 * late_ns)
            with self.subTest(version, program="raising"):
                done = self.run_text(python, UVLOOP + RAISING, status=7)
                bare = self.bare([python, "-B", self.path("app.py")])
                self.assertEqual((done.out, bare.returncode), (bare.stdout, 7))
                moments = re.compile(rb"when=[\d.]+|0x[\da-f]+")
                self.assertEqual(moments.sub(b"", done.err), moments.sub(b"", bare.stderr))

    def test_loops_that_are_not_seen_are_said(self):
        done = self.run_text("/usr/bin/python3",
                             "import sys, types\nsys.modules['uvloop'] = types.ModuleType('uvloop')\n")
        self.assertIn("imported uvloop", done.report)


if __name__ == "__main__":
    main()
