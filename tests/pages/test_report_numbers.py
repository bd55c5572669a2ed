"""Numbers that the page shows in a browser, against those of Python."""

import numpy as np
import pytest
from report_pages import analysed

import seepage as sp
from seepage.analysis.budget_grid import GRID

AGREEMENT = 2e-6
MOVE = """(at) => { const slider = document.querySelector("#epsilon"); slider.value = at;
  slider.dispatchEvent(new Event("input", {bubbles: true}));
  return [Array.from(seepage.matrix()), document.querySelector("#pair-body").innerText]; }"""


def test_every_point_of_the_slider_shows_what_python_computed(opened):
    names = [
        "age",
        "workclass",
        "race",
        "sex",
        "native-country",
        "relationship",
        "income",
    ]
    sample = sp.load_pairs("adult").select(names)
    page = opened(analysed(sample, 0.6, "oue", limit=3.0))
    for at, epsilon in enumerate(sorted({0.6, *GRID})):
        matrix, pair = page.evaluate(MOVE, at)
        exact = sp.leakage_matrix(sample, epsilon, mechanism="oue").values
        assert np.reshape(matrix, exact.shape) == pytest.approx(exact, abs=AGREEMENT)
        assert f"nats at epsilon {epsilon:.2f}" in pair


def test_a_pair_shows_what_python_says(opened, adult, adult_page):
    page = opened(adult_page)
    names = list(adult.domain.names)
    page.evaluate(
        f"seepage.setPair({names.index('sex')}, {names.index('relationship')})"
    )
    exact = sp.leakage_matrix(adult, 1.0)["sex", "relationship"]
    value = float(
        page.locator("#pair-body [data-value]").first.get_attribute("data-value")
    )
    assert value == pytest.approx(exact.value, abs=AGREEMENT)
    sentence = page.locator("#pair-body .witness").first.inner_text()
    assert f"“{exact.witness.likelier}”" in sentence
    assert f"{np.exp(exact.value):.3g} times likelier, against " in sentence
    assert sentence.endswith("than before.")
    assert all(f"“{name}”" in sentence for name in exact.witness.likely[:4])
    channel = adult.channel("sex", "relationship")
    row = page.locator("#pair-body .row.three", has_text="Wife").first.inner_text()
    for sex in ("Male", "Female"):
        share = channel.matrix[channel.given.code(sex), channel.output.code("Wife")]
        assert (f"{100 * share:.1f}%" if share > 0.001 else "<0.1%") in row


def test_smoothing_and_unseen_values_are_kept(opened):
    domain = sp.Domain(
        [sp.Attribute("a", ("x", "y", "never")), sp.Attribute("b", ("0", "1", "2"))]
    )
    pairs = sp.PairCounts(
        domain, [[60, 40, 0], [50, 48, 2]], [30, 29, 1, 20, 19, 1, 0, 0, 0]
    )
    found = sp.analyse(pairs, 2.0, mechanism="oue", min_count=3.0, prior=0.5)
    page = opened(found)
    shown = np.reshape(page.evaluate("Array.from(seepage.matrix())"), (2, 2))
    assert shown == pytest.approx(found.matrix.values, abs=AGREEMENT)
    page.evaluate("seepage.setPair(0, 1)")
    sentence = page.locator("#pair-body .witness").first.inner_text()
    assert "“x”" in sentence
    assert "never" not in sentence
