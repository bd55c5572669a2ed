"""`seepage compare`: how far one table is from another."""

from typing import Any

import click

from seepage._core.errors import InputError
from seepage._core.odds import limit_and_odds, odds_above
from seepage._core.progress import progress_bar
from seepage._core.text import delta_text, short_list
from seepage.cli import console, options, parsing
from seepage.cli.analysis_text import IN_NATS
from seepage.cli.console import aligned
from seepage.cli.file_command import EXIT_FAILED, FileCommand, with_option_names
from seepage.cli.keywords import explicit_keywords
from seepage.cli.number_types import NUMBER_TYPE

COMPARE_KEYWORDS = (
    "epsilon",
    "mechanism",
    "delta",
    "limit",
    "confidence",
    "keep",
    *options.DATA_KEYWORDS,
)
"""Keywords of `seepage.compare_tables` that are options of the command."""

SHOWN_PAIRS = 10
"""Maximum number of pairs, totals and limits that are printed."""


@click.command("compare", cls=FileCommand)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option(
    "-e",
    "--epsilon",
    type=NUMBER_TYPE,
    default=1.0,
    help="The privacy budget of every attribute.",
)
@click.option(
    "-m",
    "--mechanism",
    help="A mechanism; by default the bound over all with this budget.",
)
@click.option(
    "--delta", type=NUMBER_TYPE, default=0.0, help="Delta of (epsilon, delta)-LDP."
)
@click.option(
    "--limit",
    metavar="ODDS|NATS",
    callback=parsing.parse_limit,
    help="How far all reports of a person may change the odds between two values of "
    "any attribute, 7.4x or 2 nats: whether the budgets that keep it in A keep it in "
    "B.",
)
@click.option(
    "--limit-of",
    metavar="NAME=VALUE",
    multiple=True,
    callback=parsing.parse_by_name(parsing.as_limit_or_none),
    help="--limit of one attribute.",
)
@click.option(
    "--confidence",
    type=NUMBER_TYPE,
    default=0.95,
    help="The confidence of all intervals together.",
)
@click.option(
    "--fail-if",
    type=click.Choice(["understated", "limit"]),
    help="Exit 1 if a pair is established to leak more in B, or if a limit is exceeded "
    "there.",
)
@options.KEEP
@options.DATA
@options.page("the comparison")
@options.chart("the leakages of both tables")
@options.RESULT
def compare(a: str, b: str, fail_if: str | None, **_: Any) -> None:
    """Compare the tables A and B: which leakages and limits of B are missed by A.

    A is the table that budgets are set on, B that of the people who are asked: another
    year, another country.  Attributes are matched by name.

    \b
    Examples:
      seepage compare 2025.csv 2026.csv
      seepage compare 2025.csv 2026.csv --limit 7.4x --fail-if limit
      seepage compare assumed.pairs real.pairs --mechanism grr --report compare.html
    """
    from seepage.analysis.table_comparison import compare_tables

    keywords = explicit_keywords(COMPARE_KEYWORDS)
    if fail_if == "limit" and "limit" not in keywords:
        raise InputError("--fail-if limit needs --limit", parameter="limit")
    with progress_bar("comparing") as progress:
        comparison = compare_tables(a, b, progress=progress, **keywords)
    console.write_result(
        comparison, lambda: _comparison_text(comparison), page=comparison.report
    )
    fails = {
        "understated": bool(comparison.established.any()),
        "limit": bool(comparison.broken),
    }
    if fail_if is not None and fails[fail_if]:
        raise SystemExit(EXIT_FAILED)


def _comparison_text(comparison: Any) -> str:
    """Return the comparison of two tables as text: verdict, limits, pairs, totals,
    notes.
    """
    first, second = comparison.tables.names
    counts = (
        f"{comparison.tables.first.records:,} and {comparison.tables.second.records:,}"
    )
    parts = [
        f"{first} and {second}: {counts} records, {len(comparison.domain)} attributes\n"
        f"{comparison.verdict}",
        _limits_text(comparison),
        _pairs_text(comparison),
        _totals_text(comparison),
        _notes_text(comparison),
    ]
    return "\n\n".join(part for part in parts if part)


def _limits_text(comparison: Any) -> str:
    """Return the limits on the second of two compared tables as text; "" without
    limits.
    """
    if not comparison.limits:
        return ""
    first, second = comparison.tables.names
    rows = [["", "limit", "budget", f"total on {second}", ""]]
    for limit in comparison.limits:
        name = "all at once" if limit.attribute is None else limit.attribute
        total = odds_above(limit.total)
        state = "holds" if limit.holds else "exceeded"
        rows.append(
            [name, limit_and_odds(limit.limit), f"{limit.epsilon:.3f}", total, state]
        )
    head = f"Limits with the largest budgets that keep them on {first} (independent)"
    return f"{head}\n{aligned(rows, most=SHOWN_PAIRS)}"


def _pairs_text(comparison: Any) -> str:
    """Return the pairs that leak more in the second of two compared tables as text, the
    most understated first.
    """
    first, second = comparison.tables.names
    rows = [["source -> target", first, second, "distance", ""]]
    for pair in comparison.to_arrow().to_pylist():
        if pair["second"] <= pair["first"]:
            break
        distance = "-"
        if pair["distance"] is not None:
            distance = f"{pair['distance']:.3f}"
        rows.append(
            [
                f"{pair['source']} -> {pair['target']}",
                odds_above(pair["first"]),
                odds_above(pair["second"]) + delta_text(pair["delta"]),
                distance,
                "established" if pair["established"] else "",
            ]
        )
    if len(rows) == 1:
        return ""
    legend = (
        "  distance: total variation of the rows P(source given target), the largest "
        f"over values with {comparison.support:,} records in both"
    )
    head = (
        f"Leakages that {first} understates: how many times a report changes the odds "
        f"({IN_NATS})"
    )
    return "\n".join([head, aligned(rows, most=SHOWN_PAIRS), legend])


def _totals_text(comparison: Any) -> str:
    """Return the totals of both compared tables as text, those that grow most first."""
    first, second = comparison.tables.names
    rows = [["attribute", first, second]]
    for total in comparison.totals:
        more = odds_above(total.second) + delta_text(total.delta)
        rows.append([total.attribute, odds_above(total.first), more])
    head = (
        "How many times all reports of a person change the odds about each attribute "
        "(independent, assumed)"
    )
    return f"{head}\n{aligned(rows, most=SHOWN_PAIRS)}"


def _notes_text(comparison: Any) -> str:
    """Return what comparing two tables left out as text, and values that only the
    second table has.
    """
    lines = [with_option_names(note) for note in comparison.tables.notes]
    for table, names in zip(
        comparison.tables.names, comparison.tables.alone, strict=True
    ):
        if names:
            lines.append(f"only {table} has the attributes {short_list(names)}")
    second = comparison.tables.names[1]
    for name, values in comparison.tables.new_values.items():
        lines.append(f"only {second} has {name} {short_list(values)}")
    return "\n".join(lines)
