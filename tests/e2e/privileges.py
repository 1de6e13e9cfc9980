# SPDX-License-Identifier: MIT
"""As another user, without perf, with a full disk: what can be done is done, the rest is said."""
import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import unittest

from harness import (BOTTLENECK, NO_PERF, NOBODY, Case, main, need, python_for_nobody, target,
                     unprivileged)

PARANOID = "/proc/sys/kernel/perf_event_paranoid"


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


@unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
class Dropped(Case):
    """A program that root starts, and that goes on as somebody else."""

    PROGRAM = """\
import gc, os, subprocess, sys, threading, time

def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1000))

def before_work():
    spin(0.2)

def after_work():
    kept = [bytes(1 << 20) for _ in range(64)]
    spin(0.2)

def child_work():
    for _ in range(40):
        gc.collect()
    spin(0.2)

def idle():
    time.sleep(0.1)

if len(sys.argv) > 1:
    before_work()
    os.setgroups([])
    os.setgid(int(sys.argv[1]))
    os.setuid(int(sys.argv[1]))
    # More than what has been made by the user before has room for.
    threads = [threading.Thread(target=idle) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
after_work()
child = os.fork()
if child == 0:
    child_work()
    os._exit(0)
os.waitpid(child, 0)
print(os.getuid())
sys.exit(7)
"""

    def setUp(self):
        super().setUp()
        if not is_reachable(BOTTLENECK):
            raise unittest.SkipTest(f"{BOTTLENECK} is not readable for others")
        self.python = python_for_nobody()
        self.program = os.path.join(self.work, "dropped.py")
        with open(self.program, "w", encoding="ascii") as file:
            file.write(self.PROGRAM)

    def assert_seen(self, command, *functions):
        bare = self.bare(command)
        self.assertEqual(bare.returncode, 7, bare.stderr)
        for rung in ("kernel", "user", "agent"):
            with self.subTest(rung=rung):
                done = self.profile_run(command, f"--rung={rung}")
                self.assertEqual((done.status, done.out, done.err),
                                 (7, bare.stdout, bare.stderr))
                self.check_tables(done, functions)

    def check_tables(self, done, functions):
        tables = json.loads(self.verb("report", "--export=json", done.profile).stdout)["tables"]
        for name in functions:
            times = [row["total_ns"] / 1e9 for row in tables["functions"]
                     if row["name"] == name and row["file"] == self.program and row["line"]]
            self.assertEqual(len(times), 1, name)
            self.assertGreater(times[0], 0.15, name)
        kept = [row["total_allocated_bytes"] for row in tables["memory"]
                if row["name"].startswith("after_work")]
        self.assertTrue(kept and max(kept) > 8 << 20, kept)
        ops = {row["name"]: row["calls"] for row in tables["ops"]}
        self.assertGreaterEqual(ops.get("garbage collection", 0), 40)
        self.assertNotIn("could not be sampled", done.report)

    def test_before_python_starts(self):
        self.assert_seen([*unprivileged(), self.python, self.program], "after_work", "child_work")

    def test_by_su(self):
        need("su")
        self.assert_seen(["su", "nobody", "-s", "/bin/sh", "-c",
                          f"exec {self.python} {self.program}"], "after_work", "child_work")

    def test_by_runuser(self):
        need("runuser")
        self.assert_seen(["runuser", "-u", "nobody", "--", self.python, self.program],
                         "after_work", "child_work")

    def test_while_python_runs(self):
        self.assert_seen([self.python, self.program, str(NOBODY)],
                         "before_work", "after_work", "child_work")

    def assert_told(self, command, reason, binary=BOTTLENECK, prefix=(), place=None,
                    rungs=("kernel", "user", "agent")):
        """Where there is no agent, the report says why, and does not ask for symbols. PLACE: where
        PREFIX shows self.directory."""
        bare = self.bare(command)
        for rung in rungs:
            with self.subTest(rung=rung):
                report = self.path("report")
                there = place or self.directory
                done = self.bare([*prefix, binary, f"--rung={rung}", "-R",
                                  os.path.join(there, "report"), "-o",
                                  os.path.join(there, "profile.bneck"), "--", *command])
                self.assertEqual((done.returncode, done.stdout, done.stderr),
                                 (7, bare.stdout, bare.stderr))
                with open(report, encoding="utf-8") as file:
                    told = " ".join(file.read().split())
                self.assertRegex(told, rf"2 processes \(python3[^)]*\) ran without the agent, {reason}")
                self.assertNotRegex(told, r"python3[^:]*: install its debug symbols|its symbols first")
                self.assertNotIn("ran too short", told)

    def test_another_environment_is_told(self):
        self.assert_told(["env", "-i", self.python, self.program], "started with another environm")

    def test_a_login_by_su_is_told(self):
        need("su")
        self.assert_told(["su", "-", "nobody", "-s", "/bin/sh", "-c",
                          f"{self.python} {self.program}"], "started with another environment")

    def test_a_library_that_the_user_may_not_read_is_told(self):
        """As with an installation in root's home directory."""
        place = self.make_directory("closed")
        tree = os.path.dirname(os.path.dirname(BOTTLENECK))
        library = os.path.join(tree, "tracer", "libbottleneck-agent.so")
        if not os.path.exists(library):
            raise unittest.SkipTest("bottleneck is not in its build tree")
        for path in (BOTTLENECK, library):
            to = os.path.join(place, os.path.relpath(os.path.dirname(path), tree))
            os.mkdir(to)
            shutil.copy(path, to)
        os.chmod(place, 0o700)
        self.assert_told([*unprivileged(), self.python, self.program], "as another user",
                         os.path.join(place, "cli", "bottleneck"))

    def test_no_directory_that_the_user_can_reach_is_told(self):
        """As where /tmp is root's alone, and there is no other runtime directory."""
        tree = os.path.dirname(os.path.dirname(BOTTLENECK))
        closed = self.make_directory("closed", 0o700)
        hide = (f"mount --bind '{tree}' /mnt && mount --bind '{self.directory}' /media && "
                f"mount --bind '{closed}' /tmp || exit 77; exec \"$@\"")
        prefix = ["unshare", "--mount", "sh", "-c", hide, "sh"]
        if self.bare([*prefix, "true"]).returncode:
            raise unittest.SkipTest("cannot mount")
        self.assert_told([*unprivileged(), self.python, "-c", self.PROGRAM],
                         "as another user who could not reach the run's directory",
                         "/mnt/cli/bottleneck", prefix, "/media")

    def test_a_setuid_program_is_told(self):
        python = os.path.join(self.work, "python3-setuid")
        shutil.copy(os.path.realpath(self.python), python)
        os.chmod(python, 0o4755)
        home = subprocess.run([self.python, "-c", "import sys; print(sys.prefix)"],
                              capture_output=True, text=True, check=True).stdout.strip()
        command = ["env", f"PYTHONHOME={home}", *unprivileged(), python, self.program]
        secure = self.bare([*command[:-1], "-c",
                            "import os; print(os.geteuid(), os.getuid())"]).stdout.split()
        if secure != [b"0", str(NOBODY).encode()]:
            raise unittest.SkipTest("setuid has no effect here")
        self.assert_told(command, "with rights of its file", rungs=["agent"])
        # The kernel takes its events from who gains rights.
        for rung in ("kernel", "user"):
            done = self.profile_run(command, f"--rung={rung}")
            self.assertEqual(done.status, 7)
            self.assertIn("1 process could not be sampled (python3-setuid): setuid", done.report)
            self.assertIn("The process python3-setuid could not be sampled: it runs with other",
                          " ".join(done.report.split()))
            self.assertNotIn("wall time of the main thread", done.report)  # of its start alone

    def test_strangers_are_kept_out(self):
        look = """\
import os, stat
at = os.environ["BOTTLENECK_AGENT_DIR"]
for path in (at, os.path.dirname(at)):
    status = os.stat(path)
    print(oct(stat.S_IMODE(status.st_mode)), status.st_uid)
    try:
        print(os.listdir(path))
    except PermissionError:
        print("closed")
for path in (at + "/1-2-0", "/tmp/guess-%d" % os.getpid()):
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    os.unlink(path)
try:
    os.unlink(at + "/collector")
except PermissionError:
    print("kept")
"""
        runtime = self.make_directory("runtime", 0o700)
        for given in (None, runtime):
            done = self.profile_run([*unprivileged(), self.python, "-c", look],
                                    env=self.environment(XDG_RUNTIME_DIR=given))
            self.assertEqual(done.out.decode().split("\n"),
                             ["0o1733 0", "closed", "0o711 0", "closed", "kept", ""], done.err)
        self.assertEqual(os.listdir(runtime), [])


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
