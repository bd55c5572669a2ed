"""Gaussian noise on a grid: its law in exact fractions, its draws, tails of the
normal.
"""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import kstest, norm

from seepage.mechanisms import gaussian
from seepage.mechanisms.exact_probabilities import exp_below
from seepage.mechanisms.gaussian import (
    SPARE_SHARE,
    GaussianGrid,
    gaussian_delta,
    gaussian_sigma,
)
from seepage.mechanisms.randomness import Randomness


def seeded(seed: int) -> Randomness:
    return Randomness(np.random.default_rng(seed))


BUDGETS = [(0.0, 1e-6), (1e-12, 1e-12), (1.0, 1e-6), (50.0, 1e-6), (700.0, 1e-9)]


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_gaussian_thresholds_are_an_increasing_table(
    epsilon: float, delta: float
) -> None:
    sigma = gaussian_sigma(epsilon, delta)
    grid = GaussianGrid(sigma, delta * 2**-32)
    edges = 0.5 + (np.arange(-grid.edge, grid.edge) + 0.5) * grid.step
    shares = [float(Fraction(value, 2**grid.bits)) for value in grid.thresholds]
    assert delta * 2**-32 / 10.001 < grid.added <= delta * 2**-32
    assert all(low < high for low, high in pairwise(grid.thresholds))
    assert 0 < grid.thresholds[0] < grid.thresholds[-1] < 2**grid.bits
    np.testing.assert_allclose(shares, norm.cdf(edges / sigma), rtol=1e-10)


def cell_law(grid: GaussianGrid) -> list[Fraction]:
    bounds = [0, *grid.thresholds, 2**grid.bits]
    return [Fraction(b - a, 2**grid.bits) for a, b in pairwise(bounds)]


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.05), (2.0, 1e-4), (8.0, 1e-6)])
def test_gaussian_grid_is_within_delta_by_summing_over_all_reports(
    epsilon: float, delta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exact hockey-stick distance of the two entries that differ, in fractions."""
    monkeypatch.setattr(gaussian, "GAUSSIAN_CELLS", 0)
    monkeypatch.setattr(gaussian, "TABLE_SIGMAS", 7)
    sigma = gaussian_sigma(epsilon, delta)
    grid = GaussianGrid(sigma, delta * 2**-32)
    zero = cell_law(grid)
    one = cell_law(grid)[::-1]
    growth = exp_below(epsilon)
    realised = Fraction(0)
    for first in range(len(zero)):
        for second in range(len(zero)):
            gap = one[first] * zero[second] - growth * zero[first] * one[second]
            realised += max(gap, Fraction(0))
    assert (
        realised <= Fraction(gaussian_delta(epsilon, sigma, 40)) + grid.added <= delta
    )
    assert realised > 0.5 * delta


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_gaussian_draws_fit_sigma_and_no_other(epsilon: float, delta: float) -> None:
    sigma = gaussian_sigma(epsilon, delta)
    grid = GaussianGrid(sigma, delta * 2**-32)
    values = grid.origin + grid.step * grid.draw(seeded(7), 20_000)
    jitter = np.random.default_rng(8).uniform(-0.5, 0.5, len(values)) * grid.step
    fits = {
        factor: kstest(values + jitter, norm(scale=factor * sigma).cdf).pvalue
        for factor in (0.7, 1.0, 1.3)
    }
    assert fits[1.0] > 1e-3 > 1e-6 > max(fits[0.7], fits[1.3])


def test_gaussian_draws_that_the_lead_cannot_decide_use_all_bits() -> None:
    """With a lead equal to a threshold's, the remaining bits split the draws in its
    proportion.
    """
    grid = GaussianGrid(1.0, 1e-10)
    cell = grid.edge
    rest = grid.thresholds[cell] & ((1 << (grid.bits - 32)) - 1)
    share = rest / (1 << (grid.bits - 32))

    class Stuck(Randomness):
        def bytes(self, count: int) -> np.ndarray:
            if count == 4 * 4000:
                return np.full(4000, grid.leads[cell], dtype="<u4").view(np.uint8)
            return super().bytes(count)

    cells = grid.draw(Stuck(np.random.default_rng(9)), 4000)
    below = np.mean(cells + grid.edge == cell)
    assert set((cells + grid.edge).tolist()) == {cell, cell + 1}
    assert abs(below - share) < 5 * math.sqrt(share * (1 - share) / 4000)


# The Gaussian mechanism's delta, against SciPy and each other


NORMAL_BUDGETS = [
    (0.0, 1e-6),
    (1e-12, 1e-12),
    (0.1, 1e-9),
    (1.0, 1e-6),
    (1.0, 0.5),
    (5.0, 1e-3),
]
EXTREMES = [(50.0, 1e-6), (700.0, 1e-6), (800.0, 1e-9), (1.0, 1e-100), (0.0, 1 - 1e-6)]


@settings(max_examples=50, deadline=None)
@given(st.floats(0.0, 8.0), st.floats(0.2, 8.0))
def test_delta_is_the_published_formula(epsilon: float, sigma: float) -> None:
    root = math.sqrt(2)
    likely = ndtr(1 / (root * sigma) - epsilon * sigma / root)
    published = likely - math.exp(epsilon) * ndtr(
        -1 / (root * sigma) - epsilon * sigma / root
    )
    assert float(gaussian_delta(epsilon, sigma, 30)) == pytest.approx(
        published, abs=1e-13
    )


def test_delta_is_the_largest_excess_over_intervals() -> None:
    """The hockey-stick distance of N(0, s^2) and N(sqrt 2, s^2) by brute force."""
    epsilon = 0.7
    sigma = 0.9
    step = 1e-3
    excess = 0.0
    for cell in range(-8_000, 10_000):
        left = cell * step
        right = (cell + 1) * step
        near = ndtr((right - math.sqrt(2)) / sigma) - ndtr(
            (left - math.sqrt(2)) / sigma
        )
        far = ndtr(right / sigma) - ndtr(left / sigma)
        excess += max(0.0, float(near - math.exp(epsilon) * far))
    assert float(gaussian_delta(epsilon, sigma, 20)) == pytest.approx(excess, abs=1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), NORMAL_BUDGETS + EXTREMES)
def test_sigma_is_the_smallest_within_delta(epsilon: float, delta: float) -> None:
    sigma = gaussian_sigma(epsilon, delta)
    digits = 30 - math.floor(math.log10(delta))
    limit = Fraction(delta) * Fraction(1 - SPARE_SHARE)
    assert gaussian_delta(epsilon, sigma, digits) <= limit
    assert gaussian_delta(epsilon, sigma * (1 - 1e-11), digits) > limit


def test_sigma_without_epsilon_has_a_closed_form() -> None:
    """At epsilon 0 delta is the total variation distance, erf(1/(2 sigma)); about 1/(s
    sqrt pi).
    """
    assert gaussian_sigma(0.0, 1e-12) * 1e-12 * math.sqrt(math.pi) == pytest.approx(
        1, rel=1e-8
    )
    assert math.erf(1 / (2 * gaussian_sigma(0.0, 0.3))) == pytest.approx(0.3, rel=1e-8)
