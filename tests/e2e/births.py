# SPDX-License-Identifier: MIT
"""Threads that are shorter than a sample's period are told of by the function that they began in."""
import re
import unittest

import harness
from profile_file import ProfileFile

ROUNDS_MS = "1500"
DRAWS = 3
TOLERANCE = 5  # of 100
# Of the program's CPU time; the rest is what main() takes to start them.
LEAST = 40


def shares(profile):
    """Of each kind of task, whatever else its name says."""
    found = {}
    for kind in ("resize", "encode"):
        found[kind] = profile.share_of(
            lambda stack, kind=kind: any(re.search(rf"\b{kind}\b", f.name) for f in stack))
    return found


class Births(harness.Case):
    def draw(self, *options):
        result = self.profile_run([harness.target("births")], *options,
                                  env=self.environment(TRUTH_MS=ROUNDS_MS))
        self.assertEqual(result.status, 0, result.err)
        truth = {name: float(value) for name, value in
                 (line.split() for line in result.out.decode().splitlines())}
        return truth, shares(ProfileFile(result.profile)), result

    def expect_shares(self, *options):
        for _ in range(DRAWS):
            truth, found, result = self.draw(*options)
            both = sum(found.values())
            self.assertGreater(both, LEAST, result.report)
            off = abs(100 * found["resize"] / both - truth["resize"])
            if off < TOLERANCE:
                return result
        self.fail(f"{off:.1f} points off: {found}, the truth is {truth}\n{result.report}")

    def test_the_kernels_ticks(self):
        result = self.expect_shares()
        # Narrow columns leave some of it out.
        self.assertRegex(result.report, r"\[too sh.*sample\] < resize")

    def test_ticks_in_user_code(self):
        self.expect_shares("--rung=user")

    def test_no_ticks_of_the_kernels(self):
        self.expect_shares("--rung=agent")


if __name__ == "__main__":
    unittest.main(verbosity=2)
