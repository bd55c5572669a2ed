"""One budget for each attribute: true slopes, honest gains, and every condition kept."""

import numpy as np
import pytest

import seepage as sp
from seepage.data.datasets import make_survey
from seepage.data.records import Records
from seepage.designs.attribute_budgets import total_slopes
from seepage.designs.calibration import find_budgets
from seepage.designs.equal_budgets import make_problem


@pytest.fixture(scope="module")
def few():
    names = ["age", "employment", "income", "coffee", "screen", "sleep"]
    return Records.from_data(make_survey(4_000)).select(names)


def cost_of(pairs, epsilons, weights):
    """Return the weighted variance of GRR, summed over values."""
    return sum(
        w * float(sp.GRR(k, e).variance(1, m / pairs.records).sum())
        for w, k, e, m in zip(weights, pairs.domain.sizes, epsilons, pairs.marginals, strict=True)
        if w
    )


@pytest.mark.parametrize("least", [0.0, 0.95])
def test_left_out_attributes_and_minimum_budgets_constrain_budgets_per_attribute(few, least):
    pairs = few.pairs()
    weights = dict.fromkeys(few.domain.names, 1e-3) | {"coffee": 1.0}
    found = find_budgets(
        pairs, 2.0, guarantee="independent", mechanism="grr", budgets="per-attribute",
        left_out=["income"], weights=weights, least=least,
    )  # fmt: skip
    equal = find_budgets(pairs, 2.0, guarantee="independent", mechanism="grr", left_out=["income"])
    assert equal.epsilons.max() > 0.95
    assert (found.epsilons[equal.epsilons > 0] >= least).all()
    assert found.totals.values.max() <= 2.0
    assert (found.dropped, found["income"]) == ((), 0.0)
    assert (found.epsilons.argmax(), found.gain > 1.2) == (few.domain.index("coffee"), True)
    given = [weights[name] * (name != "income") for name in few.domain.names]
    gain = cost_of(pairs, equal.epsilons, given) / cost_of(pairs, found.epsilons, given)
    assert found.gain == pytest.approx(gain)


def test_slopes_are_derivatives_of_the_totals():
    """Also where a report's contrast is not its epsilon, and beside public attributes."""
    domain = sp.Domain([sp.Attribute(f"a{k}", tuple("abcd"[:k])) for k in (2, 3, 4)])
    pairs = Records.from_joint(domain, np.random.default_rng(4).integers(9, 60, (2, 3, 4))).pairs()
    epsilons, step = np.array([0.7, 1.1, 0.4]), 1e-5
    for mechanism, public in (("exp", ()), ("oue", ()), (["grr", "exp", "oue"], ["a2"])):
        problem = make_problem(pairs, 2.0, mechanism, public)
        limited = ~problem.public
        slopes = total_slopes(problem, problem.epsilons(epsilons))[limited]
        for source in np.flatnonzero(limited):
            moved = step * np.eye(3)[source]
            ends = [
                problem.independent(problem.epsilons(epsilons + end))[limited]
                for end in (moved, -moved)
            ]
            assert slopes[:, source] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-7)
