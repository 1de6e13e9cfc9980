# SPDX-License-Identifier: MIT
"""Calls of Python functions, counted in every interpreter of this machine: as cProfile counts them.

    counts.py PYTHON_TOLD
"""
import collections
import os
import subprocess
import sys
import tempfile

import interpreters

FOLDER = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(FOLDER, "counted.py")
# cProfile has one entry for all code of one file, line and name, and that is the last one's.
KNOWN = {"made": 300, "in_thread": 3, "threaded": 1500, "in_child": 2, "forked": 500}


def ours(told, python, *arguments):
    """{(file, first line): calls}, {function: calls}, and whether nothing is missing."""
    calls, names = collections.Counter(), collections.Counter()
    counted, ended = set(), set()
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "told")
        subprocess.run([told, "--calls", "1", "--out", out, python, "-B", PROGRAM, *arguments],
                       check=True, timeout=300)
        with open(out, encoding="utf-8") as lines:
            for line in lines:
                word, pid, rest = (line.rstrip("\n").split(" ", 2) + [""])[:3]
                if word == "calls":
                    count, where = rest.split(" ", 1)
                    file, name, first = where.rsplit("|", 2)
                    calls[file, int(first)] += int(count)
                    names[name] += int(count)
                    counted.add(pid)
                elif word == "end":
                    ended.add(pid)
    return calls, names, counted == ended


def theirs(python):
    """The same from cProfile."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "stats")
        # The format of the file is the interpreter's own: it has to read it, too.
        code = ("import marshal, sys\n"
                "for k, v in marshal.load(open(sys.argv[1], 'rb')).items():\n"
                "    print(v[1], k[1], k[0])")
        subprocess.run([python, "-B", "-m", "cProfile", "-o", out, PROGRAM], check=True, timeout=300,
                       stdout=subprocess.DEVNULL)
        text = subprocess.run([python, "-c", code, out], check=True, timeout=60,
                              capture_output=True, text=True).stdout
    calls = collections.Counter()
    for line in text.splitlines():
        count, first, file = line.split(" ", 2)
        calls[file, int(first)] += int(count)
    return calls


def is_compared(file):
    """Not what only one of the two has imported, or runs itself."""
    name = os.path.basename(file)
    return file == PROGRAM or "/json/" in file and name != "__init__.py"


def check(told, version, python):
    mine, _, whole = ours(told, python)
    expected = theirs(python)
    wrong = [(key, expected[key], mine[key]) for key in expected
             if is_compared(key[0]) and expected[key] != mine[key]]
    compared = [key for key in expected if is_compared(key[0])]
    _, names, others_whole = ours(told, python, "others")
    unknown = [(name, calls, names[name]) for name, calls in KNOWN.items() if names[name] != calls]
    print("%s: %d functions, %d calls, %d wrong; threads and children: %d wrong%s" % (
        version, len(compared), sum(expected[key] for key in compared), len(wrong), len(unknown),
        "" if whole and others_whole else "; not all was told"))
    for key, right, got in wrong:
        print("    %s:%d: %d calls, not %d" % (*key, right, got))
    for name, right, got in unknown:
        print("    %s: %d calls, not %d" % (name, right, got))
    return len(compared) > 15 and not wrong and not unknown and whole and others_whole


def main():
    found = interpreters.find()
    if not found:
        print("SKIP: no Python from 3.8 on")
        return 77
    results = [check(sys.argv[1], version, path) for version, path in found.items()]
    return 0 if all(results) else 1


sys.exit(main())
