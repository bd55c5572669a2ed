"""Totals for the population: brute force over reports, coverage, order."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import seepage as sp
from seepage._core.errors import InputError
from seepage.confidence import total_limits as population_module
from seepage.confidence.level_of_maxima import level_of_maxima
from seepage.confidence.mean_limits import kl_inf_interval, mixture_radius
from seepage.confidence.total_limits import (
    MAX_ATOMS,
    counts_by_difference,
    difference_weights,
    form_total_limits,
)


def records(codes, sizes, weights=None):
    names = [tuple(map(str, range(size))) for size in sizes]
    domain = sp.Domain(
        [sp.Attribute(f"a{k}", values) for k, values in enumerate(names)]
    )
    return sp.Records(domain, codes, weights)


def drawn(rng, people, sizes):
    """Correlated attributes: each follows the first one in two thirds of the
    records.
    """
    first = rng.integers(0, sizes[0], people)
    columns = [
        np.where(rng.random(people) < 0.66, first % size, rng.integers(0, size, people))
        for size in sizes
    ]
    return records(np.stack([first, *columns[1:]], axis=1), sizes)


def form_counts(data, asked):
    """Return counts of answers by every attribute's values, with people and starts."""
    sizes = np.array(data.domain.sizes)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    counts = np.zeros([*sizes[asked], sizes.sum()])
    for row, weight in zip(data.codes, data.weights, strict=True):
        counts[tuple(row[asked])][starts + row] += weight
    return (
        counts.reshape(-1, sizes.sum()),
        counts.sum(axis=tuple(range(len(asked)))),
        starts,
    )


def brute_force(data, asked, epsilons, c):
    """Return ln max upper/lower over reports and values, each likelihood from all
    answers.
    """
    sizes = data.domain.sizes
    reports = list(itertools.product(*(range(sizes[j]) for j in asked)))
    found = np.zeros(len(sizes))
    for k, size in enumerate(sizes):
        for report in reports:
            upper = []
            lower = []
            for x in range(size):
                rows = data.codes[:, k] == x
                n = int(data.weights[rows].sum())
                possible = [
                    z for z in reports if k not in asked or z[asked.index(k)] == x
                ]
                weigh = [
                    math.exp(
                        -sum(
                            e
                            for e, a, b in zip(epsilons, z, report, strict=True)
                            if a != b
                        )
                    )
                    for z in possible
                ]
                shares = [
                    data.weights[rows & (data.codes[:, asked] == z).all(axis=1)].sum()
                    / max(n, 1)
                    for z in possible
                ]
                limits = kl_inf_interval(
                    weigh,
                    shares,
                    mixture_radius(n, c),
                    min(weigh),
                    max(weigh),
                    rounds=12,
                )
                upper.append(float(limits.upper))
                lower.append(float(limits.lower))
            for x, y in itertools.permutations(range(size), 2):
                found[k] = max(found[k], math.log(upper[x] / lower[y]))
    return np.minimum(found, sum(epsilons))


@pytest.mark.parametrize("epsilons", [(0.7, 0.7), (0.4, 1.1)])
@pytest.mark.parametrize("asked", [[0, 1], [1, 2], [2, 3]])
def test_limits_of_a_form_match_brute_force_over_reports(epsilons, asked):
    data = drawn(np.random.default_rng(2), 400, (2, 3, 2, 2))
    counts, people, starts = form_counts(data, asked)
    truth = brute_force(data, asked, list(epsilons), 8.0)
    for rounds, excess in ((2, 1e-3), (3, 1e-5), (8, 1e-9)):
        form = asked, np.array(epsilons)
        found = form_total_limits(
            counts, people, starts, *form, c=8.0, iterations=rounds, joint=False
        )
        assert (found >= truth - 1e-12).all()
        assert found == pytest.approx(truth, abs=excess)


def test_differences_are_counted():
    rng = np.random.default_rng(0)
    sizes = (2, 3, 2)
    counts = rng.integers(0, 9, (12, 4)).astype(float)
    answers = list(itertools.product(*map(range, sizes)))
    few, each = (counts_by_difference(counts, sizes, every) for every in (False, True))
    for y, report in enumerate(answers):
        for bits in itertools.product((0, 1), repeat=3):
            rows = [
                z
                for z, a in enumerate(answers)
                if tuple(int(p != q) for p, q in zip(a, report, strict=True)) == bits
            ]
            assert (
                each[int("".join(map(str, bits)), 2), y] == counts[rows].sum(axis=0)
            ).all()
        for number in range(4):
            chosen = [b for b in range(8) if b.bit_count() == number]
            assert (few[number, y] == each[chosen, y].sum(axis=0)).all()
    weights = difference_weights(np.array([0.1, 0.2, 0.4]), by_set=True)
    assert weights[0b101] == pytest.approx(math.exp(-0.5))


@given(st.integers(0, 10**6), st.floats(0.05, 2.0), st.floats(1.01, 3.0))
@settings(max_examples=30, deadline=None)
def test_a_form_s_limits_grow_with_its_budgets(seed, epsilon, factor):
    """So whoever bisects on equal budgets finds the largest that keeps a limit."""
    data = drawn(np.random.default_rng(seed), 200, (2, 2, 3))
    counts, people, starts = form_counts(data, [0, 2])
    low, high = (
        form_total_limits(counts, people, starts, [0, 2], np.full(2, e), c=9.0)
        for e in (epsilon, epsilon * factor)
    )
    assert (low <= high + 1e-7).all()


@pytest.mark.parametrize("mechanism", ["grr", None, "oue", "ss", "exp"])
@pytest.mark.parametrize("guarantee", ["exact", "merged"])
def test_limits_lie_between_the_table_and_the_budgets(mechanism, guarantee):
    data = drawn(np.random.default_rng(1), 3000, (2, 3, 4))
    options = {"mechanism": mechanism, "guarantee": guarantee}
    table = sp.total_leakage(data, 0.8, **options)
    found = sp.total_leakage(data, 0.8, scope="population", **options)
    sure = sp.total_leakage(data, 0.8, scope="population", confidence=0.999, **options)
    assert (table.values <= found.values + 1e-12).all()
    assert (found.values <= sure.values + 1e-12).all()
    assert (sure.values <= found.worst + 1e-12).all()
    assert (found.scope, found.kind, found.confidence) == (
        "population",
        "statistical",
        0.95,
    )
    assert "one record per person" in found.notes[0]
    assert "for the population with confidence 0.95" in repr(found)


@pytest.mark.parametrize("guarantee", ["exact", "merged"])
def test_limits_tend_to_the_table(guarantee):
    data = drawn(np.random.default_rng(1), 300, (2, 2, 3))
    gaps = []
    for times in (1, 100, 10**6):
        more = records(data.codes, (2, 2, 3), data.weights * times)
        options = {"mechanism": "grr", "guarantee": guarantee}
        limit = sp.total_leakage(more, 1.0, scope="population", **options)
        gaps.append(
            (limit.values - sp.total_leakage(more, 1.0, **options).values).max()
        )
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 2e-3


def test_a_form_of_all_attributes_has_the_limits_of_exact_totals():
    data = drawn(np.random.default_rng(3), 2000, (2, 2, 2))
    counts, people, starts = form_counts(data, [0, 1, 2])
    found = sp.total_leakage(
        data, 0.9, mechanism="grr", scope="population", guarantee="exact"
    )
    level = math.log(2 * 3 / 0.05)  # three totals that are read singly
    form = form_total_limits(
        counts, people, starts, [0, 1, 2], np.full(3, 0.9), c=level
    )
    assert found.values == pytest.approx(form, abs=1e-5)
    two_limits = form_total_limits(
        counts, people, starts, [0, 1, 2], np.full(3, 0.9), c=level, joint=False
    )
    assert (form < two_limits).all()


def test_the_totals_of_some_sources_count_those_of_all_attributes():
    """Each target's total may be of another run; all of them are read singly."""
    data = drawn(np.random.default_rng(3), 2000, (2, 2, 3, 2))
    counts, people, starts = form_counts(data, [0, 1])
    found = sp.total_leakage(
        data,
        0.9,
        mechanism="grr",
        scope="population",
        guarantee="exact",
        sources=["a0", "a1"],
    )
    level = level_of_maxima(4, 0.95)
    form = form_total_limits(counts, people, starts, [0, 1], np.full(2, 0.9), c=level)
    assert found.values == pytest.approx(form, abs=1e-5)


def test_many_reports_have_limits_by_their_range(monkeypatch):
    """Where answers are too many, kl on the range of a report is used: wider, and still
    valid.
    """
    data = drawn(np.random.default_rng(4), 5000, (2, 3, 3))
    narrow = sp.total_leakage(
        data, 0.8, mechanism="oue", scope="population", guarantee="exact"
    )
    assert MAX_ATOMS > 1
    monkeypatch.setattr("seepage.confidence.total_limits.MAX_ATOMS", 1)
    wide = sp.total_leakage(
        data, 0.8, mechanism="oue", scope="population", guarantee="exact"
    )
    table = sp.total_leakage(data, 0.8, mechanism="oue", guarantee="exact")
    assert (table.values <= wide.values).all()
    assert wide.values == pytest.approx(narrow.values, abs=0.1)


def test_budgets_by_the_range_of_reports_count_the_steps_of_the_search(monkeypatch):
    data = drawn(np.random.default_rng(4), 5000, (2, 3, 3))
    options = {"mechanism": "oue", "guarantee": "exact", "scope": "population"}
    one_family = sp.calibrate(data, 1.5, **options)
    monkeypatch.setattr(population_module, "MAX_ATOMS", 1)
    counted = sp.calibrate(data, 1.5, **options)
    assert counted.epsilons.max() < one_family.epsilons.max()
    assert counted.epsilons.max() > 0.8 * one_family.epsilons.max()
    assert counted.epsilons.max() / 1.5 * 2**14 % 1 == 0.0, "points of the bisection"
    options["mechanism"] = "grr"  # KL_inf by the number of answers that differ
    assert sp.calibrate(data, 1.5, **options).epsilons.max() / 1.5 * 2**14 % 1 > 0


def test_a_value_that_never_occurs_has_trivial_limits():
    data = records([[0, 0], [1, 1], [0, 1], [1, 0]], (3, 2), [1000] * 4)
    for guarantee in ("exact", "merged"):
        found = sp.total_leakage(data, 1.0, scope="population", guarantee=guarantee)
        assert found["a0"] > 1.5


def test_auto_for_the_population():
    data = drawn(np.random.default_rng(1), 300, (2, 2, 3))
    assert (
        sp.total_leakage(data, 1.0, mechanism="grr", scope="population").guarantee
        == "exact"
    )
    assert sp.total_leakage(data.pairs(), 1.0, scope="population").guarantee == "worst"


def test_a_sample_suffices_for_the_population():
    data = drawn(np.random.default_rng(1), 300, (2, 2, 3))
    part = sp.Records(data.domain, data.codes, data.weights, population=10_000)
    found = sp.total_leakage(part, 1.0, mechanism="grr", scope="population")
    assert found.kind == "statistical"
    assert sp.total_leakage(part, 1.0, mechanism="grr").kind == "assumed"


@pytest.mark.parametrize("guarantee", ["independent", "sampled", "witness"])
def test_other_guarantees_raise_for_the_population(guarantee):
    data = drawn(np.random.default_rng(1), 300, (2, 2, 3))
    with pytest.raises(InputError, match="scope 'population' needs"):
        sp.total_leakage(
            data, 1.0, mechanism="grr", scope="population", guarantee=guarantee
        )
    with pytest.raises(InputError, match="scope must be one of table, population"):
        sp.total_leakage(data, 1.0, scope="peopel")


def test_too_many_reports_raise():
    data = records([[0] * 30, [1] * 30], [2] * 30)
    with pytest.raises(InputError, match="exact totals for the population need"):
        sp.total_leakage(
            data, 1.0, mechanism="grr", guarantee="exact", scope="population"
        )


@pytest.mark.parametrize("draws", [30, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("guarantee", ["exact", "merged"])
def test_totals_hold_for_the_population(guarantee, draws):
    """All hold at once in at least 95 %; in so many draws more misses are no chance."""
    rng = np.random.default_rng(9)
    cells = np.array(list(itertools.product(range(2), range(3), range(2))))
    shares = rng.dirichlet([0.4] * len(cells))
    shares[rng.random(len(cells)) < 0.2] = 0.0
    shares /= shares.sum()
    people = records(cells, (2, 3, 2), (shares * 10**9).astype(np.int64))
    options = {"mechanism": "grr", "guarantee": guarantee}
    true = sp.total_leakage(people, 1.0, **options).values
    missed = 0
    for _ in range(draws):
        sample = records(cells, (2, 3, 2), rng.multinomial(800, shares))
        found = sp.total_leakage(sample, 1.0, scope="population", **options)
        missed += not (true <= found.values + 1e-6).all()
    assert missed <= binom.ppf(1 - 1e-4, draws, 0.05)


def test_budgets_and_plans_for_the_population():
    """The largest equal budgets that pass; the plan says for whom, and with which
    confidence.
    """
    data = drawn(np.random.default_rng(1), 5000, (2, 2, 3))
    table = sp.calibrate(data, 2.0, mechanism="grr", scope="table")
    plan = sp.calibrate(data, 2.0, mechanism="grr", scope="population")
    assert plan.epsilons.max() < table.epsilons.max()
    assert plan.totals.max() == pytest.approx(2.0, abs=1e-6)
    assert plan.totals.max() <= 2.0
    assert (plan.scope, plan.confidence, plan.kind) == (
        "population",
        0.95,
        "statistical",
    )
    assert "for the population at 0.95" in repr(plan)
    assert (table.scope, table.kind) == ("table", "certified")
    part = sp.Records(data.domain, data.codes, data.weights, population=10_000)
    assert sp.calibrate(
        part, 2.0, mechanism="grr", scope="population"
    ).epsilons == pytest.approx(plan.epsilons)
    with pytest.raises(InputError, match="need all records"):
        sp.calibrate(part, 2.0, mechanism="grr", scope="table")


def test_data_dependent_budgets_hold_for_the_population():
    """Of 30 samples at most 7 may mislead (more are no chance); the table's own budgets
    do.
    """
    rng = np.random.default_rng(3)
    cells = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    shares = np.array([0.4, 0.1, 0.15, 0.35])
    people = records(cells, (2, 2), (shares * 10**9).astype(np.int64))
    missed = dict.fromkeys(("table", "population"), 0)
    for _ in range(30):
        sample = records(cells, (2, 2), rng.multinomial(1000, shares))
        for scope in missed:
            plan = sp.calibrate(
                sample,
                1.5,
                mechanism="grr",
                guarantee="exact",
                scope=scope,
                audit=False,
            )
            true = sp.total_leakage(
                people, plan.epsilons, mechanism="grr", guarantee="exact"
            )
            missed[scope] += bool((true.values > 1.5 + 1e-6).any())
    assert missed["population"] <= 7 < missed["table"]


def test_auto_takes_merged_or_worst_where_exact_does_not_fit(monkeypatch):
    rng = np.random.default_rng(8)
    data = drawn(rng, 400, [2, 3, 2])
    auto = {"mechanism": "grr", "scope": "population"}
    assert sp.total_leakage(data, 1.0, **auto).guarantee == "exact"
    assert sp.total_leakage(data.pairs(), 1.0, **auto).guarantee == "worst"
    monkeypatch.setattr(population_module, "MAX_TUPLE_CELLS", 4)
    found = sp.total_leakage(data, 1.0, **auto)
    assert (found.guarantee, found.kind, found.scope) == (
        "merged",
        "statistical",
        "population",
    )
    assert (found.values <= found.worst).all()
    monkeypatch.setattr("seepage.totals.total.MAX_RADIUS", 0.0)
    assert sp.total_leakage(data, 1.0, **auto).guarantee == "worst"
