"""Charts of benchmarks: analysers by their errors, mechanisms by what they leak."""

from typing import Any

from seepage.charts import style
from seepage.charts.altair_import import alt
from seepage.charts.style import Rows, printable_names

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
"""Margin below the points as a share of each axis: the labels of P1 and R1 are below
0."""


ABOVE = 0.12
"""Margin above the points as a share of each axis."""


MIN_EXTENT = 0.05
"""Minimum end of the axes of errors."""


MIN_SHARE = 0.25
"""Minimum end of an axis, absolute and as a share of the end of the other axis."""


UNSIGNED = "datum.value < 0 ? '' : datum.label"
"""Labels of an axis without those of negative numbers."""


@printable_names
def analyser_chart(rows: Rows) -> Any:
    """Return a benchmark's undershoot against overshoot, with the regions P1, R1, R2
    and R3 labelled.

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

    def draw(data: str, of_data: Rows) -> Any:
        """Draw one panel of a benchmark of analysers."""
        drawn = _regions(ends) + _scores(
            of_data, rows, "analyser", names, size=130
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
        return drawn.properties(title=f"{data}: against {of_data[0]['reference']}")

    return style.in_panels(
        rows,
        draw,
        (SIDE, SIDE),
        key="data",
        columns=len(style.distinct_in(rows, "data")),
    )


def _axis(field: str, title: str, ends: dict[str, float]) -> Any:
    """Return an axis of a benchmark's chart between ends."""
    channel = alt.X if field == "undershoot" else alt.Y
    domain = [-BELOW * ends[field], (1 + ABOVE) * ends[field]]
    return channel(
        f"{field}:Q",
        title=title,
        scale=alt.Scale(domain=domain, nice=False),
        axis=alt.Axis(tickCount=6, format="~g", grid=False, labelExpr=UNSIGNED),
    )


def _scores(rows: Rows, all_rows: Rows, field: str, names: list[str], size: int) -> Any:
    """Return points of a benchmark's scores: shapes are the names of a field, colours
    the budgets of all rows.
    """
    budgets = [
        f"{epsilon:g}" for epsilon in sorted({row["epsilon"] for row in all_rows})
    ]
    shapes = alt.Scale(domain=names, range=SHAPES)
    points = style.chart_of([{**row, "epsilon": f"{row['epsilon']:g}"} for row in rows])
    return points.mark_point(size=size, filled=True, opacity=0.8).encode(
        shape=alt.Shape(f"{field}:N", title=field.capitalize(), scale=shapes),
        color=style.coloured("epsilon", budgets, "Epsilon"),
    )


def _regions(ends: dict[str, float]) -> Any:
    """Return lines at 0 and the labels of the regions of a benchmark of analysers."""
    right = ends["undershoot"]
    top = ends["overshoot"]
    lines = style.chart_of([{"zero": 0}]).mark_rule(**style.DIAGONAL)
    labels: list[tuple[float, float, str, Any, float, float]] = [
        (0, 0, "P1 exact", "left", 10, 13),
        (right * (1 + ABOVE), 0, "R1 underestimates", "right", -4, 13),
        (0, top * (1 + 0.8 * ABOVE), "R2 overestimates", "left", 10, 0),
        (right * 0.6, top * 0.6, "R3 both", "center", 0, 0),
    ]
    texts = [
        style.chart_of([{"x": x, "y": y, "text": text}])
        .mark_text(
            color=style.DIAGONAL["color"], fontSize=12, align=align, dx=dx, dy=dy
        )
        .encode(x="x:Q", y="y:Q", text="text:N")
        for x, y, text, align, dx, dy in labels
    ]
    return alt.layer(lines.encode(x="zero:Q"), lines.encode(y="zero:Q"), *texts)


@printable_names
def mechanism_chart(measured: Rows) -> Any:
    """Return three panels of a benchmark of mechanisms: utility error against
    normalised total leakage.

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
    names = style.distinct_in(measured, "mechanism")
    rows = [
        {**row, "panel": panel}
        for panel, (error, _) in panels.items()
        for row in measured
        if row[error] is not None
    ]

    def draw(panel: str, of_panel: Rows) -> Any:
        """Draw one panel of a benchmark of mechanisms."""
        error, leakage = panels[panel]
        errors = [row[error] for row in of_panel]
        domain: Any = alt.Undefined if max(errors) > 0 else [0, 1]
        log = error == "frequency_error" and min(errors) > 0
        scale = alt.Scale(type="log" if log else "linear", domain=domain)
        return _scores(of_panel, measured, "mechanism", names, size=110).encode(
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

    return style.in_panels(rows, draw, (SIDE - 60, SIDE - 60), columns=len(panels))
