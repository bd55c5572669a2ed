"""Bars side by side, with marks on them and panels beside each other.

Lines over a budget, with a diagonal for comparison where it helps.

Distributions: how often each size of leakage occurs, and how it varies within a bin.
"""

from typing import Any

from seepage.charts.style import PALETTE, finish, table

__all__ = ["bar_panels", "curve_panels", "histogram_panels", "spread_panels"]

WIDTH, HEIGHT = 300, 240


def bar_panels(
    rows: list[dict[str, Any]],
    axis: str,
    *,
    mark: str = "",
    colour_title: str = "",
    x_title: str = "",
    width: int = WIDTH,
    columns: int = 2,
) -> Any:
    """Return grouped bars, one panel for each value of `panel`.

    Parameters
    ----------
    rows
        With `panel`, `group` (along the axis), `series` (the colour), `value`, and perhaps `mark`:
        a second value, or None, drawn as a black line across the bar.
    axis
        The title of the values' axis, with its unit.
    mark
        What the black lines are.
    colour_title, x_title
        The titles of the legend and of the groups' axis.
    width, columns
        Of one panel, and how many stand side by side.
    """
    import altair as alt

    groups = list(dict.fromkeys(row["group"] for row in rows))
    series = list(dict.fromkeys(row["series"] for row in rows))
    x = alt.X(
        "group:N", title=x_title or None, sort=groups, axis=alt.Axis(labelAngle=0, labelLimit=260)
    )
    offset = alt.XOffset("series:N", sort=series)
    panels = []
    for panel in dict.fromkeys(row["panel"] for row in rows):
        chosen = [row for row in rows if row["panel"] == panel]
        base = alt.Chart(table(chosen))
        bars = base.mark_bar().encode(
            x=x,
            xOffset=offset,
            y=alt.Y("value:Q", title=axis),
            color=alt.Color(
                "series:N",
                title=colour_title or None,
                sort=series,
                scale=alt.Scale(domain=series, range=PALETTE),
            ),
            tooltip=["group:N", "series:N", "value:Q"],
        )
        marked = any(row.get("mark") is not None for row in chosen)
        if marked:
            bars += base.mark_tick(color="black", thickness=2).encode(
                x=x, xOffset=offset, y="mark:Q", tooltip=["group:N", "series:N", "mark:Q"]
            )
        caption = f"{panel}; black: {mark}" if marked else panel
        panels.append(bars.properties(width=width, height=HEIGHT, title=caption))
    return finish(alt.concat(*panels, columns=columns).resolve_scale(y="shared"))


WIDTH, HEIGHT = 400, 280
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3]]


def curve_panels(
    rows: list[dict[str, Any]],
    *,
    x_title: str,
    series: list[str],
    dashed: dict[str, int] | None = None,
    diagonal: str = "",
    legend: str = "",
) -> Any:
    """Return lines, one panel for each value of `panel`.

    Parameters
    ----------
    rows
        With `panel`, `axis` (the title of its values' axis), `series`, `x`, `y`.
    x_title
        The title of the horizontal axis.
    series
        The lines in the order of the legend.
    dashed
        The dash of a line by its series: 0 solid, 1 to 3 dashes; solid by default.
    diagonal
        What the line y = x means; it is drawn, in grey, where this is not empty.
    legend
        Its title.
    """
    import altair as alt

    many = len({row["panel"] for row in rows}) > 1
    dashes = [DASHES[(dashed or {}).get(one, 0)] for one in series]
    panels = []
    for panel in dict.fromkeys(row["panel"] for row in rows):
        chosen = [row for row in rows if row["panel"] == panel]
        lines = (
            alt.Chart(table(chosen))
            .mark_line(point=alt.OverlayMarkDef(size=28), strokeWidth=2)
            .encode(
                x=alt.X("x:Q", title=x_title),
                y=alt.Y("y:Q", title=chosen[0]["axis"]),
                color=alt.Color(
                    "series:N",
                    title=legend or None,
                    sort=series,
                    scale=alt.Scale(domain=series, range=PALETTE),
                    legend=alt.Legend(
                        labelLimit=320,
                        symbolType="stroke",
                        symbolSize=300,
                        orient="top" if many else "right",
                    ),
                ),
                strokeDash=alt.StrokeDash(
                    "series:N", sort=series, scale=alt.Scale(domain=series, range=dashes)
                ),
                tooltip=["series:N", "x:Q", "y:Q"],
            )
        )
        if diagonal:
            far = max(row["x"] for row in chosen)
            lines = _diagonal(far, diagonal) + lines
        panels.append(lines.properties(width=WIDTH, height=HEIGHT, title=panel))
    return finish(alt.concat(*panels, columns=2))


def _diagonal(far: float, meaning: str) -> Any:
    """Return the grey line y = x up to `far`, with its meaning at the end."""
    import altair as alt

    ends = alt.Chart(table([{"x": 0, "y": 0}, {"x": far, "y": far}]))
    line = ends.mark_line(color="#777777", strokeDash=[4, 3], strokeWidth=1)
    text = alt.Chart(table([{"x": far, "y": far, "text": meaning}])).mark_text(
        color="#777777", align="right", dx=-6, dy=-6, fontSize=11
    )
    return line.encode(x="x:Q", y="y:Q") + text.encode(x="x:Q", y="y:Q", text="text:N")


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
