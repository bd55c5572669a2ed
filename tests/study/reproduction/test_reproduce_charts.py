"""The charts of the items become pictures that carry their labels."""

import re

import pytest

from seepage.charts import curve_panels, save_chart
from seepage.charts.panels import (
    agreement_chart,
    bar_panels,
    histogram_panels,
    spread_panels,
)


def _words(chart, tmp_path):
    save_chart(chart, tmp_path / "chart.svg")
    svg = (tmp_path / "chart.svg").read_text()
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg), svg


def test_bars_with_marks(tmp_path):
    rows = [
        {"panel": panel, "group": group, "series": series, "value": 1.0, "mark": mark}
        for panel, mark in (("left", 0.9), ("right", None))
        for group in ("occupation", "education")
        for series in ("GRR", "OUE")
    ]
    chart = bar_panels(
        rows, "Leakage (nats)", mark="closed form", colour_title="Mechanism"
    )
    words, svg = _words(chart, tmp_path)
    for word in (
        "left; black: closed form",
        "right",
        "Leakage (nats)",
        "occupation",
        "GRR",
        "OUE",
    ):
        assert word in words
    assert svg.count('aria-roledescription="bar"') == 8


@pytest.mark.parametrize("diagonal", ["", "leakage = epsilon"])
def test_curves(tmp_path, diagonal):
    rows = [
        {
            "panel": "CelebA",
            "axis": "Leakage (nats)",
            "series": series,
            "x": x,
            "y": x / 2,
        }
        for series in ("exact", "sum")
        for x in (1.0, 2.0)
    ]
    chart = curve_panels(
        rows,
        x_title="Epsilon",
        series=["exact", "sum"],
        dashed={"sum": 1},
        diagonal=diagonal,
    )
    words, _ = _words(chart, tmp_path)
    for word in ("CelebA", "Leakage (nats)", "Epsilon", "exact", "sum"):
        assert word in words
    assert ("leakage = epsilon" in words) == bool(diagonal)


def test_histograms(tmp_path):
    rows = [
        {"data": series, "from": low, "to": low + 0.5, "share": 0.5}
        for series in ("CelebA", "CVD")
        for low in (0.0, 0.5)
    ]
    words, svg = _words(histogram_panels(rows, "Leakage", "Share"), tmp_path)
    assert {"CelebA", "CVD", "Leakage", "Share"} <= set(words)
    assert svg.count('aria-roledescription="bar"') == 4


def test_spreads(tmp_path):
    numbers = {
        "mean": 0.4,
        "standard_deviation": 0.1,
        "least": 0.35,
        "most": 0.9,
        "pairs": 9,
    }
    bins = {"from": 0.4, "to": 0.5}
    rows = [{"metric": metric, **bins, **numbers} for metric in ("NMI", "PCC")]
    words, svg = _words(spread_panels(rows, "Leakage (nats)"), tmp_path)
    assert {"NMI", "PCC against leakage", "Leakage (nats)"} <= set(words)
    assert svg.count("NMI: 0.45; low: 0.35; high: 0.5") == 1


@pytest.mark.parametrize(("log", "x"), [(True, 1e-5), (False, 0.0)])
def test_agreement(tmp_path, log, x):
    rows = [
        {"panel": "p", "series": s, "kind": k, "label": "l", "x": x + i, "y": x + i}
        for i, (s, k) in enumerate((("CelebA", "GRR"), ("Adult", "OUE")))
    ]
    words, _ = _words(agreement_chart(rows, "printed", "ours", log=log), tmp_path)
    assert {"p", "printed", "ours", "CelebA", "Adult", "GRR", "OUE"} <= set(words)


def test_a_legend_with_one_entry_is_left_out(tmp_path):
    rows = [
        {"panel": "p", "series": "pair", "kind": "pair", "label": "l", "x": i, "y": i}
        for i in (1, 2)
    ]
    words, _ = _words(agreement_chart(rows, "a", "b", log=False), tmp_path)
    assert "pair" not in words
