"""Lines over a budget, with a diagonal for comparison where it helps."""

from typing import Any

from seepage.charts.theme import PALETTE, finish, table

__all__ = ["curve_panels"]

WIDTH, HEIGHT = 400, 280
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3]]


def curve_panels(
    rows: list[dict[str, Any]],
    *,
    x_title: str,
    series: list[str],
    dashed: dict[str, int] | None = None,
    diagonal: str = "",
    legend: str = "",
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
        The dash of a line by its series: 0 solid, 1 to 3 dashes; solid by default.
    diagonal
        What the line y = x means; it is drawn, in grey, where this is not empty.
    legend
        Its title.
    """
    import altair as alt

    many = len({row["panel"] for row in rows}) > 1
    dashes = [DASHES[(dashed or {}).get(one, 0)] for one in series]
    panels = []
    for panel in dict.fromkeys(row["panel"] for row in rows):
        chosen = [row for row in rows if row["panel"] == panel]
        lines = (
            alt.Chart(table(chosen))
            .mark_line(point=alt.OverlayMarkDef(size=28), strokeWidth=2)
            .encode(
                x=alt.X("x:Q", title=x_title),
                y=alt.Y("y:Q", title=chosen[0]["axis"]),
                color=alt.Color(
                    "series:N",
                    title=legend or None,
                    sort=series,
                    scale=alt.Scale(domain=series, range=PALETTE),
                    legend=alt.Legend(
                        labelLimit=320,
                        symbolType="stroke",
                        symbolSize=300,
                        orient="top" if many else "right",
                    ),
                ),
                strokeDash=alt.StrokeDash(
                    "series:N", sort=series, scale=alt.Scale(domain=series, range=dashes)
                ),
                tooltip=["series:N", "x:Q", "y:Q"],
            )
        )
        if diagonal:
            far = max(row["x"] for row in chosen)
            lines = _diagonal(far, diagonal) + lines
        panels.append(lines.properties(width=WIDTH, height=HEIGHT, title=panel))
    return finish(alt.concat(*panels, columns=2))


def _diagonal(far: float, meaning: str) -> Any:
    """Return the grey line y = x up to `far`, with its meaning at the end."""
    import altair as alt

    ends = alt.Chart(table([{"x": 0, "y": 0}, {"x": far, "y": far}]))
    line = ends.mark_line(color="#777777", strokeDash=[4, 3], strokeWidth=1)
    text = alt.Chart(table([{"x": far, "y": far, "text": meaning}])).mark_text(
        color="#777777", align="right", dx=-6, dy=-6, fontSize=11
    )
    return line.encode(x="x:Q", y="y:Q") + text.encode(x="x:Q", y="y:Q", text="text:N")
