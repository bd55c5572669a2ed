"""Designs for people: certified on records that the search has not seen."""

import itertools

import numpy as np
import pytest

import seepage as sp
from seepage.errors import InputError

SIZES = (2, 2, 2, 3)
CELLS = np.array(list(itertools.product(*map(range, SIZES))))


def records(weights, **more):
    domain = sp.Domain(
        [sp.Attribute(f"a{k}", tuple(map(str, range(size)))) for k, size in enumerate(SIZES)]
    )
    kept = weights > 0
    return sp.Records(domain, CELLS[kept], weights[kept], **more)


def shares():
    rng = np.random.default_rng(0)
    found = 0.2 + (CELLS[:, 0] == CELLS[:, 1]) * rng.random(len(CELLS))
    return found / found.sum()


def test_a_design_says_for_whom_it_holds(tmp_path):
    data = records(np.random.default_rng(1).multinomial(40_000, shares()))
    plan = sp.design(data, 1.0, scope="population", seconds=2)
    assert (plan.scope, plan.confidence, plan.kind) == ("population", 0.95, "statistical")
    assert plan.totals.max() <= 1.0
    assert max(len(form.attributes) for form in plan.forms) > 1
    assert "certified on the other 32,000" in " ".join(plan.notes)
    plan.save(tmp_path / "plan.json")
    assert sp.Plan.load(tmp_path / "plan.json") == plan
    table = sp.design(data, 1.0, seconds=2)
    assert (table.scope, table.kind) == ("table", "certified")


def test_few_records_give_one_question_per_person():
    data = records(np.random.default_rng(1).multinomial(60, shares()))
    plan = sp.design(data, 1.0, scope="population", seconds=1)
    asked = sum(form.chance / 2**64 for form in plan.forms if len(form.attributes) == 1)
    assert asked > 0.5


def test_a_sample_is_enough_for_people():
    weights = np.random.default_rng(1).multinomial(5000, shares())
    part = records(weights, population=10**6)
    plan = sp.design(part, 1.0, scope="population", seconds=1)
    assert plan.scope == "population"
    with pytest.raises(InputError, match="need all records"):
        sp.design(part, 1.0, seconds=1)


def test_what_is_not_covered_raises():
    data = records(np.full(len(CELLS), 10))
    for name, value in {"public": ["a0"], "known": ["a0"], "least": 0.1}.items():
        with pytest.raises(InputError, match=f"{name} must be left out for scope 'population'"):
            sp.design(data, 1.0, scope="population", **{name: value})
    with pytest.raises(InputError, match="scope must be one of"):
        sp.design(data, 1.0, scope="everybody")


def test_designs_hold_for_people():
    """The limit is exceeded for people in no more of 20 samples than chance allows."""
    people = records(np.round(shares() * 10**9).astype(np.int64))
    rng, missed = np.random.default_rng(5), 0
    for seed in range(20):
        sample = records(rng.multinomial(4000, shares()))
        plan = sp.design(sample, 1.0, scope="population", seconds=0.2, seed=seed)
        worst = 0.0
        for form in plan.forms:
            budgets = dict.fromkeys(people.domain.names, 0.0)
            budgets |= {q.attribute: q.epsilon for q in form.channel.questions}
            true = sp.total_leakage(people, budgets, mechanism="grr", guarantee="exact")
            worst = max(worst, float(true.values.max()))
        missed += worst > 1.0 + 1e-6
    assert missed <= 5
