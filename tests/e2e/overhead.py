# SPDX-License-Identifier: MIT
"""Time in hooks is in no row of those who called them: a known split of CPU time stays what it is.

A program takes a part of its time in a loop that allocates, the rest in one that does not, and says by its
own clock how much. Profiled, the allocating one takes longer; the report's shares must be those of the bare
run, or at least nearer to it than to what the program sees of itself: a hook takes some nanoseconds, and a
CPU that works on several calls at once shows no sample which of them it waits for. Runs take turns, each is
compared with the bare one beside it, and the median counts, as the machine's speed drifts.
"""
import os
import statistics
import subprocess
import tempfile
import unittest

from harness import BOTTLENECK, TIMEOUT
from profile_file import ProfileFile

TARGET = os.environ["OVERHEAD_TARGET"]
ROUNDS = 5
POINTS = 4  # less inflation is no test


def bare():
    return float(subprocess.run([TARGET], capture_output=True, check=True, timeout=TIMEOUT).stdout)


def profiled(folder):
    """The share that the profile tells, and the one that the program saw, hooks and all."""
    path = os.path.join(folder, "p.bneck")
    done = subprocess.run([BOTTLENECK, "-o", path, "-R", os.path.join(folder, "report"), "--", TARGET],
                          capture_output=True, check=True, timeout=TIMEOUT)
    profile = ProfileFile(path)
    share = {name: profile.total_share(name) for name in ("allocates", "computes")}
    return 100 * share["allocates"] / sum(share.values()), float(done.stdout)


class Overhead(unittest.TestCase):
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
