"""The charts of results: matrix, curve of one pair, totals by guarantee, a plan, reports."""

import math
from typing import Any

from seepage.charts.style import (
    PALETTE,
    Rows,
    chart_of,
    coloured,
    distinct_in,
    finish,
    printable_names,
)
from seepage.errors import InputError

CELL = 26
LEAST_SIDE = 220
"""So long are the titles of the axes, however few the cells."""

LARGEST_WITH_NUMBERS = 24

WIDTH = 460
STEP = 22
KINDS = ["certified", "statistical", "assumed", "lower bound"]
SHAPES = ["square", "circle", "triangle-up", "triangle-right"]


@printable_names
def matrix_chart(
    names: list[str], values: list[list[float]], most: float, subtitle: str, order: list[str]
) -> Any:
    """Return a heat map: rows targets, columns sources, colours from 0 to the largest epsilon.

    Parameters
    ----------
    names, values
        The attributes, and the leakage of each source (column) about each target (row).
    most
        The largest epsilon, the end of the colour scale.
    subtitle
        The mechanism, budget and view.
    order
        The attributes in the order to draw them, related ones together.
    """
    import altair as alt

    rows = [
        {"target": target, "source": source, "leakage": value if math.isfinite(value) else most}
        for target, line in zip(names, values, strict=True)
        for source, value in zip(names, line, strict=True)
        if target != source
    ]
    side = max(CELL * len(names), LEAST_SIDE)
    slanted = alt.Axis(labelAngle=-45, labelLimit=160)
    base = chart_of(rows).encode(
        x=alt.X("source:N", sort=order, title="Source: what is released", axis=slanted),
        y=alt.Y("target:N", sort=order, title="Target: what it tells about"),
    )
    cells = base.mark_rect().encode(
        color=alt.Color(
            "leakage:Q",
            title="Leakage (nats)",
            scale=alt.Scale(scheme="viridis", domain=[0, most or 1.0], clamp=True),
        ),
        tooltip=["source:N", "target:N", alt.Tooltip("leakage:Q", format=".4f")],
    )
    layers = [cells]
    if len(names) <= LARGEST_WITH_NUMBERS:
        dark = f"datum.leakage < {0.6 * (most or 1.0)}"
        layers.append(
            base.mark_text(fontSize=10).encode(
                text=alt.Text("leakage:Q", format=".2f"),
                color=alt.condition(dark, alt.value("white"), alt.value("black")),
            )
        )
    title = alt.TitleParams("Leakage from source to target", subtitle=subtitle)
    return finish(alt.layer(*layers).properties(width=side, height=side, title=title))


@printable_names
def curve_chart(epsilons: list[float], values: list[float], saturation: float, pair: str) -> Any:
    """Return leakage against epsilon, with the line it cannot exceed and its saturation level.

    One budget is drawn as a point; none raises an InputError.

    Parameters
    ----------
    epsilons, values
        The budgets and the leakage bound at each.
    saturation
        What the leakage rises to; not drawn where infinite.
    pair
        The direction, such as "occupation -> sex".
    """
    import altair as alt

    if not epsilons:
        raise InputError("a curve without any budget cannot be drawn")
    lines = {"leakage": values, "epsilon (perfect correlation)": epsilons}
    if math.isfinite(saturation):
        lines["saturation"] = [saturation] * len(epsilons)
    rows = [
        {"epsilon": epsilon, "leakage": value, "line": line}
        for line, heights in lines.items()
        for epsilon, value in zip(epsilons, heights, strict=True)
    ]
    chart = (
        chart_of(rows)
        .mark_line(clip=True, point=len(epsilons) == 1)
        .encode(
            x=alt.X("epsilon:Q", title="Epsilon of the source"),
            y=alt.Y(
                "leakage:Q",
                title="Leakage (nats)",
                scale=alt.Scale(domain=[0, 1.25 * max(values) or max(epsilons) or 1.0]),
            ),
            color=coloured("line", list(lines)),
            strokeDash=alt.StrokeDash("line:N", title=None, scale=alt.Scale(domain=list(lines))),
        )
        .properties(width=420, height=300, title=f"Leakage bound, {pair}")
    )
    return finish(chart)


@printable_names
def totals_chart(rows: Rows) -> Any:
    """Return every attribute's totals as points on one line each, coloured by their kind.

    Parameters
    ----------
    rows
        One for each attribute and guarantee: `attribute`, `guarantee`, `kind`, `total`, and
        `refuted`, whether an assumed total lies below a witness.
    """
    import altair as alt

    order = distinct_in(rows, "attribute")
    nothing = not any(row["total"] for row in rows)
    scale = alt.Scale(domain=[0, 1]) if nothing else alt.Scale(zero=True)
    base = chart_of(rows).encode(
        x=alt.X("total:Q", title="Total leakage (nats)", scale=scale),
        y=alt.Y("attribute:N", sort=order, title=None),
    )
    points = base.mark_point(filled=True, size=90, opacity=0.85).encode(
        color=alt.Color(
            "kind:N", title="Rests on", scale=alt.Scale(domain=KINDS, range=PALETTE[:4])
        ),
        shape=alt.Shape("kind:N", scale=alt.Scale(domain=KINDS, range=SHAPES)),
        tooltip=["attribute:N", "guarantee:N", "kind:N", alt.Tooltip("total:Q", format=".4f")],
    )
    refuted = base.transform_filter("datum.refuted").mark_text(
        text="refuted", dx=-8, align="right", fontSize=10, color=PALETTE[1]
    )
    return finish(
        (points + refuted).properties(
            width=WIDTH, height=alt.Step(STEP), title="What each attribute gives away in total"
        )
    )


@printable_names
def plan_chart(rows: Rows, guarantee: str) -> Any:
    """Return a plan's budgets inside its totals, with each attribute's limit as a mark.

    Parameters
    ----------
    rows
        One for each attribute: `attribute`, `epsilon`, `total`, `limit` (or None), `mechanism`.
    guarantee
        What the totals rest on, for the title.
    """
    import altair as alt

    order = [row["attribute"] for row in rows]
    base = chart_of(rows).encode(y=alt.Y("attribute:N", sort=order, title=None))
    totals = base.mark_bar(color=PALETTE[5], height=14).encode(
        x=alt.X("total:Q", title="Nats: own budget (dark), total (light), limit (mark)"),
        tooltip=["attribute:N", "mechanism:N", "epsilon:Q", "total:Q", "limit:Q"],
    )
    budgets = base.mark_bar(color=PALETTE[0], height=8).encode(x="epsilon:Q")
    limits = base.transform_filter("isValid(datum.limit)").mark_tick(
        color=PALETTE[1], thickness=3, height=18
    )
    return finish(
        (totals + budgets + limits.encode(x="limit:Q")).properties(
            width=WIDTH, height=alt.Step(STEP), title=f"Budgets and totals ({guarantee})"
        )
    )


@printable_names
def report_chart(rows: Rows, cells: list[str], subtitle: str) -> Any:
    """Return a heat map of reports: how much likelier each cell makes each report than average.

    Parameters
    ----------
    rows
        `cell`, `report` (a number), `share` (its probability) and `ratio`, a logarithm.
    cells
        The cells in the order to draw them.
    subtitle
        What is asked, and the limits.
    """
    import altair as alt

    most = max(abs(row["ratio"]) for row in rows)
    chart = chart_of(rows).mark_rect()
    chart = chart.encode(
        x=alt.X(
            "report:O",
            title="Report, the likeliest first",
            axis=alt.Axis(labels=False, ticks=False),
        ),
        y=alt.Y("cell:N", sort=cells, title=None, axis=alt.Axis(labelLimit=260)),
        color=alt.Color(
            "ratio:Q",
            title="ln P(report | value) / P(report)",
            scale=alt.Scale(scheme="blueorange", domain=[-most, most]),
        ),
        tooltip=[
            "cell:N",
            "report:O",
            *(alt.Tooltip(f"{f}:Q", format=".4f") for f in ("share", "ratio")),
        ],
    )
    title = alt.TitleParams("What each report says", subtitle=subtitle)
    height = max(STEP * len(cells), LEAST_SIDE)
    return finish(chart.properties(width=WIDTH, height=height, title=title))
