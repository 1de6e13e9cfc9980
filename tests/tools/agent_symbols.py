# SPDX-License-Identifier: MIT
"""What the agent asks of a program's C library is in every one since glibc 2.17, and on x86-64 it is
noted to be fit for shadow stacks (CET): a program without other such libraries would lose them.

agent_symbols.py AGENT OBJDUMP LIBC. An older libc may stand in a chroot or beside a program. Its
loader ends the program where a version is missing, or a symbol that is not weak.
"""
import platform
import re
import subprocess
import sys

OLDEST = (2, 17)
MERGED = (2, 32)  # from then on parts of libpthread and libdl came to be in libc


def symbols(objdump, path):
    """[(name, version or "", is it the default one, is it weak, is it undefined)]."""
    done = subprocess.run([objdump, "-T", path], capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        match = re.match(r"[0-9a-f]+ (.{7}) (\S+)\t[0-9a-f]+ +(?:(\S+) +)?(?:0x\S+ |\.\S+ )?(\S+)$", line)
        if match:
            flags, section, version, name = match.groups()
            version = version or ""
            yield (name, version.strip("()"), "(" not in version, "w" in flags,
                   section == "*UND*")


def is_fit_for_shadow_stacks(objdump, path):
    """The bit of GNU_PROPERTY_X86_FEATURE_1_AND (0xc0000002) in the note."""
    done = subprocess.run([objdump, "-s", "-j", ".note.gnu.property", path],
                          capture_output=True, text=True, check=False)
    note = "".join(word for line in done.stdout.splitlines() if line.startswith(" ")
                   for word in line.split("  ")[0].split()[1:])
    match = re.search("020000c004000000(..)", note)
    return match is not None and bool(int(match[1], 16) & 2)


def numbers(version):
    return tuple(int(part) for part in version.removeprefix("GLIBC_").split("."))


def main():
    agent, objdump, libc = sys.argv[1:]
    versions, default = {}, {}
    for name, version, is_default, _, undefined in symbols(objdump, libc):
        if not undefined and re.fullmatch(r"GLIBC_[\d.]+", version):
            versions.setdefault(name, []).append(numbers(version))
            if is_default:
                default[name] = numbers(version)
    asked = [(name, version, weak) for name, version, _, weak, undefined
             in symbols(objdump, agent) if undefined]
    assert len(asked) > 20 and "memcpy" in versions and "dlopen" in versions, "objdump -T changed"
    wrong = []
    for name, version, weak in asked:
        if version.startswith("GLIBC_") and numbers(version) > OLDEST:
            wrong.append(f"{name} is asked for as {version}")
        if weak or name.startswith("__tls_get_addr"):
            continue
        if name not in versions:
            wrong.append(f"{name} is not in libc")
        elif min(versions[name]) > OLDEST:
            wrong.append(f"{name} is of glibc {min(versions[name])}")
        elif default.get(name, OLDEST) >= MERGED:
            wrong.append(f"{name} was not in libc itself: it must be weak")
    if platform.machine() == "x86_64" and not is_fit_for_shadow_stacks(objdump, agent):
        wrong.append("the agent is not noted to be fit for shadow stacks")
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
