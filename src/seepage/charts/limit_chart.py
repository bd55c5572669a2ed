"""People needed against the limit: a line for each way to ask."""

import math
from collections.abc import Sequence
from typing import Any

from seepage.charts import style
from seepage.charts.altair_import import alt
from seepage.charts.style import PALETTE, Rows, printable_names

WIDTH = 460
"""Width of the chart in pixels."""

HEIGHT = 300
"""Height of the chart in pixels."""

APART = 0.07
"""Distance of two labelled limits, as a share of the axis, below which one is left
out."""

MARGIN = 1.25
"""Factor by which the axes go on beyond the first and the last number."""

ODDS_LABEL = "format(datum.value, datum.value < 100 ? '.3~g' : ',.0f')"
"""How a limit is written below its tick."""

COLOURS = {
    "This plan": PALETTE[0],
    "One question each": "#7f8a98",
    "No privacy": "#b3bac4",
}
"""Colour of each way to ask, in the order of the legend."""


@printable_names
def limit_chart(rows: Rows, *, limits: Sequence[float], width: str) -> Any:
    """Return the number of people for the same precision, by limit and way to ask.

    Both axes are logarithmic, and the limits are the ticks.

    Parameters
    ----------
    rows
        With `series` (a key of `COLOURS`), `odds` (the limit) and `people`; of the same
        place the last is seen.
    limits
        The limits as odds, in ascending order.
    width
        The half-width of every share, in points.
    """
    series = [name for name in COLOURS if name in style.distinct_in(rows, "series")]
    ends = [limits[0] / MARGIN, limits[-1] * MARGIN]
    people = [row["people"] for row in rows]
    tall = [min(people) / MARGIN, max(people) * MARGIN]
    colours = alt.Color(
        "series:N",
        title=None,
        sort=series,
        scale=alt.Scale(domain=series, range=[COLOURS[name] for name in series]),
        legend=alt.Legend(orient="top", symbolType="stroke", labelLimit=320),
    )
    x = alt.X(
        "odds:Q",
        title="The limit: all that a person sends changes the odds at most so many "
        "times",
        scale=alt.Scale(type="log", domain=ends, nice=False),
        axis=alt.Axis(values=ticks_apart(limits), labelExpr=ODDS_LABEL),
    )
    y = alt.Y(
        "people:Q",
        title="People, on a log axis",
        scale=alt.Scale(type="log", domain=tall, nice=False),
        axis=alt.Axis(values=powers(tall), format=",d"),
    )
    base = style.chart_of(rows).encode(
        x=x, y=y, color=colours, tooltip=["series:N", "odds:Q", "people:Q"]
    )
    dots = alt.OverlayMarkDef(size=36)
    return style.finish(
        base.mark_line(point=dots, strokeWidth=2),
        f"People needed for every share within {width} points, by limit",
        width=WIDTH,
        height=HEIGHT,
    )


def ticks_apart(limits: Sequence[float]) -> list[float]:
    """Return the limits whose labels on the chart do not collide, the first always
    among them.

    Examples
    --------
    >>> ticks_apart([2.0, 2.1, 7.4, 20.0])
    [2.0, 7.4, 20.0]
    """
    if len(limits) < 2:
        return list(limits)
    least = APART * math.log(MARGIN**2 * limits[-1] / limits[0])
    shown = [limits[0]]
    for limit in limits[1:]:
        if math.log(limit / shown[-1]) >= least:
            shown.append(limit)
    return shown


def powers(ends: Sequence[float]) -> list[int]:
    """Return the numbers of the limit chart's axis, 1, 2 and 5 times powers of ten
    between two numbers of people.

    Examples
    --------
    >>> powers([900.0, 12_000.0])
    [1000, 2000, 5000, 10000]
    """
    low, high = ends
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    numbers = [factor * 10**exponent for exponent in exponents for factor in (1, 2, 5)]
    within = [int(number) for number in numbers if low <= number <= high]
    if len(within) > 8:
        return [number for number in within if str(number)[0] == "1"]
    return within
