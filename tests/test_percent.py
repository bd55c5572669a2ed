"""Shares in percent never read as none, or as all, where they are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage._core.percent import (
    people_of_a_hundred,
    percent_near_ends,
    percent_of_people,
    percent_text,
)


@given(st.floats(min_value=1e-12, max_value=1 - 1e-12))
def test_a_share_between_none_and_all_is_printed_as_neither(share):
    assert 1 <= people_of_a_hundred(share) <= 99
    assert percent_of_people(share) != "0"
    assert percent_near_ends(share) not in (
        "0\N{NO-BREAK SPACE}%",
        "100\N{NO-BREAK SPACE}%",
    )


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_none_and_all_are_printed_as_they_are(share):
    assert people_of_a_hundred(share) == 100 * share
    assert percent_of_people(share) == f"{100 * share:.0f}"
    assert percent_near_ends(share) == f"{100 * share:.0f}\N{NO-BREAK SPACE}%"


def test_an_estimate_below_zero_keeps_its_sign_where_it_is_printed():
    assert percent_text(-0.006) == "-0.6"
    assert percent_text(-0.0004) == "0.0"
