#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts what ctest ran and what was skipped, and why: summary.py [--left-out FILE] JUNIT...

A test counts once, as it ended in the last file that has it. Skipped are whole tests, test cases
within a test (Criterion's, unittest's, and lines that begin with or contain "skipped") and what
CMake left out when it was configured: lines "-- Not tested: ..." of FILE. The last line is the sum.
"""
import argparse
import re
import sys
import xml.etree.ElementTree

CASES = (
    re.compile(r"^\[SKIP\] (?P<what>\S+?): (?P<why>.+)$"),
    re.compile(r"^(?P<what>.+?)(?: \(\S+\))? \.\.\. skipped (['\"])(?P<why>.*)\2$"),
    re.compile(r"^skip {2,}(?P<what>.+?) {2,}(?P<why>.+)$"),
    re.compile(r"^skip (?P<what>[^:]+): (?P<why>.+)$"),
    re.compile(r"^(?P<what>\S+): skipped, (?P<why>.+)$"),
    re.compile(r"^(?P<what>\S+) +(?:skipped|SKIPPED): (?P<why>.+)$"),
    re.compile(r"^(?:skipped: )(?P<why>.+)$"),
    re.compile(r"^(?P<what>.+): (?P<why>not \w+(?: here)?), skipped$"),
    re.compile(r"^(?P<why>.+): skipped$"),
)


def skipped_case(line):
    """(what, why) of a line of output that reports a skip, or None."""
    for pattern in CASES:
        if match := pattern.match(line):
            return match.groupdict().get("what"), match["why"]
    return None


def read(paths):
    """{test: (whole test skipped, passed, [(what, why)])}, the last file's answer for each."""
    found = {}
    for path in paths:
        for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
            lines = (case.findtext("system-out") or "").splitlines()
            skips = list(dict.fromkeys(filter(None, map(skipped_case, lines))))
            known = sum(int(n) for n in re.findall(r"^OK \(skipped=(\d+)\)$", "\n".join(lines), re.M))
            if known > len(skips):
                skips.append((None, f"{known - len(skips)} more, without a reason"))
            found[path.rsplit("/", 1)[0], case.get("name")] = (
                case.find("skipped") is not None, case.find("failure") is None, skips)
    return found


def not_configured(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = [line.strip() for line in file]
    return list(dict.fromkeys(line.removeprefix("-- Not tested: ") for line in lines
                              if line.startswith("-- Not tested: ")))


def plural(count, noun):
    return f"{count} {noun}{'' if count == 1 else 's'}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--left-out")
    parser.add_argument("junit", nargs="+")
    arguments = parser.parse_args()
    found = read(arguments.junit)
    left_out = not_configured(arguments.left_out) if arguments.left_out else []
    whole, parts = {}, {}
    for (_, name), (all_of_it, _, skips) in found.items():
        if all_of_it:
            whole.setdefault(name, skips[0][1] if skips else "it gives no reason")
        elif skips:
            parts.setdefault(name, []).extend(skip for skip in skips
                                              if skip not in parts.get(name, []))
    for name, why in whole.items():
        print(f"  skipped {name}: {why}")
    for name, skips in parts.items():
        for what, why in skips:
            print(f"  skipped in {name}: {f'{what}: ' if what else ''}{why}")
    for line in left_out:
        print(f"  not built: {line}")
    cases = sum(map(len, parts.values()))
    skipped_runs = sum(1 for all_of_it, *_ in found.values() if all_of_it)
    passed = sum(1 for all_of_it, good, _ in found.values() if good and not all_of_it)
    reasons = "; ".join(f"{name}: {why}" for name, why in whole.items())
    more = "".join([f"; {plural(cases, 'case')} of {plural(len(parts), 'other test')} skipped"
                    if cases else "", f"; not built: {'; '.join(left_out)}" if left_out else ""])
    print(f"tests/run: {passed} of {plural(len(found), 'test')} passed, "
          f"{len(found) - passed - skipped_runs} failed, {skipped_runs} skipped"
          f"{f' ({reasons})' if reasons else ''}{more}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
