# SPDX-License-Identifier: MIT
"""Runs a program with one fault, and the same work done rightly, under the real binary.

    run.py SOURCE [PROGRAM [HEALTHY-PROGRAM]]

The fault's line in SOURCE ends with "fault: RULE". The first finding has to be of that rule and
name that line, and the verdict has to say it, or that line; of the healthy twin no finding above a
note is expected, and none of that rule.
"# names: FUNCTION" stands where the rule lives by what the interpreter's own functions are called:
an interpreter that has no name for FUNCTION is not asked.
What is said of the measurement and of its warm-up does not count: the machine may have other work,
and a program of a second is mostly start. Other work takes CPUs, and makes one fsync() as long as a
hundred: a program is misjudged if it is at each of three runs.

With --price both are also run without bottleneck, in turn, and what the finding says could be
saved is printed beside what was.
"""
import argparse
import contextlib
import json
import os
import re
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "e2e"))
from harness import BOTTLENECK, TIMEOUT  # noqa: E402

SKIPPED = 77
DRAWS = 3
# What the tables hold of each thread.
STATES = ("on_cpu", "runnable", "lock", "file", "net", "pipe", "sleep", "fault", "child", "gpu",
          "stopped", "other")
SLACK = 1.01  # threads' times are rounded to samples, a program's to its ends
PYTHONS = (sys.executable, "/usr/bin/python3")


class Finding:
    """One of the report's findings."""

    def __init__(self, item):
        self.rule, self.severity, self.fact = item["id"], item["severity"], item["fact"]
        self.saving = (item["saving_ns"] or 0) / 1e9
        name = os.path.basename(item["file"] or "")
        self.place = f"{name}:{item['line']}" if name else "no line"
        self.covered = bool(item["covered_by"])
        self.rows = sum(row["ns"] or 0 for row in item["evidence"]) / 1e9

    def is_about_measurement(self):
        return self.rule.startswith(("MEAS-", "WARM-", "STAT-"))


def report_of(profile):
    done = subprocess.run([BOTTLENECK, "report", "--json", profile], check=True,
                          capture_output=True, timeout=TIMEOUT)
    return json.loads(done.stdout)


class Fault:
    """What the source says of itself."""

    def __init__(self, source):
        self.source = source
        self.name = os.path.basename(source)
        with open(source, encoding="utf-8") as file:
            lines = file.read().splitlines()
        marks = [(number, match) for number, line in enumerate(lines, 1)
                 if (match := re.search(r"\bfault: ([A-Z0-9-]+)$", line))]
        if len(marks) != 1:
            sys.exit(f"{self.name}: {len(marks)} lines are marked as the fault")
        self.line, self.rule = marks[0][0], marks[0][1].group(1)
        self.imports = [m.group(1) for line in lines
                        if (m := re.match(r"\s*import (numpy|torch)\b", line))]
        self.names = [m.group(1) for line in lines if (m := re.match(r"# names: (\w+)$", line))]

    def place(self):
        return f"{self.name}:{self.line}"

    def commands(self, programs):
        """Of the fault and of its healthy twin."""
        if self.name.endswith(".py"):
            python = python_with(self.imports, self.names)
            return [python, self.source], [python, self.source, "healthy"]
        return [programs[0]], [programs[-1], "healthy"]


def python_with(modules, names):
    for python in PYTHONS:
        check = [python, "-c", "".join(f"import {module}\n" for module in modules) +
                 "import ctypes\n" + "".join(f"ctypes.pythonapi.{name}\n" for name in names)]
        if os.path.exists(python) and not subprocess.run(check, capture_output=True,
                                                         check=False).returncode:
            return python
    print(f"skipped: no Python here has {' and '.join(modules + names)}")
    sys.exit(SKIPPED)


class Run:
    """One command under bottleneck."""

    def __init__(self, command, directory):
        path = os.path.join(directory, "p.bneck")
        report = os.path.join(directory, "report")
        env = {k: v for k, v in os.environ.items() if not k.startswith("BOTTLENECK")}
        env["XDG_STATE_HOME"] = directory
        done = subprocess.run([BOTTLENECK, "-R", report, "-o", path, "--", *command], env=env,
                              cwd=directory, capture_output=True, text=True, check=False,
                              timeout=TIMEOUT)
        if done.returncode == SKIPPED:
            print("skipped: this machine cannot have that fault")
            sys.exit(SKIPPED)
        if done.returncode:
            sys.exit(f"{command}: status {done.returncode}\n{done.stderr}")
        self.out = done.stdout
        report = report_of(path)
        found = [Finding(item) for item in report["findings"]]
        self.verdict = report["verdict"]["sentence"]
        self.findings = [f for f in found if not f.is_about_measurement() and not f.covered]
        query = "SELECT value FROM run WHERE key = 'wall_ns'"
        with contextlib.closing(sqlite3.connect(path)) as database:
            self.wall = int(database.execute(query).fetchone()[0]) / 1e9
            query = f"SELECT SUM({' + '.join(STATES)}) FROM thread"
            self.threads = (database.execute(query).fetchone()[0] or 0) / 1e9
        self.claims = [f"{f.rule} claims {max(f.saving, f.rows):.3f} s of {self.wall:.3f} s of "
                       f"wall time, {self.threads:.3f} s of all threads" for f in found
                       if f.saving > self.wall or max(f.saving, f.rows) > SLACK * self.threads]

    def first(self):
        return self.findings[0] if self.findings else None

    def text(self):
        return "; ".join(f"{f.rule} {f.place}" for f in self.findings) or "nothing"


def problem_of_fault(fault, bad):
    first = bad.first()
    if not first or first.rule != fault.rule:
        return f"{fault.rule} expected first; found: {bad.text()}"
    if first.place != fault.place():
        return f"{fault.place()} expected; found: {first.place}"
    # A sentence begins with a capital letter.
    if first.fact[1:] not in bad.verdict and fault.place() not in bad.verdict:
        return f"the verdict says something else: {bad.verdict}"
    return None


def problem_of_twin(fault, good):
    loud = [f for f in good.findings if f.rule == fault.rule or f.severity != "info"]
    if loud:
        return "of the healthy twin: " + "; ".join(f"{f.rule} {f.place}: {f.fact}" for f in loud)
    return None


def draw(fault, command, directory, problem_of):
    """The first run without a problem, and None; else the last one with its problem."""
    for _ in range(DRAWS):
        run = Run(command, directory)
        problem = problem_of(fault, run)
        print(f"{fault.name:18} {fault.rule:14} {os.path.basename(command[-1])}: {run.text()}")
        if not problem:
            break
    return run, problem


def cost_of(command, directory):
    """Wall and CPU seconds of one run without bottleneck."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, cwd=directory, capture_output=True, check=True, timeout=TIMEOUT)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def show_price(fault, bad, commands, directory, repeat=5):
    """Shares of the faulty run's time: what could be saved, and what the healthy twin saves."""
    pairs = [[cost_of(command, directory) for command in commands] for _ in range(repeat)]
    wall = statistics.median(1 - good[0] / slow[0] for slow, good in pairs)
    cpu = statistics.median(1 - good[1] / slow[1] for slow, good in pairs)
    claimed = bad.first().saving / bad.wall if bad.first() else 0
    print(f"price {fault.name:20} {fault.rule:14} claimed {claimed:6.1%}  saved {wall:6.1%} of "
          f"wall time, {cpu:6.1%} of CPU time")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--price", action="store_true")
    parser.add_argument("source")
    parser.add_argument("programs", nargs="*")
    arguments = parser.parse_args()
    fault = Fault(os.path.abspath(arguments.source))
    commands = fault.commands([os.path.abspath(p) for p in arguments.programs])
    with tempfile.TemporaryDirectory(prefix="fault-") as directory:
        bad, bad_problem = draw(fault, commands[0], directory, problem_of_fault)
        good, good_problem = draw(fault, commands[1], directory, problem_of_twin)
        wrong = [problem for problem in (bad_problem, good_problem) if problem]
        wrong += bad.claims + good.claims
        if bad.out != good.out:
            wrong.append("the twin prints something else")
        for problem in wrong:
            print(f"  WRONG: {problem}")
        if arguments.price:
            show_price(fault, bad, commands, directory)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
