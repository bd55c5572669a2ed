"""Programs that stand in texts, for other processes, import what exists.

No tool reads them, and some run in long benchmarks and tests only.
"""

import ast
import pkgutil
import re

from pictures import ROOT

FOLDERS = ("benchmarks", "examples", "reproduction", "scripts", "src", "tests")
FILES = sorted(
    path
    for folder in FOLDERS
    for ending in ("*.py", "*.ipynb")
    for path in (ROOT / folder).rglob(ending)
    if "node_modules" not in path.parts
)
FROM = re.compile(r"^\s*(?:>>> )?from (seepage[\w.]*) import ([\w, ]+)$", re.MULTILINE)


def texts(path):
    """Return the texts of a Python file, or a notebook as it is."""
    content = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        return [content.replace("\\n", "").replace('"', "")]
    constants = (
        node.value
        for node in ast.walk(ast.parse(content))
        if isinstance(node, ast.Constant)
    )
    return [value for value in constants if isinstance(value, str)]


def imported(path):
    """Return the names that the texts of a file import from the package."""
    for text in texts(path):
        for module, names in FROM.findall(text):
            for name in names.split(","):
                yield f"{module}:{name.split(' as ')[0].strip()}"


def exists(name):
    try:
        return pkgutil.resolve_name(name) is not None
    except (ImportError, AttributeError):
        return False


def test_what_texts_import_exists():
    names = {name: path for path in FILES for name in imported(path)}
    assert len(names) > 20
    assert {name: path for name, path in names.items() if not exists(name)} == {}
