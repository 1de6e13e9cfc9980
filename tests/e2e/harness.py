# SPDX-License-Identifier: MIT
"""Runs the real binary on real commands. What every end-to-end test needs, in one place.

BOTTLENECK, TARGETS and NO_PERF name the binary, the folder of the targets and the wrapper that
refuses perf_event_open; ctest sets them. By hand:

    BOTTLENECK=build/cli/bottleneck TARGETS=build/tests/targets python3 tests/e2e/manners.py
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

BOTTLENECK = os.path.abspath(os.environ.get("BOTTLENECK", "build/cli/bottleneck"))
TARGETS = os.path.abspath(os.environ.get("TARGETS", "build/tests/targets"))
NO_PERF = os.path.abspath(os.environ.get("NO_PERF", "build/tests/no_perf"))
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "targets")
NOBODY = 65534
# Far above what any test needs: a machine under load is slow, a hang is forever.
TIMEOUT = 120
# Root may run mpirun, with more ranks than there are CPUs: Open MPI 4, and 5, whose launcher is PRRTE.
MPIRUN = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
          "OMPI_MCA_rmaps_base_oversubscribe": "1",
          "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}


def target(name):
    return os.path.join(TARGETS, name)


def need(*programs):
    """Skips the test, by name, unless all of PROGRAMS are installed."""
    for program in programs:
        if not shutil.which(program):
            raise unittest.SkipTest(f"{program} is not installed")


def unprivileged():
    """A prefix that makes a command run as nobody, who may do nothing."""
    if os.geteuid() != 0:
        return []
    need("setpriv")
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


def python_for_nobody():
    """A Python that an unprivileged user may run: the one that runs this may be in root's home."""
    for path in (os.path.realpath(sys.executable), "/usr/bin/python3"):
        # What setpriv itself starts is started with the rights that it has not yet given up.
        line = [*unprivileged(), "sh", "-c", f"exec {path} -c ''"]
        done = subprocess.run(line, capture_output=True, check=False)
        if done.returncode == 0:
            return path
    raise unittest.SkipTest("no Python here is executable for other users")


def status_text(status):
    return f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"


class Result:
    """What one run of bottleneck left behind."""

    def __init__(self, status, out, err, report, profile):
        self.status = status
        self.out = out
        self.err = err
        self.report = report
        self.profile = profile


class Case(unittest.TestCase):
    """A test with a directory of its own, in which nothing may be left but what it put there."""

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="e2e-")
        self.work = self.make_directory("work")
        self.state = self.make_directory("state")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def build_straggler(self, *flags):
        """The program of MPI in which one rank holds the others up."""
        need("mpicc", "mpirun")
        program = self.path("straggler")
        done = self.bare(["mpicc", "-g", "-O2", *flags, "-o", program,
                          os.path.join(SOURCES, "straggler.c")])
        self.assertEqual(done.returncode, 0, done.stderr)
        return program

    def make_directory(self, name, mode=0o777):
        path = os.path.join(self.directory, name)
        os.mkdir(path)
        # Tests as another user need to get in, whatever the umask.
        os.chmod(self.directory, 0o755)
        os.chmod(path, mode)
        return path

    def path(self, name):
        return os.path.join(self.directory, name)

    def environment(self, **extra):
        clean = {k: v for k, v in os.environ.items()
                 if not k.startswith(("BOTTLENECK", "XDG_", "LD_PRELOAD"))}
        clean.update({"XDG_STATE_HOME": self.state, "LC_ALL": "C.UTF-8", "TRUTH_MS": "300"})
        clean.update(extra)
        return {k: v for k, v in clean.items() if v is not None}

    def bare(self, command, **options):
        options.setdefault("cwd", self.work)
        options.setdefault("env", self.environment())
        options.setdefault("timeout", TIMEOUT)
        options.setdefault("stdin", None if "input" in options else subprocess.DEVNULL)
        return subprocess.run(command, capture_output=True, check=False, **options)

    def profile_run(self, command, *options, prefix=(), report=True, profile=True, **run_options):
        """Runs `bottleneck OPTIONS COMMAND`, profile and report in files beside the work."""
        report_path, profile_path = self.path("report"), self.path("profile.bneck")
        for path in (report_path, profile_path):
            if os.path.exists(path):
                os.unlink(path)
        line = [*prefix, BOTTLENECK, *options]
        line += ["-R", report_path] if report else []
        line += ["-o", profile_path] if profile else []
        done = self.bare([*line, "--", *command], **run_options)
        text = ""
        if os.path.exists(report_path):
            with open(report_path, encoding="utf-8", errors="replace") as file:
                text = file.read()
        return Result(done.returncode, done.stdout, done.stderr, text, profile_path)

    def verb(self, *arguments, **options):
        return self.bare([BOTTLENECK, *arguments], **options)

    def assert_clean_message(self, done, *words):
        """A failure of ours: no signal, no core, a line that names us and what is wrong."""
        text = done.stderr.decode(errors="replace")
        self.assertGreaterEqual(done.returncode, 0, f"{status_text(done.returncode)}: {text}")
        self.assertNotEqual(done.returncode, 0, text)
        self.assertTrue(text.startswith("bottleneck"), f"not our message: {text!r}")
        self.assertLessEqual(len(text.splitlines()), 4, f"more than a message: {text}")
        for word in words:
            self.assertIn(word, text)


def main():
    for name in (BOTTLENECK, TARGETS):
        if not os.path.exists(name):
            sys.exit(f"{sys.argv[0]}: {name} is not there: build first, or set BOTTLENECK, TARGETS")
    unittest.main(verbosity=2)
