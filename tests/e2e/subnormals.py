# SPDX-License-Identifier: MIT
"""Arithmetic on subnormal numbers: found by the agent's ticks, with the line; the same loop on other
numbers is not.

SUBNORMAL is the program of tests/faults that divides such numbers.
"""
import json
import os
import resource
import subprocess
import unittest

from harness import Case, main

SUBNORMAL = os.environ.get("SUBNORMAL", "build/tests/faults/subnormal")
RULE = "CPU-SUBNORMAL"


def cpu_seconds(*arguments):
    """The least of three runs."""
    least = None
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([SUBNORMAL, *arguments], check=True, stdout=subprocess.DEVNULL)
        took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        least = took if least is None else min(least, took)
    return least


class Subnormals(Case):
    def finding(self, rung, *arguments):
        run = self.profile_run([SUBNORMAL, *arguments], "--rung", rung)
        self.assertEqual(run.status, 0, run.err)
        done = self.verb("report", "--json", run.profile)
        found = {item["id"]: item for item in json.loads(done.stdout)["findings"]}
        return found.get(RULE)

    def check(self, rung):
        if cpu_seconds() < 1.2 * cpu_seconds("healthy"):
            raise unittest.SkipTest("this CPU computes nearly as fast with subnormal numbers")
        found = self.finding(rung)
        self.assertIsNotNone(found)
        self.assertEqual((os.path.basename(found["file"]), found["line"]), ("subnormal.c", 14))
        self.assertIn("had subnormal numbers", found["fact"])
        self.assertIsNone(self.finding(rung, "healthy"))

    def test_timers_within_the_program_see_them(self):
        self.check("agent")

    def test_so_do_they_beside_perf_events(self):
        self.check("user")


if __name__ == "__main__":
    main()
