# SPDX-License-Identifier: MIT
"""Compares what a target says of itself with what bottleneck says of it (see targets/truth.h).

    truth.py [--ms MS] [--hz HZ] [--tolerance POINTS] [--no-perf] [--rung RUNG]
             [--budget PERCENT] [--repeat N] NAME...

Prints a row for each statement, worst first, and fails if one is off by more than the tolerance
or a line is not the very line. With --budget also if the rate has not been lowered; a program that ended before
it could be is run again with more work.

Samples are draws, and a machine that others use takes time from the program where its own clock
does not look: a share is wrong if it is wrong at each of three draws, a line or a count at one.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

from harness import BOTTLENECK, NO_PERF, target
from profile_file import ProfileFile

# What a form of a program cannot show, however good the profiler.
WITHOUT_LINES = {"shares_no_lines", "shares_mini"}
WITHOUT_PERF_UNSEEN = {"static"}
DRAWS = 3
BUDGET_S = 5  # a rate that is too high is lowered within less


class Statement:
    def __init__(self, line):
        words = line.split()[1:]
        self.bound = words.pop(0) if words[0] in ("least", "most") else ""
        self.what, self.name, value = words[:3]
        self.value = float(value)
        self.where = words[3] if len(words) > 3 else ""

    def text(self):
        return " ".join(w for w in (self.bound, self.what, self.name) if w)


def measure(profile, statement):
    """The measured value, where it is, and how many of its units are a point."""
    name = statement.name
    if statement.what == "processes":
        return profile.process_count(), "", 0
    if statement.what == "off":
        # Truth is in ms; a point is one hundredth of all threads' lives.
        return profile.off_cpu_ms(name), "", profile.lifetime_ms() / 100
    if statement.what == "self":
        return profile.self_share(name), profile.hottest_line(name), 1
    if statement.what == "total":
        return profile.total_share(name), "", 1
    if statement.what == "line":
        return profile.line_share(name), "", 1
    if statement.what == "thread":
        return profile.thread_share(name), "", 1
    if statement.what == "path":
        return profile.path_share(name.split(";")), "", 1
    if statement.what == "kernel":
        return profile.kernel_share(), "", 1
    raise ValueError(f"a truth of an unknown kind: {statement.what}")


class Row:
    def __init__(self, program, statement, profile, lines):
        self.program = program
        self.statement = statement
        self.got, self.where, point = measure(profile, statement)
        if statement.what == "off":
            # The program cannot tell waiting from waiting for a CPU after that: either is right.
            ready = profile.off_cpu_ms("runnable")
            self.got += min(ready, max(0, statement.value - self.got))
        difference = self.got - statement.value
        if statement.bound == "least":
            difference = min(difference, 0)
        elif statement.bound == "most":
            difference = max(difference, 0)
        self.off = abs(difference) / point if point else abs(difference) * 1000
        self.wrong_line = lines and bool(statement.where) and statement.where != self.where

    def badness(self):
        return (self.wrong_line, self.off)

    def is_exact(self):
        return self.wrong_line or self.statement.what == "processes"

    def is_bad(self, tolerance):
        # Totals are sums of samples: only rounding may take them above 100 %.
        strict = self.statement.bound == "most" and self.statement.value == 100
        return self.wrong_line or self.off > (0.001 if strict else tolerance)


def was_lowered(report):
    with open(report, encoding="utf-8") as file:
        words = " ".join(file.read().split())
    return re.search(r"sampling rate reduced from [0-9]+ to [0-9]+ Hz at [0-9.]+ s: samples "
                     r"cost [0-9.]+ of [0-9.]+ % overhead, above the budget of", words)


def run(name, arguments, ms):
    with tempfile.TemporaryDirectory(prefix="truth-") as directory:
        path = os.path.join(directory, "p.bneck")
        env = dict(os.environ, TRUTH_MS=str(ms), XDG_STATE_HOME=directory)
        command = [NO_PERF] if arguments.no_perf else []
        command += [BOTTLENECK, "-F", str(arguments.hz), "-o", path,
                    "-R", os.path.join(directory, "report")]
        command += [f"--rung={arguments.rung}"] if arguments.rung else []
        command += [f"--budget={arguments.budget}"] if arguments.budget else []
        command += ["--", target(name)]
        start = time.monotonic()
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False,
                              timeout=120)
        took = time.monotonic() - start
        if done.returncode:
            sys.exit(f"{name}: status {done.returncode}\n{done.stderr}")
        if arguments.budget and not was_lowered(os.path.join(directory, "report")):
            if took < BUDGET_S:
                # Its work is CPU time: on many CPUs it ends sooner than on two.
                return run(name, arguments, 2 * ms)
            sys.exit(f"{name}: nothing is said of a lower rate")
        profile = ProfileFile(path)
        for pid in profile.pids():
            # What jit.c and generated.c leave for their profiler.
            if os.path.exists(f"/tmp/perf-{pid}.map") and name in ("jit", "generated"):
                os.unlink(f"/tmp/perf-{pid}.map")
        statements = [Statement(line) for line in done.stdout.splitlines()
                      if line.startswith("truth ")]
        if not statements:
            sys.exit(f"{name}: told no truth")
        if not profile.kernel_stacks():
            statements = [s for s in statements if s.what != "kernel"]
        if name in WITHOUT_LINES:
            statements = [s for s in statements if s.what != "line"]
        return [Row(name, s, profile, name not in WITHOUT_LINES) for s in statements]


def best_of_draws(name, arguments):
    best = {}
    for draw in range(1, DRAWS + 1):
        for row in run(name, arguments, arguments.ms):
            before = best.setdefault(row.statement.text(), row)
            if before.badness() > row.badness() and not before.is_exact():
                best[row.statement.text()] = row
        bad = [row for row in best.values() if row.is_bad(arguments.tolerance)]
        if not bad or any(row.is_exact() for row in bad):
            break
        print(f"draw {draw} of {name}: " +
              ", ".join(f"{row.statement.text()} is off by {row.off:.2f}" for row in bad))
    return list(best.values())


def show(rows, tolerance):
    print(f"{'program':22} {'statement':48} {'truth':>8} {'got':>8} {'off':>6}  line")
    for row in rows:
        mark = "FAIL" if row.is_bad(tolerance) else ""
        where = row.statement.where
        if row.wrong_line:
            where = f"{row.where or 'none'}, not {where}"
        print(f"{row.program:22} {row.statement.text():48} {row.statement.value:8.2f} "
              f"{row.got:8.2f} {row.off:6.2f}  {where} {mark}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ms", type=int, default=2000)
    parser.add_argument("--hz", type=int, default=999)
    parser.add_argument("--tolerance", type=float, default=1.0)
    parser.add_argument("--no-perf", action="store_true")
    parser.add_argument("--rung", choices=("kernel", "user", "agent"))
    parser.add_argument("--budget")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("names", nargs="+")
    arguments = parser.parse_args()
    rows = [row for _ in range(arguments.repeat) for name in arguments.names
            for row in best_of_draws(name, arguments)]
    rows.sort(key=Row.badness, reverse=True)
    show(rows, arguments.tolerance)
    bad = [row for row in rows if row.is_bad(arguments.tolerance)]
    print(f"{len(rows)} statements, {len(bad)} wrong; worst: {rows[0].program}, "
          f"{rows[0].statement.text()}, {rows[0].off:.2f} points")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
