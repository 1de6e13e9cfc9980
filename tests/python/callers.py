# SPDX-License-Identifier: MIT
"""Ops that Python calls through a C library, and collections of its garbage, are told of with the line
of Python that calls them, in every interpreter of this machine.

    callers.py BOTTLENECK
"""
import os
import re
import subprocess
import sys
import tempfile

import interpreters

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "calling.py")
# Any of them may make what is one too many.
ALLOCATES = {"self.own = [self]", "kept.append({0: Ring()})", "def __init__(self):",
             "for _ in range(count):"}


def expected():
    """{(line, op): calls}"""
    found = {}
    with open(PROGRAM, encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            match = re.search(r"# calls: (\d+) (.*)$", text)
            if match:
                found[number, match[2]] = int(match[1])
    return found


def told(bottleneck, profile, *options):
    """{(line of the program, or what else is there, op): calls}"""
    text = subprocess.run([bottleneck, "report", "--ops", *options, "--top=100", "--min-pct=0",
                           "--width=200", profile],
                          check=True, capture_output=True, text=True, timeout=120).stdout
    found = {}
    for line in text.splitlines():
        # self % total % calls ... kind op, called from
        match = re.match(r" *\S+ \S+ +[\d.]+ +\S+ \S+ +(?:[\d.]+ +)?([\d,]+) .* (?:python|blas|lapack)"
                         r" +(garbage collection|(?:cblas_)?dgemm|dgesv) +(.*)$", line)
        if match:
            place = re.search(r"calling\.py:(\d+)\)?$", match[3])
            key = (int(place[1]) if place else match[3], match[2].replace("cblas_", ""))
            found[key] = found.get(key, 0) + int(match[1].replace(",", ""))
    return found


def check_called(version, rows, own, has_numpy):
    bad = 0
    for (line, op), calls in expected().items():
        if op != "garbage collection" and not has_numpy:
            continue
        # The innermost line is one of NumPy's own for some.
        seen = rows.get((line, op), own.get((line, op)))
        if seen != calls:
            print(f"{version}: {op}: {calls} calls at line {line}, told are {rows}, {own}")
            bad += 1
    return bad


def check_collections(version, rows):
    """Of a program that does next to nothing but to allocate in two lines, or three."""
    with open(PROGRAM, encoding="utf-8") as file:
        lines = [""] + [text.split("  #")[0].strip() for text in file]
    inside = outside = 0
    for (line, op), calls in rows.items():
        if op == "garbage collection" and (line, op) not in expected():
            if isinstance(line, int) and lines[line] in ALLOCATES:
                inside += calls
            else:
                outside += calls  # imports, and the end
    print(f"{version}: {inside} collections by allocations, {outside} elsewhere")
    # Without a GIL the collector waits for many more objects.
    return 0 if inside >= 10 and outside <= 5 + inside // 10 else 1


def check(bottleneck, version, python, folder):
    profile = os.path.join(folder, "bneck")
    command = [bottleneck, "--no-report", "-o", profile, python, "-B", PROGRAM]
    out = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
    bad = check_called(version, told(bottleneck, profile, "--by=stack:1"),
                       told(bottleneck, profile), "numpy" in out)
    subprocess.run([*command, "allocate"], check=True, capture_output=True, timeout=300)
    return bad + check_collections(version, told(bottleneck, profile, "--by=stack:1"))


def main():
    bad = 0
    for version, python in interpreters.find().items():
        with tempfile.TemporaryDirectory() as folder:
            bad += check(sys.argv[1], version, python, folder)
    sys.exit(1 if bad else 0)


main()
