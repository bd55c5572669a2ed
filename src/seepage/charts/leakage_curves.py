"""Charts of leakage against epsilon and of delta against leakage."""

import math
from typing import Any

from seepage._core.errors import InputError
from seepage.charts import style
from seepage.charts.altair_import import alt
from seepage.charts.style import printable_names

SMALLEST_DELTA = 1e-30
"""Deltas below this are not drawn."""


@printable_names
def curve_chart(
    epsilons: list[float], values: list[float], saturation: float, title: str
) -> Any:
    """Return the curve of leakage against epsilon, with the upper bound epsilon and the
    saturation level.

    A single budget is drawn as a point; an empty list raises an InputError.

    Parameters
    ----------
    epsilons, values
        The budgets and the leakage at each.
    saturation
        The limit of the leakage for epsilon to infinity; not drawn if infinite.
    title
        What is drawn, such as "Leakage bound, occupation -> sex".
    """
    if not epsilons:
        raise InputError(
            "epsilons must not be empty for a chart of the curve", parameter="epsilons"
        )
    lines = {"leakage": values, "epsilon (perfect correlation)": epsilons}
    if math.isfinite(saturation):
        lines["saturation"] = [saturation] * len(epsilons)
    rows = [
        {
            "panel": title,
            "axis": "Leakage (nats)",
            "series": line,
            "x": epsilon,
            "y": value,
        }
        for line, heights in lines.items()
        for epsilon, value in zip(epsilons, heights, strict=True)
    ]
    top = 1.25 * max(values) or max(epsilons) or 1.0
    dashed = {line: index for index, line in enumerate(lines)}
    series = list(lines)
    return style.curve_panels(
        rows, x_title="Epsilon of the source", series=series, dashed=dashed, top=top
    )


@printable_names
def profile_chart(
    leakages: list[float], deltas: list[float], point: tuple[float, float]
) -> Any:
    """Return the curve of delta against the leakage on a logarithmic axis, with one
    point marked.

    Parameters
    ----------
    leakages, deltas
        The curve; where delta is 0 it is not drawn.
    point
        The leakage and delta that are shown elsewhere.
    """
    curve = [
        {"leakage": value, "delta": delta}
        for value, delta in zip(leakages, deltas, strict=True)
        if delta > SMALLEST_DELTA
    ]
    x = alt.X("leakage:Q", title="Leakage l (nats)")
    y = alt.Y(
        "delta:Q", title="Delta", scale=alt.Scale(type="log"), axis=alt.Axis(format="e")
    )
    tooltip = [
        alt.Tooltip("leakage:Q", format=".4f"),
        alt.Tooltip("delta:Q", format=".2g"),
    ]
    lines = style.chart_of(curve).mark_line(point=len(curve) == 1).encode(x=x, y=y)
    shown = (
        [{"leakage": point[0], "delta": point[1]}] if point[1] > SMALLEST_DELTA else []
    )
    marked = style.chart_of(shown).mark_point(
        filled=True, size=90, color=style.PALETTE[1], opacity=1
    )
    layers = lines + marked.encode(x=x, y=y, tooltip=tooltip)
    heading = "Every pair (l, delta) of one leakage; the dot is the one shown elsewhere"
    return style.finish(layers, heading, width=420, height=300)
