"""Shaped reports: limits in exact fractions, variances against brute force and known mechanisms."""

import itertools
import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import seepage as sp
from seepage.designs.admissible_reports import AdmissibleReports, RatioLimit
from seepage.designs.report_programs import best_mixture
from seepage.designs.report_search import search_reports
from seepage.designs.shape_form import (
    form_table,
    product_budgets,
    product_reports,
    shape_form,
)
from seepage.designs.shaped_mechanism import AnswerCounts, table_rows
from seepage.mechanisms.exact_draws import exp_below

ADULT = sp.load_pairs("adult")
shape = partial(sp.shape, scope="table")
PEOPLE = np.array([[30, 12, 8, 5], [6, 9, 14, 25], [10, 10, 2, 1]])
"""Counts of three target values by four cells."""


def shaped(counts, limit, epsilon, **options):
    """Return the mechanism shaped about one target, from its counts by value and cell."""
    table = AnswerCounts(("asked",), (counts.shape[1],), counts.sum(axis=0), {"secret": counts})
    return shape_form(table, {"secret": limit}, epsilons=[epsilon], gap=1e-5, **options)


def xor_people(sizes=(2, 2), seed=3, odd=None):
    """Return records of binary attributes a, b and their exclusive or c, weights as given."""
    names = "abcdef"[: len(sizes)]
    domain = sp.Domain(
        [
            sp.Attribute(name, tuple(map(str, range(size))))
            for name, size in zip(names, sizes, strict=True)
        ]
        + [sp.Attribute("xor", ("0", "1"))]
    )
    cells = np.array(list(np.ndindex(*sizes)))
    weights = np.random.default_rng(seed).integers(20, 90, len(cells)) if odd is None else odd
    parity = (cells.sum(axis=1) % 2)[:, None]
    return sp.Records(domain, np.hstack([cells, parity]), weights)


# Limits, exactly ---------------------------------------------------------------------------------


def exact_ratio(thresholds, counts):
    """Return max over reports and values of P(report | x) / P(report | x'), in fractions."""
    rows = [row for row in counts.tolist() if sum(row)]
    worst = Fraction(1)
    for column in thresholds.T.tolist():
        means = [
            Fraction(sum(n * t for n, t in zip(row, column, strict=True)), sum(row)) for row in rows
        ]
        worst = max(worst, max(means) / min(means))
    return worst


def check_promises(made, tables, limits, epsilons):
    """Recompute each promise of a mechanism from its thresholds."""
    assert (made.thresholds.sum(axis=1) == 2**64).all()
    for name, limit in limits.items():
        ratio = exact_ratio(made.thresholds, tables[name])
        assert ratio <= exp_below(limit)
        stated = made.realised()[name]
        assert exp_below(math.nextafter(stated, 0)) < ratio <= exp_below(math.nextafter(stated, 99))
    cells = np.arange(made.k).reshape(made.sizes)
    for axis, (source, epsilon) in enumerate(zip(made.sources, epsilons, strict=True)):
        lines = np.moveaxis(cells, axis, -1).reshape(-1, made.sizes[axis])
        unit = np.eye(made.k, dtype=int)
        ratio = max(exact_ratio(made.thresholds, unit[line]) for line in lines)
        assert ratio <= exp_below(epsilon)
        assert math.isclose(made.answer_changes[source], math.log(ratio), abs_tol=1e-12)


@pytest.mark.parametrize("limit", [0.001, 0.1, 0.7])
@pytest.mark.parametrize("rows", [2, 3])
def test_every_ratio_is_within_its_limit_in_fractions(limit, rows):
    counts = PEOPLE[:rows]
    made = shaped(counts, limit, 2.0)
    check_promises(made, {"secret": counts}, {"secret": limit}, [2.0])
    assert made.realised()["secret"] > 0.99 * limit  # the limit binds
    assert made.realised("record")["asked"] <= 2.0


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
    assert made.gap < 0.01


@pytest.mark.parametrize("rule", ["answer", "record"])
def test_limits_of_a_form_hold_in_fractions(rule):
    people = xor_people((2, 3))
    made = shape(people, ["a", "b"], limit=0.8, rule=rule)
    tables = form_table(people, ["a", "b"], people.domain.names).targets
    record = made.promises["record", "a, b"]
    own = 0.8 if rule == "answer" else record[1]
    check_promises(made, tables, dict.fromkeys(people.domain.names, 0.8), [own, own])
    assert record[1] <= record[0]
    assert ("answer", "a") in made.promises or rule == "record"


def test_the_record_limit_is_that_of_the_product():
    people = xor_people((2, 2))
    table = form_table(people, ["a", "b"], people.domain.names)
    limits = [RatioLimit(name, table.targets[name], 0.8) for name in people.domain.names]
    budgets = product_budgets(limits, (2, 2), [0.8, 0.8])
    made = shape(people, ["a", "b"], limit=0.8)
    assert made.promises["record", "a, b"][0] == sum(budgets)
    grr = sp.GRR(2, budgets[0] + 1e-6).channel()
    leaks = [sp.exact_leakage(one.rows, np.kron(grr, grr)).value for one in limits]
    assert 0.8 < max(leaks) < 0.8 + 1e-5


def test_known_attributes_are_limits_too():
    people = xor_people((2, 2, 2))
    free = shape(people, ["a", "b"], limit=0.8, rule="record", record_limit=1.6)
    bound = shape(
        people, ["a", "b"], limit=0.8, rule="record", record_limit=1.6, known=["c", ("a", "c")]
    )
    assert free.given_answers(1) > 0.9
    assert max(bound.realised("known").values()) <= 0.8
    assert "b given a, c" in bound.realised("known")
    assert bound.nominal_variance > free.nominal_variance


# Limit 0 -----------------------------------------------------------------------------------------


def test_a_limit_of_0_makes_reports_independent():
    people = xor_people(odd=[301, 199, 398, 602])  # P(a | xor) does not depend on xor
    made = shape(people, ["a", "b"], limit={"xor": 0.0}, wanted="a", epsilon=1.0, record_limit=2.0)
    counts = form_table(people, ["a", "b"], ["xor"]).targets["xor"]
    assert exact_ratio(made.thresholds, counts) == 1
    assert made.realised()["xor"] == 0
    assert made.epsilon > 0.9
    assert list(made.variances) == list(made.marginals(made.perturb([0, 1, 2, 3], rng=1))) == ["a"]


def test_a_limit_of_0_without_informative_reports_raises():
    with pytest.raises(sp.InputError, match=r"estimates the wanted.*smallest valid limit is 1e-06"):
        shape(ADULT, "relationship", limit={"sex": 0.0}, epsilon=3.0)
    with pytest.raises(sp.InputError, match="record limit of 0 is informative"):
        shape(ADULT, "relationship", limit={"sex": 1.0}, epsilon=0.0)


def test_the_suggested_smallest_limit_is_valid():
    made = shape(ADULT, "relationship", limit={"sex": 1e-6}, epsilon=3.0)
    assert 0 < made.realised()["sex"] <= 1e-6
    assert made.informative


def test_the_leakage_about_a_revealed_xor_is_stated():
    people = xor_people(odd=[25, 25, 25, 25])
    made = shape(
        people, ["a", "b"], limit={"a": 0.1, "b": 0.1}, wanted=[("a", "b")], epsilon=3.0,
        record_limit=3.0, rule="record",
    )  # fmt: skip
    assert max(made.realised().values()) <= 0.1
    assert made.given_answers(0) <= 0.1 + 1e-9
    assert made.given_answers(1) > 2.9
    assert made.worst_xor.answers == (("a", 1), ("b", 1))
    assert made.worst_xor.leakage > 2.5


# The best, and how far from it -------------------------------------------------------------------


def brute_force(rows, limit, epsilon, frequencies):
    """Return the least total variance: all vertices by their active constraints, then SLSQP."""
    k = len(frequencies)
    sides = [a - math.exp(limit) * b for a, b in itertools.permutations(rows, 2)]
    sides += [a - math.exp(epsilon) * b for a, b in itertools.permutations(np.eye(k), 2)]
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
        total, np.maximum(start, 0.02), jac=slope, bounds=[(1e-9, 1)] * len(reports),
        constraints=whole, method="SLSQP", options={"maxiter": 1000, "ftol": 1e-13},
    )  # fmt: skip
    return found.fun - frequencies @ frequencies, len(reports)


@pytest.mark.parametrize(("rows", "cells"), [(2, 3), (2, 4), (3, 3), (3, 4)])
def test_the_variance_is_that_of_a_general_solver(rows, cells):
    counts = PEOPLE[:rows, :cells]
    made = shaped(counts, 0.3, 1.5)
    best, vertices = brute_force(
        counts / counts.sum(axis=1, keepdims=True), 0.3, 1.5, counts.sum(axis=0) / counts.sum()
    )
    assert made.nominal_variance == pytest.approx(best, rel=2e-5)
    assert made.lower_bound <= best * (1 + 1e-6)
    assert made.proven == (rows == 2)
    if rows == 2:
        cone = AdmissibleReports(
            [RatioLimit("", counts, 0.3), RatioLimit("", np.eye(cells, dtype=int), 1.5)],
            counts.sum(axis=0) / counts.sum(),
        )
        assert len(cone.extreme_rays()) == vertices


def test_the_gap_bounds_a_poor_mixture():
    """The lower bound of a mixture that lacks the best reports is below the best."""
    counts = PEOPLE[:2]
    frequencies = counts.sum(axis=0) / counts.sum()
    limits = [RatioLimit("", counts, 0.3), RatioLimit("", np.eye(4, dtype=int), 1.5)]
    cone = AdmissibleReports(limits, frequencies)
    first = cone.initial_reports()
    poor = best_mixture(first, np.eye(4), np.ones(4), np.full(len(first), 1 / len(first)))
    excess = float(poor.reduced_gains(cone.extreme_rays()).max())
    best = search_reports(cone, np.eye(4), gap=1e-8).second_moment
    assert poor.lower_bound(np.ones(4), excess) < best < poor.second_moment
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
    made = shape(ADULT, source, limit={target: limit}, epsilon=3.0)
    assert made.nominal_variance == pytest.approx(variance, abs=6e-4)
    assert made.proven
    assert -1e-9 < made.gap <= 1e-3
    assert made.leakage(ADULT.channel(target, source)).value <= limit


def test_many_more_starts_find_hardly_better_reports():
    """Where reports are priced by linear programs, the gap is that of the reports found."""
    table = form_table(ADULT, ["workclass"], ["race"])
    usual, thorough = (
        shape_form(table, {"race": 0.25}, epsilons=[3.0], starts=starts) for starts in (40, 200)
    )
    assert not usual.proven
    assert usual.lower_bound <= thorough.nominal_variance * (1 + 1e-4)
    assert usual.nominal_variance <= thorough.nominal_variance * (1 + 1e-3)


def total_variance(mechanism, frequencies):
    """Return n times the summed variance of noise and sampling."""
    noise = mechanism.variance(1, frequencies).sum()
    return noise + 1 - frequencies @ frequencies


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("source", ["race", "marital-status", "workclass"])
def test_without_limits_it_is_no_worse_than_standard_mechanisms(source, epsilon):
    counts = ADULT.marginal(source)
    made = shape(ADULT, source, limit={}, epsilon=epsilon)
    standard = [sp.mechanism(name, len(counts), epsilon) for name in ("grr", "ss", "oue")]
    best = min(total_variance(one, counts / counts.sum()) for one in standard)
    assert made.nominal_variance <= best * (1 + 2e-6)
    assert made.realised("record")[source] <= epsilon


def product_variance(sizes, budgets, frequencies):
    """Return n times the summed variance of the marginals from independent GRR reports."""
    table = frequencies.reshape(sizes)
    total = 0.0
    for axis, (size, budget) in enumerate(zip(sizes, budgets, strict=True)):
        own = table.sum(axis=tuple(i for i in range(len(sizes)) if i != axis))
        total += total_variance(sp.GRR(size, budget), own)
    return total


@pytest.mark.parametrize("sizes", [(2, 2), (2, 3), (2, 2, 2)])
@pytest.mark.parametrize("rule", ["answer", "record"])
def test_a_form_lies_between_its_product_and_each_answer_alone(sizes, rule):
    people = xor_people(sizes)
    names = people.domain.names[:-1]
    made = shape(people, names, limit=1.0, rule=rule)
    table = form_table(people, names, people.domain.names)
    limits = [RatioLimit(name, table.targets[name], 1.0) for name in people.domain.names]
    budgets = product_budgets(limits, sizes, [1.0] * len(sizes))
    product = product_variance(sizes, budgets, table.counts / table.counts.sum())
    alone = sum(shape(people, name, limit={}, epsilon=1.0).nominal_variance for name in names)
    assert alone * (1 - 1e-5) <= made.nominal_variance <= product * (1 + 1e-5)


def test_product_reports_are_the_columns_of_grr():
    frequencies = np.full(6, 1 / 6)
    reports = product_reports((2, 3), (0.5, 1.0), frequencies)
    channel = np.kron(sp.GRR(2, 0.5).channel(), sp.GRR(3, 1.0).channel())
    assert np.allclose(reports, (channel / channel.mean(axis=0)).T)


# What others may know ----------------------------------------------------------------------------


def test_the_leakage_given_known_answers_agrees_with_brute_force():
    people = xor_people((2, 2, 2))
    made = shape(people, ["a", "b", "c"], limit=1.0)
    counts, channel = made.counts.reshape(2, 2, 2), made.channel().reshape(2, 2, 2, -1)
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
                n, c = counts[np.ix_(*key)], channel[np.ix_(*key)]
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
    assert made.worst_xor.answers == tuple(("abc"[i], 1) for i in best)
    assert made.worst_xor.leakage == pytest.approx(xors[best], rel=1e-10)


# Estimates ---------------------------------------------------------------------------------------


def test_estimates_are_unbiased_for_every_distribution():
    made = shape(xor_people((2, 3)), ["a", "b"], limit=1.0)
    channel = made.channel()
    for axes, coefficients in made._estimates.items():
        assert np.abs(channel @ coefficients - table_rows(made.sizes, axes).T).max() < 1e-9


def test_simulated_errors_are_the_stated_ones():
    made = shape(xor_people((2, 2)), ["a", "b"], limit=1.0)
    other = np.array([0.1, 0.2, 0.3, 0.4])  # not the nominal distribution
    draws, n, runs = np.random.default_rng(5), 500, 400
    found = []
    for run in range(runs):
        cells = draws.choice(4, size=n, p=other)
        answers = {"a": cells // 2, "b": cells % 2}
        assert (made.cell_codes(answers) == cells).all()
        estimates = made.marginals(made.perturb(cells, rng=run))
        truth = np.bincount(cells // 2, minlength=2) / n, np.bincount(cells % 2, minlength=2) / n
        for name, true in zip(("a", "b"), truth, strict=True):
            one = estimates[name]
            found.append((one.frequencies[1] - true[1]) / one.standard_errors[1])
    errors = np.array(found).reshape(runs, 2)
    assert np.abs(errors.mean(axis=0)).max() < 4 / math.sqrt(runs)
    assert np.abs(errors.var(axis=0) - 1).max() < 4 * math.sqrt(2 / runs)


def test_the_nominal_variance_is_the_simulated_one():
    made = shape(ADULT, "relationship", limit={"sex": 0.25}, epsilon=3.0)
    draws, n, runs = np.random.default_rng(7), 400, 500
    squares = []
    for run in range(runs):
        cells = draws.choice(6, size=n, p=made.nominal)
        frequencies = made.estimate(made.perturb(cells, rng=run)).frequencies
        squares.append(n * ((frequencies - made.nominal) ** 2).sum())
    spread = np.std(squares) / math.sqrt(runs)
    assert abs(np.mean(squares) - made.nominal_variance) < 4 * spread
    assert spread < 0.1 * made.nominal_variance
    assert made.worst_variance >= made.variance(1, made.nominal).sum()


def test_weights_of_wanted_tables_change_variances():
    people = xor_people((2, 2))
    plain = shape(people, ["a", "b"], limit=1.0)
    heavy = shape(people, ["a", "b"], limit=1.0, wanted={"a": 10.0, "b": 1.0})
    assert heavy.variances["a"] < plain.variances["a"]
    assert heavy.variances["b"] > plain.variances["b"]
    joint = shape(people, ["a", "b"], limit=1.0, wanted=[("a", "b")])
    cells = joint.variance(1, joint.nominal).sum()
    assert cells < plain.variance(1, plain.nominal).sum()


# Time --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["sex", "race"])
def test_the_best_so_far_is_returned_when_time_is_over(target):
    given: dict[str, Any] = {"limit": {target: 0.25}, "epsilon": 3.0}
    shown = []
    early, late = (
        shape(ADULT, "workclass", **given, seconds=limit, progress=lambda *at: shown.append(at))
        for limit in (1e-9, None)
    )
    assert {total for _, total in shown} == {1, None}
    assert early.realised()[target] <= 0.25
    assert early.realised("record")["workclass"] <= 3.0
    assert early.nominal_variance > 1.01 * late.nominal_variance
    if target == "sex":  # all extreme rays are known, so the bound holds from the start
        assert early.proven
        assert early.lower_bound <= late.nominal_variance
        assert early.gap > 0.01
    else:
        assert early.gap is None
        assert "gap unknown" in repr(early)


def test_an_interrupt_ends_the_search_with_the_best_so_far(monkeypatch):
    priced, usual = [], AdmissibleReports.best_report

    def interrupted(self, gain):
        priced.append(gain)
        if len(priced) == 500:
            raise KeyboardInterrupt
        return usual(self, gain)

    given: dict[str, Any] = {"limit": {"race": 0.25}, "epsilon": 3.0}
    whole = shape(ADULT, "workclass", **given)
    monkeypatch.setattr(AdmissibleReports, "best_report", interrupted)
    made = shape(ADULT, "workclass", **given)
    assert len(priced) == 500
    assert made.realised()["race"] <= 0.25
    assert whole.nominal_variance <= made.nominal_variance
    assert made.lower_bound <= whole.nominal_variance


# Results and bad input ---------------------------------------------------------------------------


def test_the_result_is_a_table():
    made = shape(xor_people(), ["a", "b"], limit=1.0)
    frame = made.to_pandas()
    assert list(frame.columns) == ["promise", "attribute", "limit", "realised"]
    assert (frame.realised <= frame.limit).all()
    assert set(frame.promise) == {"target", "answer", "record"}
    assert "within the reports found" in repr(made)


def test_the_chart_shows_the_likeliest_reports():
    made = shape(ADULT, "relationship", limit={"sex": 0.25}, epsilon=3.0)
    text = made.chart().to_json()
    assert "Wife" in text
    rows = made.chart().to_dict()["data"]["values"]
    channel, chances = made.channel(), made.nominal @ made.channel()
    likeliest = int(chances.argmax())
    wife = made.cell_names.index("Wife")
    found = [row["ratio"] for row in rows if row["report"] == 1 and row["cell"] == "Wife"]
    assert found == pytest.approx([math.log(channel[wife, likeliest] / chances[likeliest])])


def test_pair_counts_and_records_give_the_same():
    people = xor_people()
    first = shape(people, "a", limit={"xor": 0.1}, epsilon=1.0)
    second = shape(people.pairs(), "a", limit={"xor": 0.1}, epsilon=1.0)
    assert first.describe() == second.describe()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sources": []}, "at least one"),
        ({"sources": ["sex", "sex"]}, "different"),
        ({"sources": "nobody"}, "no attribute"),
        ({"sources": ["occupation", "education"]}, "at most 48 cells together, got 240; ask fewer"),
        ({"limit": {"nobody": 1.0}}, "no attribute"),
        ({"limit": {"sex": -1.0}}, "limit of 'sex'"),
        ({"limit": {"sex": 1.0}}, "epsilon must be given for 'race'"),
        ({"epsilon": {"sex": 1.0}}, "epsilon of an attribute"),
        ({"rule": "answers"}, "did you mean 'answer'"),
        ({"gap": 0.0}, "gap"),
        ({"seconds": 0.0}, "seconds"),
        ({"progress": 1}, "progress"),
        ({"wanted": ["sex"]}, "wanted"),
        ({"wanted": {"race": 0.0}}, "weight above 0"),
        ({"known": ["sex"]}, "need records"),
        ({"sources": ["sex", "race"]}, "records"),
    ],
)
def test_bad_input(options, message):
    given = {"sources": "race", "limit": 1.0, **options}
    with pytest.raises(sp.SeepageError, match=message):
        shape(ADULT, **given)


def test_samples_raise():
    people = xor_people()
    sample = sp.Records(people.domain, people.codes, people.weights, population=10_000)
    with pytest.raises(sp.SeepageError, match="sample"):
        shape(sample, "a", limit=1.0)


def test_cells_of_answers_are_checked():
    made = shape(xor_people(), ["a", "b"], limit=1.0)
    for answers in ({"a": [0]}, {"a": [0], "b": [2]}, {"a": [0, 1], "b": [0]}, {"a": 1, "b": 1}):
        with pytest.raises(sp.InputError, match="answers"):
            made.cell_codes(answers)


def test_shares_near_0_do_not_end_the_search() -> None:
    """The Newton system becomes singular there: the mixture reached is taken."""
    domain = sp.Domain(
        [sp.Attribute("a", ("0", "1")), sp.Attribute("b", ("0", "1")), sp.Attribute("c", ("0",))]
    )
    people = sp.Records(domain, [[0, 0, 0], [1, 0, 0]], [5_000_000, 2_000_000])
    options: dict[str, Any] = {"limit": {"a": 20.0, "c": 0.3}, "epsilon": 20.0, "scope": "table"}
    made = sp.shape(people, ["a", "b"], known=["c"], **options)
    assert made.realised()["a"] <= 20.0
    assert "gap" in repr(made)


@pytest.mark.parametrize(("limit", "record_limit"), [(2.0, 1.5), (1.0, 1.0)])
def test_a_combination_that_never_occurs_beside_a_record_limit(limit, record_limit):
    """Hardly any report determines its cell: shares solved for exactly would be negative."""
    domain = sp.Domain([sp.Attribute(name, ("a", "b", "c")) for name in ("x", "y")])
    counts = {(0, 0): 463, (0, 1): 1904, (0, 2): 22, (1, 0): 1593, (1, 1): 1922, (1, 2): 40}
    counts |= {(2, 0): 22, (2, 1): 34}
    records = sp.Records(domain, list(counts), list(counts.values()))
    made = sp.shape(
        records, ["x", "y"], limit=limit, epsilon=2.0, record_limit=record_limit, scope="table"
    )
    assert max(made.realised().values()) <= limit
    assert made.realised_epsilon <= record_limit
    answers = made.cell_codes({"x": [0, 1, 2] * 2000, "y": [1, 0, 1] * 2000})
    found = made.marginals(made.perturb(answers, rng=1))
    for name, shares in (("x", [1 / 3] * 3), ("y", [1 / 3, 2 / 3, 0])):
        assert np.all(np.abs(found[name].frequencies - shares) < 5 * found[name].standard_errors)
