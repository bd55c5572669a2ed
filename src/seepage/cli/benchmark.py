"""`seepage simulate`, `benchmark` and `stream`: the paper's methods on a table."""

from pathlib import Path
from typing import Any

import click

from seepage._core import checks
from seepage._core.errors import InputError
from seepage.cli import console, options, reading
from seepage.cli.command import FileCommand
from seepage.cli.keywords import explicit_keywords
from seepage.cli.number_types import INTEGER_TYPE, NUMBER_TYPE

DELTA = click.option(
    "--delta",
    type=NUMBER_TYPE,
    default=0.0,
    help="Delta of mechanisms that need one, such as gauss.",
)


SHOWN_PAIRS = 20
"""Maximum number of pairs in the table, largest estimates first; JSON and CSV have
all."""


@click.command("simulate", cls=FileCommand)
@click.argument("data")
@click.option(
    "-e",
    "--epsilon",
    type=NUMBER_TYPE,
    default=1.0,
    help="The budget of each attribute.",
)
@click.option("-m", "--mechanism", default="grr", help="The mechanism.")
@DELTA
@click.option(
    "--replicas", type=INTEGER_TYPE, default=50, help="Number of reports per record."
)
@click.option(
    "--surrogates",
    type=INTEGER_TYPE,
    default=10_000,
    help="Permutations for p-values; 0: none.",
)
@click.option(
    "--seed",
    "rng",
    type=options.SEED,
    help="Seed of the run; drawn and printed by default.",
)
@click.option(
    "--pair",
    multiple=True,
    metavar="SOURCE->TARGET",
    help="Only this; may be repeated.",
)
@click.option(
    "--confidence", type=NUMBER_TYPE, default=0.95, help="Confidence of intervals."
)
@options.RESULT
@options.TABLE
def simulate(
    data: str, epsilon: float, mechanism: str, pair: tuple[str, ...], **_: Any
) -> None:
    """Estimate the leakages of DATA from a simulated collection, with their
    uncertainty.

    Every record reports REPLICAS times; an attacker guesses each value.  Beside the
    paper's plug-in estimate, which is biased upward: a corrected one, an interval, and
    a p-value.

    \b
    Examples:
      seepage simulate adult --mechanism oue --seed 7
      seepage simulate adult --pair "occupation->sex" --surrogates 1000
      seepage simulate survey.csv -e 2 --format csv -o estimates.csv
    """
    from seepage.benchmarks.statistical.estimate_leakage import estimate_leakage

    checks.epsilon(epsilon)
    counts = reading.count_data(data)
    keywords = explicit_keywords(
        ["delta", "replicas", "surrogates", "rng", "confidence"]
    )
    with console.progress_bar("simulating") as progress:
        estimates = estimate_leakage(
            counts,
            epsilon,
            mechanism=mechanism,
            pairs=[_pair(text) for text in pair] or None,
            progress=progress,
            **keywords,
        )
    console.write_result(estimates, lambda: _estimates_text(estimates, Path(data).name))


def _pair(text: str) -> tuple[str, str]:
    """Return (target, source) of SOURCE->TARGET."""
    source, arrow, target = text.partition("->")
    if not arrow:
        raise InputError(f"--pair must be SOURCE->TARGET, got {text!r}")
    return target.strip(), source.strip()


def _estimates_text(estimates: Any, name: str) -> str:
    """Return the largest estimates as text, with what to take care of."""
    found = estimates.to_arrow().to_pylist()
    settings = estimates.settings
    found.sort(key=lambda row: -row["corrected"])
    level = f"{settings.confidence:.4%}".replace(".0000", "")
    rows = [["source -> target", "corrected", level, "plug-in", "p"]]
    careful = []
    for row in found:
        pair = f"{row['source']} -> {row['target']}"
        interval = f"{row['lower']:.4f} to {row['upper']:.4f}"
        chance = f"{row['p_value']:.2g}" if settings.surrogates else "-"
        rows.append(
            [pair, f"{row['corrected']:.4f}", interval, f"{row['plug_in']:.4f}", chance]
        )
        if row["cautions"] and len(rows) <= SHOWN_PAIRS + 1:
            careful.append(f"  {pair}: {row['cautions']}")
    lines = [
        f"{name}: leakage (nats) estimated from {settings.replicas} reports per record, seed "
        f"{settings.rng}; view: inferred; intervals for the table",
        console.aligned(rows, most=SHOWN_PAIRS),
    ]
    if settings.surrogates:
        lines.append(
            f"  p-values are of one pair each: {len(found)} of them, none below "
            f"{1 / (1 + settings.surrogates):.2g} with {settings.surrogates:,} surrogates"
        )
    return "\n".join([*lines, *(["Take care:"] if careful else []), *careful])


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
    DELTA,
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
    with console.progress_bar("comparing") as progress:
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
    with console.progress_bar("simulating") as progress:
        scores = benchmark_mechanisms(pairs, progress=progress, **keywords)
    _write_benchmark(scores, {data: pairs})


def _data_names(data: tuple[str, ...]) -> dict[str, str]:
    """Return a unique name for each DATA: its file name, or its path if two have the
    same.
    """
    if len(set(data)) < len(data):
        raise InputError("each DATA must be given once, got one twice")
    names = [Path(path).name for path in data]
    return dict(
        zip(data, names if len(set(names)) == len(names) else data, strict=True)
    )


def _write_benchmark(scores: Any, tables: dict[str, Any]) -> None:
    """Write the scores; notes follow the table, or go to standard error for CSV."""
    lines = [console.aligned_columns(scores._columns()), *scores.notes]
    for name, pairs in tables.items():
        lines += [f"{name}: {note}" for note in console.constants(pairs.domain)]
    console.write_result(scores, lambda: "\n".join(lines))
    if click.get_current_context().params["form"] == "csv":
        for note in scores.notes:
            click.echo(note, err=True)


@click.command("stream", cls=FileCommand)
@click.argument("data")
@click.option(
    "-e", "--epsilon", type=NUMBER_TYPE, default=1.0, help="Budget of each step."
)
@options.TABLE
@options.RESULT
def stream(data: str, epsilon: float, **_: Any) -> None:
    """Compute the leakage of a sequence of reports about the attribute's value at each
    step.

    The columns of DATA are the steps, in order.  Backward leakage is that of the
    reports up to and including a step, forward leakage that of the reports from it on;
    the total combines both.  They hold if each value depends on the previous one only
    (a Markov chain).

    \b
    Examples:
      seepage stream days.csv --epsilon 0.5
    """
    from seepage.totals.stream import stream_leakage

    leakage = stream_leakage(reading.count_data(data), epsilon)
    head = (
        "Leakage over time (nats), assumed: each value depends on the previous one only"
    )
    console.write_result(
        leakage, lambda: f"{head}\n{console.aligned_columns(leakage._columns())}"
    )
