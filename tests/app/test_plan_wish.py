"""What is entered in the fourth step, as keywords of the design."""

import pytest

from seepage._core.errors import InputError
from seepage._core.odds import limit_in_nats
from seepage.app.plan_wish import (
    FIRST_ENTRIES,
    LIMIT_ODDS,
    PlanWish,
    QuestionPair,
    pair_keywords,
)


def wish(**entries):
    return PlanWish.of({**FIRST_ENTRIES, **entries})


def test_what_the_form_begins_with():
    assert wish().keywords() == {"limit": "7.4x", "precision": 0.03}


def test_people_in_place_of_a_precision():
    keywords = wish(goal="people", amount="12,100", largest="2").keywords()
    assert keywords == {"limit": "7.4x", "people": 12_100, "largest": 2}


@pytest.mark.parametrize(
    ("entries", "parameter", "reason"),
    [
        ({"amount": "0"}, "amount", "precision must be from"),
        ({"amount": "x"}, "amount", "precision must be from"),
        ({"amount": "nan"}, "amount", "precision must be from"),
        ({"goal": "people", "amount": "-3"}, "amount", "number of people"),
        ({"goal": "people", "amount": "3.5"}, "amount", "number of people"),
        ({"goal": "x"}, "amount", "choose a precision"),
        ({"largest": "0"}, "largest", "questions each"),
        ({"limit": "7"}, "limit", "no such limit"),
        ({"limit": "-1"}, "limit", "no such limit"),
        ({"limit": "²"}, "limit", "no such limit"),
    ],
)
def test_a_wrong_entry_names_its_field(entries, parameter, reason):
    with pytest.raises(InputError, match=reason) as problem:
        wish(**entries)
    assert problem.value.parameter == parameter


@pytest.mark.parametrize("odds", LIMIT_ODDS)
def test_every_stop_is_a_limit_of_the_design(odds):
    assert limit_in_nats(f"{odds:g}x") > 0


def test_pairs_are_kept_apart_or_together():
    pairs = [QuestionPair("never", "a", "b"), QuestionPair("table", "b", "c")]
    assert pair_keywords(pairs) == {"never": (("a", "b"),), "want": ("b x c",)}
    assert pair_keywords([]) == {}
