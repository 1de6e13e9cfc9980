# SPDX-License-Identifier: MIT
"""Programs that sample themselves do what they do without, and all of their time is told.

SELF_REPORT and NO_PERF name the programs of the build. By hand:

    SELF_REPORT=build/tests/self_report NO_PERF=build/tests/no_perf \\
        python3 tests/python/manners.py [--python PATH] [TEST…]
"""
import collections
import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

import interpreters

HERE = os.path.dirname(os.path.abspath(__file__))
SELF_REPORT = os.path.abspath(os.environ.get("SELF_REPORT", "build/tests/self_report"))
SELF_EMBED = os.path.abspath(os.environ.get("SELF_EMBED", "build/tests/self_embed"))
SELF_RESTART = os.path.abspath(os.environ.get("SELF_RESTART", "build/tests/self_restart"))
SELF_HIDDEN = os.path.abspath(os.environ.get("SELF_HIDDEN", "build/tests/self_hidden"))
HANDLER_WATCH = os.path.abspath(os.environ.get("HANDLER_WATCH", "build/tests/handler_watch.so"))
NO_PERF = os.path.abspath(os.environ.get("NO_PERF", "build/tests/no_perf"))
POLITE = os.path.join(HERE, "polite.py")
PYTHON = sys.executable
NOBODY = 65534
TIMEOUT = 120
# What each interpreter does, and whose frames are seen.
EVERYWHERE = ("own_trap_handler", "all_blocked", "fault", "subprocesses", "fork_workers", "multiprocessing_fork",
              "thousand_threads", "shutdown", "close_all", "many_execs")

NO_USER, KERNEL, PYTHON_CHAIN = 1, 4, 8  # enum sample_flags
SAMPLES_ITSELF = 1                       # enum python_flags

Sample = collections.namedtuple("Sample", "pid tid time weight cpu flags frames stack")


def normal(text):
    """Without what differs from run to run."""
    return re.sub(rb"0x[0-9a-f]+|\(pid=\d+\)", b"0x", text)


class Told:
    """What the agent told of a run."""

    def __init__(self, path):
        self.samples, self.pythons, self.tasks, self.notes = [], [], [], []
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                kind, rest = line.rstrip("\n").split(" ", 1)
                if kind == "sample":
                    self.samples.append(Sample(*map(int, rest.split())))
                elif kind == "python":
                    self.pythons.append(tuple(map(int, rest.split())))
                elif kind == "note":
                    self.notes.append(rest.split(" ", 1)[1])
                elif kind == "end":
                    self.status, self.cpu, self.wall, self.dropped, self.damaged, self.unsampled = (
                        map(int, rest.split()))
                else:
                    self.tasks.append((kind, *map(int, rest.split())))

    def begun(self):
        """Of processes that sample themselves from then on."""
        return [python for python in self.pythons if python[2] & SAMPLES_ITSELF]

    def pids(self):
        return {sample.pid for sample in self.samples}

    def tids(self):
        return {sample.tid for sample in self.samples}

    def seconds(self, **only):
        return sum(s.weight for s in self.samples
                   if all(getattr(s, name) == value for name, value in only.items())) / 1e9


class Case(unittest.TestCase):
    def run_one(self, command, **keywords):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=TIMEOUT, check=False, **keywords)
        # A shell's way to tell of a signal.
        return done.returncode if done.returncode >= 0 else 128 - done.returncode, done.stdout

    def report(self, command, *options, before=(), **keywords):
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o777)
            path = os.path.join(directory, "told")
            status, output = self.run_one(
                [*before, SELF_REPORT, *options, "--out", path, *command], **keywords)
            return status, output, Told(path)

    without = {}

    def bare(self, command):
        """What it does without: that depends on itself alone, and is asked for once."""
        if tuple(command) not in self.without:
            self.without[tuple(command)] = self.run_one(command)
        return self.without[tuple(command)]

    def polite(self, name, *options, python=None, **keywords):
        """The same output and status as without; returns what was told."""
        command = [python or PYTHON, "-B", POLITE, name]
        status, output, told = self.report(command, *options, **keywords)
        expected_status, expected = self.bare(command)
        self.assertEqual(normal(output), normal(expected))
        self.assertEqual(status, expected_status, output)
        self.assertEqual((told.damaged, told.unsampled), (0, 0))
        if name in EVERYWHERE:
            self.assertTrue(any(sample.frames for sample in told.samples))
        return told

    def assert_all_told(self, told, tolerance=0.06):
        """All CPU time from the start of the agent to the last sample of each thread."""
        self.assertEqual(told.dropped, 0)
        self.assertAlmostEqual(told.seconds() / (told.cpu / 1e9), 1, delta=tolerance)


class Signals(Case):
    """A program with signals of its own."""

    def test_own_handler_of_sigtrap(self):
        self.polite("own_trap_handler")

    def test_sigtrap_kills_who_does_not_handle_it(self):
        self.polite("trap_kills")

    def test_sigtrap_is_ignored_by_who_does(self):
        self.polite("trap_ignored")

    def test_who_blocks_all_signals_is_sampled(self):
        told = self.polite("all_blocked")
        self.assert_all_told(told)

    def test_a_blocked_sigtrap_waits(self):
        self.polite("blocked_waits")

    def test_a_blocked_sigtrap_waits_alone(self):
        told = self.polite("blocked_again_and_again")
        self.assertTrue(any("waits for SIGTRAP" in note for note in told.notes), told.notes)
        self.assertGreater(told.seconds() / (told.cpu / 1e9), 0.5, "it is sampled by timers")

    def test_a_blocked_sigtrap_waits_for_the_thread_that_wants_it(self):
        self.polite("blocked_waits_for_a_thread")

    def test_own_sigurg(self):
        """Which is that of the timers."""
        for name in ("own_urgent_handler", "urgent_does_nothing", "urgent_waits",
                     "urgent_waits_for_a_thread", "urgent_again_and_again"):
            for before in (), (NO_PERF,):
                with self.subTest(name=name, before=before):
                    told = self.polite(name, before=before)
        self.assertTrue(any("blocks SIGURG" in note for note in told.notes), told.notes)
        self.assertGreater(told.seconds() / (told.cpu / 1e9), 0.5, "it is sampled in between")

    def test_own_handlers_of_all_kinds(self):
        self.polite("own_signals")

    def test_own_profiling_timer(self):
        self.polite("profiling_timer")

    def test_faulthandler_tells_of_a_fault(self):
        self.polite("fault")

    def test_faulthandler_dumps_later(self):
        self.polite("dump_later")

    def test_small_alternate_stack(self):
        told = self.polite("alternate_stack")
        self.assert_all_told(told)

    def test_no_system_call_is_interrupted(self):
        for hz in ("999", "4999"):
            with self.subTest(hz):
                self.polite("no_eintr", "--hz", hz)

    def test_the_same_with_timers(self):
        for name in ("own_trap_handler", "own_signals", "blocked_waits", "all_blocked", "fault",
                     "blocked_again_and_again", "profiling_timer"):
            with self.subTest(name):
                self.polite(name, before=(NO_PERF,))


class Processes(Case):
    """Children of all kinds."""

    def test_subprocesses(self):
        told = self.polite("subprocesses")
        self.assertEqual(len({pid for pid, _, _ in told.begun()}), len(told.begun()),
                         "a child of vfork() tells nothing in its parent's name")

    def test_forked_workers_sample_themselves(self):
        told = self.polite("fork_workers")
        self.assertEqual(len(told.pids()), 5)
        for pid in told.pids():
            self.assertTrue(any(p == pid for p, _, _ in told.begun()))
        self.assert_all_told(told)

    def test_fork_in_a_thread(self):
        self.assertEqual(len(self.polite("fork_in_thread").pids()), 2)

    def test_multiprocessing_fork(self):
        self.assertGreaterEqual(len(self.polite("multiprocessing_fork").pids()), 3)

    def test_multiprocessing_spawn(self):
        self.assertGreaterEqual(len(self.polite("multiprocessing_spawn").pids()), 3)

    def test_process_pool(self):
        self.assertGreaterEqual(len(self.polite("process_pool").pids()), 2)

    def test_exec_of_python(self):
        told = self.polite("execs")
        self.assertEqual(len(told.begun()), 2, "each program has an interpreter of its own")

    def test_exec_of_another_program(self):
        self.assertEqual(len(self.polite("execs_native").begun()), 1)

    def test_exec_is_never_hit(self):
        told = self.polite("many_execs", "--hz", "4999")
        self.assertEqual(told.damaged, 0)


class Threads(Case):
    def test_a_thousand_threads(self):
        self.polite("thousand_threads")

    def test_end_of_the_interpreter(self):
        told = self.polite("shutdown")
        self.assertEqual(len(told.tids()), 5)

    def test_threads_and_main_are_told_whole(self):
        """Each task by itself alone, and the end is handed back."""
        told = self.polite("three_threads")
        self.assertEqual(len(told.tids()), 4)
        self.assert_all_told(told)
        for tid in told.tids():
            if tid != next(iter(told.pids())):
                self.assertAlmostEqual(told.seconds(tid=tid), 0.3, delta=0.03)
        self.assertEqual([flags for _, _, flags in told.pythons], [SAMPLES_ITSELF, 0])
        self.assertGreaterEqual(told.pythons[1][1], max(s.time for s in told.samples))
        self.assertEqual([task for task in told.tasks if task[1] != task[2]], [])


class Descriptors(Case):
    def test_closing_all_leaves_ours(self):
        told = self.polite("close_all")
        self.assert_all_told(told)
        self.assertGreater(len(told.samples), 500)

    def test_closing_behind_our_back_is_noticed(self):
        told = self.polite("close_behind")
        last = max(told.samples, key=lambda sample: sample.time)
        self.assertGreater(last.cpu, 0)
        self.assertGreater(told.seconds(), 0.7)
        self.assertTrue(any("timers" in note for note in told.notes), told.notes)


class Triggers(Case):
    """What makes the ticks."""

    def test_traps_sample_at_the_rate(self):
        told = self.polite("three_threads")
        self.assertAlmostEqual(len(told.samples) / (told.cpu / 1e9) / 999, 1, delta=0.08)
        self.assertTrue(all(sample.flags & PYTHON_CHAIN for sample in told.samples))

    def test_timers_where_perf_is_refused(self):
        told = self.polite("three_threads", before=(NO_PERF,))
        self.assertGreater(len(told.samples), 150)
        self.assertEqual(len(told.begun()), 1)
        self.assert_all_told(told, 0.1)

    def test_kernel_time_is_told_by_both(self):
        told = self.polite("kernel_time")
        self.assert_all_told(told)

    def test_user_code_by_traps_and_the_kernel_by_timers(self):
        told = self.polite("kernel_time", "--kernel")
        kernel = [s for s in told.samples if s.flags & KERNEL]
        user = [s for s in told.samples if not s.flags & KERNEL]
        self.assertTrue(kernel and user)
        self.assertGreater(sum(bool(s.frames) for s in kernel) / len(kernel), 0.7,
                           "they have Python's frames, too, once there is Python")
        self.assert_all_told(told, 0.15)

    def test_unprivileged(self):
        if os.getuid() != 0:
            self.skipTest("needs root to be somebody else")
        with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as level:
            if int(level.read()) > 2:
                self.skipTest("perf_event_paranoid is above 2")
        nobody = ("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups")
        for path in PYTHON, SELF_REPORT:
            if subprocess.run([*nobody, "test", "-x", path], check=False).returncode != 0:
                self.skipTest(f"others may not run {path}")
        told = self.polite("three_threads", before=nobody)
        self.assertGreater(len(told.samples), 500)

    def test_strict_seccomp(self):
        self.polite("strict")


class Versions(Case):
    """Every other interpreter of this machine: the classes above have the one that runs this do all of it."""

    def test_all(self):
        for version, python in interpreters.find().items():
            if os.path.realpath(python) == os.path.realpath(PYTHON):
                continue
            for name in EVERYWHERE:
                with self.subTest(version=version, name=name):
                    self.polite(name, python=python)


class Embedded(Case):
    """Interpreters in programs that are no interpreters."""

    def libraries(self):
        """Library, and the environment in which it finds its modules."""
        for version, python in interpreters.find().items():
            home = os.path.dirname(os.path.dirname(python))
            found = glob.glob(f"{home}/lib/libpython{'.'.join(version.split('.')[:2])}*.so.*")
            if found:
                with self.subTest(version):
                    yield found[0], {**os.environ, "PYTHONHOME": home}

    def test_one_that_exports_nothing_is_named(self):
        status, output, told = self.report([SELF_HIDDEN])
        self.assertEqual((status, output), (0, b"done\n"))
        self.assertTrue(any("exports no functions" in note for note in told.notes), told.notes)

    def test_late_for_itself_alone_among_threads(self):
        for library, env in self.libraries():
            status, output, told = self.report([SELF_EMBED, library], env=env)
            self.assertEqual((status, output), (0, b"done\n"))
            self.assertEqual(len(told.tids()), 3)
            for tid in told.tids():
                self.assertGreater(told.seconds(tid=tid), 0.3)

    def test_again_and_again(self):
        turns = 4
        expected = b"".join(b"turn %d: done\n" % turn for turn in range(turns))
        for library, env in self.libraries():
            for hz in ("999", "4999"):
                status, output, told = self.report([SELF_RESTART, library, str(turns)],
                                                   "--hz", hz, env=env)
                self.assertEqual((status, output), (0, expected))
                self.assertEqual(len(told.tids()), 1 + 2 * turns)
                for tid in told.tids():
                    self.assertTrue(any(s.frames for s in told.samples if s.tid == tid))


class Handlers(Case):
    """What a handler interrupts may be malloc() or the loader: it calls neither."""

    def watch(self, command):
        status, output, told = self.report(command, "--hz", "4999",
                                           env={**os.environ, "LD_PRELOAD": HANDLER_WATCH})
        self.assertEqual(self.run_one(command), (status, output))
        self.assertGreater(len(told.samples), 100)

    def test_all(self):
        for version, python in interpreters.find().items():
            for name in ("thread_local_libraries", "thousand_threads", "fork_workers",
                         "own_signals", "shutdown"):
                with self.subTest(version=version, name=name):
                    self.watch([python, "-B", POLITE, name])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--python"]:
        PYTHON = sys.argv[2]
        del sys.argv[1:3]
    unittest.main(verbosity=2)
