"""Charts in panels: bars, lines over a budget, histograms, spreads within bins, forms, claims."""

import math
from typing import Any

import altair as alt

from seepage import charts
from seepage.charts import Rows, printable_names

BARS, CURVES, HISTOGRAM, SPREAD = 240, (400, 280), (240, 170), (420, 280)
"""Height of panels of bars, and width and height of those of each other kind, in pixels."""

AUDITED = ("epsilon", "lower", "upper")
"""Numbers of a claim that are drawn where they are finite."""

SHAPED = "#c8c8c8"
"""Colour of the questions of a shaped report, which have no separate budgets."""

SMALLEST_DELTA = 1e-30
"""Deltas below this are not drawn."""

DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3]]
"""Dash patterns: solid, then three dashed ones."""


@printable_names
def bar_panels(
    rows: Rows,
    axis: str,
    *,
    mark: str = "",
    colour_title: str = "",
    x_title: str = "",
) -> Any:
    """Return grouped bars, one panel for each value of `panel`.

    Parameters
    ----------
    rows
        With `panel`, `group` (along the axis), `series` (the colour), `value`, and optionally
        `mark`: a second value, or None, drawn as a black line across the bar.
    axis
        The title of the values' axis, with its unit.
    mark
        The meaning of the black lines, for the panel's title.
    colour_title, x_title
        The titles of the legend and of the groups' axis.
    """
    groups, series = charts.distinct_in(rows, "group"), charts.distinct_in(rows, "series")
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
def curve_panels(
    rows: Rows,
    *,
    x_title: str,
    series: list[str],
    dashed: dict[str, int] | None = None,
    diagonal: str = "",
    top: float | None = None,
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
        The index in `DASHES` by series; 0, solid, by default.
    diagonal
        The label of the line y = x, which is drawn in grey unless this is empty.
    top
        The end of the vertical axis, where lines are cut; by default all are drawn whole.
    """
    side: Any = "top" if len(charts.distinct_in(rows, "panel")) > 1 else "right"
    entries = alt.Legend(labelLimit=320, symbolType="stroke", symbolSize=300, orient=side)
    scale = alt.Scale() if top is None else alt.Scale(domain=[0, top])
    dashes = [DASHES[(dashed or {}).get(name, 0)] for name in series]

    def draw(panel: str, chosen: Rows) -> Any:
        dots = alt.OverlayMarkDef(size=28)
        lines = (
            charts.chart_of(chosen)
            .mark_line(point=dots, strokeWidth=2, clip=top is not None)
            .encode(
                x=alt.X("x:Q", title=x_title),
                y=alt.Y("y:Q", title=chosen[0]["axis"], scale=scale),
                color=charts.coloured("series", series, legend=entries),
                strokeDash=alt.StrokeDash(
                    "series:N", sort=series, scale=alt.Scale(domain=series, range=dashes)
                ),
                tooltip=["series:N", "x:Q", "y:Q"],
            )
        )
        if not diagonal:
            return lines
        return _diagonal(max(row["x"] for row in chosen), diagonal) + lines

    return charts.in_panels(rows, draw, CURVES)


def _diagonal(end: float, label: str) -> Any:
    """Return the grey line y = x from 0 to `end`, with a label at its end."""
    line = charts.chart_of([{"x": 0, "y": 0}, {"x": end, "y": end}]).mark_line(**charts.DIAGONAL)
    text = charts.chart_of([{"x": end, "y": end, "text": label}]).mark_text(
        color=charts.DIAGONAL["color"], align="right", dx=-6, dy=-6, fontSize=11
    )
    return line.encode(x="x:Q", y="y:Q") + text.encode(x="x:Q", y="y:Q", text="text:N")


@printable_names
def histogram_panels(rows: Rows, x_title: str, y_title: str) -> Any:
    """Return histograms side by side, one panel for each value of `data`, with the same axes.

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
    """Return means, standard deviations (thick) and ranges (thin) within bins of a measure.

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
        deviations = base.mark_rule(color=charts.PALETTE[0], strokeWidth=6, opacity=0.55)
        means = base.mark_point(size=80, filled=True, opacity=1, color=charts.PALETTE[1])
        tooltip = ["middle:Q", "mean:Q", "least:Q", "most:Q", "pairs:Q"]
        layers = (
            ranges.encode(y=alt.Y("least:Q", title=y_title), y2="most:Q")
            + deviations.encode(y="low:Q", y2="high:Q")
            + means.encode(y="mean:Q", tooltip=tooltip)
        )
        return layers.properties(title=f"{metric} against leakage")

    return charts.in_panels(rows, draw, SPREAD, key="metric")


@printable_names
def forms_chart(questions: Rows, attributes: Rows, guarantee: str) -> Any:
    """Return forms as columns, shares of several above, and the totals of attributes beside them.

    Parameters
    ----------
    questions
        One for each question: `form`, its `share`, `attribute`, `mechanism`, `epsilon` (None for a
        shaped report of all answers).
    attributes
        One for each attribute: `attribute`, `total`, `limit` (or None).
    guarantee
        The guarantee of the totals, for the title.
    """
    order = [row["attribute"] for row in attributes]
    forms = {row["form"]: row["share"] for row in questions}
    width = max(160, min(900, 46 * len(forms)))
    title = "Who is asked what"
    if any(row["epsilon"] is None for row in questions):
        title += " (grey: one shaped report)"
    height = alt.Step(charts.STEP)
    asked = _questions(questions, order).properties(width=width, height=height, title=title)
    totals = _total_bars(attributes).properties(
        width=220, height=height, title=f"Totals ({guarantee})"
    )
    if len(forms) == 1:
        return charts.finish(asked | totals)
    return charts.finish(_shares(forms).properties(width=width, height=60) & (asked | totals))


def _shares(forms: dict[int, float]) -> Any:
    """Return a bar chart of the share of each form."""
    bars = charts.chart_of([{"form": form, "share": share} for form, share in forms.items()])
    return (
        bars.mark_bar(color=charts.PALETTE[0])
        .encode(
            x=alt.X("form:O", title=None, axis=alt.Axis(labels=False, ticks=False)),
            y=alt.Y("share:Q", title="people", axis=alt.Axis(format="%", tickCount=3)),
            tooltip=["form:O", alt.Tooltip("share:Q", format=".3%")],
        )
        .properties(title="Share of people who get each form")
    )


def _questions(questions: Rows, order: list[str]) -> Any:
    """Return a grid of questions coloured by budget, those of shaped reports in grey."""
    scale = alt.Scale(
        scheme="blues", domain=[0, max(row["epsilon"] or 0 for row in questions) or 1]
    )
    budgets = alt.Color(
        "epsilon:Q", title="budget (nats)", scale=scale, legend=alt.Legend(orient="right")
    )
    tooltip = ["form:O", "attribute:N", "mechanism:N", alt.Tooltip("epsilon:Q", format=".4f")]
    cells = charts.chart_of(questions).mark_rect(stroke="white", invalid=None)
    return cells.encode(
        x=alt.X("form:O", title="form", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("attribute:N", sort=order, scale=alt.Scale(domain=order), title=None),
        color=alt.condition("!isValid(datum.epsilon)", alt.value(SHAPED), budgets),
        tooltip=tooltip,
    )


def _total_bars(rows: Rows) -> Any:
    """Return the total of each attribute as a bar, its limit as a mark."""
    order = [row["attribute"] for row in rows]
    base = charts.chart_of(rows).encode(
        y=charts.in_rows("attribute", order, labels=False, ticks=False)
    )
    totals = base.mark_bar(color=charts.PALETTE[5], height=14).encode(
        x=alt.X("total:Q", title="nats: total (bar), limit (mark)"),
        tooltip=["attribute:N", "total:Q", "limit:Q"],
    )
    return totals + charts.limit_marks(base)


@printable_names
def profile_chart(leakages: list[float], deltas: list[float], point: tuple[float, float]) -> Any:
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
    y = alt.Y("delta:Q", title="Delta", scale=alt.Scale(type="log"), axis=alt.Axis(format="e"))
    tooltip = [alt.Tooltip("leakage:Q", format=".4f"), alt.Tooltip("delta:Q", format=".2g")]
    lines = charts.chart_of(curve).mark_line(point=len(curve) == 1).encode(x=x, y=y)
    shown = [{"leakage": point[0], "delta": point[1]}] if point[1] > SMALLEST_DELTA else []
    marked = charts.chart_of(shown).mark_point(
        filled=True, size=90, color=charts.PALETTE[1], opacity=1
    )
    layers = lines + marked.encode(x=x, y=y, tooltip=tooltip)
    heading = "Every pair (l, delta) of one leakage; the dot is the one shown elsewhere"
    return charts.finish(layers, heading, width=420, height=300)


@printable_names
def about_chart(rows: Rows, target: str, subtitle: str, width: int = 480) -> Any:
    """Return bars: the leakage about one attribute of a report of each other one.

    Parameters
    ----------
    rows
        With `source`, `leakage` and `delta`; and `own`, whether it is the attribute's own report.
    target
        The attribute that they tell about.
    subtitle
        Data, mechanism and budget.
    width
        The width of the bars' axis, in pixels; a page of a phone needs a narrow one.
    """
    most = max(row["leakage"] for row in rows) or 1.0
    base = charts.chart_of(rows).encode(
        y=charts.in_rows("source"),
        x=alt.X(
            "leakage:Q",
            title=f"leakage about {target} (nats)",
            scale=alt.Scale(domain=[0, 1.1 * most]),
        ),
        tooltip=["source:N", alt.Tooltip("leakage:Q", format=".4f"), "delta:Q"],
    )
    own = alt.when(alt.datum.own).then(alt.value("#999999")).otherwise(alt.value("#D55E00"))
    bars = base.mark_bar().encode(color=own)
    texts = base.mark_text(align="left", dx=4, fontSize=12).encode(
        text=alt.Text("leakage:Q", format=".2f")
    )
    title = f"What other answers tell about {target}"
    return charts.finish(bars + texts, title, subtitle, width=width, height=alt.Step(charts.STEP))


@printable_names
def audit_chart(rows: Rows, name: str = "") -> Any:
    """Return realised epsilons as bars, their limits as lines, and the claims as marks.

    Parameters
    ----------
    rows
        One for each attribute: `attribute`, `epsilon`, `lower`, `upper`, `verdict` and `claim`, or
        None.  An infinite epsilon is named and not drawn; nor is an infinite upper limit.
    name
        The name of the randomiser, for the title.
    """
    drawn = [
        {
            **{key: row[key] if math.isfinite(row[key]) else None for key in AUDITED},
            "attribute": row["attribute"] + ("" if math.isfinite(row["epsilon"]) else ": infinite"),
            "claim": row["claim"],
            "verdict": row["verdict"],
        }
        for row in rows
    ]
    base = charts.chart_of(drawn).encode(
        y=charts.in_rows("attribute", charts.distinct_in(drawn, "attribute"))
    )
    bars = base.mark_bar(height=12).encode(
        x=alt.X("epsilon:Q", title="Realised epsilon (bar), its limits (line), claim (mark)"),
        color=charts.coloured("verdict", ["not decided", "refuted", "holds"]),
        tooltip=["attribute:N", "verdict:N", *(f"{key}:Q" for key in AUDITED), "claim:Q"],
    )
    limited = base.transform_filter("isValid(datum.lower) && isValid(datum.upper)")
    lines = limited.mark_rule(strokeWidth=2).encode(x="lower:Q", x2="upper:Q")
    layers = bars + lines + charts.limit_marks(base, "claim", "black")
    return charts.finish(
        layers, charts.titled("Audit", name), width=CURVES[0], height=alt.Step(charts.STEP)
    )
