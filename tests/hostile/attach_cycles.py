# SPDX-License-Identifier: MIT
"""Servers, interpreters and a static program are as before after a thousand attachments.

    attach_cycles.py BOTTLENECK ATTACHED_STATIC [--cycles N] [--agent N] [--python PATH]... [--only NAME]...

Attaches for a twentieth of a second to each of redis, PostgreSQL (the postmaster with its children, and one
backend alone), every CPython of 3.8 and newer that pyenv has or --python names, and a static program, in turn,
while they work; --agent: so many more times with the agent, where it can be loaded. After each time the process
has to run, and to have the mapped files, descriptors, threads, signal masks, handlers and tracer that it had
before the first one; at the end its work has to go on, and what it answered has to be right. Of the agent its
idle library stays.
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
SETTLE_S = 15
LIBRARY = "libbottleneck-agent.so"
NOBODY = 65534
PYTHON = """import json, re, threading, time
def idle():
    while True:
        time.sleep(0.01)
threading.Thread(target=idle, daemon=True).start()
while True:
    right = json.loads(json.dumps([1, 2.5, "x"] * 100)) == [1, 2.5, "x"] * 100
    right = right and re.sub("a+", "b", "caaat" * 100) == "cbt" * 100
    time.sleep(0.002)
    print("+" if right else "-", end="", flush=True)
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
    """What it has mapped, and what of that is resident."""
    status = dict(line.split(":", 1) for line in lines_of(f"/proc/{pid}/status"))
    return [int(status[key].split()[0]) for key in ("VmSize", "VmRSS")]


class Work:
    """What a target has answered."""

    def __init__(self):
        self.right = self.wrong = 0

    def add(self, right):
        if right:
            self.right += 1
        else:
            self.wrong += 1

    def read_marks(self, file):
        for marks in iter(lambda: os.read(file.fileno(), 65536), b""):
            self.right += marks.count(b"+")
            self.wrong += marks.count(b"-")


class Target:
    """A process that works, in a group of its own. PID is that of the one to attach to."""

    def __init__(self, name, command, agent=True, user=None, cwd=None, marks=False, piped=False):
        self.name, self.agent, self.failures, self.cycles = name, agent, 0, {False: 0, True: 0}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE if marks or piped else subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True, user=user, group=user,
                                        extra_groups=[] if user else None, cwd=cwd)
        self.pid, self.work = self.process.pid, Work()
        self.before = self.first_kb = None
        if marks:
            threading.Thread(target=self.work.read_marks, args=(self.process.stdout,), daemon=True).start()

    def settle(self):
        """Until two looks a second apart are the same."""
        for _ in range(60):
            state = state_of(self.pid)
            time.sleep(1)
            if state == state_of(self.pid):
                self.before = state
                self.first_kb = memory_kb(self.pid)
                return
        raise RuntimeError(f"{self.name} does not come to rest")

    def fail(self, what):
        self.failures += 1
        print(f"{self.name}: {what}", flush=True)

    def cycle(self, bottleneck, directory, agent):
        line = [bottleneck, "-q", "-o", os.path.join(directory, "profile.bneck"), "-p", str(self.pid),
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
        # A thread of its own may be about to end, and the agent's unmaps its memory when it next gets a CPU.
        until = time.monotonic() + SETTLE_S
        while True:
            now = state_of(self.pid)
            if now == self.before:
                return
            if time.monotonic() > until:
                break
            time.sleep(0.05)
        for key, before in self.before.items():
            if now[key] != before:
                self.fail(f"cycle {self.cycles}: {key} before: {before}, now: {now[key]}")
        self.before = now  # what changes once fails once

    def check_work(self):
        """That it goes on, and that its answers were right."""
        if self.process.poll() is not None:
            return
        answered = self.work.right
        for _ in range(100):
            if self.work.right > answered:
                break
            time.sleep(0.1)
        else:
            self.fail("it answers no more")
        if self.work.wrong:
            self.fail(f"{self.work.wrong} wrong answers beside {self.work.right} right ones")

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Waiter(Target):
    """Waits in its threads, and says at the end what of that was wrong."""

    def check_work(self):
        if self.process.poll() is not None:
            return
        self.process.stdin.close()
        try:
            status = self.process.wait(30)
        except subprocess.TimeoutExpired:
            status = "none"
        if status:
            self.fail(f"its waits had wrong results: status {status}")


def ask_redis(path, over, work):
    while not over.is_set():
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
            client.settimeout(30)
            client.connect(path)
            for i in range(1000):
                client.sendall(b"SET key%d value%d\r\nGET key%d\r\n" % (i % 50, i, i % 50))
                wanted = b"+OK\r\n$%d\r\nvalue%d\r\n" % (5 + len(str(i)), i)
                answer = b""
                while len(answer) < len(wanted):
                    part = client.recv(4096)
                    if not part:
                        break
                    answer += part
                work.add(answer == wanted)
                if over.wait(0.001):
                    break


def psql(directory, *arguments, **options):
    return ["psql", "-h", directory, "-U", "nobody", "-d", "postgres", "-qtA", *arguments]


def ask_postgres(directory, over, work):
    while not over.is_set():
        done = subprocess.run(psql(directory, "-c", "select count(*) from generate_series(1, 200000)"),
                              capture_output=True, timeout=LIMIT_S, check=False)
        if not over.is_set():
            work.add(done.stdout == b"200000\n")
        over.wait(0.5)


def ask_backend(client, over, work):
    while not over.is_set():
        try:
            client.stdin.write(b"select sum(i) from generate_series(1, 20000) i;\n")
            client.stdin.flush()
            answer = client.stdout.readline()
        except OSError:
            answer = b""
        if not over.is_set():
            work.add(answer == b"200010000\n")
        over.wait(0.02)


def start_postgres(directory, over):
    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not programs or os.geteuid() != 0:
        return []
    data = os.path.join(directory, "postgres")
    os.mkdir(data)
    os.chown(data, NOBODY, NOBODY)
    subprocess.run([f"{programs[-1]}/initdb", "-D", data, "-U", "nobody", "-A", "trust"], user=NOBODY, cwd=data,
                   check=True, capture_output=True)
    server = Target("postgres", [f"{programs[-1]}/postgres", "-D", data, "-k", data, "-h", ""], user=NOBODY,
                    cwd=data)
    while subprocess.run(psql(data, "-c", "select 1"), capture_output=True, check=False).returncode:
        time.sleep(0.2)
    threading.Thread(target=ask_postgres, args=(data, over, server.work), daemon=True).start()
    backend = Target("postgres backend", psql(data), piped=True)
    client = backend.process
    client.stdin.write(b"select pg_backend_pid();\n")
    client.stdin.flush()
    backend.pid = int(client.stdout.readline())
    threading.Thread(target=ask_backend, args=(client, over, backend.work), daemon=True).start()
    return [server, backend]


def start_all(arguments, directory, over):
    targets = []
    path = os.path.join(directory, "redis.sock")
    if shutil.which("redis-server"):
        targets.append(Target("redis", ["redis-server", "--port", "0", "--unixsocket", path, "--save", "",
                                        "--dir", directory]))
        threading.Thread(target=ask_redis, args=(path, over, targets[-1].work), daemon=True).start()
    pythons = [python for python in glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))
               if int(python.split("/")[-3].split(".")[1]) >= 8]
    for python in sorted(pythons) + (arguments.python or []):
        version = subprocess.run([python, "-c", "import platform; print(platform.python_version())"],
                                 capture_output=True, check=True).stdout.decode().strip()
        targets.append(Target(f"python {version}", [python, "-c", PYTHON], marks=True))
    targets.append(Waiter("static", [arguments.static, "pnefr"], agent=False))
    targets += start_postgres(directory, over)
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
    parser.add_argument("--python", action="append", metavar="PATH")
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
                    now = memory_kb(target.pid)
                    target.check_work()
                    print(f"{target.name}: {target.cycles[False]} cycles, {target.cycles[True]} with the agent, "
                          f"{target.failures} failures, {target.work.right} right answers, "
                          f"mapped {target.first_kb[0]} -> {now[0]} KB, "
                          f"resident {target.first_kb[1]} -> {now[1]} KB", flush=True)
            over.set()
            for target in targets:
                target.end()
    return 1 if not targets or any(target.failures for target in targets) else 0


if __name__ == "__main__":
    sys.exit(main())
