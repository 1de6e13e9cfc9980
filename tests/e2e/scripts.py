# SPDX-License-Identifier: MIT
"""Each process that a line of a bash script starts is an op of that line, in whatever subshell."""
import json
import shutil
import unittest

from harness import NO_PERF, Case, main, need

NAMES = 40
# Lines are counted below.
SCRIPT = r"""#!/bin/bash
trap 'echo end' EXIT
short() {
    basename "/srv/$1" .txt; return 0
}
for ((i = 0; i < %d; i++)); do
    name=$(short "$i")
    upper=$(echo "$name" | tr a-z A-Z)
done
. ./part.sh
echo "$name $upper $part $LINENO"
exit 3
""" % NAMES
PART = "part=$(echo one)\n"
STARTED = {
    "tally.sh:7": NAMES,          # a subshell
    "tally.sh:4 (short)": NAMES,  # it starts basename
    "tally.sh:8": 3 * NAMES,      # a subshell, its echo and tr
    "part.sh:1 (source)": 1,
}


class Scripts(Case):
    def setUp(self):
        super().setUp()
        need("bash")
        for name, text in (("tally.sh", SCRIPT), ("part.sh", PART)):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)

    def run_script(self, *options, prefix=()):
        command = ["bash", self.path("tally.sh")]
        bare = self.bare(command, cwd=self.directory)
        done = self.profile_run(command, *options, prefix=prefix, cwd=self.directory)
        self.assertEqual((done.status, done.out), (bare.returncode, bare.stdout), done.err)
        path = self.path("report.json")
        self.verb("report", f"--export=json={path}", done.profile)
        with open(path, encoding="utf-8") as file:
            answer = json.load(file)
        ops = {op["name"]: op for op in answer["tables"]["ops"] if op["provider"] == "shell"}
        return ops, answer, done

    def check(self, *options, prefix=()):
        ops, answer, done = self.run_script(*options, prefix=prefix)
        self.assertEqual({name: op["calls"] for name, op in ops.items()}, STARTED, done.report)
        self.assertEqual(ops["tally.sh:8"]["line"], 8)
        self.assertTrue(ops["tally.sh:8"]["file"].endswith("/tally.sh"))
        return answer

    def test_every_fork_is_counted_where_it_was_made(self):
        found = [f for f in self.check()["findings"] if f["id"] == "CPU-SPAWN"]
        self.assertEqual([f["line"] for f in found], [8])
        self.assertIn("tally.sh:8 (%d of them)" % (3 * NAMES), found[0]["fact"])

    def test_without_perf_events(self):
        self.check(prefix=[NO_PERF])

    def test_none_where_it_is_switched_off(self):
        self.assertEqual(self.run_script("--no-shell")[0], {})

    @unittest.skipUnless(shutil.which("dash"), "there is no dash")
    def test_a_shell_that_does_not_export_its_lines_has_no_such_ops(self):
        done = self.profile_run(["dash", "-c", "for i in 1 2 3; do /bin/true; done; echo $i"])
        self.assertEqual((done.status, done.out), (0, b"3\n"))
        self.assertNotIn("shell ", done.report)


if __name__ == "__main__":
    main()
