# SPDX-License-Identifier: MIT
"""What kind of loop is hot: said at the end of the run, by the saved profile, and by merged ones; of
a program without symbols, too, and not of one whose file is gone or damaged by then.

LOOP is the program of tests/faults that sums a matrix down its columns.
"""
import json
import os
import shutil
import subprocess
import sys

from harness import BOTTLENECK, Case, main, need

LOOP = os.environ.get("LOOP", "build/tests/faults/strided")
RULE = "CPU-STRIDE"

# Runs a copy of LOOP, and does something to its file meanwhile.
MEANWHILE = """
import subprocess, sys
child = subprocess.Popen([sys.argv[1]])
with open(sys.argv[1] + ".new", "wb") as file:
    file.write(b"\\x7fELF" + bytes(range(256)) * 64)
import os
os.chmod(sys.argv[1] + ".new", 0o755)
os.rename(sys.argv[1] + ".new", sys.argv[1])
sys.exit(child.wait())
"""


class Loops(Case):
    def findings(self, profile):
        done = self.verb("report", "--json", profile)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {item["id"]: item for item in json.loads(done.stdout)["findings"]}

    def copy(self, *strip):
        path = self.path("program")
        shutil.copy(LOOP, path)
        if strip:
            need(strip[0])
            subprocess.run([*strip, path], check=True)
        return path

    def test_the_verdict_names_kind_and_line(self):
        run = self.profile_run([LOOP])
        self.assertEqual(run.status, 0, run.err)
        found = self.findings(run.profile)[RULE]
        self.assertEqual(os.path.basename(found["file"]), "strided.c")
        self.assertIn("loads with a stride of 6 KB", found["fact"])
        done = self.verb("report", run.profile)
        words = " ".join(done.stdout.decode().split())
        self.assertIn("trided memory access: ", words)

    def test_merged_profiles_say_the_same(self):
        parts = []
        for rank in range(2):
            parts.append(self.path(f"{rank}.bneck"))
            done = self.bare([BOTTLENECK, "--no-report", "-o", parts[-1], LOOP],
                             env=self.environment(PMI_RANK=str(rank), PMI_SIZE="2"))
            self.assertEqual(done.returncode, 0, done.stderr)
        merged = self.path("all.bneck")
        done = self.verb("merge", "-o", merged, *parts)
        self.assertEqual(done.returncode, 0, done.stderr)
        found, one = self.findings(merged)[RULE], self.findings(parts[0])[RULE]
        self.assertEqual((found["file"], found["line"]), (one["file"], one["line"]))
        self.assertIn("loads with a stride of 6 KB", found["fact"])

    def test_a_program_without_symbols(self):
        run = self.profile_run([self.copy("strip")])
        self.assertEqual(run.status, 0, run.err)
        found = self.findings(run.profile).get(RULE)
        self.assertIsNotNone(found, run.report)
        self.assertIsNone(found["file"])
        self.assertIn("a loop of program that loads with a stride of 6 KB", found["fact"])

    def test_a_file_that_was_replaced_meanwhile(self):
        run = self.profile_run([sys.executable, "-c", MEANWHILE, self.copy()])
        self.assertEqual(run.status, 0, run.err)
        self.findings(run.profile)


if __name__ == "__main__":
    if not os.path.exists(LOOP):
        sys.exit(f"{LOOP} is not there: build first, or set LOOP")
    main()
