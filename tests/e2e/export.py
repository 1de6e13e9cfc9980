# SPDX-License-Identifier: MIT
"""Profiles in the formats of other programs: each is read back, and sums to what the report does."""
import collections
import csv
import gzip
import io
import json
import os
import re
import shutil
import stat
import sys

from harness import Case, main, need, target

NS_PER_MS = 1_000_000


def no_constant(word):
    raise ValueError(f"{word} is no JSON")


def strict_json(data):
    """Parses DATA as the standard has it: no NaN, no keys twice, UTF-8."""
    def unique(pairs):
        keys = [key for key, _ in pairs]
        if len(keys) != len(set(keys)):
            raise ValueError(f"keys twice: {keys}")
        return dict(pairs)
    return json.loads(data.decode("utf-8"), parse_constant=no_constant, object_pairs_hook=unique)


def collapsed(data):
    """[(frames, ms)], as flamegraph.pl takes the lines apart."""
    stacks = []
    for line in data.decode("utf-8").splitlines():
        match = re.fullmatch(r"(.+) (\d+)", line)
        if not match:
            raise ValueError(f"no stack: {line!r}")
        stacks.append((match[1].split(";"), int(match[2])))
    return stacks


def all_self(row):
    """All time of ROW, with what the report leaves out."""
    return row["self_on_cpu_ns"] + sum(ns for name, ns in row.items()
                                       if name.startswith("self_wait_"))


class Export(Case):
    data = None

    def setUp(self):
        super().setUp()
        if Export.data is None:
            done = self.profile_run([target("threads")])
            self.assertEqual(done.status, 0, done.err)
            with open(done.profile, "rb") as file:
                Export.data = file.read()
        self.file = self.path("p.bneck")
        with open(self.file, "wb") as file:
            file.write(Export.data)

    def export(self, form, *options, profile=None):
        done = self.verb("report", "--export", form, *options, profile or self.file)
        self.assertEqual(done.returncode, 0, f"{form} {options}: {done.stderr.decode()}")
        self.assertEqual(done.stderr, b"")
        return done.stdout


def speedscope_sums(document):
    """{(tid, what): sum}, and that each profile is in order."""
    sums = {}
    frames = document["shared"]["frames"]
    for profile in document["profiles"]:
        assert len(profile["samples"]) == len(profile["weights"])
        assert profile["endValue"] == sum(profile["weights"])
        assert all(weight > 0 for weight in profile["weights"])
        assert all(0 <= i < len(frames) for sample in profile["samples"] for i in sample)
        sums[profile["name"]] = sum(profile["weights"])
    return sums


class Speedscope(Export):
    def document(self, *options):
        return strict_json(self.export("speedscope", *options))

    def total(self, *options):
        return sum(speedscope_sums(self.document(*options)).values())

    def test_it_is_what_speedscope_asks_for(self):
        document = self.document()
        self.assertEqual(document["$schema"],
                         "https://www.speedscope.app/file-format-schema.json")
        for profile in document["profiles"]:
            self.assertEqual(profile["type"], "sampled")
            self.assertIn(profile["unit"], ("nanoseconds", "bytes"))
            self.assertEqual(profile["startValue"], 0)
        for frame in document["shared"]["frames"]:
            self.assertTrue(frame["name"])
            self.assertLessEqual(set(frame), {"name", "file", "line"})

    def test_every_thread_is_a_profile_of_its_own(self):
        names = " ".join(speedscope_sums(self.document("--on-cpu")))
        text = self.verb("report", "--by", "thread", self.file).stdout.decode()
        tids = re.findall(r" (\d+)$", text.split("limits")[0], re.M)
        self.assertGreater(len(tids), 1)
        for tid in tids:
            self.assertRegex(names, rf"\b{tid}\b")

    def test_parts_sum_to_the_whole(self):
        whole = self.total()
        self.assertEqual(self.total("--on-cpu") + self.total("--off-cpu"), whole)
        self.assertEqual(self.total("--to", "0.1") + self.total("--from", "0.1"), whole)

    def test_the_file_says_what_was_cut(self):
        self.assertNotIn("only", self.document()["name"])
        self.assertIn("only time on a CPU", self.document("--on-cpu")["name"])
        self.assertIn("0.100 to", self.document("--from", "0.1")["name"])


class Collapsed(Export):
    def test_it_sums_to_what_speedscope_has(self):
        for options in ((), ("--on-cpu",), ("--off-cpu",), ("--from", "0.1")):
            stacks = collapsed(self.export("collapsed", *options))
            sums = speedscope_sums(strict_json(self.export("speedscope", *options)))
            ns = sum(sum_ for name, sum_ in sums.items() if "CPU" in name or "waiting" in name)
            self.assertEqual(sum(ms for _, ms in stacks), (ns + NS_PER_MS // 2) // NS_PER_MS)

    def test_waiting_is_a_frame(self):
        for frames, _ in collapsed(self.export("collapsed", "--off-cpu")):
            self.assertRegex(frames[-1], r"^\[waiting: .*\]$")
        for frames, _ in collapsed(self.export("collapsed", "--on-cpu")):
            self.assertNotIn("[waiting", frames[-1])

    def test_the_first_frame_says_what_was_cut(self):
        for frames, _ in collapsed(self.export("collapsed", "--on-cpu")):
            self.assertEqual(frames[0], "[only time on a CPU]")

    def test_shares_are_those_of_the_report(self):
        stacks = collapsed(self.export("collapsed", "--on-cpu"))
        whole = sum(ms for _, ms in stacks)
        text = self.verb("report", "--on-cpu", "--by", "function", self.file).stdout.decode()
        rows = re.findall(r"^ +[\d.]+ m?s +([\d.]+) .*? (\w+) +threads\.c:\d+$", text, re.M)
        self.assertTrue(rows, text)
        for share, name in rows[:3]:
            own = sum(ms for frames, ms in stacks if frames[-1].startswith(name + " "))
            self.assertAlmostEqual(100 * own / whole, float(share), delta=1.5)


class Json(Export):
    def test_tables_stand_behind_the_report(self):
        document = strict_json(self.export("json"))
        report = strict_json(self.verb("report", "--json", self.file).stdout)
        self.assertEqual(list(document)[:len(report)], list(report))
        self.assertEqual({key: document[key] for key in report}, report)
        self.assertIsNone(document["shown"])

    def test_it_sums_to_what_speedscope_has(self):
        for options in ((), ("--on-cpu",), ("--from", "0.1")):
            tables = strict_json(self.export("json", *options))["tables"]
            sums = speedscope_sums(strict_json(self.export("speedscope", *options)))
            ns = sum(sum_ for name, sum_ in sums.items() if "CPU" in name or "waiting" in name)
            for table in ("functions", "lines", "modules", "files"):
                shown = [row["self_on_cpu_ns"] if "--on-cpu" in options else all_self(row)
                         for row in tables[table]]
                self.assertEqual(sum(shown), ns, table)

    def test_the_account_sums_to_the_life_of_the_thread(self):
        row = strict_json(self.export("json"))["tables"]["account"][0]
        parts = sum(ns for name, ns in row.items()
                    if name.startswith("wait_") or name == "on_cpu_ns")
        self.assertEqual(parts, row["lifetime_ns"])

    def test_what_is_not_known_is_null(self):
        def walk(value):
            self.assertNotEqual(value, "")
            for inner in value.values() if isinstance(value, dict) else \
                    value if isinstance(value, list) else ():
                walk(inner)
        walk(strict_json(self.export("json")))

    def test_rows_of_a_table_have_the_same_columns(self):
        for name, rows in strict_json(self.export("json"))["tables"].items():
            self.assertEqual({tuple(row) for row in rows[1:]} - {tuple(rows[0])} if rows else set(),
                             set(), name)

    def test_one_table_alone(self):
        tables = strict_json(self.export("json", "--table", "threads"))["tables"]
        self.assertEqual(list(tables), ["threads"])

    def test_it_says_what_was_cut(self):
        self.assertIn("on a CPU", strict_json(self.export("json", "--on-cpu"))["shown"])


def csv_rows(data):
    """The rows of RFC 4180, the first being the names."""
    text = data.decode("utf-8")
    assert text.endswith("\r\n")
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


class Csv(Export):
    def tables(self, *options):
        place = self.path("tables")
        self.assertEqual(self.export(f"csv={place}", *options), b"")
        tables = {}
        for name in os.listdir(place):
            with open(os.path.join(place, name), "rb") as file:
                tables[name.removesuffix(".csv")] = csv_rows(file.read())
        return tables

    def test_what_a_spreadsheet_would_compute_is_text(self):
        for name in ("=cmd|'x'!A1", "+1", "-1", "@SUM(1)", "\uff1d1", '=a","b'):
            program = self.path(name)
            os.symlink(shutil.which("sleep"), program)
            done = self.profile_run([program, "0.05"])
            self.assertEqual(done.status, 0, done.err)
            rows = csv_rows(self.export("csv", "--table", "processes", profile=done.profile))
            names = [cell for row in rows for cell in row if name in cell]
            self.assertTrue(names, rows)
            for row in rows[1:]:
                for cell in row:
                    self.assertFalse(cell.startswith(("=", "@", "\uff1d")), cell)
                    if cell.startswith(("+", "-")):
                        float(cell)
            os.unlink(done.profile)

    def test_they_are_the_tables_of_json(self):
        tables = self.tables()
        document = strict_json(self.export("json"))["tables"]
        self.assertEqual(set(tables), set(document))
        for name, rows in document.items():
            lines = tables[name]
            self.assertEqual(len(lines), len(rows) + 1, name)
            for line, row in zip(lines[1:], rows):
                self.assertEqual(lines[0], list(row), name)
                for text, value in zip(line, row.values()):
                    told = {None: "", True: "true", False: "false"}.get(value, value) \
                        if value is None or isinstance(value, bool) else value
                    self.assertEqual(float(text) if isinstance(told, (int, float)) else text,
                                     told, name)

    def test_one_table_is_one_file(self):
        place = self.path("one.csv")
        self.export(f"csv={place}", "--table", "lines")
        with open(place, "rb") as file:
            self.assertEqual(file.read(), self.export("csv", "--table", "lines"))

    def test_the_manual_has_all_tables_and_columns(self):
        with open(os.path.join(os.path.dirname(__file__), "..", "..", "man",
                               "bottleneck-json.5"), encoding="utf-8") as file:
            page = file.read().split(".Ss Tables")[1].split(".Sh SEE")[0]
        told, items = {}, re.split(r"^\.It Cm (\w+)$", page, flags=re.M)[1:]
        for name, text in zip(items[::2], items[1::2]):
            columns = text.split(".Pp\n")[1]
            other = re.fullmatch(r"Columns as of\n\.Cm (\w+) \.\n", columns.split(".El")[0])
            told[name] = told[other[1]] if other else \
                columns.split(".El")[0].strip().rstrip(".").replace(",\n", ", ").split(", ")
        self.assertEqual(told, {name: lines[0] for name, lines in self.tables().items()})

    def test_wrong_words(self):
        for words, message in ((["--export", "csv"], "--table"),
                               (["--export", "csv", "--table", "nothing"], "nothing"),
                               (["--export", "pprof", "--table", "lines"], "--table"),
                               (["--table", "lines"], "--export"),
                               (["--export", "csv=/dev/null"], "Not a directory")):
            self.assert_clean_message(self.verb("report", *words, self.file), message)


class Measured(Export):
    """Profiles of bench and of count have tables of their own."""

    def tables(self, profile):
        """Those of JSON, which those of CSV equal."""
        tables = strict_json(self.export("json", profile=profile))["tables"]
        place = self.path("tables")
        self.export(f"csv={place}", profile=profile)
        self.assertEqual({name.removesuffix(".csv") for name in os.listdir(place)}, set(tables))
        for name, rows in tables.items():
            with open(os.path.join(place, f"{name}.csv"), "rb") as file:
                lines = csv_rows(file.read())
            self.assertEqual(len(lines), len(rows) + 1, name)
            if rows:
                self.assertEqual(lines[0], list(rows[0]), name)
        return tables

    def test_repeated_runs(self):
        kept = self.path("bench.bneck")
        done = self.verb("bench", "--runs", "7", "--vs", "sleep 0.02", "-o", kept, "--json",
                         "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        shown, tables = strict_json(done.stdout), self.tables(kept)
        whole = strict_json(self.export("json", profile=kept))
        self.assertEqual({key: whole[key] for key in shown}, shown)
        self.assertEqual(len(tables["repeats"]), 14)
        self.assertEqual({row["exit_status"] for row in tables["repeats"]}, {0})
        for side in (1, 2):
            for row in (r for r in tables["repeat_spreads"] if r["side"] == side):
                column = f"{row['metric']}_{row['unit']}"
                values = [run[column] for run in tables["repeats"] if run["side"] == side]
                self.assertEqual(sorted(values)[3], row["median"])
                self.assertEqual((min(values), max(values)), (row["min"], row["max"]))
                self.assertEqual(row["iqr"], row["q3"] - row["q1"])
                self.assertEqual(values, shown["sides"][side - 1][column]["values"])
        row = tables["repeat_ratios"][0]
        self.assertEqual((row["base"], row["other"], row["pairs"]), (1, 2, 7))
        self.assertGreater(row["median"], 1)
        self.assertEqual(tables["counts"], [])

    def test_counts_sum_to_what_was_executed(self):
        need("valgrind")
        kept = self.path("count.bneck")
        done = self.verb("count", "-o", kept, "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        tables = self.tables(kept)
        whole = tables["count_totals"][0]["instructions"]
        self.assertGreater(whole, 1000)
        for table in ("counts", "count_lines"):
            self.assertEqual(sum(row["self_instructions"] for row in tables[table]), whole, table)

    def test_other_formats_hold_nothing(self):
        kept = self.path("bench.bneck")
        self.verb("bench", "--runs", "3", "-o", kept, "true")
        self.assertEqual(self.export("collapsed", profile=kept), b"")
        self.assertEqual(Profile(self.export("pprof", profile=kept)).samples, [])
        self.assert_clean_message(self.verb("report", "--export", "html", kept), "html")


def messages(data):
    """[(field, value)] of a message of protocol buffers: numbers, or bytes."""
    at, found = 0, []

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value
    while at < len(data):
        key = number()
        value = number()
        if key & 7 == 2:
            assert at + value <= len(data)
            value, at = data[at:at + value], at + value
        else:
            assert key & 7 == 0
        found.append((key >> 3, value))
    return found


def packed(data):
    """The numbers of a packed field."""
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            values.append(value)
            value = shift = 0
    assert not shift
    return values


class Profile:
    """A profile.proto, taken apart."""

    def __init__(self, data):
        fields = messages(gzip.decompress(data))
        self.texts = [value.decode("utf-8") for field, value in fields if field == 6]
        self.types = [self.texts[dict(messages(value))[1]]
                      for field, value in fields if field == 1]
        self.functions = {f[1]: f for f in (dict(messages(v)) for n, v in fields if n == 5)}
        self.locations = {f[1]: f for f in (dict(messages(v)) for n, v in fields if n == 4)}
        self.comments = [self.texts[value] for field, value in fields if field == 13]
        self.samples = []
        for field, value in fields:
            if field == 2:
                parts = messages(value)
                labels = [dict(messages(v)) for n, v in parts if n == 3]
                self.samples.append((
                    packed(dict(parts)[1]), dict(zip(self.types, packed(dict(parts)[2]))),
                    {self.texts[l[1]]: self.texts[l[2]] if 2 in l else l[3] for l in labels}))

    def names(self, locations):
        lines = (dict(messages(self.locations[at][4])) for at in locations)
        return [self.texts[self.functions[line[1]][2]] for line in lines]

    def sum(self, kind):
        return sum(values[kind] for _, values, _ in self.samples)


class Pprof(Export):
    def test_it_sums_to_what_speedscope_has(self):
        for options in ((), ("--on-cpu",), ("--from", "0.1")):
            profile = Profile(self.export("pprof", *options))
            sums = speedscope_sums(strict_json(self.export("speedscope", *options)))
            on_cpu = sum(ns for name, ns in sums.items() if name.endswith("on a CPU"))
            waiting = sum(ns for name, ns in sums.items() if name.endswith("waiting"))
            self.assertEqual(profile.sum("cpu"), on_cpu)
            self.assertEqual(profile.sum("off_cpu"), waiting)
            self.assertEqual(profile.sum("wall"), on_cpu + waiting)

    def test_the_value_that_readers_show_is_last(self):
        self.assertEqual(Profile(self.export("pprof")).types,
                         ["samples", "cpu", "off_cpu", "gpu", "alloc_space", "wall"])

    def test_all_numbers_mean_something(self):
        profile = Profile(self.export("pprof"))
        self.assertEqual(profile.texts[0], "")
        self.assertNotIn("", profile.texts[1:])
        self.assertEqual(len(profile.texts), len(set(profile.texts)))
        for locations, values, labels in profile.samples:
            self.assertEqual(len(values), 6)
            self.assertTrue(all(profile.names(locations)))
            self.assertLessEqual({"thread", "tid", "process", "pid"}, set(labels))
            self.assertEqual("waiting" in labels, values["off_cpu"] > 0)

    def test_stacks_are_those_of_the_program(self):
        profile = Profile(self.export("pprof", "--on-cpu"))
        whole = collections.Counter()
        for locations, values, _ in profile.samples:
            for name in set(profile.names(locations)):
                whole[name] += values["wall"]
        functions = strict_json(self.export("json", "--on-cpu"))["tables"]["functions"]
        for row in functions:
            if sum(other["name"] == row["name"] for other in functions) == 1:
                self.assertEqual(whole[row["name"]], row["total_ns"], row["name"])

    def test_phases_are_those_of_the_warm_up(self):
        done = self.profile_run([target("steps"), "cold"])
        self.assertEqual(done.status, 0, done.err)
        self.file = done.profile
        steady = self.verb("report", "--phase", "steady", self.file).stdout.decode()
        if "no warm-up was found" in steady:
            self.skipTest("the machine is too busy for a warm-up to show")
        sums = collections.Counter()
        for _, values, labels in Profile(self.export("pprof")).samples:
            sums[labels.get("phase")] += values["wall"]
        self.assertEqual(sums["steady"], Profile(self.export("pprof", "--phase",
                                                             "steady")).sum("wall"))
        self.assertGreater(sums["warmup"], 0)
        self.assertEqual(sums["warmup"] + sums["steady"], sum(
            map(all_self, strict_json(self.export("json"))["tables"]["functions"])))

    def test_a_comment_says_what_was_cut(self):
        self.assertIn("only time on a CPU", Profile(self.export("pprof", "--on-cpu")).comments)


class Callgrind(Export):
    def annotate(self, *options):
        """{function: (on a CPU, waiting)} as callgrind_annotate prints it, and the whole."""
        need("callgrind_annotate")
        place = self.path("callgrind.out")
        self.export(f"callgrind={place}", *options)
        done = self.bare(["callgrind_annotate", "--threshold=100", "--auto=no", "--show-percs=no",
                          "--inclusive=yes", place])
        self.assertEqual(done.returncode, 0, done.stderr)
        found, whole = collections.Counter(), None
        for line in done.stdout.decode().splitlines():
            match = re.match(r"\s*([\d,]+|\.)\s+([\d,]+|\.)\s+(\S.*)$", line)
            if not match:
                continue
            on_cpu = 0 if match[1] == "." else int(match[1].replace(",", ""))
            waiting = 0 if match[2] == "." else int(match[2].replace(",", ""))
            if match[3] == "PROGRAM TOTALS":
                whole = (on_cpu, waiting)
                continue
            # What a function has of its lines in a file that it includes is in its own row, too.
            if not match[3].endswith("]"):
                continue
            name = re.sub(r" \[.*\]$", "", match[3]).split(":")[-1]
            found[name, "on"] += on_cpu
            found[name, "off"] += waiting
        return found, whole

    def test_its_reader_finds_the_totals_of_the_report(self):
        for options in ((), ("--from", "0.1")):
            found, whole = self.annotate(*options)
            rows = strict_json(self.export("json", *options))["tables"]["functions"]
            waits = [sum(ns for name, ns in row.items() if name.startswith("self_wait_"))
                     for row in rows]
            self.assertEqual(whole, (sum(row["self_on_cpu_ns"] for row in rows), sum(waits)))
            for row in rows:
                if sum(other["name"] == row["name"] for other in rows) > 1 or ":" in row["name"]:
                    continue
                waits = sum(ns for name, ns in row.items() if name.startswith("total_wait_"))
                self.assertEqual((found[row["name"], "on"], found[row["name"], "off"]),
                                 (row["total_on_cpu_ns"], waits), row["name"])

    def test_functions_that_call_each_other_count_once(self):
        done = self.profile_run([target("mutual")])
        self.assertEqual(done.status, 0, done.err)
        self.file = done.profile
        self.test_its_reader_finds_the_totals_of_the_report()

    def test_it_says_what_was_cut(self):
        self.assertIn(b"only time on a CPU", self.export("callgrind", "--on-cpu"))


HOSTILE = """
import ctypes, sys, threading, time
evil = 'a;b' + chr(10) + '"c' + chr(92) + chr(1) + chr(27) + '[31m,</script>' + chr(13) + chr(0x202e)
def named(name, function):
    code = function.__code__
    names = {key: name for key in ('co_name', 'co_qualname') if hasattr(code, key)}
    return type(function)(code.replace(co_filename=name[:200], **names), globals())
def spin():
    end = time.process_time() + 0.15
    while time.process_time() < end:
        sum(range(2000))
def run():
    ctypes.CDLL(None).prctl(15, b'x;\\xff\\n\\"y')
    named(evil, spin)()
thread = threading.Thread(target=run)
thread.start()
thread.join()
named('L' * 100000, spin)()
"""


class Others(Export):
    """What is not the time of threads: memory, and GPUs where they are told of."""

    def sums(self, *options):
        """{what: (pprof's, speedscope's)}"""
        pprof = Profile(self.export("pprof", *options))
        sums = speedscope_sums(strict_json(self.export("speedscope", *options)))
        return {kind: (pprof.sum(kind), sum(sum_ for name, sum_ in sums.items() if word in name))
                for kind, word in (("gpu", "on GPUs"), ("alloc_space", "allocated"))}

    def test_allocated_bytes_are_those_of_the_table(self):
        done = self.profile_run([target("memory")])
        self.assertEqual(done.status, 0, done.err)
        self.file = done.profile
        rows = strict_json(self.export("json"))["tables"]["memory"]
        whole = sum(row["allocated_bytes"] for row in rows)
        if not whole:
            self.skipTest("no allocations were seen")
        self.assertEqual(self.sums()["alloc_space"], (whole, whole))

    def test_the_peak_of_one_process_is_told_from_that_of_all(self):
        script = ("import os, time\n"
                  "for _ in range(3):\n"
                  "    if not os.fork():\n"
                  "        kept = bytearray(80 << 20)\n"
                  "        time.sleep(1)\n"
                  "        os._exit(0)\n"
                  "for _ in range(3):\n"
                  "    os.wait()\n")
        done = self.profile_run([sys.executable, "-c", script])
        self.assertEqual(done.status, 0, done.err)
        self.file = done.profile
        report = " ".join(self.verb("report", "--sort", "mem", done.profile).stdout.decode().split())
        self.assertRegex(report, r"peak RSS of the largest process \d+ MB; all processes: ")
        self.assertRegex(report, r" RSS, sum .* peak \d+ MB at ")
        self.assertIn("sum: of all 4 processes at one moment", report)
        self.assertNotIn("peak memory", report)
        run = strict_json(self.export("json"))["run"]
        self.assertTrue(80 << 20 <= run["peak_rss_bytes"] < 240 << 20, run)
        self.assertGreaterEqual(run["all_processes_peak_rss_bytes"], 240 << 20)

    def test_gpu_time_is_that_of_the_works(self):
        if not os.path.exists(os.environ.get("FAKE", "")):
            self.skipTest("the fake GPU is not built")
        done = self.profile_run([os.path.join(os.environ["PROGRAMS"], "streams")],
                                env=self.environment(LD_LIBRARY_PATH=os.environ["FAKE"]))
        self.assertEqual(done.status, 0, done.err)
        self.file = done.profile
        for options in ((), ("--from", "0.03")):
            rows = strict_json(self.export("json", *options))["tables"]["gpu_work"]
            whole = sum(row["total_ns"] for row in rows)
            self.assertEqual(self.sums(*options)["gpu"], (whole, whole))

    def test_a_part_that_is_not_there_is_said(self):
        shown = strict_json(self.export("json", "--phase", "steady"))["shown"]
        text = self.verb("report", "--phase", "steady", self.file).stdout.decode()
        if "no warm-up was found" in text:
            self.assertIn("no warm-up was found", shown)


class Strange(Export):
    def check_all(self, profile):
        """Reads PROFILE in every format, whole; the sums in ns of each."""
        self.file = profile
        sums = speedscope_sums(strict_json(self.export("speedscope")))
        ns = sum(sum_ for name, sum_ in sums.items() if name.endswith(("CPU", "waiting")))
        tables = strict_json(self.export("json"))["tables"]
        self.assertEqual(sum(map(all_self, tables["functions"])), ns)
        self.assertEqual(sum(ms for _, ms in collapsed(self.export("collapsed"))),
                         (ns + NS_PER_MS // 2) // NS_PER_MS)
        self.assertEqual(strict_json(self.export("sarif"))["version"], "2.1.0")
        self.assertTrue(self.export("markdown").startswith(b"### bottleneck: "))
        self.assertLessEqual(len(self.export("digest")), 4096)
        pprof = Profile(self.export("pprof"))
        self.assertEqual(pprof.sum("wall") if pprof.samples else 0, ns)
        for table, rows in tables.items():
            lines = csv_rows(self.export("csv", "--table", table))
            self.assertEqual({len(line) for line in lines}, {len(lines[0])}, table)
            self.assertEqual(len(lines), len(rows) + 1, table)
        own = 0
        lines = iter(self.export("callgrind").decode("utf-8").split("\n"))
        for line in lines:
            self.assertRegex(line, r"^(\d+ \d+ \d+|[a-z]+[:=].*|# callgrind format|)$")
            if line.startswith("calls="):
                next(lines)
            elif re.match(r"\d", line):
                own += sum(map(int, line.split()[1:]))
        self.assertEqual(own, ns)
        return ns

    def test_hostile_names_stay_in_their_places(self):
        script = self.path("hostile.py")
        with open(script, "w", encoding="ascii") as file:
            file.write(HOSTILE)
        done = self.profile_run([sys.executable, script, 'x;"\n\udcff\\', "</script>"])
        self.assertEqual(done.status, 0, done.err)
        self.assertGreater(self.check_all(done.profile), 0)
        names = {row["name"] for row in
                 strict_json(self.export("json"))["tables"]["functions"]}
        if not any(name.startswith("LLLL") for name in names):
            self.skipTest("this Python's functions are not seen")
        self.assertTrue(any(name.startswith('a;b\n"c\\\x01') for name in names), names)
        frames = {frame for frames, _ in collapsed(self.export("collapsed")) for frame in frames}
        self.assertTrue(any(frame.startswith("a_b") for frame in frames), frames)

    def test_an_empty_profile(self):
        done = self.profile_run(["true"], "--delay", "1000")
        self.assertEqual(done.status, 0, done.err)
        self.assertEqual(self.check_all(done.profile), 0)

    def test_a_profile_of_hardly_a_sample(self):
        done = self.profile_run(["true"], "--frequency", "1", "--no-agent")
        self.assertEqual(done.status, 0, done.err)
        self.check_all(done.profile)

    def test_a_program_that_is_killed(self):
        done = self.profile_run(["sh", "-c", "kill -9 $$"])
        self.assertEqual(done.status, -9, done.err)
        self.check_all(done.profile)


class Files(Export):
    def test_a_run_writes_them_beside_its_report(self):
        place, other = self.path("a.json"), self.path("b.txt")
        done = self.profile_run([target("shares")], "--export", f"speedscope={place}",
                                "--export", f"collapsed={other}")
        self.assertEqual(done.status, 0, done.err)
        self.assertIn("hotspots", done.report)
        with open(place, "rb") as file:
            self.assertEqual(file.read(),
                             self.export("speedscope", profile=done.profile))
        with open(other, "rb") as file:
            self.assertEqual(file.read(), self.export("collapsed", profile=done.profile))
        self.assertEqual(os.listdir(self.work), [])

    def test_names_of_a_run_can_tell_ranks_apart(self):
        done = self.profile_run([target("shares")], "--export",
                                f"collapsed={self.path('x')}.%r.%q{{JOB}}.txt",
                                env=self.environment(RANK="3", WORLD_SIZE="4", JOB="a"))
        self.assertEqual(done.status, 0, done.err)
        self.assertTrue(os.path.exists(self.path("x.3.a.txt")), os.listdir(self.directory))

    def test_a_run_without_a_file_is_refused_before_it_starts(self):
        done = self.verb("--export", "collapsed", "touch", self.path("ran"))
        self.assert_clean_message(done, "collapsed", "--export collapsed=FILE")
        self.assertEqual(done.returncode, 125)
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_places_that_cannot_be_written_are_found_out_before_the_run(self):
        for place in ("/nowhere/x", self.directory, "/proc/version/x"):
            done = self.verb("--export", f"collapsed={place}", "touch", self.path("ran"))
            self.assert_clean_message(done, place)
            self.assertFalse(os.path.exists(self.path("ran")))

    def test_names_with_gz_are_compressed(self):
        place = self.path("x.txt.gz")
        self.assertEqual(self.export(f"collapsed={place}"), b"")
        with gzip.open(place) as file:
            self.assertEqual(file.read(), self.export("collapsed"))

    def test_a_file_is_replaced_with_its_mode_and_links_stay(self):
        place, link = self.path("x"), self.path("link")
        with open(place, "w", encoding="ascii") as file:
            file.write("x" * 1_000_000)
        os.chmod(place, 0o640)
        os.symlink(place, link)
        self.export(f"collapsed={link}")
        self.assertTrue(os.path.islink(link))
        self.assertEqual(stat.S_IMODE(os.stat(place).st_mode), 0o640)
        with open(place, "rb") as file:
            self.assertEqual(file.read(), self.export("collapsed"))
        self.assertEqual({"x", "link"} - set(os.listdir(self.directory)), set())

    def test_a_full_disk_is_an_error(self):
        done = self.verb("report", "--export", "collapsed=/dev/full", self.file)
        self.assert_clean_message(done, "/dev/full", "No space left")

    def test_a_full_disk_leaves_the_programs_status(self):
        done = self.profile_run(["sh", "-c", "exit 7"], "--export", "speedscope=/dev/full")
        self.assertEqual(done.status, 7)
        self.assertIn(b"No space left", done.err)

    def test_wrong_words(self):
        for words, message in ((["--export", "nothing"], "not one of"),
                               (["--export", "collapsed="], "no name"),
                               (["--export", "collapsed", "--export", "speedscope"], "taken"),
                               (["--export", "collapsed", "--json"], "--json")):
            self.assert_clean_message(self.verb("report", *words, self.file), message)

    def test_only_a_thread_that_is_there(self):
        done = self.verb("report", "--export", "collapsed", "--thread", "nobody", self.file)
        self.assert_clean_message(done, "nobody")


if __name__ == "__main__":
    main()
