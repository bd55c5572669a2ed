"""`worst`, `sum`, `independent` and `merged`: their formulas, and when they hold."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joint_oracle import (
    domain_of,
    exact_total,
    joints,
    tree_joint,
    tuples_of,
    two_level_columns,
)

import seepage as sp
from seepage._core.errors import GuaranteeError
from seepage._core.rounding import summed_up
from seepage.channel.records import Records
from seepage.totals import composition as merged_module
from seepage.totals.composition import independent_totals, sum_totals
from seepage.totals.total import total_leakage


@given(st.lists(st.floats(0.0, 1e6), max_size=9))
def test_worst_is_the_smallest_number_not_below_the_sum_of_budgets(budgets):
    """Against exact fractions: never below the sum, and never a unit more than
    needed.
    """
    exact = sum(map(Fraction, budgets), Fraction(0))
    total = summed_up(budgets)
    assert exact <= Fraction(total)
    assert total == 0 or Fraction(math.nextafter(total, 0.0)) < exact
    if budgets:
        domain = domain_of([2] * len(budgets))
        people = Records(domain, np.zeros((1, len(budgets)), dtype=np.uint8))
        worst = total_leakage(people, budgets, guarantee="worst").values
        assert worst.tolist() == [total] * len(budgets)


def merged_channel(joint, target):
    table = np.moveaxis(joint, target, 0).reshape(joint.shape[target], -1)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    return table / table.sum(axis=1, keepdims=True)


@settings(max_examples=60)
@given(
    joints(), st.sampled_from([0.0, 0.4, 1.0, 3.0, 700.0]), st.sampled_from([0.0, 1e-4])
)
def test_merged_is_the_bound_of_all_sources_as_one(joint, epsilon, delta):
    found = total_leakage(
        tuples_of(joint), epsilon, mechanism=None, guarantee="merged", delta=delta
    )
    others = joint.ndim - 1
    for target in range(joint.ndim):
        bound = sp.leakage_bound(
            merged_channel(joint, target), others * epsilon, delta=others * delta
        )
        assert found.values[target] == pytest.approx(epsilon + bound.value, rel=1e-12)
        assert found.values[target] >= epsilon + bound.value
        assert found.deltas[target] == pytest.approx(delta + bound.delta, rel=1e-9)


def test_merged_holds_for_every_mechanism_with_these_budgets():
    """A random epsilon-LDP channel for the merged source never leaks more."""
    rng = np.random.default_rng(0)
    joint = rng.integers(0, 5, (2, 3, 2))
    limit = (
        total_leakage(
            tuples_of(joint), [0.7, 1.1, 0.4], mechanism=None, guarantee="merged"
        ).values[0]
        - 0.7
    )
    channel = merged_channel(joint, 0)
    leaks = []
    for _ in range(300):
        columns = np.exp(rng.integers(0, 2, (6, 40)) * 1.5 * rng.random(40))
        seen = channel @ columns
        leaks.append(np.log(seen.max(axis=0) / seen.min(axis=0)).max())
    assert max(leaks) <= limit
    assert max(leaks) > 0.8 * limit  # some come close: the test could fail


def test_worst_is_the_sum_of_direct_leakages():
    pairs = tuples_of(np.ones((2, 3, 4), dtype=np.int64)).pairs()
    worst = total_leakage(
        pairs,
        [1.0, 2.0, 0.25],
        mechanism=None,
        guarantee="worst",
        delta=[0.0, 1e-6, 1e-3],
    )
    assert worst.values == pytest.approx([3.25] * 3)
    assert worst.deltas == pytest.approx([1e-3 + 1e-6] * 3)
    assert total_leakage(
        pairs, 1.0, mechanism="exp", guarantee="worst"
    ).values == pytest.approx([1.5] * 3)
    guess = total_leakage(
        pairs, 1.0, mechanism="oue", guarantee="worst", view="inferred"
    ).values[0]
    assert 0 < guess < 3.0
    clear = {"a0": "public", "a1": "grr", "a2": "grr"}
    assert (
        total_leakage(pairs, 1.0, mechanism=clear, guarantee="worst").values.tolist()
        == [math.inf] * 3
    )


@pytest.mark.parametrize("name", [None, "grr", "oue", "ss"])
def test_sum_is_the_papers_sum_and_independent_no_larger(name):
    pairs = sp.load_pairs("adult").select(["sex", "education", "race", "income"])
    found = total_leakage(pairs, 0.8, mechanism=name, guarantee="sum")
    matrix = sp.leakage_matrix(pairs, 0.8, mechanism=name)
    assert found.values == pytest.approx(0.8 + matrix.values.sum(axis=1), rel=1e-12)
    assert found.dpl == pytest.approx([0.8] * 4)
    assert np.array_equal(found.cpl, matrix.values)
    assert found.tcpl == matrix.tcpl
    smaller = total_leakage(pairs, 0.8, mechanism=name, guarantee="independent").values
    assert (smaller <= found.values).all()
    assert smaller.sum() < 0.98 * found.values.sum()


def test_deltas_are_added():
    pairs = sp.load_pairs("adult").select(["sex", "race", "income"])
    matrix = sp.leakage_matrix(pairs, 1.0, delta=1e-5)
    for guarantee in ("sum", "independent"):
        found = total_leakage(
            pairs, 1.0, mechanism=None, guarantee=guarantee, delta=1e-5
        )
        assert found.deltas == pytest.approx(1e-5 + matrix.deltas.sum(axis=1), rel=1e-9)
        assert (found.deltas < 3e-5).all()
        for name in ("approximate-grr", "gauss"):
            named = total_leakage(
                pairs, 1.0, mechanism=name, guarantee=guarantee, delta=1e-5
            )
            paper = total_leakage(
                pairs, 1.0, mechanism=None, guarantee="sum", delta=1e-5
            )
            assert (named.values <= paper.values * (1 + 1e-12)).all()
            assert (named.deltas <= paper.deltas * (1 + 1e-9)).all()


def test_independent_holds_where_sources_are_independent_given_the_target():
    rng = np.random.default_rng(1)
    above = 0
    gained = 0
    for _ in range(500):
        sizes = rng.integers(2, 4, 4).tolist()
        joint = tree_joint(rng, sizes, [None, 0, 0, 0])
        epsilon = float(rng.choice([0.5, 1.0, 2.0]))
        name = str(rng.choice(["grr", "any"]))
        kind = "singletons" if name == "grr" else "all"
        truth = exact_total(
            joint, [two_level_columns(k, kind, epsilon) for k in sizes], 0
        )
        pairs = tuples_of(joint).pairs()
        how = None if name == "any" else name
        matrix = sp.leakage_matrix(pairs, epsilon, mechanism=how)
        total, summed = (f(matrix)[0][0] for f in (independent_totals, sum_totals))
        assert truth - 1e-12 <= total <= summed
        above += total > truth + 1e-9 and truth > 0  # 0: only one target value occurs
        gained += total < summed - 1e-9
    assert (
        above == 0
    )  # it is the truth: a report of each source may favour one pair of values
    assert gained > 250


@pytest.mark.parametrize("view", ["report", "inferred"])
@pytest.mark.parametrize("name", ["hadamard", "matrix"])
def test_independent_of_listed_reports_is_its_definition(name, view):
    """With sources independent given the target the definition is the exact total."""
    rng = np.random.default_rng(5)
    gained = 0
    for _ in range(60):
        sizes = rng.integers(2, 5, 4).tolist()
        joint = tree_joint(rng, sizes, [None, 0, 0, 0])
        if name == "hadamard":
            mechanisms = [sp.HadamardResponse(k, 1.0) for k in sizes]
        else:
            rows = [rng.integers(1, 9, (k, 5)) for k in sizes]
            mechanisms = [
                sp.MatrixMechanism(part / part.sum(axis=1, keepdims=True))
                for part in rows
            ]
        columns = [
            mechanism.channel() if view == "report" else mechanism.inferred_channel()
            for mechanism in mechanisms
        ]
        truth = exact_total(joint, columns, 0)
        matrix = sp.leakage_matrix(
            tuples_of(joint).pairs(),
            [mechanism.epsilon for mechanism in mechanisms],
            mechanism=mechanisms,
            view=view,
        )
        total = independent_totals(matrix)[0][0]
        own = float(matrix.own_ratios(0).max())
        assert max(truth, own) <= total * (1 + 1e-12) + 1e-15
        assert total == pytest.approx(max(truth, own), rel=1e-9)
        gained += total < sum_totals(matrix)[0][0] - 1e-6
    assert gained > 20  # the sum of maxima is larger, as it was


def test_bad_arguments_and_missing_records_raise():
    pairs = sp.load_pairs("adult")
    for name in ("exact", "merged", "sampled", "witness"):
        with pytest.raises(
            GuaranteeError, match=f"{name!r} needs records.*give the table itself"
        ):
            total_leakage(pairs, 1.0, mechanism="grr", guarantee=name)
    with pytest.raises(
        sp.InputError, match=r"guarantee must be one of auto, .*did you mean 'exact'"
    ):
        total_leakage(pairs, 1.0, mechanism="grr", guarantee="exakt")
    with pytest.raises(sp.InputError, match="bins has no effect"):
        total_leakage(pairs, 1.0, bins=3)
    empty = Records(domain_of([2, 2]), np.zeros((0, 2), dtype=np.uint8))
    with pytest.raises(sp.DomainError, match="no leakage without records"):
        total_leakage(empty, 1.0)


def test_a_merged_table_that_does_not_fit_raises(monkeypatch):
    monkeypatch.setattr(merged_module, "MAX_TARGET_CELLS", 10)
    tuples = tuples_of(np.ones((3, 4), dtype=np.int64))
    with pytest.raises(GuaranteeError, match="3 values of 'a0' by 4 combinations"):
        total_leakage(tuples, 1.0, mechanism=None, guarantee="merged")


def test_constant_attributes_add_nothing_but_their_budget():
    joint = np.random.default_rng(2).integers(1, 9, (2, 1, 3))
    for scope, guarantees in (
        ("table", ["independent", "sum"]),
        ("population", ["merged", "exact"]),
    ):
        for guarantee in guarantees:
            how = {"mechanism": "ss", "guarantee": guarantee, "scope": scope}
            found = total_leakage(tuples_of(joint), 1.0, **how)
            alone = total_leakage(tuples_of(joint[:, 0]), 1.0, **how)
            assert found["a0"] >= alone["a0"]
            assert found["a1"] <= 3.0
