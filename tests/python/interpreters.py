# SPDX-License-Identifier: MIT
"""The Python interpreters of this machine, one of each version.

Three of them are enough for an ordinary run of the tests: the oldest, the newest, and the system's.
BOTTLENECK_PYTHONS=all takes each; or it names them, with colons between.
"""
import glob
import os
import subprocess

QUESTION = ("import sys, sysconfig; print(sys.implementation.name, '%d.%d.%d' % "
            "sys.version_info[:3] + ('t' if sysconfig.get_config_var('Py_GIL_DISABLED') else ''))")
OLDEST = (3, 8)


def candidates():
    """Programs by the name of python3.N or python3, in PATH and where pyenv and uv keep theirs."""
    named = os.environ.get("BOTTLENECK_PYTHONS")
    if named and named != "all":
        yield from named.split(":")
        return
    home = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    folders = [f for f in os.environ.get("PATH", "").split(":") if "shims" not in f]
    folders += glob.glob(home + "/versions/*/bin")
    folders += glob.glob(os.path.expanduser("~/.local/share/uv/python/*/bin"))
    folders += ["/usr/local/bin", "/usr/bin"]
    for folder in folders:
        for path in sorted(glob.glob(folder + "/python3*")):
            name = os.path.basename(path)
            if name.replace("python3", "").lstrip(".t").isdigit() or name == "python3":
                yield path


def find():
    """{"3.11.2": path}; whatever is older than we read is left out."""
    found = {}
    asked = set()
    for path in candidates():
        real = os.path.realpath(path)
        if real in asked or not os.access(real, os.X_OK):
            continue
        asked.add(real)
        try:
            answer = subprocess.run([path, "-c", QUESTION], capture_output=True, text=True,
                                    timeout=60).stdout.split()
        except (OSError, subprocess.TimeoutExpired):
            continue
        if len(answer) != 2 or answer[0] != "cpython":
            continue
        version = tuple(int(n) for n in answer[1].rstrip("t").split(".")[:2])
        if version >= OLDEST and answer[1] not in found:
            found[answer[1]] = path
    ordered = sorted(found.items(), key=lambda kv: [int(n) for n in kv[0].rstrip("t").split(".")])
    if os.environ.get("BOTTLENECK_PYTHONS"):
        return dict(ordered)
    return dict(pair for i, pair in enumerate(ordered)
                if i in (0, len(ordered) - 1) or pair[1].startswith("/usr/bin/"))
