# SPDX-License-Identifier: MIT
"""Profiles for the Firefox Profiler: each part as the format's documentation has it (src/types/
profile.ts and markers.ts of the viewer, processed version 58), and sums as of other exports.

No reader of this format can be had without a browser and a network, so this is checked strictly.
FAKE names the folder of the fake GPU, PROGRAMS that of programs for it; ctest sets them.
"""
import collections
import json
import os
import sys
from decimal import Decimal

from chrome import Chrome, FAKE, PROGRAMS, no_constant, unique
from export import HOSTILE, all_self
from harness import main, target

TARGETS = os.path.join(os.path.dirname(__file__), "..", "targets")
COLORS = {"transparent", "purple", "green", "orange", "yellow", "lightblue", "blue", "brown",
          "magenta", "red", "lightred", "darkgrey", "grey"}
FORMATS = {"string": str, "file-path": str, "integer": int, "bytes": int, "duration": Decimal,
           "tid": int}
PLACES = {"marker-chart", "marker-table", "timeline-overview"}
INSTANT, INTERVAL = 0, 1
NULL = type(None)
NUMBER = (int, Decimal)
LIBRARY = 1
COLUMNS = {
    "stackTable": {"frame": int, "prefix": (int, NULL)},
    "frameTable": {"address": int, "inlineDepth": int, "category": int, "subcategory": int,
                   "func": int, "nativeSymbol": NULL, "innerWindowID": int, "line": (int, NULL),
                   "column": NULL},
    "funcTable": {"name": int, "isJS": bool, "relevantForJS": bool, "resource": int,
                  "source": (int, NULL), "lineNumber": NULL, "columnNumber": NULL},
    "resourceTable": {"lib": int, "name": int, "host": NULL, "type": int},
    "nativeSymbols": {"libIndex": int, "address": int, "name": int, "functionSize": int},
    "markers": {"data": dict, "name": int, "startTime": NUMBER, "endTime": (*NUMBER, NULL),
                "phase": int, "category": int},
    "samples": {"stack": (int, NULL), "time": NUMBER, "weight": NUMBER, "threadCPUDelta": int},
}


class Profile:
    """One that was exported, checked as it is read."""

    def __init__(self, test, data):
        self.test = test
        self.all = json.loads(data.decode("utf-8"), parse_constant=no_constant,
                              parse_float=Decimal, object_pairs_hook=unique)
        self.meta = self.all["meta"]
        self.texts = self.all["shared"]["stringArray"]
        self.files = [self.texts[i] for i in self.all["shared"]["sources"]["filename"]]
        self.threads = self.all["threads"]
        self.check_meta()
        for thread in self.threads:
            self.check_thread(thread)

    def check_meta(self):
        test, meta = self.test, self.meta
        test.assertEqual(meta["preprocessedProfileVersion"], 58)
        test.assertEqual(meta["sampleUnits"],
                         {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"})
        for category in meta["categories"]:
            test.assertIn(category["color"], COLORS)
            test.assertEqual(category["subcategories"][0], "Other")
        test.assertEqual(meta["categories"][0]["color"], "grey")
        test.assertEqual(len(self.texts), len(set(self.texts)))
        sources = self.all["shared"]["sources"]
        test.assertEqual({len(sources["uuid"]), len(sources["filename"])}, {sources["length"]})
        self.schemas = {}
        for schema in meta["markerSchema"]:
            test.assertLessEqual(set(schema["display"]), PLACES)
            self.schemas[schema["name"]] = {f["key"]: f["format"] for f in schema["fields"]}
            test.assertLessEqual(set(self.schemas[schema["name"]].values()), set(FORMATS))
        for library in self.all["libs"]:
            test.assertEqual(set(library), {"arch", "name", "path", "debugName", "debugPath",
                                            "breakpadId", "codeId"})

    def check_columns(self, thread):
        test = self.test
        for name, columns in COLUMNS.items():
            table = thread[name]
            test.assertEqual(set(table) - {"weightType"}, {*columns, "length"}, name)
            for column, kind in columns.items():
                test.assertEqual(len(table[column]), table["length"], (name, column))
                for value in table[column]:
                    test.assertIsInstance(value, kind, (name, column))

    def check_numbers(self, thread):
        """Each number of another table is one of its rows."""
        stacks, frames, functions = (thread[name] for name in
                                     ("stackTable", "frameTable", "funcTable"))
        resources, test = thread["resourceTable"], self.test

        def below(numbers, end):
            for number in numbers:
                test.assertTrue(number is None or 0 <= number < end, (number, end))
        below(stacks["frame"], frames["length"])
        for i, prefix in enumerate(stacks["prefix"]):
            below([prefix], i if i < stacks["length"] else 0)
        below(frames["func"], functions["length"])
        for category, sub in zip(frames["category"], frames["subcategory"]):
            below([category], len(self.meta["categories"]))
            below([sub], len(self.meta["categories"][category]["subcategories"]))
        below(functions["name"], len(self.texts))
        below(functions["source"], len(self.files))
        below([r for r in functions["resource"] if r != -1], resources["length"])
        below(resources["lib"], len(self.all["libs"]))
        below(resources["name"], len(self.texts))
        test.assertLessEqual(set(resources["type"]), {LIBRARY})
        below(thread["samples"]["stack"], stacks["length"])
        below(thread["markers"]["name"], len(self.texts))
        below(thread["markers"]["category"], len(self.meta["categories"]))

    def check_thread(self, thread):
        test, samples = self.test, thread["samples"]
        self.check_columns(thread)
        self.check_numbers(thread)
        test.assertIs(type(thread["pid"]), str)
        test.assertIs(type(thread["isMainThread"]), bool)
        test.assertEqual(samples["weightType"], "tracing-ms")
        test.assertEqual(samples["time"], sorted(samples["time"]))
        test.assertLessEqual(thread["registerTime"], samples["time"][0])
        for column in ("time", "weight", "threadCPUDelta"):
            test.assertGreaterEqual(min(samples[column]), 0)
        for marker in self.markers(thread):
            self.check_marker(marker)

    def check_marker(self, marker):
        test, fields = self.test, self.schemas[marker["data"]["type"]]
        for key, value in marker["data"].items():
            if key != "type":
                kind = FORMATS[fields[key]]
                test.assertIsInstance(value, NUMBER if kind is Decimal else kind, marker)
        if marker["phase"] == INSTANT:
            test.assertIsNone(marker["endTime"])
        else:
            test.assertEqual(marker["phase"], INTERVAL)
            test.assertLessEqual(marker["startTime"], marker["endTime"])

    def markers(self, thread):
        table = thread["markers"]
        rows = [dict(zip(COLUMNS["markers"], row)) for row in
                zip(*(table[column] for column in COLUMNS["markers"]))]
        return [{**row, "name": self.texts[row["name"]]} for row in rows]

    def all_markers(self, kind):
        return [marker for thread in self.threads for marker in self.markers(thread)
                if marker["data"]["type"] == kind]

    def frame(self, thread, stack):
        """(function, file, line, category, subcategory) of the innermost frame."""
        frames, functions = thread["frameTable"], thread["funcTable"]
        frame = thread["stackTable"]["frame"][stack]
        function = frames["func"][frame]
        source = functions["source"][function]
        category = self.meta["categories"][frames["category"][frame]]
        return (self.texts[functions["name"][function]],
                None if source is None else self.files[source], frames["line"][frame],
                category["name"], category["subcategories"][frames["subcategory"][frame]])

    def path(self, thread, stack):
        names = []
        while stack is not None:
            names.append(self.frame(thread, stack)[0])
            stack = thread["stackTable"]["prefix"][stack]
        return tuple(reversed(names))

    def samples(self, thread):
        """[(stack, ns, CPU ns until the next one)]"""
        table = thread["samples"]
        return list(zip(table["stack"], (int(weight * 1_000_000) for weight in table["weight"]),
                        table["threadCPUDelta"][1:] + [0]))

    def self_times(self):
        """{name of the innermost function: ns}, on CPUs and waiting there."""
        sums = collections.Counter()
        for thread in self.threads:
            for stack, ns, _ in self.samples(thread):
                if stack is not None and self.frame(thread, stack)[3] == "Waiting":
                    stack = thread["stackTable"]["prefix"][stack]
                sums[None if stack is None else self.frame(thread, stack)[0]] += ns
        return sums


class Firefox(Chrome):
    def exported(self, *options):
        done = self.verb("report", "--export", "firefox", *options, self.profile)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertEqual(done.stderr, b"")
        return Profile(self, done.stdout)

    def speedscope(self, *options):
        done = self.verb("report", "--export", "speedscope", *options, self.profile)
        return json.loads(done.stdout)

    def functions(self, *options):
        done = self.verb("report", "--export", "json", "--table", "functions", *options,
                         self.profile)
        return json.loads(done.stdout)["tables"]["functions"]


class Time(Firefox):
    def setUp(self):
        super().setUp()
        self.record_once([target("threads")])

    def test_samples_sum_to_what_speedscope_has(self):
        for options in ((), ("--on-cpu",), ("--off-cpu",), ("--from", "0.1")):
            profile = self.exported(*options)
            wanted, sums = collections.Counter(), collections.Counter()
            for part in self.speedscope(*options)["profiles"]:
                words = part["name"].split(",")[0].split()
                tid = words[words.index("of") - 1] if "of" in words else words[-1]
                kind = part["name"].rpartition(", ")[2]
                wanted[int(tid), kind] += sum(part["weights"])
            for thread in profile.threads:
                for _, ns, cpu_ns in profile.samples(thread):
                    self.assertIn(cpu_ns, (0, ns))
                    sums[thread["tid"], "on a CPU" if cpu_ns else "waiting"] += ns
            self.assertEqual({key: ns for key, ns in sums.items() if ns},
                             {key: ns for key, ns in wanted.items()
                              if ns and key[1] in ("on a CPU", "waiting")}, options)

    def test_functions_have_the_times_of_the_table(self):
        for options in ((), ("--from", "0.1", "--to", "0.2")):
            wanted = collections.Counter()
            for row in self.functions(*options):
                wanted[row["name"]] += all_self(row)
            self.assertEqual(+self.exported(*options).self_times(), +wanted)

    def test_waiting_says_what_for_and_takes_no_cpu(self):
        profile, causes = self.exported("--off-cpu"), set()
        for thread in profile.threads:
            for stack, ns, cpu_ns in profile.samples(thread):
                self.assertEqual(cpu_ns, 0)
                if ns:
                    name, _, _, category, cause = profile.frame(thread, stack)
                    self.assertEqual((category, name), ("Waiting", f"[waiting: {cause}]"))
                    causes.add(cause)
        self.assertTrue(causes)

    def test_time_is_where_it_was(self):
        # What a window holds is what the samples of the whole run have in it, but for the bins
        # (of a millisecond and more) at its ends, and for what one sample joins.
        profile = self.exported("--on-cpu")
        whole = self.exported("--on-cpu", "--from", "0.1", "--to", "0.2")
        wanted = sum(ns for t in whole.threads for _, ns, _ in whole.samples(t))
        found = 0
        for thread in profile.threads:
            for at, (_, ns, _) in zip(thread["samples"]["time"], profile.samples(thread)):
                if 100 <= at < 200:
                    found += ns
        self.assertAlmostEqual(found / 1e6, wanted / 1e6,
                               delta=5 * len(profile.threads) + wanted / 1e7)

    def test_lines_are_those_of_their_file(self):
        profile, found = self.exported("--on-cpu"), False
        with open(os.path.join(TARGETS, "threads.c"), encoding="utf-8") as file:
            lines = len(file.readlines())
        for thread in profile.threads:
            for stack in range(thread["stackTable"]["length"]):
                _, file, line, _, _ = profile.frame(thread, stack)
                if file and os.path.basename(file) == "threads.c" and line:
                    self.assertLessEqual(line, lines)
                    found = True
        self.assertTrue(found)

    def test_it_says_what_was_cut(self):
        def shown(profile):
            return [entry["value"] for entry in profile.meta["extra"][0]["entries"]
                    if entry["label"] == "Shown"]
        self.assertEqual(shown(self.exported()), [])
        self.assertIn("only time on a CPU", shown(self.exported("--on-cpu"))[0])


class Python(Firefox):
    def test_python_native_code_and_the_kernel_are_categories(self):
        script = self.path("script.py")
        with open(script, "w", encoding="ascii") as file:
            file.write("import os, time\n"
                       "def work():\n"
                       "    end = time.process_time() + 0.4\n"
                       "    while time.process_time() < end:\n"
                       "        sum(range(3000)); sorted(range(5000), key=str)\n"
                       "work()\n")
        self.record([sys.executable, script])
        profile, found = self.exported(), set()
        for thread in profile.threads:
            for stack, ns, _ in profile.samples(thread):
                if stack is not None and ns:
                    found.add(profile.frame(thread, stack)[3])
        names = {name for thread in profile.threads
                 for name in (profile.texts[i] for i in thread["funcTable"]["name"])}
        if "work" not in names:
            self.skipTest("this Python's functions are not seen")
        self.assertLessEqual({"Python", "Native code"}, found)


class Ops(Firefox):
    def test_calls_are_those_of_the_trace(self):
        self.record([target("ops"), "single"])
        trace, profile = self.export(), self.exported()
        calls = [e for e in trace.of("user_annotation")
                 if not e["name"].startswith("ProfilerStep#")]
        self.assertEqual(
            sorted((e["name"], e["begin"], e["end"]) for e in calls),
            sorted((m["name"], int(m["startTime"] * 1_000_000), int(m["endTime"] * 1_000_000))
                   for m in profile.all_markers("op") if m["phase"] == INTERVAL))
        steps = [m["data"]["number"] for m in profile.all_markers("step")]
        self.assertEqual(steps, list(range(1, len(steps) + 1)))
        self.assertGreater(len(steps), 3)
        waits = [e for e in trace.of("wait")]
        self.assertEqual(len(waits), len(profile.all_markers("wait")))
        part = self.exported("--max-events", "5")
        self.assertEqual(sum(len(part.all_markers(kind)) for kind in ("op", "wait", "gpu")), 5)
        self.assertIn("beyond --max-events", json.dumps(part.meta["extra"]))

    def test_ops_are_frames_of_the_samples(self):
        self.record([target("ops"), "single"])
        profile = self.exported()
        names = {profile.frame(thread, stack)[0] for thread in profile.threads
                 for stack in range(thread["stackTable"]["length"])
                 if profile.frame(thread, stack)[3] == "Operation"}
        self.assertIn("leaf", names)


class Gpu(Firefox):
    def test_each_stream_is_a_thread_with_its_works(self):
        if not os.path.exists(FAKE):
            self.skipTest("the fake GPU is not built")
        self.record([os.path.join(PROGRAMS, "streams")], LD_LIBRARY_PATH=FAKE)
        profile = self.exported()
        streams = [t for t in profile.threads if t["pid"].startswith("GPU ")]
        self.assertGreater(len(streams), 2)
        works = [m for t in streams for m in profile.markers(t)]
        self.assertEqual({m["data"]["type"] for m in works}, {"gpu"})
        ns = sum(int(m["endTime"] * 1_000_000) - int(m["startTime"] * 1_000_000) for m in works)
        self.assertEqual([(len(works), ns)],
                         self.ask("SELECT sum(calls), sum(total_ns) FROM gpu_work"))


    def test_each_rank_has_its_own_gpu(self):
        if not os.path.exists(FAKE):
            self.skipTest("the fake GPU is not built")
        parts = [self.path(f"r{rank}.bneck") for rank in range(2)]
        for rank, part in enumerate(parts):
            self.record([os.path.join(PROGRAMS, "streams")], LD_LIBRARY_PATH=FAKE,
                        RANK=str(rank), WORLD_SIZE="2")
            os.rename(self.profile, part)
        self.profile = self.path("all.bneck")
        done = self.verb("merge", "-o", self.profile, *parts)
        self.assertEqual(done.returncode, 0, done.stderr)
        threads = self.exported().threads
        gpus = {t["pid"] for t in threads if t["pid"].startswith("GPU ")}
        self.assertEqual(len(gpus), 2, gpus)
        self.assertEqual(len({t["pid"] for t in threads} - gpus), 2)


class Memory(Firefox):
    def test_allocated_bytes_are_those_of_the_table(self):
        self.record([target("memory")])
        done = self.verb("report", "--export", "json", "--table", "memory", self.profile)
        wanted = sum(row["allocated_bytes"]
                     for row in json.loads(done.stdout)["tables"]["memory"])
        if not wanted:
            self.skipTest("no allocations were seen")
        found = 0
        for thread in self.exported().threads:
            table = thread.get("nativeAllocations")
            if not table:
                continue
            self.assertEqual(table["weightType"], "bytes")
            for column in ("time", "weight", "stack"):
                self.assertEqual(len(table[column]), table["length"])
            found += sum(table["weight"])
        self.assertEqual(found, wanted)


class Strange(Firefox):
    def test_a_profile_without_threads_has_one_of_nothing(self):
        done = self.verb("bench", "--runs", "3", "-o", self.path("b.bneck"), "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.profile = self.path("b.bneck")
        profile = self.exported()
        self.assertEqual([thread["name"] for thread in profile.threads],
                         ["nothing was recorded"])

    def test_hostile_names_stay_in_their_places(self):
        script = self.path("hostile.py")
        with open(script, "w", encoding="ascii") as file:
            file.write(HOSTILE)
        self.record([sys.executable, script, 'x;"\n\udcff\\', "</script>"])
        profile = self.exported()
        self.assertEqual(sum(profile.self_times().values()),
                         sum(map(all_self, self.functions())))

    def test_a_run_that_was_not_recorded(self):
        self.record(["true"], "--delay", "1000")
        self.exported()


if __name__ == "__main__":
    main()
