"""Grid noise: its law in exact fractions, its draws by tests with power; tails of the normal."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr, ndtr
from scipy.stats import kstest, laplace, norm

from seepage._numerics import Booleans
from seepage.mechanisms import noise
from seepage.mechanisms.exact_probabilities import CERTAIN, exp_below, log_nearest
from seepage.mechanisms.noise import (
    SPARE,
    GaussianGrid,
    LaplaceGrid,
    gaussian_delta,
    gaussian_sigma,
    normal_tail,
)
from seepage.mechanisms.randomness import Randomness

SHIFT_BUDGETS = [2.0**-49, 5e-13, 1e-6, 0.05, 0.5, 3.0, 25.0, 350.0, 400.0, 1e4, 1e300]


def seeded(seed: int) -> Randomness:
    return Randomness(np.random.default_rng(seed))


def exp_above(exponent: float) -> Fraction:
    with localcontext(prec=60, Emax=10**9):
        return Fraction(Decimal(min(exponent, 2e4)).exp().next_plus())


def magnitude_law(grid: LaplaceGrid, count: int) -> list[Fraction]:
    """P(magnitude = n) for n < count, straight from the thresholds."""
    law = []
    for n in range(count):
        probability = Fraction(1)
        for place, chance in enumerate(grid.chances):
            share = Fraction(chance, CERTAIN)
            probability *= share if n >> place & 1 else 1 - share
        trials = n >> len(grid.chances)
        again = Fraction(grid.farther, CERTAIN)
        law.append(probability * again**trials * (1 - again))
    return law


@pytest.mark.parametrize("shift_budget", SHIFT_BUDGETS)
def test_laplace_grid_never_exceeds_its_budget(shift_budget: float) -> None:
    grid = LaplaceGrid(shift_budget)
    assert 1 <= grid.worst <= exp_above(shift_budget)


@pytest.mark.parametrize("shift_budget", [b for b in SHIFT_BUDGETS if 1e-6 <= b <= 40])
def test_laplace_grid_uses_its_budget(shift_budget: float) -> None:
    """Not a grid that keeps its budget by being far noisier."""
    assert math.log(LaplaceGrid(shift_budget).worst) == pytest.approx(shift_budget, rel=1e-9)


@pytest.mark.parametrize("shift_budget", [0.01, 0.5, 3.0, 20.0, 60.0, 200.0])
def test_worst_is_the_largest_ratio_over_all_cells(
    shift_budget: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noise, "LAPLACE_CELLS", 2)
    grid = LaplaceGrid(shift_budget)
    reach = 4 * (grid.mirror + (1 << len(grid.chances)))
    law = magnitude_law(grid, reach + grid.mirror + 1)
    ratios = [law[abs(cell)] / law[abs(grid.mirror - cell)] for cell in range(-reach, reach)]
    assert max(max(ratios), 1 / min(ratios)) == grid.worst


def test_laplace_grid_has_the_law_of_the_density(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "LAPLACE_CELLS", 3)
    grid = LaplaceGrid(0.5)
    law = magnitude_law(grid, 1000)
    shrink = math.exp(-0.5 / grid.mirror)
    for n, probability in enumerate(law):
        assert float(probability) == pytest.approx((1 - shrink) * shrink**n, rel=1e-12)


def test_laplace_draws_follow_the_enumerated_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "LAPLACE_CELLS", 1)
    grid, size = LaplaceGrid(2.0), 200_000
    cells = grid.draw(seeded(3), size)
    law = magnitude_law(grid, 40)
    kept = 1 - law[0] / 2
    for cell in range(-5, 6):
        expected = float(law[abs(cell)] / 2 / kept)
        spread = math.sqrt(expected * (1 - expected) / size)
        assert abs(np.mean(cells == cell) - expected) < 5 * spread


@pytest.mark.parametrize("shift_budget", [5e-13, 0.05, 0.5, 350.0])
def test_laplace_draws_fit_the_scale_and_no_other(shift_budget: float) -> None:
    grid = LaplaceGrid(shift_budget)
    values = grid.values(grid.draw(seeded(4), 20_000))
    jitter = np.random.default_rng(5).uniform(-0.5, 0.5, len(values)) / grid.mirror
    fits = {
        factor: kstest(values + jitter, laplace(scale=factor / shift_budget).cdf).pvalue
        for factor in (0.7, 1.0, 1.3)
    }
    assert fits[1.0] > 1e-3 > 1e-6 > max(fits[0.7], fits[1.3])


def test_laplace_grid_counts_on_where_the_bits_end() -> None:
    """Magnitudes have no end: else some reports would be possible for one value only."""
    grid = LaplaceGrid(4.0)
    grid.farther = CERTAIN // 2
    cells = np.abs(grid.draw(seeded(6), 10_000)) >> len(grid.chances)
    assert set(range(5)) <= set(cells.tolist())


BUDGETS = [(0.0, 1e-6), (1e-12, 1e-12), (1.0, 1e-6), (50.0, 1e-6), (700.0, 1e-9)]


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_gaussian_thresholds_are_an_increasing_table(epsilon: float, delta: float) -> None:
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
def test_gaussian_grid_keeps_delta_by_summing_over_all_reports(
    epsilon: float, delta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exact hockey-stick distance of the two entries that differ, in fractions."""
    monkeypatch.setattr(noise, "GAUSSIAN_CELLS", 0)
    monkeypatch.setattr(noise, "CLAMP", 7)
    sigma = gaussian_sigma(epsilon, delta)
    grid = GaussianGrid(sigma, delta * 2**-32)
    zero, one = cell_law(grid), cell_law(grid)[::-1]
    growth, realised = exp_below(epsilon), Fraction(0)
    for first in range(len(zero)):
        for second in range(len(zero)):
            gap = one[first] * zero[second] - growth * zero[first] * one[second]
            realised += max(gap, Fraction(0))
    assert realised <= Fraction(gaussian_delta(epsilon, sigma, 40)) + grid.added <= delta
    assert realised > 0.5 * delta


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_gaussian_draws_fit_sigma_and_no_other(epsilon: float, delta: float) -> None:
    sigma = gaussian_sigma(epsilon, delta)
    grid = GaussianGrid(sigma, delta * 2**-32)
    values = grid.values(grid.draw(seeded(7), 20_000))
    jitter = np.random.default_rng(8).uniform(-0.5, 0.5, len(values)) * grid.step
    fits = {
        factor: kstest(values + jitter, norm(scale=factor * sigma).cdf).pvalue
        for factor in (0.7, 1.0, 1.3)
    }
    assert fits[1.0] > 1e-3 > 1e-6 > max(fits[0.7], fits[1.3])


def test_gaussian_draws_that_the_lead_cannot_decide_use_all_bits() -> None:
    """With a lead equal to a threshold's, the remaining bits split the draws in its proportion."""
    grid = GaussianGrid(1.0, 1e-10)
    place = grid.edge
    rest = grid.thresholds[place] & ((1 << (grid.bits - 32)) - 1)
    share = rest / (1 << (grid.bits - 32))

    class Stuck(Randomness):
        def bytes(self, count: int) -> np.ndarray:
            if count == 4 * 4000:
                return np.full(4000, grid.leads[place], dtype="<u4").view(np.uint8)
            return super().bytes(count)

    cells = grid.draw(Stuck(np.random.default_rng(9)), 4000)
    below = np.mean(cells + grid.edge == place)
    assert set((cells + grid.edge).tolist()) == {place, place + 1}
    assert abs(below - share) < 5 * math.sqrt(share * (1 - share) / 4000)


class Told(Randomness):
    """A source whose events happen as told, one at a time."""

    def __init__(self, events: list[bool]) -> None:
        super().__init__(None)
        self.events = events

    def happens(self, threshold: int, shape: int | tuple[int, ...]) -> Booleans:
        return np.array([self.events.pop(0)])


def test_a_trial_beyond_the_bits_counts_as_the_next_bit() -> None:
    """Two trials that go on, beside the lowest bit: 2^(bits + 1) + 1 cells."""
    grid = LaplaceGrid(1.0)
    bits = [place == 0 for place in range(len(grid.chances))]
    for negative in (False, True):
        source = Told([*bits, True, True, False, negative])
        cells = (2 << len(bits)) + 1
        assert grid.draw(source, 1).tolist() == [-cells if negative else cells]
        assert not source.events


# The normal tail and the Gaussian mechanism's delta, against SciPy and each other


NORMAL_BUDGETS = [(0.0, 1e-6), (1e-12, 1e-12), (0.1, 1e-9), (1.0, 1e-6), (1.0, 0.5), (5.0, 1e-3)]
EXTREMES = [(50.0, 1e-6), (700.0, 1e-6), (800.0, 1e-9), (1.0, 1e-100), (0.0, 1 - 1e-6)]


@given(st.floats(-8.0, 37.0))
def test_tail_is_that_of_scipy(x: float) -> None:
    low, high = normal_tail(Fraction(x), 20)
    assert float(low) == pytest.approx(float(ndtr(-x)), rel=1e-12)
    assert 0 <= high - low < low / 10**20


@pytest.mark.parametrize("x", ["1e-30", "0.5", "3", "4.79", "4.81", "7", "12", "16", "17", "40"])
def test_the_bounds_on_the_tail_have_the_digits_asked_for(x: str) -> None:
    few, many = normal_tail(Fraction(x), 30), normal_tail(Fraction(x), 400)
    assert few[0] < many[0] < many[1] < few[1] < few[0] * (1 + Fraction(1, 10**30))


def test_tail_far_beyond_the_range_of_doubles() -> None:
    logarithm = log_nearest(normal_tail(Fraction(60), 20)[0])
    assert logarithm == pytest.approx(float(log_ndtr(-60.0)), rel=1e-14)


@settings(max_examples=50, deadline=None)
@given(st.floats(0.0, 8.0), st.floats(0.2, 8.0))
def test_delta_is_the_published_formula(epsilon: float, sigma: float) -> None:
    root = math.sqrt(2)
    likely = ndtr(1 / (root * sigma) - epsilon * sigma / root)
    published = likely - math.exp(epsilon) * ndtr(-1 / (root * sigma) - epsilon * sigma / root)
    assert float(gaussian_delta(epsilon, sigma, 30)) == pytest.approx(published, abs=1e-13)


def test_delta_is_the_largest_excess_over_intervals() -> None:
    """The hockey-stick distance of N(0, s^2) and N(sqrt 2, s^2) by brute force."""
    epsilon, sigma, step = 0.7, 0.9, 1e-3
    excess = 0.0
    for cell in range(-8_000, 10_000):
        left, right = cell * step, (cell + 1) * step
        near = ndtr((right - math.sqrt(2)) / sigma) - ndtr((left - math.sqrt(2)) / sigma)
        far = ndtr(right / sigma) - ndtr(left / sigma)
        excess += max(0.0, float(near - math.exp(epsilon) * far))
    assert float(gaussian_delta(epsilon, sigma, 20)) == pytest.approx(excess, abs=1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), NORMAL_BUDGETS + EXTREMES)
def test_sigma_is_the_least_that_keeps_delta(epsilon: float, delta: float) -> None:
    sigma = gaussian_sigma(epsilon, delta)
    digits = 30 - math.floor(math.log10(delta))
    limit = Fraction(delta) * Fraction(1 - SPARE)
    assert gaussian_delta(epsilon, sigma, digits) <= limit
    assert gaussian_delta(epsilon, sigma * (1 - 1e-11), digits) > limit


def test_sigma_without_epsilon_has_a_closed_form() -> None:
    """At epsilon 0 delta is the total variation distance, erf(1/(2 sigma)); about 1/(s sqrt pi)."""
    assert gaussian_sigma(0.0, 1e-12) * 1e-12 * math.sqrt(math.pi) == pytest.approx(1, rel=1e-8)
    assert math.erf(1 / (2 * gaussian_sigma(0.0, 0.3))) == pytest.approx(0.3, rel=1e-8)
