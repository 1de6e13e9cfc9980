# SPDX-License-Identifier: MIT
"""The verdict of a program that spends most of its time in a library, for which there is no rule,
and the rest in system calls, for which there is one: whatever takes longer comes first.

UNPACK is a program whose six functions unpack something each; its argument says how long it makes
system calls, as a part of that.
"""
import json
import os
import tempfile
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
        self.assertRegex(verdict["sentence"], r"spent in (code without symbols in )?"
                                              r"(libz\S* \(a library for compression\)|inflate\w*)")
        self.assertRegex(verdict["next"], "Next: kernel time")

    def test_a_finding_comes_before_a_library_that_has_less(self):
        self.assertRegex(self.verdict(3)["sentence"], "^Kernel time")

    @unittest.skipUnless(os.path.isdir("/dev/shm"), "no file system that waits for no disk")
    def test_a_program_of_the_systems_is_named_by_its_work_on_files(self):
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            self.copy_files(folder)

    def copy_files(self, folder):
        source = os.path.join(folder, "many")
        os.mkdir(source)
        for i in range(20000):
            with open(os.path.join(source, str(i)), "w", encoding="ascii") as file:
                file.write(512 * "x")
        run = self.profile_run(["cp", "-r", source, os.path.join(folder, "copy")])
        self.assertEqual(run.status, 0, run.err)
        verdict = json.loads(self.verb("report", "--json", run.profile).stdout)["verdict"]
        self.assertRegex(verdict["sentence"], r"(?i)(creating|opening).* files: \d+ % of .*; the "
                                              r"run has written 20,000 times, 512 bytes on average")
        self.assertRegex(verdict["next"], "cp -l")


if __name__ == "__main__":
    main()
