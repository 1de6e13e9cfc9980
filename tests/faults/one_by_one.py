# SPDX-License-Identifier: MIT
"""The number of comments of each post is asked for with a statement of its own."""
import sqlite3
import sys

POSTS = 40000


def filled():
    db = sqlite3.connect(":memory:")
    db.execute("create table comment (post integer, body text)")
    db.execute("create index by_post on comment (post)")
    db.executemany("insert into comment values (?, 'hi')", ((i // 2,) for i in range(2 * POSTS)))
    return db


def faulty():
    db = filled()
    total = 0
    for _ in range(5):
        for post in range(POSTS):
            rows = db.execute("select count(*) from comment where post = ?", (post,))  # fault: PY-QUERIES
            total += rows.fetchone()[0]
    print(total)


def healthy():
    db = filled()
    total = 0
    for _ in range(5):
        for count, in db.execute("select count(*) from comment group by post").fetchall():
            total += count
    print(total)


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
