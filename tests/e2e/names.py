# SPDX-License-Identifier: MIT
"""Functions of other languages by their names. --names: those of Node, Java and PHP, with the program's
output as without it, and nothing that stays behind; the limits say how to get them. Go's: always."""
import glob
import os
import re
import subprocess

from harness import Case, main, need

# Each works until it has computed for a second, however busy the machine is.
NODE = """'use strict';
function hot(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i) * (i % 7); return s; }
let sum = 0;
while (process.cpuUsage().user < 1e6) sum += hot(1e6);
console.log(process.env.NODE_OPTIONS || 'none');
console.error(sum > 0);
process.exitCode = 3;
"""
PHP = """<?php
class Cart { function total($n) { $s = 0; for ($i = 0; $i < $n; $i++) $s += $i % 7; return $s; } }
$cart = new Cart; $sum = 0;
while (getrusage()['ru_utime.tv_sec'] < 1) $sum += $cart->total(100000);
echo $sum > 0 ? "done" : "", "\\n";
exit(3);
"""
JAVA = """package shop;
public class Cart {
  static long total(int n) { long s = 0; for (int i = 0; i < n; i++) s += i % 7; return s; }
  public static void main(String[] arguments) {
    long sum = 0, end = System.nanoTime() + 2_000_000_000L;
    while (System.nanoTime() < end) sum += total(1_000_000);
    System.out.println(sum > 0);
    System.err.println("done");
    System.exit(3);
  }
}
"""

GO = """package main

import "time"

type Cart struct{ items int }

//go:noinline
func (c *Cart) Total() int {
	return c.sum(1000000) + 1
}

func (c *Cart) sum(n int) int {
	s := 0
	for i := 0; i < n; i++ {
		s += i % 7 * c.items
	}
	return s
}

func main() {
	c := &Cart{3}
	sum := 0
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		sum += c.Total()
	}
	println(sum != 0)
}
"""

# With C, which a linker of C has to put together.
CGO = GO.replace('import "time"', '''/*
static long burn(long n) { long s = 0; for (long i = 0; i < n; i++) s += i % 7 * n; return s; }
*/
import "C"
import "time"''').replace("sum += c.Total()", "sum += c.Total() + int(C.burn(1000))")

# What the maps of these programs have; those of other tests do not.
MARKS = (b"Cart::total", b"shop.Cart")


def left(work):
    """The maps that processes of these programs, with their files in WORK, have left."""
    found = set()
    for path in glob.glob("/tmp/perf-*.map"):
        try:
            with open(path, "rb") as file:
                text = file.read()
        except OSError:
            continue
        if work.encode() in text or any(mark in text for mark in MARKS):
            found.add(path)
    return found


class Names(Case):
    def write(self, name, text):
        with open(os.path.join(self.work, name), "w", encoding="utf-8") as file:
            file.write(text)

    def check_run(self, command, *options, **run_options):
        """The report of a run with --names that ends and prints as one without us does."""
        bare = self.bare(command, **run_options)
        before = left(self.work)
        done = self.profile_run(command, "--names", *options, **run_options)
        self.assertEqual((done.status, done.err), (bare.returncode, bare.stderr))
        self.assertEqual(left(self.work) - before, set())
        return done, bare

    def test_functions_of_node_have_names_and_lines(self):
        need("node")
        self.write("app.js", NODE)
        done, bare = self.check_run(["node", "app.js"])
        self.assertEqual((bare.stdout, done.out), (b"none\n", b"--perf-basic-prof\n"))
        self.assertEqual(done.status, 3)
        self.assertRegex(done.report, r"\shot\s+app\.js:2\b")

    def test_a_function_that_several_processes_run_is_one_row(self):
        need("node")
        self.write("app.js", NODE)
        done = self.profile_run(["sh", "-c", "node app.js; node app.js"], "--names")
        table = self.verb("report", "--sort", "self", done.profile).stdout.decode()
        rows = [line for line in table.splitlines() if re.search(r"\shot\s+app\.js:2", line)]
        self.assertEqual(len(rows), 1, table)

    def test_options_of_the_user_for_node_stay(self):
        need("node")
        self.write("app.js", NODE)
        environment = self.environment(NODE_OPTIONS="--max-old-space-size=512")
        done, _ = self.check_run(["node", "app.js"], env=environment)
        self.assertEqual(done.out, b"--max-old-space-size=512 --perf-basic-prof\n")

    def test_a_map_that_the_user_wants_stays(self):
        need("node")
        self.write("app.js", NODE)
        before = left(self.work)
        self.profile_run(["node", "--perf-basic-prof", "app.js"], "--names")
        made = left(self.work) - before
        for path in made:
            os.unlink(path)
        self.assertEqual(len(made), 1, made)

    def test_without_names_the_limits_say_how_to_get_them(self):
        need("node")
        self.write("app.js", NODE)
        done = self.profile_run(["node", "app.js"])
        text = " ".join(done.report.split())
        self.assertRegex(text, r"no names for \[jit \d+\].*profile with --names, or run node --perf-basic-prof")
        self.assertIn("For the names of its functions, profile with --names", text)
        self.assertNotRegex(done.report, r"\shot\s")

    def test_functions_of_php_have_names(self):
        need("php")
        self.write("cart.php", PHP)
        jit = ["-d", "opcache.enable_cli=1", "-d", "opcache.jit_buffer_size=16M", "-d",
               "opcache.jit=tracing", "-d", "opcache.file_update_protection=0"]
        seen = self.bare(["php", *jit, "-r",
                          "echo opcache_get_status()['jit']['on'] ? 'on' : 'off';"])
        if seen.stdout != b"on":
            self.skipTest("this PHP has no compiler")
        done, bare = self.check_run(["php", *jit, "cart.php"])
        self.assertEqual((done.out, done.status), (bare.stdout, 3))
        self.assertIn("Cart::total", done.report)

    def build_java(self):
        need("java", "javac")
        os.mkdir(os.path.join(self.work, "shop"))
        self.write("shop/Cart.java", JAVA)
        subprocess.run(["javac", "-d", ".", "shop/Cart.java"], cwd=self.work, check=True)

    def test_methods_of_java_have_names(self):
        self.build_java()
        done, bare = self.check_run(["java", "-cp", ".", "shop.Cart"])
        self.assertEqual((done.out, done.status), (bare.stdout, 3))
        text = " ".join(done.report.split())
        if "older than 17" in text:
            self.skipTest("this JVM has no Compiler.perfmap")
        self.assertIn("shop.Cart.total(int)", text)

    def test_a_jvm_that_refuses_is_left_alone(self):
        self.build_java()
        for options in (["-XX:+DisableAttachMechanism"],
                        ["-XX:+DisableAttachMechanism", "-XX:-UsePerfData"]):
            done, bare = self.check_run(["java", *options, "-cp", ".", "shop.Cart"])
            self.assertEqual((done.out, done.status), (bare.stdout, 3))
            text = " ".join(done.report.split())
            self.assertRegex(text, r"--names got no names from the JVM \d+: its options do not allow")
            self.assertNotIn("profile with --names", text)

    def test_a_stripped_program_of_go_has_names_and_lines(self):
        need("go", "gcc")
        cache = self.environment(GOCACHE=self.path("cache"), GOFLAGS="", GO111MODULE="off")
        for mode, source in (("exe", GO), ("pie", GO), ("exe", CGO), ("pie", CGO)):
            self.write("cart.go", source)
            total, inlined = (number for number, line in enumerate(source.splitlines(), 1)
                              if "func (c *Cart)" in line)
            flags = "-s -w" if source is GO else "-s -w -linkmode=external"
            subprocess.run(["go", "build", "-buildmode", mode, "-ldflags", flags, "-o", "cart", "cart.go"],
                           cwd=self.work, env=cache, check=True)
            done = self.profile_run(["./cart"])
            self.assertNotIn("no names for", done.report)
            tree = self.verb("report", "--call-tree", done.profile).stdout.decode()
            self.assertRegex(tree, rf"main\.\(\*Cart\)\.Total +cart\.go:{total + 1}\n"
                                   rf".* main\.\(\*Cart\)\.sum +cart\.go:({inlined + 2}|{inlined + 3})")


if __name__ == "__main__":
    main()
