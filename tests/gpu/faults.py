#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""faults.py BOTTLENECK FAKES PROGRAMS

What goes wrong with CUPTI, from its loading to its last buffer, on the fake GPU: the program's output
and status are those that it has alone, the fake, which is strict, has no complaint, and the report's
limits have one line that says so, and what helps. What does not matter is not told. Nor does a
killed program, or one that leaves by itself, lose what it had told before.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

BOTTLENECK, FAKES, PROGRAMS = sys.argv[1:4]
RIGHTS = "CUPTI may not look; ask for NVreg_RestrictProfilingToAdminUsers=0 (35 "

# Fault, program, what a line of the limits says; None: nothing of GPUs is there.
FAULTS = [
    ("busy=nsys", "vector_add", 'CUPTI is in use by "nsys"; run without it'),
    ("result=35", "vector_add", "GPU activity was not recorded: " + RIGHTS),
    ("result=999", "vector_add", "CUPTI finds no GPU, or no driver that it fits; update the driver (999 "),
    ("result=15", "vector_add", "CUPTI finds no GPU, or no driver that it fits; update the driver (15 "),
    ("result=43", "vector_add", "does not support this kind of device (virtual, confidential, MIG) (43 "),
    ("deny=10", "vector_add", "1 kind refused: " + RIGHTS),
    ("no-clock=14", "copies", "CUPTI keeps a clock of its own: GPU times are fitted"),
    ("drop=7", "launch_bound", "GPU records are missing: CUPTI had no buffers for them"),
    ("short=4096", "sync_happy", None),
    ("misaligned", "sync_happy", "of GPU records were damaged|of GPU records was damaged"),
    ("disorder,short=65536", "launch_bound", None),
    ("zero-times", "vector_add", "GPU activities have no times"),
    ("null-buffer", "launch_bound", None),
    ("unknown-kind=5", "launch_bound", "GPU records are of kinds that were not asked for"),
    ("bad-kind=50", "launch_bound", "of GPU records were damaged|of GPU records was damaged"),
    ("garbage", "vector_add", "of GPU records were damaged|of GPU records was damaged"),
]
failures = []


def expect(condition, *what):
    if not condition:
        failures.append(" ".join(str(w) for w in what))


def environment(directory, fake="fake", **more):
    env = dict(os.environ, LD_LIBRARY_PATH=FAKES + "/" + fake, XDG_STATE_HOME=directory,
               FAKE_CUPTI_LOG=directory + "/log", LAUNCHES="2000", **more)
    env.pop("BOTTLENECK_CUPTI", None)
    return env


def limits(report):
    """A line each, however they were broken."""
    text = report[report.rfind("\nlimits"):]
    return [line.strip() for line in re.sub(r"\n    ", " ", text).splitlines()[2:]]


def of_gpus(lines):
    return [line for line in lines if re.search(r"GPU|CUPTI", line)
            and "the overhead is" not in line and "in CUPTI and its threads" not in line]


def check(directory, fault, program, wanted, fake="fake", version=""):
    what = (fault or version or fake, program)
    env = environment(directory, fake)
    if version:
        env["FAKE_CUPTI_VERSION"] = version
    if fault:
        env["FAKE_CUPTI_FAULTS"] = fault
    alone = subprocess.run([PROGRAMS + "/" + program], env=env, capture_output=True, check=False)
    done = subprocess.run([BOTTLENECK, "-v", PROGRAMS + "/" + program], env=env,
                          capture_output=True, check=False)
    expect(done.stdout == alone.stdout, what, "output", done.stdout, "not", alone.stdout)
    expect(done.returncode == alone.returncode, what, "status", done.returncode)
    if os.path.exists(directory + "/log"):
        with open(directory + "/log", encoding="utf-8") as log:
            expect(False, what, "the fake complains:", log.read())
        os.unlink(directory + "/log")
    told = of_gpus(limits(done.stderr.decode()))
    if wanted is None:
        expect(not told, what, "has limits:", told)
    else:
        matching = [line for line in told
                    if any(part in line for part in wanted.split("|"))]
        expect(len(matching) == 1, what, wanted, "is not there once:", told)


def check_killed(directory):
    """What was told before it dies is in the report, and its end is its own."""
    env = environment(directory)
    env["LAUNCHES"] = "2000000"
    running = subprocess.Popen([BOTTLENECK, "-v", "-o", directory + "/p.bneck",
                                PROGRAMS + "/launch_bound"], env=env, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    child = 0
    for _ in range(600):
        listed = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(running.pid)],
                                capture_output=True, text=True, check=False).stdout
        found = re.search(r"(\d+) launch_bound", listed)
        if found:
            child = int(found[1])
            break
        time.sleep(0.01)
    time.sleep(2)
    os.kill(child, signal.SIGKILL)
    report = running.communicate(timeout=60)[1]
    expect(running.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL), "killed",
           running.returncode)
    expect(re.search(r"us_kernel|_us\b", report), "killed: no kernels are told:", report)
    expect("the program was killed: what its GPUs did in the last 0.1 s or so is missing"
           in limits(report), "killed: nobody says what is missing:", report)


def main():
    with tempfile.TemporaryDirectory() as directory:
        for fault, program, wanted in FAULTS:
            check(directory, fault, program, wanted)
        for version in ("11.0", "11.2", "11.8"):
            check(directory, "", "vector_add", "GPU records are missing: this CUPTI does not provide"
                  "|GPU records is missing: this CUPTI does not provide", version=version)
        check(directory, "", "copies", None, version="12.6")
        check(directory, "", "vector_add", "CUPTI keeps a clock of its own", fake="older")
        check(directory, "", "vector_add", "libcupti has no cuptiGetCallbackName; name another one",
              fake="broken")
        check_killed(directory)
    for failure in failures:
        print(failure)
    return bool(failures)


sys.exit(main())
