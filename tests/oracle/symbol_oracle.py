#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares our symbolizer with addr2line and llvm-symbolizer.

usage: symbol_oracle.py DUMP [--fast] [--addresses N] [--only NAME] [--keep DIR] [--mutate MUTATION]

Compiles programs in every variant of debug information and asks all three what the chain of
functions, files and lines is at addresses spread over the code. An answer is right if it is
that of addr2line or, since addr2line drops some inlines of clang and knows no split DWARF,
that of llvm-symbolizer. Variants whose tools are missing are skipped, and said so.

With --mutate it runs elf_mutation on the files, too.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

DEMANDED = 99.9
# LLVM's up to 22 never ends over what some of gcc's DWARF 5 has (llvm-project issue 203625).
PACKAGE_SECONDS = 30


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="replace", **options).stdout


def have(tool):
    return shutil.which(tool) is not None


# ---- programs -----------------------------------------------------------------------------

def cxx_unit(number, functions):
    """A translation unit with templates, lambdas, local classes and inlines in inlines."""
    out = ['#include "common.h"', f"namespace unit{number} {{"]
    for f in range(functions):
        k = number * 131 + f * 17 + 3
        out.append(f"""
struct Local{f} {{
    int weight;
    int scale(int x) const {{ return clamp(x * weight, {k % 97}, {k % 97 + 50}); }}
}};
template <int N> __attribute__((noinline)) int step{f}(const std::vector<int> &v)
{{
    struct Inner {{
        int sum = N;
        void add(int x) {{ sum += square(x) - twice(x + N); }}
    }} inner;
    Local{f} local{{ N + {k % 7} }};
    auto mixed = [&](int x) {{
        return local.scale(x) + Chain<{k % 5 + 1}>::apply(x);
    }};
    for (int x : v) {{
        inner.add(x);
        if (x & {1 << f % 8})
            inner.sum ^= mixed(x);
    }}
    return inner.sum;
}}
__attribute__((noinline)) static int run{f}(std::vector<int> &v)
{{
    std::sort(v.begin(), v.end(), [](int a, int b) {{ return square(a) > twice(b); }});
    std::map<int, std::string> names;
    for (int x : v)
        names[x % 13] += std::to_string(x);
    return step{f}<{k % 11}>(v) + step{f}<{k % 11 + 20}>(v) + (int)names.size();
}}""")
    calls = " + ".join(f"run{f}(v)" for f in range(functions))
    out.append(f"int all(std::vector<int> &v) {{ return {calls}; }}\n}}")
    return "\n".join(out)


COMMON = """
#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <vector>
static inline int square(int x)
{
    return x * x;
}
static inline int twice(int x)
{
    return square(x) + x;
}
inline int clamp(int x, int low, int high)
{
    return x < low ? low : x > high ? high : twice(x);
}
template <int N> struct Chain {
    static inline int apply(int x) { return square(x) + Chain<N - 1>::apply(x + N); }
};
template <> struct Chain<0> {
    static inline int apply(int x) { return clamp(x, 1, 1000); }
};
"""

C_UNIT = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node { struct node *next; int key; };
static inline int mix(int x) { return (x ^ (x >> 3)) * 31; }
static inline int mix_twice(int x) { return mix(mix(x) + 1); }
static struct node *push(struct node *list, int key)
{
    struct node *n = malloc(sizeof(*n));
    if (!n)
        abort();
    n->next = list;
    n->key = mix_twice(key);
    return n;
}
__attribute__((noinline)) static int sum(const struct node *n)
{
    int total = 0;
    for (; n; n = n->next)
        total += mix(n->key);
    return total;
}
__attribute__((noinline)) static int recurse(int depth)
{
    return depth ? mix_twice(recurse(depth - 1)) + 1 : 1;
}
int main(int argc, char **argv)
{
    struct node *list = NULL;
    char text[64];
    for (int i = 0; i < argc * 10; i++)
        list = push(list, i);
    snprintf(text, sizeof(text), "%d %d %s", sum(list), recurse(argc), argv[0]);
    puts(text);
    return (int)strlen(text) & 1;
}
"""

RUST = """
use std::collections::HashMap;
trait Area { fn area(&self) -> f64; }
struct Square(f64);
struct Circle { radius: f64 }
impl Area for Square { #[inline(never)] fn area(&self) -> f64 { mul(self.0, self.0) } }
impl Area for Circle { #[inline(never)] fn area(&self) -> f64 { mul(self.radius, self.radius) * 3.14 } }
#[inline(always)] fn mul(a: f64, b: f64) -> f64 { a * b }
#[inline(never)] fn total<T: Area>(items: &[T]) -> f64 { items.iter().map(|i| i.area()).sum() }
fn main() {
    let n = std::env::args().count();
    let squares: Vec<Square> = (0..n * 10).map(|i| Square(i as f64)).collect();
    let circles: Vec<Circle> = (0..n * 10).map(|i| Circle { radius: i as f64 }).collect();
    let mut counts: HashMap<String, usize> = HashMap::new();
    for (i, s) in squares.iter().enumerate() { *counts.entry(format!("{}", s.0 as u64 % 7)).or_default() += i; }
    println!("{} {} {}", total(&squares), total(&circles), counts.len());
}
"""


class Sources:
    def __init__(self, directory, units, functions):
        self.directory = directory
        self.units = [f"unit{i}.cc" for i in range(units)]
        self.write("common.h", COMMON)
        for i, name in enumerate(self.units):
            self.write(name, cxx_unit(i, functions))
        declarations = "".join(f"namespace unit{i} {{ int all(std::vector<int> &); }}\n"
                               for i in range(units))
        calls = " + ".join(f"unit{i}::all(v)" for i in range(units))
        self.write("main.cc", f'#include "common.h"\n{declarations}int main(int argc, char **)\n'
                              f"{{\n    std::vector<int> v;\n    for (int i = 0; i < argc * 40; i++)\n"
                              f"        v.push_back(i * 7919 % 101);\n    return ({calls}) & 1;\n}}\n")
        self.units.append("main.cc")
        self.write("plain.c", C_UNIT)
        self.write("shapes.rs", RUST)

    def write(self, name, text):
        with open(os.path.join(self.directory, name), "w") as file:
            file.write(text)


# ---- variants -----------------------------------------------------------------------------

class Variant:
    """How to build it: flags for all steps, flags for the link, and what comes after.

    UNSPLIT: the reference is the same code built without -gsplit-dwarf, which addr2line cannot
    read and of which llvm-symbolizer 14 loses some inlines.
    """

    def __init__(self, name, compiler, flags, sources="cxx", after=None, needs=(), link="",
                 names_only=False):
        self.name, self.compiler, self.flags = name, compiler, flags.split()
        self.sources, self.after, self.needs = sources, after, needs
        self.link, self.names_only = link.split(), names_only
        self.unsplit = "-gsplit-dwarf" in self.flags

    def missing(self):
        return [tool for tool in (self.compiler, *self.needs) if not have(tool)]


def separate_by_link(directory, program):
    os.makedirs(os.path.join(directory, ".debug"), exist_ok=True)
    debug = os.path.join(directory, ".debug", "program.debug")
    run("objcopy", "--only-keep-debug", program, debug)
    run("strip", "--strip-all", "-R", ".note.gnu.build-id", program)
    run("objcopy", f"--add-gnu-debuglink={debug}", program)


def separate_by_build_id(directory, program):
    notes = run("readelf", "-n", program)
    build_id = re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)
    target = os.path.join(directory, "debug", ".build-id", build_id[:2])
    os.makedirs(target)
    run("objcopy", "--only-keep-debug", program, os.path.join(target, build_id[2:] + ".debug"))
    run("strip", "--strip-all", program)


def dwz_multifile(directory, program):
    other = os.path.join(directory, "other")
    shutil.copy(program, other)
    run("dwz", "-m", os.path.join(directory, "common.debug"), "-M",
        os.path.join(directory, "common.debug"), program, other)


def dwz_alone(_, program):
    run("dwz", program)


def package(tool):
    def make(directory, program):
        run(tool, "-e", program, "-o", program + ".dwp", cwd=directory, timeout=PACKAGE_SECONDS)
        for name in os.listdir(directory):
            if name.endswith(".dwo"):
                os.unlink(os.path.join(directory, name))
    return make


def minimal_symbols(directory, program):
    """As Fedora's find-debuginfo makes .gnu_debugdata."""
    mini = os.path.join(directory, "mini")
    run("objcopy", "--only-keep-debug", program, mini)
    dynamic = {line.split()[-1] for line in run("nm", "-D", program).splitlines()}
    functions = [line.split()[-1] for line in run("nm", program).splitlines()
                 if re.search(r" [tTwW] ", line)]
    with open(mini + ".keep", "w") as file:
        file.writelines(f"{name}\n" for name in functions if name not in dynamic)
    run("objcopy", "-S", f"--keep-symbols={mini}.keep", mini)
    run("xz", "-f", mini)
    run("strip", "--strip-all", program)
    run("objcopy", "--add-section", f".gnu_debugdata={mini}.xz", program)


def strip_all(_, program):
    run("strip", "--strip-debug", program)


VARIANTS = [
    Variant("gcc -O2 DWARF 5", "g++", "-O2 -g -gdwarf-5"),
    Variant("gcc -O2 DWARF 4", "g++", "-O2 -g -gdwarf-4"),
    Variant("gcc -O0 DWARF 5", "g++", "-O0 -g"),
    Variant("gcc -O3 DWARF 4, type units", "g++", "-O3 -g -gdwarf-4 -fdebug-types-section"),
    Variant("gcc -O2 DWARF 3", "g++", "-O2 -g -gdwarf-3 -gstrict-dwarf"),
    Variant("gcc -O2 DWARF 2", "g++", "-O2 -g -gdwarf-2 -gstrict-dwarf"),
    Variant("gcc -O2 DWARF 64", "g++", "-O2 -g -gdwarf64"),
    Variant("gcc -O2 -g1", "g++", "-O2 -g1"),
    Variant("gcc -O2 -gz", "g++", "-O2 -g -gz"),
    Variant("gcc -O2 -gz=zlib-gnu", "g++", "-O2 -g -gdwarf-4 -gz=zlib-gnu"),
    Variant("gcc -O2 LTO", "g++", "-O2 -g -flto"),
    Variant("gcc -O2 -ffunction-sections", "g++", "-O2 -g -ffunction-sections",
            link="-Wl,--gc-sections"),
    Variant("gcc -O2 not PIE", "g++", "-O2 -g -no-pie"),
    Variant("gcc -O2 C", "gcc", "-O2 -g", sources="c"),
    Variant("gcc -O2 lld", "g++", "-O2 -g", link="-fuse-ld=lld", needs=("ld.lld",)),
    Variant("gcc -O2 gold", "g++", "-O2 -g -ffunction-sections",
            link="-fuse-ld=gold -Wl,--gc-sections", needs=("ld.gold",)),
    Variant("gcc dwz", "g++", "-O2 -g -gdwarf-4", after=dwz_alone, needs=("dwz",)),
    Variant("gcc dwz -m", "g++", "-O2 -g -gdwarf-4", after=dwz_multifile, needs=("dwz",)),
    Variant("gcc dwz -m DWARF 5", "g++", "-O2 -g -gdwarf-5", after=dwz_multifile,
            needs=("dwz",)),
    Variant("gcc debug file by link", "g++", "-O2 -g", after=separate_by_link),
    Variant("gcc debug file by build-id", "g++", "-O2 -g -Wl,--build-id",
            after=separate_by_build_id),
    Variant("gcc split DWARF 5", "g++", "-O2 -g -gsplit-dwarf -gdwarf-5"),
    Variant("gcc split DWARF 4", "g++", "-O2 -g -gsplit-dwarf -gdwarf-4"),
    Variant("gcc .dwp DWARF 4", "g++", "-O2 -g -gsplit-dwarf -gdwarf-4", after=package("dwp"),
            needs=("dwp",)),
    Variant("gcc .dwp DWARF 5", "g++", "-O2 -g -gsplit-dwarf -gdwarf-5",
            after=package("llvm-dwp"), needs=("llvm-dwp",)),
    Variant("gcc .gnu_debugdata", "g++", "-O2", after=minimal_symbols, names_only=True,
            needs=("xz",)),
    Variant("gcc symbols only", "g++", "-O2", after=strip_all, names_only=True),
    Variant("clang -O2 DWARF 5", "clang++", "-O2 -g"),
    Variant("clang -O2 DWARF 4", "clang++", "-O2 -g -gdwarf-4"),
    Variant("clang -O2 -gline-tables-only", "clang++", "-O2 -gline-tables-only"),
    Variant("clang -O0", "clang++", "-O0 -g"),
    Variant("clang -O2 -gz", "clang++", "-O2 -g -gz"),
    Variant("clang -O2 C", "clang", "-O2 -g", sources="c"),
    Variant("clang -O2 thin LTO", "clang++", "-O2 -g -flto=thin", link="-fuse-ld=lld",
            needs=("ld.lld",)),
    Variant("clang split DWARF 5", "clang++", "-O2 -g -gsplit-dwarf -gdwarf-5"),
    Variant("clang split DWARF 4", "clang++", "-O2 -g -gsplit-dwarf -gdwarf-4"),
    Variant("clang .dwp DWARF 5", "clang++", "-O2 -g -gsplit-dwarf -gdwarf-5",
            after=package("llvm-dwp"), needs=("llvm-dwp",)),
    Variant("rustc -O -g", "rustc", "-O -g", sources="rust"),
    Variant("rustc -O -g, v0 names", "rustc", "-O -g -C symbol-mangling-version=v0",
            sources="rust"),
]


FAST = {
    "gcc -O2 DWARF 5", "gcc -O2 DWARF 4", "gcc -O2 -g1", "gcc -O2 -gz", "gcc -O2 LTO",
    "gcc -O2 C", "gcc dwz -m", "gcc debug file by link", "gcc debug file by build-id",
    "gcc split DWARF 5", "gcc .dwp DWARF 5", "gcc .dwp DWARF 4", "gcc .gnu_debugdata",
    "clang -O2 DWARF 5", "clang -O2 DWARF 4", "clang split DWARF 5", "rustc -O -g",
}


def compile_all(variant, flags, sources, directory, program):
    path = sources.directory
    if variant.sources == "rust":
        run(variant.compiler, *flags, os.path.join(path, "shapes.rs"), "-o", program)
        return
    names = sources.units if variant.sources == "cxx" else ["plain.c"]
    objects = []
    for name in names:
        objects.append(os.path.join(directory, os.path.splitext(name)[0] + ".o"))
        run(variant.compiler, *flags, "-c", os.path.join(path, name), "-o", objects[-1],
            cwd=directory)
    run(variant.compiler, *flags, *variant.link, *objects, "-o", program, cwd=directory)


def build(variant, sources, directory):
    """Makes the program, and one with the same code that the references can read."""
    program = os.path.join(directory, "program")
    reference = os.path.join(directory, "reference")
    if variant.unsplit:
        flags = [f for f in variant.flags if f != "-gsplit-dwarf"]
        compile_all(variant, flags, sources, directory, reference)
        compile_all(variant, variant.flags, sources, directory, program)
        for name in program, reference:
            run("objcopy", "-O", "binary", "-j", ".text", name, name + ".text")
        with open(program + ".text", "rb") as one, open(reference + ".text", "rb") as other:
            assert one.read() == other.read(), "-gsplit-dwarf changed the code"
    else:
        compile_all(variant, variant.flags, sources, directory, program)
        shutil.copy(program, reference)
    if variant.after:
        variant.after(directory, program)
    return program, reference


# ---- answers ------------------------------------------------------------------------------

def text_addresses(program, wanted):
    """Addresses spread over the code."""
    for line in run("readelf", "-SW", program).splitlines():
        match = re.match(r"\s*\[ *\d+\] \.text\s+PROGBITS\s+(\w+)\s+\w+\s+(\w+)", line)
        if match:
            start, size = int(match.group(1), 16), int(match.group(2), 16)
            step = max(1, size // wanted)
            return list(range(start, start + size, step))
    return []


def path_and_line(text):
    text = re.sub(r" \(discriminator \d+\)$", "", text)
    path, _, line = text.rpartition(":")
    line = re.match(r"\d+", line)
    return os.path.normpath(path) if path else "??", int(line.group()) if line else 0


def ours(dump, program, addresses, debug_directory):
    environment = dict(os.environ, DEBUG_DIRECTORIES=debug_directory)
    result = subprocess.run([dump, program], input="".join(f"{a:x}\n" for a in addresses),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            errors="replace", env=environment, check=True)
    chains = {}
    for block in result.stdout.strip("\n").split("\n\n"):
        head, *frames = block.split("\n")
        chains[int(head, 16)] = [(f.split("\t")[0], *path_and_line(f.split("\t")[1]))
                                 for f in frames]
    return chains, result.stderr


def addr2line(program, addresses):
    text = run("addr2line", "-a", "-i", "-f", "-e", program,
               input="".join(f"{a:#x}\n" for a in addresses))
    chains, chain, lines = {}, None, iter(text.splitlines())
    for line in lines:
        if re.fullmatch(r"0x[0-9a-f]{16}", line):
            chain = chains.setdefault(int(line, 16), [])
        else:
            chain.append((line, *path_and_line(next(lines))))
    return chains


def llvm_symbolizer(program, addresses):
    text = run("llvm-symbolizer", "--no-demangle", "--inlines", "--print-address", "--obj",
               program, input="".join(f"{a:#x}\n" for a in addresses))
    chains = {}
    for block in text.strip("\n").split("\n\n"):
        head, *lines = block.split("\n")
        frames = chains.setdefault(int(head, 16), [])
        for name, place in zip(lines[::2], lines[1::2]):
            path, line = path_and_line(place.rpartition(":")[0])
            frames.append((name, path, line))
    return chains


def demangle(names):
    names = sorted(names)
    text = run("c++filt", "-i", "-r", input="\n".join(names) + "\n")
    return dict(zip(names, text.split("\n")))


def bare(name):
    """fit from void ns::fit<int>(int)."""
    while True:
        shorter = re.sub(r"<[^<>]*>", "", name)
        if shorter == name:
            break
        name = shorter
    name = name.split("(")[0] if not name.startswith("(") else name
    return name.split("::")[-1].strip()


def same_name(our, their):
    # DWARF does not tell the compiler's copies and cold parts apart.
    their = re.sub(r"(( \[clone [^]]*\])+|\.cold)$", "", their)
    our = re.sub(r"( \[clone [^]]*\])+$", "", our)
    if our == their or their in ("??", ""):
        return True
    # DWARF has the bare name only, and we took the whole one from the symbol table.
    return "(" not in their and "::" not in their and bare(their) in our


def same_path(our, their):
    return our == their or their == "??" or our.endswith("/" + their.lstrip("./"))


def same_chain(our, their):
    return len(our) == len(their) and all(
        same_name(a[0], b[0]) and a[2] == b[2] and same_path(a[1], b[1])
        for a, b in zip(our, their))


def brief(chain):
    return " < ".join(f"{bare(name)} {os.path.basename(path)}:{line}"
                      for name, path, line in chain)


def compare(our, references, names_only, show):
    """Counts of addresses: asked, right, and right by each of the references."""
    asked = right = 0
    by = [0] * len(references)
    for address, chain in our.items():
        theirs = [r.get(address, []) for r in references]
        if names_only:
            theirs = [[(t[-1][0], "??", 0)] if t and t[-1][0] != "??" else [] for t in theirs]
            chain = [(chain[-1][0], "??", 0)] if chain else []
        elif not any(t and any(f[2] for f in t) for t in theirs):
            continue  # no debug information there
        if not any(theirs):
            continue
        asked += 1
        equal = [same_chain(chain, t) for t in theirs]
        by = [n + e for n, e in zip(by, equal)]
        right += any(equal)
        if not any(equal) and show > 0:
            show -= 1
            print(f"  {address:#x}\n    ours {brief(chain)}")
            for t in theirs:
                print(f"    ref  {brief(t)}")
    return asked, right, by


def mutate(mutation, variant, directory, program):
    """What our symbolizer does with the files when they are damaged; raises an error if it fails."""
    parts = [path for pattern in ("*.dwo", "*.dwp", "common.debug", ".debug/*", "debug/.build-id/*/*")
             for path in glob.glob(os.path.join(directory, pattern))]
    text = run(mutation, program, *parts,
               env=dict(os.environ, DEBUG_DIRECTORIES=os.path.join(directory, "debug")))
    print("".join(f"{variant.name:26} {line}\n" for line in text.splitlines())
          .replace(directory + "/", ""), end="", flush=True)


def check(variant, sources, options):
    directory = tempfile.mkdtemp(prefix="variant-", dir=options.keep)
    program, reference = build(variant, sources, directory)
    if options.mutate:
        mutate(options.mutate, variant, directory, program)
    addresses = text_addresses(program, options.addresses)
    chains, status = ours(options.dump, program, addresses, os.path.join(directory, "debug"))
    tools = {"addr2line": addr2line, "llvm-symbolizer": llvm_symbolizer}
    references = [tools[t](reference, addresses) for t in tools if have(t)]
    names = demangle({f[0] for r in references for chain in r.values() for f in chain})
    references = [{a: [(names[f[0]], f[1], f[2]) for f in chain] for a, chain in r.items()}
                  for r in references]
    asked, right, by = compare(chains, references, variant.names_only, options.show)
    share = 100 * right / asked if asked else 0
    parts = [f"{t} {100 * n / asked if asked else 0:6.2f} %"
             for t, n in zip([t for t in tools if have(t)], by)]
    verdict = "ok" if share >= DEMANDED and asked >= 20 else "WRONG"
    print(f"{verdict:5}  {variant.name:32} {asked:6} addresses  {share:6.2f} %  "
          f"({', '.join(parts)})", flush=True)
    if verdict != "ok":
        print("  " + status.replace("\n", "; "))
    return verdict == "ok", asked, right


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dump")
    parser.add_argument("--addresses", type=int, default=3000)
    parser.add_argument("--units", type=int, default=2)
    parser.add_argument("--functions", type=int, default=4)
    parser.add_argument("--only")
    parser.add_argument("--mutate", metavar="MUTATION", help="damage the files, too")
    parser.add_argument("--fast", action="store_true", help="small, and the main variants only")
    parser.add_argument("--keep")
    parser.add_argument("--show", type=int, default=3, help="print this many differences")
    options = parser.parse_args()
    if options.fast:
        options.units, options.functions, options.addresses = 1, 2, 1000
    good, asked, right = True, 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        options.keep = options.keep or scratch
        os.makedirs(options.keep, exist_ok=True)
        sources = Sources(tempfile.mkdtemp(prefix="source-", dir=options.keep), options.units,
                          options.functions)
        for variant in VARIANTS:
            if options.only and options.only not in variant.name:
                continue
            if options.fast and variant.name not in FAST:
                continue
            missing = variant.missing()
            if not (have("addr2line") or have("llvm-symbolizer")):
                missing.append("addr2line")
            if missing:
                print(f"skip   {variant.name:32} no {', '.join(missing)}")
                continue
            try:
                one_good, n, r = check(variant, sources, options)
            except subprocess.TimeoutExpired as error:
                print(f"skip   {variant.name:32} {error.cmd[0]} does not end")
                continue
            except subprocess.CalledProcessError as error:
                print(f"FAIL   {variant.name:32} {' '.join(error.cmd)[:120]}\n"
                      f"{(error.stdout or '')[-400:]}{error.stderr[-1600:]}")
                one_good, n, r = False, 0, 0
            good, asked, right = good and one_good, asked + n, right + r
    if asked:
        print(f"in all {right} of {asked} addresses, {100 * right / asked:.3f} %")
    return 0 if good and asked else 1


if __name__ == "__main__":
    sys.exit(main())
