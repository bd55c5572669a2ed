"""Curves as a few lines: never below the exact leakage, and hardly above it."""

import numpy as np
import pytest

import seepage as sp
from seepage._numerics import log_ratio
from seepage.leakage.likely_sets import LikelySets
from seepage.report.curve_envelope import profile_lines

TOLERANCE = 1e-4
CONTRASTS = [1e-9, 1e-4, 0.03, 0.5, 1.0, 2.2, 4.0, 7.7, 11.9]


def _stack(seed, pairs, targets, sources):
    generator = np.random.default_rng(seed)
    counts = generator.integers(0, 40, (pairs, targets, sources)) * generator.integers(
        0, 2, (pairs, targets, sources)
    )
    counts[:, :, 0] += 1
    counts[0] = counts[0, 0]
    return counts / counts.sum(axis=2, keepdims=True)


def evaluate(lines, contrast):
    """Return the leakage of one pair's lines at a contrast, at most the contrast itself."""
    if not len(lines):
        return 0.0
    high, low = lines.T
    return float(min(contrast, log_ratio(high - low, low, contrast).max()))


def _each(lines):
    return [part.astype(np.float64) for part in lines]


@pytest.mark.parametrize("shape", [(6, 2, 2), (5, 3, 4), (4, 7, 9), (3, 1, 5), (2, 20, 30)])
@pytest.mark.parametrize("kind", ["singletons", "all", "subsets"])
@pytest.mark.parametrize("seed", [1, 2])
def test_lines_are_close_and_never_below(shape, kind, seed):
    stack = _stack(seed, *shape)
    sets = LikelySets(kind, 1.0, 2)
    found = _each(profile_lines(stack, sets, TOLERANCE))
    for contrast in CONTRASTS:
        exact = sets.best(stack, np.full(len(stack), contrast)).value
        shown = np.array([evaluate(lines, contrast) for lines in found])
        assert (shown >= exact * (1 - 1e-9) - 1e-13).all()
        assert (shown <= exact + TOLERANCE + 1e-6).all()


@pytest.mark.parametrize("kind", ["singletons", "all"])
@pytest.mark.parametrize("maximum", [45.0, 400.0, 875.0])
def test_lines_serve_budgets_whose_exponential_overflows(kind, maximum):
    stack = _stack(4, 5, 4, 6)
    stack[1] = (stack[1] + 0.01) / 1.06
    sets = LikelySets(kind, 1.0)
    found = _each(profile_lines(stack, sets, TOLERANCE, maximum=maximum))
    for contrast in [*CONTRASTS, 0.5 * maximum, 0.82 * maximum, maximum]:
        exact = sets.best(stack, np.full(len(stack), contrast)).value
        shown = np.array([evaluate(lines, contrast) for lines in found])
        assert (shown >= exact * (1 - 1e-9) - 1e-13).all()
        assert (shown <= exact + TOLERANCE + 1e-6).all()


def test_equal_rows_need_no_lines():
    stack = np.broadcast_to([[[0.2, 0.3, 0.5]] * 3], (2, 3, 3))
    for kind in ("singletons", "all"):
        assert [*map(len, profile_lines(stack, LikelySets(kind, 1.0), TOLERANCE))] == [0, 0]


def test_beyond_the_last_contrast_lines_stay_cautious():
    stack = _stack(3, 4, 5, 6)
    sets = LikelySets("all", 1.0)
    found = _each(profile_lines(stack, sets, TOLERANCE, maximum=3.0))
    exact = sets.best(stack, np.full(4, 9.0)).value
    assert all(evaluate(lines, 9.0) >= value for lines, value in zip(found, exact, strict=True))


def test_adult_needs_few_lines(adult):
    matrix = sp.leakage_matrix(adult, 1.0)
    lines = [
        profile_lines(s, LikelySets("all", 1.0), TOLERANCE) for _, _, s in matrix.channel_stacks()
    ]
    assert sum(len(part) for stack in lines for part in stack) < 10 * 210
