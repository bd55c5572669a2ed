"""Writing charts to files, without a browser and without a network."""

from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

from seepage._output import whole_file
from seepage.errors import InputError

__all__ = ["FORMATS", "save_chart"]

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
