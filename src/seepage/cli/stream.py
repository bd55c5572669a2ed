"""`seepage stream`: leakage over time for a sequence of reports of one attribute."""

import csv
from pathlib import Path
from typing import Any

import click

from seepage._results import json_text
from seepage.cli.inputs import read_pairs, reject_options
from seepage.cli.options import OF_TABLES, output_options, table_arguments, table_options
from seepage.cli.output import FileCommand, emit
from seepage.errors import InputError


@click.command("stream", cls=FileCommand)
@click.argument("data", required=False)
@click.option(
    "--transitions",
    type=click.Path(dir_okay=False),
    help="P(next value given value) as a CSV file of numbers, one row a value, instead of DATA.",
)
@click.option("-e", "--epsilon", type=float, default=1.0, show_default=True, help="Of each step.")
@click.option("--steps", type=int, help="The number of reports, with --transitions.")
@output_options
@table_options
def stream(
    data: str | None,
    transitions: str | None,
    epsilon: float,
    steps: int | None,
    form: str,
    output: str | None,
    **options: Any,
) -> None:
    """Tell what a sequence of reports of one attribute says about its value at each step.

    The columns of DATA are the steps, in order.  Backward leakage is what earlier reports and the
    own one say, forward leakage later ones and the own one; the total joins them.  They hold if
    each value depends on the previous one only.

    \b
    Examples:
      seepage stream days.csv --epsilon 0.5
      seepage stream --transitions weather.csv --steps 30 --epsilon 0.1
    """
    from seepage.totals import stream_leakage

    arguments = table_arguments(options)
    if (data is None) == (transitions is None):
        raise InputError("give either DATA, whose columns are the steps, or --transitions")
    if transitions is not None:
        reject_options(OF_TABLES, "--transitions has no columns to choose from")
        known: Any = _matrix(transitions)
    else:
        known = read_pairs(str(data), arguments)
    found = stream_leakage(known, epsilon, steps=steps)
    emit(_formatted(found, form), output)


def _matrix(path: str) -> list[list[float]]:
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as lines:
            rows = [[float(cell) for cell in row] for row in csv.reader(lines) if row]
    except OSError as problem:
        raise InputError(f"cannot read {path!r}: {problem.strerror}") from None
    except (ValueError, csv.Error) as problem:
        raise InputError(f"{path!r} must hold numbers with commas between: {problem}") from None
    odd = next((number for number, row in enumerate(rows, 1) if len(row) != len(rows)), None)
    if not rows or odd is not None:
        raise InputError(
            f"{path!r} must have as many numbers in every row as rows, got {len(rows)} rows"
            + (f" and {len(rows[odd - 1])} numbers in row {odd}" if odd is not None else "")
        )
    return rows


def _formatted(found: Any, form: str) -> str:
    if form == "json":
        return json_text(found.to_dict())
    header = ["step", "backward", "forward", "total"]
    rows = [
        [str(step), *(f"{value:.6g}" for value in values)]
        for step, values in enumerate(
            zip(found.backward, found.forward, found.total, strict=True), start=1
        )
    ]
    if form == "csv":
        return "\n".join(",".join(row) for row in [header, *rows])
    from seepage.cli.output import columns

    lines = ["Leakage over time (nats), assumed: each value depends on the previous one only"]
    lines.append(columns([header, *rows]))
    if found.supremum is not None:
        backward, forward = found.supremum[:2]
        lines.append(f"  limit: backward {backward:.6g}, forward {forward:.6g} at most")
    return "\n".join(lines)
