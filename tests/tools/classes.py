#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names the classes of tests that no test of ctest runs.

classes.py CTEST BUILD

A program of tests below tests/ is run as a whole, or class by class: then each class that has tests must
be a word of a command. Programs that ctest does not run in this build, for want of what they need, are
not looked into.
"""
import ast
import json
import os
import subprocess
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def commands(ctest, build):
    """{program: [the words behind it, of each test]}"""
    shown = subprocess.run([ctest, "--test-dir", build, "-C", "Long", "--show-only=json-v1"], check=True,
                           capture_output=True, text=True).stdout
    found = {}
    for test in json.loads(shown)["tests"]:
        words = test.get("command", [])
        for place, word in enumerate(words):
            if word.endswith(".py") and os.path.realpath(word).startswith(TESTS + os.sep):
                found.setdefault(os.path.realpath(word), []).append(words[place + 1:])
                break
    return found


def classes_of(path):
    with open(path, encoding="utf-8") as source:
        tree = ast.parse(source.read())
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef) and
            any(isinstance(part, ast.FunctionDef) and part.name.startswith("test_") for part in node.body)]


def unrun(found):
    for path, runs in sorted(found.items()):
        if all(runs):
            words = {word.split(".")[0] for run in runs for word in run}
            yield from (f"{os.path.relpath(path, TESTS)}: {name}" for name in classes_of(path)
                        if name not in words and words & set(classes_of(path)))


def main():
    found = commands(sys.argv[1], sys.argv[2])
    names = list(unrun(found))
    for name in names:
        print(f"{name} is run by no test")
    print(f"{len(found)} programs of tests, {len(names)} classes are not run")
    return bool(names) or not found


if __name__ == "__main__":
    sys.exit(main())
