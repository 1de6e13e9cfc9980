# SPDX-License-Identifier: MIT
"""`bottleneck diff`: pairs of runs with known differences, and pairs without one.

With --pairs: 20 pairs of each, and the table of what was said of them. That wants a quiet machine;
with --pairs=3 each side is run three times, in turns, which a busy one bears.
"""
import functools
import json
import os
import re
import sys

from harness import BOTTLENECK, Case, main, need

TARGET = os.environ.get("DIFF_TARGET", "build/tests/diff_target")

PYTHON = """
import sys
def slow(n):
    total = 0
    for i in range(n):
        total += i * i
    return total
def steady(n):
    total = 0
    for i in range(n):
        total ^= i
    return total
for _ in range(10):
    slow(int(sys.argv[1]))
    steady(100000)
"""


def rows(answer, by):
    return next(table["rows"] for table in answer["tables"] if table["by"] == by)


def changed(answer, *tables):
    """Names of rows that are said to have changed, with what is said of them, largest first."""
    return [(row["name"], row["verdict"]) for by in tables for row in rows(answer, by)
            if row["verdict"] not in ("same", "unsure")]


def drawn(test):
    """Two runs on a machine that others use are draws: a comparison is wrong if three are."""
    @functools.wraps(test)
    def draw(self):
        for _ in range(2):
            try:
                return test(self)
            except AssertionError as error:
                print(f"drawn again: {error}", file=sys.stderr, flush=True)
        return test(self)
    return draw


# Labels around others, which sleep: the machine's load does not matter much.
LABELS = """
import sys, time
import bottleneck_profiler as bn
kept = []
for _ in range(12):
    with bn.range("outer"):
        for i in range(int(sys.argv[2])):
            with bn.range(f"inner {i % 6}"):
                time.sleep(float(sys.argv[1]))
        kept.append(bytearray(int(sys.argv[3])))
"""


class Pair(Case):
    def record(self, name, *command, options=(), env=None):
        path = self.path(name)
        done = self.bare([BOTTLENECK, "--no-report", "-o", path, *options, "--", *command],
                         env=self.environment(**env) if env else self.environment())
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return path

    def amount(self, name, *works, rounds=10):
        return self.record(name, TARGET, str(rounds), *works)

    def diff(self, *arguments, status=0):
        done = self.verb("diff", *arguments)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stdout.decode() + done.stderr.decode())
        return done.stdout.decode()

    def answer(self, *arguments):
        return json.loads(self.diff("--json", *arguments))


class Changes(Pair):
    """Changes that are large enough for a machine that is busy with something else."""

    @drawn
    def test_a_function_that_is_slower_is_named_first(self):
        base = self.amount("base", "parse=400", "hash=400", "scan=200")
        new = self.amount("new", "parse=800", "hash=400", "scan=200")
        found = self.answer(base, new)
        self.assertEqual(rows(found, "function")[0]["name"], "parse")
        self.assertAlmostEqual(rows(found, "function")[0]["ratio"], 1, delta=0.3)
        self.assertEqual(changed(found, "function")[0], ("parse", "slower"))
        self.assertRegex(found["sentence"], r"parse in diff_target\.c:\d+ takes \d.* more")
        text = self.diff("--regress", "20", base, new, status=91)
        self.assertIn("gate: slower beyond 20 %", text)
        # The other way round it is faster, which is no regression of parse.
        back = self.answer(new, base)
        self.assertEqual(changed(back, "function")[0], ("parse", "faster"))
        self.assertRegex(back["sentence"], "less")

    @drawn
    def test_a_function_is_new_and_one_is_gone(self):
        base = self.amount("base", "parse=300", "hash=300")
        new = self.amount("new", "fresh=300", "hash=300")
        found = dict(changed(self.answer(base, new), "function"))
        self.assertEqual(found.get("fresh"), "new")
        self.assertEqual(found.get("parse"), "gone")

    def labels(self, name, *arguments):
        package = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python")
        return self.record(name, sys.executable, "-c", LABELS, *arguments,
                           env={"PYTHONPATH": package, "PYTHONDONTWRITEBYTECODE": "1"})

    @drawn
    def test_a_label_whose_callees_are_slower_stands_with_its_total_time(self):
        runs = {side: [] for side in ("base", "new")}
        for i in range(3):  # in turns: what repeats show is sure on a busy machine, too
            for side, seconds in (("base", "0.004"), ("new", "0.02")):
                runs[side].append(self.labels(f"{side}{i}", seconds, "6", "1000"))
        sides = (*runs["base"], "--", *runs["new"])
        found = self.answer(*sides)
        table = next(table for table in found["tables"] if table["by"] == "op")
        self.assertTrue(table["total"])
        self.assertEqual((table["rows"][0]["name"], table["rows"][0]["verdict"]), ("outer", "slower"))
        self.assertGreater(table["rows"][0]["change_ns"], 0.8e9)
        self.assertIn("ops  by total time", self.diff(*sides))

    @drawn
    def test_calls_and_bytes_are_compared(self):
        base = self.labels("base", "0.008", "6", "1000")
        found = self.answer(base, self.labels("new", "0.004", "12", "9000000"))
        amounts = {amount["name"]: amount for amount in found["amounts"]}
        self.assertEqual((amounts["calls of inner 3"]["base"], amounts["calls of inner 3"]["new"]), (12, 24))
        self.assertEqual(amounts["calls of inner 3"]["unit"], "count")
        self.assertNotIn("calls of outer", amounts)
        self.assertGreaterEqual(amounts["bytes of outer"]["new"], 12 * 9000000)
        self.assertGreaterEqual(amounts["allocated bytes"]["new"] - amounts["allocated bytes"]["base"], 1e8)
        self.assertIn("counted, not sampled", self.diff(base, self.path("new")))
        self.assertEqual(self.answer(base, base)["amounts"], [])

    def test_one_run_and_itself_have_no_change(self):
        base = self.amount("base", "parse=200", "hash=200")
        found = self.answer(base, base)
        self.assertEqual(changed(found, "run", "function", "line"), [])
        self.assertEqual(found["sentence"], "No significant change.")
        self.assertEqual(found["differences"], [])
        for row in rows(found, "function"):
            self.assertEqual(row["change_ns"], 0)

    @drawn
    def test_equal_runs_have_no_change_and_are_no_regression(self):
        runs = [self.amount(f"run{i}", "parse=200", "hash=200") for i in range(2)]
        found = self.answer(*runs)
        self.assertEqual(changed(found, "function", "line"), [])
        done = self.verb("diff", "--regress", "50,5", *runs)
        self.assertIn(done.returncode, (0, 92), done.stdout.decode())
        self.assertNotEqual(done.returncode, 91)

    @drawn
    def test_sleep_in_place_of_work(self):
        base = self.amount("base", "parse=600", "hash=300")
        new = self.amount("new", "doze=60", "hash=300")
        found = self.answer(base, new)
        self.assertIn(("parse", "gone"), changed(found, "function"))
        slept = next(row for row in rows(found, "run") if row["name"] == "sleeping")
        self.assertGreater(slept["new"]["ns"], 0.55e9)
        self.assertEqual(slept["base"]["runs"], 0)

    def more_calls(self):
        base = self.amount("base", "op:parse=20", "op:hash=20")
        new = self.amount("new", "op:parse=40", "op:hash=20")
        return rows(self.answer(base, new), "op")

    def test_calls_of_an_op_are_counted(self):
        row = next(row for row in self.more_calls() if row["name"] == "parse")
        self.assertEqual((row["base"]["calls"], row["new"]["calls"]), (200, 400))

    @drawn
    def test_more_calls_of_an_op_take_longer(self):
        row = self.more_calls()[0]
        self.assertEqual(row["name"], "parse")
        self.assertGreater(row["change_ns"], 0.5 * row["base"]["ns"])

    @drawn
    def test_a_line_of_python(self):
        script = self.path("work.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(PYTHON)
        base = self.record("base", sys.executable, script, "100000")
        new = self.record("new", sys.executable, script, "300000")
        found = self.answer(base, new)
        self.assertEqual(rows(found, "function")[0]["name"], "slow")
        self.assertEqual(changed(found, "function")[0], ("slow", "slower"))
        line = rows(found, "line")[0]
        self.assertEqual(os.path.basename(line["file"]), "work.py")
        self.assertIn(line["new"]["line"], (5, 6))

    @drawn
    def test_repeated_runs(self):
        bases = [self.amount(f"base{i}", "parse=150", "hash=150") for i in range(3)]
        news = [self.amount(f"new{i}", "parse=300", "hash=150") for i in range(3)]
        found = json.loads(self.diff("--json", *bases, "--", *news))
        self.assertEqual([len(found["base"]), len(found["new"])], [3, 3])
        self.assertEqual(rows(found, "function")[0]["name"], "parse")
        self.assertEqual(rows(found, "function")[0]["base"]["runs"], 3)

    def test_what_was_not_measured_alike_is_said_and_is_no_pass(self):
        base = self.amount("base", "parse=100")
        new = self.record("new", TARGET, "10", "parse=100", options=["-F", "199"])
        found = self.answer(base, new)
        self.assertIn("samples a second", [d["what"] for d in found["differences"]])
        cut = self.record("cut", TARGET, "10", "parse=100", options=["--rung", "user"])
        if "samples by" in [d["what"] for d in self.answer(base, cut)["differences"]]:
            self.assertIn("samples by", self.diff("--regress", "1000,100", base, cut, status=92))


class Counts(Pair):
    """Counts of instructions have no noise."""

    def test_the_difference_is_told_to_the_last_instruction(self):
        need("valgrind")
        files = []
        for units in (3, 4, 4):
            files.append(self.path(f"count{len(files)}"))
            done = self.verb("count", "-o", files[-1], "--", TARGET, "1", f"parse={units}",
                             "hash=1")
            self.assertEqual(done.returncode, 0, done.stderr.decode())
        more = " ".join(self.diff("--regress", "1", files[0], files[1], status=91).split())
        self.assertRegex(more, r"NEW executes [\d,]+ more instructions .*parse in")
        # 20,000 turns of the loop, each of the same instructions.
        number = int(re.search(r"executes ([\d,]+) more inst", more)[1].replace(",", ""))
        self.assertEqual(number % 20000, 0)
        self.assertGreaterEqual(number, 6 * 20000)
        self.assertIn("No change", self.diff("--regress", "0", files[1], files[2]))
        self.check_answer(files, number)
        times = self.amount("times", "parse=20", rounds=1)
        self.assert_clean_message(self.verb("diff", files[0], times), "instruction counts can only")
        self.assert_clean_message(self.verb("diff", "--by", "op", *files[:2]), "--by op")


    def check_answer(self, files, number):
        """The same for programs; NUMBER more instructions."""
        found = json.loads(self.diff("--json", "--regress", "1", files[0], files[1], status=91))
        self.assertEqual((found["schema"], found["schema_version"]), ("bottleneck-count-diff", 1))
        self.assertEqual(found["gate"]["status"], 91)
        self.assertEqual(sum(row["change"]["self"] for row in found["rows"]), found["change"])
        self.assertEqual(found["change"] + found["noise_change"],
                         found["new"]["instructions"] - found["base"]["instructions"])
        first = found["rows"][0]
        self.assertEqual((first["name"], first["change"]["self"]), ("parse", number))
        self.assertAlmostEqual(first["ratio"], 1 / 3, delta=0.01)
        for row in found["rows"]:
            for key in ("self", "total", "calls"):
                self.assertEqual(row["base"][key] + row["change"][key], row["new"][key], row)
        self.assertIsNone(json.loads(self.diff("--json", files[1], files[2]))["gate"])


class Words(Pair):
    """Options and errors."""

    def setUp(self):
        super().setUp()
        self.base = self.amount("base", "parse=60", "hash=60", rounds=2)
        self.new = self.amount("new", "parse=60", "hash=60", "scan=60", rounds=2)

    def test_tables_are_those_that_were_asked_for(self):
        for by in ("run", "function", "line", "module", "file", "thread", "process", "op",
                   "shape", "kernel"):
            found = self.answer("--by", by, self.base, self.new)
            self.assertIn(by, [table["by"] for table in found["tables"]])
            self.diff("--by", by, self.base, self.new)
        self.assertIn("main", self.diff("--by", "function", "--total", self.base, self.new))
        for sort in ("change", "ratio", "base", "new"):
            first = rows(self.answer("--sort", sort, "--by", "function", self.base, self.new),
                         "function")
            self.assertTrue(first, sort)
        self.assertNotIn("functions", self.diff("-q", self.base, self.new))

    def test_the_last_run_is_new_where_nothing_else_is(self):
        self.assertEqual(self.bare([BOTTLENECK, "--no-report", "--", TARGET, "2",
                                    "fresh=60"]).returncode, 0)
        self.assertIn("the last run", self.diff(self.base))

    def test_no_line_is_wider_than_asked_for(self):
        for width in (60, 80, 100):
            for line in self.diff("--width", str(width), "--regress", "5", self.base, self.new,
                                  status=None).splitlines():
                self.assertLessEqual(len(line), width, line)

    def test_windows_are_of_both(self):
        found = self.answer("--from", "0.005", "--to", "0.05", self.base, self.new)
        for side in ("base", "new"):
            self.assertEqual(found[side][0]["from_ns"], 5000000)
            self.assertEqual(found[side][0]["to_ns"], 50000000)

    def test_errors_have_one_line(self):
        damaged = self.path("damaged")
        with open(damaged, "wb") as file:
            file.write(b"no profile" * 50)
        for arguments, word in ((("/no/such.bneck", self.new), "/no/such.bneck"),
                                ((self.base, damaged), "damaged"),
                                ((self.base, self.new, self.new), "too many"),
                                ((self.base, "--"), "which profiles"),
                                (("--regress", "x", self.base, self.new), "--regress"),
                                (("--regress", "5,", self.base, self.new), "--regress"),
                                (("--confidence", "20", self.base, self.new), "--confidence"),
                                (("--from", "1000", self.base, self.new), "--from"),
                                (("--thread", "nobody", self.base, self.new), "nobody")):
            done = self.verb("diff", *arguments)
            self.assertEqual(done.returncode, 1, arguments)
            self.assert_clean_message(done, word)

    def test_confidence_widens_the_intervals(self):
        margins = [rows(self.answer("--confidence", c, self.base, self.new), "function")[-1]
                   ["margin_ns"] for c in ("80", "95", "99.9")]
        self.assertEqual(margins, sorted(margins))


# What NEW does beside BASE, and the function that has to be named first with the word for it.
PAIRS = [
    *[([f"parse={2000 + 200 * n}", "hash=2000", "scan=1000"], "parse", "slower")
      for n in (1, 1, 1, 1, 1, 2, 2, 2, 3)],
    *[(["parse=2000", f"hash={2000 + 200 * n}", "scan=1000"], "hash", "slower") for n in (1, 2)],
    *[(["parse=2000", "hash=2000", f"scan={1000 + 100 * n}"], "scan", "slower") for n in (1, 2)],
    *[([f"parse={2000 - 200 * n}", "hash=2000", "scan=1000"], "parse", "faster")
      for n in (1, 1, 2)],
    (["parse=2000", "hash=2000", "scan=1000", "fresh=300"], "fresh", "new"),
    (["parse=2000", "hash=2000"], "scan", "gone"),
    (["parse=2000", "hash=2000", "scan=1000", "doze=40"], "clock_nanosleep", "new"),
    (["parse=2000", "hash=2000", "doze=10"], "scan", "gone"),
]
BASE = ["parse=2000", "hash=2000", "scan=1000"]


class Pairs(Pair):
    """The confusion table."""
    repeats = 1

    def compare(self, works):
        """BASE against WORKS, each so many times, in turns."""
        sides = ([], [])
        for i in range(self.repeats):
            for side, what in zip(sides, (BASE, works)):
                side.append(self.amount(f"run{len(sides[0])}{len(sides[1])}{i}", *what,
                                        rounds=10 if self.repeats == 1 else 4))
        return json.loads(self.diff("--json", *sides[0], "--", *sides[1]))

    def test_twenty_changes_and_twenty_equal_pairs(self):
        hit = named = alarms = 0
        for works, name, word in PAIRS:
            found = self.compare(works)
            first = rows(found, "function")[0]
            named += first["name"] == name
            right = (name, word) in changed(found, "function")
            hit += right
            print(f"{'ok  ' if right else 'MISS'} {' '.join(works):48} {first['name']} "
                  f"{first['verdict']} {found['sentence']}", flush=True)
        for _ in PAIRS:
            found = self.compare(BASE)
            false = changed(found, "run", "function", "line")
            alarms += bool(false)
            print(f"{'ALARM' if false else 'ok  '} equal {false}", flush=True)
        count = len(PAIRS)
        print(f"\n{'':14}said to differ   not\n{'they differ':14}{hit:14}{count - hit:6}\n"
              f"{'they are equal':14}{alarms:14}{count - alarms:6}\n"
              f"named first: {named} of {count}")
        self.assertEqual(count, 20)
        self.assertLessEqual(alarms, 1)
        self.assertGreaterEqual(hit, 19)
        self.assertGreaterEqual(named, 19)


if __name__ == "__main__":
    pairs = [argument for argument in sys.argv if argument.startswith("--pairs")]
    if pairs:
        sys.argv.remove(pairs[0])
        sys.argv.append("Pairs")
        Pairs.repeats = int(pairs[0].partition("=")[2] or 1)
    else:
        del Pairs
    main()
