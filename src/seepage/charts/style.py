"""The looks that all charts share: colour-blind safe, readable in print.

Writing charts to files, without a browser and without a network.
"""

from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

from seepage._files import whole_file
from seepage.errors import InputError

__all__ = ["FORMATS", "PALETTE", "finish", "save_chart", "table"]

PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31"]
"""Okabe and Ito's colours, and a brown: told apart by people of any colour vision."""


def table(rows: list[dict[str, Any]]) -> Any:
    """Return rows as data that a chart carries inside itself."""
    import altair as alt

    return alt.Data(values=rows)  # type: ignore[no-untyped-call]


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
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise InputError(
            f"a chart's file must end in {', '.join(FORMATS)}, got {Path(path).name!r}"
        )
    binary = ending in (".png", ".pdf")
    drawn: Any = BytesIO() if binary else StringIO()
    inline = {"inline": True} if ending == ".html" else {}
    scale = {"scale_factor": 2} if ending == ".png" else {}
    with whole_file(path) as file:
        chart.save(drawn, format=ending[1:], **inline, **scale)
        file.write(drawn.getvalue() if binary else drawn.getvalue().encode())
