# SPDX-License-Identifier: MIT
"""A stage: a moment in which the stack stands still and is known.

here() spins on one line of its own and writes down who called it, when that line began and ended,
and in which thread: a sample of that thread and time must have that stack. BOTTLENECK_STAGE names
the file of what is written, one JSON object a line.
"""
import json
import os
import sys
import threading
import time
import traceback

NAP_NS = 14_000_000  # of CPU time: three ticks of a CPU-time timer
NEWEST = 512  # frames that a sample holds

out = os.open(os.environ["BOTTLENECK_STAGE"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def stack_of(frame, lineno):
    """The stack from FRAME outwards, which is in line LINENO now."""
    seen = []
    plain = []
    while frame:
        code = frame.f_code
        seen.append((code.co_filename, getattr(code, "co_qualname", code.co_name), lineno))
        plain.append((code.co_filename, code.co_name, lineno))
        frame = frame.f_back
        lineno = frame.f_lineno if frame else 0
    return seen, plain


def write(name, frame, lineno, first, last):
    stack, plain = stack_of(frame, lineno)
    extracted = [(f.filename, f.name, f.lineno) for f in traceback.extract_stack(frame)][::-1]
    stage = {
        "name": name,
        "pid": os.getpid(),
        "tid": threading.get_native_id(),
        "first": first,
        "last": last,
        "stack": stack[:NEWEST],
        "agrees": extracted[1:] == plain[1:],
    }
    # One write each: children and subinterpreters append, too.
    os.write(out, (json.dumps(stage) + "\n").encode())


def here(name, nap_ns=NAP_NS):
    clock, cpu = time.monotonic_ns, time.thread_time_ns
    first = 0
    end = cpu() + nap_ns
    line = sys._getframe().f_lineno + 1
    while cpu() < end: last = clock(); first = first or last
    write(name, sys._getframe(), line, first, last)
    return 1
