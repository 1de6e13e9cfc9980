# SPDX-License-Identifier: MIT
"""A heavy library is imported for what a line of Python can do."""
import sys


def faulty():
    import torch  # fault: PY-IMPORT
    print(int(torch.tensor([1, 2, 3]).sum()))


def healthy():
    print(sum([1, 2, 3]))


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
