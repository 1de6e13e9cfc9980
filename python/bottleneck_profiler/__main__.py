# SPDX-License-Identifier: MIT
"""python3 -m bottleneck_profiler [OPTIONS] script.py [ARGUMENTS]: the script, run by this Python under
bottleneck(1). What stands before the script are options of bottleneck; "-m module" and "-c code" stand in
for the script, as for Python itself.
"""
import sys

from bottleneck_profiler import program

USAGE = """usage: python3 -m bottleneck_profiler [OPTIONS] [--] SCRIPT | -m MODULE | -c CODE [ARGUMENTS]

Profiles a Python program with this Python. OPTIONS are those of bottleneck(1); long ones that take a
value are one word, as --option=value. The program's output and exit status stay its own.
"""

# Short options whose value may be the next word.
VALUED = ("-F", "-o", "-R", "-n")


def split(words):
    """(options of bottleneck, words for Python); the second is empty if no script is named."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-m", "-c", "-"):
        if words[at] == "--":
            return words[:at], words[at + 1:]
        at += 2 if words[at] in VALUED else 1
    return words[:at], words[at:]


def run_program():
    """The command "bottleneck" of an installed wheel."""
    program.execute(sys.argv[1:])


def main():
    options, script = split(sys.argv[1:])
    if not script and any(word in ("--version", "--help", "-h", "--help-all") for word in options):
        if "--version" in options:
            program.execute(["--version"])
        print(USAGE, end="")
        return
    if not script:
        sys.stderr.write(USAGE)
        sys.exit(2)
    program.execute([*options, "--", sys.executable, *script])


if __name__ == "__main__":
    main()
