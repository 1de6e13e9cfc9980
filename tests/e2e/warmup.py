# SPDX-License-Identifier: MIT
"""Whether a run measured its warm-up, said of programs that do and of programs that do not."""
import re
import subprocess

from harness import BOTTLENECK, Case, main, target


class Warmup(Case):
    def report_of(self, how, *options):
        done = self.profile_run([target("steps"), how], *options)
        self.assertEqual(done.status, 0, done.err)
        return done

    def again(self, profile, *options):
        return subprocess.run([BOTTLENECK, "report", *options, profile], capture_output=True,
                              text=True, check=True, env=self.environment()).stdout

    def test_slow_first_calls(self):
        done = self.report_of("cold")
        self.assertIn("warning: this profile includes warm-up", done.report)
        self.assertRegex(done.report, r"step: the first 3 of 40 calls took 2\d\d ms each")
        self.assertRegex(done.report, r"forward: the first 3 of 40 calls took 2\d\d ms each")

    def test_the_rest_alone(self):
        done = self.report_of("cold")
        report = self.again(done.profile, "--from-steady")
        self.assertIn("behind the warm-up", report)
        self.assertNotIn("warning", report)
        calls = re.search(r"^ .*nvtx +forward", report, re.M).group(0).split()
        # Time is kept in bins: the call that begins in the last bin of the warm-up may be left out.
        self.assertTrue({"36", "37"} & set(calls), report)

    def test_none(self):
        for how in ("warm", "periodic"):
            report = self.report_of(how).report
            self.assertNotIn("warm-up", report, how)
            self.assertNotIn("note:", report, how)
        self.assertIn("no warm-up was found", self.report_of("warm", "--from-steady").report)

    def test_other_verdicts(self):
        for how, words in (("brief", "warning: this run is too short"),
                           ("growing", "note: calls take longer and longer"),
                           ("once", "note: whether this is warm-up cannot be told")):
            self.assertIn(words, self.report_of(how).report, how)

    def test_nothing_to_say_without_ops(self):
        report = self.profile_run(["sleep", "0.1"]).report
        self.assertNotIn("warm-up", report)


if __name__ == "__main__":
    main()
