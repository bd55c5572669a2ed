"""Laplace noise on a grid: its law in exact fractions, its draws by tests with
power.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import kstest, laplace

from seepage._core.arrays import Booleans
from seepage.mechanisms import histogram
from seepage.mechanisms.exact_probabilities import CERTAIN
from seepage.mechanisms.histogram import LaplaceGrid
from seepage.mechanisms.randomness import Randomness

SHIFT_BUDGETS = [2.0**-49, 5e-13, 1e-6, 0.05, 0.5, 3.0, 25.0, 350.0, 400.0, 1e4, 1e300]


def seeded(seed: int) -> Randomness:
    return Randomness(np.random.default_rng(seed))


def exp_above(exponent: float) -> Fraction:
    with localcontext(prec=60, Emax=10**9):
        return Fraction(Decimal(min(exponent, 2e4)).exp().next_plus())


def magnitude_law(grid: LaplaceGrid, count: int) -> list[Fraction]:
    """P(magnitude = n) for n < count, straight from the thresholds."""
    block = [1]
    for chance in reversed(grid.chances):  # the first bit is the lowest
        block = [part * share for part in block for share in (CERTAIN - chance, chance)]
    law = []
    beyond = Fraction(CERTAIN - grid.farther, CERTAIN * CERTAIN ** len(grid.chances))
    while len(law) < count:
        law += [part * beyond for part in block]
        beyond *= Fraction(grid.farther, CERTAIN)
    return law[:count]


@pytest.mark.parametrize("shift_budget", SHIFT_BUDGETS)
def test_laplace_grid_never_exceeds_its_budget(shift_budget: float) -> None:
    grid = LaplaceGrid(shift_budget)
    assert 1 <= grid.worst <= exp_above(shift_budget)


@pytest.mark.parametrize("shift_budget", [b for b in SHIFT_BUDGETS if 1e-6 <= b <= 40])
def test_laplace_grid_uses_its_budget(shift_budget: float) -> None:
    """Not a grid that keeps its budget by being far noisier."""
    assert math.log(LaplaceGrid(shift_budget).worst) == pytest.approx(
        shift_budget, rel=1e-9
    )


@pytest.mark.parametrize("shift_budget", [0.01, 0.5, 3.0, 20.0, 60.0, 200.0])
def test_worst_is_the_largest_ratio_over_all_cells(
    shift_budget: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(histogram, "LAPLACE_CELLS", 2)
    grid = LaplaceGrid(shift_budget)
    reach = 4 * (grid.mirror + (1 << len(grid.chances)))
    law = magnitude_law(grid, reach + grid.mirror + 1)
    ratios = [
        law[abs(cell)] / law[abs(grid.mirror - cell)] for cell in range(-reach, reach)
    ]
    assert max(max(ratios), 1 / min(ratios)) == grid.worst


def test_laplace_grid_has_the_law_of_the_density(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(histogram, "LAPLACE_CELLS", 3)
    grid = LaplaceGrid(0.5)
    law = magnitude_law(grid, 1000)
    shrink = math.exp(-0.5 / grid.mirror)
    for n, probability in enumerate(law):
        assert float(probability) == pytest.approx((1 - shrink) * shrink**n, rel=1e-12)


def test_laplace_draws_follow_the_enumerated_law(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(histogram, "LAPLACE_CELLS", 1)
    grid = LaplaceGrid(2.0)
    size = 200_000
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
    values = grid.origin + grid.step * grid.draw(seeded(4), 20_000)
    jitter = np.random.default_rng(5).uniform(-0.5, 0.5, len(values)) / grid.mirror
    fits = {
        factor: kstest(values + jitter, laplace(scale=factor / shift_budget).cdf).pvalue
        for factor in (0.7, 1.0, 1.3)
    }
    assert fits[1.0] > 1e-3 > 1e-6 > max(fits[0.7], fits[1.3])


def test_laplace_magnitudes_are_unbounded() -> None:
    """Magnitudes have no end: else some reports would be possible for one value
    only.
    """
    grid = LaplaceGrid(4.0)
    grid.farther = CERTAIN // 2
    cells = np.abs(grid.draw(seeded(6), 10_000)) >> len(grid.chances)
    assert set(range(5)) <= set(cells.tolist())


class Scripted(Randomness):
    """A source whose events are given, one at a time."""

    def __init__(self, events: list[bool]) -> None:
        super().__init__(None)
        self.events = events

    def happens(self, threshold: int, shape: int | tuple[int, ...]) -> Booleans:
        return np.array([self.events.pop(0)])


def test_a_trial_beyond_the_bits_adds_the_next_power_of_two() -> None:
    """Two trials that go on, beside the lowest bit: 2^(bits + 1) + 1 cells."""
    grid = LaplaceGrid(1.0)
    bits = [bit == 0 for bit in range(len(grid.chances))]
    for negative in (False, True):
        source = Scripted([*bits, True, True, False, negative])
        cells = (2 << len(bits)) + 1
        assert grid.draw(source, 1).tolist() == [-cells if negative else cells]
        assert not source.events
