#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PyTorch's HolisticTraceAnalysis reads our traces, and says what we say.

	HTA_PYTHON=~/hta/bin/python tests/export/hta.py

HTA_PYTHON is a Python that has HolisticTraceAnalysis, from PyPI; BOTTLENECK, FAKE and PROGRAMS are
as for e2e/gpu.py. Without HTA the check is skipped (77). HTA rounds to whole microseconds.
"""
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

BOTTLENECK = os.path.abspath(os.environ.get("BOTTLENECK", "build/cli/bottleneck"))
FAKE = os.path.abspath(os.environ.get("FAKE", "build/tests/gpu/fake"))
PROGRAMS = os.path.abspath(os.environ.get("PROGRAMS", "build/tests/gpu/programs"))
PYTHON = os.environ.get("HTA_PYTHON", sys.executable)
SKIPPED = 77

READ = """
import json, sys, warnings
warnings.filterwarnings("ignore")
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_dir=sys.argv[1])
_, kernels = analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=100)
launches = analysis.get_cuda_kernel_launch_stats(visualize=False)[0]
busy = analysis.get_temporal_breakdown(visualize=False)
json.dump({"ranks": [int(rank) for rank in analysis.t.traces],
           "sums": {name: int(us) for name, us in zip(kernels["name"], kernels["sum (us)"])},
           "launches": len(launches),
           "busy_us": float(busy["kernel_time(us)"][0] if "kernel_time(us)" in busy
                            else busy["compute_time(us)"][0] + busy["non_compute_time(us)"][0])},
          open(sys.argv[2], "w"))
"""


def has_hta():
    done = subprocess.run([PYTHON, "-c", "import hta.trace_analysis"], capture_output=True,
                          cwd="/", check=False)
    return done.returncode == 0


def record(directory):
    profile, trace = (os.path.join(directory, name) for name in ("p.bneck", "traces/rank0.json"))
    os.mkdir(os.path.dirname(trace))
    environment = {**os.environ, "LD_LIBRARY_PATH": FAKE, "XDG_STATE_HOME": directory}
    subprocess.run([BOTTLENECK, "--no-report", "-o", profile, "--export", f"chrome={trace}", "--",
                    os.path.join(PROGRAMS, "streams")], env=environment, check=True,
                   stdout=subprocess.DEVNULL)
    return profile, os.path.dirname(trace)


def read(directory, traces):
    answer = os.path.join(directory, "answer.json")
    done = subprocess.run([PYTHON, "-c", READ, traces, answer], cwd="/", capture_output=True,
                          text=True, check=False)
    if done.returncode:
        sys.exit(f"HTA does not read it: {done.stderr[-2000:]}")
    with open(answer, encoding="utf-8") as file:
        return json.load(file)


def main():
    if not has_hta():
        print(f"skipped: {PYTHON} has no HolisticTraceAnalysis (pip install it, set HTA_PYTHON)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as directory:
        profile, traces = record(directory)
        told = read(directory, traces)
        rows = sqlite3.connect(profile).execute(
            "SELECT n.name, sum(w.calls), sum(w.total_ns) FROM gpu_work w"
            " JOIN op_name n ON n.id = w.op WHERE w.kind = 0 GROUP BY 1").fetchall()
    calls = sum(count for _, count, _ in rows)
    wrong = []
    if told["ranks"] != [0]:
        wrong.append(f"ranks {told['ranks']}")
    if told["launches"] != calls:
        wrong.append(f"{told['launches']} launches tied to kernels, not {calls}")
    for name, count, ns in rows:
        if abs(told["sums"].get(name, 0) - ns / 1000) > 2 * count:
            wrong.append(f"{name}: {told['sums'].get(name)} us, not {ns / 1000}")
    print(f"{calls} kernels of {len(rows)} names, {told['launches']} launches: "
          f"{'; '.join(wrong) or 'as in the profile'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
