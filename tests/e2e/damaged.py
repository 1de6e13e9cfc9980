# SPDX-License-Identifier: MIT
"""Profile files that are missing, empty, cut, foreign, of another version, or with flipped bits."""
import os
import random
import sqlite3
import subprocess

from harness import BOTTLENECK, TIMEOUT, Case, main, status_text, target

FLIPPED_FILES = 150


class Damaged(Case):
    good = None

    def setUp(self):
        super().setUp()
        if Damaged.good is None:
            done = self.profile_run([target("inlines")])
            with open(done.profile, "rb") as file:
                Damaged.good = file.read()
        self.file = self.path("damaged.bneck")

    def write(self, data):
        with open(self.file, "wb") as file:
            file.write(data)

    def assert_refused(self, *words):
        done = self.verb("report", self.file)
        self.assert_clean_message(done, "damaged.bneck", *words)

    def test_the_good_one_is_read(self):
        self.write(self.good)
        done = self.verb("report", self.file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"inner_5", done.stdout)

    def test_missing(self):
        self.assert_refused("No such file")

    def test_empty(self):
        self.write(b"")
        self.assert_refused()

    def test_a_directory(self):
        os.mkdir(self.file)
        self.assert_refused()

    def test_text_and_noise(self):
        for data in (b"hello\n" * 1000, random.Random(1).randbytes(65536), b"\0" * 65536):
            self.write(data)
            self.assert_refused()

    def test_another_database(self):
        connection = sqlite3.connect(self.file)
        connection.execute("create table note (text)")
        connection.commit()
        connection.close()
        self.assert_refused()

    def test_a_later_version(self):
        self.write(self.good)
        connection = sqlite3.connect(self.file)
        connection.execute("pragma user_version = 4711")
        connection.commit()
        connection.close()
        self.assert_refused("version")

    def test_a_table_is_gone(self):
        self.write(self.good)
        connection = sqlite3.connect(self.file)
        names = [row[0] for row in connection.execute(
            "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'")]
        connection.close()
        self.assertGreater(len(names), 3)
        for name in names:
            self.write(self.good)
            connection = sqlite3.connect(self.file)
            connection.execute(f"drop table [{name}]")
            connection.commit()
            connection.close()
            self.assert_survives(f"without table {name}")

    def test_columns_with_wild_values(self):
        self.write(self.good)
        connection = sqlite3.connect(self.file)
        columns = [(table, column[1]) for (table,) in connection.execute(
            "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'"
            ).fetchall() for column in connection.execute(f"pragma table_info([{table}])")]
        connection.close()
        for table, column in columns:
            for value in (-1, 2**63 - 1, 4294967295, "text", None, b"\xff\0"):
                self.write(self.good)
                connection = sqlite3.connect(self.file)
                try:
                    rows = connection.execute(f"update [{table}] set [{column}] = ?", (value,)).rowcount
                    connection.commit()
                except sqlite3.Error:
                    continue
                finally:
                    connection.close()
                if not rows:
                    break  # an empty table: the file is the good one
                self.assert_survives(f"{table}.{column} = {value!r}")

    def assert_survives(self, how):
        """Damage that may go unnoticed: then a report, else a message; never a crash or a hang."""
        for options in ([], ["--call-tree"]):
            try:
                done = subprocess.run([BOTTLENECK, "report", *options, self.file], timeout=TIMEOUT,
                                      capture_output=True, check=False, env=self.environment())
            except subprocess.TimeoutExpired:
                self.fail(f"{how}: hangs")
            text = done.stderr.decode(errors="replace")
            self.assertGreaterEqual(done.returncode, 0,
                                    f"{how}: {status_text(done.returncode)}: {text}")
            self.assertNotIn("Sanitizer", text, how)
            if done.returncode:
                self.assertIn("damaged.bneck", text, how)

    def test_truncated(self):
        for parts in range(16):
            self.write(self.good[:len(self.good) * parts // 16])
            self.assert_refused()

    def test_flipped_bits(self):
        rng = random.Random(4711)
        for i in range(FLIPPED_FILES):
            data = bytearray(self.good)
            for _ in range(rng.choice((1, 1, 4, 32))):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            self.write(data)
            self.assert_survives(f"file {i}")


if __name__ == "__main__":
    main()
