"""Write docs/reference.md: every public name with the first line of its docstring."""

import inspect
from pathlib import Path

import seepage

PAGE = Path(__file__).parents[1] / "docs" / "reference.md"

HEAD = """# Reference

Every public name of `seepage`, by the module it lives in. `help(seepage.NAME)` tells the rest:
formula, parameters, cost, an example. This page is made from the docstrings by
`scripts/make_reference.py`; a test keeps it current.
"""


def reference() -> str:
    """Return the page."""
    homes: dict[str, list[str]] = {}
    for name, home in seepage._HOMES.items():
        homes.setdefault(home, []).append(name)
    parts = [HEAD]
    for home in sorted(homes):
        parts.append(f"## `seepage.{home}`\n\n| name | what it is |\n| --- | --- |")
        parts.extend(_row(name) for name in sorted(homes[home]))
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"


def _row(name: str) -> str:
    found = getattr(seepage, name)
    first = (inspect.getdoc(found) or "").split("\n")[0]
    call = "(...)" if inspect.isfunction(found) else ""
    return f"| `{name}{call}` | {first} |"


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
