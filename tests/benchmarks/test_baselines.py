"""The analysers: their formulas, their errors, and a worked example of adding one."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seepage as sp
from seepage.benchmarks.analyser_registry import (
    ANALYSERS,
    analyse_with,
    analyser_of_name,
    register_analyser,
)
from seepage.benchmarks.baselines import dependency_graph, triad, triad_leakage
from strategies import pair_counts, shares, tables

BINARY = sp.Domain([sp.Attribute(name, ("no", "yes")) for name in "abc"])


@pytest.fixture
def pairs():
    return sp.PairCounts(
        BINARY,
        [[60, 40], [50, 50], [30, 70]],
        [40, 20, 10, 30, 18, 42, 12, 28, 15, 35, 15, 35],
    )


def test_registry_holds_the_papers_analysers():
    names = {
        "spl-anl",
        "grf 0.2",
        "grf 0.4",
        "its",
        "cbp",
        "grr-anl",
        "exp-anl",
        "algorithm 2",
    }
    assert names <= set(ANALYSERS)


@pytest.mark.parametrize("name", sorted(ANALYSERS))
def test_contract(name, pairs):
    epsilons = np.array([0.5, 1.0, 2.0])
    values = analyse_with(analyser_of_name(name), pairs, epsilons)
    assert values.shape == (3, 3)
    assert (np.diag(values) == 0).all()
    assert (values <= epsilons[None, :] + 1e-12).all(), (
        "no analyser exceeds the source's epsilon"
    )


def test_graph_joins_whole_components():
    rng = np.random.default_rng(2)
    a, c = rng.integers(2, size=(2, 4_000))
    b = a.copy()
    d = rng.integers(2, size=4_000)
    b[:1000], e = c[:1000], c.copy()
    e[:1000] = rng.integers(2, size=1_000)
    b[2000:3500] = c[2000:3500]
    pairs = pair_counts(dict(zip("abcde", (a, b, c, d, e), strict=True)))
    pcc = np.abs(sp.correlation_matrix(pairs, "pcc").values)
    assert pcc[0, 4] < 0.1 < min(pcc[0, 1], pcc[1, 2], pcc[2, 4])
    found = analyse_with(dependency_graph(0.1), pairs, np.ones(5))
    assert (found[0] > 0).tolist() == [False, True, True, False, True]
    assert (found[3] > 0).tolist() == [False] * 5


def test_graph_uses_the_threshold_inclusively(pairs):
    strength = abs(sp.correlation_matrix(pairs, "pcc")[0, 1])
    ones = np.ones(3)
    at = analyse_with(dependency_graph(strength), pairs, ones)
    above = analyse_with(dependency_graph(np.nextafter(strength, 1)), pairs, ones)
    assert at[0, 1] == 1
    assert above[0, 1] == 0


def test_covariance_based_never_exceeds_grr_on_random_pairs():
    rng = np.random.default_rng(5)
    for _ in range(300):
        table = rng.integers(1, 200, size=(2, 2))
        pairs = sp.PairCounts(
            BINARY.select(["a", "b"]),
            [table.sum(axis=1), table.sum(axis=0)],
            table.ravel(),
        )
        budget = np.full(2, rng.uniform(0.1, 4))
        symmetric = analyse_with(analyser_of_name("cbp"), pairs, budget)
        assert symmetric[0, 1] == pytest.approx(symmetric[1, 0], abs=1e-12)
        assert (
            symmetric <= analyser_of_name("its").leakages(pairs, budget) + 1e-12
        ).all()


def test_covariance_based_raises_for_larger_alphabets():
    with pytest.raises(
        sp.DomainError, match=r"binary attributes only, and 'age' has 6 values"
    ):
        analyser_of_name("cbp").leakages(sp.load_pairs("adult"), np.ones(15))


class HalfOfEverything:
    """A worked example: an analyser that says half of epsilon for every pair."""

    name = "HALF"

    def leakages(self, pairs, epsilons):
        values = np.tile(epsilons / 2, (len(epsilons), 1))
        np.fill_diagonal(values, 0)
        return values


@pytest.fixture
def half():
    yield register_analyser(HalfOfEverything())
    ANALYSERS.remove("half")


def test_adding_an_analyser_is_one_class_and_one_line(half, pairs):
    scores = sp.benchmark_analysers(pairs, [1.0], analysers=["half", "SPL-ANL"]).scores
    assert [score.analyser for score in scores] == ["HALF", "SPL-ANL"]
    assert scores[0].overshoot < scores[1].overshoot


def test_a_name_is_registered_once(half):
    with pytest.raises(sp.InputError, match="'HALF' is registered already"):
        register_analyser(HalfOfEverything())


class Broken:
    name = "BROKEN"

    def __init__(self, answer):
        self.answer = answer

    def leakages(self, pairs, epsilons):
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.zeros((2, 2)), "must return a 3 x 3 matrix, got shape"),
        (np.full((3, 3), np.nan), "must return numbers, got NaN"),
        (np.full((3, 3), -0.5), "must return leakages of at least 0, got -0.5"),
    ],
)
def test_an_invalid_matrix_raises_with_the_name_of_the_analyser(answer, message, pairs):
    with pytest.raises(sp.InputError, match=f"analyser 'BROKEN' {message}"):
        sp.benchmark_analysers(pairs, [1.0], analysers=[Broken(answer)])


@pytest.mark.parametrize("name", ["grf two", "grf 1.5", "nothing"])
def test_unknown_names_raise(name):
    with pytest.raises(sp.InputError):
        analyser_of_name(name)


# The Dependency Triad -----------------------------------------------------------------


def artifact(alpha, delta, phi, epsilon):
    """Return the leakage by the artifact's formulas with beta, for finite alpha > 0."""
    growth = math.expm1(epsilon)
    e_alpha = math.exp(alpha)
    e_beta = (1 + phi + e_alpha * (delta - 1) - 2 * delta) / (
        1 + (phi - 1) * e_alpha - delta
    )
    other = (e_beta - 1) * (1 - delta) / (e_alpha * e_beta - 1)
    if delta - 1 + e_alpha - delta * math.exp(epsilon) < 0:
        other = 0.0
    return math.log((1 + (e_alpha * other + delta) * growth) / (1 + other * growth))


@settings(max_examples=200)
@given(tables(least=2), st.floats(0.01, 20.0))
def test_triad_is_never_below_the_bound_and_at_most_epsilon(counts, epsilon):
    _, channel = shares(counts)
    found = triad_leakage(*triad(np.asarray(channel)), epsilon)
    assert sp.leakage_bound(channel, epsilon).value <= found + 1e-9
    assert found <= epsilon


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("zeros", [False, True])
def test_triad_has_the_formulas_of_the_artifact(epsilon, zeros):
    rng = np.random.default_rng(7)
    for _ in range(60):
        channel = rng.dirichlet(np.ones(5), size=3)
        if zeros:
            channel[0, 0] = 0
            channel /= channel.sum(axis=1, keepdims=True)
        three = triad(channel)
        assert (three[1] > 0) == zeros
        expected = artifact(*three, epsilon)
        assert triad_leakage(*three, epsilon) == pytest.approx(expected, rel=1e-9)


def test_triad_of_two_source_values_is_the_bound():
    rng = np.random.default_rng(3)
    for _ in range(50):
        channel = rng.dirichlet(np.ones(2), size=4)
        bound = sp.leakage_bound(channel, 2.0).value
        assert triad_leakage(*triad(channel), 2.0) == pytest.approx(bound, rel=1e-9)


@pytest.mark.parametrize(
    ("channel", "expected"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], 1.5),  # disjoint supports
        ([[0.5, 0.5], [0.5, 0.5]], 0.0),
        (
            [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]],
            math.log1p(0.5 * math.expm1(1.5)),
        ),  # alpha = 0
    ],
)
def test_triad_of_extreme_channels(channel, expected):
    assert triad_leakage(*triad(np.array(channel)), 1.5) == pytest.approx(expected)


def test_triad_of_adult_is_finite_though_it_has_zero_cells():
    pairs = sp.load_pairs("adult")
    values = analyser_of_name("triad").leakages(pairs, np.ones(15))
    bound = sp.leakage_matrix(pairs, 1.0).values
    assert np.isfinite(values).all()
    assert (values >= bound - 1e-12).all()
    assert (np.diag(values) == 0).all()
    [score] = sp.benchmark_analysers(pairs, [1.0], analysers=["Triad"]).scores
    assert score.region == "R2"
    assert 0 < score.overshoot < 0.2
