#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""survival.py PYTHON_REPORT SECONDS [HZ]: survive.py's kinds in every interpreter, sampled fast."""
import os
import subprocess
import sys

import interpreters
import survive

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    report, seconds = sys.argv[1:3]
    hz = sys.argv[3] if len(sys.argv) > 3 else "4999"
    failed = 0
    for version, path in interpreters.find().items():
        for by in ("traps", "timers"):
            for kind in survive.KINDS:
                done = subprocess.run([report, "--by", by, "--hz", hz, "--out", "/dev/null", path,
                                       HERE + "/survive.py", seconds, kind],
                                      stderr=subprocess.PIPE, text=True, errors="replace",
                                      timeout=120 + 4 * float(seconds))
                said = done.stderr.strip().splitlines()
                survived = done.returncode == 0 and "survived " + kind in said
                failed += not survived
                print("%s %s %s: %s" % (version, by, kind, said[-1] if survived else done.stderr))
                sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
