"""Charts in panels: grouped bars, lines over a budget, histograms, spreads within bins, forms."""

from typing import Any

import altair as alt

from seepage.charts.chart_style import (
    DIAGONAL,
    PALETTE,
    Rows,
    chart_of,
    coloured,
    distinct_in,
    finish,
    in_panels,
    printable_names,
)

BARS, CURVES, HISTOGRAM, SPREAD = (300, 240), (400, 280), (240, 170), (420, 280)
"""Width and height of a panel of each kind."""

SHAPED = "#c8c8c8"
"""Colour of answers in one shaped report, which have no budgets of their own."""

DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3]]

STEP = 22
"""Height of an attribute's row, in pixels."""


@printable_names
def bar_panels(
    rows: Rows,
    axis: str,
    *,
    mark: str = "",
    colour_title: str = "",
    x_title: str = "",
    width: int = BARS[0],
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
    groups, series = distinct_in(rows, "group"), distinct_in(rows, "series")
    labels = alt.Axis(labelAngle=0, labelLimit=260)
    x = alt.X("group:N", title=x_title or None, sort=groups, axis=labels)
    offset = alt.XOffset("series:N", sort=series)

    def draw(panel: str, chosen: Rows) -> Any:
        base = chart_of(chosen).encode(x=x, xOffset=offset)
        bars = base.mark_bar().encode(
            y=alt.Y("value:Q", title=axis),
            color=coloured("series", series, colour_title),
            tooltip=["group:N", "series:N", "value:Q"],
        )
        if all(row.get("mark") is None for row in chosen):
            return bars
        marks = base.mark_tick(color="black", thickness=2).encode(
            y="mark:Q", tooltip=["group:N", "series:N", "mark:Q"]
        )
        return (bars + marks).properties(title=f"{panel}; black: {mark}")

    return in_panels(rows, draw, (width, BARS[1]), columns=columns, same_y=True)


@printable_names
def curve_panels(
    rows: Rows,
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
    index: Any = "top" if len(distinct_in(rows, "panel")) > 1 else "right"
    entries = alt.Legend(labelLimit=320, symbolType="stroke", symbolSize=300, orient=index)
    dashes = [DASHES[(dashed or {}).get(one, 0)] for one in series]

    def draw(panel: str, chosen: Rows) -> Any:
        dots = alt.OverlayMarkDef(size=28)
        lines = (
            chart_of(chosen)
            .mark_line(point=dots, strokeWidth=2)
            .encode(
                x=alt.X("x:Q", title=x_title),
                y=alt.Y("y:Q", title=chosen[0]["axis"]),
                color=coloured("series", series, legend, legend=entries),
                strokeDash=alt.StrokeDash(
                    "series:N", sort=series, scale=alt.Scale(domain=series, range=dashes)
                ),
                tooltip=["series:N", "x:Q", "y:Q"],
            )
        )
        return _diagonal(max(row["x"] for row in chosen), diagonal) + lines if diagonal else lines

    return in_panels(rows, draw, CURVES)


def _diagonal(far: float, meaning: str) -> Any:
    """Return the grey line y = x up to `far`, with its meaning at the end."""
    line = chart_of([{"x": 0, "y": 0}, {"x": far, "y": far}]).mark_line(**DIAGONAL)
    text = chart_of([{"x": far, "y": far, "text": meaning}]).mark_text(
        color=DIAGONAL["color"], align="right", dx=-6, dy=-6, fontSize=11
    )
    return line.encode(x="x:Q", y="y:Q") + text.encode(x="x:Q", y="y:Q", text="text:N")


@printable_names
def histogram_panels(rows: Rows, x_title: str, y_title: str) -> Any:
    """Return histograms side by side, one panel per series, with the same axes.

    Parameters
    ----------
    rows
        With `series`, `low` and `high` (the ends of the bin), `share`.
    x_title, y_title
        The axes' titles.
    """
    x = alt.X("low:Q", title=x_title, scale=alt.Scale(domain=[0, 1]), bin="binned")
    y = alt.Y("share:Q", title=y_title, axis=alt.Axis(format="%"))

    def draw(series: str, chosen: Rows) -> Any:
        bars = chart_of(chosen).mark_bar(color=PALETTE[0], stroke="white", strokeWidth=0.5)
        return bars.encode(x=x, x2="high:Q", y=y, tooltip=["low:Q", "high:Q", "share:Q"])

    return in_panels(rows, draw, HISTOGRAM, key="series", columns=3, same_y=True)


@printable_names
def spread_panels(rows: Rows, y_title: str) -> Any:
    """Return means with standard deviations (thick) and ranges (thin) within bins.

    Parameters
    ----------
    rows
        With `panel`, `x_title`, `middle` (of the bin), `mean`, `low` and `high` (mean minus and
        plus one standard deviation, within the range), `least`, `most`.
    y_title
        The title of the values' axis.
    """

    def draw(panel: str, chosen: Rows) -> Any:
        unit = alt.Scale(domain=[0, 1])
        x = alt.X("middle:Q", title=chosen[0]["x_title"], scale=unit)
        base = chart_of(chosen).encode(x=x)
        ranges = base.mark_rule(color="#999999", strokeWidth=1.5)
        deviations = base.mark_rule(color=PALETTE[0], strokeWidth=6, opacity=0.55)
        means = base.mark_point(size=80, filled=True, opacity=1, color=PALETTE[1])
        return (
            ranges.encode(y=alt.Y("least:Q", title=y_title), y2="most:Q")
            + deviations.encode(y="low:Q", y2="high:Q")
            + means.encode(
                y="mean:Q", tooltip=["middle:Q", "mean:Q", "least:Q", "most:Q", "pairs:Q"]
            )
        )

    return in_panels(rows, draw, SPREAD)


@printable_names
def forms_chart(questions: Rows, attributes: Rows, guarantee: str) -> Any:
    """Return forms as columns with their shares above, and the totals of attributes beside them.

    Parameters
    ----------
    questions
        One for each question: `form`, its `share`, `attribute`, `mechanism`, `epsilon` (None where
        one shaped report tells about all answers).
    attributes
        One for each attribute: `attribute`, `total`, `limit` (or None), `mechanism`.
    guarantee
        What the totals rest on, for the title.
    """
    order = [row["attribute"] for row in attributes]
    forms = {row["form"]: row["share"] for row in questions}
    wide = max(160, min(900, 46 * len(forms)))
    title = "Who is asked what"
    if any(row["epsilon"] is None for row in questions):
        title += " (grey: one shaped report)"
    high = alt.Step(STEP)
    asked = _questions(questions, order).properties(width=wide, height=high, title=title)
    told = _totals(attributes, order).properties(
        width=220, height=high, title=f"Totals ({guarantee})"
    )
    return finish(_shares(forms).properties(width=wide, height=60) & (asked | told))


def _shares(forms: dict[int, float]) -> Any:
    """Return the share of each form as a bar."""
    bars = chart_of([{"form": form, "share": share} for form, share in forms.items()])
    return (
        bars.mark_bar(color=PALETTE[0])
        .encode(
            x=alt.X("form:O", title=None, axis=alt.Axis(labels=False, ticks=False)),
            y=alt.Y("share:Q", title="people", axis=alt.Axis(format="%", tickCount=3)),
            tooltip=["form:O", alt.Tooltip("share:Q", format=".3%")],
        )
        .properties(title="Share of people who get each form")
    )


def _questions(questions: Rows, order: list[str]) -> Any:
    """Return each question as a cell coloured by its budget, those of shaped reports in grey."""
    asked = chart_of(questions).encode(
        x=alt.X("form:O", title="form", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("attribute:N", sort=order, scale=alt.Scale(domain=order), title=None),
    )
    cells = asked.mark_rect(stroke="white").encode(
        color=alt.Color(
            "epsilon:Q",
            title="budget (nats)",
            scale=alt.Scale(scheme="blues", domainMin=0),
            legend=alt.Legend(orient="right"),
        ),
        tooltip=["form:O", "attribute:N", "mechanism:N", alt.Tooltip("epsilon:Q", format=".4f")],
    )
    if all(row["epsilon"] is not None for row in questions):
        return cells
    shaped = asked.transform_filter("!isValid(datum.epsilon)").mark_rect(
        stroke="white", color=SHAPED
    )
    return shaped.encode(tooltip=["form:O", "attribute:N", "mechanism:N"]) + (
        cells.transform_filter("isValid(datum.epsilon)")
    )


def _totals(attributes: Rows, order: list[str]) -> Any:
    """Return the total of each attribute as a bar, its limit as a mark."""
    unnamed = alt.Axis(labels=False, ticks=False)
    base = chart_of(attributes).encode(y=alt.Y("attribute:N", sort=order, title=None, axis=unnamed))
    totals = base.mark_bar(color=PALETTE[5], height=14).encode(
        x=alt.X("total:Q", title="nats: total (bar), limit (mark)"),
        tooltip=["attribute:N", "total:Q", "limit:Q"],
    )
    limits = base.transform_filter("isValid(datum.limit)").mark_tick(
        color=PALETTE[1], thickness=3, height=18
    )
    return totals + limits.encode(x="limit:Q")
