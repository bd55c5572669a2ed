"""Charts of results: matrix, totals, realised losses, forms, audits, estimated
tables.
"""

import math
from typing import Any

from seepage.charts import style
from seepage.charts.altair_import import alt
from seepage.charts.style import Rows, printable_names

CELL = 26
"""Side of a cell of a matrix, in pixels."""


MIN_SIDE = 220
"""Minimum side of a matrix, in pixels: the length of the titles of its axes."""


MAX_WITH_NUMBERS = 24
"""Maximum number of attributes of a matrix whose cells show numbers."""


WIDTH = 460
"""Width of the axis of totals, losses and estimates, in pixels."""


KINDS = {
    "certified": "#0072B2",
    "statistical": "#009E73",
    "assumed": "#D55E00",
    "lower bound": "#000000",
}
"""Colour of each kind of total; the report page replaces each by its own."""


SHAPES = [
    "square",
    "diamond",
    "cross",
    "circle",
    "triangle-up",
    "triangle-down",
    "triangle-right",
]
"""Shapes of the guarantees of totals, in the order in which they are drawn."""


_DELTA = alt.Tooltip("delta:Q", format=".2g")
"""The delta of a number, in its tooltip."""


AUDITED = ("epsilon", "lower", "upper")
"""Numbers of a claim that are drawn where they are finite."""


SHAPED = "#c8c8c8"
"""Colour of the questions of a shaped report, which have no separate budgets."""


EXPERIENCED = ["promised epsilon", "nine in ten people", "the median person"]
"""Legend of the marks of `experience_chart`."""


@printable_names
def matrix_chart(
    names: list[str],
    values: list[list[float]],
    *,
    maximum: float,
    subtitle: str,
    order: list[str],
    name: str = "",
    deltas: list[list[float]] | None = None,
) -> Any:
    """Return a heat map: rows targets, columns sources, colours from 0 to the largest
    epsilon.

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
    rows = _matrix_rows(names, values, maximum, deltas)
    end = maximum or 1.0
    tooltip = ["source:N", "target:N", alt.Tooltip("leakage:Q", format=".4f")]
    if deltas is not None:
        tooltip.append(_DELTA)
    side = max(CELL * len(names), MIN_SIDE)
    slanted = alt.Axis(labelAngle=-45, labelLimit=160)
    base = style.chart_of(rows).encode(
        x=alt.X("source:N", sort=order, title="Source: what is released", axis=slanted),
        y=alt.Y("target:N", sort=order, title="Target: what it tells about"),
    )
    cells = base.mark_rect().encode(
        color=alt.Color(
            "leakage:Q",
            title="Leakage (nats)",
            scale=alt.Scale(scheme="viridis", domain=[0, end], clamp=True),
        ),
        tooltip=tooltip,
    )
    layers = [cells]
    if len(names) <= MAX_WITH_NUMBERS:
        dark = f"datum.leakage < {0.6 * end}"
        layers.append(
            base.mark_text(fontSize=10).encode(
                text=alt.Text("leakage:Q", format=".2f"),
                color=alt.condition(dark, alt.value("white"), alt.value("black")),
            )
        )
    title = style.titled("Leakage from source to target", name)
    return style.finish(alt.layer(*layers), title, subtitle, width=side, height=side)


def _matrix_rows(
    names: list[str],
    values: list[list[float]],
    maximum: float,
    deltas: list[list[float]] | None,
) -> Rows:
    """Return one row of the matrix chart per cell off the diagonal; an infinite leakage
    as the maximum.
    """
    rows: Rows = []
    for i, target in enumerate(names):
        for j, source in enumerate(names):
            if i == j:
                continue
            leakage = values[i][j]
            if not math.isfinite(leakage):
                leakage = maximum
            row: dict[str, Any] = {
                "target": target,
                "source": source,
                "leakage": leakage,
            }
            if deltas is not None:
                row["delta"] = deltas[i][j]
            rows.append(row)
    return rows


@printable_names
def totals_chart(rows: Rows, name: str = "") -> Any:
    """Return a dot plot of totals, one row per attribute: colours are kinds, shapes
    guarantees.

    Parameters
    ----------
    rows
        One for each attribute and guarantee: `attribute`, `guarantee`, `kind`, `total`,
        its `delta`, `refuted`, whether an assumed total lies below a witness, and
        optionally the attribute's `limit`.
    name
        The name of the data, for the title.
    """
    rows = [row | {"total of": f"{row['guarantee']} ({row['kind']})"} for row in rows]
    colours = {row["total of"]: KINDS[row["kind"]] for row in rows}
    order = style.distinct_in(rows, "attribute")
    scale = alt.Scale(zero=True)
    if not any(row["total"] for row in rows):
        scale = alt.Scale(domain=[0, 1])
    tooltip = ["attribute:N", "total of:N", alt.Tooltip("total:Q", format=".4f")]
    if any(row.get("delta") for row in rows):
        tooltip.append(_DELTA)
    base = style.chart_of(rows).encode(
        x=alt.X("total:Q", title="Total leakage (nats)", scale=scale),
        y=style.in_rows("attribute", order),
    )
    drawn = list(colours)
    coloured = alt.Scale(domain=drawn, range=list(colours.values()))
    points = base.mark_point(filled=True, size=90, opacity=0.8).encode(
        color=alt.Color("total of:N", title=None, sort=drawn, scale=coloured),
        shape=alt.Shape(
            "total of:N",
            title=None,
            sort=drawn,
            scale=alt.Scale(domain=drawn, range=SHAPES),
        ),
        tooltip=tooltip,
    )
    refuted = base.transform_filter("datum.refuted").mark_text(
        text="refuted", dx=-8, align="right", fontSize=10, color=style.PALETTE[1]
    )
    title = style.titled("What each attribute gives away in total", name)
    layers = points + refuted
    if any(row.get("limit") is not None for row in rows):
        layers = style.limit_marks(base) + layers
        title += "; limits as marks"
    return style.finish(layers, title, width=WIDTH, height=alt.Step(style.STEP + 4))


@printable_names
def experience_chart(rows: Rows, people: int, name: str = "") -> Any:
    """Return the chart of promised epsilon and quantiles of the realised loss, one row
    per attribute.

    Parameters
    ----------
    rows
        One for each attribute: `attribute`, `promised` (epsilon), the quantiles `low`
        (5%), `median` and `high` (95%) of the loss, `share` and `permuted_share` of
        people above 1.1 epsilon.
    people
        The number of drawn people.
    name
        The name of the data, for the title.
    """
    labelled = []
    for row in rows:
        unrelated = row["permuted_share"]
        label = f"{row['share']:.0%} above, {unrelated:.0%} if unrelated"
        labelled.append({**row, "label": label})
    order = [row["attribute"] for row in labelled]
    base = style.chart_of(labelled).encode(y=style.in_rows("attribute", order))
    colours = alt.Scale(
        domain=EXPERIENCED, range=[style.PALETTE[1], "#9CCDEB", style.PALETTE[0]]
    )

    def mark(layer: Any, field: str, index: int, **more: Any) -> Any:
        """Return a mark of the realised loss on its chart."""
        return layer.encode(
            x=alt.X(
                f"{field}:Q",
                title="Realised privacy loss (nats)",
                scale=alt.Scale(zero=True),
            ),
            color=alt.Color(
                "mark:N", title=None, scale=colours, legend=alt.Legend(orient="top")
            ),
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
    title = style.titled("Promised and experienced", name)
    about = (
        f"{people:,} drawn people; share whose reports tell more than 1.1 times epsilon"
    )
    return style.finish(
        alt.layer(*layers), title, about, width=WIDTH, height=alt.Step(style.STEP)
    )


@printable_names
def forms_chart(questions: Rows, attributes: Rows, guarantee: str) -> Any:
    """Return the chart of forms as columns, shares of several above, and the totals of
    attributes beside them.

    Parameters
    ----------
    questions
        One for each question: `form`, its `share`, `attribute`, `mechanism`, `epsilon`
        (None for a shaped report of all answers).
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
    height = alt.Step(style.STEP)
    asked = _questions(questions, order).properties(
        width=width, height=height, title=title
    )
    totals = _total_bars(attributes).properties(
        width=220, height=height, title=f"Totals ({guarantee})"
    )
    if len(forms) == 1:
        return style.finish(asked | totals)
    return style.finish(
        _shares(forms).properties(width=width, height=60) & (asked | totals)
    )


def _shares(forms: dict[int, float]) -> Any:
    """Return the bars of the chart of forms for the share of each."""
    bars = style.chart_of(
        [{"form": form, "share": share} for form, share in forms.items()]
    )
    return (
        bars.mark_bar(color=style.PALETTE[0])
        .encode(
            x=alt.X("form:O", title=None, axis=alt.Axis(labels=False, ticks=False)),
            y=alt.Y("share:Q", title="people", axis=alt.Axis(format="%", tickCount=3)),
            tooltip=["form:O", alt.Tooltip("share:Q", format=".3%")],
        )
        .properties(title="Share of people who get each form")
    )


def _questions(questions: Rows, order: list[str]) -> Any:
    """Return the grid of the chart of forms, questions coloured by budget, those of
    shaped reports in grey.
    """
    largest = max(row["epsilon"] or 0 for row in questions)
    scale = alt.Scale(scheme="blues", domain=[0, largest or 1])
    budgets = alt.Color(
        "epsilon:Q",
        title="budget (nats)",
        scale=scale,
        legend=alt.Legend(orient="right"),
    )
    tooltip = [
        "form:O",
        "attribute:N",
        "mechanism:N",
        alt.Tooltip("epsilon:Q", format=".4f"),
    ]
    cells = style.chart_of(questions).mark_rect(stroke="white", invalid=None)
    return cells.encode(
        x=alt.X("form:O", title="form", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("attribute:N", sort=order, scale=alt.Scale(domain=order), title=None),
        color=alt.condition("!isValid(datum.epsilon)", alt.value(SHAPED), budgets),
        tooltip=tooltip,
    )


def _total_bars(rows: Rows) -> Any:
    """Return the bars of the chart of forms for the total of each attribute, its limit
    as a mark.
    """
    order = [row["attribute"] for row in rows]
    base = style.chart_of(rows).encode(
        y=style.in_rows("attribute", order, labels=False, ticks=False)
    )
    totals = base.mark_bar(color=style.PALETTE[5], height=14).encode(
        x=alt.X("total:Q", title="nats: total (bar), limit (mark)"),
        tooltip=["attribute:N", "total:Q", "limit:Q"],
    )
    return totals + style.limit_marks(base)


@printable_names
def about_chart(rows: Rows, target: str, subtitle: str, width: int = 480) -> Any:
    """Return the chart of a result about one attribute: the leakage of a report of each
    other one as bars.

    Parameters
    ----------
    rows
        With `source`, `leakage` and `delta`; and `own`, whether it is the attribute's
        own report.
    target
        The attribute that they tell about.
    subtitle
        Data, mechanism and budget.
    width
        The width of the bars' axis, in pixels; a page of a phone needs a narrow one.
    """
    most = max(row["leakage"] for row in rows) or 1.0
    base = style.chart_of(rows).encode(
        y=style.in_rows("source"),
        x=alt.X(
            "leakage:Q",
            title=f"leakage about {target} (nats)",
            scale=alt.Scale(domain=[0, 1.1 * most]),
        ),
        tooltip=["source:N", alt.Tooltip("leakage:Q", format=".4f"), "delta:Q"],
    )
    own = (
        alt.when(alt.datum.own)
        .then(alt.value("#999999"))
        .otherwise(alt.value("#D55E00"))
    )
    bars = base.mark_bar().encode(color=own)
    texts = base.mark_text(align="left", dx=4, fontSize=12).encode(
        text=alt.Text("leakage:Q", format=".2f")
    )
    title = f"What other answers tell about {target}"
    return style.finish(
        bars + texts, title, subtitle, width=width, height=alt.Step(style.STEP)
    )


@printable_names
def audit_chart(rows: Rows, name: str = "") -> Any:
    """Return the chart of an audit: realised epsilons as bars, their limits as lines,
    and the claims as marks.

    Parameters
    ----------
    rows
        One for each attribute: `attribute`, `epsilon`, `lower`, `upper`, `verdict` and
        `claim`, or None.  An infinite epsilon is named and not drawn; nor is an
        infinite upper limit.
    name
        The name of the randomiser, for the title.
    """
    drawn = [_audited(row) for row in rows]
    base = style.chart_of(drawn).encode(
        y=style.in_rows("attribute", style.distinct_in(drawn, "attribute"))
    )
    bars = base.mark_bar(height=12).encode(
        x=alt.X(
            "epsilon:Q", title="Realised epsilon (bar), its limits (line), claim (mark)"
        ),
        color=style.coloured("verdict", ["not decided", "refuted", "holds"]),
        tooltip=[
            "attribute:N",
            "verdict:N",
            *(f"{key}:Q" for key in AUDITED),
            "claim:Q",
        ],
    )
    limited = base.transform_filter("isValid(datum.lower) && isValid(datum.upper)")
    lines = limited.mark_rule(strokeWidth=2).encode(x="lower:Q", x2="upper:Q")
    layers = bars + lines + style.limit_marks(base, "claim", "black")
    return style.finish(
        layers,
        style.titled("Audit", name),
        width=style.CURVES[0],
        height=alt.Step(style.STEP),
    )


def _audited(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row of an audited attribute as its chart draws it, infinite numbers as
    None.
    """
    attribute = row["attribute"]
    if not math.isfinite(row["epsilon"]):
        attribute += ": infinite"
    drawn = {"attribute": attribute, "claim": row["claim"], "verdict": row["verdict"]}
    for key in AUDITED:
        drawn[key] = None
        if math.isfinite(row[key]):
            drawn[key] = row[key]
    return drawn


@printable_names
def estimates_chart(rows: Rows, title: str, names: list[str]) -> Any:
    """Return the chart of estimated results as points with 95 % intervals, coloured by
    the first attribute.

    Parameters
    ----------
    rows
        `label` (the values of the other attributes), `colour` (that of the first),
        `estimate`, `lower` and `upper`.
    title
        What the numbers are.
    names
        The attributes.
    """
    colours = style.distinct_in(rows, "colour")
    encodings: Any = {"color": alt.value(style.PALETTE[0])}
    step = style.STEP
    if len(names) > 1:
        encodings = {
            "color": style.coloured("colour", colours, names[0]),
            "yOffset": alt.YOffset("colour:N", sort=colours),
        }
        step = max(style.STEP, 11 * len(colours))
    labels = style.in_rows("label", style.distinct_in(rows, "label"))
    base = style.chart_of(rows).encode(
        y=labels.title(", ".join(names[1:]) or None), **encodings
    )
    intervals = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("lower:Q", title=f"{title}, with 95 % intervals"), x2="upper:Q"
    )
    tooltip = ["label:N", "colour:N", "estimate:Q", "lower:Q", "upper:Q"]
    points = base.mark_circle(size=60, opacity=1).encode(
        x="estimate:Q", tooltip=tooltip
    )
    return style.finish(intervals + points, width=WIDTH, height=alt.Step(step))
