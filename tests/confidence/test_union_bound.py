"""Statements at a divided confidence hold together at the whole one."""

from hypothesis import given
from hypothesis import strategies as st

from seepage.confidence.union_bound import divided, halved


@given(st.floats(0.5, 0.9999), st.integers(1, 1000))
def test_errors_of_all_statements_are_within_the_whole(confidence, statements):
    share = 1 - divided(confidence, statements)
    whole = 1 - confidence
    assert 0.99 * whole <= statements * share <= whole * (1 + 1e-6)


@given(st.floats(0.0, 1.0))
def test_two_statements_have_half_of_the_error_each(confidence):
    assert abs(2 * (1 - halved(confidence)) - (1 - confidence)) < 1e-15
