# SPDX-License-Identifier: MIT
"""Pictures that are brightened in float16, and in float32."""
import glob
import os
import sys

import numpy as np


def has_names():
    """Whether NumPy's own functions have names, as in its wheels: they are what is recognized."""
    found = glob.glob(os.path.join(os.path.dirname(np.__file__), "*core", "_multiarray_umath*.so"))
    return any(b"HALF_multiply\0" in open(path, "rb").read() for path in found)


def brighten(dtype):
    picture = (np.arange(1_500_000) % 251 / 256).astype(dtype)
    for _ in range(12):
        picture = np.sqrt(picture * picture)  # fault: PY-HALF
    return round(float(picture.max()), 2)


def faulty():
    print(brighten(np.float16))


def healthy():
    print(brighten(np.float32))


if __name__ == "__main__":
    if not has_names():
        sys.exit(77)
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
