# SPDX-License-Identifier: MIT
"""bottleneck count: the same number every time, and callgrind_annotate's to the last digit."""
import glob
import json
import os
import re
import subprocess

from harness import Case, main, need, target

PROGRAM = r"""
#include <stdio.h>
#include <string.h>
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static inline int square(int x) { return x * x; }
__attribute__((noinline)) int squares(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += square(i);
    return sum;
}
int main(int argc, char **argv)
{
    char line[100];
    if (argc > 1 && !strcmp(argv[1], "read") && fgets(line, sizeof(line), stdin))
        printf("read %s", line);
    printf("%d %d\n", fib(15), squares(argc > 1 && !strcmp(argv[1], "more") ? 2000 : 1000));
    return argc > 1 && !strcmp(argv[1], "fail") ? 7 : 0;
}
"""


class Count(Case):
    def setUp(self):
        super().setUp()
        need("valgrind", "cc")
        self.program = os.path.join(self.directory, "program")
        source = os.path.join(self.directory, "program.c")
        with open(source, "w", encoding="ascii") as file:
            file.write(PROGRAM)
        subprocess.run(["cc", "-g", "-O1", "-o", self.program, source], check=True)

    def count(self, *arguments, **options):
        return self.verb("count", *arguments, **options)

    def rows(self, *arguments):
        done = self.count("--json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        text = done.stdout[done.stdout.index(b"{"):]  # behind what the program has printed
        return json.loads(text)

    def test_it_is_the_same_twice(self):
        first, second = self.rows("--noise", self.program), self.rows("--noise", self.program)
        self.assertGreater(first["instructions"], 10000)
        self.assertEqual(first, second)

    def test_functions_are_found(self):
        rows = {row["name"]: row for row in self.rows(self.program)["rows"]}
        self.assertEqual(rows["squares"]["calls"], 1)
        self.assertGreater(rows["squares"]["self"], 3000)
        self.assertGreaterEqual(rows["main"]["total"], rows["fib"]["total"])
        self.assertEqual(rows["fib"]["self"], rows["fib"]["total"])  # it calls itself alone
        self.assertEqual(rows["fib"]["calls"], 1)
        self.assertEqual(rows["fib"]["file"].split("/")[-1], "program.c")

    def test_self_is_annotates_to_the_last_digit(self):
        need("callgrind_annotate")
        kept = os.path.join(self.directory, "cg")
        environment = self.environment(PYTHONHASHSEED="0")
        subprocess.run(["setarch", "-R", "valgrind", "-q", "--tool=callgrind", "--dump-line=yes",
                        "--trace-children=yes", f"--callgrind-out-file={kept}",
                        self.program], check=True, cwd=self.work, env=environment,
                       stdout=subprocess.DEVNULL)
        text = subprocess.run(["callgrind_annotate", "--threshold=100", "--auto=no", kept],
                              check=True, capture_output=True, cwd=self.work).stdout.decode()
        theirs = {}
        for line in text.splitlines():
            found = re.match(r" *([\d,]+) \([\d. ]+%\)  (.*?):(\S+?|\(below main\))(?:'\d+)?"
                             r"(?: \[.*\])?$", line)
            if found and "PROGRAM TOTALS" not in line:
                name = found[3]
                theirs[name] = theirs.get(name, 0) + int(found[1].replace(",", ""))
        ours = {}
        for row in self.rows("--noise", self.program)["rows"]:
            if row["self"] and row["module"] in ("program", "libc.so.6"):
                ours[row["name"]] = ours.get(row["name"], 0) + row["self"]
        for name in ("main", "fib", "squares", "__vfprintf_internal", "_IO_file_xsputn@@GLIBC_2.2.5"):
            if name in theirs:
                self.assertEqual(ours[name], theirs[name], name)
        self.assertTrue({"main", "fib", "squares"} <= set(theirs), theirs)

    def test_a_baseline_is_taken_away(self):
        kept = self.path("base.bneck")
        self.assertEqual(self.count("-o", kept, self.program).returncode, 0)
        document = self.rows("--baseline", kept, self.program)
        self.assertEqual(document["rows"], [])
        document = self.rows("--baseline", kept, self.program, "more")
        self.assertEqual(document["rows"][0]["name"], "squares")
        self.assertGreater(document["rows"][0]["self"], 3000)
        document = self.rows("--baseline-run", f"{self.program} more", self.program)
        self.assertEqual(document["rows"][0]["name"], "squares")
        self.assertLess(document["rows"][0]["self"], -3000)

    def test_rows_are_chosen_and_renamed(self):
        names = [row["name"] for row in self.rows("--filter", "fi*", self.program)["rows"]]
        self.assertIn("fib", names)
        self.assertNotIn("squares", names)
        names = [row["name"] for row in
                 self.rows("--transform", "squares=cubes", self.program)["rows"]]
        self.assertIn("cubes", names)
        lines = self.rows("--by", "line", self.program)["rows"]
        self.assertTrue(any(row["file"].endswith("program.c") and row["line"] == 5
                            for row in lines), "the inlined line")
        modules = [row["name"] for row in self.rows("--by", "module", self.program)["rows"]]
        self.assertIn("program", modules)

    def test_sums_of_all_rows_are_what_was_executed(self):
        for by in ("function", "line", "file", "module"):
            document = self.rows("--noise", "--by", by, self.program)
            self.assertEqual(sum(row["self"] for row in document["rows"]),
                             document["instructions"], by)

    def test_the_program_keeps_its_streams_and_status(self):
        done = self.count(self.program, "read", input=b"this\n")
        self.assertTrue(done.stdout.startswith(b"read this\n"), done.stdout)
        self.assertIn(b"instructions", done.stderr)
        self.assertEqual(self.count(self.program, "fail").returncode, 7)
        done = self.count("sh", "-c", "kill -TERM $$")
        self.assertEqual(done.returncode, -15, done.stderr.decode())
        self.assertEqual(glob.glob(os.path.join(self.work, "*")), [])

    def test_children_count(self):
        alone = self.rows("--noise", self.program)["instructions"]
        both = self.rows("--noise", "sh", "-c", f"{self.program}; {self.program}; true")
        self.assertGreater(both["instructions"], 2 * alone)

    def test_what_cannot_be(self):
        self.assertEqual(self.count("./no-such-program").returncode, 127)
        self.assert_clean_message(self.count())
        self.assert_clean_message(self.count("--transform", "x", "true"), "FROM=TO")
        done = self.count("true", env=self.environment(PATH="/nowhere"))
        self.assert_clean_message(done, "Install the package valgrind")
        self.assertEqual(self.profile_run([target("loop"), "warm"]).status, 0)
        self.assert_clean_message(self.count("--file", self.path("profile.bneck")), "is no count")

    def test_it_is_kept(self):
        kept = self.path("kept.bneck")
        done = self.count("-o", kept, self.program)
        shown = self.verb("report", "-n", "20", kept)
        self.assertEqual(shown.returncode, 0, shown.stderr.decode())
        self.assertEqual(shown.stdout, done.stderr)


if __name__ == "__main__":
    main()
