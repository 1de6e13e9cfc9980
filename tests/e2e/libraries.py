# SPDX-License-Identifier: MIT
"""The verdict of a program that spends most of its time in a library, for which there is no rule,
and the rest in system calls, for which there is one: whatever takes longer comes first.

UNPACK is a program whose six functions unpack something each; its argument says how long it makes
system calls, as a part of that.
"""
import json
import os
import unittest

from harness import Case, main

UNPACK = os.environ.get("UNPACK", "build/tests/faults/unpack")


class Libraries(Case):
    def verdict(self, part):
        run = self.profile_run([UNPACK, str(part)])
        self.assertEqual(run.status, 0, run.err)
        done = self.verb("report", "--json", run.profile)
        return json.loads(done.stdout)["verdict"]

    def test_a_library_comes_before_a_finding_of_less(self):
        verdict = self.verdict(0.6)
        # With the library's symbols one of its functions may have most of it.
        self.assertRegex(verdict["sentence"], r"(spent in libz\S* \(a library for compression\)"
                                              r"|spent in inflate\w*)")
        self.assertRegex(verdict["next"], "Next: kernel time")

    def test_a_finding_comes_before_a_library_that_has_less(self):
        self.assertRegex(self.verdict(3)["sentence"], "^Kernel time")

    def test_a_program_of_the_systems_is_named_by_its_work_on_files(self):
        source = self.path("many")
        os.mkdir(source)
        for i in range(6000):
            with open(os.path.join(source, str(i)), "w", encoding="ascii") as file:
                file.write(4096 * "x")
        run = self.profile_run(["cp", "-r", source, self.path("copy")])
        self.assertEqual(run.status, 0, run.err)
        verdict = json.loads(self.verb("report", "--json", run.profile).stdout)["verdict"]
        self.assertRegex(verdict["sentence"], r"(?i)(creating|opening).* files: \d+ % of .*; the "
                                              r"run has written 6,000 times, 4,096 bytes on average")
        self.assertRegex(verdict["next"], "cp -l")


if __name__ == "__main__":
    main()
