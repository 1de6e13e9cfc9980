# SPDX-License-Identifier: MIT
"""work.py NAME cold|warm|...: programs whose warm-up is known, for real.py. Each repeats the same
work; the cold one pays for something in its first turns that the warm one has paid for before."""
import os
import sys
import tempfile


def spin(count):
    total = 0
    for i in range(count):
        total += i * i % 7
    return total


def mix(count):
    total = 0
    for i in range(count):
        total ^= i << 3
    return total


def imports(how):
    def load():
        import asyncio, ctypes, decimal, email.message, http.client, unittest, xml.dom.minidom  # noqa
        import multiprocessing, concurrent.futures, sqlite3, tarfile, urllib.request, pydoc  # noqa
    if how == "warm":
        load()
    for _ in range(25):
        spin(200000)
        load()
        mix(200000)


def collector(how):
    import gc
    gc.disable()
    keep = [[i] for i in range(400000)]
    for turn in range(32):
        spin(200000)
        mix(200000)
        if turn % 8 == 0:
            gc.collect()
    return keep


def growing(how):
    seen = []
    for turn in range(30):
        spin(240000)
        for i in range(100 * turn):
            if i not in seen:
                seen.append(i)
            mix(120)


def bimodal(how):
    import random
    random.seed(4)
    for _ in range(40):
        spin(200000)
        mix(random.choice((60000, 240000)))


def open_file():
    """On a disk, and left there: see real.py."""
    return tempfile.NamedTemporaryFile(dir="/var/tmp", prefix="bottleneck-warmup-", delete=False)


def file(how):
    with open_file() as data:
        block = os.urandom(1 << 20)
        for _ in range(400):
            data.write(block)
        data.flush()
        os.fsync(data.fileno())
        if how == "cold":
            os.posix_fadvise(data.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        buffer = bytearray(1 << 20)
        for turn in range(14):
            fd = os.open(data.name, os.O_RDONLY)
            for _ in range(400):
                os.readv(fd, [buffer])
            os.close(fd)
            spin(150000)


def sqlite(how):
    import sqlite3
    with open_file() as file:
        table = sqlite3.connect(file.name)
        table.execute("pragma journal_mode = off")
        table.execute("create table blobs (data blob)")
        for _ in range(300):
            table.execute("insert into blobs select randomblob(1000000)")
        table.commit()
        table.close()
        os.fsync(file.fileno())
        if how == "cold":
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        table = sqlite3.connect(file.name)
        table.execute("pragma cache_size = 100")
        for turn in range(9):
            # The last bytes come behind all pages of a row.
            table.execute("select sum(length(substr(data, 999000, 9))) from blobs").fetchall()
            spin(150000)


def touch(how):
    import numpy as np
    values = np.random.default_rng(1).random(300000)
    memory = np.empty(300 << 17)  # 300 MB
    if how == "warm":
        memory.fill(0)
    for turn in range(16):
        np.sort(values)
        memory.fill(turn)


def training(how):
    import torch
    torch.set_num_threads(1)
    model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(4)])
    data = torch.rand(64, 256)
    labels = torch.rand(64, 256)
    # So slow that no weight becomes so small that CPUs are slow at it.
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)

    def step(extra):
        with torch.autograd.profiler.record_function("train step"):
            for _ in range(extra):
                torch.nn.functional.mse_loss(model(data), labels).backward()
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(data), labels).backward()
            optimizer.step()
    step(0) if how == "warm" else None
    for turn in range(200):  # so many that a share is known to two points
        step(240 if how == "cold" and turn == 0 else 3)


def compiled(how):
    import torch
    torch.set_num_threads(1)
    model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(4)])
    fast = torch.compile(model, backend="aot_eager")
    data = torch.ones(64, 256)
    with torch.no_grad():
        if how == "warm":
            fast(data)
        for turn in range(60):
            with torch.autograd.profiler.record_function("forward pass"):
                for _ in range(20):
                    fast(data)


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2])
