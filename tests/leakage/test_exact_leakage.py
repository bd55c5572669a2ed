"""The exact leakage of a known mechanism against exact fractions and the paper's
listing.
"""

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
import seepage as sp
from seepage import Channel, exact_leakage, leakage_bound
from seepage._core.errors import ChannelError
from seepage.leakage.likely_sets import LikelySets
from seepage.mechanisms.mechanism_registry import mechanism
from strategies import EPSILONS, attribute, just_above, shares, tables


def randomised_response(size, epsilon):
    """Return GRR's transition matrix [theory: Whole reports]."""
    matrix = np.full((size, size), math.exp(-epsilon))
    np.fill_diagonal(matrix, 1.0)
    return matrix / matrix.sum(axis=1, keepdims=True)


@st.composite
def mechanisms(draw, size):
    """Draw any transition matrix with `size` inputs, zero cells included."""
    outputs = draw(st.integers(1, 5))
    weights = st.sampled_from([0.0, 1e-300, 1e-6, 0.1, 0.5, 1.0]) | st.floats(0.01, 1.0)
    rows = np.array([[draw(weights) for _ in range(outputs)] for _ in range(size)])
    rows[rows.sum(axis=1) < 1e-6, 0] = 1.0
    return rows / rows.sum(axis=1, keepdims=True)


@settings(max_examples=120)
@given(tables(), st.data())
def test_never_below_the_truth_and_within_1e_12_of_it(counts, data):
    exact, channel = shares(counts)
    transition = data.draw(mechanisms(counts.shape[1]))
    truth = oracles.exact_ratio(exact, oracles.exactly(transition))
    found = exact_leakage(channel, transition).value
    if truth is None:
        assert found == math.inf
    else:
        assert just_above(
            found, oracles.log1p(truth), math.inf, 8 * (counts.shape[1] + 8)
        )


@given(tables(least=2), st.floats(0.01, 20.0))
def test_the_listing_of_the_paper_gives_the_same_for_grr(counts, epsilon):
    _, channel = shares(counts)
    transition = randomised_response(counts.shape[1], epsilon)
    value = oracles.algorithm_1(channel.tolist(), transition.tolist())
    assert exact_leakage(channel, transition).value == pytest.approx(
        value, rel=1e-9, abs=1e-13
    )


def test_the_column_of_the_report_counts_and_not_the_row():
    channel = [[0.9, 0.1], [0.2, 0.8]]
    transition = [[0.5, 0.5], [0.1, 0.9]]
    assert oracles.algorithm_1(channel, transition) == pytest.approx(
        math.log(0.74 / 0.18)
    )
    assert exact_leakage(channel, transition).value == pytest.approx(
        math.log(0.46 / 0.18)
    )


@given(tables(), st.sampled_from([e for e in EPSILONS if e < 30]))
def test_the_closed_form_of_grr_and_the_bound_above_it(counts, epsilon):
    _, channel = shares(counts)
    found = exact_leakage(channel, randomised_response(counts.shape[1], epsilon)).value
    closed = LikelySets("singletons", epsilon).best_pair(channel).value
    assert found == pytest.approx(closed, rel=1e-9, abs=1e-14)
    assert found <= leakage_bound(channel, epsilon).value * (1 + 1e-12) + 1e-14


@given(tables(), st.floats(0.0, 5.0))
def test_grr_on_two_values_reaches_the_bound(counts, epsilon):
    two = np.maximum(np.stack([counts[:, 0], counts[:, -1] + 1], axis=1), 1)
    _, channel = shares(two)
    single = LikelySets("singletons", epsilon).largest(channel[None])[0]
    assert single == pytest.approx(
        leakage_bound(channel, epsilon).value, rel=1e-12, abs=1e-15
    )


@given(tables(), st.integers(1, 4))
def test_equal_rows_and_uninformative_mechanisms_have_no_leakage(counts, outputs):
    _, channel = shares(counts)
    idle = np.full((counts.shape[1], outputs), 1 / outputs)
    assert exact_leakage(channel, idle) == exact_leakage(channel[:1].repeat(3, 0), idle)
    assert exact_leakage(channel, idle).value == 0
    assert exact_leakage(channel, idle).witness is None
    telling = randomised_response(counts.shape[1], 2.0)
    assert exact_leakage(channel[:1].repeat(7, axis=0), telling).value == 0


@settings(max_examples=200)
@given(tables(least=2), st.data())
def test_the_witness_attains_the_value_by_number_and_by_name(counts, data):
    _, channel = shares(counts)
    transition = data.draw(mechanisms(counts.shape[1]))
    target = attribute("t", counts.shape[0])
    source = attribute("s", counts.shape[1])
    report = attribute("y", transition.shape[1])
    plain = exact_leakage(channel, transition)
    named = exact_leakage(
        Channel(channel, target, source), Channel(transition, source, report)
    )
    assert named.value == plain.value
    if plain.witness is None:
        assert named.witness is None
        assert plain.value < 1e-14
        return
    witness = plain.witness
    seen = channel @ transition[:, witness.report]
    assert named.witness.likelier == target.values[witness.likelier]
    assert named.witness.other == target.values[witness.other]
    assert named.witness.report == report.values[witness.report]
    assert named.witness.likely == tuple(source.values[u] for u in witness.likely)
    assert witness.likely == tuple(
        np.flatnonzero(
            transition[:, witness.report] == transition[:, witness.report].max()
        )
    )
    with np.errstate(divide="ignore"):
        attained = np.log(seen[witness.likelier]) - np.log(seen[witness.other])
    assert plain.value == pytest.approx(attained, rel=1e-9, abs=1e-12)


def test_an_impossible_report_is_excluded():
    transition = [[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]]
    found = exact_leakage([[1.0, 0.0], [0.5, 0.5]], transition)
    assert found.value == pytest.approx(math.log(0.5 / 0.375))
    assert found.witness.report == 0


def test_a_report_that_excludes_a_target_value_has_infinite_leakage():
    found = exact_leakage([[1.0, 0.0], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]])
    assert found.value == math.inf
    assert (found.witness.likelier, found.witness.other, found.witness.report) == (
        1,
        0,
        1,
    )
    assert "infinitely likelier under 1 than under 0" in found.witness.sentence(
        found.value
    )


def test_a_difference_lost_in_rounding_still_counts():
    transition = [[1.0, 0.0], [0.0, 1.0], [1e-300, 1.0]]
    found = exact_leakage([[0.5, 0.0, 0.5], [0.5, 0.5, 0.0]], transition)
    assert 1e-300 < found.value < 1e-14


def test_tiny_probabilities_neither_vanish_nor_turn_infinite():
    channel = [[1e-300, 1.0], [2e-300, 1.0]]
    transition = [[1.0, 0.0], [0.0, 1.0]]
    assert exact_leakage(channel, transition).value == pytest.approx(
        math.log(2), rel=1e-13
    )
    rare = [[1e-300, 1.0], [3e-300, 1.0]]
    assert exact_leakage([[0.75, 0.25], [0.25, 0.75]], rare).value == pytest.approx(
        math.log(2.5 / 1.5), rel=1e-13
    )


@pytest.mark.parametrize(
    ("channel", "transition", "message"),
    [
        (
            [[0.5, 0.5]],
            [[1.0], [0.5]],
            "each row of mechanism must sum to 1, but row 1 sums to 0.5",
        ),
        (
            [[0.25, 0.5, 0.25]],
            [[1.0], [1.0]],
            "channel has 3 source values but mechanism has 2 rows; they must be equal",
        ),
        (
            [[0.5, math.nan]],
            [[1.0], [1.0]],
            "channel must hold probabilities of at least 0, got nan",
        ),
    ],
)
def test_mismatched_shapes_raise_in_one_line(channel, transition, message):
    with pytest.raises(ChannelError) as error:
        exact_leakage(channel, transition)
    assert str(error.value) == message


def test_channels_of_different_attributes_raise():
    correlation = Channel([[0.5, 0.5]], attribute("sex", 1), attribute("work", 2))
    mechanism = Channel([[1.0], [1.0]], attribute("race", 2), attribute("report", 1))
    with pytest.raises(ChannelError) as error:
        exact_leakage(correlation, mechanism)
    assert str(error.value) == (
        "the source of channel is 'work' but mechanism perturbs 'race'; "
        "they must be the same attribute"
    )


@pytest.mark.parametrize("name", ["grr", "oue", "ss"])
def test_a_mechanism_uses_its_own_leakage(name):
    channel = np.random.default_rng(1).dirichlet(np.ones(4), 3)
    how = mechanism(name, 4, 1.5)
    found = exact_leakage(channel, how)
    own = how.leakage(channel)
    assert (found.value, found.witness.likely) == (own.value, own.witness.likely)
    if name == "grr":
        assert found.value == pytest.approx(exact_leakage(channel, how.channel()).value)


def test_many_reports_are_computed_in_blocks(monkeypatch):
    rng = np.random.default_rng(8)
    G = rng.dirichlet(np.full(30, 0.3), 20)
    C = rng.dirichlet(np.ones(50), 30)
    C[:, [3, 4, 20]] = 0.0
    C /= C.sum(axis=1, keepdims=True)
    whole = exact_leakage(G, C)
    monkeypatch.setattr("seepage.leakage.exact_leakage.MAX_PRODUCT_CELLS", 64)
    found = exact_leakage(G, C)
    assert found.value == pytest.approx(whole.value, rel=1e-12)
    assert found.witness == whole.witness


def test_reports_that_never_occur_are_left_out_of_a_block(monkeypatch):
    correlation = np.array([[0.9, 0.1], [0.2, 0.8]])
    transition = np.array([[0.75, 0.25, 0.0, 0.0], [0.25, 0.75, 0.0, 0.0]])
    whole = exact_leakage(correlation, transition)
    monkeypatch.setattr("seepage.leakage.exact_leakage.MAX_PRODUCT_CELLS", 2)
    assert exact_leakage(correlation, transition) == whole


def test_the_value_inferred_from_any_matrix_leaks_no_more_than_its_report():
    pairs = sp.load_pairs("adult").select(["sex", "race", "income"])
    how = {"mechanism": {"sex": "public", "*": "hadamard"}}
    report, guess = (
        sp.leakage_matrix(pairs, 1.0, view=v, **how) for v in ("report", "inferred")
    )
    for target, source in permutations(range(3), 2):
        found = guess[target, source].value
        assert found == guess.values[target, source]
        assert 0 < found <= report[target, source].value + 1e-12
    assert guess["race", "sex"].value == report["race", "sex"].value


def test_a_mechanism_is_named_or_given():
    pairs = sp.load_pairs("adult").select(["sex", "race"])
    with pytest.raises(sp.InputError, match="mechanism must be a name or a Mechanism"):
        sp.leakage_matrix(pairs, 1.0, mechanism={"sex": 5, "*": "grr"})
