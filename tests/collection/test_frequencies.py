"""Estimated frequencies and joint frequencies: unbiased, with standard errors that are
right.
"""

import csv
import io

import numpy as np
import pytest
from scipy import stats

from plan_examples import (
    collected,
    counts,
    forms_plan,
    people,
    plan_for,
    product,
    table_of,
)
from seepage._core.errors import DomainError, InputError
from seepage._core.nearest_distribution import nearest_distribution
from seepage.collection import cell_sums
from seepage.mechanisms.arrow_reports import reports_from_arrow
from seepage.mechanisms.mechanism_registry import mechanism, registered

NAMES = sorted(registered())
FAMILIES = [
    "grr",
    "she",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("oue", "olh", "ss")),
]
DRAWS = 420
JOINT = np.array([[180, 60, 20], [40, 140, 20], [10, 70, 260], [100, 0, 100]])
PAIRS, CODES = table_of(JOINT)
TRUTH = JOINT / JOINT.sum()

PLAUSIBLE = 1e-4
IMPOSSIBLE = 1e-5
"""A true claim must be more likely than the first, a false one less likely than the
second."""


def plan_with(name, epsilon=1.0):
    return plan_for(
        PAIRS, epsilon, name, delta=1e-3 if registered()[name].approximate else 0.0
    )


def unlikeliest(squares, scale=1.0):
    """The two-sided p-value of a sum of squared standard normal numbers over scale
    squared.
    """
    total = float(np.sum(squares)) / scale**2
    tail = stats.chi2(np.size(squares)).sf(total)
    return 2 * min(tail, 1 - tail)


def scores(estimate, truth, draws, which="conditional_errors"):
    """Standardised errors of independent collections; each takes one cell, so they stay
    apart.
    """
    found = [estimate(draw) for draw in range(draws)]
    cells = [draw % truth.size for draw in range(draws)]
    return np.array(
        [
            (f.frequencies.ravel()[c] - truth.ravel()[c]) / getattr(f, which).ravel()[c]
            for f, c in zip(found, cells, strict=True)
        ]
    )


@pytest.mark.parametrize("name", ["grr", pytest.param("ss", marks=pytest.mark.slow)])
def test_frequencies_agree_within_their_conditional_errors(name):
    plan, truth = plan_with(name), TRUTH.sum(axis=1)
    rng = np.random.default_rng(5)
    found = scores(
        lambda _: plan.estimate(collected(plan, CODES, rng))["a"], truth, DRAWS
    )
    assert unlikeliest(found**2) > PLAUSIBLE
    assert unlikeliest(found**2, 0.7) < IMPOSSIBLE
    assert unlikeliest(found**2, 1.3) < IMPOSSIBLE


@pytest.mark.parametrize("name", FAMILIES)
def test_tables_agree_within_their_standard_errors(name):
    plan, size = plan_with(name), len(CODES[0])
    rng = np.random.default_rng(6)

    def estimate(_):
        drawn = rng.integers(0, size, size)
        codes = [column[drawn] for column in CODES]
        return plan.table(collected(plan, codes, rng), "a", by="b")

    found = scores(estimate, TRUTH, DRAWS, "standard_errors")
    assert unlikeliest(found**2) > PLAUSIBLE
    assert unlikeliest(found**2, 0.7) < IMPOSSIBLE
    assert unlikeliest(found**2, 1.3) < IMPOSSIBLE


def columns_of(reports):
    return [
        reports_from_arrow(column, field)
        for column, field in zip(reports.columns, reports.schema, strict=True)
    ]


def one_hot(made, report):
    """The unbiased one-hot vector of one report: its own estimate."""
    return made.estimate(report).frequencies


@pytest.mark.parametrize("name", NAMES)
def test_inversion_is_the_mean_of_products(name):
    plan = plan_with(name)
    reports = collected(
        plan, [column[::25] for column in CODES], np.random.default_rng(7)
    )
    first, second = columns_of(reports)
    products = [
        np.outer(
            one_hot(plan.mechanisms["a"], first[i : i + 1]),
            one_hot(plan.mechanisms["b"], second[i : i + 1]),
        )
        for i in range(len(first))
    ]
    found = plan.table(reports, "a", by="b")
    assert np.allclose(found.frequencies, np.mean(products, axis=0), atol=1e-9)


@pytest.mark.parametrize("name", ["grr", "exp", "approximate-grr"])
def test_inversion_of_values_is_that_of_the_kronecker_product(name):
    plan = plan_with(name)
    reports = collected(plan, CODES, np.random.default_rng(7))
    first, second = (column.values.astype(int) for column in columns_of(reports))
    counted = np.bincount(first * 3 + second, minlength=12) / len(first)
    channels = [plan.mechanisms[attribute].channel().T for attribute in "ab"]
    solved = np.linalg.solve(np.kron(*channels), counted)
    assert np.allclose(
        plan.table(reports, "a", by="b").frequencies.ravel(), solved, atol=1e-12
    )


@pytest.mark.parametrize("name", NAMES)
def test_contributions_are_the_tallies_of_single_reports(name):
    made = plan_with(name).mechanisms["a"]
    reports = made.perturb(CODES[0][::50], rng=1)
    fast = made.contributions(reports)
    slow = [made.tally(reports[row : row + 1]) for row in range(len(reports))]
    assert np.allclose(fast, slow)
    scale, shift = made.one_hot_map
    expected = made.estimate(reports).frequencies
    assert np.allclose((fast.mean(axis=0) - shift) / scale, expected)


@pytest.mark.parametrize("name", ["grr", "she"])
def test_sums_do_not_depend_on_how_many_reports_are_multiplied_at_once(
    name, monkeypatch
):
    plan = plan_with(name)
    codes = [np.tile(column, 20) for column in CODES]
    reports = collected(plan, codes, np.random.default_rng(3))
    whole = plan.estimate(reports), plan.table(reports, "a", by="b")
    monkeypatch.setattr(cell_sums, "CHUNK_ENTRIES", 1 if name == "grr" else 1 << 10)
    pieces = plan.estimate(reports), plan.table(reports, "a", by="b")
    assert pieces[0].records == whole[0].records == len(reports) == 20_000
    for attribute in "ab":
        one, other = (part[0][attribute] for part in (whole, pieces))
        assert one.frequencies == pytest.approx(other.frequencies, rel=1e-9, abs=1e-9)
        assert one.standard_errors == pytest.approx(
            other.standard_errors, rel=1e-9, abs=1e-9
        )
    assert pieces[1].values == pytest.approx(whole[1].values, rel=1e-9, abs=1e-9)
    assert np.allclose(pieces[1].covariance, whole[1].covariance, rtol=1e-9, atol=1e-12)
    with pytest.raises(InputError, match="reports must not be empty, got none"):
        plan.estimate(reports[:0])


def test_the_error_of_one_report_is_not_known():
    plan = plan_with("grr")
    found = plan.estimate(collected(plan, CODES, np.random.default_rng(3))[:1])
    assert np.isinf(found["a"].standard_errors).all()


def test_consistent_frequencies_are_the_nearest_distributions():
    plan = plan_for(counts(), 0.5)
    reports = plan.perturb(people(300))
    raw = plan.estimate(reports)
    near = plan.estimate(reports, consistent=True)
    for name in plan.domain.names:
        assert np.allclose(
            near[name].frequencies, nearest_distribution(raw[name].frequencies)
        )
        assert np.array_equal(near[name].standard_errors, raw[name].standard_errors)
        assert np.array_equal(
            near[name].conditional_errors, raw[name].conditional_errors
        )
    assert near.to_dict()["consistent"]


def test_attributes_that_tell_nothing_are_listed():
    pairs = counts()
    plan = forms_plan(pairs, [product(sex=1.0, job=0.0, age=1.0, ill=0.0)])
    reports = plan.perturb(people(200))
    found = plan.estimate(reports)
    assert found.unestimated == ("job", "ill")
    assert list(found.estimates) == ["sex", "age"]
    with pytest.raises(
        InputError, match="reports of 'job' at epsilon 0 carry no information"
    ):
        found["job"]
    with pytest.raises(InputError, match="do not determine the table of sex and job"):
        plan.table(reports, "sex", by="job")


def test_joints_of_nonsense_are_rejected():
    plan = plan_for(counts(), 1.0)
    reports = plan.perturb(people(100))
    with pytest.raises(InputError, match="must be different, got sex, sex"):
        plan.table(reports, "sex", by="sex")
    with pytest.raises(DomainError, match="did you mean 'sex'"):
        plan.table(reports, "sax", by="job")


def test_results_as_json_and_csv():
    plan = plan_for(counts(), 1.0)
    reports = plan.perturb(people(100))
    found = plan.estimate(reports)
    content = found.to_dict()
    assert content["records"] == 100
    assert content["attributes"]["job"]["values"] == list(plan.domain["job"].values)
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert len(rows) == 2 + 4 + 3 + 2
    assert float(rows[2]["frequency"]) == found["job"].frequencies[0]
    joint = plan.table(reports, "sex", by="job")
    cells = list(csv.DictReader(io.StringIO(joint.to_csv())))
    values = [(c["sex"], c["job"]) for c in cells]
    assert values[:2] == [("F", "clerk"), ("F", "nurse")]
    assert (
        float(cells[5]["estimate"])
        == joint.frequencies[1, 1]
        == joint["M", "nurse"].value
    )
    assert joint.to_dict()["cells"]["estimate"] == joint.frequencies.ravel().tolist()
    assert repr(found) == "Frequencies(100 reports, 4 attributes, unbiased)"
    assert repr(joint).startswith("Table(sex by job, 100 reports, as precise as ")


def test_a_constant_attribute_is_certain():
    pairs, codes = table_of([[5], [7], [3]])
    plan = plan_for(pairs, 1.0)
    reports = collected(plan, codes, np.random.default_rng(1))
    assert plan.estimate(reports)["b"].frequencies.tolist() == [1.0]
    assert plan.table(reports, "a", by="b").frequencies.shape == (3, 1)
    assert mechanism("grr", 1, 1.0).support == (1.0, 0.0)


def test_a_share_is_a_number_with_an_error():
    plan = plan_for(PAIRS, 2.0)
    found = plan.estimate(collected(plan, CODES, np.random.default_rng(1)))
    share = found.share("b", "b1")
    assert share.value == found["b"].frequencies[1]
    assert share.standard_error == found["b"].standard_errors[1]
    low, high = share.interval
    assert np.isclose(high - low, 2 * 1.959964 * share.standard_error)
    with pytest.raises(InputError, match="no value 'b9'"):
        found.share("b", "b9")
