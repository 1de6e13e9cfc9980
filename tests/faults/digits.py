# SPDX-License-Identifier: MIT
"""Powers modulo a prime, by all of their digits, and with remainders on the way."""
import os
import sys
import sysconfig

PRIME = (1 << 127) - 1
EXPONENTS = range(90000, 90060)


def has_names():
    """Whether the interpreter's own functions have names: they tell how long its numbers are."""
    library = os.path.join(sysconfig.get_config_var("LIBDIR") or "",
                           sysconfig.get_config_var("INSTSONAME") or "")
    for path in (library, os.path.realpath(sys.executable)):
        if os.path.isfile(path) and b"\0x_divrem\0" in open(path, "rb").read():
            return True
    return False


def faulty():
    total = 0
    for exponent in EXPONENTS:
        total ^= 5 ** exponent % PRIME  # fault: PY-DIGITS
    print(total)


def healthy():
    total = 0
    for exponent in EXPONENTS:
        total ^= pow(5, exponent, PRIME)
    print(total)


if __name__ == "__main__":
    if not has_names():
        sys.exit(77)
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
