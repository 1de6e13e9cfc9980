#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""told.py OP_REPORT FAKE [-G WANTED] [-L LAUNCHES] [-f FAULTS] [-v VERSION] [-e NAME=VALUE] [-s STATUS] [-x WHAT…] [-n NOTE] -- PROGRAM…

What the agent tells of a program on the fake GPU in the directory FAKE is what the program says of
itself (see programs/gpu_program.h): kernels with their times, copies, sets, waits, memory, graphs,
and that each was caused by a call that is told, or counted. The fake has no complaint about us, and nothing is lost. Unless:

  -x lost:WHAT     so much of that is lost: then what is told and what is lost is all there was
  -x none          nothing is told of the GPU
  -x partly        something is missing, and nothing is there that is not true
  -x gap:WHAT      there are gaps of that kind, which end
  -x open:WHAT     there is one that does not end
  -x untied        what it was caused by is not known of everything
  -x untimed       times are unknown
  -x graphs        kernels of graphs are not told one by one
  -x nodes         they are, and graphs are not
  -n TEXT          a note says so; else there is none
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile

COPY_KINDS = {"PtoP": ("peer", "peer")}
SYNC_KINDS = {"stream-wait": "wait"}


def arguments():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("report")
    p.add_argument("fake")
    p.add_argument("-G", dest="wanted", default="0")
    p.add_argument("-L", dest="launches", default="1")
    p.add_argument("-f", dest="faults", default="")
    p.add_argument("-v", dest="version", default="")
    p.add_argument("-e", dest="environment", action="append", default=[])
    p.add_argument("-s", dest="status", type=int, default=0)
    p.add_argument("-x", dest="expected", action="append", default=[])
    p.add_argument("-n", dest="note", default="")
    p.add_argument("program", nargs="+")
    return p.parse_args()


def run(a, directory):
    env = dict(os.environ, LD_LIBRARY_PATH=a.fake, FAKE_CUPTI_LOG=directory + "/log")
    env.pop("BOTTLENECK_CUPTI", None)
    env.update(e.split("=", 1) for e in a.environment)
    if a.faults:
        env["FAKE_CUPTI_FAULTS"] = a.faults
    if a.version:
        env["FAKE_CUPTI_VERSION"] = a.version
    return subprocess.run([a.report, "-G", a.wanted, "-L", a.launches, "--", *a.program], env=env, capture_output=True, text=True,
                          errors="replace", check=False)


class Sums(collections.defaultdict):
    """By what it is: how often, and how much of it."""

    def __init__(self):
        super().__init__(lambda: [0, 0])

    def add(self, key, amount, count=1):
        self[key][0] += count
        self[key][1] += amount


def truths(text):
    sums = Sums()
    for line in text.splitlines():
        words = line.split()
        if words[:1] != ["truth"]:
            continue
        kind = words[1]
        if kind == "calls":
            sums.add(("calls",), 0, int(words[2]))
        elif kind == "sync":
            sums.add(("sync", words[2]), 0, int(words[3]))
        elif kind == "jit":
            sums.add(("jit",), 0, int(words[2]))
        elif kind in ("graph", "set"):
            sums.add((kind,), int(words[3]), int(words[2]))
        elif kind not in ("line", "modules", "moved", "fault"):
            sums.add((kind, *words[2:-2]), int(words[-1]), int(words[-2]))
    return sums


def took(line):
    found = re.search(r" took (\d+)", line)
    return int(found[1]) if found else 0


def add_record(sums, kind, words, line):
    if kind == "kernel":
        sums.add(("kernel", words[0]), took(line))
    elif kind == "graph":
        sums.add(("graph",), took(line))
    elif kind == "copy":
        ends = COPY_KINDS.get(words[0], (words[3], words[5]))
        sums.add(("copy", *ends), int(words[1]))
    elif kind == "set":
        sums.add(("set",), int(words[0]))
    elif kind == "sync":
        sums.add(("sync", SYNC_KINDS.get(words[0], words[0])), 0)
    elif kind == "jit":
        sums.add(("jit",), 0)
    elif kind == "memory":
        sums.add((words[0], words[4]), int(words[1]))


def records(lines):
    sums, lost, gaps, untied = Sums(), collections.Counter(), collections.Counter(), 0
    for line in lines:
        words = line.split()
        if len(words) < 3 or words[1] != "gpu":
            continue
        if words[2] == "lost":
            lost[words[3]] += int(words[7])
        elif words[2] == "gap":
            gaps[words[3] + " " + words[4]] += 1
        else:
            add_record(sums, words[2], words[3:], line)
            untied += " by nobody" in line
    for key, values in sums.items():
        if key[0] in ("kernel", "graph"):
            values[1] //= 1000
    return sums, lost, gaps, untied


def calls(lines):
    launch = re.compile(r" (begin|count) +cuda (?:__)?cuda(?:Graph)?Launch\S* (?:calls (\d+))?")
    count = 0
    for line in lines:
        found = launch.search(line)
        if found:
            count += int(found[2]) if found[1] == "count" else 1
    return count


def counted(lines):
    """Calls whose ring had no room: what they caused is of nobody."""
    found = (re.search(r" count +cuda \S+ calls (\d+)", line) for line in lines)
    return sum(int(f[1]) for f in found if f)


def compare(told, true, expected, problems):
    exact = "untimed" not in expected
    for key in sorted(set(told) | set(true)):
        ours, theirs = told.get(key, [0, 0]), true.get(key, [0, 0])
        if key[0] == "kernel" and "graphs" in expected and key not in told:
            continue
        if key[0] == "graph" and "nodes" in expected and key not in told:
            continue
        if "partly" in expected:
            if ours[0] > theirs[0]:
                problems.append(f"{' '.join(key)}: {ours}, more than {theirs}")
        elif ours[0] != theirs[0] or (exact and ours[1] != theirs[1]):
            problems.append(f"{' '.join(key)}: {ours}, not {theirs}")


def check_gaps(gaps, expected, problems):
    wanted = {e.split(":")[0]: e.split(":")[1] for e in expected if e[:4] in ("gap:", "open")}
    for what, count in gaps.items():
        if what.split()[0] not in wanted.values():
            problems.append(f"{count} gaps: {what}")
    for kind, what in wanted.items():
        begins, ends = gaps[what + " begins"], gaps[what + " ends"]
        if not begins or ends != begins - (kind == "open"):
            problems.append(f"gaps of {what}: {begins} begin, {ends} end")


def check_lost(lost, told, true, expected, problems):
    wanted = {e.split(":")[1] for e in expected if e.startswith("lost:")}
    for what in wanted | set(lost):
        if bool(lost[what]) != (what in wanted):
            problems.append(f"lost: {what}: {lost[what]}")
    # Each lost record was one of a kernel, where there are but kernels.
    if wanted == {"dropped"}:
        kernels = sum(v[0] for k, v in told.items() if k[0] == "kernel")
        all_there_was = sum(v[0] for k, v in true.items() if k[0] == "kernel")
        if not all_there_was <= kernels + lost["dropped"] <= all_there_was + 8:
            problems.append(f"{kernels} kernels and {lost['dropped']} dropped of {all_there_was}")


def check_notes(lines, note, problems):
    notes = [line for line in lines if re.search(r" note +", line)]
    if note and not any(note in line for line in notes):
        problems.append(f"no note says \"{note}\"")
    if not note and notes:
        problems.append("a note: " + notes[0])


def check(a, result, log):
    problems = []
    lines = result.stdout.splitlines()
    told, lost, gaps, untied = records(lines)
    true = truths(result.stderr)
    if result.returncode != a.status:
        problems.append(f"it ended with {result.returncode}: {result.stderr[-500:]}")
    if "none" in a.expected:
        if told:
            problems.append(f"something is told: {dict(told)}")
    else:
        told.add(("calls",), 0, calls(lines))
        if "gap:calls" in a.expected:
            del told[("calls",)]
        if ("calls",) not in told or ("calls",) not in true:
            true.pop(("calls",), None), told.pop(("calls",), None)
        if not any(k[0] == "sync" for k in true):
            for key in [k for k in told if k[0] == "sync"]:
                del told[key]
        compare(told, true, a.expected, problems)
    if untied > counted(lines) and "untied" not in a.expected:
        problems.append(f"{untied} records are of nobody")
    check_lost(lost, told, true, a.expected, problems)
    check_gaps(gaps, a.expected, problems)
    check_notes(lines, a.note, problems)
    if log:
        problems.append("the fake complains: " + log[:500])
    return problems


def main():
    a = arguments()
    with tempfile.TemporaryDirectory() as directory:
        result = run(a, directory)
        log = ""
        if os.path.exists(directory + "/log"):
            with open(directory + "/log", encoding="utf-8") as file:
                log = file.read()
    problems = check(a, result, log)
    for problem in problems:
        print(problem)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
