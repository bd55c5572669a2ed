"""The charts of leakages: the matrix as a heat map, and one pair's curve."""

import math
from typing import Any

from seepage.charts.theme import PALETTE, finish, table
from seepage.errors import InputError

__all__ = ["curve_chart", "matrix_chart"]

CELL = 26
LEAST_SIDE = 220
"""So long are the titles of the axes, however few the cells."""

LARGEST_WITH_NUMBERS = 24


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
        {"target": target, "source": source, "leakage": _finite(value, most)}
        for target, line in zip(names, values, strict=True)
        for source, value in zip(names, line, strict=True)
        if target != source
    ]
    side = max(CELL * len(names), LEAST_SIDE)
    base = alt.Chart(table(rows)).encode(
        x=alt.X("source:N", sort=order, title="Source: what is released", axis=_slanted()),
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


def curve_chart(epsilons: list[float], values: list[float], saturation: float, pair: str) -> Any:
    """Return leakage against epsilon, with the line it cannot exceed and its saturation level.

    One budget is drawn as points; none is refused.

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
    rows = [
        {"epsilon": epsilon, "leakage": value, "line": "leakage"}
        for epsilon, value in zip(epsilons, values, strict=True)
    ]
    rows += [
        {"epsilon": e, "leakage": e, "line": "epsilon (perfect correlation)"} for e in epsilons
    ]
    if math.isfinite(saturation):
        rows += [{"epsilon": e, "leakage": saturation, "line": "saturation"} for e in epsilons]
    order = list(dict.fromkeys(str(row["line"]) for row in rows))
    chart = (
        alt.Chart(table(rows))
        .mark_line(clip=True, point=len(epsilons) == 1)
        .encode(
            x=alt.X("epsilon:Q", title="Epsilon of the source"),
            y=alt.Y(
                "leakage:Q",
                title="Leakage (nats)",
                scale=alt.Scale(domain=[0, 1.25 * max(values) or max(epsilons) or 1.0]),
            ),
            color=alt.Color("line:N", title=None, scale=alt.Scale(domain=order, range=PALETTE)),
            strokeDash=alt.StrokeDash("line:N", title=None, scale=alt.Scale(domain=order)),
        )
        .properties(width=420, height=300, title=f"Leakage bound, {pair}")
    )
    return finish(chart)


def _finite(value: float, most: float) -> float:
    return value if math.isfinite(value) else most


def _slanted() -> Any:
    import altair as alt

    return alt.Axis(labelAngle=-45, labelLimit=160)
