# SPDX-License-Identifier: MIT
"""Wherever code comes from, its functions have the file and the lines that Python has for them.

    origins.py BOTTLENECK [ORIGIN…]

The same function is run from a script, a module, a package, -c, the standard input, a zipped
application, a notebook's cell, and from exec(), in every interpreter of this machine; what the
profile and the report say of it is compared with what its code objects say in the program.
"""
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import zipfile

import interpreters

BODY = '''import json, os, sys, time
def inner(seconds):
    end = time.thread_time() + seconds
    total = 0
    while time.thread_time() < end:
        for i in range(300):
            total += i * i
    return total
def outer(seconds):
    inner(seconds)
    return sys._getframe()
frame = outer(0.25)
told = [[frame.f_code.co_filename, "outer", frame.f_code.co_firstlineno + 1],
        [frame.f_code.co_filename, "inner", inner.__code__.co_firstlineno]]
with open(os.environ["TOLD"], "w") as file:
    json.dump(told, file)
'''
HOT = (4, 5, 6)   # lines of inner() after its first, without the last
COMPARED = 0.9    # of inner()'s time, on those lines
FIRST = "import time\n"
MADE = "<exec>"
RUN_AS = {
    "exec": "exec(open({path!r}).read())\n",
    "exec_named": "exec(compile(open({path!r}).read(), '<made by a template>', 'exec'))\n",
    # As IPython and ipykernel name their cells.
    "cell": "exec(compile(open({path!r}).read(), '<ipython-input-3-5ab1c0de>', 'exec'))\n",
    "kernel_cell": "exec(compile(open({path!r}).read(), '/tmp/ipykernel_4711/1234567.py', 'exec'))\n",
    "run_path": "import runpy; runpy.run_path({path!r}, run_name='__main__')\n",
}


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def shifted(name):
    """The body, at other lines in each."""
    return "#\n" * (3 + len(name)) + BODY


def origins(folder):
    """{name: (arguments, standard input, whether the source is in a file of that name)}"""
    def file(name):
        return write(f"{folder}/{name}", shifted(name))

    found = {
        "script": ([file("script.py")], None, True),
        "relative": (["relative.py"], None, True),
        "module": (["-m", "module_of_ours"], None, True),
        "package": (["-m", "package_of_ours"], None, True),
        "submodule": (["-m", "package_of_ours.inside.deep"], None, True),
        "command": (["-c", shifted("command")], None, False),
        "input": (["-"], shifted("input"), False),
        "zipped": ([f"{folder}/zipped.pyz"], None, False),
        "zipped_module": ([f"{folder}/importing.pyz"], None, False),
        "folder": ([f"{folder}/package_of_ours"], None, True),
    }
    file("relative.py"), file("module_of_ours.py"), file("package_of_ours/__main__.py")
    file("package_of_ours/inside/deep.py"), file("imported.py")
    write(f"{folder}/package_of_ours/__init__.py", "")
    write(f"{folder}/package_of_ours/inside/__init__.py", "")
    with zipfile.ZipFile(f"{folder}/zipped.pyz", "w") as archive:
        archive.writestr("__main__.py", shifted("zipped"))
    with zipfile.ZipFile(f"{folder}/importing.pyz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("__main__.py", "import in_zip\n")
        archive.writestr("in_zip.py", shifted("in_zip"))
    for name, text in RUN_AS.items():
        path = file(f"of_{name}.txt")
        found[name] = ([write(f"{folder}/{name}.py", text.format(path=path))], None,
                       name == "run_path")
    return found


def whole(path, folder, command=("-c",)):
    """3.8 names the main script as it was given. What exec() makes of a text in a program that is in
    a file has no name that says so."""
    if path == "<string>" and command[0] != "-c":
        return MADE
    return path if path.startswith("<") else os.path.realpath(os.path.join(folder, path))


def profile(bottleneck, folder, command, text):
    out = f"{folder}/bneck"
    environment = dict(os.environ, TOLD=f"{folder}/told", XDG_STATE_HOME=folder,
                       PYTHONDONTWRITEBYTECODE="1")
    subprocess.run([bottleneck, "--no-report", "-o", out, *command], check=True, timeout=300,
                   cwd=folder, env=environment, input=text, text=True, stdout=subprocess.DEVNULL)
    report = subprocess.run([bottleneck, "report", "--sort", "line", "--width", "200", out],
                            check=True, timeout=60, capture_output=True, text=True)
    with open(f"{folder}/told", encoding="utf-8") as file:
        told = json.load(file)
    with sqlite3.connect(out) as db:
        functions = db.execute("SELECT function, file, line, total_on_ns FROM hotspot").fetchall()
        lines = db.execute("SELECT file, line, self_on_ns FROM line").fetchall()
    return told, functions, lines, report.stdout + report.stderr


def faults(bottleneck, folder, command, text, has_source):
    told, functions, lines, report = profile(bottleneck, folder, command, text)
    (file, _, call), (_, _, first) = told
    file = whole(file, folder, command[1:])
    told_files = {row[0]: whole(row[1], folder) for row in functions
                  if row[0] in ("inner", "outer") and row[1]}
    if told_files != {"inner": file, "outer": file}:
        yield f"files {told_files}, not {file}"
    hot = {first + n for n in HOT} | {first + 1, first + 3}
    ours = [row for row in lines if row[0] and whole(row[0], folder) == file]
    own = sum(row[2] for row in ours)
    here = sum(row[2] for row in ours if row[1] in hot)
    if own < 1e8 or here < COMPARED * own:
        yield f"{own / 1e6} ms of own time, {here / 1e6} ms on {sorted(hot)}: {ours}"
    # Where most of a function's own time was, or of its total; a sample may meet it as it begins,
    # or returns.
    if not any(row[0] == "outer" and row[2] in (call - 1, call, call + 1) for row in functions):
        yield f"outer() calls at line {call}: {[r for r in functions if r[0] == 'outer']}"
    line = first + 5
    name = f"{file if file.startswith('<') else os.path.basename(file)}:{line}"
    if file == MADE:  # it belongs to the line that called it
        name = f"{os.path.basename(command[1])}:1"
    rows = [row for row in report.splitlines() if name in row]
    if not rows:
        yield f"the report has no row {name}"
    elif has_source != ("total += i * i" in rows[0]):
        yield f"the report's source: {rows[0]}"


def main():
    bottleneck, names = os.path.abspath(sys.argv[1]), sys.argv[2:]
    wrong = compared = 0
    for version, python in interpreters.find().items():
        with tempfile.TemporaryDirectory() as folder:
            folder = os.path.realpath(folder)
            for name, (arguments, text, has_source) in origins(folder).items():
                if names and name not in names:
                    continue
                compared += 1
                for fault in faults(bottleneck, folder, [python, *arguments], text, has_source):
                    wrong += 1
                    print(f"FAIL {version} {name}: {fault}")
    print(f"{compared} origins of code, {wrong} faults")
    sys.exit(0 if compared and not wrong else 1)


if __name__ == "__main__":
    main()
