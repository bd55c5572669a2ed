"""Draws made from known bytes are exact to the last bit; powers and logarithms of e are rounded."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage.errors import InputError
from seepage.mechanisms.randomness import (
    CERTAIN,
    MAX_EPSILON,
    Randomness,
    chance,
    exp_below,
    float_above,
    log_above,
    log_nearest,
    randomness,
    square_root_below,
)


class Scripted(Randomness):
    """A source that gives known bytes and then no more."""

    def __init__(self, content):
        super().__init__(None)
        self.left = content

    def bytes(self, count):
        part, self.left = self.left[:count], self.left[count:]
        assert len(part) == count, "more bytes drawn than expected"
        return np.frombuffer(part, dtype=np.uint8)


def shorts(*numbers):
    return Scripted(np.array(numbers, dtype="<u2").tobytes())


@pytest.mark.parametrize("threshold", [1, 2**56, 2**63 + 12_345, 200 * 2**56 - 1, CERTAIN - 1])
def test_an_event_happens_below_its_threshold_and_not_at_it(threshold):
    for number in (0, threshold - 1, threshold, threshold + 1, CERTAIN - 1):
        if number == CERTAIN:
            continue
        rest = (number & (2**56 - 1)) << 8
        source = Scripted(bytes([number >> 56]) + (rest | 0xFF).to_bytes(8, "little"))
        assert source.happens(threshold, 1).tolist() == [number < threshold]


def test_what_is_certain_or_impossible_needs_no_draw():
    source = Scripted(b"")
    assert source.happens(CERTAIN, (2, 3)).tolist() == [[True] * 3] * 2
    assert source.happens(0, 2).tolist() == [False, False]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 255, 256, 1000, 1023, 1024])
def test_every_number_below_a_limit_has_as_many_draws(limit):
    """All 2^16 draws: each result as often as any other, at most one draw in 64 rejected."""
    found, rejected = shorts(*range(1 << 16))._multiply(limit, 1 << 16)
    kept = np.delete(found, rejected)
    assert np.bincount(kept).tolist() == [(1 << 16) // limit] * limit
    assert len(rejected) <= (1 << 16) // 64


@pytest.mark.parametrize("limit", [1025, 65_537, 3 << 30, (1 << 32) - 1, 1 << 32])
def test_large_limits_are_exact_in_32_bits(limit):
    """Result r has the draws from ceil(r 2^32 / limit) on, 2^32 // limit of them are kept."""
    each = (1 << 32) // limit
    for result in (0, 1, limit // 3, limit - 1):
        first, end = (-(-(place << 32) // limit) for place in (result, result + 1))
        numbers = range(first, end) if end - first < 9 else (first, first + 1, end - 2, end - 1)
        source = Scripted(np.array(numbers, dtype="<u4").tobytes())
        found, rejected = source._multiply(limit, len(numbers))
        assert set(found.tolist()) == {result}
        assert len(rejected) == end - first - each


def test_a_rejected_draw_is_made_again_in_its_place():
    """Of 2^16 draws below 3 only 0 is rejected."""
    assert shorts(5, 0, 0, 65_535).below(3, 2).tolist() == [0, 2]
    assert shorts(0, 65_535, 40_000).below(3, 2).tolist() == [1, 2]


def test_refusals():
    for limit in (0, -1, (1 << 32) + 1):
        with pytest.raises(InputError, match=r"limit must be from 1 to 2\^32"):
            Scripted(b"").below(limit, 1)
    with pytest.raises(InputError, match="rng must be"):
        randomness("secret")
    assert randomness(None).generator is None
    assert randomness(1).generator is not None


def test_the_operating_system_is_asked_each_time():
    source = randomness(None)
    assert source.bytes(64).tobytes() != source.bytes(64).tobytes()
    assert not np.array_equal(source.words(8), randomness(None).words(8))


def test_a_chance_is_rounded_down():
    assert chance(Fraction(1, 3)) == CERTAIN // 3
    assert chance(Fraction(2, 3)) == 2 * CERTAIN // 3
    assert chance(Fraction(1)) == CERTAIN


# Exponentials and logarithms of fractions against a hundred digits


BUDGETS = st.floats(0.0, 2000.0) | st.floats(0.0, 1e-6)
RATIOS = st.fractions(min_value=Fraction(1, 10**30), max_value=10**30)


def power_of_e(value):
    with localcontext(prec=100):
        return Fraction(Decimal(value).exp())


def logarithm(ratio):
    with localcontext(prec=100):
        return Fraction((Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln())


@given(BUDGETS)
def test_exp_below_is_just_below(budget):
    truth = power_of_e(budget)
    assert truth * (1 - Fraction(2, 10**39)) <= exp_below(budget) <= truth


@given(st.floats(1e-20, 2000.0))
def test_a_budget_comes_back_as_it_went_in(budget):
    assert log_above(exp_below(budget)) == budget


@given(st.floats(0.0, 1e-20))
def test_a_tiny_budget_comes_back_no_larger(budget):
    assert 0 <= log_above(exp_below(budget)) <= budget


@pytest.mark.parametrize("budget", [0.0, 1e-12, 700.0, 800.0, 10_000.0])
def test_edge_budgets_come_back_exactly(budget):
    assert log_above(exp_below(budget)) == budget
    assert exp_below(0.0) == 1


def test_budgets_beyond_the_largest_count_as_the_largest():
    assert exp_below(1e300) == exp_below(float(MAX_EPSILON))


@given(RATIOS)
def test_log_above_is_the_next_double(ratio):
    found, truth = log_above(ratio), logarithm(ratio)
    assert Fraction(found) >= truth
    assert Fraction(math.nextafter(found, -math.inf)) < truth


@given(RATIOS)
def test_log_nearest_is_within_half_a_unit(ratio):
    found, truth = log_nearest(ratio), logarithm(ratio)
    neighbours = [math.nextafter(found, sign * math.inf) for sign in (-1, 1)]
    best = min(abs(Fraction(number) - truth) for number in neighbours)
    assert abs(Fraction(found) - truth) <= best


@given(RATIOS)
def test_float_above_is_the_next_double(value):
    found = float_above(value)
    assert Fraction(math.nextafter(found, -math.inf)) < value <= Fraction(found)


@given(st.fractions(min_value=1, max_value=10**40))
def test_square_root_below_is_just_below(value):
    root = square_root_below(value)
    assert root**2 <= value < (root + Fraction(1, 2**128)) ** 2
