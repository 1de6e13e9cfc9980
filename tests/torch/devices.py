# SPDX-License-Identifier: MIT
"""devices.py ALLOCATOR FILE: what allocators of two GPUs would say, within labels.

There is no GPU: ALLOCATOR is a library that calls what they call. All of it is within
torch.profiler, whose bytes by label go to FILE, and what was held at most.
"""
import ctypes
import glob
import json
import os
import sys
import threading
import time

import torch
from torch.profiler import ProfilerActivity, profile, record_function

CUDA = 1
KIB = 1 << 10
MIB = 1 << 20
LIBRARIES = os.path.join(os.path.dirname(torch.__file__), "lib")


class Device:
    def __init__(self, library, index):
        self.library = library
        self.index = index
        self.held = self.reserved = 0
        self.peaks = [0, 0]
        self.lock = threading.Lock()

    def change(self, size):
        # torch.profiler 1.13 joins blocks and labels by microseconds.
        time.sleep(0.0005)
        with self.lock:
            self.held += size
            self.reserved = max(self.reserved, -(-self.held // (2 * MIB)) * 2 * MIB)
            self.peaks = [max(self.peaks[0], self.held), max(self.peaks[1], self.reserved)]
            self.library.device_allocator_tell(torch.__version__ < "2", size, self.held,
                                               self.reserved, CUDA, self.index)
        time.sleep(0.0005)


def load(path):
    # As what is linked with it finds it.
    ctypes.CDLL(glob.glob(os.path.join(LIBRARIES, "libc10.so"))[0], mode=ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(path)
    library.device_allocator_tell.argtypes = [
        ctypes.c_int, ctypes.c_int64, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int, ctypes.c_int]
    return library


def step(first, second):
    with record_function("outer"):
        first.change(3 * MIB)
        with record_function("inner"):
            first.change(5 * KIB)
            second.change(7 * MIB)
            second.change(-7 * MIB)
        with record_function("nothing"):
            torch.ones(10)
        with record_function("back"):
            first.change(-3 * MIB)
    first.change(-KIB)  # outside of any op
    with record_function("rest"):
        first.change(-4 * KIB)


def memory_of(event, own):
    prefix = "self_" if own else ""
    names = (f"{prefix}device_memory_usage", f"{prefix}cuda_memory_usage")
    return next(getattr(event, name) for name in names if hasattr(event, name))


def in_thread(device):
    with record_function("in a thread"):
        device.change(9 * MIB)
        device.change(-9 * MIB)


def main():
    library = load(sys.argv[1])
    devices = [Device(library, 0), Device(library, 1)]
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        for _ in range(4):
            step(*devices)
    thread = threading.Thread(target=in_thread, args=[devices[1]])
    thread.start()
    thread.join()
    labels = {event.key: [memory_of(event, False), memory_of(event, True)]
              for event in profiler.key_averages() if not event.key.startswith("[")}
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump({"labels": labels, "peaks": [device.peaks for device in devices],
                   "held": [device.held for device in devices]}, file)


main()
