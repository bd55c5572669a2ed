"""Charts as files: SVG, PNG, PDF, HTML and JSON, written without a browser or a network."""

from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import altair as alt
from markupsafe import Markup

from seepage import _checks
from seepage._files import whole_file
from seepage._pages import render_page
from seepage.errors import InputError

MIN_ADDRESS_SPACE = 96
"""GiB of address space that vl-convert's V8 reserves; it ends the process where it cannot."""

FORMATS = (".svg", ".png", ".pdf", ".html", ".json")


def chart_ending(path: str | Path) -> str:
    """Return the ending of a chart's file; raise an InputError for an unknown format."""
    ending = _checks.path(path).suffix.lower()
    if ending not in FORMATS:
        raise InputError(
            f"a chart's file must end in {', '.join(FORMATS)}, got {Path(path).name!r}"
        )
    return ending


def save_chart(chart: Any, path: str | Path) -> None:
    """Write an Altair chart as SVG, PNG, PDF, HTML or JSON, by the ending of the path.

    The file is written atomically.

    Notes
    -----
    The HTML page holds the chart as an SVG picture whose marks have their numbers as tooltips.  It
    has no script, and its content security policy permits none: Vega would have to compile
    expressions on the page (`unsafe-eval`), beside names that come from a table.

    Examples
    --------
    >>> import seepage as sp
    >>> sp.save_chart(None, "chart.gif")
    Traceback (most recent call last):
        ...
    seepage.errors.InputError: a chart's file must end in .svg, .png, .pdf, .html, .json, ...
    """
    ending = chart_ending(path)
    _checks.instance(chart, "chart", alt.TopLevelMixin, "an Altair chart")
    if ending != ".json":
        _checks.need("vl_convert", "vl-convert-python", f"a chart as {ending}")
    if ending != ".json" and (given := _checks.address_space()) < MIN_ADDRESS_SPACE:
        raise InputError(
            f"drawing a chart needs an address space (ulimit -v) of {MIN_ADDRESS_SPACE} GiB, got "
            f"{given:.2f} GiB; a chart as .json needs none"
        )
    binary = ending in (".png", ".pdf")
    drawn: Any = BytesIO() if binary else StringIO()
    scale = {"scale_factor": 2} if ending == ".png" else {}
    with whole_file(path) as file:
        chart.save(drawn, format="svg" if ending == ".html" else ending[1:], **scale)
        content = drawn.getvalue()
        if ending == ".html":
            content = render_page("chart.html", Path(path).stem, picture=_with_tooltips(content))
        file.write(content if binary else content.encode())


def inline_svg(chart: Any, label: str) -> Markup | None:
    """Return an Altair chart as an SVG element for a page, coloured by the page's style sheet.

    Each mark's description is its tooltip.  Without a background, so that it suits a dark page.
    None where vl-convert, which some platforms lack, is not installed or cannot run.
    """
    if not _checks.is_installed("vl_convert") or _checks.address_space() < MIN_ADDRESS_SPACE:
        return None
    drawn = StringIO()
    chart.save(drawn, format="svg")
    return _with_tooltips(
        drawn.getvalue(), {"class": "picture", "role": "img", "aria-label": label}
    )


def _with_tooltips(picture: str, attributes: dict[str, str] | None = None) -> Markup:
    """Return an SVG element in which each mark's description is its tooltip.

    With attributes, they are set and the background is removed.
    """
    root = ElementTree.fromstring(picture.replace(' xmlns="http://www.w3.org/2000/svg"', "", 1))
    for mark in list(root.iter()):
        if mark.get("role") == "graphics-symbol" and mark.tag != "g":
            tip = ElementTree.Element("title")
            tip.text = mark.get("aria-label")
            mark.insert(0, tip)
    if attributes is not None:
        root.attrib.update(attributes)
        root.remove(root[0])
    return Markup(ElementTree.tostring(root, encoding="unicode"))
