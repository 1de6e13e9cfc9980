# SPDX-License-Identifier: MIT
"""Whom the end of a run waits for, and who waits for whom: programs whose truth is known.

WAITING names the program (tests/programs/waiting.c); ctest sets it. Shares are of the wall time
less what was waited for a free CPU: that is what other programs of the machine took.
"""
import csv
import io
import json
import os
import re
import shutil
import sys
import tempfile

from harness import Case, main, unprivileged

WAITING = os.path.abspath(os.environ.get("WAITING", "build/tests/waiting"))
PYTHON = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs", "waiting.py")
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs", "waiting.c")
OPENMP = os.path.abspath(os.environ.get("WAITING_OPENMP", "build/tests/waiting_openmp"))
CONTENTION = "[waiting for a free CPU]"
# Of the whole: what a thread does that wakes up late on a busy machine is another one's meanwhile.
TOLERANCE = 0.06

# What each is of the wall time; of a pipe's and a queue's slower side the faster one runs beside it.
TRUTH = {
    "convoy": {"flush_log": (0.80, 0.98)},
    "phases": {"load": (0.667, 0.667), "solve": (0.333, 0.333)},
    "queue": {"decode": (0.75, 0.83), "encode": (0.17, 0.25)},
    "barrier": {"right": (0.75, 0.75), "left": (0.25, 0.25)},
    "pipe": {"render": (0.75, 0.83), "show": (0.17, 0.25)},
    "poll": {"render": (0.75, 0.83), "show": (0.17, 0.25)},
    "shared_semaphore": {"render": (0.75, 0.83), "show": (0.17, 0.25)},
    "shared_mutex": {"flush_log": (0.85, 0.98)},
    "select": {"render": (0.75, 0.83), "show": (0.17, 0.25)},
    "epoll": {"render": (0.75, 0.83), "show": (0.17, 0.25)},
}

class Waits(Case):
    runs = {}

    def kept(self, name, run):
        """The result of RUN(), which one test makes and all others look at, too."""
        if name not in self.runs:
            folder = tempfile.mkdtemp(prefix="e2e-waits-")
            self.addClassCleanup(shutil.rmtree, folder)
            self.runs[name] = run()
            self.runs[name].profile = shutil.copy(self.runs[name].profile, folder)
        return self.runs[name]

    def scene(self, scene):
        return self.kept(scene, lambda: self.run_scene(scene))

    def draws(self, scene, most):
        """The run that is kept, and new ones: a machine that is busy with others may spoil one, or two."""
        yield self.scene(scene)
        for _ in range(1, most):
            yield self.run_scene(scene)

    def table(self, profile, name):
        done = self.verb("report", "--export", "csv=-", "--table", name, profile)
        self.assertEqual(done.returncode, 0, done.stderr)
        return list(csv.DictReader(io.StringIO(done.stdout.decode())))

    def shares(self, profile):
        """By function, of the wall time less contention; and the wall time itself."""
        rows = self.table(profile, "wall")
        wall = sum(int(row["wall_ns"]) for row in rows)
        own = {row["name"]: int(row["wall_ns"]) for row in rows if row["name"] != CONTENTION}
        return {name: ns / sum(own.values()) for name, ns in own.items()}, wall

    def run_scene(self, scene, *options, prefix=()):
        os.chmod(self.directory, 0o777)
        result = self.profile_run([WAITING, scene], *options, prefix=prefix)
        self.assertEqual(result.status, 0, result.err)
        return result

    def check(self, scene, result):
        """A list of what is wrong in one run."""
        shares, _ = self.shares(result.profile)
        return [f"{name} {shares.get(name, 0):.3f}, not {low} to {high}"
                for name, (low, high) in TRUTH[scene].items()
                if not low - TOLERANCE <= shares.get(name, 0) <= high + TOLERANCE]

    def test_wall_time_is_that_of_who_is_waited_for(self):
        for scene in TRUTH:
            with self.subTest(scene):
                tries = []
                for result in self.draws(scene, 3):
                    tries.append(self.check(scene, result))
                    if not tries[-1]:
                        break
                self.assertFalse(tries[-1], tries)

    def test_findings_of_a_window_cost_what_it_has(self):
        for scene in ("convoy", "phases", "barrier", "queue"):
            profile = self.scene(scene).profile
            run = self.document(profile)["run"]["wall_ns"]
            waited = []
            for begin, end in ((0, 0.4), (0.4, 0.7), (0.7, 1)):
                window = (f"--from={begin * run / 1e9:.3f}", f"--to={end * run / 1e9:.3f}")
                document = self.document(profile, *window)
                length, wall = (end - begin) * run, document["wall"]
                with self.subTest(scene, window=window):
                    self.assertFalse(wall["waits_whole_run"])
                    self.assertLess(wall["waits_step_ns"], run / 16)
                    for finding in document["findings"]:
                        self.assertLessEqual(finding["saving_ns"] or 0, 1.02 * length, finding)
                    self.assertLess(sum(row["ns"] for row in wall["parallel"]), 1.02 * length)
                    self.check_prices(document)
                waited.append(sum(row["total_ns"] for row in wall["waits"]))
            whole = sum(row["total_ns"] for row in self.document(profile)["wall"]["waits"])
            self.assertAlmostEqual(sum(waited) / whole, 1, delta=0.02)

    def check_prices(self, document):
        """No finding about waits costs more than the tables of the same window have: what was waited
        for, and for the holder of a lock and the stage of a pipeline also what that made wait for CPUs."""
        wall = document["wall"]
        queue = wall["runnable_own_threads_ns"] + wall["runnable_others_ns"] + wall["runnable_idle_ns"]
        held, alone = {}, {}
        for row in wall["waits"]:
            held[row["holder"]] = held.get(row["holder"], 0) + row["wall_ns"]
            self.assertTrue(row["wall_low_ns"] <= row["wall_ns"] <= row["wall_high_ns"], row)
        for row in wall["parallel"]:
            alone[row["function"]] = row["alone_ns"]
        for finding in document["findings"]:
            most = {"CPU-HOLDER": held, "CPU-STAGE": alone, "CPU-ALONE": alone}.get(finding["id"])
            if most and finding["function"]:
                part = 0 if finding["id"] == "CPU-ALONE" else queue
                self.assertLessEqual(finding["saving_ns"], 1.01 * most[finding["function"]] + part,
                                     finding)
            self.assertLessEqual(finding["saving_ns"] or 0, 1.02 * wall["wall_ns"], finding)
            if finding["saving_ns"]:
                self.assertTrue(finding["saving_low_ns"] <= finding["saving_ns"]
                                <= finding["saving_high_ns"], finding)

    def document(self, profile, *options):
        done = self.verb("report", "--json", *options, profile)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def page(self, profile):
        """The data of the HTML page."""
        path = self.path("page.html")
        done = self.verb("report", "--export", f"html={path}", profile)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(path, encoding="utf-8") as file:
            return json.loads(file.read().split('id="data">')[1].split("</script")[0])

    def test_json_and_the_page_have_it(self):
        profile = self.scene("convoy").profile
        for window in ((), ("--from", "0.1", "--to", "0.3")):
            done = self.verb("report", "--json", *window, profile)
            wall = json.loads(done.stdout)["wall"]
            sums = sum(row["wall_ns"] for row in wall["owners"])
            self.assertEqual(sums, wall["wall_ns"])
            self.assertAlmostEqual(sum(row["share"] for row in wall["owners"]), 1, delta=1e-5)
            if window:
                self.assertAlmostEqual(sums, 0.2e9, delta=0.005e9)
            at_once = wall["parallel"]
            self.assertEqual([row["threads"] for row in at_once], list(range(len(at_once))))
            self.assertAlmostEqual(sum(row["share"] for row in at_once), 1, delta=1e-5)
            wait = wall["waits"][0]
            self.assertEqual((wait["waiter"], wait["resource_name"], wait["holder"]),
                             ("writer", "journal", "flush_log"))
            causes = sum(wall[f"runnable_{who}_ns"] for who in ("quota", "own_threads", "others", "idle"))
            ready = [row["wall_ns"] for row in wall["owners"] if row["name"] == CONTENTION]
            self.assertEqual(causes, sum(ready))
        page = self.page(profile)
        whole = page["phases"][0]
        self.assertTrue(whole["account"]["by_wall"])
        for name in ("wall", "waits", "parallel"):
            self.assertTrue(whole["tables"][name]["rows"], name)
        self.assertIn("was alone on a CPU", " ".join(whole["tables"]["parallel"]["words"]))
        # Its timeline: the main thread waits for the end of the others, and nobody for it.
        main_tid = min(lane["tid"] for lane in page["timeline"]["lanes"])
        arrows = page["arrows"]
        self.assertGreater(len(arrows), 20)
        self.assertEqual(arrows, sorted(arrows, key=lambda arrow: -arrow[1]))
        self.assertEqual(arrows[0][2], main_tid)
        self.assertNotIn(main_tid, {arrow[4] for arrow in arrows})

    def compare(self, base, new, *options):
        done = self.verb("diff", "--json", *options, base, new)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def trace_of(self, profile):
        path = self.path("trace.json")
        done = self.verb("report", "--export", f"chrome={path}", profile)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(path, encoding="utf-8") as file:
            return json.load(file)["traceEvents"]

    def test_a_trace_has_arrows_from_waits_to_who_ended_them(self):
        # Of the pipe the parent waits for its child; writers wait for each other, too.
        for scene in ("pipe", "convoy"):
            for result in self.draws(scene, 3):
                # Where others use the CPUs, who has ended a wait is gone when the waiter gets one.
                events = self.trace_of(result.profile)
                waits = [e for e in events if e.get("cat") == "wait"
                         and e["name"] == "waiting: pipes"]
                if len([e for e in events if e["ph"] == "s" and e["cat"] == "wake"]) > 0.8 * len(waits):
                    break
            at = {(e["pid"], e["tid"], e["ts"]): e for e in events if e["ph"] == "X"}
            flows = {}
            for e in events:
                if e["ph"] in "sf" and e["cat"] == "wake":
                    flows.setdefault(e["id"], {})[e["ph"]] = (e["pid"], e["tid"], e["ts"])
            self.assertGreater(len(flows), 20)
            for flow in flows.values():
                wait, wake = at[flow["s"]], at[flow["f"]]
                self.assertEqual((wait["cat"], wake["cat"]), ("wait", "wake"))
                self.assertNotEqual(flow["s"][:2], flow["f"][:2])
                self.assertAlmostEqual(wake["args"]["waited"], wait["dur"], delta=0.01)
            if scene == "pipe":
                self.assertGreater(len(flows), 0.8 * len(waits))
                self.assertEqual({f["s"][0] != f["f"][0] for f in flows.values()}, {True})

    def test_it_is_said_where_it_is_not_known(self):
        why = "recorded in part"
        profile = self.run_scene("phases", "--duration", "0.3").profile
        report = json.loads(self.verb("report", "--json", profile).stdout)
        self.assertIsNone(report["wall"])
        self.assertIn(why, " ".join(report["limits"]))
        text = " ".join(self.verb("report", "--waits", profile).stdout.decode().split())
        self.assertIn("Who waited for whom is not known of", text)
        self.assertIn(why, text)

    def test_merged_profiles_have_that_of_the_one_that_works_longest(self):
        ranks = [self.path(f"rank{i}.bneck") for i in range(2)]
        for rank, ms in zip(ranks, ("300", "900")):
            os.rename(self.profile_run([WAITING, "phases", ms]).profile, rank)
        merged = self.path("merged.bneck")
        done = self.verb("merge", "-o", merged, *ranks)
        self.assertEqual(done.returncode, 0, done.stderr)
        wall = json.loads(self.verb("report", "--json", merged).stdout)["wall"]
        own = json.loads(self.verb("report", "--json", ranks[1]).stdout)["wall"]
        self.assertEqual(wall["wall_ns"], own["wall_ns"])
        self.assertEqual(wall["whose"], "of profile 1, which works longest")

    def test_a_comparison_says_whose_wall_time_has_changed(self):
        runs = [self.path(f"{i}.bneck") for i in range(3)]
        for _ in range(3):
            for path, ms in zip(runs, ("500", "500", "900")):
                os.rename(self.profile_run([WAITING, "phases", ms]).profile, path)
            tables = self.compare(runs[0], runs[2])["tables"]
            rows = {row["name"]: row for row in tables[1]["rows"]}
            # Where others have one of the CPUs, its two threads take turns, and more wall time.
            if rows["solve"]["verdict"] != "slower":
                break
        self.assertEqual(rows["load"]["verdict"], "slower", rows)
        self.assertAlmostEqual(rows["load"]["change_ns"], 0.4e9, delta=0.05e9)
        self.assertNotEqual(rows["solve"]["verdict"], "slower", rows)
        # What workers waited for a CPU is none of the program's time, whoever waited for them.
        run = {row["name"]: row for row in self.compare(runs[0], runs[1])["tables"][0]["rows"]}
        own = run["wall time, with a CPU of its own"]
        self.assertLess(abs(own["change_ns"]), 0.15e9, run)
        self.assertNotIn("waiting for locks", run)
        chosen = self.compare(runs[0], runs[1], "--by", "wall")["tables"]
        self.assertEqual([table["by"] for table in chosen], ["run", "wall"])

    def test_wall_time_sums_to_the_life_of_the_first_thread(self):
        for scene in ("convoy", "phases", "pipe", "short"):
            with self.subTest(scene):
                result = self.scene(scene)
                _, wall = self.shares(result.profile)
                threads = self.table(result.profile, "threads")
                first = max(int(row["total_ns"]) for row in threads)
                self.assertAlmostEqual(wall / first, 1, delta=0.01)

    def test_holders_are_named(self):
        result = self.scene("convoy")
        rows = self.table(result.profile, "waits")
        locks = [row for row in rows if row["waiter"] == "writer"]
        total = sum(int(row["total_ns"]) for row in locks)
        known = sum(int(row["total_ns"]) for row in locks if row["holder"])
        told = sum(int(row["total_ns"]) for row in locks
                   if row["resource"] == "mutex" and row["guessed"] == "false")
        self.assertGreater(known, 0.9 * total, rows)
        self.assertGreater(told, 0.9 * total, rows)
        most = max(locks, key=lambda row: int(row["total_ns"]))
        self.assertEqual(most["holder"], "flush_log", rows)
        self.assertEqual(int(most["waiters"]), 3)

    def test_locks_have_names(self):
        """The variable's; or where it was initialized."""
        for prefix in (unprivileged(), ()):
            with self.subTest(prefix=prefix):
                self.check_names(self.run_scene("names", prefix=prefix))

    def check_names(self, result):
        rows = [row for row in self.table(result.profile, "waits")
                if row["resource"] == "mutex" and row["holder"] == "keep"]
        named = {row["resource_name"]: row for row in rows}
        # The lock is behind the owner's name, in the last of four.
        self.assertEqual(set(named), {"journal", "accounts+216", "counter_lock", ""}, rows)
        self.assertEqual(named["journal"]["resource_file"], "waiting.c")
        self.assertEqual(named["counter_lock"]["resource_file"], "waiting.c")
        # Everybody can see it: whose file defines it is not known.
        self.assertEqual(named["accounts+216"]["resource_file"], "waiting")
        with open(SOURCE, encoding="utf-8") as source:
            line = next(number for number, text in enumerate(source, 1)
                        if "pthread_mutex_init(on_heap" in text)
        self.assertEqual((os.path.basename(named[""]["resource_file"]),
                          named[""]["resource_line"]), ("waiting.c", str(line)))
        done = self.verb("report", "--waits", result.profile, env={**os.environ, "COLUMNS": "160"})
        self.assertIn("mutex `journal`", done.stdout.decode())
        self.assertIn(f"mutex initialized at waiting.c:{line}", done.stdout.decode())

    def python_waits(self, scene):
        result = self.kept(f"python {scene}", lambda: self.profile_run([sys.executable, PYTHON, scene]))
        self.assertEqual(result.status, 0, result.err)
        return result, self.table(result.profile, "waits")

    def test_account_and_waits_say_the_same_of_the_gil(self):
        result, rows = self.python_waits("gil")
        waits = [row for row in rows if row["resource"] == "GIL"]
        total = sum(int(row["total_ns"]) for row in waits) / 1e6
        # While one of three threads computes for 450 ms in all, the other two wait.
        self.assertGreater(total, 450, rows)
        said = re.search(r"GIL: held ([\d.]+) %, by threads in turns; all threads waited ([\d.]+) (m?s)\n",
                         result.report)
        self.assertTrue(said, result.report)
        # One of them has it at any time, but as the run starts and ends.
        self.assertGreater(float(said[1]), 40, result.report)
        self.assertAlmostEqual(float(said[2]) * (1 if said[3] == "ms" else 1000), total, delta=5.1)

    def test_the_first_sentence_names_the_gil(self):
        """Threads that wait for it have work to do, and their turns with it are no steps."""
        report = self.python_waits("executor")[0].report
        sentence = report[report.index("exit 0"):].split("\n", 1)[1].split("\n\n")[0]
        self.assertRegex(" ".join(sentence.split()),
                         r"^Threads wait for the GIL, Python's lock, .* while count \(waiting\.py:\d+\) holds it")
        for told in ("works alone", "includes warm-up", "STAT-"):
            self.assertNotIn(told, report)

    def test_who_holds_the_gil_is_named_with_its_line(self):
        _, rows = self.python_waits("gil")
        waits = [row for row in rows if row["resource"] == "GIL"]
        total = sum(int(row["total_ns"]) for row in waits)
        named = [row for row in waits if row["holder"] in ("work", "compute") and
                 os.path.basename(row["holder_file"]) == "waiting.py" and row["holder_line"]]
        self.assertGreater(sum(int(row["total_ns"]) for row in named), 0.95 * total, rows)

    def test_locks_of_python_are_called_so(self):
        for scene, within, holder in (("lock", "", "store"), ("queue", "get", "store")):
            with self.subTest(scene):
                _, rows = self.python_waits(scene)
                waits = [row for row in rows if row["waiter"] in ("want", "consume") and
                         row["resource"] == "Python lock"]
                most = max(waits, key=lambda row: int(row["total_ns"]), default=None)
                self.assertTrue(most, rows)
                self.assertEqual(most["resource_within"].split(".")[-1], within, rows)
                self.assertEqual(most["holder"], holder, rows)
                with open(PYTHON, encoding="utf-8") as source:
                    self.assertIn("# wanted", source.readlines()[int(most["waiter_line"]) - 1])

    def test_a_thread_of_a_library_waits_in_a_function_of_that(self):
        """That which feeds a queue of multiprocessing waits for items, and for no lock that is held."""
        result, rows = self.python_waits("loader")
        feeds = [row for row in rows if row["waiter"] == "Condition.wait" and
                 row["resource"] == "Python lock"]
        self.assertTrue(feeds, rows)
        self.assertEqual({row["resource_within"] for row in feeds}, {"Condition.wait"})
        self.assertNotIn("holds a Python lock", result.report)

    def test_the_line_that_holds_a_lock_of_python_is_named_first(self):
        """Waiting under a lock makes the others wait; that main joins them all is no news."""
        report = self.python_waits("locked_wait")[0].report
        self.assertRegex(" ".join(report.split()),
                         r"wall time( \(excluding waits for a CPU\))? is fetch \(waiting\.py:\d+\), "
                         r"which holds a Python lock while 4 threads wait for it at waiting\.py")

    def check_openmp(self, policy):
        """A list of what is wrong in one run."""
        result = self.profile_run([OPENMP], env=self.environment(OMP_WAIT_POLICY=policy))
        self.assertEqual(result.status, 0, result.err)
        rows = [row for row in self.table(result.profile, "waits")
                if row["waiter"].startswith("main")]
        total = sum(int(row["total_ns"]) for row in rows)
        named = [row for row in rows if row["holder"] == "right"]
        right = sum(int(row["total_ns"]) for row in named)
        self.assertEqual({row["resource"] for row in named}, {"OpenMP barrier"})
        shares, _ = self.shares(result.profile)
        wrong = [f"{name} {shares.get(name, 0):.3f}, not {share}"
                 for name, share in (("right", 0.75), ("left", 0.25))
                 if abs(shares.get(name, 0) - share) > TOLERANCE]
        return wrong + ([] if right > 0.9 * total else [f"{right} of {total} ns: {rows}"])

    def test_a_barrier_of_openmp_waits_for_who_comes_last(self):
        # Asleep, or on a CPU: in a loop that spins, which is no work.
        for policy in ("passive", "active"):
            with self.subTest(policy):
                # Its barriers are no locks of the C library's: no agent records who ends a wait,
                # and on a machine with other work the guess errs now and then.
                tries = []
                while len(tries) < 3 and (not tries or tries[-1]):
                    tries.append(self.check_openmp(policy))
                self.assertFalse(tries[-1], tries)

    def test_the_other_end_of_a_pipe_is_named(self):
        rows = self.table(self.scene("pipe").profile, "waits")
        most = max(rows, key=lambda row: int(row["total_ns"]))
        self.assertEqual((most["waiter"], most["resource"], most["holder"]),
                         ("pipe_scene", "pipe or socket", "render"), rows)

    def test_who_holds_what_processes_share_is_named(self):
        for scene, kind, holder in (("shared_semaphore", "semaphore", "render"),
                                    ("shared_mutex", "mutex", "flush_log")):
            with self.subTest(scene):
                rows = self.table(self.run_scene(scene, prefix=unprivileged()).profile, "waits")
                waits = [row for row in rows if row["resource"] == kind and
                         row["waiter"] == f"{scene}_scene"]
                total = sum(int(row["total_ns"]) for row in waits)
                right = sum(int(row["total_ns"]) for row in waits
                            if row["holder"] == holder and row["guessed"] == "false")
                self.assertGreater(right, 0.9 * total, rows)

    def test_who_holds_a_lock_of_multiprocessing_is_named(self):
        _, rows = self.python_waits("shared")
        waits = [row for row in rows if row["waiter"] == "share" and row["resource"] == "semaphore"]
        most = max(waits, key=lambda row: int(row["total_ns"]), default=None)
        self.assertTrue(most, rows)
        self.assertEqual((most["holder"], most["guessed"]), ("store", "false"), rows)

    def test_the_other_end_of_what_is_polled_is_named(self):
        for scene in ("poll", "select", "epoll"):
            with self.subTest(scene):
                rows = self.table(self.run_scene(scene, prefix=unprivileged()).profile, "waits")
                most = max(rows, key=lambda row: int(row["total_ns"]), default=None)
                self.assertTrue(most, rows)
                self.assertEqual((most["waiter"], most["resource"], most["holder"]),
                                 (f"wait_by_{scene}", "pipe or socket", "render"), rows)

    def test_report_says_it(self):
        result = self.scene("convoy")
        self.assertIn("wall time, by what the run waited for", result.report)
        self.assertRegex(result.report,
                         r"flush_log \(waiting\.c:\d+\), which\s+holds\s+the\s+mutex\s+`journal`\s+while")
        done = self.verb("report", "--waits", result.profile)
        self.assertIn(b"waits for other threads and processes", done.stdout)

    def test_the_first_sentence_names_what_works_alone(self):
        for scene, where in (("queue", "decode"), ("barrier", "right"), ("phases", "load")):
            with self.subTest(scene=scene):
                report = self.scene(scene).report
                sentence = report[report.index("exit 0"):].split("\n", 1)[1].split("\n\n")[0]
                self.assertRegex(sentence, rf"{where} \(waiting\.c:\d+\)")
                self.assertIn("hotspots by wall time", report)

    def test_it_is_said_how_many_threads_ran_at_once(self):
        shares = [100]
        for result in self.draws("phases", 5):  # where others use the CPUs, none did for most of the time
            report = result.report
            at_once = re.search(r"on CPUs at once: (.*)", report)
            if at_once:
                shares = [float(share) for share in re.findall(r"([\d.]+) %", at_once[1])]
                self.assertAlmostEqual(sum(shares), 100, delta=0.2)
            if shares[0] < 50:
                break
        self.assertLess(shares[0], 50, report)

    def test_a_program_of_one_thread_has_no_such_table(self):
        result = self.run_scene("alone")
        self.assertNotIn("by what the run waited for", result.report)
        self.assertEqual(self.table(result.profile, "waits"), [])
        shares, _ = self.shares(result.profile)
        self.assertGreater(shares["load"], 0.9)

    def test_without_hooks_it_is_guessed(self):
        # As root the kernel may tell who ends a wait.
        result = self.run_scene("convoy", "--no-waits", prefix=unprivileged())
        rows = self.table(result.profile, "waits")
        self.assertFalse([row for row in rows if row["resource_name"]], rows)
        self.assertTrue([row for row in rows if row["guessed"] == "true"], rows)


if __name__ == "__main__":
    main()
