"""Exact totals against full enumeration, and the chain witness <= exact <= merged <=
worst.
"""

import itertools
import math
import operator
from contextlib import nullcontext
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joint_oracle import (
    domain_of,
    exact_total,
    joints,
    report_matrix,
    tuples_of,
    two_level_columns,
    xor,
)

from seepage._core.errors import GuaranteeError
from seepage._core.rounding import round_up, rounding
from seepage.channel.records import Records
from seepage.leakage.likely_sets import LikelySets
from seepage.mechanisms.likelihood_columns import MatrixColumns, TwoLevelColumns
from seepage.mechanisms.mechanism_registry import mechanism
from seepage.totals import exact_total as exact_module
from seepage.totals.exact_total import exact_size, exact_totals
from seepage.totals.total import total_leakage
from strategies import exponential

contrasts = st.sampled_from([0.0, 1e-12, 0.5, 1.0, 3.0, 40.0])


@st.composite
def released_joints(draw):
    """Draw a joint table and what each attribute's report can say."""
    joint = draw(joints())
    columns = []
    matrices = []
    for size in joint.shape:
        kind = (
            draw(st.sampled_from(["singletons", "subsets", "all"]))
            if size > 1
            else "all"
        )
        likely = draw(st.integers(1, size - 1)) if size > 1 else 1
        contrast = draw(contrasts)
        columns.append(TwoLevelColumns(size, LikelySets(kind, contrast, likely)))
        matrices.append(two_level_columns(size, kind, contrast, likely))
    return joint, columns, matrices


def in_words(found, tuples):
    """Return ln p(y given x) / p(y given x') of a witness, from its words alone."""

    def likelihood(value, contrasts):
        own = tuples.domain.index(found.target)
        people = tuples.column(own) == tuples.domain[own].code(value)
        total = tuples.weights[people].astype(float)
        for k, contrast in enumerate(contrasts):
            likely = {
                tuples.domain[k].code(v) for v in found.reports[tuples.domain.names[k]]
            }
            inside = np.isin(tuples.column(k)[people], list(likely))
            total = total * np.where(inside, 1.0, math.exp(-contrast))
        return total.sum() / tuples.weights[people].sum()

    return lambda contrasts: math.log(
        likelihood(found.likelier, contrasts) / likelihood(found.other, contrasts)
    )


@settings(max_examples=150)
@given(released_joints())
def test_exact_is_the_supremum_over_all_reports(drawn):
    joint, columns, matrices = drawn
    tuples = tuples_of(joint)
    found = exact_totals(tuples, columns)[0]
    for target, column in enumerate(columns):
        truth = max(exact_total(joint, matrices, target), column.contrast)
        assert found[target] >= truth * (1 - 1e-14) - 1e-15
        assert found[target] <= truth * (1 + 1e-12) + 1e-12


@pytest.mark.parametrize(
    "budgets", [(1e-12, 1e-12), (1e-6, 1e-12), (0.0, 1e-17), (10.0, 1e-12)]
)
def test_the_leakage_of_tiny_budgets_is_not_lost_in_rounding(budgets):
    """Two sides of a table that differ by one person in two million: ratios of 1 in
    floats.
    """
    joint = np.array([[1_000_000, 1_000_001], [1_000_000, 1_000_000]])
    columns = [TwoLevelColumns(2, LikelySets("all", contrast)) for contrast in budgets]
    with localcontext(prec=80):
        shares = [Decimal(int(row[1])) / int(row.sum()) for row in joint]
        more = Decimal(budgets[1]).exp() - 1
        ratio = max(
            (1 + more * a) / (1 + more * b)
            for first, second in itertools.permutations(shares)
            for a, b in [(first, second), (1 - first, 1 - second)]
        )
        truth = Decimal(budgets[0]) + ratio.ln()
    assert Decimal(float(exact_totals(tuples_of(joint), columns)[0][0])) >= truth
    assert (
        Decimal(
            float(
                total_leakage(
                    tuples_of(joint), budgets, mechanism=None, guarantee="exact"
                )["a0"]
            )
        )
        >= truth
    )


@pytest.mark.parametrize("size", [2, 3, 4])
def test_a_source_has_as_many_columns_as_it_counts(size):
    for width in range(1, size + 1):
        for kind in ("singletons", "subsets", "all"):
            column = TwoLevelColumns(
                size, LikelySets(kind, 1.0, width if kind == "subsets" else 1)
            )
            matrix = column.matrix()
            assert matrix.shape == (size, column.count)
            assert len(np.unique(matrix, axis=1).T) == column.count


@pytest.mark.parametrize("seed", range(4))
def test_a_matrix_with_more_reports_than_values(seed):
    """Its best report is found for each combination of the others, not enumerated with
    them.
    """
    rng = np.random.default_rng(seed)
    matrices = [two_level_columns(2, "all", 1.0), rng.dirichlet(np.ones(5), 2)]
    matrices.append(rng.dirichlet(np.ones(3), 3))
    columns = [
        TwoLevelColumns(2, LikelySets("all", 1.0)),
        *map(MatrixColumns, matrices[1:]),
    ]
    joint = rng.integers(0, 9, (2, 2, 3))
    found = exact_totals(tuples_of(joint), columns)[0]
    truth = [exact_total(joint, matrices, target) for target in range(3)]
    assert found == pytest.approx(truth, rel=1e-12)


@settings(max_examples=60)
@given(released_joints())
def test_the_report_tuple_attains_the_total(drawn):
    joint, columns, _ = drawn
    tuples = tuples_of(joint)
    contrasts = [column.contrast for column in columns]
    for value, found in zip(*exact_totals(tuples, columns), strict=True):
        if found is not None:
            assert in_words(found, tuples)(contrasts) == pytest.approx(
                found.value, abs=1e-10
            )
            assert found.value <= value


def test_blocks_do_not_matter(monkeypatch):
    rng = np.random.default_rng(1)
    joint = rng.integers(0, 4, (2, 3, 2, 4, 2))
    columns = [TwoLevelColumns(k, LikelySets("singletons", 1.0)) for k in joint.shape]
    columns[3] = TwoLevelColumns(4, LikelySets("all", 1.0))
    whole = exact_totals(tuples_of(joint), columns)[0]
    monkeypatch.setattr(exact_module, "BLOCK", 7)
    monkeypatch.setattr(exact_module, "MAX_PRODUCT_SIZE", 1)
    calls = []
    pieces, evidence = exact_totals(
        tuples_of(joint), columns, lambda done, work: calls.append((done, work))
    )
    assert pieces == pytest.approx(whole, rel=1e-12)
    contrasts = [1.0] * 5
    for found in evidence:
        assert in_words(found, tuples_of(joint))(contrasts) == pytest.approx(
            found.value
        )
    assert len(calls) > 5
    assert all(done <= work for done, work in calls)


def test_exact_is_never_below_the_truth_in_fractions():
    """Contrast ln 2 rounded up: likelihoods are halves, so the supremum is a
    fraction.
    """
    rng = np.random.default_rng(2)
    contrast = math.nextafter(math.log(2), math.inf)
    for _ in range(40):
        joint = rng.integers(0, 4, (2, 3, 2)) + (rng.random((2, 3, 2)) < 0.2)
        if not joint.sum(axis=(1, 2)).all():
            continue
        columns = [
            TwoLevelColumns(k, LikelySets("singletons", contrast)) for k in joint.shape
        ]
        value = exact_totals(tuples_of(joint), columns)[0][0]
        best = Fraction(0)
        for y in itertools.product(range(3), range(2)):
            likelihoods = []
            for x in range(2):
                total = sum(
                    Fraction(int(joint[x, u, v])) / 2 ** ((u != y[0]) + (v != y[1]))
                    for u in range(3)
                    for v in range(2)
                )
                likelihoods.append(total / int(joint[x].sum()))
            best = max(best, *(a / b for a, b in itertools.permutations(likelihoods)))
        truth = 2 * best
        assert Fraction(math.exp(value)) * (1 + Fraction(1, 2**50)) >= truth
        assert value == pytest.approx(math.log(truth), abs=1e-13)


def test_xor_leaks_what_no_pair_shows():
    tuples = tuples_of(xor(1000))
    truth = 1 + math.log(math.cosh(1))
    assert truth == pytest.approx(1.4338, abs=5e-5)
    for mechanism_name in ("grr", "oue", "ss", None):
        exact = total_leakage(tuples, 1.0, mechanism=mechanism_name, guarantee="exact")
        assert exact.values == pytest.approx([truth] * 3, abs=1e-9)
        assert exact.kind == "certified"
        independent = total_leakage(
            tuples, 1.0, mechanism=mechanism_name, guarantee="independent"
        )
        assert independent.values == pytest.approx([1.0] * 3, abs=1e-12)
        assert independent.kind == "assumed"
    assert total_leakage(tuples, 1.0, mechanism="exp", guarantee="exact").values[
        0
    ] == pytest.approx(0.5 + math.log(math.cosh(0.5)), abs=1e-9)


@settings(max_examples=60)
@given(
    joints(),
    st.sampled_from([0.0, 1e-12, 0.3, 1.0, 5.0]),
    st.sampled_from([None, "grr"]),
)
def test_witness_exact_merged_worst_are_in_order(joint, epsilon, name):
    tuples = tuples_of(joint)
    witness, exact, merged, worst = (
        total_leakage(tuples, epsilon, mechanism=name, guarantee=guarantee).values
        for guarantee in ("witness", "exact", "merged", "worst")
    )
    assert (witness <= exact).all()
    assert (exact <= merged * (1 + 1e-12) + 1e-12).all()
    assert (merged <= worst * (1 + 1e-12)).all()
    total = epsilon * sum(size > 1 or name is None for size in joint.shape)
    assert worst == pytest.approx(np.full(joint.ndim, total))


def test_without_its_delta_a_total_may_exceed_the_sum_of_budgets():
    """Exact totals hold without any delta, so the budgets with one must not cap
    them.
    """
    coin = Records(domain_of([2]), [[0], [1]])
    how = {"guarantee": "exact", "delta": 0.01}
    found = total_leakage(coin, 1.0, mechanism="approximate-grr", **how)
    contrast = mechanism("approximate-grr", 2, 1.0, 0.01).likely_sets.contrast
    assert found.values[0] == pytest.approx(contrast)
    assert found.values[0] > 1.0
    assert found.deltas[0] == 0.0
    with pytest.raises(
        GuaranteeError, match=r"ratios of gauss have no bound.* use 'merged'"
    ):
        total_leakage(coin, 1.0, mechanism="gauss", **how)


MECHANISMS = ("grr", "exp", "ss", "rappor", "oue", "approximate-grr", "approximate-sue")


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_exact_enumerates_the_reports_of_a_mechanism(name, epsilon):
    rng = np.random.default_rng(3)
    delta = 1e-3 if name.startswith("approximate") else 0.0
    for sizes in ((3, 2, 2), (2, 4), (3, 3)):
        joint = rng.integers(0, 9, sizes)
        matrices = [report_matrix(mechanism(name, k, epsilon, delta)) for k in sizes]
        found = total_leakage(
            tuples_of(joint), epsilon, mechanism=name, guarantee="exact", delta=delta
        )
        truth = [exact_total(joint, matrices, target) for target in range(len(sizes))]
        assert found.values == pytest.approx(truth, rel=1e-9)
        assert (found.values >= np.array(truth) - 1e-13).all()
        assert not found.deltas.any()


def test_mechanisms_may_differ_and_have_any_matrix():
    rng = np.random.default_rng(4)
    joint = rng.integers(1, 9, (3, 2, 2))
    near = exponential([[0, -1, -2], [-1, 0, -1], [-2, -1, 0]], 2.0)
    how = {"a0": near, "a1": "oue", "a2": "public"}
    matrices = [near.channel(), report_matrix(mechanism("oue", 2, 1.0)), np.eye(2)]
    found = total_leakage(tuples_of(joint), 1.0, mechanism=how, guarantee="exact")
    truth = [exact_total(joint, matrices, target) for target in range(3)]
    assert found.values[:2] == pytest.approx(truth[:2], rel=1e-9)
    assert found.values[2] == truth[2] == math.inf


@pytest.mark.parametrize("name", ["grr", "oue", "olh"])
def test_inferred_view_has_only_the_inferred_value(name):
    joint = np.random.default_rng(5).integers(1, 9, (3, 2, 2))
    matrices = [mechanism(name, k, 1.0).inferred_channel() for k in joint.shape]
    found = total_leakage(
        tuples_of(joint), 1.0, mechanism=name, guarantee="exact", view="inferred"
    )
    truth = [exact_total(joint, matrices, target) for target in range(3)]
    assert found.values == pytest.approx(truth, rel=1e-9)


def test_one_source_of_any_size_is_not_enumerated():
    """30 values have a thousand million likely sets; the best one is computed."""
    joint = np.random.default_rng(6).integers(0, 9, (2, 30))
    tuples = tuples_of(joint)
    found = total_leakage(tuples, 1.0, mechanism="oue", guarantee="exact")
    pairs = total_leakage(tuples.pairs(), 1.0, mechanism="oue", guarantee="independent")
    assert found.values == pytest.approx(pairs.values, rel=1e-9)


def test_the_smallest_likelihood_is_a_normal_number():
    """The table has 4 records; of two sources the smallest likelihood is e^-2 epsilon /
    4.
    """
    largest = (exact_module.MAX_SPAN - math.log(4)) / 3
    assert math.exp(-3 * largest) / 4 >= np.finfo(np.float64).tiny
    for epsilon, fits in ((largest - 1e-9, True), (largest + 1e-9, False)):
        columns = [TwoLevelColumns(2, LikelySets("all", epsilon))] * 3
        with nullcontext() if fits else pytest.raises(GuaranteeError):
            exact_module.check_exact_size(columns, 4)
    with pytest.raises(GuaranteeError, match=r"likelihoods down to e\^-720"):
        total_leakage(tuples_of(xor()), 240.0, mechanism="grr", guarantee="exact")


@pytest.mark.parametrize("epsilon", [50.0, 220.0])
def test_large_budgets_neither_overflow_nor_vanish(epsilon):
    found = total_leakage(tuples_of(xor()), epsilon, mechanism="grr", guarantee="exact")
    assert found.values == pytest.approx([2 * epsilon - math.log(2)] * 3, rel=1e-12)


def test_edges_of_the_domain():
    single = Records(domain_of([1, 3]), [[0, 0], [0, 1]])
    found = total_leakage(single, 1.0, mechanism=None, guarantee="exact")
    assert found.values.tolist() == [0.0, 1.0]
    assert "no record has 'a12' of 'a1'" in found.notes[0]
    alone = total_leakage(
        Records(domain_of([3]), [[0], [2]]), 2.0, mechanism="grr", guarantee="exact"
    )
    assert alone.values == pytest.approx([2.0])
    constant = total_leakage(
        Records(domain_of([2, 2]), [[0, 0], [0, 1]]),
        1.0,
        mechanism="grr",
        guarantee="exact",
    )
    assert constant.values == pytest.approx(
        [1.0, 1.0]
    )  # its own report still tells values apart


def test_a_table_that_does_not_fit_raises_with_its_size():
    wide = Records(domain_of([2] * 40), np.zeros((1, 40), dtype=np.uint8))
    with pytest.raises(
        GuaranteeError, match=r"40 attributes need 1.1e\+12 .* use 'sampled'"
    ):
        total_leakage(wide, 1.0, mechanism="grr", guarantee="exact")
    many = tuples_of(np.ones((2, 25, 25), dtype=np.int64))
    with pytest.raises(GuaranteeError, match="combinations of reports"):
        total_leakage(many, 1.0, mechanism="oue", guarantee="exact")
    huge = tuples_of(np.ones((2,) * 4, dtype=np.int64))
    with pytest.raises(GuaranteeError, match=r"e\^-12000.*use 'merged'"):
        total_leakage(huge, 3000.0, mechanism="grr", guarantee="exact")
    with pytest.raises(GuaranteeError, match="with this delta have no bound"):
        total_leakage(huge, 1.0, mechanism=None, guarantee="exact", delta=1e-6)


def test_sizes_count_the_largest_table():
    columns = [TwoLevelColumns(k, LikelySets("singletons", 1.0)) for k in (2, 3, 4)]
    assert exact_size(columns) == 24
    columns = [TwoLevelColumns(k, LikelySets("all", 1.0)) for k in (2, 3, 12)]
    assert [column.count for column in columns] == [2, 6, 4094]
    assert exact_size(columns) == 2 * 6 * 12
    assert MatrixColumns(np.array([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]])).count == 2


@pytest.mark.parametrize("kind", ["all", "subsets"])
def test_a_value_of_large_weight_does_not_hide_the_best_set(kind):
    """Weights from 1 down to 1e-80, against every set in exact fractions.

    What `exact_totals` adds for rounding must make up for what is missing.
    """
    rng = np.random.default_rng(3)
    upper, lower = (rng.dirichlet([0.02] * 4, 600) for _ in range(2))
    columns = TwoLevelColumns(4, LikelySets(kind, 300.0, 2))
    found = columns.best(upper, lower)[0]
    weights = [list(map(Fraction, column)) for column in columns.matrix().T.tolist()]
    for high, low, value in zip(
        upper.tolist(), lower.tolist(), found.tolist(), strict=True
    ):
        above, below = list(map(Fraction, high)), list(map(Fraction, low))
        exact = max(
            sum(map(operator.mul, weight, above))
            / sum(map(operator.mul, weight, below))
            for weight in weights
        )
        with localcontext() as context:
            context.prec = 60
            truth = (Decimal(exact.numerator) / Decimal(exact.denominator)).ln()
        assert Decimal(round_up(value, 3 * 4 + 8) + 2 * rounding([4])) >= truth
