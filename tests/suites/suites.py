# SPDX-License-Identifier: MIT
"""The test suites that run.py compares: where each lies, its units, and how to read its tests.

A unit is what one command runs (a program, a module or a script); it has tests, each with an
outcome such as "ok", "FAIL" or "skipped". Trees lie in WORK, where tests/suites/prepare puts them.
"""
import glob
import os
import re
import xml.etree.ElementTree

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Signals, threads, processes, memory, clocks and profilers: where a profiler could show.
PYTHON_MODULES = """
    test_subprocess test_signal test_threading test_thread test_threadsignals test_threading_local
    test_os test_posix test_fork1 test_wait3 test_wait4 test_popen test_resource test_eintr
    test_pty test_faulthandler test_gc test_mmap test_sys test_sys_settrace test_sys_setprofile
    test_monitoring test_tracemalloc test_profile test_cprofile test_perf_profiler test_audit
    test_atexit test_capi test_time test_timeout test_select test_selectors test_poll test_epoll
    test_queue test_sched test_io test_fcntl test_ioctl test_tempfile test_socket test_ssl
    test_ctypes test_asyncio test_concurrent_futures test_multiprocessing_main_handling
    test_multiprocessing_fork test_multiprocessing_forkserver test_multiprocessing_spawn""".split()


def numbered(pairs):
    """{test: outcome} of (test, outcome); the second test of one name is "name #2"."""
    tests, seen = {}, {}
    for name, outcome in pairs:
        seen[name] = seen.get(name, 0) + 1
        tests[name if seen[name] == 1 else f"{name} #{seen[name]}"] = outcome
    return tests


def tap(text):
    found = re.findall(r"^(not ok|ok) \d+ ?-? ?(.*?)(?: *# *(SKIP|TODO)\b.*)?$", text, re.M | re.I)
    return numbered((name, f"{outcome} {directive}".strip().lower())
                    for outcome, name, directive in found)


def unittest_lines(text):
    """The tests of `unittest -v`. Their own output may be between a name and its outcome."""
    tests, name = [], None
    for line in text.split("\n======", 1)[0].splitlines():
        begins = re.match(r"(\w+ \([\w.]+\))|([\w.]+\.\w+) \.\.\. ", line)
        if begins:
            name = begins[1] or begins[2]
        ends = re.search(r"(?:^|\W)(ok|FAIL|ERROR|skipped(?= ['\"])|expected failure|"
                         r"unexpected success)(?: ['\"].*)?$", line)
        if name and ends:
            tests.append((name, ends[1]))
            name = None
    return numbered(tests)


class Suite:
    """Paths are absolute. OUT is a directory that the unit may write to and that outlives it."""
    get = "tests/suites/prepare {work} {name}"
    private = ()  # directories that each run sees empty and may write to, besides /tmp and /dev/shm
    cwd = "/tmp"

    def __init__(self, name, tree):
        self.name = name
        self.tree = tree  # None: the material is absent

    def units(self):
        raise NotImplementedError

    def command(self, unit, slot, out):
        """What runs UNIT. Units that run at the same time have different slots, from 0."""
        raise NotImplementedError

    def environment(self, _unit):
        return {}

    def tests(self, text, _status, _out):
        """{test: outcome} of a run, from its output, its exit status and its OUT."""
        return tap(text)


class Psutil(Suite):
    get = "apt-get install python3-psutil"

    def units(self):
        return [name for name in modules(self.tree)
                if not re.search("windows|osx|aix|bsd|sunos", name)]

    def command(self, unit, slot, out):
        return ["/usr/bin/python3", "-m", "unittest", "-v", f"psutil.tests.{unit}"]

    def tests(self, text, _status, _out):
        return unittest_lines(text)


class Glib(Suite):
    get = "apt-get install libglib2.0-tests dbus"

    def units(self):
        return sorted(os.path.basename(path)[:-len(".test")]
                      for path in glob.glob(f"{self.tree}/*.test"))

    def command(self, unit, slot, out):
        with open(f"{self.tree}/{unit}.test", encoding="utf-8") as file:
            return re.search("^Exec=(.*)$", file.read(), re.M)[1].split()

    def tests(self, text, _status, _out):
        return tap(re.sub(r"seed:\d+", "seed", text))


class Python(Suite):
    def units(self):
        lib = f"{self.tree}/lib/{self.program()}/test"
        found = []
        for name in PYTHON_MODULES:
            if os.path.isdir(f"{lib}/{name}"):
                found += [f"{name}.{module}" for module in modules(f"{lib}/{name}")]
            elif os.path.exists(f"{lib}/{name}.py"):
                found.append(name)
        return found

    def program(self):
        return "python" + self.name[len("python-"):]

    def command(self, unit, slot, out):
        return [f"{self.tree}/bin/{self.program()}", "-m", "test", "-v", "--junit-xml",
                f"{out}/junit.xml", unit]

    def tests(self, _text, _status, out):
        try:
            cases = xml.etree.ElementTree.parse(f"{out}/junit.xml").iter("testcase")
        except (OSError, xml.etree.ElementTree.ParseError):
            return {}  # it ended early, which its exit status says
        return numbered(
            (case.get("name"),
             next((part.tag for part in case if not part.tag.startswith("system-")), "ok"))
            for case in cases)


class Redis(Suite):
    def __init__(self, name, tree):
        super().__init__(name, tree)
        self.cwd = tree
        self.private = (f"{tree}/tests/tmp",)

    def units(self):
        with open(f"{self.tree}/tests/test_helper.tcl", encoding="utf-8") as file:
            return re.search(r"set ::all_tests \{(.*?)\}", file.read(), re.S)[1].split()

    def command(self, unit, slot, out):
        return ["./runtest", "--single", unit, "--clients", "1", "--baseport",
                str(21111 + 10000 * slot)]

    def tests(self, text, _status, _out):
        # Some are repeated as often as time allows, or name a drawn server (#1): one entry.
        tests = {}
        for outcome, name in re.findall(r"^\[(ok|err|skip|ignore|exception)\]: (.*)$", text, re.M):
            name = re.sub(r"#\d+|\(x = \d+\)", "#", re.sub(r" in tests/.*| \(\d+ ms\)$", "", name))
            tests.setdefault(name, set()).add(outcome)
        return {name: " ".join(sorted(outcomes)) for name, outcomes in tests.items()}


class Coreutils(Suite):
    def units(self):
        with open(f"{self.tree}/tests/local.mk", encoding="utf-8") as file:
            named = set(re.findall(r"tests/[\w./-]+\.(?:sh|pl|xpl)\b", file.read()))
        return sorted(name for name in named if re.match(r"tests/(?!factor)[\w-]+/", name)
                      and os.path.exists(f"{self.tree}/{name}"))

    def command(self, unit, slot, out):
        compiler = ["/bin/sh"]
        if unit.endswith("pl"):
            compiler = ["perl", *(["-T"] if unit.endswith(".xpl") else []), "-w",
                        f"-I{self.tree}/tests", "-MCuSkip", "-MCoreutils",
                        f"-MCuTmpdir qw({unit.replace('/', '-')})"]
        # The tests look for ./src and write their messages to descriptor 9.
        return ["/bin/sh", "-c", f'ln -s {self.tree}/src src; exec "$@" 9>&2', "sh", *compiler,
                f"{self.tree}/{unit}"]

    def environment(self, unit):
        programs = [name for name in sorted(os.listdir(f"{self.tree}/src"))
                    if re.fullmatch(r"\w+|\[", name) and os.path.isfile(f"{self.tree}/src/{name}")
                    and os.access(f"{self.tree}/src/{name}", os.X_OK)]
        return {"PATH": f"{self.tree}/src:{PATH}",
                "built_programs": " ".join(programs),
                "abs_top_builddir": self.tree, "abs_top_srcdir": self.tree, "abs_srcdir": self.tree,
                "srcdir": self.tree, "top_srcdir": self.tree, "LOCALE_FR": "none",
                "LOCALE_FR_UTF8": "none", "CONFIG_HEADER": f"{self.tree}/lib/config.h", "fail": "0",
                "CU_TEST_NAME": "coreutils," + unit.replace("/", "-"), "CC": "cc", "AWK": "mawk",
                "EGREP": "grep -E", "EXEEXT": "", "MAKE": "make", "PERL": "perl", "TMPDIR": "/tmp",
                "SHELL": "/bin/sh", "LC_ALL": "C", "host_os": "linux-gnu", "VERSION": "9.1",
                "PACKAGE_VERSION": "9.1", "host_triplet": "x86_64-pc-linux-gnu"}

    def tests(self, _text, status, _out):
        return {"script": {0: "pass", 77: "skip", 99: "error"}.get(status, f"fail {status}")}


class Git(Suite):
    def __init__(self, name, tree):
        super().__init__(name, tree)
        self.cwd = f"{tree}/t"

    def units(self):
        return [os.path.basename(path) for path in sorted(glob.glob(f"{self.tree}/t/t[0-9]*.sh"))
                if not re.search("/t9[1-8]", path)]  # other version control systems

    def command(self, unit, slot, out):
        return ["/bin/sh", f"./{unit}", "--root=/tmp/trash"]

    def environment(self, _unit):
        return {"TEST_OUTPUT_DIRECTORY": "/tmp", "GIT_TEST_CHAIN_LINT": "0"}


class Sqlite(Suite):
    # Those that run others, as test/permutations.test lists them, and one that reports speed.
    RUN_OTHERS = set("""all async extraquick fts3 full mallocAll memleak permutations quick rbu
                     rtree session soak veryquick""".split())

    def units(self):
        return [name for name in (os.path.basename(path)[:-len(".test")] for path
                                  in sorted(glob.glob(f"{self.tree}/test/*.test")))
                if name not in self.RUN_OTHERS and not name.startswith("speed")]

    def command(self, unit, slot, out):
        return [f"{self.tree}/testfixture", f"{self.tree}/test/{unit}.test"]

    def tests(self, text, _status, _out):
        pairs = [(line[2] or line[3], "fail" if line[3] else "ok") for line in
                 re.finditer(r"^((\S.*?)\.\.\. Ok|! (\S.*?) expected: .*)$", text, re.M)]
        summary = re.search(r"^(\d+) errors out of \d+ tests", text, re.M)
        return numbered([*pairs, ("(errors)", summary[1] if summary else "no summary")])


def modules(directory):
    """The test modules of a package."""
    return sorted(name[:-len(".py")] for name in os.listdir(directory)
                  if name.startswith("test_") and name.endswith(".py"))


def suites(work):
    """All suites in the order in which they run."""
    def tree(pattern):
        """The tree below WORK that has what PATTERN says, once it is built."""
        found = sorted(glob.glob(os.path.join(work, pattern)))
        return os.path.join(work, os.path.relpath(found[-1], work).split("/")[0]) if found else None

    def installed(path):
        return path if os.path.isdir(path) else None
    return [
        Psutil("psutil", installed("/usr/lib/python3/dist-packages/psutil/tests")),
        Redis("redis", tree("redis-*/src/redis-server")),
        Coreutils("coreutils", tree("coreutils-*/src/ls")),
        Glib("glib", installed("/usr/share/installed-tests/glib")),
        *(Python(f"python-3.{minor}", tree(f"python-3.{minor}*/bin/python3.{minor}"))
          for minor in range(8, 15)),
        Git("git", tree("git-*/git")),
        Sqlite("sqlite", tree("sqlite3-*/testfixture")),
    ]
