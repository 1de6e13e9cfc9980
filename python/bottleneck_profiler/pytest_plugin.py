# SPDX-License-Identifier: MIT
"""Plugin for pytest: a profile of each slow test.

    pytest --bottleneck                     profiles the 5 slowest tests that took 1 s or more
    pytest --bottleneck=DIR                 ... and keeps the profiles in DIR (bottleneck-profiles)
    pytest --bottleneck-slow=0.2 --bottleneck-top=20
    pytest --bottleneck-fail-on=warn        the session fails if one of them has such a finding

The session runs as always, so its times are those of the tests. Then each slow test that has passed runs
once more, in a pytest of its own under bottleneck(1), which records that test alone, with its fixtures: no
import, no collection. The summary shows each one's time and verdict, and where the profile is.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import pytest

import bottleneck_profiler
from bottleneck_profiler import program

# In the pytest that runs a test once more: what its range is called.
_RANGE = "BOTTLENECK_PYTEST_RANGE"
_LIMIT_S = 3600


def pytest_addoption(parser):
    group = parser.getgroup("bottleneck", "profiles of slow tests, by bottleneck(1)")
    group.addoption("--bottleneck", nargs="?", const="bottleneck-profiles", metavar="DIR",
                    help="profile slow tests, and keep the profiles in DIR (bottleneck-profiles)")
    group.addoption("--bottleneck-slow", type=float, default=1.0, metavar="SECONDS",
                    help="tests that took as long are slow (1)")
    group.addoption("--bottleneck-top", type=int, default=5, metavar="N",
                    help="profile so many tests at most, the slowest (5)")
    group.addoption("--bottleneck-fail-on", metavar="WHAT",
                    help="fail if a profile has this finding, or one of this severity: info, warn, error")


def pytest_configure(config):
    name = os.environ.get(_RANGE)
    if name:
        config.pluginmanager.register(_Inner(name))
    elif config.getoption("bottleneck") and not hasattr(config, "workerinput"):  # a worker of xdist
        config.pluginmanager.register(_Outer(config))


class _Inner:
    """In the pytest of a single test: the test is a range."""

    def __init__(self, name):
        self.name = name

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self):
        with bottleneck_profiler.range(self.name):
            yield


class _Result:
    """What is known of a slow test. Fields are None where there is nothing to say."""

    def __init__(self, node, seconds):
        self.node, self.seconds = node, seconds
        self.profile = self.sentence = self.advice = self.problem = None
        self.failed = False


class _Outer:
    """In the pytest that the user has started."""

    def __init__(self, config):
        self.config = config
        self.seconds = {}
        self.unfit = set()  # a test that fails or is skipped says little of its time
        self.results = []

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0) + report.duration
        if not report.passed:
            self.unfit.add(report.nodeid)

    def slow_tests(self):
        """[(node, seconds)], the slowest first."""
        least = self.config.getoption("bottleneck_slow")
        found = [(node, seconds) for node, seconds in self.seconds.items()
                 if seconds >= least and node not in self.unfit]
        found.sort(key=lambda pair: -pair[1])
        return found[:max(self.config.getoption("bottleneck_top"), 0)]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session):
        if session.config.getoption("collectonly"):
            return
        for node, seconds in self.slow_tests():
            result = _Result(node, seconds)
            self.results.append(result)
            try:
                self.profile(result)
            except (OSError, ValueError, subprocess.SubprocessError) as error:
                result.problem = str(error)
            if self.config.getoption("bottleneck_fail_on") and (result.failed or result.problem):
                session.exitstatus = session.exitstatus or 1

    def profile(self, result):
        directory = os.path.abspath(self.config.getoption("bottleneck"))
        os.makedirs(directory, exist_ok=True)
        words = re.sub(r"[^A-Za-z0-9_.=-]+", "-", result.node).strip("-")
        path = os.path.join(directory, words[-120:] + ".bneck")
        if any(other.profile == path for other in self.results):
            path = path[:-len(".bneck")] + f"-{len(self.results)}.bneck"
        done = self.run_again(result.node, path)
        if not os.path.exists(path):
            result.problem = _last_line(done.stderr) or "bottleneck wrote no profile"
            return
        result.profile = path
        if done.returncode:
            result.problem = (f"run once more under bottleneck, alone, it ended with status "
                              f"{done.returncode}: {_last_line(done.stdout)}")
        self.judge(result)

    def run_again(self, node, path):
        environment = dict(os.environ)
        # A glob: brackets of parameters would be its own.
        environment[_RANGE] = "pytest"
        if os.path.exists(path):
            os.remove(path)
        with tempfile.TemporaryDirectory() as scratch:
            command = [program.find(), "-q", f"--output={path}", "--range=pytest", "--",
                       *_pytest(), *self.arguments(scratch), node]
            return subprocess.run(command, cwd=str(self.config.invocation_params.dir), env=environment,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  errors="replace", timeout=_LIMIT_S, check=False)

    def arguments(self, scratch):
        """Those of the user, without tests and without what would write the user's reports again."""
        tests = set(getattr(self.config.option, "file_or_dir", None) or [])
        kept, skip = [], False
        for word in self.config.invocation_params.args:
            word = os.fspath(word)
            if skip:
                skip = False
            elif word == "--bottleneck":
                skip = self.config.getoption("bottleneck") != "bottleneck-profiles"
            elif word in ("--bottleneck-slow", "--bottleneck-top", "--bottleneck-fail-on"):
                skip = True
            elif not word.startswith("--bottleneck") and word not in tests:
                kept.append(word)
        has = self.config.pluginmanager.hasplugin
        kept += [f"--rootdir={self.config.rootpath}", "-o", f"cache_dir={scratch}/cache"]
        if getattr(self.config.option, "xmlpath", None):
            kept.append(f"--junit-xml={scratch}/junit.xml")
        if getattr(self.config.option, "htmlpath", None):
            kept.append(f"--html={scratch}/report.html")
        if has("xdist"):
            kept.append("-n0")
        if has("_cov") or has("pytest_cov"):
            kept.append("--no-cov")
        return kept

    def judge(self, result):
        command = [program.find(), "report", "--export=json", result.profile]
        done = subprocess.run(command, capture_output=True, timeout=_LIMIT_S, check=False)
        verdict = json.loads(done.stdout)["verdict"] or {}
        result.sentence, result.advice = verdict.get("sentence"), verdict.get("next")
        gate = self.config.getoption("bottleneck_fail_on")
        if gate:
            done = subprocess.run([program.find(), "report", "-q", f"--fail-on={gate}", result.profile],
                                  capture_output=True, timeout=_LIMIT_S, check=False)
            if done.returncode not in (0, 90):  # 92: the measurement cannot be trusted
                lines = done.stderr.decode(errors="replace").strip().splitlines()
                raise ValueError(lines[0] if lines else f"bottleneck report ended with {done.returncode}")
            result.failed = done.returncode == 90

    def pytest_terminal_summary(self, terminalreporter):
        if not self.seconds:
            return
        out = terminalreporter
        out.section("bottleneck: what makes slow tests slow")
        if not self.results:
            out.line(f"no test that passed took {self.config.getoption('bottleneck_slow'):g} s or more "
                     "(--bottleneck-slow)")
        for result in self.results:
            out.line(f"{result.seconds:7.2f} s  {result.node}", bold=True)
            if result.failed:
                out.line(f"           FAILED: a finding of {self.config.getoption('bottleneck_fail_on')} "
                         "(--bottleneck-fail-on)", red=True)
            for text in (result.sentence, result.advice, result.problem):
                if text:
                    out.line("           " + text)
            if result.profile:
                path = os.path.relpath(result.profile, str(self.config.invocation_params.dir))
                out.line(f"           bottleneck report {path}")


def _pytest():
    """The command of this pytest: sys.path depends on it."""
    script = sys.argv[0]
    if os.path.isfile(script) and os.path.basename(script) in ("pytest", "py.test"):
        return [sys.executable, script]
    return [sys.executable, "-m", "pytest"]


def _last_line(text):
    lines = (text or "").strip().splitlines()
    return lines[-1] if lines else ""
