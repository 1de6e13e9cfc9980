# SPDX-License-Identifier: MIT
"""Reads bottleneck-profile(5) with SQL alone and answers for itself.

It shares no code with the program, so a mistake in the program's own sums shows.
"""
import collections
import itertools
import os
import re
import sqlite3
import zlib


def plain_name(name):
    """A function's name without return type, parameters, clone suffixes and lambda numbers."""
    name = re.sub(r"\s*\[clone [^]]*\]|\.(isra|part|constprop|cold|lto_priv)(\.\d+)*$", "", name)
    name = re.sub(r"\{lambda\([^)]*\)(#\d+)?\}", "{lambda}", name)
    depth = 0
    for i, c in enumerate(name):
        depth += (c in "<{") - (c in ">}" and name[i - 1:i] != "-")
        if c == "(" and depth == 0 and i > 0 and not name.startswith("(anonymous", i):
            name = name[:i]
            break
    depth = 0
    for i in range(len(name) - 1, 0, -1):
        depth += (name[i] in ">})") - (name[i] in "<{(")
        if name[i] == " " and depth == 0 and not name.startswith("operator"):
            return name[i + 1:]
    return name


def varints(blob):
    value = shift = 0
    for byte in blob:
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0


def unzigzag(value):
    return (value >> 1) ^ -(value & 1)


def unpack(chunks, width, deltas):
    """Rows of a table of blobs; DELTAS are the columns that hold differences."""
    for count, blob in chunks:
        values = list(varints(zlib.decompress(blob)))
        columns = [values[i * count:(i + 1) * count] for i in range(width)]
        for i in deltas:
            columns[i] = list(itertools.accumulate(unzigzag(v) for v in columns[i]))
        yield from zip(*columns)


MARK_KERNEL, MARK_FAULT, FRAME_MARK, FRAME_OP, MODULE_KERNEL = 1, 7, 3, 4, 3
PAGE_FAULT = "page_fault"
ON_CPU = 0
BINS = 4096
METRICS = ("on_cpu", "runnable", "lock", "file", "net", "pipe", "sleep", "fault", "child", "gpu",
           "stopped", "other")


class Frame:
    """One function on a stack, inlined ones too."""

    def __init__(self, name, file, line, module, inlined, kernel):
        self.name = plain_name(name) if name else ""
        self.where = f"{os.path.basename(file)}:{line}" if file and line else ""
        self.module = module
        self.inlined = inlined
        self.kernel = kernel


class ProfileFile:
    def __init__(self, path):
        self.database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.run = dict(self.rows("select key, value from run"))
        self.threads = {row[0]: row for row in self.rows(
            "select id, process, tid, name, start_ns, end_ns, " + ", ".join(METRICS) +
            " from thread")}
        strings = dict(self.rows("select id, text from string"))
        modules = {row[0]: row for row in self.rows("select id, kind, path from module")}
        places = [(strings.get(function), strings.get(file), line, inlined) for
                  function, file, line, inlined, _ in self.chunked("place", 5, (0, 1, 2))]
        self.locations = [self.chain(row, places, modules)
                          for row in self.chunked("location", 6, (1,))]
        self.build_nodes()
        self.weigh()

    def rows(self, sql):
        return self.database.execute(sql).fetchall()

    def chunked(self, table, width, deltas):
        return list(unpack(self.rows(f"select rows, data from {table}_chunk order by id"),
                           width, deltas))

    @staticmethod
    def chain(row, places, modules):
        """The frames at a location, outermost first; an op has none."""
        module_id, _, kind, _, first, count = row
        if kind == FRAME_OP:
            return []
        module = modules.get(module_id)
        path = module[2] if module else ""
        kernel = row[1] in (MARK_KERNEL, MARK_FAULT) if kind == FRAME_MARK else bool(
            module and module[1] == MODULE_KERNEL)
        fault = kind == FRAME_MARK and row[1] == MARK_FAULT
        found = places[first:first + count] or [(PAGE_FAULT if fault else "", "", 0, 0)]
        return [Frame(*place[:3], path, bool(place[3]), kernel) for place in reversed(found)]

    def build_nodes(self):
        self.nodes = []  # (parent, frames, thread)
        for i, (distance, location) in enumerate(self.chunked("node", 2, ())):
            if distance == 0:
                self.nodes.append((None, [], location))
            else:
                parent = i - distance
                self.nodes.append((parent, self.locations[location - 1], self.nodes[parent][2]))

    def weigh(self):
        """Sums the cells: metric → {node index: ns}."""
        sample_ns = 10**9 // self.run["frequency_hz"] if self.run["frequency_hz"] else 0
        self.weights = collections.defaultdict(collections.Counter)
        for node, metric, bin_, samples, rest, rate in self.chunked("cell", 6, (0, 2)):
            # An interval is under way from the cell where it begins to the one where it ends.
            under_way = unzigzag(rate) * (BINS - bin_) * self.run["bin_ns"]
            self.weights[metric][node - 1] += samples * sample_ns + unzigzag(rest) + under_way
        self.on_cpu = self.weights[ON_CPU]
        self.all_ns = sum(self.on_cpu.values())

    def stack(self, node):
        """All frames from the thread's root to NODE, outermost first."""
        parts = []
        while node is not None:
            parent, frames, _ = self.nodes[node]
            parts.append(frames)
            node = parent
        return [frame for frames in reversed(parts) for frame in frames]

    def share_of(self, belongs):
        """Percent of the CPU time whose stack BELONGS."""
        if not self.all_ns:
            return 0.0
        found = sum(ns for node, ns in self.on_cpu.items() if belongs(self.stack(node)))
        return 100 * found / self.all_ns

    @staticmethod
    def user_leaf(stack):
        """The innermost frame in user space, whose time the program's own clock measures: with
        its system calls, and with the interrupts that it happened to meet."""
        return next((frame for frame in reversed(stack) if not frame.kernel), None)

    def self_share(self, name):
        return self.share_of(lambda s: (leaf := self.user_leaf(s)) and leaf.name == name)

    def total_share(self, name):
        return self.share_of(lambda s: any(f.name == name for f in s))

    def line_share(self, where):
        return self.share_of(lambda s: (leaf := self.user_leaf(s)) and leaf.where == where)

    def kernel_share(self):
        return self.share_of(lambda s: bool(s) and s[-1].kernel)

    def fault_share(self):
        return self.share_of(lambda s: bool(s) and s[-1].kernel and s[-1].name == PAGE_FAULT)

    def path_share(self, names):
        width = len(names)

        def holds(stack):
            found = [f.name for f in stack]
            return any(found[i:i + width] == names for i in range(len(found) - width + 1))
        return self.share_of(holds)

    def hottest_line(self, name):
        lines = collections.Counter()
        for node, ns in self.on_cpu.items():
            stack = self.stack(node)
            leaf = self.user_leaf(stack)
            if leaf and leaf.name == name:
                lines[leaf.where] += ns
        return lines.most_common(1)[0][0] if lines else ""

    def thread_share(self, name):
        named = {id for id, row in self.threads.items() if row[3] == name}
        found = sum(ns for node, ns in self.on_cpu.items() if self.nodes[node][2] in named)
        return 100 * found / self.all_ns if self.all_ns else 0.0

    def off_cpu_ms(self, cause):
        """By stacks, which must say the same as the threads' own accounts."""
        return sum(self.weights[METRICS.index(cause)].values()) / 1e6

    def account_ms(self, cause):
        return sum(row[6 + METRICS.index(cause)] for row in self.threads.values()) / 1e6

    def lifetime_ms(self):
        return sum(sum(row[6:]) for row in self.threads.values()) / 1e6

    def process_count(self):
        return self.run["processes_seen"]

    def pids(self):
        return [row[0] for row in self.rows("select pid from process")]

    def kernel_stacks(self):
        return bool(self.run["kernel_stacks"])

    def host_function_shares(self, function_name):
        """Self share by the function that stands in the binary, kernel as one, of the time that was
        sampled: tasks too short for a sample have exact times, but no stacks."""
        shares = collections.Counter()
        for node, ns in self.on_cpu.items():
            stack = self.stack(node)
            if not any(frame.name or frame.module for frame in stack):
                continue
            i = len(stack) - 1
            while i > 0 and stack[i].inlined:
                i -= 1
            leaf = stack[i]
            name = "[kernel]" if leaf.kernel else function_name(leaf.name, leaf.module)
            shares[name] += ns
        seen = sum(shares.values())
        return {name: 100 * ns / seen for name, ns in shares.items()}
