"""The modules of the package as syntax trees, parsed once in a process."""

import ast
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "seepage"


@cache
def tree_of(path):
    """Return the syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes_of(path):
    """Return all nodes of a module's syntax tree."""
    return list(ast.walk(tree_of(path)))
