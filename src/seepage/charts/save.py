"""Writing charts to files, without a browser and without a network."""

from pathlib import Path
from typing import Any

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
    final = Path(path)
    if final.suffix.lower() not in FORMATS:
        raise InputError(f"a chart's file must end in {', '.join(FORMATS)}, got {final.name!r}")
    partial = final.with_name(f".partial-{final.name}")
    inline = {"inline": True} if final.suffix.lower() == ".html" else {}
    scale = {"scale_factor": 2} if final.suffix.lower() == ".png" else {}
    try:
        chart.save(str(partial), **inline, **scale)
        partial.replace(final)
    except OSError as problem:
        raise InputError(f"cannot write {str(final)!r}: {problem.strerror}") from None
    finally:
        partial.unlink(missing_ok=True)
