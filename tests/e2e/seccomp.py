# SPDX-License-Identifier: MIT
"""A program that forbids itself system calls makes none of ours: it ends as without us."""
import os
import unittest

from harness import NO_PERF, Case, main

SECCOMP_TARGET = os.environ.get("SECCOMP_TARGET", "build/tests/seccomp_target")
RUNGS = {
    "kernel": ([], []),
    "user": (["--rung=user"], []),
    "agent": ([], [NO_PERF]),
}
# Those whose filter lets us be are seen to the end.
HARMLESS = {"others"}
NOTE = "forbids itself"


class Filters(Case):
    def check(self, way, name, *more):
        command = [SECCOMP_TARGET, way, name, *more]
        bare = self.bare(command)
        if bare.returncode == 77:
            raise unittest.SkipTest("no seccomp filters here")
        for rung, (options, prefix) in RUNGS.items():
            with self.subTest(rung=rung):
                done = self.profile_run(command, *options, prefix=prefix)
                self.assertEqual((done.status, done.out), (bare.returncode, bare.stdout), done.err)
                if name in HARMLESS:
                    self.assertIn("behind_the_filter", done.report)
                    self.assertNotIn(NOTE, done.report)
                elif rung == "agent":
                    self.assertIn(NOTE, done.report)

    def test_only_a_few_calls_by_prctl(self):
        self.check("prctl", "few")

    def test_only_a_few_calls_by_syscall(self):
        self.check("syscall", "few")

    def test_ours_kill(self):
        self.check("prctl", "kill")
        self.check("syscall", "kill")

    def test_a_tick_that_comes_late(self):
        self.check("late", "kill")

    def test_ours_trap(self):
        self.check("prctl", "trap")

    def test_ours_do_nothing_and_succeed(self):
        self.check("syscall", "lie")

    def test_a_call_by_its_arguments(self):
        self.check("prctl", "clocks")

    def test_a_filter_that_lets_us_be(self):
        self.check("prctl", "others")
        self.check("syscall", "others")

    def test_a_program_that_is_started_behind_a_filter(self):
        self.check("prctl", "kill", "/bin/sh", "-c", "x=0; while [ $x -lt 200000 ]; do "
                                                     "x=$((x+1)); done; exit 5")


if __name__ == "__main__":
    main()
