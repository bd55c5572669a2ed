"""Output of commands: text and files, checked in advance; messages that name the
options.
"""

import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from seepage._core.files import write_text
from seepage._core.results import Column, cell_text, json_text
from seepage.channel.domain import Domain

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control and bidirectional characters, without tab and line feed."""


def emit(text: str, output: str | None, *, private: bool = False) -> None:
    """Print text on standard output, or write it atomically to a file, private for mode
    0600.

    On a terminal, control characters (names may contain some) are escaped.
    """
    if output is None:
        if sys.stdout is not None and sys.stdout.isatty():
            text = CONTROL.sub(
                lambda c: c[0].encode("unicode_escape").decode("ascii"), text
            )
        click.echo(text.rstrip("\n"), color=True)  # else Click removes escape sequences
        return
    write_text(output, text.rstrip("\n") + "\n", private=private)
    click.echo(f"wrote {output}", err=True)


def write_result(
    result: Any,
    text: Callable[[], str],
    *,
    page: Callable[[str], Any] | None = None,
    printed: bool = False,
    private: bool = False,
) -> None:
    """Print a result, or write its page and its chart, as the options of the running
    command say.

    Parameters
    ----------
    result
        A result with `to_dict`, `to_csv` and `chart` where the command offers them.
    text
        Returns it as text for a terminal.
    page
        Writes the page that `--report` names.
    printed
        Whether `--output` is another file.
    private
        Whether JSON has counts of the table: a new file is then for its owner only.
    """
    options = click.get_current_context().params
    form = options["form"]
    path = None if printed else options["output"]
    if page is not None and options["report"] is not None:
        page(options["report"])
        click.echo(f"wrote {options['report']}: open it in a browser", err=True)
    if options.get("chart") is not None:
        from seepage.charts.chart_files import save_chart

        save_chart(result.chart(), options["chart"])
        click.echo(f"wrote {options['chart']}", err=True)
    if form == "json":
        emit(json_text(result.to_dict()), path, private=private)
    else:
        emit(result.to_csv() if form == "csv" else text(), path)


def constants(domain: Domain) -> list[str]:
    """Return a note to print on each attribute that has one value only."""
    return [
        f"{attribute.name} is constant (always {attribute.values[0]}): it leaks nothing"
        for attribute in domain
        if attribute.size == 1
    ]


def command_line() -> str:
    """Return the command line that runs, as provenance of a result.

    Bytes of names that are no UTF-8 are escaped.
    """
    typed = shlex.join(["seepage", *sys.argv[1:]])
    return os.fsencode(typed).decode("utf-8", "backslashreplace")


def aligned(
    rows: Sequence[Sequence[str]],
    *,
    left: bool = False,
    most: int | None = None,
    narrowest: int = 0,
) -> str:
    """Return rows as text in aligned columns: the first to the left, the others right
    unless `left`.

    At most `most` rows beside the first, and the number of the others; columns but the
    first have at least `narrowest` characters.
    """
    shown = rows if most is None else rows[: most + 1]
    widths = [max(map(len, cells)) for cells in zip(*shown, strict=True)]
    lines = []
    for first, *others in shown:
        cells = [
            cell.ljust(width) if left else cell.rjust(max(width, narrowest))
            for cell, width in zip(others, widths[1:], strict=True)
        ]
        lines.append("  " + "  ".join([first.ljust(widths[0]), *cells]).rstrip())
    if len(shown) < len(rows):
        lines.append(f"  ... {len(rows) - len(shown):,} more; --format json has all")
    return "\n".join(lines)


def aligned_columns(columns: Mapping[str, Column]) -> str:
    """Return columns of equal length by name as printed text, see `aligned`."""
    cells = [
        [name.replace("_", " "), *map(cell_text, columns[name])] for name in columns
    ]
    return aligned(list(zip(*cells, strict=True)))
