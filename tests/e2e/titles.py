# SPDX-License-Identifier: MIT
"""Processes of one program are distinguished by what they work on, and the one that is most of the run is
the answer."""
import gzip
import os
import subprocess
import sys
import unittest

from harness import NO_PERF, Case, main, need, target

# Servers of many processes write over their command line what each is for.
SERVER = """import ctypes, os, sys, time
def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
libc = ctypes.CDLL(None)
children = []
for name in ("launcher", "writer"):
    child = os.fork()
    if not child:
        with open("/proc/self/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        start, end = int(fields[45]), int(fields[46])
        program = os.path.basename(sys.executable)
        text = f"{program}: {name}".encode().ljust(end - start, b"\\0")[:end - start]
        ctypes.memmove(start, text, end - start)
        work(0.4)
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
"""


class Titles(Case):
    def write(self, name, text):
        with open(os.path.join(self.work, name), "w", encoding="utf-8") as file:
            file.write(text)

    def names(self, profile):
        done = self.verb("report", "--export", "csv=-", "--table", "processes", profile)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {line.split(",")[0] for line in done.stdout.decode().splitlines()[1:]}

    def test_forked_workers_are_no_runs(self):
        need("perl")
        # One after the other: nothing else is to be said of them.
        script = "for (1..8) { my $p = fork; if (!$p) { my $x; $x += $_ for 1..3e6; exit } waitpid $p, 0 }"
        done = self.profile_run(["perl", "-e", script])
        text = " ".join(done.report.split())
        self.assertRegex(text, r"% of [^.]* is in (one of 9 processes: |[4-9] processes of )perl")
        self.assertNotIn("make -j", text)

    def gzip_files(self):
        need("gzip")
        data = os.urandom(1 << 20)
        for name, size in (("small.bin", 1), ("large.bin", 24), ("middle.bin", 2)):
            with open(os.path.join(self.work, name), "wb") as file:
                file.write(data * size)
        self.write("all.sh", "for f in small.bin large.bin middle.bin; do gzip -c $f >/dev/null; done\n"
                             "sleep 0.01\n")
        return ["sh", "all.sh"]

    def test_the_file_that_a_process_works_on_is_in_its_name(self):
        command = self.gzip_files()
        for prefix in ((), (NO_PERF,)):
            with self.subTest(prefix=prefix):
                done = self.profile_run(command, prefix=prefix)
                names = self.names(done.profile)
                self.assertLessEqual({"sh all.sh", "gzip large.bin"}, names)
                self.assertRegex(" ".join(done.report.split()),
                                 r"[89]\d(\.\d)? % of [^.]* is in one of 5 processes: gzip large\.bin \(\d+\)\. A change there "
                                 r"saves (at most \d+|\d+ to \d+) % of wall time\. To compress, "
                                 r"use a lower level \(gzip -1\)")
                for name in ("gzip large.bin", "gzip"):
                    part = self.verb("report", f"--process={name}", done.profile)
                    self.assertEqual(part.returncode, 0, part.stderr)

    def test_equal_runs_of_a_program_are_told_together(self):
        need("gzip")
        data = os.urandom(2 << 20)
        for i in range(8):
            with open(os.path.join(self.work, f"part{i}"), "wb") as file:
                file.write(data)
        self.write("all.sh", "for i in 0 1 2 3 4 5 6 7; do gzip -c part$i >/dev/null; done\nwait\n")
        done = self.profile_run(["sh", "all.sh"])
        self.assertRegex(" ".join(done.report.split()), r"\d\d(\.\d)? % of [^.]* is in 8 runs of gzip, ")

    def test_a_script_that_another_program_runs_is_named(self):
        need("make")
        burn = "while [ $n -gt 0 ]; do n=$((n - 1)); done\n"
        self.write("part", "#!/bin/sh\nn=30000\n" + burn)
        self.write("whole", "#!/bin/sh\nn=900000\n" + burn)
        for name in ("part", "whole"):
            os.chmod(os.path.join(self.work, name), 0o755)
        self.write("Makefile", "all: a b\n\t@./whole\na b:\n\t@./part\n")
        done = self.profile_run(["make", "-s"])
        self.assertRegex(" ".join(done.report.split()),
                         r"[5-9]\d(\.\d)? % of [^.]* is in one of 4 processes: whole \(\d+\)\. (A change there "
                         r"saves at most \d+ % of wall time\. )?\w+ itself works, command by command")

    def test_a_program_without_symbols_that_is_waited_for_has_the_name_it_was_started_by(self):
        need("objcopy")
        subprocess.run(["objcopy", "--strip-all", target("../waiting"),
                        os.path.join(self.work, "installed")], check=True)
        os.symlink("installed", os.path.join(self.work, "called"))
        done = self.profile_run(["./called", "pipe"])
        self.assertRegex(" ".join(done.report.split()),
                         r"[5-9]\d % of wall time[^.]* is called, while called waits for it at a pipe or socket")

    def test_what_a_process_writes_over_its_command_line_is_its_name(self):
        self.write("server.py", SERVER)
        bare = self.bare([sys.executable, "server.py"])
        if bare.returncode:
            raise unittest.SkipTest("the command line cannot be written over here")
        done = self.profile_run([sys.executable, "server.py"])
        name = os.path.basename(sys.executable)
        self.assertLessEqual({f"{name}: launcher", f"{name}: writer"}, self.names(done.profile))

    def test_words_of_options_are_no_name(self):
        done = self.profile_run([target("shares"), "--password=hunter2", "-k", "secret"])
        self.assertNotIn("hunter2", " ".join(self.names(done.profile)))
        self.assertNotIn("secret", " ".join(self.names(done.profile)))

    def test_secrets_of_the_command_line_are_shown_and_kept_nowhere(self):
        done = self.profile_run([target("shares"), "--password=hunter2", "--api-token", "hunter2",
                                 "Authorization: Bearer hunter2"])
        whole = self.verb("report", "-v", done.profile).stdout.decode()
        self.assertIn("--password=*** --api-token *** 'Authorization: ***'", " ".join(whole.split()))
        self.assertNotIn("hunter2", done.report + whole)
        with open(done.profile, "rb") as file:
            self.assertNotIn(b"hunter2", file.read())
        for name in ("html", "json", "chrome", "firefox", "speedscope", "pprof", "callgrind", "sarif", "markdown",
                     "digest", "csv"):
            with self.subTest(export=name):
                out = os.path.join(self.work, f"out-{name}")
                made = self.verb("report", "--export", f"{name}={out}", done.profile)
                self.assertEqual(made.returncode, 0, made.stderr)
                data = b""
                for folder, _, files in os.walk(out):
                    for file in files:
                        with open(os.path.join(folder, file), "rb") as stream:
                            data += stream.read()
                if os.path.isfile(out):
                    with open(out, "rb") as stream:
                        data = stream.read()
                self.assertTrue(data)
                self.assertNotIn(b"hunter2", gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


if __name__ == "__main__":
    main()
