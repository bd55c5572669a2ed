"""Exponentials and logarithms of exact fractions, against a hundred digits."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage.mechanisms.exact_probabilities import (
    CERTAIN,
    MAX_EPSILON,
    chance,
    exp_below,
    float_above,
    log_above,
    log_nearest,
    square_root_below,
)


def test_a_chance_is_rounded_down():
    assert chance(Fraction(1, 3)) == CERTAIN // 3
    assert chance(Fraction(2, 3)) == 2 * CERTAIN // 3
    assert chance(Fraction(1)) == CERTAIN


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
def test_log_above_inverts_exp_below(budget):
    assert log_above(exp_below(budget)) == budget


@given(st.floats(0.0, 1e-20))
def test_log_above_of_a_tiny_budget_is_no_larger(budget):
    assert 0 <= log_above(exp_below(budget)) <= budget


@pytest.mark.parametrize("budget", [0.0, 1e-12, 700.0, 800.0, 10_000.0])
def test_log_above_inverts_edge_budgets_exactly(budget):
    assert log_above(exp_below(budget)) == budget
    assert exp_below(0.0) == 1


def test_budgets_above_the_maximum_count_as_the_maximum():
    assert exp_below(1e300) == exp_below(float(MAX_EPSILON))


@given(RATIOS)
def test_log_above_is_the_next_double(ratio):
    found = log_above(ratio)
    truth = logarithm(ratio)
    assert Fraction(found) >= truth
    assert Fraction(math.nextafter(found, -math.inf)) < truth


@given(RATIOS)
def test_log_nearest_is_within_half_a_unit(ratio):
    found = log_nearest(ratio)
    truth = logarithm(ratio)
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
