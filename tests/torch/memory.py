# SPDX-License-Identifier: MIT
"""memory.py: lines that allocate. What is allocated stays until the end.

memory.py FILE: the same, and what tracemalloc and torch.profiler say of it goes to FILE: bytes by a
line's name, which stands behind it, and by op. They take memory themselves, on the same lines.
"""
import contextlib
import json
import re
import sys
import time
import tracemalloc

import numpy
import torch
from torch.profiler import ProfilerActivity, profile

MIB = 1 << 20


def slowly(block):
    """At a rate at which allocations are looked at one by one."""
    time.sleep(0.02)
    return block


def large_bytes():
    return [slowly(bytearray(MIB)) for _ in range(64)]  # line: bytes


def arrays():
    return [slowly(numpy.empty(MIB // 8)) for _ in range(48)]  # line: arrays


def small_objects():
    return [float(i) for i in range(2 * MIB)]  # line: small


def tensors():
    return [slowly(torch.ones(MIB // 4)) for _ in range(80)]  # line: tensors


def names():
    with open(__file__, encoding="utf-8") as file:
        found = [(re.search(r"# line: (\w+)$", line), number) for number, line in enumerate(file, 1)]
    return {number: match[1] for match, number in found if match}


def allocate(profiled):
    with profiled:
        return [large_bytes(), arrays(), small_objects(), tensors()]


def by_name(snapshot):
    known = names()
    lines = {known[s.traceback[0].lineno]: s.size for s in snapshot.statistics("lineno")
             if s.traceback[0].filename == __file__ and s.traceback[0].lineno in known}
    return {name: lines.get(name, 0) for name in known.values()}


def main():
    torch.ones(1)
    time.sleep(2)  # after all that was imported
    if len(sys.argv) == 1:
        kept = allocate(contextlib.nullcontext())
    else:
        profiler = profile(activities=[ProfilerActivity.CPU], profile_memory=True)
        tracemalloc.start()
        kept = allocate(profiler)
        lines = by_name(tracemalloc.take_snapshot())
        ops = {event.key: event.cpu_memory_usage for event in profiler.key_averages()}
        with open(sys.argv[1], "w", encoding="utf-8") as file:
            json.dump({"lines": lines, "ops": ops}, file)
    print(len(kept))


main()
