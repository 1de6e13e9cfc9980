# SPDX-License-Identifier: MIT
"""Processes that run already: what is seen of them, and that they are left as they were."""
import contextlib
import csv
import glob
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

from harness import BOTTLENECK, NO_PERF, TIMEOUT, Case, main, need, python_for_nobody, target, unprivileged
from terminal import Terminal

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "python"))
import interpreters  # noqa: E402
from jumps import ends_with_a_jump  # noqa: E402

PY_BUSY = """import threading, time
def heavy(n):
    s = 0
    for i in range(n):
        s += i * i
    return s
def light(n):
    s = 0
    for i in range(n):
        s += i * i
    return s
def idle():
    time.sleep(1000)
threading.Thread(target=idle, daemon=True, name="idler").start()
print("ready", flush=True)
while True:
    heavy(30000)
    light(10000)
"""
PY_PARENT = """import os, sys, time
def child_work():
    while True:
        sum(range(1000))
pid = os.fork()
if not pid:
    child_work()
print("ready", flush=True)
time.sleep(1000)
"""
PY_LATER = """import os, sys, time
def late_work():
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        sum(range(1000))
print("ready", flush=True)
time.sleep(0.7)
pid = os.fork()
if not pid:
    late_work()
    os._exit(0)
os.waitpid(pid, 0)
time.sleep(1000)
"""
PY_CROWD = """import os, time
def child_work():
    while True:
        sum(range(1000))
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
print("ready", flush=True)
time.sleep(0.5)
for _ in range(2):
    if not os.fork():
        child_work()
time.sleep(1000)
"""
PY_GENERATORS = """def made(n):
    for i in range(n):
        yield i * 2
def use():
    return sum(x for x in made(3000) if x % 3)
print("ready", flush=True)
while True:
    use()
"""
# Its tasks wait, or block the loop; the times of these steps are printed.
PY_TASKS = """import asyncio, time
async def leaf():
    await asyncio.sleep(0.2)  # line: leaf
async def sleeper():
    while True:
        await leaf()  # line: sleeper
async def numbers():
    while True:
        await asyncio.sleep(0.05)  # line: numbers
        yield 1
async def reader():
    async for number in numbers():
        pass
async def getter(queue):
    await queue.get()  # line: getter
async def blocker():
    while True:
        await asyncio.sleep(0.03)
        begin = time.monotonic()
        time.sleep(0.03)
        print(begin, time.monotonic(), flush=True)
async def main():
    queue = asyncio.Queue()
    tasks = [asyncio.ensure_future(sleeper()) for _ in range(5)]
    tasks += [asyncio.ensure_future(c) for c in (getter(queue), reader(), blocker())]
    await asyncio.ensure_future(asyncio.sleep(0))
    print("ready", flush=True)
    await asyncio.gather(*tasks)
asyncio.run(main())
"""
# Calls of C functions: long ones, one that calls Python, and many short ones.
PY_C = """import json, random, re, sys, time
PATTERN = re.compile(r"(\\w+)@(\\w+)[.]com")
TEXT = " ".join(f"user{i}@host{i}.com and words" for i in range(400))
DATA = {f"k{i}": [i, i / 3, str(i), None, True] for i in range(400)}
NUMBERS = [random.random() for _ in range(6000)]
def work():
    PATTERN.sub("x", TEXT)
    json.loads(json.dumps(DATA))
    list(NUMBERS).sort()
    sorted(NUMBERS[:1500], key=lambda x: -x)
def short():
    s = "abc"
    for i in range(2000):
        s.upper(), s.find("c"), len(s), isinstance(s, str)
print("ready", flush=True)
end = time.process_time() + float(sys.argv[1])
while time.process_time() < end:
    work()
    short()
"""
C_NAMES = ("{method 'sort' of 'list' objects}", "{method 'sub' of 're.Pattern' objects}",
           "{built-in method builtins.sorted}", "short")
# Pythons of several versions, as pyenv keeps them; older ones are not known. What does not depend on the
# version, or has a unit test of each (python_remote), is seen in those alone that interpreters.py chooses.
PYTHONS = sorted(path for path in glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))
                 if int(path.split("/3.")[1].split(".")[0]) >= 8)


def end_group(number):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(number, signal.SIGKILL)


C_TOLERANCE = 0.08  # of self times of 3 to 30 %, of two runs
TOLERANCE = 0.13  # of a share of some 250 samples, on a machine with other work


class Attach(Case):
    def start(self, *command, user=()):
        """In a group of its own, which ends with the test."""
        process = subprocess.Popen([*user, *command], stdout=subprocess.PIPE, cwd=self.work,
                                   stdin=subprocess.DEVNULL, start_new_session=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(end_group, process.pid)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def attach(self, *arguments, seconds="1", **options):
        line = [BOTTLENECK, "-o", self.path("profile.bneck"), *arguments]
        if seconds:
            line += ["--duration", seconds]
        return self.bare(line, **options)

    def functions(self):
        done = self.verb("report", "--export", "csv=-", "--table", "functions", self.path("profile.bneck"))
        self.assertEqual(done.returncode, 0, done.stderr)
        return {row["name"]: row for row in csv.DictReader(io.StringIO(done.stdout.decode()))}

    def shares(self, *names):
        rows = self.functions()
        values = [int(rows[name]["total_on_cpu_ns"]) if name in rows else 0 for name in names]
        whole = sum(values)
        self.assertGreater(whole, 0, sorted(rows))
        return [value / whole for value in values]

    def draw(self, attach, tolerance):
        """heavy() takes three quarters. On a busy machine a program of one second has few samples: up to
        three draws."""
        for _ in range(3):
            done = attach()
            self.assertEqual(done.returncode, 0, done.stderr)
            heavy, _ = self.shares("heavy", "light")
            if abs(heavy - 0.75) <= tolerance:
                return done
        self.assertAlmostEqual(heavy, 0.75, delta=tolerance)

    def state_of(self, pid):
        """What a profiler could leave behind in a process."""
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
            maps = sorted({line.split()[5] for line in file if len(line.split()) > 5})
        return {"fds": sorted(os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")),
                "maps": maps,
                **{key: status[key] for key in ("TracerPid", "SigBlk", "SigIgn", "SigCgt", "Threads")}}

    def test_a_python_is_seen_by_function_and_line(self):
        for python in PYTHONS or [sys.executable]:
            with self.subTest(python=python):
                process = self.start(python, "-c", PY_BUSY)
                before = self.state_of(process.pid)
                done = self.draw(lambda: self.attach("-p", str(process.pid)), TOLERANCE)
                self.assertEqual(self.state_of(process.pid), before)
                self.assertIsNone(process.poll())
                text = done.stderr.decode()
                self.assertIn(f"attached to PID {process.pid}", text)
                self.assertRegex(text, "heavy")
                process.kill()

    def test_c_functions_have_the_names_and_shares_of_a_launched_run(self):
        def self_shares():
            rows = self.functions()
            own = {name: int(row["self_on_cpu_ns"]) for name, row in rows.items()}
            whole = sum(own.values())
            return [own.get(name, 0) / whole for name in C_NAMES]
        for python in interpreters.find().values():
            with self.subTest(python=python):
                # A second of CPU time, beside which what Python does to begin is little; on a busy machine that takes
                # longer, and the process that is attached to is looked at for as long.
                begin = time.monotonic()
                done = self.bare([BOTTLENECK, "-o", self.path("profile.bneck"), python, "-c", PY_C, "1"])
                seconds = f"{max(2, time.monotonic() - begin):.1f}"
                self.assertEqual(done.returncode, 0, done.stderr)
                launched = self_shares()
                process = self.start(python, "-c", PY_C, "1000")
                for _ in range(3):
                    done = self.attach("-p", str(process.pid), seconds=seconds)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    attached = self_shares()
                    pairs = list(zip(C_NAMES, launched, attached))
                    if all(abs(a - b) <= C_TOLERANCE for _, a, b in pairs):
                        break
                process.kill()
                for name, before, now in pairs:
                    self.assertAlmostEqual(now, before, delta=C_TOLERANCE, msg=str(pairs))
                    if before or not ends_with_a_jump(python, name):
                        self.assertGreater(now, 0.005, name)

    def table(self, name):
        done = self.verb("report", "--export", "json=-", "--table", name, self.path("profile.bneck"))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["tables"][name]

    def test_tasks_of_asyncio_are_read_from_outside(self):
        lines = {line.split("# line: ")[1]: number for number, line in enumerate(PY_TASKS.splitlines(), 1)
                 if "# line: " in line}
        for python in PYTHONS or [sys.executable]:
            with self.subTest(python=python):
                process = self.start(python, "-c", PY_TASKS)
                before = self.state_of(process.pid)
                for _ in range(3):  # on a busy machine there are few looks
                    begin = time.monotonic()
                    done = self.attach("-v", "-p", str(process.pid), seconds="1.5")
                    end = time.monotonic()
                    self.assertEqual(done.returncode, 0, done.stderr)
                    rows = self.table("asyncio_tasks")
                    tasks = {row["function"].split(".")[-1]: row for row in rows if row["kind"] == "task"}
                    whole = tasks["main"]["total_ns"]
                    running = tasks["blocker"]["running_ns"] / whole
                    if abs(running - 0.5) < 0.1:
                        break
                self.assertEqual(self.state_of(process.pid), before)
                process.kill()
                steps = [[float(word) for word in line.split()] for line in process.stdout]
                steps = [(since, to) for since, to in steps if begin < since and to < end]
                blocked = sum(to - since for since, to in steps) / (steps[-1][1] - steps[0][0])
                self.assertAlmostEqual(running, blocked, delta=0.15)
                waits = {row["function"].split(".")[-1]: row for row in rows if row["kind"] == "wait"}
                self.assertEqual({name: row["count"] for name, row in tasks.items()},
                                 {"sleeper": 5, "getter": 1, "reader": 1, "blocker": 1, "main": 1})
                self.assertGreater(whole, 1.2e9)
                self.assertAlmostEqual(tasks["sleeper"]["total_ns"] / whole, 5, delta=0.1)
                self.assertGreater(tasks["getter"]["waiting_ns"], 0.95 * whole)
                self.assertIn(f"sleeper (<string>:{lines['sleeper']}) > leaf (<string>:{lines['leaf']}) > sleep (",
                              waits["sleeper"]["chain"])
                self.assertIn(f"numbers (<string>:{lines['numbers']}) > sleep (", waits["reader"]["chain"])
                self.assertIn(f"getter (<string>:{lines['getter']}) > ", waits["getter"]["chain"])
                self.assertIn("estimates", done.stderr.decode())

    def test_generators_that_are_left_while_they_are_read(self):
        """They have a third to a half of the time, in turns of less than a microsecond. (In 3.11, whose
        threads lead to their frames by one more pointer, 13 % are seen.)"""
        for python in [path for path in PYTHONS or [sys.executable] if "/3.11." not in path]:
            with self.subTest(python=python):
                process = self.start(python, "-c", PY_GENERATORS)
                for _ in range(3):
                    done = self.attach("-p", str(process.pid), seconds="1.5")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    rows = self.functions()
                    own = {name: int(row["self_on_cpu_ns"]) for name, row in rows.items()}
                    share = own.get("made", 0) / sum(own.values())
                    if share > 0.2:
                        break
                self.assertGreater(share, 0.2, own)
                process.kill()

    def test_frames_without_the_kernels_stacks_and_without_privileges(self):
        python = python_for_nobody()
        process = self.start(python, "-c", PY_BUSY, user=unprivileged())
        with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
            if int(file.read()) > 2:
                self.skipTest("kernel.perf_event_paranoid does not let users have perf events")
        os.chmod(self.directory, 0o777)
        line = [*unprivileged(), BOTTLENECK, "-o", self.path("profile.bneck"), "-p", str(process.pid),
                "--duration", "2s"]
        self.draw(lambda: self.bare(line, env=self.environment(XDG_STATE_HOME=None, HOME=self.directory)),
                  TOLERANCE)

    def test_the_children_it_has_and_those_it_makes(self):
        for text, name, seconds in ((PY_PARENT, "child_work", "0.7"), (PY_LATER, "late_work", "2")):
            with self.subTest(name=name):
                process = self.start(sys.executable, "-c", text)
                done = self.attach("-p", str(process.pid), seconds=seconds)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(name, self.functions())

    def test_where_new_children_wait_for_a_cpu(self):
        """Two share one. What they had run until then says where, by samples with Python's frames."""
        process = self.start(sys.executable, "-c", PY_CROWD)
        done = self.attach("-p", str(process.pid), "--export", f"collapsed={self.path('stacks')}", seconds="1.2")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("stacks"), encoding="utf-8") as file:
            waits = [line.rsplit(" ", 1) for line in file if "[waiting: a free CPU]" in line]
        whole = sum(int(ms) for _, ms in waits)
        self.assertGreater(whole, 100)
        self.assertGreater(sum(int(ms) for stack, ms in waits if "child_work" in stack) / whole, 0.8, waits)

    def test_a_python_that_a_shell_has_started_is_sampled_as_one(self):
        process = self.start("sh", "-c", f"{sys.executable} -c '{PY_BUSY}'; true")
        done = self.attach("-p", str(process.pid))
        self.assertIn("heavy", self.functions())
        self.assertNotIn("999 Hz", done.stderr.decode())

    def test_a_container_seen_from_outside(self):
        """Its threads have other numbers in its interpreter than out here."""
        need("unshare")
        line = ["unshare", "--fork", "--pid", "--mount-proc"]
        if subprocess.run([*line, "true"], capture_output=True, check=False).returncode:
            self.skipTest("no PID namespace can be made here")
        process = self.start(*line, sys.executable, "-c", PY_BUSY)
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
            child = file.read().split()[0]
        self.draw(lambda: self.attach("-p", child), TOLERANCE)

    def test_a_container_with_another_root(self):
        """Its interpreter is in no place that there is out here."""
        need("bwrap")
        if not PYTHONS:
            self.skipTest("no interpreter in a folder of its own")
        inner = "/opt/interpreter-of-a-container"
        line = ["bwrap", "--unshare-pid", "--unshare-net", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib",
                "/lib", "--symlink", "usr/lib64", "/lib64", "--ro-bind", os.path.dirname(PYTHONS[-1]) + "/..",
                inner, "--setenv", "LD_LIBRARY_PATH", f"{inner}/lib", "--proc", "/proc", "--dev", "/dev"]
        if subprocess.run([*line, "/usr/bin/true"], capture_output=True, check=False).returncode:
            self.skipTest("no container can be made here")
        process = self.start(*line, f"{inner}/bin/python3", "-c", PY_C, "1000")
        done = self.attach("-p", str(process.pid), seconds="1.5")
        self.assertEqual(done.returncode, 0, done.stderr)
        functions = self.functions()
        for name in ("short", *C_NAMES[:2]):
            self.assertIn(name, functions)

    def test_an_interpreter_that_its_path_does_not_lead_to(self):
        """It has gone into another root directory, or its file has been replaced since."""
        python = shutil.which("python3", path="/usr/bin") or sys.executable
        own = self.path("python3")
        shutil.copy(python, own)
        process = self.start(own, "-c", PY_BUSY)
        os.unlink(own)
        self.draw(lambda: self.attach("-p", str(process.pid)), TOLERANCE)
        process.kill()
        if os.geteuid():
            return  # only root may
        process = self.start(python, "-c", f"import os, threading, time\nos.chroot({self.work!r})\n{PY_BUSY}")
        self.draw(lambda: self.attach("-p", str(process.pid)), TOLERANCE)

    def test_it_ends_with_the_process_and_at_a_signal(self):
        text = "import time\nprint('ready', flush=True)\nend = time.monotonic() + 1.2\n" \
               "while time.monotonic() < end: sum(range(1000))\n"
        process = self.start(sys.executable, "-c", text)
        begin = time.monotonic()
        done = self.attach("-p", str(process.pid), seconds=None)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(time.monotonic() - begin, 60)
        self.assertEqual(process.wait(), 0)
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.start(sys.executable, "-c", PY_BUSY)
            watcher = subprocess.Popen([BOTTLENECK, "-o", self.path("profile.bneck"), "-p", str(process.pid)],
                                       stderr=subprocess.PIPE, env=self.environment(), cwd=self.work)
            time.sleep(1.5)
            watcher.send_signal(number)
            _, err = watcher.communicate(timeout=TIMEOUT)
            self.assertEqual(watcher.returncode, 0, err)
            self.assertIn("heavy", err.decode())
            self.assertIsNone(process.poll())

    def test_a_native_program_with_threads_that_wait_for_a_lock(self):
        process = subprocess.Popen([target("locks")], stdout=subprocess.DEVNULL,
                                   env=self.environment(TRUTH_MS="4000"), cwd=self.work)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        time.sleep(0.3)
        before = self.state_of(process.pid)
        done = self.attach("-p", str(process.pid), seconds="0.8")
        self.assertEqual(done.returncode, 0, done.stderr)
        after = self.state_of(process.pid)
        for key in ("fds", "maps", "TracerPid", "SigBlk", "SigIgn", "SigCgt"):
            self.assertEqual(after[key], before[key], key)

    def test_again_and_again(self):
        process = self.start(sys.executable, "-c", PY_BUSY)
        before = self.state_of(process.pid)
        for _ in range(12):
            done = self.attach("-q", "-p", str(process.pid), seconds="0.05")
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.state_of(process.pid), before)
        self.assertIsNone(process.poll())

    def test_top_shows_window_after_window(self):
        process = self.start(sys.executable, "-c", PY_BUSY)
        top = subprocess.Popen([BOTTLENECK, "top", "-p", str(process.pid), "--interval", "0.5"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment(),
                               cwd=self.work)
        self.addCleanup(top.wait)
        self.addCleanup(top.kill)
        shown = 0
        while shown < 3:
            line = top.stdout.readline()
            self.assertTrue(line, "it has ended")
            shown += b"attached to PID" in line
        process.kill()
        process.wait()
        out, err = top.communicate(timeout=TIMEOUT)
        self.assertEqual(top.returncode, 0, err)
        self.assertIn(b"The processes have ended", out)
        for arguments in (["-p", str(process.pid)], []):
            done = self.verb("top", *arguments)
            self.assertEqual(done.returncode, 125)
            self.assert_clean_message(done)

    def test_top_names_all_processes_and_takes_the_rate_that_it_advises(self):
        processes = [self.start("sh", "-c", "echo ready; exec sleep 100") for _ in range(2)]
        pids = [str(process.pid) for process in processes]
        line = [BOTTLENECK, "top", "-F", "4999", "--interval", "0.3", "-p", ",".join(pids)]
        top = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment(),
                               cwd=self.work)
        self.addCleanup(top.wait)
        text = ""
        while "4999 Hz" not in text or "PIDs" not in text:
            line = top.stdout.readline().decode()
            self.assertTrue(line, text + top.stderr.read().decode() if top.poll() is not None else text)
            text += line
        self.assertIn(f"attached to PIDs {pids[0]}, {pids[1]}", text)
        top.send_signal(signal.SIGINT)
        top.communicate(timeout=TIMEOUT)
        self.assertEqual(top.returncode, 0)

    def test_top_on_a_terminal_ends_with_q(self):
        process = self.start(sys.executable, "-c", PY_BUSY)
        terminal = Terminal(self)
        terminal.command(f"{BOTTLENECK} top -p {process.pid} --interval 0.5")
        terminal.expect("attached to PID")
        terminal.send("q")
        terminal.expect("prompt> ")
        self.assertEqual(terminal.status(), 0)

    def test_what_cannot_be_attached_to(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        zombie = subprocess.Popen(["true"])
        os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
        self.addCleanup(zombie.wait)
        for arguments, words in (
                (["-p", str(gone.pid)], [str(gone.pid), "No such process"]),
                (["-p", str(zombie.pid)], [str(zombie.pid), "it has ended"]),
                (["-p", "x"], ["process IDs"]),
                (["-p", "0"], ["process IDs"]),
                (["-p", "1,,2"], ["process IDs"]),
                (["-p", str(os.getpid()), "true"], ["cannot go with a program"]),
                (["-p", str(os.getpid()), "--trace", "main"], ["--trace", "-p"])):
            with self.subTest(arguments=arguments):
                done = self.bare([BOTTLENECK, *arguments])
                self.assertEqual(done.returncode, 125)
                self.assert_clean_message(done, *words)

    @unittest.skipUnless(os.geteuid() == 0, "needs processes of two users")
    def test_another_users_process_is_refused_with_the_remedy(self):
        process = self.start(sys.executable, "-c", PY_BUSY)
        done = self.bare([*unprivileged(), BOTTLENECK, "-p", str(process.pid), "--duration", "1"],
                         env=self.environment(HOME="/nonexistent", XDG_STATE_HOME=None))
        self.assertEqual(done.returncode, 125)
        self.assert_clean_message(done, "root's", "as that user, or as root")

    def test_without_perf_events_python_is_seen_and_it_is_said(self):
        for python in interpreters.find().values():
            with self.subTest(python=python):
                process = self.start(python, "-c", PY_BUSY)
                before = self.state_of(process.pid)
                line = [NO_PERF, BOTTLENECK, "-v", "-o", self.path("profile.bneck"), "-p",
                        str(process.pid), "--duration", "1.5"]
                done = self.draw(lambda: self.bare(line), 0.2)
                self.assertIn("perf_event_open", done.stderr.decode())
                self.assertEqual(self.state_of(process.pid), before)
                process.kill()


if __name__ == "__main__":
    main()
