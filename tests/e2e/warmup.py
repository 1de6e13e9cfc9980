# SPDX-License-Identifier: MIT
"""Whether a run measured its warm-up, said of programs that do and of programs that do not."""
import re
import subprocess

from harness import BOTTLENECK, Case, main, need, target


class Warmup(Case):
    slow = None

    def report_of(self, how, *options):
        done = self.profile_run([target("steps"), how], *options)
        self.assertEqual(done.status, 0, done.err)
        return done

    def cold(self):
        """The report and the profile of a run whose first three calls are slow, and no other: on a
        busy machine more of them may be."""
        for _ in range(8):
            if Warmup.slow is None or Warmup.slow[0].count(": the first 3 of 40 calls") < 2:
                done = self.report_of("cold")
                with open(done.profile, "rb") as file:
                    Warmup.slow = done.report, file.read()
        report, data = Warmup.slow
        with open(self.path("cold.bneck"), "wb") as file:
            file.write(data)
        return report, self.path("cold.bneck")

    def again(self, profile, *options):
        return subprocess.run([BOTTLENECK, "report", *options, profile], capture_output=True,
                              text=True, check=True, env=self.environment()).stdout

    def test_slow_first_calls(self):
        report, _ = self.cold()
        self.assertIn("warning: this profile includes warm-up", report)
        self.assertRegex(report, r"step: the first 3 of 40 calls took [2-4]\d\d ms each")
        self.assertRegex(report, r"forward: the first 3 of 40 calls took [2-4]\d\d ms each")

    def test_the_rest_alone(self):
        _, profile = self.cold()
        report = self.again(profile, "--from-steady")
        self.assertIn("after the warm-up", report)
        self.assertNotIn("warning", report)
        calls = re.search(r"^ .*nvtx +forward", report, re.M).group(0).split()
        # Time is kept in bins: the call that begins in the last bin of the warm-up may be left out.
        self.assertTrue({"36", "37"} & set(calls), report)

    def part(self, profile, *options):
        """Where the part that OPTIONS cut out begins and ends, in seconds, and its report."""
        report = self.again(profile, *options)
        bounds = re.search(r"^  only ([\d.]+) to ([\d.]+) s \([\d.]+ % of the run\)", report, re.M)
        self.assertIsNotNone(bounds, report)
        return float(bounds.group(1)), float(bounds.group(2)), report

    def test_parts_follow_each_other(self):
        _, profile = self.cold()
        warmup = self.part(profile, "--phase", "warmup")
        steady = self.part(profile, "--phase", "steady")
        self.assertLess(warmup[0], 0.2)
        self.assertEqual(warmup[1], steady[0])
        self.assertNotIn("_dl_start", steady[2])
        self.assertEqual(steady[2], self.again(profile, "--from-steady"))

    def test_imports_are_the_start(self):
        need("python3")
        script = ("import asyncio, email.message, http.client, unittest, os, time\n"
                  "end = time.monotonic()\n"
                  "time.sleep(0.3)\n"
                  "os.write(1, b'%f' % (time.monotonic() - end))\n"
                  "os._exit(0)\n")
        for _ in range(6):  # a busy machine may keep it from a CPU right when imports end
            done = self.profile_run(["/usr/bin/python3", "-c", script])
            _, end, report = self.part(done.profile, "--phase", "startup")
            run = self.again(done.profile, "--skip", "0.001")
            wall = float(re.search(r"to ([\d.]+) s", run).group(1))
            if abs(wall - end - float(done.out)) < 0.05:
                break
        self.assertAlmostEqual(wall - end, float(done.out), delta=0.05)
        self.assertIn("asyncio", report)

    def test_the_first_steps_are_skipped(self):
        _, profile = self.cold()
        begin, _, report = self.part(profile, "--skip-first", "3")
        self.assertGreaterEqual(begin, 0.6)  # three of 205 ms
        self.assertRegex(report, r"steps  calls of step\n  37, median")
        self.assertNotIn("warning", report)
        self.assertIn("not so many steps", self.again(profile, "--skip-first", "40"))

    def test_steps(self):
        report, profile = self.cold()
        self.assertRegex(report, r"steps  calls of step\n  40, median [12]\d(\.\d)? ms")
        slow = re.findall(r"^ +(\d+) +[\d.]+ s +[2-9]\d\d ms +[\d.]+ .* step steps\.c:23 > wait_ms: sleep", report, re.M)
        self.assertEqual(sorted(slow), ["1", "2", "3"], report)
        self.assertIn("calls of forward", self.again(profile, "--steps", "forw*"))
        self.assertIn("no such op", self.again(profile, "--steps", "backward"))

    # What is spent before a cut and behind it is what was spent in all, but for the bin that it
    # lies in.
    def test_parts_add_up(self):
        profile = self.report_of("warm").profile

        def slept(*options):
            table = self.again(profile, "--sort", "self", *options)
            rows = re.findall(r"^ *([\d.]+) (ms|s) .* sleep ", table, re.M)
            return sum(float(time) * (1 if unit == "s" else 1e-3) for time, unit in rows)

        whole = slept()
        for cut in ("0.1", "0.3", "0.5"):
            parts = slept("--until", cut) + slept("--skip", cut)
            self.assertAlmostEqual(parts, whole, delta=0.02, msg=cut)

    # On a busy machine any call may be slow, the first one too: then the warning is right.
    def test_none(self):
        for how in ("warm", "periodic"):
            for _ in range(8):
                report = self.report_of(how, "--from-steady").report
                if "no warm-up was found" in report and "note:" not in report:
                    break
            self.assertIn("no warm-up was found", report, how)
            self.assertNotIn("note:", report, how)

    def test_other_verdicts(self):
        for how, words in (("brief", "warning: this run is too short"),
                           ("growing", "note: calls become slower"),
                           ("once", "note: cannot determine whether this is warm-up")):
            for _ in range(4):
                report = self.report_of(how).report
                if words in report:
                    break
            self.assertIn(words, report, how)

    def loop_report(self, how, wanted):
        """What the report of a loop without ops says, once it has WANTED."""
        for _ in range(6):
            done = self.profile_run([target("loop"), how])
            self.assertEqual(done.status, 0, done.err)
            if re.search(wanted, done.report):
                break
        self.assertRegex(done.report, wanted, how)
        return done.report

    # Nothing tells of the turns of this loop but the samples in them.
    def test_turns_of_a_loop(self):
        report = self.loop_report("cold", r"the loop in main \(loop.c:\d+\): the first of (29|30) turns")
        self.assertIn("warning: this profile includes warm-up", report)
        self.assertIn("turns of a loop in main (loop.c:", report)
        self.loop_report("growing", "note: calls become slower\n  the loop in main")
        for how in ("warm", "periodic"):
            self.loop_report(how, r"(?s)^(?!.*warm-up)(?!.*note:).*\nsteps  turns of a loop in main")

    def recorded(self, how, *options):
        """How long was recorded, from when, until when, in seconds; and the report."""
        report = self.report_of(how, *options).report
        found = re.search(r"^  recorded: ([\d.]+) (ms|s) from ([\d.]+) to ([\d.]+) s", report, re.M)
        self.assertIsNotNone(found, report)
        length = float(found.group(1)) * (1 if found.group(2) == "s" else 1e-3)
        return length, float(found.group(3)), float(found.group(4)), report

    def test_only_a_part_is_recorded(self):
        length, begin, end, report = self.recorded("warm", "--delay", "0.2", "--duration", "0.3")
        # As exactly as a busy machine lets us look at the clock.
        self.assertAlmostEqual(begin, 0.2, delta=0.05)
        self.assertAlmostEqual(end, 0.5, delta=0.05)
        self.assertAlmostEqual(length, end - begin, delta=0.002)
        wall = re.search(r"wall time of the main thread  (\d+) ms", report)
        self.assertAlmostEqual(float(wall[1]) / 1000, length, delta=0.01)
        self.assertNotIn("_dl_start", report)
        slept = re.search(r"^ *([\d.]+) ms .* sleep .*wait_ms", report, re.M)
        # A busy machine lets it wait for a CPU, too, but for no longer than was recorded.
        self.assertTrue(100 < float(slept.group(1)) <= 1000 * length + 5, slept.group(0))

    # The first three take 200 ms each, 5 ms of a step are not in its forward part.
    def test_only_what_a_range_is_open_for_is_recorded(self):
        length, begin, end, report = self.recorded("cold", "--range", "forw*")
        self.assertGreater(length, 0.96)
        self.assertLess(length, end - begin - 0.19)
        self.assertIn("while open: forw*", report)
        self.assertNotRegex(report, r" nvtx +step")
        slept = re.search(r"^ *([\d.]+) (ms|s) .* sleep .*wait_ms", report, re.M)
        seconds = float(slept.group(1)) * (1 if slept.group(2) == "s" else 1e-3)
        self.assertTrue(0.6 * length < seconds < 1.02 * length, (seconds, length))

    def test_a_range_that_is_never_open(self):
        report = self.report_of("warm", "--range", "nothing").report
        self.assertIn("recorded: 0 s", report)
        self.assertIn("nothing was recorded", report)
        self.assertNotIn("wait_ms", report)

    def test_a_delay_that_is_longer_than_the_run(self):
        report = self.report_of("warm", "--delay", "1000").report
        self.assertIn("nothing was recorded", report)
        self.assertNotIn("wait_ms", report)

    def test_nothing_to_say_without_ops(self):
        report = self.profile_run(["sleep", "0.1"]).report
        self.assertNotIn("warm-up", report)


if __name__ == "__main__":
    main()
