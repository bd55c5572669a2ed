"""Shaped reports: limits in exact fractions, variances against brute force and known
mechanisms.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import seepage as sp
from seepage.designs.forms.form_counter import FormCounter
from seepage.designs.shaped.admissible_reports import (
    AdmissibleReports,
    AnswerCounts,
    RatioLimit,
    product_budgets,
    product_reports,
)
from seepage.designs.shaped.report_mixture import best_mixture
from seepage.designs.shaped.report_search import ReportSearch
from seepage.designs.shaped.report_thresholds import realised_ratio
from seepage.designs.shaped.shape_form import shape_form
from seepage.designs.shaped.shaped_report import table_rows
from seepage.mechanisms.exact_probabilities import exp_below, log_above
from shaping import estimates, of_adult, product_budget, realised, shape, total_variance

PEOPLE = np.array([[30, 12, 8, 5], [6, 9, 14, 25], [10, 10, 2, 1]])
"""Counts of three target values by four cells."""


def shaped(counts, limit, epsilon, **options):
    """Return the report shaped about one target, from its counts by value and cell."""
    table = AnswerCounts(
        ("asked",), (counts.shape[1],), counts.sum(axis=0), {"secret": counts}
    )
    how = {"epsilons": [epsilon], "record_limit": epsilon, "gap": 1e-5, **options}
    return shape_form(table, {"secret": limit}, **how)


def xor_people(sizes=(2, 2), seed=3, odd=None):
    """Return records of binary attributes a, b and their exclusive or c, weights as
    given.
    """
    names = "abcdef"[: len(sizes)]
    domain = sp.Domain(
        [
            sp.Attribute(name, tuple(map(str, range(size))))
            for name, size in zip(names, sizes, strict=True)
        ]
        + [sp.Attribute("xor", ("0", "1"))]
    )
    cells = np.array(list(np.ndindex(*sizes)))
    weights = (
        np.random.default_rng(seed).integers(20, 90, len(cells)) if odd is None else odd
    )
    parity = (cells.sum(axis=1) % 2)[:, None]
    return sp.Records(domain, np.hstack([cells, parity]), weights)


# Limits, exactly ----------------------------------------------------------------------


def exact_ratio(thresholds, counts):
    """Return max over reports and values of P(report | x) / P(report | x'), in
    fractions.
    """
    rows = [row for row in counts.tolist() if sum(row)]
    worst = Fraction(1)
    for column in thresholds.T.tolist():
        means = [
            Fraction(sum(n * t for n, t in zip(row, column, strict=True)), sum(row))
            for row in rows
        ]
        worst = max(worst, max(means) / min(means))
    return worst


def check_promises(made, tables, limits, epsilons):
    """Recompute each promise of a report from its thresholds."""
    thresholds = made.mechanism.thresholds
    sizes = made.table.sizes
    assert (thresholds.sum(axis=1) == 2**64).all()
    for name, limit in limits.items():
        ratio = exact_ratio(thresholds, tables[name])
        assert ratio <= exp_below(limit)
        occurring = tables[name][tables[name].sum(axis=1) > 0]
        stated = log_above(
            realised_ratio(thresholds, RatioLimit(name, occurring, limit))
        )
        assert ratio <= exp_below(math.nextafter(stated, 99))
        assert exp_below(math.nextafter(stated, 0)) < ratio or stated == 0
    cells = np.arange(made.mechanism.k).reshape(sizes)
    for axis, (epsilon, change) in enumerate(
        zip(epsilons, made.answer_leakage.changes, strict=True)
    ):
        lines = np.moveaxis(cells, axis, -1).reshape(-1, sizes[axis])
        unit = np.eye(made.mechanism.k, dtype=int)
        ratio = max(exact_ratio(thresholds, unit[line]) for line in lines)
        assert ratio <= exp_below(epsilon)
        assert math.isclose(change, math.log(ratio), abs_tol=1e-12)


@pytest.mark.parametrize("limit", [0.001, 0.1, 0.7])
@pytest.mark.parametrize("rows", [2, 3])
def test_every_ratio_is_within_its_limit_in_fractions(limit, rows):
    counts = PEOPLE[:rows]
    made = shaped(counts, limit, 2.0)
    check_promises(made, {"secret": counts}, {"secret": limit}, [2.0])
    assert (
        math.log(exact_ratio(made.mechanism.thresholds, counts)) > 0.99 * limit
    )  # it binds
    assert made.mechanism.realised_epsilon <= 2.0


@settings(max_examples=12, deadline=None)
@given(
    st.integers(2, 3),
    st.lists(st.integers(0, 60), min_size=12, max_size=12),
    st.floats(0.01, 1.5),
    st.floats(0.01, 3.0),
)
def test_limits_hold_for_any_counts(rows, numbers, limit, epsilon):
    counts = np.array(numbers).reshape(3, 4)[:rows]
    if not counts.sum():
        return
    made = shaped(counts, limit, epsilon)
    check_promises(made, {"secret": counts}, {"secret": limit}, [epsilon])


def test_limits_of_a_form_hold_in_fractions():
    people = xor_people((2, 3))
    made = shape(people, ["a", "b"], 0.8, record_limit=1.2)
    tables = AnswerCounts.of(
        FormCounter(people), ["a", "b"], people.domain.names
    ).targets
    check_promises(made, tables, dict.fromkeys(people.domain.names, 0.8), [0.8, 0.8])
    assert made.mechanism.realised_epsilon <= 1.2
    assert max(realised(made, people).values()) <= 0.8


def test_answers_are_counted_by_cell_and_value():
    people = xor_people((2, 3))
    table = AnswerCounts.of(FormCounter(people), ["b", "a"], ["xor", "a"])
    joint = people.counts()  # a, b, xor
    assert table.sizes == (3, 2)
    assert table.counts.tolist() == joint.sum(axis=2).T.ravel().tolist()
    assert (
        table.targets["xor"].tolist() == joint.transpose(2, 1, 0).reshape(2, 6).tolist()
    )
    assert table.targets["a"][1].reshape(3, 2)[:, 0].tolist() == [0, 0, 0]
    assert table.possible("a").tolist() == [[True, False] * 3, [False, True] * 3]
    assert table.possible("xor").all()


def test_the_smallest_limit_is_kept():
    people = of_adult("relationship", "sex")
    made = shape(people, "relationship", {"sex": 1e-6}, 3.0)
    assert 0 < realised(made, people)["sex"] <= 1e-6
    assert math.isfinite(made.variances[0,])


def test_reports_that_differ_too_little_are_none():
    people = of_adult("relationship", "sex")
    assert shape(people, "relationship", {"sex": 1.0}, 1e-12) is None


def test_the_leakage_about_a_revealed_xor_is_stated():
    people = xor_people(odd=[25, 25, 25, 25])
    made = shape(
        people,
        ["a", "b"],
        {"a": 0.1, "b": 0.1},
        3.0,
        record_limit=3.0,
        wanted={(0, 1): 1.0},
    )
    found = realised(made, people)
    assert max(found["a"], found["b"]) <= 0.1
    assert made.given_answers(0) <= 0.1 + 1e-9
    assert made.given_answers(1) > 2.9
    assert made.answer_leakage.xor_of == ("a", "b")
    assert made.answer_leakage.xor > 2.5


# The best, and how far from it --------------------------------------------------------


def brute_force(rows, limit, epsilon, frequencies):
    """Return the least total variance: all vertices by their active constraints, then
    SLSQP.
    """
    k = len(frequencies)
    sides = [a - math.exp(limit) * b for a, b in itertools.permutations(rows, 2)]
    sides += [
        a - math.exp(epsilon) * b for a, b in itertools.permutations(np.eye(k), 2)
    ]
    sides = np.array(sides)
    vertices = []
    for active in itertools.combinations(range(len(sides)), k - 1):
        system = np.vstack([sides[list(active)], frequencies])
        if np.linalg.matrix_rank(system) < k:
            continue
        w = np.linalg.solve(system, np.eye(k)[-1])
        if (sides @ w <= 1e-9).all() and not any(np.allclose(w, v) for v in vertices):
            vertices.append(w)
    reports = np.array(vertices)

    def total(shares):
        return np.trace(np.linalg.inv((reports * shares[:, None]).T @ reports))

    def slope(shares):
        inverse = np.linalg.inv((reports * shares[:, None]).T @ reports)
        return -((reports @ inverse) ** 2).sum(axis=1)

    start = np.linalg.lstsq(reports.T, np.ones(k), rcond=None)[0]
    whole = {"type": "eq", "fun": lambda t: t @ reports - 1, "jac": lambda t: reports.T}
    found = minimize(
        total,
        np.maximum(start, 0.02),
        jac=slope,
        bounds=[(1e-9, 1)] * len(reports),
        constraints=whole,
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-13},
    )
    return found.fun - frequencies @ frequencies, reports


@pytest.mark.parametrize(("rows", "cells"), [(2, 3), (2, 4), (3, 3), (3, 4)])
def test_the_variance_is_that_of_a_general_solver(rows, cells):
    counts = PEOPLE[:rows, :cells]
    made = shaped(counts, 0.3, 1.5)
    best, _ = brute_force(
        counts / counts.sum(axis=1, keepdims=True),
        0.3,
        1.5,
        counts.sum(axis=0) / counts.sum(),
    )
    assert total_variance(made) == pytest.approx(best, rel=2e-5)


def test_the_gap_bounds_a_poor_mixture():
    """The lower bound of a mixture that lacks the best reports is below the best."""
    counts = PEOPLE[:2]
    frequencies = counts.sum(axis=0) / counts.sum()
    limits = [RatioLimit("", counts, 0.3), RatioLimit("", np.eye(4, dtype=int), 1.5)]
    cone = AdmissibleReports(limits, frequencies)
    first = cone.initial_reports()
    poor = best_mixture(first, np.eye(4), np.full(len(first), 1 / len(first)))
    _, vertices = brute_force(limits[0].rows, 0.3, 1.5, frequencies)
    squares = ((vertices @ poor.coefficients.T) ** 2).sum(axis=1)
    excess = float((squares - vertices @ poor.prices).max())
    search = ReportSearch(cone, np.eye(4), first)
    search.run(1e-8)
    best = np.trace(
        np.linalg.inv((search.pool * search.shares[:, None]).T @ search.pool)
    )
    assert poor.lower_bound(excess) < best < poor.second_moment
    assert excess > 0.1


@pytest.mark.parametrize(
    ("source", "target", "limit", "variance"),
    [
        ("occupation", "sex", 0.5, 3.419),
        ("marital-status", "sex", 0.25, 5.589),
        ("relationship", "sex", 0.25, 8.588),
    ],
)
def test_adult(source, target, limit, variance):
    people = of_adult(source, target)
    made = shape(people, source, {target: limit}, 3.0)
    assert total_variance(made) == pytest.approx(variance, abs=6e-4)
    channel = people.pairs().channel(target, source)
    assert made.mechanism.leakage(channel).value <= limit


def test_many_more_starts_find_hardly_better_reports():
    people = of_adult("workclass", "race")
    usual, thorough = (
        total_variance(shape(people, "workclass", {"race": 0.25}, 3.0, starts=starts))
        for starts in (40, 200)
    )
    assert usual <= thorough * (1 + 1e-3)


def variance_of(mechanism, frequencies):
    """Return n times the summed variance of noise and sampling."""
    noise = mechanism.variance(1, frequencies).sum()
    return noise + 1 - frequencies @ frequencies


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("source", ["race", "marital-status", "workclass"])
def test_without_limits_it_is_no_worse_than_standard_mechanisms(source, epsilon):
    people = of_adult(source, "sex")
    counts = people.marginal(source)
    made = shape(people, source, {}, epsilon, gap=1e-6)
    standard = [
        sp.mechanism(name, len(counts), epsilon) for name in ("grr", "ss", "oue")
    ]
    best = min(variance_of(one, counts / counts.sum()) for one in standard)
    assert total_variance(made) <= best * (1 + 2e-6)
    assert made.mechanism.realised_epsilon <= epsilon


def product_variance(sizes, budget, frequencies):
    """Return n times the summed variance of the marginals from independent GRR
    reports.
    """
    table = frequencies.reshape(sizes)
    total = 0.0
    for axis, size in enumerate(sizes):
        own = table.sum(axis=tuple(i for i in range(len(sizes)) if i != axis))
        total += variance_of(sp.GRR(size, budget), own)
    return total


@pytest.mark.parametrize("sizes", [(2, 2), (2, 3), (2, 2, 2)])
def test_a_form_lies_between_its_product_and_each_answer_alone(sizes):
    people = xor_people(sizes)
    names = people.domain.names[:-1]
    budget = product_budget(people, names, 1.0)
    made = shape(people, names, 1.0, record_limit=len(sizes) * budget)
    product = product_variance(sizes, budget, made.nominal)
    alone = sum(total_variance(shape(people, name, {}, 1.0)) for name in names)
    assert alone * (1 - 1e-5) <= total_variance(made) <= product * (1 + 1e-5)


@pytest.mark.parametrize("sizes", [(2, 2), (2, 3), (2, 2, 2)])
def test_product_budgets_are_the_largest_within_the_limits(sizes):
    people = xor_people(sizes)
    names = people.domain.names[:-1]
    table = AnswerCounts.of(FormCounter(people), names, people.domain.names)
    limits = [table.ratio_limit(name, 0.8) for name in people.domain.names]
    (budget, *others) = product_budgets(limits, sizes, [0.8] * len(sizes))
    assert set(others) == {budget}
    assert budget == pytest.approx(product_budget(people, names, 0.8), abs=1e-7)
    leaks = [
        sp.exact_leakage(one.rows, _product(sizes, budget + 1e-6)).value
        for one in limits
    ]
    assert 0.8 < max(leaks) < 0.8 + 1e-5


def _product(sizes, budget):
    channel = np.ones((1, 1))
    for size in sizes:
        channel = np.kron(channel, sp.GRR(size, budget).channel())
    return channel


def test_product_reports_are_the_columns_of_grr():
    frequencies = np.full(6, 1 / 6)
    reports = product_reports((2, 3), (0.5, 1.0), frequencies)
    channel = np.kron(sp.GRR(2, 0.5).channel(), sp.GRR(3, 1.0).channel())
    assert np.allclose(reports, (channel / channel.mean(axis=0)).T)


# What others may know -----------------------------------------------------------------


def test_the_leakage_given_known_answers_agrees_with_brute_force():
    people = xor_people((2, 2, 2))
    made = shape(people, ["a", "b", "c"], 1.0)
    counts = made.table.counts.reshape(2, 2, 2)
    channel = made.mechanism.channel().reshape(2, 2, 2, -1)
    worst = {0: 0.0, 1: 0.0, 2: 0.0}
    for axis in range(3):
        for fixed in itertools.product((None, 0, 1), repeat=3):
            if fixed[axis] is not None:
                continue
            means = []
            for value in (0, 1):
                key = tuple(
                    [value] if i == axis else [0, 1] if x is None else [x]
                    for i, x in enumerate(fixed)
                )
                n = counts[np.ix_(*key)]
                c = channel[np.ix_(*key)]
                means.append((n[..., None] * c).sum(axis=(0, 1, 2)) / n.sum())
            known = 2 - fixed.count(None) + 1
            worst[known] = max(worst[known], np.abs(np.log(means[0] / means[1])).max())
    for known, value in worst.items():
        assert made.given_answers(known) == pytest.approx(value, rel=1e-10)
    xors = {}
    for chosen in [(0, 1), (0, 2), (1, 2), (0, 1, 2)]:
        odd = np.indices((2, 2, 2))[list(chosen)].sum(axis=0) % 2 == 1
        sides = [
            (counts[part][:, None] * channel[part]).sum(axis=0) / counts[part].sum()
            for part in (odd, ~odd)
        ]
        xors[chosen] = np.abs(np.log(sides[0] / sides[1])).max()
    best = max(xors, key=xors.get)
    leakage = made.answer_leakage
    assert leakage.xor_of == tuple("abc"[i] for i in best)
    assert leakage.xor == pytest.approx(xors[best], rel=1e-10)
    assert (leakage.one, leakage.two) == (made.given_answers(1), made.given_answers(2))


# Estimates ----------------------------------------------------------------------------


def test_estimates_are_unbiased_for_every_distribution():
    made = shape(xor_people((2, 3)), ["a", "b"], 1.0)
    channel = made.mechanism.channel()
    for axes in made.wanted:
        rows = table_rows(made.table.sizes, axes)
        assert np.abs(channel @ made.coefficients(axes) - rows.T).max() < 1e-9


def test_the_nominal_variance_is_the_simulated_one():
    made = shape(of_adult("relationship", "sex"), "relationship", {"sex": 0.25}, 3.0)
    draws = np.random.default_rng(7)
    n = 400
    runs = 500
    squares = []
    for run in range(runs):
        cells = draws.choice(6, size=n, p=made.nominal)
        (frequencies,) = estimates(made, cells, run)
        squares.append(n * ((frequencies - made.nominal) ** 2).sum())
    spread = np.std(squares) / math.sqrt(runs)
    assert abs(np.mean(squares) - total_variance(made)) < 4 * spread
    assert spread < 0.1 * total_variance(made)


def test_weights_of_wanted_tables_change_variances():
    people = xor_people((2, 2))
    plain = shape(people, ["a", "b"], 1.0)
    heavy = shape(people, ["a", "b"], 1.0, wanted={(0,): 10.0, (1,): 1.0})
    assert heavy.variances[0,] < plain.variances[0,]
    assert heavy.variances[1,] > plain.variances[1,]
    joint = shape(people, ["a", "b"], 1.0, wanted={(0, 1): 1.0})
    channel = plain.mechanism.channel()
    rows = plain.coefficients((0, 1))
    chances = plain.nominal @ channel
    cells = (chances @ rows**2).sum() - ((chances @ rows) ** 2).sum()
    assert joint.variances[0, 1] < cells


# Time ---------------------------------------------------------------------------------


def test_a_search_that_is_stopped_keeps_the_limits():
    people = of_adult("workclass", "race")
    early, late = (
        shape(people, "workclass", {"race": 0.25}, 3.0, stop=stop)
        for stop in (lambda: True, lambda: False)
    )
    assert realised(early, people)["race"] <= 0.25
    assert early.mechanism.realised_epsilon <= 3.0
    assert total_variance(early) > 1.01 * total_variance(late)


def test_an_interrupt_ends_the_search_with_the_best_so_far(monkeypatch):
    priced = []
    usual = AdmissibleReports.best_report

    def interrupted(self, gain):
        priced.append(gain)
        if len(priced) == 500:
            raise KeyboardInterrupt
        return usual(self, gain)

    people = of_adult("workclass", "race")
    whole = shape(people, "workclass", {"race": 0.25}, 3.0)
    monkeypatch.setattr(AdmissibleReports, "best_report", interrupted)
    made = shape(people, "workclass", {"race": 0.25}, 3.0)
    assert len(priced) == 500
    assert realised(made, people)["race"] <= 0.25
    assert total_variance(whole) <= total_variance(made)


# Cells that hardly occur --------------------------------------------------------------


def test_shares_near_0_do_not_end_the_search():
    """The Newton system becomes singular there: the mixture reached is taken."""
    domain = sp.Domain(
        [
            sp.Attribute("a", ("0", "1")),
            sp.Attribute("b", ("0", "1")),
            sp.Attribute("c", ("0",)),
        ]
    )
    people = sp.Records(domain, [[0, 0, 0], [1, 0, 0]], [5_000_000, 2_000_000])
    made = shape(people, ["a", "b"], {"a": 20.0, "c": 0.3}, 20.0)
    assert realised(made, people)["a"] <= 20.0


@pytest.mark.parametrize(("limit", "record_limit"), [(2.0, 1.5), (1.0, 1.0)])
def test_a_combination_that_never_occurs_beside_a_record_limit(limit, record_limit):
    """Hardly any report determines its cell: shares solved for exactly would be
    negative.
    """
    domain = sp.Domain([sp.Attribute(name, ("a", "b", "c")) for name in ("x", "y")])
    counts = {
        (0, 0): 463,
        (0, 1): 1904,
        (0, 2): 22,
        (1, 0): 1593,
        (1, 1): 1922,
        (1, 2): 40,
    }
    counts |= {(2, 0): 22, (2, 1): 34}
    records = sp.Records(domain, list(counts), list(counts.values()))
    made = shape(records, ["x", "y"], limit, 2.0, record_limit=record_limit)
    assert max(realised(made, records).values()) <= limit
    assert made.mechanism.realised_epsilon <= record_limit
    codes = np.array([0, 1, 2] * 2000) * 3 + np.array([1, 0, 1] * 2000)
    found = np.array([np.concatenate(estimates(made, codes, run)) for run in range(20)])
    spread = found.std(axis=0) / math.sqrt(20)
    truth = np.array([1 / 3, 1 / 3, 1 / 3, 1 / 3, 2 / 3, 0])
    assert (np.abs(found.mean(axis=0) - truth) < 5 * spread).all()


@pytest.mark.parametrize("moment", [1e9, math.inf, math.nan])
def test_a_mixture_that_rounding_made_worse_is_not_used(moment, monkeypatch):
    best = total_variance(shaped(PEOPLE, 0.5, 2.0))
    solved = []

    def failing(*arguments):
        solved.append(best_mixture(*arguments))
        return (
            solved[-1] if len(solved) < 3 else solved[-1]._replace(second_moment=moment)
        )

    monkeypatch.setattr("seepage.designs.shaped.report_search.best_mixture", failing)
    made = shaped(PEOPLE, 0.5, 2.0)
    assert len(solved) == 3
    assert best <= total_variance(made) < math.inf
