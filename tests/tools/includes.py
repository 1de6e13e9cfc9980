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
 7. the files that comments name exist;
 8. a header of a thing with a life, which NAME_new() or the like begins and NAME_free() or the like
    ends, says for which threads it is, and who owns what or must outlive whom;
 9. the formats call nothing that merge/ declares: cli/report/ asks, and they read the answers.

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

# Folders of cli/: the commands, and the formats, which know neither queries nor rules.
COMMANDS = ("cli/command", "cli/run", "cli/batch", "cli/bench", "cli/diff")
FORMATS = ("cli/text", "cli/html", "cli/export")

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
    "cli": ("base", "merge", "merge/record"),  # cli/*.h: options, messages, JSON, the terminal
    "cli/report": ("base", "merge", "cli"),
    **{folder: ("base", "cli", "cli/report") for folder in FORMATS},
    **{folder: ("base", "merge", "merge/record", "cli", "cli/report", "cli/text", "cli/export", *COMMANDS)
       for folder in COMMANDS},
}

# (including file or folder, included folder): why.
MAY_INCLUDE_TOO = {
    ("sampler/agent", "tracer/reader"): "rung 3 reads what the agent in the target writes, and all rungs its ops",
    ("sampler/inject", "tracer"): "what the agent's functions are called, and what they answer",
    ("cli/export", "cli/html"): "the exporter of the page",
}

# (folder, folder that it may include although that makes a circle).
CIRCLES = set()

# Headers with one client in their own folder: why they stay.
ONE_CLIENT = {
    "cli/batch/batch_output.h": "how a batch is told of, in three formats, apart from running it",
    "cli/bench/bench_statements.h": "processes that take turns, apart from the options and tables of bench",
    "cli/export/chrome.h": "Chrome's format, apart from what is written in it",
    "cli/export/firefox_markers.h": "its exporter is two tables, of stacks and of markers, in a file each",
    "cli/export/protobuf.h": "protocol buffers, apart from pprof's messages",
    "cli/html/html_assets.h": "the page itself: cmake/html.cmake makes the other file",
    "cli/run/attach.h": "processes that run already, apart from those that are launched",
    "merge/record/checkpoint.h": "a forked writer, apart from what is recorded meanwhile",
    "merge/scope/libc_frames.h": "what is known of C libraries, apart from rows and their names",
    "tracer/agent/blas/blas_table.h": "a table of routines",
    "tracer/agent/cupti/cupti.h": "InitializeInjection() is called by the driver, and by who stands before its loader",
    "tracer/agent/memory/allocator.h": "what is known of other allocators' blocks",
    "tracer/agent/memory/memory_slots.h": "counts of threads without waiting, for handlers, too",
    "tracer/agent/mpi/mpi_table.h": "a table of routines",
    "tracer/agent/nvtx/nvtx_deferred.h": "hooks of one part of NVTX, by the table of all",
    "tracer/agent/python/python_calls.h": "400 lines of counts that asking an interpreter need not know",
    "tracer/agent/python/python_names.h": "the same of names",
    "tracer/agent/python/python_trace.h": "the same of --trace",
    "tracer/agent/python/torch_modules.h": "PyTorch's objects, apart from Python's frames",
    "tracer/agent/trace/trace_object.h": "machine code of one object, apart from which objects there are",
    "tracer/agent/trace/trace_slots.h": "assembler and unwind rules name what it declares",
    "tracer/agent/waits/waits.h": "waits_hooks.h hands it on",
    "tracer/agent/waits/waits_next.h": "waits_hooks.h hands it on",
    "tracer/reader/door.h": "a socket and its protocol, apart from who owns which rings",
    "tracer/reader/ring_file.h": "foreign bytes stop here",
    "sampler/agent/agent_source.h": "what rungs 3 and 4 share: each implements source.h in a file of its own",
    "merge/profile/callables.h": "its functions are called by who includes profile_data.h",
    "merge/query/op_groups.h": "the groups of ops, apart from the rows that are made of them",
    "tracer/agent/python/await_gevent.h": "greenlets, apart from tasks of other libraries",
    "tracer/agent/python/await_trio.h": "trio's tasks, apart from those of other libraries",
    "symbolize/elf_module.h": "one file of the program with all that was separated from it",
    "symbolize/dwarf/dwp_index.h": "the index of packages, a parser of foreign bytes of its own",
    "symbolize/dwarf/split_dwarf.h": "which file has the rest of a unit, apart from resolving addresses",
    "sampler/unwind/cfi_program.h": "cfi_section.h hands it on",
    "sampler/unwind/cfi_search.h": "cfi_section.h hands it on",
    "sampler/unwind/unwinder_libunwind.h": "libunwind's types stop here",
}

# What the formats call of merge/: an answer that cli/report/answers.h got them is read by these.
READ_ANSWERS = {
    "slice_reader_next": "calls, waits and works come one by one",
    "slice_reader_thread": "whose they are",
    "slice_reader_threads": "how many there are",
    "slice_reader_stream": "the same of streams",
    "slice_reader_streams": "the same",
    "slice_reader_free": "markers hold their reader",
    "wakes_add": "who ended waits is found while these are read",
    "wakes_next": "the same",
    "stack_weight_on_cpu": "sums of a weight",
    "stack_weight_off_cpu": "the same",
    "stack_weight_samples": "the same",
}

# Headers of others, and what linking them is called.
SYSTEM = {
    "zlib.h": "PkgConfig::ZLIB",
    "sqlite3.h": "PkgConfig::SQLITE",
    "lzma.h": "PkgConfig::LZMA",
    "libsmartcols.h": "PkgConfig::SMARTCOLS",
    "libsmartcols/libsmartcols.h": "PkgConfig::SMARTCOLS",
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
BEGINS, ENDS = r"\b(\w+)_(?:new|open|init|read|start)\(", r"\b(\w+)_(?:free|close|fini|stop)\("
# How headers say it.
OF_THREADS = re.compile(r"\b(?:threads?|handlers?|at once)\b", re.IGNORECASE)
OF_OWNERS = re.compile(r"\b(?:owns?|owned|outlives?|borrow(?:s|ed)|belongs?|lives?|as long as|kept|keeps|"
                       r"until|frees?|closes?|caller)\b|free\(\)", re.IGNORECASE)
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
        stale(f"MAY_INCLUDE_TOO: {who} no longer includes {whom}")


def read(tree, path):
    """The code alone: without comments and what stands in quotes."""
    with open(os.path.join(tree.root, path), errors="replace") as file:
        text = re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: "\n" * m[0].count("\n"), file.read(), flags=re.DOTALL)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)


def check_asking(tree, problems, stale):
    declared, used = {}, set()
    for path in tree.files:
        if in_folder(path, "merge") and path.endswith(".h"):
            for name in re.findall(r"^\w[\w\s*]*?[\s*](\w+)\(", read(tree, path), re.MULTILINE):
                declared[name] = path
    for path in sorted(tree.files):
        if not any(in_folder(path, folder) for folder in FORMATS):
            continue
        text = read(tree, path)
        own = set(re.findall(r"^static\s[\w\s*]*?[\s*](\w+)\(", text, re.MULTILINE))
        for match in re.finditer(r"\b(\w+)\(", text):
            name = match[1]
            if name not in declared or name in own:
                continue
            used.add(name)
            if name not in READ_ANSWERS:
                number = text.count("\n", 0, match.start()) + 1
                problems.append(f"{path}:{number}: calls {name}() of {declared[name]}: cli/report/ asks")
    for name in sorted(set(READ_ANSWERS) - used):
        stale(f"READ_ANSWERS: no format calls {name}()")


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
        stale(f"CIRCLES: {pair[0]}/ may include {pair[1]}/ without an exception")


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


def check_links(tree, problems):
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
        if header not in ONE_CLIENT:
            problems.append(f"{line.file}:{line.number}: the only client of {header}: fold it in")
    for header in set(ONE_CLIENT) - set(lonely):
        stale(f"ONE_CLIENT: {header} has no or several clients")


def check_architecture(tree, problems):
    path = os.path.join(tree.root, "ARCHITECTURE.md")
    if not os.path.exists(path):
        return
    with open(path) as file:
        for number, text in enumerate(file, 1):
            for name in re.findall(r"`([a-z_]+(?:/[a-z_]+)*)/`", text):
                if name.split("/")[0] in TOPS and not os.path.isdir(os.path.join(tree.root, name)):
                    problems.append(f"ARCHITECTURE.md:{number}: there is no folder {name}/")


def check_lives(tree, problems):
    for path in sorted(tree.files):
        if not path.endswith(".h"):
            continue
        with open(os.path.join(tree.root, path)) as file:
            text = file.read()
        comments = " ".join(re.findall(r"/\*.*?\*/", text, re.DOTALL))
        code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        lives = set(re.findall(BEGINS, code)) & set(re.findall(ENDS, code))
        for what, words in ("threads", OF_THREADS), ("owners", OF_OWNERS):
            if lives and not words.search(comments):
                problems.append(f"{path}:1: says nothing of {what}, though {min(lives)} has a life")


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
    problems = []

    def stale(what):
        if not args.no_stale:
            problems.append(f"tests/tools/includes.py: {what}: remove the exception")

    check_table(tree, problems, stale)
    check_circles(tree, problems, stale)
    check_asking(tree, problems, stale)
    check_links(tree, problems)
    check_clients(tree, problems, stale)
    check_architecture(tree, problems)
    check_named(tree, problems)
    check_lives(tree, problems)
    if args.commands:
        with open(args.commands) as file:
            check_headers_alone(tree, problems, json.load(file))
    for problem in problems:
        print(problem)
    print(f"{len(tree.files)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
