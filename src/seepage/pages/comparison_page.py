"""The page of two tables: how far apart they are, and what the first one misses."""

from seepage._core.text import delta_text, short_list, upper_text
from seepage.analysis.table_comparison import TableComparison
from seepage.charts.chart_files import inline_svg
from seepage.pages.render import render_page

SHOWN_ROWS = 20
"""Number of pairs, totals and limits that the page shows."""

STYLES = ("base", "figures", "print", "plan")


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
    pairs = comparison.to_arrow().slice(0, SHOWN_ROWS).to_pylist()
    distances = sorted(comparison.attributes.items(), key=lambda item: -item[1][0])
    return render_page(
        "comparison.html",
        f"{first} and {second}: what the first table misses",
        styles=STYLES,
        comparison=comparison,
        first=first,
        second=second,
        pairs=[pair for pair in pairs if pair["second"] > pair["first"]],
        totals=comparison.totals[:SHOWN_ROWS],
        limits=comparison.limits[:SHOWN_ROWS],
        distances=distances[:SHOWN_ROWS],
        picture=inline_svg(comparison.chart(), "Leakages of both tables, in nats"),
        upper=upper_text,
        delta_text=delta_text,
        listed=short_list,
    )
