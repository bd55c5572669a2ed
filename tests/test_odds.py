"""Limits are read and printed as odds, exactly as they were typed."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import seepage as sp
from seepage._core.odds import limit_as_typed, limit_in_nats, odds_text
from seepage.calibration.published import calibrate_as_the_paper


@given(st.integers(min_value=11, max_value=99_999))
def test_odds_that_were_typed_are_printed_as_typed(tenths):
    typed = f"{tenths / 10:g}x"
    limit = limit_in_nats(typed)
    assert limit_as_typed(limit) == typed
    assert odds_text(limit).replace(",", "") + "x" == typed


@given(st.floats(min_value=1.0, max_value=1e6))
def test_a_limit_never_exceeds_its_odds(odds):
    text = f"{odds:.6f}"
    assert limit_in_nats(f"{text} times") <= math.log(float(text))


@pytest.mark.parametrize("typed", ["7.4x", "7.4X", " 7.4 x", "7.4×", "7.4 times"])
def test_all_ways_to_type_odds_are_the_same(typed):
    assert limit_in_nats(typed) == pytest.approx(math.log(7.4), abs=1e-12)


@pytest.mark.parametrize("nats", [0.5, 1.0, 2.0, 2.25, 3.0])
def test_nats_are_printed_as_typed(nats):
    assert limit_as_typed(nats) == f"{nats:g}"


@pytest.mark.parametrize("bad", ["7.4", "x", "", "-2x", "0.5x", "1e999x", "nanx", True])
def test_what_is_neither_nats_nor_odds_raises(bad):
    with pytest.raises(sp.InputError):
        limit_in_nats(bad)


def test_functions_take_odds():
    people = sp.make_survey(2_000, rng=1).select(["coffee", "sleep"])
    typed = sp.calibrate(people, "7.4x", guarantee="worst")
    assert {planned.limit for planned in typed.attributes} == {limit_in_nats("7.4x")}
    by_name = sp.analyse(people, 1.0, limit={"coffee": "3x", "*": 2.0})
    assert by_name.limits == (limit_in_nats("3x"), 2.0)


def test_the_papers_calibration_takes_odds():
    pairs = sp.count_pairs(sp.make_survey(2_000, rng=1).select(["coffee", "sleep"]))
    typed = calibrate_as_the_paper(pairs, "7.4x")
    assert typed == calibrate_as_the_paper(pairs, limit_in_nats("7.4x"))
