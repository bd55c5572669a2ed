"""The chart of a plan with several forms: who is asked what, of how many, and what is told."""

from typing import Any

from seepage.charts.style import PALETTE, Rows, chart_of, finish, printable_names

STEP = 22
"""Height of an attribute's row, in pixels."""


@printable_names
def forms_chart(questions: Rows, attributes: Rows, guarantee: str) -> Any:
    """Return forms as columns with their shares above, and the totals of attributes beside them.

    Parameters
    ----------
    questions
        One for each question: `form`, its `share`, `attribute`, `mechanism`, `epsilon`.
    attributes
        One for each attribute: `attribute`, `total`, `limit` (or None), `mechanism`.
    guarantee
        What the totals rest on, for the title.
    """
    import altair as alt

    order = [row["attribute"] for row in attributes]
    forms = {row["form"]: row["share"] for row in questions}
    wide = max(160, min(900, 46 * len(forms)))
    rows = alt.Y("attribute:N", sort=order, scale=alt.Scale(domain=order), title=None)
    shares = (
        chart_of([{"form": form, "share": share} for form, share in forms.items()])
        .mark_bar(color=PALETTE[0])
        .encode(
            x=alt.X("form:O", title=None, axis=alt.Axis(labels=False, ticks=False)),
            y=alt.Y("share:Q", title="people", axis=alt.Axis(format="%", tickCount=3)),
            tooltip=["form:O", alt.Tooltip("share:Q", format=".3%")],
        )
        .properties(width=wide, height=60, title="Share of people who get each form")
    )
    asked = chart_of(questions).encode(
        x=alt.X("form:O", title="form", axis=alt.Axis(labelAngle=0)), y=rows
    )
    cells = asked.mark_rect(stroke="white").encode(
        color=alt.Color(
            "epsilon:Q",
            title="budget (nats)",
            scale=alt.Scale(scheme="blues", domainMin=0),
            legend=alt.Legend(orient="right"),
        ),
        tooltip=["form:O", "attribute:N", "mechanism:N", alt.Tooltip("epsilon:Q", format=".4f")],
    )
    limited = chart_of(attributes).encode(y=rows.copy(deep=True))
    totals = limited.mark_bar(color=PALETTE[5], height=14).encode(
        y=alt.Y("attribute:N", sort=order, title=None, axis=alt.Axis(labels=False, ticks=False)),
        x=alt.X("total:Q", title="nats: total (bar), limit (mark)"),
        tooltip=["attribute:N", "total:Q", "limit:Q"],
    )
    marks = limited.transform_filter("isValid(datum.limit)").mark_tick(
        color=PALETTE[1], thickness=3, height=18
    )
    marks = marks.encode(
        y=alt.Y("attribute:N", sort=order, title=None, axis=alt.Axis(labels=False, ticks=False)),
        x="limit:Q",
    )
    high = alt.Step(STEP)
    picture = cells.properties(width=wide, height=high, title="Who is asked what")
    told = (totals + marks).properties(width=220, height=high, title=f"Totals ({guarantee})")
    return finish(shares & (picture | told))
