# SPDX-License-Identifier: MIT
"""PyTorch's ops where recording all of them costs too much: estimates, against counts of the program."""
import contextlib
import json
import os
import shutil
import sqlite3

from harness import Case, main

PROGRAM = os.environ.get("THINNED_OPS", "build/tests/torch_thinned")
STEPS = 20000
ERRORS = 5  # standard errors: no more but once in a million runs
FIRST = 32768


class Thinned(Case):
    def rows(self, *options, steps=STEPS, threads=1, longer=1):
        done = self.profile_run([PROGRAM, str(steps), str(threads), str(longer)], *options)
        self.assertEqual(done.status, 0, done.err)
        truth = {name: (int(calls), int(ns)) for name, calls, ns in
                 (line.split() for line in done.out.decode().splitlines())}
        shown = self.verb("report", done.profile, "--export", "json=-")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        ops = json.loads(shown.stdout)["tables"]["ops"]
        return done, truth, {row["name"]: row for row in ops if row["provider"] == "torch"}

    def assert_counted(self, truth, rows, factor=1):
        for name, (calls, _) in truth.items():
            row = rows[name]
            with self.subTest(op=name, row=row, truth=calls):
                self.assertGreater(row["unrecorded_calls"], 0)
                self.assertLessEqual(abs(row["calls"] - calls), factor * ERRORS * row["calls_error"])

    def test_estimates_are_as_good_as_they_say(self):
        done, truth, rows = self.rows()
        self.assert_counted(truth, rows)
        for name, (_, ns) in truth.items():
            # The program reads its clock outside of the op, and so within a hook.
            row = rows[name]
            with self.subTest(op=name, row=row, truth=ns):
                self.assertLess(row["total_ns"] - ns, ERRORS * row["total_error_ns"] + 0.1 * ns)
        calls = sum(row["calls"] for row in rows.values())
        seen = calls - sum(row["unrecorded_calls"] + row["untimed_calls"] for row in rows.values())
        self.assertGreater(seen + sum(row["untimed_calls"] for row in rows.values()), FIRST)
        self.assertLess(seen, calls / 2)
        # What few of the many calls tell is not far off: within some per cent.
        self.assertLess(rows["aten::copy_"]["calls_error"], 0.1 * truth["aten::copy_"][0])
        # What the program has named itself is never left out.
        self.assertEqual((rows["step"]["calls"], rows["step"]["unrecorded_calls"]), (STEPS, 0))
        self.assertRegex(done.report, r"recorded in part: torch \([\d.]+ % of [\d,]+ calls\)")

    def test_self_time_of_what_holds_them(self):
        # So long that rings do not fill: what is only counted there is in one sum and not in others.
        _, _, rows = self.rows(steps=STEPS // 4, longer=20)
        within = sum(rows[name]["total_ns"] for name in ("aten::linear", "aten::copy_", "aten::rare",
                                                         "AddmmBackward0"))
        step = rows["step"]
        self.assertLess(abs(step["total_ns"] - within - step["self_ns"]), 0.1 * step["total_ns"])
        linear, addmm = rows["aten::linear"], rows["aten::addmm"]
        self.assertLess(linear["self_ns"], 0.8 * linear["total_ns"])
        self.assertLess(abs(addmm["self_ns"] - addmm["total_ns"]), 0.01 * addmm["total_ns"])

    def test_threads(self):
        _, truth, rows = self.rows(steps=STEPS // 2, threads=4)
        # A window closes for all threads where it closes for one: what they have just begun is cut.
        self.assert_counted(truth, rows, factor=2)

    def test_all_where_that_is_asked_for(self):
        for options in (("--exact", "ops"), ("--budget", "none")):
            with self.subTest(options=options):
                _, truth, rows = self.rows(*options, steps=3000)
                self.assertEqual({name: rows[name]["calls"] for name in truth},
                                 {name: calls for name, (calls, _) in truth.items()})
                self.assertEqual({row["unrecorded_calls"] for row in rows.values()}, {0})

    def test_few_ops_are_all_recorded(self):
        _, truth, rows = self.rows(steps=250)
        self.assertEqual({name: rows[name]["calls"] for name in truth},
                         {name: calls for name, (calls, _) in truth.items()})

    def test_the_file_keeps_what_is_not_known(self):
        done, _, _ = self.rows()
        with contextlib.closing(sqlite3.connect(done.profile)) as db:
            facts = dict(db.execute("SELECT key, value FROM run WHERE key LIKE 'ops_%'"))
        self.assertGreater(int(facts["ops_whole_ns"]), 0)
        first = shutil.move(done.profile, self.path("first.bneck"))
        other, _, _ = self.rows(steps=250)
        again = self.verb("merge", "-o", self.path("merged.bneck"), first, other.profile)
        self.assertEqual(again.returncode, 0, again.stderr)
        merged = json.loads(self.verb("report", self.path("merged.bneck"), "--export", "json=-").stdout)
        self.assertGreater(sum(row["unrecorded_calls"] for row in merged["tables"]["ops"]), 0)


if __name__ == "__main__":
    main()
