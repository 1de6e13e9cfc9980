# SPDX-License-Identifier: MIT
"""States of a controller are kept for statistics at its end."""
import sys

import torch

STEPS, SIZE = 500, 128


def states():
    state = torch.zeros(48, SIZE)
    for _ in range(STEPS):
        state = (state * 0.9 + 0.1).clamp(-3, 3)
        yield state


def faulty():
    kept = torch.empty(0, SIZE)
    for state in states():
        kept = torch.cat([kept, state])  # fault: OP-CAT
    print(tuple(kept.mean(0).shape))


def healthy():
    print(tuple(torch.cat(list(states())).mean(0).shape))


if __name__ == "__main__":
    torch.set_num_threads(1)
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
