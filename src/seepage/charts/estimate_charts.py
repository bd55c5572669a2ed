"""Charts of what a collection found: shares of people, and coefficients."""

import math
from typing import Any

from seepage.charts import style
from seepage.charts.altair_import import alt
from seepage.charts.style import Rows, printable_names

WIDTH = 460
"""Width of the axis of shares and coefficients, in pixels."""

HOW_TO_READ = (
    "A dot is the estimate, the line around it holds the true {} 19 times of 20"
)
"""The subtitle of both charts."""


@printable_names
def shares_chart(rows: Rows) -> Any:
    """Return estimated shares of people with intervals on one axis from 0 to 100 %.

    Parameters
    ----------
    rows
        `label` (question and answer), and in % `share`, `lower` and `upper`.
    """
    axis = alt.Scale(domain=[0, 100], clamp=True)
    base = style.chart_of(rows).encode(
        y=style.in_rows("label", style.distinct_in(rows, "label"))
    )
    lines = base.mark_rule(strokeWidth=3, opacity=0.5, clip=True).encode(
        x=alt.X("lower:Q", scale=axis, title="% of people"), x2="upper:Q"
    )
    numbers = [
        alt.Tooltip(f"{name}:Q", format=".1f") for name in ("share", "lower", "upper")
    ]
    dots = base.mark_circle(size=60, opacity=1).encode(
        x="share:Q", tooltip=["label:N", *numbers]
    )
    return style.finish(
        (lines + dots).encode(color=alt.value(style.PALETTE[0])),
        "Shares of people",
        HOW_TO_READ.format("share"),
        width=WIDTH,
        height=alt.Step(style.STEP),
    )


@printable_names
def coefficients_chart(rows: Rows, outcome: str) -> Any:
    """Return estimated coefficients with intervals beside 0, where a term says nothing.

    Parameters
    ----------
    rows
        `term`, `coefficient`, `lower` and `upper`; what is not finite stands as a text.
    outcome
        The outcome of the regression.
    """
    drawn = [_finite(row) for row in rows]
    base = style.chart_of(drawn).encode(
        y=style.in_rows("term", style.distinct_in(drawn, "term"))
    )
    lines = base.mark_rule(strokeWidth=3, opacity=0.5).encode(
        x=alt.X("lower:Q", title="Coefficient"), x2="upper:Q"
    )
    numbers = [
        alt.Tooltip(f"{name}:Q", format=".3g")
        for name in ("coefficient", "lower", "upper")
    ]
    dots = base.mark_circle(size=60, opacity=1).encode(
        x="coefficient:Q", tooltip=["term:N", *numbers]
    )
    texts = base.mark_text(align="left", dx=6).encode(x=alt.datum(0), text="remark:N")
    none = style.chart_of([{}]).mark_rule(**style.DIAGONAL).encode(x=alt.datum(0))
    marks = (lines + dots + texts).encode(color=alt.value(style.PALETTE[0]))
    return style.finish(
        alt.layer(none, marks),
        f"What goes with {outcome}",
        HOW_TO_READ.format("coefficient"),
        width=WIDTH,
        height=alt.Step(style.STEP),
    )


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """Return an estimate's row whose numbers are finite, or else the remark that they
    are not.

    Examples
    --------
    >>> _finite({"term": "a", "coefficient": 1.0, "lower": 0.5, "upper": math.inf})
    {'term': 'a', 'coefficient': None, 'lower': None, 'upper': None, 'remark': 'at least
    0.5'}
    """
    numbers = {name: row[name] for name in ("coefficient", "lower", "upper")}
    if all(map(math.isfinite, numbers.values())):
        return {"term": row["term"], **numbers, "remark": ""}
    remark = "no finite estimate"
    if math.isfinite(row["lower"]):
        remark = f"at least {row['lower']:.3g}"
    elif math.isfinite(row["upper"]):
        remark = f"at most {row['upper']:.3g}"
    return {"term": row["term"], **dict.fromkeys(numbers), "remark": remark}
