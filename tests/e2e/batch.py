# SPDX-License-Identifier: MIT
"""bottleneck batch: twelve commands, with a crash, a time-out and a gate; resumed, stopped, refused."""
import json
import os
import signal
import sqlite3
import subprocess
import time
import xml.etree.ElementTree as xml

from harness import BOTTLENECK, Case, TIMEOUT, main, target

TWELVE = f"""
# Twelve commands.
environment = BATCH_WORD=for all

[plain]
command = {target("shares")}
[words]
command = sh -c 'echo "$BATCH_WORD, $BATCH_OTHER"; pwd; readlink /proc/self/fd/0'
environment = BATCH_OTHER=for <one> & "all"
directory = /
[repeated]
command = sh -c 'echo run >>"$BATCH_COUNT"'
repeat = 3
[crash]
command = sh -c 'kill -SEGV $$'
[slow]
command = sh -c 'sleep 600'
timeout = 1
[deaf]
command = sh -c 'trap "" TERM; echo deaf; exec {target("shares")}'
[gated]
command = {target("system_calls")}
gate = CPU-SYS
options = --rule CPU-SYS=0
[held]
command = {target("system_calls")}
gate = CPU-SYS
options = --rule CPU-SYS=100
[failing]
command = sh -c 'exit 7'
[ninety]
command = sh -c 'exit 90'
gate = CPU-LOCK
[absent]
command = /no/such/program
[last]
command = true
"""
WANTED = {"plain": "passed", "words": "passed", "repeated": "passed", "crash": "crashed",
          "slow": "timeout", "deaf": "passed", "gated": "gate", "held": "passed",
          "failing": "failed", "ninety": "failed", "absent": "error", "last": "passed"}


class Batch(Case):
    def write(self, text, name="list.conf"):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def batch(self, *options, text=None, **run_options):
        command = [BOTTLENECK, "batch", "-o", self.path("runs"), "--json", self.path("out.json"),
                   "--junit", self.path("out.xml"), *options]
        if text is not None:
            self.write(text)
        return self.bare([*command, self.path("list.conf")],
                         env=self.environment(BATCH_COUNT=self.path("count")), **run_options)

    def results(self):
        with open(self.path("out.json"), encoding="utf-8") as file:
            return {c["name"]: c for c in json.load(file)["commands"]}

    def outcomes(self):
        return {name: result["outcome"] for name, result in self.results().items()}

    def printed(self, name):
        with open(os.path.join(self.path("runs"), f"{name}.out"), encoding="utf-8") as file:
            return file.read()

    def count(self):
        with open(self.path("count"), encoding="utf-8") as file:
            return len(file.readlines())

    def check_files(self):
        runs = self.path("runs")
        for name in WANTED:
            for run in (".1", ".2", ".3") if name == "repeated" else ("",):
                there = os.path.exists(os.path.join(runs, f"{name}{run}.bneck"))
                self.assertEqual(there, name != "absent", name)
                if there:
                    with open(os.path.join(runs, f"{name}{run}.txt"), encoding="utf-8") as report:
                        self.assertIn("limits", report.read())
        facts = dict(sqlite3.connect(os.path.join(runs, "slow.bneck")).execute(
            "SELECT key, value FROM run"))
        self.assertEqual(facts["complete"], 1)

    def check_junit(self):
        suite = xml.parse(self.path("out.xml")).getroot().find("testsuite")
        cases = {case.get("name"): case for case in suite}
        self.assertEqual(list(cases), list(WANTED))
        for name, case in cases.items():
            kind = {"passed": None, "gate": "failure", "failed": "failure"}.get(WANTED[name],
                                                                                "error")
            troubles = [e.tag for e in case if e.tag != "system-out"]
            self.assertEqual(troubles, [kind] if kind else [], name)
            if kind:
                self.assertEqual(case.find(kind).get("type"), WANTED[name])
        self.assertEqual([suite.get(k) for k in ("tests", "failures", "errors", "skipped")],
                         ["12", "3", "3", "0"])
        self.assertIn('echo "$BATCH_WORD, $BATCH_OTHER"', cases["words"].find("system-out").text)

    def test_twelve_commands(self):
        done = self.batch("-k", text=TWELVE)
        self.assertEqual(self.outcomes(), WANTED, done.stderr.decode())
        self.assertEqual(done.returncode, 127)  # of what could not be run
        self.assertIn(b"6 of 12 commands passed", done.stdout)
        self.assertEqual(self.printed("words"),
                         'for all, for <one> & "all"\n/\n/dev/null\n')
        results = self.results()
        self.assertEqual(results["crash"]["signal"], signal.SIGSEGV)
        self.assertEqual(results["failing"]["status"], 7)
        self.assertEqual((results["repeated"]["runs"], self.count()), (3, 3))
        self.assertGreaterEqual(results["slow"]["wall_ns"], 5 * 10**8)
        self.check_files()
        self.check_junit()

        # What has passed is not run again; what has changed, or failed, is.
        changed = TWELVE.replace("command = true", "command = echo changed").replace(
            "exit 7", "exit 0")
        done = self.batch("-k", "--resume", text=changed)
        results = self.results()
        kept = {name for name, result in results.items() if result["kept"]}
        self.assertEqual(kept, {n for n, o in WANTED.items() if o == "passed"} - {"last"})
        self.assertEqual(self.count(), 3)
        self.assertEqual(results["failing"]["outcome"], "passed")
        self.assertEqual(self.printed("last"), "changed\n")

    def test_without_keep_going_the_first_failure_ends_it(self):
        done = self.batch(text="[a]\ncommand = true\n[b]\ncommand = sh -c 'exit 3'\n"
                               "[c]\ncommand = true\n")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(self.outcomes(), {"a": "passed", "b": "failed", "c": "not run"})
        suite = xml.parse(self.path("out.xml")).getroot().find("testsuite")
        self.assertEqual(suite.get("skipped"), "1")
        done = self.batch("--resume", text="[a]\ncommand = true\n[b]\ncommand = true\n"
                                           "[c]\ncommand = true\n")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(set(self.outcomes().values()), {"passed"})

    def test_the_worst_decides(self):
        for commands, status in (((0, 4), 4), ((4, 0, 5), 4)):
            text = "".join(f"[c{i}]\ncommand = sh -c 'exit {s}'\n"
                           for i, s in enumerate(commands))
            self.assertEqual(self.batch("-k", text=text).returncode, status)
        self.assertEqual(self.batch("-k", text="[a]\ncommand = sh -c 'exit 9'\n[b]\n"
                                               "command = sh -c 'kill -KILL $$'\n").returncode,
                         128 + signal.SIGKILL)

    def test_a_signal_ends_it_in_order(self):
        self.write("[a]\ncommand = true\n[b]\ncommand = sh -c 'echo $$; exec sleep 600'\n"
                   "[c]\ncommand = true\n")
        command = [BOTTLENECK, "batch", "-o", self.path("runs"), "--json", self.path("out.json"),
                   self.path("list.conf")]
        with subprocess.Popen(command, env=self.environment(), cwd=self.work,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            deadline = time.monotonic() + TIMEOUT
            printed = ""
            while not printed.strip() and time.monotonic() < deadline:
                time.sleep(0.05)
                if os.path.exists(os.path.join(self.path("runs"), "b.out")):
                    printed = self.printed("b")
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertIn(b"1 of 3 commands passed", out)
        self.assertEqual(self.outcomes(), {"a": "passed", "b": "not run", "c": "not run"})
        with self.assertRaises(ProcessLookupError):
            os.kill(int(printed), 0)

    def test_a_full_disk_does_not_take_the_summary_away(self):
        os.makedirs(self.path("runs/batch.done"))
        done = self.batch("--resume", text="[a]\ncommand = true\n")
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"batch.done", done.stderr)
        self.assertIn(b"1 of 1 commands passed", done.stdout)

    def test_what_cannot_be_is_told_before_anything_runs(self):
        mark = self.path("ran")
        first = f"[a]\ncommand = touch {mark}\n"
        for text, words in ((first + "[b]\n", ("line 3", '"b"')),
                            (first + "[b]\ncommand = x\nrepeat = many\n", ("line 5", "many")),
                            (first + "[b]\ncommand = 'x\n", ("line 3", "closed")),
                            (first + "[b]\ncommand = x | y\n", ("line 3", "shell")),
                            (first + "[b]\ncommand = x\noptions = --frob\n",
                             ("line 3", "--frob")),
                            (first + "[b]\ncommand = x\noptions = -F 99 -o y\n",
                             ("line 3", "-o belongs to the batch")),
                            (first + "[b]\ncommand = x\noptions = y\n", ("line 3", '"y"'))):
            done = self.batch(text=text)
            self.assertEqual(done.returncode, 125, text)
            self.assert_clean_message(done, *words)
        done = self.batch("--junit", "/no/such/junit.xml", text=first)
        self.assert_clean_message(done, "/no/such/junit.xml")
        self.assertFalse(os.path.exists(mark))
        self.assert_clean_message(self.verb("batch", "/no/such/list"), "/no/such/list")
        self.assert_clean_message(self.verb("batch"), "file")


if __name__ == "__main__":
    main()
