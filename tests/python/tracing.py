# SPDX-License-Identifier: MIT
"""Functions of Python's that --trace asks for are ops, in every interpreter of this machine: each call
is there, also of generators, of what raises, and in threads; and they stand in the call tree where
they were called.

    tracing.py BOTTLENECK
"""
import os
import re
import subprocess
import sys
import tempfile

import interpreters

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "traced.py")
PATTERNS = ["traced.py:Net.forward", "Net.layer", "*.broken", "step", "traced.py:numbers", "traced.py:deep", "*traced.py:left",
            "nothing.py:step", "traced.py:no_such_function"]


def expected():
    """{function: calls}"""
    with open(PROGRAM, encoding="utf-8") as file:
        return {name: int(calls)
                for name, calls in re.findall(r"def (\w+)\(.*# calls: (\d+)", file.read())}


class Run:
    def __init__(self, bottleneck, python, folder):
        self.bottleneck, self.python = bottleneck, python
        self.profile = os.path.join(folder, "bneck")

    def trace(self, *options, arguments=()):
        traces = [f"--trace={pattern}" for pattern in PATTERNS]
        return subprocess.run([self.bottleneck, "--no-report", "-o", self.profile, *traces, *options,
                               "--", self.python, "-B", PROGRAM, *arguments],
                              capture_output=True, text=True, timeout=300)

    def report(self, *options):
        return subprocess.run([self.bottleneck, "report", "--top=100", "--min-pct=0", "--width=200",
                               *options, self.profile],
                              check=True, capture_output=True, text=True, timeout=120).stdout

    def calls(self):
        """{function, without its class: calls}"""
        found = {}
        for line in self.report("--ops").splitlines():
            match = re.match(r" *\S+ \S+ +[\d.]+ +\S+ \S+ +(?:[\d.]+ +)?([\d,]+) .* function +(\S+) ",
                             line)
            if match:
                found[match[2].split(".")[-1]] = int(match[1].replace(",", ""))
        return found

    def stacks(self):
        """[([frame, ...] outermost first, time)]"""
        path = self.profile + ".collapsed"
        subprocess.run([self.bottleneck, "report", "--quiet", f"--export=collapsed={path}",
                        self.profile], check=True, capture_output=True, timeout=120)
        with open(path, encoding="utf-8") as file:
            lines = [line.rsplit(" ", 1) for line in file]
        return [(stack.split(";"), float(time)) for stack, time in lines]


def bare(frame):
    """traced.py's functions by their last name, ops in brackets."""
    match = re.search(r"«(?:\w+\.)*(\w+)»", frame)
    if match:
        return f"«{match[1]}»"
    match = re.match(r"(?:py:)?(?:\w+\.)*(\w+)", frame)
    return match[1] if match else frame


def check_tree(version, stacks):
    """Where layer() worked, its callers are these and no others; and that is not too rare."""
    wanted = ["«step»", "step", "«forward»", "forward", "«layer»", "layer"]
    right = wrong = 0
    for stack, time in stacks:
        names = [bare(frame) for frame in stack]
        if "layer" not in names:
            continue
        told = [name for name in names[:names.index("layer") + 1] if name in wanted]
        if told == wanted:
            right += time
        else:
            wrong += time
    print(f"{version}: right {right:.0f}, wrong {wrong:.0f}")
    # A sample may hit between a call and what tells of it.
    return 0 if right > 0 and wrong <= 0.1 * (right + wrong) else 1


def check(bottleneck, version, python, folder):
    bad = 0
    run = Run(bottleneck, python, folder)
    for options in ((), ("--count-calls",)):
        done = run.trace(*options)
        if (done.returncode, done.stdout) != (0, "done\n"):
            print(f"{version}: status {done.returncode}, {done.stdout} {done.stderr}")
            bad += 1
        calls = run.calls()
        if calls != expected():
            print(f"{version} {options}: {expected()} expected, told are {calls}")
            bad += 1
    told = run.report()
    for pattern in PATTERNS:
        missing = f"--trace {pattern}: no function" in told
        if missing != ("no" in pattern):
            print(f"{version}: {pattern} is {'not ' if missing else ''}found")
            bad += 1
    run.trace(arguments=("40000",))
    return bad + check_tree(version, run.stacks())


def check_lost(bottleneck, version, python, folder):
    """Up to 3.11 a program may take the profile function away, and is told so."""
    profile = os.path.join(folder, "lost")
    program = "import sys; sys.setprofile(lambda *a: None)"
    subprocess.run([bottleneck, "--no-report", "-o", profile, "--trace=step", "--", python, "-c",
                    program], check=True, capture_output=True, timeout=120)
    text = subprocess.run([bottleneck, "report", "--width=400", profile], check=True,
                          capture_output=True, text=True, timeout=120).stdout
    old = [int(part) for part in re.findall(r"\d+", version)[:2]] < [3, 12]
    told = "has set a profile function of its own" in text
    if told != old:
        print(f"{version}: that calls are missing is {'' if told else 'not '}told: {text}")
    return told != old


def main():
    bad = 0
    for version, python in interpreters.find().items():
        with tempfile.TemporaryDirectory() as folder:
            bad += check(sys.argv[1], version, python, folder)
            bad += check_lost(sys.argv[1], version, python, folder)
    sys.exit(1 if bad else 0)


main()
