# SPDX-License-Identifier: MIT
"""Ops of programs that know them: see targets/ops.c, ops_providers.c and ops_openblas.c.

Calls are exact whatever happens, times within 1 % of the program's own clock, and the share of an
op's samples within 1 point of its share of the time. A machine that is busy with other things may
take the CPU away between the program's reading of its clock and ours: what is off once is measured
twice more.
"""
import csv
import io
import json
import os
import re
import sqlite3
import subprocess

from harness import Case, main, target

OP_ROWS = os.environ.get("OP_ROWS", "build/tests/op_rows")
TRIES = 3


class Row:
    def __init__(self, line):
        self.provider, self.domain, self.name, *numbers = line.split("\t")
        (self.calls, self.total, self.self, self.sampled, self.sampled_self, self.left_open,
         self.untimed) = map(int, numbers)


class Ops(Case):
    def rows(self, profile):
        """The time of the threads that have ops, and the ops by name."""
        done = subprocess.run([OP_ROWS, profile], capture_output=True, text=True, check=True)
        first, *lines = done.stdout.splitlines()
        return int(first.split("\t")[1]), {row.name: row for row in map(Row, lines)}

    def truth(self, output):
        found = re.findall(r"^op (.*)\t(\d+) (\d+) (\d+)$", output.decode(), re.M)
        return {name: tuple(map(int, numbers)) for name, *numbers in found}

    def waited(self, profile):
        """For how long threads wanted a CPU and had none."""
        return sqlite3.connect(profile).execute("SELECT sum(runnable) FROM thread").fetchone()[0]

    def measure(self, part, *options, number="0", points=1, program="ops", more=(), prefix=(),
                late=False, estimated=False):
        """What is wrong with the times of PART, in words. LATE: ends are found by samples alone,
        and the wait for a CPU before a sample cannot be told from the op. ESTIMATED: so are the
        switches, and with them where in the run a wait for a CPU was."""
        done = self.profile_run([target(program), part, number, *more], *options, prefix=prefix)
        self.assertEqual(done.status, 0, done.err)
        wall, rows = self.rows(done.profile)
        truth = self.truth(done.out)
        waited = self.waited(done.profile) if late or estimated else 0
        slack = points * wall / 100 + (waited / 25 if estimated else 0)
        wrong = []
        # Calls are never off. What is only a mark has none.
        self.assertEqual({name: row.calls for name, row in rows.items() if row.calls},
                         {name: calls for name, (calls, _, _) in truth.items()}, done.report)
        for name, (_, total, own) in truth.items():
            row = rows[name]
            for what, got, wanted in (("total", row.total, total), ("self", row.self, own)):
                more_by = got - wanted
                longer = min(waited, wanted / 5) if late else 0
                if wanted and not -wanted / 100 <= more_by <= wanted / 100 + longer:
                    wrong.append(f"{name}: {what} {got / 1e6:.2f} ms, not {wanted / 1e6:.2f}")
            for what, got, wanted in (("total", row.sampled, row.total),
                                      ("self", row.sampled_self, row.self)):
                if total and own and abs(got - wanted) > slack:
                    wrong.append(f"{name}: samples hold {100 * got / wall:.2f} % as {what}, "
                                 f"not {100 * wanted / wall:.2f} of {wall / 1e6:.0f} ms")
        return wrong

    def check(self, part, *options, **how):
        for _ in range(TRIES):
            wrong = self.measure(part, *options, **how)
            if not wrong:
                return
        self.fail(f"{part}: " + "; ".join(wrong))


class Truth(Ops):
    def test_one_thread(self):
        self.check("single")

    def test_four_threads(self):
        self.check("threads")

    def test_without_perf_events(self):
        # Samples follow the kernel's tick there: they are few.
        self.check("single", "--rung=agent", number="40", points=3, estimated=True)


class Providers(Ops):
    """Single and with several threads, by the calls of each provider but NVTX, see Truth."""

    def both(self, part):
        self.check(part, program="ops_providers", number="20")
        self.check(part, program="ops_providers", number="12", more=["4"])

    def test_itt(self):
        self.both("itt")

    def test_counters_and_pauses(self):
        self.check("counters", program="ops_providers", number="9")
        done = self.profile_run([target("ops_providers"), "counters", "9"], "--ops")
        profile = sqlite3.connect(done.profile)
        columns = "changes, untold, last, min, max, sum"
        self.assertEqual(profile.execute(f"SELECT {columns} FROM counter").fetchall(),
                         [(1800, 0, 0, 0, 100, 9 * 5050)])
        self.assertRegex(done.report, r"0 +0 +100 +25.25 +45,450 +1,800 +itt +truth: queue\n")
        paused = re.search(r"paused its profilers 9 times, for ([\d.]+) ms, (\d+)\.\d % of the run",
                           " ".join(done.report.split()))
        self.assertTrue(paused, done.report)
        _, rows = self.rows(done.profile)
        self.assertAlmostEqual(float(paused[1]), rows["paused"].total / 1e6, delta=1)
        self.assertGreaterEqual(rows["paused"].total, 90e6)
        self.assertLess(int(paused[2]), 100)

    def test_blas_and_lapack(self):
        self.both("blas")

    def test_fftw(self):
        self.both("fftw")

    def test_a_call_that_is_left_by_a_jump(self):
        self.check("left", program="ops_providers", number="4", late=True)

    def test_a_library_with_threads_of_its_own(self):
        if not os.path.exists(target("ops_openblas")):
            self.skipTest("OpenBLAS is not installed")
        self.check("40", program="ops_openblas")
        self.check("40", program="ops_openblas", prefix=["env", "OPENBLAS_NUM_THREADS=1"])


class Edges(Ops):
    def test_a_thousand_within_each_other(self):
        self.check("recursion")

    def test_ended_in_another_thread(self):
        self.check("elsewhere")

    def test_left_open_at_the_end(self):
        self.check("left_open")

    def test_begun_in_a_signal_handler(self):
        self.check("handler")

    def test_on_stacks_of_coroutines(self):
        self.check("coroutines")


class Survival(Ops):
    def ending(self, how, status):
        done = self.profile_run([target("ops"), f"end-{how}", "5000"])
        self.assertEqual(done.status, status, done.err)
        _, rows = self.rows(done.profile)
        self.assertEqual(rows["tiny"].calls, 5000)
        self.assertEqual(rows["cut off"].calls, 1)

    def test_what_was_done_before_a_kill_is_there(self):
        self.ending("kill", -9)

    def test_exit_without_handlers(self):
        self.ending("_exit", 7)

    def test_exit(self):
        self.ending("exit", 8)

    def test_abort(self):
        self.ending("abort", -6)

    def test_stack_overflow(self):
        self.ending("overflow", -11)

    def test_two_thousand_short_processes(self):
        done = self.profile_run([target("ops"), "forks"])
        self.assertEqual(done.status, 0, done.err)
        _, rows = self.rows(done.profile)
        self.assertEqual(rows["child"].calls, 2000)

    def test_64_threads_at_once(self):
        each = os.environ.get("OPS_EACH", "20000")
        done = self.profile_run([target("ops"), "many", each])
        self.assertEqual(done.status, 0, done.err)
        _, rows = self.rows(done.profile)
        self.assertEqual(rows["tiny"].calls, 64 * int(each), done.report)

    def test_status_and_output_are_the_programs_own(self):
        for part, number in (("end-exit", "10"), ("many", "10")):
            bare = self.bare([target("ops"), part, number])
            done = self.profile_run([target("ops"), part, number])
            self.assertEqual((done.status, done.out, done.err),
                             (bare.returncode, bare.stdout, bare.stderr))


class Memory(Case):
    MB = 1 << 20

    def rows(self, program, prefix=()):
        done = self.profile_run([target(program)], prefix=prefix)
        self.assertEqual(done.status, 0, done.err)
        shown = subprocess.run([OP_ROWS, "-m", done.profile], capture_output=True, text=True,
                               check=True).stdout
        return done, {name: [int(n) for n in numbers]
                      for name, *numbers in (line.split("\t") for line in shown.splitlines())}

    def check(self, program):
        done, rows = self.rows(program)
        calls, allocated, peak, end = rows.pop("all")
        self.assertEqual(calls, 121)
        # Of each piece the allocator makes a page more.
        self.assertAlmostEqual(allocated / self.MB, 480, delta=0.01 * 480)
        self.assertAlmostEqual(peak / self.MB, 64, delta=0.01 * 64)
        self.assertAlmostEqual(end / self.MB, 20, delta=0.01 * 20)
        for name, wanted in (("hold", 60), ("churn", 400), ("leak", 20)):
            self.assertAlmostEqual(rows[name][0] / self.MB, wanted, delta=0.05 * wanted, msg=name)
        # Where it is live is told of who allocated it.
        self.assertAlmostEqual(rows["piece"][1] / self.MB, 64, delta=0.05 * 64)
        self.assertAlmostEqual(rows["piece"][2] / self.MB, 20, delta=0.05 * 20)
        return done

    def test_who_allocated_how_much(self):
        report = self.check("memory").report
        self.assertRegex(report, r"480 MB in 121 allocations; live at most 6[04] MB")

    def test_what_is_mapped_by_the_program_itself(self):
        _, rows = self.rows("maps")
        calls, allocated, peak, end = rows.pop("all")
        self.assertEqual((calls, allocated), (66, 328 * self.MB))
        # What was allocated before anybody counted may be freed by now.
        self.assertAlmostEqual(peak, 92 * self.MB, delta=4096)
        self.assertAlmostEqual(end, 80 * self.MB, delta=4096)
        for name, wanted in (("hold", 80), ("churn", 200), ("trim", 24), ("grow", 16),
                             ("replace", 8)):
            self.assertAlmostEqual(rows[name][0] / self.MB, wanted, delta=0.05 * wanted, msg=name)
        self.assertNotIn("reserve", rows)
        # Where it is live is told of who has mapped it.
        self.assertAlmostEqual(rows["block"][1] / self.MB, 80, delta=0.05 * 80)
        self.assertAlmostEqual(rows["block"][2] / self.MB, 80, delta=0.05 * 80)

    def check_news(self, *prefix):
        _, rows = self.rows("news", prefix)
        calls, allocated, _, end = rows.pop("all")
        self.assertGreaterEqual(calls, 31)
        # Beside it there is what the runtime keeps.
        self.assertAlmostEqual(allocated / self.MB, 248, delta=1.5)
        self.assertAlmostEqual(end / self.MB, 8, delta=1)
        for name, wanted in (("plain", 80), ("arrays", 80), ("over_aligned", 80), ("leak", 8)):
            self.assertAlmostEqual(rows[name + "()"][0] / self.MB, wanted, delta=0.05 * wanted,
                                   msg=name)

    def test_new(self):
        self.check_news()

    def test_new_of_another_allocator(self):
        for name in ("JEMALLOC", "TCMALLOC"):
            with self.subTest(name):
                if name not in os.environ:
                    self.skipTest(f"no {name.lower()} is installed")
                self.check_news("env", "LD_PRELOAD=" + os.environ[name])

    def test_at_a_fixed_place(self):
        self.check("memory_no_pie")

    def test_switched_off(self):
        done = self.profile_run([target("memory")], "--no-malloc")
        self.assertNotIn("\nmemory", done.report)

    def test_memory_over_time(self):
        """60 MB for half of the run, then 20 MB: what is allocated is exact, RSS is read."""
        done = self.profile_run([target("memory")])
        self.assertEqual(done.status, 0, done.err)

        def table(name):
            data = self.verb("report", "--export=csv", f"--table={name}", done.profile).stdout
            return list(csv.DictReader(io.StringIO(data.decode())))
        bins = table("memory_curves")
        curve = [row for row in bins if row["kind"] == "allocated"]
        peak = int(table("memory_totals")[0]["peak_bytes"])
        self.assertEqual(int(curve[0]["peak_bytes"]), peak)
        self.assertGreaterEqual(peak, 64 * self.MB)  # and one piece more at a time
        most = [int(row["most_bytes"]) for row in curve]
        self.assertAlmostEqual(max(most), peak, delta=1024)
        self.assertAlmostEqual(most[-1], 20 * self.MB, delta=2 * self.MB)
        # Of each piece a page is touched.
        rss = [int(row["most_bytes"]) for row in bins if row["kind"] == "rss"]
        self.assertTrue(rss)
        self.assertLess(max(rss), 40 * self.MB)
        text = self.verb("report", "--sort=mem", "--width=100", done.profile).stdout.decode()
        line = next(line for line in text.splitlines() if line.startswith("  allocated   "))
        self.assertRegex(line, "[\u2585-\u2588]{10}.* peak 6[4-6] MB at ")
        self.assertRegex(text, r"alive at the peak of what was allocated, about: memory\.c:\d+ ")
        text = self.verb("report", "--sort=mem", "--width=100", done.profile,
                         env={**self.environment(), "LC_ALL": "C"}).stdout.decode()
        line = next(line for line in text.splitlines() if line.startswith("  allocated   "))
        self.assertRegex(line, r"[=+*#]{10}.* peak 6[4-6] MB at ")

    def blocks(self, count, *options):
        """What the program says of its blocks, and what the report does."""
        done = self.profile_run([target("blocks"), str(count)], "--sort=mem", *options)
        self.assertEqual(done.status, 0, done.err)
        totals = json.loads(self.verb("report", "--export=json=-", done.profile).stdout)
        return done.report, [int(word) for word in done.out.split()], totals["tables"]["memory_totals"][0]

    LIBC = 100  # allocations of libc's own

    def test_counted_in_part(self):
        report, (allocations, allocated, live), totals = self.blocks(40000000)
        self.assertGreater(totals["allocations_margin"], 0)
        errors = 5 / 1.96  # standard errors: no more but once in a million runs
        self.assertLess(abs(totals["allocations"] - allocations),
                        errors * totals["allocations_margin"] + self.LIBC)
        self.assertLess(abs(totals["allocated_bytes"] - allocated),
                        errors * totals["allocated_margin_bytes"] + self.MB)
        self.assertLess(totals["allocations_margin"], 0.1 * allocations)
        # What was there before stays as exact as it was, but for a few samples.
        self.assertLess(abs(totals["end_bytes"] - live), 4 * self.MB)
        self.assertIn("allocations counted in part: ", " ".join(report.split()))
        self.assertRegex(report, r"about [\d.]+ GB \(± [\d.]+ %\) in\s+about [\d,]+ \(± [\d.]+ %\)")

    def test_counted_one_by_one(self):
        for count, options in ((40000000, ("--exact", "ops,malloc")), (40000000, ("--budget", "none")),
                               (100000, ())):
            with self.subTest(count=count, options=options):
                report, (allocations, _, _), totals = self.blocks(count, *options)
                self.assertLessEqual(abs(totals["allocations"] - allocations), self.LIBC)
                self.assertEqual(totals["allocations_margin"], 0)
                self.assertNotIn("counted in part", " ".join(report.split()))

    def test_what_may_be_exact(self):
        done = self.verb("--exact=malloc,all", target("blocks"))
        self.assertEqual(done.returncode, 125)
        self.assertIn(b'"malloc,all" is none of none, ops, malloc, samples', done.stderr)


class Options(Ops):
    def names(self, *options):
        done = self.profile_run([target("ops"), "single", "1"], *options)
        self.assertEqual(done.status, 0, done.err)
        return set(self.rows(done.profile)[1]), done

    def test_a_provider_can_be_left_out(self):
        self.assertIn("step", self.names("--no-itt", "--no-blas", "--no-malloc")[0])
        self.assertEqual(self.names("--no-nvtx")[0], set())
        self.assertEqual(self.names("--no-ops")[0], set())

    def test_without_the_agent_the_environment_is_untouched(self):
        plain = self.bare(["env"]).stdout
        self.assertEqual(self.profile_run(["env"], "--no-agent").out, plain)
        self.assertIn(b"LD_PRELOAD=", self.profile_run(["env"]).out)
        self.assertIn(b"LD_PRELOAD=", self.profile_run(["env"], "--no-ops").out)

    def test_what_hooks_cost_is_told_by_provider(self):
        done = self.profile_run([target("ops"), "many", "100000"])
        self.assertEqual(done.status, 0, done.err)
        run = dict(sqlite3.connect(done.profile).execute("SELECT key, value FROM run"))
        hooks = {key: value for key, value in run.items() if key.startswith("hooks_")}
        self.assertGreater(hooks["hooks_nvtx_ns"], 0.9 * hooks["hooks_ops_ns"], hooks)
        self.assertGreater(hooks["hooks_ops_ns"], 0, hooks)
        for other in ("itt", "blas", "fftw", "torch", "function"):
            self.assertEqual(hooks[f"hooks_{other}_ns"], 0, hooks)
        self.assertRegex(" ".join(done.report.split()), r"in hooks of ops: nvtx .* for 6,400,00\d calls")

    def test_the_report_shows_them(self):
        report = self.names()[1].report
        table = report[report.index("ops by self time"):]
        for name in ("step", "layer", "leaf", "update"):
            self.assertRegex(table, rf"nvtx +{name} +ops\.c:\d+")

    def test_every_table_of_ops(self):
        profile = self.names()[1].profile
        for options in (["--ops"], ["--by", "op"], ["--by", "shape"], ["--by", "stack:2"],
                        ["--by", "stack"], ["--ops", "--by", "thread"], ["--sort", "calls"],
                        ["--sort", "avg"], ["--sort", "flops"], ["--ops", "--sort", "mem"],
                        ["--ops", "--sort", "total"], ["--by", "domain"]):
            shown = self.verb("report", *options, profile)
            self.assertEqual(shown.returncode, 0, (options, shown.stderr))
            wanted = b"nvtx" if "domain" in options else b"update"
            self.assertIn(wanted, shown.stdout, options)
            self.assertNotIn(b"hotspots", shown.stdout, options)

    def test_the_tree_holds_them(self):
        profile = self.names()[1].profile
        tree = self.verb("report", "--call-tree", "--min-pct", "0", profile).stdout.decode()
        column = -1
        for name in ("«step»", "«layer»", "«leaf»", "work"):
            line = next((l for l in tree.splitlines() if name in l), None)
            self.assertIsNotNone(line, f"{name} is not in the tree:\n{tree}")
            column, before = line.index(name), column
            if name != "work":
                self.assertGreater(column, before, tree)

    def test_options_that_contradict_each_other_get_one_line(self):
        profile = self.names()[1].profile
        for wrong in (["--ops", "--by", "file"], ["--ops", "--sort", "line"],
                      ["--ops", "--on-cpu"], ["--by", "stack:0"], ["--by", "op:3"],
                      ["--sort", "mem", "--by", "thread"], ["--sort", "mem", "--from", "0.01"]):
            self.assert_clean_message(self.verb("report", *wrong, profile))

    def test_threads_for_which_the_agent_has_no_room_are_told(self):
        """A process may not make files as large as those for more than the first 16 threads."""
        program = ("import resource, threading\n"
                   "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
                   "meet = threading.Barrier(40)\n"
                   "threads = [threading.Thread(target=meet.wait) for _ in range(40)]\n"
                   "for t in threads: t.start()\n"
                   "for t in threads: t.join()\n")
        report = " ".join(self.profile_run(["python3", "-c", program]).report.split())
        told = re.search(r"(\d+) threads had no ring buffer for their ops and samples", report)
        self.assertIsNotNone(told, report)
        self.assertLessEqual(24, int(told[1]), report)
        self.assertLessEqual(int(told[1]), 40, report)
        program = program.replace("40", "8")
        self.assertNotIn("no ring buffer", self.profile_run(["python3", "-c", program]).report)

    def test_a_program_that_the_agent_cannot_enter_is_named(self):
        static = target("shares_static")
        if not os.path.exists(static):
            self.skipTest("shares_static is not built")
        report = self.profile_run([static]).report
        words = "no ops or allocations are seen in"
        self.assertIn(words, report)
        self.assertNotIn(words, self.profile_run([static], "--no-ops").report)


if __name__ == "__main__":
    main()
