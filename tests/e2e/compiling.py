# SPDX-License-Identifier: MIT
"""Compilers that a program runs: packages that have the names of torch.compile's, and a cc1plus."""
import json
import os
import shutil

from harness import Case, main, target

PACKAGES = {
    "torch/__init__.py": "",
    "torch/_dynamo/__init__.py": "",
    "torch/_dynamo/convert_frame.py": """
import time
from torch._inductor import compile_fx

def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass

def convert(tool):
    spin(0.2)
    return compile_fx.compile_fx(tool)
""",
    "torch/_inductor/__init__.py": "",
    "torch/_inductor/compile_fx.py": """
import subprocess
from torch._dynamo import convert_frame

def compile_fx(tool):
    convert_frame.spin(0)
    lower(0.4)
    subprocess.run([tool], check=True, stdout=subprocess.DEVNULL)
    return compiled

def lower(seconds):
    import time
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass

def compiled(seconds):
    lower(seconds)
""",
}

SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from torch._dynamo import convert_frame
from torch._inductor import compile_fx

def train(step):
    step(0.6)

if sys.argv[3] == "compile":
    train(convert_frame.convert(sys.argv[2]))
else:
    train(compile_fx.compiled)
"""


class Compiling(Case):
    def run_script(self, how):
        site = os.path.join(self.work, "site-packages")
        for name, text in PACKAGES.items():
            path = os.path.join(site, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        tool = os.path.join(self.work, "cc1plus")
        shutil.copy(target("inlines"), tool)
        script = os.path.join(self.work, "train.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(SCRIPT)
        done = self.profile_run(["/usr/bin/python3", script, site, tool, how], "-F", "999",
                                env=self.environment(TRUTH_MS="600"))
        self.assertEqual(done.status, 0, done.err)
        shutil.rmtree(site)
        os.unlink(tool)
        os.unlink(script)
        return done

    def test_what_compiles_is_named_with_the_programs_that_it_starts(self):
        done = self.run_script("compile")
        self.assertRegex(done.report.splitlines()[1], r"Compiling took \d+ %")
        shown = self.verb("report", "--json", done.profile)
        finding = next(one for one in json.loads(shown.stdout)["findings"]
                       if one["id"] == "PY-COMPILE")
        self.assertEqual(finding["function"], "<module>")
        self.assertTrue(finding["file"].endswith("train.py"), finding)
        table = self.verb("report", "--export", "json=-", "--table", "compiling", done.profile)
        rows = {row["compiler"]: row for row in json.loads(table.stdout)["tables"]["compiling"]}
        self.assertEqual(set(rows), {"Dynamo", "Inductor", "cc1plus"})
        self.assertEqual([rows[name]["processes"] for name in ("Dynamo", "Inductor", "cc1plus")],
                         [0, 0, 1])
        # Half of it may be lost where others have the CPUs.
        self.assertGreater(rows["Inductor"]["cpu_ns"], rows["Dynamo"]["cpu_ns"])
        self.assertAlmostEqual(rows["Dynamo"]["cpu_ns"] / 1e9, 0.2, delta=0.1)
        self.assertAlmostEqual(rows["Inductor"]["cpu_ns"] / 1e9, 0.4, delta=0.2)
        text = done.report
        self.assertRegex(text, r"\ncompiling  .* of .* %\)")
        self.assertRegex(text, r"(?m)^ +.* 1 +cc1plus$")

    def test_running_what_was_compiled_is_no_compiling(self):
        done = self.run_script("run")
        self.assertNotIn("ompiling", done.report)


if __name__ == "__main__":
    main()
