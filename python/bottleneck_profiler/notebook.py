# SPDX-License-Identifier: MIT
"""The magic %%bottleneck of IPython and Jupyter: profiles a cell in a process of its own.

    %load_ext bottleneck_profiler

    %%bottleneck --ops
    import numpy as np
    ...

The cell is saved as a file and run by the notebook's Python under bottleneck(1), in the notebook's
working directory. Nothing that other cells have defined is there: import and make what it needs. The
words behind %%bottleneck are options of bottleneck; those behind -- are the cell's sys.argv. With
--export=html the page is shown below the report.

Where the notebook's kernel itself runs under bottleneck, loading the extension saves each cell as the
file that its frames are named after, so that the report shows the lines of cells.
"""
import atexit
import html
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

from bottleneck_profiler import is_profiled, program

_directory = None


def _own_directory():
    global _directory
    if _directory is None:
        _directory = tempfile.mkdtemp(prefix="bottleneck-cells-")
        atexit.register(_remove, _directory, os.getpid())
    return _directory


def _remove(directory, pid):
    if os.getpid() == pid and not is_profiled():  # the report reads the lines when the run is over
        shutil.rmtree(directory, ignore_errors=True)


def _save(path, text):
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text if text.endswith("\n") else text + "\n")


def _split(line):
    """Options of bottleneck, and arguments of the cell."""
    words = shlex.split(line)
    if "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1:]


def _environment():
    """Modules beside the notebook are found as in the notebook."""
    environment = dict(os.environ, PYTHONUNBUFFERED="1")
    paths = [os.getcwd(), os.environ.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    return environment


def _number(shell):
    """Of the cell that runs, as the notebook shows it."""
    history = getattr(shell, "history_manager", None)
    return max(len(getattr(history, "input_hist_parsed", ())) - 1, 1)


def run_cell(shell, line, cell):
    """The magic itself. Returns nothing: what the cell and bottleneck print is the cell's output."""
    options, arguments = _split(line)
    if is_profiled():
        raise RuntimeError("%%bottleneck: this notebook itself runs under bottleneck, whose report has the "
                           "lines of its cells: run the cell without the magic")
    path = os.path.join(_own_directory(), f"cell-{_number(shell)}.py")
    _save(path, cell)
    command = [program.find(), *options, "--", sys.executable, path, *arguments]
    page = None
    if "--export=html" in options:
        page = path[:-len(".py")] + ".html"
        command[command.index("--export=html")] = f"--export=html={page}"
        if os.path.exists(page):
            os.remove(page)
    print("%%bottleneck: the cell runs in a process of its own, without what other cells have defined",
          flush=True)
    with subprocess.Popen(command, env=_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8", errors="replace") as process:
        try:
            for text in process.stdout:
                sys.stdout.write(text)
                sys.stdout.flush()
        except KeyboardInterrupt:  # the kernel's interrupt: bottleneck gets it, and reports
            process.terminate()
            sys.stdout.write(process.stdout.read())
    if process.returncode:
        print(f"%%bottleneck: exit status {process.returncode}")
    if page and os.path.exists(page):
        _show(page)


class _Frame:
    """What IPython.display.HTML shows, too, but with a warning that advises an IFrame, which cannot hold a text."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return "<a report of bottleneck>"

    def _repr_html_(self):
        return f'<iframe sandbox="allow-scripts" srcdoc="{self.text}" width="100%" height="700"></iframe>'


def _show(path):
    """The page has scripts of its own: it gets a frame, where they reach nothing of the notebook."""
    from IPython.display import display

    with open(path, encoding="utf-8") as file:
        display(_Frame(html.escape(file.read())))


def _save_cells(shell):
    """What cells are compiled as becomes a file with their text."""
    compiler = getattr(shell, "compile", None)
    name_of = getattr(compiler, "get_code_name", None)
    if name_of is None or getattr(name_of, "saves_cells", False):
        return

    def get_code_name(raw_code, transformed_code, number):
        name = name_of(raw_code, transformed_code, number)
        if not os.path.isabs(name):
            name = os.path.join(_own_directory(), f"cell-{number}.py")
        try:
            _save(name, transformed_code)
        except OSError:
            pass  # the report has its lines without their text
        return name

    get_code_name.saves_cells = True
    get_code_name.before = name_of
    compiler.get_code_name = get_code_name


def load(shell):
    def bottleneck(line, cell):
        """%%bottleneck [OPTIONS] [-- ARGUMENTS]: profile the cell in a process of its own."""
        run_cell(shell, line, cell)

    shell.register_magic_function(bottleneck, magic_kind="cell", magic_name="bottleneck")
    if is_profiled():
        _save_cells(shell)


def unload(shell):
    shell.magics_manager.magics["cell"].pop("bottleneck", None)
    name_of = getattr(getattr(shell, "compile", None), "get_code_name", None)
    if getattr(name_of, "saves_cells", False):
        shell.compile.get_code_name = name_of.before
