"""Numbers on the page, computed in the browser, against those of Python."""

import os

import numpy as np
import pytest
from report_pages import analysed, synthetic

import seepage as sp
from seepage.designs.calibration import find_budgets
from seepage.plan import Plan
from seepage.study.correlation import correlation_matrix
from seepage.totals.composition import independent_totals

AGREEMENT = 1e-3
MECHANISMS = [None, "grr", "rappor", "oue", "exp", "blh", "olh", "she", "ss"]
MATRIX = "Array.from(seepage.state.matrix)"


@pytest.fixture(scope="module")
def sample():
    names = ["age", "workclass", "race", "sex", "native-country", "relationship", "income"]
    return sp.load_pairs("adult").select(names)


def _shown(page, count):
    return np.array(page.evaluate(MATRIX)).reshape(count, count)


@pytest.mark.parametrize("view", ["report", "inferred"])
def test_every_mechanism_and_view_agrees(opened, sample, view):
    page = opened(analysed(sample, limit=3.0))
    page.select_option("#view", view)
    for mechanism in MECHANISMS:
        page.select_option("#mechanism", mechanism or "")
        for epsilon in (0.3, 1.0, 2.71, 8.0):
            page.fill("#epsilon-number", str(epsilon))
            exact = sp.leakage_matrix(sample, epsilon, mechanism=mechanism, view=view).values
            shown = _shown(page, len(sample.domain))
            assert (shown >= exact - 1e-7).all(), (mechanism, epsilon)
            assert (shown <= exact + AGREEMENT).all(), (mechanism, epsilon)


@pytest.mark.parametrize("view", ["report", "inferred"])
def test_budgets_whose_exponential_overflows_agree(opened, sample, view):
    """Local hashing has at most 2^16 buckets: above epsilon 11 its guess keeps getting better."""
    page = opened(analysed(sample, 700.0))
    page.select_option("#view", view)
    for mechanism in MECHANISMS:
        page.select_option("#mechanism", mechanism or "")
        for epsilon in (1.0, 30.0, 90.0, 700.0, 720.0, 875.0):
            page.fill("#epsilon-number", str(epsilon))
            exact = sp.leakage_matrix(sample, epsilon, mechanism=mechanism, view=view).values
            shown = _shown(page, len(sample.domain))
            assert (shown >= exact - 1e-7).all(), (mechanism, epsilon)
            assert (shown <= exact + AGREEMENT).all(), (mechanism, epsilon)
            assert "tells nothing" not in page.inner_text("#pair-body")


def test_totals_agree_for_budgets_of_all_kinds(opened, adult):
    page = opened(analysed(adult, 0.7, "grr", limit=4.0))
    generator = np.random.default_rng(3)
    for _ in range(3):
        epsilons = generator.uniform(0, 2, len(adult.domain)).round(2)
        for name, epsilon in zip(adult.domain.names, epsilons, strict=True):
            page.get_by_label(f"Budget of {name}, as a number", exact=True).fill(str(epsilon))
        shown = page.eval_on_selector_all("[data-total]", "all => all.map(n => +n.dataset.total)")
        exact = independent_totals(sp.leakage_matrix(adult, epsilons, mechanism="grr"))[0]
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
        expected = correlation_matrix(adult, metric)[
            names.index("sex"), names.index("relationship")
        ]
        assert f"{expected:.4f}" in table


def test_smoothing_and_unseen_values_are_kept(opened):
    domain = sp.Domain([sp.Attribute("a", ("x", "y", "never")), sp.Attribute("b", ("0", "1", "2"))])
    pairs = sp.PairCounts(domain, [[60, 40, 0], [50, 48, 2]], [30, 29, 1, 20, 19, 1, 0, 0, 0])
    from seepage.analysis import Analysis, compared_totals

    matrix = sp.leakage_matrix(pairs, 2.0, mechanism="oue", min_count=3.0, prior=0.5)
    page = opened(Analysis(matrix, compared_totals(pairs, matrix, ["worst"])))
    assert np.allclose(_shown(page, 2), matrix.values, atol=AGREEMENT)
    page.evaluate("seepage.setPair(0, 1)")
    sentence = page.locator("#pair-body .witness").first.inner_text()
    assert "“x”" in sentence
    assert "never" not in sentence


@pytest.mark.parametrize("mechanism", [None, "grr", "ss"])
def test_equal_budgets_agree_and_the_plan_loads(opened, adult, adult_page, tmp_path, mechanism):
    page = opened(adult_page)
    page.select_option("#mechanism", mechanism or "")
    page.fill("#limit", "3.5")
    page.click("#calibrate-equal")
    expected = find_budgets(
        adult, 3.5, guarantee="independent", mechanism=mechanism, audit=False
    ).epsilons
    plan = _downloaded(page, tmp_path)
    assert np.all(np.abs(plan.epsilons - expected) <= AGREEMENT)
    assert plan.guarantee == "independent"
    assert plan.kind == "assumed"
    assert plan.provenance.digest == adult.digest
    _keeps_its_limits(plan, adult, mechanism, 3.5)


@pytest.mark.parametrize("mechanism", [None, "grr", "oue", "ss"])
def test_budgets_per_attribute_keep_limits_and_serve_better(opened, sample, tmp_path, mechanism):
    page = opened(analysed(sample, 1.0, mechanism, limit=2.5))
    page.click("#calibrate-each")
    plan = _downloaded(page, tmp_path)
    _keeps_its_limits(plan, sample, mechanism, 2.5)
    equal = find_budgets(
        sample, 2.5, guarantee="independent", mechanism=mechanism, audit=False
    ).epsilons
    found = _variance(plan.epsilons, sample, mechanism)
    assert found < _variance(equal, sample, mechanism)
    if mechanism in ("grr", "oue"):
        best = find_budgets(
            sample,
            2.5,
            guarantee="independent",
            mechanism=mechanism,
            budgets="per-attribute",
            audit=False,
        )
        assert found < 1.01 * _variance(best.epsilons, sample, mechanism)


@pytest.mark.skipif("SEEPAGE_DATA" not in os.environ, reason="needs the datasets of SEEPAGE_DATA")
def test_the_faces_get_the_budget_of_the_paper(opened, tmp_path):
    faces = sp.load_pairs("celeba")
    page = opened(analysed(faces, 1.0, "grr", limit=10.0))
    exact = independent_totals(sp.leakage_matrix(faces, 1.0, mechanism="grr"))[0]
    shown = page.eval_on_selector_all("[data-total]", "all => all.map(n => +n.dataset.total)")
    assert np.all((shown >= exact - 1e-6) & (shown <= exact + AGREEMENT))
    page.click("#calibrate-equal")
    plan = _downloaded(page, tmp_path)
    assert plan.epsilons == pytest.approx(0.9264, abs=1e-4)
    _keeps_its_limits(plan, faces, "grr", 10.0)


def _downloaded(page, folder):
    with page.expect_download() as download:
        page.click("#download-plan")
    place = folder / "plan.json"
    download.value.save_as(place)
    assert download.value.suggested_filename == "plan.json"
    return Plan.load(place)


def _keeps_its_limits(plan, pairs, mechanism, limit):
    how = None if plan.basis == "bound" else mechanism
    exact = independent_totals(sp.leakage_matrix(pairs, plan.epsilons, mechanism=how))[0]
    assert np.all(exact <= plan.totals + 1e-12)
    assert np.all(plan.totals <= limit)


def _variance(epsilons, pairs, mechanism):
    from seepage.designs.attribute_budgets import weighted_variance
    from seepage.designs.equal_budgets import make_problem

    problem = make_problem(pairs, 1.0, mechanism)
    return weighted_variance(problem, np.ones(len(epsilons)), np.asarray(epsilons))


def test_a_plan_of_odd_names_and_edges_loads(opened, tmp_path):
    names = ['年齢 "quoted" </script>', "a\\b\n\u2028c", "naïve & <b>"]
    pairs = synthetic(3, 3, names=names)
    attributes = [
        sp.Attribute(a.name, a.values, edges)
        for a, edges in zip(
            pairs.domain, [(-np.inf, 1e-7, 2.5, np.inf), (0.0, 1.0, 1e22, 1e300), ()], strict=True
        )
    ]
    pairs = sp.PairCounts(sp.Domain(attributes), pairs.marginals, pairs.counts)
    page = opened(analysed(pairs, 0.5, limit=1.0))
    page.click("#calibrate-equal")
    assert _downloaded(page, tmp_path).domain == pairs.domain
