"""Joint frequencies of maximum likelihood, against a plain EM over every single report."""

import numpy as np
import pytest

from plan_examples import collected, plan_for, table_of
from seepage.collection import joint as likelihood
from seepage.collection.joint import MAX_GAP, PairLikelihoods
from seepage.mechanisms import registered
from seepage.mechanisms.reports import reports_from_arrow

NAMES = sorted(registered())
JOINT = np.array([[300, 100, 30], [60, 240, 30], [10, 110, 430]])
PAIRS, CODES = table_of(JOINT)
TRUTH = JOINT / JOINT.sum()


def case(name, epsilon=2.0, seed=3):
    delta = 1e-3 if registered()[name].approximate else 0.0
    plan = plan_for(PAIRS, epsilon, name, delta=delta)
    return plan, collected(plan, CODES, np.random.default_rng(seed))


def likelihoods(plan, reports):
    """P(report given value) of every report, one row a report; for both attributes."""
    found = []
    for name, field in zip("ab", reports.schema, strict=True):
        logs = plan.mechanisms[name].log_likelihood(reports_from_arrow(reports[name], field))
        found.append(np.exp(logs - logs.max(axis=1, keepdims=True)))
    return found


def level(first, second, frequencies):
    return float(np.log(np.einsum("iu,uv,iv->i", first, frequencies, second)).sum())


def plain_em(first, second, steps=3000):
    both = (first[:, :, None] * second[:, None, :]).reshape(len(first), -1)
    frequencies = np.full(both.shape[1], 1 / both.shape[1])
    for _ in range(steps):
        frequencies = frequencies * ((1 / (both @ frequencies)) @ both) / len(first)
    return frequencies.reshape(first.shape[1], second.shape[1])


@pytest.mark.parametrize("name", NAMES)
def test_the_estimate_is_the_most_likely_distribution(name):
    plan, reports = case(name)
    found = plan.estimate_joint(reports, "a", "b", method="em")
    assert found.method == "em"
    assert found.records == len(CODES[0])
    assert found.frequencies.min() >= 0
    assert np.isclose(found.frequencies.sum(), 1.0)
    assert found.gap <= MAX_GAP
    first, second = likelihoods(plan, reports)
    reached = level(first, second, found.frequencies)
    rng = np.random.default_rng(1)
    others = [TRUTH, *(rng.dirichlet(np.ones(9)).reshape(3, 3) for _ in range(50))]
    others += [0.95 * found.frequencies + 0.05 * other for other in others]
    assert all(level(first, second, other) <= reached + found.gap for other in others)


@pytest.mark.parametrize("name", ["grr", "olh", "she"])
def test_a_plain_em_comes_to_the_same(name):
    plan, reports = case(name)
    found = plan.estimate_joint(reports, "a", "b", method="em")
    first, second = likelihoods(plan, reports)
    plain = plain_em(first, second)
    reached = [level(first, second, f) for f in (found.frequencies, plain)]
    assert abs(reached[0] - reached[1]) <= 2 * MAX_GAP
    assert np.abs(found.frequencies - plain).max() < 0.02


@pytest.mark.parametrize("name", ["grr", "oue", "ss", "blh"])
def test_counting_sets_and_single_reports_agree(name, monkeypatch):
    plan, reports = case(name)
    counted = plan.estimate_joint(reports, "a", "b", method="em")
    monkeypatch.setattr(likelihood, "MAX_SET_PAIRS", 0)
    single = plan.estimate_joint(reports, "a", "b", method="em")
    first, second = likelihoods(plan, reports)
    reached = [level(first, second, f.frequencies) for f in (counted, single)]
    assert abs(reached[0] - reached[1]) <= MAX_GAP
    assert single.records == counted.records


def test_a_sample_says_how_many_reports_it_rests_on(monkeypatch):
    plan, reports = case("oue")
    monkeypatch.setattr(likelihood, "MAX_SET_PAIRS", 0)
    monkeypatch.setattr(likelihood, "SAMPLE_SIZE", 400)
    found, again = (plan.estimate_joint(reports, "a", "b", method="em") for _ in range(2))
    assert 300 < found.records < 500
    assert np.array_equal(found.frequencies, again.frequencies)
    full = plan.estimate_joint(reports, "a", "b")
    ratio = found.standard_errors / full.standard_errors
    assert np.allclose(ratio, np.sqrt(len(CODES[0]) / found.records))


def test_it_is_more_precise_than_inversion_where_cells_are_rare():
    errors = {"inversion": 0.0, "em": 0.0}
    for seed in range(30):
        plan, reports = case("grr", 1.0, seed)
        for method in errors:
            found = plan.estimate_joint(reports, "a", "b", method=method).frequencies
            errors[method] += float(((found - TRUTH) ** 2).sum())
    assert errors["em"] < errors["inversion"]


@pytest.mark.parametrize("epsilon", [1e-3, 30.0, 700.0])
def test_extreme_budgets(epsilon):
    plan, reports = case("grr", epsilon)
    found = plan.estimate_joint(reports, "a", "b", method="em")
    assert np.isfinite(found.frequencies).all()
    assert np.isclose(found.frequencies.sum(), 1.0)
    if epsilon > 1:
        assert np.allclose(found.frequencies, TRUTH, atol=1e-6)


def test_an_alphabet_of_one():
    pairs, codes = table_of([[30], [70]])
    plan = plan_for(pairs, 2.0, "oue")
    reports = collected(plan, codes, np.random.default_rng(1))
    found = plan.estimate_joint(reports, "a", "b", method="em")
    assert found.frequencies.shape == (2, 1)
    assert found.gap <= MAX_GAP


def test_both_forms_of_evidence_agree():
    rng = np.random.default_rng(4)
    first, second = rng.random((4, 3)), rng.random((5, 2))
    counts = rng.integers(0, 4, (4, 5)).astype(float)
    frequencies = rng.dirichlet(np.ones(6)).reshape(3, 2)
    rows, columns = np.nonzero(counts)
    table = PairLikelihoods(first, second, counts)
    listed = PairLikelihoods(first[rows], second[columns], counts[rows, columns])
    assert np.allclose(table.responsibilities(frequencies), listed.responsibilities(frequencies))
    assert np.isclose(table.log_likelihood(frequencies), listed.log_likelihood(frequencies))
