# SPDX-License-Identifier: MIT
"""The self-tests of real packages give the same result under bottleneck as without it.

    transparency.py [--fast] [NAME...]

Needs the Debian packages libpython3.11-testsuite (or what belongs to python3), libglib2.0-tests
and python3-psutil; a suite that is not installed is skipped by name. A test that differs is run
again both ways, twice: a test that is not stable in itself shows there and proves nothing.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

from harness import BOTTLENECK, NO_PERF

PYTHON = "/usr/bin/python3"
GLIB = "/usr/libexec/installed-tests/glib"

PYTHON_FAST = ["test_fork1", "test_os"]
PYTHON_TESTS = PYTHON_FAST + ["test_signal", "test_subprocess", "test_threading", "test_faulthandler",
                              "test_posix", "test_pty", "test_select", "test_mmap", "test_time",
                              "test_multiprocessing_spawn", "test_concurrent_futures"]
GLIB_FAST = ["spawn-multithreaded", "spawn-path-search", "unix", "thread", "timeout", "sigaction"]


class Suite:
    def __init__(self, name, cases):
        self.name = name
        self.cases = cases  # (case name, command)


def python_suite(fast):
    found = subprocess.run([PYTHON, "-c", "import test.test_signal"], capture_output=True,
                           check=False).returncode == 0
    tests = PYTHON_FAST if fast else PYTHON_TESTS
    return Suite("python3", [(t, [PYTHON, "-m", "unittest", "-v", f"test.{t}"]) for t in tests]
                 if found else [])


def is_program(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF" and os.access(path, os.X_OK) and not path.endswith(".so")


def glib_suite(fast):
    names = sorted(os.listdir(GLIB)) if os.path.isdir(GLIB) else []
    names = [n for n in names if os.path.isfile(os.path.join(GLIB, n))]
    names = [n for n in names if is_program(os.path.join(GLIB, n))]
    # Without --tap these are helpers, performance tests or need a session bus.
    skip = re.compile(r"gdbus|dbus|monitor|portal|server|launch|live-g-file|slow|testprog|helper|"
                      r"application|apps$|desktop|performance|socket-client|httpd|send-data|fake-")
    names = [n for n in names if not skip.search(n)]
    names = [n for n in names if n in GLIB_FAST] if fast else names
    return Suite("glib", [(n, [os.path.join(GLIB, n), "--tap"]) for n in names])


def psutil_suite(fast):
    modules = ["test_misc"] if fast else ["test_misc", "test_process", "test_connections",
                                          "test_linux", "test_unicode"]
    found = subprocess.run([PYTHON, "-c", "import psutil.tests"], capture_output=True,
                           check=False).returncode == 0
    return Suite("psutil", [(m, [PYTHON, "-m", "unittest", "-v", f"psutil.tests.{m}"])
                            for m in modules] if found else [])


def verdicts(text):
    """test name → result, from unittest -v or TAP."""
    result = {}
    for line in text.splitlines():
        # unittest: "test_x (module.Class.test_x) ... ok", perhaps with words in between; psutil's
        # have the full name alone.
        match = re.match(r"(test\w+ \([\w.]+\)|[\w.]+\.test\w+)(?= |$).*?"
                         r"(ok|FAIL|ERROR|skipped.*|expected failure)?$", line)
        if match and match[2]:
            result[match[1]] = match[2].split()[0]
        match = re.match(r"(ok|not ok) (\d+ \S.*?)(?: #.*)?$", line)
        if match:
            result[match[2]] = match[1]
    return result


def run(command, prefix, timeout):
    with tempfile.TemporaryDirectory(prefix="transparency-") as directory:
        env = dict(os.environ, LC_ALL="C.UTF-8", G_TEST_SRCDIR=GLIB, G_TEST_BUILDDIR=GLIB,
                   XDG_STATE_HOME=directory, PSUTIL_TESTING="1")
        report = ["-R", os.path.join(directory, "report"), "-o", os.path.join(directory, "p.bneck")]
        line = [*prefix, *report, "--", *command] if prefix else command
        try:
            done = subprocess.run(line, env=env, cwd=directory, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                                  timeout=timeout)
        except subprocess.TimeoutExpired:
            return "timeout", {}
        return done.returncode, verdicts(done.stdout.decode(errors="replace"))


def differences(bare, ours):
    changed = {t: (bare[1].get(t), ours[1].get(t)) for t in set(bare[1]) | set(ours[1])
               if bare[1].get(t) != ours[1].get(t)}
    if bare[0] != ours[0]:
        changed["status"] = (bare[0], ours[0])
    return changed


def check(case, command, prefix, timeout):
    """Returns how many results were compared, and the differences that are ours."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        bare, ours = pool.map(lambda with_us: run(command, prefix if with_us else [], timeout),
                              (False, True))
    changed = differences(bare, ours)
    for _ in range(2):
        if not changed:
            break
        again_bare, again_ours = run(command, [], timeout), run(command, prefix, timeout)
        unstable = differences(bare, again_bare)
        stays = differences(again_bare, again_ours)
        changed = {t: v for t, v in changed.items() if t in stays and t not in unstable}
    for name, (before, after) in sorted(changed.items()):
        print(f"    {case}: {name}: {before} without, {after} under bottleneck")
    return max(1, len(bare[1])), len(changed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--no-perf", action="store_true", help="through the agent")
    parser.add_argument("--timeout", type=int, default=600)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    prefix = [NO_PERF, BOTTLENECK] if arguments.no_perf else [BOTTLENECK]
    failed = 0
    for make in (python_suite, glib_suite, psutil_suite):
        suite = make(arguments.fast)
        if arguments.names and suite.name not in arguments.names:
            continue
        if not suite.cases:
            print(f"{suite.name}: skipped, its tests are not installed")
            continue
        # The fast ones wait more than they compute.
        with concurrent.futures.ThreadPoolExecutor(4 if arguments.fast else 1) as pool:
            checked = list(pool.map(lambda c: check(*c, prefix, arguments.timeout), suite.cases))
        results, changed = map(sum, zip(*checked))
        print(f"{suite.name}: {len(suite.cases)} programs, {results} results, {changed} differ",
              flush=True)
        failed += changed
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
