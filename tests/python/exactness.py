#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""exactness.py PYTHON_REPORT [HZ [traps|timers]]: staged stacks and impossible calls, in every interpreter.

Each sample that was taken while the stack stood still must have that very stack: function, file
and line of every frame. And under load, no sample may hold a call that its program cannot make.
"""
import json
import os
import subprocess
import sys
import tempfile

import interpreters

HERE = os.path.dirname(os.path.abspath(__file__))
MUST_SEE = 0.8  # of the stages, at least one sample each
GIL = 2  # PYTHON_GIL
ALONE, WITHOUT = "deep recursion", "without the GIL"
TEAR_SECONDS = float(os.environ.get("TEAR_SECONDS", "2"))
SHOWN = 5


def run(report, command, environment=None):
    """[(pid, tid, time, flags, [[file, function, line, anchor]])], innermost first, and notes."""
    with tempfile.NamedTemporaryFile("r", errors="surrogateescape", newline="\n") as out:
        environment = dict(os.environ, **(environment or {}))
        done = subprocess.run([*report, "--out", out.name, *command],
                              env=environment, stderr=subprocess.PIPE, text=True, errors="replace",
                              timeout=600)
        if done.returncode != 0:
            sys.exit("%s: status %d\n%s" % (command, done.returncode, done.stderr))
        samples, notes = [], []
        for text in out:
            if not text.startswith("sample "):
                notes.append(text.strip())
                continue
            head, *frames = text.rstrip("\n").split("\t")
            numbers = [int(n) for n in head.split()[1:5]]
            samples.append((*numbers, [parse(f) for f in frames]))
        return samples, notes, done.stderr


def parse(frame):
    file, function, line, anchor = frame.rsplit("|", 3)
    return [file, function, int(line), anchor]


def cut(stack):
    """A name is told up to a kilobyte of UTF-8, without what is no character."""
    def text(s):
        s = "".join("\ufffd" if 0xd800 <= ord(c) < 0xe000 else c for c in s).encode()
        return s[:1024].decode(errors="ignore")

    return [[text(file), text(function), line] for file, function, line in stack]


def staged(report, version, python):
    with tempfile.NamedTemporaryFile("r") as stages:
        samples, notes, text = run(report, [python, HERE + "/staged.py"],
                                   {"BOTTLENECK_STAGE": stages.name})
        expected = [json.loads(line) for line in stages]
    by_thread = {}
    for pid, tid, time, flags, frames in samples:
        by_thread.setdefault(tid, []).append((time, frames, bool(flags & GIL)))
    compared = wrong = seen = 0
    shown = 0
    holding = {ALONE: [], WITHOUT: []}
    for stage in expected:
        if not stage["agrees"]:
            sys.exit("%s: extract_stack() differs from f_back" % stage["name"])
        hits = [(frames, gil) for time, frames, gil in by_thread.get(stage["tid"], ())
                if stage["first"] <= time <= stage["last"]]
        seen += bool(hits)
        holding.get(stage["name"], []).extend(gil for _, gil in hits)
        for frames, _ in hits:
            compared += 1
            got = [f[:3] for f in frames]
            want = cut(stage["stack"])
            if got != want:
                wrong += 1
                if shown < SHOWN:
                    shown += 1
                    print("    %s:\n      want %s\n      got  %s" % (stage["name"], want[:8], got[:8]))
    print("  staged: %d of %d stages seen, %d samples compared, %d differ"
          % (seen, len(expected), compared, wrong))
    return (wrong == 0 and seen >= MUST_SEE * len(expected) and
            holds_gil(version, holding[ALONE], holding[WITHOUT]))


def holds_gil(version, alone, without):
    """A thread that is alone holds the GIL; in zlib, which gives it up, hardly ever."""
    print("  GIL: held in %d of %d samples of Python, in %d of %d of zlib"
          % (sum(alone), len(alone), sum(without), len(without)))
    if version.endswith("t"):
        return not any(alone + without)
    return all(alone) and 2 * sum(without) < len(without)


def edges(path):
    """(caller, line, callee), as its comments say."""
    found = set()
    function = "<module>"
    with open(path) as f:
        for number, text in enumerate(f, 1):
            if text.startswith("def "):
                function = text[4:text.index("(")]
            elif text.startswith("if "):
                function = "<module>"
            if "# calls " in text:
                found.add((function, number, text.split("# calls ")[1].strip()))
    return found


def tear(report, python, threads):
    path = HERE + "/tear.py"
    possible = edges(path)
    samples, notes, text = run(report, [python, path, str(TEAR_SECONDS), str(threads)])
    impossible = empty = checked = 0
    for _, _, _, _, frames in samples:
        frames = [f for f in frames if f[0] == path]
        empty += not frames
        checked += 1
        for callee, caller in zip(frames, frames[1:]):
            if (caller[1].split(".")[-1], caller[2], callee[1].split(".")[-1]) not in possible:
                impossible += 1
                print("    impossible: %s:%d calls %s" % (caller[1], caller[2], callee[1]))
                break
    print("  load of %d threads: %d samples, %d impossible, %d without frames of it (start, end, calls that "
          "begin)" % (threads + 1, checked, impossible, empty))
    return impossible * 10000 <= max(checked, 10000)


def main():
    report = [sys.argv[1], "--hz", *(sys.argv[2:3] or ["999"]), "--by", *(sys.argv[3:4] or ["timers"])]
    found = interpreters.find()
    if len(found) < 2:
        print("only %s is here: other versions are not tested" % (list(found) or "no Python"))
    right = True
    for version, path in found.items():
        print("Python %s (%s)" % (version, path))
        right &= staged(report, version, path)
        right &= tear(report, path, 0)
        right &= tear(report, path, 2)
        sys.stdout.flush()
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
