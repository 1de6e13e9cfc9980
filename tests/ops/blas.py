# SPDX-License-Identifier: MIT
"""BLAS, LAPACK and FFTW as ops: names, shapes and numbers of calls, and results as without us.

ctest sets OP_REPORT, PROGRAMS and AGENT. BOTTLENECK_WHEELS names a Python that has the wheels of NumPy
and SciPy from PyPI; NumPy is looked for in /usr/bin/python3 otherwise.
"""
import os
import re
import shutil
import subprocess
import sys
import unittest
from collections import Counter

OP_REPORT = os.environ["OP_REPORT"]
PROGRAMS = os.environ["PROGRAMS"]
AGENT = os.environ["AGENT"]
TABLES = os.path.join(os.path.dirname(__file__), "../../tracer/agent/blas")
MASK = str(1 << 3 | 1 << 4 | 1 << 5)
TIMEOUT = 300


def program(name):
    path = os.path.join(PROGRAMS, name)
    if not os.path.exists(path):
        raise unittest.SkipTest(f"{name} is not built: its library is not installed")
    return path


def need(program_name):
    if not shutil.which(program_name):
        raise unittest.SkipTest(f"{program_name} is not installed")


def plain(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=TIMEOUT)


class Ops:
    """What the agent tells of COMMAND."""

    def __init__(self, *command):
        done = subprocess.run([OP_REPORT, "-g", "-o", MASK, "--", *command], capture_output=True,
                              text=True, timeout=TIMEOUT)
        if done.returncode:
            raise AssertionError(f"{command} ended with {done.returncode}: {done.stderr}")
        self.said, self.trailer = re.fullmatch(r"(.*?)(op_report: [^\n]*\n)", done.stderr,
                                               re.S).groups()
        self.lines = done.stdout.splitlines()

    def begun(self):
        """(name, shape, depth) in order."""
        found = [re.match(r"p\d+ t\d+ begin +(\S+) (.*?)(?: shape ([\d,]+))? depth (\d+)", line)
                 for line in self.lines]
        return [(f"{m[1]} {m[2]}", m[3], int(m[4])) for m in found if m]

    def threads(self):
        """{library: threads}"""
        found = [re.search(r" mark +\w+ (\S+) \{threads\} u (\d+)$", line) for line in self.lines]
        return {os.path.basename(m[1]): int(m[2]) for m in found if m}

    def counted(self):
        """{name: calls that left no records}; each thread counts for itself."""
        calls = Counter()
        for line in self.lines:
            found = re.search(r" count +(\S+ \S+) calls (\d+)", line)
            if found:
                calls[found[1]] += int(found[2])
        return calls


class Case(unittest.TestCase):
    maxDiff = None

    def ops(self, *command):
        """The ops of COMMAND, which says the same as without us."""
        ops = Ops(*command)
        self.assertEqual(ops.said, plain(*command).stdout)
        begins = sum(" begin " in line for line in ops.lines)
        self.assertEqual(begins, sum(" end " in line for line in ops.lines))
        return ops


class Fake(Case):
    """A library that says whether all arguments have come through."""

    def part(self, name, library="a"):
        ops = self.ops(program(f"blas_target_{library}"), name)
        self.assertNotIn("wrong", ops.said)
        return ops

    def test_arguments_come_through(self):
        ops = self.part("arguments")
        self.assertIn("errno 42\n", ops.said)
        self.assertEqual(ops.said.count("all as it should be"), 7)
        self.assertEqual(ops.begun(), [
            ("lapack dgesvx", "7,2", 0),
            ("lapack LAPACKE_dgesvx", "7,2", 0),
            ("blas cblas_dgemm", "2,3,4", 0),
            ("blas cblas_zgemm", "8589934592,3,4", 0),
            ("blas dgemm", "2,3,4", 0),
            ("blas dtrsm", "3,5,5", 0),
            ("blas cblas_srot", "6", 0),
        ])
        self.assertEqual(ops.threads(), {"libblas_fake_a.so": 3})

    def test_results_come_back(self):
        self.assertEqual(self.part("results").said, "18 29 0.125\n3 5, 4 6\n")

    def test_complex_results_behind_a_pointer(self):
        ops = self.part("hidden", "b")
        self.assertEqual(ops.said, "3 5, 4 6\n")
        self.assertEqual(ops.begun(), [("blas zdotc", None, 0), ("blas cdotu", None, 0)])

    def test_what_a_library_calls_within_itself_is_hidden(self):
        self.assertEqual(self.part("nesting").begun(), [
            ("blas cblas_dtrsm", "3,5,5", 0),
            ("lapack dpotrf", "9", 0),
            ("blas cblas_dtrsm", "3,5,3", 1),
        ])

    def test_a_call_that_is_left_by_longjmp_does_not_stay_open(self):
        self.assertEqual(self.part("jumps").begun(), [
            ("lapack dpotrf", "9", 0), ("blas cblas_dtrsm", "3,5,3", 1)] * 3 + [
            ("blas dscal", "2", 0)])

    def test_each_caller_gets_its_own_library(self):
        ops = self.ops(program("blas_plugins"), program("libblas_plugin_a.so"),
                       program("libblas_plugin_b.so"))
        self.assertEqual(ops.said, "abababababab\n")
        self.assertEqual(ops.begun(), [("blas dscal", "1", 0)] * 12)

    def test_a_caller_gets_what_was_loaded_for_it(self):
        ops = self.ops(program("blas_plugins"), program("libblas_plugin_b.so"),
                       program("libblas_plugin_c.so"))
        self.assertEqual(ops.said, "babababababa\n")
        self.assertEqual(len(ops.begun()), 12)

    def test_a_weak_reference_of_a_plugin_is_null_as_well(self):
        alone, linked = program("libblas_weak_plugin.so"), program("libblas_weak_plugin_a.so")
        ops = self.ops(program("blas_late"), alone, linked, alone)
        self.assertEqual(ops.said, "not there, not there\nthere, there\ndscal 2\n"
                                   "not there, not there\n")
        self.assertEqual(ops.begun(), [("blas dscal", "2", 0)])

    def test_calls_of_eight_threads_are_exact(self):
        ops = self.part("threads")
        calls = ops.counted() + Counter(name for name, _, _ in ops.begun())
        self.assertEqual(calls, {"blas cblas_ddot": 8 * 50000})


    def test_a_library_that_is_asked_by_name(self):
        ops = self.ops(program("blas_by_name"), program("libblas_fake_a.so"),
                       program("libblas_fake_b.so"))
        self.assertEqual(ops.begun(), [("blas cblas_ddot", "3", 0), ("blas cblas_ddot", "2", 0)] * 2)
        self.assertEqual(set(ops.threads()), {"libblas_fake_a.so", "libblas_fake_b.so"})

    def test_a_weak_reference_to_what_no_library_has_is_null(self):
        self.assertEqual(self.ops(program("blas_weak")).said, "not there, not there\n")
        ops = self.ops(program("blas_weak_a"))
        self.assertEqual(ops.said, "there, there\ndscal 2\n")
        self.assertEqual(ops.begun(), [("blas dscal", "2", 0)])

    def test_what_no_library_has_is_not_there(self):
        code = "import ctypes; print(hasattr(ctypes.CDLL(None), 'dgemm_'))"
        self.assertEqual(self.ops(sys.executable, "-c", code).said, "False\n")


class OpenBlas(Case):
    def check(self, **environment):
        os.environ.update(environment)
        ops = self.ops(program("openblas_target"))
        # Which BLAS LAPACK calls within, if through its public names, is up to the version.
        self.assertEqual([op for op in ops.begun() if op[2] == 0], [
            ("blas cblas_dgemm", "256,128,300", 0),
            ("blas cblas_dgemm", "256,128,300", 0),
            ("blas cblas_dgemm", "256,128,300", 0),
            ("blas cblas_dsyrk", "256,300", 0),
            ("blas cblas_dtrsm", "60,50,50", 0),
            ("blas cblas_ddot", "300", 0),
            ("blas cblas_dnrm2", "200", 0),
            ("blas cblas_zdotc_sub", "100", 0),
            ("blas cblas_daxpy", "250", 0),
            ("blas cblas_dgemv", "40,30", 0),
            ("lapack dgesv", "100,3", 0),
            ("lapack dgesdd", "60,40", 0),
        ])
        return ops

    def test_one_thread(self):
        ops = self.check(OPENBLAS_NUM_THREADS="1")
        self.assertEqual(set(ops.threads().values()), {1})

    def test_threads(self):
        # OpenBLAS starts no more than there are processors.
        threads = min(2, len(os.sched_getaffinity(0)))
        ops = self.check(OPENBLAS_NUM_THREADS="2")
        self.assertEqual(set(ops.threads().values()), {threads})


class Fftw(Case):
    def test_plans_and_executions(self):
        ops = self.ops(program("fftw_target"))
        self.assertEqual([f"{name.split(' ', 1)[1]} [{shape}]" for name, shape, _ in ops.begun()], [
            "fftw_plan_dft_1d [1024]",
            "fftw_execute dft [1024]",
            "fftw_execute_dft [1024]",
            "fftw_execute dft [1024]",
            "fftw_execute dft [1024]",
            "fftw_plan_dft_2d [32,64]",
            "fftw_execute dft [32,64]",
            "fftw_plan_dft_r2c_3d [8,16,10]",
            "fftw_execute r2c [8,16,10]",
            "fftw_plan_r2r_2d [16,12]",
            "fftw_execute r2r [16,12]",
            "fftw_plan_many_dft [10,256]",
            "fftw_execute dft many [10,256]",
            "fftw_plan_guru_dft [12,128]",
            "fftw_execute dft many [12,128]",
            "fftwf_plan_dft_c2r_1d [512]",
            "fftwl_plan_dft_1d [64]",
            "fftwf_execute c2r [512]",
            "fftwl_execute dft [64]",
            "fftw_plan_dft_1d [8]",
            "fftw_plan_dft_1d [16]",
            "fftw_execute dft [16]",
        ])
        self.assertEqual(list(ops.threads().values()), [2])


NUMPY = """
import hashlib, numpy as np
r = np.random.RandomState(1).rand
a, b = r(256, 300), r(300, 128)
out = [a @ b, a @ a.T, np.dot(a[0], a[1]), np.dot(a.astype("f4"), b.astype("f4")),
       np.linalg.solve(r(100, 100), r(100, 3)), np.linalg.svd(r(60, 40))[1],
       np.vdot(a[0] + 1j * a[1], a[2] + 0j)]
print(hashlib.sha256(b"".join(np.asarray(x).tobytes() for x in out)).hexdigest())
"""

NUMPY_OPS = {
    ("blas cblas_dgemm", "256,128,300"): 1,
    ("blas cblas_dsyrk", "256,300"): 1,
    ("blas cblas_ddot", "300"): 1,
    ("blas cblas_sgemm", "256,128,300"): 1,
    ("blas cblas_zdotc_sub", "300"): 1,
    ("lapack dgesv", "100,3"): 1,
    ("lapack dgesdd", "60,40"): 1,  # to ask for the size of the work space is none
}

SCIPY = """
import hashlib, numpy as np, scipy.linalg as sl
from scipy.linalg import blas, lapack
r = np.random.RandomState(1).rand
a = r(50, 50)
out = [sl.lu_factor(a)[0], sl.cholesky(a @ a.T + 50 * np.eye(50)), sl.svdvals(r(30, 20)),
       blas.dgemm(1.0, r(7, 8), r(8, 9)), blas.dtrsm(1.0, a, r(60, 50), side=1),
       blas.zdotc(r(5) + 1j * r(5), r(5) + 0j), blas.sdot(r(4).astype("f4"), r(4).astype("f4")),
       lapack.zgeev(r(6, 6) + 1j * r(6, 6))[0], lapack.dlange("F", a)]
print(hashlib.sha256(b"".join(np.asarray(x).tobytes() for x in out)).hexdigest())
"""


def need_python(python, *modules):
    code = "; ".join(f"import {module}" for module in modules)
    if not python or not shutil.which(python):
        raise unittest.SkipTest("BOTTLENECK_WHEELS names no Python")
    if subprocess.run([python, "-c", code], capture_output=True, timeout=TIMEOUT).returncode:
        raise unittest.SkipTest(f"{python} has no {', '.join(modules)}")


class NumPy(Case):
    python = "/usr/bin/python3"

    def test_calls_and_shapes(self):
        need_python(self.python, "numpy")
        ops = self.ops(self.python, "-c", NUMPY)
        calls = Counter((name, shape) for name, shape, depth in ops.begun() if depth == 0)
        if not any(name == "blas cblas_dgemm" for name, _ in calls):
            self.skipTest(f"{self.python}'s NumPy is built without CBLAS")
        del calls["blas cblas_sdot", "2"]  # NumPy's own, as it starts
        self.assertEqual(calls, NUMPY_OPS)


class Wheels(NumPy):
    python = os.environ.get("BOTTLENECK_WHEELS")

    def test_scipy_and_numpy_have_a_library_each(self):
        need_python(self.python, "numpy", "scipy")
        ops = self.ops(self.python, "-c", SCIPY)
        calls = Counter((name, shape) for name, shape, _ in ops.begun())
        for op in [("lapack dgetrf", "50,50"), ("lapack dpotrf", "50"), ("blas dgemm", "7,9,8"),
                   ("blas dtrsm", "60,50,50"), ("blas zdotc", None), ("blas sdot", "4"),
                   ("lapack dlange", "50,50")]:
            self.assertEqual(calls[op], 1, op)
        self.assertEqual(calls["lapack dgesdd", "30,20"], 1)
        self.assertGreaterEqual(calls["lapack zgeev", "6"], 1)
        self.assertEqual(len(ops.threads()), 2)


def source(name):
    with open(os.path.join(TABLES, name), encoding="utf-8") as file:
        return file.read()


def lists():
    """{list: [(name, level, real, arguments)]} as blas_table.h has them."""
    found = {}
    for label, rows in re.findall(r"#define (\w+_ROUTINES)\(X\)(.*?)(?=\n#define|\n\n|\Z)",
                                  source("blas_table.h"), re.S):
        found[label] = []
        for macro, inner in re.findall(r"\b(X|SD|CZ|SDCZ)\(([^()]*)\)", rows):
            fields = [field.strip().strip('"') for field in inner.split(",")]
            if macro == "X":
                name, level, real, arguments = fields
                found[label].append((name, level, real == "true", arguments))
            else:
                _, level, name, arguments = fields
                found[label] += [(letter + name, level, letter in "sd", arguments)
                                 for letter in macro.lower()]
    return found


def table():
    """{name: (level, real, arguments)}"""
    return {row[0]: row[1:] for rows in lists().values() for row in rows}


class Symbols(unittest.TestCase):
    """A stub's number is its place: the families of names stand in the order of their table."""

    def test_stubs_stand_in_order(self):
        need("nm")
        rows = {label: [row[0] for row in found] for label, found in lists().items()}
        of = {
            "FORTRANS": rows["BLAS_ROUTINES"] + rows["BLAS_FORTRAN_ROUTINES"] +
                        rows["LAPACK_ROUTINES"],
            "CBLASES": rows["BLAS_C_ROUTINES"] + rows["BLAS_ROUTINES"],
            "LAPACKS": rows["LAPACK_ROUTINES"],
        }
        families = re.findall(r'\{ "(\w*)", "(\w*)", \w+, \w+, [\w +]+, (\w+) \}',
                              source("blas.c"))
        wanted = [prefix + name + suffix for prefix, suffix, which in families
                  for name in of[which]]
        listed = plain("nm", "-D", "--defined-only", AGENT).stdout.splitlines()
        places = {name: int(address, 16) for address, _, name in map(str.split, listed)}
        start = places[wanted[0]]
        self.assertGreater(len(wanted), 4000)
        self.assertEqual([places.get(name) for name in wanted],
                         [start + 16 * i for i in range(len(wanted))])


def header(name):
    for folder in ("/usr/include", "/usr/include/x86_64-linux-gnu", "/usr/local/include"):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
            return re.sub(r"#ifdef LAPACK_FORTRAN_STRLEN_END.*?#endif", "", text, flags=re.S)
    raise unittest.SkipTest(f"{name} is not installed")


def prototypes(text, pattern):
    """{name: arguments}"""
    return {match[1]: [" ".join(argument.split()) for argument in match[2].split(",")]
            for match in re.finditer(pattern + r"\s*\(\s*([^()]*?)\)\s*;", text)}


DIMENSIONS = {"m", "n", "k", "nrhs", "kl", "ku", "kd", "p", "l"}


def dimensions(arguments):
    """Places of those that are a size, and no result."""
    return [i for i, argument in enumerate(arguments)
            if argument.split()[-1].lstrip("*").lower() in DIMENSIONS and
            re.search(r"\b(int|lapack_int|blasint|CBLAS_INT)\b", argument) and
            ("*" not in argument or "const" in argument)]


def places(arguments, letter="N"):
    return [i for i, argument in enumerate(arguments) if argument == letter]


class Headers(unittest.TestCase):
    """What the table says of arguments is what the libraries' own headers say."""

    def compare(self, ours, theirs, label):
        self.assertTrue(theirs)
        for name, (count, sizes) in ours.items():
            if name in theirs:
                self.assertEqual((count, sizes), (len(theirs[name]), dimensions(theirs[name])),
                                 f"{label} {name}")

    def test_fortran(self):
        found = prototypes(header("lapack.h"), r"\bLAPACK_(\w+?)(?:_base)?")
        ours = {name: (len(arguments.replace("e", "")), places(arguments.replace("e", "")))
                for name, (level, _, arguments) in table().items() if level == "LAPACK"}
        self.assertEqual(set(ours) - set(found), set())
        self.compare(ours, found, "Fortran")

    def test_lapacke(self):
        found = prototypes(header("lapacke.h"), r"\bLAPACKE_(\w+)")
        for suffix, left_out in (("", "wlo"), ("_work", "oe")):
            ours = {}
            for name, (level, _, arguments) in table().items():
                if level == "LAPACK":
                    passed = "i" + "".join(a for a in arguments if a not in left_out)
                    ours[name + suffix] = (len(passed), places(passed))
            self.compare(ours, found, "LAPACKE")

    def test_cblas(self):
        found = prototypes(header("cblas.h"), r"\bcblas_(\w+)")
        by_value = {name: [a for a in arguments if "*" in a or not re.search(
            r"\b(float|double)\b", a)] for name, arguments in found.items()}
        ours = {}
        for name, (level, real, arguments) in table().items():
            passed = "".join(a for a in arguments if a != "r" and not (a == "s" and real))
            passed = passed if level == "BLAS_1" else "i" + passed
            ours[name] = (len(passed), places(passed))
        # The number of matrices is not called by a letter; cdotu and its like are Fortran's.
        for name in [name for name in ours if re.search("gemm_batch_strided|dot[uc]$", name)]:
            del ours[name]
        self.compare(ours, by_value, "CBLAS")


if __name__ == "__main__":
    result = unittest.main(verbosity=2, exit=False).result
    skipped_all = result.testsRun and len(result.skipped) == result.testsRun
    sys.exit(77 if skipped_all else not result.wasSuccessful())
