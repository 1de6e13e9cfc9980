# SPDX-License-Identifier: MIT
"""bottleneck merge: ranks into one profile, sums as of the parts, the planted straggler named.

RANKS names the program that makes profiles of many ranks, FAKE the folder of the fake GPU, PROGRAMS
that of its programs; ctest sets them. With --many ten thousand profiles are merged, and nothing else.
"""
import csv
import json
import os
import re
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import unittest

from harness import BOTTLENECK, MPIRUN, NOBODY, Case, main, target

RANKS = os.path.abspath(os.environ.get("RANKS", "build/tests/ranks"))
FAKE = os.path.abspath(os.environ.get("FAKE", "build/tests/gpu/fake"))
PROGRAMS = os.path.abspath(os.environ.get("PROGRAMS", "build/tests/gpu/programs"))
MIB = 1 << 20


class Merge(Case):
    def make(self, *names, command=None):
        paths = [self.path(f"{name}.bneck") for name in names]
        for i, path in enumerate(paths):
            done = self.bare([BOTTLENECK, "--no-report", "-o", path,
                              *(command or [target("shares")])],
                             env=self.environment(PMI_RANK=str(i), PMI_SIZE=str(len(names))))
            self.assertEqual(done.returncode, 0, done.stderr)
        return paths

    def merge(self, *arguments):
        return self.verb("merge", "-o", self.path("all.bneck"), *arguments)

    @staticmethod
    def sums(path):
        """CPU time and waiting of all functions, and samples, by name."""
        database = sqlite3.connect(path)
        columns = [row[1] for row in database.execute("PRAGMA table_info(function)")]
        found = {}
        for row in database.execute("SELECT f.*, s.text AS text FROM function f "
                                    "LEFT JOIN string s ON s.id = f.name"):
            row = dict(zip([*columns, "text"], row))
            key = row["text"] or row["label"]
            numbers = [row[c] for c in columns if c.endswith("_ns") or c.endswith("samples")]
            found[key] = [a + b for a, b in zip(found.get(key, [0] * len(numbers)), numbers)]
        return found

    def test_sums_are_those_of_the_parts(self):
        parts = self.make("a", "b", "c")
        done = self.merge(*parts)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        wanted = {}
        for part in parts:
            for name, numbers in self.sums(part).items():
                name = re.sub(r"\[jit \d+\]", "[jit]", name)
                wanted[name] = [a + b for a, b in zip(wanted.get(name, [0] * 9), numbers)]
        self.assertEqual(self.sums(self.path("all.bneck")), wanted)
        report = self.verb("report", self.path("all.bneck")).stdout.decode()
        self.assertIn("3 on 1 host", report)
        self.assertIn("3 profiles of", report)
        # Of the first, of each, and of all.
        one = self.verb("report", "--process", "shares [rank 1]", self.path("all.bneck"))
        self.assertIn(b"shares [rank 1]", one.stdout)
        self.assertNotIn(b"ranks  3", one.stdout)

    def test_one_profile_stays_what_it_is(self):
        part, = self.make("one")
        self.assertEqual(self.merge(part).returncode, 0)
        self.assertEqual(self.sums(self.path("all.bneck")), self.sums(part))
        # Once more, of what is merged, and over itself.
        again = self.verb("merge", "-o", self.path("all.bneck"), self.path("all.bneck"))
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(self.sums(self.path("all.bneck")), self.sums(part))

    def test_hundreds_share_rows(self):
        parts = self.make("a", "b", command=["true"])
        copies = [self.path(f"{i}.bneck") for i in range(300)]
        for i, copy in enumerate(copies):
            shutil.copy(parts[i % 2], copy)
        self.assertEqual(self.merge(*copies).returncode, 0)
        few, many = os.path.getsize(parts[0]), os.path.getsize(self.path("all.bneck"))
        self.assertLess(many, 8 * few)
        report = self.verb("report", self.path("all.bneck"))
        self.assertEqual(report.returncode, 0, report.stderr)
        self.assertIn(b"300 on 1 host", report.stdout)

    def test_what_cannot_be_read(self):
        part, = self.make("good", command=["true"])
        broken = self.path("broken.bneck")
        shutil.copy(part, broken)
        os.truncate(broken, os.path.getsize(part) // 2)
        for bad in (broken, self.path("absent.bneck")):
            done = self.merge(part, bad)
            self.assertEqual(done.returncode, 1)
            self.assert_clean_message(done, os.path.basename(bad))
            self.assertFalse(os.path.exists(self.path("all.bneck")))
        done = self.merge("-k", part, broken, self.path("absent.bneck"))
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"absent.bneck", done.stderr)
        self.assertIn(b"broken.bneck", done.stderr)
        os.unlink(self.path("all.bneck"))
        for arguments in ((), ("-o", self.path("x")), (part,)):
            self.assert_clean_message(self.verb("merge", *arguments))
        self.assert_clean_message(self.merge("-k", broken), "broken")

    def test_each_file_once(self):
        parts = self.make("a", "b", command=["true"])
        link = self.path("link.bneck")
        os.symlink(parts[0], link)
        for twin in (parts[0], link):
            done = self.merge(*parts, twin)
            self.assertEqual(done.returncode, 1)
            self.assert_clean_message(done, os.path.basename(twin), "named twice")
            self.assertFalse(os.path.exists(self.path("all.bneck")))
        done = self.merge("-k", *parts, link)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"named twice", done.stderr)
        report = self.verb("report", self.path("all.bneck")).stdout.decode()
        self.assertIn("2 on 1 host", report)
        self.assertIn("1 more profile could not be read, and was left out", report)

    def test_of_an_older_version_it_says_which(self):
        parts = self.make("a", "b", command=["true"])
        database = sqlite3.connect(parts[1])
        database.execute("PRAGMA user_version = 3")
        database.commit()
        database.close()
        done = self.merge(*parts)
        self.assertEqual(done.returncode, 1)
        self.assert_clean_message(done, "b.bneck", "older", "schema 3")
        self.assertFalse(os.path.exists(self.path("all.bneck")))
        self.assertEqual(self.merge("-k", *parts).returncode, 0)
        # Deeper than what is read first.
        shutil.copy(parts[0], parts[1])
        database = sqlite3.connect(parts[1])
        database.execute("UPDATE node_chunk SET rows = rows + 1")
        database.commit()
        database.close()
        os.unlink(self.path("all.bneck"))
        self.assert_clean_message(self.merge(*parts), "b.bneck", "damaged")
        self.assert_clean_message(self.merge(parts[1]), "b.bneck", "damaged")
        done = self.merge("-k", parts[1])
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"nothing to merge", done.stderr)
        self.assertFalse(os.path.exists(self.path("all.bneck")))

    def test_those_that_may_not_be_read(self):
        if os.geteuid() == 0:
            os.chmod(self.directory, 0o755)
        parts = self.make("a", "b", command=["true"])
        os.chmod(parts[0], 0o644)
        os.chmod(parts[1], 0)
        if os.geteuid() != 0:
            done = self.merge(*parts)
        else:
            # The checkout may lie where others do not get.
            program = shutil.copy(BOTTLENECK, self.path("bottleneck"))
            done = self.bare([program, "merge", "-o", os.path.join(self.work, "all.bneck"),
                              *parts], user=NOBODY, group=NOBODY, extra_groups=[])
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assert_clean_message(done, "b.bneck", "Permission denied")
        self.assertEqual(os.listdir(self.work), [])

    def test_a_disk_that_is_full_leaves_nothing(self):
        parts = self.make("a", "b")
        output = os.path.join(self.work, "all.bneck")
        done = self.verb("merge", "-o", output, *parts, preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (4096, 4096)))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assert_clean_message(done, "all.bneck", "File too large")
        self.assertEqual(os.listdir(self.work), [])
        # What stood there stays.
        with open(output, "w", encoding="ascii") as file:
            file.write("as it was")
        done = self.verb("merge", "-o", output, *parts, preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (4096, 4096)))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(os.listdir(self.work), ["all.bneck"])
        with open(output, encoding="ascii") as file:
            self.assertEqual(file.read(), "as it was")

    def test_the_planted_straggler_is_named(self):
        program = self.build_straggler()
        environment = self.environment(**MPIRUN)
        done = self.bare(["mpirun", "-n", "4", BOTTLENECK, "--no-report",
                          "-o", self.path("run.%r.bneck"), program], env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        parts = [self.path(f"run.{i}.bneck") for i in range(4)]
        self.assertEqual(self.merge(*parts).returncode, 0)
        report = " ".join(self.verb("report", self.path("all.bneck")).stdout.decode().split())
        self.assertIn("ranks 4 on 1 host", report)
        self.assertRegex(report, f"rank 2 on {socket.gethostname()} holds the others up: it works "
                                 r".* of that in planted_work; the others wait")
        self.assertRegex(report, r"imbalance by function .* 2 \S+ m?s \S+ m?s planted_work")
        rows = sqlite3.connect(self.path("all.bneck")).execute(
            "SELECT rank, busy_ns, mpi_busy_ns + mpi_wait_ns FROM rank_time").fetchall()
        self.assertEqual(sorted(r[0] for r in rows), [0, 1, 2, 3])
        busy, mpi = ({r[0]: r[i] for r in rows} for i in (1, 2))
        for other in (0, 1, 3):
            self.assertGreater(busy[2], 2 * busy[other])
            self.assertLess(mpi[2], mpi[other])


class Gpus(Case):
    """Two ranks on the fake GPU, each with streams of its own."""

    def setUp(self):
        super().setUp()
        self.parts = [self.path(f"{rank}.bneck") for rank in range(2)]
        self.all = self.path("all.bneck")
        for rank, part in enumerate(self.parts):
            done = self.bare([BOTTLENECK, "--no-report", "-o", part,
                              os.path.join(PROGRAMS, "streams")],
                             env=self.environment(PMI_RANK=str(rank), PMI_SIZE="2",
                                                  LD_LIBRARY_PATH=FAKE))
            self.assertEqual(done.returncode, 0, done.stderr)
        done = self.verb("merge", "-o", self.all, *self.parts)
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    @staticmethod
    def ask(profile, question):
        database = sqlite3.connect(profile)
        try:
            return database.execute(question).fetchall()
        finally:
            database.close()

    def works(self, *profiles):
        """Calls, time and bytes of all that ran, by name."""
        found = {}
        for profile in profiles:
            for name, *numbers in self.ask(profile, "SELECT name, sum(calls), sum(total_ns), "
                                                    "sum(bytes) FROM gpu GROUP BY name"):
                found[name] = [a + b for a, b in zip(found.get(name, [0, 0, 0]), numbers)]
        return found

    def test_what_ran_adds_up_and_each_rank_has_its_gpu(self):
        self.assertTrue(self.works(self.all))
        self.assertEqual(self.works(self.all), self.works(*self.parts))
        question = "SELECT works, busy_ns, kernels, shared_ns FROM gpu_stream"
        self.assertEqual(sorted(self.ask(self.all, question)),
                         sorted(row for part in self.parts for row in self.ask(part, question)))
        report = self.verb("report", self.all).stdout.decode()
        for rank in range(2):
            self.assertIn(f"GPU  0 of streams [rank {rank}]: ", report)
        self.assertIn("1 GPU was in use in other profiles, too", report)
        self.assertNotRegex(report, "GPUs? .* not merged")

    def test_streams_are_told_apart_by_rank(self):
        report = self.verb("report", "--by", "stream", self.all).stdout.decode()
        for rank in range(2):
            self.assertEqual(len(re.findall(rf"GPU 0, streams \[rank {rank}\], stream \d+", report)),
                             4, report)

    def test_tables_for_programs_say_whose_a_gpu_is(self):
        for table, rows in (("gpus", 1), ("gpu_streams", 4)):
            done = self.verb("report", "--export", "csv", "--table", table, self.all)
            self.assertEqual(done.returncode, 0, done.stderr)
            owners = [row["process"] for row in csv.DictReader(done.stdout.decode().splitlines())]
            self.assertEqual(sorted(owners), sorted(rows * ["streams [rank 0]", "streams [rank 1]"]))
            alone = self.verb("report", "--export", "csv", "--table", table, self.parts[0])
            self.assertEqual({row["process"] for row in
                              csv.DictReader(alone.stdout.decode().splitlines())}, {""})

    def trace(self, profile):
        path = self.path("trace.json")
        done = self.verb("report", "--export", "chrome=" + path, profile)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(path, encoding="utf-8") as file:
            return json.load(file)["traceEvents"]

    def test_the_trace_has_the_works_of_each_rank_on_its_own_gpu(self):
        wanted = [sorted(round(e["dur"], 3) for e in self.trace(part) if e.get("cat") == "kernel")
                  for part in self.parts]
        events = self.trace(self.all)
        gpus = {e["args"]["name"]: e["pid"] for e in events
                if e["name"] == "process_name" and e["args"]["name"].startswith("GPU")}
        for rank in range(2):
            pid, = (pid for name, pid in gpus.items() if name.endswith(f"[rank {rank}]"))
            found = sorted(round(e["dur"], 3) for e in events
                           if e.get("cat") == "kernel" and e["pid"] == pid)
            self.assertEqual(found, wanted[rank])
        arrows = [e for e in events if e.get("cat") == "ac2g"]
        self.assertEqual(len([e for e in arrows if e["ph"] == "s"]),
                         len([e for e in arrows if e["ph"] == "f"]))
        self.assertGreaterEqual(len(arrows), 2 * sum(len(w) for w in wanted))

    def test_the_page_has_lanes_for_both(self):
        path = self.path("page.html")
        done = self.verb("report", "--export", "html=" + path, self.all)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(path, encoding="utf-8") as file:
            page = file.read()
        lanes = set(re.findall(r'"device":(\d+),"stream":(\d+)', page))
        self.assertEqual({device for device, _ in lanes}, {"1", "2"})
        self.assertEqual(len(lanes), 8)

    def test_as_many_single_calls_as_are_wanted(self):
        slices = "SELECT coalesce(sum(rows), 0) FROM slice_chunk"
        kept = sum(self.ask(part, slices)[0][0] for part in self.parts)
        self.assertEqual(self.ask(self.all, slices)[0][0], kept)
        for limit in (100, 0):
            done = self.verb("merge", "--timeline-limit", str(limit), "-o", self.all, *self.parts)
            self.assertEqual(done.returncode, 0, done.stderr)
            report = self.verb("report", self.all).stdout.decode()
            if limit:
                self.assertIn(f"the first {self.ask(self.all, slices)[0][0]} calls", report)
                self.assertIn(self.ask(self.all, slices)[0][0], (limit - 1, limit))
            else:
                self.assertNotIn("timelines end", report)


class Many(Case):
    """Profiles of as many ranks as one likes, with sums that are known."""
    count = 1000

    def make_ranks(self, count):
        made = subprocess.run([RANKS, str(count), self.make_directory("ranks")], check=True,
                              stdout=subprocess.PIPE, text=True)
        files = [os.path.join(self.path("ranks"), f"{rank:05}.bneck") for rank in range(count)]
        return {key: int(value) for key, value in map(str.split, made.stdout.splitlines())}, files

    def test_sums_are_exact_and_memory_does_not_grow_with_their_number(self):
        sums, files = self.make_ranks(self.count)
        peaks = {}
        for count in (self.count // 10, self.count):
            begin = time.monotonic()
            _, status, usage = self.wait(["merge", "-o", self.path("all.bneck"), *files[:count]])
            self.assertEqual(status, 0)
            peaks[count] = usage.ru_maxrss * 1024
            print(f"{count} profiles: {time.monotonic() - begin:.1f} s, of them "
                  f"{usage.ru_utime + usage.ru_stime:.1f} s on a CPU, {peaks[count] / MIB:.0f} MiB",
                  file=sys.stderr)
        # A row for each rank, and for each of its functions, in memory and in the file.
        rows = (self.count - self.count // 10) * 34 * 100
        self.assertLess(peaks[self.count], peaks[self.count // 10] + 16 * MIB + rows)
        database = sqlite3.connect(self.path("all.bneck"))
        self.addCleanup(database.close)
        on_cpu, waited, samples = database.execute(
            "SELECT sum(self_on_ns), sum(self_off_ns), sum(samples) FROM hotspot").fetchone()
        calls, call_ns = database.execute("SELECT sum(calls), sum(total_ns) FROM op").fetchone()
        self.assertEqual((on_cpu, waited, samples, calls, call_ns),
                         (sums["on_cpu_ns"], sums["off_cpu_ns"], sums["samples"], sums["calls"],
                          sums["call_ns"]))
        ranks = database.execute("SELECT count(*), count(DISTINCT number) FROM rank").fetchone()
        self.assertEqual(ranks, (self.count, self.count))
        report = " ".join(self.verb("report", self.path("all.bneck")).stdout.decode().split())
        self.assertIn(f"rank {self.count // 2} on node", report)
        self.assertIn("holds the others up", report)

    def wait(self, arguments):
        pid = os.fork()
        if pid == 0:
            os.environ.update(self.environment())
            os.execv(BOTTLENECK, [BOTTLENECK, *arguments])
        return os.wait4(pid, 0)

    def test_who_interrupts_it_finds_all_or_nothing(self):
        _, files = self.make_ranks(40)
        output = os.path.join(self.work, "all.bneck")
        begin = time.monotonic()
        self.assertEqual(self.verb("merge", "-o", output, *files).returncode, 0)
        lasts, ended = time.monotonic() - begin, 0
        with open(output, "rb") as file:
            whole = file.read()
        for i in range(24):
            os.unlink(output)
            with subprocess.Popen([BOTTLENECK, "merge", "-o", output, *files],
                                  env=self.environment()) as merge:
                time.sleep(lasts * i / 20)
                merge.send_signal((signal.SIGINT, signal.SIGTERM)[i % 2])
                status = merge.wait()
            self.assertIn(status, (0, -signal.SIGINT, -signal.SIGTERM))
            ended += status != 0
            found = os.listdir(self.work)
            self.assertIn(found, ([], ["all.bneck"]))
            if status == 0:
                self.assertEqual(found, ["all.bneck"])
            if found:
                with open(output, "rb") as file:
                    self.assertEqual(file.read(), whole)
            else:
                with open(output, "wb"):
                    pass
        self.assertGreater(ended, 0)

    def test_few_descriptors_are_enough(self):
        _, files = self.make_ranks(100)
        done = self.verb("merge", "-o", self.path("all.bneck"), *files,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16)))
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_merged_profiles_are_merged_again(self):
        _, files = self.make_ranks(20)
        halves = [self.path("first.bneck"), self.path("second.bneck")]
        for half, parts in zip(halves, (files[:7], files[7:])):
            self.assertEqual(self.verb("merge", "-o", half, *parts).returncode, 0)
        self.assertEqual(self.verb("merge", "-o", self.path("all.bneck"), *files).returncode, 0)
        self.assertEqual(self.verb("merge", "-o", self.path("again.bneck"), *halves).returncode, 0)
        found = [sorted(sqlite3.connect(self.path(name)).execute("SELECT * FROM rank_time"))
                 for name in ("all.bneck", "again.bneck")]
        self.assertEqual(found[0], found[1])
        names = [sorted(sqlite3.connect(self.path(name)).execute(
            "SELECT command FROM process"))
            for name in ("all.bneck", "again.bneck")]
        self.assertEqual(names[0], names[1])
        self.assertIn("20 profiles of train",
                      self.verb("report", self.path("again.bneck")).stdout.decode())


class TenThousand(Many):
    count = 10_000
    test_few_descriptors_are_enough = None
    test_who_interrupts_it_finds_all_or_nothing = None
    test_merged_profiles_are_merged_again = None


if __name__ == "__main__":
    if "--many" in sys.argv:
        sys.argv.remove("--many")
        unittest.main(defaultTest="TenThousand", verbosity=2)
    TenThousand = None
    main()
