"""Panels of charts that only the paper's figures use."""

from typing import Any

import altair as alt

from seepage.charts import style
from seepage.charts.benchmark_charts import SHAPES
from seepage.charts.style import Rows, printable_names

BARS = 240


HISTOGRAM = (240, 170)


SPREAD = (420, 280)
"""Height of panels of bars, and width and height of those of each other kind, in
pixels."""


AGREEMENT_SIDE = 380


POWERS = [10.0**power for power in range(-12, 7)]


BETWEEN = [digit * power for power in POWERS for digit in (1, 2, 3, 4, 5, 7)]
"""Ticks of a logarithmic axis, and those of one of less than `WIDE`; those beyond its
ends are not drawn."""


WIDE = 100.0
"""Ratio of the ends of an axis above which powers of ten are ticks enough."""


MAX_LARGE_POINTS = 100
"""Maximum number of points that are drawn large."""


@printable_names
def bar_panels(
    rows: Rows, axis: str, *, mark: str = "", colour_title: str = "", x_title: str = ""
) -> Any:
    """Return grouped bars, one panel for each value of `panel`.

    Parameters
    ----------
    rows
        With `panel`, `group` (along the axis), `series` (the colour), `value`, and
        optionally `mark`: a second value, or None, drawn as a black line across the
        bar.
    axis
        The title of the values' axis, with its unit.
    mark
        The meaning of the black lines, for the panel's title.
    colour_title, x_title
        The titles of the legend and of the groups' axis.
    """
    groups = style.distinct_in(rows, "group")
    series = style.distinct_in(rows, "series")
    labels = alt.Axis(labelAngle=0, labelLimit=260)
    x = alt.X("group:N", title=x_title or None, sort=groups, axis=labels)
    offset = alt.XOffset("series:N", sort=series)

    def draw(panel: str, chosen: Rows) -> Any:
        base = style.chart_of(chosen).encode(x=x, xOffset=offset)
        bars = base.mark_bar().encode(
            y=alt.Y("value:Q", title=axis),
            color=style.coloured("series", series, colour_title),
            tooltip=["group:N", "series:N", "value:Q"],
        )
        if all(row.get("mark") is None for row in chosen):
            return bars
        marks = base.mark_tick(color="black", thickness=2).encode(
            y="mark:Q", tooltip=["group:N", "series:N", "mark:Q"]
        )
        return (bars + marks).properties(title=f"{panel}; black: {mark}")

    size = 20 * len(groups) * len(series), BARS
    return style.in_panels(rows, draw, size, columns=3, same_y=True)


@printable_names
def histogram_panels(rows: Rows, x_title: str, y_title: str) -> Any:
    """Return histograms side by side, one panel for each value of `data`, with the same
    axes.

    Parameters
    ----------
    rows
        With `data`, `from` and `to` (the ends of the bin), `share`.
    x_title, y_title
        The axes' titles.
    """
    x = alt.X("from:Q", title=x_title, scale=alt.Scale(domain=[0, 1]), bin="binned")
    y = alt.Y("share:Q", title=y_title, axis=alt.Axis(format="%"))

    def draw(data: str, chosen: Rows) -> Any:
        bars = style.chart_of(chosen).mark_bar(
            color=style.PALETTE[0], stroke="white", strokeWidth=0.5
        )
        return bars.encode(x=x, x2="to:Q", y=y, tooltip=["from:Q", "to:Q", "share:Q"])

    return style.in_panels(rows, draw, HISTOGRAM, key="data", columns=3, same_y=True)


@printable_names
def spread_panels(rows: Rows, y_title: str) -> Any:
    """Return means, standard deviations (thick) and ranges (thin) within bins of a
    measure.

    Parameters
    ----------
    rows
        With `metric`, one panel each, `from` and `to` (the ends of the bin), `mean`,
        `standard_deviation`, `least`, `most` and `pairs`.
    y_title
        The title of the values' axis.
    """

    def draw(metric: str, chosen: Rows) -> Any:
        x = alt.X("middle:Q", title=metric, scale=alt.Scale(domain=[0, 1]))
        base = (
            style.chart_of(chosen)
            .encode(x=x)
            .transform_calculate(
                middle="(datum.from + datum.to) / 2",
                low="max(datum.mean - datum.standard_deviation, datum.least)",
                high="min(datum.mean + datum.standard_deviation, datum.most)",
            )
        )
        ranges = base.mark_rule(color="#999999", strokeWidth=1.5)
        deviations = base.mark_rule(color=style.PALETTE[0], strokeWidth=6, opacity=0.55)
        means = base.mark_point(size=80, filled=True, opacity=1, color=style.PALETTE[1])
        tooltip = ["middle:Q", "mean:Q", "least:Q", "most:Q", "pairs:Q"]
        layers = (
            ranges.encode(y=alt.Y("least:Q", title=y_title), y2="most:Q")
            + deviations.encode(y="low:Q", y2="high:Q")
            + means.encode(y="mean:Q", tooltip=tooltip)
        )
        return layers.properties(title=f"{metric} against leakage")

    return style.in_panels(rows, draw, SPREAD, key="metric")


@printable_names
def agreement_chart(rows: Rows, x_title: str, y_title: str, *, log: bool = True) -> Any:
    """Return scatter charts of y against x, with the line y = x, side by side.

    Parameters
    ----------
    rows
        With `panel`, `series` (the colour), `kind` (the shape), `label`, `x` and `y`.
    x_title, y_title
        The axes' titles.
    log
        Whether both axes are logarithmic.
    """
    scale = alt.Scale(
        type="log" if log else "linear", zero=False, nice=False, padding=15
    )
    series, kinds = style.distinct_in(rows, "series"), style.distinct_in(rows, "kind")
    shapes = alt.Shape(
        "kind:N",
        title=None,
        sort=kinds,
        scale=alt.Scale(domain=kinds, range=SHAPES[: len(kinds)]),
        legend=_legend(kinds),
    )

    def draw(panel: str, chosen: Rows) -> Any:
        size = 30 if len(chosen) > MAX_LARGE_POINTS else 80
        points = (
            style.chart_of(chosen)
            .mark_point(size=size, filled=True, opacity=0.7)
            .encode(
                color=style.coloured("series", series, legend=_legend(series)),
                shape=shapes,
                tooltip=["series:N", "kind:N", "label:N", "x:Q", "y:Q"],
            )
        )
        coordinates = [row[key] for row in chosen for key in ("x", "y")]
        ends = min(coordinates), max(coordinates)
        axis = _log_axis(*ends) if log else alt.Axis(tickCount=6)
        line = style.chart_of([{"x": end, "y": end} for end in ends]).mark_line(
            **style.DIAGONAL
        )
        return (line + points).encode(
            x=alt.X("x:Q", title=x_title, scale=scale, axis=axis),
            y=alt.Y("y:Q", title=y_title, scale=scale, axis=axis),
        )

    return style.in_panels(rows, draw, (AGREEMENT_SIDE, AGREEMENT_SIDE))


def _log_axis(low: float, high: float) -> Any:
    """Return a logarithmic axis with some ticks between its ends."""
    ticks = POWERS if high > WIDE * low else BETWEEN
    return alt.Axis(format="~g", values=ticks)


def _legend(entries: list[str]) -> Any:
    """Return a legend, or None for a single entry."""
    return alt.Legend(labelLimit=260) if len(entries) > 1 else None
