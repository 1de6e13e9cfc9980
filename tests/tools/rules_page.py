#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rules_page.py BOTTLENECK PAGE [--write]: the list of rules in bottleneck-findings(7).

It is made of what "bottleneck explain" says, which is made of the rules' tables, and stands between
two marks in PAGE. Without --write it is compared: whoever changes a rule runs this once with it.
"""
import difflib
import re
import subprocess
import sys
import textwrap

BEGIN = '.\\" Rules, by tests/tools/rules_page.py --write: begin\n'
END = '.\\" Rules: end\n'
WIDTH = 100


def explain(bottleneck, *names):
    done = subprocess.run([bottleneck, "explain", "--width=1000", "--color=never", *names],
                          capture_output=True, text=True, check=True)
    return done.stdout


def subjects(bottleneck):
    """Pairs of a subject and its rules' ids."""
    found = []
    for line in explain(bottleneck).splitlines():
        rule = re.match(r"  ([A-Z]+-[A-Z0-9]+) ", line)
        if rule:
            found[-1][1].append(rule[1])
        elif line and not line.startswith(" "):
            found.append((line, []))
    return [(name, ids) for name, ids in found if ids]


def describe(bottleneck, rule):
    """The title of a rule, what it measures, and what part of that it can save, or ""."""
    lines = explain(bottleneck, rule).splitlines()
    title = lines[0].removeprefix(rule).strip()
    field = re.compile(r"  (\S.*?)  +(\S.*)")
    words, inside = {"measures": [], "saves": []}, None
    for line in lines[1:]:
        match = field.match(line)
        inside = match[1] if match else inside
        if inside in words:
            words[inside].append(match[2] if match else line.strip())
    return title, " ".join(words["measures"]), " ".join(words["saves"])


def escape(text):
    """For mdoc: no line begins with a macro, and manuals are linked."""
    text = text.replace("\\", "\\e")
    lines = []
    for line in textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False):
        lines.append("\\&" + line if line[0] in ".'" else line)
    return "".join(line + "\n" for line in lines)


def generate(bottleneck):
    page = ""
    for name, ids in subjects(bottleneck):
        page += f"{'.Pp' if page else ''}\n".lstrip("\n") + f"On {name}:\n.Bl -tag -width Ds\n"
        for rule in ids:
            title, measures, saves = describe(bottleneck, rule)
            page += f".It Sy {rule}\n" + escape(f"{title[0].upper()}{title[1:]}: {measures}.")
            page += escape(f"Its price is {saves}.") if saves else ""
        page += ".El\n"
    return page


def main():
    bottleneck, path = sys.argv[1:3]
    with open(path, encoding="utf-8") as file:
        page = file.read()
    before, begin, rest = page.partition(BEGIN)
    old, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{path}: the marks around the rules are missing")
    new = generate(bottleneck)
    if sys.argv[3:] == ["--write"]:
        with open(path, "w", encoding="utf-8") as file:
            file.write(before + BEGIN + new + END + after)
    elif new != old:
        sys.stdout.writelines(difflib.unified_diff(
            old.splitlines(True), new.splitlines(True), path, "bottleneck explain"))
        sys.exit(f"run {sys.argv[0]} BOTTLENECK {path} --write")


if __name__ == "__main__":
    main()
