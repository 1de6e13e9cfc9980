# SPDX-License-Identifier: MIT
"""CPython's own tests end under bottleneck as without: each test by itself.

    cpython.py BOTTLENECK [--python PATH] [--rung RUNG] [-F HZ] [--limit S] [--match PATTERN…] [--long] [MODULE…]

A test that ends otherwise is repeated by itself, with bottleneck and without, until it has ended
once with it as without: some of these tests depend on how fast a machine is. An interpreter
without the package test is skipped (status 77).
"""
import argparse
import concurrent.futures
import os
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

SKIP = 77
MODULES = ["test_thread", "test_threading_local", "test_threadsignals", "test_threadedtempfile",
           "test_signal"]
LONG = ["test_threading", "test_subprocess", "test_faulthandler", "test_multiprocessing_fork",
        "test_multiprocessing_forkserver", "test_multiprocessing_spawn",
        "test_multiprocessing_main_handling", "test_concurrent_futures"]
REPEATS = 3


def ended(case):
    for child in case:
        if child.tag in ("failure", "error", "skipped"):
            return child.tag
    return "passed"


def outcomes(path):
    """{test: how it ended}; what a module or class is set up by counts, too."""
    if not os.path.exists(path) or not os.path.getsize(path):
        return {}
    found = {}
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        name = case.get("name")
        # One that has parts is told several times.
        if found.get(name, "passed") in ("passed", "skipped"):
            found[name] = ended(case)
    return found


def run(arguments, module, under, match=()):
    """{test: how it ended}, and the last lines that were printed."""
    with tempfile.TemporaryDirectory() as directory:
        told, result = os.path.join(directory, "told"), os.path.join(directory, "result.xml")
        command = [arguments.python, "-B", "-m", "test", "-v", "--junit-xml", result]
        command += [part for name in match for part in ("--match", name)] + [module]
        if under:
            command = [arguments.bottleneck, "-F", str(arguments.frequency), "--rung",
                       arguments.rung, "-R", os.devnull, "--", *command]
        env = dict(os.environ, XDG_STATE_HOME=directory)
        with open(told, "w+b") as output:
            process = subprocess.Popen(command, env=env, cwd=directory, stdin=subprocess.DEVNULL,
                                       stdout=output, stderr=subprocess.STDOUT,
                                       start_new_session=True)
            try:
                process.wait(arguments.limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                output.write(b"\nstopped: it took more than %d s\n" % arguments.limit)
            output.seek(0)
            text = output.read().decode(errors="replace").splitlines()
        return outcomes(result), "\n    ".join(text[-12:])


def short(name):
    """What --match takes."""
    return "*" + ".".join(name.split(".")[-2:])


def ends_alike(arguments, module, name):
    bare, under = set(), set()
    for _ in range(REPEATS):
        bare.add(run(arguments, module, False, [short(name)])[0].get(name))
        under.add(run(arguments, module, True, [short(name)])[0].get(name))
        if bare & under - {None}:
            return True
    print(f"  {name}: {bare} without, {under} under bottleneck")
    return False


def check(arguments, module):
    """None: this interpreter cannot run it."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        (bare, told), (under, told_under) = pool.map(
            lambda with_us: run(arguments, module, with_us, arguments.match), (False, True))
    if not bare:
        print(f"  {module}: does not end without bottleneck, either:\n    {told}")
        return None
    if not under:
        print(f"  {module}: does not end under bottleneck:\n    {told_under}")
        return False
    differ = [name for name in sorted(bare | under) if bare.get(name) != under.get(name)]
    odd = [name for name in differ if not ends_alike(arguments, module, name)]
    counts = {how: list(bare.values()).count(how) for how in sorted(set(bare.values()))}
    print(f"  {module}: {counts} without bottleneck; {len(differ)} ended otherwise at first, "
          f"{len(odd)} each time", flush=True)
    return not odd


def has_tests(python):
    question = "import sys, test.libregrtest, test.test_threading"
    return subprocess.run([python, "-c", question], capture_output=True, check=False).returncode == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bottleneck", type=os.path.abspath)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rung", default="kernel")
    parser.add_argument("-F", "--frequency", type=int, default=999)
    parser.add_argument("--limit", type=float, default=600)
    parser.add_argument("--match", action="append", default=[])
    parser.add_argument("--long", action="store_true", help="modules that take minutes, too")
    parser.add_argument("modules", nargs="*")
    arguments = parser.parse_intermixed_args()
    if not has_tests(arguments.python):
        print(f"{arguments.python} came without its tests")
        sys.exit(SKIP)
    modules = arguments.modules or MODULES + (LONG if arguments.long else [])
    results = [check(arguments, module) for module in modules]
    sys.exit(0 if True in results and False not in results else 1)


if __name__ == "__main__":
    main()
