"""Corr-RR and CoP: their errors against straightforward simulations, and what they do not keep."""

import math
from itertools import product

import numpy as np
import pytest

import seepage as sp
from seepage.data.records import Records
from seepage.designs import joint_perturbation
from seepage.designs.joint_perturbation import (
    DISTORTION,
    _children,
    _copy_chances,
    coordinated_perturbation,
    correlated_response,
    optimised_responses,
    perturb_jointly,
)
from seepage.designs.strategies import Strategy
from seepage.mechanisms.direct import GRR
from seepage.plan.plan_precision import plan_precision

DOMAIN = sp.Domain([sp.Attribute(name, ("0", "1", "2")) for name in "abc"])


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    a = rng.choice(3, 4_000, p=[0.6, 0.3, 0.1])
    b = np.where(rng.random(4_000) < 0.8, a, rng.integers(3, size=4_000))
    c = rng.choice(3, 4_000, p=[0.2, 0.2, 0.6])
    return Records(DOMAIN, np.column_stack([a, b, c]))


# Corr-RR -----------------------------------------------------------------------------------------


def corr_rr(codes, chances, limit, rng):
    """Both phases, one draw per person: their estimates, averaged by the numbers of people."""
    n, d = codes.shape
    first = n // 10
    split, whole = GRR(3, limit / d), GRR(3, limit)
    estimates = [split.estimate(split.perturb(codes[:first, j], rng)) for j in range(d)]
    everyone, pivot = np.arange(n - first), rng.integers(d, size=n - first)
    report = whole.perturb(codes[first:][everyone, pivot], rng).values[:, None]
    copies = rng.random((n - first, d)) < chances[pivot]
    copies[everyone, pivot] = True
    others = (report + rng.integers(1, 3, (n - first, d))) % 3
    reports = np.where(copies, report, others)
    q, gap = 1 / (math.exp(limit) + 2), math.expm1(limit) / (math.exp(limit) + 2)
    shares = np.array([np.bincount(column, minlength=3) for column in reports.T]) / len(reports)
    return 0.1 * np.array([e.frequencies for e in estimates]) + 0.9 * (shares - q) / gap


def test_the_error_of_corr_rr_is_that_of_its_two_phases(people):
    n, limit, rng = 500, 1.5, np.random.default_rng(2)
    f = np.array(people.pairs().marginals) / people.records
    gap = math.expm1(limit) / (math.exp(limit) + 2)
    chances = _copy_chances(f, gap, 0.9 * n)
    runs = np.array([corr_rr(people.sample(n, rng), chances, limit, rng) for _ in range(150)])
    found = correlated_response(people.pairs(), limit, n)
    simulated = ((runs - f) ** 2).sum(axis=2).mean(axis=0)
    assert found.errors == pytest.approx(simulated, rel=0.15)
    biases = ((runs.mean(axis=0) - f) ** 2).sum(axis=1)
    assert found.biases == pytest.approx(biases, rel=0.15, abs=0.002)
    many = correlated_response(people.pairs(), limit, 10**9)
    assert many.errors == pytest.approx(many.biases, rel=1e-3)


def test_a_record_under_corr_rr_is_within_the_limit(people):
    """By enumeration of all reports of the second phase, for every two records."""
    limit, matrix = 1.2, GRR(3, 1.2).channel()
    f = np.array(people.pairs().marginals) / people.records
    chances = _copy_chances(f, math.expm1(limit) / (math.exp(limit) + 2), 1000.0)
    likelihoods = {}
    for record in product(range(3), repeat=3):
        likelihoods[record] = [
            sum(
                matrix[record[pivot], reports[pivot]]
                * math.prod(
                    chances[pivot, j]
                    if reports[j] == reports[pivot]
                    else (1 - chances[pivot, j]) / 2
                    for j in range(3)
                    if j != pivot
                )
                for pivot in range(3)
            )
            for reports in product(range(3), repeat=3)
        ]
        assert sum(likelihoods[record]) == pytest.approx(3.0)
    values = np.array(list(likelihoods.values()))
    seen = values.max(axis=0) > 0
    assert np.log(values[:, seen].max(axis=0) / values[:, seen].min(axis=0)).max() <= limit + 1e-12


def test_corr_rr_needs_alphabets_of_one_size():
    assert correlated_response(sp.load_pairs("adult"), 1.0, 1000) is None


# CoP ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_response_to_a_uniform_aim_is_grr(k):
    [matrix] = optimised_responses([np.full(k, 1 / k)], [0.0], 1.3)
    assert matrix == pytest.approx(GRR(k, 1.3).channel(), abs=1e-6)


def test_responses_keep_budget_and_aim_and_are_optimal():
    rng, epsilon = np.random.default_rng(3), 0.8
    aims = [rng.dirichlet(np.ones(k)) for k in (2, 2, 3, 4, 6)]
    for aim, matrix in zip(aims, optimised_responses(aims, [0.02] * 5, epsilon), strict=True):
        assert matrix.sum(axis=1) == pytest.approx(1.0)
        assert (matrix.max(axis=0) / matrix.min(axis=0)).max() <= math.exp(epsilon) * (1 + 1e-5)
        assert np.abs(matrix.mean(axis=0) - aim).max() <= 0.02 + 1e-6
        if len(aim) == 2:  # closed form: the least |t| = |2 mean - 1| that the aim allows
            t = max(0.0, abs(2 * aim[0] - 1) - 0.04)
            best = (2 * math.exp(epsilon) - t * math.expm1(epsilon)) / (1 + math.exp(epsilon))
            assert np.trace(matrix) == pytest.approx(best, abs=1e-5)


def cop(answers, alone, given, rng):
    """The authors' traversal for one person, as a loop."""
    reports, queue = {}, []
    while len(reports) < len(answers):
        root = rng.choice([j for j in range(len(answers)) if j not in reports])
        reports[root] = rng.choice(3, p=alone[root][answers[root]])
        queue.append(root)
        for parent in queue:
            for child, matrix in given.get((parent, reports[parent]), {}).items():
                if child not in reports:
                    reports[child] = rng.choice(3, p=matrix[answers[child]])
                    queue.append(child)
    return tuple(reports[j] for j in range(len(answers)))


def test_all_people_at_once_have_the_joint_distribution_of_one_by_one(people):
    rng, n = np.random.default_rng(4), 20_000
    draw = lambda: rng.dirichlet(np.ones(3), size=3)  # noqa: E731
    alone = [draw() for _ in range(3)]
    given = {(0, 0): {1: draw(), 2: draw()}, (1, 2): {2: draw()}, (2, 1): {0: draw()}}
    weights = np.array([9, 3, 1])
    for answers in ([0, 0, 0], [2, 1, 0]):
        one = [weights @ cop(answers, alone, given, rng) for _ in range(n // 2)]
        all_at_once = perturb_jointly(np.tile(answers, (n, 1)), alone, given, rng) @ weights
        shares = [np.bincount(part, minlength=27) / len(part) for part in (one, all_at_once)]
        assert np.abs(shares[0] - shares[1]).sum() < 0.06


def test_children_are_the_authors_and_the_error_is_the_bias(people):
    pairs = people.pairs()
    children = _children(pairs)
    assert {(parent, child) for parent, _, child, _ in children} == {(0, 1), (1, 0)}
    for parent, value, child, chances in children:
        table = pairs.table(parent, child) + 1.0
        table[table < 3] = 0
        assert chances == pytest.approx(table[value] / table[value].sum())
    found = coordinated_perturbation(people, 2.0, 10**9)
    assert found.errors == pytest.approx(found.biases, rel=1e-3)
    totals = sp.total_leakage(pairs, found.epsilon, guarantee="independent").values
    assert totals.max() == pytest.approx(2.0, abs=1e-6)
    assert DISTORTION == 0.1


@pytest.mark.parametrize("name", ["MAX_VALUES", "MAX_CELLS"])
def test_matrices_that_are_too_large_are_not_optimised(people, monkeypatch, name):
    monkeypatch.setattr(joint_perturbation, name, {"MAX_VALUES": 2, "MAX_CELLS": 30}[name])
    assert coordinated_perturbation(people, 2.0, 1000) is None


def test_cop_exceeds_its_limit_where_sources_depend_on_each_other():
    """Two coins and whether they differ: no leakage between two, so CoP spends the limit thrice."""
    domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in "abc"])
    coins = Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]], [1000] * 4)
    found = coordinated_perturbation(coins, 1.0, 1000)
    assert found.epsilon == pytest.approx(1.0, abs=1e-6)
    exact = sp.total_leakage(coins, found.epsilon, mechanism="grr", guarantee="exact")["c"]
    assert exact == pytest.approx(1.0 + math.log(math.cosh(1.0)), abs=1e-5)


@pytest.mark.parametrize("limit", [1e-6, 0.5, 20.0, 700.0])
@pytest.mark.parametrize("sizes", [(1, 1), (1, 3), (4, 4), (2, 3, 5)])
def test_odd_tables_and_limits_give_finite_errors_or_no_row(sizes, limit):
    rng = np.random.default_rng(6)
    names = [sp.Attribute(f"a{k}", tuple(map(str, range(size)))) for k, size in enumerate(sizes)]
    codes = np.column_stack([rng.integers(size, size=60) // 2 for size in sizes])
    records = Records(sp.Domain(names), codes)
    rows = (
        correlated_response(records.pairs(), limit, 100),
        coordinated_perturbation(records, limit, 100),
    )
    assert (rows[0] is None) == (len(set(sizes)) > 1 or 1 in sizes)
    for row in filter(None, rows):
        assert 0 <= row.epsilon <= limit
        assert all(
            0 <= bias <= error < math.inf
            for bias, error in zip(row.biases, row.errors, strict=True)
        )


# In the comparison -------------------------------------------------------------------------------


def test_both_are_compared_and_no_number_of_people_makes_up_for_a_bias(people, tmp_path):
    plan = sp.design(people, 1.5, seconds=1, shape="never", scope="table")
    precision = plan_precision(plan)
    rows = {one.name: one for one in precision.strategies}
    [corr] = [row for name, row in rows.items() if "Corr-RR" in name]
    [cop_row] = [row for name, row in rows.items() if "CoP" in name]
    assert (corr.certified, corr.record, cop_row.certified) == (True, 1.5, False)
    own = coordinated_perturbation(people, 1.5, people.records).epsilon
    assert cop_row.record == pytest.approx(3 * own)
    assert cop_row.rests_on.startswith("assumed")
    for row in (corr, cop_row):
        own = precision.error(precision.strategies[0])
        bias = sum(row.biases.values()) / 3
        expected = math.inf if bias >= own else (precision.error(row) - bias) / (own - bias)
        assert precision.ratio(row) == pytest.approx(expected)
    plan.save(tmp_path / "plan.json")
    assert sp.Plan.load(tmp_path / "plan.json").alternatives == plan.alternatives


def test_people_that_make_up_for_noise_but_not_for_a_bias():
    sizes = {"a": 2, "b": 4}
    row = Strategy(
        name="x", rests_on="", certified=False, errors={"a": 0.6, "b": 0.8}, biases={"a": 0.2}
    )
    assert row.people_ratio(0.3, "mean", sizes) == pytest.approx(0.6 / 0.2)
    assert row.people_ratio(0.1, "mean", sizes) == math.inf
    assert row.people_ratio(0.15, "largest", sizes) == pytest.approx(0.2 / 0.05)
    assert row.people_ratio(0.25, "largest", sizes) == pytest.approx(0.2 / 0.15)
    assert row.for_people(0.5).errors == pytest.approx({"a": 0.4, "b": 0.4})
