"""The Dependency Triad: its formulas, zero cells, and that it is never below the bound."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seepage as sp
from seepage.study.baselines import analyser, triad, triad_leakage
from strategies import shares, tables


def artifact(alpha, delta, phi, epsilon):
    """Return the leakage by the artifact's formulas with beta, for finite alpha > 0."""
    growth, e_alpha = math.expm1(epsilon), math.exp(alpha)
    e_beta = (1 + phi + e_alpha * (delta - 1) - 2 * delta) / (1 + (phi - 1) * e_alpha - delta)
    other = (e_beta - 1) * (1 - delta) / (e_alpha * e_beta - 1)
    if delta - 1 + e_alpha - delta * math.exp(epsilon) < 0:
        other = 0.0
    return math.log((1 + (e_alpha * other + delta) * growth) / (1 + other * growth))


@settings(max_examples=200)
@given(tables(least=2), st.floats(0.01, 20.0))
def test_never_below_the_bound_and_at_most_epsilon(counts, epsilon):
    _, channel = shares(counts)
    found = triad_leakage(*triad(np.asarray(channel)), epsilon)
    assert sp.leakage_bound(channel, epsilon).value <= found + 1e-9
    assert found <= epsilon


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("zeros", [False, True])
def test_the_formulas_of_the_artifact(epsilon, zeros):
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


def test_two_source_values_have_the_bound():
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
        ([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]], math.log1p(0.5 * math.expm1(1.5))),  # alpha = 0
    ],
)
def test_limits(channel, expected):
    assert triad_leakage(*triad(np.array(channel)), 1.5) == pytest.approx(expected)


def test_adult_has_numbers_everywhere_though_it_has_zero_cells():
    pairs = sp.load_pairs("adult")
    values = analyser("triad").leakages(pairs, np.ones(15))
    bound = sp.leakage_matrix(pairs, 1.0).values
    assert np.isfinite(values).all()
    assert (values >= bound - 1e-12).all()
    assert (np.diag(values) == 0).all()
    [score] = sp.benchmark_analysers(pairs, [1.0], chosen=["Triad"]).scores
    assert score.region == "R2"
    assert 0 < score.overshoot < 0.2
