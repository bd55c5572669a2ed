"""Mechanisms given by a transition matrix: integer thresholds, estimates, leakage."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from contract import read, write
from hypothesis import given, settings
from hypothesis import strategies as st

import seepage as sp
from seepage._core.errors import ChannelError, InputError
from seepage.mechanisms.exact_probabilities import CERTAIN, largest_ratio

SURVEY = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])


def random_matrix(seed, k, outputs):
    return np.random.default_rng(seed).dirichlet(np.full(outputs, 0.7), size=k)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 8))
def test_thresholds_never_exceed_the_largest_ratio_of_the_matrix(seed, k, outputs):
    matrix = random_matrix(seed, k, outputs)
    mechanism = sp.MatrixMechanism(matrix)
    stated = max(
        Fraction(max(column)) / Fraction(min(column)) for column in matrix.T.tolist()
    )
    assert all(sum(row) == CERTAIN for row in mechanism.thresholds.tolist())
    assert largest_ratio(mechanism.thresholds) <= stated
    assert mechanism.epsilon == mechanism.realised_epsilon
    assert mechanism.epsilon <= math.log(stated) * (1 + 1e-15) + 1e-300
    assert np.allclose(mechanism.channel(), matrix, atol=1e-7)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(2, 6), st.integers(2, 4))
def test_leakage_is_that_of_exact_leakage(seed, k, outputs, targets):
    mechanism = sp.MatrixMechanism(random_matrix(seed, k, outputs))
    G = np.random.default_rng(seed).dirichlet(np.full(k, 0.4), size=targets)
    found = mechanism.leakage(G)
    expected = sp.exact_leakage(G, mechanism.channel())
    assert found.value == pytest.approx(expected.value, rel=1e-12, abs=1e-12)
    assert found.value <= mechanism.epsilon
    assert found.witness.report.values.tolist() == [expected.witness.report]
    assert found.witness.likelier == expected.witness.likelier


@pytest.mark.parametrize("epsilon", [1e-15, 1e-9, 1e-3, 1.0, 30.0])
def test_leakage_of_exact_thresholds_is_rounded_up(epsilon):
    """Against fractions: two values, two outputs, a target that is the value itself."""
    kept = math.floor(CERTAIN / (1 + math.exp(-epsilon)))
    rows = [[kept, CERTAIN - kept], [CERTAIN - kept, kept]]
    mechanism = sp.MatrixMechanism.from_thresholds(rows)
    exact = Fraction(kept, CERTAIN - kept)
    assert Fraction(math.exp(mechanism.epsilon)) >= exact * (1 - Fraction(1, 10**15))
    assert mechanism.leakage(np.eye(2)).value == pytest.approx(
        mechanism.epsilon, rel=1e-12
    )
    mixed = [[0.75, 0.25], [0.25, 0.75]]
    seen = [3 * Fraction(a) + Fraction(b) for a, b in (rows[0], rows[1])]
    excess = float(seen[0] / seen[1] - 1)
    assert mechanism.leakage(mixed).value == pytest.approx(
        math.log1p(excess), rel=1e-12
    )
    assert mechanism.leakage(mixed).value >= math.log1p(excess) * (1 - 1e-15)


def test_estimates_are_least_squares_and_unbiased_for_every_distribution():
    mechanism = sp.MatrixMechanism(random_matrix(3, 3, 5))
    channel = mechanism.channel()
    weights = mechanism.contributions(
        type(mechanism.perturb([0], 1)).of(mechanism.describe(), np.arange(5), 5)
    )
    assert np.allclose(channel @ weights, np.eye(3), atol=1e-12)
    inverse = np.diag(1 / channel.mean(axis=0))
    gls = np.linalg.inv(channel @ inverse @ channel.T) @ channel @ inverse
    assert np.allclose(weights, gls.T, atol=1e-9)


@pytest.mark.parametrize(
    "matrix", [[[0.5, 0.5]] * 2, [[0.5, 0.5], [0.4, 0.6], [0.3, 0.7]]]
)
def test_estimates_of_deficient_rank_raise(matrix):
    mechanism = sp.MatrixMechanism(matrix)
    assert not mechanism.informative
    with pytest.raises(
        InputError, match=r"must have full row rank to distinguish . values"
    ):
        mechanism.estimate(mechanism.perturb([0, 1], 1))
    with pytest.raises(
        InputError, match=r"must have full row rank to distinguish . values"
    ):
        mechanism.variance(10)


def test_guesses_are_the_likeliest_values():
    mechanism = sp.MatrixMechanism(SURVEY)
    reports = mechanism.perturb([0, 1] * 500, 2)
    guesses = mechanism.infer(reports, 3)
    told = np.array(reports.values)
    assert guesses[told != 1].tolist() == (told[told != 1] == 2).astype(int).tolist()
    assert 0.3 < guesses[told == 1].mean() < 0.7, (
        "the second output is as likely under both"
    )
    assert mechanism.inferred_channel() == pytest.approx(
        np.array([[0.75, 0.25], [0.35, 0.65]])
    )


def test_its_reports_are_identified_by_name_and_thresholds(tmp_path):
    mechanism = sp.MatrixMechanism(SURVEY, name="survey")
    again = sp.MatrixMechanism.from_thresholds(
        mechanism.thresholds.tolist(), name="survey"
    )
    assert again.describe() == mechanism.describe()
    assert mechanism.describe()["mechanism"] == "survey"
    write(mechanism.perturb([0, 1], 3), tmp_path / "reports.parquet")
    assert again.estimate(read(tmp_path / "reports.parquet")).records == 2
    for other in (
        sp.MatrixMechanism(SURVEY),
        sp.MatrixMechanism(SURVEY[:, ::-1], name="survey"),
    ):
        with pytest.raises(InputError, match="must come from"):
            other.estimate(mechanism.perturb([0, 1], 3))
    with pytest.raises(ValueError, match="read-only"):
        mechanism.thresholds[0, 0] = 1


def test_leakage_matrix_accepts_it():
    pairs = sp.load_pairs("adult").select(["sex", "income"])
    how = {"sex": sp.MatrixMechanism(SURVEY), "income": "grr"}
    matrix = sp.leakage_matrix(pairs, 1.0, mechanism=how)
    expected = sp.exact_leakage(pairs.channel("income", "sex"), SURVEY).value
    assert matrix["income", "sex"].value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.eye(2), "possible under all"),
        ([[0.5, 0.4], [0.5, 0.5]], "must sum to 1"),
        ([0.5, 0.5], "at least one row"),
        ([[1.5, -0.5], [0.5, 0.5]], "at least 0"),
    ],
)
def test_bad_matrices_raise(matrix, message):
    with pytest.raises((InputError, ChannelError), match=message):
        sp.MatrixMechanism(matrix)


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        ([[CERTAIN, 0], [0, CERTAIN]], "possible under all"),
        ([[CERTAIN, 1]], "sum to 2"),
        ([[0.5, 0.5]], "sum to 2"),
        ([[CERTAIN + 1, -1]], "sum to 2"),
        ([], "sum to 2"),
    ],
)
def test_bad_thresholds_raise(thresholds, message):
    with pytest.raises(InputError, match=message):
        sp.MatrixMechanism.from_thresholds(thresholds)


def test_an_impossible_output_is_never_drawn():
    mechanism = sp.MatrixMechanism([[0.5, 0.0, 0.5, 0.0], [0.25, 0.0, 0.75, 0.0]])
    assert set(mechanism.perturb([0, 1] * 500, 1).values.tolist()) == {0, 2}
    assert mechanism.epsilon == pytest.approx(math.log(2))


def _as_matrix(mechanism):
    """The transition matrix of a mechanism at epsilon 1, by enumeration of its reports."""
    k = mechanism.k
    name = mechanism.name
    if name == "grr":
        return mechanism.channel()
    sets = [np.array(bits) for bits in itertools.product([0, 1], repeat=k)]
    if name == "ss":
        size = mechanism.size
        inside = (
            size
            * math.exp(mechanism.epsilon)
            / (size * math.exp(mechanism.epsilon) + k - size)
        )
        rows = [s for s in sets if s.sum() == size]
        chance = {
            1: inside / math.comb(k - 1, size - 1),
            0: (1 - inside) / math.comb(k - 1, size),
        }
        return np.array([[chance[s[u]] for s in rows] for u in range(k)])
    half = math.exp(0.5) / (1 + math.exp(0.5))
    p, q = (0.5, 1 / (1 + math.e)) if name == "oue" else (half, 1 - half)
    on = q + (p - q) * np.eye(k)  # P(bit given value)
    return np.array(
        [[np.where(s, on[u], 1 - on[u]).prod() for s in sets] for u in range(k)]
    )


@pytest.mark.parametrize(
    ("name", "k"), [("grr", 5), ("oue", 5), ("rappor", 5), ("ss", 9)]
)
def test_the_papers_attacker_on_a_matrix_is_that_of_the_mechanism(name, k):
    """Guesses are uniform among the values tied for the largest likelihood."""
    own = sp.mechanism(name, k, 1.0)
    assert name != "ss" or own.size == 2
    matrix = sp.MatrixMechanism(_as_matrix(own))
    assert matrix.inferred_channel() == pytest.approx(own.inferred_channel(), abs=1e-9)
    G = np.random.default_rng(3).dirichlet(np.ones(k), size=3)
    ours, theirs = (
        sp.exact_leakage(G, m.inferred_channel()).value for m in (own, matrix)
    )
    assert theirs == pytest.approx(ours, abs=1e-9)
    codes = np.arange(k).repeat(8_000)
    guesses = matrix.infer(matrix.perturb(codes, rng=1), rng=2)
    assert (guesses == codes).mean() == pytest.approx(own.hit_rate, abs=0.01)


def test_tied_outputs_are_guessed_uniformly():
    """An output that says nothing is guessed as any value, not always as the first."""
    silent = sp.MatrixMechanism([[0.5, 0.5], [0.5, 0.5]])
    assert silent.inferred_channel().tolist() == [[0.5, 0.5], [0.5, 0.5]]
    guesses = silent.infer(silent.perturb(np.zeros(4_000, dtype=int), rng=1), rng=2)
    assert 0.45 < guesses.mean() < 0.55
