# SPDX-License-Identifier: MIT
"""What few lines say of a run: SARIF for code hosts, a comment of a pull request, a digest for chats.

SARIF_SCHEMA names the standard's own schema of SARIF 2.1.0, where that is at hand; without it the files
are held against the parts of it that tests/export/sarif.schema.json has.
"""
import gzip
import html
import json
import os
import re
import sys
import urllib.parse

from harness import Case, main

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMA = os.path.join(HERE, "..", "export", "sarif.schema.json")
DIGEST_BYTES = 4096
COMMENT_LINES = 60

NAPS = """import time


def nap():
    time.sleep(%s)


def main():
    nap()
    sum(range(2000000))


main()
"""
SEARCH = """def search(all):
    return sum(1 for i in range(12000) if i in all)


search(list(range(6000)))
"""
# Python takes any name for a function, and any for a file.
HOSTILE_NAME = "x*y* `z` | <img src=x> @all #1 https://e.vil [a](b) $y$ :fire: " + 300 * "L"
HOSTILE = """import time
def nap():
    time.sleep(0.4)
names = {key: %r for key in ("co_name", "co_qualname") if hasattr(nap.__code__, key)}
nap.__code__ = nap.__code__.replace(**names)
nap()
"""


def load_strictly(data):
    def unique(pairs):
        keys = [key for key, _ in pairs]
        assert len(keys) == len(set(keys)), f"keys twice: {keys}"
        return dict(pairs)

    def constant(word):
        raise ValueError(f"{word} is no JSON")
    return json.loads(data.decode("utf-8"), object_pairs_hook=unique, parse_constant=constant)


class Summaries(Case):
    def setUp(self):
        super().setUp()
        self.need_python_names()

    def need_python_names(self):
        if sys.version_info < (3, 8):
            self.skipTest("this Python cannot rename functions")

    def record(self, text, *arguments, name="nap.py", kept="p.bneck", directory=None):
        where = directory or self.work
        script = os.path.join(where, name)
        with open(script, "w", encoding="utf-8") as file:
            file.write(text)
        done = self.profile_run([sys.executable, name, *arguments], cwd=where)
        self.assertEqual(done.status, 0, done.err)
        place = self.path(kept)
        os.rename(done.profile, place)
        return place

    def export(self, form, *options):
        done = self.verb("report", "--export", form, *options)
        self.assertEqual(done.returncode, 0, f"{form} {options}: {done.stderr.decode()}")
        return done.stdout

    def nap(self, seconds="0.4", **more):
        return self.record(NAPS % seconds, **more)


class Sarif(Summaries):
    def document(self, profile, *options):
        document = load_strictly(self.export("sarif", *options, profile))
        self.check(document)
        return document["runs"][0]

    def check(self, document):
        """Against our schema and, where it is, the standard's."""
        run = document["runs"][0]
        rules = run["tool"]["driver"]["rules"]
        for result in run["results"]:
            self.assertEqual(rules[result["ruleIndex"]]["id"], result["ruleId"])
            # GitHub refuses the whole file otherwise ("locationFromSarifResult: expected at least one location").
            self.assertTrue(result["locations"])
            for place in result["locations"] + result.get("relatedLocations", []):
                self.assertIn("uri", place["physicalLocation"]["artifactLocation"])
        for notice in run["invocations"][0]["toolExecutionNotifications"]:
            self.assertEqual(rules[notice["associatedRule"]["index"]]["id"], notice["associatedRule"]["id"])
        try:
            import jsonschema
        except ImportError:
            self.skipTest("python3-jsonschema is not installed: SARIF is not held against a schema")
        with open(SCHEMA, encoding="utf-8") as file:
            jsonschema.validate(document, json.load(file))
        if os.environ.get("SARIF_SCHEMA"):
            with open(os.environ["SARIF_SCHEMA"], encoding="utf-8") as file:
                jsonschema.Draft4Validator(json.load(file)).validate(document)

    def finding(self, run, rule="IO-SLEEP"):
        found = [result for result in run["results"] if result["ruleId"] == rule]
        self.assertEqual(len(found), 1, [result["ruleId"] for result in run["results"]])
        return found[0]

    def test_the_standards_own_schema(self):
        if not os.environ.get("SARIF_SCHEMA"):
            self.skipTest("SARIF_SCHEMA does not name the schema of SARIF 2.1.0")
        self.document(self.nap())

    def test_a_finding_has_a_place_a_price_and_help(self):
        run = self.document(self.nap())
        result = self.finding(run)
        place = result["locations"][0]["physicalLocation"]
        self.assertEqual(place["artifactLocation"], {"uri": "nap.py", "uriBaseId": "SRCROOT"})
        self.assertEqual(place["region"]["startLine"], 5)
        root = run["originalUriBaseIds"]["SRCROOT"]["uri"]
        self.assertEqual(os.path.realpath(urllib.parse.urlparse(root).path),
                         os.path.realpath(self.work))
        self.assertEqual(result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"], "nap")
        self.assertEqual(result["level"], "warning")
        self.assertAlmostEqual(result["properties"]["seconds"], 0.4, delta=0.3)
        self.assertGreater(result["properties"]["share"], 0.1)
        low, high = result["properties"]["changeSaves"]
        self.assertTrue(0 < low <= result["properties"]["seconds"] <= high, result)
        self.assertEqual(result["properties"]["unit"], "percent")
        rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
        for words in (rule["fullDescription"]["text"], "costs"):
            self.assertIn(words, result["message"]["text"])
        for words in ("Measures: ", "Why it matters: ", "What to do: ", "bottleneck explain IO-SLEEP"):
            self.assertIn(words, rule["help"]["text"])

    def test_a_price_that_samples_found_has_an_interval(self):
        run = self.document(self.record(SEARCH))
        found = [r["properties"] for r in run["results"] if "interval" in r["properties"]]
        if not found:
            self.skipTest("this Python's search of a list is not seen")
        for price in found:
            low, high = price["interval"]
            self.assertLess(low, price["seconds"])
            self.assertGreater(high, price["seconds"])

    def test_it_is_what_the_report_finds(self):
        profile = self.nap()
        report = json.loads(self.verb("report", "--json", profile).stdout)
        run = self.document(profile)
        wanted = [f for f in report["findings"] if not f["covered_by"]]
        notices = run["invocations"][0]["toolExecutionNotifications"]
        self.assertEqual([r["ruleId"] for r in run["results"]], [f["id"] for f in wanted if f["file"]])
        self.assertEqual([n["associatedRule"]["id"] for n in notices],
                         [f["id"] for f in wanted if not f["file"]])
        self.assertEqual([f["id"] for f in wanted], [r["id"] for r in run["tool"]["driver"]["rules"]])
        self.assertEqual(run["properties"]["verdict"], report["verdict"]["sentence"])

    def test_fingerprints_stay_from_run_to_run_and_from_checkout_to_checkout(self):
        other = self.make_directory("other")
        first = self.finding(self.document(self.nap()))
        shifted = self.finding(self.document(self.record(
            "# A line more.\n" + NAPS % "0.6", directory=other, kept="q.bneck")))
        self.assertEqual(first["partialFingerprints"], shifted["partialFingerprints"])
        kinds = {self.document(self.path(kept))["automationDetails"]["id"]
                 for kept in ("p.bneck", "q.bneck")}
        self.assertEqual(len(kinds), 1)
        self.assertNotEqual(first["locations"], shifted["locations"])
        elsewhere = self.finding(self.document(self.nap(name="doze.py", kept="r.bneck")))
        self.assertNotEqual(first["partialFingerprints"], elsewhere["partialFingerprints"])

    def test_findings_without_a_place_in_the_source_are_notifications(self):
        # Each process is too short to be sampled: what is found is of the run.
        run = self.document(self.profile_run(["sh", "-c", "sleep 0.6; for i in 1 2 3; do /bin/true; done"]).profile)
        notices = run["invocations"][0]["toolExecutionNotifications"]
        self.assertTrue(notices, run["results"])
        for notice in notices:
            self.assertFalse([p for p in notice["locations"] if "physicalLocation" in p])
            self.assertIn("threshold", notice["properties"])

    def test_names_are_escaped_in_uris(self):
        name = "a b#?%\u00fc.py"
        result = self.finding(self.document(self.nap(name=name)))
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        self.assertEqual(uri, "a%20b%23%3F%25%C3%BC.py")
        self.assertEqual(urllib.parse.unquote(uri), name)

    def test_what_lies_elsewhere_is_absolute(self):
        other = self.make_directory("other")
        script = os.path.join(other, "nap.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(NAPS % "0.4")
        done = self.profile_run([sys.executable, script])
        result = self.finding(self.document(done.profile))
        self.assertEqual(result["locations"][0]["physicalLocation"]["artifactLocation"],
                         {"uri": "file://" + script})

    def test_how_the_program_ended(self):
        done = self.profile_run(["sh", "-c", "exit 3"])
        invocation = self.document(done.profile)["invocations"][0]
        self.assertEqual((invocation["exitCode"], invocation["executionSuccessful"]), (3, False))
        self.assertEqual(invocation["commandLine"], "sh -c 'exit 3'")
        done = self.profile_run(["sh", "-c", "kill -9 $$"])
        invocation = self.document(done.profile)["invocations"][0]
        self.assertEqual((invocation["exitSignalNumber"], invocation["executionSuccessful"]),
                         (9, False))

    def test_a_part_of_the_run_is_said(self):
        run = self.document(self.nap(), "--from", "0.01")
        self.assertIn("0.010", run["properties"]["shown"])

    def test_measurements_have_no_findings(self):
        kept = self.path("bench.bneck")
        self.verb("bench", "--runs", "3", "-o", kept, "true")
        self.assertEqual(self.document(kept)["results"], [])


class Markdown(Summaries):
    def comment(self, profile, *options):
        text = self.export("markdown", *options, profile).decode("utf-8")
        self.assertLessEqual(len(text.splitlines()), COMMENT_LINES, text)
        return text

    def test_the_verdict_the_findings_and_the_hotspots(self):
        profile = self.nap()
        report = json.loads(self.verb("report", "--json", profile).stdout)
        text = self.comment(profile)
        self.assertTrue(text.startswith("### bottleneck: "))
        self.assertEqual(html.unescape(re.sub(r"\\(.)", r"\1", text.splitlines()[0])),
                         "### bottleneck: " + report["verdict"]["sentence"])
        self.assertRegex(text, r"(?m)^- \*\*IO-SLEEP\*\* \(warning\), costs \d+ ms( ±[\d.]+ [mµ]?s)?, \d+ % of wall"
                               r" time( \(excluding waits for a CPU\))?, a change there saves ([\d.]+ m?s to|at most) [\d.]+ m?s at <code>nap</code>, <code>nap\.py:5</code>: ")
        table = text[text.index("#### Hotspots"):]
        self.assertRegex(table, r"(?m)^\| ---: \|")
        self.assertIn("<code>nap.py:5</code>", table)
        self.assertNotIn("#### Compared", text)

    def test_what_has_changed_with_intervals(self):
        base, profile = self.nap("0.3"), self.nap("1.2", kept="q.bneck")
        text = self.comment(profile, "--base", base)
        self.assertRegex(text, r"(?m)^\*\*slower\*\*: .*wall time.* \(95 % interval \+.* to \+.*\)$")
        self.assertIn("\nIn short: NEW is ", text)
        self.assertRegex(text, r"(?m)^\|.* slower \|")

    def test_inconclusive_is_a_word_of_its_own(self):
        profile = self.nap()
        text = self.comment(profile, "--base", profile)
        self.assertNotIn("unsure", text)
        rows = re.findall(r"(?m)^\| .* \| (same|inconclusive) \| <code>", text)
        self.assertIn("inconclusive", rows, text)
        self.assertRegex(text, r"(?m)^\*\*(same|inconclusive)\*\*: .* interval -.* to \+")

    def test_it_says_what_was_cut(self):
        self.assertIn("0.010 to ", self.comment(self.nap(), "--from", "0.01"))

    def test_foreign_text_makes_no_markup(self):
        profile = self.record(HOSTILE % HOSTILE_NAME, "@everyone", "<script>", "|`*_", "a\nb",
                              name="a|b <b>@team #12 www.e.vil.py")
        for options in ((), ("--base", profile)):
            text = self.comment(profile, *options)
            self.assertNotRegex(text, r"<(?!/?code>)")
            self.assertNotRegex(text, r"@\w|://|www\.\w")
            prose = re.sub(r"<code>.*?</code>", "", text)
            self.assertIn("e.vil", prose)
            self.assertNotRegex(prose, r"(?<!&)#\d|:fire:")
            self.assertNotRegex(re.sub(r"\\.", "", text), r"`|\]\(|\$")
            widths = set()
            for line in text.splitlines():
                if line.startswith("|"):
                    widths.add(line.count("|"))
                else:
                    self.assertRegex(line, r"^(|#+ .*|- \*\*.*|\*\*.*|- and \d.*|[A-Z].*)$")
                    if widths:
                        self.assertEqual(len(widths), 1, text)
                    widths = set()

    def test_parts_of_runs_are_compared_as_diff_does(self):
        base, profile = self.nap("0.3"), self.nap("1.2", kept="q.bneck")
        text = self.comment(profile, "--from", "0.2", "--base", base)
        sentence = self.verb("diff", "-q", "--from", "0.2", base, profile).stdout.decode()
        self.assertIn("0.200 to ", text)
        said = re.sub(r"\s+", " ", sentence.split("  BASE  ")[0]).strip()
        said = said[len("bottleneck diff: "):]
        self.assertIn(said, re.sub(r"\\(.)", r"\1", html.unescape(text)))

    def test_other_formats_do_not_compare(self):
        profile = self.nap()
        done = self.verb("report", "--export", "sarif", "--base", profile, profile)
        self.assert_clean_message(done, "--base", "markdown")

    def test_measurements_are_refused(self):
        kept = self.path("bench.bneck")
        self.verb("bench", "--runs", "3", "-o", kept, "true")
        for form in ("markdown", "digest"):
            self.assert_clean_message(self.verb("report", "--export", form, kept), form)


class Digest(Summaries):
    def text(self, profile, *options):
        data = self.export("digest", *options, profile)
        self.assertLessEqual(len(data), DIGEST_BYTES)
        return data.decode("utf-8")

    def document(self, profile, *options):
        place = self.path("digest.json")
        self.assertEqual(self.export(f"digest={place}", *options, profile), b"")
        with open(place, "rb") as file:
            data = file.read()
        self.assertLessEqual(len(data), DIGEST_BYTES)
        return load_strictly(data)

    def test_causes_lines_and_commands(self):
        profile = self.nap()
        text = self.text(profile)
        self.assertRegex(text, r"(?m)^1\. IO-SLEEP \(warning\), costs \d+ ms( ±[\d.]+ [mµ]?s)?, \d+ % of wall"
                               r" time( \(excluding waits for a CPU\))?, a change there saves ([\d.]+ m?s to|at most) [\d.]+ m?s, in nap, nap\.py:5$")
        self.assertRegex(text, r"(?m)^    4\| def nap\(\):\n  > 5\|     time\.sleep\(0\.4\)\n    6\| ")
        self.assertRegex(text, r"(?m)^nap\.py:5 \d+ ms, [\d.]+ ±[\d.]+ %$")
        self.assertIn("how far to trust this", text)
        command = re.search(r"(?m)^next commands:\nbottleneck (.*?) +#", text)[1]
        done = self.verb(*command.split())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"IO-SLEEP", done.stdout)

    def test_the_same_as_json(self):
        profile = self.nap()
        document = self.document(profile)
        self.assertEqual((document["schema"], document["schema_version"]), ("bottleneck-digest", 1))
        cause = document["causes"][0]
        self.assertEqual((cause["id"], cause["file"], cause["line"], cause["function"]),
                         ("IO-SLEEP", "nap.py", 5, "nap"))
        self.assertAlmostEqual(cause["costs_s"], 0.4, delta=0.3)
        low, high = cause["change_saves_s"]
        self.assertTrue(0 < low <= cause["costs_s"] <= high, cause)
        line = next(line for line in document["lines"] if line["file"] == "nap.py")
        source = line["source"]
        self.assertEqual(source["lines"][line["line"] - source["first_line"]].strip(),
                         "time.sleep(0.4)")
        self.assertTrue(document["uncertainty"])
        self.assertTrue(all(c["command"].startswith("bottleneck ") for c in document["commands"]))
        self.assertNotIn("change", document)

    def test_what_has_changed(self):
        base, profile = self.nap("0.3"), self.nap("1.2", kept="q.bneck")
        change = self.document(profile, "--base", base)["change"]
        self.assertEqual(change["result"], "slower")
        self.assertGreater(change["interval_s"][0], 0)
        self.assertIn("compared with the base: slower; ", self.text(profile, "--base", base))
        change = self.document(profile, "--base", profile)["change"]
        self.assertIn(change["result"], ("same", "inconclusive"))
        self.assertLess(change["interval_s"][0], 0)

    def test_whatever_the_names_are_it_fits(self):
        quotes = 2000 * '"'
        profile = self.record(HOSTILE % (HOSTILE_NAME + quotes), quotes, 3000 * "\u00fc",
                              name='a"b' + 100 * "\u00e4" + ".py")
        self.assertIn("IO-SLEEP", self.text(profile))
        self.assertEqual(self.document(profile)["causes"][0]["id"], "IO-SLEEP")
        self.assertLessEqual(len(self.text(profile, "--base", profile).encode()), DIGEST_BYTES)
        self.assertIn("change", self.document(profile, "--base", profile))

    def test_a_source_that_was_changed_since_is_not_shown(self):
        profile = self.nap()
        with open(os.path.join(self.work, "nap.py"), "a", encoding="utf-8") as file:
            file.write("# Another text.\n")
        self.assertNotIn("time.sleep(0.4)", self.text(profile))

    def test_compressed(self):
        profile, place = self.nap(), self.path("d.json.gz")
        self.export(f"digest={place}", profile)
        with gzip.open(place) as file:
            self.assertEqual(load_strictly(file.read())["schema"], "bottleneck-digest")


if __name__ == "__main__":
    main()
