"""Leakages from reports alone: intervals that cover the truth, and exclude what is not
true.
"""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import optimize, stats

from plan_examples import collected, counts, pair_terms, people, plan_for, table_of
from seepage._core.errors import InputError
from seepage.collection.report_leakage import (
    PairTerms,
    _fieller,
    _limits,
    _orders,
    analyse_reports,
    leakage_interval,
)
from seepage.leakage.likely_sets import LikelySets
from seepage.leakage.matrix import leakage_matrix
from seepage.mechanisms.mechanism_registry import registered

JOINT = np.array([[9000, 3000, 3000], [3000, 6000, 6000]])
PAIRS, CODES = table_of(JOINT)


def case(name, pairs=PAIRS, epsilon=2.0):
    delta = 1e-3 if registered()[name].approximate else 0.0
    plan = plan_for(pairs, epsilon, name, delta=delta)
    return plan, leakage_matrix(pairs, 0.0, mechanism=plan.mechanisms)


@pytest.mark.parametrize(
    ("name", "draws"),
    [("grr", 150), pytest.param("oue", 100, marks=pytest.mark.slow), ("she", 60)],
)
def test_intervals_cover_the_truth_and_little_else(name, draws):
    plan, matrix = case(name)
    rng = np.random.default_rng(8)
    truth = matrix["a", "b"].value
    sets = plan.mechanisms["b"].likely_sets
    found = np.array(
        [
            leakage_interval(
                pair_terms(plan, collected(plan, CODES, rng), "a", "b"), sets, 0.9
            )
            for _ in range(draws)
        ]
    )
    estimate, lower, upper = found.T
    assert (lower <= estimate).all()
    assert (estimate <= upper).all()

    def covered(value):
        return float(((lower <= value) & (value <= upper)).mean())

    assert covered(truth) >= stats.binom(draws, 0.9).ppf(1e-4) / draws
    assert abs(estimate.mean() - truth) < 0.15 * truth
    if name != "she":
        assert covered(0.6 * truth) < 0.5
        assert covered(1.4 * truth) < 0.5


SHAPES = st.tuples(st.integers(2, 5), st.integers(2, 7))


@given(
    hnp.arrays(np.int64, SHAPES, elements=st.integers(1, 99)),
    st.sampled_from([0.1, 0.6, 1.0, 3.0]),
    st.integers(1, 6),
)
def test_without_noise_the_best_set_is_found(joint, contrast, size):
    """All reports in groups that agree: limits and estimate are the exact leakage."""
    groups = np.stack([joint] * 10).astype(float)
    terms = PairTerms(groups, groups.sum(axis=2), groups.sum(axis=(1, 2)))
    channel = joint / joint.sum(axis=1, keepdims=True)
    for sets in (
        LikelySets("singletons", contrast),
        LikelySets("all", contrast),
        LikelySets("subsets", contrast, min(size, joint.shape[1] - 1)),
    ):
        exact = float(sets.largest(channel[None])[0])
        for part in ("estimate", "lower", "upper"):
            found = max(
                float(
                    getattr(
                        _limits(terms, x, _orders(terms, x, sets), sets, 0.05), part
                    ).max()
                )
                for x in range(len(joint))
            )
            assert np.isclose(found, exact, atol=1e-6)


def test_limits_of_a_rare_value_are_the_whole_range():
    pairs, codes = table_of([[20_000, 20_000], [20_000, 20_000], [9, 1]])
    plan, _ = case("grr", pairs, 1.0)
    reports = collected(plan, codes, np.random.default_rng(2))
    sets = plan.mechanisms["b"].likely_sets
    found = leakage_interval(pair_terms(plan, reports, "a", "b"), sets, 0.95)
    assert found.lower < 0.05
    assert found.upper > 0.5 > found.lower + 0.4
    back = leakage_interval(
        pair_terms(plan, reports, "b", "a"), plan.mechanisms["a"].likely_sets, 0.95
    )
    assert back.upper < 0.3


def test_independent_attributes_leak_nothing():
    pairs, codes = table_of([[20_000, 10_000], [20_000, 10_000]])
    plan, matrix = case("grr", pairs, 1.0)
    assert matrix.values.max() == 0
    excluded = 0
    highest = 0.0
    for seed in range(20):
        reports = collected(plan, codes, np.random.default_rng(seed))
        found = analyse_reports(plan, reports)["a", "b"]
        excluded += found.lower > 0
        highest = max(highest, found.upper)
    assert excluded <= 4
    assert highest < 0.25


@pytest.mark.parametrize("name", sorted(registered()))
def test_almost_without_noise_the_interval_is_narrow(name):
    plan, matrix = case(name, epsilon=6.0)
    reports = collected(plan, CODES, np.random.default_rng(4))
    found = analyse_reports(plan, reports)
    for pair in (("a", "b"), ("b", "a")):
        truth = matrix[pair].value
        interval = found[pair]
        assert interval.lower - 0.05 <= truth <= interval.upper + 0.05
        assert interval.upper - interval.lower < 1.0


def test_fieller_limits_invert_the_t_test():
    rng = np.random.default_rng(9)
    whole = rng.normal(10.0, 2.0, (30, 1, 1))
    part = 0.4 * whole + rng.normal(0.0, 1.0, (30, 1, 1))
    spreads = [groups - groups.mean(axis=0) for groups in (whole, part)]
    low, high = _fieller(whole.sum(axis=0), part.sum(axis=0), *spreads, 0.025)

    def excess(ratio):
        left = (part - ratio * whole).ravel()
        return abs(stats.ttest_1samp(left, 0.0).statistic) - stats.t(29).isf(0.025)

    middle = float(part.sum() / whole.sum())
    assert np.isclose(low.item(), optimize.brentq(excess, middle - 1, middle))
    assert np.isclose(high.item(), optimize.brentq(excess, middle, middle + 1))


def test_fieller_limits_are_infinite_if_the_denominator_may_be_0():
    whole = np.array([[1.0]])
    part = np.array([[0.5]])
    wide = np.array([[[5.0]], [[-5.0]], [[3.0]], [[-3.0]]])
    low, high = _fieller(whole, part, wide, wide / 2, 0.025)
    assert (low.item(), high.item()) == (-np.inf, np.inf)


def test_reports_that_cannot_leak():
    plan, _ = case("grr")
    terms = pair_terms(plan, collected(plan, CODES, np.random.default_rng(1)), "a", "b")
    for sets in (LikelySets("all", 0.0), LikelySets("subsets", 1.0, 3)):
        assert leakage_interval(terms, sets, 0.95) == (0.0, 0.0, 0.0)


def test_few_reports_give_the_whole_range():
    plan, _ = case("grr", epsilon=1.0)
    reports = collected(
        plan, [column[:5] for column in CODES], np.random.default_rng(1)
    )
    found = analyse_reports(plan, reports)["a", "b"]
    assert (found.leakage, *found.interval) == (0.0, 0.0, pytest.approx(1.0))


def test_an_unbounded_contrast_has_an_unbounded_limit():
    joint = [[5000, 5000, 0], [0, 5000, 5000]]
    pairs, codes = table_of(joint)
    plan, matrix = case("gauss", pairs, 4.0)
    assert matrix["a", "b"].delta > 0
    found = analyse_reports(plan, collected(plan, codes, np.random.default_rng(1)))
    assert np.isinf(found["a", "b"].upper)


def test_an_analysis_is_saved_as_csv():
    plan = plan_for(counts(), 2.0)
    found = analyse_reports(plan, plan.perturb(people(20_000)))
    assert (found.records, found.confidence, len(found.leaks)) == (20_000, 0.95, 12)
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    first = found[rows[0]["target"], rows[0]["source"]]
    assert [float(rows[0][key]) for key in ("leakage", "lower", "upper")] == [
        *(first.leakage, *first.interval)
    ]
    strongest = found.strongest(1)[0]
    assert strongest.lower == max(leak.lower for leak in found.leaks.values())
    with pytest.raises(InputError, match="about 'sex' from 'sex' is not estimated"):
        found["sex", "sex"]


# Groups of reports --------------------------------------------------------------------


def test_groups_have_the_sums_of_the_table():
    plan = plan_for(counts(), 1.0)
    reports = plan.perturb(people(1000))
    terms = pair_terms(plan, reports, "sex", "age")
    assert len(terms.sizes) == 64
    assert np.ptp(terms.sizes / terms.sizes.mean()) <= 1 / 15
    table = plan.table(reports, "sex", by="age")
    assert terms.joint.sum(axis=0) / terms.sizes.sum() == pytest.approx(
        table.frequencies
    )
    back = pair_terms(plan, reports, "age", "sex")
    assert back.joint == pytest.approx(terms.joint.swapaxes(1, 2))
    alone = plan.estimate(reports)["sex"].frequencies
    assert terms.marginal.sum(axis=0) / terms.sizes.sum() == pytest.approx(alone)


def test_there_are_no_groups_without_reports():
    """An empty group would count as evidence that groups agree."""
    plan = plan_for(counts(), 1.0)
    terms = pair_terms(plan, plan.perturb(people(7)), "sex", "age")
    assert len(terms.sizes) == 7
    assert terms.sizes.min() > 0


def test_reports_are_assigned_to_groups_cyclically():
    """Sorted people must not make groups differ."""
    plan = plan_for(counts(), 30.0, "grr")
    reports = plan.perturb(people(6_400).sort_by("sex"))
    terms = pair_terms(plan, reports, "sex", "age")
    shares = terms.marginal[:, 0] / terms.sizes
    assert len(shares) == 64
    assert np.abs(shares - shares.mean()).max() < 0.02


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, float("nan"), "x"])
def test_confidence_must_be_a_probability(confidence):
    plan, _ = case("grr")
    with pytest.raises(InputError, match="confidence must be"):
        analyse_reports(plan, None, confidence=confidence)
