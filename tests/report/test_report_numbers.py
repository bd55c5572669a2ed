"""Numbers on the page, computed in the browser, against those of Python."""

import os
from itertools import product

import numpy as np
import pytest
from report_pages import analysed

import seepage as sp
from seepage.study.correlation import correlation_matrix
from seepage.totals.composition import independent_totals

AGREEMENT = 1e-3
MECHANISMS = [None, "grr", "rappor", "oue", "exp", "blh", "olh", "she", "ss"]
MATRIX = "Array.from(seepage.state.matrix)"
SET = """const set = (selector, value, event) => { const control = document.querySelector(selector);
  control.value = value; if (control.value !== value) throw new Error(`${selector}: ${value}`);
  control.dispatchEvent(new Event(event, {bubbles: true})); };"""
CHOOSE = f"""([view, choices]) => {{ {SET} set("#view", view, "change");
  return choices.map(([mechanism, epsilon]) => {{ set("#mechanism", mechanism, "change");
    set("#epsilon-number", String(epsilon), "input");
    return [{MATRIX}, document.querySelector("#pair-body").innerText]; }}); }}"""
SPEND = f"""(budgets) => {{ {SET} for (const [name, epsilon] of Object.entries(budgets))
    set(`[aria-label="Budget of ${{name}}, as a number"]`, String(epsilon), "input");
  return [...document.querySelectorAll("[data-total]")].map((node) => +node.dataset.total); }}"""


@pytest.fixture(scope="module")
def sample():
    names = ["age", "workclass", "race", "sex", "native-country", "relationship", "income"]
    return sp.load_pairs("adult").select(names)


def _shown(page, count):
    return np.array(page.evaluate(MATRIX)).reshape(count, count)


def _agrees(page, sample, view, mechanisms, epsilons):
    """The matrix on the page is never below the exact one, and above it by rounding only."""
    choices = list(product(mechanisms, epsilons))
    found = page.evaluate(CHOOSE, [view, [(name or "", epsilon) for name, epsilon in choices]])
    for choice, (matrix, pair) in zip(choices, found, strict=True):
        mechanism, epsilon = choice
        exact = sp.leakage_matrix(sample, epsilon, mechanism=mechanism, view=view).values
        shown = np.reshape(matrix, exact.shape)
        assert (shown >= exact - 1e-7).all(), choice
        assert (shown <= exact + AGREEMENT).all(), choice
        assert "tells nothing" not in pair


def test_every_mechanism_and_view_agrees(opened, sample):
    page = opened(analysed(sample, limit=3.0))
    for view in ("report", "inferred"):
        _agrees(page, sample, view, MECHANISMS, (0.3, 2.71))


def test_budgets_whose_exponential_overflows_agree(opened, sample):
    _agrees(opened(analysed(sample, 700.0)), sample, "inferred", [None, "olh", "ss"], (90.0, 720.0))


@pytest.mark.slow
@pytest.mark.parametrize("view", ["report", "inferred"])
def test_every_mechanism_agrees_from_small_to_overflowing_budgets(opened, sample, view):
    """Local hashing has at most 2^16 buckets: above epsilon 11 its guess keeps getting better."""
    _agrees(opened(analysed(sample, limit=3.0)), sample, view, MECHANISMS, (0.3, 1.0, 2.71, 8.0))
    large = (1.0, 30.0, 90.0, 700.0, 720.0, 875.0)
    _agrees(opened(analysed(sample, 700.0)), sample, view, MECHANISMS, large)


def test_totals_agree_for_budgets_of_all_kinds(opened, sample):
    page = opened(analysed(sample, 0.7, "grr", limit=4.0))
    generator = np.random.default_rng(3)
    for _ in range(3):
        epsilons = generator.uniform(0, 2, len(sample.domain)).round(2)
        shown = page.evaluate(SPEND, dict(zip(sample.domain.names, epsilons.tolist(), strict=True)))
        exact = independent_totals(sp.leakage_matrix(sample, epsilons, mechanism="grr"))[0]
        assert np.all(np.array(shown) >= exact - 1e-6)
        assert np.all(np.array(shown) <= exact + AGREEMENT)


def test_a_pair_shows_what_python_says(opened, adult, adult_page):
    page = opened(adult_page)
    names = list(adult.domain.names)
    page.evaluate(f"seepage.setPair({names.index('sex')}, {names.index('relationship')})")
    exact = sp.leakage_matrix(adult, 1.0)["sex", "relationship"]
    value = float(page.locator("#pair-body [data-value]").first.get_attribute("data-value"))
    assert value == pytest.approx(exact.value, abs=AGREEMENT)
    sentence = page.locator("#pair-body .witness").first.inner_text()
    assert f"“{exact.witness.likelier}”" in sentence
    assert f"{np.exp(exact.value):.3g} times likelier, against " in sentence
    assert sentence.endswith("than before.")
    assert all(f"“{name}”" in sentence for name in exact.witness.likely[:4])
    table = page.locator("#pair-body table").first.inner_text()
    for metric in ("mi", "nmi", "pcc"):
        expected = correlation_matrix(adult, metric)["sex", "relationship"]
        assert f"{expected:.4f}" in table


def test_smoothing_and_unseen_values_are_kept(opened):
    domain = sp.Domain([sp.Attribute("a", ("x", "y", "never")), sp.Attribute("b", ("0", "1", "2"))])
    pairs = sp.PairCounts(domain, [[60, 40, 0], [50, 48, 2]], [30, 29, 1, 20, 19, 1, 0, 0, 0])
    found = sp.analyse(pairs, 2.0, mechanism="oue", min_count=3.0, prior=0.5)
    page = opened(found)
    assert np.allclose(_shown(page, 2), found.matrix.values, atol=AGREEMENT)
    page.evaluate("seepage.setPair(0, 1)")
    sentence = page.locator("#pair-body .witness").first.inner_text()
    assert "“x”" in sentence
    assert "never" not in sentence


@pytest.mark.slow
@pytest.mark.skipif("SEEPAGE_DATA" not in os.environ, reason="needs the datasets of SEEPAGE_DATA")
def test_the_totals_of_the_faces_agree(opened):
    faces = sp.load_pairs("celeba")
    page = opened(analysed(faces, 1.0, "grr", limit=10.0))
    exact = independent_totals(sp.leakage_matrix(faces, 1.0, mechanism="grr"))[0]
    shown = page.eval_on_selector_all("[data-total]", "all => all.map(n => +n.dataset.total)")
    assert np.all((shown >= exact - 1e-6) & (shown <= exact + AGREEMENT))
