# SPDX-License-Identifier: MIT
"""Real programs that do the same for as long as they are let: see attached.

A program's FED says that it reads text on its standard input that never ends; its CLIENT is started beside
it and keeps it at work; HERE, it is run in the project's own folder. After BEGIN_S it does the same all the
time. Those that have to be compiled are compiled with lines, and optimized.
"""
import glob
import os
import random
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

MANY = 3000  # times that a program reads the same file: for as long as it is let
PY = """import json, random, re, zlib
PATTERN = re.compile(r"(\\\\w+)@(\\\\w+)[.]com")
random.seed(1)
TEXT = " ".join(f"user{i}@host{i}.com and words" for i in range(400))
DATA = {f"k{i}": [i, i / 3, str(i), None, True] for i in range(400)}
NUMBERS = [random.random() for _ in range(6000)]
def parse():
    return json.loads(json.dumps(DATA))
def count(n):
    seen = {}
    for i in range(n):
        seen[i & 63] = seen.get(i & 63, 0) + i * i
    return seen
def order():
    list(NUMBERS).sort()
    return sorted(NUMBERS[:1500], key=lambda x: -x)
def work():
    PATTERN.sub("x", TEXT)
    zlib.compress(TEXT.encode())
    parse()
    count(8000)
    order()
""".replace("\\\\", "\\")
LOOP = "while True:\n    work()\n"
PYTHON = {
    "threads": PY + "import queue, threading\ntasks = queue.Queue(8)\n"
               "def worker():\n    while True:\n        tasks.get()()\n"
               "for _ in range(2):\n    threading.Thread(target=worker, daemon=True).start()\n"
               "while True:\n    tasks.put(work)\n",
    "processes": PY + "import multiprocessing, signal\nsignal.signal(signal.SIGINT, signal.SIG_DFL)  # a pool goes on\n"
                 "def job(n):\n    work()\n    return n\n"
                 "if __name__ == '__main__':\n    pool = multiprocessing.get_context('fork').Pool(2)\n"
                 "    while True:\n        pool.map(job, range(8))\n",
    "numpy": "import numpy\nr = numpy.random.default_rng(1)\na = r.random(200000)\nm = r.random((160, 160))\n"
             "def columns():\n    return numpy.sort(a), numpy.exp(a).sum(), numpy.unique((a * 99).astype(int))\n"
             "def matrices():\n    return numpy.linalg.svd(m), m @ m\n"
             "while True:\n    columns()\n    matrices()\n",
    "torch": "import torch\nm = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.LayerNorm(256),"
             " torch.nn.Linear(256, 64))\no = torch.optim.Adam(m.parameters())\nx = torch.randn(64, 64)\n"
             "def step():\n    o.zero_grad()\n    loss = (m(x) - x).square().mean()\n    loss.backward()\n"
             "    o.step()\nwhile True:\n    step()\n",
}
BEGIN_S = {"numpy": 2, "torch": 6}  # imports take a while under a profiler, and on a busy machine
PERL = r"""my $t = join " ", map { "user$_\@host$_.com and words" } 1 .. 400;
sub replace { (my $s = $t) =~ s/(\w+)\@(\w+)[.]com/$2 at $1/g; return length $s; }
sub tally { my %n; $n{$_ % 97} += $_ for 1 .. 8000; return join ",", sort { $n{$a} <=> $n{$b} } keys %n; }
while (1) { replace(); tally(); }
"""
RUBY = r"""require "json"
T = (1..400).map { |i| "user#{i}@host#{i}.com and words" }.join(" ")
D = (1..400).to_h { |i| ["k#{i}", [i, i / 3.0, i.to_s]] }
def replace = T.gsub(/(\w+)@(\w+)[.]com/, '\2 at \1')
def tally = (1..4000).group_by { |i| i % 97 }.transform_values(&:sum).sort_by { |_, v| v }
loop { replace; tally; JSON.parse(JSON.generate(D)) }
"""
NODE = r"""const t = Array.from({length: 400}, (_, i) => `user${i}@host${i}.com and words`).join(" ");
const d = Object.fromEntries(Array.from({length: 400}, (_, i) => ["k" + i, [i, i / 3, String(i)]]));
const z = require("zlib");
function replace() { return t.replace(/(\w+)@(\w+)[.]com/g, "$2 at $1"); }
function tally() { const m = new Map(); for (let i = 0; i < 20000; i++) m.set(i % 97, (m.get(i % 97) || 0) + i);
  return [...m].sort((a, b) => a[1] - b[1]); }
for (;;) { replace(); tally(); JSON.parse(JSON.stringify(d)); z.deflateSync(t); }
"""
LUA = r"""local function tally() local n = {} for i = 1, 20000 do n[i % 97] = (n[i % 97] or 0) + i end return n end
local t = {} for i = 1, 400 do t[i] = "user" .. i .. "@host" .. i .. ".com and words" end
local s = table.concat(t, " ")
while true do tally() s:gsub("(%w+)@(%w+)%.com", "%2 at %1") table.sort(t) end
"""
PHP = r"""<?php $t = implode(" ", array_map(fn($i) => "user$i@host$i.com and words", range(1, 400)));
function replace($t) { return preg_replace('/(\w+)@(\w+)[.]com/', '$2 at $1', $t); }
function tally() { $n = []; for ($i = 0; $i < 8000; $i++) $n[$i % 97] = ($n[$i % 97] ?? 0) + $i; asort($n); return $n; }
while (true) { replace($t); tally(); md5($t); json_decode(json_encode(explode(" ", $t))); }
"""
C = r"""#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile double sink;
__attribute__((noinline)) static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}
__attribute__((noinline)) static void order(uint32_t *v, int n, uint32_t seed)
{
	for (int i = 0; i < n; i++)
		v[i] = seed = seed * 1664525 + 1013904223;
	qsort(v, n, sizeof(*v), compare);
}
__attribute__((noinline)) static double solve(int n)
{
	double x = 1;
	for (int i = 0; i < n; i++)
		x = x - (x * x - 2 - i % 3) / (2 * x);
	return x;
}
__attribute__((noinline)) static void publish(const char *from, char *to)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 40; i++)
		memcpy(to, from, 65536);
	pthread_mutex_unlock(&lock);
}
static char shared[65536];
static void *run(void *unused)
{
	uint32_t *v = malloc(65536);
	for (uint32_t i = 0;; i++) {
		order(v, 16384, i);
		sink = solve(60000);
		publish((char *)v, shared);
	}
	return unused;
}
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, run, NULL);
	run(NULL);
}
"""
CXX = r"""#include <algorithm>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>
static volatile size_t sink;
[[gnu::noinline]] static std::string text()
{
	std::ostringstream out;
	for (int i = 0; i < 60; i++)
		out << "user" << i << "@host" << i * 1.5 << ".com and words ";
	return out.str();
}
[[gnu::noinline]] static size_t tally(int n)
{
	std::map<int, std::string> tree;
	std::unordered_map<int, size_t> hash;
	for (int i = 0; i < n; i++) {
		tree[i * 7919 % 1009] += 'x';
		hash[i % 97] += i;
	}
	return tree.size() + hash.size();
}
int main()
{
	static const std::regex pattern("([a-z0-9]+)@([a-z0-9]+)");
	for (;;) {
		std::string s = text();
		sink = std::regex_replace(s, pattern, "$2 at $1").size() + tally(4000);
	}
}
"""
RUST = r"""use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc;
use std::thread;
#[inline(never)]
fn words(text: &str) -> HashMap<&str, usize> {
    let mut n = HashMap::new();
    for w in text.split_whitespace() { *n.entry(w).or_insert(0) += 1; }
    n
}
#[inline(never)]
fn tree(n: u64) -> u64 {
    let mut t = BTreeMap::new();
    for i in 0..n { *t.entry(i * 7919 % 1009).or_insert(0) += i; }
    t.values().fold(0, |a, b| a ^ b)
}
#[inline(never)]
fn sorted(n: usize) -> Vec<String> {
    let mut v: Vec<String> = (0..n).map(|i| format!("{}", i * 7919 % 10007)).collect();
    v.sort();
    v
}
fn main() {
    let text: String = (0..4000).map(|i| format!("word{} ", i % 397)).collect();
    let (to, from) = mpsc::sync_channel(4);
    thread::spawn(move || loop { to.send(sorted(3000)).unwrap(); });
    loop {
        let v = from.recv().unwrap();
        std::hint::black_box((words(&text).len(), tree(5000), v));
    }
}
"""
GO = r"""package main

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
)

type row struct {
	Name  string
	Value float64
	Tags  []string
}

//go:noinline
func encode(rows []row) []byte { b, _ := json.Marshal(rows); return b }

//go:noinline
func decode(b []byte) []row { var r []row; json.Unmarshal(b, &r); return r }

//go:noinline
func pack(b []byte) int {
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, 6)
	w.Write(b)
	w.Close()
	return out.Len()
}

//go:noinline
func tally(n int) int {
	m := map[string]int{}
	for i := 0; i < n; i++ {
		m[fmt.Sprint(i%97)] += i
	}
	k := make([]string, 0, len(m))
	for s := range m {
		k = append(k, s)
	}
	sort.Strings(k)
	return len(strings.Join(k, ","))
}

func main() {
	var rows []row
	for i := 0; i < 300; i++ {
		rows = append(rows, row{fmt.Sprint("name", i), float64(i) / 3, []string{"a", "b"}})
	}
	c := make(chan []byte, 4)
	go func() {
		for {
			c <- encode(rows)
		}
	}()
	for {
		b := <-c
		decode(b)
		pack(b)
		tally(2000)
	}
}
"""
SQL = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000) "
       "SELECT count(*), sum(length(printf('%d-%s', i, hex(i)))), max(i * 7919 % 1009) FROM n "
       "WHERE i % 3 = 0 OR 'row' || i LIKE '%99%';")
AWK = '{ n[$1 % 997] += $2; if ($0 ~ /99[0-9]*7 word/) k++; gsub(/word/, "w") }'
FFMPEG = ["-v", "error", "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=30", "-vf", "noise=alls=20,gblur=2",
          "-c:v", "mpeg2video", "-threads", "2", "-f", "null", "-"]


class Program:
    def __init__(self, command, fed=False, client=None, environment=None, here=False, begin_s=0.7):
        self.command, self.fed, self.client, self.environment = command, fed, client, environment or {}
        self.here, self.begin_s = here, begin_s


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def write_text(path):
    """Some megabytes that are everywhere alike."""
    draw = random.Random(1)
    words = [f"word{draw.randrange(3000)}" for _ in range(20000)]
    with open(path, "w", encoding="ascii") as file:
        for i in range(60000):
            file.write(f"{draw.randrange(10**6)} {i % 997} {' '.join(draw.choices(words, k=8))}\n")


def compiled(folder, name, suffix, text, command):
    """The program of TEXT; None where COMMAND is not there or does not work."""
    path, out = write(os.path.join(folder, f"{name}.{suffix}"), text), os.path.join(folder, name)
    if not shutil.which(command[0]):
        return None
    done = subprocess.run([*command, "-o", out, path], capture_output=True, check=False, cwd=folder)
    return [out] if not done.returncode else None


def pythons():
    """{"3.11": path}, of each minor version."""
    found = {}
    for path in sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))):
        minor = path.split("/3.")[1].split(".")[0].split("/")[0]
        if minor.isdigit() and int(minor) >= 8:
            found[f"3.{minor}"] = path
    return found or {"%d.%d" % sys.version_info[:2]: sys.executable}


def with_packages(folder, python, name):
    script = write(os.path.join(folder, f"steady_{name}.py"), PYTHON[name])
    module = name if name in ("numpy", "torch") else "sys"
    there = subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False)
    return Program([python, script] if not there.returncode else None, begin_s=BEGIN_S.get(name, 1),
                   environment={"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})


def programs(folder, python):
    """{name: a function that makes the Program}; NumPy and PyTorch are those of PYTHON."""
    text = os.path.join(folder, "text")
    write_text(text)

    def found(*command):
        return list(command) if shutil.which(command[0]) else None

    def built(name, *arguments):
        return compiled(folder, name, *arguments)

    def script(suffix, content):
        return write(os.path.join(folder, f"steady.{suffix}"), content)

    source = write(os.path.join(folder, "source.cc"), CXX)
    redis = os.path.join(folder, "redis.sock")
    compiling = f"while :; do g++ -O1 -g -S -o /dev/null {source}; done"
    sorting = f"while :; do sort {text} | uniq -c | tail -1; done"
    searching = "while :; do git grep -c 'static.*int' -- base; git log --stat -4; done"
    every = {
        "c": lambda: Program(built("c", "c", C, ["gcc", "-O2", "-g", "-pthread"])),
        "c static": lambda: Program(built("c static", "c", C, ["gcc", "-O2", "-static", "-pthread"])),
        "c++": lambda: Program(built("c++", "cc", CXX, ["g++", "-O2", "-g"])),
        "rust": lambda: Program(built("rust", "rs", RUST, ["rustc", "-O", "-g", "--crate-name", "steady"])),
        "go": lambda: Program(built("go", "go", GO, ["go", "build"])),
        "xz": lambda: Program(found("xz", "-1", "-T1", "-c", *[text] * MANY)),
        "zstd threads": lambda: Program(found("zstd", "-12", "-T2", "-q", "-c", *[text] * MANY)),
        "gzip": lambda: Program(found("gzip", "-9", "-c", *[text] * MANY)),
        "bzip2": lambda: Program(found("bzip2", "-c", *[text] * MANY)),
        "awk": lambda: Program(found("awk", AWK, *[text] * MANY)),
        "awk in a pipe": lambda: Program(found("awk", AWK), fed=True),
        "sort": lambda: Program(found("sh", "-c", sorting)),
        "g++": lambda: Program(found("sh", "-c", compiling) if shutil.which("g++") else None),
        "openssl": lambda: Program(found("openssl", "speed", "-seconds", "600", "-bytes", "4096", "aes-256-cbc")),
        "openssl multi": lambda: Program(found("openssl", "speed", "-seconds", "600", "-multi", "2", "rsa2048")),
        "perl": lambda: Program(found("perl", script("pl", PERL))),
        "ruby": lambda: Program(found("ruby", script("rb", RUBY))),
        "node": lambda: Program(found("node", "--perf-basic-prof", script("js", NODE))),
        "luajit": lambda: Program(found("luajit", script("lua", LUA))),
        "php": lambda: Program(found("php", script("php", PHP))),
        "sqlite3": lambda: Program(found("sqlite3", ":memory:", SQL)),
        "redis": lambda: Program(found("redis-server", "--port", "0", "--unixsocket", redis, "--save", ""),
                                 client=["redis-benchmark", "-s", redis, "-l", "-q", "-c", "10", "-P", "8", "-d", "200",
                                         "-n", "4000", "-r", "2000", "-t", "set,get,sadd,hset"]),
        "ffmpeg": lambda: Program(found("ffmpeg", *FFMPEG)),
        "git": lambda: Program(found("sh", "-c", searching), here=True),
    }
    work = script("py", PY + LOOP)
    for version, path in pythons().items():
        every[f"python {version}"] = lambda path=path: Program([path, work])
    for name in PYTHON:
        every[f"python {name}"] = lambda name=name: with_packages(folder, python, name)
    return every


def client_of(program, environment):
    """Started as soon as there is somebody to talk to."""
    if not program.client:
        return None
    path = program.client[2]
    for _ in range(100):
        if os.path.exists(path):
            break
        time.sleep(0.05)
    return subprocess.Popen(program.client, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
