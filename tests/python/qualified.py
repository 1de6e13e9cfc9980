# SPDX-License-Identifier: MIT
"""What functions are called: co_qualname, which CPython has from 3.11 on, or the same by the source."""
import ast
import os


def find(node, prefix, found):
    for child in ast.iter_child_nodes(node):
        within = prefix
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([child.lineno] + [decorator.lineno for decorator in child.decorator_list])
            found[first, child.name] = prefix + child.name
            within = prefix + child.name + ("." if isinstance(child, ast.ClassDef) else ".<locals>.")
        find(child, within, found)
    return found


FILES = {}


def name_of(code):
    if hasattr(code, "co_qualname"):
        return code.co_qualname
    path = code.co_filename
    if path not in FILES:
        FILES[path] = {}
        if os.path.isabs(path) and os.path.isfile(path):
            with open(path, "rb") as file:
                FILES[path] = find(ast.parse(file.read()), "", {})
    return FILES[path].get((code.co_firstlineno, code.co_name), code.co_name)
