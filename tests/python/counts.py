# SPDX-License-Identifier: MIT
"""Calls of Python functions and of C functions, counted in every interpreter of this machine: all of
them, primitive ones, and those from each caller, as cProfile counts them.

    counts.py PYTHON_TOLD
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

import interpreters

FOLDER = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(FOLDER, "counted.py")
# cProfile has one entry for all code of one file, line and name, and that is the last one's.
KNOWN = {"made": 300, "in_thread": 3, "threaded": 1500, "in_child": 2, "forked": 500}



def key_of(text, shorten=True):
    """(file, first line, name) as cProfile has it: without the classes that a function is in."""
    file, name, first = text.rsplit("|", 2)
    if file == "~":
        return file, 0, c_name(name)
    return file, int(first), name.rsplit(".", 1)[-1] if shorten else name


def c_name(name):
    """<built-in method __new__ of type object at 0x...>: nobody compares addresses."""
    return re.sub(r" at 0x[0-9a-f]+", "", name)[1:-1]


def ours(told, python, *arguments):
    """{function: [calls, recursive]}, {(function, caller): [calls, recursive]}, and whether nothing
    is missing."""
    calls = collections.defaultdict(lambda: [0, 0])
    edges = collections.defaultdict(lambda: [0, 0])
    counted, ended = set(), set()
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "told")
        subprocess.run([told, "--calls", "1", "--out", out, python, "-B", PROGRAM, *arguments],
                       check=True, timeout=300)
        with open(out, encoding="utf-8") as lines:
            for line in lines:
                word, pid, rest = (line.rstrip("\n").split(" ", 2) + [""])[:3]
                if word == "end":
                    ended.add(pid)
                if word not in ("calls", "edge"):
                    continue
                count, recursive, where = rest.split(" ", 2)
                function, _, caller = where.partition("\t")
                counted.add(pid)
                sums = edges[key_of(function), key_of(caller)] if caller else calls[key_of(function)]
                sums[0] += int(count)
                sums[1] += int(recursive)
    return calls, edges, counted == ended


def theirs(python, *arguments):
    """The same from cProfile."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "stats")
        # The format of the file is the interpreter's own: it has to read it, too.
        code = ("import json, marshal, sys\n"
                "print(json.dumps([(k, v[:2], [(c, n[:2]) for c, n in v[4].items()])\n"
                "                  for k, v in marshal.load(open(sys.argv[1], 'rb')).items()]))")
        subprocess.run([python, "-B", "-m", "cProfile", "-o", out, PROGRAM, *arguments], check=True,
                       timeout=300, stdout=subprocess.DEVNULL)
        text = subprocess.run([python, "-c", code, out], check=True, timeout=60,
                              capture_output=True, text=True).stdout
    calls, edges = {}, {}
    for (file, line, name), (primitive, all_calls), callers in json.loads(text):
        function = file, line, c_name(name) if file == "~" else name
        calls[function] = [all_calls, all_calls - primitive]
        for (file, line, name), numbers in callers:
            # Of callers pstats has all calls first, and then the primitive ones.
            edges[function, (file, line, c_name(name) if file == "~" else name)] = [numbers[0], numbers[0] - numbers[1]]
    return calls, edges


def is_compared(function):
    """Not what only one of the two has imported, or runs itself."""
    file, _, called = function
    name = os.path.basename(file)
    return called != "<module>" and (file == PROGRAM or "/json/" in file and name != "__init__.py")


def check(told, version, python):
    calls, edges, whole = ours(told, python)
    their_calls, their_edges = theirs(python)
    compared = [key for key in their_calls if is_compared(key)]
    wrong = [(key[2], their_calls[key], calls[key]) for key in compared
             if their_calls[key] != calls[key]]
    # What these call, of Python or of C, and nothing else.
    pairs = {pair for known in (edges, their_edges) for pair in known if is_compared(pair[1])}
    wrong += [(f"{pair[0][2]} from {pair[1][2]}", their_edges.get(pair), edges.get(pair))
              for pair in sorted(pairs) if their_edges.get(pair) != edges.get(pair)]
    others, _, others_whole = ours(told, python, "others")
    known = {name: sum(sums[0] for key, sums in others.items() if key[2] == name) for name in KNOWN}
    wrong += [(name, KNOWN[name], known[name]) for name in KNOWN if known[name] != KNOWN[name]]
    builtin = sum(pair[0][0] == "~" for pair in pairs)
    recursive = sum(their_calls[key][1] > 0 for key in compared)
    print(f"{version}: {len(compared)} functions, {recursive} of them recursive, {len(pairs)} callers "
          f"({builtin} of C functions), {len(wrong)} wrong"
          f"{'' if whole and others_whole else '; not all was told'}")
    for name, right, got in wrong:
        print(f"    {name}: {got}, not {right}")
    return (len(compared) > 15 and recursive >= 2 and builtin > 10 and not wrong and whole and
            others_whole)


def main():
    found = interpreters.find()
    if not found:
        print("SKIP: no Python from 3.8 on")
        return 77
    results = [check(sys.argv[1], version, path) for version, path in found.items()]
    return 0 if all(results) else 1


sys.exit(main())
