#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""waits.py BOTTLENECK [--rung RUNG] [--python PATH] [WAIT...]: each wait of waiting.py, by its line.

In every interpreter, side by side, at every rung. What the profile says of waiting is compared with what the
program has seen of itself: each wait's time at its very stack of Python functions, files and lines.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

import interpreters

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from profile_file import METRICS, ProfileFile  # noqa: E402

FRAME_PYTHON = 5
RUNGS = ("kernel", "user", "agent")
SHARE = 0.95    # of the time of each wait, and of all
# Not each of these is met by a look: the share at their line, of that long at most.
BY_LINE = {"short sleeps": (0.8, 400)}
# Of each wait: on a CPU, waiting for one, or told only as exactly as /proc is.
SLACK_MS = {"kernel": 6, "user": 6, "agent": 40}
LONGEST_MS = 330  # no wait is meant to take longer, but the machine may be busy
RUNNABLE = METRICS.index("runnable")
WAITING = [i for i, name in enumerate(METRICS) if name not in ("on_cpu", "runnable")]


def run(bottleneck, rung, python, names):
    with tempfile.TemporaryDirectory() as folder:
        profile = os.path.join(folder, "waits.bneck")
        done = subprocess.run([bottleneck, "--rung", rung, "-R", "/dev/null", "-o", profile, python,
                               "-B", os.path.join(HERE, "waiting.py"), *names],
                              capture_output=True, timeout=300, check=False)
        if done.returncode:
            sys.exit(f"{python}, {rung}: status {done.returncode}\n{done.stderr.decode()}")
        return parse(done.stdout.decode()), stacks(ProfileFile(profile))


def parse(text):
    """[(name, ms, stack)]"""
    found = []
    for line in text.splitlines():
        if line.startswith("wait "):
            head, rest = line[5:].split(" [", 1)
            name, ms = head.rsplit(" ", 1)
            found.append((name, float(ms), tuple(tuple(f) for f in json.loads("[" + rest))))
    return found


def stacks(profile):
    """{stack of Python frames: ms}, as traceback has them: waited; waited for a CPU."""
    python = [row[2] == FRAME_PYTHON for row in profile.chunked("location", 6, (1,))]
    strings = dict(profile.rows("select id, text from string"))
    places = profile.chunked("place", 5, (0, 1, 2))
    frames = [[(strings.get(p[0]), strings.get(p[1]), p[2]) for p in places[row[4]:row[4] + row[5]]]
              if is_python else []
              for row, is_python in zip(profile.chunked("location", 6, (1,)), python)]
    # Processes that run something else are no concern of ours.
    ours = {row[0] for row in profile.rows(
        "select t.id from thread t join process p on p.id = t.process "
        "where p.command like '%python%'")}
    chains = []  # None: not ours
    for i, (distance, location) in enumerate(profile.chunked("node", 2, ())):
        if not distance:
            chains.append(() if location in ours else None)
        elif chains[i - distance] is None:
            chains.append(None)
        else:
            chains.append(chains[i - distance] + tuple(frames[location - 1]))
    waited, ready = collections.Counter(), collections.Counter()
    for metric in WAITING + [RUNNABLE]:
        for node, ns in profile.weights[metric].items():
            if chains[node] is not None:
                (ready if metric == RUNNABLE else waited)[chains[node]] += ns / 1e6
    return waited, ready


def matching(waited, ready, name, stack):
    # A thread that has lost its CPU before it could go to sleep does not sleep any more when a short
    # sleep is over: on a busy machine that is for want of a CPU, at the same line.
    if name in BY_LINE:
        return sum(ms for times in (waited, ready) for s, ms in times.items()
                   if s and s[-1][1:] == stack[-1][1:])
    return waited[stack]


def check(label, rung, waits, found):
    """False, and why, unless every wait is where it was."""
    good = True
    waited, ready_at = found
    ready = sum(ready_at.values())
    for name, ms, stack in waits:
        got = matching(waited, ready_at, name, stack)
        # The program cannot tell waiting from waiting for a CPU after that.
        share, longest = BY_LINE.get(name, (SHARE, LONGEST_MS))
        sure = min(ms, longest)
        if got + min(ready, sure / 10) < share * sure - SLACK_MS[rung]:
            good = False
            print(f"  {label}: {name}: {got:.0f} of {ms:.0f} ms at {stack[-1]}")
    total = sum(waited.values())
    bare = waited[()]
    if bare > (1 - SHARE) * total:
        good = False
        print(f"  {label}: {bare:.0f} of {total:.0f} ms of waiting have no line of Python")
    print(f"{label}: {len(waits)} waits, {100 * (1 - bare / total):.1f} % of {total:.0f} ms with "
          f"lines: {'good' if good else 'BAD'}", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bottleneck")
    parser.add_argument("--rung", action="append", choices=RUNGS)
    parser.add_argument("--python", action="append")
    parser.add_argument("--stacks", action="store_true", help="print what was found")
    parser.add_argument("waits", nargs="*")
    options = parser.parse_intermixed_args()
    pythons = options.python or list(interpreters.find().values())
    if not pythons:
        print("no Python interpreter that can be read: skipped")
        sys.exit(77)
    good = True
    for rung in options.rung or RUNGS:
        with concurrent.futures.ThreadPoolExecutor(len(pythons)) as pool:
            results = list(pool.map(lambda python: run(options.bottleneck, rung, python,
                                                       options.waits), pythons))
        for python, (waits, found) in zip(pythons, results):
            good &= check(f"{python} {rung}", rung, waits, found)
            if options.stacks:
                for stack, ms in found[0].most_common(40):
                    print(f"    {ms:8.1f}", " > ".join(f"{f}:{os.path.basename(p or '?')}:{n}"
                                                       for f, p, n in stack[-4:]))
    sys.exit(not good)


if __name__ == "__main__":
    main()
