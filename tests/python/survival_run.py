# SPDX-License-Identifier: MIT
"""Hostile Python programs do under bottleneck what they do without: output and status are the same.

    survival_run.py BOTTLENECK [--rung RUNG] [-F HZ] [--all] [--seconds S] [GROUP or PROGRAM…]

The programs are those of survival_programs.py; --all: by each interpreter of this machine.
"""
import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile

import interpreters
import survival_programs

PROGRAMS = os.path.abspath(survival_programs.__file__)
TIMEOUT = 100


def normal(text):
    """Without what differs from run to run."""
    return re.sub(rb"0x[0-9a-f]+|/tmp/\w+|pid=\d+", b"...", text)


def run(command, seconds):
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o777)
        env = dict(os.environ, XDG_STATE_HOME=directory, PYTHONDONTWRITEBYTECODE="1",
                   SURVIVAL_SECONDS=str(seconds))
        report = os.path.join(directory, "report")
        command = [part.replace("REPORT", report) for part in command]
        process = subprocess.Popen(command, env=env, cwd=directory, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   start_new_session=True)
        try:
            output = process.communicate(timeout=TIMEOUT)[0]
            status = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, status = process.communicate()[0], "hangs"
        told = open(report, encoding="utf-8").read() if os.path.exists(report) else ""
        return status, normal(output), told


def check(python, name, arguments):
    command = [python, "-B", PROGRAMS, name]
    ours = [arguments.bottleneck, "-F", str(arguments.frequency), "--rung", arguments.rung,
            "-R", "REPORT", "--", *command]
    bare, under = run(command, arguments.seconds), run(ours, arguments.seconds)
    if bare[:2] == under[:2] and bare[0] != "hangs" and under[2].startswith("bottleneck: "):
        return True
    print(f"FAIL {python} {name}: status {bare[0]} without, {under[0]} under bottleneck")
    if bare[1] != under[1]:
        print(f"  without: {bare[1][-1000:]}\n  under:   {under[1][-1000:]}")
    if not under[2]:
        print("  there is no report")
    return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bottleneck", type=os.path.abspath)
    parser.add_argument("--rung", default="kernel")
    parser.add_argument("-F", "--frequency", type=int, default=4999)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_intermixed_args()
    names = [name for name, (group, _) in survival_programs.PROGRAMS.items()
             if not arguments.names or name in arguments.names or group in arguments.names]
    pythons = interpreters.find().values() if arguments.all else [sys.executable]
    results = [check(python, name, arguments) for python in pythons for name in names]
    print(f"{len(results)} runs, {results.count(False)} differ")
    sys.exit(0 if results and all(results) else 1)


if __name__ == "__main__":
    main()
