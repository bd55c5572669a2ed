"""What was decided in the app, as keywords of the design."""

import math

import pytest

from seepage._core.errors import InputError
from seepage.app.study import (
    ALL_LOOKS,
    LIMIT_ODDS,
    LOOKS,
    DataSource,
    Study,
    bin_rule,
    limit_of_odds,
    pairs_never,
)


def column(name, used=True):
    return {"name": name, "used": used, "kind": "answer"}


@pytest.fixture
def study(tmp_path):
    study = Study(tmp_path)
    study.open_data(DataSource("people.csv", "people.csv"))
    columns = [column("ill"), column("age"), column("sex"), column("id", used=False)]
    study.take_check({"columns": columns, "records": 100, "whole": True})
    return study


def test_columns_that_are_no_answers_are_not_used(study):
    assert study.names("ask") == ["ill", "age", "sex"]
    assert study.names("never") == ["id"]


def test_decisions_become_keywords(study):
    study.roles |= {"age": "protect", "sex": "public", "id": "person"}
    study.bins = {"age": bin_rule("0, 18,120")}
    study.missing = {"ill": ("refused",)}
    study.wish.never = (("ill", "age"),)
    study.wish.largest = 2
    keywords = study.design_keywords()
    assert keywords["columns"] == ("ill", "age", "sex")
    assert keywords["left_out"] == ("age",)
    assert keywords["public"] == ("sex",)
    assert keywords["person"] == "id"
    assert keywords["bins"] == {"age": [0, 18, 120]}
    assert keywords["missing_markers"] == {"ill": ("refused",)}
    assert keywords["never"] == (("ill", "age"),)
    assert keywords["largest"] == 2
    assert keywords["precision"] == pytest.approx(0.03)
    assert keywords["limit"] == limit_of_odds(7.4)


def test_all_tries_together_keep_the_confidence(study):
    """The union over the tries of the probability that a plan breaks a limit."""
    assert LOOKS * (1 - study.confidence) <= 1 - ALL_LOOKS + 1e-12


def test_a_try_is_counted_by_the_table_not_by_the_plans_kept(study):
    study.looks = 5
    assert study.looks_left == LOOKS - 5
    study.open_data(DataSource("others.csv", "others.csv"))
    assert study.looks_left == LOOKS


@pytest.mark.parametrize("odds", LIMIT_ODDS)
def test_a_limit_is_rounded_to_the_safe_side(odds):
    assert math.exp(limit_of_odds(odds)) <= odds
    assert limit_of_odds(odds) > math.log(odds) - 1e-4


def test_nothing_asked_is_one_line(study):
    study.roles = dict.fromkeys(study.roles, "never")
    with pytest.raises(InputError, match="no column is asked"):
        study.design_keywords()


def test_another_check_keeps_decisions(study):
    study.roles["age"] = "never"
    columns = [column("age"), column("ill"), column("new")]
    study.take_check({"columns": columns, "records": 100, "whole": True})
    assert study.roles == {"age": "never", "ill": "ask", "new": "ask"}


@pytest.mark.parametrize("text", ["ill", "ill, ill", "ill, age, sex", "ill, wine"])
def test_pairs_that_are_none_are_one_line(text):
    with pytest.raises(InputError):
        pairs_never(text, ["ill", "age", "sex"])


def test_empty_lines_between_pairs_are_skipped():
    pairs = pairs_never("\n ill , age \n\nage,sex\n", ["ill", "age", "sex"])
    assert pairs == (("ill", "age"), ("age", "sex"))
