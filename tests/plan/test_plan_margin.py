"""Margins of plans against linear programs and moved tables."""

import json
import math
from functools import reduce
from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import linprog

import seepage as sp
from command import run
from seepage.datasets.survey import survey_joint
from seepage.plan.plan_margin import plan_margins

NAMES = ["employment", "coffee", "screen"]


@pytest.fixture(scope="module")
def people():
    survey = sp.make_survey(2_000, rng=3)
    return sp.Records.from_data(survey, domain=survey_joint().domain).select(NAMES)


def product_plan(people, limit):
    return sp.calibrate(
        people, limit, mechanism="grr", guarantee="exact", scope="population"
    )


def extreme(row, likelihoods, reachable, radius, sign):
    """Return the largest or least mean of w over rows within a distance, by a linear
    program.
    """
    size = int(reachable.sum())
    costs = np.concatenate([-sign * likelihoods[reachable], np.zeros(size)])
    excess = np.hstack([np.eye(size), -np.eye(size)])
    moved = np.concatenate([np.zeros(size), np.ones(size)])[None]
    result = linprog(
        costs,
        A_ub=np.vstack([excess, moved]),
        b_ub=np.concatenate([row[reachable], [radius]]),
        A_eq=np.concatenate([np.ones(size), np.zeros(size)])[None],
        b_eq=[1.0],
    )
    return -sign * result.fun


def total_within(people, plan, k, radius):
    """Return the total about attribute k over all rows within a distance."""
    domain = people.domain
    matrices = [
        sp.GRR(attribute.size, plan[attribute.name].epsilon).channel()
        for attribute in domain
    ]
    likelihoods = reduce(np.kron, matrices)
    sizes = domain.sizes
    cells = np.ravel_multi_index(people.codes.T, sizes)
    rows = np.zeros((sizes[k], math.prod(sizes)))
    np.add.at(rows, (people.codes[:, k], cells), people.weights)
    rows /= rows.sum(axis=1, keepdims=True)
    own = np.unravel_index(np.arange(rows.shape[1]), sizes)[k]
    largest = 0.0
    for report in likelihoods.T:
        highest = [
            extreme(rows[x], report, own == x, radius, 1) for x in range(sizes[k])
        ]
        lowest = [
            extreme(rows[x], report, own == x, radius, -1) for x in range(sizes[k])
        ]
        for x, other in permutations(range(sizes[k]), 2):
            largest = max(largest, math.log(highest[x] / lowest[other]))
    return largest


def test_the_total_at_the_margin_is_the_limit_by_linear_programs(people):
    plan = product_plan(people, 2.0)
    check = plan.check(people)
    assert check.within
    for k in range(len(NAMES)):
        margin = float(check.margins[k])
        assert 0 < margin < 1
        assert total_within(people, plan, k, margin) <= 2.0 + 1e-6
        assert total_within(people, plan, k, margin + 2.0**-11) > 2.0


def test_no_table_within_the_margin_exceeds_a_limit(people):
    plan = product_plan(people, 2.0)
    margin = plan.check(people).margin
    rng = np.random.default_rng(0)
    weights = people.weights.astype(float)
    for _ in range(40):
        moved = people.weights.copy()
        for _ in range(3):
            i, j = rng.integers(0, len(moved), 2)
            shift = int(min(moved[i], rng.integers(0, 40)))
            moved[i] -= shift
            moved[j] += shift
        kept = moved > 0
        other = sp.Records(people.domain, people.codes[kept], moved[kept])
        distance = 0.0
        for k, size in enumerate(people.domain.sizes):
            for x in range(size):
                rows = [w * (people.codes[:, k] == x) for w in (weights, moved)]
                first, second = (row / row.sum() for row in rows)
                distance = max(distance, np.abs(first - second).sum() / 2)
        if distance <= margin:
            assert plan.check(other).within


def test_a_margin_that_is_not_computed_and_one_that_is_trivial(people):
    worst = sp.calibrate(people, 2.0, guarantee="worst")
    assert worst.check(people).margin == 1.0
    assumed = sp.calibrate(people.pairs(), 2.0, guarantee="independent")
    assert assumed.check(people).margin is None
    plan = product_plan(people, 2.0)
    limits = np.array([2.0, np.inf, 0.1])
    margins = plan_margins(people, plan.forms, limits)
    assert margins[1] == 1.0
    assert margins[2] == 0.0


def test_shaped_and_single_reports_have_margins(people):
    plan = sp.design(people, 2.0, effort=0.02)
    check = plan.check(people)
    assert check.within
    assert check.margin is not None
    assert 0 < check.margin <= 1


def test_the_command_checks_a_plan_on_another_table(people, tmp_path):
    first = sp.make_survey(2_000, rng=3).select(NAMES).to_pandas()
    other = sp.make_survey(900, rng=9).select(NAMES).to_pandas()
    other["coffee"] = other["screen"]
    first.to_csv(tmp_path / "first.csv", index=False)
    other.to_csv(tmp_path / "other.csv", index=False)
    plan = tmp_path / "plan.json"
    product_plan(people, 2.0).save(plan)
    same = run("check", plan, "--data", tmp_path / "first.csv", "--fail-if", "exceeded")
    assert same.returncode == 0
    assert "every total is within its limit" in same.stdout
    assert "Margin: the limits hold for all rows within 0.0" in same.stdout
    content = json.loads(
        run("check", plan, "--data", tmp_path / "first.csv", "--format", "json").stdout
    )
    assert (content["format"], content["within"]) == ("seepage plan check", True)
    drifted = run(
        "check", plan, "--data", tmp_path / "other.csv", "--fail-if", "exceeded"
    )
    assert drifted.returncode == 1
    assert "above the limit: " in drifted.stdout
    alone = run("check", plan)
    assert alone.returncode == 2
    assert "name it by --data" in alone.stderr
    columns = run("check", tmp_path / "first.csv", "--fail-if", "exceeded")
    assert columns.returncode == 2
