"""`tree`: never below the exact total of data that follow the tree; groups; errors."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joint_oracle import exact_total, report_laws, tree_joint, tuples_of, two_level_columns

import seepage as sp
from seepage.data.datasets.survey import SURVEY_TREE, survey_joint
from seepage.errors import DomainError, InputError
from seepage.totals import Forest, GuaranteeError, IndependentGroups, total_leakage
from seepage.totals.tree import pair_bounds
from strategies import epsilons, tables

SHAPES = {
    "path": [None, 0, 1, 2],
    "star": [None, 0, 0, 0],
    "mixed": [None, 0, 0, 1],
    "forest": [None, 0, None, 2],
}


def edges_of(parents):
    return [(f"a{p}", f"a{i}") for i, p in enumerate(parents) if p is not None]


@given(tables(), epsilons)
def test_the_largest_pair_bound_is_the_leakage_bound(counts, epsilon):
    channel = counts / counts.sum(axis=1, keepdims=True)
    bounds = pair_bounds(channel, epsilon)
    whole = sp.leakage_bound(channel, epsilon).value
    assert bounds.max() == pytest.approx(whole, rel=1e-9, abs=1e-12)
    assert (np.diag(bounds) == 0).all()
    for z in range(len(channel)):
        for other in range(len(channel)):
            pair = sp.leakage_bound(channel[[z, other]], epsilon).value
            both = max(bounds[z, other], bounds[other, z])
            assert both == pytest.approx(pair, rel=1e-9, abs=1e-12)


@given(tables(least=2, targets=2, sources=5), st.floats(0.1, 3.0))
def test_pair_bounds_are_ordered_maxima_over_sets(counts, epsilon):
    channel = counts / counts.sum(axis=1, keepdims=True)
    best = 0.0
    for mask in range(2 ** channel.shape[1]):
        chosen = [bool(mask >> u & 1) for u in range(channel.shape[1])]
        high, low = channel[:, chosen].sum(axis=1)
        best = max(
            best, math.log((1 + math.expm1(epsilon) * high) / (1 + math.expm1(epsilon) * low))
        )
    assert pair_bounds(channel, epsilon)[0, 1] == pytest.approx(best, rel=1e-9, abs=1e-12)


def small_counts(rng):
    counts = rng.integers(0, 5, (2, 3)) + np.eye(2, 3)
    return counts / counts.sum(axis=1, keepdims=True)


def wide_range(rng):
    """Cells from 1 down to 1e-80: an input may tell most and still be lost in a sum's rounding."""
    return rng.dirichlet([0.02] * 3, 2)


@pytest.mark.parametrize("epsilon", [1e-12, 0.1, 1.0, 50.0, 800.0])
@pytest.mark.parametrize("draw", [small_counts, wide_range])
def test_pair_bounds_are_never_below_the_exact_ones(draw, epsilon):
    """Against sums of the same doubles in 150 digits; above by rounding alone."""
    rng = np.random.default_rng(5)
    with localcontext(prec=150):
        growth = Decimal(epsilon).exp() - 1
        for _ in range(60):
            channel = draw(rng)
            sets = itertools.product([False, True], repeat=3)
            sums = [[sum(map(Decimal, row[list(s)].tolist()), Decimal(0)) for row in channel]
                    for s in sets]  # fmt: skip
            exact = max(((1 + growth * g) / (1 + growth * h)).ln() for g, h in sums)
            found = Decimal(float(pair_bounds(channel, epsilon)[0, 1]))
            assert min(exact, Decimal(epsilon)) <= found <= Decimal(epsilon)
            assert found <= exact * (1 + Decimal("1e-12")) + Decimal("1e-13")


def test_children_of_one_node_add_up_with_their_deltas():
    """Exactly summed, every total of a star is at least the sum of what its children say."""
    rng = np.random.default_rng(6)
    for _ in range(30):
        pairs = tuples_of(rng.integers(1, 30, (2, 3, 2, 2))).pairs()
        epsilons, deltas = rng.uniform(0.1, 2.0, 4), rng.uniform(1e-4, 1e-2, 4)
        found = total_leakage(
            pairs,
            epsilons,
            mechanism=None,
            guarantee="tree",
            delta=deltas,
            structure=edges_of(SHAPES["star"]),
        )
        bounds = [
            pair_bounds(pairs.channel(target=0, source=k).matrix, epsilons[k]) for k in (1, 2, 3)
        ]
        shares = [
            deltas[k] * np.expm1(bound) / np.expm1(epsilons[k]) for k, bound in enumerate(bounds, 1)
        ]
        truth = max(
            Fraction(epsilons[0]) + sum(Fraction(bound[pair]) for bound in bounds)
            for pair in ((0, 1), (1, 0))
        )
        assert truth <= Fraction(found.values[0]) <= truth * (1 + Fraction(1, 10**13))
        assert found.deltas[0] == pytest.approx(deltas[0] + sum(shares).max(), rel=1e-12)


@pytest.mark.parametrize("draws", [8, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["singletons", "all"])
def test_tree_is_never_below_exact_on_data_that_follow_it(shape, kind, draws):
    rng = np.random.default_rng(7)
    parents, excess, sums_below = SHAPES[shape], [], 0
    for _ in range(draws):
        sizes = rng.integers(2, 4, 4).tolist()
        joint = tree_joint(rng, sizes, parents)
        epsilon = float(rng.choice([0.5, 1.0, 2.0]))
        matrices = [two_level_columns(k, kind, epsilon) for k in sizes]
        tuples = tuples_of(joint)
        found = total_leakage(
            tuples.pairs(), epsilon, mechanism=None, guarantee="tree", structure=edges_of(parents)
        )
        sums = total_leakage(
            tuples.pairs(), epsilon, mechanism=None, guarantee="independent"
        ).values
        for target in range(4):
            truth = max(exact_total(joint, matrices, target), epsilon)
            excess.append(found.values[target] / truth - 1)
            sums_below += sums[target] < truth - 1e-9
    assert min(excess) >= -1e-12
    assert np.mean(excess) < 0.5
    if shape in ("path", "mixed") and kind == "all":
        assert sums_below > 0  # the paper's sum does fall below on the same data


def test_two_attributes_are_a_tree():
    """A single edge is exact against all mechanisms with these budgets."""
    joint = np.random.default_rng(8).integers(0, 9, (3, 4))
    tuples = tuples_of(joint)
    tree = total_leakage(
        tuples.pairs(), 1.2, mechanism=None, guarantee="tree", structure=[("a0", "a1")]
    )
    assert tree.values == pytest.approx(
        total_leakage(tuples, 1.2, mechanism=None, guarantee="exact").values
    )
    assert tree.kind == "assumed"
    assert total_leakage(
        tuples, 1.2, mechanism=None, guarantee="tree", structure=[]
    ).values == pytest.approx([1.2] * 2)


def test_relaxations_on_a_tree_cover_the_hockey_stick():
    """Approximate GRR on a tree model: (total, delta) holds set by set."""
    rng = np.random.default_rng(9)
    for _ in range(20):
        sizes = [2, 3, 2]
        joint = tree_joint(rng, sizes, [None, 0, 1])
        epsilon, delta = float(rng.choice([0.0, 0.5, 1.0])), 0.02
        mechanisms = [sp.ApproximateGRR(k, epsilon, delta) for k in sizes]
        found = total_leakage(
            tuples_of(joint),
            epsilon,
            mechanism={f"a{i}": m for i, m in enumerate(mechanisms)},
            guarantee="tree",
            structure=[("a0", "a1"), ("a1", "a2")],
        )
        for target in range(3):
            laws = report_laws(joint, [m.channel() for m in mechanisms], target)
            for first in laws:
                gaps = first - math.exp(found.values[target]) * laws
                assert np.maximum(gaps, 0).sum(axis=1).max() <= found.deltas[target] + 1e-15
        assert (found.deltas <= 3 * delta).all()
        assert (found.deltas >= delta).all()


def test_a_long_path_settles():
    steps = 120
    domain = sp.Domain([sp.Attribute(f"t{i}", ("0", "1")) for i in range(steps)])
    column = np.array([0, 0, 1, 1, 0, 1, 0, 1, 1, 0])
    marginals = [np.bincount(column)] * steps
    table = np.array([[4, 1], [1, 4]])
    pairs = sp.PairCounts(domain, marginals, np.tile(table.ravel(), steps * (steps - 1) // 2))
    found = total_leakage(
        pairs, 0.1, mechanism=None, guarantee="tree", structure=Forest.path(domain.names)
    )
    middle = found.values[steps // 2]
    assert middle == pytest.approx(2 * sp_supremum(table / 5, 0.1) - 0.1, rel=1e-9)
    assert found.values[0] == pytest.approx(sp_supremum(table / 5, 0.1), rel=1e-9)


def sp_supremum(channel, epsilon):
    from seepage.totals import leakage_supremum

    return leakage_supremum(channel, epsilon)


# Independent groups -----------------------------------------------------------------------------


def test_groups_are_exact_within_and_ignore_the_rest():
    joint = survey_joint()
    triple = ("coffee", "screen", "sleep")
    groups = IndependentGroups((triple, ("age", "employment", "income", "condition", "medication")))
    found = total_leakage(joint, 1.0, mechanism="grr", guarantee="tree", structure=groups)
    exact = total_leakage(joint, 1.0, mechanism="grr", guarantee="exact")
    for name in (*triple, "age", "income", "condition"):
        assert found[name] == pytest.approx(exact[name], abs=1e-9)
    assert found["region"] == pytest.approx(1.0)  # a group of its own, though it is not alone
    assert exact["region"] > 1.3
    edges = total_leakage(joint, 1.0, mechanism="grr", guarantee="tree", structure=SURVEY_TREE)
    for name in ("age", "employment", "income", "condition", "medication", "region", "transport"):
        assert edges[name] >= exact[name] - 1e-12


def test_groups_of_pair_counts():
    tuples = tuples_of(np.random.default_rng(10).integers(1, 9, (2, 3, 2, 2)))
    groups = IndependentGroups((("a0", "a1"), ("a2",)))
    alone = total_leakage(tuples.pairs(), 1.0, mechanism=None, guarantee="tree", structure=groups)
    with_records = total_leakage(tuples, 1.0, mechanism=None, guarantee="tree", structure=groups)
    assert alone.values == pytest.approx(with_records.values, rel=1e-9)
    three = IndependentGroups((("a0", "a1", "a3"),))
    large = total_leakage(
        tuples.pairs(), [0.5, 1.0, 2.0, 4.0], mechanism=None, guarantee="tree", structure=three
    )
    assert large.values == pytest.approx([5.5, 5.5, 2.0, 5.5])
    relaxed = total_leakage(
        tuples, 1.0, mechanism=None, guarantee="tree", structure=three, delta=1e-3
    )
    assert relaxed.deltas[2] == pytest.approx(1e-3)
    assert (relaxed.deltas[[0, 1, 3]] > 1e-3).all()


@pytest.mark.parametrize(
    ("structure", "error", "message"),
    [
        (None, GuaranteeError, "'tree' needs a structure"),
        ([("a0", "a1"), ("a1", "a2"), ("a2", "a0")], InputError, "must not close a cycle"),
        ([("a0", "a0")], InputError, "must not close a cycle"),
        ([("a0", "a9")], DomainError, "no attribute 'a9'"),
        (["a0"], InputError, "an edge must be a pair"),
        ("a0", InputError, "must be a list of edges"),
        (3, InputError, "must be a list of edges"),
        (IndependentGroups((("a0", "a1"), ("a1",))), InputError, "'a1' is in two"),
    ],
)
def test_invalid_structures_raise(structure, error, message):
    pairs = tuples_of(np.ones((2, 2, 2), dtype=np.int64)).pairs()
    with pytest.raises(error, match=message):
        total_leakage(pairs, 1.0, mechanism=None, guarantee="tree", structure=structure)
    with pytest.raises(InputError, match="a group must be a list"):
        IndependentGroups(("a0",))
