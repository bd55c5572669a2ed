"""Totals of forms against exact fractions, against `total_leakage`, and NumPy against
Numba.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seepage as sp
from seepage._core.errors import InputError
from seepage.channel.domain import Attribute, Domain
from seepage.channel.records import Records
from seepage.designs.design_options import DesignOptions
from seepage.designs.forms import form_counter
from seepage.designs.forms.form_counter import FormCounter
from seepage.designs.forms.form_problem import make_form_problem
from seepage.designs.forms.form_totals import ExactFormTotals
from seepage.designs.forms.population_certifier import PopulationCertifier


def people(sizes, codes, weights=None):
    domain = Domain(
        [Attribute(f"a{i}", tuple(map(str, range(k)))) for i, k in enumerate(sizes)]
    )
    return Records(domain, codes, weights)


@st.composite
def tables(draw, most=4):
    sizes = draw(st.lists(st.integers(1, 3), min_size=2, max_size=most))
    count = draw(st.integers(1, 12))
    codes = [[draw(st.integers(0, size - 1)) for size in sizes] for _ in range(count)]
    weights = [draw(st.integers(1, 300)) for _ in range(count)]
    return people(sizes, codes, weights)


def true_total(records, form, epsilons, target, public=(), known=()):
    """Every report, public value and pair of target values, in fractions; None where
    infinite.
    """
    codes = records.codes.astype(int).tolist()
    weights = records.weights.tolist()
    with localcontext() as context:
        context.prec = 60
        growth = [Fraction(Decimal(e).exp()) for e in epsilons]
    best = Fraction(1)
    for given_known in {tuple(row[j] for j in known) for row in codes}:
        rows = [
            (row, weight)
            for row, weight in zip(codes, weights, strict=True)
            if tuple(row[j] for j in known) == given_known
        ]
        for clear in {tuple(row[j] for j in public) for row, _ in rows}:
            for report in product(*(range(records.domain.sizes[j]) for j in form)):
                chances = []
                for x in {row[target] for row, _ in rows}:
                    people = sum(w for row, w in rows if row[target] == x)
                    likely = Fraction(0)
                    for row, weight in rows:
                        if row[target] != x or tuple(row[j] for j in public) != clear:
                            continue
                        chance = Fraction(weight)
                        for j, y, e in zip(form, report, growth, strict=True):
                            chance *= e if row[j] == y else 1
                        likely += chance
                    chances.append(likely / people)
                if max(chances) == 0:
                    continue
                if min(chances) == 0:
                    return None
                best = max(best, max(chances) / min(chances))
    with localcontext() as context:
        context.prec = 50
        return (Decimal(best.numerator) / Decimal(best.denominator)).ln()


def own_leakage(records, form, budgets, target):
    """The leakage of an attribute's own report, as if all its values occurred."""
    if target not in form or records.domain.sizes[target] == 1:
        return Decimal(0)
    return Decimal(budgets[form.index(target)])


@settings(max_examples=60, deadline=None)
@given(tables(), st.data())
def test_totals_are_at_least_the_truth_and_hardly_more(records, data):
    indices = range(len(records.domain))
    form = data.draw(st.permutations(list(indices)).map(tuple), "form")
    form = form[: data.draw(st.integers(1, len(form)), "length")]
    budgets = [
        data.draw(st.sampled_from([1e-9, 0.25, 1.0, 3.0]), "budget") for _ in form
    ]
    scorer = ExactFormTotals(FormCounter(records))
    found = scorer.totals(scorer.counter.table(form), np.array(budgets))
    for target in indices:
        truth = max(
            true_total(records, form, budgets, target),
            own_leakage(records, form, budgets, target),
        )
        assert truth - Decimal(float(found[target])) <= Decimal("1e-40")
        assert found[target] <= float(truth) + 1e-12


@settings(max_examples=40, deadline=None)
@given(tables(), st.data())
def test_public_and_known_attributes_enter_the_totals(records, data):
    indices = list(range(len(records.domain)))
    roles = data.draw(st.tuples(*(st.sampled_from("fpk") for _ in indices)))
    public = [j for j, role in zip(indices, roles, strict=True) if role == "p"]
    known = [j for j, role in zip(indices, roles, strict=True) if role == "k"]
    form = [j for j in indices if j not in public] or [0]
    budgets = np.full(len(form), 0.7)
    scorer = ExactFormTotals(FormCounter(records, public, known))
    found = scorer.totals(scorer.counter.table(form), budgets)
    for target in indices:
        truth = true_total(records, form, budgets.tolist(), target, public, known)
        if truth is None:
            assert found[target] == np.inf
            continue
        if target not in known:
            own = own_leakage(records, form, budgets.tolist(), target)
            truth = max(truth, own)
        assert found[target] == pytest.approx(float(truth), abs=1e-12)


def shares_by_numpy_and_numba(records, form, known=()):
    """Return the tables of a form, counted by NumPy and by the compiled kernels."""
    with pytest.MonkeyPatch.context() as patch:
        for least in (records.codes.size + 1, 0):
            patch.setattr(form_counter, "COMPILED_FROM", least)
            yield FormCounter(records, [], known).table(form).shares


@settings(max_examples=25, deadline=None)
@given(tables(), st.data())
def test_compiled_kernels_count_like_numpy(records, data):
    form = data.draw(
        st.permutations(list(range(len(records.domain)))).map(tuple), "form"
    )
    known = [form[0]] if data.draw(st.booleans(), "known") else []
    plain, compiled = shares_by_numpy_and_numba(records, form, known)
    assert np.array_equal(plain, compiled)


def test_compiled_counts_of_many_people_are_those_of_numpy():
    rng = np.random.default_rng(3)
    sizes = (2, 5, 3, 2, 7)
    codes = np.stack([rng.integers(0, k, 3000) for k in sizes], axis=1)
    codes[:, 3] = codes[:, 0] ^ (rng.random(3000) < 0.1)
    records = people(sizes, codes, rng.integers(1, 5000, 3000))
    for form in [(0,), (1, 3), (4, 2, 0), (0, 1, 2, 3, 4)]:
        plain, compiled = shares_by_numpy_and_numba(records, form)
        assert np.array_equal(plain, compiled)


def test_totals_equal_those_of_the_package():
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 3, (400, 4))
    codes[:, 2] = (codes[:, 0] + codes[:, 1]) % 3
    records = people((3, 3, 3, 3), codes)
    scorer = ExactFormTotals(FormCounter(records))
    for form in combinations(range(4), 2):
        found = scorer.totals(scorer.counter.table(form), np.array([0.9, 0.4]))
        budgets = [0.0] * 4
        budgets[form[0]], budgets[form[1]] = 0.9, 0.4
        truth = sp.total_leakage(
            records, budgets, mechanism="grr", guarantee="exact"
        ).values
        np.testing.assert_allclose(found, truth, atol=1e-12)


def test_a_form_of_both_inputs_leaks_about_their_xor():
    coins = people((2, 2, 2), [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    scorer = ExactFormTotals(FormCounter(coins))
    pair = scorer.totals(scorer.counter.table((0, 1)), np.ones(2))
    assert pair[2] == pytest.approx(math.log(math.cosh(1)), abs=1e-12)
    alone = scorer.totals(scorer.counter.table((0,)), np.ones(1))
    assert alone[2] < 1e-12


def test_a_single_report_never_leaks_more_than_its_budget():
    copies = people((2, 2), [[0, 0], [1, 1]])
    scorer = ExactFormTotals(FormCounter(copies))
    assert scorer.totals(scorer.counter.table((0,)), np.array([1.0])).tolist() == [
        1.0,
        1.0,
    ]


def test_too_many_combinations_of_known_values_raise():
    rng = np.random.default_rng(1)
    codes = np.stack([rng.integers(0, k, 20_000) for k in (70, 70, 2)], axis=1)
    records = people((70, 70, 2), codes)
    with pytest.raises(InputError, match="combinations of values"):
        ExactFormTotals(FormCounter(records, known=[0, 1]))


# Estimates for the population ---------------------------------------------------------


def test_estimated_budgets_are_near_the_certified_ones():
    """Of forms that were not certified before, beside rare values and correlation."""
    rng = np.random.default_rng(3)
    rarest = (0.004, 0.3, 0.02, 0.4, 0.1, 0.05)
    sizes = (5, 2, 6, 2, 4, 3)
    columns = []
    for size, rare in zip(sizes, rarest, strict=True):
        rest = [(1 - rare) / (size - 1)] * (size - 1)
        columns.append(rng.choice(size, 8000, p=[rare, *rest]))
    codes = np.stack(columns, axis=1)
    same = rng.random(8000) < 0.3
    codes[same, 1] = codes[same, 3]
    options = DesignOptions(limit=2.0)
    certifier = PopulationCertifier(
        make_form_problem(people(sizes, codes), options),
        people(sizes, codes),
        0.95,
    )
    certifier.prime_screen()
    forms = [
        form
        for questions in (2, 3, 4)
        for form in combinations(range(len(sizes)), questions)
    ]
    estimated = list(map(certifier.problem.fit, forms))
    certified = list(map(certifier.certify, estimated))
    errors = [
        math.log(estimate.max_budget / form.max_budget)
        for estimate, form in zip(estimated, certified, strict=True)
    ]
    assert len(errors) == 50
    assert np.abs(errors).mean() < 0.05
    assert np.std(errors) < 0.05
