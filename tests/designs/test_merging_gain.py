"""What merged answers gain, against the people that one question each needs."""

import numpy as np
import pandas as pd
import pytest

import seepage as sp
from command import run
from searches import find_design
from seepage.mechanisms.direct import GRR
from seepage.mechanisms.subset_selection import SubsetSelection

N = 20_000
RNG = np.random.default_rng(31)
PEOPLE = pd.DataFrame(
    {
        "sex": RNG.choice(["f", "m"], N),
        "days": RNG.integers(0, 60, N),
    }
)
QUICK = {"effort": 0.02, "shape": "never"}


def noted(table, **options):
    plan = sp.design(table, 2.0, **QUICK, **options)
    return [note for note in plan.notes if note.startswith("answers are merged")]


def least_variance(values, budget):
    """Return the largest variance of a share, of values that are equally frequent."""
    noise = min(
        float(mechanism(values, budget).variance(1, 1 / values))
        for mechanism in (GRR, SubsetSelection)
    )
    return noise + 1 / values - 1 / values**2


def test_the_gain_is_that_of_one_question_each():
    (note,) = noted(PEOPLE)
    search = find_design(PEOPLE, 2.0, **QUICK)
    answers = search.records.domain["days"].answers
    coin = least_variance(2, 2.0)
    before = coin + least_variance(60, 2.0)
    after = coin + least_variance(answers, 2.0)
    assert "1 of 2 questions has fewer than the table" in note
    stated = float(note.partition("would need ")[2].partition(" times")[0])
    assert stated == pytest.approx(before / after, rel=0.06)
    assert "answers='as-is'" in note


def test_nothing_is_said_where_nothing_is_merged():
    assert not noted(PEOPLE[["sex"]].assign(ill=PEOPLE["days"] < 9))
    assert not noted(PEOPLE, answers="as-is")


def test_the_note_names_the_option_of_the_command(tmp_path):
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    words = ("design", tmp_path / "people.csv", "--limit", 2, "--effort", 0.02)
    result = run(*words, "--details")
    assert (
        "times as many people as with merged answers (--answers as-is)" in result.stdout
    )
