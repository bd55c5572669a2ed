"""The looks that all charts share: colour-blind safe, readable in print."""

from typing import Any

__all__ = ["PALETTE", "finish", "table"]

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
