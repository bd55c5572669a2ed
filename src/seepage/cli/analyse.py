"""`seepage check`, `analyse`, `report`, `stream`, `count`, `merge`, `datasets`: from data on."""

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import click

from seepage._results import csv_text, json_text, write_text
from seepage.analysis_options import AnalysisOptions
from seepage.cli import console, options
from seepage.data import sample_caution
from seepage.data.table import DataOptions, TableOptions

EVIDENCE = click.Path(file_okay=False)


@click.command("analyse", cls=console.FileCommand)
@click.argument("data")
@options.of(AnalysisOptions)
@options.MASTER
@options.page("the analysis")
@options.chart("the matrix")
@options.RESULT
def analyse(data: str, form: str, **chosen: Any) -> None:
    """Analyse DATA: the leakage of every attribute about every other, and in total.

    \b
    Examples:
      seepage analyse adult --epsilon 1
      seepage analyse survey.csv --epsilon 2 --mechanism oue --view inferred
      seepage analyse survey.csv --mechanism grr --guarantee all --report survey.html
      seepage analyse data/ --guarantee all --sample 100000 --engine spark --master spark://host:7077
      seepage analyse survey.pairs -e 1 --epsilon-of income=0.5 --format json -o result.json
    """
    from seepage.analysis import analyse as analyse_data
    from seepage.cli.result_text import analysis_text

    if form == "csv":
        options.reject(["limit"], "CSV has the leakages only; JSON and the table show it")
    if not {"sampled", "all"} & set(chosen["guarantee"]):
        options.reject(["reports", "target_delta", "confidence"], "it is of --guarantee sampled")
    given = options.given(AnalysisOptions) | {"command": console.command_line()}
    with options.reading_progress(data, "analysing") as progress:
        analysis = analyse_data(data, progress=progress, **given)
    options.print_reading_notes(data, analysis.matrix.domain, analysis.notes)
    text = partial(analysis_text, analysis)
    console.write_result(analysis, text, page=analysis.report, private=True)
    if form == "csv" and (caution := sample_caution(analysis.matrix.pairs)) is not None:
        click.echo(f"{analysis.name}: {caution}", err=True)


@click.command("check", cls=console.FileCommand)
@click.argument("data")
@options.of(TableOptions)
@options.RESULT
def check(data: str, **_: Any) -> None:
    """Check DATA: the kind of each column, and what to decide before it is analysed.

    Identifiers, running numbers, weights, dates, free texts and constants are neither analysed nor
    asked unless an option names them.  Each finding comes with the option that settles it.

    \b
    Examples:
      seepage check survey.csv
      seepage check survey.csv --missing-marker health=9 --format csv -o columns.csv
    """
    from seepage.data.data_check import check as check_data

    found = check_data(data, **options.given(TableOptions))
    width = shutil.get_terminal_size().columns
    console.write_result(found, lambda: console.named(found.text(Path(data).name, width)))


@click.command("report", cls=console.FileCommand)
@click.argument("results", metavar="RESULT [PLAN]", nargs=-1, required=True)
@options.output_file("The page to write.", default="report.html")
@click.option("--evidence", type=EVIDENCE, help="A folder for the evidence pack of a plan.")
def report(results: tuple[str, ...], output: str, evidence: str | None) -> None:
    """Draw RESULT as one HTML page: an analysis of `analyse --format json`, or a plan.

    Several plans are drawn side by side.  The page needs no server: send it, open it, print it.

    \b
    Examples:
      seepage analyse adult --epsilon 1 --format json --output result.json
      seepage report result.json --output adult.html
      seepage report plan.json --output plan.html
      seepage report plan.json --evidence evidence/
      seepage report strict.json loose.json --output both.html
    """
    from seepage.analysis import Analysis
    from seepage.plan import Plan
    from seepage.plan.plan_check import is_plan_file
    from seepage.plan.plan_page import compare_page

    first, *others = results
    if evidence is not None and (others or not is_plan_file(first)):
        options.reject(["evidence"], "an evidence pack is of one plan")
    if evidence is not None:
        options.reject(["output"], "the evidence pack has a page of its own")
        files = Plan.load(first).evidence(evidence, name=Path(first).stem)
        click.echo(f"wrote {', '.join(file.name for file in files)} -> {evidence}")
        return
    if others:
        write_text(output, compare_page({Path(plan).name: Plan.load(plan) for plan in results}))
    elif is_plan_file(first):
        Plan.load(first).report(output, name=Path(first).name)
    else:
        Analysis.load(first).report(output)
    click.echo(f"wrote {output}")


@click.command("stream", cls=console.FileCommand)
@click.argument("data")
@click.option("-e", "--epsilon", type=float, default=1.0, help="Budget of each step.")
@options.of(TableOptions)
@options.RESULT
def stream(data: str, epsilon: float, **_: Any) -> None:
    """Compute the leakage of a sequence of reports about the attribute's value at each step.

    The columns of DATA are the steps, in order.  Backward leakage is that of the reports up to and
    including a step, forward leakage that of the reports from it on; the total combines both.  They
    hold if each value depends on the previous one only (a Markov chain).

    \b
    Examples:
      seepage stream days.csv --epsilon 0.5
    """
    from seepage.totals.stream import stream_leakage

    leakage = stream_leakage(options.count_data(data, TableOptions), epsilon)
    head = "Leakage over time (nats), assumed: each value depends on the previous one only"
    console.write_result(leakage, lambda: f"{head}\n{console.aligned_columns(leakage._columns())}")


# Pair counts and datasets ------------------------------------------------------------------------


@click.command("count", cls=console.FileCommand)
@click.argument("data")
@options.output_file("The file.", required=True)
@options.of(DataOptions)
@options.MASTER
@options.file(
    "--domain", "Count in the domain of this file of pair counts, so that both can be merged."
)
def count(data: str, output: str, domain: str | None, **_: Any) -> None:
    """Count all pairs of the table DATA into the file of pair counts OUTPUT.

    The counts are all that an analysis needs: count where the records live, analyse elsewhere.
    OUTPUT is one Parquet file in long form that any tool can read.

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

    Shards can be counted anywhere and in any order, by any scheduler.  They must have the same
    attributes and, for numbers with bins, the same bins: give their edges (--bins), open at both
    ends so that no shard has a number outside.

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
    from seepage.data.datasets import BUNDLED, DATASETS, FOLDER_VARIABLE, download_folder

    rows = [["name", "files", "counts", "licence", "title"]]
    for known in DATASETS.values():
        where = "at hand" if known.at_hand else "fetch" if known.archive else "by hand"
        bundled = "counts bundled" if known.name in BUNDLED else ""
        rows.append([known.name, where, bundled, known.licence, known.title])
    if form == "json":
        console.emit(json_text([dict(zip(rows[0], row, strict=True)) for row in rows[1:]]), None)
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
