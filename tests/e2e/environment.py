# SPDX-License-Identifier: MIT
"""What a run ran on and with: as the program itself says it, in each format."""
import csv
import json
import os
import platform
import subprocess
import unittest

from harness import Case, main, target

# What it ends with is known only at its end: NumPy comes as late as it can.
SCRIPT = """
import json, os, platform, sys
facts = {"version": platform.python_version(), "executable": sys.executable,
         "affinity": sorted(os.sched_getaffinity(0))}
try:
    import numpy
    facts["numpy"] = numpy.__version__
except ImportError:
    pass
print(json.dumps(facts))
"""


class Environment(Case):
    def environment_of(self, profile):
        done = self.verb("report", "--json", profile)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)["environment"]
        self.assertTrue(all(set(row) == {"kind", "name", "value", "path"} for row in rows))
        return {(row["kind"], row["name"]): row for row in rows}

    def test_python_is_the_one_that_ran_and_its_packages_are_those_it_imported(self):
        done = self.profile_run(["/usr/bin/python3", "-c", SCRIPT],
                                env=self.environment(OMP_NUM_THREADS="3", TF_VAR_secret="hidden"))
        facts = json.loads(done.out)
        rows = self.environment_of(done.profile)
        self.assertEqual(rows["python", "Python"]["value"], facts["version"])
        self.assertEqual(rows["python", "executable"]["value"], facts["executable"])
        self.assertEqual(rows["python", "executable"]["path"], os.path.realpath(facts["executable"]))
        if "numpy" in facts:
            self.assertEqual(rows["python", "numpy"]["value"], facts["numpy"])
        self.assertEqual(rows["variable", "OMP_NUM_THREADS"]["value"], "3")
        self.assertNotIn(("variable", "TF_VAR_secret"), rows)
        first = str(facts["affinity"][0])
        self.assertEqual(rows["cpu", "affinity"]["value"][:len(first)], first)

    def test_an_interpreter_of_a_virtual_environment_is_named_as_it_was_started(self):
        folder = self.path("venv")
        try:
            subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", folder], check=True,
                           capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("this Python makes no virtual environments")
        script = self.path("script")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"#!{folder}/bin/python3\nprint(1)\n")
        os.chmod(script, 0o755)
        for command in ([f"{folder}/bin/python3", "-c", "1"], [script]):
            done = self.profile_run(command)
            row = self.environment_of(done.profile)["python", "executable"]
            self.assertEqual(row["value"], f"{folder}/bin/python3")

    def test_each_format_has_the_same_rows(self):
        done = self.profile_run([target("inlines")])
        rows = self.environment_of(done.profile)
        self.assertEqual(rows["system", "kernel"]["value"],
                         f"Linux {platform.release()} {platform.machine()}")
        text = self.verb("report", "--env", "--width", "200", done.profile).stdout.decode()
        for (_, name), row in rows.items():
            self.assertTrue(any(name in line and (row["value"] or "") in line
                                for line in text.splitlines()), f"{name} in {text}")
        self.assertNotIn("hotspots", text)
        exported = self.verb("report", "--export", "csv=-", "--table", "environment", done.profile)
        table = list(csv.DictReader(exported.stdout.decode().splitlines()))
        self.assertEqual([row["name"] for row in table], [name for _, name in rows])
        page = self.verb("report", "--export", "html=-", done.profile).stdout.decode()
        self.assertIn('"title":"Environment"', page.replace('": "', '":"'))

    def test_a_run_prints_it_at_once(self):
        done = self.profile_run([target("inlines")], "--env")
        self.assertIn("\nenvironment\n", done.report)


if __name__ == "__main__":
    main()
