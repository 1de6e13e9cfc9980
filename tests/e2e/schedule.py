# SPDX-License-Identifier: MIT
"""Steps whose truth is known: what they spend their time on, why some are slow, and schedules over
them, in the report of a run, in that of its profile, as JSON, as CSV and as traces.

With PyTorch 2 (BOTTLENECK_WHEELS, TORCH_PYTHON or python3) also beside torch.profiler's own schedule,
in the same run; without, that test says that it is skipped.
"""
import csv
import io
import json
import os
import re
import subprocess
import unittest

from harness import BOTTLENECK, Case, main, need, target

# Steps 1 and 2 are slow in choose(), step 15 in prepare(), which call one function, as train() does.
PLANTED = """
import time

def burn(count):
    total = 0
    for i in range(count * 20000):
        total += i * i
    return total

def choose(step):
    return burn(120 if step <= 2 else 1)

def prepare(step):
    return burn(120 if step == 15 else 1)

def train(step):
    return burn(4)

def one_step(step):
    choose(step)
    prepare(step)
    train(step)
    time.sleep(0.005)

for step in range(1, 25):
    one_step(step)
"""

# A schedule of torch.profiler, and what it has seen of each cycle, as JSON.
BESIDE = """
import json, sys, torch
from torch.profiler import ProfilerActivity, profile, schedule

cycles = []

def ready(prof):
    cycles.append({row.key: row.count for row in prof.key_averages()})

layer = torch.nn.Linear(64, 64)
data = torch.rand(32, 64)
with profile(activities=[ProfilerActivity.CPU],
             schedule=schedule(wait=1, warmup=1, active=3, repeat=2),
             on_trace_ready=ready) as prof:
    for step in range(14):
        for _ in range(step + 1):
            layer(data).relu()
        prof.step()
with open(sys.argv[1], "w") as file:
    json.dump(cycles, file)
"""

# Each tenth step is followed by an evaluation.
TWO_LENGTHS = """
import time

def train():
    time.sleep(0.02)

def evaluate():
    time.sleep(0.1)

def one_step(i):
    train()
    if i % 10 == 9:
        evaluate()

for i in range(40):
    one_step(i)
"""

SCHEDULE = "wait=1,warmup=1,active=3,repeat=2"


def torch_python():
    for python in (os.environ.get("BOTTLENECK_WHEELS"), os.environ.get("TORCH_PYTHON"), "python3"):
        asked = "import torch, sys; sys.exit(torch.__version__ < '2')"
        if python and subprocess.run([python, "-c", asked], capture_output=True,
                                     check=False).returncode == 0:
            return python
    raise unittest.SkipTest("PyTorch 2 is not installed")


class Steps(Case):
    def again(self, profile, *options):
        return subprocess.run([BOTTLENECK, "report", *options, profile], capture_output=True,
                              text=True, check=True, env=self.environment()).stdout

    def table(self, profile, name, *options):
        text = self.again(profile, "--export", "csv", "--table", name, *options)
        return list(csv.DictReader(io.StringIO(text)))

    def program(self, text):
        path = os.path.join(self.work, "program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_slow_steps_name_the_function_that_the_user_knows(self):
        need("python3")
        path = self.program(PLANTED)
        for _ in range(6):  # on a busy machine other steps may wait so long for a CPU that they are slowest
            done = self.profile_run(["python3", path], "--trace", "program.py:one_step", timeout=600)
            self.assertEqual(done.status, 0, done.err)
            slow = dict(re.findall(r"^ +(\d+) +[\d.]+ s +.* m?s (\w+) program\.py:\d+ > burn",
                                   done.report, re.M))
            if {"1", "15"} <= slow.keys():
                break
        self.assertEqual(slow.get("1"), "choose", done.report)
        self.assertEqual(slow.get("15"), "prepare", done.report)
        self.assertRegex(done.report, r"steps  calls of .*one_step\n  24, median")

    def test_steps_of_two_lengths_are_reported_as_such(self):
        need("python3")
        path = self.program(TWO_LENGTHS)
        for _ in range(6):  # on a busy machine some steps sleep for much longer
            done = self.profile_run(["python3", path], "--trace", "program.py:one_step")
            self.assertEqual(done.status, 0, done.err)
            if "of two lengths" in done.report:
                break
        report = " ".join(done.report.split())
        self.assertRegex(report, r"steps calls of .*one_step 40, of two lengths: 36 of [\d.]+ ms "
                                 r"\(IQR [\d.]+ %\), and 4 of 1\d\d ms \(IQR "
                                 r"[\d.]+ %\); each 10th is long;")
        self.assertRegex(report, r"A long one \(step \d0\) spends more than others on: \d+(\.\d+)? ms evaluate "
                                 r"program\.py:8")
        parts = dict(re.findall(r"^ +(mean|short|long) +([\d.]+) ms", done.report, re.M))
        self.assertLess(float(parts["short"]), float(parts["mean"]))
        self.assertGreater(float(parts["long"]), 2 * float(parts["mean"]))
        whole = json.loads(self.again(done.profile, "--json"))["steps"]
        self.assertEqual((whole["short_steps"], whole["long_steps"], whole["every"]), (36, 4, 10))
        self.assertGreaterEqual(whole["long_median_ns"], 120e6)
        self.assertTrue(20e6 <= whole["short_median_ns"] < whole["long_from_ns"] <= whole["long_median_ns"])
        page = self.again(done.profile, "--export", "html=-")
        self.assertIn('"long_steps":4', page)

    def test_steps_of_one_length_have_no_other(self):
        need("python3")
        done = self.profile_run(["python3", self.program(TWO_LENGTHS.replace("% 10", "% 1000"))],
                                "--trace", "program.py:one_step")
        self.assertRegex(" ".join(done.report.split()), r"40, median [\d.]+ ms, IQR")
        whole = json.loads(self.again(done.profile, "--json"))["steps"]
        self.assertEqual((whole["short_steps"], whole["long_median_ns"], whole["every"]), (None, None, None))

    def test_parts_sum_to_each_step(self):
        need("python3")
        done = self.profile_run(["python3", self.program(PLANTED)], "--trace", "program.py:one_step")
        steps = self.table(done.profile, "steps")
        self.assertEqual(len(steps), 24)
        names = ["kernels_ns", "copies_ns", "communication_ns", "data_loader_ns", "cpu_ops_ns", "idle_ns",
                 "other_ns"]
        for step in steps:
            parts = [int(step[name]) for name in names]
            self.assertEqual(sum(parts), int(step["end_ns"]) - int(step["begin_ns"]), step)
            self.assertEqual(sum(parts[:5]), 0, "no op, and no GPU")
        whole = json.loads(self.again(done.profile, "--json"))["steps"]
        self.assertEqual(whole["parts_steps"], 24)
        # Where the kernel tells no stacks, some waits are only counted together.
        slept = 24 * 5000000
        self.assertGreaterEqual(whole["idle_ns"] + whole["unplaced_wait_ns"], 0.95 * slept, whole)
        if whole["unplaced_wait_ns"] > 0.05 * whole["sum_ns"]:
            self.assertIn("was not kept one by one", done.report)
        for name in names:
            self.assertEqual(whole[name], sum(int(step[name]) for step in steps), name)

    # Each step has one call of forward.
    def check_cycles(self, profile, *options):
        text = self.again(profile, *options)
        self.assertEqual(re.findall(r"^ +(\d) +([\d-]+) +[\d.]+ s ", text, re.M),
                         [("1", "3-5"), ("2", "8-10")], text)
        self.assertEqual(re.findall(r"^cycle (\d)  steps (\d+) to (\d+)", text, re.M),
                         [("1", "3", "5"), ("2", "8", "10")], text)
        told = json.loads(self.again(profile, "--json", *options))
        rows = self.table(profile, "cycles", *options, "--cycle", "1")
        self.assertEqual(told["schedule"], SCHEDULE)
        for cycle, row in zip(told["cycles"], rows):
            calls = {op["name"]: op["calls"] for op in cycle["ops"]}
            self.assertEqual(calls, {"step": 3, "forward": 3})
            self.assertEqual({key: str(value).lower() for key, value in cycle["cycle"].items()}, row)
            one = json.loads(self.again(profile, "--export", "json", "--table", "ops", *options,
                                        "--cycle", row["cycle"]))
            self.assertEqual({op["name"]: op["calls"] for op in one["tables"]["ops"]}, calls)
        return told["cycles"]

    def check_traces(self, directory):
        for cycle in (1, 2):
            with open(os.path.join(directory, f"trace.{cycle}.json"), encoding="utf-8") as file:
                names = [event["name"] for event in json.load(file)["traceEvents"]
                         if event["ph"] == "X"]
            self.assertEqual(names.count("forward"), 3, names)
            self.assertEqual([name for name in names if name.startswith("ProfilerStep#")],
                             [f"ProfilerStep#{5 * cycle - 2 + i}" for i in range(3)])
        self.assertFalse(os.path.exists(os.path.join(directory, "trace.3.json")))

    def test_a_schedule_after_the_fact(self):
        done = self.profile_run([target("steps"), "warm"])
        self.check_cycles(done.profile, "--schedule", SCHEDULE)
        traces = os.path.join(self.work, "trace.%c.json")
        self.again(done.profile, "--schedule", SCHEDULE, "--export", f"chrome={traces}")
        self.check_traces(self.work)
        steps = self.table(done.profile, "steps")
        for i, cycle in enumerate(self.check_cycles(done.profile, "--schedule", SCHEDULE)):
            self.assertEqual(cycle["cycle"]["begin_ns"], int(steps[5 * i + 2]["begin_ns"]))
            self.assertEqual(cycle["cycle"]["end_ns"], int(steps[5 * i + 5]["begin_ns"]))

    def test_a_schedule_of_the_run(self):
        traces = os.path.join(self.work, "trace.%c.json")
        done = self.profile_run([target("steps"), "warm"], "--schedule", SCHEDULE, "--steps", "step",
                                "--export", f"chrome={traces}")
        self.assertEqual(done.status, 0, done.err)
        self.check_cycles(done.profile)
        self.check_traces(self.work)
        self.assertEqual(done.report, self.again(done.profile), "a run reports as its profile does")
        # Of the rest of the run there is nothing but how long steps took.
        self.assertEqual([int(step["first"]) for step in self.table(done.profile, "steps")],
                         list(range(3, 11)))
        whole = json.loads(self.again(done.profile, "--export", "json", "--table", "ops", "--from",
                                      "0.000001"))["tables"]["ops"]
        self.assertEqual({op["name"]: op["calls"] for op in whole}["forward"], 6)

    def test_what_cannot_be(self):
        done = self.profile_run([target("steps"), "warm"])
        for options, words in ((("--schedule", "active=0"), "active"),
                               (("--schedule", "wait=1"), "active"),
                               (("--schedule", SCHEDULE, "--from", "1"), "--from"),
                               (("--schedule", SCHEDULE, "--export", "chrome=x.json"), "%c"),
                               (("--export", "chrome=x.%c.json"), "--schedule"),
                               (("--cycle", "1"), "--schedule")):
            self.assert_clean_message(self.verb("report", *options, done.profile), words)
        self.assertIn("fewer cycles",
                      self.again(done.profile, "--schedule", SCHEDULE, "--cycle", "3"))
        self.assertIn("no cycle in this run", self.again(done.profile, "--schedule", "wait=99,active=1"))
        ran = self.verb("--schedule", SCHEDULE, "--range", "x", "true")
        self.assert_clean_message(ran, "--range")

    def test_beside_the_schedule_of_torch(self):
        python = torch_python()
        path, truth = self.program(BESIDE), os.path.join(self.work, "truth.json")
        for options in ((), ("--schedule", SCHEDULE, "--steps", "ProfilerStep#*")):
            done = self.profile_run([python, path, truth], *options, timeout=600)
            self.assertEqual(done.status, 0, done.err)
            with open(truth, encoding="utf-8") as file:
                theirs = json.load(file)
            told = json.loads(self.again(done.profile, "--json", "--schedule", SCHEDULE))
            self.assertEqual(len(told["cycles"]), len(theirs), told["cycles"])
            for ours, cycle in zip(told["cycles"], theirs):
                self.assertEqual(ours["cycle"]["steps"], 3)
                calls = {op["name"]: op["calls"] for op in ours["ops"] if op["name"].startswith("aten::")}
                wanted = {name: count for name, count in cycle.items() if name.startswith("aten::")}
                self.assertIn("aten::linear", wanted)
                self.assertEqual(calls, wanted)


if __name__ == "__main__":
    main()
