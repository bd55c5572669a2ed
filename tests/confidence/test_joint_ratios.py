"""Joint limits of ratios: against a fine grid of the region, coverage, the largest of
all.
"""

import math
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import binom

from seepage.confidence.joint_ratios import (
    PeopleOfValue,
    Ratios,
    joint_excesses,
    joint_is_narrower,
    joint_log_ratios,
    largest_joint_excess,
    largest_joint_ratios,
    regrets,
    separate_log_ratios,
)
from seepage.confidence.mean_limits import kl_inf_interval, mixture_radius

WEIGHTS = np.exp(-0.8 * np.arange(4))


def groups(rng, number, people, shares):
    """Return samples of some people each, for a number of statements."""
    counts = np.array([rng.multinomial(n, shares) for n in people])
    edges = np.ones(number)
    return PeopleOfValue(
        counts / people[:, None],
        people.astype(float),
        WEIGHTS[-1] * edges,
        WEIGHTS[0] * edges,
    )


def by_grid(above, below, c):
    """Return ln upper/lower over a fine grid of how C is shared."""
    upper, lower = on_the_boundary(above, below, c)
    return np.log(upper / lower).max(axis=1)


def limits_by_radius(group, parts):
    """Return the limits of a group's mean, one for each part of C."""
    return kl_inf_interval(
        WEIGHTS,
        group.shares[:, None],
        parts / group.people[:, None],
        group.low[:, None],
        group.high[:, None],
        rounds=10,
    )


def on_the_boundary(above, below, c):
    """Return the two means along the boundary of the region, one row per statement."""
    total = (c + regrets(above.people) + regrets(below.people))[:, None]
    share = np.linspace(5e-4, 1 - 5e-4, 2000)
    upper = limits_by_radius(above, share * total).upper
    lower = limits_by_radius(below, (1 - share) * total).lower
    return upper, lower


@pytest.mark.parametrize("c", [3.0, 7.0, 12.0])
def test_joint_limits_are_the_largest_ratio_in_the_region(c):
    rng = np.random.default_rng(0)
    first, second = np.round(np.exp(rng.uniform(4, 9, (2, 200)))).astype(int)
    above = groups(rng, 200, first, [0.2, 0.3, 0.3, 0.2])
    below = groups(rng, 200, second, [0.1, 0.3, 0.3, 0.3])
    found = joint_log_ratios(WEIGHTS, above, below, c)
    truth = by_grid(above, below, c)
    assert (found >= truth - 1e-9).all()
    balanced = joint_is_narrower(above.people, below.people, c)
    assert np.quantile((found - truth)[balanced], 0.9) < 1e-3
    assert np.median(found - truth) < 1e-4


@pytest.mark.parametrize("c", [3.0, 12.0])
def test_joint_excesses_are_the_largest_in_the_region(c):
    rng = np.random.default_rng(5)
    first, second = np.round(np.exp(rng.uniform(4, 9, (2, 200)))).astype(int)
    above = groups(rng, 200, first, [0.2, 0.3, 0.3, 0.2])
    below = groups(rng, 200, second, [0.1, 0.3, 0.3, 0.3])
    factors = np.exp(rng.uniform(0, 2, 200))
    found = joint_excesses(WEIGHTS, above, below, c, factors)
    upper, lower = on_the_boundary(above, below, c)
    truth = (upper - factors[:, None] * lower).max(axis=1)
    assert (found >= truth - 1e-9).all()
    balanced = joint_is_narrower(above.people, below.people, c)
    assert np.quantile((found - truth)[balanced], 0.9) < 1e-3
    ratios = joint_log_ratios(WEIGHTS, above, below, c)
    at_limit = joint_excesses(WEIGHTS, above, below, c, np.exp(ratios))
    assert np.quantile(np.abs(at_limit)[balanced], 0.9) < 2e-3, "0 at the ratio's limit"


def test_each_excess_is_wrong_with_the_probability_of_one_statement():
    rng = np.random.default_rng(6)
    number = 2000
    people = np.full(number, 150)
    shares = np.array([[0.3, 0.3, 0.2, 0.2], [0.2, 0.2, 0.3, 0.3]])
    above = groups(rng, number, people, shares[0])
    below = groups(rng, number, people, shares[1])
    means = shares @ WEIGHTS
    factors = np.full(number, 1.3)
    truth = means[0] - 1.3 * means[1]
    c = math.log(1 / 0.05)
    wrong = (joint_excesses(WEIGHTS, above, below, c, factors) < truth).sum()
    assert wrong <= binom.ppf(1 - 1e-4, number, 0.05)
    little = 0.3 - 2 * float(regrets(np.array([150.0]))[0])
    loose = (joint_excesses(WEIGHTS, above, below, little, factors) < truth).sum()
    assert loose > binom.ppf(1 - 1e-4, number, 0.05)


def test_joint_limits_are_used_where_they_are_narrower():
    rng = np.random.default_rng(1)
    first, second = np.round(np.exp(rng.uniform(4, 10, (2, 300)))).astype(int)
    above = groups(rng, 300, first, [0.2, 0.3, 0.3, 0.2])
    below = groups(rng, 300, second, [0.1, 0.3, 0.3, 0.3])
    joint = joint_log_ratios(WEIGHTS, above, below, 8.0)
    apart = separate_log_ratios(WEIGHTS, above, below, 8.0 + math.log(2))
    used = joint_is_narrower(above.people, below.people, 8.0)
    assert 0.3 < used.mean() < 1.0
    assert np.mean((joint < apart) == used) > 0.85
    assert np.mean(joint[used] / apart[used]) < 0.95


def test_a_value_without_people_has_no_joint_statement():
    none = np.array([0.0])
    assert not joint_is_narrower(none, np.array([100.0]), 5.0).any()
    assert regrets(none).tolist() == [0.0]


def test_each_is_wrong_with_the_probability_of_one_statement():
    """And with a radius of hardly any level far more often: the test can fail."""
    rng = np.random.default_rng(2)
    number = 2000
    people = np.full(number, 150)
    shares = np.array([[0.3, 0.3, 0.2, 0.2], [0.2, 0.2, 0.3, 0.3]])
    above = groups(rng, number, people, shares[0])
    below = groups(rng, number, people, shares[1])
    means = shares @ WEIGHTS
    truth = math.log(means[0] / means[1])
    c = math.log(1 / 0.05)
    wrong = (joint_log_ratios(WEIGHTS, above, below, c) < truth).sum()
    assert wrong <= binom.ppf(1 - 1e-4, number, 0.05)
    little = 0.3 - 2 * float(regrets(np.array([150.0]))[0])
    loose = (joint_log_ratios(WEIGHTS, above, below, little) < truth).sum()
    assert loose > binom.ppf(1 - 1e-4, number, 0.05)


@pytest.mark.parametrize("shares", [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
def test_people_who_all_answer_alike_have_limits_too(shares):
    """Samples without variance, also of reports that tell nothing."""
    edges = np.ones(1)
    alike = PeopleOfValue(
        np.array([shares]), 500 * edges, WEIGHTS[-1] * edges, WEIGHTS[0] * edges
    )
    mixed = alike._replace(shares=np.array([[0.25, 0.25, 0.25, 0.25]]))
    for above, below in ((alike, mixed), (mixed, alike), (alike, alike)):
        found = joint_log_ratios(WEIGHTS, above, below, 6.0)
        assert (found >= by_grid(above, below, 6.0) - 1e-9).all()
        assert (found <= by_grid(above, below, 6.0) + 0.02).all()
    flat = alike._replace(low=edges, high=edges)
    nothing = joint_log_ratios(np.ones(4), flat, flat, 6.0)
    assert nothing == pytest.approx(0.0, abs=1e-8)


def test_the_largest_is_that_of_all_statements():
    rng = np.random.default_rng(3)
    sizes = [2, 1, 4]
    starts = np.array([0, 2, 3])
    people = np.array([300.0, 900.0, 1200.0, 0.0, 40.0, 500.0, 660.0])
    counts = [
        [rng.multinomial(int(n), rng.dirichlet([2.0] * 4)) for n in people]
        for _ in range(9)
    ]
    ratios = Ratios(
        WEIGHTS,
        np.array(counts) / np.maximum(people, 1.0)[:, None],
        people,
        np.full((9, 7), WEIGHTS[-1]),
        np.full((9, 7), WEIGHTS[0]),
    )
    found = largest_joint_ratios(ratios, starts, 6.0, rounds=4)
    for k, (start, size) in enumerate(zip(starts.tolist(), sizes, strict=True)):
        truth = 0.0
        values = range(start, start + size)
        for x in values:
            for other in values:
                if x != other:
                    report = np.arange(9)
                    each = ratios.log_ratios(
                        report, np.full(9, x), np.full(9, other), 6.0
                    )
                    truth = max(truth, each.max())
        assert found[k] == pytest.approx(truth, abs=1e-12)
    assert found[1] == 0.0
    full = math.log(WEIGHTS[0] / WEIGHTS[-1])
    assert found[2] > 0.8 * full, "a value without people may have any distribution"


def test_the_largest_excess_is_that_of_all_statements():
    """Reports with weights of their own; the limits of the targets differ."""
    rng = np.random.default_rng(7)
    sizes = [2, 1, 4]
    starts = np.array([0, 2, 3])
    limits = np.array([0.4, 0.3, 0.2])
    people = np.array([300.0, 900.0, 1200.0, 0.0, 40.0, 500.0, 660.0])
    counts = [rng.multinomial(int(n), rng.dirichlet([2.0] * 4)) for n in people]
    shares = np.array(counts) / np.maximum(people, 1.0)[:, None]
    weights = np.exp(rng.normal(size=(9, 4)) / 3)
    ratios = Ratios(
        weights,
        np.broadcast_to(shares, (9, *shares.shape)),
        people,
        np.repeat(weights.min(axis=1)[:, None], 7, axis=1),
        np.repeat(weights.max(axis=1)[:, None], 7, axis=1),
    )
    found = largest_joint_excess(ratios, starts, 6.0, limits)
    truth = 0.0
    report = np.arange(9)
    for start, size, limit in zip(starts.tolist(), sizes, limits, strict=True):
        factors = np.full(9, math.exp(limit))
        for x, other in permutations(range(start, start + size), 2):
            each = ratios.excesses(
                report, np.full(9, x), np.full(9, other), 6.0, factors
            )
            truth = max(truth, float(each.max()) / math.expm1(limit))
    assert found == pytest.approx(truth, rel=1e-12)
    alone = starts[1:2] - 2
    single = Ratios(weights, ratios.shares[:, 2:3], people[2:3], *ratios[3:])
    single = single._replace(low=ratios.low[:, 2:3], high=ratios.high[:, 2:3])
    assert largest_joint_excess(single, alone, 6.0, limits[1:2]) == 0.0


def test_separate_limits_are_those_of_the_means():
    rng = np.random.default_rng(4)
    people = np.array([200, 400])
    above = groups(rng, 2, people, [0.2, 0.3, 0.3, 0.2])
    upper = kl_inf_interval(
        WEIGHTS, above.shares, mixture_radius(people, 5.0), above.low, above.high
    ).upper
    found = separate_log_ratios(WEIGHTS, above, above, 5.0)
    assert (found > np.log(upper / (above.shares @ WEIGHTS))).all()
