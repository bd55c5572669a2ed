"""The bound against the paper's listing, exact fractions and a linear program."""

import math
import subprocess
import sys
from decimal import Decimal
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import oracles
from seepage import Channel, leakage_bound
from seepage._core.errors import ChannelError, InputError
from seepage.leakage.likely_sets import LikelySets
from strategies import EPSILONS, UNIT, attribute, epsilons, just_above, shares, tables

JOINT = np.array(
    [[0.2, 0, 0, 0], [0, 0.2, 0, 0], [0.1, 0.15, 0.03, 0.02], [0.1, 0.15, 0.03, 0.02]]
)


def given_rows(joint):
    return joint / joint.sum(axis=1, keepdims=True)


# Numbers of the paper -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "forward", "backward"),
    [(0.5, 0.5, 0.2809), (1.0, 1.0, 0.6201), (2.0, 2.0, 1.4338)],
)
def test_the_example_of_the_paper(epsilon, forward, backward):
    assert leakage_bound(given_rows(JOINT), epsilon).value == forward
    assert leakage_bound(given_rows(JOINT.T), epsilon).value == pytest.approx(
        backward, abs=5e-5
    )


# Against oracles ----------------------------------------------------------------------


def largest_ratio(rows, epsilon):
    """Return ln max (1 + lambda A)/(1 + lambda B) over pairs of rows and all S, by
    enumeration.
    """
    gain = math.expm1(epsilon)
    found = 1.0
    for size in range(1, len(rows[0]) + 1):
        for S in combinations(range(len(rows[0])), size):
            masses = [math.fsum(row[u] for u in S) for row in rows]
            found = max(found, (1 + gain * max(masses)) / (1 + gain * min(masses)))
    return math.log(found)


def test_cells_too_small_to_move_a_sum_do_not_end_the_search():
    rows = [[0.25, 2.5e-19, 0.25, 0.5], [0.0, 0.0, 1.0, 0.0]]
    assert leakage_bound(rows, 2.0).value == pytest.approx(
        largest_ratio(rows, 2.0), rel=1e-12
    )


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_never_below_the_truth_with_cells_of_any_magnitude(epsilon):
    rng = np.random.default_rng(5)
    for _ in range(150):
        rows = given_rows(10.0 ** -rng.choice([0, 0.3, 1, 16, 17, 18, 300], (3, 5)))
        found = leakage_bound(rows, epsilon).value
        true = largest_ratio(rows.tolist(), epsilon)
        assert true * (1 - 1e-13) <= found <= true * (1 + 1e-11) + 1e-14


@settings(max_examples=120)
@given(tables(), epsilons)
def test_never_below_the_truth_and_within_1e_12_of_it(counts, epsilon):
    exact, channel = shares(counts)
    truth = oracles.best_ratio(exact, oracles.growth(epsilon), oracles.every_subset)
    found = leakage_bound(channel, epsilon).value
    assert just_above(found, oracles.log1p(truth), epsilon)
    assert (
        just_above(found, oracles.leakage(channel, epsilon), epsilon)
        or found == epsilon
    )


@given(tables(least=2), st.floats(0.01, 20.0), st.floats(0.0, 0.9))
def test_the_listing_of_the_paper_gives_the_same(counts, epsilon, delta):
    _, channel = shares(counts)
    value, paper_delta = oracles.algorithm_2(channel.tolist(), epsilon, delta)
    found = leakage_bound(channel, epsilon, delta=delta)
    assert found.value == pytest.approx(value, rel=1e-9, abs=1e-14)
    if value > 1e-6 and _one_winner(channel, epsilon, value):
        assert found.paper_delta == pytest.approx(paper_delta, rel=1e-9)


def _one_winner(channel, epsilon, value):
    """Say whether one pair and one set attain the value, so that delta A is one
    number.
    """
    lam = math.expm1(epsilon)
    rows = range(len(channel))
    close = [
        (x, y, chosen)
        for chosen in oracles.every_subset(channel.shape[1])
        for x in rows
        for y in rows
        if math.log1p(lam * channel[x, list(chosen)].sum())
        - math.log1p(lam * channel[y, list(chosen)].sum())
        > value - 1e-9
    ]
    return len(close) == 1


@settings(max_examples=60)
@given(
    tables(least=2, targets=3, sources=4),
    st.sampled_from([0.0, 1e-3, 0.5, 1.0, 3.0, 6.0]),
)
def test_the_certified_relaxation_is_the_optimum_of_the_linear_program(counts, epsilon):
    _, channel = shares(counts)
    for delta in (1e-3, 0.2):
        found = leakage_bound(channel, epsilon, delta=delta)
        optimum = oracles.certified_relaxation(channel, found.value, epsilon, delta)
        assert found.delta == pytest.approx(optimum, rel=1e-6, abs=1e-9 * delta)
        assert 0 <= found.delta <= found.paper_delta <= delta * (1 + 1e-12)


@given(
    tables(least=2),
    st.sampled_from([1e-12, 0.5, 3.0, 50.0, 700.0, 800.0]),
    st.floats(1e-9, 0.99),
)
def test_the_certified_relaxation_is_not_below_its_formula(counts, epsilon, delta):
    exact, channel = shares(counts)
    lam = oracles.growth(epsilon)
    truth = oracles.best_ratio(exact, lam, oracles.every_subset) / lam
    found = leakage_bound(channel, epsilon, delta=delta).delta
    assert found >= truth * oracles.Fraction(delta) or found == delta
    assert found == pytest.approx(
        float(truth) * delta, rel=1e-11, abs=64 * UNIT * delta
    )
    assert (found > 0) == (truth > 0)


def test_at_epsilon_0_the_relaxation_is_the_total_variation_distance():
    channel = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.3, 0.3, 0.4]]
    found = leakage_bound(channel, 0.0, delta=0.1)
    assert found.value == 0
    assert found.witness is None
    assert found.delta == pytest.approx(0.1 * 0.25, rel=1e-12)
    assert found.paper_delta >= found.delta >= 0.025


# Properties ---------------------------------------------------------------------------


@given(tables(), epsilons, st.integers(1, 6))
def test_exact_values_are_at_most_the_bound_and_the_bound_at_most_epsilon(
    counts, epsilon, size
):
    _, channel = shares(counts)
    bound = leakage_bound(channel, epsilon).value
    assert 0 <= bound <= epsilon
    guard = -math.expm1(-epsilon) * 64 * UNIT
    for sets in (
        LikelySets("singletons", epsilon),
        LikelySets("subsets", epsilon, min(size, counts.shape[1])),
    ):
        assert sets.largest(channel[None])[0] <= bound * (1 + 1e-13) + guard


@given(tables(), epsilons)
def test_zero_iff_independent_or_epsilon_zero(counts, epsilon):
    _, channel = shares(counts)
    independent = (channel == channel[0]).all()
    assert (leakage_bound(channel, epsilon).value == 0) == (independent or epsilon == 0)


@given(
    tables(least=1, targets=1),
    st.lists(st.integers(1, 9), min_size=2, max_size=4),
    epsilons,
)
def test_proportional_rows_leak_nothing(counts, multiples, epsilon):
    repeated = np.concatenate([counts * multiple for multiple in multiples])
    found = leakage_bound(shares(repeated)[1], epsilon, delta=0.5)
    assert (found.value, found.witness, found.delta, found.paper_delta) == (
        0,
        None,
        0,
        0,
    )


@given(tables(), st.sampled_from([1e-12, 0.5, 1.0, 3.0, 10.0]))
def test_epsilon_iff_two_rows_have_disjoint_support(counts, epsilon):
    assume(counts.max() <= 10**6)
    _, channel = shares(counts)
    overlaps = np.minimum(channel[:, None], channel[None]).sum(axis=2)
    assert (leakage_bound(channel, epsilon).value == epsilon) == bool(
        (overlaps == 0).any()
    )


@given(tables(), epsilons, epsilons)
def test_grows_with_epsilon(counts, one, other):
    _, channel = shares(counts)
    low, high = sorted([one, other])
    rounding = 1e-13 * low + 64 * UNIT * -math.expm1(-low)
    assert (
        leakage_bound(channel, low).value
        <= leakage_bound(channel, high).value + rounding
    )


@given(tables(), epsilons, st.randoms())
def test_the_order_of_values_does_not_matter(counts, epsilon, random):
    _, channel = shares(counts)
    rows = list(range(counts.shape[0]))
    columns = list(range(counts.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    shuffled = leakage_bound(channel[rows][:, columns], epsilon).value
    assert shuffled == pytest.approx(
        leakage_bound(channel, epsilon).value, rel=1e-13, abs=1e-17
    )


# Witness ------------------------------------------------------------------------------


@given(tables(least=2), epsilons)
def test_the_witness_attains_the_value_by_number_and_by_name(counts, epsilon):
    _, channel = shares(counts)
    target = attribute("t", counts.shape[0])
    source = attribute("s", counts.shape[1])
    plain = leakage_bound(channel, epsilon)
    named = leakage_bound(Channel(channel, given=target, output=source), epsilon)
    assert named.value == plain.value
    if plain.value == 0:
        assert plain.witness is None
        assert named.witness is None
        return
    witness = plain.witness
    assert named.witness.likelier == target.values[witness.likelier]
    assert named.witness.other == target.values[witness.other]
    assert named.witness.likely == tuple(source.values[u] for u in witness.likely)
    rows = oracles.exactly(channel)
    chosen = [
        [rows[x][u] for u in witness.likely] for x in (witness.likelier, witness.other)
    ]
    attained = oracles.log1p(oracles.ratio_of(*chosen, oracles.growth(epsilon)))
    assert just_above(plain.value, attained, epsilon, 64)


def test_witness_sentence():
    sex = attribute("sex", 2)
    work = attribute("work", 2)
    found = leakage_bound(
        Channel([[0.9, 0.1], [0.2, 0.8]], given=sex, output=work), 1.0
    )
    assert found.witness.sentence(found.value) == (
        "a report that favours work1 is 2.03 times likelier under sex1 than under sex0"
    )
    assert float(found) == found.value


# Edges --------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_alphabets_of_one(epsilon):
    for channel in ([[1.0]], [[1.0], [1.0]], [[0.25, 0.75]]):
        found = leakage_bound(channel, epsilon, delta=0.1)
        assert (found.value, found.witness, found.delta) == (0, None, 0)


@pytest.mark.parametrize("epsilon", [40.0, 50.0, 690.0, 700.0, 800.0, 1e6])
def test_large_epsilon_saturates_instead_of_falling(epsilon):
    found = leakage_bound([[0.9, 0.1], [0.2, 0.8]], epsilon, delta=0.1)
    assert found.value == pytest.approx(math.log(8), rel=1e-13)
    assert (
        Decimal(found.value) >= oracles.saturation([[0.9, 0.1], [0.2, 0.8]])
        or epsilon < 50
    )
    assert found.witness.likely == (1,)
    assert found.paper_delta == pytest.approx(0.08)
    assert found.delta > 0


@pytest.mark.parametrize("epsilon", [690.0, 700.0, 800.0, 1e6])
def test_large_epsilon_with_a_zero_cell(epsilon):
    found = leakage_bound([[0.5, 0.5], [1.0, 0.0]], epsilon)
    assert found.value == pytest.approx(epsilon - math.log(2), rel=1e-14)


@pytest.mark.parametrize(
    ("epsilon", "delta", "message"),
    [
        (math.nan, 0, "epsilon must be a finite number of at least 0, got nan"),
        (-0.1, 0, "epsilon must be a finite number of at least 0, got -0.1"),
        (math.inf, 0, "epsilon must be a finite number of at least 0, got inf"),
        ("1", 0, "epsilon must be a number, got '1'"),
        (None, 0, "epsilon must be a number, got None"),
        (True, 0, "epsilon must be a number, got True"),
        (1, 1, "delta must be at least 0 and below 1, got 1"),
        (1, -1e-9, "delta must be at least 0 and below 1, got -1e-09"),
        (1, math.nan, "delta must be at least 0 and below 1, got nan"),
        (1, 5, "delta must be at least 0 and below 1, got 5"),
    ],
)
def test_invalid_budgets_raise_in_one_line(epsilon, delta, message):
    with pytest.raises(InputError) as error:
        leakage_bound([[0.5, 0.5], [0.25, 0.75]], epsilon, delta=delta)
    assert str(error.value) == message


def test_a_matrix_that_is_no_channel_raises():
    with pytest.raises(
        ChannelError, match=r"each row of channel must sum to 1, but row 1 sums to"
    ):
        leakage_bound([[0.5, 0.5], [0.5, 0.4]], 1.0)


def test_no_budget_overflows():
    """Budgets at which 690 is about one unit in the last place, and all others up to
    1e300.
    """
    for epsilon in [
        c * 10.0**power for power in range(2, 300, 3) for c in (1, 3, 6, 8)
    ] + [1e19]:
        assert leakage_bound([[1, 0], [0, 1]], epsilon).value == epsilon
        assert leakage_bound([[1, 0], [0.5, 0.5]], epsilon).value <= epsilon


@pytest.mark.parametrize("epsilon", [1200.0, 1500.0])
def test_tiny_cells_count_where_budgets_are_huge(epsilon):
    """The largest ratio is eps + ln of the largest cell that another row lacks."""
    cells = 10.0 ** -np.arange(60, 40, -2)
    G = np.column_stack([np.ones(11), np.vstack([np.diag(cells), np.zeros(10)])])
    found = leakage_bound(G / G.sum(axis=1, keepdims=True), epsilon)
    assert found.value == pytest.approx(epsilon + np.log(cells.max()), rel=1e-12)
    assert found.witness.likely == (10,)


def test_rounding_of_a_likelier_pair_does_not_hide_a_better_one():
    """1e-79 - H 1e-106 is rounded by more than the whole cell 1e-202, which tells far
    more.
    """
    G = [[1.0, 1e-106, 0.0], [1.0, 1e-79, 1e-279], [1.0, 1e-98, 1e-202]]
    found = leakage_bound(G, 700.0)
    assert found.value == pytest.approx(700 + np.log(1e-202), rel=1e-12)
    assert (found.witness.likelier, found.witness.other, found.witness.likely) == (
        2,
        0,
        (2,),
    )


def test_a_sparse_matrix_of_scipy_raises():
    with pytest.raises(ChannelError, match="channel must be a matrix of probabilities"):
        leakage_bound(csr_array([[0.5, 0.5], [1.0, 0.0]]), 1.0)


def test_large_libraries_are_imported_only_when_used():
    script = """
import sys, seepage as sp
sp.leakage_bound([[0.9, 0.1], [0.2, 0.8]], 1.0)
sp.exact_leakage([[0.9, 0.1], [0.2, 0.8]], [[0.9, 0.1], [0.2, 0.8]])
heavy = {"scipy", "numba", "pyarrow", "pandas"}
sys.exit(bool(heavy & {name.split(".")[0] for name in sys.modules}))
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
