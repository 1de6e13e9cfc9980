#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the order of the folders: includes.py ROOT [--commands compile_commands.json]

What it checks, over the #include lines of everything that we build:
 1. a folder includes only what MAY_INCLUDE allows;
 2. the subfolders of a folder do not include each other in a circle;
 3. a library links the libraries whose headers it includes, and no others;
 4. every header compiles alone (with --commands, which knows the flags);
 5. no header has exactly one client that lies in its own folder;
 6. the folders that ARCHITECTURE.md names exist;
 7. the files that comments name exist.

It prints FILE:LINE: what is wrong. Exceptions are listed below, each with its reason. The lists only
shrink: an exception that is no longer needed is an error, too.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys

TOPS = ("base", "tracer", "sampler", "symbolize", "merge", "cli")

# The folder with the longest matching name decides. A folder may always include itself.
MAY_INCLUDE = {
    "base": (),
    "tracer": ("base",),  # protocol.h, between the agent and its reader
    "tracer/agent": ("base", "tracer"),
    "tracer/api": (),
    "tracer/reader": ("base", "tracer"),
    "sampler": ("base",),
    "symbolize": ("base",),
    "merge": ("base", "symbolize"),
    "merge/record": ("base", "tracer", "tracer/reader", "sampler", "symbolize", "merge"),
    "cli/report": ("base", "merge", "cli"),  # cli/*.h: options, numbers as words, JSON
    "cli/text": ("base", "cli", "cli/report"),
    "cli/html": ("base", "cli", "cli/report"),
    "cli/export": ("base", "cli", "cli/report"),
    "cli": ("base", "merge", "cli"),
}

# (including file or folder, included folder): why.
MAY_INCLUDE_TOO = {
    ("sampler/agent", "tracer/reader"): "rung 3 reads what the agent in the target writes, and all rungs its ops",
    # The commands: they bind the report and its formats to what is recorded.
    ("cli", "cli/report"): "commands print reports",
    ("cli", "cli/text"): "bench, count and diff print theirs for people",
    ("cli", "cli/export"): "report and run export what they have",
    ("cli", "sampler"): "being rebuilt: run starts the pipeline itself",
    ("cli", "symbolize"): "being rebuilt: the same",
    ("cli", "tracer"): "being rebuilt: the same",
    ("cli", "merge/record"): "being rebuilt: the same",
    # What is not a section yet asks the profile itself.
    ("cli/text", "merge"): "calls as cProfile prints them, and who chooses among sections",
    ("cli/html", "merge"): "timelines, slices, trees and the verdict",
    ("cli/export", "merge"): "timelines, stacks, and which tables a profile has",
    ("cli/export", "cli/html"): "the exporter of the page",
}

# Folders whose order is being rebuilt elsewhere: their headers may have one client, and exceptions
# for them that are no longer needed are reported without failing.
BEING_REBUILT = ("cli", "tracer")

# (folder, folder that it may include although that makes a circle).
CIRCLES = set()

# Headers with one client in their own folder: why they stay.
ONE_CLIENT = {
    "sampler/agent/agent_source.h": "what rungs 3 and 4 share: each implements source.h in a file of its own",
    "merge/profile/callables.h": "its functions are called by who includes profile_data.h",
    "merge/query/op_groups.h": "the groups of ops, apart from the rows that are made of them",
    "merge/query/op_callers.h": "who has called an op: 400 lines that grouping ops need not know",
    "sampler/perf/perf_record.h": "perf_ring.h hands its events on; the kernel's format stops here",
    "sampler/python/python_remote_code.h": "how CPython lays its code objects out, apart from its frames",
    "symbolize/elf_module.h": "one file of the program with all that was separated from it",
    "symbolize/dwarf/dwp_index.h": "the index of packages, a parser of foreign bytes of its own",
    "symbolize/dwarf/entry_steps.h": "steps over entries, which alone is measured against libdw",
    "symbolize/dwarf/split_dwarf.h": "which file has the rest of a unit, apart from resolving addresses",
    "sampler/unwind/cfi_program.h": "cfi_section.h hands it on",
    "sampler/unwind/cfi_search.h": "cfi_section.h hands it on",
    "sampler/unwind/unwinder_libunwind.h": "libunwind's types stop here",
}

# Libraries that do not link what they include: why.
NOT_LINKED = {
    "cli": "the program and the tests bind commands and sections to the other folders",
}

# Headers of others, and what linking them is called.
SYSTEM = {
    "zlib.h": "PkgConfig::ZLIB",
    "sqlite3.h": "PkgConfig::SQLITE",
    "lzma.h": "PkgConfig::LZMA",
    "libsmartcols.h": "PkgConfig::SMARTCOLS",
    "libunwind.h": "PkgConfig::UNWIND",
    "libunwind-ptrace.h": "PkgConfig::UNWIND",
    "libelf.h": "PkgConfig::ELF",
    "gelf.h": "PkgConfig::ELF",
    "dwarf.h": "PkgConfig::DW",
    "elfutils/libdw.h": "PkgConfig::DW",
    "elfutils/libdwfl.h": "PkgConfig::DW",
    "elfutils/libdwelf.h": "PkgConfig::DW",
}

# A file of ours, in what is not an #include line.
NAMED = re.compile(rf"(?<![\w/.-])((?:{'|'.join(TOPS)}|tests|cmake|man)/[\w/.-]*\.[a-z1-9]+)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')
Line = collections.namedtuple("Line", "file number header system")


class Tree:
    """The files of ROOT and their #include lines."""

    def __init__(self, root):
        self.root = root
        self.files = {}
        self.named = []
        self.tests = collections.defaultdict(list)
        for top in TOPS:
            for path in self.sources(top):
                self.files[path] = self.lines(path)
        for path in self.sources("tests"):
            for line in self.lines(path):
                self.tests[line.header].append(line)

    def sources(self, top):
        for folder, _, names in os.walk(os.path.join(self.root, top)):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield os.path.relpath(os.path.join(folder, name), self.root)

    def lines(self, path):
        found = []
        with open(os.path.join(self.root, path), errors="replace") as file:
            for number, text in enumerate(file, 1):
                if match := INCLUDE.match(text):
                    found.append(Line(path, number, match[1] or match[2], not match[1]))
                else:
                    self.named += [Line(path, number, name, False) for name in NAMED.findall(text)]
        return found

    def includes(self):
        """Each line that includes a file of ours, in order."""
        for path in sorted(self.files):
            for line in self.files[path]:
                if not line.system and line.header in self.files:
                    yield line


def in_folder(path, folder):
    return path == folder or path.startswith(folder + "/")


def row_of(path):
    return max((row for row in MAY_INCLUDE if in_folder(path, row)), key=len)


def check_table(tree, problems, stale):
    used = set()
    for line in tree.includes():
        row, header_row = row_of(line.file), row_of(line.header)
        if row == header_row or header_row in MAY_INCLUDE[row]:
            continue
        excused = [(who, whom) for who, whom in MAY_INCLUDE_TOO
                   if in_folder(line.file, who) and (whom == "*" or in_folder(line.header, whom))]
        used.update(excused)
        if not excused:
            problems.append(f"{line.file}:{line.number}: {row}/ may not include {line.header}")
    for who, whom in set(MAY_INCLUDE_TOO) - used:
        stale(who, f"MAY_INCLUDE_TOO: {who} no longer includes {whom}")


def room_of(path):
    """merge/file for merge/file/file.c, merge for what lies in it directly; tracer/agent has more."""
    parts = path.split("/")[:-1]
    return "/".join(parts[:3 if parts[:2] == ["tracer", "agent"] else 2])


def group_of(room):
    return "tracer/agent" if in_folder(room, "tracer/agent") else room.split("/")[0]


def reachable(edges, start):
    seen, todo = set(), [start]
    while todo:
        for to in edges.get(todo.pop(), ()):
            if to not in seen:
                seen.add(to)
                todo.append(to)
    return seen


def on_a_circle(edges):
    return {(a, b) for a in edges for b in edges[a] if a in reachable(edges, b) or a == b}


def check_circles(tree, problems, stale):
    first, edges, allowed = {}, collections.defaultdict(set), collections.defaultdict(set)
    for line in tree.includes():
        pair = room_of(line.file), room_of(line.header)
        if pair[0] == pair[1] or group_of(pair[0]) != group_of(pair[1]):
            continue
        first.setdefault(pair, line)
        edges[pair[0]].add(pair[1])
        if pair not in CIRCLES:
            allowed[pair[0]].add(pair[1])
    for a, b in sorted(on_a_circle(allowed)):
        line = first[a, b]
        problems.append(f"{line.file}:{line.number}: {line.header} closes a circle: {b}/ includes "
                        f"{a}/, directly or through others")
    for pair in set(CIRCLES) - on_a_circle(edges):
        stale(pair[0], f"CIRCLES: {pair[0]}/ may include {pair[1]}/ without an exception")


def commands_of(root, folder):
    """(line, name, words) of each command of FOLDER's CMakeLists.txt, comments left out."""
    path = os.path.join(root, folder, "CMakeLists.txt")
    if not os.path.exists(path):
        return
    with open(path) as file:
        text = re.sub(r"#[^\n]*", "", file.read())
    for match in re.finditer(r"\b(\w+)\s*\(([^()]*)\)", text):
        yield text.count("\n", 0, match.start()) + 1, match[1], match[2].split()


def libraries(tree):
    """Of each static library of ours: where it links, what it links, and its folders."""
    found = {}
    for top in TOPS:
        lists = {}
        for number, name, words in commands_of(tree.root, top):
            if name == "set":
                lists["${" + words[0] + "}"] = words[1:]
            elif name == "add_library" and words[1:2] == ["STATIC"]:
                sources = [s for w in words[2:] for s in lists.get(w, [w])]
                folders = {os.path.dirname(os.path.join(top, s)) for s in sources}
                found[words[0]] = [f"{top}/CMakeLists.txt:{number}", set(), folders]
            elif name == "target_link_libraries" and words[0] in found:
                found[words[0]][0] = f"{top}/CMakeLists.txt:{number}"
                found[words[0]][1].update(words[1:])
    return found


def check_links(tree, problems, stale):
    libs = libraries(tree)
    owner = {}
    for name, (_, _, folders) in libs.items():
        for folder in folders:
            owner.setdefault(folder, name)
    wants = collections.defaultdict(dict)
    for path, lines in tree.files.items():
        mine = owner.get(os.path.dirname(path))
        for line in lines:
            lib = SYSTEM.get(line.header) if line.system else owner.get(os.path.dirname(line.header))
            if mine and lib and lib != mine:
                wants[mine].setdefault(lib, line)
    known = set(libs) | set(SYSTEM.values())
    for name, (where, links, _) in sorted(libs.items()):
        missing = sorted(set(wants[name]) - links)
        if name in NOT_LINKED:
            if not missing:
                stale(name, f"NOT_LINKED: {name} links what it includes")
            continue
        for lib in missing:
            line = wants[name][lib]
            problems.append(f"{line.file}:{line.number}: {name} includes {line.header}, but does not "
                            f"link {lib}: {where}")
        for lib in sorted((links & known) - set(wants[name])):
            problems.append(f"{where}: {name} links {lib}, but includes nothing of it")


def flags_of(tree, commands):
    """Of each folder at the top the compiler's words for a file of it."""
    found = {}
    for entry in commands:
        words = shlex.split(entry["command"])
        path = os.path.relpath(os.path.realpath(entry["file"]), tree.root)
        if not path.endswith(".c") or path.split("/")[0] not in TOPS:
            continue
        top = path.split("/")[0]
        kept = [w for i, w in enumerate(words)
                if w not in ("-c", "-o", entry["file"]) and words[i - 1] != "-o"]
        found.setdefault(top, (kept, entry["directory"]))
    return found


def check_headers_alone(tree, problems, commands):
    flags = flags_of(tree, commands)
    batches = []
    for top in TOPS:
        headers = [path for path in sorted(tree.files) if path.endswith(".h") and in_folder(path, top)]
        if headers and top not in flags:
            problems.append(f"{top}: no file of it is in the compile commands")
            continue
        batches += [(flags[top], headers[at:at + 40]) for at in range(0, len(headers), 40)]

    def compile_batch(batch):
        (words, directory), headers = batch
        run = subprocess.run(
            [*words, "-w", "-fsyntax-only", "-x", "c", *(os.path.join(tree.root, h) for h in headers)],
            cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        errors = [l for l in run.stdout.splitlines() if " error:" in l or " fatal error:" in l]
        if run.returncode and not errors:
            errors = [run.stdout]
        return [f"{e.replace(tree.root + '/', '')} (compiled alone)" for e in errors]

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for errors in pool.map(compile_batch, batches):
            problems += [error for error in dict.fromkeys(errors) if error not in problems]


def check_clients(tree, problems, stale):
    """A test that includes the header is a client, too: it holds the header to its promise."""
    clients = collections.defaultdict(list)
    for line in tree.includes():
        if os.path.splitext(line.file)[0] != os.path.splitext(line.header)[0]:
            clients[line.header].append(line)
    lonely = {}
    for header, lines in clients.items():
        if len(lines) == 1 and not tree.tests[header]:
            if os.path.dirname(lines[0].file) == os.path.dirname(header):
                lonely[header] = lines[0]
    for header, line in sorted(lonely.items()):
        if header not in ONE_CLIENT and not header.startswith(BEING_REBUILT):
            problems.append(f"{line.file}:{line.number}: the only client of {header}: fold it in")
    for header in set(ONE_CLIENT) - set(lonely):
        stale(header, f"ONE_CLIENT: {header} has no or several clients")


def check_architecture(tree, problems):
    path = os.path.join(tree.root, "ARCHITECTURE.md")
    if not os.path.exists(path):
        return
    with open(path) as file:
        for number, text in enumerate(file, 1):
            for name in re.findall(r"`([a-z_]+(?:/[a-z_]+)*)/`", text):
                if name.split("/")[0] in TOPS and not os.path.isdir(os.path.join(tree.root, name)):
                    problems.append(f"ARCHITECTURE.md:{number}: there is no folder {name}/")


def check_named(tree, problems):
    for line in tree.named:
        if not os.path.exists(os.path.join(tree.root, line.header)):
            problems.append(f"{line.file}:{line.number}: there is no {line.header}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--commands", help="compile_commands.json of the build")
    parser.add_argument("--no-stale", action="store_true",
                        help="exceptions may be of no use: for trees of tests")
    args = parser.parse_args()
    tree = Tree(os.path.realpath(args.root))
    problems, notes = [], []

    def stale(where, what):
        if not args.no_stale:
            (notes if where.startswith(BEING_REBUILT) else problems).append(
                f"tests/tools/includes.py: {what}: remove the exception")

    check_table(tree, problems, stale)
    check_circles(tree, problems, stale)
    check_links(tree, problems, stale)
    check_clients(tree, problems, stale)
    check_architecture(tree, problems)
    check_named(tree, problems)
    if args.commands:
        with open(args.commands) as file:
            check_headers_alone(tree, problems, json.load(file))
    for note in notes:
        print("note:", note)
    for problem in problems:
        print(problem)
    print(f"{len(tree.files)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
