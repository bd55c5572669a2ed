"""Run the benchmark modules of this folder and print one table."""

import argparse
import importlib
import pkgutil
import platform
import sys
from collections.abc import Iterable, Sequence

import benchmarks
from benchmarks import Figure

HEADINGS = ("what", "measured", "against", "ratio", "target", "")


def module_names() -> list[str]:
    """Return the names of the benchmark modules in this folder."""
    found = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    return sorted(name for name in found if not name.startswith("_"))


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
    chosen = parser.parse_args(arguments)
    unknown = sorted(set(chosen.modules) - set(known))
    if unknown:
        parser.error(
            f"there is no benchmark {unknown[0]!r}; there are {', '.join(known)}"
        )
    figures = [
        figure for name in chosen.modules or known for figure in run(name, chosen.full)
    ]
    print(f"{platform.machine()}, Python {platform.python_version()}\n")
    print(table(figures))


if __name__ == "__main__":
    main()
