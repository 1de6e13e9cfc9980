# SPDX-License-Identifier: MIT
"""What the agent stands in front of in processes that run already (-p --agent): it records what a program
that knows its truth does, and leaves each place that holds a function's address as it was."""
import csv
import io
import json
import os
import random
import re
import signal
import subprocess
import time

from harness import BOTTLENECK, TIMEOUT, Case, main

HOOKS = os.environ.get("LATE_HOOKS", "build/tests/late_hooks_lazy:build/tests/late_hooks_now").split(":")
PLUGIN = os.environ.get("LATE_PLUGIN", "build/tests/liblate_plugin.so")
LIBRARY = "libbottleneck-agent.so"
SOURCE = os.path.join(os.path.dirname(__file__), "..", "programs", "late_hooks.c")
ALL = "hwrsabl"


def line_of(mark):
    with open(SOURCE, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if f"// {mark}" in line)


class AttachHooks(Case):
    def start(self, binary, letters):
        process = subprocess.Popen([binary, self.path("places"), letters], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, cwd=self.work, start_new_session=True,
                                   env={**os.environ, "LATE_PLUGIN": PLUGIN})
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(lambda: process.poll() is None and os.killpg(process.pid, signal.SIGKILL))
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def attach(self, process, seconds="0.05", *arguments):
        done = self.bare([BOTTLENECK, "-q", "-o", self.path("profile.bneck"), "-p", str(process.pid), "--agent",
                          "--duration", seconds, *arguments])
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def table(self, name):
        done = self.verb("report", "--export", "csv=-", "--table", name, self.path("profile.bneck"))
        self.assertEqual(done.returncode, 0, done.stderr)
        return list(csv.DictReader(io.StringIO(done.stdout.decode())))

    def end(self, process):
        """What it has counted: calls that went by way of the agent, and all."""
        out, _ = process.communicate(timeout=TIMEOUT)
        text = out.decode()
        self.assertTrue(text.endswith("0 wrong, 0 changed\n"), text)
        self.assertEqual(process.returncode, 0, text)
        return {name: (int(through), int(total))
                for name, through, total in re.findall(r"^(\w+) (\d+) of (\d+)$", text, re.MULTILINE)}

    def places(self, process):
        """Function names and what their places hold, by address; its object's own addresses are NAME's
        before it is first called."""
        memory = os.open(f"/proc/{process.pid}/mem", os.O_RDONLY)
        found = {}
        with open(self.path("places"), encoding="utf-8") as file:
            for line in file:
                at, start, end, name = line.rstrip("\n").split(" ")
                value = int.from_bytes(os.pread(memory, 8, int(at, 16)), "little")
                found[int(at, 16)] = (name, value, int(start, 16) <= value < int(end, 16))
        os.close(memory)
        return found

    def maps(self, process):
        """Mappings of files, but for those of the agent and the plugin: where, how, and which."""
        with open(f"/proc/{process.pid}/maps", encoding="utf-8") as file:
            lines = [line.split(None, 5) for line in file]
        return [(line[0], line[1], line[5].rstrip("\n")) for line in lines
                if len(line) > 5 and line[5].startswith("/") and LIBRARY not in line[5] and
                os.path.basename(PLUGIN) not in line[5]]

    def agents(self, process):
        with open(f"/proc/{process.pid}/maps", encoding="utf-8") as file:
            return [tuple(int(x, 16) for x in line.split()[0].split("-")) for line in file if LIBRARY in line]

    def held(self, process):
        """Names of functions whose calls come to the agent."""
        agents = self.agents(process)
        return {name for name, value, _ in self.places(process).values()
                if any(start <= value < end for start, end in agents)}

    def assert_as_before(self, process, before, maps):
        self.assertEqual(self.maps(process), maps)
        self.assertEqual(self.held(process), set())
        now = self.places(process)
        for at, (name, value, unbound) in before.items():
            if now[at][1] != value:
                self.assertTrue(unbound, f"{name}: {value:#x}, now {now[at][1]:#x}")

    def is_recovered(self, process, maps):
        return not self.held(process) and self.maps(process) == maps

    def while_attached(self, process, *arguments):
        """The functions whose calls came to the agent in the middle of an attachment of two seconds, all of
        which is recorded, to the very end."""
        watcher = subprocess.Popen([BOTTLENECK, "-q", "-o", self.path("profile.bneck"), "-p", str(process.pid),
                                    "--agent", *arguments], cwd=self.work, env=self.environment(),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        held, end = set(), time.monotonic() + TIMEOUT
        while watcher.poll() is None and not held and time.monotonic() < end:
            time.sleep(0.05)
            held = self.held(process)
        time.sleep(2)
        held |= self.held(process)  # the first look may have come in the middle of it
        watcher.send_signal(signal.SIGINT)
        _, errors = watcher.communicate(timeout=TIMEOUT)
        self.assertEqual(watcher.returncode, 0, errors)
        return held

    def test_locks_and_who_holds_them(self):
        for binary in HOOKS:
            with self.subTest(binary=binary):
                process = self.start(binary, "hwrs")
                before, maps = self.places(process), self.maps(process)
                held = self.while_attached(process)
                self.assertLessEqual({"pthread_mutex_lock", "pthread_mutex_unlock", "pthread_cond_wait"}, held)
                self.assert_as_before(process, before, maps)
                rows = [row for row in self.table("waits")
                        if row["resource"] == "mutex" and row["resource_name"] == "fought"]
                most = max(rows, key=lambda row: int(row["total_ns"]), default=None)
                self.assertIsNotNone(most)
                self.assertEqual((most["waiter"], most["holder"], int(most["holder_line"]), most["guessed"]),
                                 ("want", "hold", line_of("HELD"), "false"))
                # It is held for 20 of 22 ms.
                self.assertGreater(sum(int(row["total_ns"]) for row in rows), 1.4e9)
                self.assertLess(sum(int(row["total_ns"]) for row in rows), 2.4e9)
                self.end(process)

    def counted(self):
        return json.loads(self.verb("report", "--export=json=-", self.path("profile.bneck")).stdout)["tables"]

    def test_allocations_are_counted_while_it_is_there(self):
        for binary in HOOKS:
            with self.subTest(binary=binary):
                process = self.start(binary, "a")
                before, maps = self.places(process), self.maps(process)
                allocations = frees = 0
                for _ in range(2):
                    self.assertLessEqual({"malloc", "free"}, self.while_attached(process, "--exact", "malloc"))
                    self.assert_as_before(process, before, maps)
                    tables = self.counted()
                    totals = tables["memory_totals"][0]
                    allocations += totals["allocations"]
                    frees += totals["frees"]
                    rows = tables["memory"]
                    most = max(rows, key=lambda row: row["allocated_bytes"])
                    self.assertEqual((most["name"], most["line"]), ("allocate", line_of("ALLOCATED")))
                    self.assertGreater(most["allocated_bytes"], 0.8 * totals["allocated_bytes"])
                counts = self.end(process)
                self.assertGreater(counts["malloc"][0], 20000)
                # Of two ends, each in the middle of a call.
                self.assertLessEqual(abs(allocations - counts["malloc"][0]), 4)
                self.assertLessEqual(abs(frees - counts["free"][0]), 4)

    def test_few_allocations_are_counted_too(self):
        process = self.start(HOOKS[0], "d")
        recorded = []
        for _ in range(2):
            self.attach(process, "1")
            recorded.append(self.counted()["memory_totals"][0]["allocations"])
        self.assertLessEqual(abs(sum(recorded) - self.end(process)["malloc"][0]), 4)
        self.assertGreater(min(recorded), 10)

    def test_calls_of_blas(self):
        for binary in HOOKS:
            with self.subTest(binary=binary):
                process = self.start(binary, "bl")
                before, maps = self.places(process), self.maps(process)
                calls = 0
                for _ in range(2):
                    self.assertIn("cblas_ddot", self.while_attached(process, "--exact", "ops"))
                    self.assert_as_before(process, before, maps)
                    rows = [row for row in self.table("ops") if row["name"] == "cblas_ddot"]
                    self.assertEqual(len(rows), 1)
                    calls += int(rows[0]["calls"])
                through = self.end(process)["cblas_ddot"][0]
                self.assertGreater(through, 500)
                self.assertLessEqual(calls, through + 4)
                self.assertGreater(calls, 0.98 * through)

    def test_transforms_of_fftw(self):
        for binary in HOOKS:
            with self.subTest(binary=binary):
                process = self.start(binary, "xl")
                before, maps = self.places(process), self.maps(process)
                calls, names = 0, set()
                for _ in range(2):
                    self.assertIn("fftw_execute", self.while_attached(process, "--exact", "ops"))
                    self.assert_as_before(process, before, maps)
                    rows = [row for row in self.table("ops") if row["name"].startswith("fftw_execute")]
                    names |= {row["name"] for row in rows}
                    calls += sum(int(row["calls"]) for row in rows)
                # The plan that is there when it comes has no kind.
                self.assertEqual(names, {"fftw_execute", "fftw_execute dft"})
                through = self.end(process)["fftw_execute"][0]
                self.assertGreater(through, 500)
                self.assertLessEqual(calls, through + 4)
                self.assertGreater(calls, 0.98 * through)

    def test_a_library_that_is_opened_meanwhile(self):
        process = self.start(HOOKS[0], "l")
        before, maps = self.places(process), self.maps(process)
        self.attach(process, "1", "--exact", "malloc")
        self.assert_as_before(process, before, maps)
        tables = self.counted()
        # Each time that it is opened, it allocates 49 blocks.
        self.assertGreater(tables["memory_totals"][0]["allocations"], 20 * 49)
        self.assertIn("plugin_work", {row["name"] for row in tables["memory"]})
        self.end(process)

    def test_a_thread_that_forbids_itself_system_calls(self):
        process = self.start(HOOKS[0], "hfa")
        done = self.bare([BOTTLENECK, "-o", self.path("profile.bneck"), "-p", str(process.pid), "--agent",
                          "--duration", "1.5"])
        self.assertIsNone(process.poll())
        text = " ".join(self.verb("report", self.path("profile.bneck")).stdout.decode().split())
        self.assertIn("seccomp", text, done.stderr)
        out, _ = process.communicate(timeout=TIMEOUT)
        # Its calls are passed on for ever: nobody may change what they go by any more.
        self.assertIn("\n0 wrong, ", out.decode())

    def test_nothing_stays_after_many_times(self):
        for binary in HOOKS:
            with self.subTest(binary=binary):
                process = self.start(binary, ALL)
                before, maps = self.places(process), self.maps(process)
                for _ in range(50):
                    self.attach(process)
                    self.assert_as_before(process, before, maps)
                self.end(process)

    def test_bottleneck_may_be_killed_at_any_moment(self):
        for binary in HOOKS:
            with self.subTest(binary=binary):
                process = self.start(binary, ALL)
                before, maps = self.places(process), self.maps(process)
                for _ in range(40):
                    watcher = subprocess.Popen(
                        [BOTTLENECK, "-q", "-o", self.path("killed.bneck"), "-p", str(process.pid), "--agent",
                         "--duration", "0.1"], stderr=subprocess.DEVNULL, env=self.environment(), cwd=self.work)
                    time.sleep(random.uniform(0, 0.5))
                    watcher.kill()
                    watcher.wait()
                    self.assertIsNone(process.poll())
                # A call that was begun leads back: soon the next one is possible.
                end = time.monotonic() + 6
                while time.monotonic() < end and not self.is_recovered(process, maps):
                    time.sleep(0.2)
                self.attach(process)
                self.assert_as_before(process, before, maps)
                self.end(process)


if __name__ == "__main__":
    main()
