"""What the pictures of a plan show, checked against the plan itself."""

import math
from itertools import pairwise

import pytest

import seepage as sp
from seepage.pages.plan_view import (
    MAX_LINES,
    group_letter,
    mosaic_of,
    odds_of,
    people_bars,
)
from seepage.plan.plan_precision import plan_precision


@pytest.fixture(scope="module")
def plan():
    return sp.design("survey", 2.0, seconds=3)


def test_each_box_is_a_question_of_its_group(plan):
    view = mosaic_of(plan)
    by_top = {row.top: row.name for row in view.rows}
    shown = sorted(
        (group.width, tuple(sorted(by_top[cell.top] for cell in group.cells)))
        for group in view.groups
    )
    expected = sorted(
        (round(100 * form.share, 2), tuple(sorted(form.attributes)))
        for form in plan.forms
    )
    assert shown == expected


def test_groups_fill_the_width_side_by_side(plan):
    groups = mosaic_of(plan).groups
    assert groups[0].left == 0
    for left, right in pairwise(groups):
        assert right.left == pytest.approx(left.right, abs=0.02)
    assert groups[-1].right == pytest.approx(100, abs=0.05)


def test_rows_state_how_many_people_are_asked(plan):
    for row in mosaic_of(plan).rows:
        share = sum(form.share for form in plan.forms if row.name in form.attributes)
        assert row.asked == f"{100 * share:.0f}"


def test_truthful_reports_are_those_of_grr():
    plan = sp.calibrate("survey", 2.0, columns=["coffee"], guarantee="worst")
    (group,) = mosaic_of(plan).groups
    assert group.cells[0].truthful == math.floor(100 * math.exp(2) / (math.exp(2) + 1))


def test_every_letter_is_used_once():
    letters = [group_letter(number) for number in range(1000)]
    assert len(set(letters)) == 1000


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
