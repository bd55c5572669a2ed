"""The largest ratio of two likelihoods, against a loop in fractions, with zeros."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from seepage._core.log_ratios import largest_log_ratio, pair_log_ratios, quotient
from seepage._core.rounding import rounding

STARTS = np.array([0, 2, 3, 6])
GUARD = rounding([2])


def by_loop(upper, lower, columns):
    """Return the largest ratio over reports and values x != x'; 0/0 is left out."""
    largest = Fraction(1)
    for high, low in zip(upper.tolist(), lower.tolist(), strict=True):
        for x, other in itertools.permutations(columns, 2):
            if high[x] > 0 and low[other] == 0:
                return math.inf
            if high[x] > 0 and low[other] < math.inf:
                largest = max(largest, Fraction(high[x]) / Fraction(low[other]))
    return largest


def drawn(rng, zeros):
    values = rng.random((5, 8)) * (rng.random((5, 8)) >= zeros)
    return values, values * rng.random((5, 8))


@pytest.mark.parametrize("zeros", [0.0, 0.05])
@pytest.mark.parametrize("known", [True, False])
def test_the_largest_ratio_is_that_of_a_loop(known, zeros):
    rng = np.random.default_rng(4)
    ends = [*STARTS[1:], 8]
    for _ in range(100):
        upper, lower = drawn(rng, zeros)
        lower = upper if known else lower
        found = largest_log_ratio(upper, lower, STARTS, GUARD)
        for value, start, end in zip(found, STARTS, ends, strict=True):
            truth = by_loop(upper, lower, range(start, end))
            if end == start + 1 or truth == math.inf:
                assert value == math.log(truth)
            else:
                exact = (Decimal(truth.numerator) / Decimal(truth.denominator)).ln()
                assert exact <= Decimal(value) <= exact + Decimal("1e-12")


def test_values_that_do_not_occur_are_left_out():
    rng = np.random.default_rng(5)
    upper, lower = drawn(rng, 0.0)
    occurs = np.array([True, False, True, True, True, False, True, False])
    starts = np.array([0, 1, 2, 4])
    kept = upper[:, occurs]
    found = largest_log_ratio(upper, upper, STARTS, GUARD, occurs)
    assert found == pytest.approx(largest_log_ratio(kept, kept, starts, GUARD))
    found = largest_log_ratio(upper, lower, STARTS, GUARD, occurs)
    assert found == pytest.approx(
        largest_log_ratio(kept, lower[:, occurs], starts, GUARD)
    )


def test_further_axes_of_reports_are_searched_too():
    upper, lower = drawn(np.random.default_rng(6), 0.0)
    for pair in ((upper, upper), (upper, lower)):
        stacked = [np.stack([part, part[:, ::-1]]) for part in pair]
        stacked = [stacked[0]] * 2 if pair[0] is pair[1] else stacked
        both = [np.concatenate([part, part[:, ::-1]]) for part in pair]
        both = [both[0]] * 2 if pair[0] is pair[1] else both
        found = largest_log_ratio(*stacked, STARTS, GUARD)
        assert np.array_equal(found, largest_log_ratio(*both, STARTS, GUARD))


def test_pairs_of_values():
    upper, lower = drawn(np.random.default_rng(7), 0.0)
    ratios = pair_log_ratios(upper, lower)
    for x, other in itertools.product(range(8), repeat=2):
        assert ratios[x, other] == pytest.approx(
            np.log(upper[:, x] / lower[:, other]).max()
        )


def test_conventions_for_zero():
    found = quotient(np.array([0.0, 0.0, 1.0]), np.array([0.0, 2.0, 0.0]))
    assert found.tolist() == [0.0, 0.0, math.inf]
    assert (
        pair_log_ratios(np.zeros((1, 2)), np.zeros((1, 2))).tolist()
        == [[-math.inf] * 2] * 2
    )
    nothing = np.zeros((3, 8))
    assert largest_log_ratio(nothing, nothing, STARTS, GUARD).tolist() == [
        GUARD,
        0.0,
        GUARD,
        GUARD,
    ]
