# SPDX-License-Identifier: MIT
"""Overhead is what it is, and in no row of those who called the hooks.

Programs that fork, that execute others and whose threads wait for each other take more CPU time by what the
kernel and the agent do for each of these, which no sample shows: what is stated of it is near what is
measured. Both vary with other work on the machine, so that the median of a few runs is asked for, and a
factor; what is not counted at all is off by more. A switch costs ten times as much where a CPU idles in
between as where the threads share one, so that of these it is only asked that they are counted, and of
those of a program that hardly computes, too.

A forked child is charged with few pages of the agent's.

A known split of CPU time stays what it is:

A program takes a part of its time in a loop that allocates, the rest in one that does not, and says by its
own clock how much. Profiled, the allocating one takes longer; the report's shares must be those of the bare
run, or at least nearer to it than to what the program sees of itself: a hook takes some nanoseconds, and a
CPU that works on several calls at once shows no sample which of them it waits for. Runs take turns, each is
compared with the bare one beside it, and the median counts, as the machine's speed drifts. All calls are
counted here: what lets most of them pass takes a few instructions, of which samples show hardly half.
"""
import os
import resource
import sqlite3
import statistics
import subprocess
import tempfile
import unittest

from harness import BOTTLENECK, TIMEOUT
from profile_file import ProfileFile

TARGET = os.environ["OVERHEAD_TARGET"]
COST = os.environ["OVERHEAD_COST"]
ROUNDS = 5
POINTS = 4  # less inflation is no test
FACTOR = 3
CHILDREN = 500
PAGES = 45
LEAST_S = 0.01
STATED = ("handlers_ns", "hooks_ops_ns", "hooks_memory_ns", "hooks_waits_ns", "setup_ns", "kernel_ns")


def bare():
    return float(subprocess.run([TARGET], capture_output=True, check=True, timeout=TIMEOUT).stdout)


def profiled(folder):
    """The share that the profile tells, and the one that the program saw, hooks and all."""
    path = os.path.join(folder, "p.bneck")
    done = subprocess.run([BOTTLENECK, "--exact", "malloc", "-o", path, "-R", os.path.join(folder, "report"),
                           "--", TARGET], capture_output=True, check=True, timeout=TIMEOUT)
    profile = ProfileFile(path)
    share = {name: profile.total_share(name) for name in ("allocates", "computes")}
    return 100 * share["allocates"] / sum(share.values()), float(done.stdout)


def cpu_of(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=True, timeout=TIMEOUT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured_and_stated(folder, command):
    """Seconds of CPU time within the program; None: there are no perf events."""
    path, bare_s = os.path.join(folder, "p.bneck"), cpu_of(command)
    # Prices that another test has measured, beside others, are kept where our state is.
    subprocess.run([BOTTLENECK, "-o", path, "-R", os.path.join(folder, "report"), "--", *command],
                   env={**os.environ, "XDG_STATE_HOME": folder, "XDG_CACHE_HOME": folder}, capture_output=True,
                   check=True, timeout=TIMEOUT)
    with sqlite3.connect(path) as database:
        run = dict(database.execute("SELECT key, value FROM run"))
    if int(run["rung"]) > 2:
        return None
    return int(run["target_cpu_ns"]) / 1e9 - bare_s, sum(int(run.get(key) or 0) for key in STATED) / 1e9


class Overhead(unittest.TestCase):
    def test_what_no_sample_shows_is_counted(self):
        for kind, count, steady in ("forks", 1500, True), ("chain", 300, True), ("pipes", 60000, False), \
                ("sleep", 2500, False):
            with self.subTest(kind), tempfile.TemporaryDirectory() as folder:
                runs = [measured_and_stated(folder, [COST, kind, str(count)]) for _ in range(3)]
                if None in runs:
                    self.skipTest("no perf events")
                measured, stated = (statistics.median(column) for column in zip(*runs))
                print(f"{kind}: measured {measured:.3f} s, stated {stated:.3f} s")
                self.assertGreater(stated, LEAST_S, runs)
                if steady:
                    self.assertLess(measured / FACTOR, stated, runs)
                    self.assertLess(stated, measured * FACTOR, runs)

    def test_a_forked_child_touches_few_pages_of_the_agent(self):
        """Each page that it writes to is copied, or made anew, for a child that may live for a moment."""
        command = [COST, "forks", str(CHILDREN)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
        subprocess.run(command, check=True, timeout=TIMEOUT)
        bare_faults = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before
        for options in ([], ["--no-ops"], ["--no-malloc"]):
            with self.subTest(options), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "p.bneck")
                subprocess.run([BOTTLENECK, *options, "-o", path, "-R", os.path.join(folder, "report"), "--",
                                *command], capture_output=True, check=True, timeout=TIMEOUT)
                with sqlite3.connect(path) as database:
                    faults = dict(database.execute("SELECT key, value FROM run"))["page_faults"]
                more = (int(faults) - bare_faults) / CHILDREN
                print(f"{' '.join(options)}: {more:.0f} page faults more a child")
                self.assertLess(more, PAGES)

    def test_the_delay_of_a_lock_is_not_its_hooks(self):
        """Whoever reads first what a mutex has just been written to waits for it, in libc or in the hook."""
        with tempfile.TemporaryDirectory() as folder:
            runs = [measured_and_stated(folder, [COST, "uncontended", "80000000"]) for _ in range(ROUNDS)]
        if None in runs:
            self.skipTest("no perf events")
        measured, stated = (statistics.median(column) for column in zip(*runs))
        print(f"uncontended: measured {measured:.3f} s, stated {stated:.3f} s")
        self.assertLess(stated, max(measured, LEAST_S) * FACTOR, runs)

    def test_hooks_of_allocations_inflate_nobody(self):
        with tempfile.TemporaryDirectory() as folder:
            runs = [(bare(), *profiled(folder)) for _ in range(ROUNDS)]
        told = statistics.median(told - truth for truth, told, _ in runs)
        inflated = statistics.median(inflated - truth for truth, _, inflated in runs)
        print(f"points more than bare: told {told:.1f}, with hooks {inflated:.1f}")
        self.assertGreater(inflated, POINTS, "hooks take too little for this to show anything")
        self.assertLess(abs(told), inflated / 2, runs)


if __name__ == "__main__":
    unittest.main()
