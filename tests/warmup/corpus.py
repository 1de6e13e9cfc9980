#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""corpus.py WARMUP_VERDICT CORPUS.jsonl.gz PRECISION RECALL: scores the rule on series whose truth is known.

Fails if it finds fewer of the skipped warm-ups, or raises more false alarms, than stated. Series that
are labelled borderline do not count.
"""
import collections
import gzip
import json
import subprocess
import sys

WARNS = ("includes-warm-up", "run-too-short")


def verdicts(program, text):
    out = subprocess.run([program], input=text, stdout=subprocess.PIPE, check=True, text=True).stdout
    return {line.split()[0]: line.split()[1] for line in out.splitlines()}


def main():
    program, corpus, precision_min, recall_min = sys.argv[1:]
    with gzip.open(corpus, "rt") as file:
        text = file.read()
    series = [json.loads(line) for line in text.splitlines()]
    said = verdicts(program, text)
    count = collections.Counter()
    for one in series:
        count[one["label"], said[one["id"]] in WARNS] += 1
        if (one["label"], said[one["id"]] in WARNS) in (("clean", True), ("skipped", False)):
            print(f"{one['label']:8} {said[one['id']]:16} {one['n']:5} calls  {one['id']}")
    found, missed = count["skipped", True], count["skipped", False]
    false, silent = count["clean", True], count["clean", False]
    precision, recall = found / (found + false), found / (found + missed)
    print(f"{len(series)} series: {found} found, {false} false alarms, {missed} missed, {silent} rightly silent")
    print(f"precision {precision:.4f} (at least {precision_min}), recall {recall:.4f} (at least {recall_min})")
    sys.exit(precision < float(precision_min) or recall < float(recall_min))


if __name__ == "__main__":
    main()
