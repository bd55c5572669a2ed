"""The plan of a design: what it promises, checked, collected and estimated."""

import os
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import seepage as sp
from plan_examples import plan_of_forms
from searches import find_design, totals
from seepage.designs.forms.form import Form
from seepage.designs.forms.form_channels import ProductChannel
from seepage.designs.forms.question import Question
from seepage.pages.plan_page import plan_page
from seepage.plan.promises import ground
from seepage.workflow.plan import Plan
from seepage.workflow.within_limits import plan_of_design


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(8)
    domain = sp.Domain([sp.Attribute(f"a{i}", ("0", "1")) for i in range(5)])
    codes = np.array(list(product((0, 1), repeat=5)))
    return sp.Records(domain, codes, rng.integers(1, 400, 32))


@pytest.fixture(scope="module")
def found(people):
    return find_design(people, 1.0, scope="table", shape="never", effort=0.3)


def test_a_plan_has_the_totals_of_its_design(people, found):
    plan = plan_of_design(found)
    assert plan.kind == "certified"
    assert plan.basis == "mechanism"
    assert [form.attributes for form in plan.forms] == [
        form.attributes for form in found.forms
    ]
    assert plan.totals.tolist() == totals(found).tolist()
    assert plan.totals.max() <= 1.0
    for k, planned in enumerate(plan.attributes):
        assert found.forms[planned.form - 1].totals[k] == plan.totals[k]
    for form, designed in zip(plan.forms, found.forms, strict=True):
        assert form.share == designed.share
        assert form.record >= sum(designed.epsilons)
    assert plan.provenance.settings["design"]["gap"] == found.gap
    assert any("whole record" in note for note in plan.notes)


def test_a_plan_is_saved_loaded_and_checked(people, found, tmp_path):
    plan = plan_of_design(found)
    plan.save(tmp_path / "plan.json")
    loaded = Plan.load(tmp_path / "plan.json")
    assert loaded.collection == plan.collection
    again = loaded.check(people)
    np.testing.assert_allclose(again.totals, plan.totals, atol=1e-12)


def test_checking_on_other_records_finds_an_exceeded_limit(people, found):
    copies = sp.Records(people.domain, [[0] * 5, [1] * 5], [500, 500])
    assert not plan_of_design(found).check(copies).within


def test_known_attributes_are_kept_and_used_again(people):
    plan = sp.design(people, 1.0, known=["a0"], scope="table", effort=0.02)
    assert any("conditional on a0" in note for note in plan.notes)
    again = plan.check(people)
    np.testing.assert_allclose(again.totals, plan.totals, atol=1e-12)


def test_a_plan_with_public_and_unprotected_attributes_is_checked(people):
    limits = {"a0": None, "a1": 3.0, "a2": 3.0, "a3": 3.0, "a4": None}
    plan = sp.design(people, limits, public=["a0"], scope="table", effort=0.02)
    assert plan["a0"].public
    assert plan["a4"].limit is None
    again = plan.check(people)
    np.testing.assert_allclose(again.totals, plan.totals, atol=1e-12)


def test_collected_reports_estimate_with_the_predicted_error(people, found):
    """The mean of 60 runs; the standard error of 300 squared errors is 8 % of their
    mean.
    """
    plan = plan_of_design(found)
    rng = np.random.default_rng(1)
    truth = [people.marginal(j) / people.records for j in range(5)]
    squared = np.zeros(5)
    runs = 60
    for run in range(runs):
        rows = people.sample(people.records, rng)
        table = pa.table({f"a{j}": rows[:, j].astype(str) for j in range(5)})
        estimates = plan.estimate(plan.perturb(table, rng=run))
        for j in range(5):
            squared[j] += ((estimates[f"a{j}"].frequencies - truth[j]) ** 2).sum()
    assert (squared / runs).mean() == pytest.approx(found.errors.mean(), rel=0.25)


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("SEEPAGE_DATA"), reason="SEEPAGE_DATA names no folder"
)
@pytest.mark.parametrize(
    ("name", "limit", "people"), [("adult", 3.0, 5_000), ("celeba", 1.0, 5_000)]
)
def test_simulated_collections_of_real_tables_have_the_predicted_error(
    name, limit, people
):
    """200 collections of 5,000 people each; errors are inversely proportional to the
    people.
    """
    data = sp.dataset(name)
    records = sp.Records.from_data(data.read(), **data.table)
    found = find_design(records, limit, seconds=1e4, scope="table", shape="never")
    plan = plan_of_design(found)
    rng = np.random.default_rng(2)
    names = records.domain.names
    truth = [records.marginal(j) / records.records for j in range(len(names))]
    squared = np.zeros(len(names))
    runs = int(os.environ.get("SEEPAGE_RUNS", "200"))
    values = [np.array(one.edges[:-1] or one.values) for one in records.domain]
    for run in range(runs):
        rows = records.sample(people, rng)
        table = pa.table(
            {
                n: v[rows[:, j]]
                for j, (n, v) in enumerate(zip(names, values, strict=True))
            }
        )
        estimates = plan.estimate(plan.perturb(table, rng=run))
        for j, attribute in enumerate(names):
            squared[j] += ((estimates[attribute].frequencies - truth[j]) ** 2).sum()
    predicted = found.errors.mean() * records.records / people
    assert (squared / runs).mean() == pytest.approx(predicted, rel=0.05)


def test_a_form_with_one_question_is_checked_for_any_mechanism():
    rng = np.random.default_rng(3)
    domain = sp.Domain(
        [
            sp.Attribute("job", tuple(f"j{i}" for i in range(9))),
            *(sp.Attribute(name, ("0", "1")) for name in ("ill", "sex")),
        ]
    )
    people = sp.Records(
        domain, np.column_stack([rng.integers(0, k, 500) for k in (9, 2, 2)])
    )
    asked = ProductChannel(
        questions=(Question(attribute="job", mechanism="ss", epsilon=1.0),)
    )
    plan = plan_of_forms(
        people.pairs(), [Form.of(asked, "exact", [2.0] * 3)], limit=2.0
    )
    leakages = sp.leakage_matrix(people, 1.0, mechanism="ss")
    expected = [1.0, *(leakages[name, "job"].value for name in ("ill", "sex"))]
    assert plan.check(people).totals.tolist() == expected


def test_limits_are_compared_with_a_shared_confidence():
    people = sp.make_survey(3_000).select(["age", "income", "coffee", "sleep"])
    found = sp.compare_limits(
        people, [3, 1, 2, 1], seconds=1e4, shape="never", precision=0.02
    )
    assert found.limits == (1.0, 2.0, 3.0)
    assert [plan.confidence for plan in found.plans] == [0.9834] * 3
    assert all(
        plan.totals.max() <= limit
        for plan, limit in zip(found.plans, (1, 2, 3), strict=True)
    )
    columns = found.to_arrow().to_pydict()
    assert columns["people"] == [plan.people_for(0.02) for plan in found.plans]
    for key, sign in (("half_width", -1), ("people", -1), ("record", 1)):
        assert all(sign * np.diff(columns[key]) > 0)
    wide = np.multiply(
        columns["half_width"], np.sqrt(found.people / np.array(columns["people"]))
    )
    np.testing.assert_allclose(wide, 0.02, rtol=1e-3)
    alone = sp.design(people, 2.0, seconds=1e4, shape="never", confidence=0.9834)
    assert [f.attributes for f in alone.forms] == [
        f.attributes for f in found.plans[1].forms
    ]
    rows = found.chart().to_dict()["data"]["values"]
    own = [row["people"] for row in rows if row["series"] == "This plan"]
    assert own == columns["people"]
    each = {row["series"] for row in rows}
    assert each == {"This plan", "One question each", "No privacy"}


def test_a_single_limit_keeps_the_confidence_and_tables_need_none(people):
    alone = sp.compare_limits(people, [1.0], effort=0.02, shape="never")
    assert alone.plans[0].confidence == alone.confidence == 0.95
    table = sp.compare_limits(
        people, [1.0, 2.0], scope="table", effort=0.05, shape="never", people=50
    )
    assert table.confidence is None
    assert table.people == 50
    assert table.to_dict()["designs"]["limit"] == [1.0, 2.0]


@pytest.mark.parametrize("limits", [[], 2.0, "1,2", [0.0], [1.0, None], range(1, 30)])
def test_odd_limits_raise(people, limits):
    with pytest.raises(sp.InputError, match="limits"):
        sp.compare_limits(people, limits)


def test_limits_take_the_options_of_a_design(people):
    with pytest.raises(sp.InputError, match="there is no option 'limit'"):
        sp.compare_limits(people, [1.0], limit=2.0)


# For the population -------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["never", "forms"])
def test_the_totals_in_the_table_are_those_of_a_direct_computation(shape):
    """Every report of a form, every two values of a target; shown rounded up by less
    than 0.01.
    """
    table = sp.make_survey(4_000, rng=3).select(["coffee", "screen", "sleep"])
    declared = sp.count_pairs(table).domain
    records = sp.Records.from_data(table, domain=declared)
    plan = sp.design(records, 2.0, effort=0.05, shape=shape)
    codes = records.codes
    weights = np.asarray(records.weights, dtype=float)
    checked = 0
    for form, mechanisms in zip(plan.forms, plan.form_mechanisms, strict=True):
        names = [records.domain.index(name) for name in form.attributes]
        if form.is_product:
            channels = [mechanisms[name].channel() for name in form.attributes]
            likelihoods = channels[0][codes[:, names[0]]]
            for channel, j in zip(channels[1:], names[1:], strict=True):
                likelihoods = likelihoods[:, :, None] * channel[codes[:, j]][:, None, :]
                likelihoods = likelihoods.reshape(len(codes), -1)
        else:
            sizes = [records.domain[j].size for j in names]
            cells = np.ravel_multi_index([codes[:, j] for j in names], sizes)
            likelihoods = mechanisms["report"].channel()[cells]
        for k, (shown, total) in enumerate(
            zip(form.observed, form.total_values, strict=True)
        ):
            values = np.arange(records.domain[k].size)
            groups = [codes[:, k] == value for value in values]
            laws = [
                np.average(likelihoods[g], axis=0, weights=weights[g]) for g in groups
            ]
            direct = np.log(np.max(laws, axis=0) / np.min(laws, axis=0)).max()
            assert direct <= shown * (1 + 1e-12)
            assert shown == total or shown < direct + 0.01 + 1e-6
            checked += shown < total
    assert checked


def test_a_plan_says_how_many_people_are_in_the_table_and_how_many_certify():
    table = sp.make_survey(3_000, rng=3).select(["coffee", "screen", "sleep"])
    plan = sp.design(table, 2.0, effort=0.05)
    certify = plan.provenance.records
    fixed = plan.provenance.settings["fixing records"]
    assert certify + fixed == 3_000
    said = (
        f"3,000 records ({certify:,} records certify it, {fixed:,} fixed the answers)"
    )
    assert said in ground(plan)
    page = plan_page(plan)
    assert said in page
    assert (
        f"{certify:,} records that certify the limits, and {fixed:,} that fixed" in page
    )
    assert "fixed the answers" not in ground(
        sp.design(table, 2.0, effort=0.02, scope="table")
    )
