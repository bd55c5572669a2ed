"""What a plan leaves out, in its sentence, its repr and a warning."""

import msgspec
import numpy as np
import pandas as pd
import pytest

import seepage as sp
from seepage.designs.changes import Change
from seepage.pages.plan_page import plan_page
from seepage.plan.left_out import left_out_of, left_out_sentence
from seepage.plan.promises import promised, unpromised

N = 6_000
RNG = np.random.default_rng(4)


def rare(people):
    values = np.zeros(N, dtype=int)
    values[np.random.default_rng(people).permutation(N)[:people]] = 1
    return values


SEX = RNG.integers(1, 3, N)
PEOPLE = pd.DataFrame(
    {
        "number": np.arange(N),
        "sex": SEX,
        "female": np.where(SEX == 2, "yes", "no"),
        "smoker": RNG.integers(0, 2, N),
        "abuse": rare(100),
        "murder": rare(9),
    }
)


@pytest.fixture(scope="module")
def plan():
    with pytest.warns(sp.DataWarning) as warned:
        plan = sp.design(PEOPLE, 2.0, effort=0.1)
    texts = [str(warning.message) for warning in warned]
    assert any(text == left_out_sentence(plan) for text in texts)
    return plan


def test_every_column_is_in_one_group(plan):
    left_out = left_out_of(plan)
    assert left_out.columns == len(PEOPLE.columns)
    assert set(left_out.asked) == {"female", "smoker"}
    assert left_out.rare == ("abuse",)
    assert left_out.too_rare == ("murder",)
    assert left_out.same == {"sex": "female"}
    assert left_out.no_answers == {"number": "running number"}
    assert left_out.unpromised == 3


def test_the_sentence_names_what_is_not_asked_and_why(plan):
    assert left_out_sentence(msgspec.structs.replace(plan, priced=())) == (
        "2 of 6 columns are asked; 1 with rare answers is protected but not asked: "
        "abuse; nothing is promised about murder (answers too rare), sex (same as "
        "female), number (running number)."
    )
    assert "more people at most): abuse" in left_out_sentence(plan)
    assert "2 of 6 attributes collected, 1 protected only" in repr(plan)
    assert "nothing promised about 3" in repr(plan)


def test_the_price_of_asking_stands_beside_it(plan):
    change = Change(kind="add", attributes=("abuse",), people=1.12)
    priced = msgspec.structs.replace(plan, priced=(change,))
    said = "not asked (asking it: 12 % more people at most): abuse"
    assert said in left_out_sentence(priced)


def test_a_rare_question_that_is_asked_says_what_it_costs():
    table = PEOPLE[["female", "smoker"]].assign(ill=rare(400))
    plan = sp.design(table, 2.0, effort=0.1)
    assert "ill" in left_out_of(plan).asked
    change = Change(kind="drop", attributes=("ill",), people=0.8)
    dear = msgspec.structs.replace(plan, priced=(change,))
    assert left_out_sentence(dear) == (
        "3 of 3 columns are asked; ill has rare answers (without it at least 20 % "
        "fewer people)."
    )
    cheap = msgspec.structs.replace(change, people=0.95)
    assert left_out_sentence(msgspec.structs.replace(plan, priced=(cheap,))) == ""


def test_the_promise_is_about_attributes_that_it_knows(plan):
    assert "one of its 3 questions" in promised(plan)
    everything = sp.design(PEOPLE[["female", "smoker"]], 2.0, effort=0.1)
    assert "answers to one question at most" in promised(everything)
    assert left_out_sentence(everything) == ""


def test_what_is_taken_as_known_is_named_as_such(plan):
    table = PEOPLE[["female", "smoker"]]
    plan = sp.design(table, 2.0, known=["female"], effort=0.1)
    assert left_out_of(plan).known == ("female",)
    assert left_out_sentence(plan) == (
        "2 of 2 columns are asked; nothing is promised about female (taken as known to "
        "everyone who sees reports)."
    )
    assert "one question that has a limit" in promised(plan)
    tiles = dict(unpromised(plan))
    assert tiles["Known answers."].startswith("female: taken as known to everyone")
    assert "Questions without a limit." not in tiles


def test_the_page_names_every_column_that_nothing_is_promised_about(plan):
    """Also of a file without notes: they are read from the settings."""
    silent = msgspec.structs.replace(plan, notes=())
    assert dict(unpromised(silent))["Other questions."] == (
        "Nothing is said about what the plan does not name, such as murder, whose "
        "answers but one are too rare and what says the same as another question (sex "
        "as female)."
    )


def test_without_a_limit_nothing_is_promised():
    table = PEOPLE[["female", "smoker"]]
    plan = sp.design(table, {"female": 1.0}, effort=0.1)
    assert left_out_sentence(plan) == (
        "2 of 2 columns are asked; nothing is promised about smoker (no limit)."
    )


def test_one_answer_alone_has_no_limit():
    """Nobody of the part that fixes answers has the rare one: nothing is promised."""
    table = PEOPLE[["female", "smoker"]].assign(hiv="no")
    part = sp.Records.from_data(table, scope="population").origin.fixed.part
    outside = part.priorities(None, 0, N) >= np.uint64(part.threshold)
    table.loc[np.flatnonzero(outside)[:3], "hiv"] = "yes"
    plan = sp.design(table, 2.0, keep=["hiv"], effort=0.05)
    assert plan["hiv"].values == ("no",)
    assert plan["hiv"].limit is None
    assert left_out_of(plan).single == ("hiv",)
    assert "one question that has a limit" in promised(plan)
    page = plan_page(plan)
    assert "the limit holds for it" not in page
    assert "(and about hiv" not in page


def test_a_limit_of_one_answer_alone_makes_no_plan():
    """The plan would promise nothing, and the one limit that was asked for is about
    it.
    """
    table = PEOPLE[["female", "smoker"]].assign(hiv="no")
    with pytest.raises(sp.InputError, match="attribute with two answers or more"):
        sp.design(table, {"hiv": 2.0}, keep=["hiv"], effort=0.05)


def test_rare_answers_that_count_with_a_common_one_are_said():
    """With two common answers and a rare one, nobody estimates the rare one."""
    rng = np.random.default_rng(3)
    people = 4_000
    table = pd.DataFrame(
        {
            "hiv": rng.choice(
                ["negative", "untested", "positive"], people, p=[0.6, 0.37, 0.03]
            ),
            "race": rng.choice(
                ["white", "black", "x", "y"], people, p=[0.5, 0.35, 0.08, 0.07]
            ),
            "sex": rng.choice(["F", "M"], people),
        }
    )
    plan = sp.design(table, 2.0, effort=0.02, shape="never")
    assert "rare answers count with a common one: hiv ('untested or other')" in (
        left_out_sentence(plan)
    )
    assert "race" not in left_out_sentence(plan)
    kept = sp.design(table, 2.0, effort=0.02, shape="never", bins={"hiv": "none"})
    assert "rare answers" not in left_out_sentence(kept).replace("has rare answers", "")
