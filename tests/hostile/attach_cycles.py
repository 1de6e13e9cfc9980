# SPDX-License-Identifier: MIT
"""Servers, interpreters and a static program are as before after a thousand attachments.

    attach_cycles.py BOTTLENECK ATTACHED_STATIC [--cycles N] [--agent N] [--only NAME]...

Attaches for a twentieth of a second to each of redis, PostgreSQL, every CPython of 3.8 and newer that pyenv
has, and a static program, in turn, while they work; --agent: so many more times with the agent, where it can
be loaded. After each time the process has to run, and to have the mapped files, descriptors, threads, signal
masks and tracer that it had before the first one. Of the agent its idle library stays.
"""
import argparse
import contextlib
import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

SECONDS = "0.05"
LIMIT_S = 120
LIBRARY = "libbottleneck-agent.so"
NOBODY = 65534
PYTHON = """import json, re, threading, time
def idle():
    while True:
        time.sleep(0.01)
threading.Thread(target=idle, daemon=True).start()
while True:
    json.loads(json.dumps([1, 2.5, "x"] * 100))
    re.sub("a+", "b", "caaat" * 100)
    time.sleep(0.002)
"""


def lines_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().splitlines()


def state_of(pid):
    """What a profiler could leave behind; threads may come and go while it is read."""
    for _ in range(50):
        with contextlib.suppress(FileNotFoundError):
            masks = []
            for tid in sorted(os.listdir(f"/proc/{pid}/task"), key=int):
                status = dict(line.split(":\t", 1) for line in lines_of(f"/proc/{pid}/task/{tid}/status")
                              if ":\t" in line)
                masks.append(tuple(status[key] for key in ("TracerPid", "SigBlk", "SigIgn", "SigCgt")))
            files = {line.split(None, 5)[5] for line in lines_of(f"/proc/{pid}/maps")
                     if len(line.split(None, 5)) > 5}
            files = {file for file in files if LIBRARY not in file}
            descriptors = sorted(re.sub(r"\d+", "N", os.readlink(f"/proc/{pid}/fd/{fd}"))
                                 for fd in os.listdir(f"/proc/{pid}/fd"))
            return {"threads and signals": masks, "mapped files": files, "descriptors": descriptors}
    raise RuntimeError(f"process {pid} is not there any more")


def memory_kb(pid):
    return next(int(line.split()[1]) for line in lines_of(f"/proc/{pid}/status") if line.startswith("VmSize"))


class Target:
    """A process that works, in a group of its own."""

    def __init__(self, name, command, agent=True, user=None, cwd=None):
        self.name, self.agent, self.failures, self.cycles = name, agent, 0, {False: 0, True: 0}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True, user=user, group=user, extra_groups=[] if user else None, cwd=cwd)
        self.before = self.first_kb = None

    def settle(self):
        """Until two looks a second apart are the same."""
        for _ in range(60):
            state = state_of(self.process.pid)
            time.sleep(1)
            if state == state_of(self.process.pid):
                self.before = state
                self.first_kb = memory_kb(self.process.pid)
                return
        raise RuntimeError(f"{self.name} does not come to rest")

    def fail(self, what):
        self.failures += 1
        print(f"{self.name}: {what}", flush=True)

    def cycle(self, bottleneck, directory, agent):
        line = [bottleneck, "-q", "-o", os.path.join(directory, "profile.bneck"), "-p", str(self.process.pid),
                "--duration", SECONDS, *(["--agent"] if agent else [])]
        try:
            done = subprocess.run(line, capture_output=True, timeout=LIMIT_S, check=False,
                                  env={**os.environ, "XDG_STATE_HOME": directory})
        except subprocess.TimeoutExpired:
            self.fail(f"bottleneck took more than {LIMIT_S} s")
            return
        self.cycles[agent] += 1
        if done.returncode:
            self.fail(f"exit status {done.returncode}: {done.stderr.decode(errors='replace').strip()}")
        if self.process.poll() is not None:
            self.fail(f"it has ended, {self.process.returncode}")
            return
        for _ in range(20):  # a thread of its own may be about to end
            now = state_of(self.process.pid)
            if now == self.before:
                return
            time.sleep(0.05)
        for key, before in self.before.items():
            if now[key] != before:
                self.fail(f"{key} before: {before}, now: {now[key]}")

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def ask_redis(path, over):
    while not over.is_set():
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
            client.settimeout(30)
            client.connect(path)
            for i in range(1000):
                client.sendall(b"SET key%d value\r\nGET key%d\r\n" % (i % 50, i % 50))
                client.recv(4096)
                if over.wait(0.001):
                    break


def ask_postgres(directory, over):
    while not over.is_set():
        subprocess.run(["psql", "-h", directory, "-U", "nobody", "-d", "postgres", "-c",
                        "select count(*) from generate_series(1, 200000); select pg_sleep(0.5)"],
                       capture_output=True, timeout=60, check=False)
        over.wait(0.1)


def start_postgres(directory):
    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not programs or os.geteuid() != 0:
        return None
    data = os.path.join(directory, "postgres")
    os.mkdir(data)
    os.chown(data, NOBODY, NOBODY)
    subprocess.run([f"{programs[-1]}/initdb", "-D", data, "-U", "nobody", "-A", "trust"], user=NOBODY, cwd=data,
                   check=True, capture_output=True)
    return Target("postgres", [f"{programs[-1]}/postgres", "-D", data, "-k", data, "-h", ""], user=NOBODY,
                  cwd=data)


def start_all(arguments, directory, over):
    targets = []
    path = os.path.join(directory, "redis.sock")
    if shutil.which("redis-server"):
        targets.append(Target("redis", ["redis-server", "--port", "0", "--unixsocket", path, "--save", "",
                                        "--dir", directory]))
        threading.Thread(target=ask_redis, args=(path, over), daemon=True).start()
    for python in sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))):
        version = python.split("/")[-3]
        if int(version.split(".")[1]) >= 8:
            targets.append(Target(f"python {version}", [python, "-c", PYTHON]))
    targets.append(Target("static", [arguments.static, "p"], agent=False))
    postgres = start_postgres(directory)
    if postgres:
        targets.append(postgres)
        threading.Thread(target=ask_postgres, args=(os.path.join(directory, "postgres"), over),
                         daemon=True).start()
    wanted = [target for target in targets if not arguments.only or target.name in arguments.only]
    for target in targets:
        if target not in wanted:
            target.end()
    return wanted


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bottleneck")
    parser.add_argument("static")
    parser.add_argument("--cycles", type=int, default=1000)
    parser.add_argument("--agent", type=int, default=200)
    parser.add_argument("--only", action="append")
    arguments = parser.parse_args()
    over = threading.Event()
    targets = []
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        try:
            targets = start_all(arguments, directory, over)
            time.sleep(2)
            for target in targets:
                target.settle()
            for number in range(max(arguments.cycles, arguments.agent)):
                for target in targets:
                    if target.process.poll() is not None:
                        continue
                    if number < arguments.cycles:
                        target.cycle(arguments.bottleneck, directory, False)
                    if number < arguments.agent and target.agent:
                        target.cycle(arguments.bottleneck, directory, True)
                if number % 50 == 49:
                    print(f"{number + 1} rounds, {sum(t.failures for t in targets)} failures", flush=True)
        finally:
            for target in targets:
                if target.process.poll() is None:
                    print(f"{target.name}: {target.cycles[False]} cycles, {target.cycles[True]} with the agent, "
                          f"{target.failures} failures, memory {target.first_kb} -> "
                          f"{memory_kb(target.process.pid)} KB", flush=True)
            over.set()
            for target in targets:
                target.end()
    return 1 if not targets or any(target.failures for target in targets) else 0


if __name__ == "__main__":
    sys.exit(main())
