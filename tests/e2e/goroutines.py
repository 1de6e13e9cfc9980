#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Goroutines of Go programs: what they wait for, and where."""
import itertools
import json
import os
import re
import shutil
import subprocess
import tempfile

from harness import NO_PERF, Case, main, need

# 20 wait for a channel, 10 for a mutex that one holds which waits, 5 sleep, and one waits for input.
PROGRAM = """package main

import (
	"bufio"
	"fmt"
	"os"
	"sync"
	"time"
)

var lock sync.Mutex

func receiver(c chan int) {
	for range c { // line: receive
	}
}

func holder(end chan bool) {
	lock.Lock()
	<-end // line: held
	lock.Unlock()
}

func locker() {
	lock.Lock() // line: lock
	lock.Unlock()
}

func sleeper() {
	for {
		time.Sleep(time.Hour) // line: sleep
	}
}

func main() {
	c := make(chan int)
	end := make(chan bool)
	for i := 0; i < 20; i++ {
		go receiver(c)
	}
	go holder(end)
	time.Sleep(20 * time.Millisecond)
	for i := 0; i < 10; i++ {
		go locker()
	}
	for i := 0; i < 5; i++ {
		go func() {
			fmt.Fprint(os.Stderr, "")
			sleeper()
		}()
	}
	if len(os.Args) > 1 {
		fmt.Println("ready")
		bufio.NewReader(os.Stdin).ReadString('\\n') // line: input
	} else {
		time.Sleep(2 * time.Second) // line: main
	}
	end <- true
}
"""

# All compute: more than there are CPUs.
BUSY = """package main

import "time"

var sum [8]int

func spin(i int) {
	for {
		sum[i]++
	}
}

func main() {
	for i := 0; i < 8; i++ {
		go spin(i)
	}
	time.Sleep(2 * time.Second)
}
"""

# 20,000 wait, one of four for something else.
MANY = """package main

import (
	"fmt"
	"os"
	"time"
)

func receiver(c chan int) {
	<-c
}

func sender(c chan int) {
	c <- 1
}

func main() {
	in, out := make(chan int), make(chan int)
	for i := 0; i < 20000; i++ {
		if i%4 == 0 {
			go sender(out)
		} else {
			go receiver(in)
		}
	}
	time.Sleep(time.Duration(len(os.Args)) * 2 * time.Second)
	fmt.Println("end")
}
"""

# 8 goroutines wait for each other: for a mutex, for a channel's only producer, for the last member of a group.
HOLDERS = """package main

import (
	"os"
	"sync"
	"time"
)

var lock sync.Mutex
var table [1 << 16]uint64

func work(n int) {
	for i := 0; i < n; i++ {
		k := uint64(i)*2654435761 + table[i&0xffff] // line: work
		table[k&0xffff] += k >> 3 // line: work too
	}
}

func slow(sleeps bool) {
	if sleeps {
		time.Sleep(5 * time.Millisecond) // line: sleeps
	} else {
		work(4000000)
	}
}

func update(sleeps bool) {
	lock.Lock() // line: locks
	slow(sleeps)
	lock.Unlock()
}

func updater(group *sync.WaitGroup, sleeps bool) {
	defer group.Done()
	for i := 0; i < 50; i++ {
		update(sleeps)
	}
}

func producer(c chan int, sleeps bool) {
	for i := 0; i < 400; i++ {
		slow(sleeps)
		c <- i
	}
	close(c)
}

func consumer(group *sync.WaitGroup, c chan int) {
	defer group.Done()
	for range c { // line: receives
	}
}

func member(group *sync.WaitGroup, count int) {
	defer group.Done()
	for i := 0; i < count; i++ {
		slow(true)
	}
}

func main() {
	var group sync.WaitGroup
	c := make(chan int)
	sleeps := os.Args[2] == "sleep"
	if os.Args[1] == "channel" {
		go producer(c, sleeps)
	}
	for i := 0; i < 8; i++ {
		group.Add(1)
		switch os.Args[1] {
		case "mutex":
			go updater(&group, sleeps)
		case "channel":
			go consumer(&group, c)
		case "group":
			if i == 7 {
				go member(&group, 300)
			} else {
				go member(&group, 3)
			}
		case "twin":
			go member(&group, 200)
		}
	}
	group.Wait() // line: waits
}
"""

# C functions run on the thread's stack, their callers on a goroutine's.
CGO = """package main

/*
#include <stdint.h>
static volatile uint64_t sink;
__attribute__((noinline)) uint64_t burn_c(uint64_t n)
{
	volatile uint64_t x = n;
	for (uint64_t i = 0; i < n; i++)
		x = x * 2654435761u + i;
	return x;
}
__attribute__((noinline)) void first_c(uint64_t n) { sink = burn_c(n); sink++; }
__attribute__((noinline)) uint64_t second_c(uint64_t n) { return burn_c(n) + 1; }
*/
import "C"

import "time"

//go:noinline
func first(n int) {
	C.first_c(C.uint64_t(n))
}

//go:noinline
func second(n int) uint64 {
	return uint64(C.second_c(C.uint64_t(n))) + 1
}

//go:noinline
func work(n int) uint64 {
	first(n)
	return second(n) + 1
}

func main() {
	end := time.Now().Add(4 * time.Second)
	for time.Now().Before(end) {
		work(2000000)
	}
}
"""

WITHIN = 0.05  # of the time of all goroutines


def line_of(program, mark):
    return 1 + next(i for i, line in enumerate(program.splitlines()) if line.endswith(f"// line: {mark}"))


class Goroutines(Case):
    @classmethod
    def setUpClass(cls):
        cls.cache = tempfile.mkdtemp(prefix="e2e-go-")
        cls.addClassCleanup(shutil.rmtree, cls.cache, ignore_errors=True)

    def build(self, text, *options):
        """./app, by the go in PATH."""
        need("go")
        with open(os.path.join(self.work, "app.go"), "w", encoding="utf-8") as file:
            file.write(text)
        environment = self.environment(GOCACHE=self.cache, GOFLAGS="", GO111MODULE="off")
        subprocess.run(["go", "build", *options, "-o", "app", "app.go"], cwd=self.work, env=environment,
                       check=True)

    def rows(self, profile):
        table = self.verb("report", "--export", "json=-", "--table", "goroutines", profile)
        self.assertEqual(table.returncode, 0, table.stderr)
        rows = json.loads(table.stdout)["tables"]["goroutines"]
        return ({row["function"]: row for row in rows if row["kind"] == "goroutine"},
                [row for row in rows if row["kind"] == "wait"])

    def check_waits(self, profile, main_reason, main_line):
        kinds, waits = self.rows(profile)
        whole = sum(row["total_ns"] for row in kinds.values())
        truth = (("main.receiver", 20, "chan receive", "main.receiver", "receive"),
                 ("main.locker", 10, "sync.Mutex.Lock", "main.locker", "lock"),
                 ("main.main.func1", 5, "sleep", "main.sleeper", "sleep"),
                 ("main.holder", 1, "chan receive", "main.holder", "held"),
                 ("main.main", 1, main_reason, "main.main", main_line))
        # In newer versions the compiler gives the closure another number.
        kinds = {("main.main.func1" if name.startswith("main.main.func") else name): row
                 for name, row in kinds.items()}
        for name, count, reason, function, mark in truth:
            self.assertIn(name, kinds)
            row = kinds[name]
            self.assertEqual(row["most_at_once"], count, name)
            self.assertAlmostEqual(row["total_ns"] / whole, count / 37, delta=WITHIN, msg=name)
            self.assertEqual(row["running_ns"] + row["runnable_ns"] + row["waiting_ns"], row["total_ns"])
            line = line_of(PROGRAM, mark)
            here = [wait for wait in waits if (wait["reason"], wait["at_function"], wait["at_line"]) ==
                    (reason, function, line) and wait["at_file"].endswith("/app.go")]
            self.assertEqual(len(here), 1, (name, reason, waits))
            self.assertGreater(here[0]["waiting_ns"], 0.9 * row["total_ns"], name)
            self.assertAlmostEqual(here[0]["waiting_ns"] / whole, count / 37, delta=WITHIN, msg=name)

    def test_what_goroutines_wait_for_has_its_place_and_reason(self):
        self.build(PROGRAM)
        done = self.profile_run(["./app"])
        self.check_waits(done.profile, "sleep", "main")
        self.assertRegex(done.report, r"(?m)^goroutines .*at once on average: running")
        self.assertRegex(done.report, r"chan receive in main\.receiver +app\.go:%d" % line_of(PROGRAM, "receive"))
        self.assertRegex(done.report, r"sync\.Mutex\.Lock in main\.locker +app\.go:%d" % line_of(PROGRAM, "lock"))
        self.assertNotIn("goroutines are missing", " ".join(done.report.split()))

    def test_position_independent_programs_have_theirs_elsewhere(self):
        self.build(PROGRAM, "-buildmode=pie")
        self.check_waits(self.profile_run(["./app"]).profile, "sleep", "main")

    def test_a_program_that_runs_already_has_the_same(self):
        self.build(PROGRAM)
        with subprocess.Popen([os.path.join(self.work, "app"), "input"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              cwd=self.work) as app:
            self.assertEqual(app.stdout.readline(), b"ready\n")
            profile = self.path("attached.bneck")
            done = self.verb("-p", str(app.pid), "--duration", "2", "-o", profile)
            app.stdin.write(b"\n")
            app.stdin.close()
            self.assertEqual(app.wait(), 0)
        self.assertEqual(done.returncode, 0, done.stderr)
        kinds, waits = self.rows(profile)
        self.assertEqual({name: row["most_at_once"] for name, row in kinds.items() if ".func" not in name},
                         {"main.receiver": 20, "main.locker": 10, "main.holder": 1, "main.main": 1})
        self.assertAlmostEqual(kinds["main.receiver"]["mean_at_once"], 20, delta=2)
        self.assertIn(("chan receive", line_of(PROGRAM, "held")),
                      {(wait["reason"], wait["at_line"]) for wait in waits})

    def check_holder(self, first, place, waiters, reason, at):
        """The first sentence of the report has the line, the resource and who waits for it."""
        self.assertRegex(first, r" %% of wall time is [^ ]+ \((app\.go:%s)\)" % place)
        self.assertRegex(first, r"%s .*in %s at [^ ]+ \(app\.go:%d\)" % (waiters, reason, line_of(HOLDERS, at)))

    def first_sentence(self, profile):
        digest = self.verb("report", "--export", "digest=-", profile).stdout.decode()
        return next(line for line in digest.splitlines() if line.startswith("verdict: "))

    def test_the_verdict_names_who_holds_what_goroutines_wait_for(self):
        self.build(HOLDERS)
        works = f"({line_of(HOLDERS, 'work') - 1}|{line_of(HOLDERS, 'work')}|{line_of(HOLDERS, 'work too')})"
        for way, how, place, waiters, reason, at in (
                ("mutex", "sleep", line_of(HOLDERS, "sleeps"), r"[3-8](\.\d)? goroutines wait", r"sync\.Mutex\.Lock", "locks"),
                ("mutex", "work", works, r"[3-8](\.\d)? goroutines wait", r"sync\.Mutex\.Lock", "locks"),
                ("channel", "sleep", line_of(HOLDERS, "sleeps"), r"8 goroutines wait", "chan receive", "receives"),
                ("channel", "work", works, r"[78](\.\d)? goroutines wait", "chan receive", "receives"),
                ("group", "sleep", line_of(HOLDERS, "sleeps"), r"main\.main waits", r"sync\.WaitGroup\.Wait", "waits")):
            with self.subTest(way=way, how=how):
                done = self.profile_run(["./app", way, how])
                self.check_holder(self.first_sentence(done.profile), place, waiters, reason, at)

    def test_the_verdict_is_the_same_without_perf_events(self):
        """Nothing of ours is in a static program: what is mapped there is read from outside, too."""
        self.build(HOLDERS)
        done = self.profile_run(["./app", "mutex", "sleep"], prefix=(NO_PERF,))
        self.check_holder(self.first_sentence(done.profile), line_of(HOLDERS, "sleeps"), r"[3-8](\.\d)? goroutines wait",
                          r"sync\.Mutex\.Lock", "locks")

    def test_the_verdict_is_the_same_of_a_program_that_runs_already(self):
        self.build(HOLDERS)
        with subprocess.Popen([os.path.join(self.work, "app"), "mutex", "sleep"], cwd=self.work) as app:
            profile = self.path("attached.bneck")
            done = self.verb("-p", str(app.pid), "--duration", "1.5", "-o", profile)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_holder(self.first_sentence(profile), line_of(HOLDERS, "sleeps"), r"[3-8](\.\d)? goroutines wait",
                          r"sync\.Mutex\.Lock", "locks")

    def test_goroutines_that_sleep_side_by_side_wait_for_no_single_one(self):
        self.build(HOLDERS)
        done = self.profile_run(["./app", "twin", "sleep"])
        self.assertNotIn("goroutines wait", self.first_sentence(done.profile))
        self.assertNotIn("main.main waits", self.first_sentence(done.profile))

    def test_goroutines_without_a_cpu_are_runnable(self):
        self.build(BUSY)
        # Two at most run at once.
        done = self.profile_run(["./app"], env=self.environment(GOMAXPROCS="2"))
        spin = self.rows(done.profile)[0]["main.spin"]
        self.assertAlmostEqual(spin["running_ns"] / spin["total_ns"], 2 / 8, delta=WITHIN)
        self.assertAlmostEqual(spin["runnable_ns"] / spin["total_ns"], 6 / 8, delta=WITHIN)

    def test_of_very_many_some_stand_for_all(self):
        self.build(MANY)
        done = self.profile_run(["./app"])
        kinds, waits = self.rows(done.profile)
        share = kinds["main.sender"]["total_ns"] / sum(row["total_ns"] for row in kinds.values())
        self.assertAlmostEqual(share, 0.25, delta=WITHIN)
        self.assertAlmostEqual(kinds["main.receiver"]["most_at_once"], 15000, delta=1500)
        self.assertIn("chan send", {wait["reason"] for wait in waits})
        self.assertRegex(" ".join(self.verb("report", done.profile).stdout.decode().split()),
                         "times of goroutines are estimates of 1000 drawn from up to 20,0")

    def check_callers_of_c(self, stacks):
        """Of the stacks with burn_c, at least 95 % reach main.main by way of the right function, and none by the other."""
        whole = right = cut = 0
        for line in stacks.decode().splitlines():
            stack, samples = line.rsplit(" ", 1)
            names = [frame.split(" (")[0] for frame in stack.split(";")]
            if "burn_c" not in names:
                continue
            whole += int(samples)
            cut += int(samples) * ("[callers missing]" in names)
            for mine, other in (("first", "second"), ("second", "first")):
                if f"{mine}_c" in names:
                    self.assertNotIn(f"main.{other}", names, stack)
                    callers = ["main.main", "main.work", f"main.{mine}"]
                    right += int(samples) * ([name for name in names if name in callers] == callers)
        self.assertGreater(whole, 100)
        self.assertLess(cut / whole, 0.05)
        self.assertGreater(right / whole, 0.95)

    def test_c_functions_have_their_go_callers(self):
        need("gcc")
        for mode, prefix in (("exe", ()), ("pie", ()), ("exe", (NO_PERF,))):
            with self.subTest(mode=mode, prefix=prefix):
                self.build(CGO, f"-buildmode={mode}")
                done = self.profile_run(["./app"], prefix=prefix)
                self.check_callers_of_c(self.verb("report", "--export", "collapsed=-", done.profile).stdout)

    def test_stripped_programs_have_the_same(self):
        program = re.sub(r"\n(?=func (receiver|holder|locker|sleeper)\()", "//go:noinline\n", PROGRAM)
        linkers = ["", " -linkmode=external"] if shutil.which("gcc") else [""]
        for mode, linker in itertools.product(("exe", "pie"), linkers):
            self.build(program, f"-ldflags=-s -w{linker}", f"-buildmode={mode}")
            self.check_waits(self.profile_run(["./app"]).profile, "sleep", "main")

    def test_stripped_programs_of_other_versions_are_named_in_the_limits(self):
        self.build(PROGRAM, "-ldflags=-s -w")
        app = os.path.join(self.work, "app")
        with open(app, "rb") as file:
            text = file.read()
        version = subprocess.run(["go", "env", "GOVERSION"], stdout=subprocess.PIPE, check=True).stdout.strip()
        other = b"go1.3" + version[5:]
        with open(app, "wb") as file:
            file.write(text.replace(version, other))
        done = self.profile_run(["./app"])
        self.assertEqual(self.rows(done.profile), ({}, []))
        report = " ".join(self.verb("report", done.profile).stdout.decode().split())
        self.assertIn("goroutines are missing of app, which has no debug information", report)
        self.assertIn("was not built by Go 1.19 and 1.21 to 1.27 for x86-64", report)


if __name__ == "__main__":
    main()
