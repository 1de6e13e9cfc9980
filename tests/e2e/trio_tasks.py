# SPDX-License-Identifier: MIT
"""Tasks of trio, and of anyio on both of its backends: the report is what they have measured themselves."""
import json

from harness import main
from task_case import TaskCase, with_modules

# Each coroutine adds up what it does: its life, its calls that block, its awaits.
BODY = """
truth, blocks = {}, []
def add(key, seconds):
    truth[key] = truth.get(key, 0) + seconds

async def leaf(seconds):
    before = time.monotonic()
    await lib.sleep(seconds)  # line: leaf
    add("slept", time.monotonic() - before)
    add("asked", seconds)
    add("held", sum(max(end - max(begin, before + seconds), 0) for begin, end in blocks))

async def sleeper(times, done):
    before = time.monotonic()
    for _ in range(times):
        await leaf(0.1)  # line: sleeper
    add("sleeper", time.monotonic() - before)
    done()

async def blocker(times, block, done):
    before = time.monotonic()
    for _ in range(times):
        await lib.sleep(0.05)
        if block:
            begin = time.monotonic()
            time.sleep(0.1)  # line: block
            blocks.append((begin, time.monotonic()))
            add("blocked", blocks[-1][1] - begin)
    add("blocker", time.monotonic() - before)
    done()

async def getter(receive):
    before = time.monotonic()
    await receive.receive()  # line: get
    add("got", time.monotonic() - before)
    add("getter", time.monotonic() - before)

async def main():
    send, receive = open_channel(1)
    left = 6
    all_done = lib.Event()
    def done():
        nonlocal left
        left -= 1
        if not left:
            all_done.set()
    async with open_group() as group:
        for _ in range(5):
            group.start_soon(sleeper, 10, done)
        group.start_soon(blocker, 10, "healthy" not in sys.argv, done)
        group.start_soon(getter, receive, name="the getter")
        await all_done.wait()
        await send.send(1)
    print(json.dumps(truth))
"""

TRIO = "import json, sys, time, trio as lib; open_channel, open_group = lib.open_memory_channel, lib.open_nursery" + \
    BODY + "lib.run(main)\n"
ANYIO = "import json, sys, time, anyio as lib; open_channel, open_group = " \
    "lib.create_memory_object_stream, lib.create_task_group" + BODY + "lib.run(main, backend=sys.argv[1])\n"

# Instruments, names, cancellation, exceptions, another framework's awaitable, and the end by an exit.
RAISING = """
import sys, trio

class Seen(trio.abc.Instrument):
    names = set()
    def task_scheduled(self, task):
        assert task._next_send_fn is not None
    def before_task_step(self, task):
        self.names.add(task.name)

class Foreign:
    def __await__(self):
        yield "foreign"

async def fails():
    await trio.sleep(0.01)
    raise ValueError("of a task")

async def foreign():
    try:
        await Foreign()
    except TypeError as error:
        print("foreign:", str(error)[:20])

async def cancelled():
    with trio.move_on_after(0.02) as scope:
        await trio.sleep_forever()
    print("timed out:", scope.cancelled_caught)

async def main():
    await foreign()
    await cancelled()
    print(await trio.to_thread.run_sync(lambda: 42))
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fails)
            nursery.start_soon(trio.sleep_forever)
    except BaseException as error:
        inner = getattr(error, "exceptions", [error])[0]
        print(repr(inner))
        import traceback
        traceback.print_tb(inner.__traceback__)
    print(sorted(name for name in Seen.names if name.startswith("__main__")))
    sys.exit(7)

trio.run(main, instruments=[Seen()])
"""

# What threads and sockets have for tasks while the loop is blocked came in the middle, on average.
SOCKETS = """
import json, threading, time, trio

TIMES, BLOCK_S = 20, 0.1
late = []
began, taken = threading.Event(), threading.Event()

async def reader(ours):
    while True:
        data = await ours.recv(100)
        late.append(time.monotonic() - float(data))
        taken.set()

async def blocker(scope):
    while len(late) < TIMES:
        await trio.sleep(0.001)
        began.set()
        time.sleep(BLOCK_S)
    scope.cancel()

def send(theirs):
    for i in range(TIMES):
        began.clear()
        began.wait()
        time.sleep(BLOCK_S * 0.96 * (i + 0.5) / TIMES)
        taken.clear()
        theirs.sendall(b"%.9f" % time.monotonic())
        taken.wait()

async def main():
    import socket
    ours, theirs = socket.socketpair()
    threading.Thread(target=send, args=(theirs,), daemon=True).start()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reader, trio.socket.from_stdlib_socket(ours))
        nursery.start_soon(blocker, nursery.cancel_scope)

trio.run(main)
print(json.dumps(sum(late)))
"""

# A trio whose inside is another one.
UNKNOWN = """
import sys, types
run = types.ModuleType("trio._core._run")
class Task: pass
class Runner:
    def reschedule(self, task): return task
class Deadlines: pass
run.Task, run.Runner, run.Deadlines, run.unrolled_run = Task, Runner, Deadlines, 1
sys.modules["trio"] = types.ModuleType("trio")
sys.modules["trio._core._run"] = run
import _ctypes
print(Runner().reschedule(1))
"""


class TrioTasks(TaskCase):
    def pythons(self, *modules):
        found = dict(with_modules(*modules))
        if not found:
            self.skipTest(f"no interpreter has {' and '.join(modules)}")
        return found.items()

    def check_program(self, python, version, program, library, *words):
        done = self.run_text(python, program, *words)
        self.check_blocked(done, json.loads(done.out), program, library, version)
        getter = next(row for row in self.rows(done.profile)
                      if row["kind"] == "task" and row["function"] == "getter")
        self.assertEqual(getter["names"], "the getter")
        self.assertEqual({row["names"] for row in self.rows(done.profile)
                          if row["kind"] == "task" and row["function"] != "getter"}, {None})
        done = self.run_text(python, program, *words, "healthy")
        self.check_healthy(done, json.loads(done.out), program, library, version)

    def test_sums_of_trio_are_those_that_the_tasks_have_measured(self):
        for version, python in self.pythons("trio"):
            with self.subTest(version):
                self.check_program(python, version, TRIO, "trio")

    def test_sums_of_anyio_are_those_that_the_tasks_have_measured(self):
        for version, python in self.pythons("anyio", "trio"):
            for backend in ("asyncio", "trio"):
                with self.subTest(version, backend=backend):
                    self.check_program(python, version, ANYIO, backend, backend)

    def test_programs_do_what_they_do_without(self):
        for version, python in self.pythons("trio"):
            with self.subTest(version):
                done = self.check_as_bare(python, RAISING, status=7)
                self.assertIn(b"timed out: True", done.out)
                self.assertIn(b"of a task", done.out)

    def test_data_that_comes_while_the_loop_is_blocked_has_come_in_the_middle(self):
        for version, python in self.pythons("trio"):
            with self.subTest(version):
                done = self.run_text(python, SOCKETS)
                late_ns = json.loads(done.out) * 1e9
                reader, = [row for row in self.rows(done.profile)
                           if row["kind"] == "task" and row["function"] == "reader"]
                # Other programs may make blocks longer, each at a moment of its own.
                self.assertAlmostEqual(reader["ready_ns"], late_ns, delta=0.15 * late_ns)

    def test_a_version_that_is_not_known_is_left_alone_and_said(self):
        done = self.run_text("/usr/bin/python3", UNKNOWN)
        self.assertEqual(done.out, b"1\n")
        self.assertIn("trio", done.report)
        self.assertIn("not known", done.report)


if __name__ == "__main__":
    main()
