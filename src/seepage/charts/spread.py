"""Distributions: how often each size of leakage occurs, and how it varies within a bin."""

from typing import Any

from seepage.charts.theme import PALETTE, finish, table

__all__ = ["histogram_panels", "spread_panels"]

WIDTH, HEIGHT = 420, 280
SMALL = 240, 170


def histogram_panels(rows: list[dict[str, Any]], x_title: str, y_title: str) -> Any:
    """Return histograms beside each other, one panel a series, with the same axes.

    Parameters
    ----------
    rows
        With `series`, `low` and `high` (the ends of the bin), `share`.
    x_title, y_title
        The axes' titles.
    """
    import altair as alt

    panels = [
        alt.Chart(table([row for row in rows if row["series"] == series]))
        .mark_bar(color=PALETTE[0], stroke="white", strokeWidth=0.5)
        .encode(
            x=alt.X("low:Q", title=x_title, scale=alt.Scale(domain=[0, 1]), bin="binned"),
            x2="high:Q",
            y=alt.Y("share:Q", title=y_title, axis=alt.Axis(format="%")),
            tooltip=["low:Q", "high:Q", "share:Q"],
        )
        .properties(width=SMALL[0], height=SMALL[1], title=series)
        for series in dict.fromkeys(row["series"] for row in rows)
    ]
    return finish(alt.concat(*panels, columns=3).resolve_scale(y="shared"))


def spread_panels(rows: list[dict[str, Any]], y_title: str) -> Any:
    """Return means with standard deviations (thick) and ranges (thin) within bins.

    Parameters
    ----------
    rows
        With `panel`, `x_title`, `middle` (of the bin), `mean`, `low` and `high` (mean minus and
        plus one standard deviation, within the range), `least`, `most`.
    y_title
        The title of the values' axis.
    """
    import altair as alt

    panels = []
    for panel in dict.fromkeys(row["panel"] for row in rows):
        chosen = [row for row in rows if row["panel"] == panel]
        base = alt.Chart(table(chosen)).encode(
            x=alt.X("middle:Q", title=chosen[0]["x_title"], scale=alt.Scale(domain=[0, 1]))
        )
        ranges = base.mark_rule(color="#999999", strokeWidth=1.5).encode(
            y=alt.Y("least:Q", title=y_title), y2="most:Q"
        )
        deviations = base.mark_rule(color=PALETTE[0], strokeWidth=6, opacity=0.55).encode(
            y="low:Q", y2="high:Q"
        )
        means = base.mark_point(size=80, filled=True, opacity=1, color=PALETTE[1]).encode(
            y="mean:Q", tooltip=["middle:Q", "mean:Q", "least:Q", "most:Q", "pairs:Q"]
        )
        panels.append(
            (ranges + deviations + means).properties(width=WIDTH, height=HEIGHT, title=panel)
        )
    return finish(alt.concat(*panels, columns=2))
