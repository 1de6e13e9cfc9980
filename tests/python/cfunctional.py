# SPDX-License-Identifier: MIT
"""Work that C functions do. Run by cfunctions.py: NAME SECONDS, of CPU time."""
import decimal
import functools
import json
import re
import sys
import time

if sys.argv[1] == "numpy":
    import numpy  # not in run(): cProfile slows imports most

# By no C functions, whose time here cProfile would take for that of run().
WORDS = ["%x%s" % (i * 0x9e3779b97f4a7c15 % (1 << 60), "Ab" * (i % 7)) for i in range(20000)]
TEXT = " ".join(WORDS)
DATA = {str(i): [i, i / 7, "x" * (i % 50), None] for i in range(20000)}


def json_and_re():
    text = json.dumps(DATA)
    json.loads(text)
    re.findall("x+", text)
    re.sub("[0-9]{3}", "#", text)


def texts():
    parts = TEXT.split()
    joined = "-".join(parts * 4)
    joined.replace("ab", "ba")
    joined.upper()
    joined.encode("utf-16")
    joined.count("Ab")


def sorting():
    sorted(WORDS)
    sorted(WORDS, key=str.lower)
    words = list(WORDS)
    words.sort(reverse=True)
    words.reverse()
    max(WORDS)
    sum(range(400000))


decimal.getcontext().prec = 400  # calls that take longer than cProfile itself


def decimals():
    a = decimal.Decimal(2) ** 20000
    for _ in range(3):
        a.sqrt()
        a.ln()


def arrays():
    a = numpy.random.default_rng(1).random(200000)
    b = a.copy()
    b.sort()
    a.argsort()
    numpy.argwhere(a > 0.5)
    (a > 0.5).nonzero()
    a.cumsum()
    numpy.unique(a[:50000])


def weigh(_):
    """So long that what cProfile takes for a call does not count."""
    total = 0
    for i in range(3000):
        total += i * 3
    return total


def weigh_two(left, right):
    return weigh(right)


def callbacks():
    """C functions that call Python again."""
    sorted(WORDS[:20], key=weigh)
    WORDS[:10].sort(key=weigh)
    re.compile("x+").sub(lambda match: str(weigh(match)), "x.x.x.x.x.x.x.x")
    functools.reduce(weigh_two, WORDS[:15])
    any(map(weigh_zero, WORDS[:12]))
    sum(weigh(word) for word in WORDS[:10])


def weigh_zero(value):
    return weigh(value) * 0


WORKS = {"json": json_and_re, "callbacks": callbacks, "text": texts, "sort": sorting, "decimal": decimals, "numpy": arrays}


def run(work, seconds):
    start = time.process_time()
    while time.process_time() - start < seconds:
        work()


run(WORKS[sys.argv[1]], float(sys.argv[2]))
