# SPDX-License-Identifier: MIT
"""Where the program bottleneck(1) is."""
import os
import shutil
import sys

# In a wheel.
_BESIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "program", "bin", "bottleneck")


def _is_program(path):
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:  # it may be run and not read: no script can
        return True


def _in_path():
    """The first in the PATH that is no script of this package, which would start itself."""
    for directory in os.environ.get("PATH", os.defpath).split(os.pathsep):
        found = shutil.which("bottleneck", path=directory or os.curdir)
        if found and _is_program(found):
            return found
    # Where its modules were put beside an installed program: PREFIX/share/bottleneck/python.
    share = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    beside = os.path.join(os.path.dirname(share), "bin", "bottleneck")
    return beside if os.access(beside, os.X_OK) else None


def find():
    """Its path. FileNotFoundError says what to do."""
    program = os.environ.get("BOTTLENECK")
    if program:
        return program
    program = _BESIDE if os.access(_BESIDE, os.X_OK) else _in_path()
    if not program:
        raise FileNotFoundError("bottleneck is neither in this package nor in the PATH: install the wheel "
                                "that carries it, or name the program in the variable BOTTLENECK")
    return program


def execute(arguments):
    """Becomes the program, or says why not and ends with status 127."""
    try:
        program = find()
        sys.stdout.flush()
        os.execv(program, [program, *arguments])
    except OSError as error:
        print(f"bottleneck_profiler: {error}", file=sys.stderr)
        sys.exit(127)
