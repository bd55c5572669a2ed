"""Leakages over uncertain rows against linear programs, enumeration and a grid."""

import math
from itertools import permutations, product

import numpy as np
import pytest
from scipy.optimize import linprog

from seepage import leakage_bound
from seepage._core.errors import InputError
from seepage.leakage import uncertain_rows
from seepage.leakage.likely_sets import LikelySets
from seepage.leakage.uncertain_rows import (
    uncertain_leakage,
    uncertain_ratios,
    uncertain_report_ratios,
)


def extreme_likelihood(row, likelihoods, radius, sign):
    """Return the largest (sign 1) or smallest (-1) sum of q w over the distributions q
    within total variation `radius` of a row, by a linear program.
    """
    size = len(row)
    costs = np.concatenate([-sign * likelihoods, np.zeros(size)])
    excess = np.hstack([np.eye(size), -np.eye(size)])  # q - row <= excess
    moved = np.concatenate([np.zeros(size), np.ones(size)])[None]
    result = linprog(
        costs,
        A_ub=np.vstack([excess, moved]),
        b_ub=np.concatenate([row, [radius]]),
        A_eq=np.concatenate([np.ones(size), np.zeros(size)])[None],
        b_eq=[1.0],
    )
    assert result.success
    return -sign * result.fun


def linear_ratio(channel, radii, likelihoods, x, other):
    high = extreme_likelihood(channel[x], likelihoods, radii[x], 1)
    low = extreme_likelihood(channel[other], likelihoods, radii[other], -1)
    return math.log(high / low)


def random_channel(rng, rows, columns):
    """Return rows of a Dirichlet distribution, or of few counts, with zeros and
    ties.
    """
    if rng.random() < 0.5:
        return rng.dirichlet(np.full(columns, 0.6), rows)
    counts = rng.integers(0, 6, (rows, columns)).astype(float)
    counts[counts.sum(axis=1) == 0] = 1.0
    return counts / counts.sum(axis=1, keepdims=True)


def random_case(rng, columns):
    rows = int(rng.integers(2, 5))
    channel = random_channel(rng, rows, columns)
    radii = rng.uniform(0, 0.4, rows) * (rng.random(rows) < 0.8)
    return channel, radii, float(rng.uniform(0.05, 6.0))


def likely_vector(witness, columns):
    return np.isin(np.arange(columns), witness.likely)


def test_never_below_linear_programs_on_500_channels():
    """No report of any mechanism tells more, and the witness tells as much."""
    rng = np.random.default_rng(7)
    for _ in range(500):
        columns = int(rng.integers(2, 17))
        channel, radii, epsilon = random_case(rng, columns)
        leakage = leakage_bound(channel, epsilon, uncertainty=radii)
        own = leakage_bound(channel, epsilon).value
        assert own - 1e-12 <= leakage.value <= epsilon
        x, other = rng.choice(len(channel), 2, replace=False)
        level = rng.choice([0.0, 1.0, rng.random()], columns)
        likelihoods = np.exp(epsilon * level)
        truth = linear_ratio(channel, radii, likelihoods, x, other)
        assert truth <= leakage.value + 1e-7
        if leakage.value == 0:
            continue
        witness = leakage.witness
        likelihoods = np.where(likely_vector(witness, columns), math.exp(epsilon), 1.0)
        attained = linear_ratio(
            channel, radii, likelihoods, witness.likelier, witness.other
        )
        assert attained <= leakage.value + 1e-7
        if columns <= uncertain_rows.MAX_ENUMERATED:
            assert attained == pytest.approx(leakage.value, abs=1e-6)


def proper_sets(columns):
    return [np.array(s, dtype=float) for s in product([0, 1], repeat=columns)][1:-1]


@pytest.mark.parametrize("seed", range(6))
def test_the_supremum_is_that_of_linear_programs_for_every_set(seed):
    rng = np.random.default_rng(seed)
    channel, radii, epsilon = random_case(rng, 4)
    channel = channel[:3]
    radii = radii[:3]
    likelihoods = [1 + math.expm1(epsilon) * s for s in proper_sets(4)]
    truth = max(
        linear_ratio(channel, radii, w, x, other)
        for w in likelihoods
        for x, other in permutations(range(len(channel)), 2)
    )
    value = leakage_bound(channel, epsilon, uncertainty=radii).value
    assert value == pytest.approx(truth, abs=1e-6)


def test_every_pair_of_rows_on_a_grid():
    """No two rows in reach leak more, and some leak as much."""
    channel = np.array([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2]])
    parts = 20
    grid = [
        (a, b, parts - a - b) for a in range(parts + 1) for b in range(parts + 1 - a)
    ]
    rows = np.array(grid) / parts
    near = [rows[np.abs(rows - row).sum(axis=1) / 2 <= 0.1 + 1e-12] for row in channel]
    truth = max(
        leakage_bound([first, second], 2.0).value
        for first in near[0]
        for second in near[1]
    )
    value = leakage_bound(channel, 2.0, uncertainty=0.1).value
    assert value == pytest.approx(truth, abs=1e-12)


def test_curves_are_never_below_every_set_and_close_beyond_enumeration():
    rng = np.random.default_rng(3)
    excess = []
    for _ in range(150):
        columns = int(rng.integers(2, 11))
        channel, radii, epsilon = random_case(rng, columns)
        sets = LikelySets("all", epsilon)
        truth = uncertain_ratios(channel[None], radii[None], sets, np.array([epsilon]))[
            0
        ]
        curve = uncertain_rows._on_curves(channel, radii, epsilon)
        np.fill_diagonal(curve, 0.0)
        assert (curve >= truth * (1 - 1e-12) - 1e-12).all()
    for _ in range(20):
        channel = rng.dirichlet(np.full(12, 0.6), 2)
        radii = np.full(2, 0.05)
        sets = LikelySets("all", 1.0)
        truth = uncertain_ratios(channel[None], radii[None], sets, np.array([1.0]))
        curve = uncertain_rows._on_curves(channel, radii, 1.0)
        np.fill_diagonal(curve, 0.0)
        excess.append(curve.max() - truth.max())
    assert np.mean(excess) < 0.01


@pytest.mark.parametrize("kind", ["singletons", "subsets"])
def test_other_families_of_sets(kind):
    rng = np.random.default_rng(11)
    for _ in range(20):
        columns = int(rng.integers(4, 7))
        channel, radii, epsilon = random_case(rng, columns)
        size = 1 if kind == "singletons" else 2
        sets = LikelySets(kind, epsilon, size)
        masks = [s for s in proper_sets(columns) if s.sum() == size]
        gain = math.expm1(epsilon)
        truth = max(
            math.log1p(gain * min(1, channel[x] @ s + radii[x]))
            - math.log1p(gain * max(0, channel[other] @ s - radii[other]))
            for s in masks
            for x, other in permutations(range(len(channel)), 2)
        )
        value = uncertain_leakage(channel, radii, sets).value
        assert value == pytest.approx(max(0.0, truth), abs=1e-9)


def test_reports_of_a_transition_matrix_agree_with_linear_programs():
    rng = np.random.default_rng(5)
    for _ in range(12):
        columns = int(rng.integers(2, 6))
        channel, radii, _ = random_case(rng, columns)
        transition = random_channel(rng, columns, 3)
        ratios = uncertain_report_ratios(channel, radii, transition)
        for x, other in permutations(range(len(channel)), 2):
            truth = 0.0
            for column in transition.T:
                high = extreme_likelihood(channel[x], column, radii[x], 1)
                low = extreme_likelihood(channel[other], column, radii[other], -1)
                if high > 1e-12:
                    truth = max(truth, math.log(high) - math.log(max(low, 1e-300)))
            if truth < 20:
                assert ratios[x, other] == pytest.approx(truth, abs=1e-6)
            else:
                assert ratios[x, other] > 20


def test_wider_with_the_distance_and_epsilon_in_the_end():
    rng = np.random.default_rng(0)
    channel = rng.dirichlet(np.full(30, 0.3), 8)
    distances = (0.0, 1e-9, 0.01, 0.05, 0.3, 1.0)
    values = [leakage_bound(channel, 2.0, uncertainty=r).value for r in distances]
    assert values == sorted(values)
    assert values[1] == pytest.approx(values[0], abs=1e-7)
    assert values[-1] == 2.0
    assert leakage_bound(channel, 700.0, uncertainty=0.01).value <= 700.0


def test_the_certified_delta_holds_for_rows_in_reach():
    """delta' is at least the hockey-stick divergence of delta-LDP reports on any
    rows.
    """
    channel = np.array([[0.5, 0.5], [0.2, 0.8]])
    leakage = leakage_bound(channel, 1.0, delta=0.1, uncertainty=0.05)
    assert leakage.delta == pytest.approx(
        0.1 * math.expm1(leakage.value) / math.expm1(1.0)
    )
    assert leakage.delta <= leakage.paper_delta <= 0.1
    rng = np.random.default_rng(2)
    for _ in range(200):
        shifts = rng.uniform(-0.05, 0.05, 2)
        rows = channel + shifts[:, None] * [1, -1]
        other = leakage_bound(rows, 1.0, delta=0.1)
        assert other.value <= leakage.value + 1e-12
        excess = max(
            np.maximum(rows[x] - math.exp(leakage.value) * rows[y], 0).sum()
            for x, y in permutations(range(2), 2)
        )
        assert 0.1 * excess <= leakage.delta + 1e-12
    at_zero = leakage_bound(channel, 0.0, delta=0.1, uncertainty=0.05)
    assert at_zero.value == 0.0
    assert at_zero.delta == pytest.approx(0.1 * 0.4)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (2, "uncertainty must be between 0 and 1"),
        ("much", "uncertainty must be a number"),
        ([0.1, 0.1, 0.1], "one number or 2, one for each row"),
    ],
)
def test_a_wrong_uncertainty_raises(value, message):
    with pytest.raises(InputError, match=message):
        leakage_bound([[0.5, 0.5], [0.2, 0.8]], 1.0, uncertainty=value)
