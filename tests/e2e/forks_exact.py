# SPDX-License-Identifier: MIT
"""No call of a traced function is lost, or counted twice, in children that are made in any way."""
import os
import re

from harness import NO_PERF, Case, main

PROGRAM = os.environ.get("FORKS_EXACT", "build/tests/forks_exact")
IN_HANDLERS = os.environ.get("FORKS_IN_HANDLERS", "build/tests/forks_in_handlers")
RUNGS = {
    "kernel": ([], []),
    "user": (["--rung=user"], []),
    "agent": ([], [NO_PERF]),
}
# calls, average, median, max (or none, where no time is known), kind, op
ROW = re.compile(r" ([\d,]+)(?:\s+(?:[\d.]+ [mun]?s|-)){0,3}\s+function\s+(f_\w+)\s")


class ForksExact(Case):
    def calls_of(self, profile):
        ops = self.verb("report", "--ops", "--sort", "calls", "--top", "100", profile)
        calls = {}
        for number, name in ROW.findall(ops.stdout.decode()):
            calls[name] = calls.get(name, 0) + int(number.replace(",", ""))
        return calls

    def check(self, rung, *command):
        options, prefix = RUNGS[rung]
        done = self.profile_run(command, "--trace", "f_*", *options, prefix=prefix)
        self.assertEqual((done.status, done.err.count(b"child")), (0, 0), done.err)
        truth = [line.split() for line in done.out.decode().splitlines()]
        self.assertGreater(len(truth), 1)
        calls = self.calls_of(done.profile)
        self.assertEqual({name: calls.get(name) for _, name in truth},
                         {name: int(number) for number, name in truth}, done.report)

    def test_children_of_all_kinds_with_kernel_stacks(self):
        self.check("kernel", PROGRAM, "20")

    def test_children_of_all_kinds_of_user_code_alone(self):
        self.check("user", PROGRAM, "20")

    def test_children_of_all_kinds_without_perf_events(self):
        self.check("agent", PROGRAM, "20")

    def test_children_that_handlers_fork_with_kernel_stacks(self):
        self.check("kernel", IN_HANDLERS, "200")

    def test_children_that_handlers_fork_of_user_code_alone(self):
        self.check("user", IN_HANDLERS, "200")

    def test_children_that_handlers_fork_without_perf_events(self):
        self.check("agent", IN_HANDLERS, "200")


if __name__ == "__main__":
    main()
