"""`seepage count`, `merge`, `datasets`; `stream`, `simulate`, `benchmark`, `reproduce`."""

from collections import Counter
from pathlib import Path
from typing import Any

import click

from seepage import _checks
from seepage._results import csv_text, json_text, write_text
from seepage.cli import console, options
from seepage.data.table import DataOptions, TableOptions
from seepage.errors import InputError


@click.command("count", cls=console.FileCommand)
@click.argument("data")
@options.output_file("The file.", required=True)
@options.of(DataOptions)
@options.MASTER
@options.file(
    "--domain",
    "Count in the domain of this file of pair counts, so that both can be merged.",
)
def count(data: str, output: str, domain: str | None, **_: Any) -> None:
    """Count all pairs of the table DATA into the file of pair counts OUTPUT.

    The counts are all that an analysis needs: count where the records live, analyse
    elsewhere. OUTPUT is one Parquet file in long form that any tool can read.

    \b
    Examples:
      seepage count survey.csv -o survey.pairs
      seepage count "part-*.parquet" -o all.pairs --drop id --bins age=0,18,65,120
      seepage count people.tsv -o people.pairs --bins width:8 --missing drop
      seepage count people/ -o people.pairs --engine spark --master spark://host:7077
    """
    from seepage.data import how_many
    from seepage.data.pairs import PairCounts

    within = None if domain is None else PairCounts.load(domain).domain
    pairs = options.count_data(data, domain=within)
    pairs.save(output)
    click.echo(f"{how_many(pairs)}, {len(pairs.domain)} attributes -> {output}")
    for note in console.constants(pairs.domain):
        click.echo(note)


@click.command("merge", cls=console.FileCommand)
@click.argument("counts", nargs=-1, required=True)
@options.output_file("The file.", required=True)
def merge(counts: tuple[str, ...], output: str) -> None:
    """Add the files of pair counts COUNTS up into OUTPUT.

    Shards can be counted anywhere and in any order, by any scheduler.  They must have
    the same attributes and, for numbers with bins, the same bins: give their edges
    (--bins), open at both ends so that no shard has a number outside.

    \b
    Examples:
      seepage count part-0.parquet -o 0.pairs --bins age=-inf,18,65,inf
      seepage count part-1.parquet -o 1.pairs --bins age=-inf,18,65,inf
      seepage merge 0.pairs 1.pairs -o all.pairs
    """
    from seepage.data import how_many
    from seepage.data.pairs import PairCounts
    from seepage.data.recoding import merge_pairs
    from seepage.data.table.sources import check_distinct_files

    parts = [PairCounts.load(file) for file in counts]
    check_distinct_files([Path(file) for file in counts])
    merged = merge_pairs(parts)
    merged.save(output)
    click.echo(
        f"{len(counts)} files, {how_many(merged)}, {len(merged.domain)} attributes -> {output}"
    )


@click.group("datasets", invoke_without_command=True)
@options.form("json")
@click.pass_context
def datasets(context: click.Context, form: str) -> None:
    """List the known datasets, or fetch one.

    Files are looked for in the folder that SEEPAGE_DATA names, plain or gzipped.

    \b
    Examples:
      seepage datasets
      seepage datasets fetch adult
      seepage datasets survey -o people.csv
    """
    if context.invoked_subcommand is not None:
        return
    from seepage.data.datasets import (
        BUNDLED,
        DATASETS,
        FOLDER_VARIABLE,
        download_folder,
    )

    rows = [["name", "files", "counts", "licence", "title"]]
    for known in DATASETS.values():
        where = "at hand" if known.at_hand else "fetch" if known.archive else "by hand"
        bundled = "counts bundled" if known.name in BUNDLED else ""
        rows.append([known.name, where, bundled, known.licence, known.title])
    if form == "json":
        console.emit(
            json_text([dict(zip(rows[0], row, strict=True)) for row in rows[1:]]), None
        )
        return
    missing = "" if download_folder().is_dir() else ", which does not exist"
    legend = (
        f"Files are looked for in {download_folder()} ({FOLDER_VARIABLE} names another){missing}.\n"
        "`seepage datasets fetch NAME` downloads them, or says how to get them by hand."
    )
    console.emit(f"{console.aligned(rows, left=True)}\n{legend}", None)


@datasets.command("fetch")
@click.argument("name")
def fetch_files(name: str) -> None:
    """Download the dataset NAME, where its owner allows it; checksums are verified."""
    from seepage.data.datasets import dataset, fetch

    known = dataset(name)
    if not known.files:
        click.echo(f"{name} has no files: it is {known.address}")
    with console.progress_bar("downloading") as progress:
        files = fetch(known, progress)
    for file in files:
        click.echo(str(file))


@datasets.command("survey", cls=console.FileCommand)
@options.output_file("The CSV file.", default="people.csv")
@click.option("--people", type=int, default=10_000, help="Number of people.")
def write_survey(output: str, people: int) -> None:
    """Write the synthetic survey of the documentation as a CSV file."""
    from seepage.data.datasets import make_survey

    write_text(output, csv_text(make_survey(people).to_pydict()))
    click.echo(f"{people:,} people -> {output}")


# The paper as an object of study ------------------------------------------------------

DELTA = click.option(
    "--delta",
    type=float,
    default=0.0,
    help="Delta of mechanisms that need one, such as gauss.",
)

SHOWN_PAIRS = 20
"""Maximum number of pairs in the table, largest estimates first; JSON and CSV have
all."""


@click.command("simulate", cls=console.FileCommand)
@click.argument("data")
@click.option(
    "-e", "--epsilon", type=float, default=1.0, help="The budget of each attribute."
)
@click.option("-m", "--mechanism", default="grr", help="The mechanism.")
@DELTA
@click.option("--replicas", type=int, default=50, help="Number of reports per record.")
@click.option(
    "--surrogates", type=int, default=10_000, help="Permutations for p-values; 0: none."
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
@click.option("--confidence", type=float, default=0.95, help="Confidence of intervals.")
@options.RESULT
@options.of(TableOptions)
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
    from seepage.study import estimate_leakage

    _checks.epsilon(epsilon)
    pairs = options.count_data(data, TableOptions)
    how = options.chosen("delta", "replicas", "surrogates", "rng", "confidence")
    how |= {"mechanism": mechanism, "pairs": [_pair(text) for text in pair] or None}
    with console.progress_bar("simulating") as progress:
        estimates = estimate_leakage(pairs, epsilon, progress=progress, **how)
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
    type=float,
    help="A budget; may be repeated.",
)
BENCHMARK_OPTIONS = options.grouped(
    options.chart("the scores"),
    click.option(
        "--seed", "rng", type=options.SEED, default=0, help="Seed of the simulation."
    ),
    DELTA,
    options.RESULT,
    options.of(TableOptions),
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
    "analysers", cls=console.FileCommand, short_help="Undershoot against overshoot."
)
@click.argument("data", nargs=-1, required=True)
@EPSILON
@click.option(
    "--reference", default="bound", help="Or grr, oue:inferred, statistical:MECHANISM."
)
@click.option(
    "--analyser", "chosen", multiple=True, help="Only this one; may be repeated."
)
@BENCHMARK_OPTIONS
def analysers(data: tuple[str, ...], **_: Any) -> None:
    """Compare analysers with a reference leakage on one or more DATA: undershoot,
    overshoot.

    Both are means over all ordered pairs, as shares of epsilon.  P1 is exact, R1
    underestimates (a risk), R2 overestimates (needless noise), R3 does both.
    """
    from seepage.study.benchmarks import benchmark_analysers

    names = _data_names(data)
    tables = {names[path]: options.count_data(path, TableOptions) for path in data}
    how = options.chosen("epsilons", "reference", "chosen", "delta", "rng")
    with console.progress_bar("comparing") as progress:
        scores = benchmark_analysers(tables, progress=progress, **how)
    _write_benchmark(scores, tables)


@benchmark.command(
    "mechanisms", cls=console.FileCommand, short_help="Utility against leakage."
)
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
    from seepage.study.benchmarks import benchmark_mechanisms

    pairs = options.count_data(data, TableOptions)
    how = options.chosen("epsilons", "mechanisms", "delta", "rng")
    with console.progress_bar("simulating") as progress:
        scores = benchmark_mechanisms(pairs, progress=progress, **how)
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


@click.command("reproduce", cls=console.FileCommand)
@click.argument("items", nargs=-1, metavar="[ITEM]...")
@options.folder("The folder to write to.", default="reproduction", metavar="DIR")
@click.option("--force", is_flag=True, help="Write into a folder with other files.")
@click.option("--list", "listing", is_flag=True, help="List the items and exit.")
def reproduce(items: tuple[str, ...], output: str, listing: bool) -> None:
    """Reproduce every table and figure of the paper, or only each ITEM, beside the
    paper's values.

    Each item becomes a table (CSV) and charts (SVG, PNG), and all together one page,
    index.html. Data are looked for in the folder that SEEPAGE_DATA names; missing ones
    are listed.

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
        click.echo(console.aligned(rows, left=True))
        return

    def print_item(item: Finding) -> None:
        verdicts = ", ".join(
            f"{count} {verdict}" for verdict, count in item.verdicts.items()
        )
        click.echo(f"{item.item}: {verdicts} ({item.seconds:.1f} s)", err=True)

    force = click.get_current_context().meta["force"]
    with console.progress_bar("reproducing") as progress:
        done = reproduce(
            items, output, progress=progress, on_item=print_item, force=force
        )
    verdicts = Counter(
        comparison.verdict for item in done for comparison in item.comparisons
    )
    click.echo(
        f"{verdicts['confirmed']} confirmed, {verdicts['deviates']} deviate", err=True
    )
    click.echo(str(Path(output, "index.html")))


@click.command("stream", cls=console.FileCommand)
@click.argument("data")
@click.option("-e", "--epsilon", type=float, default=1.0, help="Budget of each step.")
@options.of(TableOptions)
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

    leakage = stream_leakage(options.count_data(data, TableOptions), epsilon)
    head = (
        "Leakage over time (nats), assumed: each value depends on the previous one only"
    )
    console.write_result(
        leakage, lambda: f"{head}\n{console.aligned_columns(leakage._columns())}"
    )
