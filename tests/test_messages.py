"""Messages of the library name Python; options and commands belong to the command line."""

import ast
import re
from pathlib import Path

from seepage.cli import COMMANDS

PACKAGE = Path(__file__).parents[1] / "src" / "seepage"

OF_COMMANDS = {"data/datasets/published_files.py", "study/reproduction/reproduction_page.py"}
"""Modules that name a command: downloading is one, without a public function."""


def texts_of(module):
    """Return the line and value of each string of a module that is not a docstring."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
    ]


def library_texts():
    """Return place and text of the strings outside the command line, by module."""
    modules = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    found = {name: texts_of(path) for name, path in modules.items() if not name.startswith("cli/")}
    assert sum(map(len, found.values())) > 3_000
    return found


def test_no_string_of_the_library_names_an_option_of_a_command():
    option = re.compile(r"(?<![\w-])--[a-z]")
    assert [
        f"{module}:{line}: {text}"
        for module, texts in library_texts().items()
        for line, text in texts
        if option.search(text)
    ] == []
    assert option.search("compute totals (--guarantee all)")  # and the pattern finds options


def test_no_string_of_the_library_names_a_command():
    command = re.compile(rf"\bseepage ({'|'.join(COMMANDS)})\b(?! plan)")  # a file format
    naming = {
        module
        for module, texts in library_texts().items()
        if any(command.search(text) for _, text in texts)
    }
    assert naming == OF_COMMANDS
