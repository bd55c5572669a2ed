"""Plans side by side: what differs is marked, and people are for one precision."""

import math
import re
from html import unescape

import numpy as np
import pytest

from plan_examples import counts, plan_for, survey_design
from seepage._core.text import points, rounded_people
from seepage.pages.plans_page import plans_page
from seepage.plan.plan_precision import answer_variances, plan_precision
from seepage.workflow.within_limits import plan_of_design


@pytest.fixture(scope="module")
def designed():
    return plan_of_design(survey_design())


def test_two_plans_are_compared_for_the_same_precision(opened, designed):
    other = plan_for(counts(), 1.0)
    page = opened(plans_page({"a.json": designed, "b.json": other}))
    first, second = plan_precision(designed), plan_precision(other)
    needed = math.ceil(second.people * (second.half_width / first.half_width) ** 2)
    heading = page.inner_text("h1")
    assert rounded_people(first.people) in heading
    assert rounded_people(needed) in heading
    width = 1.96 * np.sqrt(answer_variances(other)["sex"].sum() / 2 / first.people)
    row = page.locator(
        ".compared tr", has=page.locator("th", has_text=re.compile("^sex$"))
    )
    cells = row.locator("td").all_inner_texts()
    assert cells[0] == "not in the plan"
    assert cells[1] == f"± {points(width)} points, 100 % asked"
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0


def test_what_differs_is_marked_and_what_is_the_same_is_not(opened, designed):
    page = opened(plans_page({"a.json": designed, "b.json": designed}))
    assert page.locator(".differs").count() == 0
    assert page.inner_text("h1").startswith("All plans need")
    page = opened(plans_page({"a.json": designed, "b.json": plan_for(counts(), 1.0)}))
    for row in page.locator("#differences tbody tr").all():
        texts = row.locator("td").all_inner_texts()
        marked = "differs" in (row.get_attribute("class") or "")
        assert marked == (len(set(texts)) > 1)


def test_files_of_one_title_are_told_apart_by_letter(designed):
    page = unescape(plans_page({"strict.json": designed, "loose.json": designed}))
    for text in ("Plan A", "Plan B", "strict.json", "loose.json"):
        assert text in page


def test_two_plans_are_chosen_between_by_what_differs(opened, designed):
    page = opened(plans_page({"a.json": designed, "b.json": plan_for(counts(), 1.0)}))
    cards = page.locator(".choice").all_inner_texts()
    assert [card.splitlines()[0] for card in cards] == [
        "Choose Plan A if",
        "Choose Plan B if",
    ]
    people = [row.inner_text() for row in page.locator(".people .count b").all()]
    fewer = min(people, key=lambda text: int(text.replace(",", "")))
    reached = [f"you can reach {fewer} people" in card for card in cards]
    assert reached.count(True) == 1
    same = opened(plans_page({"a.json": designed, "b.json": designed}))
    assert same.locator(".choice").count() == 0
