# SPDX-License-Identifier: MIT
"""The command behaves under bottleneck as it does without it."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from harness import BOTTLENECK, TIMEOUT, Case, main, need, target

# Sets itself up, says so, and goes on until a signal.
WAITER = "import signal, sys, time; print('ready', flush=True); time.sleep(600)"

# Has had 12 children, each of which samples itself, and prints how many files without a name
# bottleneck has mapped: as soon as they are few, or at the end of its patience.
ENDED_CHILDREN = """
import os, subprocess, sys, time
for i in range(12):
    subprocess.run([sys.executable, '-c', 'for i in range(300000): pass'], check=True)
for i in range(600):
    count = open(f'/proc/{os.getppid()}/maps').read().count('(deleted)')
    if count < 12:
        break
    time.sleep(0.1)
print(count)
"""


class Status(Case):
    def test_a_status_is_passed_on(self):
        for status in (0, 1, 3, 90, 125, 126, 127, 128, 255):
            done = self.profile_run(["sh", "-c", f"exit {status}"])
            self.assertEqual(done.status, status)

    def test_a_fatal_signal_is_raised_again(self):
        for name in ("SEGV", "KILL", "ABRT", "TERM", "INT", "PIPE", "USR1", "TRAP", "FPE"):
            bare = self.bare(["sh", "-c", f"kill -{name} $$"])
            done = self.profile_run(["sh", "-c", f"kill -{name} $$"])
            self.assertEqual(done.status, bare.returncode, name)

    def test_every_ending_leaves_a_report(self):
        for how in ("return", "_exit", "thread", "main-first", "kill", "segv", "abort", "fault"):
            with self.subTest(how=how):
                bare = self.bare([target("endings"), how])
                done = self.profile_run([target("endings"), how])
                self.assertEqual(done.status, bare.returncode)
                self.assertIn("work", done.report)
                self.assertTrue(os.path.exists(done.profile))

    def test_a_command_that_is_not_there_is_127(self):
        # A directory of PATH that may not be searched makes it 126, as in env(1).
        done = self.verb("--", "no-such-program-anywhere",
                         env=self.environment(PATH="/usr/bin:/bin"))
        self.assertEqual(done.returncode, 127)
        self.assert_clean_message(done, "no-such-program-anywhere")

    def test_a_command_that_cannot_run_is_126(self):
        path = os.path.join(self.work, "text")
        with open(path, "w", encoding="utf-8") as file:
            file.write("not a program\n")
        os.chmod(path, 0o644)
        done = self.verb("--", path)
        self.assertEqual(done.returncode, 126)
        self.assert_clean_message(done, path)
        done = self.verb("--", self.work)
        self.assertEqual(done.returncode, 126)

    def test_a_script_whose_interpreter_is_not_there_is_126(self):
        path = os.path.join(self.work, "script")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/no/such/interpreter\n")
        os.chmod(path, 0o755)
        done = self.verb("--", path)
        self.assertEqual(done.returncode, 126)
        self.assert_clean_message(done, path, "interpreter")

    def test_a_wrong_option_is_125_and_one_line(self):
        for wrong in (["--no-such-option", "true"], ["-F", "0", "true"], ["-F", "x", "true"],
                      ["-F", "-5", "true"], ["--unwinder=none", "true"], ["-F"], ["-o"]):
            done = self.verb(*wrong)
            self.assertEqual(done.returncode, 125, wrong)
            self.assert_clean_message(done)

    def test_two_dashes_force_the_program(self):
        report = os.path.join(self.work, "report")
        with open(report, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho I am the program\n")
        os.chmod(report, 0o755)
        env = self.environment(PATH=self.work + ":" + os.environ["PATH"])
        done = self.bare([BOTTLENECK, "--", "report"], env=env)
        self.assertEqual(done.stdout, b"I am the program\n")

    def test_help_and_version_go_to_stdout(self):
        for option in ("--help", "--version"):
            done = self.verb(option)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertIn(b"bottleneck", done.stdout)


class Streams(Case):
    def test_stdin_stdout_and_stderr_are_the_targets_own(self):
        data = os.urandom(1 << 20)
        done = self.profile_run(["sh", "-c", "tee /dev/stderr"], input=data)
        self.assertEqual(done.status, 0)
        self.assertTrue(done.out == data and done.err == data)

    def test_the_report_goes_to_stderr_after_the_targets_own(self):
        done = self.profile_run(["sh", "-c", "echo out; echo err >&2"], report=False)
        self.assertEqual(done.out, b"out\n")
        self.assertTrue(done.err.startswith(b"err\n"))
        self.assertIn(b"bottleneck: sh -c", done.err)

    def test_no_colour_and_no_progress_in_a_pipe(self):
        done = self.profile_run([target("shares")], report=False)
        self.assertNotIn(b"\x1b", done.err)
        self.assertNotIn(b"\r", done.err)

    def test_a_closed_stream_is_no_reason_to_fail(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            done = self.bare(["sh", "-c", f'exec "$0" sh -c "exit 5" {closed}', BOTTLENECK])
            self.assertEqual(done.returncode, 5, closed)

    def test_a_report_that_nobody_can_get_is_told(self):
        kept = self.profile_run(["true"]).profile
        done = self.bare(["sh", "-c", 'exec "$0" report "$1" >&-', BOTTLENECK, kept])
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"could not write", done.stderr)

    def test_what_is_no_file_is_refused_before_the_program_runs(self):
        done = self.verb("-o", "/dev/full", "touch", "ran")
        self.assertEqual(done.returncode, 125)
        self.assert_clean_message(done, "/dev/full", "regular file")
        self.assertFalse(os.path.exists(os.path.join(self.work, "ran")))

    def test_a_report_on_stdout_leaves_what_stands_in_its_file(self):
        done = self.bare(["sh", "-c", '{ echo before; "$0" -R - printf "no newline"; } > all',
                          BOTTLENECK])
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(self.work, "all"), encoding="utf-8") as file:
            self.assertTrue(file.read().startswith("before\nno newline\nbottleneck: printf"))

    def test_a_report_nobody_reads_is_no_reason_to_fail(self):
        done = self.bare(["sh", "-c", '{ "$0" sh -c "exit 6"; echo $? >&3; } 2>&1 3>status | true',
                          BOTTLENECK])
        self.assertEqual(done.returncode, 0)
        with open(os.path.join(self.work, "status"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "6\n")

    def test_the_target_has_no_descriptors_of_ours(self):
        listing = ["ls", "/proc/self/fd"]
        self.assertEqual(self.profile_run(listing).out, self.bare(listing).stdout)
        # Python's processes have that of their own ticks, out of the way.
        listing = ["python3", "-c", "import os; print(*sorted(os.listdir('/proc/self/fd')))"]
        ours = [int(fd) for fd in self.profile_run(listing).out.split()]
        bare = [int(fd) for fd in self.bare(listing).stdout.split()]
        self.assertEqual([fd for fd in ours if fd < 900], bare)
        self.assertLessEqual(len(ours), len(bare) + 1)


class Surroundings(Case):
    def test_the_environment_gains_only_our_own_names(self):
        def names(text):
            return {line.split(b"=")[0] for line in text.split(b"\0") if line}
        bare = self.bare(["env", "-0"]).stdout
        ours = self.profile_run(["env", "-0"]).out
        self.assertEqual(names(bare) - names(ours), set())
        more = {n for n in names(ours) - names(bare) if not n.startswith(b"BOTTLENECK_")}
        self.assertLessEqual(more, {b"LD_PRELOAD", b"BOTTLENECK_AGENT", b"NVTX_INJECTION64_PATH",
                                    b"INTEL_LIBITTNOTIFY64", b"CUDA_INJECTION64_PATH",
                                    b"ASAN_OPTIONS"})
        plain = self.profile_run(["env", "-0"], "--no-ops", "--rung=proc").out
        self.assertEqual(names(plain), names(bare))

    def test_signals_limits_and_groups_are_the_same(self):
        # Where perf may not see the kernel, the agent has a handler for a signal of its own.
        caught = "C" if os.geteuid() == 0 else ""
        look = ["sh", "-c", f"grep -E '^(Sig(Q|P|B|I{'|' + caught if caught else ''})|ShdPnd|Groups|"
                "NoNewPrivs|Seccomp|Cpus|Umask|CapEff)' /proc/self/status | grep -v SigQ; "
                "ulimit -a; umask; nice; pwd"]
        self.assertEqual(self.profile_run(look).out, self.bare(look).stdout)

    def test_the_parents_priority_is_what_it_would_be(self):
        # While the collector is at work: that is urgent.
        looks = ("import os, time\nend, parent, seen = time.monotonic() + 0.3, os.getppid(), set()\n"
                 "while time.monotonic() < end:\n"
                 "    seen.add((os.sched_getscheduler(parent), os.getpriority(os.PRIO_PROCESS,"
                 " parent), os.sched_getparam(parent).sched_priority))\nprint(seen)")
        look = ["python3", "-c", looks]
        self.assertEqual(self.profile_run(look).out, self.bare(look).stdout)

    def test_ignored_signals_stay_ignored(self):
        look = ["grep", "Sig[BI]", "/proc/self/status"]
        ignore = ["env", "--ignore-signal=INT,TERM,HUP,QUIT,PIPE,CHLD", "--block-signal=USR2"]
        self.assertEqual(self.profile_run(look, prefix=ignore).out,
                         self.bare([*ignore, *look]).stdout)

    def test_the_session_and_the_group_are_the_callers(self):
        look = ["python3", "-c", "import os; print(os.getsid(0), os.getpgid(0))"]
        self.assertEqual(self.profile_run(look).out, self.bare(look).stdout)

    def test_nothing_is_left_behind(self):
        # A place of its own for the session, as another bottleneck may be running.
        session = tempfile.mkdtemp(prefix="runtime-")
        self.addCleanup(shutil.rmtree, session)
        os.chmod(session, 0o711)  # root uses only what other users can get to

        def ours():
            return {n for place in ("/dev/shm", "/run") for n in os.listdir(place)
                    if "bottleneck" in n}
        before = ours()
        for command in (["true"], [target("endings"), "kill"], ["no-such-program"]):
            self.profile_run(command, env=dict(self.environment(), XDG_RUNTIME_DIR=session))
        self.assertEqual(os.listdir(self.work), [])
        self.assertEqual(os.listdir(session), [])
        self.assertEqual(ours() - before, set())

    def test_a_directory_that_is_gone_is_no_reason_to_fail(self):
        done = self.bare(["sh", "-c", 'mkdir x && cd x && rmdir ../x && exec "$0" sh -c "exit 4"',
                          BOTTLENECK])
        self.assertEqual(done.returncode, 4)

    def test_the_last_run_is_kept_for_the_user_alone(self):
        self.profile_run([target("shares")], profile=False)
        last = os.path.join(self.state, "bottleneck", "last.bneck")
        self.assertEqual(os.stat(last).st_mode & 0o777, 0o600)
        shown = self.verb("report")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn(b"hot_a", shown.stdout)

    def test_no_place_for_the_last_run_is_no_reason_to_fail(self):
        for env in (self.environment(XDG_STATE_HOME="/proc/nowhere"),
                    self.environment(XDG_STATE_HOME=None, HOME=None),
                    self.environment(XDG_STATE_HOME=None, HOME="/proc/nowhere")):
            done = self.profile_run(["sh", "-c", "exit 3"], profile=False, env=env)
            self.assertEqual(done.status, 3)

    def test_several_run_at_once(self):
        runs = [subprocess.Popen([BOTTLENECK, "-o", self.path(f"p{i}"), "-R", self.path(f"r{i}"),
                                  "--", "sh", "-c", f"\"$0\" >/dev/null; exit {i}",
                                  target("shares")],
                                 env=self.environment(), cwd=self.work) for i in range(6)]
        self.assertEqual([run.wait() for run in runs], list(range(6)))
        for i in range(6):
            with open(self.path(f"r{i}"), encoding="utf-8") as file:
                self.assertIn("hot_a", file.read())

    def test_one_inside_another_works(self):
        done = self.profile_run([BOTTLENECK, "-o", self.path("inner"), "-R", self.path("inner.txt"),
                                 "--", target("shares")])
        self.assertEqual(done.status, 0)
        self.assertIn("hot_a", done.report)
        with open(self.path("inner.txt"), encoding="utf-8") as file:
            self.assertIn("hot_a", file.read())


class Signals(Case):
    def start(self, command):
        run = subprocess.Popen([BOTTLENECK, "-o", self.path("p"), "-R", self.path("report"), "--",
                                *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=self.environment(), cwd=self.work, start_new_session=True)
        self.addCleanup(run.stderr.close)
        self.addCleanup(run.stdout.close)
        self.addCleanup(lambda: run.poll() is None and os.killpg(run.pid, signal.SIGKILL))
        self.assertEqual(run.stdout.readline(), b"ready\n")
        return run

    def assert_reported(self):
        with open(self.path("report"), encoding="utf-8") as file:
            self.assertIn("bottleneck: ", file.read())

    def test_signals_are_passed_on_and_the_report_still_comes(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            run = self.start(["python3", "-c",
                              "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL);" + WAITER])
            run.send_signal(number)
            self.assertEqual(run.wait(TIMEOUT), -number)
            self.assert_reported()

    def test_a_target_may_handle_them(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            run = self.start(["python3", "-c",
                              "import signal, sys\nfor s in (signal.SIGINT, signal.SIGTERM):\n"
                              " signal.signal(s, lambda *_: sys.exit(7))\n" + WAITER])
            run.send_signal(number)
            self.assertEqual(run.wait(TIMEOUT), 7)
            self.assert_reported()

    def test_control_c_reaches_the_group_once(self):
        run = self.start(["python3", "-c",
                          "import signal, sys\nn = 0\n"
                          "def on(*_):\n global n; n += 1\n"
                          "signal.signal(signal.SIGINT, on)\nimport time\n"
                          "print('ready', flush=True)\n"
                          "end = time.time() + 1.5\n"
                          "while time.time() < end: time.sleep(0.1)\n"
                          "sys.exit(n)"])
        os.killpg(run.pid, signal.SIGINT)
        self.assertEqual(run.wait(TIMEOUT), 1)

    def test_a_target_that_kills_its_group_leaves_its_report(self):
        # As a shell starts a job: the leader of a group, but not of a session.
        done = self.profile_run(["sh", "-c", "sleep 60 & kill -KILL 0"], preexec_fn=os.setpgrp)
        self.assertEqual(done.status, -signal.SIGKILL)
        self.assertIn("killed by SIGKILL", done.report)
        # As a script starts it: in the group of the script, which is killed, too.
        path = self.path("killed-script")
        script = subprocess.run(
            ["sh", "-c", '"$0" -o "$1" -R "$1.txt" sh -c "kill -KILL 0"; echo not here',
             BOTTLENECK, path],
            preexec_fn=os.setpgrp, capture_output=True, timeout=TIMEOUT, env=self.environment())
        self.assertEqual((script.returncode, script.stdout), (-signal.SIGKILL, b""))
        deadline = time.monotonic() + TIMEOUT
        while not os.path.exists(path):
            self.assertLess(time.monotonic(), deadline, "no profile is written")
            time.sleep(0.05)

    def pending(self, run):
        """The signals that RUN has been sent and has not looked at yet, as a mask."""
        with open(f"/proc/{run.pid}/status", encoding="utf-8") as file:
            return int(re.search(r"^ShdPnd:\s*(\w+)", file.read(), re.M)[1], 16)

    def test_the_second_interrupt_kills(self):
        run = self.start(["python3", "-c",
                          "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN);" + WAITER])
        run.send_signal(signal.SIGINT)
        deadline = time.monotonic() + TIMEOUT
        while self.pending(run):
            self.assertLess(time.monotonic(), deadline, "it does not look at its signals")
            time.sleep(0.01)
        self.assertIsNone(run.poll())
        run.send_signal(signal.SIGINT)
        self.assertNotEqual(run.wait(TIMEOUT), 0)
        self.assert_reported()

    def test_a_daemon_lives_on_and_nobody_waits_for_it(self):
        done = self.profile_run(["sh", "-c", "(setsid sleep 600 </dev/null >/dev/null 2>&1 & "
                                             "echo $! > pid); exit 5"])
        self.assertEqual(done.status, 5)
        with open(os.path.join(self.work, "pid"), encoding="utf-8") as file:
            os.kill(int(file.read()), signal.SIGKILL)

    def test_a_killed_bottleneck_takes_nothing_down(self):
        run = self.start(["sh", "-c", "echo ready; sleep 1; echo done > finished"])
        os.kill(run.pid, signal.SIGKILL)
        run.wait(TIMEOUT)
        deadline = time.monotonic() + TIMEOUT
        while not os.path.exists(os.path.join(self.work, "finished")):
            self.assertLess(time.monotonic(), deadline, "it has not gone on")
            time.sleep(0.1)


class Crowds(Case):
    def test_make_with_190_processes(self):
        need("make")
        with open(os.path.join(self.work, "Makefile"), "w", encoding="utf-8") as file:
            file.write("all: " + " ".join(f"t{i}" for i in range(190)) + "\n")
            file.write("t%:\n\t@touch $@\n")
        done = self.profile_run(["make", "-j2"])
        self.assertEqual(done.status, 0, done.err)
        self.assertEqual(len(os.listdir(self.work)), 191)
        self.assertIn("191 processes", done.report)

    def test_five_hundred_threads(self):
        done = self.profile_run([target("crowd")])
        self.assertEqual(done.status, 0)
        self.assertIn("501 threads", done.report)

    def test_two_thousand_loads_and_unloads(self):
        done = self.profile_run([target("churn")])
        self.assertEqual(done.status, 0)
        self.assertIn("plugin_a_work", done.report)
        self.assertIn("plugin_b_work", done.report)

    def test_processes_that_have_ended_leave_nothing_mapped(self):
        done = self.profile_run([sys.executable, "-c", ENDED_CHILDREN], timeout=2 * TIMEOUT)
        self.assertEqual(done.status, 0)
        self.assertLess(int(done.out), 12, "of 12 processes with files of their own")

    def test_a_target_that_exits_at_once(self):
        for _ in range(20):
            done = self.profile_run(["true"])
            self.assertEqual(done.status, 0)
            self.assertIn("bottleneck: true", done.report)


if __name__ == "__main__":
    main()
