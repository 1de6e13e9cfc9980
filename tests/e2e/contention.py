# SPDX-License-Identifier: MIT
"""Who had the CPUs: quotas of control groups, threads of the program's own, other processes.

    contention.py [quotas | others | NAME...]

Each run is planted: programs in C and Python in groups of cgroup v1, under quotas, nested quotas, beside
busy neighbours, with too many threads, and mixtures of these. The report has to name the right one,
and no other; healthy twins have nothing to say. Where no group can be made the test is skipped.

The groups are in one of the test's own that has most of the weight, so that what else the machine does takes
little. A run is misjudged if it is at each of three draws.

Quotas hold whatever else runs, so that group of cases, which waits for most of its time, runs beside other
tests; its runs are as long as the comparison with cpu.stat needs. The others have shares alone to show, and
a machine to themselves.
"""
import contextlib
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from harness import BOTTLENECK, TIMEOUT

ROOT = "/sys/fs/cgroup/cpu"
SKIPPED = 77
DRAWS = 3
CONTENDER = os.environ.get("CONTENDER", "build/tests/contender")
CPUS = len(os.sched_getaffinity(0))
PERIOD = 100000
SECONDS = 1
QUOTA_SECONDS = 2
EXACT = 0.02  # of cpu.stat
FOREIGN = 0.03  # of the CPUs, by who is not of this test
OCCUPIED = 0.9  # of a CPU that is not idle
IDLE_SECONDS = 5  # at most, that a draw which others disturbed waits for them

PY_SPIN = """
import sys, time
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    sum(range(20000))
"""
PY_FORKS = """
import os, sys, time
end = time.monotonic() + float(sys.argv[1])
pids = []
for i in range({count} - 1):
    pid = os.fork()
    if not pid:
        while time.monotonic() < end:
            sum(range(20000))
        os._exit(0)
    pids.append(pid)
while time.monotonic() < end:
    sum(range(20000))
for pid in pids:
    os.waitpid(pid, 0)
"""
# A process that runs on one CPU with its child, while the others are idle.
PY_BOUND = """
import os, sys, time
pid = os.fork()
time.sleep(0.2)
os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    sum(range(20000))
if pid:
    os.waitpid(pid, 0)
"""


def c(kind, threads):
    return [CONTENDER, kind, str(threads)]


def py(text, count=1):
    return [sys.executable, "-c", text.format(count=count)]


class Case:
    """COMMAND, which takes its seconds as its last argument, in nested groups of QUOTAS (in CPUs, outermost
    first; 0: none), beside NEIGHBOURS, who are INSIDE the outermost one or not."""

    def __init__(self, name, owner, command, quotas=(), neighbours=0, rule=None, also=(),
                 inside=False):
        self.name, self.owner = name, owner
        self.command = [*command, str(QUOTA_SECONDS if owner == QUOTA else SECONDS)]
        self.quotas, self.neighbours = quotas, neighbours
        self.rule, self.also, self.inside = rule, also, inside


QUOTA, OWN, OTHERS, NOBODY = "quota", "own threads", "others", "nobody"
CASES = [
    Case("c_half_a_cpu", QUOTA, c("spin", 1), (0.5,)),
    Case("c_four_threads_on_half_a_cpu", QUOTA, c("spin", 4), (0.5,)),
    Case("c_two_threads_on_0.3_cpus", QUOTA, c("spin", 2), (0.3,)),
    Case("c_threads_on_one_cpu", QUOTA, c("spin", 2 * CPUS), (1,)),
    Case("py_half_a_cpu", QUOTA, py(PY_SPIN), (0.5,)),
    Case("py_processes_on_half_a_cpu", QUOTA, py(PY_FORKS, 4), (0.5,)),
    Case("c_barrier_on_half_a_cpu", QUOTA, c("meet", 2 * CPUS), (0.5,)),
    Case("c_outer_quota", QUOTA, c("spin", 2), (0.4, 0)),
    Case("c_outer_quota_shared", QUOTA, c("spin", 1), (0.6, 0.5), neighbours=1, inside=True),
    Case("c_inner_quota", QUOTA, c("spin", 2), (1.5, 0.4)),
    Case("py_outer_quota", QUOTA, py(PY_SPIN), (0.3, 0, 0)),
    Case("c_neighbours", OTHERS, c("spin", 1), neighbours=2 * CPUS),
    Case("c_threads_that_meet_and_neighbours", OTHERS, c("meet", CPUS), neighbours=2 * CPUS),
    Case("py_neighbours", OTHERS, py(PY_SPIN), neighbours=2 * CPUS),
    Case("c_few_neighbours", OTHERS, c("spin", CPUS), neighbours=CPUS),
    Case("c_too_many_threads", OWN, c("meet", 4 * CPUS)),
    Case("c_far_too_many_threads", OWN, c("meet", 12 * CPUS)),
    Case("c_openmp", OWN, c("openmp", 6 * CPUS)),
    Case("py_too_many_processes", OWN, py(PY_FORKS, 4 * CPUS), rule="none"),
    *([Case("py_bound_to_one_cpu", NOBODY, py(PY_BOUND), rule="none")] if CPUS > 1 else []),
    Case("c_quota_and_neighbours", QUOTA, c("spin", 1), (0.4,), neighbours=1),
    Case("c_loose_quota_and_neighbours", OTHERS, c("spin", 1), (0.95,), neighbours=3 * CPUS,
         also=("CPU-QUOTA",)),
    Case("c_threads_and_a_neighbour", OWN, c("meet", 8 * CPUS), neighbours=1, also=("MEAS-NOISE",)),
    Case("c_alone", None, c("spin", 1)),
    Case("c_as_many_threads_as_cpus", None, c("meet", CPUS)),
    Case("py_alone", None, py(PY_SPIN)),
    Case("c_quota_that_suffices", None, c("spin", 1), (CPUS - 0.2 if CPUS > 1 else 1,)),
    Case("py_quota_that_suffices", None, py(PY_SPIN), (1.5 if CPUS > 1 else 1, 0)),
]
RULES = {QUOTA: "CPU-QUOTA", OWN: "CPU-OVERSUB", OTHERS: "MEAS-NOISE"}


def write(path, value):
    with open(path, "w", encoding="ascii") as file:
        file.write(str(value))


@contextlib.contextmanager
def group(parent, name, quota=0):
    path = os.path.join(parent, name)
    os.mkdir(path)
    try:
        if quota:
            write(f"{path}/cpu.cfs_period_us", PERIOD)
            write(f"{path}/cpu.cfs_quota_us", int(quota * PERIOD))
        yield path
    finally:
        for _ in range(100):
            try:
                os.rmdir(path)
                break
            except OSError:  # a process of it is just ending
                subprocess.run(["sleep", "0.05"], check=True)


def busy_seconds():
    """Of the CPUs that the test may use, by whoever."""
    with open("/proc/stat", encoding="ascii") as file:
        lines = [line.split() for line in file if line.startswith("cpu")]
    ticks = sum(int(word) for line in lines[1:] if int(line[0][3:]) in os.sched_getaffinity(0)
                for word in line[1:4] + line[6:9])
    return ticks / os.sysconf("SC_CLK_TCK")


def wait_until_idle(seconds):
    """For others to leave the CPUs alone, for that long at most."""
    end = time.monotonic() + seconds
    busy = busy_seconds()
    while time.monotonic() < end:
        time.sleep(0.5)
        before, busy = busy, busy_seconds()
        if busy - before < 0.5 * CPUS * FOREIGN:
            break


def own_seconds():
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def enter(path):
    return lambda: write(f"{path}/cgroup.procs", 0)


class Run:
    """One case under bottleneck: bottleneck in PARENT, its target in GROUPS."""

    def __init__(self, case, parent, outer, inner, directory):
        profile = os.path.join(directory, "p.bneck")
        stat = os.path.join(directory, "stat")
        busy, own, begin = busy_seconds(), own_seconds(), time.monotonic()
        neighbours = [subprocess.Popen([CONTENDER, "spin", "1", "60"],
                                       preexec_fn=enter(outer if case.inside else parent))
                      for _ in range(case.neighbours)]
        for neighbour in neighbours:
            neighbour.send_signal(signal.SIGSTOP)
        pids = " ".join(str(neighbour.pid) for neighbour in neighbours)
        # It is some time in its group before it is told what the group has had by then. They keep the
        # command from its work, not bottleneck from writing its profile.
        script = f'''tell() {{ for pid in {pids}; do kill -$1 $pid; done; }}
                     echo $$ > {inner}/cgroup.procs; tell CONT; sleep 0.3; cat {inner}/cpu.stat > {stat}0
                     "$@"; status=$?; cat {inner}/cpu.stat > {stat}1; tell STOP; exit $status'''
        try:
            subprocess.run([BOTTLENECK, "--no-report", "-o", profile, "--", "sh", "-c", script,
                            "sh", *case.command], preexec_fn=enter(parent), check=True,
                           timeout=TIMEOUT, capture_output=True)
        finally:
            for neighbour in neighbours:
                neighbour.kill()
                neighbour.wait()
        foreign = busy_seconds() - busy - (own_seconds() - own)
        self.foreign = foreign / CPUS / (time.monotonic() - begin)
        done = subprocess.run([BOTTLENECK, "report", "--export", "json=-", profile], check=True,
                              capture_output=True, timeout=TIMEOUT)
        tables = json.loads(done.stdout)
        self.rules = {item["id"]: item for item in tables["findings"] if not item["covered_by"]}
        tables = tables["tables"]; self.account = tables["account"][0]
        self.quotas = tables["cpu_quotas"]
        self.told_ns = sum(row["throttled_queues_ns"] for row in self.quotas
                           if row["group"].endswith("/" + os.path.basename(inner)))
        self.stat_ns = self.throttled(stat + "1") - self.throttled(stat + "0")
        with contextlib.closing(sqlite3.connect(profile)) as database:
            self.facts = dict(database.execute("SELECT key, value FROM run"))

    @staticmethod
    def throttled(path):
        with open(path, encoding="ascii") as file:
            return int(dict(line.split() for line in file)["throttled_time"])

    def owners(self):
        return {QUOTA: self.account["runnable_quota_ns"],
                OWN: self.account["runnable_own_threads_ns"],
                OTHERS: self.account["runnable_others_ns"],
                NOBODY: self.account["runnable_idle_ns"]}

    def text(self):
        shares = ", ".join(f"{name} {ns / 1e9:.2f} s" for name, ns in self.owners().items())
        names = ", ".join(sorted(set(self.rules) & set(RULES.values()))) or "no finding"
        return f"{names}; {shares}; foreign {100 * self.foreign:.0f} %; throttled {self.account['throttled_ns'] / 1e9:.2f} s " \
               f"of {self.account['lifetime_ns'] / 1e9:.2f} s"


def problem_of(case, run):
    found = set(run.rules) & set(RULES.values())
    wanted = set() if case.owner is None or case.rule == "none" else {RULES[case.owner]}
    # What the rest of the machine took is no error of the report's.
    also = set(case.also) | ({"MEAS-NOISE"} if run.foreign > FOREIGN else set())
    if not wanted <= found or not found <= wanted | also:
        return f"{wanted or 'nothing'} expected, found: {found or 'nothing'}"
    owners = run.owners()
    most = max(owners, key=owners.get)
    # Where others had all the CPUs that the case leaves alone, none of these was idle.
    if case.owner == NOBODY and most == OTHERS and run.foreign > OCCUPIED * (CPUS - 1) / CPUS:
        most = NOBODY
    if case.owner and most != case.owner:
        return f"most to {case.owner} expected"
    if case.owner == QUOTA and run.rules["CPU-QUOTA"]["severity"] != "error":
        return "an error expected"
    if case.name == "c_openmp" and "OMP_NUM_THREADS" not in run.rules["CPU-OVERSUB"]["advice"]:
        return "OpenMP is not named"
    if case.owner == QUOTA and run.stat_ns and \
            abs(run.told_ns - run.stat_ns) > EXACT * run.stat_ns + PERIOD * 1000 * CPUS:
        return f"throttled for {run.told_ns / 1e9:.3f} s, cpu.stat: {run.stat_ns / 1e9:.3f} s"
    return None


def judge(case, parent):
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        inner = outer = parent
        for level, quota in enumerate(case.quotas or (0,)):
            inner = stack.enter_context(group(inner, f"level{level}", quota))
            outer = outer if level else inner
        run = None
        for _ in range(DRAWS):
            if run and run.foreign > FOREIGN:
                wait_until_idle(IDLE_SECONDS)
            run = Run(case, parent, outer, inner, directory)
            problem = problem_of(case, run)
            print(f"{case.name:30} {problem or 'right'}: {run.text()}"
                  f"; cpu.stat {run.stat_ns / 1e9:.3f} s, told {run.told_ns / 1e9:.3f} s",
                  flush=True)
            if not problem:
                return True
    return False


PY_HOLD = """
import time
held = [bytearray(1 << 20) for _ in range({count})]
time.sleep(0.4)
"""
MEMORY = [  # MiB that are held, whether 256 MiB are close, whether the kernel kills
    ("memory_near_the_limit", 228, True, False),
    ("memory_beyond_the_limit", 500, True, True),
    ("memory_enough", 64, False, False),
]


def judge_memory(name, mib, close, kills):
    """A program that holds MIB in a group that may have 256 MiB."""
    with open("/proc/self/cgroup", encoding="ascii") as file:
        paths = [line.strip().split(":", 2) for line in file]
    own = next((path for _, names, path in paths if names == "memory"), None)
    if own is None or not os.access(f"/sys/fs/cgroup/memory{own}", os.W_OK):
        print(f"{name:30} skipped: no group of the memory controller can be made")
        return True
    with group(f"/sys/fs/cgroup/memory{own}", f"bottleneck-{os.getpid()}") as path, \
            tempfile.TemporaryDirectory() as directory:
        write(f"{path}/memory.limit_in_bytes", 256 << 20)
        with contextlib.suppress(OSError):  # where swap is not counted there is none, either
            write(f"{path}/memory.memsw.limit_in_bytes", 256 << 20)
        profile = os.path.join(directory, "p.bneck")
        script = f'echo $$ > {path}/cgroup.procs; "$@"; status=$?; sleep 0.3; exit $status'
        subprocess.run([BOTTLENECK, "--no-report", "-o", profile, "--", "sh", "-c", script, "sh",
                        *py(PY_HOLD, mib)], check=False, timeout=TIMEOUT, capture_output=True)
        done = subprocess.run([BOTTLENECK, "report", "--json", profile], check=True,
                              capture_output=True, timeout=TIMEOUT)
        found = {item["id"]: item for item in json.loads(done.stdout)["findings"]}
    fact = found["MEM-LIMIT"]["fact"] if "MEM-LIMIT" in found else "no finding"
    right = ("MEM-LIMIT" in found) == close and ("killed" in fact) == kills
    print(f"{name:30} {'right' if right else 'wrong'}: {fact}")
    return right


def is_asked(name, of_quotas, asked):
    return not asked or name in asked or ("quotas" if of_quotas else "others") in asked


def main():
    asked = sys.argv[1:]
    name = f"bottleneck-{os.getpid()}"
    try:
        with group(ROOT, name):
            pass
    except OSError as reason:
        print(f"skipped: no control group of version 1 can be made: {reason}")
        sys.exit(SKIPPED)
    with group(ROOT, name) as parent:
        write(f"{parent}/cpu.shares", 262144)
        wrong = [case.name for case in CASES
                 if is_asked(case.name, case.owner == QUOTA, asked) and not judge(case, parent)]
    wrong += [case[0] for case in MEMORY
              if is_asked(case[0], True, asked) and not judge_memory(*case)]
    if wrong:
        sys.exit("misjudged: " + ", ".join(wrong))


if __name__ == "__main__":
    main()
