# SPDX-License-Identifier: MIT
"""Kernel time, where nobody may see the kernel's functions: page faults beside system calls."""
import os

from harness import NO_PERF, Case, main
from profile_file import ProfileFile

PROGRAM = os.environ.get("SAMPLER_CHILD", "build/tests/sampler_child")
RUNGS = {"user": (["--rung=user"], []), "agent": ([], [NO_PERF])}


class KernelEntries(Case):
    def shares(self, mode, rung):
        """Of the kernel's time in a run of MODE: that of page faults."""
        options, prefix = RUNGS[rung]
        done = self.profile_run([PROGRAM, mode, "600"], *options, prefix=prefix)
        self.assertEqual(done.status, 0, done.err)
        profile = ProfileFile(done.profile)
        self.assertGreater(profile.kernel_share(), 30)
        return profile.fault_share() / profile.kernel_share(), done

    def test_fresh_memory_is_page_faults(self):
        for rung in RUNGS:
            with self.subTest(rung):
                share, done = self.shares("touch", rung)
                self.assertGreater(share, 0.5)
                self.assertIn("Page faults on fresh memory", done.report)

    def test_reads_are_none(self):
        for rung in RUNGS:
            with self.subTest(rung):
                share, done = self.shares("calls", rung)
                self.assertLess(share, 0.2)
                self.assertNotIn("age faults on fresh memory", done.report)


if __name__ == "__main__":
    main()
