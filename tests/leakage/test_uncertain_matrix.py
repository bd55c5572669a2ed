"""Matrices over uncertain rows against single leakages and the other table's own."""

import math

import numpy as np
import pytest

import seepage as sp
from seepage._core.errors import InputError
from seepage.leakage.uncertainty import MeasuredRows, row_distances

COLUMNS = ["sex", "race", "income", "relationship"]
RANDOMISED = sp.MatrixMechanism([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]], name="own")


@pytest.mark.parametrize("mechanism", [None, "grr", "exp", "oue", "ss", "public"])
def test_wider_with_the_distance(mechanism):
    plain = sp.leakage_matrix("adult", 1.0, mechanism=mechanism, columns=COLUMNS)
    near, far = (
        sp.leakage_matrix(
            "adult", 1.0, mechanism=mechanism, columns=COLUMNS, uncertainty=distance
        )
        for distance in (0.02, 0.1)
    )
    assert (plain.values <= near.values).all()
    assert (near.values <= far.values).all()
    assert (near.values > plain.values).any()
    assert (far.values <= far.epsilons).all()
    assert near["sex", "income"].value == near.values[0, 2]
    assert "rows within 0.02" in repr(near)


def test_the_matrix_of_the_bound_is_the_bound_of_each_channel():
    distances = {"sex": 0.05, "*": 0.01}
    matrix = sp.leakage_matrix("adult", 1.0, columns=COLUMNS, uncertainty=distances)
    for target in COLUMNS:
        for source in COLUMNS:
            if target == source:
                continue
            single = sp.leakage_bound(
                matrix.channel(target, source),
                1.0,
                uncertainty=distances.get(target, 0.01),
            )
            assert matrix[target, source].value == pytest.approx(single.value)
            assert matrix[target, source].witness is not None


def test_a_transition_matrix_and_a_delta():
    pairs = sp.load_pairs("adult").select(["sex", "income"])
    own = sp.leakage_matrix(pairs, 1.0, mechanism=RANDOMISED)
    near = sp.leakage_matrix(pairs, 1.0, mechanism=RANDOMISED, uncertainty=0.05)
    assert (near.values >= own.values).all()
    assert near["sex", "income"].value == near.values[0, 1]
    rows = near.channel("sex", "income").matrix
    worst = 0.0
    for first in (-0.05, 0.05):
        for second in (-0.05, 0.05):
            moved = rows + np.array([[first, -first], [second, -second]])
            worst = max(worst, sp.exact_leakage(moved, RANDOMISED).value)
    assert near.values[0, 1] == pytest.approx(worst)
    slack = sp.leakage_matrix(
        pairs, 1.0, mechanism="approximate-grr", delta=0.01, uncertainty=0.05
    )
    bound = sp.leakage_bound(
        slack.channel("sex", "income"), 1.0, delta=0.01, uncertainty=0.05
    )
    assert slack["sex", "income"].value == pytest.approx(bound.value)
    assert slack.deltas[0, 1] == pytest.approx(bound.delta)


def two_tables(seed):
    """Return pair counts of two random tables in one domain, rare values included."""
    rng = np.random.default_rng(seed)
    domain = sp.Domain(
        [
            sp.Attribute("a", ("0", "1", "2")),
            sp.Attribute("b", ("0", "1")),
            sp.Attribute("c", ("0", "1", "2", "3")),
        ]
    )
    tables = []
    for records in (40, 60):
        codes = np.stack([rng.integers(0, size, records) for size in domain.sizes], 1)
        codes[: records // 2, 1] = codes[: records // 2, 0] > 0
        tables.append(sp.Records(domain, codes).pairs())
    return tables


@pytest.mark.parametrize("mechanism", [None, "grr", "ss", "exp"])
@pytest.mark.parametrize("seed", range(8))
def test_with_measured_distances_never_below_the_other_table(mechanism, seed):
    first, second = two_tables(seed)
    measured = MeasuredRows(first, second)
    other = sp.leakage_matrix(second, 1.5, mechanism=mechanism)
    covering = sp.leakage_matrix(first, 1.5, mechanism=mechanism, uncertainty=measured)
    assert (other.values <= covering.values + 1e-12).all()
    own = sp.leakage_matrix(first, 1.5, mechanism=mechanism)
    assert (own.values <= covering.values + 1e-12).all()


def test_a_value_that_only_the_other_table_has_may_have_any_row():
    domain = sp.Domain(
        [sp.Attribute("a", ("0", "1", "2")), sp.Attribute("b", ("0", "1"))]
    )
    first = sp.PairCounts(domain, [[5, 5, 0], [5, 5]], [3, 2, 2, 3, 0, 0])
    second = sp.PairCounts(domain, [[5, 4, 1], [5, 5]], [3, 2, 2, 2, 0, 1])
    matrix = sp.leakage_matrix(first, 1.0, uncertainty=MeasuredRows(first, second))
    truth = math.log1p(math.expm1(1.0) * 0.7)  # under a = 1; under a = 2 possibly 0
    assert matrix.values[0, 1] == pytest.approx(truth)
    assert matrix["a", "b"].value == matrix.values[0, 1]
    assert row_distances(np.array([[0, 0]]), np.array([[1, 0]])).tolist() == [1.0]


def test_values_that_never_occur_are_left_out():
    domain = sp.Domain(
        [sp.Attribute("a", ("0", "1", "2")), sp.Attribute("b", ("0", "1"))]
    )
    pairs = sp.PairCounts(domain, [[10, 0, 0], [5, 5]], [5, 5, 0, 0, 0, 0])
    matrix = sp.leakage_matrix(pairs, 1.0, uncertainty=0.2)
    assert matrix.values[0, 1] == 0.0
    assert matrix["a", "b"].value == 0.0


def test_what_speaks_of_the_rows_of_the_table_raises():
    with pytest.raises(InputError, match="which smoothing changes"):
        sp.leakage_matrix("adult", 1.0, columns=COLUMNS, uncertainty=0.1, prior=1)
    matrix = sp.leakage_matrix("adult", 1.0, columns=COLUMNS, uncertainty=0.1)
    with pytest.raises(InputError, match="with uncertainty there are none"):
        matrix.interval()
    with pytest.raises(InputError, match="with uncertainty there are none"):
        matrix.leak_among("sex", "race", 10)
    none = sp.leakage_matrix("adult", 1.0, columns=COLUMNS, uncertainty=0)
    assert none.uncertainty is None
