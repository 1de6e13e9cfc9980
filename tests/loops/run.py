# SPDX-License-Identifier: MIT
"""Compiles kinds.c with several compilers, at several levels, for several CPUs, and compares the
kinds of its loops with what its comments say.

    run.py LOOP_DUMP KINDS.C

Code that is not optimized keeps variables in memory: of it nothing is expected, and no more than of
the others.
"""
import collections
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
LEVELS = ("-O0", "-O1", "-O2", "-O3")
CPUS = ((), ("-mavx2", "-mfma"))


def expectations(source):
    """What each function must have, and may have."""
    found = {}
    with open(source, encoding="utf-8") as file:
        text = file.read()
    for words, function in re.findall(r"^// ([a-z; ]+)\n[^(]*?(\w+)\(", text, re.MULTILINE):
        must, _, may = (part.strip() for part in words.partition(";"))
        must = set() if must == "none" else {must}
        found[function] = must - {""}, set(may.split())
    return found


def kinds(dump, path):
    done = subprocess.run([dump, path, "32"], capture_output=True, text=True, check=False)
    if done.returncode == SKIPPED:
        print("skipped: built without Zydis")
        sys.exit(SKIPPED)
    if done.returncode:
        sys.exit(f"{dump}: status {done.returncode}")
    found = collections.defaultdict(set)
    for line in done.stdout.splitlines():
        function, kind = line.split()[:2]
        found[function].add(kind)
    return found


def main():
    dump, source = sys.argv[1:]
    expected = expectations(source)
    wrong = 0
    compilers = [name for name in ("gcc", "clang") if shutil.which(name)]
    with tempfile.TemporaryDirectory(prefix="loops-") as directory:
        path = os.path.join(directory, "kinds.o")
        for compiler, level, cpu in itertools.product(compilers, LEVELS, CPUS):
            command = [compiler, level, *cpu, "-w", "-c", source, "-o", path]
            subprocess.run(command, check=True)
            found = kinds(dump, path)
            for function, (must, may) in expected.items():
                has = found[function] - {"-"}
                missing = must - has if level != "-O0" else set()
                if missing or has - must - may:
                    wrong += 1
                    print(f"{' '.join(command[:-4])}: {function}: {' '.join(sorted(has)) or 'none'}"
                          f"; expected {' '.join(sorted(must)) or 'none'}")
    print(f"{len(expected)} functions, {wrong} wrong")
    sys.exit(1 if wrong or not expected or not compilers else 0)


if __name__ == "__main__":
    main()
