"""Our numbers against another's, on the diagonal where both agree."""

import math
from typing import Any

from seepage.charts.theme import PALETTE, finish, table

__all__ = ["agreement_chart"]

SIDE = 380
MANY = 100
"""More points than this are drawn small."""


def agreement_chart(
    rows: list[dict[str, Any]], x_title: str, y_title: str, *, log: bool = True
) -> Any:
    """Return a scatter of two numbers each, with the line of agreement.

    Parameters
    ----------
    rows
        With `panel`, `series` (the colour), `kind` (the shape), `label`, `x` and `y`.
    x_title, y_title
        The axes' titles.
    log
        Whether both axes are logarithmic.
    """
    import altair as alt

    ends = [min(min(r["x"], r["y"]) for r in rows), max(max(r["x"], r["y"]) for r in rows)]
    scale = alt.Scale(type="log" if log else "linear", domain=_wider(ends, log), nice=False)
    axis = alt.Axis(format="~g", values=_ticks(ends)) if log else alt.Axis(tickCount=6)
    series = list(dict.fromkeys(row["series"] for row in rows))
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    panels = []
    for panel in dict.fromkeys(row["panel"] for row in rows):
        chosen = [row for row in rows if row["panel"] == panel]
        points = (
            alt.Chart(table(chosen))
            .mark_point(size=30 if len(chosen) > MANY else 80, filled=True, opacity=0.7)
            .encode(
                x=alt.X("x:Q", title=x_title, scale=scale, axis=axis),
                y=alt.Y("y:Q", title=y_title, scale=scale, axis=axis),
                color=alt.Color(
                    "series:N",
                    title=None,
                    sort=series,
                    scale=alt.Scale(domain=series, range=PALETTE),
                    legend=_legend(series),
                ),
                shape=alt.Shape(
                    "kind:N",
                    title=None,
                    sort=kinds,
                    scale=alt.Scale(domain=kinds),
                    legend=_legend(kinds),
                ),
                tooltip=["series:N", "kind:N", "label:N", "x:Q", "y:Q"],
            )
        )
        line = (
            alt.Chart(table([{"x": end, "y": end} for end in _wider(ends, log)]))
            .mark_line(color="#777777", strokeDash=[4, 3], strokeWidth=1)
            .encode(x=alt.X("x:Q", scale=scale), y=alt.Y("y:Q", scale=scale))
        )
        panels.append((line + points).properties(width=SIDE, height=SIDE, title=panel))
    return finish(alt.concat(*panels, columns=2))


def _legend(entries: list[str]) -> Any:
    """Return a legend, or none where it would have one entry."""
    import altair as alt

    return alt.Legend(labelLimit=260) if len(entries) > 1 else None


def _ticks(ends: list[float]) -> list[float]:
    """Return the powers of ten between the ends, and one beyond each."""
    first, last = (math.floor(math.log10(end)) for end in ends)
    return [10.0**power for power in range(first, last + 2)]


def _wider(ends: list[float], log: bool) -> list[float]:
    """Return the ends with some room beyond them."""
    if log:
        return [ends[0] / 1.4, ends[1] * 1.4]
    room = 0.04 * (ends[1] - ends[0])
    return [ends[0] - room, ends[1] + room]
