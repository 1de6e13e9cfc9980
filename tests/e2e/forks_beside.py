# SPDX-License-Identifier: MIT
"""Children that are forked beside threads that start threads: none blocks, and no call is lost."""
import os
import re

from harness import NO_PERF, Case, main

PROGRAM = os.environ.get("FORKS_BESIDE", "build/tests/forks_beside")
CHILDREN, CALLS = 300, 5
RUNGS = {
    "kernel": ([], []),
    "user": (["--rung=user"], []),
    "agent": ([], [NO_PERF]),
}


class ForksBeside(Case):
    def calls_of(self, done, name):
        ops = self.verb("report", "--ops", "--sort", "calls", done.profile).stdout.decode()
        # calls, average, median, max, kind, op
        row = re.search(r" ([\d,]+)" + 3 * r"\s+[\d.]+ [mun]?s" + rf"\s+function\s+{name}\s", ops)
        self.assertTrue(row, ops)
        return int(row[1].replace(",", ""))

    def check(self, rung):
        options, prefix = RUNGS[rung]
        command = [PROGRAM, str(CHILDREN), str(CALLS)]
        for _ in range(3):
            done = self.profile_run(command, "--trace", "f_work", *options, prefix=prefix)
            self.assertEqual((done.status, done.out), (0, b"0 failed\n"), done.err)
            self.assertEqual(self.calls_of(done, "f_work"), CHILDREN * CALLS)

    def test_with_kernel_stacks(self):
        self.check("kernel")

    def test_of_user_code_alone(self):
        self.check("user")

    def test_without_perf_events(self):
        self.check("agent")


if __name__ == "__main__":
    main()
