"""Leakage over time: the recursion against enumeration and closed forms."""

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joint_oracle import exact_total, tuples_of, two_level_columns

import seepage as sp
from seepage._core.errors import ChannelError, InputError
from seepage.totals.stream import stationary, stream_leakage

STICKY = np.array([[0.8, 0.2], [0.3, 0.7]])
STEPS = tuples_of(np.array([[3, 1], [1, 2]]))
EDGE = Decimal("1e-12")


def chain_joint(forward, initial, steps, scale=10**6):
    """Return integers close to the joint distribution of a chain."""
    sizes = (len(initial),) * steps
    joint = np.zeros(sizes)
    for path in itertools.product(range(len(initial)), repeat=steps):
        share = initial[path[0]]
        for now, then in itertools.pairwise(path):
            share *= forward[now, then]
        joint[path] = share
    return np.rint(joint * scale).astype(np.int64)


def test_total_covers_every_step_of_an_enumerated_chain():
    for epsilon in (0.2, 1.0):
        joint = chain_joint(STICKY, stationary(STICKY), 5)
        matrices = [two_level_columns(2, "all", epsilon)] * 5
        found = stream_leakage(STICKY, epsilon, steps=5)
        for step in range(5):
            truth = exact_total(joint, matrices, step)
            assert truth - 1e-5 <= found.total[step] <= 1.3 * truth
        backward = [
            exact_total(joint.sum(axis=tuple(range(t + 1, 5))), matrices[: t + 1], t)
            for t in range(5)
        ]
        assert (found.backward >= np.array(backward) - 1e-5).all()
        assert found.backward[:2] == pytest.approx(backward[:2], abs=1e-4)


def test_a_path_of_pair_counts_is_a_stream():
    joint = chain_joint(STICKY, np.array([0.5, 0.5]), 4)
    tuples = tuples_of(joint)
    found = stream_leakage(tuples, 0.7)
    again = stream_leakage(tuples.pairs(), 0.7)
    assert np.array_equal(found.total, again.total)
    given_chain = stream_leakage(STICKY, 0.7, steps=4, initial=[0.5, 0.5])
    assert given_chain.total == pytest.approx(found.total, abs=1e-4)


def test_changing_budgets():
    budgets = [0.1, 1.0, 0.3]
    found = stream_leakage(STICKY, budgets)  # two states: reversible
    bound = sp.leakage_bound
    expected = [0.1]
    for budget in budgets[1:]:
        expected.append(budget + bound(STICKY, expected[-1]).value)
    assert found.backward == pytest.approx(expected, rel=1e-12)
    ahead = [0.3]
    for budget in budgets[-2::-1]:
        ahead.insert(0, budget + bound(STICKY, ahead[0]).value)
    assert found.forward == pytest.approx(ahead, rel=1e-12)
    assert found.total == pytest.approx(np.array(expected) + ahead - budgets, rel=1e-12)


def test_transitions_that_differ_are_taken_in_their_order():
    table = tuples_of(np.random.default_rng(5).integers(0, 9, (3, 2, 3, 2)))
    budgets = [0.2, 1.0, 0.5, 0.1]
    pairs = table.pairs()
    found = stream_leakage(table, budgets)
    ahead = [budgets[-1]]
    for step, budget in zip((2, 1, 0), budgets[-2::-1], strict=True):
        matrix = pairs.channel(target=step, source=step + 1)
        ahead.insert(0, budget + sp.leakage_bound(matrix, ahead[0]).value)
    assert found.forward == pytest.approx(ahead, rel=1e-12)
    behind = [budgets[0]]
    for step, budget in enumerate(budgets[1:], start=1):
        back = pairs.channel(target=step, source=step - 1)
        behind.append(budget + sp.leakage_bound(back, behind[-1]).value)
    assert found.backward == pytest.approx(behind, rel=1e-12)


def test_the_distribution_of_each_step_follows_from_the_first():
    matrix = np.random.default_rng(5).dirichlet([0.5, 0.5, 0.5], 3)
    share = np.array([0.3, 0.6, 0.1])
    budgets = [0.2, 1.0, 0.5, 0.1]
    found = stream_leakage(matrix, budgets, initial=share)
    behind = [budgets[0]]
    for budget in budgets[1:]:
        joint = (share[:, None] * matrix).T
        back = joint / joint.sum(axis=1, keepdims=True)
        behind.append(budget + sp.leakage_bound(back, behind[-1]).value)
        share = share @ matrix
    assert found.backward == pytest.approx(behind, rel=1e-12)


def test_the_total_of_a_value_that_never_changes_is_the_sum_of_all_budgets():
    frozen = stream_leakage(np.eye(2), 0.5, steps=10, initial=[0.5, 0.5])
    assert frozen.backward == pytest.approx(0.5 * np.arange(1, 11))
    assert frozen.total == pytest.approx([5.0] * 10)


def test_a_long_stream_tends_to_the_closed_form():
    """Two symmetric states: h solves B h^2 + (w (1 - B) - A) h - w (1 - A) = 0."""
    for stay, epsilon in itertools.product((0.6, 0.9), (0.1, 1.0)):
        A = stay
        B = 1 - stay
        w = math.exp(-epsilon)
        slope = w * (1 - B) - A
        h = (-slope + math.sqrt(slope**2 + 4 * B * w * (1 - A))) / (2 * B)
        found = stream_leakage([[stay, 1 - stay], [1 - stay, stay]], epsilon, steps=300)
        assert found.backward[-1] == pytest.approx(epsilon + math.log(h), rel=1e-9)


def test_independent_steps_leak_only_themselves():
    found = stream_leakage([[0.3, 0.7], [0.3, 0.7]], 0.4, steps=6)
    assert found.total == pytest.approx([0.4] * 6)
    assert found.kind == "assumed"
    single = stream_leakage([[1.0]], 2.0, steps=3)
    assert single.total == pytest.approx([2.0] * 3)
    one = stream_leakage(STICKY, 0.4, steps=1)
    assert one.total == pytest.approx([0.4])


def test_values_that_cannot_be_reached():
    """The second state is never visited; its row must not count."""
    found = stream_leakage([[1.0, 0.0], [0.5, 0.5]], 0.3, steps=5, initial=[1.0, 0.0])
    assert found.backward == pytest.approx([0.3] * 5)


@given(
    st.lists(st.floats(-17, -0.5), min_size=2, max_size=2),
    st.sampled_from([0.1, 1.0, 3.0]),
)
def test_near_absorbing_chains_are_covered(exponents, epsilon):
    """Against the recursion in 60 digits, with the off-diagonal entries as they are."""
    leave, come = (10.0**exponent for exponent in exponents)
    found = stream_leakage([[1 - leave, leave], [come, 1 - come]], epsilon, steps=3)
    with localcontext() as context:
        context.prec = 60
        p = Decimal(leave)
        q = Decimal(come)
        chain = [
            [1 - p, p],
            [q, 1 - q],
        ]  # two states: reversible, P(previous given next) = P
        gain = Decimal(epsilon)
        backward = Decimal(epsilon)
        for _ in range(2):
            spent = backward.exp() - 1
            ratio = max(
                (1 + spent * chain[x][u]) / (1 + spent * chain[1 - x][u])
                for x in (0, 1)
                for u in (0, 1)
            )
            backward = gain + ratio.ln()
        assert Decimal(found.backward[-1]) >= backward
        assert found.backward[-1] == pytest.approx(float(backward), rel=1e-12)


def test_the_stationary_distribution_keeps_small_probabilities():
    tiny = [[1 - 1e-15, 1e-15, 0.0], [0.0, 0.5, 0.5], [0.25, 0.25, 0.5]]
    # balance: 1e-15 a = 0.25 c, 0.5 b = 1e-15 a + 0.25 c
    weights = np.array([1.0, 4e-15, 4e-15])
    assert stationary(tiny) == pytest.approx(weights / weights.sum(), rel=1e-14, abs=0)
    assert stationary([[0.5, 0.5], [0.0, 1.0]]).tolist() == [0.0, 1.0]
    with pytest.raises(InputError, match="more than one stationary"):
        stationary(np.eye(2))


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((STICKY, 0.1), {}, InputError, "number of steps must be given"),
        ((STICKY, [0.1, 0.2], 3), {}, InputError, "same number of steps, got 2 and 3"),
        ((STICKY, -0.1, 3), {}, InputError, "epsilon must be"),
        ((STICKY, 0.1, 0), {}, InputError, "steps must be an integer"),
        (([[0.5, 0.6], [1, 0]], 0.1, 3), {}, ChannelError, "must sum to 1"),
        (([[0.5, 0.5]], 0.1, 3), {}, InputError, "a square matrix, got"),
        (
            ([[0.5, 0.5], [1.0]], 0.1, 3),
            {},
            ChannelError,
            "must be a matrix of probabilities",
        ),
        (([STICKY, STICKY], 0.1, 3), {}, ChannelError, "must be a matrix"),
        (([], 0.1, 3), {}, ChannelError, "must be a matrix"),
        ((0.5, 0.1, 3), {}, ChannelError, "must be a matrix"),
        ((STICKY, 0.1, 3), {"initial": [1.0]}, InputError, "must have 2 probabilities"),
        ((np.eye(2), 0.1, 3), {}, InputError, "more than one stationary"),
        ((STEPS, 0.1, 3), {}, InputError, "same number of steps, got 2 and 3"),
        (
            (STEPS, 0.1),
            {"initial": [0.5, 0.5]},
            InputError,
            "counts tell the distribution",
        ),
    ],
)
def test_bad_arguments_raise(arguments, options, error, message):
    data, epsilon, *steps = arguments
    options = options | ({"steps": steps[0]} if steps else {})
    with pytest.raises(error, match=message):
        stream_leakage(data, epsilon, **options)


def test_channels_are_accepted():
    state = sp.Attribute("state", ("home", "work"))
    channel = sp.Channel(STICKY, given=state, output=state)
    found, expected = (stream_leakage(data, 0.1, steps=3) for data in (channel, STICKY))
    assert np.array_equal(found.total, expected.total)


def test_a_stream_is_read_from_any_table(tmp_path):
    days = pd.DataFrame(
        {"id": range(8), "monday": list("aabbabab"), "tuesday": list("aabbaabb")}
    )
    days.to_csv(tmp_path / "days.csv", index=False)
    expected = stream_leakage(sp.count_pairs(days, drop=["id"]), 0.5)
    for data in (days, tmp_path / "days.csv", [tmp_path / "days.csv"]):
        found = stream_leakage(data, 0.5, drop=["id"])
        assert np.array_equal(found.total, expected.total)
    with pytest.raises(
        InputError, match="drop has no effect: transitions are no table"
    ):
        stream_leakage(STICKY, 0.5, steps=3, drop=["id"])
    assert list(expected.to_pandas()) == [
        "step",
        "epsilon",
        "backward",
        "forward",
        "total",
    ]
    assert expected.to_pandas()["step"].tolist() == [1, 2]


def test_a_stream_in_one_line():
    found = stream_leakage(STICKY, 0.1, steps=3)
    assert repr(found).startswith(
        "StreamLeakage(3 steps, assumed, largest change of odds 1.2"
    )


def test_rows_that_are_equal_but_for_rounding_are_rounded_up():
    """Reversed rows may come out equal though they differ within their own error."""
    found = stream_leakage([[0.5, 0.5], [0.5, 0.5]], 0.4, steps=3)
    assert (found.backward[1:] > 0.4).all()
    assert found.backward == pytest.approx([0.4] * 3, abs=1e-12)
