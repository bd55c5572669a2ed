"""Run the benchmark modules of this folder and print one table."""

import argparse
import importlib
import pkgutil
import platform
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import benchmarks
from benchmarks import Figure

HEADINGS = ("what", "measured", "against", "ratio", "target", "")

RESULTS = Path(__file__).with_name("results.md")
"""What `--save` writes, a section for each module; the documentation quotes it."""


FULL = ", with --full"
"""What a section adds that has the long measurements too."""


SKIPPED = "skipped: "
"""What a section has that lacks another package to compare with."""


def module_names() -> list[str]:
    """Return the names of the benchmark modules in this folder."""
    names = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    return sorted(name for name in names if not name.startswith("_"))


def run(name: str, full: bool) -> list[Figure]:
    """Return the figures of one module; the long ones too where `full`."""
    module = importlib.import_module(f"benchmarks.{name}")
    print(f"measuring {name} ...", file=sys.stderr, flush=True)
    figures = list(module.main() or ())
    if full and hasattr(module, "full"):
        figures += module.full()
    return figures


def table(figures: Iterable[Figure]) -> str:
    """Return the figures as a Markdown table."""
    verdict = {True: "met", False: "MISSED", None: ""}
    rows = [(*figure[:-1], verdict[figure.met]) for figure in figures]
    widths = [
        max(len(row[i]) for row in (HEADINGS, *rows)) for i in range(len(HEADINGS))
    ]
    lines = [HEADINGS, tuple("-" * width for width in widths), *rows]
    return "\n".join(
        "| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines
    )


def save(tables: Mapping[str, str], machine: str) -> None:
    """Write the tables of modules into the file of results, in place of their last
    ones.
    """
    before = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    sections = dict(
        re.findall(r"^## (\w+)\n\n(.*?)\n(?=\n## |\Z)", before, re.M | re.S)
    )
    sections |= {name: f"{machine}\n\n{text}" for name, text in tables.items()}
    parts = ["# What `make bench` printed", "Each module, as it was measured last."]
    parts += [f"## {name}\n\n{sections[name]}" for name in sorted(sections)]
    RESULTS.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, measure, print."""
    known = module_names()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "modules", nargs="*", metavar="module", help=f"of {', '.join(known)}"
    )
    parser.add_argument(
        "--full", action="store_true", help="also what takes minutes and disk"
    )
    parser.add_argument(
        "--save", action="store_true", help=f"keep what is printed in {RESULTS.name}"
    )
    entered = parser.parse_args(arguments)
    unknown = sorted(set(entered.modules) - set(known))
    if unknown:
        parser.error(
            f"there is no benchmark {unknown[0]!r}; there are {', '.join(known)}"
        )
    figures = {name: run(name, entered.full) for name in entered.modules or known}
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    if entered.full:
        machine += FULL
    print(f"{machine}\n")
    print(table(figure for several in figures.values() for figure in several))
    if entered.save:
        save({name: table(rows) for name, rows in figures.items() if rows}, machine)


if __name__ == "__main__":
    main()
