"""The page of two tables: how far apart they are, and what the first one misses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seepage._core.odds import measured_odds, odds_text
from seepage._core.text import delta_text, number_of, short_list, upper_text
from seepage.analysis.table_comparison import TableComparison
from seepage.pages.analysis_view import short
from seepage.pages.odds_rows import OddsBars, OddsEntry, State, odds_bars
from seepage.pages.render import render_page

SHOWN_ROWS = 20
"""Number of pairs, totals and limits that the page shows."""

SHOWN_PAIRS = 12
"""Number of pairs in the picture."""

STYLES = ("design", "analysis")


def comparison_page(comparison: TableComparison) -> str:
    """Return a comparison of two tables as one HTML page.

    Examples
    --------
    >>> import seepage as sp
    >>> here, there = (sp.make_survey(900, rng=seed) for seed in (1, 2))
    >>> found = sp.compare_tables(here, there, columns=["coffee", "screen"])
    >>> comparison_page(found).startswith("<!doctype html>")
    True
    """
    first, second = comparison.tables.names
    rows = comparison.to_arrow().slice(0, SHOWN_ROWS).to_pylist()
    pairs = [pair for pair in rows if pair["second"] > pair["first"]]
    distances = sorted(comparison.attributes.items(), key=lambda item: -item[1][0])
    heading = comparison_heading(comparison)
    return render_page(
        "comparison.html",
        f"{short(first)} and {short(second)}: {heading.sentence}",
        styles=STYLES,
        comparison=comparison,
        heading=heading,
        first=first,
        second=second,
        pairs=pairs,
        totals=comparison.totals[:SHOWN_ROWS],
        limits=comparison.limits[:SHOWN_ROWS],
        distances=distances[:SHOWN_ROWS],
        picture=_pair_bars(pairs),
        odds_text=odds_text,
        measured_odds=measured_odds,
        upper=upper_text,
        delta_text=delta_text,
        listed=short_list,
    )


@dataclass(frozen=True, kw_only=True)
class ComparisonHeading:
    """What the first table misses, in the words of who decides."""

    state: State
    order: str
    sentence: str
    lead: str


def comparison_heading(comparison: TableComparison) -> ComparisonHeading:
    """Return the heading of a comparison's page: what the first table misses, in the
    words of who decides.
    """
    first, second = map(short, comparison.tables.names)
    established = int(comparison.established.sum())
    lead = (
        f"{comparison.tables.first.records:,} people in {first}, "
        f"{comparison.tables.second.records:,} in {second}; "
        f"{number_of(len(comparison.domain), 'common question')}."
    )
    broken = len(comparison.broken)
    if broken:
        return ComparisonHeading(
            state="over",
            order="Design again",
            sentence=(
                f"{broken} of {number_of(len(comparison.limits), 'limit')} that noise "
                f"from {first} keeps there are exceeded on {second}."
            ),
            lead=lead,
        )
    if established:
        pairs = number_of(established, "answer gives", "answers give")
        return ComparisonHeading(
            state="over",
            order="Check the plan on the newer table",
            sentence=f"{pairs} away more on {second} than {first} says.",
            lead=lead,
        )
    return ComparisonHeading(
        state="within",
        order="Nothing is proven to be worse",
        sentence=f"No answer is shown to give away more on {second} than {first} says.",
        lead=lead,
    )


def _pair_bars(pairs: Sequence[Mapping[str, Any]]) -> OddsBars | None:
    """Return what answers give away in a comparison, on the second table as bars, and
    on the first as rings; None where none gives away more.
    """
    if not pairs:
        return None
    return odds_bars(
        [
            OddsEntry(
                name=f"{pair['source']} about {pair['target']}",
                state="told" if pair["established"] else "compared",
                value=pair["second"],
                estimate=pair["first"],
                text=f"{measured_odds(pair['first'])} × to "
                f"{measured_odds(pair['second'])} ×",
            )
            for pair in pairs[:SHOWN_PAIRS]
        ]
    )
