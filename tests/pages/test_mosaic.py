"""The picture of who is asked what, checked against the plan itself."""

import math
from itertools import pairwise
from itertools import product as product_of

import pytest

import seepage as sp
from plan_examples import forms_plan, product
from plan_pages import binary_pairs, many_forms, with_matrix
from seepage.pages.mosaic import MOST_ROWS, group_letter, mosaic_of
from seepage.plan.report_vectors import nominal_frequencies


@pytest.fixture(scope="module")
def plan():
    return sp.design("survey", 2.0, effort=0.05)


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


def one_question_each(questions, extra=()):
    """A plan of one group for each question, and further groups."""
    pairs = binary_pairs(questions)
    names = pairs.domain.names
    channels = [product(**{name: 1.0}) for name in names]
    channels += [product(**dict.fromkeys(names[:2], 0.5)) for _ in extra]
    shares = [1.0] * questions + list(extra)
    return forms_plan(pairs, channels, shares, limit=10.0)


def test_groups_that_a_picture_cannot_show_are_a_sentence():
    """Of 200 groups of one question each, 46 rows would show less than a quarter."""
    view = mosaic_of(one_question_each(200))
    assert view.lottery.sentence == (
        "Each person is asked 1 of 200 questions. There are 200 groups; the largest "
        "is 1 of 200 people. A question is asked of 1 of 200 people."
    )
    assert view.lottery.numbers == ()
    assert not view.groups


def test_a_long_diagonal_is_a_sentence():
    """A box in each column and row says no more than that each is asked one."""
    drawn = mosaic_of(one_question_each(20))
    assert len(drawn.groups) == 20
    assert drawn.lottery is None
    assert mosaic_of(one_question_each(21)).lottery is not None
    assert mosaic_of(one_question_each(21, extra=[1.0])).lottery is None


def test_numbers_of_questions_are_drawn_where_they_differ():
    view = mosaic_of(one_question_each(200, extra=[50.0]))
    assert view.lottery.sentence.startswith("Each person is asked 1 to 2 of 200")
    assert [row.questions for row in view.lottery.numbers] == [1, 2]
    percents = [row.percent for row in view.lottery.numbers]
    assert percents == pytest.approx([80, 20], abs=0.01)


def test_of_many_questions_those_of_the_largest_groups_are_shown():
    plan = many_forms(attributes=90, forms=200)
    view = mosaic_of(plan)
    assert len(view.rows) == MOST_ROWS
    assert view.further == len(plan.collected) - MOST_ROWS
    assert len(view.groups) == 200
    shown = {row.name for row in view.rows}
    largest = max(plan.forms, key=lambda form: form.chance)
    assert set(largest.attributes) <= shown


def test_groups_without_a_letter_are_named():
    view = mosaic_of(one_question_each(3, extra=[0.06]))
    [narrow] = [group for group in view.groups if not group.is_labelled]
    assert view.unlabelled == f"Too narrow for a letter: {narrow.letter} (2 of 100)."
    assert mosaic_of(one_question_each(3)).unlabelled == ""


def test_boxes_that_are_sent_together_have_a_plus():
    view = mosaic_of(with_matrix())
    texts = {cell.text for group in view.groups for cell in group.cells}
    assert any(text.startswith("+") for text in texts)
    assert "boxes with a + are sent together as one report" in view.caption


def test_the_number_after_a_plus_is_how_often_a_guess_is_right():
    """By a loop over reports and combinations of answers."""
    plan = with_matrix()
    form = next(form for form in plan.forms if not form.is_product)
    names = form.attributes
    channel = form.channel.mechanism.channel()
    sizes = [plan.domain[name].size for name in names]
    weights = form.channel.frequencies or [
        math.prod(shares)
        for shares in product_of(*(nominal_frequencies(plan, name) for name in names))
    ]
    combinations = list(product_of(*map(range, sizes)))
    group = next(
        group
        for group in mosaic_of(plan).groups
        if all(cell.is_shaped for cell in group.cells)
        and group.width == pytest.approx(100 * form.share, abs=0.01)
    )
    by_top = {row.top: row.name for row in mosaic_of(plan).rows}
    shown = {by_top[cell.top]: cell for cell in group.cells}
    assert set(shown) == set(names)
    for place, name in enumerate(names):
        right = 0.0
        for report in range(channel.shape[1]):
            chances = []
            for value in range(sizes[place]):
                chosen = [
                    (weight, row[report])
                    for weight, row, answers in zip(
                        weights, channel, combinations, strict=True
                    )
                    if answers[place] == value
                ]
                people = sum(weight for weight, _ in chosen)
                chances.append(sum(w * chance for w, chance in chosen) / people)
            right += max(chances) / sizes[place]
        if form.share < 0.09:
            assert shown[name].text == "+"
            continue
        assert shown[name].truthful == math.floor(100 * right)
        assert shown[name].text == f"+{math.floor(100 * right)}"
