#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What includes.py finds in trees that are wrong in one way each."""
import os
import subprocess
import sys
import tempfile
import unittest

INCLUDES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "includes.py")


def problems_of(files):
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(name)), exist_ok=True)
            with open(os.path.join(root, name), "w") as file:
                file.write(text)
        run = subprocess.run([sys.executable, "-B", INCLUDES, root, "--no-stale"],
                             stdout=subprocess.PIPE, text=True, check=False)
    lines = run.stdout.splitlines()[:-1]
    assert bool(lines) == bool(run.returncode), run.stdout
    return lines


class Includes(unittest.TestCase):
    def test_an_order_is_no_problem(self):
        self.assertEqual(problems_of({
            "merge/low/a.h": "#pragma once\n",
            "merge/high/b.c": '#include "merge/low/a.h"\n',
            "base/c.h": "#pragma once\n",
            "merge/low/d.c": '#include "base/c.h"\n'}), [])

    def test_a_circle_of_two_folders_is_found_on_both_sides(self):
        found = problems_of({
            "merge/low/a.h": '#pragma once\n#include "merge/high/b.h"\n',
            "merge/high/b.h": "#pragma once\n",
            "merge/high/b.c": '\n\n#include "merge/low/a.h"\n'})
        self.assertEqual([line.split(" ")[0] for line in found],
                         ["merge/high/b.c:3:", "merge/low/a.h:2:"])

    def test_a_circle_through_a_third_folder_is_found(self):
        found = problems_of({
            "sampler/a/a.h": '#include "sampler/b/b.h"\n',
            "sampler/b/b.h": '#include "sampler/c/c.h"\n',
            "sampler/c/c.h": '#include "sampler/a/a.h"\n'})
        self.assertEqual(len(found), 3)

    def test_a_folder_includes_what_stands_below_it_alone(self):
        found = problems_of({
            "cli/a.h": "#pragma once\n",
            "merge/b.h": "#pragma once\n",
            "merge/b.c": '#include "cli/a.h"\n',
            "base/c.c": '#include "merge/b.h"\n'})
        self.assertEqual([line.split(" ")[0] for line in found], ["base/c.c:1:", "merge/b.c:1:"])

    def test_a_format_neither_includes_what_answers_nor_asks(self):
        files = {
            "merge/query/query.h": "struct rows *query_rows(const struct profile *p);\n",
            "cli/report/rows.h": '#include "merge/query/query.h"\n',
            "cli/report/other.c": '#include "cli/report/rows.h"\nvoid f(void) { query_rows(p); }\n',
            "cli/html/html.c": '#include "cli/report/rows.h"\n\nstatic int read(void)\n{ // query_rows()\n'
                               '\tputs("query_rows()");\n}\n',
            "cli/text/text.c": '#include "cli/report/rows.h"\n'}
        self.assertEqual(problems_of(files), [])
        files["cli/html/html.c"] += "static int g(void)\n{\n\treturn query_rows(p) != 0;\n}\n"
        self.assertEqual([line.split(" ")[0] for line in problems_of(files)], ["cli/html/html.c:9:"])
        files["cli/html/html.c"] = '#include "merge/query/query.h"\n'
        self.assertEqual([line.split(" ")[0] for line in problems_of(files)], ["cli/html/html.c:1:"])

    def test_a_format_includes_no_command(self):
        self.assertEqual([line.split(" ")[0] for line in problems_of({
            "cli/diff/diff.h": "#pragma once\n",
            "cli/html/html.c": '#include "cli/diff/diff.h"\n',
            "cli/batch/batch.c": '#include "cli/diff/diff.h"\n',
            "cli/report/report.c": '#include "cli/diff/diff.h"\n',
            "cli/json.c": '#include "cli/diff/diff.h"\n'})],
            ["cli/html/html.c:1:", "cli/json.c:1:", "cli/report/report.c:1:"])

    def test_a_header_with_one_client_beside_it_is_found_unless_a_test_has_it(self):
        files = {
            "merge/x/a.h": "#pragma once\n",
            "merge/x/a.c": '#include "merge/x/a.h"\n',
            "merge/x/b.c": '#include "merge/x/a.h"\n'}
        self.assertEqual([line.split(" ")[0] for line in problems_of(files)], ["merge/x/b.c:1:"])
        files["tests/unit/a_test.c"] = '#include "merge/x/a.h"\n'
        self.assertEqual(problems_of(files), [])

    def test_a_library_links_what_it_includes(self):
        files = {
            "base/CMakeLists.txt": "add_library(base STATIC a.c)\n",
            "base/a.c": "", "base/a.h": "",
            "merge/CMakeLists.txt": "add_library(merge STATIC b.c)\ntarget_link_libraries(merge\n"
                                    "  PUBLIC base PRIVATE PkgConfig::ZLIB) # both\n",
            "merge/b.c": '#include "base/a.h"\n#include <zlib.h>\n'}
        self.assertEqual(problems_of(files), [])
        files["merge/b.c"] = '#include "base/a.h"\n'
        self.assertEqual(len(problems_of(files)), 1)
        files["merge/b.c"] = '#include "base/a.h"\n#include <zlib.h>\n#include <sqlite3.h>\n'
        self.assertEqual([line.split(" ")[0] for line in problems_of(files)], ["merge/b.c:3:"])

    def test_a_file_that_a_comment_names_exists(self):
        found = problems_of({
            "base/a.h": "#pragma once\n",
            "base/a.c": "// See base/a.h,\n// base/b.h and /usr/lib/cmake/c.cmake.\n",
            "tests/unit/a_test.c": "/* tests/none.py */\n"})
        self.assertEqual(found, ["base/a.c:2: there is no base/b.h",
                                 "tests/unit/a_test.c:1: there is no tests/none.py"])

    def test_a_folder_that_the_architecture_names_exists(self):
        found = problems_of({"ARCHITECTURE.md": "`merge/file/` holds\nwhat `merge/none/` holds\n",
                             "merge/file/a.c": ""})
        self.assertEqual([line.split(" ")[0] for line in found], ["ARCHITECTURE.md:2:"])

    def test_a_header_of_a_thing_with_a_life_says_threads_and_owners(self):
        functions = "struct a *a_new(void);\nvoid a_free(struct a *a);\n"
        self.assertEqual(problems_of({
            "base/a.h": "/* A list. One thread at a time. It owns its texts. */\n" + functions,
            "base/b.h": "/* A value. */\nvoid b_init(struct b *b);\n"}), [])
        self.assertEqual(len(problems_of({"base/a.h": "/* A list. */\n" + functions})), 2)
        self.assertEqual(len(problems_of({
            "base/a.h": "/* A list. One thread at a time. */\n" + functions})), 1)


if __name__ == "__main__":
    unittest.main()
