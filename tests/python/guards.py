# SPDX-License-Identifier: MIT
"""Programs that handle faults themselves do under bottleneck what they do without.

    guards.py BOTTLENECK PROGRAM LIBRARY [--rung RUNG] [-F HZ] [--seconds S]

PROGRAM and LIBRARY are made of targets/guards.c; the library is used by each interpreter of this
machine, beside faulthandler.
"""
import argparse
import os
import sys

import interpreters
from survival_run import run

GUARDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "guarded.py")


def differs(arguments, name, command):
    ours = [arguments.bottleneck, "-F", str(arguments.frequency), "--rung", arguments.rung,
            "-R", "REPORT", "--", *command]
    bare, under = run(command, arguments.seconds), run(ours, arguments.seconds)
    if bare[:2] == under[:2] and bare[0] != "hangs" and under[2].startswith("bottleneck: "):
        return False
    print(f"FAIL {name}:\n  without: {bare[:2]}\n  under:   {under[:2]}\n  {under[2][:300]}")
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bottleneck", type=os.path.abspath)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("library", type=os.path.abspath)
    parser.add_argument("--rung", default="kernel")
    parser.add_argument("-F", "--frequency", type=int, default=4999)
    parser.add_argument("--seconds", type=float, default=1)
    arguments = parser.parse_args()
    rounds = str(int(2000 * arguments.seconds))
    commands = {"native": [arguments.program, rounds],
                "native, and a fault at last": [arguments.program, rounds, "fault"]}
    for version, python in interpreters.find().items():
        commands[version] = [python, "-B", GUARDED, arguments.library, str(arguments.seconds)]
    failed = [name for name, command in commands.items() if differs(arguments, name, command)]
    print(f"{len(commands)} programs, {len(failed)} differ")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
