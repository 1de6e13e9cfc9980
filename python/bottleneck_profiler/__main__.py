# SPDX-License-Identifier: MIT
"""python3 -m bottleneck_profiler [OPTIONS] script.py [ARGUMENTS]: the script, run by this Python under
bottleneck(1). What stands before the script are options of bottleneck; "-m module" and "-c code" stand in
for the script, as for Python itself.
"""
import re
import subprocess
import sys

from bottleneck_profiler import program

USAGE = """usage: python3 -m bottleneck_profiler [OPTIONS] [--] SCRIPT | -m MODULE | -c CODE [ARGUMENTS]

Profiles a Python program with this Python. OPTIONS are those of bottleneck(1), as --waits or --top=5.
The program's output and exit status stay its own.
"""

# Short options whose value may be the next word.
VALUED = ("-F", "-o", "-R", "-n")


def takes_next_word(word):
    """Whether WORD is an option whose value may be the next word: of long ones the program knows."""
    if not re.fullmatch("--[a-z-]+", word):
        return word in VALUED
    text = subprocess.run([program.find(), "--help-all"], stdout=subprocess.PIPE, check=False).stdout.decode()
    return f" {word}=" in text


def split(words):
    """(options of bottleneck, words for Python); the second is empty if no script is named."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-m", "-c", "-"):
        if words[at] == "--":
            return words[:at], words[at + 1:]
        at += 2 if takes_next_word(words[at]) else 1
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
