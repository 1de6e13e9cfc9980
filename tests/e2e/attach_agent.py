# SPDX-License-Identifier: MIT
"""The agent in processes that run already (-p --agent): what it adds, and that they do not notice."""
import contextlib
import csv
import ctypes
import glob
import io
import os
import random
import signal
import subprocess
import sys
import time
import unittest

from harness import BOTTLENECK, TIMEOUT, Case, main, need, unprivileged

ATTACHED = os.environ.get("ATTACHED", "build/tests/attached")
ATTACHED_STATIC = os.environ.get("ATTACHED_STATIC", "build/tests/attached_static")
LATE_TORCH = os.environ.get("LATE_TORCH", "build/tests/late_torch")
LIBRARY = "libbottleneck-agent.so"
CYCLES = 25  # tests/hostile/attach_cycles.py has 200
PYTHONS = sorted(path for path in glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))
                 if int(path.split("/3.")[1].split(".")[0]) >= 11)
# Results, times and signals of threads that wait for each other, at the end of its input.
PYTHON = """import asyncio, os, select, signal, sys, threading, time
ticks, results, stop = 0, [], False
def tick(number, frame):
    global ticks
    ticks += 1
signal.signal(signal.SIGALRM, tick)
signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
begun = threading.Barrier(5)
def work():
    begun.wait()
    while not stop:
        x = 0
        for i in range(50000):
            x = (x * 31 + i) % 1000003
        results.append(x)
def polls():
    reader, writer = os.pipe()
    epoll = select.epoll()
    epoll.register(reader, select.EPOLLIN)
    begun.wait()
    while not stop:
        assert epoll.poll(0.03) == []
async def tasks():
    begun.wait()
    while not stop:
        await asyncio.sleep(0.01)
def wait():
    event = threading.Event()
    begun.wait()
    while not stop:
        assert not event.wait(0.02)
threads = [threading.Thread(target=target) for target in (work, polls, wait, lambda: asyncio.run(tasks()))]
for thread in threads:
    thread.start()
begun.wait()
print("ready", flush=True)
sys.stdin.read()
stop = True
for thread in threads:
    thread.join()
signal.setitimer(signal.ITIMER_REAL, 0)
print(len(set(results)), ticks > 0)
"""
FORKS = """import os, sys, threading, time
print("ready", flush=True)
stop = False
def forks():
    while not stop:
        pid = os.fork()
        if not pid:
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
thread = threading.Thread(target=forks)
thread.start()
sys.stdin.read()
stop = True
thread.join()
print("over")
"""


def end_group(number):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(number, signal.SIGKILL)


class AttachAgent(Case):
    def start(self, *command, ready=True, **options):
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.work,
                                   start_new_session=True, **options)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(end_group, process.pid)
        if ready:
            self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def attach(self, process, *arguments, seconds="0.05", **options):
        return self.bare([BOTTLENECK, "-q", "-o", self.path("profile.bneck"), "-p", str(process.pid),
                          "--agent", "--duration", seconds, *arguments], **options)

    def end(self, process, wanted):
        out, _ = process.communicate(timeout=TIMEOUT)
        self.assertEqual((out.decode(), process.returncode), wanted)

    def state_of(self, pid):
        """What the agent could leave behind; where its library stays, that is left out."""
        tasks = {}
        for tid in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{tid}/status", encoding="ascii", errors="replace") as file:
                status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
            tasks[tid] = [status[key] for key in ("TracerPid", "SigBlk", "SigIgn", "SigCgt")]
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
            maps = sorted({line.split()[5] for line in file if len(line.split()) > 5})
        return {"fds": sorted(os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")),
                "maps": [path for path in maps if not path.endswith(LIBRARY) and path != "[heap]"],
                "tasks": tasks}

    def has_library(self, pid):
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
            return LIBRARY in file.read()

    def cycles(self, process, count):
        before = self.state_of(process.pid)
        for _ in range(count):
            done = self.attach(process)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(self.has_library(process.pid))
        self.assertEqual(self.state_of(process.pid), before)

    def test_threads_that_wait_work_and_allocate_notice_nothing(self):
        process = self.start(ATTACHED, "pnefrwa")
        self.cycles(process, CYCLES)
        self.end(process, ("0 wrong\n", 0))

    def test_one_thread_that_waits_or_works(self):
        for letter in "PNEFRW":
            with self.subTest(letter=letter):
                process = self.start(ATTACHED, letter)
                self.cycles(process, 5)
                process.send_signal(signal.SIGTERM)
                self.end(process, ("0 wrong\n", 0))

    def test_the_run_is_as_long_as_its_threads_are_seen(self):
        """To join and to leave takes as long as a short recording: that is part of both, or of neither."""
        process = self.start(ATTACHED, "pnefrwa")
        self.assertEqual(self.attach(process).returncode, 0)
        run = next(int(row["wall_ns"]) for row in self.table("run"))
        longest = max(int(row["total_ns"]) for row in self.table("threads"))
        self.assertLess(abs(longest - run), 0.1 * run + 2e6)
        self.end(process, ("0 wrong\n", 0))

    def test_a_python_notices_nothing(self):
        for python in PYTHONS or [sys.executable]:
            with self.subTest(python=python):
                process = self.start(python, "-c", PYTHON)
                self.cycles(process, CYCLES if python == (PYTHONS or [python])[0] else 10)
                self.end(process, ("1 True\n", 0))

    def test_a_python_has_the_rate_of_an_attached_one(self):
        process = self.start(sys.executable, "-c", PYTHON)
        for arguments, hz in ([], "149"), (["-F", "499"], "499"):
            done = self.attach(process, *arguments, seconds="0.5")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.table("run")[0]["frequency_hz"], hz)
            report = self.verb("report", "-v", self.path("profile.bneck")).stdout.decode()
            self.assertIn(f"samples at {hz} Hz", report)
            self.assertNotIn("did not sample itself", report)
        self.end(process, ("1 True\n", 0))

    def test_a_program_that_forks_meanwhile(self):
        process = self.start(sys.executable, "-c", FORKS)
        for _ in range(10):
            done = self.attach(process)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.end(process, ("over\n", 0))

    def table(self, name):
        done = self.verb("report", "--export", "csv=-", "--table", name, self.path("profile.bneck"))
        self.assertEqual(done.returncode, 0, done.stderr)
        return list(csv.DictReader(io.StringIO(done.stdout.decode())))

    def ops(self):
        return {row["name"]: row for row in self.table("ops")}

    def test_ops_of_pytorch(self):
        process = self.start(LATE_TORCH)
        before = self.state_of(process.pid)
        for _ in range(3):
            done = self.attach(process, seconds="0.5")
            self.assertEqual(done.returncode, 0, done.stderr)
            ops = self.ops()
            outer, inner = (int(ops[name]["calls"]) for name in ("late::outer", "late::inner"))
            self.assertGreater(outer, 10)
            self.assertAlmostEqual(inner, 2 * outer, delta=8)  # of two threads, at both ends
        self.assertEqual(self.state_of(process.pid), before)
        self.end(process, ("0 callbacks\n", 0))

    def test_without_the_option_nothing_is_loaded(self):
        process = self.start(LATE_TORCH)
        done = self.bare([BOTTLENECK, "-v", "-o", self.path("profile.bneck"), "-p", str(process.pid),
                          "--duration", "0.5"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("--agent", done.stderr.decode())
        self.assertFalse(self.has_library(process.pid))
        self.assertNotIn("late::outer", self.ops())
        self.end(process, ("0 callbacks\n", 0))

    def test_bottleneck_may_be_killed_at_any_moment(self):
        # Killed between a stop and the next line of it, epoll_wait() and a recv() with a timeout fail, as
        # they do at SIGSTOP. Both programs are computing meanwhile: they are watched at the same time.
        programs = [(self.start(*command), wanted) for command, wanted in
                    (([ATTACHED, "pnfwa"], "0 wrong\n"), ([LATE_TORCH], "0 callbacks\n"))]
        before = [self.state_of(process.pid) for process, _ in programs]
        for _ in range(30):
            watchers = [subprocess.Popen(
                [BOTTLENECK, "-q", "-o", self.path(f"killed{i}.bneck"), "-p", str(process.pid), "--agent",
                 "--duration", "0.05"], stderr=subprocess.DEVNULL, env=self.environment(), cwd=self.work)
                for i, (process, _) in enumerate(programs)]
            begin = time.monotonic()
            for after, watcher in sorted((random.uniform(0, 0.3), i) for i in range(len(watchers))):
                time.sleep(max(0, begin + after - time.monotonic()))
                watchers[watcher].kill()
                watchers[watcher].wait()
                self.assertIsNone(programs[watcher][0].poll())
        # A call that was begun leads back: soon the next one is possible, and leaves the program as it was.
        end = time.monotonic() + 6
        for (process, wanted), state in zip(programs, before):
            with self.subTest(command=process.args):
                done = self.attach(process)
                while time.monotonic() < end and (done.returncode or self.state_of(process.pid) != state):
                    time.sleep(0.2)
                    done = self.attach(process)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.state_of(process.pid), state)
                self.end(process, (wanted, 0))

    def refused(self, process, *words, **options):
        done = self.attach(process, **options)
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assert_clean_message(done, str(process.pid), *words)

    def test_what_it_is_not_loaded_into(self):
        process = self.start(ATTACHED_STATIC, "p")
        self.refused(process, "statically linked")
        self.end(process, ("0 wrong\n", 0))
        process = self.start(ATTACHED, "p")
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(0.1)
        self.refused(process, "stopped")
        os.kill(process.pid, signal.SIGCONT)
        self.assertFalse(self.has_library(process.pid))
        self.end(process, ("0 wrong\n", 0))

    def test_a_zombie(self):
        process = subprocess.Popen(["true"])
        time.sleep(0.3)
        done = self.attach(process)
        self.assertEqual(done.returncode, 125)
        process.wait()

    def test_a_process_that_is_traced(self):
        libc = ctypes.CDLL(None, use_errno=True)
        process = self.start(ATTACHED, "p")
        if libc.ptrace(0x4206, process.pid, 0, 0) < 0:  # PTRACE_SEIZE
            self.skipTest("no ptrace() here")
        self.refused(process, "traces it already")
        libc.ptrace(0x4207, process.pid, 0, 0)  # PTRACE_INTERRUPT
        os.waitpid(process.pid, 0x40000000)
        libc.ptrace(17, process.pid, 0, 0)  # PTRACE_DETACH
        self.end(process, ("0 wrong\n", 0))

    def test_a_process_under_a_filter(self):
        text = "import ctypes, struct, sys\nlibc = ctypes.CDLL(None)\nlibc.prctl(38, 1, 0, 0, 0)\n" \
               "allow = ctypes.create_string_buffer(struct.pack('<HBBI', 6, 0, 0, 0x7fff0000))\n" \
               "program = struct.pack('<HxxxxxxQ', 1, ctypes.addressof(allow))\n" \
               "assert libc.prctl(22, 2, program, 0, 0) == 0\n" \
               "print('ready', flush=True)\nsys.stdin.read()\nprint('over')"
        process = self.start(sys.executable, "-c", text)
        self.refused(process, "seccomp")
        self.assertFalse(self.has_library(process.pid))
        self.end(process, ("over\n", 0))

    @unittest.skipUnless(os.geteuid() == 0, "needs another root directory")
    def test_a_process_in_another_root_directory(self):
        need("unshare")
        line = ["unshare", "--mount", "sh", "-c", f"mount -t tmpfs none {os.path.dirname(BOTTLENECK)}/../tracer && "
                f"exec {sys.executable} -c 'print(\"ready\", flush=True); import sys; sys.stdin.read()'"]
        process = self.start(*line, ready=False)
        if process.stdout.readline() != b"ready\n":
            self.skipTest("no mount namespaces here")
        self.refused(process, "another root directory")
        self.end(process, ("", 0))

    @unittest.skipUnless(os.geteuid() == 0, "needs processes of two users")
    def test_another_users_process(self):
        process = self.start(ATTACHED, "p")
        done = self.bare([*unprivileged(), BOTTLENECK, "-p", str(process.pid), "--agent", "--duration", "0.1"],
                         env=self.environment(HOME="/nonexistent", XDG_STATE_HOME=None))
        self.assertEqual(done.returncode, 125)
        self.assert_clean_message(done, "root's", "as that user, or as root")
        self.assertFalse(self.has_library(process.pid))
        self.end(process, ("0 wrong\n", 0))

    def test_a_program_that_bottleneck_records_already(self):
        command = [BOTTLENECK, "-q", "-o", self.path("launched.bneck"), ATTACHED, "p"]
        process = self.start(*command, env=self.environment())
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
            children = file.read().split()
        for child in children:
            if self.has_library(child):
                done = self.bare([BOTTLENECK, "-p", child, "--agent", "--duration", "0.1"])
                self.assertEqual(done.returncode, 125)
                self.assert_clean_message(done, "an agent is at work in it")
                break
        else:
            self.fail("no child has the agent")
        self.end(process, ("0 wrong\n", 0))

    def test_it_goes_with_attaching_alone(self):
        done = self.bare([BOTTLENECK, "--agent", "true"])
        self.assertEqual(done.returncode, 125)
        self.assert_clean_message(done, "--agent", "-p")


if __name__ == "__main__":
    main()
