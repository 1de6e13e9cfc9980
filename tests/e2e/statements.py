# SPDX-License-Identifier: MIT
"""bottleneck bench and count of statements: what they measure and compare, and what they refuse.

The comparison with torch.utils.benchmark needs PyTorch (BOTTLENECK_WHEELS, TORCH_PYTHON or
/usr/bin/python3), and says that it is skipped where there is none.
"""
import json
import math
import os
import re
import signal
import shutil
import statistics
import subprocess
import sys
import time
import unittest

from harness import BOTTLENECK, Case, main, need

QUICK = ("--python", sys.executable, "--min-time", "0.05")
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}

# A Timer that is measured beside the statement that it times, and writes what it says itself: of CPU time, as
# wall time is the machine's as much as the statement's.
TIMER = "from torch.utils.benchmark import Timer; by_timer = lambda: timer.timeit({calls}).median"
TIMEIT = "from timeit import Timer; by_timer = lambda: timer.timeit({calls}) / {calls}"

ROUNDS_LEAST, ROUNDS_MOST = 8, 40
PAIRS = 60
AS_LONG = 0.95, 1.05


def median_interval(values):
    """Between which values the true median lies with 95 % confidence, whatever its distribution is."""
    values, count, beyond = sorted(values), len(values), -1
    outside = 0
    while 2 * (outside + math.comb(count, beyond + 1)) <= 0.05 * 2 ** count:
        beyond += 1
        outside += math.comb(count, beyond)
    return (values[beyond], values[count - 1 - beyond]) if beyond >= 0 else (-math.inf, math.inf)


def torch_python():
    for python in (os.environ.get("BOTTLENECK_WHEELS"), os.environ.get("TORCH_PYTHON"), "/usr/bin/python3"):
        if python and subprocess.run([python, "-c", "import torch.utils.benchmark"], capture_output=True,
                                     check=False).returncode == 0:
            return python
    raise unittest.SkipTest("PyTorch is not installed")


class Statements(Case):
    def bench(self, *arguments, **options):
        return self.verb("bench", *QUICK, *arguments, **options)

    def document(self, *arguments):
        done = self.bench("--json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return json.loads(done.stdout)

    def test_a_call_takes_what_it_sleeps(self):
        document = self.document("--setup", "import time", "--stmt", "time.sleep(0.005)", "-n", "6")
        side, = document["sides"]
        self.assertEqual((side["language"], side["threads"], side["runs"]), ("python", 1, 6))
        self.assertEqual(side["command"], "time.sleep(0.005)")
        self.assertGreaterEqual(side["call_ns"]["min"], 5e6)
        self.assertLess(side["user_ns"]["median"], side["wall_ns"]["median"])

    def test_blocks_are_many_calls_of_a_short_statement(self):
        side, = self.document("--stmt", "x + 1", "--setup", "x = 3")["sides"]
        self.assertGreaterEqual(side["calls"] / side["runs"], 1000)
        call = side["call_ns"]
        self.assertEqual(call["median"], sorted(call["values"])[len(call["values"]) // 2]
                         if len(call["values"]) % 2 else call["median"])
        self.assertNotEqual(call["median"], round(call["median"]))  # parts of a ns
        self.assertTrue(call["low"] <= call["median"] <= call["high"])

    def test_statements_are_compared_in_turns(self):
        document = self.document("--setup", "x = list(range(1000))", "--stmt", "sum(x)", "--vs-stmt",
                                 "len(x)", "--vs-stmt", "sum(x) + 0")
        self.assertEqual([side["command"] for side in document["sides"]],
                         ["sum(x)", "len(x)", "sum(x) + 0"])
        self.assertLess(document["ratios"][0]["high"], 1)
        text = self.verb("report").stdout.decode()
        self.assertIn("B is the fastest: A takes", text)

    def test_a_sweep_and_threads_are_a_table(self):
        done = self.bench("--setup", "import os; x = list(range(n)); t = os.environ['OMP_NUM_THREADS']",
                          "--stmt", "sum(x)", "--vs-stmt", "len(x)", "--sweep", "n=10,1000",
                          "--num-threads", "1,2")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        text = done.stdout.decode()
        self.assertRegex(text, r"1 threads? +2 threads")
        for line in ("A  n = 10 ", "B  n = 10 ", "A  n = 1000", "B  n = 1000"):
            self.assertIn(line, text)
        self.assertEqual(len(re.findall(r"^  B  n = .* \*", text, re.M)), 2, text)
        self.assertFalse(re.findall(r"^  A  n = 1000 .*\*", text, re.M), text)
        sides = json.loads(self.verb("report", "--json").stdout)["sides"]
        self.assertEqual([(side["variant"], side["threads"]) for side in sides[::2]],
                         [("n = 10", 1), ("n = 10", 2), ("n = 1000", 1), ("n = 1000", 2)])

    def test_commands_and_statements_are_one_table_with_threads_as_columns(self):
        threads = "import os; assert os.environ['OMP_NUM_THREADS'] == '%s'"
        script = self.path("which")
        with open(script, "w", encoding="ascii") as file:
            file.write("echo $OMP_NUM_THREADS >>ran; exec sleep 0.02")
        done = self.verb("bench", "--python", sys.executable, "-n", "6", "--num-threads", "1,2", "--setup",
                         "import time", "--stmt", "time.sleep(0.001)", "--vs-stmt", "time.sleep(0.004)",
                         "--vs", "sleep 0.06", "--", "sh", script)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        text = done.stdout.decode()
        self.assertRegex(text, r"1 thread +2 threads")
        table = re.findall(r"^  ([A-D]) +([\d.]+ ms)( \*)? +([\d.]+ ms)( \*)?$", text, re.M)
        self.assertEqual([row[0] for row in table], ["A", "B", "C", "D"], text)
        self.assertEqual([(row[2], row[4]) for row in table], [("", ""), ("", ""), (" *", " *"), ("", "")], text)
        with open(os.path.join(self.work, "ran"), encoding="ascii") as file:
            self.assertEqual(file.read().split(), ["1"] * 6 + ["2"] * 6)
        document = json.loads(self.verb("report", "--json").stdout)
        self.assertEqual([(side["language"], side["threads"], side["runs"]) for side in document["sides"]],
                         2 * [(None, 1, 6)] + 2 * [("python", 1, 6)] + 2 * [(None, 2, 6)] + 2 * [("python", 2, 6)])
        # Each by what it is about: a run of 20 ms or more, a call of 1 ms.
        self.assertLess(document["ratios"][1]["median"], 0.2)
        # Statements that see other threads would fail.
        done = self.verb("bench", "--python", sys.executable, "-n", "2", "--stmt", threads % 1, "true")
        self.assertEqual(done.returncode, 0, done.stderr.decode())

    def test_a_command_that_fails_ends_statements_too(self):
        done = self.verb("bench", "--python", sys.executable, "-n", "2", "--stmt", "1", "--", "sh", "-c", "exit 3")
        self.assert_clean_message(done, "status 3")
        self.assertEqual(done.returncode, 3)
        done = self.verb("bench", "--python", sys.executable, "-n", "2", "--stmt", "1", "--ignore-failure", "--",
                         "sh", "-c", "echo >>n; test $(wc -l <n) -ne 1")
        self.assertEqual(done.returncode, 0, done.stderr.decode())

    def test_a_value_of_a_sweep_may_have_commas(self):
        document = self.document("--stmt", "len(n)", "--sweep", "n=(1,2),'a,b',[3]", "-n", "2")
        self.assertEqual([side["variant"] for side in document["sides"]],
                         ["n = (1,2)", "n = 'a,b'", "n = [3]"])

    def test_threads_are_those_of_libraries(self):
        document = self.document("--setup", "import os", "--stmt",
                                 "assert os.environ['OPENBLAS_NUM_THREADS'] == '3'", "--num-threads", "3",
                                 "-n", "2")
        self.assertEqual(document["sides"][0]["threads"], 3)

    def test_statements_have_lines(self):
        code = "for i in range(3):\n    if i:\n        t += i"
        self.assertEqual(self.document("--stmt", code, "--setup", "t = 0\nu = 1", "-n", "2")
                         ["sides"][0]["command"], code)

    def test_the_median_lies_in_its_interval_as_printed(self):
        for _ in range(6):
            text = self.bench("--stmt", "sum(x)", "--setup", "x = list(range(50))").stdout.decode()
            found = re.search(r"A call takes ([\d.]+) (\w+) \(with 95 % confidence ([\d.]+) to ([\d.]+) (\w+)",
                              text)
            median = float(found[1]) * UNITS[found[2]]
            self.assertLessEqual(float(found[3]) * UNITS[found[5]], median, text)
            self.assertGreaterEqual(float(found[4]) * UNITS[found[5]], median, text)

    def test_adaptive_goes_on_until_blocks_agree(self):
        done = self.verb("bench", "--json", "--python", sys.executable, "--adaptive", "90", "--stmt", "pass")
        side, = json.loads(done.stdout)["sides"]
        self.assertGreaterEqual(side["runs"], 6)
        self.assertLess(sum(side["wall_ns"]["values"]), 11e9)

    def test_what_fails_says_why(self):
        for code, said in (("nothing(1)", "NameError: name 'nothing'"), ("1 +", "SyntaxError"),
                           ("raise SystemExit(3)", "SystemExit: 3"),
                           ("import os; os._exit(5)", "status 5"),
                           ("import os; os.kill(os.getpid(), 11)", "signal 11")):
            done = self.bench("--stmt", code)
            self.assert_clean_message(done, said)
        self.assert_clean_message(self.bench("--stmt", "1", "--setup", "import nothing_there"),
                                  "before its first call", "ModuleNotFoundError")
        self.assert_clean_message(self.verb("bench", "--python", "/no/python", "--stmt", "1"), "/no/python")

    def test_options_that_do_not_go_together(self):
        for options in (["--setup", "1", "true"], ["--stmt", "1", "--sweep", "n=1", "true"],
                        ["--stmt", "1", "--ignore-failure"], ["--num-threads", "x", "true"],
                        ["--stmt", "1", "--range", "x"], ["--stmt", "1", "--global", "x"],
                        ["--stmt", "1", "--num-threads", "0"], ["--stmt", "1", "--num-threads", "1,x"],
                        ["--stmt", "1", "--sweep", "n"], ["--stmt", "1", "--sweep", "1n=3"],
                        ["--stmt", "1", "--sweep", "n=,"], ["--stmt", "1", "--adaptive", "5", "-n", "3"]):
            self.assert_clean_message(self.verb("bench", *options))

    def test_output_is_shown_on_demand(self):
        hidden = self.bench("--stmt", "print('wo' 'rds')", "-n", "1")
        self.assertNotIn(b"words", hidden.stdout + hidden.stderr)
        shown = self.bench("--stmt", "print('wo' 'rds')", "-n", "1", "--show-output")
        self.assertIn(b"words", shown.stdout)

    def test_cxx(self):
        need("c++")
        side, = self.document("--c++", "--global", "#include <vector>", "--setup", "std::vector<int> v(n);",
                              "--stmt", "v[0]++", "--sweep", "n=8")["sides"]
        self.assertEqual((side["language"], side["variant"]), ("c++", "n = 8"))
        self.assertLess(side["call_ns"]["min"], 1000)
        done = self.bench("--c++", "--stmt", "nothing(1)")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(b"the statement does not compile", done.stderr)
        done = self.bench("--c++", "--global", "#include <stdexcept>", "--stmt",
                          "throw std::runtime_error(\"thrown\")")
        self.assert_clean_message(done, "thrown")

    def test_an_interrupt_ends_it(self):
        with subprocess.Popen([BOTTLENECK, "bench", "--python", sys.executable, "--stmt",
                               "open('ran', 'w'); time.sleep(0.1)", "--setup", "import time",
                               "--min-time", "60"],
                              cwd=self.work, env=self.environment(), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
            deadline = time.monotonic() + 60
            while not os.path.exists(os.path.join(self.work, "ran")):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            os.killpg(process.pid, signal.SIGINT)
            _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGINT, err.decode())

    def test_instructions_of_a_call(self):
        need("valgrind")
        def count(*arguments):
            done = self.verb("count", "--json", "--python", os.path.realpath(sys.executable), *arguments)
            self.assertEqual(done.returncode, 0, done.stderr.decode())
            return json.loads(done.stdout)
        document = count("--stmt", "sum(x)", "--vs-stmt", "sum(y)", "--calls", "50", "--setup",
                         "x = list(range(100)); y = list(range(200))")
        self.assertEqual((document["calls"], document["baseline_statement"]), (50, "sum(y)"))
        ours, theirs = document["instructions_per_call"], document["baseline_instructions_per_call"]
        self.assertTrue(100 * 5 < ours < 100 * 500, ours)
        self.assertTrue(1.5 < theirs / ours < 2.1, (ours, theirs))
        self.assert_clean_message(self.verb("count", "--stmt", "1", "true"), "too many")
        self.assert_clean_message(self.verb("count", "--setup", "1", "true"), "--stmt")

    def quotient(self, reference, python, code, setup, calls):
        """The median quotient of CPU time a call by our blocks and by the Timer's, each beside the other in one run.
        That of a block is the average of what the Timer says of its calls there."""
        said = self.path("said")
        with open(said, "w", encoding="ascii"):
            pass
        timer = (f"{reference.format(calls=calls)}; import time; "
                 f"timer = Timer({code!r}, {setup!r}, timer=time.process_time); said = open({said!r}, 'a', buffering=1)")
        done = self.verb("bench", "--json", "--python", python, "-n", str(PAIRS), "--setup", f"{setup}\n{timer}",
                         "--min-time", "2", "--stmt", code, "--vs-stmt", "print(by_timer(), file=said)")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        ours, theirs = json.loads(done.stdout)["sides"]
        self.assertEqual((ours["runs"], theirs["runs"]), (PAIRS, PAIRS))
        each = theirs["calls"] // PAIRS
        self.assertLess(each, 100)  # of more, some come before the block
        with open(said, encoding="ascii") as file:
            values = [float(line) * 1e9 for line in file][-each * PAIRS:]
        calls = ours["calls"] / PAIRS
        return statistics.median(
            (ours["user_ns"]["values"][i] + ours["system_ns"]["values"][i]) / calls
            / statistics.mean(values[i * each:(i + 1) * each]) for i in range(PAIRS))

    def assert_as_long(self, reference, python, code, setup, calls):
        """Rounds with new processes, until the 95 % interval of the median quotient says that it is within 5 % of
        1, or that it is not. Where noise leaves that open, the median of all of them decides."""
        usable, ratios = os.sched_getaffinity(0), []
        self.addCleanup(os.sched_setaffinity, 0, usable)
        os.sched_setaffinity(0, {max(usable)})  # the neighbours of a CPU are the same for both then
        while len(ratios) < ROUNDS_MOST:
            ratios.append(self.quotient(reference, python, code, setup, calls))
            low, high = median_interval(ratios)
            if len(ratios) >= ROUNDS_LEAST and (AS_LONG[0] < low and high < AS_LONG[1] or
                                                high < AS_LONG[0] or low > AS_LONG[1]):
                break
        median = statistics.median(ratios)
        told = f"{code}: {median:.3f}, {low:.3f} to {high:.3f} in {len(ratios)} rounds: {sorted(ratios)}"
        self.assertTrue(AS_LONG[0] < median < AS_LONG[1], told)

    def test_the_interval_of_a_median_is_that_of_order_statistics(self):
        self.assertEqual(median_interval([3, 1, 2, 5, 4]), (-math.inf, math.inf))
        self.assertEqual(median_interval(range(6)), (0, 5))
        self.assertEqual(median_interval(range(8)), (0, 7))
        self.assertEqual(median_interval(range(9)), (1, 7))
        self.assertEqual(median_interval(range(20)), (5, 14))

    def test_a_call_takes_as_long_as_by_timeit(self):
        self.assert_as_long(TIMEIT, os.path.realpath(sys.executable), "sum(x)", "x = list(range(100))", 8000)

    def test_a_call_takes_as_long_as_by_timer(self):
        python = torch_python()
        self.assert_as_long(TIMER, python, "torch.mul(x, y)",
                            "import torch; x = torch.ones(64); y = torch.ones(64)", 2000)
        self.assert_as_long(TIMER, python, "sum(x)", "x = list(range(100))", 8000)


if __name__ == "__main__":
    if not shutil.which("valgrind"):
        print("valgrind is not installed: instructions of statements are not counted", file=sys.stderr)
    main()
