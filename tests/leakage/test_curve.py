"""Leakage against epsilon and its inverse, up to saturation and beyond."""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import oracles
import seepage as sp
from seepage import Channel, epsilon_for_leakage, leakage_bound, leakage_curve
from seepage._core.errors import InputError
from strategies import EPSILONS, UNIT, attribute, just_above, shares, tables

BINARY = [[0.9, 0.1], [0.2, 0.8]]


# The curve ----------------------------------------------------------------------------


@given(tables())
@example(np.array([[1, 0], [5461, 89478485]]))  # stacked: another last digit
def test_a_curve_is_the_bound_at_each_budget(counts):
    _, channel = shares(counts)
    curve = leakage_curve(channel, EPSILONS)
    assert curve.epsilons.tolist() == EPSILONS
    assert curve.values.tolist() == [leakage_bound(channel, e).value for e in EPSILONS]


@pytest.mark.parametrize("delta", [0.0, 0.01])
@pytest.mark.parametrize(
    "name", [None, "grr", "oue", "ss", "hadamard", "approximate-grr", "gauss"]
)
def test_a_curve_equals_the_matrix_at_each_budget(name, delta):
    if (delta > 0) is not (name in (None, "approximate-grr", "gauss")):
        delta = 0.01 if name in ("approximate-grr", "gauss") else 0.0
    pairs = sp.load_pairs("adult").select(["sex", "relationship", "race"])
    budgets = [0.0, 0.5, 1.0, 4.0]
    for target, source in [("sex", "relationship"), ("race", "sex")]:
        curve = leakage_curve(
            pairs.channel(target, source), budgets, mechanism=name, delta=delta
        )
        assert curve.mechanism == name
        for index, budget in enumerate(budgets):
            matrix = sp.leakage_matrix(pairs, budget, mechanism=name, delta=delta)
            row = matrix.domain.index(target)
            column = matrix.domain.index(source)
            shown = matrix.values[row, column]
            assert curve.values[index] == pytest.approx(shown, rel=1e-14, abs=0)
            assert curve.deltas[index] == matrix.deltas[row, column]
        if delta:
            assert ", delta 0.0" in repr(curve)
            assert curve.to_pandas()["delta"].tolist() == curve.deltas.tolist()


def test_the_curve_with_a_delta_is_what_algorithm_2_returns():
    budgets = [0.5, 1.0, 3.0]
    curve = leakage_curve(BINARY, budgets, delta=0.01)
    for index, budget in enumerate(budgets):
        bound = leakage_bound(BINARY, budget, delta=0.01)
        assert curve.values[index] == bound.value
        assert curve.deltas[index] == bound.delta <= bound.paper_delta
        assert curve.paper_deltas[index] == bound.paper_delta
    assert leakage_curve(BINARY, budgets, mechanism=sp.GRR).values.tolist() == [
        sp.GRR(2, budget).leakage(BINARY).value for budget in budgets
    ]
    assert leakage_curve(BINARY, budgets, mechanism="grr").paper_deltas is None
    with pytest.raises(InputError, match="mechanism must be a name or a class"):
        leakage_curve(BINARY, budgets, mechanism=sp.GRR(2, 1.0))
    with pytest.raises(InputError, match="needs a delta above 0"):
        leakage_curve(BINARY, budgets, mechanism="gauss")


@given(tables())
def test_the_saturation_is_the_largest_ratio_of_two_cells(counts):
    exact, channel = shares(counts)
    saturation = leakage_curve(channel, []).saturation
    truth = oracles.saturation(exact)
    if truth.is_infinite():
        assert saturation == math.inf
    else:
        assert just_above(saturation, truth, math.inf)
        assert leakage_bound(channel, 800.0).value == pytest.approx(
            saturation, rel=1e-12, abs=1e-14
        )


def test_any_order_of_budgets_and_any_sequence():
    forwards = leakage_curve(BINARY, [0.5, 1, 50])
    backwards = leakage_curve(
        Channel(BINARY, attribute("t", 2), attribute("s", 2)), (50, 1, 0.5)
    )
    assert forwards.values.tolist() == backwards.values[::-1].tolist()
    assert leakage_curve(BINARY, np.array([0.5])).values[0] == forwards.values[0]


def test_no_budget_gives_an_empty_curve():
    curve = leakage_curve(BINARY, [])
    assert curve.values.shape == (0,)
    assert curve.saturation == pytest.approx(math.log(8))


def test_one_invalid_budget_of_several_raises():
    with pytest.raises(
        InputError, match=r"^epsilon must be a finite number of at least 0, got -2$"
    ):
        leakage_curve(BINARY, [1, -2, 3])


# The inverse --------------------------------------------------------------------------


def shrunk(level):
    """Draw what lies around a level: a share of it, or so near that rounding
    decides.
    """
    shares_of_it = [1e-9, 0.1, 0.5, 0.99, 1 - 1e-9, 1 - 1e-12, 1 - 1e-14, 1 - UNIT, 1.0]
    return st.sampled_from([level * share for share in shares_of_it])


@settings(max_examples=300)
@given(tables(least=2), st.data())
def test_the_inverse_is_the_largest_budget_within_the_limit(counts, data):
    exact, channel = shares(counts)
    saturation = oracles.saturation(exact)
    fixed = st.sampled_from([0.0, 1e-12, 1e-3, 0.3, 1.0, 5.0, 40.0, 600.0, 750.0])
    near = shrunk(float(saturation)) if saturation.is_finite() else fixed
    limit = data.draw(fixed | near, label="limit")
    budget = epsilon_for_leakage(channel, limit)
    if budget == math.inf:
        assert Decimal(limit) >= saturation
        return
    assert Decimal(limit) < saturation * (1 + Decimal(40 * UNIT)) + Decimal(40 * UNIT)
    reached = leakage_bound(channel, budget).value
    assert reached <= limit
    assert reached >= limit * (1 - 1e-11) - 80 * UNIT * -math.expm1(-budget)


@given(tables(least=2), st.floats(1e-6, 20.0))
def test_the_inverse_of_the_bound_of_a_budget_is_that_budget(counts, epsilon):
    _, channel = shares(counts)
    leakage = leakage_bound(channel, epsilon).value
    back = epsilon_for_leakage(channel, leakage)
    if leakage == 0:
        assert back == math.inf
        return
    slope = (leakage_bound(channel, epsilon + 1e-4).value - leakage) / 1e-4
    assert (back - epsilon) * slope <= 1e-12 * leakage + 64 * UNIT
    if slope > 1e-3:
        assert back == pytest.approx(epsilon, rel=1e-7)


def test_a_limit_of_0_allows_epsilon_0_only():
    assert epsilon_for_leakage(BINARY, 0.0) == 0.0


@pytest.mark.parametrize("limit", [0.0, 0.5, 1e9, math.inf])
def test_an_independent_source_has_an_infinite_budget(limit):
    assert epsilon_for_leakage([[0.5, 0.5], [0.5, 0.5]], limit) == math.inf
    assert epsilon_for_leakage([[0.25, 0.75]], limit) == math.inf


def test_a_limit_at_or_above_saturation_has_no_largest_budget():
    saturation = leakage_curve(BINARY, []).saturation
    assert epsilon_for_leakage(BINARY, saturation) == math.inf
    assert epsilon_for_leakage(BINARY, math.inf) == math.inf
    assert epsilon_for_leakage(BINARY, math.log(8) * (1 - 1e-13)) < 50


@pytest.mark.parametrize("limit", [1e-12, 0.5, 700.0, 1e4])
def test_disjoint_supports_leak_their_epsilon(limit):
    budget = epsilon_for_leakage([[1.0, 0.0], [0.0, 1.0]], limit)
    assert limit * (1 - 1e-13) <= budget <= limit


def test_saturation_from_a_tiny_cell():
    budget = epsilon_for_leakage([[1e-300, 1.0], [2e-300, 1.0]], 0.5)
    assert 690 < budget < 692
    assert leakage_bound([[1e-300, 1.0], [2e-300, 1.0]], budget).value <= 0.5


@pytest.mark.parametrize(
    ("leakage", "message"),
    [
        (-0.5, "leakage must be at least 0, got -0.5"),
        (math.nan, "leakage must be at least 0, got nan"),
        ("much", "leakage must be a number, got 'much'"),
    ],
)
def test_invalid_limits_raise_in_one_line(leakage, message):
    with pytest.raises(InputError) as error:
        epsilon_for_leakage(BINARY, leakage)
    assert str(error.value) == message


def test_a_chart_joins_budgets_with_their_own_leakages():
    channel = [[0.9, 0.1], [0.2, 0.8]]
    mixed, ascending = (
        leakage_curve(channel, budgets).chart().to_dict()
        for budgets in ([2.0, 0.5, 1.0], [0.5, 1.0, 2.0])
    )
    assert mixed == ascending


def test_a_curve_is_a_result():
    curve = leakage_curve([[0.9, 0.1], [0.2, 0.8]], [0.0, 1.0])
    assert repr(curve) == "LeakageCurve(source -> target, 2 budgets, saturation 2.079)"
    assert curve.to_arrow().to_pydict() == {
        "epsilon": [0.0, 1.0],
        "leakage": curve.values.tolist(),
        "delta": [0.0, 0.0],
    }
