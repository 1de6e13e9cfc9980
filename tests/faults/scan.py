# SPDX-License-Identifier: MIT
"""Customers' orders are looked up by a column that has no index."""
import ctypes
import sqlite3
import sys

CUSTOMERS = 1600
SKIPPED = 77


def fill(database):
    database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, total REAL)")
    rows = ((i, i * 7919 % CUSTOMERS, i % 89) for i in range(CUSTOMERS * 8))
    database.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)


def total_of(database, customer):
    query = "SELECT total FROM orders WHERE customer = ?"
    return sum(row[0] for row in database.execute(query, (customer,)).fetchall())  # fault: CPU-SCAN


def best_of(database):
    return max(range(CUSTOMERS), key=lambda customer: total_of(database, customer))


def faulty():
    database = sqlite3.connect(":memory:")
    fill(database)
    print(best_of(database))


def healthy():
    database = sqlite3.connect(":memory:")
    fill(database)
    database.execute("CREATE INDEX by_customer ON orders (customer)")
    for _ in range(20):
        best = best_of(database)
    print(best)


def has_names():
    """Not every build of SQLite has the names of its own functions."""
    try:
        return hasattr(ctypes.CDLL("libsqlite3.so.0"), "sqlite3BtreeNext")
    except OSError:
        return False


if __name__ == "__main__":
    if not has_names():
        sys.exit(SKIPPED)
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
