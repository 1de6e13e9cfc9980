# SPDX-License-Identifier: MIT
"""A database in which every row is a transaction of its own."""
import os
import sqlite3
import sys
import tempfile

ROWS = 200


def table(directory):
    database = sqlite3.connect(os.path.join(directory, "rows.db"), isolation_level=None)
    # Neither program is to wait for the disk here.
    database.execute("PRAGMA synchronous = OFF")
    database.execute("CREATE TABLE row (number INTEGER)")
    database.execute("PRAGMA synchronous = FULL")
    return database


def show(database):
    print(database.execute("SELECT sum(number) FROM row").fetchone()[0])


def faulty():
    with tempfile.TemporaryDirectory(dir=".") as directory:
        database = table(directory)
        for i in range(ROWS):
            database.execute("INSERT INTO row VALUES (?)", (i,))  # fault: IO-SYNC
        show(database)


def healthy():
    with tempfile.TemporaryDirectory(dir=".") as directory:
        database = table(directory)
        database.execute("BEGIN")
        for i in range(ROWS):
            database.execute("INSERT INTO row VALUES (?)", (i,))
        database.execute("COMMIT")
        show(database)


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
