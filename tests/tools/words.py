#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Refuses words in what users read that were translated, or paraphrase a term of the field.

words.py ROOT

What users read is the strings of C files outside tests/, man pages, README.md, CHANGELOG.md and the
page's scripts. The second column says what to write instead.
"""
import glob
import os
import re
import sys

REFUSED = (
    (r"\blook(s|ed|ing)? on\b", "profiling, recording"),
    (r"\b(is|are|was|were|be|been|not) looked at\b", "examined, sampled, recorded"),
    (r"\b(is|are|was|were|be|been|not) told\b", "reported, known, determined"),
    (r"\b(tells? of|(does|do|did) not tell)\b", "reports, does not say"),
    (r"\bin vain\b", "off-CPU, blocked, or waiting for a CPU"),
    (r"\bno room\b", "full; out of memory"),
    (r"\bthe middle half\b", "interquartile range, IQR"),
    (r"\b[Cc]ounts of (calls|instructions)\b", "call counts, instruction counts"),
    (r"(% |\b([Mm]ost|[Mm]uch|half|[Pp]art|[Ss]hare) )of it\b", "the noun that it stands for"),
    (r"\bfound by itself\b", "auto-detected, the default"),
    (r"\bneeds? rights\b", "requires elevated privileges"),
    (r"\b[Ww]hat costs\b", "what takes the time; overhead"),
    (r"\bothers had the CPU", "other processes used the CPU"),
    (r"\b(code|files?) without names\b", "without symbols"),
    (r"\bwho (has|holds|takes|waits|gets|asks)\b", "the thread, process or waiter that"),
    (r"\bbehind the warm-up\b|\bthe rest alone\b", "after the warm-up, the steady state"),
    (r"\bstacks? (were |was |are |is )?cut\b", "truncated"),
    (r"\bnor (do|does|is|are|can|has|have|did|was|were)\b", "a sentence of its own"),
)
COMMENT = re.compile(r"\s*(//|/?\*|#\s*include)")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def strings_of(path):
    """(line, text): literals that follow each other are one text."""
    joined, began = "", 0
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if COMMENT.match(line):
                continue
            found = STRING.findall(line)
            goes_on = line.lstrip().startswith('"')
            if joined and not goes_on:
                yield began, joined
                joined = ""
            if found:
                began = began if goes_on and joined else number
                joined += "".join(found)
    if joined:
        yield began, joined


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not COMMENT.match(line):
                yield number, line


def texts(root):
    for path in sorted(glob.glob(os.path.join(root, "*", "**", "*.[ch]"), recursive=True)):
        inside = os.path.relpath(path, root)
        if not inside.startswith(("tests", "build")):
            yield inside, strings_of(path)
    pages = ["README.md", "CHANGELOG.md"]
    pages += glob.glob(os.path.join(root, "man", "*.[157]"))
    pages += glob.glob(os.path.join(root, "cli", "html", "*.js"))
    for page in sorted(pages):
        path = os.path.join(root, page)
        yield os.path.relpath(path, root), lines_of(path)


def faults(pairs):
    for path, found in pairs:
        for number, text in found:
            for pattern, instead in REFUSED:
                hit = re.search(pattern, text)
                if hit:
                    yield f'{path}:{number}: "{hit[0]}" (instead: {instead})'


def check_itself():
    """A list that refuses nothing would pass anything."""
    hits = list(faults([("x.c", [(1, "most of it is not told"), (2, "the IQR, by call counts")])]))
    assert len(hits) == 2, hits


def main():
    check_itself()
    found = list(faults(texts(sys.argv[1])))
    print("\n".join(found))
    print(f"{len(found)} refused words")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
