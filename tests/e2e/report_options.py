# SPDX-License-Identifier: MIT
"""The printed report: its parts, its sums, and every option of `bottleneck report`."""
import os
import re

from harness import Case, main, need, target


def hotspots(text):
    """The names in the first table, in order, with their shares."""
    rows = []
    for line in text.splitlines():
        match = re.match(r"\s+[\d.]+ m?s\s+([\d.]+)", line)
        if match:
            rows.append((float(match[1]), line))
    return rows


class Report(Case):
    profile = None
    first = ""

    def setUp(self):
        super().setUp()
        if Report.profile is None:
            done = self.profile_run([target("inlines")])
            with open(done.profile, "rb") as file:
                Report.profile = file.read()
            Report.first = done.report
        self.file = self.path("p.bneck")
        with open(self.file, "wb") as file:
            file.write(Report.profile)

    def report(self, *options):
        done = self.verb("report", *options, self.file)
        self.assertEqual(done.returncode, 0, f"{options}: {done.stderr.decode()}")
        self.assertEqual(done.stderr, b"")
        return done.stdout.decode()

    def test_the_file_prints_what_the_run_printed(self):
        self.assertEqual(self.report(), Report.first)

    def test_the_header_names_the_command_the_time_and_the_status(self):
        first = Report.first.splitlines()[0]
        self.assertTrue(first.startswith("bottleneck: "))
        self.assertRegex(first, r"inlines.* · [\d.]+ m?s · exit 0 · 1 process")

    def test_the_accounting_of_the_main_thread_sums_to_100(self):
        line = next(l for l in Report.first.splitlines() if "100 %" in l)
        # "wall time of …" may precede; the parts are the numbers before "= 100 %".
        parts = [float(n) for n in re.findall(r"(\d+\.\d)", line.split("=")[0])]
        self.assertAlmostEqual(sum(parts), 100, delta=0.11 * max(1, len(parts)))

    def test_the_source_lines_text_is_shown(self):
        self.assertIn("SPIN(x, 3 * n, at[5])", Report.first)

    def test_limits_name_overhead_samples_and_losses(self):
        limits = Report.first[Report.first.rindex("limits"):]
        self.assertRegex(limits, r"samples")
        self.assertRegex(limits, r"lost")

    def test_sort_and_by(self):
        for by in ("function", "line", "module", "file", "thread", "process"):
            for sort in ("self", "total"):
                text = self.report("--by", by, "--sort", sort)
                self.assertIn("inlines", text, (by, sort))
        self.assertIn("inlines.c:", self.report("--sort", "line"))

    def test_top_and_min_pct_shorten_it(self):
        full, short = self.report(), self.report("--top", "1")
        self.assertLess(len(short.splitlines()), len(full.splitlines()))
        self.assertIn("inner_5", short)
        self.assertNotIn("inner_4", self.report("--by", "function", "--min-pct", "15"))

    def test_width_is_kept(self):
        for width in (60, 80, 100, 160):
            for line in self.report("--width", str(width)).splitlines():
                self.assertLessEqual(len(line), width, line)

    def test_color_is_as_asked(self):
        self.assertIn("\x1b[", self.report("--color=always"))
        self.assertNotIn("\x1b[", self.report("--color=never"))
        self.assertNotIn("\x1b[", self.report("--color=auto"))

    def test_the_call_tree_nests(self):
        text = self.report("--call-tree")
        column = -1
        for name in ("main", "outer", "inner_1", "inner_2", "inner_3", "inner_4", "inner_5"):
            line = next((l for l in text.splitlines() if re.search(rf"\b{name}\b", l)), None)
            self.assertIsNotNone(line, f"{name} is not in the tree:\n{text}")
            self.assertGreater(line.index(name), column, name)
            column = line.index(name)

    def test_hiding_gives_the_time_to_the_caller(self):
        text = self.report("--hide", "inner_5")
        self.assertNotRegex(text, r"inner_5 ")
        self.assertIn("inner_4", text)

    def test_filters_by_thread_and_process(self):
        self.assertIn("inner_5", self.report("--process", "inlines"))
        self.assertIn("inner_5", self.report("--thread", "inlines"))
        for wrong in (["--thread", "nobody"], ["--process", "nobody"]):
            done = self.verb("report", *wrong, self.file)
            self.assertEqual(done.stdout, b"")
            self.assert_clean_message(done, "nobody")

    def test_wrong_options_get_one_line(self):
        for wrong in (["--sort", "x"], ["--by", "x"], ["--top", "-1"], ["--top", "x"],
                      ["--width", "x"], ["--color=x"], ["--min-pct", "x"], ["--nothing"]):
            done = self.verb("report", *wrong, self.file)
            self.assert_clean_message(done)

    def test_a_window_after_the_end_is_refused(self):
        done = self.verb("report", "--from", "1000", self.file)
        self.assertEqual(done.stdout, b"")
        self.assert_clean_message(done, "--from is later than the end")

    def test_two_files_are_one_too_many(self):
        self.assert_clean_message(self.verb("report", self.file, self.file))

    def test_user_code_names_the_callers_of_the_library(self):
        done = self.profile_run([target("files")])
        shown = self.verb("report", "--user-code", "*files*", done.profile)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn(b"load", shown.stdout)

    def test_python_can_be_profiled_as_a_native_program(self):
        done = self.profile_run(["python3", "-c", "sum(i * i for i in range(3000000))"])
        self.assertEqual(done.status, 0)
        self.assertIn("python3", done.report.splitlines()[0])


# Runs until it has computed for a second, however busy the machine is.
NODE = """
function hot(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i) * (i % 7); return s; }
let sum = 0;
while (process.cpuUsage().user < 1e6) sum += hot(1e6);
"""


class Jit(Case):
    def test_a_jitdump_is_found_where_the_compiler_has_put_it(self):
        need("node")
        done = self.profile_run(["node", "--perf-prof", "-e", NODE])
        if not any(name.endswith(".dump") for name in os.listdir(self.work)):
            self.skipTest("this node writes no jitdump")
        self.assertEqual(done.status, 0)
        self.assertRegex(done.report, r"\shot\b")
        self.assertNotRegex(done.report, r"(JS|LazyCompile):")
        for name in os.listdir(self.work):
            if name.startswith(("jit-", "isolate-")):
                os.unlink(os.path.join(self.work, name))


class Check(Case):
    def test_check_lists_what_can_be_measured(self):
        done = self.verb("check")
        self.assertIn(done.returncode, (0, 1))
        for word in (b"perf", b"kernel", b"agent"):
            self.assertIn(word, done.stdout.lower())


if __name__ == "__main__":
    main()
