"""Limits of means: exact enumeration of tiny samples, a general solver, and their
order.
"""

import math
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import LinearConstraint, minimize
from scipy.special import rel_entr

from seepage.confidence.mean_limits import (
    kl_inf_interval,
    kl_lower,
    kl_upper,
    mixture_radius,
    tangent_lines,
)
from seepage.confidence.proportion_limits import (
    clopper_pearson,
    proportion_interval,
    quantile_intervals,
)

SHARES = [Fraction(part, 40) for part in range(41)] + [
    Fraction(1, 1000),
    Fraction(999, 1000),
]


def binomial(n, p):
    return [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def hypergeometric(people, hits, n):
    return [
        Fraction(comb(hits, k) * comb(people - hits, n - k), comb(people, n))
        for k in range(n + 1)
    ]


def missed(limits, tails, p):
    """Return the exact probabilities that p lies above the upper and below the lower
    limits.
    """
    above = sum(
        t for t, limit in zip(tails, limits.upper, strict=True) if p > Fraction(limit)
    )
    below = sum(
        t for t, limit in zip(tails, limits.lower, strict=True) if p < Fraction(limit)
    )
    return above, below


@pytest.mark.parametrize("n", [1, 2, 3, 7, 12])
@pytest.mark.parametrize("c", [math.log(4), 2.5, 4.0])
def test_binomial_limits_have_their_error_probability(n, c):
    limits = clopper_pearson(np.arange(n + 1), n, c)
    for p in SHARES:
        assert max(missed(limits, binomial(n, p), p)) <= Fraction(math.exp(-c))


@pytest.mark.parametrize(
    ("people", "n"), [(2, 2), (5, 3), (12, 7), (13, 13), (40, 2), (60, 9)]
)
@pytest.mark.parametrize("c", [math.log(4), 3.0, -math.log(0.0495)])
def test_binomial_limits_hold_without_replacement(people, n, c):
    limits = clopper_pearson(np.arange(n + 1), n, c)
    for hits in range(people + 1):
        p = Fraction(hits, people)
        assert max(missed(limits, hypergeometric(people, hits, n), p)) <= Fraction(
            math.exp(-c)
        )


@pytest.mark.parametrize("level", [0.005, 0.25])
def test_the_textbook_interval_is_that_of_clopper_and_pearson(level):
    hits = np.array([0, 1, 37, 99, 100])
    limits = proportion_interval(hits, 100 - hits, level)
    exact = [
        stats.binomtest(int(k), 100).proportion_ci(1 - 2 * level, "exact") for k in hits
    ]
    found = np.transpose(limits)
    assert found == pytest.approx(np.array(exact))


@pytest.mark.parametrize(
    ("count", "level"), list(product([20, 100, 1_000], [0.05, 0.5, 0.95]))
)
def test_limits_of_quantiles_hold_as_often_as_stated_and_are_tight(count, level):
    beta = 0.01
    [[[_, low, high]]] = quantile_intervals(
        np.arange(1.0, count + 1)[None], [level], beta
    )
    below = stats.binom(count, level)
    assert low == 0 or below.cdf(low - 1) <= beta / 2
    assert low == count or below.cdf(low) > beta / 2
    if math.isfinite(high):
        assert below.sf(high - 1) <= beta / 2
    assert below.sf(min(high, count + 1) - 2) > beta / 2


@pytest.mark.parametrize("people", [2, 7, 12])
def test_draws_without_replacement_have_smaller_tails(people):
    """Uhlmann's theorem, where the proof uses it: at least one below the mean."""
    for n, hits in product(range(1, people + 1), range(people + 1)):
        p = Fraction(hits, people)
        tails = zip(hypergeometric(people, hits, n), binomial(n, p), strict=True)
        without = independent = Fraction(0)
        for k, (one, other) in enumerate(tails):
            without = without + one
            independent = independent + other
            assert k > n * p - 1 or without <= independent


def test_a_binomial_limit_is_attained():
    """A test with power: at half the radius some share is missed too often."""
    n = 12
    c = 3.0
    limits = clopper_pearson(np.arange(n + 1), n, c / 2)
    worst = max(max(missed(limits, binomial(n, p), p)) for p in SHARES)
    assert worst > math.exp(-c)


@pytest.mark.parametrize("n", [1, 5, 12])
def test_mean_limits_have_their_error_probability(n):
    """Weights with three values: every sample enumerated, every mean on a grid."""
    weights = np.array([0.1, 0.4, 1.0])
    c = 2.5
    tables = np.array([t for t in product(range(n + 1), repeat=3) if sum(t) == n])
    ways = np.array(
        [math.factorial(n) // math.prod(map(math.factorial, t)) for t in tables]
    )
    means = tables @ weights / n
    radius = mixture_radius(n, c)
    limits = kl_inf_interval(weights, tables / n, radius, 0.0, 1.0)
    scale = 0.1, 1.0
    tight = kl_inf_interval(weights, tables / n, radius, *scale)
    coin = kl_lower(means, c / n), kl_upper(means, c / n)
    for p in np.random.default_rng(0).dirichlet([0.5] * 3, 40):
        chance = ways * np.prod(p**tables, axis=1)
        mean = float(p @ weights)
        for lower, upper in (limits, tight, coin):
            assert chance[mean > upper].sum() <= math.exp(-c)
            assert chance[mean < lower].sum() <= math.exp(-c)


def test_limits_without_records_are_the_full_range():
    assert clopper_pearson(0, 0, 5.0) == (0.0, 1.0)
    found = kl_inf_interval([0.2, 1.0], [0.0, 0.0], mixture_radius(0, 5.0), 0.2, 1.0)
    assert (found.lower, found.upper) == (0.2, 1.0)


def test_binomial_limits_of_huge_samples_and_levels_are_those_of_kl():
    n = 10**12
    found = clopper_pearson([0, n // 3, n], n, 10.0)
    assert found.upper == pytest.approx(
        kl_upper([0, (n // 3) / n, 1], 10.0 / n), rel=1e-9
    )
    assert clopper_pearson(5, 10, 1e6).upper == pytest.approx(1.0)
    assert clopper_pearson(0, 10, 300.0).upper < 1.0 + 1e-15


means = st.floats(1e-6, 1 - 1e-6)
radii = st.floats(-14.0, 2.0).map(math.exp)


def kl(a, q):
    return float(rel_entr(a, q) + rel_entr(1 - a, 1 - q))


@given(means, radii)
@settings(max_examples=300, deadline=None)
def test_kl_limits_lie_on_the_level_of_relative_entropy(a, r):
    upper = float(kl_upper(a, r))
    lower = float(kl_lower(a, r))
    assert lower <= a <= upper
    if upper < 1 - 1e-6:
        assert r - 1e-14 <= kl(a, upper) <= r * (1 + 1e-4) + 1e-13
    if 1e-200 < lower < 1 - 1e-6:
        assert r - 1e-14 <= kl(a, lower) <= r * (1 + 1e-4) + 1e-13


@given(means, radii, st.integers(2, 3000))
@settings(max_examples=200, deadline=None)
def test_limits_widen_with_confidence_and_narrow_with_records(a, r, n):
    assert kl_lower(a, 2 * r) <= kl_lower(a, r) <= kl_upper(a, r) <= kl_upper(a, 2 * r)
    k = int(a * n)
    few, many, sure = (
        clopper_pearson(k * f, n * f, c) for f, c in ((1, 5), (2, 5), (1, 9))
    )
    # never wider than Chernoff's limits, but for the trifle of `clopper_pearson`
    wide = kl_lower(k / n, 5.01 / n), kl_upper(k / n, 5.01 / n)
    for narrow, other in ((many, few), (few, sure), (few, wide)):
        assert other[0] <= narrow[0] * (1 + 1e-9) and narrow[1] <= other[1] * (1 + 1e-9)  # noqa: PT018


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), radii)
@settings(max_examples=200, deadline=None)
def test_tangent_lines_bound_the_kl_limits(at, a, r):
    constant, slope = tangent_lines(max(at, 1e-3 * r) if r < 1 else 1.0, at, r, r)
    upper, lower = constant + slope * a
    assert upper >= kl_upper(a, r) * (1 - 3e-11) - 1e-15
    assert lower <= kl_lower(a, r) * (1 + 3e-11) + 1e-15


def general_upper(weights, shares, radius, most):
    """Maximise the mean over distributions on the weights and `most`, by a general
    solver.
    """
    w, p = np.append(weights, most), np.append(shares, 0.0)
    seen = p > 0

    def entropy(q):
        return float((p[seen] * np.log(p[seen] / np.maximum(q[seen], 1e-300))).sum())

    found = minimize(
        lambda q: -(q @ w),
        0.98 * p + 0.02 / len(p) * (p[seen].sum()),
        jac=lambda q: -w,
        bounds=[(1e-12, 1)] * len(p),
        constraints=[
            LinearConstraint(np.ones(len(p)), 1, 1),
            {"type": "ineq", "fun": lambda q: radius - entropy(q)},
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )
    return -found.fun


def test_kl_inf_limits_match_a_general_solver():
    rng = np.random.default_rng(5)
    for _ in range(15):
        weights = np.sort(rng.random(4)) * 0.9 + 0.05
        shares = rng.dirichlet([1.0] * 4)
        radius = float(np.exp(rng.uniform(-4, 0)))
        found = kl_inf_interval(weights, shares, radius, 0.0, 1.0)
        assert found.upper == pytest.approx(
            general_upper(weights, shares, radius, 1.0), abs=2e-5
        )
        mirrored = 1 - general_upper(1 - weights, shares, radius, 1.0)
        assert found.lower == pytest.approx(mirrored, abs=2e-5)


def test_kl_inf_limits_attain_their_radius():
    """At the limit the nearest distribution is exactly as far as allowed, in closed
    form.
    """
    weights = np.array([0.1, 0.3, 0.7])
    shares = np.array([0.5, 0.3, 0.2])
    for radius in (1e-5, 1e-3, 0.05):
        upper = float(kl_inf_interval(weights, shares, radius, 0.0, 1.0).upper)
        bets = np.linspace(0, 1, 200_001)[:, None]
        wealth = (shares * np.log1p(-bets * (weights - upper) / (1 - upper))).sum(
            axis=1
        )
        assert wealth.max() == pytest.approx(radius, rel=1e-4)


@given(st.integers(1, 10**9), st.floats(1.0, 60.0))
def test_the_mixture_radius_covers_the_regret(n, c):
    regret = 0.5 * math.log(math.pi) + math.lgamma(n + 1) - math.lgamma(n + 0.5)
    assert mixture_radius(n, c) * n >= c + regret - 1e-6
    assert mixture_radius(n, c) * n <= c + regret + 1e-4
