# SPDX-License-Identifier: MIT
"""Hostile programs in random order end under bottleneck as without it, whatever runs beside them.

    mix.py BOTTLENECK HOSTILE [--minutes N] [--seed N] [--hz N] [--jobs N] [--rung RUNG]...
           [--only NAME]... [--user UID]

HOSTILE is the program of hostile.c; shell commands around it bring limits, namespaces, other roots,
debuggers and interpreters. Every draw compares exit status, stdout and stderr with a run without
bottleneck, and looks for what is left in the runtime directory. A difference that no run without
bottleneck shows, of ten, is a failure. The seed is printed first: the same seed draws the same
programs in the same order, though not the same timing.
"""
import argparse
import collections
import concurrent.futures
import glob
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

LIMIT_S = 60  # without the time in which other processes had the CPUs
AGAIN = 10

PYTHON_RESET = """
import ctypes, signal
libc = ctypes.CDLL(None)
for s in range(1, 65): libc.signal(s, None)
n = 0
for i in range(300000): n += i
print(n)
"""
PYTHON_CHILDREN = """
import subprocess, sys, threading
def go(n, out):
    out.append(subprocess.run([sys.executable, '-c', f'import sys; sys.exit({n})']).returncode)
out = []
threads = [threading.Thread(target=go, args=(n, out)) for n in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print(sorted(out))
"""
PYTHON_WALKS = """
import ctypes, threading
libc = ctypes.CDLL(None)
stop = False
@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
def visit(info, size, data): return 0
def walk():
    while not stop: libc.dl_iterate_phdr(visit, None)
walker = threading.Thread(target=walk)
walker.start()
for _ in range(20):
    getattr(ctypes.CDLL(None), 'malloc')
    thread = threading.Thread(target=len, args=((),))
    thread.start()
    thread.join()
stop = True
walker.join()
print('walked')
"""

# Around the program, which is @.
AROUND = {
    "stack_256k": "ulimit -s 256; @ fork_storm",
    "stack_small_overflow": "ulimit -s 256; @ overflow",
    "files_none": "ulimit -f 0; @ timers",
    "descriptors_8": "ulimit -n 8; @ orphans",
    "processes_few": "ulimit -u 4000; @ fork_storm",
    "memory_200m": "ulimit -v 200000; @ reset",
    "cpu_limit": "ulimit -t 1; while :; do :; done",
    "core": "ulimit -c 0; @ aborts",
    "umask": "umask 777; @ spawns",
    "chain": "exec env A=1 env B=2 nice -n 1 @ interrupted",
    "pipeline": "@ fork_storm | @ exit7 | cat; @ timers | tail -n 1",
    "sigchld_ignored": "exec env --ignore-signal=CHLD @ sigwaits",
    "all_ignored": "exec env --ignore-signal @ interrupted",
    "all_blocked": "exec env --block-signal @ block_all",
    "all_default": "exec env --default-signal @ timers",
    "own_session": "setsid -w @ orphans",
    "traps": "trap 'echo term' TERM; kill -TERM $$; trap - TERM; @ stops",
    # Which of the two ends first is nobody's promise.
    "background": "{ @ orphans & @ fork_storm; wait; } | sort; echo both",
    # Without its message: dash forgets it, in 2 of 6,000 runs without us on a busy machine.
    "killed_child": "sleep 5 & kill -9 $!; wait $! 2>/dev/null; echo $?",
    "timeout": "timeout -s KILL 0.2 sleep 5; echo $?",
    "user_namespace": "unshare -r @ spawns",
    "pid_namespace": "unshare -r --fork --pid --mount-proc @ fork_storm",
    "nested_pid_namespaces":
        "unshare -r --fork --pid --mount-proc unshare --fork --pid --mount-proc @ orphans",
    "all_namespaces": "unshare -r --fork --pid --mount-proc --net --ipc --uts --cgroup @ cancels",
    "time_namespace": "unshare -r --fork --time --monotonic 86400 --boottime 86400 @ interrupted",
    "bubblewrap": "bwrap --ro-bind / / --dev /dev --proc /proc --unshare-all @ fork_storm",
    "bubblewrap_bare":
        "bwrap --ro-bind /usr /usr --symlink usr/lib /lib --symlink usr/lib64 /lib64 "
        "--symlink usr/bin /bin --proc /proc --unshare-all /bin/sh -c 'echo in; exit 4'",
    "chroot": "unshare -r chroot \"$EMPTY_ROOT\" /hostile fork_storm",
    "gdb": "gdb -q -nx --batch -ex run -ex 'info threads' --args @ timers 2>&1 | "
           "grep -c '^Program received'",
    "strace": "strace -f -qq -o /dev/null @ fork_storm",
    "python_reset": "exec python3 -c \"$PYTHON_RESET\"",
    "python_children": "exec python3 -c \"$PYTHON_CHILDREN\"",
    "python_walks": "exec python3 -c \"$PYTHON_WALKS\"",
    "no_environment": "exec env -i @ fork_storm",
    "preload_broken": "LD_PRELOAD= exec @ spawns",
    "no_new_privileges": "exec setpriv --no-new-privs @ reset_raw",
}
NEEDS = {"bubblewrap": "bwrap", "bubblewrap_bare": "bwrap", "gdb": "gdb", "strace": "strace",
         "no_new_privileges": "setpriv"}


def waited_for_cpu(session):
    """Seconds that the thread of a session which waited longest for a CPU has waited for it."""
    longest = 0
    for path in glob.glob("/proc/[0-9]*/task/[0-9]*/schedstat"):
        try:
            if os.getsid(int(path.split("/")[2])) == session:
                with open(path, encoding="ascii") as file:
                    longest = max(longest, int(file.read().split()[1]))
        except OSError:
            pass  # it has ended
    return longest / 1e9


def wait(process):
    """The status of a leader of a session, or "hangs" after LIMIT_S in which it could have run."""
    start = time.monotonic()
    limit = LIMIT_S
    while True:
        try:
            return process.wait(start + limit - time.monotonic())
        except subprocess.TimeoutExpired:
            limit = LIMIT_S + waited_for_cpu(process.pid)
            if start + limit - time.monotonic() < 1:
                os.killpg(process.pid, signal.SIGKILL)
                return "hangs"


class Mix:
    def __init__(self, arguments, directory):
        self.arguments = arguments
        self.directory = directory
        self.hostile = os.path.join(directory, "hostile")
        shutil.copy(arguments.hostile, self.hostile)
        root = os.path.join(directory, "root")
        self.make_root(root)
        self.environment = {k: v for k, v in os.environ.items()
                            if not k.startswith(("BOTTLENECK", "XDG_", "LD_PRELOAD"))}
        self.environment.update(LC_ALL="C.UTF-8", EMPTY_ROOT=root, PYTHON_RESET=PYTHON_RESET,
                                PYTHON_CHILDREN=PYTHON_CHILDREN, PYTHON_WALKS=PYTHON_WALKS)
        self.lock = threading.Lock()
        self.bare_known = {}
        self.counts = collections.Counter()
        self.failures = []

    def make_root(self, root):
        """A root with the program and the C library that it needs, and nothing else."""
        os.mkdir(root)
        shutil.copy(self.hostile, root)
        listed = subprocess.run(["ldd", self.hostile], capture_output=True, text=True, check=True)
        for word in listed.stdout.split():
            if word.startswith("/"):
                os.makedirs(root + os.path.dirname(word), exist_ok=True)
                shutil.copy(word, root + word)

    def programs(self):
        """{name: command}, of those whose tools are installed and which work here."""
        names = subprocess.run([self.hostile], capture_output=True, text=True,
                               check=True).stdout.split()
        found = {name: [self.hostile, name] for name in names}
        for name, text in AROUND.items():
            if name in NEEDS and not shutil.which(NEEDS[name]):
                print(f"skip {name}: {NEEDS[name]} is not installed")
                continue
            found[name] = ["/bin/sh", "-c", text.replace("@", self.hostile)]
        if self.arguments.only:
            found = {name: found[name] for name in self.arguments.only}
        return found

    def run(self, command, rung):
        """(status, stdout, stderr), and what is left in the runtime directory."""
        own = tempfile.mkdtemp(dir=self.directory)
        os.chmod(own, 0o777)
        runtime = os.path.join(own, "runtime")
        os.mkdir(runtime)
        if rung:
            command = [self.arguments.bottleneck, "--rung", rung, "-F", str(self.arguments.hz), "-R",
                       os.path.join(own, "report"), "-o", os.path.join(own, "p.bneck"), "--",
                       *command]
        if self.arguments.user:
            os.chown(runtime, self.arguments.user, self.arguments.user)
            command = ["setpriv", f"--reuid={self.arguments.user}",
                       f"--regid={self.arguments.user}", "--clear-groups", *command]
        os.chmod(runtime, 0o711)  # root uses only what other users can get to
        environment = {**self.environment, "XDG_RUNTIME_DIR": runtime, "XDG_STATE_HOME": own,
                       "HOME": own, "TMPDIR": own}
        with open(os.path.join(own, "out"), "w+b") as out, \
                open(os.path.join(own, "err"), "w+b") as err:
            # A group of its own: some kill theirs.
            with subprocess.Popen(command, cwd="/", env=environment, stdin=subprocess.DEVNULL,
                                  stdout=out, stderr=err, start_new_session=True) as process:
                status = wait(process)
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode(errors="replace").replace(own, "OWN"))
        left = os.listdir(runtime) if os.path.isdir(runtime) else []
        shutil.rmtree(own, ignore_errors=True)
        return (status, *texts), left

    def bare(self, name, command):
        """How it ended without bottleneck so far; the first time, it is run."""
        with self.lock:
            known = self.bare_known.get(name)
        if known is None:
            known = {self.run(command, None)[0]}
            with self.lock:
                known = self.bare_known.setdefault(name, known)
        return known

    def draw(self, number, name, command, rung):
        known = self.bare(name, command)
        ended, left = self.run(command, rung)
        for _ in range(AGAIN):
            if ended in known:
                break
            known.add(self.run(command, None)[0])
        with self.lock:
            self.counts[rung, "draws"] += 1
            if ended not in known:
                expected = sorted(known, key=str)[0]
                self.failures.append((name, rung))
                print(f"FAIL {name} at rung {rung}, draw {number}:\n"
                      f"  without: {expected!r}\n  under:   {ended!r}", flush=True)
            elif left and ended[0] != -signal.SIGKILL:
                self.failures.append((name, rung))
                print(f"FAIL {name} at rung {rung}, draw {number}: left behind: {left}", flush=True)

    def go(self):
        programs = self.programs()
        generator = random.Random(self.arguments.seed)
        end = time.monotonic() + self.arguments.minutes * 60
        number = 0
        with concurrent.futures.ThreadPoolExecutor(self.arguments.jobs) as pool:
            running = set()
            while time.monotonic() < end:
                # Each turn is all programs at all rungs, in random order: none is missed by chance.
                turn = [(n, r) for n in sorted(programs) for r in self.arguments.rung]
                generator.shuffle(turn)
                for name, rung in turn:
                    if time.monotonic() >= end:
                        break
                    if len(running) >= self.arguments.jobs:
                        done, running = concurrent.futures.wait(
                            running, return_when=concurrent.futures.FIRST_COMPLETED)
                        for future in done:
                            future.result()
                    number += 1
                    running.add(pool.submit(self.draw, number, name, programs[name], rung))
            for future in running:
                future.result()
        return number, len(programs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bottleneck", type=os.path.abspath)
    parser.add_argument("hostile", type=os.path.abspath)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--hz", type=int, default=4999)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rung", action="append", choices=["kernel", "user", "agent"])
    parser.add_argument("--only", action="append")
    parser.add_argument("--user", type=int, help="run all as this user; needs root")
    arguments = parser.parse_args()
    arguments.rung = arguments.rung or ["kernel", "user", "agent"]
    if arguments.seed is None:
        arguments.seed = random.randrange(1 << 32)
    print(f"seed {arguments.seed}, {arguments.hz} Hz, rungs {' '.join(arguments.rung)}, "
          f"{arguments.minutes:g} minutes", flush=True)
    with tempfile.TemporaryDirectory(prefix="hostile-") as directory:
        os.chmod(directory, 0o755)
        mix = Mix(arguments, directory)
        number, programs = mix.go()
    by_rung = ", ".join(f"{rung} {mix.counts[rung, 'draws']}" for rung in arguments.rung)
    print(f"{number} draws of {programs} programs ({by_rung}): {len(mix.failures)} failures")
    for (name, rung), count in collections.Counter(mix.failures).most_common():
        print(f"  {count} x {name} at rung {rung}: repeat with --seed {arguments.seed}, or --only "
              f"{name} --rung {rung}")
    sys.exit(1 if mix.failures or not number else 0)


if __name__ == "__main__":
    main()
