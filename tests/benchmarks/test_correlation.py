"""Conventional measures against SciPy, hand calculation and the paper's example."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from seepage import Domain, PairCounts, Records, correlation_matrix
from seepage._core.errors import DomainError, InputError
from seepage.benchmarks.correlation import METRICS
from strategies import attribute, pair_counts, tables

EXAMPLE = np.array([[20, 0, 0, 0], [0, 20, 0, 0], [10, 15, 3, 2], [10, 15, 3, 2]])


def of_table(counts):
    domain = Domain([attribute("x", counts.shape[0]), attribute("y", counts.shape[1])])
    return PairCounts(domain, [counts.sum(axis=1), counts.sum(axis=0)], counts.ravel())


def values(pairs, metric):
    return correlation_matrix(pairs, metric).values


def test_the_example_of_the_paper():
    pairs = of_table(EXAMPLE)
    nmi, pcc = (values(pairs, metric)[0, 1] for metric in ("nmi", "pcc"))
    assert nmi == pytest.approx(0.16493, abs=5e-6)  # the paper cuts it to 0.164
    assert pcc == pytest.approx(0.357, abs=5e-4)


@given(tables())
def test_mutual_information_is_the_difference_of_entropies(counts):
    found = values(of_table(counts), "mi")
    joint = stats.entropy(counts.ravel())
    rows = stats.entropy(counts.sum(axis=1))
    columns = stats.entropy(counts.sum(axis=0))
    assert found[0, 1] == pytest.approx(rows + columns - joint, rel=1e-9, abs=1e-13)
    assert np.diag(found) == pytest.approx([rows, columns], rel=1e-9, abs=1e-15)
    nmi = values(of_table(counts), "nmi")[0, 1]
    if joint > 0:
        assert nmi == pytest.approx(
            (rows + columns - joint) / joint, abs=1e-12 + 1e-15 / joint
        )
    else:
        assert nmi == 0


@given(st.integers(0, 2**32), st.integers(2, 50))
def test_pearson_of_the_codes(seed, records):
    rng = np.random.default_rng(seed)
    columns = {"x": rng.integers(0, 4, records), "y": rng.integers(0, 3, records)}
    found = values(pair_counts(columns, [4, 3]), "pcc")[0, 1]
    if min(np.ptp(column) for column in columns.values()) == 0:
        assert found == 0
    else:
        assert found == pytest.approx(np.corrcoef(*columns.values())[0, 1], abs=1e-12)


@given(tables(), st.sampled_from(sorted(METRICS)))
def test_symmetric_and_within_range(counts, metric):
    there = values(of_table(counts), metric)
    back = values(of_table(counts.T.copy()), metric)
    assert np.array_equal(there, there.T)
    assert there[0, 1] == pytest.approx(back[0, 1], rel=1e-9, abs=1e-12)
    assert np.isfinite(there).all()
    if metric != "mi":
        assert (np.abs(there) <= 1).all()
    if metric != "pcc":
        assert (there >= 0).all()


@pytest.mark.parametrize("metric", METRICS)
def test_a_constant_attribute_correlates_with_nothing(metric):
    columns = {
        "constant": [3] * 13,
        "other": np.arange(13) % 7,
        "third": np.arange(13) % 2,
    }
    found = values(pair_counts(columns, [4, 7, 2]), metric)
    assert found[0].tolist() == found[:, 0].tolist() == [0, 0, 0]
    assert found[1, 2] != 0
    assert found[1, 1] == pytest.approx(found[1, 1] if metric == "mi" else 1.0)


@pytest.mark.parametrize("metric", ["mi", "nmi"])
def test_independent_attributes_have_exactly_none(metric):
    counts = np.outer([1, 2, 3, 7], [5, 7, 11])
    assert values(of_table(counts), metric)[0, 1] == 0


def test_a_copy_correlates_fully():
    column = np.array([0, 1, 2, 2, 1, 1])
    pairs = pair_counts({"x": column, "copy": column, "mirror": 2 - column})
    assert values(pairs, "nmi") == pytest.approx(np.ones((3, 3)))
    assert values(pairs, "pcc")[0].tolist() == pytest.approx([1, 1, -1])
    entropy = -sum(p * math.log(p) for p in (1 / 6, 3 / 6, 2 / 6))
    assert values(pairs, "mi") == pytest.approx(np.full((3, 3), entropy))


def test_no_records_are_no_correlation():
    for metric in METRICS:
        assert (values(of_table(np.zeros((2, 3), dtype=int)), metric) == 0).all()


def test_counts_beyond_2_to_53_are_no_trouble():
    huge = EXAMPLE.astype(np.int64) * 2**54
    for metric in METRICS:
        expected = values(of_table(EXAMPLE), metric)
        np.testing.assert_allclose(values(of_table(huge), metric), expected, rtol=1e-9)


def test_an_unknown_metric_raises_with_the_nearest():
    with pytest.raises(InputError) as refused:
        correlation_matrix(of_table(EXAMPLE), "pc")
    assert str(refused.value) == (
        "metric must be one of mi, nmi, pcc, got 'pc'; did you mean 'pcc'?"
    )


def test_a_matrix_is_indexed_by_names_and_has_a_caution_for_a_sample():
    domain = Domain([attribute("x", 2), attribute("y", 2)])
    part = Records(domain, [[0, 0], [0, 1], [1, 1]], [10] * 3, population=4000)
    found = correlation_matrix(part, "pcc")
    assert (
        found["x", "y"] == found["y", "x"] == found.values[0, 1] == pytest.approx(0.5)
    )
    assert found.cautions[0].startswith("from a sample of 30 of 4,000 records")
    assert repr(found).endswith("2 attributes, of a sample)")
    assert found.to_csv() == f"attribute,other,pcc\nx,y,{found['x', 'y']}\n"
    with pytest.raises(DomainError, match="chosen by two attributes, got 'xy'"):
        found["xy"]


def test_any_data_are_accepted():
    table = pa.table({"x": ["a", "b", "b"], "y": [1.0, 2.0, 3.0]})
    assert correlation_matrix(table, "nmi", bins=2)["x", "y"] > 0.2
