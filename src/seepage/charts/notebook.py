"""Charts that notebooks display as pictures, without a script or a network."""

from io import StringIO
from typing import Any

import altair as alt


class _Picture:
    """Display of an Altair chart as SVG, unless a renderer of Altair's was chosen.

    Altair's default renderer writes a script that loads Vega from a content delivery network, so a
    notebook shows nothing without one.  JupyterLab, Notebook and VS Code show SVG, and nbconvert
    keeps it.  ``altair.renderers.enable("html")`` and its like are obeyed.
    """

    def _repr_mimebundle_(self, *args: Any, **kwds: Any) -> Any:
        if alt.renderers.active != "default":
            return super()._repr_mimebundle_(*args, **kwds)  # type: ignore[misc]
        drawn = StringIO()
        self.save(drawn, format="svg")  # type: ignore[attr-defined]
        words = "<chart; `save_chart` writes it to a file>"
        return {"image/svg+xml": drawn.getvalue(), "text/plain": words}


class PictureChart(_Picture, alt.Chart):
    """A single chart."""


class LayeredPicture(_Picture, alt.LayerChart):
    """Several charts in one plane."""


class PanelledPicture(_Picture, alt.ConcatChart):
    """Panels in rows."""


class AdjacentPicture(_Picture, alt.HConcatChart):
    """Panels side by side."""


class StackedPicture(_Picture, alt.VConcatChart):
    """Panels on top of each other."""


PICTURES: dict[type, Any] = {
    alt.Chart: PictureChart,
    alt.LayerChart: LayeredPicture,
    alt.ConcatChart: PanelledPicture,
    alt.HConcatChart: AdjacentPicture,
    alt.VConcatChart: StackedPicture,
}


def as_picture(chart: Any) -> Any:
    """Return a chart that notebooks display without a network; else it is the same chart."""
    drawn = chart.copy(deep=False)
    # A plain assignment would be a field of the chart's specification.
    object.__setattr__(drawn, "__class__", PICTURES.get(type(chart), type(chart)))
    return drawn
