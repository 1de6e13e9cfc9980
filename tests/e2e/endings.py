# SPDX-License-Identifier: MIT
"""Nothing is lost or left behind: signals, limits and other runs while a run comes to its end."""
import os
import shutil
import signal
import subprocess
import time

from harness import BOTTLENECK, Case, main, need, target

SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
STEPS = 8  # of a signal's moment after the target's end
STEP_S = 0.005


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def runs(pid, program):
    try:
        return os.readlink(f"/proc/{pid}/exe") == program
    except OSError:
        return False


def is_there(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Ending(Case):
    def setUp(self):
        super().setUp()
        # Root uses only what other users can get to.
        self.runtime = self.make_directory("runtime", 0o711)
        self.temporary = self.make_directory("tmp")
        self.env = self.environment(XDG_RUNTIME_DIR=self.runtime, TMPDIR=self.temporary,
                                    TRUTH_MS="60")

    def start(self, *options, command):
        return subprocess.Popen([BOTTLENECK, *options, "--", *command], cwd=self.work, env=self.env,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def assert_no_debris(self):
        self.assertEqual(os.listdir(self.runtime), [])
        self.assertEqual(os.listdir(self.temporary), [])
        self.assertEqual(os.listdir(self.work), [])
        kept = os.path.join(self.state, "bottleneck")
        there = set(os.listdir(kept)) if os.path.exists(kept) else set()
        self.assertLessEqual(there, {"last.bneck", "kallsyms", "names", "prices"})


class WhileTheReportIsPrepared(Ending):
    def send_after_the_end(self, program, number, delay):
        # What is kept there makes the time that names take too short to be met.
        shutil.rmtree(os.path.join(self.state, "bottleneck", "names"), ignore_errors=True)
        run = self.start("-o", self.path("profile.bneck"), command=[program, "1"])
        self.addCleanup(run.kill)
        while not (found := [c for c in children(run.pid) if runs(c, program)]):
            self.assertIsNone(run.poll(), "it ended before the signal")
        while is_there(found[0]):
            time.sleep(0.0002)
        time.sleep(delay)
        run.send_signal(number)
        out, err = run.communicate(timeout=60)
        return run.returncode, out, err.decode()

    def check(self, number):
        """Status, profile and report are there, whenever the signal comes."""
        hurried = 0
        for step in range(STEPS):
            profile = self.path("profile.bneck")
            if os.path.exists(profile):
                os.unlink(profile)
            status, out, err = self.send_after_the_end(target("inlines"), number, step * STEP_S)
            with self.subTest(number=number, step=step):
                if status == -number and "bottleneck: " in err:
                    # The signal came when all was done: nothing is missing.
                    self.assertIn("limits", err)
                else:
                    self.assertEqual(status, 0, err)
                # A slow machine draws too few samples of 30 ms to rank functions by.
                self.assertRegex(err, "hotspots by self time|too few to rank functions")
                report = self.verb("report", profile)
                self.assertEqual(report.returncode, 0, report.stderr)
                self.assertIn(b"inlines", report.stdout)
                self.assert_no_debris()
            hurried += "came before all functions had their names" in err.replace("\n    ", " ")
        return hurried

    def test_each_signal(self):
        hurried = sum(self.check(number) for number in SIGNALS)
        self.assertGreater(hurried, 0, "no signal came while names were looked up")


class WithASmallLimitOnFiles(Ending):
    def limited(self, blocks, *arguments):
        return self.bare(["bash", "-c", f'ulimit -f {blocks}; exec "$0" "$@"', BOTTLENECK,
                          *arguments], env=self.env)

    def test_the_profile_cannot_be_written(self):
        for blocks in (0, 1, 8):
            with self.subTest(blocks=blocks):
                done = self.limited(blocks, "--no-agent", "-o", self.path("x.bneck"), "--", "sh",
                                    "-c", "exit 3")
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn(b"ulimit -f", done.stderr)
                self.assertFalse(os.path.exists(self.path("x.bneck")))
                self.assert_no_debris()

    def test_other_verbs(self):
        saved = self.path("saved.bneck")
        self.assertEqual(self.bare([BOTTLENECK, "-q", "-o", saved, "--", target("shares")],
                                   env=self.env).returncode, 0)
        for arguments in (["report", f"--export=html={self.path('x.html')}", saved],
                          ["merge", "-o", self.path("m.bneck"), saved]):
            with self.subTest(arguments):
                done = self.limited(4, *arguments)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(b"could not write", done.stderr)
        self.assertEqual(sorted(name for name in os.listdir(self.directory) if "." in name),
                         ["saved.bneck"])

    def test_the_program_has_the_signal_as_it_was(self):
        writer = ["sh", "-c", "exec dd if=/dev/zero of=big bs=4096 count=10 2>/dev/null"]
        done = self.limited(8, "--no-agent", "--", *writer)
        bare = self.bare(["bash", "-c", 'ulimit -f 8; exec "$0" "$@"', *writer])
        os.unlink(os.path.join(self.work, "big"))
        self.assertEqual(done.returncode, bare.returncode)
        self.assertEqual(done.returncode, -signal.SIGXFSZ)


class WithSignalsIgnored(Ending):
    def test_batch(self):
        jobs = self.path("jobs.conf")
        with open(jobs, "w", encoding="utf-8") as file:
            file.write("[one]\ncommand = true\n[two]\ncommand = false\n")
        done = self.bare(["env", "--ignore-signal=CHLD", BOTTLENECK, "batch", "-k", jobs],
                         timeout=30)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(b"1 of 2 commands passed", done.stdout)

    def test_other_verbs(self):
        for line in (["--"], ["bench", "-n", "2"], ["check"]):
            with self.subTest(line):
                command = [] if line == ["check"] else ["true"]
                done = self.bare(["env", "--ignore-signal=CHLD", BOTTLENECK, *line, *command],
                                 timeout=30, env=self.env)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_command_of_a_batch_that_wants_the_terminal(self):
        need("script")
        jobs = self.path("jobs.conf")
        with open(jobs, "w", encoding="utf-8") as file:
            file.write("[asks]\ncommand = sh -c 'read answer < /dev/tty'\n[next]\ncommand = true\n")
        done = self.bare(["script", "-qec", f"{BOTTLENECK} batch -k {jobs}", "/dev/null"],
                         timeout=30)
        self.assertEqual(done.returncode, 128 + signal.SIGTTIN, done.stdout)
        self.assertIn(b"SIGTTIN: it wanted the terminal", done.stdout)
        self.assertIn(b"1 of 2 commands passed", done.stdout)


class WithAnotherRun(Ending):
    def test_a_checkpoint_leaves_a_newer_run_alone(self):
        begin = time.monotonic()
        older = self.start(command=["sleep", "7.5"])
        self.addCleanup(older.kill)
        while not children(older.pid):
            time.sleep(0.01)
        time.sleep(0.3)
        newer = self.bare([BOTTLENECK, "--", target("shares")], env=self.env)
        self.assertEqual(newer.returncode, 0)
        time.sleep(6.2 - (time.monotonic() - begin))  # its checkpoint is made after 5 s
        self.assertIsNone(older.poll())
        shown = self.bare([BOTTLENECK, "report"], env=self.env).stdout
        self.assertIn(b"shares", shown.splitlines()[0])
        older.communicate(timeout=60)
        shown = self.bare([BOTTLENECK, "report"], env=self.env).stdout
        self.assertIn(b"sleep", shown.splitlines()[0], "the one that ended last")


if __name__ == "__main__":
    main()
