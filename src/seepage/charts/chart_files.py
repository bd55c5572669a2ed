"""Charts as SVG, PNG and PDF files, and inline in pages."""

from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup

from seepage._core import checks, threads
from seepage._core.errors import InputError
from seepage._core.files import whole_file
from seepage.charts.altair_import import alt

# Display in notebooks -----------------------------------------------------------------


class _Picture:
    """Mixin that displays an Altair chart as SVG, unless an Altair renderer was
    enabled.

    Altair's default renderer writes a script that loads Vega from a content delivery
    network, so that a notebook without a network shows nothing.  JupyterLab, Notebook
    and VS Code show SVG, and nbconvert keeps it.  ``altair.renderers.enable("html")``
    takes precedence.
    """

    def _repr_mimebundle_(self, *args: Any, **kwds: Any) -> Any:
        """Return the chart's picture as notebooks display it, an SVG."""
        if alt.renderers.active != "default":
            return super()._repr_mimebundle_(*args, **kwds)  # type: ignore[misc]
        drawn = StringIO()
        self.save(drawn, format="svg")  # type: ignore[attr-defined]
        text = "<chart; `save_chart` writes it to a file>"
        return {"image/svg+xml": drawn.getvalue(), "text/plain": text}


class ChartPicture(_Picture, alt.Chart):
    """A single chart."""


class LayerPicture(_Picture, alt.LayerChart):
    """Charts above each other."""


class ConcatPicture(_Picture, alt.ConcatChart):
    """Charts in a grid."""


class HConcatPicture(_Picture, alt.HConcatChart):
    """Charts beside each other."""


class VConcatPicture(_Picture, alt.VConcatChart):
    """Charts below each other."""


PICTURES: dict[type[Any], type[Any]] = {
    alt.Chart: ChartPicture,
    alt.LayerChart: LayerPicture,
    alt.ConcatChart: ConcatPicture,
    alt.HConcatChart: HConcatPicture,
    alt.VConcatChart: VConcatPicture,
}
"""The subclass with SVG display of each chart class."""


def as_picture(chart: Any) -> Any:
    """Return a copy of a chart that notebooks display as SVG."""
    kind = PICTURES.get(type(chart), type(chart))
    # The fields of a chart's specification are the keywords of its class, as in
    # `Chart.copy`.
    return kind(**chart._kwds)


# Files --------------------------------------------------------------------------------

MIN_ADDRESS_SPACE = 96
"""GiB of address space that vl-convert's V8 reserves; it ends the process where it
cannot."""


FORMATS = (".svg", ".png", ".pdf")
"""Endings of the formats of charts."""


def chart_ending(path: str | Path) -> str:
    """Return the ending of a chart's file; raise an InputError for an unknown
    format.
    """
    ending = checks.path(path).suffix.lower()
    if ending not in FORMATS:
        raise InputError(
            f"a chart's file must end in {', '.join(FORMATS)}, got {Path(path).name!r}"
        )
    return ending


def save_chart(chart: Any, path: str | Path) -> None:
    """Write an Altair chart as SVG, PNG or PDF, by the ending of the path.

    The file is written atomically.

    Examples
    --------
    >>> import seepage as sp
    >>> sp.save_chart(None, "chart.gif")
    Traceback (most recent call last):
        ...
    seepage.InputError: a chart's file must end in .svg, .png, .pdf, got
    'chart.gif'
    """
    ending = chart_ending(path)
    checks.instance(chart, "chart", alt.TopLevelMixin, "an Altair chart")
    checks.need("vl_convert", "vl-convert-python", f"a chart as {ending}")
    threads.need_address_space(MIN_ADDRESS_SPACE, "drawing a chart")
    drawn: Any = StringIO() if ending == ".svg" else BytesIO()
    scale = {"scale_factor": 2} if ending == ".png" else {}
    with whole_file(path) as file:
        chart.save(drawn, format=ending[1:], **scale)
        content = drawn.getvalue()
        file.write(content.encode() if ending == ".svg" else content)


def inline_svg(chart: Any, label: str) -> Markup | None:
    """Return an Altair chart as an SVG element for a page, coloured by the page's style
    sheet.

    Each mark's description is its tooltip.  Without a background, so that it suits a
    dark page. None where vl-convert, which some platforms lack, is not installed or
    cannot run.
    """
    if (
        not checks.is_installed("vl_convert")
        or threads.address_space() < MIN_ADDRESS_SPACE
    ):
        return None
    drawn = StringIO()
    chart.save(drawn, format="svg")
    root = ElementTree.fromstring(
        drawn.getvalue().replace(' xmlns="http://www.w3.org/2000/svg"', "", 1)
    )
    for mark in list(root.iter()):
        if mark.get("role") == "graphics-symbol" and mark.tag != "g":
            tip = ElementTree.Element("title")
            tip.text = mark.get("aria-label")
            mark.insert(0, tip)
    root.attrib.update({"class": "picture", "role": "img", "aria-label": label})
    root.remove(root[0])
    return Markup(ElementTree.tostring(root, encoding="unicode"))
