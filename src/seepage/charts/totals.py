"""The charts of totals by what they rest on, and of a plan against its limits."""

from typing import Any

from seepage.charts.theme import PALETTE, finish, table

__all__ = ["plan_chart", "totals_chart"]

WIDTH = 460
STEP = 22
KINDS = ["certified", "statistical", "assumed", "lower bound"]
SHAPES = ["square", "circle", "triangle-up", "triangle-right"]


def totals_chart(rows: list[dict[str, Any]]) -> Any:
    """Return every attribute's totals as points on one line each, coloured by their kind.

    Parameters
    ----------
    rows
        One for each attribute and guarantee: `attribute`, `guarantee`, `kind`, `total`, and
        `refuted`, whether an assumed total lies below a witness.
    """
    import altair as alt

    order = list(dict.fromkeys(row["attribute"] for row in rows))
    nothing = not any(row["total"] for row in rows)
    scale = alt.Scale(domain=[0, 1]) if nothing else alt.Scale(zero=True)
    base = alt.Chart(table(rows)).encode(
        x=alt.X("total:Q", title="Total leakage (nats)", scale=scale),
        y=alt.Y("attribute:N", sort=order, title=None),
    )
    points = base.mark_point(filled=True, size=90, opacity=0.85).encode(
        color=alt.Color(
            "kind:N", title="Rests on", scale=alt.Scale(domain=KINDS, range=PALETTE[:4])
        ),
        shape=alt.Shape("kind:N", scale=alt.Scale(domain=KINDS, range=SHAPES)),
        tooltip=["attribute:N", "guarantee:N", "kind:N", alt.Tooltip("total:Q", format=".4f")],
    )
    refuted = base.transform_filter("datum.refuted").mark_text(
        text="refuted", dx=-8, align="right", fontSize=10, color=PALETTE[1]
    )
    return finish(
        (points + refuted).properties(
            width=WIDTH, height=alt.Step(STEP), title="What each attribute gives away in total"
        )
    )


def plan_chart(rows: list[dict[str, Any]], guarantee: str) -> Any:
    """Return a plan's budgets inside its totals, with each attribute's limit as a mark.

    Parameters
    ----------
    rows
        One for each attribute: `attribute`, `epsilon`, `total`, `limit` (or None), `mechanism`.
    guarantee
        What the totals rest on, for the title.
    """
    import altair as alt

    order = [row["attribute"] for row in rows]
    base = alt.Chart(table(rows)).encode(y=alt.Y("attribute:N", sort=order, title=None))
    totals = base.mark_bar(color=PALETTE[5], height=14).encode(
        x=alt.X("total:Q", title="Nats: own budget (dark), total (light), limit (mark)"),
        tooltip=["attribute:N", "mechanism:N", "epsilon:Q", "total:Q", "limit:Q"],
    )
    budgets = base.mark_bar(color=PALETTE[0], height=8).encode(x="epsilon:Q")
    limits = base.transform_filter("isValid(datum.limit)").mark_tick(
        color=PALETTE[1], thickness=3, height=18
    )
    return finish(
        (totals + budgets + limits.encode(x="limit:Q")).properties(
            width=WIDTH, height=alt.Step(STEP), title=f"Budgets and totals ({guarantee})"
        )
    )
