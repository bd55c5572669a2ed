"""`seepage analyse` and `report`: what attributes give away."""

import math
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import click

from seepage._core.files import write_text
from seepage._core.text import delta_text, how_many, lower_text, upper_text
from seepage.channel.domain import sample_caution
from seepage.cli import console, options, parsing, reading
from seepage.cli.command import FileCommand, with_option_names
from seepage.cli.console import aligned, constants
from seepage.cli.keywords import explicit_keywords, reject

RELEASE_KEYWORDS = (
    "epsilon",
    "mechanism",
    "view",
    "delta",
    "min_count",
    "prior",
    "truncate",
)

JUDGED_KEYWORDS = ("limit", "guarantee", "sample", "people")

ANALYSE_KEYWORDS = (
    *RELEASE_KEYWORDS,
    *JUDGED_KEYWORDS,
    *options.TOTALS_KEYWORDS,
    *options.DATA_KEYWORDS,
)
"""Keywords of `seepage.analyse` that are options of the command."""


ANALYSE_HEADINGS = {
    "What is released": (
        "epsilon",
        "epsilon_of",
        "mechanism",
        "mechanism_of",
        "view",
        "delta",
    ),
    "What is judged": (
        "limit",
        "limit_of",
        "guarantee",
        "confidence",
        "target_delta",
        "reports",
        "people",
        "sample",
        "rng",
    ),
    "Smoothing": ("min_count", "prior", "truncate"),
    options.READING_HEADING: options.READING_NAMES,
    options.OUTPUT_HEADING: options.OUTPUT_NAMES,
}
"""Parameters by the heading under which the help shows them."""


@click.command("analyse", cls=FileCommand, headings=ANALYSE_HEADINGS)
@click.argument("data")
@click.option(
    "-e",
    "--epsilon",
    type=float,
    default=1.0,
    help="The privacy budget of every attribute.",
)
@click.option(
    "--epsilon-of",
    metavar="NAME=VALUE",
    multiple=True,
    callback=parsing.parse_by_name(parsing.as_number_or_none),
    help="--epsilon of one attribute.",
)
@click.option(
    "-m",
    "--mechanism",
    help="A mechanism, such as grr; by default the bound over all with this budget.",
)
@click.option(
    "--mechanism-of",
    metavar="NAME=VALUE",
    multiple=True,
    callback=parsing.parse_by_name(parsing.as_text),
    help="--mechanism of one attribute.",
)
@click.option(
    "--view",
    type=click.Choice(["report", "inferred"]),
    default="report",
    help="report: the adversary keeps the whole report; inferred: only the inferred "
    "value.",
)
@click.option(
    "--delta",
    type=float,
    default=0.0,
    help="Delta of (epsilon, delta)-LDP.",
)
@click.option(
    "--min-count",
    type=float,
    default=0.0,
    help="Smaller counts of a pair are raised to this.",
)
@click.option(
    "--prior",
    type=float,
    default=0.0,
    help="Pseudo-count added to every count of a pair.",
)
@click.option(
    "--truncate",
    type=float,
    default=0.0,
    help="Counts of a pair below this are then set to 0.",
)
@click.option(
    "--limit",
    type=float,
    help="The largest allowed total of every attribute, in nats.",
)
@click.option(
    "--limit-of",
    metavar="NAME=VALUE",
    multiple=True,
    callback=parsing.parse_by_name(parsing.as_number_or_none),
    help="--limit of one attribute.",
)
@click.option(
    "--guarantee",
    metavar="A,B,...|all",
    default="auto",
    callback=parsing.parse_names,
    help="Guarantees of the totals: exact, merged, worst, sampled, independent, sum, "
    "witness, all, or auto for what may decide the limit.",
)
@click.option(
    "--sample",
    type=int,
    metavar="N",
    help="Number of records to draw without replacement: totals are assumed.",
)
@click.option(
    "--people",
    type=int,
    metavar="N",
    help="Number of people drawn for the realised privacy loss; by default 1,000 if a "
    "guarantee needs records and all mechanisms are named, else 0.",
)
@options.TOTALS
@options.DATA
@options.MASTER
@options.page("the analysis")
@options.chart("the matrix")
@options.RESULT
def analyse(data: str, form: str, guarantee: list[str], **_: Any) -> None:
    """Analyse DATA: the leakage of every attribute about every other, and in total.

    \b
    Examples:
      seepage analyse adult --epsilon 1
      seepage analyse survey.csv --epsilon 2 --mechanism oue --view inferred
      seepage analyse survey.csv --mechanism grr --guarantee all --report survey.html
      seepage analyse data/ --guarantee all --sample 100000 --engine spark --master spark://host:7077
      seepage analyse survey.pairs -e 1 --epsilon-of income=0.5 --format json -o result.json
    """
    from seepage.analysis.analyse import analyse as analyse_data

    if form == "csv":
        reject(["limit"], "CSV has the leakages only; JSON and the table show it")
    if not {"sampled", "all"} & set(guarantee):
        reject(
            ["reports", "target_delta", "confidence"], "it is of --guarantee sampled"
        )
    keywords = explicit_keywords(ANALYSE_KEYWORDS)
    with reading.reading_progress(data, "analysing") as progress:
        analysis = analyse_data(
            data, progress=progress, command=console.command_line(), **keywords
        )
    reading.print_reading_notes(data, analysis.matrix.domain, analysis.notes)
    text = partial(analysis_text, analysis)
    console.write_result(analysis, text, page=analysis.report, private=True)
    if form == "csv" and (caution := sample_caution(analysis.matrix.pairs)) is not None:
        click.echo(f"{analysis.name}: {caution}", err=True)


@click.command("report", cls=FileCommand)
@click.argument("results", metavar="RESULT [PLAN]", nargs=-1, required=True)
@options.output_file("The page to write.", default="report.html")
@click.option(
    "--evidence",
    type=click.Path(file_okay=False),
    help="A folder for the evidence pack of a plan.",
)
def report(results: tuple[str, ...], output: str, evidence: str | None) -> None:
    """Draw RESULT as one HTML page: an analysis of `analyse --format json`, or a plan.

    Several plans are drawn side by side.  The page needs no server: send it, open it,
    print it.

    \b
    Examples:
      seepage analyse adult --epsilon 1 --format json --output result.json
      seepage report result.json --output adult.html
      seepage report plan.json --output plan.html
      seepage report plan.json --evidence evidence/
      seepage report strict.json loose.json --output both.html
    """
    from seepage.analysis.analysis import Analysis
    from seepage.pages.plan_page import compare_page
    from seepage.plan.plan_file import is_plan_file
    from seepage.workflow.plan import Plan

    first, *others = results
    if evidence is not None and (others or not is_plan_file(first)):
        reject(["evidence"], "an evidence pack is of one plan")
    if evidence is not None:
        reject(["output"], "the evidence pack has a page of its own")
        files = Plan.load(first).evidence(evidence, name=Path(first).stem)
        click.echo(f"wrote {', '.join(file.name for file in files)} -> {evidence}")
        return
    if others:
        write_text(
            output, compare_page({Path(plan).name: Plan.load(plan) for plan in results})
        )
    elif is_plan_file(first):
        Plan.load(first).report(output, name=Path(first).name)
    else:
        Analysis.load(first).report(output)
    click.echo(f"wrote {output}")


# Analyses as text ---------------------------------------------------------------------

VIEWS = {
    "report": "the adversary keeps the whole report",
    "inferred": "the adversary keeps only the value inferred from the report",
}


SHOWN_ATTRIBUTES = 40


SHOWN_LEAKS = 10
"""Rows of tables by attribute (the matrix of more is not printed), and leaks."""


MAX_NAME = 24


CELL_WIDTH = 6
"""Characters of a cell of the matrix."""


UNIT = f"1 nat: {math.e:.2g} times likelier"
"""Explanation of the unit, printed where nats first occur."""


def analysis_text(analysis: Any) -> str:
    """Return an analysis as text whose matrix fits into the terminal."""
    verdict = _verdict_text(analysis)
    parts = [
        _heading(analysis),
        verdict,
        _leaks_text(analysis),
        _matrix_text(analysis.matrix, shutil.get_terminal_size((120, 24)).columns),
        _totals_text(analysis),
        "" if analysis.experienced is None else _experience_text(analysis.experienced),
        _notes_text(analysis),
        "" if verdict else analysis.verdict.settle,
    ]
    return "\n\n".join(part for part in parts if part)


def _heading(analysis: Any) -> str:
    matrix = analysis.matrix
    mechanisms = sorted({release.name or "" for release in matrix.releases})
    how = "any mechanism (upper bound)" if mechanisms == [""] else ", ".join(mechanisms)
    ends = dict.fromkeys([matrix.epsilons.min(), matrix.epsilons.max()])
    epsilon = " to ".join(f"{budget:g}" for budget in ends)
    delta = delta_text(max(release.delta for release in matrix.releases))
    return (
        f"{analysis.name}: {how_many(matrix.pairs)}, {len(matrix.domain)} attributes\n"
        f"Mechanism: {how}, epsilon {epsilon}{delta}\n"
        f"View: {matrix.view} ({VIEWS[matrix.view]})"
    )


def _verdict_text(analysis: Any) -> str:
    """Return the verdict and a table of bounds by state of the limit; "" without
    limits.
    """
    from seepage.analysis.verdict import STATES

    verdict = analysis.verdict
    judged = [j for state in STATES for j in verdict.judgements if j.state == state]
    if not judged:
        return ""
    lines = list(
        filter(
            None, [verdict.decision, verdict.basis, with_option_names(verdict.settle)]
        )
    )
    rows = [
        ["", "limit", "at least", "at most", "but for delta", ""],
        *map(_judgement_row, judged),
    ]
    if not any(judgement.relaxed_by for judgement in judged):
        rows = [[*row[:4], row[-1]] for row in rows]
    lines += ["", f"Limits (nats; {UNIT})", aligned(rows, most=SHOWN_ATTRIBUTES)]
    return "\n".join(lines)


def _judgement_row(j: Any) -> list[str]:
    """Return limit, what holds for every report, what holds but for a delta, and the
    state.
    """
    lower, upper = j.texts
    upper = f"{upper} {j.upper_by}" if j.upper_by else "unknown"
    rest = (
        f"{upper_text(j.relaxed)} {j.relaxed_by}{delta_text(j.delta)}"
        if j.relaxed_by
        else "-"
    )
    return [
        _short(j.attribute),
        f"{j.limit:g}",
        f"{lower} {j.lower_by}",
        upper,
        rest,
        str(j.state),
    ]


def _leaks_text(analysis: Any) -> str:
    """Return the strongest leaks, and what too few records or missing values hide."""
    from seepage.leakage.skip_patterns import skip_patterns
    from seepage.leakage.strongest_leaks import witness_records

    matrix = analysis.matrix
    leaks = analysis.leaks(SHOWN_LEAKS)
    lines = [line for leak in leaks for line in _leak_lines(leak, matrix)]
    if matrix.pairs.pooled:
        head = (
            "Largest leakages of the table, values pooled (source -> target, in nats)"
        )
        return "\n".join([head, *lines])
    intervals = matrix.interval()
    if len(matrix.domain) < 2 or (not leaks and intervals.lower.any()):
        return ""
    unit = f"; {UNIT}" if set(analysis.limits) == {None} else ""
    about = f"confidence {intervals.confidence:g} for all intervals at once, {intervals.condition}"
    count = f"{witness_records(matrix.pairs):,} records, missing ones left out"
    lines.append(
        f"  witnesses: among values with at least {count}"
        if leaks
        else f"  none is established: with {matrix.pairs.records:,} records all lower confidence "
        "limits are 0"
    )
    lines += [f"  {text}" for text in skip_patterns(matrix.pairs)[:SHOWN_LEAKS]]
    lines += [f"  {few.sentence()}" for few in intervals.too_few[:SHOWN_LEAKS]]
    if others := [few.attribute for few in intervals.too_few[SHOWN_LEAKS:]]:
        lines.append(
            f"  too few records to say about some values of {', '.join(others)} too"
        )
    return "\n".join(
        [f"Strongest leaks (source -> target, in nats{unit}; {about})", *lines]
    )


def _leak_lines(leak: Any, matrix: Any) -> list[str]:
    """Return a leak with its interval, and its witness in words."""
    ends = " -> ".join(
        " = ".join(names) for names in (leak.sources, leak.targets) if names
    )
    most = f"{matrix.epsilons[matrix.domain.index(leak.source)]:.2f}"
    line = f"  {ends or f'{leak.source} -> {leak.target}'}: {leak.leakage:.2f}"
    line += f"{delta_text(leak.delta)} of at most {most}"
    if leak.interval:
        line += (
            f", {lower_text(leak.lower)} to {upper_text(leak.upper)} in the population"
        )
    return [line, *([f"      {leak.sentence()}"] if leak.witness else [])]


def _matrix_text(matrix: Any, width: int) -> str:
    """Return the matrix in blocks of columns that fit the width; "" if it is large."""
    names = [
        f"{k:>2} {_short(name)}" for k, name in enumerate(matrix.domain.names, start=1)
    ]
    if len(names) > SHOWN_ATTRIBUTES:
        return ""
    tables = {
        "Leakage (nats): rows are targets, columns are sources, numbered as the rows": [
            [f"{value:.2f}" for value in row] for row in matrix.values
        ]
    }
    if matrix.deltas.any():
        tables["Delta of each leakage"] = [
            [delta_text(delta, 1)[8:] or "0" for delta in row] for row in matrix.deltas
        ]
    fitting = max(1, (width - max(map(len, names)) - 2) // CELL_WIDTH)
    blocks = []
    for heading, cells in tables.items():
        blocks.append(heading)
        for start in range(0, len(names), fitting):
            some = range(len(names))[start : start + fitting]
            rows = [["", *(str(source + 1) for source in some)]]
            for k, (name, row) in enumerate(zip(names, cells, strict=True)):
                rows.append(
                    [name, *("-" if source == k else row[source] for source in some)]
                )
            blocks.append(aligned(rows, narrowest=CELL_WIDTH - 2))
    return "\n".join(blocks)


def _totals_text(analysis: Any) -> str:
    """Return a table of totals by attribute and guarantee, with a legend."""
    from seepage.analysis.verdict import total_text
    from seepage.totals.guarantees import GUARANTEES

    comparison = analysis.totals
    matrix = analysis.matrix
    rows = [
        ["attribute", "own", *(f"{t.guarantee} ({t.kind})" for t in comparison.totals)]
    ]
    for k, (name, release) in enumerate(
        zip(matrix.domain.names, matrix.releases, strict=True)
    ):
        cells = [
            total_text(total, k)
            + delta_text(total.deltas[k])
            + " !" * (name in comparison.refuted.get(total.guarantee, ()))
            for total in comparison.totals
        ]
        rows.append(
            [_short(name), f"{release.epsilon:.2f}{delta_text(release.delta)}", *cells]
        )
    table = "table" if matrix.pairs.population is None else "sample"
    legend = [
        f"  {t.guarantee}: {GUARANTEES[t.guarantee].meaning}{_terms(t)}"
        for t in comparison.totals
    ]
    if comparison.refuted:
        legend.append(f"  ! refuted: below what reports in this {table} say (witness)")
    head = f"Total leakage of each attribute in this {table} (nats)"
    legend += [
        f"  {name}: {with_option_names(why)}"
        for name, why in comparison.unavailable.items()
    ]
    return "\n".join([head, aligned(rows, most=SHOWN_ATTRIBUTES), *legend])


def _terms(total: Any) -> str:
    """Return the largest delta and the confidence of a total, where it has one."""
    sure = "" if total.confidence is None else f", confidence {total.confidence:g}"
    return f" ({(total.delta_text + sure)[2:]})" if total.delta_text + sure else ""


def _experience_text(experience: Any) -> str:
    """Return the realised losses of drawn people, the most affected attributes first."""
    from seepage.totals.experienced import ESTIMATE

    rows = [
        ["", "promised", "median", "95%", "above", "unrelated", "before", "own", "all"]
    ]
    for k in experience.measured:
        losses = experience.epsilons[k], *experience.quantiles[k, 1:3, ESTIMATE]
        shares = experience.shares[k, ESTIMATE], experience.permuted_shares[k]
        guessed = experience.own[k, ESTIMATE], experience.together[k, ESTIMATE]
        percent = [
            f"{share:.0%}" for share in (*shares, experience.before[k], *guessed)
        ]
        name = _short(experience.attributes[k])
        rows.append([name, *(f"{loss:.2f}" for loss in losses), *percent])
    legend = (
        "promised: epsilon; median, 95%: realised loss of all reports, in nats",
        "above: share of people with more than 1.1 epsilon; unrelated: on permuted columns",
        "before, own, all: how often the best guess is right (before: in the table)",
        "each person's own record is left out of what the reports are compared with",
        f"values with fewer than {experience.rare:,} other records are not compared; "
        f"limits of {experience.confidence:.0%} confidence: --format json",
    )
    head = f"What people experience ({experience.people:,} drawn people; no guarantee)"
    table = aligned(rows, most=SHOWN_ATTRIBUTES)
    return "\n".join([head, table, *(f"  {line}" for line in legend)])


def _notes_text(analysis: Any) -> str:
    from seepage.leakage.equivalent_attributes import same_attributes

    matrix = analysis.matrix
    notes = [
        f"{' and '.join(names)} determine each other: one finding"
        for names in same_attributes(matrix.pairs)
    ]
    notes += constants(matrix.domain)
    if any(matrix.smoothing.values()):
        notes.append(
            f"smoothed by {matrix.smoothing}: leakages may be below the table's own"
        )
    caution = sample_caution(matrix.pairs)
    if caution is not None:
        notes.append(f"leakages, and all totals but worst, are {caution}")
    distinct = dict.fromkeys(
        note for total in analysis.totals.totals for note in total.notes
    )
    notes += [note for note in distinct if caution is None or caution not in note]
    return "\n".join(notes)


def _short(name: str) -> str:
    return name if len(name) <= MAX_NAME else name[: MAX_NAME - 1] + "…"
