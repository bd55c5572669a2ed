"""Charts of results: matrix, curve of one pair, totals, realised losses, plan."""

import math
from typing import Any

import altair as alt

from seepage import charts
from seepage.charts import Rows, printable_names
from seepage.charts.panels import curve_panels
from seepage.errors import InputError

CELL = 26
"""Side of a cell of a matrix, in pixels."""

MIN_SIDE = 220
"""Minimum side of a matrix, in pixels: the length of the titles of its axes."""

MAX_WITH_NUMBERS = 24
"""Maximum number of attributes of a matrix whose cells show numbers."""

WIDTH = 460

KINDS = {
    "certified": "#0072B2",
    "statistical": "#009E73",
    "assumed": "#D55E00",
    "lower bound": "#000000",
}
"""Colour of each kind of total; the report page uses the same."""

SHAPES = ["square", "diamond", "cross", "circle", "triangle-up", "triangle-down", "triangle-right"]
"""Shapes of the guarantees of totals, in the order in which they are drawn."""

_DELTA = alt.Tooltip("delta:Q", format=".2g")

EXPERIENCED = ["promised epsilon", "nine in ten people", "the median person"]
"""Legend of the marks of `experience_chart`."""


@printable_names
def matrix_chart(
    names: list[str],
    values: list[list[float]],
    maximum: float,
    subtitle: str,
    order: list[str],
    name: str = "",
    deltas: list[list[float]] | None = None,
) -> Any:
    """Return a heat map: rows targets, columns sources, colours from 0 to the largest epsilon.

    Parameters
    ----------
    names, values
        The attributes, and the leakage of each source (column) about each target (row).
    maximum
        The largest epsilon, the end of the colour scale.
    subtitle
        The mechanism, budget and view.
    order
        The attributes in the order to draw them, related ones together.
    name
        The name of the data, for the title.
    deltas
        The delta of each leakage, for the tooltips; None where all are 0.
    """
    rows: Rows = [
        {"target": target, "source": source, "leakage": value if math.isfinite(value) else maximum}
        | ({"delta": deltas[row][column]} if deltas else {})
        for row, (target, line) in enumerate(zip(names, values, strict=True))
        for column, (source, value) in enumerate(zip(names, line, strict=True))
        if target != source
    ]
    side = max(CELL * len(names), MIN_SIDE)
    slanted = alt.Axis(labelAngle=-45, labelLimit=160)
    base = charts.chart_of(rows).encode(
        x=alt.X("source:N", sort=order, title="Source: what is released", axis=slanted),
        y=alt.Y("target:N", sort=order, title="Target: what it tells about"),
    )
    cells = base.mark_rect().encode(
        color=alt.Color(
            "leakage:Q",
            title="Leakage (nats)",
            scale=alt.Scale(scheme="viridis", domain=[0, maximum or 1.0], clamp=True),
        ),
        tooltip=["source:N", "target:N", alt.Tooltip("leakage:Q", format=".4f")]
        + ([_DELTA] if deltas else []),
    )
    layers = [cells]
    if len(names) <= MAX_WITH_NUMBERS:
        dark = f"datum.leakage < {0.6 * (maximum or 1.0)}"
        layers.append(
            base.mark_text(fontSize=10).encode(
                text=alt.Text("leakage:Q", format=".2f"),
                color=alt.condition(dark, alt.value("white"), alt.value("black")),
            )
        )
    title = charts.titled("Leakage from source to target", name)
    return charts.finish(alt.layer(*layers), title, subtitle, width=side, height=side)


@printable_names
def curve_chart(epsilons: list[float], values: list[float], saturation: float, pair: str) -> Any:
    """Return leakage against epsilon, with the upper bound epsilon and the saturation level.

    A single budget is drawn as a point; an empty list raises an InputError.

    Parameters
    ----------
    epsilons, values
        The budgets and the leakage bound at each.
    saturation
        The limit of the leakage for epsilon to infinity; not drawn if infinite.
    pair
        The direction, such as "occupation -> sex".
    """
    if not epsilons:
        raise InputError(
            "epsilons must not be empty for a chart of the curve", parameter="epsilons"
        )
    title = f"Leakage bound, {pair}"
    lines = {"leakage": values, "epsilon (perfect correlation)": epsilons}
    if math.isfinite(saturation):
        lines["saturation"] = [saturation] * len(epsilons)
    rows = [
        {"panel": title, "axis": "Leakage (nats)", "series": line, "x": epsilon, "y": value}
        for line, heights in lines.items()
        for epsilon, value in zip(epsilons, heights, strict=True)
    ]
    top = 1.25 * max(values) or max(epsilons) or 1.0
    dashed = {line: index for index, line in enumerate(lines)}
    series = list(lines)
    return curve_panels(
        rows, x_title="Epsilon of the source", series=series, dashed=dashed, top=top
    )


@printable_names
def totals_chart(rows: Rows, name: str = "") -> Any:
    """Return a dot plot of totals, one row per attribute: colours are kinds, shapes guarantees.

    Parameters
    ----------
    rows
        One for each attribute and guarantee: `attribute`, `guarantee`, `kind`, `total`, its
        `delta`, `refuted`, whether an assumed total lies below a witness, and optionally the
        attribute's `limit`.
    name
        The name of the data, for the title.
    """
    rows = [row | {"total of": f"{row['guarantee']} ({row['kind']})"} for row in rows]
    colours = {row["total of"]: KINDS[row["kind"]] for row in rows}
    order, nothing = charts.distinct_in(rows, "attribute"), not any(row["total"] for row in rows)
    scale = alt.Scale(domain=[0, 1]) if nothing else alt.Scale(zero=True)
    base = charts.chart_of(rows).encode(
        x=alt.X("total:Q", title="Total leakage (nats)", scale=scale),
        y=charts.in_rows("attribute", order),
    )
    drawn = list(colours)
    coloured = alt.Scale(domain=drawn, range=list(colours.values()))
    points = base.mark_point(filled=True, size=90, opacity=0.8).encode(
        color=alt.Color("total of:N", title=None, sort=drawn, scale=coloured),
        shape=alt.Shape(
            "total of:N", title=None, sort=drawn, scale=alt.Scale(domain=drawn, range=SHAPES)
        ),
        tooltip=[
            *("attribute:N", "total of:N", alt.Tooltip("total:Q", format=".4f")),
            *([_DELTA] if any(row.get("delta") for row in rows) else []),
        ],
    )
    refuted = base.transform_filter("datum.refuted").mark_text(
        text="refuted", dx=-8, align="right", fontSize=10, color=charts.PALETTE[1]
    )
    title = charts.titled("What each attribute gives away in total", name)
    layers = points + refuted
    if any(row.get("limit") is not None for row in rows):
        layers = charts.limit_marks(base) + layers
        title += "; limits as marks"
    return charts.finish(layers, title, width=WIDTH, height=alt.Step(charts.STEP + 4))


@printable_names
def experience_chart(rows: Rows, people: int, name: str = "") -> Any:
    """Return the promised epsilon and quantiles of the realised loss, one row per attribute.

    Parameters
    ----------
    rows
        One for each attribute: `attribute`, `promised` (epsilon), the quantiles `low` (5%),
        `median` and `high` (95%) of the loss, `share` and `permuted_share` of people above 1.1
        epsilon.
    people
        The number of drawn people.
    name
        The name of the data, for the title.
    """
    labelled = [
        row | {"label": f"{row['share']:.0%} above, {row['permuted_share']:.0%} if unrelated"}
        for row in rows
    ]
    order = [row["attribute"] for row in labelled]
    base = charts.chart_of(labelled).encode(y=charts.in_rows("attribute", order))
    colours = alt.Scale(domain=EXPERIENCED, range=[charts.PALETTE[1], "#9CCDEB", charts.PALETTE[0]])

    def mark(layer: Any, field: str, index: int, **more: Any) -> Any:
        return layer.encode(
            x=alt.X(f"{field}:Q", title="Realised privacy loss (nats)", scale=alt.Scale(zero=True)),
            color=alt.Color("mark:N", title=None, scale=colours, legend=alt.Legend(orient="top")),
            tooltip=["attribute:N", "promised:Q", "median:Q", "high:Q", "label:N"],
            **more,
        ).transform_calculate(mark=f"'{EXPERIENCED[index]}'")

    layers = [
        mark(base.mark_bar(height=12), "low", 1, x2="high:Q"),
        mark(base.mark_tick(thickness=4, height=14, opacity=1), "median", 2),
        mark(base.mark_tick(thickness=3, height=20, opacity=1), "promised", 0),
        base.mark_text(align="left", dx=6, fontSize=11, color="#444444").encode(
            x="high:Q", text="label:N"
        ),
    ]
    title = charts.titled("Promised and experienced", name)
    about = f"{people:,} drawn people; share whose reports tell more than 1.1 times epsilon"
    return charts.finish(
        alt.layer(*layers), title, about, width=WIDTH, height=alt.Step(charts.STEP)
    )
