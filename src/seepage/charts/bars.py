"""Bars side by side, with marks on them and panels beside each other."""

from typing import Any

from seepage.charts.theme import PALETTE, finish, table

__all__ = ["bar_panels"]

WIDTH, HEIGHT = 300, 240


def bar_panels(
    rows: list[dict[str, Any]],
    axis: str,
    *,
    mark: str = "",
    colour_title: str = "",
    x_title: str = "",
    width: int = WIDTH,
    columns: int = 2,
) -> Any:
    """Return grouped bars, one panel for each value of `panel`.

    Parameters
    ----------
    rows
        With `panel`, `group` (along the axis), `series` (the colour), `value`, and perhaps `mark`:
        a second value, or None, drawn as a black line across the bar.
    axis
        The title of the values' axis, with its unit.
    mark
        What the black lines are.
    colour_title, x_title
        The titles of the legend and of the groups' axis.
    width, columns
        Of one panel, and how many stand side by side.
    """
    import altair as alt

    groups = list(dict.fromkeys(row["group"] for row in rows))
    series = list(dict.fromkeys(row["series"] for row in rows))
    x = alt.X(
        "group:N", title=x_title or None, sort=groups, axis=alt.Axis(labelAngle=0, labelLimit=260)
    )
    offset = alt.XOffset("series:N", sort=series)
    panels = []
    for panel in dict.fromkeys(row["panel"] for row in rows):
        chosen = [row for row in rows if row["panel"] == panel]
        base = alt.Chart(table(chosen))
        bars = base.mark_bar().encode(
            x=x,
            xOffset=offset,
            y=alt.Y("value:Q", title=axis),
            color=alt.Color(
                "series:N",
                title=colour_title or None,
                sort=series,
                scale=alt.Scale(domain=series, range=PALETTE),
            ),
            tooltip=["group:N", "series:N", "value:Q"],
        )
        marked = any(row.get("mark") is not None for row in chosen)
        if marked:
            bars += base.mark_tick(color="black", thickness=2).encode(
                x=x, xOffset=offset, y="mark:Q", tooltip=["group:N", "series:N", "mark:Q"]
            )
        caption = f"{panel}; black: {mark}" if marked else panel
        panels.append(bars.properties(width=width, height=HEIGHT, title=caption))
    return finish(alt.concat(*panels, columns=columns).resolve_scale(y="shared"))
