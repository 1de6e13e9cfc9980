# SPDX-License-Identifier: MIT
"""Names that attack a terminal: no verb passes on what a terminal would obey or hide.

Profiles of every kind are recorded, then each text in them is replaced by one with escape
sequences, C1, bidi marks, invalid UTF-8 and line ends, and every verb is run on them.

FAKE names the folder of the fake GPU, PROGRAMS that of programs for it; ctest sets them.
"""
import os
import re
import sqlite3
import struct
import sys
import unicodedata
import zlib

from harness import BOTTLENECK, Case, main, target

FAKE = os.path.abspath(os.environ.get("FAKE", "build/tests/gpu/fake"))
PROGRAMS = os.path.abspath(os.environ.get("PROGRAMS", "build/tests/gpu/programs"))

ATTACK = (b"\x1b[31m\x1b]0;title\x07\x1bP+q\x1b\\\x9b2J\xc2\x9b3J\xff\xe2\x80\xae\xe2\x81\xa6"
          b"\xe2\x80\x8b\xef\xbb\xbf\xc2\xad\xf3\xa0\x81\x81\x08\x7f\n\rPWNED\t")
STYLES = re.compile(r"\x1b\[(0|1|2|1;31|33|36)m")
# Tables of a profile, in the order in which their values are summed up; some are not in each.
TABLES = """
    string run module op_name process thread place_chunk location_chunk node_chunk cell_chunk
    chain_chunk op_chunk op_bin_chunk op_duration_chunk counter_sum series series_chunk wall_plus_chunk
    wall_minus_chunk wait busy alone busy_chunk alone_chunk wait_chunk
    gpu_count gpu_device gpu_stream gpu_work gpu_managed gpu_duration_chunk gpu_idle_chunk gpu_cell_chunk
    gpu_state_chunk site_chunk gil python_call python_caller await await_place gpu_pc gpu_stall repeat_side repeat
    slice_chunk count_function count_line rank rank_share_chunk meeting_chunk
    source""".split()
# These are no names.
KEYS = {("run", "key"), ("gpu_count", "what")}


def sum_of(value, checksum):
    kind, data = 5, b""
    if isinstance(value, int):
        kind, data = 1, struct.pack("<q", value)
    elif isinstance(value, float):
        kind, data = 2, struct.pack("<d", value)
    elif value is not None:
        kind, data = 3 if isinstance(value, Text) else 4, bytes(value)
    return zlib.crc32(data, zlib.crc32(struct.pack("<BI", kind, len(data)), checksum))


class Text(bytes):
    """A value of SQLite's type TEXT, of any bytes."""


def poison(path):
    """Replaces each text of a profile, and mends its checksum. Returns how many there were."""
    count = 0
    database = sqlite3.connect(path)
    database.text_factory = Text
    present = {name for name, in database.execute("SELECT name FROM sqlite_schema")}
    present = {name.decode() for name in present}
    for table in (t for t in TABLES if t in present):
        rows = database.execute(f"SELECT rowid, * FROM {table} ORDER BY rowid").fetchall()
        columns = [c[1].decode() for c in database.execute(f"PRAGMA table_info({table})")]
        for rowid, *values in rows:
            for column, value in zip(columns, values):
                if not isinstance(value, Text) or not value or (table, column) in KEYS:
                    continue
                text = value + ATTACK + b"%d" % rowid
                database.execute(f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE rowid = ?",
                                 (bytes(text), rowid))
                count += 1
    checksum = 0
    for table in (t for t in TABLES if t in present):
        for row in database.execute(f"SELECT * FROM {table} ORDER BY rowid"):
            for value in row:
                checksum = sum_of(value, checksum)
    database.execute("UPDATE checksum SET crc32 = ?", (checksum,))
    database.commit()
    database.close()
    return count


def faults(output, color):
    """What is wrong with the bytes that a terminal got; an empty list, if nothing is."""
    try:
        text = output.decode("utf-8")
    except UnicodeDecodeError as error:
        return [f"no UTF-8: {error}"]
    text = text.replace("\r\n", "\n")  # of CSV
    if color:
        text = STYLES.sub("", text)
    found = {f"U+{ord(c):04X}" for c in text
             if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}
    if re.search(r"^\s*PWNED", text, re.M):
        found.add("a line of its own")
    return sorted(found)


class HostileText(Case):
    def show(self, *arguments, statuses=(0,), where=None, color=False, **options):
        done = self.verb(*arguments, **options)
        words = " ".join(repr(a)[:40] for a in arguments)
        self.assertIn(done.returncode, statuses, f"{words}: {done.stderr.decode(errors='replace')}")
        for name, output in (("stdout", done.stdout), ("stderr", done.stderr)):
            wrong = faults(output, color)
            self.assertFalse(wrong, f"{where}: {words}: {name} has {wrong}: {output[:600]!r}")
        return done

    def record(self, command, *options, **environment):
        done = self.profile_run(command, *options, env=self.environment(**environment))
        self.assertEqual(done.status, 0, done.err)
        path = self.path(f"{len(os.listdir(self.directory))}.bneck")
        os.rename(done.profile, path)
        return path

    def poisoned(self, path):
        self.assertGreater(poison(path), 10)
        return path

    def reports(self, path):
        """Each way in which a saved run is shown."""
        def show(*options, **more):
            return self.show("report", *options, path, where="report", **more)

        text = show().stdout
        self.assertIn(b"PWNED", text, "the attack is not shown at all: nothing was tested")
        show("--color", "always", "--verbose", color=True)
        show("--quiet")
        for by in ("function", "line", "module", "file", "thread", "process", "op", "shape",
                   "stack:3", "domain", "stream", "kernel"):
            show("--by", by, statuses=(0, 2))
        for options in (["--ops"], ["--call-tree"], ["--json"], ["--sort", "mem"],
                        ["--sort", "gpu"], ["--from", "0.01"], ["--from-steady"]):
            show(*options, statuses=(0, 2))
        show("--thread", "x\x1b[1m\n\u202e", statuses=(0, 1, 2))
        show("--strict", statuses=(0, 92))
        show("--fail-on", "info", statuses=(0, 90, 92))
        for form in ("chrome", "json", "html", "speedscope", "firefox", "collapsed",
                     "callgrind", "sarif", "markdown", "digest"):
            show("--export", form, statuses=(0, 2))
        for form in ("markdown", "digest"):
            show("--export", form, "--base", path, statuses=(0, 2))
        digest = self.path("digest.json")
        show(f"--export=digest={digest}", statuses=(0, 2))
        with open(digest, "rb") as file:
            self.assertFalse(faults(file.read(), False), digest)
        for table in ("findings", "lines", "threads", "gpus"):
            show("--table", table, "--export", "csv")
        directory = self.make_directory(os.path.basename(path) + ".csv")
        show(f"--export=csv={directory}")
        for name in os.listdir(directory):
            with open(os.path.join(directory, name), "rb") as file:
                self.assertFalse(faults(file.read(), False), name)
        self.show("diff", path, path, where="diff")
        for by in ("run", "function", "line", "module", "file", "thread", "process", "op", "shape",
                   "kernel"):
            self.show("diff", "--by", by, path, path, where="diff", statuses=(0, 2))
        self.show("diff", "--json", path, path, where="diff")

    def test_a_run_of_ops(self):
        path = self.record([target("ops"), "single"], "--range", "step")
        self.assertIn(b"while open: step", self.show("report", path).stdout)
        self.reports(self.poisoned(path))

    def test_a_run_of_python(self):
        script = os.path.join(self.work, "busy.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write("import threading, time\n"
                       "def busy():\n"
                       "    end = time.monotonic() + 0.2\n"
                       "    while time.monotonic() < end:\n"
                       "        sum(range(1000))\n"
                       "t = threading.Thread(target=busy)\n"
                       "t.start(); busy(); t.join()\n")
        self.reports(self.poisoned(self.record([sys.executable, script])))

    def test_a_run_with_a_gpu(self):
        program = os.path.join(PROGRAMS, "callers")
        self.reports(self.poisoned(self.record([program], LD_LIBRARY_PATH=FAKE)))

    def test_merged_ranks(self):
        ranks = [self.record([target("ops"), "single"], OMPI_COMM_WORLD_RANK=str(rank),
                             OMPI_COMM_WORLD_SIZE="2") for rank in range(2)]
        merged = self.path("ranks.bneck")
        self.show("merge", "-o", merged, *ranks)
        self.reports(self.poisoned(merged))
        for rank in ranks:
            poison(rank)
        self.show("merge", "-o", merged, *ranks, where="merge")
        self.show("report", merged, where="report of merge")

    def test_a_bench(self):
        path = self.path("bench.bneck")
        self.show("bench", "-n", "2", "--range", "step", "-o", path, "--", target("ops"), "single")
        self.poisoned(path)
        for options in ([], ["--json"]):
            self.show("report", *options, path, where="report of bench")
            self.show("diff", *options, path, path, where="diff of bench")

    def test_a_count(self):
        path = self.path("count.bneck")
        self.show("count", "-o", path, "--", target("bare"), statuses=(0,))
        self.poisoned(path)
        for by in ("function", "line", "file", "module"):
            self.show("count", "--by", by, "--file", path, where="count")
        self.show("count", "--json", "--file", path, where="count")
        self.show("count", "--file", path, "--baseline", path, where="count --baseline")

    def test_arguments(self):
        attack = ATTACK + b"x"
        for line in ([attack], ["run", "--", attack], ["report", attack], ["diff", attack, attack],
                     ["merge", "-o", attack, attack], ["bench", "-n", "1", attack],
                     ["count", attack], ["batch", attack], ["explain", attack], ["check", attack],
                     [b"--" + attack], ["report", b"--by=" + attack], ["--rung", attack, "true"],
                     ["--rules", attack, "true"], ["--range", attack, "--", "true"],
                     ["--trace", attack, "--", "true"], ["report", b"--export=" + attack],
                     ["report", b"--rule=" + attack], ["bench", b"--vs=" + attack, "true"],
                     ["-o", b"/nowhere" + attack, "--", "true"]):
            self.show(*line, statuses=range(128), where="arguments")

    def test_a_program_of_a_hostile_name(self):
        name = os.fsencode(self.work) + b"/prog" + ATTACK.replace(b"/", b"")
        os.symlink(target("threads"), name)
        self.show("--", name, b"argument" + ATTACK, where="run")
        self.show("report", where="report")
        self.show("report", "--json", where="report")
        self.show("bench", "-n", "2", "--vs", os.fsencode(target("threads")), "--", name,
                  where="bench")

    def test_batch(self):
        jobs = os.path.join(self.work, "jobs.ini")
        with open(jobs, "wb") as file:
            file.write(b"name\x1b[31m\xff\xe2\x80\xae: " + os.fsencode(target("threads")) + b"\n"
                       b"/nowhere/\x9b2J\xc2\x9b\x07\n")
        self.show("batch", "-k", jobs, statuses=range(128), where="batch")


if __name__ == "__main__":
    main()
