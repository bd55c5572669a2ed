"""The common style of all charts: names that can be drawn, colours, panels and axes.

A chart is an Altair object made from rows of plain numbers and names, and knows nothing
of the result that it draws.  Names and values come from a table, so `printable_names`
escapes what Vega cannot draw.  `finish` applies the style, and lets notebooks display a
chart as SVG without a network.
"""

import re
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeAlias

from seepage._core.errors import escaped
from seepage.charts.altair_import import alt
from seepage.charts.chart_files import as_picture

Rows: TypeAlias = list[dict[str, Any]]


Drawn = ParamSpec("Drawn")
"""The parameters of a chart function."""


# Names that can be drawn --------------------------------------------------------------

OBJECT_MEMBERS = {
    *(
        "__defineGetter__",
        "__defineSetter__",
        "__lookupGetter__",
        "__lookupSetter__",
        "__proto__",
    ),
    *("constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable"),
    *("toLocaleString", "toString", "valueOf"),
}
"""Members of every JavaScript object: Vega takes them for signals and groups that it
knows."""


HIDDEN = ("Cc", "Cn", "Cs", "Zl", "Zp")
"""Unicode categories that are not drawn: controls, surrogates, unassigned, separators
of lines."""


SCRIPT = re.compile(r"<(?=/?script|!--)", re.IGNORECASE)
"""Tags that open or close a script; notebooks embed a chart in a script element."""


def printable_names(draw: Callable[Drawn, Any]) -> Callable[Drawn, Any]:
    r"""Decorate a chart function: all texts in its arguments become texts that Vega can
    draw.

    Characters that XML does not permit and other control characters are escaped, as in
    ``a\x1b`` (the renderer would abort the process); ``</script`` and the like get a
    blank after the ``<`` (in a notebook Altair writes a chart into a script of the
    page); names that every JavaScript object has, such as ``constructor``, get a blank
    at the end (Vega fails at them).  Distinct texts stay distinct.

    Examples
    --------
    >>> @printable_names
    ... def drawn(rows):
    ...     return rows
    >>> drawn([{"name": "a\x1b"}, {"name": "toString"}, {"name": "plain <b>"}])
    [{'name': 'a\\x1b'}, {'name': 'toString '}, {'name': 'plain <b>'}]
    """

    @wraps(draw)
    def with_printable_names(*args: Drawn.args, **kwargs: Drawn.kwargs) -> Any:
        """Call the chart function with texts that Vega can draw."""
        texts: dict[str, str] = {}
        _with_changed_texts([args, kwargs], lambda text: texts.setdefault(text, text))
        names = _printable(texts)
        shown = _with_changed_texts([args, kwargs], lambda text: names.get(text, text))
        return draw(*shown[0], **shown[1])

    return with_printable_names


def _with_changed_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return an argument of a chart with every text in dicts, lists and tuples
    changed.
    """
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {
            _with_changed_texts(key, change): _with_changed_texts(content, change)
            for key, content in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_with_changed_texts(item, change) for item in value]
    return value


def _printable(names: dict[str, str]) -> dict[str, str]:
    """Return a unique replacement for each name that a chart cannot draw as it is."""
    changed: dict[str, str] = {}
    taken = {*names, *OBJECT_MEMBERS}
    for name in names:
        drawn = SCRIPT.sub("< ", escaped(name, HIDDEN))
        if drawn != name or name in OBJECT_MEMBERS:
            while drawn in taken:
                drawn += " "
            taken.add(drawn)
            changed[name] = drawn
    return changed


# Colours and panels -------------------------------------------------------------------

PALETTE = [
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#8C6D31",
]
"""Okabe and Ito's colours, and a brown: distinguishable with any colour vision."""


STEP = 22
"""Height of an attribute's row, in pixels."""


MAX_LABEL = 320
"""Maximum width of an attribute's name beside its row, in pixels."""


DIAGONAL = {"color": "#777777", "strokeDash": [4, 3], "strokeWidth": 1}
"""Style of reference lines."""


def titled(title: str, name: str) -> str:
    """Return the title of a chart followed by the name of the data, if it has one."""
    return f"{title}: {name}" if name else title


def chart_of(rows: Rows) -> Any:
    """Return a chart with its rows inline."""
    return alt.Chart(alt.Data(values=rows))  # type: ignore[no-untyped-call]


def distinct_in(rows: Rows, key: str) -> list[Any]:
    """Return the distinct values of a key of a chart's rows, in the order in which they
    first occur.
    """
    return list(dict.fromkeys(row[key] for row in rows))


def coloured(field: str, order: list[str], title: str = "", **more: Any) -> Any:
    """Return the style of a chart's colours by a field, with `PALETTE` in this order
    and a legend.
    """
    scale = alt.Scale(domain=order, range=PALETTE)
    return alt.Color(f"{field}:N", title=title or None, sort=order, scale=scale, **more)


def in_rows(field: str, order: list[str] | None = None, **axis: Any) -> Any:
    """Return the style of names as a chart's rows, in this order or by length of the
    bar.
    """
    shown = alt.Axis(labelLimit=MAX_LABEL, **axis)
    return alt.Y(f"{field}:N", sort=order or "-x", title=None, axis=shown)


def limit_marks(base: Any, field: str = "limit", colour: str = PALETTE[1]) -> Any:
    """Return the limits of attributes in the style of marks, on a chart whose rows are
    attributes.
    """
    limited = base.transform_filter(f"isValid(datum.{field})")
    return limited.mark_tick(color=colour, thickness=3, height=18).encode(
        x=f"{field}:Q"
    )


def in_panels(
    rows: Rows,
    draw: Callable[[str, Rows], Any],
    size: tuple[int, int],
    *,
    key: str = "panel",
    columns: int = 2,
    same_y: bool = False,
) -> Any:
    """Return one panel of a chart for each value of a key, side by side.

    Parameters
    ----------
    rows
        The rows of all panels.
    draw
        Function from a panel's name and rows to its chart; a chart without a title gets
        the name.
    size
        Width and height of a panel, in pixels.
    key
        The key of the panel's name in a row.
    columns
        The number of panels in a row.
    same_y
        Whether all panels share the vertical scale.
    """
    panels = []
    for name in distinct_in(rows, key):
        drawn = draw(name, [row for row in rows if row[key] == name])
        title = name if drawn.title is alt.Undefined else drawn.title
        panels.append(drawn.properties(width=size[0], height=size[1], title=title))
    chart = alt.concat(*panels, columns=columns)
    return finish(chart.resolve_scale(y="shared") if same_y else chart)


def finish(chart: Any, title: str = "", subtitle: str = "", **size: Any) -> Any:
    """Return a chart in the common style that notebooks display without a network.

    Parameters
    ----------
    chart
        An Altair chart.
    title, subtitle
        Its title; none if empty.
    size
        Its `width` and `height`, in pixels or as `alt.Step`.
    """
    if title:
        size["title"] = alt.TitleParams(title, subtitle=subtitle) if subtitle else title
    chart = chart.properties(**size)
    return as_picture(
        chart.configure_axis(labelFontSize=12, titleFontSize=13, gridColor="#e5e5e5")
        .configure_legend(labelFontSize=12, titleFontSize=12)
        .configure_title(fontSize=14, anchor="start")
        .configure_view(stroke=None)
    )


CURVES = 400, 280
"""Width and height of a panel of lines, in pixels."""


DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3]]
"""Dash patterns: solid, then three dashed ones."""


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
    """Return lines in the common style of charts, one panel for each value of `panel`.

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
        The end of the vertical axis, where lines are cut; by default all are drawn
        whole.
    """
    side: Any = "top" if len(distinct_in(rows, "panel")) > 1 else "right"
    entries = alt.Legend(
        labelLimit=320, symbolType="stroke", symbolSize=300, orient=side
    )
    scale = alt.Scale() if top is None else alt.Scale(domain=[0, top])
    dashes = [DASHES[(dashed or {}).get(name, 0)] for name in series]

    def draw(panel: str, of_panel: Rows) -> Any:
        """Draw one panel of curves."""
        dots = alt.OverlayMarkDef(size=28)
        lines = (
            chart_of(of_panel)
            .mark_line(point=dots, strokeWidth=2, clip=top is not None)
            .encode(
                x=alt.X("x:Q", title=x_title),
                y=alt.Y("y:Q", title=of_panel[0]["axis"], scale=scale),
                color=coloured("series", series, legend=entries),
                strokeDash=alt.StrokeDash(
                    "series:N",
                    sort=series,
                    scale=alt.Scale(domain=series, range=dashes),
                ),
                tooltip=["series:N", "x:Q", "y:Q"],
            )
        )
        if not diagonal:
            return lines
        return _diagonal(max(row["x"] for row in of_panel), diagonal) + lines

    return in_panels(rows, draw, CURVES)


def _diagonal(end: float, label: str) -> Any:
    """Return the grey line y = x of a chart from 0 to `end`, with a label at its
    end.
    """
    line = chart_of([{"x": 0, "y": 0}, {"x": end, "y": end}]).mark_line(**DIAGONAL)
    text = chart_of([{"x": end, "y": end, "text": label}]).mark_text(
        color=DIAGONAL["color"], align="right", dx=-6, dy=-6, fontSize=11
    )
    return line.encode(x="x:Q", y="y:Q") + text.encode(x="x:Q", y="y:Q", text="text:N")
