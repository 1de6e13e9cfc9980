#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Has clang-tidy (.clang-tidy) and gcc -fanalyzer look at the C files that differ from BASE, what
was changed last first, and that BUILD compiles; not at tests/, which stand in for functions of the C
library and multiply small numbers.

lint.py [--all] [--base BASE] [--seconds N] [--pinned] --tidy CLANG-TIDY BUILD

--seconds bounds the time: after so many no file is begun any more, and those left out are named.
--pinned skips (77) where clang-tidy is not the version that the tree is clean with: others know
other checks."""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

PINNED_TIDY, PINNED_GCC = 14, 12
# What clang-tidy is not asked, as it does not see cleanup attributes. Leaks of memory are not among
# them: gcc 12 takes for lost what is stored in an array that another file made grow, or handed over by
# the address of a member. The sanitized tests look for those.
ANALYZER = ("double-fclose", "double-free", "file-leak", "free-of-non-heap", "mismatching-deallocation",
            "use-after-free", "use-of-pointer-in-stale-stack-frame")


def skip(why):
    print(f"SKIP: {why}")
    sys.exit(77)


def git(*arguments):
    run = subprocess.run(["git", *arguments], capture_output=True, text=True)
    return run.stdout.splitlines() if run.returncode == 0 else None


def base_commit(wanted):
    """WANTED, or the oldest commit of a history that does not reach as far."""
    commits = git("rev-list", "--first-parent", "HEAD")
    if not commits:
        skip("no git checkout: nobody knows what changed")
    if git("rev-parse", "--quiet", "--verify", wanted + "^{commit}"):
        return wanted
    if not re.fullmatch(r"HEAD~\d+", wanted):
        sys.exit(f'lint: no commit "{wanted}"\n  hint: Configure with -DLINT_BASE=COMMIT.')
    if len(commits) == 1:
        skip(f"the history has no {wanted}: a clone of one commit (git fetch --unshallow)")
    return commits[-1]


def changed(base):
    """What differs from BASE, what was changed last first: uncommitted, then by commit."""
    differ = set(git("diff", "--name-only", "--diff-filter=d", base, "--", "*.c"))
    new = git("ls-files", "--others", "--exclude-standard", "--", "*.c")
    order = new + git("diff", "--name-only", "HEAD", "--", "*.c")
    order += git("log", "--format=", "--name-only", f"{base}..HEAD", "--", "*.c")
    return [file for file in dict.fromkeys(order + sorted(differ)) if file in differ or file in new]


def compiled(build):
    """The command of each C file: arguments and directory."""
    with open(os.path.join(build, "compile_commands.json")) as stream:
        entries = json.load(stream)
    commands = {}
    for entry in entries:
        arguments = shlex.split(entry["command"])
        if os.path.basename(arguments[0]) in ("ccache", "sccache", "distcc"):
            arguments = arguments[1:]
        if "-o" in arguments:
            at = arguments.index("-o")
            del arguments[at:at + 2]
        commands[os.path.relpath(entry["file"])] = arguments, entry["directory"]
    return commands


def version(program):
    try:
        text = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    except OSError:
        return None, ""
    found = re.search(r"(?:version |\) )(\d+)\.", text)
    return int(found[1]) if found else 0, text


def analyze(command, directory):
    """What gcc -fanalyzer says of ANALYZER's kinds, or why it could not compile."""
    options = ["-O1", "-fanalyzer", *("-Wanalyzer-" + kind for kind in ANALYZER)]
    run = subprocess.run([*command, *options, "-Wno-error", "-S", "-o", "/dev/null"], cwd=directory,
                         capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    kinds = "|".join(ANALYZER)
    lines = [line for line in run.stderr.splitlines()
             if re.search(rf"\[-Wanalyzer-({kinds})\]", line) or (run.returncode and "error:" in line)]
    return "\n".join(lines)


def look_at(file, build, command, tidy, gcc):
    arguments, directory = command
    run = subprocess.run([tidy, "--quiet", "-p", build, file], capture_output=True, text=True)
    told = run.stdout if run.returncode else ""
    return told + (analyze(arguments, directory) if gcc else "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--base", default="HEAD~20")
    parser.add_argument("--pinned", action="store_true")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--tidy", required=True)
    options = parser.parse_args()

    tidy_version, _ = version(options.tidy)
    if tidy_version is None:
        skip("clang-tidy is missing")
    if options.pinned and tidy_version != PINNED_TIDY:
        skip(f"clang-tidy is of version {tidy_version}, the code is clean with {PINNED_TIDY}")
    commands = compiled(options.build)
    if options.all:
        files = sorted(file for file in commands if not file.startswith(("..", "tests/")))
        files = [file for file in files if file.endswith(".c")]
    else:
        base = base_commit(options.base)
        files = [file for file in changed(base)
                 if file in commands and not file.startswith("tests/")]
        print(f"lint: {len(files)} C files outside tests/ differ from {base}")
    if not files:
        return 0
    gcc_version, text = version(commands[files[0]][0][0])
    gcc = "Free Software" in text and (not options.pinned or gcc_version == PINNED_GCC)
    if not gcc:
        print(f"lint: without -fanalyzer, which is that of gcc {PINNED_GCC}")

    end, left_out, faulty = time.monotonic() + options.seconds, [], 0

    def one(file):
        if time.monotonic() > end:
            return file, None
        return file, look_at(file, options.build, commands[file], options.tidy, gcc)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, told in pool.map(one, files):
            if told is None:
                left_out.append(file)
            elif told:
                faulty += 1
                print(told, flush=True)
    if left_out:
        print(f"lint: {options.seconds:.0f} s have passed: left out {len(left_out)} files, "
              f"what was changed last first: {' '.join(left_out)}")
    print(f"lint: {faulty} of {len(files) - len(left_out)} files are to be mended")
    return 1 if faulty else 0


if __name__ == "__main__":
    sys.exit(main())
