"""`seepage benchmark`: analysers against a reference, mechanisms against each other."""

from pathlib import Path
from typing import Any

import click

from seepage.cli.inputs import read_pairs
from seepage.cli.options import SEED, output_options, table_arguments, table_options
from seepage.cli.output import FileCommand, OutputFile, emit, progress_bar
from seepage.errors import InputError

__all__ = ["command"]

EPSILON = click.option(
    "-e", "--epsilon", multiple=True, type=float, help="A budget; may be given several times."
)
CHART = click.option(
    "--chart", type=OutputFile(), help="Draw it: a .svg, .png, .pdf or .html file."
)
SEED_OPTION = click.option(
    "--seed", type=SEED, default=0, show_default=True, help="Of the simulation."
)


@click.group("benchmark")
def command() -> None:
    """Compare analysers of leakage, or mechanisms, on real data.

    \b
    Examples:
      seepage benchmark analysers adult -e 1 -e 3
      seepage benchmark mechanisms adult --chart utility.svg
    """


@command.command("analysers", cls=FileCommand, short_help="Undershoot against overshoot.")
@click.argument("data", nargs=-1, required=True)
@EPSILON
@click.option(
    "--reference",
    default="bound",
    show_default=True,
    help="bound, a mechanism (grr, oue:inferred), or statistical:MECHANISM.",
)
@click.option("--analyser", "chosen", multiple=True, help="Only this one; may be repeated.")
@CHART
@SEED_OPTION
@output_options
@table_options
def analysers_command(
    data: tuple[str, ...],
    epsilon: tuple[float, ...],
    reference: str,
    chosen: tuple[str, ...],
    chart: str | None,
    seed: int,
    form: str,
    output: str | None,
    **options: Any,
) -> None:
    """Compare analysers with a reference leakage on one or more DATA: undershoot, overshoot.

    Both are means over all ordered pairs, as shares of epsilon.  P1 is exact, R1 underestimates
    (a risk), R2 overestimates (needless noise), R3 does both.
    """
    from seepage.study.benchmark_analysers import benchmark_analysers

    arguments = table_arguments(options)
    names = _names(data)
    tables = {names[path]: read_pairs(path, arguments) for path in data}
    with progress_bar("comparing") as progress:
        found = benchmark_analysers(
            tables,
            epsilon or (1.0,),
            reference=reference,
            chosen=chosen or None,
            seed=seed,
            progress=progress,
        )
    left_out = [f"{data}: {name} left out: {why}" for data, name, why in found.left_out]
    _finish(found, form, [*left_out, *_constant(tables)], chart, output)


@command.command("mechanisms", cls=FileCommand, short_help="Utility against leakage.")
@click.argument("data")
@EPSILON
@click.option("-m", "--mechanism", "chosen", multiple=True, help="Only this; may be repeated.")
@CHART
@SEED_OPTION
@output_options
@table_options
def mechanisms_command(
    data: str,
    epsilon: tuple[float, ...],
    chosen: tuple[str, ...],
    chart: str | None,
    seed: int,
    form: str,
    output: str | None,
    **options: Any,
) -> None:
    """Compare mechanisms on DATA: the utility of their reports against what they leak.

    Frequency error is the squared error over the sum of squared frequencies, zero one error how
    often an attacker's guess is wrong, each simulated and expected.  Normalised tcpl is the sum
    of all leakages over that of the bound; bits are those of one report.
    """
    from seepage.study.benchmark_mechanisms import EIGHT, benchmark_mechanisms

    pairs = read_pairs(data, table_arguments(options))
    with progress_bar("simulating") as progress:
        found = benchmark_mechanisms(
            pairs,
            epsilon or (1.0, 3.0, 5.0),
            mechanisms=chosen or EIGHT,
            seed=seed,
            progress=progress,
        )
    _finish(found, form, _constant({data: pairs}), chart, output)


def _names(data: tuple[str, ...]) -> dict[str, str]:
    """Return a name for each DATA: that of its file, or all of it where files share one."""
    short = [Path(path).name for path in data]
    names = {
        path: name if short.count(name) == 1 else path
        for path, name in zip(data, short, strict=True)
    }
    if len(names) < len(data):
        raise InputError("each DATA must be given once, got one twice")
    return names


def _write(found: Any, form: str) -> str:
    if form == "json":
        from seepage._results import json_text

        return json_text(found.to_dict())
    if form == "csv":
        return str(found.to_csv())
    rows = found.to_dict()["scores"]
    header = list(rows[0])
    from seepage.cli.output import columns

    cells = [[_cell(value) for value in row.values()] for row in rows]
    return columns([[name.replace("_", " ") for name in header], *cells])


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _constant(tables: dict[str, Any]) -> list[str]:
    return [
        f"{name}: {attribute.name} is constant, so nothing leaks to or from it"
        for name, pairs in tables.items()
        for attribute in pairs.domain
        if attribute.size == 1
    ]


def _finish(
    found: Any, form: str, remarks: list[str], chart: str | None, output: str | None
) -> None:
    """Write the chart and the result; in CSV, which has no place for them, cautions go beside."""
    if chart is not None:
        from seepage.charts import save_chart

        save_chart(found.chart(), chart)
    text = _write(found, form)
    if form == "table":
        text = "\n".join([text.rstrip("\n"), *found.notes, *remarks])
    emit(text, output)
    if form == "csv":
        for note in found.notes:
            click.echo(note, err=True)
