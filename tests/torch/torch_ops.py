# SPDX-License-Identifier: MIT
"""Ops of PyTorch as bottleneck tells them, against what torch.profiler says of the same run.

Of each interpreter that has PyTorch: python3, and those that TORCH_PYTHONS names, with a colon
between them. Where none has, the tests are skipped.
"""
import contextlib
import csv
import io
import itertools
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from harness import BOTTLENECK, Case, main, need  # pylint: disable=wrong-import-position

DEVICE_ALLOCATOR = os.environ.get("DEVICE_ALLOCATOR",
                                  "build/tests/libtorch_device_allocator.so")
OP_ROWS = os.environ.get("OP_ROWS", "build/tests/op_rows")
SKIPPED = 77
KIB = 1 << 10
MIB = 1 << 20
TRIES = 4


def version_of(python):
    done = subprocess.run([python, "-c", "import torch; print(torch.__version__)"],
                          capture_output=True, text=True, check=False)
    return tuple(map(int, done.stdout.split(".")[:2])) if done.returncode == 0 else None


def interpreters():
    names = ["python3", "/usr/bin/python3", *os.environ.get("TORCH_PYTHONS", "").split(":")]
    paths = {os.path.abspath(shutil.which(name)) for name in names if name and shutil.which(name)}
    found = {path: version_of(path) for path in sorted(paths)}
    return {path: version for path, version in found.items() if version}


PYTHONS = interpreters()


def in_bytes(text):
    """"-1.5 MB"; nothing is 0."""
    if not text:
        return 0
    number, unit = text.split()
    return float(number) * 1024 ** ["B", "KB", "MB", "GB", "TB"].index(unit)


class Torch(Case):
    def rows(self, profile):
        """By op and shape: calls, total, self, net bytes, by itself, FLOP, bytes of GPUs."""
        done = subprocess.run([OP_ROWS, "-s", profile], capture_output=True, text=True, check=True)
        rows = {}
        for line in done.stdout.splitlines():
            provider, name, shape, *numbers = line.split("\t")
            if provider != "torch":
                continue
            # What stands behind the last bracket is the types.
            shape = shape[:shape.rfind("]") + 1]
            known = rows.setdefault((name, shape), [0] * len(numbers))
            rows[name, shape] = [a + int(b) for a, b in zip(known, numbers)]
        return rows

    def calls(self, profile):
        calls = {}
        for (name, _), numbers in self.rows(profile).items():
            calls[name] = calls.get(name, 0) + numbers[0]
        return calls

    def run_script(self, python, name, *arguments, options=()):
        done = self.profile_run([python, os.path.join(HERE, name), *arguments], "--exact", "ops", *options)
        self.assertEqual(done.status, 0, done.err.decode(errors="replace"))
        return done


class SideBySide(Torch):
    def theirs(self, path):
        with open(path, encoding="utf-8") as file:
            table = json.load(file)["shapes"]
        rows = {}
        for row in table:
            if row["name"] == "[memory]":  # outside of any op
                continue
            key = row["name"], json.dumps(row["shapes"]) if row["shapes"] else ""
            known = rows.setdefault(key, [0] * 6)
            numbers = (row["calls"], 1000 * row["total_us"], 1000 * row["self_us"], row["memory"],
                       row["self_memory"], row["flops"])
            rows[key] = [a + b for a, b in zip(known, numbers)]
        return rows

    def compare(self, python, case):
        """What differs, in words; first what may not, then what the machine's noise may be; and
        whether the collector had so little of the CPU that some calls left nothing but a count."""
        # Theirs know nothing of what libraries do within an op: it is the op's own time.
        path = self.path("table")
        profile = self.run_script(python, "side_by_side.py", case, path,
                                  options=["--no-blas", "--no-itt"]).profile
        ours = self.rows(profile)
        theirs = self.theirs(path)
        wrong, noise = [], []
        self.assertGreater(len(theirs), 5)
        all_self = sum(row[2] for row in theirs.values())
        for key in sorted(ours.keys() | theirs.keys()):
            our, their = ours.get(key, [0] * 6), theirs.get(key, [0] * 6)
            # Attention's kernels are not counted there.
            what = [("calls", 0)] + ([("FLOP", 5)] if their[5] else [])
            what += [("bytes", 3), ("own bytes", 4)]
            wrong += [f"{key}: {our[i]} {word}, not {their[i]}" for word, i in what
                      if our[i] != their[i]]
            for word, i in (("total", 1), ("self", 2)):
                if their[i] > all_self / 100 and abs(our[i] - their[i]) > their[i] / 20:
                    noise.append(f"{key}: {word} {our[i] / 1e6:.3f} ms, not {their[i] / 1e6:.3f}")
        counted = any(not shape and (name, shape) not in theirs for name, shape in ours)
        return wrong + self.differing_text(profile, theirs), noise, counted

    def differing_text(self, profile, theirs):
        """Net bytes as people are shown them: CPU Mem and Self CPU Mem of profile_memory=True."""
        wrong = []
        sums = {}
        for (name, _), row in theirs.items():
            known = sums.setdefault(name, [0, 0])
            sums[name] = [known[0] + row[3], known[1] + row[4]]
        for sort, heading, i in (("net-total", "with callees", 0), ("net", "net", 1)):
            text = self.verb("report", "--ops", f"--sort={sort}", "-n", "100000", "--width=300",
                             profile).stdout.decode()
            table = text[text.index("ops by net bytes"):].splitlines()[1:]
            end = re.search(f"  {heading}", table[0])
            ranked = []
            for line in itertools.takewhile(str.strip, table[1:]):
                found = re.search(r" torch +(\S.*?)(?:  |$)", line)
                name = found and found[1]
                if name not in sums:
                    continue
                cell = line[:end.end()].rsplit("  ", 1)[1].strip()
                shown = in_bytes(cell)
                ranked.append(sums[name][i])
                if abs(shown - sums[name][i]) > max(1, abs(sums[name][i]) / 15):
                    wrong.append(f"{name}: {heading} shown as {cell!r}, not {sums[name][i]}")
            if len(ranked) < 5 or ranked != sorted(ranked, reverse=True):
                wrong.append(f"--sort {sort}: {ranked}")
        return wrong

    def check(self, case, without=()):
        for python in PYTHONS:
            if python in without:
                continue
            for _ in range(TRIES):
                wrong, noise, counted = self.compare(python, case)
                if not counted and (wrong or not noise):
                    break
            self.assertEqual(wrong, [], python)
            if noise:
                print(f"{case}, {python}: off by more than 5 %:", *noise, sep="\n  ",
                      file=sys.stderr)

    def test_the_tutorial(self):
        self.check("tutorial")

    def test_the_tutorial_with_numpy(self):
        self.check("tutorial_numpy")

    def test_training(self):
        self.check("train")

    def test_images(self):
        self.check("images")

    def test_resnet18(self):
        """The model of PyTorch's tutorials of its profiler."""
        missing = [python for python in PYTHONS
                   if subprocess.run([python, "-c", "import torchvision"], check=False,
                                     capture_output=True).returncode]
        if len(missing) == len(PYTHONS):
            self.skipTest("there is no torchvision")
        for kind in ("float", "double"):
            self.check(f"resnet18_{kind}", without=missing)

    def as_torch(self, profile):
        """Self times by op, as report has them of a saved run that has BLAS and oneDNN, too."""
        done = subprocess.run([BOTTLENECK, "report", "--as", "torch", "--export", "csv", "--table",
                               "ops", profile], capture_output=True, text=True, check=True)
        rows = list(csv.DictReader(done.stdout.splitlines()))
        self.assertEqual({row["provider"] for row in rows}, {"torch"})
        return {row["name"]: int(row["self_ns"]) for row in rows}, \
            sum(int(row["others_ns"]) for row in rows)

    def test_a_saved_run_as_torch_has_it(self):
        """What libraries do within an op is its own time, as torch.profiler has it."""
        for python in PYTHONS:
            for _ in range(TRIES):
                path = self.path("table")
                profile = self.run_script(python, "side_by_side.py", "images", path).profile
                ours, in_libraries = self.as_torch(profile)
                theirs = {}
                for (name, _), row in self.theirs(path).items():
                    theirs[name] = theirs.get(name, 0) + row[2]
                whole = sum(theirs.values())
                noise = [f"{name}: self {ours.get(name, 0) / 1e6:.3f} ms, not {ns / 1e6:.3f}"
                         for name, ns in theirs.items()
                         if ns > whole / 50 and abs(ours.get(name, 0) - ns) > ns / 20]
                # Where another program has the CPU between our hook and theirs, one op's time is
                # another's; of all together that is little, and libraries' is much.
                self.assertGreater(in_libraries, whole / 20, python)
                off = abs(sum(ours.values()) - whole) / whole
                if off <= 0.05 and not noise:
                    break
            self.assertLessEqual(off, 0.05, python)
            if noise:
                print(f"as torch, {python}: off by more than 5 %:", *noise, sep="\n  ",
                      file=sys.stderr)

    def test_products(self):
        self.check("products")

    def test_script(self):
        self.check("script")


class Headers(Torch):
    """Where the headers of each version say that things are."""

    def folders(self, python):
        code = "from torch.utils.cpp_extension import include_paths; print(*include_paths(), sep='\\n')"
        return self.bare([python, "-c", code]).stdout.decode().splitlines()

    def test_layout(self):
        need("g++")
        looked = 0
        for python, version in PYTHONS.items():
            folders = self.folders(python)
            if not any(os.path.exists(os.path.join(folder, "ATen", "record_function.h"))
                       for folder in [*folders, "/usr/include"]):
                continue
            looked += 1
            program = self.path("layout")
            # Most is inline; what is not is never called.
            done = self.bare(["g++", "-w", "-O1", "-fno-access-control",
                              "-std=c++20" if version >= (2, 9) else "-std=c++17",
                              *(f"-I{folder}" for folder in folders), "-o", program,
                              os.path.join(HERE, "layout.cc"),
                              "-Wl,--unresolved-symbols=ignore-all"], timeout=600)
            self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
            done = self.bare([program])
            self.assertEqual((done.returncode, done.stdout.decode()), (0, ""), python)
        if not looked:
            self.skipTest("no interpreter has the headers of its PyTorch")


class Everywhere(Torch):
    """Where torch.profiler does not look."""

    def test_threads(self):
        for python, _ in PYTHONS.items():
            calls = self.calls(self.run_script(python, "programs.py", "threads").profile)
            self.assertEqual(calls["aten::mul"], 4000, python)

    def test_workers(self):
        for python, _ in PYTHONS.items():
            for workers, method in ((0, "fork"), (1, "fork"), (8, "fork"), (1, "spawn"),
                                    (2, "spawn")):
                with self.subTest(workers=workers, method=method):
                    done = self.run_script(python, "programs.py", "workers", str(workers), method)
                    calls = self.calls(done.profile)
                    self.assertEqual(done.out, b"16128.0\n")
                    self.assertEqual((calls["aten::mul"], calls["aten::stack"]), (64, 8))

    def test_labels_around_what_they_hold(self):
        for python, _ in PYTHONS.items():
            done = self.run_script(python, "programs.py", "labels")
            rows = {name: row for (name, shape), row in self.rows(done.profile).items()
                    if not shape}
            self.assertEqual({name for name in rows if "pass" in name},
                             {"LABEL1: linear pass", "LABEL1: linear pass, inner"})
            self.assertEqual(rows["LABEL1: linear pass"][0], 3)
            self.assertGreater(rows["LABEL1: linear pass"][1],
                               rows["LABEL1: linear pass, inner"][1])

    def test_a_label_that_another_thread_ends(self):
        for python, _ in PYTHONS.items():
            calls = self.calls(self.run_script(python, "programs.py", "handed").profile)
            self.assertEqual((calls["handed on"], calls["aten::mul"]), (10, 20), python)

    def test_what_it_compiles_still_runs(self):
        for python, version in PYTHONS.items():
            if version < (2, 0):
                continue
            bare = self.bare([python, os.path.join(HERE, "programs.py"), "compile"])
            done = self.run_script(python, "programs.py", "compile")
            self.assertEqual(done.out, bare.stdout)

    def test_switched_off(self):
        for python, _ in PYTHONS.items():
            for option in ("--no-torch", "--no-ops"):
                done = self.run_script(python, "programs.py", "labels", options=[option])
                self.assertEqual(self.rows(done.profile), {}, option)


class Lines(Torch):
    """Which line of Python calls an op, and which has called what it is the derivative of."""

    STEPS = 7

    def callers(self, profile):
        """(op, stack): calls."""
        done = subprocess.run([OP_ROWS, "-c", profile], capture_output=True, text=True, check=True)
        rows = [line.split("\t") for line in done.stdout.splitlines()]
        return {(name, stack): int(calls) for provider, name, calls, stack in rows
                if provider == "torch"}

    def truth(self):
        """(kind, op): the line that names it."""
        with open(os.path.join(HERE, "lines.py"), encoding="utf-8") as file:
            found = [(re.search(r"# (op|backward): (\S+)$", line), number)
                     for number, line in enumerate(file, 1)]
        return {match.groups(): number for match, number in found if match}

    def check_line(self, callers, kind, name, line):
        stacks = {stack: calls for (op, stack), calls in callers.items() if op == name}
        self.assertEqual(sum(stacks.values()) % self.STEPS, 0, name)
        self.assertTrue(stacks, name)
        for stack in stacks:
            self.assertEqual(stack.startswith("backward of "), kind == "backward", (name, stack))
            own = re.search(r"\(lines\.py:(\d+)\)", stack)
            self.assertEqual(own and int(own.group(1)), line, (name, stack))

    def test_lines(self):
        truth = self.truth()
        self.assertGreater(len(truth), 10)
        for python, _ in PYTHONS.items():
            run = self.run_script(python, "lines.py", str(self.STEPS))
            callers = self.callers(run.profile)
            for (kind, name), line in truth.items():
                with self.subTest(python=python, name=name):
                    self.check_line(callers, kind, name, line)
                    if kind == "backward":
                        around = f"autograd::engine::evaluate_function: {name}"
                        self.check_line(callers, kind, around, line)

    def test_functions_that_are_made_anew(self):
        for python, _ in PYTHONS.items():
            callers = self.callers(self.run_script(python, "lines.py", "1").profile)
            made = {stack.split(")")[0]: calls for (op, stack), calls in callers.items()
                    if op == "aten::cos"}
            self.assertEqual(made, {f"<module> (made{i % 5}.py:{i + 1}": 1 for i in range(50)})


class Devices(Torch):
    """Bytes of GPUs, as their allocators would tell of them."""

    def check_labels(self, python, profile, theirs):
        ours = {}
        for (name, _), row in self.rows(profile).items():
            known = ours.setdefault(name, [0, 0])
            ours[name] = [a + b for a, b in zip(known, row[6:8])]
        # torch.profiler looks at its own thread alone.
        self.assertEqual(ours.pop("in a thread"), [0, 0])
        for name in sorted(theirs["labels"].keys() | ours.keys()):
            self.assertEqual(ours.get(name, [0, 0]), theirs["labels"].get(name, [0, 0]),
                             (python, name))
        self.assertEqual(ours["outer"], [4 * 5 * KIB, 4 * 3 * MIB])

    def check_report(self, profile, theirs):
        text = self.verb("report", "--ops", "--width=250", profile).stdout.decode()
        self.assertIn("on GPUs", text)
        self.assertNotIn("reserved", text)
        row = next(line for line in text.splitlines() if " inner " in line)
        self.assertIn(" 28 MB ", row)
        text = self.verb("report", "--sort=mem", "--width=200", profile).stdout.decode()
        rows = [line.split() for line in text.splitlines() if re.search(r" cuda:\d+ +\S+ \(", line)]
        units = {"B": 1, "KB": KIB, "MB": MIB}
        peaks = [[float(row[i]) * units[row[i + 1]] for i in (0, 2)] for row in rows]
        for ours, told in zip(peaks, theirs["peaks"]):  # of which two digits are shown
            for our, their in zip(ours, told):
                self.assertAlmostEqual(our, their, delta=their / 20)
        self.assertEqual([row[6] for row in rows], ["cuda:0", "cuda:1"])
        curves = csv.DictReader(io.StringIO(self.verb(
            "report", "--export=csv", "--table=memory_curves", profile).stdout.decode()))
        found = {(row["name"], row["kind"]): int(row["peak_bytes"]) for row in curves}
        for number, (held, reserved) in enumerate(theirs["peaks"]):
            self.assertEqual(found[f"cuda:{number}", "device"], held)
            self.assertEqual(found[f"cuda:{number}", "reserved"], reserved)

    def test_bytes_of_devices(self):
        for python, _ in PYTHONS.items():
            path = self.path("labels")
            done = self.run_script(python, "devices.py", DEVICE_ALLOCATOR, path)
            with open(path, encoding="utf-8") as file:
                theirs = json.load(file)
            self.check_labels(python, done.profile, theirs)
            self.check_report(done.profile, theirs)


class Memory(Torch):
    """Bytes by line and by op, beside tracemalloc's and torch.profiler's of another run."""

    def lines(self, profile):
        with open(os.path.join(HERE, "memory.py"), encoding="utf-8") as file:
            names = {number: match[1] for number, match in
                     ((number, re.search(r"# line: (\w+)$", line))
                      for number, line in enumerate(file, 1)) if match}
        with contextlib.closing(sqlite3.connect(profile)) as connection:
            rows = connection.execute("SELECT line, sum(live_at_peak_bytes) FROM allocation"
                                      " WHERE file LIKE '%/memory.py' GROUP BY line").fetchall()
        return {names[line]: size for line, size in rows if line in names}

    def check(self, ours, theirs):
        # Ours are samples: of 48 blocks of 1 MB half are looked at where there are many more.
        for name in ("bytes", "arrays"):
            self.assertAlmostEqual(ours[name], theirs[name], delta=theirs[name] / 2)
        # Python's allocator takes 32 bytes for a number of 24; tracemalloc counts what was asked for.
        self.assertGreater(ours["small"], theirs["small"] * 0.7)
        self.assertLess(ours["small"], theirs["small"] * 2.2)
        # What PyTorch allocates, tracemalloc does not see.
        self.assertLess(theirs["tensors"], MIB)
        self.assertAlmostEqual(ours["tensors"], 80 * MIB, delta=40 * MIB)

    def test_lines_and_ops(self):
        for python, version in PYTHONS.items():
            path = self.path("theirs")
            done = self.bare([python, os.path.join(HERE, "memory.py"), path])
            self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
            with open(path, encoding="utf-8") as file:
                theirs = json.load(file)
            profile = self.run_script(python, "memory.py").profile
            with self.subTest(python=python):
                self.check(self.lines(profile), theirs["lines"])
            totals = {}
            for (name, _), row in self.rows(profile).items():
                totals[name] = totals.get(name, 0) + row[3]
            # Before torch.profiler began there was an op on 4 bytes. 1.13 finds the op of a block by
            # microseconds, the outermost one at least.
            for name in ["aten::ones"] + (["aten::empty", "aten::fill_"] if version >= (2, 0) else []):
                self.assertEqual(totals[name], theirs["ops"][name] + 4 * (name != "aten::fill_"))


class Modules(Torch):
    """Which torch.nn.Module calls an op."""

    def test_modules(self):
        for python, _ in PYTHONS.items():
            profile = self.run_script(python, "modules.py").profile
            done = subprocess.run([OP_ROWS, "-t", profile], capture_output=True, text=True,
                                  check=True)
            rows = {name: list(map(int, numbers)) for name, *numbers in
                    (line.split("\t") for line in done.stdout.splitlines())}
            held = {"layers.0 (Linear)", "layers.1 (Sequential)", "layers.1.0 (Linear)",
                    "layers.1.1 (ReLU)"}
            names = {f"{model}.{name}" for model in ("Outer", "Outer#2") for name in held}
            names |= {"Outer", "Outer#2", "Linear", "Linear#2", "[in no module]"}
            self.assertEqual(set(rows), names, python)
            self.assertEqual(rows["Outer.layers.1 (Sequential)"][:2], [0, 0])
            for model in ("Outer", "Outer#2"):
                parts = [rows[model][1], rows["Linear" + model[5:]][1]]
                parts += [rows[f"{model}.{name}"][1] for name in held]
                self.assertEqual(rows[model][2], sum(parts))
            # The backward pass is the first one's alone, and so is the child's.
            self.assertGreater(rows["Outer.layers.0 (Linear)"][0],
                               rows["Outer#2.layers.0 (Linear)"][0])


if not PYTHONS:
    print("no interpreter here has PyTorch: nothing is compared")
    sys.exit(SKIPPED)
if __name__ == "__main__":
    unittest.TestCase.maxDiff = None
    main()
