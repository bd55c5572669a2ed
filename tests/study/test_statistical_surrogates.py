"""Surrogates have the distribution of permuted records; p-values count them rightly."""

import numpy as np
import pytest
from scipy import stats

from seepage.mechanisms import GRR, OUE
from seepage.study import permutation as surrogates
from seepage.study.permutation import QUANTILES, largest_log_ratios, significance
from seepage.study.simulation import report_channel, simulate

TABLE = np.array([[30, 12, 8], [20, 25, 5], [4, 10, 26]])
REPLICAS, RUNS = 3, 500


@pytest.fixture(scope="module")
def collection():
    channel = GRR(3, 2.0).inferred_channel()
    return simulate(TABLE, channel, REPLICAS, np.random.default_rng(1))


def nulls(monkeypatch, collection, population, seed=2, draws=RUNS):
    """Every surrogate's statistic, which the result keeps as quantiles only."""
    kept = []
    monkeypatch.setattr(surrogates, "_quantiles", lambda values: kept.append(values) or ())
    significance(collection, draws, lambda block: np.random.default_rng([seed, block]), population)
    return kept[0]


def expanded(table):
    return np.divmod(np.repeat(np.arange(table.size), table.ravel()), table.shape[1])


def statistic(target, report):
    counts = np.zeros(TABLE.shape, dtype=np.int64)
    np.add.at(counts, (target, report), 1)
    return largest_log_ratios(counts[:, :, None], counts.sum(axis=1))[0]


def test_reports_permuted_one_by_one(monkeypatch, collection):
    generator = np.random.default_rng(3)
    target, report = expanded(collection.counts)
    permuted = [statistic(target, generator.permutation(report)) for _ in range(RUNS)]
    assert stats.ks_2samp(nulls(monkeypatch, collection, False), permuted).pvalue > 1e-3
    fewer = target[::3], report[::3]
    other = [statistic(fewer[0], generator.permutation(fewer[1])) for _ in range(RUNS)]
    assert stats.ks_2samp(nulls(monkeypatch, collection, False), other).pvalue < 1e-6


def test_records_permuted_before_they_are_perturbed(monkeypatch, collection):
    generator = np.random.default_rng(4)
    how = GRR(3, 2.0)
    target, source = expanded(TABLE)
    permuted = []
    for _ in range(RUNS):
        reports = how.perturb(np.repeat(generator.permutation(source), REPLICAS), generator)
        permuted.append(statistic(np.repeat(target, REPLICAS), how.infer(reports)))
    assert stats.ks_2samp(nulls(monkeypatch, collection, True), permuted).pvalue > 1e-3
    assert stats.ks_2samp(nulls(monkeypatch, collection, False), permuted).pvalue < 1e-6


def test_p_value_counts_hits(monkeypatch, collection):
    values = nulls(monkeypatch, collection, False, draws=99)
    found = significance(collection, 99, lambda block: np.random.default_rng([2, block]))
    assert found.hits == np.count_nonzero(values >= found.statistic)
    assert found.p_value == (1 + found.hits) / 100


def test_quantiles_are_those_of_the_surrogates(monkeypatch, collection):
    found = significance(collection, 200, lambda block: np.random.default_rng([2, block]))
    values = nulls(monkeypatch, collection, False, draws=200)
    assert found.null == pytest.approx(np.quantile(values, QUANTILES))


def test_equal_statistics_are_hits():
    table = np.array([[5, 0], [0, 5]])
    same = simulate(table, np.ones((2, 1)), 1, np.random.default_rng(1))
    assert significance(same, 9, lambda block: np.random.default_rng(block)).p_value == 1.0


def test_blocks_have_seeds_of_their_own(monkeypatch, collection):
    monkeypatch.setattr(surrogates, "CELLS_AT_ONCE", 3 * 40)
    blocks = []

    def generators(block):
        blocks.append(block)
        return np.random.default_rng([5, block])

    significance(collection, 100, generators)
    assert blocks == [0, 1, 2]


def test_a_wider_report_than_source_alphabet():
    how = OUE(3, 1.0)
    wide = simulate(TABLE, report_channel(how), 5, np.random.default_rng(1))
    for population in (False, True):
        found = significance(
            wide, 50, lambda block: np.random.default_rng(block), population=population
        )
        assert found.statistic > 0
        assert 0 < found.p_value <= 1
