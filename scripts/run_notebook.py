"""Run the notebooks in examples/ and write their outputs, with Python alone.

Cells run from top to bottom in one namespace.  The value of a last expression is shown
as Jupyter shows it: by its `_repr_mimebundle_`, or `_repr_html_` and `repr`.  Magic
commands do not run. No published dataset is at hand, so that outputs do not depend on
the machine.
"""

import ast
import io
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import altair as alt

EXAMPLES = Path(__file__).parents[1] / "examples"

Notebook = dict[str, Any]


def run(notebook: Notebook) -> Notebook:
    """Return the notebook with the outputs of its code cells."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = []
    count = 0
    with (
        tempfile.TemporaryDirectory() as empty,
        patch.dict(os.environ, {"SEEPAGE_DATA": empty}),
        alt.renderers.enable("default"),  # one that a cell enables ends with the run
    ):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                outputs = list(_outputs("".join(cell["source"]), names, count))
                cell = {**cell, "execution_count": count, "outputs": outputs}
            cells.append(cell)
    return {**notebook, "cells": cells}


def _outputs(
    source: str, names: dict[str, Any], count: int
) -> Iterator[dict[str, Any]]:
    """Run a cell; yield what it prints, then its value."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        value = _value(source, names, f"<cell {count}>")
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        yield {"name": "stdout", "output_type": "stream", "text": text}
    if value is not None:
        yield {
            "data": {
                kind: text.splitlines(keepends=True)
                for kind, text in _shown(value).items()
            },
            "execution_count": count,
            "metadata": {},
            "output_type": "execute_result",
        }


def _value(source: str, names: dict[str, Any], title: str) -> Any:
    """Run statements; return the value of the last one if it is an expression."""
    statements = ast.parse(source).body
    last = (
        statements.pop()
        if statements and isinstance(statements[-1], ast.Expr)
        else None
    )
    exec(compile(ast.Module(statements, []), title, "exec"), names)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), title, "eval"), names)


def _shown(value: Any) -> dict[str, str]:
    """Return a value's display by media type."""
    if hasattr(value, "_repr_mimebundle_"):
        bundle = value._repr_mimebundle_(include=None, exclude=None)
        return dict(bundle[0] if isinstance(bundle, tuple) else bundle)
    page = {"text/html": value._repr_html_()} if hasattr(value, "_repr_html_") else {}
    return {**page, "text/plain": repr(value)}


def main() -> None:
    """Run every notebook in an empty folder and write it back."""
    for path in sorted(EXAMPLES.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as empty, chdir(empty):
            made = run(json.loads(path.read_text(encoding="utf-8")))
        text = json.dumps(made, indent=1, ensure_ascii=False, sort_keys=True)
        path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
