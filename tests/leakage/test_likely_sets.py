"""The largest log-ratios against every set in exact fractions."""

import math
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import oracles
from seepage._core.log_ratios import log_ratio
from seepage._core.rounding import round_down, round_up
from seepage.leakage.delta import hockey_stick_profile
from seepage.leakage.likely_sets import LikelySets
from strategies import EPSILONS, UNIT, epsilons, just_above, shares, tables

TINY = [
    [[1e-300, 1.0], [2e-300, 1.0]],
    [[1e-300, 0.5, 0.5], [0.5, 1e-300, 0.5], [0.25, 0.25, 0.5]],
    [[1e-300, 1e-200, 1.0], [1e-250, 0.0, 1.0]],
    [[0.0, 1.0], [1e-300, 1.0]],
    [[1e-310, 1.0], [3e-310, 1.0]],
]


def kinds(size, epsilon, count):
    yield LikelySets("all", epsilon), oracles.every_subset
    yield LikelySets("singletons", epsilon), oracles.singletons
    yield LikelySets("subsets", epsilon, count), oracles.subsets_of(count)


@given(tables(), epsilons, st.data())
def test_every_kind_is_just_above_the_best_set(counts, epsilon, data):
    exact, channel = shares(counts)
    size = counts.shape[1]
    count = data.draw(st.integers(1, size), label="inputs made likely")
    for sets, tried in kinds(size, epsilon, count):
        value = sets.largest(channel[None])[0]
        truth = oracles.log1p(oracles.best_ratio(exact, oracles.growth(epsilon), tried))
        assert just_above(value, truth, epsilon, 32 + 8 * size), sets
        assert value <= epsilon


@given(tables(), epsilons, st.data())
def test_the_likely_set_attains_the_value(counts, epsilon, data):
    _, channel = shares(counts)
    size = counts.shape[1]
    count = data.draw(st.integers(1, size), label="inputs made likely")
    for sets, _ in kinds(size, epsilon, count):
        pair = sets.best_pair(channel)
        if pair.value == 0:
            continue
        rows = oracles.exactly(channel)
        chosen = [
            [row[u] for u in np.flatnonzero(pair.likely)]
            for row in (rows[pair.likelier], rows[pair.other])
        ]
        attained = oracles.log1p(oracles.ratio_of(*chosen, oracles.growth(epsilon)))
        assert just_above(pair.value, attained, epsilon, 64 + 8 * size), sets
        assert sets.kind == "all" or pair.likely.sum() == sets.size


@pytest.mark.parametrize(("inputs", "size"), [(6, 2), (6, 3), (6, 5), (40, 2)])
def test_the_best_subset_at_a_large_ratio_is_not_the_best_at_one(inputs, size):
    """Sets of rare inputs win as H grows, so the first set must be left for better
    ones.
    """
    channels = np.random.default_rng(size).dirichlet(np.full(inputs, 0.3), (60, 4))
    every = range(inputs)
    masks = np.array(
        [[u in chosen for u in every] for chosen in combinations(every, size)]
    )
    masses = channels @ masks.T
    for epsilon in (0.5, 3.0, 8.0):
        weights = 1 + math.expm1(epsilon) * masses
        truth = np.log(weights.max(axis=1) / weights.min(axis=1)).max(axis=1)
        found = LikelySets("subsets", epsilon, size).largest(channels)
        assert found == pytest.approx(truth, rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("channel", TINY)
def test_probabilities_of_1e_300(channel, epsilon):
    rows = np.array(channel)
    for sets, tried in kinds(len(channel[0]), epsilon, 1):
        value = sets.largest(rows[None])[0]
        assert just_above(value, oracles.leakage(channel, epsilon, tried), epsilon), (
            sets
        )


@given(
    st.lists(tables(least=3, targets=3, sources=4), min_size=1, max_size=6), st.data()
)
def test_a_stack_gives_what_each_channel_gives_alone(counts, data):
    width = min(table.shape[1] for table in counts)
    channels = np.stack(
        [shares(np.maximum(table[:, :width], 1))[1] for table in counts]
    )
    budgets = np.array([data.draw(epsilons) for _ in counts])
    for kind, size in (("singletons", 1), ("all", 1), ("subsets", min(2, width))):
        together = LikelySets(kind, 0.0, size).largest(channels, budgets)
        for value, channel, budget in zip(
            together, channels, budgets.tolist(), strict=True
        ):
            # NumPy rounds the last digit of an exponential by the layout of its array.
            alone = LikelySets(kind, budget, size).best_pair(channel)
            assert abs(value - alone.value) <= 64 * UNIT


@pytest.mark.parametrize("cells", [1 << 4, 1 << 8])
def test_blocks_change_nothing(monkeypatch, cells):
    channels = np.random.default_rng(3).dirichlet(np.ones(5), (9, 7))
    budgets = np.linspace(0.1, 800, 9)
    families = [
        LikelySets(kind, e, 2 - (kind == "all"))
        for kind in ("all", "subsets")
        for e in budgets
    ]
    whole = [sets.best_pair(channel) for sets in families for channel in channels]
    monkeypatch.setattr("seepage.leakage.dinkelbach.BLOCK", cells)
    parts = [sets.best_pair(channel) for sets in families for channel in channels]
    for one, other in zip(whole, parts, strict=True):
        assert one.value == other.value
        assert (one.likelier, one.other) == (other.likelier, other.other)
        assert np.array_equal(one.likely, other.likely)


@settings(max_examples=40)
@given(tables(least=2), epsilons, st.data())
def test_pairs_of_rows_give_what_their_channel_gives(counts, epsilon, data):
    """The largest over given ordered pairs is that of the channel, before it is rounded
    up.
    """
    _, channel = shares(counts)
    size = counts.shape[1]
    count = data.draw(st.integers(1, size), label="inputs made likely")
    pairs = np.array(list(permutations(range(len(channel)), 2)))
    for sets, tried in kinds(size, epsilon, count):
        values, likely = sets.best_of_pairs(channel[pairs[:, 0]], channel[pairs[:, 1]])
        whole = float(sets.largest(channel[None])[0])
        assert max(float(values.max()), 0.0) == pytest.approx(
            whole, rel=1e-12, abs=1e-14
        )
        assert sets.kind == "all" or (likely.sum(axis=1) == sets.size).all()
        for (first, second), value in zip(pairs.tolist(), values.tolist(), strict=True):
            rows = [channel[first].tolist(), channel[second].tolist()]
            gains = (
                oracles.ratio_of(
                    *([row[u] for u in chosen] for row in oracles.exactly(rows)),
                    oracles.growth(epsilon),
                )
                for chosen in tried(size)
            )
            truth = float(oracles.log1p(max(gains)))
            assert value == pytest.approx(truth, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("rows", [3, 70])
def test_an_infinite_contrast(rows):
    """Where unlikely is impossible, the largest ratio of a source value, or
    infinity.
    """
    channel = np.random.default_rng(4).dirichlet(np.ones(30), rows)
    sets = LikelySets("all", math.inf)
    truth = math.log((channel.max(axis=0) / channel.min(axis=0)).max())
    channel[0, :2] = channel[0, :2].sum(), 0.0
    for many in (np.stack([channel, channel]), channel[None]):
        assert sets.largest(many).tolist() == [math.inf] * len(many)
    assert sets.best_pair(channel).value == math.inf
    channel = np.random.default_rng(4).dirichlet(np.ones(30), rows)
    assert sets.best_pair(channel).value == pytest.approx(truth, rel=1e-13)


def test_an_input_of_probability_0_does_not_change_the_saturation():
    channel = np.array([[[0.6, 0.4, 0.0], [0.5, 0.5, 0.0]]])
    value = LikelySets("singletons", math.inf).largest(channel)[0]
    assert value == pytest.approx(math.log(1.25), rel=1e-14)
    assert value >= math.log(1.25)


def test_a_subset_of_all_values_has_no_leakage():
    channel = np.random.default_rng(0).dirichlet(np.ones(6), (1, 4))
    assert LikelySets("subsets", 3.0, 6).largest(channel)[0] == 0


@given(tables(least=2), st.sampled_from([0.0, 1e-9, 0.3, 1.0, 5.0, 40.0, 650.0, 700.0]))
def test_profile_is_the_largest_sum_of_positive_differences(counts, value):
    _, channel = shares(counts)
    rows, height = oracles.exactly(channel), oracles.growth(value) + 1
    truth = max(
        sum(
            (max(g - height * h, Fraction(0)) for g, h in zip(row, other, strict=True)),
            Fraction(0),
        )
        for row, other in permutations(rows, 2)
    )
    found = hockey_stick_profile(channel, value)
    assert found == pytest.approx(float(truth), rel=1e-12, abs=8 * UNIT)


@pytest.mark.parametrize("epsilon", [*EPSILONS, 1500.0])
@pytest.mark.parametrize(
    ("gap", "low"),
    [
        (1.0, 0.0),
        (0.5, 0.25),
        (1e-16, 0.5),
        (1e-300, 0.0),
        (1e-300, 1e-300),
        (0.5, 1e-300),
        (1.0, 5e-324),
        (-0.25, 0.5),
    ],
)
def test_log_ratio_keeps_its_digits(gap, low, epsilon):
    lam = oracles.growth(epsilon)
    with_gap = 1 + lam * (Fraction(gap) + Fraction(low))
    quotient = with_gap / (1 + lam * Fraction(low)) - 1
    truth = oracles.log1p(quotient)
    found = float(log_ratio(gap, low, epsilon))
    assert abs(Decimal(found) - truth) <= abs(truth) * Decimal(8 * UNIT) + Decimal(
        "5e-324"
    )


def test_log_ratio_at_infinite_epsilon():
    gaps = np.array([0.0, 0.5, 0.25])
    lows = np.array([0.0, 0.0, 0.25])
    assert log_ratio(gaps, lows, np.inf).tolist() == [0.0, math.inf, math.log(2)]


def test_round_up_and_round_down_keep_zero():
    for number in (1e-300, 0.3, 1.0, 1e300):
        assert round_down(number, 1) < number < round_up(number, 1)
        assert round_up(number, 100) == pytest.approx(number, rel=1e-13)
    assert round_up(0.0, 5) == round_down(0.0, 5) == 0.0


@example([0, -23, -36, 0, -36, -300, 0, -18, -94], 150.0, 1)
@given(
    st.lists(st.integers(-120, 0), min_size=9, max_size=9),
    st.sampled_from([0.1, 1.0, 5.0, 20.0, 60.0, 150.0, 400.0, 800.0]),
    st.integers(1, 2),
)
@settings(max_examples=200)
def test_the_rounding_of_one_pair_hides_no_other(exponents, epsilon, count):
    """With cells of very different size a gain can be below the rounding error of
    another.
    """
    channel = 10.0 ** np.array(exponents, dtype=np.float64).reshape(3, 3)
    channel /= channel.sum(axis=1, keepdims=True)
    for sets, tried in kinds(3, epsilon, count):
        value = sets.largest(channel[None])[0]
        truth = min(float(oracles.leakage(channel.tolist(), epsilon, tried)), epsilon)
        assert truth <= value <= truth * (1 + 1e-12) + 1e-14, sets
