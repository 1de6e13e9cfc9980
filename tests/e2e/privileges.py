# SPDX-License-Identifier: MIT
"""As another user, without perf, with a full disk: what can be done is done, the rest is said."""
import contextlib
import os
import shutil
import sqlite3
import subprocess
import unittest

from harness import BOTTLENECK, NO_PERF, NOBODY, Case, main, need, target

PARANOID = "/proc/sys/kernel/perf_event_paranoid"


def unprivileged():
    """A prefix that makes a command run as nobody, who may do nothing."""
    if os.geteuid() != 0:
        return []
    need("setpriv")
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


def is_reachable(path):
    """Whether nobody can get at PATH at all."""
    check = subprocess.run([*unprivileged(), "test", "-r", path], check=False)
    return check.returncode == 0


@contextlib.contextmanager
def paranoid(level):
    """Sets kernel.perf_event_paranoid, and sets it back."""
    with open(PARANOID, encoding="ascii") as file:
        before = file.read()
    try:
        with open(PARANOID, "w", encoding="ascii") as file:
            file.write(str(level))
    except OSError as error:
        raise unittest.SkipTest(f"cannot set perf_event_paranoid: {error}") from error
    try:
        yield
    finally:
        with open(PARANOID, "w", encoding="ascii") as file:
            file.write(before)


class AsUser(Case):
    """Copies what nobody needs to a place where nobody can read it."""

    def setUp(self):
        super().setUp()
        os.chmod(self.directory, 0o777)
        self.user = unprivileged()
        self.env = self.environment(HOME=self.work, TMPDIR="/tmp")

    def readable(self, path):
        if is_reachable(path):
            return path
        raise unittest.SkipTest(f"{path} is not readable for others")

    def run_as_user(self, command, *options, prefix=()):
        self.readable(BOTTLENECK)
        return self.profile_run(command, *options, prefix=[*self.user, *prefix], env=self.env)


class User(AsUser):
    def test_an_unprivileged_user_gets_a_profile(self):
        done = self.run_as_user([self.readable(target("shares"))])
        self.assertEqual(done.status, 0, done.err)
        self.assertIn("hot_a", done.report)

    def test_each_level_of_paranoia(self):
        if os.geteuid() != 0:
            raise unittest.SkipTest("needs root to set perf_event_paranoid")
        for level in (-1, 1, 2, 4):
            with self.subTest(level=level), paranoid(level):
                done = self.run_as_user([self.readable(target("shares"))])
                self.assertEqual(done.status, 0, done.err)
                self.assertIn("hot_a", done.report)
                if level >= 2:
                    self.assertIn("perf_event_paranoid", done.report)

    def test_what_was_read_is_known_before_it_ends(self):
        """Afterwards root alone may look."""
        need("dd")
        done = self.run_as_user(["dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=200000"])
        self.assertEqual(done.status, 0, done.err)
        run = dict(sqlite3.connect(done.profile).execute("SELECT key, value FROM run"))
        self.assertGreater(run["read_calls"], 100000)
        self.assertNotIn("mall reads", done.report)

    def test_a_file_of_another_user_is_refused_with_a_message(self):
        if not self.user:
            raise unittest.SkipTest("needs root to become another user")
        self.profile_run([target("shares")])
        os.chmod(self.path("profile.bneck"), 0o600)
        done = self.bare([*self.user, BOTTLENECK, "report", self.path("profile.bneck")])
        self.assert_clean_message(done, "profile.bneck", "Permission denied")

    def test_check_says_what_can_be_measured(self):
        done = self.bare([*self.user, BOTTLENECK, "check"], env=self.env)
        self.assertGreaterEqual(done.returncode, 0)
        self.assertIn(b"perf", done.stdout)


class NoPerf(AsUser):
    """Where perf_event_open is refused, as in most containers."""

    def wrapper(self, *options):
        if not os.path.exists(NO_PERF):
            raise unittest.SkipTest(f"{NO_PERF} is not built")
        return [self.readable(NO_PERF), *options]

    def test_the_agent_takes_over_and_the_report_says_why(self):
        for refusal in ([], ["--enosys"]):
            done = self.run_as_user([self.readable(target("shares"))],
                                    prefix=self.wrapper(*refusal))
            self.assertEqual(done.status, 0, done.err)
            self.assertIn("hot_a", done.report)
            self.assertIn("perf_event_open", done.report)

    def test_what_cannot_be_seen_is_said(self):
        done = self.run_as_user([self.readable(target("shares_static"))], prefix=self.wrapper())
        self.assertEqual(done.status, 0, done.err)
        self.assertIn("static", done.report)

    def test_children_and_threads_are_followed(self):
        for name, function in (("forks", "leaf_work"), ("threads", "odd_work"),
                               ("vforks", "child_work"), ("execs", "second_half")):
            done = self.run_as_user([self.readable(target(name))], prefix=self.wrapper())
            self.assertEqual(done.status, 0, done.err)
            self.assertIn(function, done.report, name)

    def test_endings_are_the_same_and_leave_a_report(self):
        for how in ("return", "_exit", "thread", "kill", "segv", "abort"):
            with self.subTest(how=how):
                bare = self.bare([target("endings"), how])
                done = self.run_as_user([self.readable(target("endings")), how],
                                        prefix=self.wrapper())
                self.assertEqual(done.status, bare.returncode)
                self.assertIn("work", done.report)


class Places(Case):
    def test_a_directory_that_cannot_be_written(self):
        closed = self.make_directory("closed", 0o555)
        env = self.environment(HOME=self.work)
        done = self.bare([*unprivileged(), BOTTLENECK, "-o", os.path.join(closed, "p.bneck"), "--",
                          "sh", "-c", "echo ran; exit 3"], env=env)
        self.assertIn(b"p.bneck", done.stderr)
        # Whether it is said before or after the run: never with a profile that is not there.
        self.assertIn(done.returncode, (3, 125))

    def test_a_full_disk_is_said_and_the_run_goes_on(self):
        if os.geteuid() != 0:
            raise unittest.SkipTest("needs root to mount a small tmpfs")
        small = self.make_directory("small")
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", small],
                               capture_output=True, check=False)
        if mount.returncode:
            raise unittest.SkipTest(f"cannot mount a tmpfs: {mount.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", small], check=False)
        with open(os.path.join(small, "fill"), "wb", buffering=0) as file:
            with contextlib.suppress(OSError):
                while file.write(b"x" * 4096) == 4096:
                    pass
        done = self.bare([BOTTLENECK, "-o", os.path.join(small, "p.bneck"), "--",
                          target("shares")])
        self.assertIn(b"truth self hot_a", done.stdout)
        self.assertIn(b"p.bneck", done.stderr)
        self.assertIn(b"No space left", done.stderr)
        self.assertIn(b"hot_a", done.stderr)
        self.assertEqual([n for n in os.listdir(small) if n != "fill"], [])

    def test_a_program_that_is_deleted_while_it_runs(self):
        copy = os.path.join(self.work, "gone")
        shutil.copy(target("shares"), copy)
        done = self.profile_run(["sh", "-c", f"{copy} & sleep 0.5; rm {copy}; wait"],
                                env=self.environment(TRUTH_MS="1500"))
        self.assertEqual(done.status, 0)
        self.assertIn("hot_a", done.report)


if __name__ == "__main__":
    main()
