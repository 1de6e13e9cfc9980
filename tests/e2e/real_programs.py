# SPDX-License-Identifier: MIT
"""Real programs: they complete, say the same, and their hot functions are those of perf record.

    real_programs.py [--fast] [NAME...]

--fast runs each once under bottleneck and compares its output; without it each also runs under
perf record, and the five hottest functions must agree to 1.5 points. Two profiles of one program
differ by chance alone, so runs alternate until their mean is known well enough to decide.
"""
import argparse
import contextlib
import glob
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from harness import BOTTLENECK
from profile_file import ProfileFile, plain_name

POINTS = 1.5
ROUNDS_MIN, ROUNDS_MAX = 3, 12
SURE = 2  # standard errors
ALIASES = {"cfree@GLIBC_2.2.5": "free", "cfree": "free"}
HZ = 999


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def make_data(directory, scale):
    """A few megabytes of text that compress like text."""
    with open(os.path.join(directory, "data"), "wb") as out:
        for path in ("/usr/bin/perl", "/usr/bin/git", "/usr/bin/openssl"):
            if os.path.exists(path):
                with open(path, "rb") as file:
                    out.write(file.read()[:3_000_000] * scale)


def sqlite_script(directory, scale):
    write(os.path.join(directory, "q.sql"), f"""
create table t(a integer primary key, b text, c integer);
with recursive n(i) as (select 1 union all select i + 1 from n where i < {120000 * scale})
insert into t select i, hex(i * 7919), (i * 7919) % 1000 from n;
select c, count(*), sum(a), max(b) from t group by c order by 3 desc limit 5;
select count(*) from t x join t y on x.a = y.c;
select count(*) from t where b like '%3A%';
""")


def git_repository(directory, scale):
    repository = os.path.join(directory, "repository")
    stream = ["blob\nmark :1\ndata 6\nhello\n\n"]
    for i in range(400 * scale):
        body = "".join(f"line {j} of {i * j % 97}\n" for j in range(400))
        stream.append(f"commit refs/heads/main\ncommitter A <a@b> {1700000000 + i} +0000\n"
                      f"data 2\nc\n\nM 100644 inline f{i % 20}\ndata {len(body)}\n{body}\n")
    subprocess.run(["git", "init", "-q", "-b", "main", repository], check=True)
    subprocess.run(["git", "-C", repository, "fast-import", "--quiet"], check=True,
                   input="".join(stream).encode())


def c_sources(directory, scale):
    for i in range(8 * scale):
        functions = "\n".join(
            f"double f{i}_{j}(const double *p, int n) {{ double s = 0; for (int k = 0; k < n; k++)"
            f" s += p[k] * {j} + sin(s + k); return s; }}" for j in range(120))
        write(os.path.join(directory, f"s{i}.c"), f"#include <math.h>\n#include <stdio.h>\n"
              f"#include <stdlib.h>\n#include <string.h>\n{functions}\n")
    objects = " ".join(f"s{i}.o" for i in range(8 * scale))
    write(os.path.join(directory, "Makefile"),
          f"all: {objects}\n%.o: %.c\n\t@gcc -O2 -c -o $@ $<\n")


BASH = """
f() { local s=0 i; for ((i = 0; i < $1; i++)); do s=$(((s * 31 + i) % 65521)); a[i%100]=$s; done
echo "${a[*]}" | cksum; }
f COUNT
"""

PERL = r"""
my %h; my $s = 42;
for my $i (1 .. COUNT) { $s = ($s * 1103515245 + 12345) % 2147483648; $h{$s % 5000} .= chr(97 + $s % 26); }
my $n = 0; for (sort keys %h) { $n++ while $h{$_} =~ /a.{0,3}e/g; } print "$n\n";
"""

NODE = """
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
function sortish(n) { const a = []; let s = 1; for (let i = 0; i < n; i++) { s = (s * 16807) % 2147483647; a.push(s); }
  a.sort((x, y) => x - y); return a[10]; }
// Many short calls: when the compiler gets to one that is under way differs from run to run.
let sum = 0; for (let i = 0; i < 100; i++) sum += sortish(COUNT);
console.log(fib(DEPTH), sum);
"""


class Program:
    """How to set up and run one program. SAME_OUTPUT: it says the same every time."""

    def __init__(self, name, command, needs=(), setup=None, same_output=True):
        self.name = name
        self.command = command
        self.needs = needs or (command[0],)
        self.setup = setup
        self.same_output = same_output


def programs(scale):
    """SCALE 1 is some tenths of a second each, 6 is a few seconds."""
    def bash_setup(d):
        write(os.path.join(d, "s.sh"), BASH.replace("COUNT", str(150000 * scale)))

    def perl_setup(d):
        write(os.path.join(d, "s.pl"), PERL.replace("COUNT", str(900000 * scale)))

    def node_setup(d):
        write(os.path.join(d, "s.js"), NODE.replace("DEPTH", str(30 + scale // 2)).replace("COUNT", str(6000 * scale)))

    def musl_setup(d):
        write(os.path.join(d, "m.c"), """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int order(const void *a, const void *b) { return memcmp(a, b, 8); }
int main(int argc, char **argv) { size_t n = 200000 * (size_t)atoi(argv[1]); char (*a)[8] = calloc(n, 8);
 unsigned s = 1; for (size_t i = 0; i < n * 8; i++) { s = s * 1103515245 + 12345; (*a)[i] = s >> 16; }
 qsort(a, n, 8, order); printf("%02x\\n", (unsigned char)a[n / 2][0]); return 0; }
""")
        for compiler, name, flags in (("musl-gcc", "musl", []), ("gcc", "static", ["-static"])):
            if shutil.which(compiler):
                subprocess.run([compiler, "-O2", "-g", *flags, "-o", name, "m.c"], cwd=d, check=True)

    def data(d):
        make_data(d, 1 if scale == 1 else 3)

    return [
        Program("xz", ["xz", "-2", "-T1", "-k", "-c", "data"], setup=data),
        Program("gzip", ["gzip", "-c", "-n", "data"], setup=data),
        Program("sqlite3", ["sqlite3", ":memory:", ".read q.sql"],
                setup=lambda d: sqlite_script(d, scale)),
        Program("git", ["git", "-C", "repository", "log", "--stat", "-M", "--format=%T"],
                setup=lambda d: git_repository(d, scale)),
        Program("bash", ["bash", "s.sh"], setup=bash_setup),
        Program("perl", ["env", "PERL_HASH_SEED=0", "perl", "s.pl"], needs=("perl",), setup=perl_setup),
        Program("openssl", ["openssl", "speed", "-seconds", str(max(1, scale // 2)), "-bytes", "16384",
                            "sha256"], same_output=False),
        Program("make", ["make", "-s", "-j2"], needs=("make", "gcc"),
                setup=lambda d: c_sources(d, max(1, scale // 2))),
        Program("node", ["node", "--perf-basic-prof", "s.js"], setup=node_setup),
        Program("redis", ["redis-server", "--port", "0", "--unixsocket", "r.sock", "--save", "",
                          "--logfile", "log", "--io-threads", "1"],
                needs=("redis-server", "redis-benchmark"), same_output=False),
        Program("static", ["./static", str(4 * scale)], needs=("gcc",), setup=musl_setup),
        Program("musl", ["./musl", str(4 * scale)], needs=("musl-gcc",), setup=musl_setup),
    ]


def wait_for_socket(path):
    for _ in range(200):
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
            probe.connect(path)
            return
        time.sleep(0.05)
    sys.exit(f"{path} never answered")


def run_redis(prefix, program, directory, scale):
    """The server under the profiler, the client not; ended by the client's SHUTDOWN."""
    path = os.path.join(directory, "r.sock")
    server = subprocess.Popen([*prefix, *program.command], cwd=directory, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
    wait_for_socket(path)
    subprocess.run(["redis-benchmark", "-s", path, "-q", "-n", str(60000 * scale), "-P", "8", "-t",
                    "set,get,lpush,lrange_100", "-c", "10"], stdout=subprocess.DEVNULL, check=True)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        client.sendall(b"SHUTDOWN NOSAVE\r\n")
        with contextlib.suppress(OSError):
            client.recv(64)
    out, err = server.communicate(timeout=60)
    return server.returncode, out, err


def run_once(prefix, program, directory, scale):
    if program.name == "redis":
        return run_redis(prefix, program, directory, scale)
    done = subprocess.run([*prefix, *program.command], cwd=directory, capture_output=True,
                          check=False, timeout=300)
    if program.name == "make":
        for name in os.listdir(directory):
            if name.endswith(".o"):
                os.unlink(os.path.join(directory, name))
    return done.returncode, done.stdout, done.stderr


def function_name(name, module):
    """One name for what perf and we call by different aliases of one address; code without a name
    counts for its module."""
    # perf has what V8 wrote: "JS:*fit /a/b.js:12:3"; all but the first kind up to Node 18.
    script = re.match(r"(?:JS|LazyCompile|Function|Eval|Script):[~^+*]'?(.*?) \S*:\d+:\d+$", name)
    if script:
        name = script[1] or "(anonymous)"
    name = re.sub(r"^(__GI_+)?(_*libc_)?", "", plain_name(name)).replace("memcpy", "memmove")
    name = ALIASES.get(name, name)
    if not name or re.match(r"(0x)?[0-9a-f]{6,}$|\[unknown\]", name):
        return f"[{os.path.basename(module)}]"
    return name


def perf_shares(path):
    """Self share per function by perf, kernel as one. By periods: a percentage of perf's is rounded,
    and code without symbols has a row for each sample."""
    text = subprocess.run(["perf", "report", "-i", path, "--stdio", "--no-children", "-g", "none",
                           "-s", "dso,sym", "--percent-limit", "0", "-F", "period,dso,sym"],
                          capture_output=True, text=True, check=True).stdout
    periods = {}
    for line in text.splitlines():
        match = re.match(r"\s*([0-9]+)\s+(\S+).*?\s+\[(.)\]\s+(.*\S)", line)
        if match:
            name = "[kernel]" if match[3] == "k" else function_name(match[4], match[2])
            periods[name] = periods.get(name, 0) + int(match[1])
    return {name: 100 * ns / sum(periods.values()) for name, ns in periods.items()}


def our_shares(path):
    """Self share per function that exists in the binary: inlined ones count for their host."""
    return ProfileFile(path).host_function_shares(function_name)


def mean(rows):
    names = {n for row in rows for n in row}
    return {n: sum(row.get(n, 0) for row in rows) / len(rows) for n in names}


def top_of_either(ours, theirs):
    """The five hottest of either, hottest first."""
    def top(shares):
        return sorted(shares, key=shares.get, reverse=True)[:5]
    ours, theirs = mean(ours), mean(theirs)
    return sorted({*top(ours), *top(theirs)}, key=lambda n: -theirs.get(n, 0))


class Difference:
    """Ours less perf's share of one function over all rounds, and its standard error."""

    def __init__(self, name, ours, theirs):
        ours, theirs = ([row.get(name, 0) for row in rows] for rows in (ours, theirs))
        self.name = name
        self.ours, self.theirs = statistics.fmean(ours), statistics.fmean(theirs)
        self.points = self.ours - self.theirs
        self.error = (sum(map(statistics.variance, (ours, theirs))) / len(ours)) ** 0.5

    def is_bad(self):
        return abs(self.points) > POINTS

    def is_sure(self):
        return abs(abs(self.points) - POINTS) > SURE * self.error

    def show(self):
        print(f"    {self.name[:60]:60} perf {self.theirs:6.2f}  ours {self.ours:6.2f}"
              f"  {self.points:+6.2f} ±{SURE * self.error:.2f} {'FAIL' if self.is_bad() else ''}")


def differences(ours, theirs):
    return [Difference(name, ours, theirs) for name in top_of_either(ours, theirs)]


def take_maps(directory):
    """The lines of the maps that JIT compilers made for scripts in DIRECTORY; removes the maps."""
    for path in glob.glob("/tmp/perf-*.map"):
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        if directory in text:
            os.unlink(path)
            yield [line.split(" ", 2) for line in text.splitlines() if line.count(" ") >= 2]


def join_names(names, lines):
    """Adds to NAMES the groups of functions that the compiler put in one place, one after the
    other: which of them perf names there is up to chance."""
    end, owner = 0, ""
    for start, size, name in sorted(lines, key=lambda line: int(line[0], 16)):
        name, start = function_name(name, ""), int(start, 16)
        if start < end:
            names.join(owner, name)
        if start + int(size, 16) > end:
            end, owner = start + int(size, 16), name


class Names:
    """Names that count as one."""

    def __init__(self):
        self.other = {}

    def find(self, name):
        while name in self.other:
            name = self.other[name]
        return name

    def join(self, one, two):
        one, two = sorted((self.find(one), self.find(two)))
        if one != two:
            self.other[two] = one

    def joined(self, shares):
        sums = {}
        for name, share in shares.items():
            sums[self.find(name)] = sums.get(self.find(name), 0) + share
        return sums


class Failure(Exception):
    pass


def run_ours(program, directory, scale, bare):
    path = os.path.join(directory, "p.bneck")
    done = run_once([BOTTLENECK, "-F", str(HZ), "-o", path, "-R", os.path.join(directory, "report"),
                     "--"], program, directory, scale)
    if done[0] != bare[0] or (program.same_output and done[1:] != bare[1:]):
        raise Failure(f"status {done[0]} against {bare[0]}; stderr {done[2][-300:]!r}")
    shares = our_shares(path)
    if not sum(shares.values()) > 0:
        raise Failure("no samples")
    return shares


def run_perf(program, directory, scale):
    path = os.path.join(directory, "p.data")
    run_once(["perf", "record", "-q", "-e", "task-clock", "-F", str(HZ), "--no-bpf-event", "-o",
              path, "--"], program, directory, scale)
    return perf_shares(path)


def compare(program, directory, scale, bare, rounds):
    """Runs both in turn, until all differences are known well enough, or ROUNDS times."""
    ours, theirs, names = [], [], Names()
    while True:
        ours.append(run_ours(program, directory, scale, bare))
        theirs.append(run_perf(program, directory, scale))
        for lines in take_maps(directory):
            join_names(names, lines)
        if len(ours) < min(rounds or ROUNDS_MIN, ROUNDS_MIN):
            continue
        rows = differences(*([names.joined(row) for row in side] for side in (ours, theirs)))
        if len(ours) >= (rounds or ROUNDS_MAX) or (not rounds and all(r.is_sure() for r in rows)):
            return rows, len(ours)


def check(program, scale, fast, rounds):
    missing = [n for n in program.needs if not shutil.which(n)]
    if missing:
        print(f"{program.name:10} skipped: {', '.join(missing)} not installed")
        return True
    with tempfile.TemporaryDirectory(prefix="real-") as directory:
        os.chmod(directory, 0o755)
        if program.setup:
            program.setup(directory)
        bare = run_once([], program, directory, scale)
        try:
            if fast:
                run_ours(program, directory, scale, bare)
                print(f"{program.name:10} ok")
                return True
            rows, runs = compare(program, directory, scale, bare, rounds)
        except Failure as failure:
            print(f"{program.name:10} FAIL: {failure}")
            return False
        finally:
            list(take_maps(directory))
    for row in rows:
        row.show()
    good = not any(row.is_bad() for row in rows)
    print(f"{program.name:10} {'ok' if good else 'FAIL'}: worst "
          f"{max(abs(row.points) for row in rows):.2f} points in {runs} rounds", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--rounds", type=int, default=0,
                        help="so many paired runs; otherwise as many as it takes")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    if not arguments.fast and not shutil.which("perf"):
        print("no perf here: only completion and output are compared")
        arguments.fast = True
    scale = 1 if arguments.fast else 6
    chosen = [p for p in programs(scale) if not arguments.names or p.name in arguments.names]
    failed = [p.name for p in chosen if not check(p, scale, arguments.fast, arguments.rounds)]
    print(f"{len(chosen)} programs, failed: {', '.join(failed) or 'none'}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
