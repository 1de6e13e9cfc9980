# SPDX-License-Identifier: MIT
"""Programs in PID and time namespaces of their own: who they are, how long they take, once."""
import json
import os
import subprocess
import sys
import unittest

from harness import (BOTTLENECK, NO_PERF, Case, main, need, python_for_nobody, target,
                     unprivileged)

SECONDS, WITHIN = 0.4, 0.15
SHORT = 40  # processes of a millisecond each
PROGRAM = """\
import os, sys, time

def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(500))

spin(float(sys.argv[1]))
print("done")
sys.exit(5)
"""
RUNGS = {
    "kernel": ([], []),
    "user": (["--rung=user"], []),
    "agent": ([], [NO_PERF]),
}
PID = ["unshare", "--fork", "--pid", "--mount-proc"]
TIME = ["unshare", "--fork", "--time", "--monotonic", "86400"]


class Namespaces(Case):
    user = []

    def setUp(self):
        super().setUp()
        self.python = os.path.realpath(sys.executable)  # not a script that looks for it
        self.program = self.path("busy.py")
        with open(self.program, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        os.chmod(self.directory, 0o777)
        os.chmod(self.program, 0o755)
        with open("/proc/1/comm", encoding="utf-8") as file:
            self.first = file.read().strip()

    def wrapper(self, command):
        return command

    def check(self, wrapper, processes):
        """WRAPPER makes the namespaces; PROCESSES is how many there are, with its own."""
        need(wrapper[0])
        command = [*wrapper, self.python, "-S", self.program]
        bare = self.bare([*self.user, *command, "0"])
        if bare.returncode != 5:
            raise unittest.SkipTest(f"{' '.join(wrapper)}: {bare.stderr.decode().strip()}")
        for rung, (options, prefix) in RUNGS.items():
            with self.subTest(rung=rung):
                done = self.profile_run([*command, str(SECONDS)], *options, prefix=[*self.user, *prefix])
                self.assertEqual((done.status, done.out), (bare.returncode, bare.stdout), done.err)
                self.check_report(done, processes)

    def check_report(self, done, processes):
        shown = self.verb("report", "--export=json", done.profile)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        rows = json.loads(shown.stdout)["tables"]["processes"]
        cpu = sum(row["on_cpu_ns"] for row in rows) / 1e9
        self.assertLess(abs(cpu - SECONDS), WITHIN, done.report)
        names = [row["name"] for row in rows]
        self.assertNotIn(self.first, names)
        self.assertEqual(len(names), processes, names)
        self.assertIn("spin", done.report)
        self.assertRegex(done.report, r"busy\.py:[3-7]\b")
        self.assertNotIn("still running", done.report)

    def test_a_pid_namespace_with_its_own_proc(self):
        self.check(PID, 2)

    def test_one_within_another(self):
        self.check([*PID, *PID], 3)

    def test_a_pid_namespace_with_the_proc_outside(self):
        self.check(["unshare", "--fork", "--pid"], 2)

    def test_all_that_bubblewrap_unshares(self):
        # Without --as-pid-1 bwrap ends before its own first process, which is still running then.
        self.check(["bwrap", "--unshare-all", "--as-pid-1", "--dev-bind", "/", "/",
                    "--proc", "/proc"], 2)

    def test_processes_that_end_before_anybody_looks(self):
        need("unshare")
        script = f"i=0; while [ $i -lt {SHORT} ]; do /bin/true; i=$((i + 1)); done; exit 3"
        bare = self.bare([*self.user, *self.wrapper(PID), "sh", "-c", script])
        if bare.returncode != 3:
            raise unittest.SkipTest(bare.stderr.decode().strip())
        for rung, (options, prefix) in RUNGS.items():
            with self.subTest(rung=rung):
                done = self.profile_run([*self.wrapper(PID), "sh", "-c", script], *options,
                                        prefix=[*self.user, *prefix])
                self.assertEqual(done.status, 3, done.err)
                shown = self.verb("report", "--export=json", done.profile)
                rows = json.loads(shown.stdout)["tables"]["processes"]
                names = [row["name"] for row in rows]
                self.assertEqual(names.count("true"), SHORT, names)
                self.assertNotIn("other PID namespaces", done.report)

    def test_a_clock_that_is_a_day_ahead(self):
        self.check(TIME, 2)


class Jit(Case):
    """A run-time compiler names its code by its own number there, and has ended when we read it."""

    FORKS = 50 + os.getpid() % 150  # so that other tests that use this /tmp have other numbers

    def check(self, command):
        bare = self.bare(command)
        if bare.returncode:
            raise unittest.SkipTest(bare.stderr.decode().strip())
        done = self.profile_run(command)
        self.assertEqual(done.status, 0, done.err)
        inner = int(done.out.decode().split()[0])
        self.assertLess(inner, 1000)
        shown = self.verb("report", "--export=json", done.profile)
        rows = json.loads(shown.stdout)["tables"]["functions"]
        names = {row["name"] for row in rows}
        self.assertTrue({"made_one", "made_two"} <= names, (names, done.report))
        return inner

    def script(self, before=""):
        forks = f"i=0; while [ $i -lt {self.FORKS} ]; do (:); i=$((i + 1)); done"
        program = "sh -c 'echo $$; TRUTH_MS=300 exec \"$0\"' \"$0\""
        return ["sh", "-c", f"{before} {forks}; {program}", target("jit")]

    def tearDown(self):
        super().tearDown()
        for number in range(self.FORKS, self.FORKS + 10):
            path = f"/tmp/perf-{number}.map"
            if os.path.exists(path):
                os.unlink(path)

    def test_in_a_pid_namespace(self):
        need("unshare")
        self.check([*PID, *self.script()])

    def test_in_a_pid_namespace_with_a_directory_of_its_own(self):
        need("unshare", "mount")
        inner = self.check([*PID, *self.script("mount -t tmpfs none /tmp;")])
        self.assertFalse(os.path.exists(f"/tmp/perf-{inner}.map"))


class NamespacesOfAUser(Namespaces):
    """The same for an unprivileged user, whose namespaces are in a user namespace."""

    def setUp(self):
        super().setUp()
        need("unshare")
        self.user = unprivileged()
        self.python = python_for_nobody()
        if subprocess.run([*self.user, "test", "-x", BOTTLENECK], check=False).returncode:
            raise unittest.SkipTest(f"{BOTTLENECK} is not readable for others")
        done = self.bare([*self.user, "unshare", "-r", "true"])
        if done.returncode:
            raise unittest.SkipTest(f"no user namespaces: {done.stderr.decode().strip()}")

    def wrapper(self, command):
        return ["unshare", "-r", *command[1:]] if command[0] == "unshare" else command

    def check(self, wrapper, processes):
        super().check(self.wrapper(wrapper), processes)


if __name__ == "__main__":
    main()
