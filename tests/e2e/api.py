# SPDX-License-Identifier: MIT
"""Bottleneck's own API, in C, C++ and Python: ranges, steps, and what is recorded.

API_TARGET and API_TARGET_CC are the programs. Every Python that is on this machine is tried.
"""
import contextlib
import csv
import glob
import io
import json
import os
import re
import sqlite3
import subprocess
import sys
import textwrap
import unittest

from harness import BOTTLENECK, Case, main

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PACKAGE = os.path.join(ROOT, "python")
TARGET = os.environ.get("API_TARGET", "")
TARGET_CC = os.environ.get("API_TARGET_CC", "")

RANGES = """
    import os, sys, threading, time
    import bottleneck_profiler as bn

    def burn(ms):
        end = time.perf_counter() + ms / 1000
        while time.perf_counter() < end:
            sum(range(300))

    @bn.range()
    def decorated():
        burn(15)

    def load():
        burn(15)

    def thrown():
        with bn.range("thrown"):
            burn(3)
            raise KeyError("out")

    def turns(name):
        for _ in range(4):
            with bn.range(name):
                burn(3)

    def main():
        for i in range(6):
            with bn.range("loading"):
                load()
            with bn.range("training"):
                burn(5)
                decorated()
            try:
                thrown()
            except KeyError:
                pass
        threads = [threading.Thread(target=turns, args=("thread",)) for _ in range(2)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        again = bn.range("again")
        with again, again:
            pass
        pid = os.fork()
        if not pid:
            with bn.range("child"):
                burn(3)
            os._exit(0)
        os.waitpid(pid, 0)

    main()
    print(bn.is_profiled())
"""

TASKS = """
    import asyncio, threading, time
    import bottleneck_profiler as bn

    async def main():
        @bn.range()
        async def fetch(name):
            await asyncio.sleep(0.02)
            return name

        async def task():
            async with bn.range("task"):
                async with bn.range("inner"):
                    result = await fetch("fetch")
                await asyncio.sleep(0.01)
            return result

        results = await asyncio.gather(*(task() for _ in range(4)))
        print(*results[:2])
        async with bn.range("task"), bn.range("inner"):
            await asyncio.sleep(0.03)

    number = bn.range_start("across")
    asyncio.run(main())
    thread = threading.Thread(target=bn.range_end, args=(number,))
    thread.start()
    thread.join()
    bn.range_end(number)
    bn.range_end(1234567)
"""

STEPS = """
    import time
    import bottleneck_profiler as bn

    def burn(ms):
        end = time.perf_counter() + ms / 1000
        while time.perf_counter() < end:
            sum(range(300))

    bn.start()   # records already
    for i in range(8):
        bn.mark_step()
        burn(30 if i == 0 else 10)
    bn.stop()
    for i in range(5):
        bn.mark_step()
        burn(10)
    bn.stop()
    bn.start()
    for i in range(4):
        bn.mark_step()
        burn(10)
    bn.mark_step()
    burn(50)
"""


def pythons():
    found = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")))
    old = [os.path.expanduser("~/.pyenv/versions/" + name) for name in ("3.6", "3.7")]
    return [sys.executable] + [python for python in found if not python.startswith(tuple(old))]


class Api(Case):
    def profile(self, command, *options, **more):
        done = self.profile_run(command, *options, **more)
        self.assertEqual(done.status, 0, done.err)
        shown = self.verb("report", done.profile, "--export", "json=-")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        return done, json.loads(shown.stdout)

    def rows(self, profile):
        return {row["name"]: row for row in profile["tables"]["ops"] if row["provider"] == "api"}

    def run_of(self, done):
        with contextlib.closing(sqlite3.connect(done.profile)) as db:
            return {key: int(value) for key, value in db.execute(
                "SELECT key, value FROM run WHERE key IN ('recorded_gates', 'recorded_from_ns', "
                "'recorded_to_ns', 'recorded_ns')")}

    def calls(self, profile):
        return {name: row["calls"] - row["left_open"] for name, row in self.rows(profile).items()}

    def script(self, text):
        path = self.path("script.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
        return path

    def python(self, python, text, *options):
        environment = self.environment(PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE="1")
        return self.profile([python, self.script(text)], *options, env=environment)

    def test_c_ranges_nest_in_each_thread(self):
        _, profile = self.profile([TARGET, "nested", "10"])
        self.assertEqual(self.calls(profile), {"round 0": 10, "round 1": 10, "inner": 20})
        rows = self.rows(profile)
        around = [rows["round 0"], rows["round 1"]]
        self.assertEqual(sum(row["total_ns"] - row["self_ns"] for row in around), rows["inner"]["total_ns"])
        self.assertGreaterEqual(rows["inner"]["self_ns"], 20 * 2000000)

    def test_c_ranges_stand_where_they_were_begun(self):
        done, _ = self.profile([TARGET, "nested", "60"])
        table = self.verb("report", done.profile, "--ops").stdout.decode()
        self.assertRegex(table, r"api +inner +api_target\.c:\d+")
        stacks = self.verb("report", done.profile, "--export", "collapsed=-")
        within = [line for line in stacks.stdout.decode().splitlines() if ";work" in line]
        whole = [line for line in within if "«inner»" in line]
        self.assertGreater(len(whole), 0, within)
        for line in whole:
            self.assertRegex(line, r"nest[^;]*;«round [01]»;.*inner[^;]*;«inner»;.*work")

    def test_what_is_stopped_is_not_recorded(self):
        done, profile = self.profile([TARGET, "gates"])
        self.assertEqual(self.calls(profile), {"before": 1, "after": 1, "mark_step": 10, "start": 0})
        self.assertEqual(profile["steps"]["steps"], 10)
        self.assertIn("as the program called start() and stop()", " ".join(done.report.split()))
        run = self.run_of(done)
        self.assertEqual(run["recorded_gates"], 2)
        paused = run["recorded_to_ns"] - run["recorded_from_ns"] - run["recorded_ns"]
        self.assertGreaterEqual(paused, 40e6)
        # No step has the pause in it.
        self.assertLessEqual(profile["steps"]["sum_ns"], run["recorded_ns"])

    def test_start_paused_waits_for_start(self):
        done, profile = self.profile([TARGET, "paused"], "--start-paused")
        self.assertEqual(self.calls(profile), {"within": 1, "start": 0})
        run = self.run_of(done)
        self.assertGreaterEqual(run["recorded_ns"], 30e6)
        self.assertEqual(run["recorded_ns"], run["recorded_to_ns"] - run["recorded_from_ns"])
        self.assertGreaterEqual(self.run_of(done)["recorded_from_ns"], 20e6)
        done, profile = self.profile([TARGET, "nested"], "--start-paused")
        self.assertIn("did not call", " ".join(done.report.split()))
        self.assertEqual(self.calls(profile), {})

    def test_a_start_that_changes_nothing_is_reported(self):
        done, _ = self.profile([TARGET, "paused"])
        self.assertIn("left out with --start-paused", " ".join(done.report.split()))

    def test_ranges_and_schedules_overrule_gates(self):
        done, profile = self.profile([TARGET, "gates"], "--range", "between")
        self.assertEqual(self.calls(profile)["between"], 1)
        self.assertIn("had no effect", " ".join(done.report.split()))
        done, profile = self.profile([TARGET, "gates"], "--steps", "mark_step", "--schedule", "wait=1,active=2")
        self.assertIn("by the schedule wait=1,active=2", " ".join(done.report.split()))

    def test_start_paused_does_not_go_with_what_hides_start(self):
        for options in (["--no-ops"], ["--no-agent"], ["--no-api"], ["--range", "x"],
                        ["--schedule", "wait=1,active=1"]):
            done = self.bare([BOTTLENECK, "--start-paused", *options, "true"])
            self.assert_clean_message(done, "--start-paused")

    def test_forks_and_what_is_left(self):
        _, profile = self.profile([TARGET, "fork"])
        self.assertEqual(self.calls(profile), {"parent": 1, "child": 1})
        _, profile = self.profile([TARGET, "left"])
        self.assertEqual(self.calls(profile), {"around": 1, "left": 1, "next": 1})

    def test_exceptions_leave_scopes_of_cxx(self):
        done, profile = self.profile([TARGET_CC])
        self.assertEqual(self.calls(profile), {"all": 1, "thrown": 4, "caught": 4})
        table = self.verb("report", done.profile, "--ops").stdout.decode()
        self.assertRegex(table, r"api +thrown +api_target\.cc:\d+")

    def test_started_ranges_end_in_whatever_thread(self):
        _, profile = self.profile([TARGET, "across"])
        self.assertEqual(self.calls(profile), {"across": 1, "overlaps": 1, "nested": 1})
        rows = self.rows(profile)
        self.assertGreaterEqual(rows["across"]["total_ns"], 4e6)
        # It goes on in the parent, whatever the child says.
        self.assertGreater(rows["overlaps"]["total_ns"], rows["across"]["total_ns"])
        # What overlaps is nobody's part.
        self.assertEqual(rows["nested"]["self_ns"], rows["nested"]["total_ns"])

    def test_tasks_of_asyncio_have_ranges_of_their_own(self):
        for python in pythons():
            with self.subTest(python=python):
                done, profile = self.python(python, TASKS)
                self.assertEqual(done.out, b"fetch fetch\n")
                self.assertEqual(self.calls(profile), {"task": 5, "inner": 5, "main.<locals>.fetch": 4, "across": 1})
                rows = self.rows(profile)
                # They wait at once: together far longer than it took.
                self.assertGreaterEqual(rows["task"]["min_ns"], 30e6)
                self.assertGreaterEqual(rows["inner"]["min_ns"], 20e6)
                self.assertLess(rows["inner"]["total_ns"], rows["task"]["total_ns"])
                self.assertGreaterEqual(rows["across"]["total_ns"], 20e6)
                table = self.verb("report", done.profile, "--ops").stdout.decode()
                self.assertRegex(table, r"api +inner +script\.py:13")
                self.assertRegex(table, r"api +across +script\.py:23")

    def test_no_api_ignores_all_of_it(self):
        done, profile = self.profile([TARGET, "gates"], "--no-api")
        self.assertEqual(self.calls(profile), {})
        self.assertEqual(self.run_of(done).get("recorded_gates", 0), 0)

    def test_without_us_it_does_nothing(self):
        done = self.bare([TARGET, "gates"])
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        done = self.bare([sys.executable, self.script(TASKS)],
                         env=self.environment(PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE="1"))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"fetch fetch\n", b""))
        done = self.bare([sys.executable, self.script(RANGES)],
                         env=self.environment(PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE="1"))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"False\n", b""))

    def test_python_ranges(self):
        for python in pythons():
            with self.subTest(python=python):
                done, profile = self.python(python, RANGES)
                self.assertEqual(done.out, b"True\n")
                self.assertEqual(self.calls(profile), {
                    "loading": 6, "training": 6, "decorated": 6, "thrown": 6, "thread": 8, "again": 2,
                    "child": 1})
                rows = self.rows(profile)
                self.assertEqual(rows["training"]["total_ns"] - rows["training"]["self_ns"],
                                 rows["decorated"]["total_ns"])

    def test_python_ranges_stand_where_they_were_begun(self):
        for python in pythons():
            with self.subTest(python=python):
                done, _ = self.python(python, RANGES)
                table = self.verb("report", done.profile, "--ops").stdout.decode()
                self.assertRegex(table, r"api +loading +script\.py:29")
                stacks = self.verb("report", done.profile, "--export", "collapsed=-")
                lines = [line for line in stacks.stdout.decode().splitlines() if ";burn" in line]
                inside = [line for line in lines if "load (" in line]
                self.assertTrue(inside, lines)
                for line in inside:
                    self.assertRegex(line, r"main[^;]*;«loading»;load")

    def test_python_steps_and_gates(self):
        for python in pythons():
            with self.subTest(python=python):
                done, profile = self.python(python, STEPS)
                steps = profile["steps"]
                self.assertEqual((steps["name"], steps["steps"]), ("mark_step", 12))
                self.assertGreaterEqual(steps["max_ns"], 30e6)
                self.assertLessEqual(steps["sum_ns"], self.run_of(done)["recorded_ns"])
                self.assertIn("--start-paused", " ".join(done.report.split()))

    def test_shares_of_a_label_are_the_same_in_all_formats(self):
        text = """
            import time
            import bottleneck_profiler as bn

            def work(name, ms):
                with bn.range(name):
                    time.sleep(ms / 1000)

            for _ in range(4):
                work("LINEAR", 20)
                with bn.range("MASK INDICES"):
                    time.sleep(0.001)
                    work("nonzero", 15)
                    work("copy", 5)
            """
        done, _ = self.python(sys.executable, text)
        of = ("--of", "MASK INDICES")
        shown = self.verb("report", *of, "--export", "json=-", done.profile)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        rows = self.rows(json.loads(shown.stdout))
        whole = rows["MASK INDICES"]["total_ns"]
        for row in rows.values():
            self.assertAlmostEqual(row["self_share"], row["self_ns"] / whole, places=4)
            self.assertAlmostEqual(row["total_share"], row["total_ns"] / whole, places=4)
        self.assertEqual(rows["MASK INDICES"]["total_share"], 1)
        self.assertAlmostEqual(sum(rows[name]["self_share"] for name in ("MASK INDICES", "nonzero", "copy")), 1,
                               places=4)
        self.assertGreater(rows["LINEAR"]["total_share"], 0.5)
        table = self.verb("report", *of, "--export", "csv=-", "--table", "ops", done.profile).stdout.decode()
        for row in csv.DictReader(io.StringIO(table)):
            if row["provider"] == "api":
                self.assertAlmostEqual(float(row["self_share"]), rows[row["name"]]["self_share"], places=5)
                self.assertAlmostEqual(float(row["total_share"]), rows[row["name"]]["total_share"], places=5)
        report = self.verb("report", "--ops", *of, done.profile).stdout.decode()
        self.assertRegex(report, r"% of MASK INDICES, [\d.]+ m?s")
        found = dict((name, float(percent)) for percent, name in
                     re.findall(r"^ +[\d.]+ m?s +([\d.]+) .* api +(nonzero|copy|LINEAR)", report, re.M))
        self.assertEqual(set(found), {"nonzero", "copy", "LINEAR"}, report)
        for name, percent in found.items():
            self.assertAlmostEqual(percent, 100 * rows[name]["self_share"], delta=0.051)
        # The page has windows without the label.
        page = self.verb("report", *of, "--export", "html=-", done.profile)
        self.assertEqual((page.returncode, page.stderr), (0, b""))
        self.assertIn(b"% of MASK INDICES, ", page.stdout)
        self.assert_clean_message(self.verb("report", "--of", "nothing", done.profile), "nothing")

    def bench(self, range_name, *command):
        done = self.verb("bench", "--json", "-n", "6", "--range", range_name, *command,
                         env=self.environment(PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE="1"))
        self.assertEqual(done.returncode, 0, done.stderr)
        side, = json.loads(done.stdout)["sides"]
        return side

    def test_bench_subtracts_what_a_range_costs(self):
        side = self.bench("cost", TARGET, "cost", "50000")
        self.assertEqual(side["range_cost"], "whole")
        self.assertTrue(0 <= side["call_ns"]["median"] < side["range_cost_ns"], side)
        around = """
            import os, sys
            import bottleneck_profiler as bn
            for _ in range(3000):
                with bn.range("outer"):
                    for _ in range(4):
                        with bn.range("none"):
                            pass
            if sys.argv[1] == "apart":
                os._exit(0)
            """
        script = self.script(around)
        none = self.bench("none", sys.executable, script, "whole")
        self.assertEqual(none["range_cost"], "whole")
        self.assertTrue(0 <= none["call_ns"]["median"] < none["range_cost_ns"], none)
        # Of what is within nobody knows what it costs in Python, nor of a program that ends at once.
        outer = self.bench("outer", sys.executable, script, "whole")
        self.assertEqual(outer["range_cost"], "part")
        self.assertGreater(outer["range_cost_ns"], none["range_cost_ns"])
        apart = self.bench("none", sys.executable, script, "apart")
        self.assertEqual(apart["range_cost"], "part")
        self.assertLess(apart["range_cost_ns"], none["range_cost_ns"])

    def test_empty_ranges_are_made_for_bench_alone(self):
        _, profile = self.profile([TARGET, "cost", "50000"])
        self.assertEqual([name for name in self.rows(profile) if "empty" in name], [])

    def test_what_cannot_be_decorated_says_so(self):
        text = """
            import bottleneck_profiler as bn
            async def waits(): yield
            def generator(): yield
            for function in waits, generator:
                try:
                    bn.range("x")(function)
                except TypeError as error:
                    print(error)
            try:
                bn.range(generator)
            except TypeError as error:
                print(error)
            """
        done = self.bare([sys.executable, self.script(text)], env=self.environment(PYTHONPATH=PACKAGE))
        self.assertEqual(done.returncode, 0, done.stderr)
        said = done.stdout.decode().splitlines()
        self.assertEqual(len(said), 3)
        self.assertIn("waits()", said[0])
        self.assertIn("@range()", said[2])


NOTEBOOK = """
import sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shell.run_cell("%load_ext bottleneck_profiler").raise_error()
with open(sys.argv[1]) as file:
    cell = file.read()
result = shell.run_cell(cell, store_history=True)
result.raise_error()
"""

CELL = """import sys
print("arguments", sys.argv[1:])
def hot(n):
    total = 0
    for i in range(n):
        total += i * i
    return total
hot(3000000)
"""


def ipython():
    for python in (os.environ.get("BOTTLENECK_WHEELS"), os.environ.get("IPYTHON_PYTHON"), sys.executable):
        if python and subprocess.run([python, "-c", "import IPython"], capture_output=True,
                                     check=False).returncode == 0:
            return python
    raise unittest.SkipTest("IPython is not installed: BOTTLENECK_WHEELS or IPYTHON_PYTHON may name a "
                            "Python that has it")


class Notebook(Case):
    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def environment_of(self):
        return self.environment(PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE="1", BOTTLENECK=BOTTLENECK,
                                IPYTHONDIR=self.path("ipython"), NO_COLOR="1", TMPDIR=self.make_directory("tmp"))

    def test_the_magic_reports_the_lines_of_a_cell(self):
        command = [ipython(), self.write("notebook.py", NOTEBOOK),
                   self.write("cell", "%%bottleneck --sort line -- one two\n" + CELL)]
        done = self.bare(command, env=self.environment_of())
        text = done.stdout.decode()
        self.assertEqual(done.returncode, 0, text + done.stderr.decode())
        self.assertIn("arguments ['one', 'two']", text)
        self.assertRegex(text, r"cell-\d+\.py:6 +total \+= i \* i")
        self.assertIn("in a process of its own", text)
        self.assertEqual(os.listdir(self.path("tmp")), [])

    def test_a_notebook_under_bottleneck_has_the_lines_of_its_cells(self):
        command = [ipython(), self.write("notebook.py", NOTEBOOK), self.write("cell", CELL)]
        done = self.profile_run(command, "--sort", "line", env=self.environment_of())
        self.assertEqual(done.status, 0, done.err)
        self.assertRegex(done.report, r"cell-\d+\.py:6 +total \+= i \* i")

    def test_without_bottleneck_the_magic_says_so(self):
        environment = self.environment_of()
        environment.update(BOTTLENECK="", PATH="/nowhere")
        command = [ipython(), self.write("notebook.py", NOTEBOOK),
                   self.write("cell", "%%bottleneck\n" + CELL)]
        done = self.bare(command, env=environment)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("nor in the PATH", (done.stdout + done.stderr).decode())


if __name__ == "__main__":
    main()
