# SPDX-License-Identifier: MIT
"""Which C functions of Python end with a jump: they are not on the stack while others work for
them."""
import re
import shutil
import subprocess
import tempfile

# Prints the code from the beginning of the C function of a method.
CODE_OF = """
import ctypes, sys
module, _, owner = sys.argv[1].rpartition(".")
method = getattr(getattr(__import__(module or "builtins"), owner), sys.argv[2])
definition = ctypes.c_size_t.from_address(id(method) + object.__basicsize__ + 24).value
function = ctypes.c_size_t.from_address(definition + 8).value
sys.stdout.buffer.write(ctypes.string_at(function, 1024))
"""


def ends_with_a_jump(python, name):
    """Which functions do so is up to the compiler: with LTO, as in Debian 13, many do."""
    method = re.fullmatch(r"\{method '(\w+)' of '([\w.]+)' objects\}", name)
    if not method or not shutil.which("objdump"):
        return False
    with tempfile.NamedTemporaryFile() as code:
        if subprocess.run([python, "-c", CODE_OF, method[2], method[1]], stdout=code,
                          stderr=subprocess.DEVNULL, timeout=60).returncode:
            return False
        text = subprocess.run(["objdump", "-D", "-b", "binary", "-m", "i386:x86-64",
                               "--no-show-raw-insn", code.name], check=True, timeout=60,
                              capture_output=True, text=True).stdout
    lines = [line.split("\t")[-1].split() for line in text.splitlines() if "\t" in line]
    for last, insn in zip(lines, lines[1:]):
        if insn[0] == "jmp" and (last[0] in ("pop", "leave") or
                                 last[0] == "add" and last[1].endswith(",%rsp")):
            return True  # after it has given its frame back
        if insn[0] == "nop" and last[0] in ("jmp", "ret", "call"):
            return False  # the next function
    return False
