# SPDX-License-Identifier: MIT
"""C functions have the names that cProfile has for them, and its shares of the CPU time, in every
interpreter of this machine.

    cfunctions.py BOTTLENECK [SECONDS]
"""
import collections
import os
import sqlite3
import subprocess
import sys
import tempfile

import interpreters
from jumps import ends_with_a_jump

FOLDER = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(FOLDER, "cfunctional.py")
WORKS = ("json", "text", "sort", "decimal", "callbacks", "numpy")
LARGE = 0.02  # smaller shares say little
OFF = 0.02    # what they may be off by, beside what a few samples are by chance
TOP = 10
# They end with a jump into what several functions share, or through the PLT, and so are not on the
# stack.
MAY_MISS = {"{method 'upper' of 'str' objects}", "{method 'join' of 'str' objects}"}


def ours(bottleneck, folder, command):
    """{name: share of the CPU time below run()} of C functions."""
    out = os.path.join(folder, "bneck")
    subprocess.run([bottleneck, "--no-report", "-o", out, *command], check=True, timeout=300)
    with sqlite3.connect(out) as db:
        rows = db.execute("SELECT function, file, total_on_ns, samples FROM hotspot").fetchall()
    whole = sum(ns for name, file, ns, _ in rows if name == "run" and file == PROGRAM)
    shares = collections.Counter()
    for name, _, ns, _ in rows:
        if name and name.startswith("{"):
            shares[name] += ns / whole
    return shares


def theirs(folder, command, with_callees):
    """The same by cProfile; C functions in others are not in ours but where Python is between."""
    out = os.path.join(folder, "stats")
    # By CPU time, as on a busy machine its clock on the wall tells of others, too.
    profile = ("import cProfile, sys, time\n"
               "p = cProfile.Profile(time.process_time)\n"
               "sys.argv = sys.argv[2:]\n"
               "c = compile(open(sys.argv[0]).read(), sys.argv[0], 'exec')\n"
               "p.runctx(c, {'__name__': '__main__'}, None)\n"
               "p.dump_stats(%r)\n" % out)
    subprocess.run([command[0], "-B", "-c", profile, "-", *command[2:]], check=True, timeout=300,
                   stdout=subprocess.DEVNULL)
    code = ("import marshal, sys\n"
            "for k, v in marshal.load(open(sys.argv[1], 'rb')).items():\n"
            "    print(v[3 if %d else 2], v[3], k[0] == '~', k[2])" % with_callees)
    text = subprocess.run([command[0], "-c", code, out], check=True, timeout=60,
                          capture_output=True, text=True).stdout
    shares, whole = collections.Counter(), 0
    for line in text.splitlines():
        seconds, total, is_c, name = line.split(" ", 3)
        if name == "run":
            whole = float(total)
        if is_c == "True" and "builtins.exec" not in name:  # which is cProfile's own way in
            name = "{%s}" % name[1:-1] if name.startswith("<") else name
            shares[name] += float(seconds)
    return collections.Counter({name: seconds / whole for name, seconds in shares.items()})


def has_numpy(python):
    return subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode == 0


def is_missed(python, name, share):
    return (not share and name in MAY_MISS) or (share < LARGE and ends_with_a_jump(python, name))


def compare(bottleneck, seconds, python, work):
    """How many shares were compared, and {name: (theirs, ours)} of those that are off."""
    command = [python, "-B", PROGRAM, work, seconds]
    wrong, compared = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        mine = ours(bottleneck, folder, command)
        # It sees every call, where ours draws 1,000 samples a second: half of the time is enough for it.
        expected = theirs(folder, [*command[:-1], str(float(seconds) / 2)], work == "callbacks")
    for name, share in expected.most_common(TOP):
        if share < LARGE:
            continue
        compared += 1
        if os.environ.get("VERBOSE"):
            print("    %-7s %5.1f %% %5.1f %% %s" % (work, 100 * share, 100 * mine[name], name))
        chance = 2 * (share * (1 - share) / (1000 * float(seconds))) ** 0.5
        off = abs(mine[name] - share) > OFF + chance
        if off and not is_missed(python, name, mine[name]):
            wrong[name] = share, mine[name]
    return compared, wrong


def check(bottleneck, seconds, version, python):
    wrong, compared = [], 0
    for work in WORKS:
        if work == "numpy" and not has_numpy(python):
            continue
        count, off = compare(bottleneck, seconds, python, work)
        compared += count
        # Two runs are compared, one after the other, and the machine may have had other work in
        # one of them. A wrong name is wrong again.
        again = compare(bottleneck, seconds, python, work)[1] if off else {}
        wrong += [(work, name, *off[name]) for name in off if name in again]
    print("%s: %d shares of C functions, %d off" % (version, compared, len(wrong)))
    for work, name, share, got in wrong:
        print("    %s: %s: %.1f %%, not %.1f %%" % (work, name, 100 * got, 100 * share))
    return compared >= 8 and not wrong


def main():
    found = interpreters.find()
    if not found:
        print("SKIP: no Python from 3.8 on")
        return 77
    seconds = sys.argv[2] if len(sys.argv) > 2 else "1"
    results = [check(sys.argv[1], seconds, version, path) for version, path in found.items()]
    return 0 if all(results) else 1


sys.exit(main())
