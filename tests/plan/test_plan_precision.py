"""Expected errors: those of the design, of simulated collections, and of the other
ways.
"""

import msgspec
import numpy as np
import pytest

import seepage as sp
from plan_examples import (
    counts,
    forms_plan,
    people,
    plan_for,
    product,
    survey_design,
    three_forms,
)
from seepage._core.errors import InputError
from seepage._core.text import points
from seepage.designs.strategies import RECORD_SMP, Strategy
from seepage.plan.advice import no_better, people_sentence, whole_record_rival
from seepage.plan.plan_precision import (
    NORMAL,
    answer_variances,
    joint_half_width,
    plan_precision,
)
from seepage.workflow.within_limits import plan_of_design


def test_a_design_has_the_errors_that_it_was_found_with():
    found = survey_design()
    plan = plan_of_design(found)
    assert not all(form.is_product for form in found.forms)
    ours = {name: float(each.sum()) for name, each in answer_variances(plan).items()}
    # the plan's nominal frequencies are rounded to whole percent
    assert [v / 2000 for v in ours.values()] == pytest.approx(
        found.errors.tolist(), rel=0.03
    )
    assert plan.alternatives == found.comparison[:-1]
    assert len(plan.alternatives) == 6


def test_estimates_of_people_drawn_anew_vary_as_expected():
    pairs = counts(4000)
    plan = three_forms(pairs)
    expected = {
        name: float(each.sum()) for name, each in answer_variances(plan).items()
    }
    errors = {name: [] for name in expected}
    reports = plan.perturb(people(150 * 400, seed=10), rng=10)
    for run in range(150):
        found = plan.estimate(reports.slice(400 * run, 400))
        for name in errors:
            truth = np.array(plan[name].frequencies)
            errors[name].append(((found[name].frequencies - truth) ** 2).sum())
    for name, each in errors.items():
        mean = np.mean(each)
        spread = np.std(each) / np.sqrt(len(each))
        assert abs(mean - expected[name] / 400) < 4 * spread, name
        assert spread < 0.2 * mean


def test_every_share_is_within_the_width_nineteen_times_of_twenty():
    """With the people of `people_for`, 300 collections: the widest answer covers at 95
    %.
    """
    plan = three_forms(counts(4000))
    variances = answer_variances(plan)
    name = max(variances, key=lambda one: variances[one].max())
    width = 0.2
    number = plan.people_for(width)
    assert number == int(
        np.ceil(max(v.max() for v in variances.values()) * (1.96 / width) ** 2)
    )
    truth = np.array(plan[name].frequencies)
    answer = int(variances[name].argmax())
    reports = plan.perturb(people(300 * number), rng=1)
    inside = 0
    for run in range(300):
        found = plan.estimate(reports.slice(number * run, number))
        inside += abs(found[name].frequencies[answer] - truth[answer]) <= width
    assert abs(inside / 300 - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 300)


def test_the_people_and_the_half_width_follow_from_each_other():
    table = sp.make_survey(2_000).select(["coffee", "sleep"])
    wanted = sp.design(table, 2.0, precision=0.02, effort=0.02)
    precision = plan_precision(wanted)
    assert precision.people == wanted.people_for(0.02)
    assert precision.half_width == pytest.approx(0.02, rel=1e-3)
    asked = sp.design(table, 2.0, people=precision.people, effort=0.02)
    assert plan_precision(asked).half_width == pytest.approx(0.02, rel=1e-3)
    assert "within 2 percentage points, 19 times of 20" in people_sentence(
        asked, plan_precision(asked)
    )
    with pytest.raises(InputError, match="one follows from the other"):
        sp.design(table, 2.0, people=100, precision=0.02)


def test_a_plan_that_cannot_estimate_an_answer_needs_no_number():
    with pytest.raises(InputError, match="'sex' cannot be estimated"):
        forms_plan(counts(), [product(sex=0.0, ill=1.0)]).people_for(0.03)


def test_the_rival_with_the_whole_record_is_named_where_it_wins():
    table = sp.make_survey(4_000).select(["coffee", "screen", "sleep"])
    plan = sp.design(table, 1.0, scope="table", shape="never", effort=0.05)
    precision = plan_precision(plan)
    rival = precision.named(RECORD_SMP)
    record = max(form.record for form in plan.forms)
    assert (float(rival.record), rival.certified) == (record, False)
    ratio = precision.ratio(rival)
    assert bool(whole_record_rival(plan, precision)) == (ratio < 1)
    best = sp.mechanism("grr", 2, record)
    each = [best.variance(1, plan[n].frequencies).sum() for n in plan.collected.names]
    each = np.array(each) + [
        1 - np.square(plan[n].frequencies).sum() for n in plan.collected.names
    ]
    expected = np.sqrt(each).sum() ** 2 / 3 / precision.people  # pi_j ~ sqrt(v_j)
    assert precision.error(rival) == pytest.approx(expected, rel=0.01)


def test_errors_of_a_strategy_by_objective_and_for_other_numbers_of_people():
    row = Strategy(
        name="x", rests_on="", certified=False, errors={"a": 0.6, "b": 0.8, "c": 9.0}
    )
    sizes = {"a": 2, "b": 4}
    assert row.objective_error("mean", sizes) == pytest.approx(0.7)
    assert row.objective_error("largest", sizes) == pytest.approx(0.3)
    assert (row.objective_error("mean", {}), row.objective_error("largest", {})) == (
        0.0,
        0.0,
    )
    assert row.for_people(0.5).errors == pytest.approx({"a": 0.3, "b": 0.4, "c": 4.5})


def test_no_better_than_one_question_each_is_said_with_what_would_help():
    domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b")])
    same = sp.Records(domain, [[0, 0], [1, 1]], [500, 500])
    plan = sp.design(same, 1.0, scope="table")
    text = no_better(plan, plan_precision(plan))
    assert text.startswith(
        "This is no better than one question each. What would help: "
    )


def test_the_error_of_an_attribute_that_cannot_be_estimated_is_infinite():
    plan = forms_plan(counts(), [product(sex=0.0, ill=1.0)])
    assert answer_variances(plan)["sex"].sum() == np.inf
    precision = plan_precision(plan)
    assert precision.width(precision.strategies[0], "sex") == np.inf


def test_alternatives_have_the_attributes_of_the_plan():
    plan = plan_for(counts())
    other = Strategy(name="x", rests_on="", certified=True, errors={"none": 1.0})
    with pytest.raises(InputError, match="'none', which is no attribute"):
        msgspec.structs.replace(plan, alternatives=(other,))


def test_all_shares_keep_the_joint_half_width_at_once():
    rng = np.random.default_rng(1)
    variances = [np.array([0.3, 0.2, 0.1]), np.array([0.25]), np.array([0.4, 0.1, 0.2])]
    people = 1_000
    width = joint_half_width(variances, people)
    errors = np.sqrt(np.concatenate(variances) / people)
    draws = errors * rng.standard_normal((200_000, errors.size))
    together = (np.abs(draws) <= width).all(axis=1).mean()
    assert 0.95 <= together < 0.96
    alone = NORMAL * errors.max()
    assert (np.abs(draws) <= alone).all(axis=1).mean() < 0.95 < together
    assert width > alone


def test_the_sentence_has_the_half_width_of_each_share_and_of_all():
    table = sp.make_survey(2_000).select(["coffee", "sleep", "income"])
    plan = sp.calibrate(table, 2.0, guarantee="worst")
    precision = plan_precision(plan)
    assert precision.shares == 1 + 1 + 3
    sentence = people_sentence(plan, precision)
    joint = points(precision.joint_half_width).removesuffix(".0")
    assert f"all 5 shares at once to within {joint}." in sentence
