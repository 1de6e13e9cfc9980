# SPDX-License-Identifier: MIT
"""real.py BOTTLENECK TARGETS [NAME ...]: real programs whose warm-up is known. Prints a table of
what the report says of each, and what it ought to; exits with 1 if it warns where there is none, or
if it misses more than one in five of what can be seen. Of cold programs also the table of functions
after the warm-up is compared with that of the warm twin. For a quiet machine: a busy one makes
first calls slow by itself.

Programs whose turns cannot be told from samples are marked so: no verdict is right for them."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# What the programs leave: Node its map; work.py its files, as to free them takes a time of its own.
LEFT = ("/tmp/perf-*.map", "/var/tmp/bottleneck-warmup-*")
JAVA_NAMES = ("-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions",
              "-XX:+DumpPerfMapAtExit")
NODE_NAMES = ("--perf-basic-prof", "--interpreted-frames-native-stack")
POINTS = 5  # that a share may differ by
WARN, NONE, SLOWS, FEW = "warm-up", "none", "slows down", "cannot be determined"


def find_torch():
    """A Python with torch.compile, if there is one."""
    for python in (os.environ.get("TORCH2_PYTHON"), "python3"):
        if python and shutil.which(python) and subprocess.run(
                [python, "-c", "import torch; torch.compile"], capture_output=True).returncode == 0:
            return python
    return None


def has(python, module):
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


LAZY_FUNCTIONS = 200000
LAZY_PROGRAM = """
extern void call_all(void);
static volatile unsigned sink;
__attribute__((noinline)) static void work(unsigned count)
{
    for (unsigned i = 0; i < count; i++) sink += i * i;
}
__attribute__((noinline)) static void rest(unsigned count)
{
    for (unsigned i = 0; i < count; i++) sink ^= i;
}
int main(void)
{
    for (int turn = 0; turn < 40; turn++) { work(3000000); call_all(); rest(1500000); }
    return 0;
}
"""


def build_lazy(work):
    """A program that calls each of many functions of a library once a turn: the first time that it
    does, the dynamic linker looks the function up. None without a compiler for this machine."""
    library, calls, main = (os.path.join(work, name) for name in ("lazy.s", "calls.s", "main.c"))
    numbers = range(LAZY_FUNCTIONS)
    with open(library, "w", encoding="ascii") as file:
        file.writelines(f".globl lazy_function_{i}\n.type lazy_function_{i}, @function\n"
                        f"lazy_function_{i}: ret\n" for i in numbers)
    with open(calls, "w", encoding="ascii") as file:
        file.write(".globl call_all\n.type call_all, @function\ncall_all: subq $8, %rsp\n")
        file.writelines(f"call lazy_function_{i}@PLT\n" for i in numbers)
        file.write("addq $8, %rsp\nret\n.size call_all, . - call_all\n")
    with open(main, "w", encoding="ascii") as file:
        file.write(LAZY_PROGRAM)
    program, shared = os.path.join(work, "lazy"), os.path.join(work, "liblazy.so")
    notes = "-Wa,--noexecstack"
    for command in (["cc", "-shared", notes, "-o", shared, library],
                    ["cc", "-O1", "-g", notes, "-fcf-protection=none", "-Wl,-z,lazy", "-o", program, main,
                     calls, shared, "-Wl,-rpath," + work]):
        if not shutil.which("cc") or subprocess.run(command, capture_output=True).returncode:
            return None
    return program


def runs(targets, work):
    """(name, how, command, options, truth) of each program that can run here."""
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
    loop, steps = os.path.join(targets, "loop"), os.path.join(targets, "steps")
    script = os.path.join(HERE, "work.py")
    for how, truth in (("cold", WARN), ("warm", NONE), ("periodic", NONE), ("growing", SLOWS),
                       ("touch", WARN), ("touched", NONE)):
        yield "C loop", how, [loop, how], [], truth
    for how, truth in (("cold", WARN), ("warm", NONE), ("periodic", NONE), ("growing", SLOWS)):
        yield "C, --trace", how, [loop, how], ["--trace", "work"], truth
    for how, truth in (("cold", WARN), ("warm", NONE), ("periodic", NONE), ("growing", SLOWS),
                       ("brief", WARN), ("once", FEW)):
        yield "NVTX", how, [steps, how], [], truth
    lazy = build_lazy(work)
    if lazy:
        yield "C lazy binding", "cold", [lazy], [], WARN
        yield "C lazy binding", "warm", ["env", "LD_BIND_NOW=1", lazy], [], NONE
    for name in ("imports", "file", "sqlite"):
        for how, truth in (("cold", WARN), ("warm", NONE)):
            yield f"Python {name}", how, [python, script, name, how], [], truth
    for name, truth in (("collector", NONE), ("growing", SLOWS), ("bimodal", NONE)):
        yield f"Python {name}", "-", [python, script, name, "-"], [], truth
    if has(python, "numpy"):
        for how, truth in (("cold", WARN), ("warm", NONE)):
            yield "NumPy touch", how, [python, script, "touch", how], [], truth
    if has(python, "torch"):
        for how, truth in (("cold", WARN), ("warm", NONE)):
            yield "torch training", how, [python, script, "training", how], [], truth
    torch2 = find_torch()
    if torch2:
        for how, truth in (("cold", WARN), ("warm", NONE)):
            yield "torch.compile", how, [torch2, script, "compiled", how], [], truth
    if shutil.which("javac"):
        subprocess.run(["javac", "-d", work, os.path.join(HERE, "Turns.java")], check=True)
        for how, truth in (("cold", WARN), ("warm", NONE)):
            yield "Java", how, ["java", *JAVA_NAMES, "-cp", work, "Turns", how], [], truth
    if shutil.which("node"):
        for how, truth in (("cold", WARN), ("warm", NONE)):
            turns = [os.path.join(HERE, "turns.js"), how]
            yield "Node", how, ["node", *NODE_NAMES, *turns], [], truth
            yield "Node, no names", how, ["node", *turns], [], FEW
    yield "sleep", "-", ["sleep", "0.3"], [], NONE
    yield "ls", "-", ["ls", "-lR", "/usr/share/doc"], [], NONE
    yield "sort", "-", ["sort", os.path.join(targets, "loop")], [], NONE
    yield "Python, nothing", "-", [python, "-c", "pass"], [], NONE


def verdict_of(report):
    if "warning: this profile includes warm-up" in report or "run is too short" in report:
        return WARN
    if "note: calls become slower" in report:
        return SLOWS
    untold = r"whether (this is|the\s+run\s+includes)\s+warm-up\s+cannot\s+be\s+told"
    return FEW if re.search(untold, report) else NONE


def shares(report):
    """{function: per cent of self time} of the first table."""
    table = report.split("hotspots by self time", 1)[-1].split("\n\n")[0]
    rows = re.findall(r"^ *[\d.]+ \w+ +([\d.]+) +~?\S+ +[\d.]+ \w+ +[\d.]+ +(.*)$", table, re.M)
    found = {}
    for percent, words in rows:  # kind, function, and the source, if it is known
        name = (re.split(r"  +", words) + [words])[1]
        found[name] = found.get(name, 0) + float(percent)
    return found


def left():
    return {path for pattern in LEFT for path in glob.glob(pattern)}


class Driver:
    def __init__(self, bottleneck, work):
        self.bottleneck = bottleneck
        self.work = work
        self.environment = {**os.environ, "XDG_STATE_HOME": work, "LC_ALL": "C.UTF-8",
                            "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

    def run(self, name, how, command, options):
        profile = os.path.join(self.work, re.sub(r"\W", "_", name + how) + ".bneck")
        before = left()
        done = subprocess.run([self.bottleneck, "-R", "/dev/null", "-o", profile, *options, "--",
                               *command], env=self.environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, cwd=self.work)
        if done.returncode:
            raise SystemExit(f"{command}: status {done.returncode}: {done.stderr}")
        for path in left() - before:
            os.unlink(path)
        return profile

    def report(self, profile, *options):
        return subprocess.run([self.bottleneck, "report", "--width", "160", *options, profile],
                              env=self.environment, capture_output=True, text=True,
                              check=True).stdout

    def difference(self, cold, warm):
        """By how many points functions' shares differ after the warm-up, at most; the name."""
        left = shares(self.report(cold, "--from-steady"))
        right = shares(self.report(warm, "--skip-first", "1"))
        names = {n for n in {**left, **right} if max(left.get(n, 0), right.get(n, 0)) >= POINTS}
        return max(((abs(left.get(n, 0) - right.get(n, 0)), n) for n in names), default=(0, "-"))


def main():
    bottleneck, targets = map(os.path.abspath, sys.argv[1:3])
    names = sys.argv[3:]
    false, missed, wanted, untold = 0, 0, 0, 0
    with tempfile.TemporaryDirectory() as work:
        driver = Driver(bottleneck, work)
        cold = {}
        print(f"{'program':18} {'how':9} {'ought to be':15} {'says':15} {'turns':6} difference")
        for name, how, command, options, truth in runs(targets, work):
            if names and not any(n in name for n in names):
                continue
            profile = driver.run(name, how, command, options)
            report = driver.report(profile)
            said = verdict_of(report)
            seen = "\nsteps  " in report or truth == FEW
            note = ""
            if how in ("cold", "touch") and said == WARN:
                cold[name] = profile
            elif how in ("warm", "touched") and cold.get(name) and seen:
                note = "{:.1f} points, {}".format(*driver.difference(cold.pop(name), profile))
            if truth in (WARN, SLOWS):
                told = seen or said == truth  # by calls of ops, without steps
                wanted += told
                missed += told and said != truth
                untold += not told
            false += said == WARN and truth != WARN
            print(f"{name:18} {how:9} {truth:15} {said:15} {'seen' if seen else 'unseen':6} {note}",
                  flush=True)
    print(f"{wanted - missed} of {wanted} found, {untold} whose turns are not seen; {false} false")
    return 1 if false or missed * 5 > wanted else 0


if __name__ == "__main__":
    sys.exit(main())
