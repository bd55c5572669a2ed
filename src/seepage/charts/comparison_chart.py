"""Leakages of one table against those of another, a point for each ordered pair."""

import math
from typing import Any

from seepage.charts import style
from seepage.charts.altair_import import alt
from seepage.charts.style import Rows, printable_names

STATES = ("leaks more, established", "leaks more", "leaks less, or the same")
"""What a pair is in the second table, in the order of the legend."""


@printable_names
def comparison_chart(rows: Rows, first: str, second: str) -> Any:
    """Return the leakages in the second table against those in the first.

    Parameters
    ----------
    rows
        With `target`, `source`, the leakages `first` and `second`, and `established`.
    first, second
        The names of the tables.
    """
    drawn = [
        row | {"pair": _state(row)}
        for row in rows
        if math.isfinite(row["first"]) and math.isfinite(row["second"])
    ]
    end = max([0.1, *(max(row["first"], row["second"]) for row in drawn)])
    scale = alt.Scale(domain=[0, 1.05 * end])
    points = (
        style.chart_of(drawn)
        .mark_point(filled=True, size=36, opacity=0.75)
        .encode(
            x=alt.X("first:Q", title=f"Leakage on {first} (nats)", scale=scale),
            y=alt.Y("second:Q", title=f"Leakage on {second} (nats)", scale=scale),
            color=style.coloured("pair", list(STATES)),
            tooltip=["source:N", "target:N", "first:Q", "second:Q", "pair:N"],
        )
    )
    ends: Rows = [{"x": 0.0, "y": 0.0}, {"x": end, "y": end}]
    equal = style.chart_of(ends).mark_line(color="#999999", strokeDash=[4, 4])
    layers = equal.encode(x="x:Q", y="y:Q") + points
    title = "Above the line: the second table leaks more than the first says"
    return style.finish(layers, title, width=380, height=380)


def _state(row: dict[str, Any]) -> str:
    """Return what a pair of the comparison is in the second table."""
    if row["second"] <= row["first"]:
        return STATES[2]
    return STATES[0] if row["established"] else STATES[1]
