"""`seepage benchmark`: analysers and mechanisms compared on real data."""

from pathlib import Path
from typing import Any

import click

from seepage._core.errors import InputError
from seepage._core.progress import progress_bar
from seepage.cli import console, options, reading
from seepage.cli.file_command import FileCommand
from seepage.cli.keywords import explicit_keywords
from seepage.cli.number_types import NUMBER_TYPE

EPSILON = click.option(
    "-e",
    "--epsilon",
    "epsilons",
    multiple=True,
    type=NUMBER_TYPE,
    help="A budget; may be repeated.",
)


BENCHMARK_OPTIONS = options.grouped(
    options.chart("the scores"),
    click.option(
        "--seed", "rng", type=options.SEED, default=0, help="Seed of the simulation."
    ),
    options.DELTA,
    options.RESULT,
    options.TABLE,
)


@click.group("benchmark")
def benchmark() -> None:
    """Compare analysers of leakage, or mechanisms, on real data.

    \b
    Examples:
      seepage benchmark analysers adult -e 1 -e 3
      seepage benchmark mechanisms adult --chart utility.svg
    """


@benchmark.command(
    "analysers", cls=FileCommand, short_help="Undershoot against overshoot."
)
@click.argument("data", nargs=-1, required=True)
@EPSILON
@click.option(
    "--reference", default="bound", help="Or grr, oue:inferred, statistical:MECHANISM."
)
@click.option(
    "--analyser", "analysers", multiple=True, help="Only this one; may be repeated."
)
@BENCHMARK_OPTIONS
def analysers(data: tuple[str, ...], **_: Any) -> None:
    """Compare analysers with a reference leakage on one or more DATA: undershoot,
    overshoot.

    Both are means over all ordered pairs, as shares of epsilon.  P1 is exact, R1
    underestimates (a risk), R2 overestimates (needless noise), R3 does both.
    """
    from seepage.benchmarks.analyser_benchmark import benchmark_analysers

    names = _data_names(data)
    tables = {names[path]: reading.count_data(path) for path in data}
    keywords = explicit_keywords(["epsilons", "reference", "analysers", "delta", "rng"])
    with progress_bar("comparing") as progress:
        scores = benchmark_analysers(tables, progress=progress, **keywords)
    _write_benchmark(scores, tables)


@benchmark.command("mechanisms", cls=FileCommand, short_help="Utility against leakage.")
@click.argument("data")
@EPSILON
@click.option(
    "-m", "--mechanism", "mechanisms", multiple=True, help="Only this; may be repeated."
)
@BENCHMARK_OPTIONS
def mechanisms(data: str, **_: Any) -> None:
    """Compare mechanisms on DATA: the utility of their reports against what they leak.

    Frequency error is the squared error over the sum of squared frequencies, zero one
    error how often an attacker's guess is wrong, each simulated and expected.
    Normalised tcpl is the sum of all leakages over that of the bound; bits are those of
    one report.
    """
    from seepage.benchmarks.mechanism_benchmark import benchmark_mechanisms

    pairs = reading.count_data(data)
    keywords = explicit_keywords(["epsilons", "mechanisms", "delta", "rng"])
    with progress_bar("simulating") as progress:
        scores = benchmark_mechanisms(pairs, progress=progress, **keywords)
    _write_benchmark(scores, {data: pairs})


def _data_names(data: tuple[str, ...]) -> dict[str, str]:
    """Return a unique name for each benchmarked DATA: its file name, or its path if two
    have the same.
    """
    if len(set(data)) < len(data):
        raise InputError("each DATA must be given once, got one twice")
    names = [Path(path).name for path in data]
    return dict(
        zip(data, names if len(set(names)) == len(names) else data, strict=True)
    )


def _write_benchmark(scores: Any, tables: dict[str, Any]) -> None:
    """Write the scores of a benchmark; notes follow the table, or go to standard error
    for CSV.
    """
    lines = [console.aligned_columns(scores._columns()), *scores.notes]
    for name, pairs in tables.items():
        lines += [f"{name}: {note}" for note in console.constants(pairs.domain)]
    console.write_result(scores, lambda: "\n".join(lines))
    if click.get_current_context().params["form"] == "csv":
        for note in scores.notes:
            click.echo(note, err=True)
