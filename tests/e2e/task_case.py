# SPDX-License-Identifier: MIT
"""What tests of event loops share: a program runs under bottleneck, and its table of tasks is what it has measured."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "python"))
import interpreters  # noqa: E402
from harness import Case  # noqa: E402

WITHIN = 0.02  # of the truth
SLACK_NS = 5_000_000


def with_modules(*modules, where="True"):
    """Interpreters that have all of MODULES, and WHERE is true, by version."""
    for version, python in interpreters.find().items():
        if not version.endswith("t") and not subprocess.run(
                [python, "-c", f"import {', '.join(modules)}; assert {where}"], capture_output=True, check=False).returncode:
            yield version, python


def line_of(program, mark):
    return 1 + next(i for i, line in enumerate(program.splitlines()) if line.endswith(f"# line: {mark}"))


class TaskCase(Case):
    def run_text(self, python, text, *words, status=0):
        script = self.path("app.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(text)
        done = self.profile_run([python, "-B", script, *words])
        self.assertEqual(done.status, status, done.err)
        return done

    def check_as_bare(self, python, text, *words, status=0):
        """What it prints, and how it ends, is what it does without bottleneck."""
        done = self.run_text(python, text, *words, status=status)
        bare = self.bare([python, "-B", self.path("app.py"), *words])
        addresses = re.compile(rb"0x[\da-f]+|\d{4}-\d\d-\d\dT[\d:]+Z")
        self.assertEqual((done.out, bare.returncode), (bare.stdout, status))
        self.assertEqual(addresses.sub(b"", done.err), addresses.sub(b"", bare.stderr))
        return done

    def rows(self, profile):
        table = self.verb("report", "--export", "json=-", "--table", "asyncio_tasks", profile)
        self.assertEqual(table.returncode, 0, table.stderr)
        return json.loads(table.stdout)["tables"]["asyncio_tasks"]

    def findings(self, profile):
        document = self.verb("report", "--json", profile)
        return {row["id"]: row for row in json.loads(document.stdout)["findings"]}

    def near(self, ns, seconds, what):
        self.assertAlmostEqual(ns, seconds * 1e9, delta=seconds * 1e9 * WITHIN + SLACK_NS,
                               msg=f"{what}: {ns} ns")

    def check_tasks(self, profile, truth, program, library, version):
        """The tasks of a program whose functions are sleeper(), leaf(), blocker() and getter()."""
        rows = self.rows(profile)
        tasks = {row["function"]: row for row in rows if row["kind"] == "task"}
        for name in ("sleeper", "blocker", "getter"):
            row = tasks[name]
            self.near(row["total_ns"], truth[name], f"{version}: {name}")
            self.assertEqual(row["running_ns"] + row["ready_ns"] + row["waiting_ns"], row["total_ns"])
            self.assertEqual(row["library"], library)
        self.assertEqual(tasks["sleeper"]["count"], 5)
        self.near(tasks["sleeper"]["waiting_ns"], truth["asked"], f"{version}: waits")
        self.near(tasks["sleeper"]["waiting_ns"] + tasks["sleeper"]["ready_ns"], truth["slept"],
                  f"{version}: awaits")
        self.near(tasks["getter"]["waiting_ns"], truth["got"], f"{version}: queue")
        waits = {(row["function"], row["other_function"]): row for row in rows if row["kind"] == "wait"}
        leaf = waits["sleeper", "leaf"]
        self.assertEqual((leaf["count"], leaf["other_line"]), (50, line_of(program, "leaf")))
        self.assertIn(f"sleeper (app.py:{line_of(program, 'sleeper')}) > leaf "
                      f"(app.py:{line_of(program, 'leaf')}) > sleep", leaf["chain"])
        self.near(leaf["waiting_ns"], truth["asked"], f"{version}: leaf")
        self.assertEqual(waits["getter", "getter"]["other_line"], line_of(program, "get"))
        return rows, tasks

    def check_blocked(self, done, truth, program, library, version):
        rows, tasks = self.check_tasks(done.profile, truth, program, library, version)
        self.near(tasks["blocker"]["running_ns"], truth["blocked"], f"{version}: steps")
        block = next(row for row in rows if row["kind"] == "block")  # others' are the machine's: short
        delay = next(row for row in rows if row["kind"] == "delay" and row["function"] == "blocker"
                     and row["other_function"] == "sleeper")
        self.assertEqual(block["function"], "blocker")
        self.assertLessEqual(block["total_ns"], truth["blocked"] * 1e9 + SLACK_NS)
        # The rest of what they slept too long is the loop's own lateness. When each was due is
        # known here but for the time that it took to ask for the sleep.
        self.assertAlmostEqual(delay["ready_ns"], truth["held"] * 1e9, delta=truth["held"] * 1e9 * 0.05 + SLACK_NS,
                               msg=f"{version}: delays")
        finding = self.findings(done.profile)["PY-LOOP"]
        self.assertEqual((finding["function"], finding["line"]), ("blocker", line_of(program, "block")))
        self.assertIn(f"{library} tasks", done.report)
        self.assertIn("blocker (app.py:", done.report)

    def check_healthy(self, done, truth, program, library, version):
        self.check_tasks(done.profile, truth, program, library, version)
        self.assertNotIn("PY-LOOP", self.findings(done.profile))
