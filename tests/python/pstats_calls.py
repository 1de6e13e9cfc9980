# SPDX-License-Identifier: MIT
"""Calls of a run, through its profile, as cProfile has them: what --export pstats writes is read by
each interpreter's own pstats and equals cProfile's statistics of the same program, and --as cprofile
prints the same numbers.

    pstats_calls.py BOTTLENECK
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import interpreters

FOLDER = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(FOLDER, "counted.py")
# pstats sorts, sums and joins as it does for its users; it is the reader.
READ = r'''
import json, pstats, re, sys
stats = pstats.Stats(sys.argv[1])
stats.calc_callees()
own = {}
for (file, line, name), (cc, nc, tt, ct, callers) in stats.stats.items():
    name = re.sub(" at 0x[0-9a-f]+", "", name)
    own["%s:%d:%s" % (file, line, name)] = [nc, cc, sorted(
        ["%s:%d:%s" % (f[0], f[1], re.sub(" at 0x[0-9a-f]+", "", f[2])), list(v[:2])]
        for f, v in callers.items())]
print(json.dumps([own, stats.total_calls, stats.prim_calls, stats.total_tt]))
'''


def read(python, path):
    text = subprocess.run([python, "-c", READ, path], check=True, timeout=60, capture_output=True,
                          text=True).stdout
    return json.loads(text)


def bottleneck(binary, *arguments):
    return subprocess.run([binary, *arguments], check=True, timeout=300, capture_output=True,
                          text=True).stdout


def is_compared(key):
    return PROGRAM in key and "<module>" not in key


def of_program(stats):
    """The program's own functions, and what they call, from there."""
    found = {}
    for key, (calls, primitive, callers) in stats.items():
        if is_compared(key):
            found[key] = [calls, primitive]
        for caller, numbers in callers:
            if is_compared(caller):
                found[key, caller] = numbers
    return found


def check_table(binary, profile, stats):
    """What --as cprofile prints of each function."""
    wrong = 0
    text = bottleneck(binary, "report", "--as", "cprofile", "--sort", "calls", "-n", "100000", profile)
    rows = {}
    for line in text.splitlines():
        match = re.match(r" *(\d+)(?:/(\d+))? +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ (\S.*)$", line)
        if match:
            rows[match[3]] = [int(match[1]), int(match[2] or match[1])]
    for key, numbers in stats.items():
        file, line, name = key.split(":", 2) if isinstance(key, str) else ("", "", "")
        if file and rows.get(f"{file}:{line}({name})") != numbers:
            print(f"    --as cprofile: {key}: {rows.get(f'{file}:{line}({name})')}, not {numbers}")
            wrong += 1
    if "function calls (" not in text or "Ordered by: call count" not in text:
        print(text[:1000])
        wrong += 1
    return wrong


def check(binary, version, python):
    with tempfile.TemporaryDirectory() as folder:
        profile, ours = os.path.join(folder, "p.bneck"), os.path.join(folder, "ours")
        theirs = os.path.join(folder, "theirs")
        bottleneck(binary, "--no-report", "--count-calls", "-o", profile, "--", python, "-B", PROGRAM)
        bottleneck(binary, "report", f"--export=pstats={ours}", profile)
        subprocess.run([python, "-B", "-m", "cProfile", "-o", theirs, PROGRAM], check=True,
                       timeout=300, stdout=subprocess.DEVNULL)
        mine, calls, primitive, seconds = read(python, ours)
        expected = of_program(read(python, theirs)[0])
        found = of_program(mine)
        wrong = [key for key in {**expected, **found} if expected.get(key) != found.get(key)]
        for key in wrong:
            print(f"    {key}: {found.get(key)}, not {expected.get(key)}")
        bad = len(wrong) + check_table(binary, profile, expected)
        if not 0 < primitive < calls or not 0 < seconds < 60:
            print(f"    {calls} calls, {primitive} primitive, {seconds} s")
            bad += 1
        print(f"{version}: {len(expected)} functions and callers, {bad} wrong")
        return len(expected) > 40 and not bad


def main():
    found = interpreters.find()
    if not found:
        print("SKIP: no Python from 3.8 on")
        return 77
    results = [check(sys.argv[1], version, path) for version, path in found.items()]
    return 0 if all(results) else 1


sys.exit(main())
