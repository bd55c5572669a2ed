"""What charts share: colours, panels, and files written without a browser or a network."""

from collections.abc import Callable
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, TypeAlias

from seepage import _checks
from seepage._files import whole_file
from seepage.errors import InputError

Rows: TypeAlias = list[dict[str, Any]]

PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31"]
"""Okabe and Ito's colours, and a brown: told apart by people of any colour vision."""


DIAGONAL = {"color": "#777777", "strokeDash": [4, 3], "strokeWidth": 1}
"""The looks of lines that guide the eye."""


def chart_of(rows: Rows) -> Any:
    """Return a chart that carries its rows inside itself."""
    import altair as alt

    return alt.Chart(alt.Data(values=rows))  # type: ignore[no-untyped-call]


def distinct_in(rows: Rows, key: str) -> list[Any]:
    """Return the distinct values of a key, in the order in which they first occur."""
    return list(dict.fromkeys(row[key] for row in rows))


def coloured(field: str, order: list[str], title: str = "", **more: Any) -> Any:
    """Return a colour for each name, in this order, with a legend."""
    import altair as alt

    scale = alt.Scale(domain=order, range=PALETTE)
    return alt.Color(f"{field}:N", title=title or None, sort=order, scale=scale, **more)


def in_panels(
    rows: Rows,
    draw: Callable[[str, Rows], Any],
    size: tuple[int, int],
    *,
    key: str = "panel",
    columns: int = 2,
    same_y: bool = False,
) -> Any:
    """Return one panel for each value of a key, side by side.

    Parameters
    ----------
    rows
        The rows of all panels.
    draw
        Makes a panel from its name and rows; a panel without a title gets its name.
    size
        Width and height of a panel.
    key
        The key that names a row's panel.
    columns
        How many panels stand side by side.
    same_y
        Whether all panels have one vertical scale.
    """
    import altair as alt

    panels = []
    for name in distinct_in(rows, key):
        drawn = draw(name, [row for row in rows if row[key] == name])
        title = name if drawn.title is alt.Undefined else drawn.title
        panels.append(drawn.properties(width=size[0], height=size[1], title=title))
    together = alt.concat(*panels, columns=columns)
    return finish(together.resolve_scale(y="shared") if same_y else together)


def finish(chart: Any) -> Any:
    """Return a chart in the common style."""
    return (
        chart.configure_axis(labelFontSize=12, titleFontSize=13, gridColor="#e5e5e5")
        .configure_legend(labelFontSize=12, titleFontSize=12)
        .configure_title(fontSize=14, anchor="start")
        .configure_view(stroke=None)
    )


FORMATS = (".svg", ".png", ".pdf", ".html", ".json")


def save_chart(chart: Any, path: str | Path) -> None:
    """Write an Altair chart as SVG, PNG, PDF, HTML or JSON, by the ending of the path.

    The file appears only when it is complete.

    Examples
    --------
    >>> import seepage as sp
    >>> sp.save_chart(None, "chart.gif")
    Traceback (most recent call last):
        ...
    seepage.errors.InputError: a chart's file must end in .svg, .png, .pdf, .html, .json, ...
    """
    ending = _checks.path(path).suffix.lower()
    if ending not in FORMATS:
        raise InputError(
            f"a chart's file must end in {', '.join(FORMATS)}, got {Path(path).name!r}"
        )
    from altair import TopLevelMixin

    _checks.instance(chart, "chart", TopLevelMixin, "an Altair chart")
    binary = ending in (".png", ".pdf")
    drawn: Any = BytesIO() if binary else StringIO()
    inline = {"inline": True} if ending == ".html" else {}
    scale = {"scale_factor": 2} if ending == ".png" else {}
    with whole_file(path) as file:
        chart.save(drawn, format=ending[1:], **inline, **scale)
        file.write(drawn.getvalue() if binary else drawn.getvalue().encode())
