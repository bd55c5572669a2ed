"""`seepage simulate`, `benchmark` and `reproduce`: the paper as an object of study."""

from collections import Counter
from pathlib import Path
from typing import Any

import click

from seepage import _checks
from seepage.cli.options import (
    SEED,
    chart_option,
    click_options,
    count_data,
    grouped,
    output_options,
)
from seepage.cli.output import (
    FileCommand,
    OutputFolder,
    columns_text,
    progress_bar,
    text_columns,
    write_result,
)
from seepage.data.table import TableOptions
from seepage.errors import InputError

DELTA = click.option(
    "--delta", type=float, default=0.0, help="Delta of mechanisms that need one, such as gauss."
)

SHOWN_PAIRS = 20
"""Maximum number of pairs in the table, largest estimates first; JSON and CSV have all."""


@click.command("simulate", cls=FileCommand)
@click.argument("data")
@click.option("-e", "--epsilon", type=float, default=1.0, help="The budget of each attribute.")
@click.option("-m", "--mechanism", default="grr", help="The mechanism.")
@DELTA
@click.option("--replicas", type=int, default=50, help="Number of reports per record.")
@click.option(
    "--surrogates", type=int, default=10_000, help="Permutations drawn for p-values; 0: none."
)
@click.option("--seed", "rng", type=SEED, help="Seed of the run; drawn and printed by default.")
@click.option(
    "--pair", multiple=True, metavar="SOURCE->TARGET", help="Only this pair; may be repeated."
)
@click.option("--confidence", type=float, default=0.95, help="Confidence of intervals.")
@output_options
@click_options(TableOptions)
def simulate(data: str, **options: Any) -> None:
    """Estimate the leakages of DATA from a simulated collection, with their uncertainty.

    Every record reports REPLICAS times; an attacker guesses each value.  Beside the paper's
    plug-in estimate, which is biased upward: a corrected one, an interval, and a p-value.

    \b
    Examples:
      seepage simulate adult --mechanism oue --seed 7
      seepage simulate adult --pair "occupation->sex" --surrogates 1000
      seepage simulate survey.csv -e 2 --format csv -o estimates.csv
    """
    from seepage.study import estimate_leakage

    _checks.epsilon(options["epsilon"])
    pairs = count_data(data, TableOptions)
    names = ("mechanism", "delta", "replicas", "surrogates", "rng", "confidence")
    with progress_bar("simulating") as progress:
        estimates = estimate_leakage(
            pairs,
            options["epsilon"],
            pairs=[_pair(text) for text in options["pair"]] or None,
            progress=progress,
            **{name: options[name] for name in names},
        )
    write_result(estimates, lambda: _estimates_text(estimates, Path(data).name))


def _pair(text: str) -> tuple[str, str]:
    """Return (target, source) of SOURCE->TARGET."""
    source, arrow, target = text.partition("->")
    if not arrow:
        raise InputError(f"--pair must be SOURCE->TARGET, got {text!r}")
    return target.strip(), source.strip()


def _estimates_text(estimates: Any, name: str) -> str:
    """Return the largest estimates as text, with what to take care of."""
    rows, settings = estimates.to_arrow().to_pylist(), estimates.settings
    rows = sorted(rows, key=lambda row: -row["corrected"])
    pairs = [f"{row['source']} -> {row['target']}" for row in rows]
    shown = {
        "source -> target": pairs,
        "corrected": [f"{row['corrected']:.4f}" for row in rows],
        f"{settings.confidence:.4%}".replace(".0000", ""): [
            f"{row['lower']:.4f} to {row['upper']:.4f}" for row in rows
        ],
        "plug-in": [f"{row['plug_in']:.4f}" for row in rows],
        "p": [f"{row['p_value']:.2g}" if settings.surrogates else "-" for row in rows],
    }
    lines = [
        f"{name}: leakage (nats) estimated from {settings.replicas} reports per record, seed "
        f"{settings.rng}; view: inferred; intervals for the table",
        columns_text(shown, most=SHOWN_PAIRS),
    ]
    if settings.surrogates:
        lines.append(
            f"  p-values are of one pair each: {len(rows)} of them, none below "
            f"{1 / (1 + settings.surrogates):.2g} with {settings.surrogates:,} surrogates"
        )
    cautions = [f"  {pair}: {row['cautions']}" for pair, row in zip(pairs, rows, strict=True)]
    careful = [text for text in cautions[:SHOWN_PAIRS] if not text.endswith(": ")]
    return "\n".join([*lines, *(["Take care:"] if careful else []), *careful])


EPSILON = click.option(
    "-e", "--epsilon", multiple=True, type=float, help="A budget; may be given several times."
)
BENCHMARK_OPTIONS = grouped(
    chart_option("the scores"),
    click.option("--seed", "rng", type=SEED, default=0, help="Seed of the simulation."),
    DELTA,
    output_options,
    click_options(TableOptions),
)


@click.group("benchmark")
def benchmark() -> None:
    """Compare analysers of leakage, or mechanisms, on real data.

    \b
    Examples:
      seepage benchmark analysers adult -e 1 -e 3
      seepage benchmark mechanisms adult --chart utility.svg
    """


@benchmark.command("analysers", cls=FileCommand, short_help="Undershoot against overshoot.")
@click.argument("data", nargs=-1, required=True)
@EPSILON
@click.option(
    "--reference",
    default="bound",
    help="bound, a mechanism (grr, oue:inferred), or statistical:MECHANISM.",
)
@click.option("--analyser", multiple=True, help="Only this one; may be repeated.")
@BENCHMARK_OPTIONS
def analysers(data: tuple[str, ...], epsilon: tuple[float, ...], **options: Any) -> None:
    """Compare analysers with a reference leakage on one or more DATA: undershoot, overshoot.

    Both are means over all ordered pairs, as shares of epsilon.  P1 is exact, R1 underestimates
    (a risk), R2 overestimates (needless noise), R3 does both.
    """
    from seepage.study.benchmarks import benchmark_analysers

    names = _data_names(data)
    tables = {names[path]: count_data(path, TableOptions) for path in data}
    with progress_bar("comparing") as progress:
        scores = benchmark_analysers(
            tables,
            epsilon or (1.0,),
            reference=options["reference"],
            delta=options["delta"],
            chosen=options["analyser"] or None,
            rng=options["rng"],
            progress=progress,
        )
    _write_benchmark(scores, tables)


@benchmark.command("mechanisms", cls=FileCommand, short_help="Utility against leakage.")
@click.argument("data")
@EPSILON
@click.option("-m", "--mechanism", multiple=True, help="Only this; may be repeated.")
@BENCHMARK_OPTIONS
def mechanisms(data: str, epsilon: tuple[float, ...], **options: Any) -> None:
    """Compare mechanisms on DATA: the utility of their reports against what they leak.

    Frequency error is the squared error over the sum of squared frequencies, zero one error how
    often an attacker's guess is wrong, each simulated and expected.  Normalised tcpl is the sum
    of all leakages over that of the bound; bits are those of one report.
    """
    from seepage.study.benchmarks import EIGHT, benchmark_mechanisms

    pairs = count_data(data, TableOptions)
    with progress_bar("simulating") as progress:
        scores = benchmark_mechanisms(
            pairs,
            epsilon or (1.0, 3.0, 5.0),
            mechanisms=options["mechanism"] or EIGHT,
            delta=options["delta"],
            rng=options["rng"],
            progress=progress,
        )
    _write_benchmark(scores, {data: pairs})


def _data_names(data: tuple[str, ...]) -> dict[str, str]:
    """Return a unique name for each DATA: its file name, or the whole path if names coincide."""
    short = [Path(path).name for path in data]
    names = {
        path: name if short.count(name) == 1 else path
        for path, name in zip(data, short, strict=True)
    }
    if len(names) < len(data):
        raise InputError("each DATA must be given once, got one twice")
    return names


def _write_benchmark(scores: Any, tables: dict[str, Any]) -> None:
    """Write the scores; notes follow the table, or go to standard error for CSV."""
    notes = list(scores.notes)
    notes += [
        f"{name}: {attribute.name} is constant, so nothing leaks to or from it"
        for name, pairs in tables.items()
        for attribute in pairs.domain
        if attribute.size == 1
    ]
    write_result(scores, lambda: "\n".join([columns_text(scores._columns()), *notes]))
    if click.get_current_context().params["form"] == "csv":
        for note in scores.notes:
            click.echo(note, err=True)


@click.command("reproduce", cls=FileCommand)
@click.argument("items", nargs=-1, metavar="[ITEM]...")
@click.option(
    "-o",
    "--output",
    type=OutputFolder(),
    default="reproduction",
    metavar="DIR",
    help="The folder to write to.",
)
@click.option("--force", is_flag=True, help="Write into a folder with other files.")
@click.option("--list", "listing", is_flag=True, help="List the items and exit.")
def reproduce(items: tuple[str, ...], output: str, listing: bool) -> None:
    """Reproduce every table and figure of the paper, or only each ITEM, beside the paper's values.

    Each item becomes a table (CSV) and charts (SVG, PNG), and all together one page, index.html.
    Data are looked for in the folder that SEEPAGE_DATA names; missing ones are listed.

    \b
    Examples:
      seepage reproduce
      seepage reproduce fig4c table2 --output paper
      seepage reproduce --list
    """
    from seepage.study.reproduction import reproduce
    from seepage.study.reproduction.findings import PAPER, Finding

    if listing:
        rows = [[name, paper.place, paper.title] for name, paper in PAPER.items()]
        click.echo(text_columns(rows, left=True))
        return

    def print_item(item: Finding) -> None:
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in item.verdicts.items())
        click.echo(f"{item.item}: {verdicts} ({item.seconds:.1f} s)", err=True)

    force = click.get_current_context().meta["force"]
    with progress_bar("reproducing") as progress:
        done = reproduce(items, output, progress=progress, on_item=print_item, force=force)
    verdicts = Counter(comparison.verdict for item in done for comparison in item.comparisons)
    click.echo(f"{verdicts['confirmed']} confirmed, {verdicts['deviates']} deviate", err=True)
    click.echo(str(Path(output, "index.html")))
