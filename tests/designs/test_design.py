"""Designs against enumeration, the tables whose best design is known, and their
options.
"""

import math
import os
from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

import seepage as sp
from searches import find_design, record, totals
from seepage._core.errors import InputError, SeepageError
from seepage.channel.domain import Attribute, Domain
from seepage.channel.records import Records
from seepage.designs.forms import form_search
from seepage.designs.forms.balanced_shares import MAX_COST
from seepage.designs.strategies import CALIBRATED, DESIGN, OPTIMAL_SMP

real_data = pytest.mark.skipif(
    not os.environ.get("SEEPAGE_DATA"),
    reason="SEEPAGE_DATA does not name the folder of the data",
)


def people(sizes, codes, weights=None):
    domain = Domain(
        [Attribute(f"a{i}", tuple(map(str, range(k)))) for i, k in enumerate(sizes)]
    )
    return Records(domain, codes, weights)


def table_design(data, limit, **options):
    return find_design(data, limit, **{"scope": "table", "shape": "never"} | options)


def every(sizes, weight=1):
    codes = list(product(*map(range, sizes)))
    return people(sizes, codes, [weight] * len(codes))


def brute_totals(records, form, budgets):
    """ln max over reports and values, from the joint table, without the package."""
    joint = records.counts().astype(float)
    found = []
    for k, size in enumerate(records.domain.sizes):
        worst = 0.0
        for report in product(*(range(records.domain.sizes[j]) for j in form)):
            table = joint.copy()
            for j, y, e in zip(form, report, budgets, strict=True):
                factor = np.where(
                    np.arange(records.domain.sizes[j]) == y, 1.0, math.exp(-e)
                )
                shape = [1] * joint.ndim
                shape[j] = -1
                table = table * factor.reshape(shape)
            axes = tuple(i for i in range(joint.ndim) if i != k)
            seen = joint.sum(axis=axes)
            chances = table.sum(axis=axes)[seen > 0] / seen[seen > 0]
            worst = (
                max(worst, math.log(chances.max() / chances.min()))
                if size > 1
                else worst
            )
        found.append(worst)
    return found


def grr_error(k, epsilon, shares):
    p = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    q = (1 - p) / (k - 1)
    mean = q + (p - q) * shares
    return float((mean * (1 - mean)).sum() / (p - q) ** 2)


def least_objective(rows):
    """The least sum of 1 / P over shares, by a convex solver."""
    rows = np.array(rows)
    objective = lambda pi: float((1 / (pi @ rows)).sum())  # noqa: E731
    slope = lambda pi: -(rows @ (1 / (pi @ rows) ** 2))  # noqa: E731
    answer = minimize(
        objective,
        np.full(len(rows), 1 / len(rows)),
        jac=slope,
        bounds=[(0, 1)] * len(rows),
        constraints={"type": "eq", "fun": lambda pi: pi.sum() - 1},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-13},
    )
    return answer.fun


def _undominated(rows):
    rows = np.array(rows)
    better = (rows[:, None] >= rows[None]).all(axis=2) & (
        rows[:, None] > rows[None]
    ).any(axis=2)
    return rows[~better.any(axis=0)]


def random_table(seed, count=4):
    rng = np.random.default_rng(seed)
    return people(
        (2,) * count, list(product((0, 1), repeat=count)), rng.integers(1, 60, 2**count)
    )


@pytest.mark.parametrize("seed", range(2))
def test_design_is_no_worse_than_the_best_over_all_forms_of_equal_budgets(seed):
    records = random_table(seed)
    limit = 1.0
    shares = [records.marginal(j) / records.records for j in range(4)]
    rows = []
    for size in range(1, 5):
        for form in combinations(range(4), size):

            def excess(e, form=form):
                return max(brute_totals(records, form, [e] * len(form))) - limit

            e = limit if excess(limit) <= 1e-12 else brentq(excess, 1e-6, limit)
            row = np.zeros(4)
            for j in form:
                row[j] = 1 / grr_error(2, e, shares[j])
            rows.append(row)
    best = least_objective(rows) / records.records / 4
    found = table_design(records, limit, mechanism="grr")
    assert found.error <= best * (1 + found.gap + 2e-4)
    assert found.gap <= MAX_COST + 2e-3
    assert found.error >= best * 0.8


@pytest.mark.parametrize("seed", range(1))
def test_design_is_near_the_best_over_a_grid_of_all_budgets(seed):
    records = random_table(seed + 10, 3)
    limit = 1.0
    shares = [records.marginal(j) / records.records for j in range(3)]
    grid = np.linspace(0.0, 1.0, 8)
    rows = []
    for budgets in product(grid, repeat=3):
        form = [j for j in range(3) if budgets[j] > 0]
        if (
            not form
            or max(brute_totals(records, form, [budgets[j] for j in form]))
            > limit + 1e-9
        ):
            continue
        rows.append(
            [
                1 / grr_error(2, e, f) if e else 0
                for e, f in zip(budgets, shares, strict=True)
            ]
        )
    best = least_objective(_undominated(rows)) / records.records / 3
    assert table_design(records, limit, mechanism="grr").error <= best * 1.002


@pytest.mark.parametrize("seed", range(2))
def test_stated_totals_and_errors_are_those_of_brute_force(seed):
    records = random_table(seed + 20)
    found = table_design(records, 0.7, mechanism="grr")
    names = records.domain.names
    precision = np.zeros(4)
    for form in found.forms:
        indices = [names.index(name) for name in form.attributes]
        truth = brute_totals(records, indices, form.epsilons)
        np.testing.assert_allclose(form.totals, truth, atol=1e-10)
        assert max(truth) <= 0.7 + 1e-12
        assert form.record == pytest.approx(sum(form.epsilons))
        for j, e in zip(indices, form.epsilons, strict=True):
            precision[j] += form.share / grr_error(
                2, e, records.marginal(j) / records.records
            )
    assert sum(form.share for form in found.forms) == pytest.approx(1)
    np.testing.assert_allclose(
        found.errors, 1 / (records.records * precision), rtol=1e-9
    )


def test_independent_attributes_are_all_asked_with_the_whole_limit():
    records = every((2, 3, 2, 4))
    found = table_design(records, 1.5)
    assert [form.attributes for form in found.forms] == [records.domain.names]
    assert min(found.forms[0].epsilons) == pytest.approx(1.5, abs=1e-6)
    alone = [
        grr_error(k, 1.5, np.full(k, 1 / k)) / records.records for k in (2, 3, 2, 4)
    ]
    np.testing.assert_allclose(found.errors, alone, rtol=1e-5)


def test_identical_attributes_are_asked_one_at_a_time():
    records = people((2, 2, 2), [[0, 0, 0], [1, 1, 1]], [50, 50])
    found = table_design(records, 1.0)
    assert sorted(form.attributes for form in found.forms) == [
        ("a0",),
        ("a1",),
        ("a2",),
    ]
    assert [form.epsilons for form in found.forms] == [(1.0,)] * 3
    assert [form.share for form in found.forms] == pytest.approx([1 / 3] * 3, abs=1e-3)
    assert strategy(found, OPTIMAL_SMP).error == pytest.approx(found.error, rel=1e-4)


def test_the_leakage_about_an_xor_is_counted():
    coins = people((2, 2, 2), [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    found = table_design(coins, 1.0)
    assert sorted(len(form.attributes) for form in found.forms) == [2, 2, 2]
    tight = table_design(coins, {"a0": 1.0, "a1": 1.0, "a2": 0.2})
    assert totals(tight)[2] <= 0.2
    assert brute_totals(coins, [0, 1], [1.0, 1.0])[2] > 0.2
    for form in tight.forms:
        indices = [coins.domain.names.index(name) for name in form.attributes]
        assert (
            max(np.array(brute_totals(coins, indices, form.epsilons)) - [1, 1, 0.2])
            <= 1e-12
        )


def strategy(found, name):
    return next(one for one in found.comparison if one.name == name)


@pytest.mark.parametrize("limit", [0.5, 3.0])
def test_design_is_never_worse_than_smp_and_the_calibrated_collection(limit):
    columns = ["coffee", "sleep", "screen", "medication"]
    records = sp.Records.from_data(sp.make_survey(3000, rng=4).select(columns))
    found = table_design(records, limit, effort=0.1)
    for name in (OPTIMAL_SMP, CALIBRATED):
        assert found.error <= strategy(found, name).error * (1 + found.gap + 1e-9)
    assert strategy(found, DESIGN).error == pytest.approx(found.error)
    assert totals(found).max() <= limit
    assert {one.certified for one in found.comparison} == {True, False}


def test_the_same_seed_gives_the_same_design():
    records = random_table(3, 3)
    first, second = (table_design(records, 1.0, rng=5) for _ in range(2))
    assert first.forms == second.forms


# Options ------------------------------------------------------------------------------


def asked(found):
    return [set(form.attributes) for form in found.forms]


def test_attributes_are_never_asked_together_or_wanted_together():
    records = every((2, 2, 2, 2))
    found = table_design(records, 1.0, want=["a0 x a1 x a3"], never=[("a2", "a0")])
    assert any({"a0", "a1", "a3"} <= form for form in asked(found))
    assert not any({"a0", "a2"} <= form for form in asked(found))


def test_forms_are_no_larger_than_asked_for():
    assert max(map(len, asked(table_design(every((2, 2, 2)), 1.0, largest=2)))) == 2


def test_the_record_limit_holds_and_gives_smp_at_the_limit():
    records = every((2, 2, 2))
    found = table_design(records, 1.0, record_limit=1.4)
    assert record(found) <= 1.4
    assert max(map(len, asked(found))) >= 2
    smp = table_design(records, 1.0, record_limit=1.0)
    assert record(smp) <= 1.0
    assert smp.error == pytest.approx(strategy(smp, OPTIMAL_SMP).error, rel=1e-3)


def test_public_attributes_are_not_asked_and_count_in_totals():
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 2, (4000, 3))
    codes[:, 1] = codes[:, 0] ^ (rng.random(4000) < 0.4)
    records = people((2, 2, 2), codes)
    found = table_design(records, 1.0, public=["a0"])
    assert all("a0" not in form for form in asked(found))
    assert not any("SPL" in one.name for one in found.comparison)
    joint = records.counts().sum(axis=2)
    told = np.log(
        (joint / joint.sum(axis=0)).max(axis=1)
        / (joint / joint.sum(axis=0)).min(axis=1)
    )
    assert told.max() <= totals(found)[1] <= 1.0
    with pytest.raises(InputError, match="leakage of the public attributes alone"):
        table_design(records, told.max() * 0.9, public=["a0"])


def test_known_attributes_lower_the_budgets():
    coins = people((2, 2, 2), [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    free = table_design(coins, 1.0, left_out=["a2"])
    known = table_design(coins, 1.0, left_out=["a2"], known=["a0"])
    assert asked(free) == [{"a0", "a1"}]
    assert max(form.totals[2] for form in known.forms) <= 1.0
    # given a0, the report on a1 is one on a2 as well
    assert max(form.totals[2] for form in known.forms) == pytest.approx(1.0, abs=1e-6)
    assert totals(free)[2] < 0.5


def test_unprotected_attributes_are_asked_almost_without_noise():
    found = table_design(every((2, 2)), {"a0": None, "a1": 0.5})
    assert totals(found)[1] <= 0.5
    assert found.errors[0] < 1.01 * 0.5 / 4


def test_the_error_of_a_joint_distribution_enters():
    records = random_table(30)
    plain = table_design(records, 0.5, mechanism="grr")
    found = table_design(records, 0.5, mechanism="grr", want=[("a0", "a1")])
    assert list(found.wanted) == ["a0 x a1"]
    share = sum(f.share for f in found.forms if {"a0", "a1"} <= set(f.attributes))
    before = sum(f.share for f in plain.forms if {"a0", "a1"} <= set(f.attributes))
    assert share > before
    assert 0 < found.wanted["a0 x a1"] < math.inf


def test_the_largest_error_is_smaller_than_that_of_the_best_mean():
    """Against a linear program in 1/t: max t with P_j >= size_j t over the same kind of
    forms.
    """
    rng = np.random.default_rng(3)
    records = people((2, 3, 5, 2), rng.integers(0, [2, 3, 5, 2], (2000, 4)))
    settings = {"shape": "never", "mechanism": "grr", "effort": 0.05, "largest": 1}
    mean = table_design(records, 1.0, **settings)
    largest = table_design(records, 1.0, objective="largest", **settings)
    sizes = np.array(records.domain.sizes)
    per_value = largest.errors / sizes
    assert per_value.max() <= 1.005 * (mean.errors / sizes).max()
    assert largest.error > 0.999 * mean.error
    singles = {form.attributes[0]: form for form in mean.forms}
    variances = np.array(
        [
            mean.errors[j] * mean.people * singles[name].share
            for j, name in enumerate(records.domain.names)
        ]
    )
    least = (
        variances / sizes
    ).sum() / mean.people  # pi_j ~ v_j / size_j makes all equal
    assert per_value.max() == pytest.approx(least, rel=0.01)


def test_importance_changes_precision():
    records = random_table(31, 3)
    plain = table_design(records, 0.5)
    heavy = table_design(records, 0.5, importance=[10.0, 1.0, 1.0])
    assert heavy.errors[0] < plain.errors[0]


def test_large_alphabets_may_use_another_mechanism():
    records = every((40, 2), 100)
    found = table_design(records, 0.5, largest=1)
    used = {form.attributes: form.mechanisms for form in found.forms}
    assert used["a0",] != ("grr",)
    grr = table_design(records, 0.5, largest=1, mechanism="grr")
    assert found.errors[0] < grr.errors[0]
    assert totals(found).max() <= 0.5


def test_too_little_time_gives_a_certified_design():
    found = table_design(random_table(1), 1.0, seconds=1e-9)
    assert found.ended == "time"
    assert totals(found).max() <= 1.0
    assert np.isfinite(found.errors).all()


def test_an_interrupt_gives_the_best_design_so_far(monkeypatch):
    improve = form_search.FormSearch.improve
    calls = []

    def interrupted(self, *arguments):
        calls.append(1)
        if len(calls) > 8:
            raise KeyboardInterrupt
        return improve(self, *arguments)

    monkeypatch.setattr(form_search.FormSearch, "improve", interrupted)
    found = table_design(random_table(2), 1.0)
    assert found.ended == "interrupted"
    assert totals(found).max() <= 1.0
    assert found.error < strategy(found, OPTIMAL_SMP).error


def test_a_table_too_large_for_exact_totals_is_named():
    rng = np.random.default_rng(0)
    sizes = (60, 60, 60)
    records = people(
        sizes, np.stack([rng.integers(0, 60, 2000) for _ in sizes], axis=1)
    )
    found = table_design(records, 1.0)
    whole = [form for form in found.forms if len(form.attributes) == 3]
    assert {form.guarantee for form in whole} <= {"worst"}
    assert totals(found).max() <= 1.0
    assert strategy(found, CALIBRATED).rests_on == "worst"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limit": 0}, "limit must be above 0"),
        ({"limit": None}, "limit must be given for at least one protected attribute"),
        ({"public": ["no"]}, "no"),
        ({"never": [("a0", "nobody")]}, "nobody"),
        ({"never": [("a0", "a0")]}, "two different"),
        ({"never": [("a0", "a1", "a2")]}, "must be two different"),
        (
            {"want": ["a0 x a1 x a2"], "largest": 2},
            "no form within the limits estimates",
        ),
        ({"want": ["a0 x a1 x a2"], "never": [("a0", "a2")]}, "which never forbids"),
        (
            {"want": [("a0", "a1")], "never": [("a0", "a1")]},
            "which never forbids to ask together",
        ),
        ({"want": [("a0", "a1")], "left_out": ["a0"]}, "want must name attributes"),
        ({"public": ["a0"], "left_out": ["a0"]}, "both public and left out"),
        ({"left_out": ["a0", "a1", "a2"]}, "at least one attribute must be asked"),
        ({"left_out": [["a0"]]}, "an attribute must be a name or an index"),
        ({"record_limit": 0}, "record_limit must be above 0"),
        ({"seconds": 0}, "seconds must be above 0"),
        ({"mechanism": "oue"}, "mechanism must be one of grr"),
        ({"largest": 0}, "largest must be an integer of at least 1"),
        ({"importance": 0.0}, "importance must be above 0"),
    ],
)
def test_bad_input_raises_with_one_line(options, message):
    limit = options.pop("limit", 1.0)
    with pytest.raises(SeepageError) as raised:
        table_design(every((2, 2, 2)), limit, **options)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_no_records_and_samples_raise():
    empty = people((2, 2), np.zeros((0, 2), dtype=int))
    with pytest.raises(InputError, match="at least one record"):
        table_design(empty, 1.0)
    part = Records(empty.domain, [[0, 1], [1, 0]], population=100)
    with pytest.raises(SeepageError, match="need all records"):
        table_design(part, 1.0)


@real_data
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "limit"), [("cardio", 3.0), ("nist-acs", 3.0), ("adult", 3.0)]
)
def test_real_tables_get_a_design_no_worse_than_smp_and_the_calibrated_one(name, limit):
    found = table_design(name, limit, seconds=1e4)
    for other in (OPTIMAL_SMP, CALIBRATED):
        assert found.error <= strategy(found, other).error * (1 + found.gap + 1e-9)
    assert totals(found).max() <= limit


@real_data
@pytest.mark.slow
def test_celeba_reaches_the_stated_error_and_its_totals_are_those_of_the_package():
    data = sp.dataset("celeba")
    records = Records.from_data(data.read(), **data.table)
    found = table_design(records, 1.0, seconds=1e4)
    assert found.error <= 0.37 * strategy(found, OPTIMAL_SMP).error
    form = found.forms[0]
    for k, name in enumerate(records.domain.names):
        chosen = list(dict.fromkeys([*form.attributes, name]))
        budgets = dict.fromkeys(chosen, 0.0)
        budgets |= dict(zip(form.attributes, form.epsilons, strict=True))
        part = records.select(chosen)
        total = sp.total_leakage(
            part, budgets, mechanism="grr", guarantee="exact"
        ).values
        assert total[chosen.index(name)] == pytest.approx(form.totals[k], abs=1e-11)
