# SPDX-License-Identifier: MIT
"""Traces in Chrome's format: strict JSON, slices that nest, and times that sum to the tables'.

FAKE names the folder of the fake GPU, PROGRAMS that of programs for it; ctest sets them.
"""
import gzip
import json
import os
import shutil
import sqlite3
import tempfile
from decimal import Decimal

from harness import Case, main, target

FAKE = os.path.abspath(os.environ.get("FAKE", "build/tests/gpu/fake"))
PROGRAMS = os.path.abspath(os.environ.get("PROGRAMS", "build/tests/gpu/programs"))


def no_constant(word):
    raise ValueError(f"{word} is no JSON")


def unique(pairs):
    keys = [key for key, _ in pairs]
    if len(keys) != len(set(keys)):
        raise ValueError(f"keys twice: {keys}")
    return dict(pairs)


def nanoseconds(us):
    ns = us * 1000
    assert ns == int(ns), us
    return int(ns)


class Trace:
    def __init__(self, data):
        self.text = data.decode("utf-8")
        self.all = json.loads(self.text, parse_constant=no_constant, parse_float=Decimal,
                              object_pairs_hook=unique)
        self.events = self.all["traceEvents"]
        self.slices = [e for e in self.events if e["ph"] == "X"]
        for e in self.slices:
            e["begin"] = nanoseconds(e["ts"])
            e["end"] = e["begin"] + nanoseconds(e["dur"])

    def of(self, *categories):
        return [e for e in self.slices if e["cat"] in categories]

    def lanes(self):
        lanes = {}
        for e in self.slices:
            lanes.setdefault((e["pid"], e["tid"]), []).append(e)
        return lanes

    def nest(self):
        """Gives each slice its "parent" and its "own" time; raises where two overlap."""
        for lane in self.lanes().values():
            stack = []
            for e in sorted(lane, key=lambda e: (e["begin"], -e["end"])):
                while stack and stack[-1]["end"] <= e["begin"]:
                    stack.pop()
                if stack and stack[-1]["end"] < e["end"]:
                    raise ValueError(f"{stack[-1]['name']} overlaps {e['name']}")
                e["parent"], e["own"] = stack[-1] if stack else None, e["end"] - e["begin"]
                if stack:
                    stack[-1]["own"] -= e["own"]
                stack.append(e)

    def times(self, categories, key):
        sums = {}
        for e in self.of(*categories):
            calls, total = sums.get(e["name"], (0, 0))
            sums[e["name"]] = (calls + 1, total + (e["end"] - e["begin"] if key == "total"
                                                   else e["own"]))
        return sums


class Chrome(Case):
    def record(self, command, *options, **environment):
        done = self.profile_run(command, *options, env=self.environment(**environment))
        self.assertEqual(done.status, 0, done.err)
        self.profile = done.profile
        return done

    def record_once(self, command, **environment):
        """One run of it is for all tests of the class."""
        if "recorded" not in type(self).__dict__:
            self.record(command, **environment)
            folder = tempfile.mkdtemp(prefix="e2e-chrome-")
            self.addClassCleanup(shutil.rmtree, folder)
            type(self).recorded = shutil.copy(self.profile, folder)
        self.profile = self.recorded

    def export(self, *options):
        done = self.verb("report", "--export", "chrome", *options, self.profile)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertEqual(done.stderr, b"")
        return Trace(done.stdout)

    def ask(self, question):
        database = sqlite3.connect(self.profile)
        try:
            return database.execute(question).fetchall()
        finally:
            database.close()


class Ops(Chrome):
    def setUp(self):
        super().setUp()
        self.record_once([target("ops"), "single"])

    def test_times_sum_to_those_of_the_table(self):
        trace = self.export()
        trace.nest()
        rows = self.ask("SELECT name, calls, total_ns, self_ns FROM op")
        self.assertGreater(len(rows), 3)
        ranges = ("user_annotation",)
        self.assertEqual({name: calls_total for name, calls_total in
                          trace.times(ranges, "total").items()
                          if not name.startswith("ProfilerStep#")},
                         {name: (calls, total) for name, calls, total, _ in rows})
        # Waits stand in the op that waits, and are no ops.
        without = Trace(json.dumps({**trace.all, "traceEvents": [
            e for e in json.loads(trace.text)["traceEvents"]
            if e["ph"] == "X" and e["cat"] != "wait"]}).encode())
        without.nest()
        self.assertEqual({name: own for name, own in without.times(ranges, "own").items()
                          if not name.startswith("ProfilerStep#")},
                         {name: (calls, own) for name, calls, _, own in rows})

    def test_ranges_nest_as_they_were_pushed(self):
        trace = self.export()
        trace.nest()
        for e in trace.of("user_annotation"):
            around = e["parent"]["name"] if e["parent"] else None
            if e["name"] in ("leaf", "layer", "update"):
                self.assertEqual(around, {"leaf": "layer", "layer": "step",
                                          "update": "step"}[e["name"]])

    def test_steps_are_kinetos(self):
        trace = self.export()
        steps = [e for e in trace.slices if e["name"].startswith("ProfilerStep#")]
        self.assertEqual([e["name"] for e in steps],
                         [f"ProfilerStep#{i + 1}" for i in range(len(steps))])
        shown = [e for e in trace.slices if e["name"] == "step"]
        self.assertEqual([e["begin"] for e in steps], [e["begin"] for e in shown][:len(steps)])
        self.assertGreater(len(steps), 3)

    def test_head_is_what_hta_looks_for(self):
        trace = self.export()
        self.assertRegex(trace.text, r'"rank":\s+0\b')
        self.assertEqual(trace.all["schemaVersion"], 1)
        self.assertEqual(trace.all["deviceProperties"], [])

    def test_numbers_are_numbers_and_each_lane_has_a_name(self):
        trace = self.export()
        for e in trace.events:
            self.assertIs(type(e["pid"]), int)
            self.assertIs(type(e["tid"]), int)
        named = {(e["pid"], e["tid"]) for e in trace.events if e["name"] == "thread_name"}
        self.assertLessEqual(set(trace.lanes()), named)
        processes = {e["pid"] for e in trace.events if e["name"] == "process_name"}
        self.assertLessEqual({e["pid"] for e in trace.slices}, processes)

    def test_a_window_has_what_reaches_into_it(self):
        trace = self.export()
        steps = [e for e in trace.slices if e["name"] == "step"]
        # Windows are of bins of a millisecond and more, and steps are longer.
        begin, end = steps[2]["begin"] / 1e9, steps[3]["end"] / 1e9
        part = self.export("--from", f"{begin + 0.001:.6f}", "--to", f"{end - 0.001:.6f}")
        self.assertEqual([e["begin"] for e in part.slices if e["name"] == "step"],
                         [e["begin"] for e in steps[2:4]])
        self.assertTrue(part.all["bottleneck"]["cut"])
        self.assertEqual(trace.all["bottleneck"]["cut"], "")

    def test_beyond_the_most_events_it_says_how_many_are_dropped(self):
        whole = self.export()
        events = whole.all["bottleneck"]["events"]
        self.assertEqual(whole.all["bottleneck"]["dropped"], 0)
        part = self.export("--max-events", "5")
        self.assertEqual(part.all["bottleneck"]["events"], 5)
        self.assertEqual(part.all["bottleneck"]["dropped"], events - 5)
        notes = [e["name"] for e in part.events if e["ph"] == "i"]
        self.assertTrue(any(f"dropped {events - 5} events" in note for note in notes), notes)

    def test_waits_can_be_left_out(self):
        self.assertFalse(self.export("--on-cpu").of("wait"))

    def test_a_run_writes_it_compressed_as_its_name_says(self):
        name = self.path("trace.json.gz")
        self.profile_run([target("ops"), "single"], "--export", f"chrome={name}")
        with gzip.open(name) as file:
            trace = Trace(file.read())
        self.assertTrue(trace.of("user_annotation"))


class Limits(Chrome):
    def test_beyond_the_limit_of_the_run_the_report_and_the_trace_say_from_when(self):
        done = self.record([target("ops"), "single"], "--timeline-limit", "7")
        self.assertRegex(done.report, r"timelines end at .*: the first 7 calls")
        trace = self.export()
        self.assertEqual(trace.all["bottleneck"]["events"], 7)
        self.assertGreater(trace.all["bottleneck"]["not_recorded"], 0)
        until = trace.all["bottleneck"]["recorded_until_ns"]
        shown = [e for e in trace.slices if not e["name"].startswith("ProfilerStep#")]
        self.assertLessEqual(max(e["end"] for e in shown), until)

    def test_none_are_kept_if_none_are_wanted(self):
        done = self.record([target("ops"), "single"], "--timeline-limit", "0")
        self.assertNotIn("timelines", done.report)
        self.assertEqual(self.ask("SELECT count(*) FROM sqlite_schema WHERE name='slice_chunk'"),
                         [(0,)])
        self.assertEqual(self.export().all["bottleneck"]["events"], 0)


class Waits(Chrome):
    def test_waits_say_what_for_and_where(self):
        self.record([target("locks")])
        trace = self.export()
        trace.nest()
        waits = trace.of("wait")
        self.assertTrue(any(e["name"] == "waiting: locks" and e["args"].get("line")
                            for e in waits), waits[:9])


class Gpu(Chrome):
    def setUp(self):
        super().setUp()
        self.record_once([os.path.join(PROGRAMS, "streams")], LD_LIBRARY_PATH=FAKE)

    def works(self, trace):
        return trace.of("kernel", "gpu_memcpy", "gpu_memset")

    def test_works_are_those_of_the_table(self):
        trace = self.export()
        trace.nest()
        rows = self.ask("SELECT sum(calls), sum(total_ns) FROM gpu_work")
        works = self.works(trace)
        self.assertEqual([(len(works), sum(e["end"] - e["begin"] for e in works))], rows)

    def test_nothing_overlaps_on_a_lane_of_a_stream(self):
        trace = self.export()
        lanes = {}
        for e in self.works(trace):
            lanes.setdefault((e["pid"], e["tid"]), []).append(e)
            self.assertEqual(e["pid"], e["args"]["device"])
        self.assertGreater(len(lanes), 2)
        for lane in lanes.values():
            lane.sort(key=lambda e: e["begin"])
            for before, after in zip(lane, lane[1:]):
                self.assertLessEqual(before["end"], after["begin"])

    def test_each_work_has_an_arrow_from_its_call(self):
        trace = self.export()
        calls = {e["args"]["correlation"]: e for e in trace.of("cuda_runtime", "cuda_driver")}
        starts = {e["id"]: e for e in trace.events if e["ph"] == "s"}
        ends = {e["id"]: e for e in trace.events if e["ph"] == "f"}
        works = self.works(trace)
        self.assertEqual(len(ends), len(works))
        self.assertEqual(set(starts), set(ends))
        by_place = {(e["pid"], e["tid"], e["begin"]): e for e in works}
        for number, end in ends.items():
            work = by_place[end["pid"], end["tid"], nanoseconds(end["ts"])]
            call = calls[work["args"]["correlation"]]
            start = starts[number]
            self.assertEqual((start["pid"], start["tid"], nanoseconds(start["ts"])),
                             (call["pid"], call["tid"], call["begin"]))
            self.assertEqual(end["bp"], "e")
            self.assertLessEqual(call["begin"], work["begin"])

    def test_counters_say_how_busy_the_gpu_was(self):
        busy = [e["args"]["percent"] for e in self.export().events if e["name"] == "GPU busy"]
        self.assertTrue(busy)
        self.assertTrue(all(0 <= value <= 100.5 for value in busy), busy)
        self.assertGreater(max(busy), 50)


if __name__ == "__main__":
    main()
