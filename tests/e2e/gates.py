# SPDX-License-Identifier: MIT
"""Findings for batch jobs: thresholds, exit statuses, JSON, and what explain says."""
import json
import os
import re
import signal
import sys

from harness import Case, main, target

FIRES, SILENT = "CPU-SYS=0", "CPU-SYS=100"  # of a program that makes system calls
GATE = ["--fail-on", "CPU-SYS"]

TEXT, COUNT, NUMBER = {"type": ["string", "null"]}, {"type": ["integer", "null"], "minimum": 0}, {
    "type": ["number", "null"]}
SHARE = {"type": ["number", "null"], "minimum": 0}
ROWS = {"type": "array", "items": {"type": "object"}}


def row(**members):
    return {"type": "object", "required": list(members), "properties": members,
            "additionalProperties": False}


def rows(**members):
    return {"type": "array", "items": row(**members)}


# bottleneck-findings(7), JSON.
REPORT = {
    "type": "object",
    "required": ["schema", "schema_version", "verdict", "findings", "rules", "run",
                 "environment", "window", "limits"],
    "properties": {
        "schema": {"const": "bottleneck-report"},
        "schema_version": {"const": 1},
        "verdict": row(sentence={"type": "string"}, next=TEXT),
        "findings": rows(
            id={"type": "string"}, severity={"enum": ["info", "warn", "error"]}, title=TEXT,
            value=NUMBER, threshold=NUMBER, unit={"enum": ["percent", "count", "ratio", "seconds"]},
            share=SHARE, saving_ns=COUNT, saving_margin_ns=COUNT, saving_low_ns=COUNT,
            saving_high_ns=COUNT, function=TEXT, file=TEXT,
            line=COUNT, fact=TEXT, advice=TEXT, covered_by=TEXT, evidence=rows(
                function=TEXT, file=TEXT, line=COUNT, callee=TEXT, ns=COUNT, share=SHARE,
                calls=COUNT)),
        "rules": rows(
            id={"type": "string"}, state={"enum": ["fired", "silent", "off", "not evaluated"]},
            value=NUMBER, threshold=NUMBER, unit={"enum": ["percent", "count", "ratio", "seconds"]},
            why=TEXT),
        "run": {"type": "object", "required": ["command", "wall_ns", "samples", "lost"]},
        "environment": rows(kind={"type": "string"}, name={"type": "string"}, value=TEXT, path=TEXT),
        "window": row(from_ns=COUNT, to_ns=COUNT, steady_from_ns=COUNT),
        "limits": {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}},
        # Their rows are those of bottleneck-json(5), which e2e_export reads.
        "wall": {"type": ["object", "null"], "additionalProperties": False, "properties": {
            "wall_ns": COUNT, "owners": ROWS, "ranks": {"type": "boolean"},
            "runnable_quota_ns": COUNT, "runnable_own_threads_ns": COUNT,
            "runnable_others_ns": COUNT, "runnable_idle_ns": COUNT, "parallel": ROWS, "waits": ROWS, "blocked_ns": COUNT,
            "known_ns": COUNT, "guessed_ns": COUNT, "waits_whole_run": {"type": "boolean"}, "whose": TEXT,
            "waits_step_ns": {"type": ["integer", "null"], "minimum": 1}}},
        "ranks": {"type": "object"},
    },
    "additionalProperties": False,
}


class Gates(Case):
    def status(self, *options, command=None):
        done = self.profile_run(command or [target("system_calls")], *options)
        return done.status, done.err.decode()

    def test_what_was_found_is_told_by_the_status(self):
        status, text = self.status("--rule", FIRES, *GATE)
        self.assertEqual(status, 90)
        self.assertIn("--fail-on: CPU-SYS: ", text)

    def test_nothing_found_is_success(self):
        self.assertEqual(self.status("--rule", SILENT, *GATE)[0], 0)

    def test_without_a_gate_the_status_is_the_programs(self):
        self.assertEqual(self.status("--rule", FIRES)[0], 0)

    def test_severities_are_gates(self):
        self.assertEqual(self.status("--rule", FIRES, "--fail-on", "warn")[0], 90)
        # All that is not about system calls is turned off.
        rules = self.rules_off("CPU-SYS")
        self.assertEqual(self.status("--rules", rules, "--rule", FIRES, "--fail-on", "error")[0], 0)
        self.assertEqual(self.status("--rules", rules, "--rule", "CPU-SYS=0,0.001",
                                     "--fail-on", "error")[0], 90)

    def test_the_programs_own_failure_goes_first(self):
        command = ["sh", "-c", f"{target('system_calls')}; exit 7"]
        self.assertEqual(self.status("--rule", FIRES, *GATE, command=command)[0], 7)
        command = ["sh", "-c", f"{target('system_calls')}; kill -TERM $$"]
        self.assertEqual(self.status("--rule", FIRES, *GATE, command=command)[0],
                         -signal.SIGTERM)

    def test_a_measurement_that_cannot_be_trusted(self):
        rules = ["--rules", self.rules_off("MEAS-SHORT", "CPU-SYS", "WARM-FIRST")]
        short = ["--rule", "MEAS-SHORT=1000,1000"]
        enough = ["--rule", "MEAS-SHORT=0"]
        for options, status, words in (
                ([*short, "--strict"], 92, "--strict: MEAS-SHORT: "),
                ([*enough, "--strict"], 0, ""),
                (["--rule", "MEAS-SHORT=1000", "--strict"], 0, ""),  # information only
                ([*short], 0, ""),
                # Doubt goes before what was found in spite of it.
                ([*short, "--strict", "--rule", FIRES, *GATE], 92, "--fail-on: CPU-SYS: "),
                # A program without ops has no warm-up that could be told.
                ([*enough, "--fail-on", "WARM-FIRST"], 0, "--fail-on WARM-FIRST: not evaluated"),
                ([*enough, "--strict", "--fail-on", "WARM-FIRST"], 92, "not evaluated")):
            status_of, text = self.status(*rules, *options)
            self.assertEqual(status_of, status, (options, text))
            self.assertIn(words, text)
        command = ["sh", "-c", f"{target('system_calls')}; exit 7"]
        self.assertEqual(self.status(*rules, *short, "--strict", command=command)[0], 7)

    def test_a_severity_that_the_measurement_alone_has(self):
        """It says nothing of the program: neither that it failed, nor that it passed."""
        rules = ["--rules", self.rules_off("MEAS-SHORT"), "--rule", "MEAS-SHORT=1000,1000"]
        for options, wanted in ((["--fail-on", "warn"], 92), (["--fail-on", "warn", "--rule", FIRES], 90),
                                (["--fail-on", "MEAS-SHORT"], 90)):
            status, text = self.status(*rules, *options)
            self.assertEqual(status, wanted, (options, text))
            self.assertIn("--fail-on: MEAS-SHORT: ", text)
            self.assertIn("hint: Run more work", text)

    def test_no_gate_holds_where_nothing_was_measured(self):
        for options, cause, remedy in (
                (["--range", "nosuch"], "--range nosuch matched no op", "report --ops"),
                (["--delay", "1000"], "--delay 16 min 40 s is longer than the run", "Shorten --delay")):
            done = self.profile_run([target("system_calls")], *options, "--rule", SILENT, *GATE)
            text = done.err.decode()
            self.assertEqual(done.status, 92, text)
            self.assertIn(f"--fail-on: MEAS-EMPTY: nothing was recorded: {cause}", text)
            self.assertRegex(text, f"hint: .*{remedy}")
            flat = " ".join(done.report.split())
            self.assertIn(f"Nothing was recorded: {cause}", flat)
            self.assertIn(remedy, flat)

    def test_no_report_is_no_excuse(self):
        done = self.profile_run([target("system_calls")], "--no-report", "--rule", FIRES, *GATE)
        self.assertEqual(done.status, 90)

    def test_a_saved_run_has_the_same_gates(self):
        done = self.profile_run([target("system_calls")])
        for options, status in (([*GATE, "--rule", FIRES], 90), ([*GATE, "--rule", SILENT], 0),
                                (["--rule", FIRES], 0)):
            self.assertEqual(self.verb("report", *options, done.profile).returncode, status,
                             options)

    def test_wrong_gates_are_told_before_the_program_runs(self):
        mark = self.path("ran")
        bad = self.path("bad.rules")
        with open(bad, "w", encoding="utf-8") as file:
            file.write("# fine\nIO-WAIT 20\n\nIO-WAIT twenty\n")
        for options, words in ((["--fail-on", "NO-RULE"], ["NO-RULE"]),
                               (["--rule", "IO-WAIT"], ["IO-WAIT"]),
                               (["--rule", "NO-RULE=3"], ["NO-RULE"]),
                               (["--rules", self.path("none")], ["none"]),
                               (["--rules", bad], ["line 4", "twenty"])):
            done = self.verb(*options, "touch", mark)
            self.assert_clean_message(done, *words)
            self.assertEqual(done.returncode, 125, options)
            self.assertFalse(os.path.exists(mark), options)

    def rules_off(self, *but):
        listed = self.verb("explain").stdout.decode()
        path = self.path("off.rules")
        with open(path, "w", encoding="utf-8") as file:
            for rule in re.findall(r"^  ([A-Z][A-Z0-9-]+) ", listed, re.M):
                if rule not in but:
                    file.write(f"{rule} off # not now\n")
        return path

    def test_rules_in_a_file(self):
        rules = self.rules_off()
        done = self.profile_run([target("system_calls")], "--rules", rules, "--fail-on", "info")
        self.assertEqual(done.status, 0)
        document = json.loads(self.verb("report", "--json", "--rules", rules,
                                        done.profile).stdout)
        self.assertEqual({rule["state"] for rule in document["rules"]}, {"off"})
        self.assertEqual(document["findings"], [])


class Json(Case):
    def document(self, command, *options):
        done = self.profile_run(command)
        printed = self.verb("report", "--json", *options, done.profile)
        self.assertEqual(printed.returncode, 0, printed.stderr)
        return json.loads(printed.stdout), done

    def test_limits_are_those_of_the_report(self):
        """But for the last line, which tells where the profile was left."""
        document, done = self.document([target("system_calls")])
        text = self.verb("report", "--width", "1000", done.profile).stdout.decode()
        lines = re.findall(r"(?m)^  (\S.*)$", text[text.rindex("\nlimits"):])
        self.assertTrue(document["limits"])
        self.assertEqual(document["limits"], lines)
        self.assertIn(" samples", document["limits"][0])

    def test_it_is_of_the_form_that_the_page_describes(self):
        """bottleneck-findings(7), JSON."""
        try:
            import jsonschema
        except ImportError:
            self.skipTest("python3-jsonschema is not installed")
        document, _ = self.document([target("system_calls")])
        jsonschema.validate(document, REPORT)
        for broken in ({**document, "limits": [1]}, {**document, "limits": None},
                       {k: v for k, v in document.items() if k != "limits"}):
            with self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate(broken, REPORT)

    def test_the_same_findings_as_in_the_report(self):
        document, done = self.document([target("system_calls")], "--rule", FIRES)
        self.assertEqual(document["schema"], "bottleneck-report")
        self.assertEqual(document["schema_version"], 1)
        finding = next(f for f in document["findings"] if f["id"] == "CPU-SYS")
        self.assertEqual(finding["unit"], "percent")
        self.assertGreater(finding["value"], finding["threshold"])
        self.assertEqual(finding["threshold"], 0)
        # The share is of the time without waits for a CPU, of which nothing can be saved here.
        self.assertLessEqual(finding["saving_ns"] / document["run"]["wall_ns"],
                             finding["share"] + 0.001)
        measured = sum(row["ns"] for row in finding["evidence"])
        self.assertAlmostEqual(finding["saving_ns"] / measured, 1, delta=0.05)
        self.assertTrue(finding["file"].endswith("system_calls.c"), finding)
        self.assertGreater(finding["line"], 0)
        self.assertEqual(finding["evidence"][0]["line"], finding["line"])
        text = self.verb("report", "--rule", FIRES, done.profile).stdout.decode()
        for shown in document["findings"]:
            if not shown["covered_by"]:
                self.assertIn(shown["id"], text)
        state = {rule["id"]: rule["state"] for rule in document["rules"]}
        self.assertEqual({f["id"] for f in document["findings"]},
                         {name for name, what in state.items() if what == "fired"})

    def test_a_window(self):
        # It sleeps first, and computes then.
        command = ["sh", "-c", f"sleep 0.6; {target('system_calls')}"]
        _, done = self.document(command)
        for option, late in ((["--to", "0.3"], False), (["--from", "0.3"], True)):
            printed = self.verb("report", "--json", "--rule", FIRES, *option, done.profile)
            document = json.loads(printed.stdout)
            cpu = [f for f in document["findings"] if f["id"] == "CPU-SYS" and
                   (f["file"] or "").endswith("system_calls.c")]
            self.assertEqual(bool(cpu), late, option)
            window = document["window"]
            self.assertEqual((window["from_ns"], window["to_ns"]),
                             (300000000, None) if late else (0, 300000000))

    def test_how_it_ended(self):
        for command, status, number in ((["true"], 0, None), (["false"], 1, None),
                                        (["sh", "-c", "kill -USR1 $$"], None, signal.SIGUSR1)):
            document, _ = self.document(command)
            self.assertEqual(document["run"]["exit_status"], status)
            self.assertEqual(document["run"]["signal"], number)

    def test_names_that_are_no_text_are_still_json(self):
        name = os.path.join(self.work.encode(), b'a"\xff\\\n')
        os.symlink("/bin/true", name)
        document, _ = self.document([name])
        self.assertIn("true", document["run"]["command"] + "true")


# Collections of garbage take 8 % of the CPU time, one function 40 %, and four others 13 % each.
COLLECTS = """
import gc, hashlib, json, re, sys, time, zlib

gc.disable()

class Node:
    __slots__ = ("other",)

held = [Node() for _ in range(200000)]
for node in held:
    node.other = node
data = bytes(range(256)) * 400
document = {str(i): [i] * 4 for i in range(500)}
numbers = [(i * 7919) % 10007 for i in range(10000)]
seldom = re.compile(b"[a-f]z+")

def hot_hash(): hashlib.sha256(data).digest()
def hot_zlib(): zlib.compress(data, 1)
def hot_loop():
    total = 0
    for i in range(3000):
        total += i * i % 7
def order(): sorted(numbers)
def blake(): hashlib.blake2b(data).digest()
def write(): json.dumps(document)
def search(): seldom.findall(data)

def spend(function, ns):
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        function()

begin = time.thread_time_ns()
for _ in range(3):
    gc.collect()
once = (time.thread_time_ns() - begin) // 3
for _ in range(max(10, 150000000 // once)):
    gc.collect()
    spend(globals()["hot_" + sys.argv[1]], 5 * once)
    for other in order, blake, write, search:
        spend(other, 8 * once // 5)
"""


class First(Case):
    def test_the_larger_cause_leads_and_not_the_collections_of_garbage(self):
        script = self.path("collects.py")
        with open(script, "w", encoding="ascii") as file:
            file.write(COLLECTS)
        for kind in ("hash", "zlib", "loop"):
            with self.subTest(kind=kind):
                done = self.profile_run([sys.executable, script, kind], timeout=600)
                self.assertEqual(done.status, 0, done.err)
                report = json.loads(self.verb("report", "--json", done.profile).stdout)
                said = {finding["id"]: finding for finding in report["findings"]}
                self.assertIn("PY-GC", said, done.report)
                self.assertTrue(5 < said["PY-GC"]["value"] < 20, said["PY-GC"])
                self.assertIn("hot_" + kind, report["verdict"]["sentence"], done.report)
                self.assertNotIn("garbage", report["verdict"]["sentence"])


class Explain(Case):
    def test_every_rule_is_explained(self):
        listed = self.verb("explain").stdout.decode()
        rules = re.findall(r"^  ([A-Z][A-Z0-9-]+) ", listed, re.M)
        self.assertGreater(len(rules), 5)
        for rule in rules:
            done = self.verb("explain", rule.lower())
            self.assertEqual(done.returncode, 0)
            text = done.stdout.decode()
            self.assertTrue(text.startswith(rule), text)
            for part in ("measures", "says so", "limit by", "asks", "why", "do", "change"):
                self.assertRegex(text, rf"(?m)^  {part}  ", rule)

    def test_an_unknown_rule(self):
        done = self.verb("explain", "NO-RULE")
        self.assertEqual(done.returncode, 1)
        self.assert_clean_message(done, "NO-RULE")


if __name__ == "__main__":
    main()
