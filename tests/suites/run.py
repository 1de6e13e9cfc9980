# SPDX-License-Identifier: MIT
"""The test suites of well-known programs have the same results under bottleneck as without it.

    run.py BOTTLENECK WORK [SUITE]... [--user UID] [--minutes N] [--jobs N] [--limit N] [--seed N]
           [--only UNIT]... [--table]

Needs root. Each unit of a suite (suites.py) runs bare and under BOTTLENECK, at default options,
with a /tmp of its own, and its tests are compared one by one. Where an outcome was seen under
BOTTLENECK alone, both runs are repeated, with no other unit beside them. A test "differs" if no run
under BOTTLENECK has an outcome of a bare run, and is "unsteady" if some have. Units run in an order
that --seed draws, until a suite has had its minutes, of which the last third is left to repeats.
Results are added to WORK/results-BUILD.jsonl, from which the next call goes on; outputs of units
that differ are kept in WORK/outputs. --table prints what is known, and runs nothing.
"""
import argparse
import concurrent.futures
import fcntl
import hashlib
import json
import os
import pwd
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import suites

AGAIN = 3  # pairs of runs after the first one that differs
BARE_RUNS = 10  # before a test that differs now and then counts as unsteady
ALONE = 3  # times the limit has a unit that ran into it beside another

# $1: user, $2: working directory, then directories to be hidden, --, and the command.
ISOLATE = """
set -e
user=$1 directory=$2; shift 2
hide() { mount -t tmpfs -o mode=1777 suites "$1"; }
hide /tmp; hide /dev/shm
while [ "$1" != -- ]; do hide "$1"; shift; done
shift
mkdir /tmp/home; chown "$user:$user" /tmp/home
head -c 65536 /dev/zero >/tmp/home/not-empty # some ask how full the file system is
cd "$directory"
[ "$user" = 0 ] || set -- setpriv --reuid="$user" --regid="$user" --clear-groups -- "$@"
exec "$@"
"""


def kill_all(marker):
    """Kills every process that has MARKER in its environment."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if marker.encode() in file.read():
                    os.kill(int(pid), signal.SIGKILL)
        except OSError:
            pass  # it has ended


def ended(runs, side):
    return [run for run in runs if run["side"] == side and run["status"] != "timeout"]


def compare(runs):
    """{test: (outcomes bare, outcomes under)} where an outcome was seen under bottleneck alone."""
    bare, under = ended(runs, "bare"), ended(runs, "under")
    differing = {}
    if bare and under:
        for test in sorted(set().union(*(run["tests"] for run in bare + under))):
            without = [run["tests"].get(test, "absent") for run in bare]
            within = [run["tests"].get(test, "absent") for run in under]
            if set(within) - set(without):
                differing[test] = without, within
    if bare and not under and any(run["alone"] for run in runs if run["side"] == "under"):
        differing["(exit status)"] = [run["tests"]["(exit status)"] for run in bare], ["timeout"]
    if len(differing) > 1:
        differing.pop("(exit status)", None)  # it follows from the others
    return differing


def is_steady(outcomes):
    without, within = outcomes
    return not set(within) & set(without)


def next_step(runs, limit=0):
    """(side, whether alone) of the next run that a unit needs; None if it needs none.

    LIMIT is that of runs alone: one that ran into a shorter limit is repeated.
    """
    for side in "bare", "under":
        of_side = [run for run in runs if run["side"] == side]
        if not of_side:
            return side, False
        if not ended(runs, side):
            longest = max((run["seconds"] for run in of_side if run["alone"]), default=-1)
            return (side, True) if longest < limit else None
    differing = compare(runs)
    bare, under = len(ended(runs, "bare")), len(ended(runs, "under"))
    if differing and under <= AGAIN:
        return ("bare" if bare <= under else "under"), True
    if bare < BARE_RUNS and not all(map(is_steady, differing.values())):
        return "bare", True
    return None


class Results:
    """All runs so far, in a file of one JSON object a line."""

    def __init__(self, path):
        self.path = path
        self.lock = threading.Lock()
        self.runs = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    if line.endswith("\n"):
                        run = json.loads(line)
                        self.runs.setdefault(tuple(run["of"]), []).append(run)

    def of(self, *key):
        with self.lock:
            return list(self.runs.get(key, []))

    def add(self, run):
        with self.lock:
            self.runs.setdefault(tuple(run["of"]), []).append(run)
            with open(self.path, "ab", buffering=0) as file:
                file.write((json.dumps(run) + "\n").encode())


class Runner:
    def __init__(self, arguments, results):
        self.arguments = arguments
        self.results = results
        self.slots = list(range(arguments.jobs))  # list.pop and append are atomic
        self.stopped = False

    def run(self, suite, unit, side, alone):
        out = tempfile.mkdtemp(prefix="run-", dir=self.arguments.work)
        os.chown(out, self.arguments.user, self.arguments.user)
        slot = self.slots.pop()
        command = suite.command(unit, slot, out)
        if side == "under":
            command = [self.arguments.bottleneck, "-R", f"{out}/report", "--", *command]
        environment = {"PATH": suites.PATH, "HOME": "/tmp/home", "LANG": "C.UTF-8",
                       "TERM": "dumb", "USER": pwd.getpwuid(self.arguments.user).pw_name,
                       "SUITES_RUN": out, **suite.environment(unit)}
        limit = self.arguments.limit * (ALONE if alone else 1)
        start = time.monotonic()
        with open(f"{out}/output", "w+b") as output, subprocess.Popen(
                ["unshare", "-m", "sh", "-c", ISOLATE, "sh", str(self.arguments.user), suite.cwd,
                 *suite.private, "--", *command], stdin=subprocess.DEVNULL, stdout=output,
                stderr=output, env=environment, start_new_session=True) as process:
            try:
                status = process.wait(limit)
            except subprocess.TimeoutExpired:
                status = "timeout"
            kill_all(f"SUITES_RUN={out}\0")
        seconds = time.monotonic() - start
        with open(f"{out}/output", encoding="utf-8", errors="replace") as file:
            tests = suite.tests(file.read(), status, out)
        profiled = os.path.exists(f"{out}/report") and os.path.getsize(f"{out}/report") > 0
        key = [self.arguments.user, suite.name, unit]
        self.keep(key, side, out)
        self.slots.append(slot)
        self.results.add({"of": key, "side": side, "alone": alone, "status": status,
                          "seconds": round(seconds, 1), "profiled": profiled,
                          "tests": {**tests, "(exit status)": str(status)}})

    def keep(self, key, side, out):
        """Keeps the output of a run until the unit turns out to be equal."""
        directory = os.path.join(self.arguments.work, "outputs", *map(str, key))
        os.makedirs(directory, exist_ok=True)
        number = len(self.results.of(*key))
        shutil.move(f"{out}/output", f"{directory}/{number:02}-{side}")
        if os.path.exists(f"{out}/report"):
            shutil.move(f"{out}/report", f"{directory}/{number:02}-report")
        shutil.rmtree(out, ignore_errors=True)

    def work(self, suite, unit, alone, end):
        """Runs what UNIT needs and may run now, before END."""
        key = self.arguments.user, suite.name, unit
        known = len(self.results.of(*key))
        while step := next_step(self.results.of(*key), self.arguments.limit * ALONE):
            if (step[1] and not alone) or self.stopped or time.monotonic() > end:
                return
            self.run(suite, unit, *step)
        if len(self.results.of(*key)) == known:
            return
        differing = compare(self.results.of(*key))
        if not differing:
            shutil.rmtree(os.path.join(self.arguments.work, "outputs", *map(str, key)),
                          ignore_errors=True)
        for test, (without, within) in differing.items():
            word = "DIFFERS" if is_steady((without, within)) else "unsteady"
            print(f"{word} {suite.name} {unit}: {test}\n"
                  f"  bare:  {' '.join(without)}\n  under: {' '.join(within)}", flush=True)

    def go(self, suite):
        units = self.arguments.only or suite.units()
        random.Random(self.arguments.seed).shuffle(units)
        start = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(self.arguments.jobs) as pool:
            for future in [pool.submit(self.work, suite, unit, False,
                                       start + self.arguments.minutes * 40) for unit in units]:
                future.result()
        for unit in units:  # those to be repeated, with nothing beside them
            if self.results.of(self.arguments.user, suite.name, unit):
                self.work(suite, unit, True, start + self.arguments.minutes * 60)

    def stop(self, *_):
        print("stopping: the units that run are finished", flush=True)
        self.stopped = True


def row(runs_of_units, units):
    """The counts of a suite."""
    counts = dict.fromkeys(("files", "tests", "equal", "differing", "unsteady", "timeouts",
                            "repeats to do", "without tests", "no report"), 0)
    for runs in runs_of_units:
        undecided = next_step(runs) is not None
        if undecided and {run["side"] for run in runs} != {"bare", "under"}:
            continue
        counts["files"] += 1
        counts["repeats to do"] += undecided
        counts["no report"] += not all(run["profiled"] for run in ended(runs, "under"))
        differing = compare(runs)
        if not (ended(runs, "bare") and ended(runs, "under")):
            counts["timeouts"] += 1
            counts["differing"] += len(differing)
            continue
        names = set().union(differing, *(run["tests"] for run in runs))
        names -= {"(exit status)"} - set(differing)
        steady = 0 if undecided else sum(map(is_steady, differing.values()))
        counts["tests"] += len(names)
        counts["without tests"] += not names
        counts["equal"] += len(names - set(differing))
        counts["differing"] += steady
        counts["unsteady"] += len(differing) - steady
    return {**counts, "files": f"{counts['files']} of {len(units)}"}


def table(results, chosen, users):
    rows = [{"user": user, "suite": suite.name,
             **row([results.of(user, suite.name, unit) for unit in suite.units()], suite.units())}
            for user in users for suite in chosen if suite.tree]
    widths = {name: max(len(name), *(len(str(r[name])) for r in rows)) for name in rows[0]}
    for r in [dict(zip(widths, widths)), *rows]:
        print("  ".join(str(r[name]).rjust(width) for name, width in widths.items()))
    return sum(r["differing"] for r in rows)


def build_id(bottleneck):
    """Of the program and its agent: results of another build are not taken."""
    digest = hashlib.sha256()
    agent = os.path.join(os.path.dirname(bottleneck), "../lib/bottleneck/libbottleneck-agent.so")
    for path in bottleneck, agent:
        if os.path.exists(path):
            with open(path, "rb") as file:
                digest.update(file.read())
    return digest.hexdigest()[:12]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bottleneck", type=os.path.realpath)
    parser.add_argument("work", type=os.path.realpath)
    parser.add_argument("suite", nargs="*")
    parser.add_argument("--user", type=int, default=0, help="run the units as this user")
    parser.add_argument("--minutes", type=float, default=1e6, help="for each suite")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=180, help="of a run, in seconds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", help="of the units")
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    if os.getuid() != 0 or re.match("/(tmp|root)/", arguments.work + "/"):
        parser.error("needs root, and a WORK that other users can read, not below /tmp")
    chosen = [suite for suite in suites.suites(arguments.work)
              if not arguments.suite or suite.name in arguments.suite]
    for suite in chosen:
        if not suite.tree:
            get = suite.get.format(name=suite.name, work=arguments.work)
            print(f"skip {suite.name}: it is not there; get it by: {get}", flush=True)
    if not any(suite.tree for suite in chosen):
        parser.error("no such suite is there")
    name = f"results-{build_id(arguments.bottleneck)}.jsonl"
    results = Results(os.path.join(arguments.work, name))
    users = sorted({key[0] for key in results.runs} | {arguments.user})
    if not arguments.table:
        users = [arguments.user]
        lock = os.open(arguments.work, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            parser.error(f"another run.py uses \"{arguments.work}\"")
        runner = Runner(arguments, results)
        signal.signal(signal.SIGINT, runner.stop)
        signal.signal(signal.SIGTERM, runner.stop)
        for suite in chosen:
            if suite.tree:
                runner.go(suite)
    sys.exit(1 if table(results, chosen, users) else 0)


if __name__ == "__main__":
    main()
