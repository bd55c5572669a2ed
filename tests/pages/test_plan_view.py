"""What the pictures of a plan show, checked against the plan itself."""

import math

import pytest

import seepage as sp
from seepage.pages.plan_view import MAX_LINES, odds_of, people_bars
from seepage.plan.plan_precision import plan_precision


@pytest.fixture(scope="module")
def plan():
    return sp.design("survey", 2.0, effort=0.05)


def test_a_bar_is_as_long_as_its_people(plan):
    precision = plan_precision(plan)
    view = people_bars(precision)
    full = int(view.full.replace(",", ""))
    for row in view.rows:
        people = int(row.people.replace(",", ""))
        length = sum(line.width for line in row.lines) / 100 * full
        assert length == pytest.approx(people, rel=0.02)
        assert len(row.lines) <= MAX_LINES
    assert [row.is_this for row in view.rows].count(True) == 1


@pytest.mark.parametrize("total", [0.0, 0.1, 1.0, 2.0, 8.0, 800.0, math.inf])
def test_an_even_guess_is_never_stated_too_low(total):
    odds = odds_of(total)
    exact = 1 / (1 + math.exp(-min(total, 700.0)))
    assert odds.surest >= 100 * exact - 1e-6
    assert odds.surest - 100 * exact < 1
    assert odds.least + odds.surest == 100
