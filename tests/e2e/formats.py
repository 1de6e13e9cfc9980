# SPDX-License-Identifier: MIT
"""Text, page, CSV and JSON show the same numbers of every table, whatever part of a run is shown.

FAKE names the folder of the fake GPU, PROGRAMS that of programs for it; ctest sets them.
"""
import collections
import csv
import io
import json
import os
import re
import sys

from harness import BOTTLENECK, Case, main, target

FAKE = os.path.abspath(os.environ.get("FAKE", "build/tests/gpu/fake"))
PROGRAMS = os.path.abspath(os.environ.get("PROGRAMS", "build/tests/gpu/programs"))

PYTHON = """
import json, threading, time
def work(n):
    for i in range(n):
        json.dumps(list(range(300)))
threads = [threading.Thread(target=work, args=(900,)) for _ in range(2)]
for thread in threads: thread.start()
time.sleep(0.1)
for thread in threads: thread.join()
"""
CHILDREN = "i=0; while [ $i -lt 4 ]; do i=$((i+1)); {0} & done; wait; {0}"

# What is run, in which environment. Time on CPUs and waiting, of threads, processes, ops, memory
# and the GPU.
RUNS = {
    "threads": [target("threads")],
    "locks": [target("locks")],
    "inlines": [target("inlines")],
    "forks": [target("forks")],
    "files": [target("files")],
    "children": ["sh", "-c", CHILDREN.format(target("shares"))],
    "memory": [target("memory")],
    "python": [sys.executable, "-c", PYTHON],
    "steps": [target("steps"), "cold"],
    "gpu": [os.path.join(PROGRAMS, "streams")],
}
PARTS = ((), ("--from", "0.05", "--to", "0.2"), ("--from", "0.1"), ("--on-cpu",), ("--off-cpu",),
         ("--phase", "steady"), ("--skip-first", "1"), ("--hide", "*libc*"))

NUMBER = r"(?:-|<?[\d.,]+)"
DURATION = r"(?:-|<?[\d.,]+ (?:ns|us|ms|s|min|h))"
BYTES = r"(?:-|<?[\d.,]+ (?:B|[kKMGT]i?B))"
UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "B": 1, "KB": 2**10, "kB": 2**10,
         "MB": 2**20, "GB": 2**30}
# Of each table by --by: its name elsewhere, and its first columns in the text: heading, form, name
# elsewhere.
CODE = (("self", DURATION, "self_ns"), ("%", NUMBER, "self_share"),
        ("±", r"(?:±[\d.]+|~[\d.]+|[±~ ]*[\d.]*)", None), ("total", DURATION, "total_ns"),
        ("%", NUMBER, "total_share"), ("calls", NUMBER + "?", "calls"))
OWNERS = (("on a CPU", DURATION, "on_cpu_ns"), ("%", NUMBER, None))
OPS = (("self", DURATION, "self_ns"), ("%", NUMBER, None), ("total", DURATION, "total_ns"),
       ("%", NUMBER, None), ("calls", NUMBER, "calls"), ("average", DURATION, "average_ns"))
WORK = (("time", DURATION, "total_ns"), ("%", NUMBER, "share"), ("calls", NUMBER, "calls"),
        ("average", DURATION, "average_ns"))
TABLES = {
    "function": ("functions", CODE), "line": ("lines", CODE), "module": ("modules", CODE),
    "file": ("files", CODE), "thread": ("threads", OWNERS), "process": ("processes", OWNERS),
    "op": ("ops", OPS), "shape": ("op_shapes", OPS), "kernel": ("gpu_work", WORK),
}
# The page's names of the columns.
PAGE = {"self": "self_ns", "total": "total_ns", "self_share": "self_share",
        "total_share": "total_share", "calls": "calls", "average": "average_ns"}


def parse(text):
    """A number as the text shows it, and half of a unit in its last place; None: unknown."""
    if text in ("-", ""):
        return None
    number, _, unit = text.replace(",", "").lstrip("<").partition(" ")
    scale = UNITS[unit] if unit else 1
    digits = len(number.partition(".")[2])
    return float(number) * scale, 0.5001 * scale / 10**digits


def text_rows(text, columns):
    """The rows of the first table in TEXT, of the columns that it has: {heading name: shown}."""
    lines = text.splitlines()
    wanted = re.compile(r"\s+" + re.escape(columns[0][0]) + r"\s")
    start = next((i for i, line in enumerate(lines) if wanted.match(line + " ")), None)
    if start is None:
        return []
    rest, present = lines[start], []
    for heading, form, name in columns:
        match = re.match(r"\s+" + re.escape(heading) + r"(?=\s|$)", rest)
        if match:
            present.append((form, name))
            rest = rest[match.end():]
    row = re.compile("".join(rf"\s+({form})" for form, _ in present) + r"(?=\s|$)")
    rows = []
    for line in lines[start + 1:]:
        match = row.match(line)
        if not match:
            break
        rows.append({name: shown for (_, name), shown in zip(present, match.groups()) if name})
    return rows


class Formats(Case):
    files, answers = {}, {}

    def setUp(self):
        super().setUp()
        for name, command in RUNS.items():
            if name in Formats.files:
                continue
            done = self.profile_run(command, env=self.environment(LD_LIBRARY_PATH=FAKE))
            self.assertEqual(done.status, 0, done.err)
            with open(done.profile, "rb") as file:
                Formats.files[name] = file.read()

    def each(self):
        for name, data in Formats.files.items():
            path = self.path(name + ".bneck")
            with open(path, "wb") as file:
                file.write(data)
            for part in PARTS:
                if name != "gpu" or not part or not part[0].startswith("--from"):
                    yield name, path, part  # that run is over before

    @staticmethod
    def is_of(by, name, part):
        """Whether there is such a table: ops are no samples, and one run uses a GPU."""
        if by in ("op", "shape", "kernel") and part in (("--on-cpu",), ("--off-cpu",)):
            return False
        return by != "kernel" or name == "gpu"

    def report(self, path, *options):
        done = self.verb("report", *options, path)
        self.assertEqual(done.returncode, 0, f"{options}: {done.stderr.decode()}")
        return done.stdout.decode()

    def tables(self, path, part):
        """As JSON has them: all tests compare with the same."""
        key = os.path.basename(path), part
        if key not in Formats.answers:
            Formats.answers[key] = json.loads(self.report(path, "--export", "json", *part))["tables"]
        return Formats.answers[key]

    def assert_shown(self, shown, value, name, where):
        if name.endswith("share") and value is not None:
            value *= 100
        number = parse(shown)
        if number is None:
            self.assertIn(value, (None, 0), where)
            return
        self.assertIsNotNone(value, where)
        self.assertLessEqual(abs(number[0] - value), number[1],
                             f"{where}: {name} is {shown} in the text, {value} in JSON")

    def compare_text(self, where, shown, rows, by):
        ranked = [row for row in rows if "total_ns" not in shown[0] or row["total_ns"]]
        if by == "line":  # of source alone
            ranked = [row for row in ranked if row["line"]]
        # Overhead is data, and no hotspot: the text has it in its limits.
        ranked = [row for row in ranked if row.get("name") != "[bottleneck]"]
        self.assertLessEqual(len(shown), len(ranked), where)
        for i, row in enumerate(shown):
            for name, text in row.items():
                self.assert_shown(text, ranked[i][name], name, f"{where}, row {i}: {ranked[i]}")

    def test_the_text_shows_what_json_has(self):
        seen = collections.Counter()
        for name, path, part in self.each():
            tables = self.tables(path, part)
            for by, (table, columns) in TABLES.items():
                if not self.is_of(by, name, part):
                    continue
                text = self.report(path, "--by", by, "--top", "100000", "--min-pct", "0",
                                   "--width", "200", *part)
                shown = text_rows(text, columns)
                if shown:
                    with self.subTest(run=name, part=part, by=by):
                        self.compare_text(f"{name} {part} by {by}", shown, tables[table], by)
                seen[by] += len(shown)
        for by in TABLES:
            self.assertGreater(seen[by], 0, f"no rows were compared by {by}")

    def test_totals_rank_as_json_has_them(self):
        for name, path, part in self.each():
            tables = self.tables(path, part)
            for by in ("function", "module", "op"):
                if not self.is_of(by, name, part):
                    continue
                table, columns = TABLES[by]
                text = self.report(path, "--by", by, "--sort", "total", "--top", "100000",
                                   "--min-pct", "0", "--width", "200", *part)
                # Ranked by total, the text has that first.
                order = (columns[3], columns[4], columns[0], columns[1], *columns[5:])
                if by == "op":
                    order = columns
                shown = text_rows(text, order)
                rows = sorted(tables[table], key=lambda row: -row["total_ns"])
                with self.subTest(run=name, part=part, by=by):
                    for i, row in enumerate(shown):
                        self.assert_shown(row["total_ns"], rows[i]["total_ns"], "total_ns",
                                          f"{name} {part} by {by}, row {i}")

    def test_csv_has_what_json_has(self):
        for name, path, part in self.each():
            tables = self.tables(path, part)
            folder = self.path("csv")
            self.report(path, "--export", f"csv={folder}", *part)
            for table in ("functions", "lines", "modules", "files", "threads", "ops", "memory"):
                with open(f"{folder}/{table}.csv", encoding="utf-8", newline="") as file:
                    data = file.read()
                if not part:
                    alone = self.bare([BOTTLENECK, "report", "--export", "csv", "--table", table, path])
                    self.assertEqual(alone.stdout.decode(), data, (name, table))
                rows = list(csv.DictReader(io.StringIO(data)))
                with self.subTest(run=name, part=part, table=table):
                    self.assertEqual(len(rows), len(tables[table]))
                    for row, wanted in zip(rows, tables[table]):
                        for column, value in wanted.items():
                            if isinstance(value, (int, float)) and not isinstance(value, bool):
                                self.assertEqual(float(row[column]), value, (table, column))

    def page_tables(self, path, part):
        """{name: rows} of the page's first set of tables."""
        page = self.path("page.html")
        self.report(path, "--export", f"html={page}", *part)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        os.unlink(page)
        found = {}
        for match in re.finditer(r'"(functions|lines|ops|threads)":(?=\{"title")', text):
            table, _ = json.JSONDecoder().raw_decode(text, match.end())
            keys = [column[0] for column in table["columns"]]
            found.setdefault(match[1], [dict(zip(keys, row)) for row in table["rows"]])
        return found

    def page_pairs(self, table, rows, tables):
        """Each of the page's ROWS with that of TABLE: ops by shape, lines by their places."""
        if table == "ops":
            return zip(rows, tables["op_shapes"])
        if table == "lines":
            places = collections.defaultdict(list)  # a line may be in two modules
            for row in tables[table]:
                places[row["file"], row["line"]].append(row)
            return [(row, places[tuple(row["place"][:2])].pop(0)) for row in rows]
        return zip(rows, [row for row in tables[table]
                          if table != "functions" or row["total_ns"]])

    def test_the_page_has_what_json_has(self):
        compared = 0
        for name, path, part in self.each():
            tables = self.tables(path, part)
            for table, rows in self.page_tables(path, part).items():
                for row, other in self.page_pairs(table, rows, tables):
                    with self.subTest(run=name, part=part, table=table):
                        for key, column in PAGE.items():
                            if row.get(key) is None or column not in other:
                                continue
                            compared += 1
                            self.assertAlmostEqual(row[key], other[column] or 0, 5,
                                                   f"{name} {part} {table} {column}: {other}")
        self.assertGreater(compared, 1000)


if __name__ == "__main__":
    main()
