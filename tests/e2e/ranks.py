# SPDX-License-Identifier: MIT
"""Processes that a launcher starts side by side: names of files, who is profiled, what is kept."""
import json
import os
import socket
import sqlite3

from harness import BOTTLENECK, MPIRUN, Case, main, need

LAUNCHERS = ("OMPI_", "PMIX_", "PMI_", "MV2_", "SLURM_", "RANK", "WORLD_SIZE", "TORCHELASTIC_")


class Ranks(Case):
    def environment(self, **extra):
        clean = super().environment(**extra)
        return {k: v for k, v in clean.items() if k in extra or not k.startswith(LAUNCHERS)}

    def rank(self, number, *arguments, world=16):
        environment = self.environment(PMI_RANK=str(number), PMI_SIZE=str(world))
        return self.bare([BOTTLENECK, *arguments], env=environment)

    def test_names_are_filled_in(self):
        done = self.rank(3, "-R", self.path("%r.txt"), "-o", self.path("run.%r.%h.bneck"), "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        path = self.path(f"run.3.{socket.gethostname()}.bneck")
        facts = dict(sqlite3.connect(path).execute("SELECT key, value FROM run"))
        self.assertEqual((facts["has_rank"], facts["rank"], facts["world"]), (1, 3, 16))
        with open(self.path("3.txt"), encoding="utf-8") as report:
            self.assertIn(f"rank 3 of 16 on {socket.gethostname()}", report.read())
        run = json.loads(self.verb("report", "--json", path).stdout)["run"]
        self.assertEqual((run["rank"], run["world"]), (3, 16))

    def test_without_a_launcher_there_is_no_rank(self):
        done = self.verb("-o", self.path("run.bneck"), "true")
        self.assertEqual(done.returncode, 0)
        self.assertNotIn(b" on " + socket.gethostname().encode(), done.stderr)
        run = json.loads(self.verb("report", "--json", self.path("run.bneck")).stdout)["run"]
        self.assertNotIn("rank", run)

    def test_what_a_name_lacks_is_said_before_the_program_runs(self):
        mark = self.path("ran")
        for option in ("-o", "-R"):
            for pattern in ("%r", "%q{NOT_SET_ANYWHERE}", "%y"):
                done = self.verb(option, self.path(pattern), "touch", mark)
                self.assertEqual(done.returncode, 125)
                self.assert_clean_message(done, pattern)
        self.assertFalse(os.path.exists(mark))

    def test_other_ranks_run_unprofiled(self):
        script = 'echo "$LD_PRELOAD"; grep TracerPid /proc/self/status; exit 7'
        for number in (0, 2, 9):
            done = self.rank(number, "--ranks", "0,8-12", "--no-report", "-o",
                             self.path("%r.bneck"), "sh", "-c", script)
            self.assertEqual(done.returncode, 7, done.stderr)
            profiled = number in (0, 9)
            self.assertEqual(os.path.exists(self.path(f"{number}.bneck")), profiled)
            self.assertEqual(b"bottleneck-agent" in done.stdout, profiled)
        # Whoever is left alone takes our place: the same process.
        done = self.rank(2, "--ranks", "0", "sh", "-c", "echo $PPID")
        self.assertEqual(int(done.stdout), os.getpid())
        self.assertEqual(self.rank(2, "--ranks", "0", "/no/such/program").returncode, 127)
        self.assertEqual(self.rank(2, "--ranks", "0", "/").returncode, 126)

    def test_a_list_that_is_none_is_told(self):
        for words in ("1-", "x", "3-1", "1,,2"):
            done = self.rank(1, "--ranks", words, "true")
            self.assertEqual(done.returncode, 125)
            self.assert_clean_message(done, "--ranks", words)

    def test_mpirun(self):
        need("mpirun")
        environment = self.environment(**MPIRUN)
        done = self.bare(["mpirun", "-n", "4", BOTTLENECK, "--no-report",
                          "-o", self.path("run.%r.bneck"), "sh", "-c",
                          "echo rank $OMPI_COMM_WORLD_RANK"], env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.split(b"\n")),
                         [b""] + [b"rank %d" % i for i in range(4)])
        for number in range(4):
            database = sqlite3.connect(self.path(f"run.{number}.bneck"))
            facts = dict(database.execute("SELECT key, value FROM run"))
            self.assertEqual((facts["rank"], facts["world"]), (number, 4))


if __name__ == "__main__":
    main()
