"""The robust bound against brute force over all rows in reach, on a grid and by linear programs."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from seepage import leakage_bound, leakage_matrix
from seepage.errors import InputError
from seepage.leakage import robust_bound
from seepage.leakage.likely_sets import LikelySets
from seepage.leakage.robust_bound import Ball, Box, uncertainty_set

RADII = st.floats(0.001, 0.6)


@st.composite
def channels(draw, most_columns=6):
    rows, columns = draw(st.integers(2, 4)), draw(st.integers(2, most_columns))
    cells = draw(st.lists(st.integers(0, 12), min_size=rows * columns, max_size=rows * columns))
    counts = np.array(cells, dtype=float).reshape(rows, columns)
    counts[counts.sum(axis=1) == 0] = 1
    return counts / counts.sum(axis=1, keepdims=True)


def proper_sets(size):
    return [np.array(s, bool) for s in itertools.product([0, 1], repeat=size)][1:-1]


def supremum(channel, epsilon, largest, least):
    """Return the maximum over x != x' and S of the log-ratio of two extreme masses."""
    growth, rows, best = math.expm1(epsilon), range(len(channel)), -math.inf
    for s in proper_sets(channel.shape[1]):
        high = [math.log1p(growth * largest(x, s)) for x in rows]
        low = [math.log1p(growth * least(y, s)) for y in rows]
        best = max(best, *(high[x] - low[y] for x, y in itertools.permutations(rows, 2)))
    return best


def extreme_mass(row, likely, radius=None, limits=None, sign=1):
    """Return the most (or least) mass of S over rows in reach, by a linear program."""
    t = len(row)
    if limits is not None:
        found = linprog(-sign * likely, A_eq=np.ones((1, t)), b_eq=[1], bounds=limits)
    else:  # q with sum |q - row| <= 2 r, through the parts by which it is above and below
        objective = np.concatenate([-sign * likely, np.zeros(t)])
        above = np.hstack([np.eye(t), -np.eye(t)])
        below = np.hstack([-np.eye(t), -np.eye(t)])
        size = np.concatenate([np.zeros(t), np.ones(t)])[None]
        found = linprog(
            objective,
            A_ub=np.vstack([above, below, size]),
            b_ub=np.concatenate([row, -row, [2 * radius]]),
            A_eq=np.concatenate([np.ones(t), np.zeros(t)])[None],
            b_eq=[1],
            bounds=[(0, None)] * (2 * t),
        )
    assert found.success
    return -sign * found.fun


@settings(max_examples=12, deadline=None)
@given(channels(4), st.floats(0.1, 5.0), RADII)
def test_a_ball_agrees_with_linear_programs(channel, epsilon, radius):
    truth = supremum(
        channel,
        epsilon,
        lambda x, s: extreme_mass(channel[x], s.astype(float), radius),
        lambda x, s: max(0.0, extreme_mass(channel[x], s.astype(float), radius, sign=-1)),
    )
    assert leakage_bound(channel, epsilon, radius=radius).value == pytest.approx(truth, abs=1e-7)


@settings(max_examples=12, deadline=None)
@given(channels(4), st.floats(0.1, 5.0), st.floats(0.001, 0.4))
def test_a_box_agrees_with_linear_programs(channel, epsilon, half):
    limits = [
        list(zip(np.maximum(row - half, 0), np.minimum(row + half, 1), strict=True))
        for row in channel
    ]
    truth = supremum(
        channel,
        epsilon,
        lambda x, s: extreme_mass(channel[x], s.astype(float), limits=limits[x]),
        lambda x, s: max(0.0, extreme_mass(channel[x], s.astype(float), limits=limits[x], sign=-1)),
    )
    found = leakage_bound(channel, epsilon, uncertainty=half).value
    assert found == pytest.approx(truth, abs=1e-7)
    assert found == leakage_bound(channel, epsilon, uncertainty=np.full(channel.shape, half)).value


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_every_row_of_a_ball_on_a_grid(epsilon):
    """No two rows in reach leak more, and some leak as much."""
    channel, radius, parts = np.array([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2]]), 0.1, 20
    grid = (
        np.array([(a, b, parts - a - b) for a in range(parts + 1) for b in range(parts + 1 - a)])
        / parts
    )
    near = [grid[np.abs(grid - row).sum(axis=1) / 2 <= radius + 1e-12] for row in channel]
    worst = max(
        leakage_bound(np.array([first, second]), epsilon).value
        for first in near[0]
        for second in near[1]
    )
    found = leakage_bound(channel, epsilon, radius=radius)
    assert found.value == pytest.approx(worst, abs=1e-12)
    region = Ball(channel, radius)
    high, low = region.masses(np.isin(np.arange(3), found.witness.likely)[:, None] * 1.0)
    growth = math.expm1(epsilon)
    ratio = (1 + growth * high[found.witness.likelier]) / (1 + growth * low[found.witness.other])
    assert math.log(ratio[0]) == pytest.approx(found.value)


@settings(max_examples=150, deadline=None)
@given(channels(9), st.floats(0.01, 8.0), RADII, st.booleans())
def test_the_relaxation_beyond_twelve_values_is_never_below_the_truth(channel, epsilon, size, box):
    region = uncertainty_set(channel, 0.0 if box else size, size if box else None)
    truth = robust_bound._enumerated(region, LikelySets("all", epsilon), channel.shape[1])[0]
    relaxed, likelier, other, likely = region.relaxed(epsilon)
    assert relaxed >= truth - 1e-13
    assert likelier != other
    assert 0 < likely.sum() < channel.shape[1]
    high, low = region.masses(likely[:, None] * 1.0)
    attained = (1 + math.expm1(epsilon) * min(1, high[likelier, 0])) / (
        1 + math.expm1(epsilon) * max(0, low[other, 0])
    )
    assert math.log(attained) <= truth + 1e-12


@pytest.mark.parametrize(("kind", "mean", "most"), [("ball", 0.1, 0.7), ("box", 0.02, 0.25)])
def test_the_relaxation_is_tight(kind, mean, most):
    rng = np.random.default_rng(5)
    excess = []
    for _ in range(60):
        shape = rng.integers(2, 5), rng.integers(5, 9)
        channel = rng.dirichlet(np.ones(shape[1]), size=shape[0])
        region = (
            Ball(channel, rng.uniform(0.01, 0.3))
            if kind == "ball"
            else uncertainty_set(channel, 0.0, rng.uniform(0, 0.2, size=shape))
        )
        epsilon = rng.uniform(0.3, 4)
        exact = robust_bound._enumerated(region, LikelySets("all", epsilon), int(shape[1]))[0]
        excess.append(min(region.relaxed(epsilon)[0], epsilon) - exact)
    assert min(excess) > -1e-13
    assert np.mean(excess) < mean
    assert max(excess) < most


@settings(max_examples=60, deadline=None)
@given(channels(), st.floats(0.0, 50.0), RADII, RADII)
def test_between_the_plain_bound_and_epsilon_and_wider_for_larger_radii(channel, epsilon, one, two):
    less, more = sorted((one, two))
    plain = leakage_bound(channel, epsilon).value
    for name in ("radius", "uncertainty"):
        small = leakage_bound(channel, epsilon, **{name: less}).value
        large = leakage_bound(channel, epsilon, **{name: more}).value
        assert plain <= small <= large + 1e-12 <= epsilon + 1e-12
    assert leakage_bound(channel, epsilon, radius=0) == leakage_bound(channel, epsilon)
    assert leakage_bound(channel, epsilon, radius=1).value == epsilon


def test_many_source_values_and_large_budgets():
    rng = np.random.default_rng(0)
    channel = rng.dirichlet(np.full(30, 0.3), size=8)
    radii = (0.0, 1e-9, 0.01, 0.05, 0.3, 1.0)
    values = [leakage_bound(channel, 2.0, radius=radius).value for radius in radii]
    assert values == sorted(values)
    assert values[1] == pytest.approx(values[0], abs=1e-7)
    assert values[-1] == 2.0
    assert leakage_bound(channel, 700.0, radius=0.01).value == pytest.approx(700, abs=8)
    boxed = [leakage_bound(channel, 2.0, uncertainty=h).value for h in (0, 1e-9, 0.01, 1.0)]
    assert boxed == sorted(boxed)
    assert boxed[1] == pytest.approx(values[0], abs=1e-6)


def test_given_limits_are_a_box():
    channel = np.array([[0.5, 0.5], [0.2, 0.8]])
    lower, upper = channel - 0.05, channel + np.array([[0.1], [0.0]])
    found = leakage_bound(channel, 1.0, uncertainty=[lower, upper])
    growth = math.expm1(1.0)
    # Row 0 may hold up to .55 at either value (its cells add up), row 1 between .2 and .2.
    assert found.value == pytest.approx(math.log((1 + growth * 0.55) / (1 + growth * 0.2)))
    box = Box.tightened(lower, upper)
    assert box.lower.tolist() == [[0.45, 0.45], pytest.approx([0.2, 0.8])]


def test_relaxation_holds_for_all_uncertain_rows():
    channel = np.array([[0.5, 0.5], [0.2, 0.8]])
    found = leakage_bound(channel, 1.0, delta=0.1, radius=0.05)
    share = math.expm1(found.value) / math.expm1(1.0)
    assert found.delta == pytest.approx(0.1 * share)
    assert found.delta <= found.paper_delta <= 0.1
    assert leakage_bound(channel, 0.0, delta=0.1, radius=0.05).delta == pytest.approx(0.04)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"radius": 2}, "radius must be between 0 and 1"),
        ({"radius": 0.1, "uncertainty": 0.1}, "exclude each other"),
        ({"uncertainty": -0.1}, "at least 0"),
        ({"uncertainty": [0.1, 0.1, 0.1]}, "got shape"),
        ({"uncertainty": np.array([[[0.9, 0], [0, 0]], [[1, 1], [1, 1]]])}, "contain the channel"),
    ],
)
def test_invalid_uncertainty_raises(options, message):
    with pytest.raises(InputError, match=message):
        leakage_bound([[0.5, 0.5], [0.2, 0.8]], 1.0, **options)


@pytest.mark.parametrize("mechanism", [None, "grr", "oue", "ss", "public"])
def test_a_matrix_of_robust_bounds(mechanism):
    columns = ["sex", "race", "income"]
    plain = leakage_matrix("adult", 1.0, mechanism=mechanism, columns=columns)
    robust = leakage_matrix("adult", 1.0, mechanism=mechanism, columns=columns, radius=0.02)
    wider = leakage_matrix("adult", 1.0, mechanism=mechanism, columns=columns, radius=0.1)
    assert (plain.values <= robust.values).all()
    assert (robust.values <= wider.values).all()
    assert (robust.values > plain.values).any()
    assert (wider.values <= wider.epsilons).all()
    assert robust["sex", "income"].value == robust.values[0, 2]
    assert "radius=0.02" in repr(robust)
    if mechanism == "grr":
        channel = robust.channel("sex", "income").matrix
        high = np.minimum(channel.max(axis=0) + 0.02, 1)
        low = np.maximum(channel.min(axis=0) - 0.02, 0)
        growth = math.expm1(1.0)
        truth = np.log((1 + growth * high) / (1 + growth * low)).max()
        assert robust.values[0, 2] == pytest.approx(truth)


def test_the_relaxation_at_budget_zero_is_the_distance_of_rows():
    """With epsilon 0 only delta leaks: delta times the largest total variation distance."""
    rows, half = np.array([[0.5, 0.5], [0.2, 0.8]]), 0.05
    found = leakage_bound(rows, 0.0, delta=1e-3, uncertainty=half)
    assert (found.value, found.delta) == (0.0, pytest.approx(1e-3 * (0.3 + 2 * half)))
    assert leakage_bound(rows, 0.0, delta=1e-3, radius=half).delta == found.delta
    draw = np.random.default_rng(2)
    wide = draw.dirichlet(np.ones(4), 3)
    most = leakage_bound(wide, 0.0, delta=0.5, uncertainty=0.1).delta / 0.5
    near = np.abs(wide[:, None] - wide[None]).sum(axis=2).max() / 2
    assert near <= most <= 1
    for _ in range(200):
        moved = np.clip(wide + draw.uniform(-0.1, 0.1, wide.shape), 0, 1)
        inside = np.isclose(moved.sum(axis=1), 1, atol=0.02)
        for a, b in itertools.permutations(moved[inside], 2):
            assert np.maximum(a - b, 0).sum() <= most + 0.02
