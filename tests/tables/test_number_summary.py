"""Samples of records by priority, and summaries of a column's numbers."""

import numpy as np
import pytest

from seepage.counting import record_samples
from seepage.counting.record_samples import record_priorities
from seepage.tables import number_summary
from seepage.tables.bins import Quantile
from seepage.tables.number_summary import NumberSummary


def summarise(values, cuts):
    summary = NumberSummary()
    for begin, end in zip([0, *cuts], [*cuts, len(values)], strict=True):
        summary.add(values[begin:end], record_priorities(begin, end - begin))
    return summary


def test_priorities_do_not_depend_on_the_batch():
    whole = record_priorities(0, 1000)
    parts = [record_priorities(0, 7), record_priorities(7, 993)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert len(np.unique(whole)) == 1000


def test_priorities_look_uniform():
    share = record_priorities(0, 100_000) / 2.0**64
    assert np.histogram(share, bins=10, range=(0, 1))[0] == pytest.approx(
        10_000, abs=500
    )
    assert abs(np.corrcoef(share[1:], share[:-1])[0, 1]) < 0.01


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint16, np.float32, np.float64])
def test_integers_are_counted_exactly(kind):
    values = np.random.default_rng(5).integers(0, 100, 5000).astype(kind)
    values[4000:] += kind(20)
    summary = summarise(values, [10, 11, 3000])
    found, counts = summary.distinct()
    expected, expected_counts = np.unique(values, return_counts=True)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(counts, expected_counts)
    assert summary.integral


def test_int8_extremes_do_not_wrap():
    values = np.array([-128, 127, -128], dtype=np.int8)
    found, counts = summarise(values, [1]).distinct()
    assert found.tolist() == [-128, 127]
    assert counts.tolist() == [2, 1]


def test_few_fractions_are_exact():
    values = np.random.default_rng(6).normal(size=5000)
    found, counts = summarise(values, [100]).distinct()
    np.testing.assert_array_equal(found, np.sort(values))
    assert counts.sum() == 5000


def test_a_sample_is_bounded_and_does_not_depend_on_batches(monkeypatch):
    monkeypatch.setattr(number_summary, "SAMPLE_SIZE", 500)
    monkeypatch.setattr(number_summary, "MAX_COUNTED", 400)
    monkeypatch.setattr(record_samples, "MIN_BUFFER", 500)
    values = np.random.default_rng(7).normal(size=20_000)
    one = summarise(values, [])
    other = summarise(values, list(range(300, 20_000, 300)))
    np.testing.assert_array_equal(one.distinct()[0], other.distinct()[0])
    assert one.distinct()[1].sum() == 500
    assert (one.low, one.high) == (values.min(), values.max())
    assert other._sample.kept <= 1000


def test_sampled_quantiles_are_near_the_exact_ones():
    values = np.random.default_rng(8).exponential(size=1_200_000)
    edges = Quantile(10).edges(summarise(values, [400_000, 800_000]))
    shares = np.histogram(values, bins=edges)[0] / len(values)
    assert abs(shares - 0.1).max() < 0.005
    assert edges[0] <= values.min()
    assert values.max() <= edges[-1]


def test_few_numbers_of_a_wide_span_are_counted_however_many_records_there_are(
    monkeypatch,
):
    monkeypatch.setattr(number_summary, "SAMPLE_SIZE", 20)
    values = np.array([0, 10**9, 5, 5] * 100)
    summary = summarise(values, [2, 150])
    assert summary.integral
    assert [part.tolist() for part in summary.distinct()] == [
        [0, 5, 10**9],
        [100, 200, 100],
    ]
