"""Designs with shaped reports: promises in integers, the product as oracle,
estimates.
"""

import math
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import seepage as sp
from searches import find_design, record, totals
from seepage.designs.shaped import form_shaper, shaping_search
from seepage.designs.shaped.certified_report import certified_report
from seepage.designs.strategies import DESIGN, OPTIMAL_SMP, SHAPED
from seepage.plan.plan_check import matrix_totals
from seepage.workflow.plan import Plan
from seepage.workflow.within_limits import plan_of_design

LIMIT = 1.0


def table(count=3, weight=1, seed=8):
    """Correlated answers: a latent value turns each of them."""
    rng = np.random.default_rng(seed)
    domain = sp.Domain([sp.Attribute(f"a{i}", ("0", "1")) for i in range(count)])
    codes = np.array(list(product((0, 1), repeat=count)))
    lean = (codes - 0.5).sum(axis=1) ** 2 / 2
    weights = (np.exp(lean) * rng.integers(200, 400, len(codes)) * weight).astype(
        np.int64
    )
    return sp.Records(domain, codes, weights)


@pytest.fixture(scope="module")
def people():
    return table()


@pytest.fixture(scope="module")
def found(people):
    return find_design(people, LIMIT, scope="table", seconds=1e4)


@pytest.fixture(scope="module")
def plain(people):
    return find_design(people, LIMIT, scope="table", shape="never", seconds=1e4)


def shaped_forms(design):
    return [form for form in design.forms if not form.is_product]


def test_shaped_reports_lower_the_error_of_the_product_design(found, plain):
    assert shaped_forms(found)
    assert not shaped_forms(plain)
    assert found.error < 0.99 * plain.error
    by_name = {one.name: one.error for one in found.comparison}
    assert by_name[SHAPED] == pytest.approx(found.error)
    assert by_name[SHAPED] < plain.error < by_name[OPTIMAL_SMP]
    assert plain.comparison[-1].name == DESIGN
    assert found.comparison[-1].name == SHAPED


def test_no_form_leaks_more_about_the_record_than_its_product(people, found):
    for form in shaped_forms(found):
        same = find_design(
            people,
            LIMIT,
            scope="table",
            shape="never",
            left_out=[
                name for name in people.domain.names if name not in form.attributes
            ],
            want=[form.attributes] if len(form.attributes) > 1 else (),
            effort=0.1,
            mechanism="grr",
        )
        assert form.record <= record(same) * (1 + 1e-6)
        shaped = found.problem.shaped_report(form)
        assert form.record == shaped.mechanism.realised_epsilon


def test_every_total_and_every_changed_answer_is_within_its_limit_in_integers(
    people, found
):
    for form in shaped_forms(found):
        totals = matrix_totals(form.channel, "exact", people)
        assert max(totals) <= LIMIT
        np.testing.assert_allclose(totals, form.totals, atol=1e-12)
        cells = np.array(form.channel.mechanism.thresholds, dtype=object).reshape(
            *[2] * len(form.attributes), -1
        )
        for axis in range(len(form.attributes)):
            first, second = np.moveaxis(cells, axis, 0)
            for a, b in zip(first.ravel(), second.ravel(), strict=True):
                assert abs(math.log(a / b)) <= LIMIT + 1e-12


def test_the_stated_leakage_given_other_answers_is_right(people, found):
    plan = plan_of_design(found)
    joint = people.counts().astype(float)
    for form, planned in zip(found.forms, plan.forms, strict=True):
        if form.is_product:
            continue
        leakage = planned.channel.answer_leakage
        axes = tuple(
            i for i, n in enumerate(people.domain.names) if n not in form.attributes
        )
        cells = joint.sum(axis=axes)
        channel = form.channel.mechanism.channel().reshape(*cells.shape, -1)
        worst = 0.0
        for target in range(cells.ndim):
            for known in range(cells.ndim):
                if known == target:
                    continue
                rest = tuple(i for i in range(cells.ndim) if i not in (target, known))
                mass = cells.sum(axis=rest)
                chance = (cells[..., None] * channel).sum(axis=rest) / mass[..., None]
                chance = np.log(chance if target < known else np.swapaxes(chance, 0, 1))
                worst = max(worst, float(np.abs(chance[0] - chance[1]).max()))
        assert leakage.one == pytest.approx(worst, abs=1e-9)
        assert leakage.answer <= LIMIT
        assert leakage.xor_of
    assert any("shaped" in note for note in plan.notes)


def test_a_shaped_plan_is_saved_loaded_certified_and_estimated_from(
    people, found, tmp_path
):
    plan = plan_of_design(found)
    plan.save(tmp_path / "plan.json")
    loaded = Plan.load(tmp_path / "plan.json")
    assert loaded.collection == plan.collection
    assert any(form["type"] == "matrix" for form in plan.wire["forms"])
    np.testing.assert_allclose(loaded.check(people).totals, plan.totals, atol=1e-12)
    names = people.domain.names
    truth = {name: people.marginal(name)[1] / people.records for name in names}
    drawn = np.repeat(people.codes, people.weights, axis=0)
    answers = pa.table({n: drawn[:, k].astype(str) for k, n in enumerate(names)})
    scores = []
    for seed in range(40):
        estimates = loaded.estimate(loaded.perturb(answers, rng=seed))
        scores.append(
            [
                (estimates[n].frequencies[1] - truth[n])
                / estimates[n].standard_errors[1]
                for n in names
            ]
        )
    assert np.abs(np.mean(scores, axis=0)).max() < 4 / math.sqrt(40)
    assert 0.7 < np.std(scores) < 1.3


def test_a_single_question_is_shaped_about_another_attribute():
    rng = np.random.default_rng(4)
    domain = sp.Domain(
        [sp.Attribute("work", tuple("abcdef")), sp.Attribute("sex", ("f", "m"))]
    )
    codes = np.array(list(product(range(6), range(2))))
    people = sp.Records(domain, codes, rng.integers(50, 900, 12))
    limits = {"work": 3.0, "sex": 0.3}
    plain = find_design(
        people, limits, scope="table", shape="never", left_out=["sex"], effort=0.1
    )
    found = find_design(people, limits, scope="table", left_out=["sex"], effort=0.1)
    assert {form.attributes for form in shaped_forms(found)} == {("work",)}
    assert found.errors[0] < 0.7 * plain.errors[0]
    assert (totals(found) <= [3.0, 0.3]).all()


def test_counts_beyond_64_bits_give_the_plan_of_their_frequencies():
    """Counts are multiplied by 100 per question, for people without an answer."""
    weights = [9, 5, 7, 4, 8, 6, 3, 9, 2, 5, 7, 1]
    domain = sp.Domain(
        [
            sp.Attribute("a", ("0", "1")),
            sp.Attribute("b", ("0", "1", "2")),
            sp.Attribute("c", ("0", "1")),
        ]
    )
    cells = list(product(range(2), range(3), range(2)))
    few, many = (
        find_design(
            sp.Records(domain, cells, [times * weight for weight in weights]),
            LIMIT,
            scope="table",
            effort=0.1,
        )
        for times in (10**4, 10**14)
    )
    assert many.error * 10**10 == pytest.approx(few.error, rel=1e-6)
    assert many.sets == few.sets
    assert shaped_forms(few)


@pytest.fixture(scope="module")
def many():
    return table(3, weight=80)


@pytest.fixture(scope="module")
def for_population(many):
    return find_design(many, LIMIT, largest=2, seconds=1e4)


def test_the_same_seed_gives_the_same_thresholds(many, for_population):
    again = find_design(many, LIMIT, largest=2, seconds=1e4)
    if "time" in (for_population.ended, again.ended):
        pytest.skip("the machine was too busy for a search to end by itself")
    assert again.forms == for_population.forms
    assert len(shaped_forms(again)) > 1
    for one, other in zip(
        shaped_forms(again), shaped_forms(for_population), strict=True
    ):
        assert one.channel == other.channel


@pytest.mark.parametrize("rng", range(3))
def test_shaped_forms_are_tried_of_every_size(rng):
    """Forms of four answers gain far more than pairs, whichever were shaped first."""
    whole = find_design(table(4, weight=40), LIMIT, rng=rng, effort=0.3)
    pairs = find_design(table(4, weight=40), LIMIT, rng=rng, effort=0.3, largest=2)
    assert max(len(form.attributes) for form in shaped_forms(whole)) == 4
    assert whole.error < 0.85 * pairs.error


@pytest.mark.parametrize(("effort", "share"), [(0.02, 1e-3), (0.02, 0.1), (1e-3, 0.1)])
def test_the_work_of_shaping_does_not_depend_on_the_records_that_certify(
    many, effort, share, monkeypatch
):
    """The search on all records may take more or less of it before, or all of it."""
    left = list[float]()
    select_forms = shaping_search._select_forms

    def recorded(inner, shaper, part):
        left.append(inner.work.left / inner.work.limit)
        select_forms(inner, shaper, part)

    monkeypatch.setattr(shaping_search, "_select_forms", recorded)
    monkeypatch.setattr(shaping_search, "PRODUCT_SEARCH_END", share)
    find_design(many, LIMIT, effort=effort)
    assert left == [pytest.approx(shaping_search.SHAPING_SHARE)]


def test_population_shaped_forms_are_certified_on_the_other_records(
    many, for_population
):
    people = many
    found = for_population
    plain = find_design(people, LIMIT, largest=2, shape="never", effort=0.1)
    assert found.certifier.scope == "population"
    assert shaped_forms(found)
    assert found.error < plain.error
    for form in shaped_forms(found):
        exact = matrix_totals(form.channel, "exact", people)
        assert all(t > e for t, e in zip(form.totals, exact, strict=True) if e > 0.2)
        assert max(form.totals) <= LIMIT
    plan = plan_of_design(found)
    assert plan.scope == "population"
    assert plan.confidence == 0.95


def test_shaped_forms_and_products_share_the_error_probability(many, monkeypatch):
    """Products at half of it, and all shaped forms that are offered at the other."""
    levels = list[float]()

    def recorded(selected, limits, rest, whole, level, **options):
        levels.append(level)
        return certified_report(selected, limits, rest, whole, level, **options)

    monkeypatch.setattr(form_shaper, "certified_report", recorded)
    found = find_design(many, LIMIT, largest=2, seconds=1e4)
    assert len(levels) > 1
    assert levels == pytest.approx([math.log(2 * len(levels) / 0.025)] * len(levels))
    assert found.certifier.population.confidence == pytest.approx(0.975)
    alone = find_design(many, LIMIT, largest=2, shape="never", effort=0.1)
    assert alone.certifier.population.confidence == 0.95


@pytest.mark.parametrize("options", [{"shape": "often"}, {"shape": 1}, {"shape": None}])
def test_an_unknown_shape_raises(people, options):
    with pytest.raises(sp.InputError, match="shape"):
        find_design(people, LIMIT, **options)
