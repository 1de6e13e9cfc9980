#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lines.py BOTTLENECK FAKE PROGRAMS CUBINS

What --gpu-lines says of kernels on the fake GPU in the directory FAKE: each line of source has the
samples that the fake was told to take there (FAKE_PC), by what was waited for. Who may not sample
is told so, and loses nothing else. The program's output stays as it is, and the fake, which is
strict, has no complaint.
"""
import os
import sqlite3
import subprocess
import sys
import tempfile

BOTTLENECK, FAKE, PROGRAMS, CUBINS = sys.argv[1:5]
PREFIX = "smsp__pcsamp_warps_issue_stalled_"
LAUNCHES = 40

# What a launch adds: kernel, offset, line, inlined function, reason, samples.
SAMPLES = [
    ("_Z5linesPfPKfi", 0x1e0, 4, "_Z5innerfi", "long_scoreboard", 3),
    ("_Z5linesPfPKfi", 0x1e0, 4, "_Z5innerfi", "selected", 1),
    ("_Z5linesPfPKfi", 0x200, 4, "_Z5innerfi", "long_scoreboard", 2),
    ("_Z5linesPfPKfi", 0x40, 16, None, "wait", 2),
    ("_Z5otherPf", 0x80, 23, None, "barrier", 5),
]
failures = []


def expect(condition, *what):
    if not condition:
        failures.append(" ".join(str(w) for w in what))


def script():
    return ";".join(f"{k}+{at:#x}:{reason}={n}" for k, at, _, _, reason, n in SAMPLES)


def run(directory, *options, faults="", cubin="lines.cubin", version="", environment=None):
    env = dict(os.environ, LD_LIBRARY_PATH=FAKE, FAKE_PC=script(), LAUNCHES=str(LAUNCHES),
               FAKE_CUPTI_LOG=directory + "/log", LINES_CUBIN=CUBINS + "/" + cubin,
               XDG_STATE_HOME=directory, **(environment or {}))
    if faults:
        env["FAKE_CUPTI_FAULTS"] = faults
    if version:
        env["FAKE_CUPTI_VERSION"] = version
    done = subprocess.run([BOTTLENECK, "-v", "-o", directory + "/p.bneck", "--width", "160", *options,
                           PROGRAMS + "/lines"], env=env, capture_output=True, text=True,
                          check=False)
    what = (options, faults, cubin, version)
    expect(done.returncode == 0, what, "status", done.returncode, done.stderr)
    expect(done.stdout == f"launched {LAUNCHES} and {LAUNCHES // 2}\n", what, done.stdout)
    expect(not os.path.exists(directory + "/log"), what, "the fake complains")
    return done.stderr


def rows(directory):
    with sqlite3.connect(directory + "/p.bneck") as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'gpu_line'").fetchone():
            return None
        return {(k, line, inlined, reason): n for k, line, inlined, reason, n in db.execute(
            "SELECT kernel, line, inlined, reason, samples FROM gpu_line")}


def truth(has_lines=True):
    sums = {}
    for kernel, _, line, inlined, reason, n in SAMPLES:
        key = (kernel, line if has_lines else None, inlined if has_lines else None,
               PREFIX + reason)
        times = LAUNCHES if kernel == "_Z5linesPfPKfi" else LAUNCHES // 2
        sums[key] = sums.get(key, 0) + n * times
    return sums


def check_lines(directory):
    report = run(directory, "--gpu-lines")
    expect(rows(directory) == truth(), rows(directory), "is not", truth())
    section = report[report.find("lines inside GPU kernels"):]
    first = [line for line in section.splitlines() if "lines.cu" in line][:1]
    for word in ("57.1", "memory", "83.3", "inner(float, int) in lines(", "lines.cu:4"):
        expect(first and word in first[0], "no", word, "in", first)
    saved = subprocess.run([BOTTLENECK, "report", "--width", "160", directory + "/p.bneck"],
                           capture_output=True, text=True, check=False).stdout
    expect(first and first[0] in saved, "the saved run says otherwise:", saved)


def check_older(directory):
    for version in ("11.8", "12.2", "12.6"):
        run(directory, "--gpu-lines", version=version)
        expect(rows(directory) == truth(), version, rows(directory))


def check_faults(directory):
    report = run(directory, "--gpu-lines", faults="pc=35")
    expect(rows(directory) is None, "there are samples without rights")
    expect("lines of kernels were not sampled" in report and "CAP_SYS_ADMIN" in report
           and "NVreg_RestrictProfilingToAdminUsers=0" in " ".join(report.split()), report)
    expect("lines inside" not in report, report)
    report = run(directory, "--gpu-lines", faults="result=999")
    expect(rows(directory) is None, "there are samples without a driver")
    run(directory, "--gpu-lines", cubin="no_lines.cubin")
    expect(rows(directory) == truth(False), "without lines", rows(directory))
    report = run(directory, "--gpu-lines", cubin="no_lines.cubin")
    expect("-lineinfo" in report, report)
    # All that was sampled is lost at the first look, and sampling goes on.
    run(directory, "--gpu-lines", faults="pc-full=1", environment={"FAKE_KERNEL_US": "20000"})


def check_callsites(directory):
    """Of each call the stack: who has launched how much is exact, though one place launches all."""
    env = dict(os.environ, LD_LIBRARY_PATH=FAKE, XDG_STATE_HOME=directory, LAUNCHES="400", US="200")
    report = subprocess.run([BOTTLENECK, "--gpu-callsites", "all", "--call-tree", "--width", "160",
                             "-o", directory + "/c.bneck", PROGRAMS + "/callers"], env=env,
                            capture_output=True, text=True, check=False).stderr
    for caller, time, share in (("left", "60.0 ms", "75.0"), ("right", "20.0 ms", "25.0")):
        rows_of = [line for line in report.splitlines() if f"─ {caller} " in line]
        expect(any(line.split()[:3] == [*time.split(), share] for line in rows_of),
               caller, "has not launched", time, rows_of)


def check_without(directory):
    report = run(directory)
    expect(rows(directory) is None and "lines inside" not in report, report)


def main():
    with tempfile.TemporaryDirectory() as directory:
        for check in (check_lines, check_older, check_faults, check_callsites, check_without):
            check(directory)
    for failure in failures:
        print(failure)
    return bool(failures)


sys.exit(main())
