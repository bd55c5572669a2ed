"""Notebooks: results and charts display without a network, and the examples are
current.
"""

import json
import re

import altair as alt
import pytest

import seepage as sp
from pictures import ROOT, script, shown_in
from seepage.charts.chart_files import as_picture

EXAMPLES = sorted((ROOT / "examples").glob("*.ipynb"))


@pytest.fixture(scope="module")
def chart():
    return sp.leakage_matrix("adult", 1.0, columns=["sex", "race", "income"]).chart()


def test_a_survey_an_audit_and_the_papers_figures_are_worked_through():
    assert {"survey", "audit", "paper-figures"} <= {path.stem for path in EXAMPLES}


def test_outputs_do_not_depend_on_the_data_at_hand(monkeypatch, tmp_path):
    adult = sp.dataset("adult")
    for file in adult.files:
        (tmp_path / file.path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file.path).touch()
    monkeypatch.setenv("SEEPAGE_DATA", str(tmp_path))
    source = 'import seepage\nprint(seepage.dataset("adult").at_hand)'
    notebook = {"cells": [{"cell_type": "code", "source": source}]}
    [cell] = script("run_notebook").run(notebook)["cells"]
    assert cell["outputs"][0]["text"] == ["False\n"]
    assert adult.at_hand  # again, after the run


def test_a_renderer_that_a_notebook_enables_ends_with_it():
    source = 'import altair\naltair.renderers.enable("svg")'
    script("run_notebook").run({"cells": [{"cell_type": "code", "source": source}]})
    assert alt.renderers.active == "default"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_shows_what_it_computes(path, tmp_path, monkeypatch):
    if path.stem == "survey":
        pytest.importorskip("statsmodels")  # it has the table
    monkeypatch.chdir(tmp_path)
    saved = json.loads(path.read_text(encoding="utf-8"))
    made = script("run_notebook").run(saved)
    outputs = [
        cell["outputs"] for cell in saved["cells"] if cell["cell_type"] == "code"
    ]
    again = [cell["outputs"] for cell in made["cells"] if cell["cell_type"] == "code"]
    assert _comparable(again) == _comparable(outputs), "run scripts/run_notebook.py"
    kinds = {
        kind for cell in outputs for output in cell for kind in output.get("data", {})
    }
    assert kinds == {"text/html", "text/plain", "image/svg+xml"}
    assert not _fetched(json.dumps(outputs))


def _comparable(outputs):
    """Return outputs as text with each picture as what it shows.

    Identifiers of gradients count the charts of a process, and the last digits of
    numbers depend on which solver it has loaded: neither is compared.
    """
    text = json.dumps(outputs)
    assert "image/svg+xml" in text
    shown = json.dumps(json.loads(text, object_hook=_picture_content))
    shown = re.sub(r"gradient_\d+", "gradient", shown)
    return re.sub(r"\d+\.\d{6,}", lambda number: f"{float(number[0]):.6g}", shown)


def _picture_content(node):
    if "image/svg+xml" in node:
        node["image/svg+xml"] = shown_in("".join(node["image/svg+xml"]))
    return node


def _fetched(text):
    """Return what a display would load from elsewhere; names of XML namespaces are not
    loaded.
    """
    return re.findall(r"<script|src=|url\(\W*http|https?://(?!www\.w3\.org/)", text)


def test_a_chart_is_displayed_without_network(chart):
    bundle = chart._repr_mimebundle_()
    assert set(bundle) == {"image/svg+xml", "text/plain"}
    assert bundle["image/svg+xml"].startswith("<svg")
    assert not _fetched(bundle["image/svg+xml"])
    assert _fetched(alt.Chart(chart.data).mark_point()._repr_mimebundle_()["text/html"])


def test_a_changed_chart_too(chart):
    assert "image/svg+xml" in chart.properties(width=300)._repr_mimebundle_()


def test_a_chosen_renderer_is_obeyed(chart):
    with alt.renderers.enable("mimetype"):
        bundle, *_ = chart._repr_mimebundle_()
    assert any("vegalite" in kind for kind in bundle)


def test_the_specification_stays_the_same():
    drawn = alt.hconcat(
        alt.Chart(alt.Data(values=[{"a": 1}])).mark_point().encode(x="a:Q")
    )
    assert as_picture(drawn).to_dict() == drawn.to_dict()
    assert type(drawn) is alt.HConcatChart


@pytest.mark.parametrize(
    "kind",
    [alt.Chart, alt.LayerChart, alt.ConcatChart, alt.HConcatChart, alt.VConcatChart],
)
def test_every_kind_of_chart_is_displayed(kind):
    one = alt.Chart(alt.Data(values=[{"a": 1}])).mark_point().encode(x="a:Q")
    joined = {
        alt.Chart: one,
        alt.LayerChart: one + one,
        alt.ConcatChart: alt.concat(one, one),
        alt.HConcatChart: one | one,
        alt.VConcatChart: one & one,
    }[kind]
    assert type(joined) is kind
    assert "image/svg+xml" in as_picture(joined)._repr_mimebundle_()
