# SPDX-License-Identifier: MIT
"""Reads bottleneck-profile(5) with SQL alone and answers for itself.

It shares no code with the program, so a mistake in the program's own sums shows.
"""
import os
import re


def plain_name(name):
    """A function's name without return type, parameters, clone suffixes and lambda numbers."""
    name = re.sub(r"\s*\[clone [^]]*\]|\.(isra|part|constprop|cold|lto_priv)(\.\d+)*$", "", name)
    name = re.sub(r"\{lambda\([^)]*\)(#\d+)?\}", "{lambda}", name)
    depth = 0
    for i, c in enumerate(name):
        depth += (c in "<{") - (c in ">}" and name[i - 1:i] != "-")
        if c == "(" and depth == 0 and i > 0 and not name.startswith("(anonymous", i):
            name = name[:i]
            break
    depth = 0
    for i in range(len(name) - 1, 0, -1):
        depth += (name[i] in ">})") - (name[i] in "<{(")
        if name[i] == " " and depth == 0 and not name.startswith("operator"):
            return name[i + 1:]
    return name
