"""Charts of leakage against epsilon and delta, and of the paper's figures, in panels."""

import math
from typing import Any

import altair as alt

from seepage import charts
from seepage.charts import Rows, printable_names
from seepage.errors import InputError

SMALLEST_DELTA = 1e-30
"""Deltas below this are not drawn."""

BARS = 240
HISTOGRAM = (240, 170)
SPREAD = (420, 280)
"""Height of panels of bars, and width and height of those of each other kind, in
pixels."""

SHAPES = [
    *(
        "circle",
        "square",
        "triangle-up",
        "diamond",
        "cross",
        "triangle-down",
        "triangle-right",
    ),
    # a star
    "M0,-1L.25,-.35L.95,-.3L.4,.15L.6,.8L0,.45L-.6,.8L-.4,.15L-.95,-.3L-.25,-.35Z",
    "triangle-left",
    # an x
    "M-.9,-.6L-.6,-.9L0,-.3L.6,-.9L.9,-.6L.3,0L.9,.6L.6,.9L0,.3L-.6,.9L-.9,.6L-.3,0Z",
    "M1,0L.5,.87L-.5,.87L-1,0L-.5,-.87L.5,-.87Z",  # a hexagon
    "M-.8,-.8L.8,-.8L-.8,.8L.8,.8Z",  # an hourglass
    "M-.8,-.8L-.8,.8L.8,-.8L.8,.8Z",  # a bow tie
    "M-1,-.3L1,-.3L1,.3L-1,.3Z",  # a bar
    "M-.3,-1L.3,-1L.3,1L-.3,1Z",  # an upright bar
    "M-1,.5A1,1,0,0,1,1,.5Z",  # a half-disc
]
"""One mark for each of 16 analysers or mechanisms; beyond, marks are repeated."""

SIDE = 340
"""Side of a panel, in pixels."""

BELOW = 0.1
ABOVE = 0.12
"""Margins around the points, as shares of each axis: the labels of P1 and R1 are below
0."""

MIN_EXTENT = 0.05
MIN_SHARE = 0.25
"""Minimum end of an axis, absolute and as a share of the end of the other axis."""

UNSIGNED = "datum.value < 0 ? '' : datum.label"
"""Labels of an axis without those of negative numbers."""

AGREEMENT_SIDE = 380

POWERS = [10.0**power for power in range(-12, 7)]
"""Ticks of a logarithmic axis; those beyond its ends are not drawn."""

MAX_LARGE_POINTS = 100
"""Maximum number of points that are drawn large."""


@printable_names
def curve_chart(
    epsilons: list[float], values: list[float], saturation: float, pair: str
) -> Any:
    """Return leakage against epsilon, with the upper bound epsilon and the saturation
    level.

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
    return charts.curve_panels(
        rows, x_title="Epsilon of the source", series=series, dashed=dashed, top=top
    )


@printable_names
def profile_chart(
    leakages: list[float], deltas: list[float], point: tuple[float, float]
) -> Any:
    """Return delta against the leakage on a logarithmic axis, with one point marked.

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
    lines = charts.chart_of(curve).mark_line(point=len(curve) == 1).encode(x=x, y=y)
    shown = (
        [{"leakage": point[0], "delta": point[1]}] if point[1] > SMALLEST_DELTA else []
    )
    marked = charts.chart_of(shown).mark_point(
        filled=True, size=90, color=charts.PALETTE[1], opacity=1
    )
    layers = lines + marked.encode(x=x, y=y, tooltip=tooltip)
    heading = "Every pair (l, delta) of one leakage; the dot is the one shown elsewhere"
    return charts.finish(layers, heading, width=420, height=300)


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
    groups = charts.distinct_in(rows, "group")
    series = charts.distinct_in(rows, "series")
    labels = alt.Axis(labelAngle=0, labelLimit=260)
    x = alt.X("group:N", title=x_title or None, sort=groups, axis=labels)
    offset = alt.XOffset("series:N", sort=series)

    def draw(panel: str, chosen: Rows) -> Any:
        base = charts.chart_of(chosen).encode(x=x, xOffset=offset)
        bars = base.mark_bar().encode(
            y=alt.Y("value:Q", title=axis),
            color=charts.coloured("series", series, colour_title),
            tooltip=["group:N", "series:N", "value:Q"],
        )
        if all(row.get("mark") is None for row in chosen):
            return bars
        marks = base.mark_tick(color="black", thickness=2).encode(
            y="mark:Q", tooltip=["group:N", "series:N", "mark:Q"]
        )
        return (bars + marks).properties(title=f"{panel}; black: {mark}")

    size = 20 * len(groups) * len(series), BARS
    return charts.in_panels(rows, draw, size, columns=3, same_y=True)


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
        bars = charts.chart_of(chosen).mark_bar(
            color=charts.PALETTE[0], stroke="white", strokeWidth=0.5
        )
        return bars.encode(x=x, x2="to:Q", y=y, tooltip=["from:Q", "to:Q", "share:Q"])

    return charts.in_panels(rows, draw, HISTOGRAM, key="data", columns=3, same_y=True)


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
            charts.chart_of(chosen)
            .encode(x=x)
            .transform_calculate(
                middle="(datum.from + datum.to) / 2",
                low="max(datum.mean - datum.standard_deviation, datum.least)",
                high="min(datum.mean + datum.standard_deviation, datum.most)",
            )
        )
        ranges = base.mark_rule(color="#999999", strokeWidth=1.5)
        deviations = base.mark_rule(
            color=charts.PALETTE[0], strokeWidth=6, opacity=0.55
        )
        means = base.mark_point(
            size=80, filled=True, opacity=1, color=charts.PALETTE[1]
        )
        tooltip = ["middle:Q", "mean:Q", "least:Q", "most:Q", "pairs:Q"]
        layers = (
            ranges.encode(y=alt.Y("least:Q", title=y_title), y2="most:Q")
            + deviations.encode(y="low:Q", y2="high:Q")
            + means.encode(y="mean:Q", tooltip=tooltip)
        )
        return layers.properties(title=f"{metric} against leakage")

    return charts.in_panels(rows, draw, SPREAD, key="metric")


@printable_names
def analyser_chart(rows: Rows) -> Any:
    """Return undershoot against overshoot, with the regions P1, R1, R2 and R3 labelled.

    Parameters
    ----------
    rows
        Scores with `data`, `analyser`, `epsilon`, `undershoot`, `overshoot`,
        `reference`.
    """
    largest = {
        axis: max(row[axis] for row in rows) for axis in ("undershoot", "overshoot")
    }
    minimum = max(MIN_SHARE * max(largest.values()), MIN_EXTENT)
    ends = {axis: max(value, minimum) for axis, value in largest.items()}
    names = sorted({row["analyser"] for row in rows})

    def draw(data: str, chosen: Rows) -> Any:
        drawn = _regions(ends) + _scores(
            chosen, rows, "analyser", names, size=130
        ).encode(
            x=_axis("undershoot", "Normalised undershoot (leakage missed) →", ends),
            y=_axis("overshoot", "Normalised overshoot (needless noise) →", ends),
            tooltip=[
                "analyser:N",
                "epsilon:N",
                "undershoot:Q",
                "overshoot:Q",
                "region:N",
            ],
        )
        return drawn.properties(title=f"{data}: against {chosen[0]['reference']}")

    return charts.in_panels(
        rows,
        draw,
        (SIDE, SIDE),
        key="data",
        columns=len(charts.distinct_in(rows, "data")),
    )


def _axis(field: str, title: str, ends: dict[str, float]) -> Any:
    channel = alt.X if field == "undershoot" else alt.Y
    domain = [-BELOW * ends[field], (1 + ABOVE) * ends[field]]
    return channel(
        f"{field}:Q",
        title=title,
        scale=alt.Scale(domain=domain, nice=False),
        axis=alt.Axis(tickCount=6, format="~g", grid=False, labelExpr=UNSIGNED),
    )


def _scores(rows: Rows, all_rows: Rows, field: str, names: list[str], size: int) -> Any:
    """Return points of scores: shapes are the names of a field, colours the budgets of
    all rows.
    """
    budgets = [
        f"{epsilon:g}" for epsilon in sorted({row["epsilon"] for row in all_rows})
    ]
    shapes = alt.Scale(domain=names, range=SHAPES)
    points = charts.chart_of(
        [{**row, "epsilon": f"{row['epsilon']:g}"} for row in rows]
    )
    return points.mark_point(size=size, filled=True, opacity=0.8).encode(
        shape=alt.Shape(f"{field}:N", title=field.capitalize(), scale=shapes),
        color=charts.coloured("epsilon", budgets, "Epsilon"),
    )


def _regions(ends: dict[str, float]) -> Any:
    """Return lines at 0 and the labels of the regions."""
    right = ends["undershoot"]
    top = ends["overshoot"]
    lines = charts.chart_of([{"zero": 0}]).mark_rule(**charts.DIAGONAL)
    labels: list[tuple[float, float, str, Any, float, float]] = [
        (0, 0, "P1 exact", "left", 10, 13),
        (right * (1 + ABOVE), 0, "R1 underestimates", "right", -4, 13),
        (0, top * (1 + 0.8 * ABOVE), "R2 overestimates", "left", 10, 0),
        (right * 0.6, top * 0.6, "R3 both", "center", 0, 0),
    ]
    texts = [
        charts.chart_of([{"x": x, "y": y, "text": text}])
        .mark_text(
            color=charts.DIAGONAL["color"], fontSize=12, align=align, dx=dx, dy=dy
        )
        .encode(x="x:Q", y="y:Q", text="text:N")
        for x, y, text, align, dx, dy in labels
    ]
    return alt.layer(lines.encode(x="zero:Q"), lines.encode(y="zero:Q"), *texts)


@printable_names
def mechanism_chart(given: Rows) -> Any:
    """Return three panels of utility error against normalised total leakage.

    The first two are the paper's: frequency and 0-1 error against the leakage of the
    inferred value.  The third sets the frequency error against the leakage of the whole
    report.  Scores without a frequency error are in the second panel only.

    Parameters
    ----------
    given
        The fields of `MechanismScore`.
    """
    panels = {
        "Frequency error, inferred value": (
            "frequency_error",
            "normalised_tcpl_inferred",
        ),
        "0-1 error, inferred value": ("zero_one_error", "normalised_tcpl_inferred"),
        "Frequency error, whole report": ("frequency_error", "normalised_tcpl"),
    }
    titles = {
        "frequency_error": "Frequency estimation error (NMSE)",
        "zero_one_error": "0-1 error",
    }
    names = charts.distinct_in(given, "mechanism")
    rows = [
        {**row, "panel": panel}
        for panel, (error, _) in panels.items()
        for row in given
        if row[error] is not None
    ]

    def draw(panel: str, chosen: Rows) -> Any:
        error, leakage = panels[panel]
        errors = [row[error] for row in chosen]
        domain: Any = alt.Undefined if max(errors) > 0 else [0, 1]
        log = error == "frequency_error" and min(errors) > 0
        scale = alt.Scale(type="log" if log else "linear", domain=domain)
        return _scores(chosen, given, "mechanism", names, size=110).encode(
            x=alt.X(
                f"{leakage}:Q",
                title="Normalised TCPL (1 = Algorithm 2)",
                scale=alt.Scale(domain=[0, 1.05], nice=False),
            ),
            y=alt.Y(
                f"{error}:Q",
                title=titles[error],
                scale=scale,
                axis=alt.Axis(format="~e" if log else "~g", tickCount=6),
            ),
            tooltip=[
                "mechanism:N",
                "epsilon:N",
                f"{leakage}:Q",
                f"{error}:Q",
                "bits:Q",
            ],
        )

    return charts.in_panels(rows, draw, (SIDE - 60, SIDE - 60), columns=len(panels))


@printable_names
def agreement_chart(rows: Rows, x_title: str, y_title: str, *, log: bool = True) -> Any:
    """Return a scatter chart of y against x, with the line y = x.

    Parameters
    ----------
    rows
        With `panel`, `series` (the colour), `kind` (the shape), `label`, `x` and `y`.
    x_title, y_title
        The axes' titles.
    log
        Whether both axes are logarithmic.
    """
    ends = [
        min(min(r["x"], r["y"]) for r in rows),
        max(max(r["x"], r["y"]) for r in rows),
    ]
    scale = alt.Scale(
        type="log" if log else "linear", zero=False, nice=False, padding=15
    )
    axis = alt.Axis(format="~g", values=POWERS) if log else alt.Axis(tickCount=6)
    series, kinds = charts.distinct_in(rows, "series"), charts.distinct_in(rows, "kind")
    shapes = alt.Shape(
        "kind:N",
        title=None,
        sort=kinds,
        scale=alt.Scale(domain=kinds),
        legend=_legend(kinds),
    )

    def draw(panel: str, chosen: Rows) -> Any:
        size = 30 if len(chosen) > MAX_LARGE_POINTS else 80
        points = (
            charts.chart_of(chosen)
            .mark_point(size=size, filled=True, opacity=0.7)
            .encode(
                color=charts.coloured("series", series, legend=_legend(series)),
                shape=shapes,
                tooltip=["series:N", "kind:N", "label:N", "x:Q", "y:Q"],
            )
        )
        line = charts.chart_of([{"x": end, "y": end} for end in ends]).mark_line(
            **charts.DIAGONAL
        )
        return (line + points).encode(
            x=alt.X("x:Q", title=x_title, scale=scale, axis=axis),
            y=alt.Y("y:Q", title=y_title, scale=scale, axis=axis),
        )

    return charts.in_panels(rows, draw, (AGREEMENT_SIDE, AGREEMENT_SIDE))


def _legend(entries: list[str]) -> Any:
    """Return a legend, or None for a single entry."""
    return alt.Legend(labelLimit=260) if len(entries) > 1 else None
