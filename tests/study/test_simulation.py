"""The two methods of simulating a collection have the same, correct distribution."""

import numpy as np
import pytest
from scipy import stats

from seepage.data.domain import Attribute
from seepage.errors import InputError
from seepage.mechanisms import mechanism, registered
from seepage.mechanisms.direct import GRR, SubsetSelection
from seepage.mechanisms.she import SHE
from seepage.mechanisms.unary import OUE
from seepage.study.estimation_task import (
    REPORTS_PER_BLOCK,
    Task,
    report_channel,
    report_indexer,
    report_name,
)
from seepage.study.simulation import largest_log_ratios, simulate, simulate_row

TABLE = np.array([[40, 3, 10, 0], [5, 60, 20, 7], [0, 0, 1, 0]])
FAMILIES = sorted(registered())


def make(name, k, epsilon):
    return mechanism(name, k, epsilon, 0.01 if registered()[name].approximate else 0.0)


def by_record(how, table, replicas, generator, view="inferred"):
    sizes = zip(("target", "source"), table.shape, strict=True)
    target, source = (Attribute(name, tuple("abcdefgh"[:size])) for name, size in sizes)
    values = np.arange(how.k)[:, None]
    task = Task((0, 1), target, (source,), (how,), 0.0, values, table, view)
    return task.collect_records(replicas, generator)


def by_count(how, table, replicas, generator):
    return simulate(table, how.inferred_channel(), replicas, generator)


def same_shares(one, two):
    """The p-value of the test that two tables of reports have the same shares in each row."""
    total = 0.0
    freedom = 0
    for first, second in zip(one, two, strict=True):
        both = np.stack([first, second])
        both = both[:, both.sum(axis=0) > 0]
        if both.shape[1] > 1 and (both.sum(axis=1) > 0).all():
            found = stats.chi2_contingency(both, correction=False)
            total, freedom = total + found.statistic, freedom + found.dof
    return stats.chi2.sf(total, freedom)


def test_there_are_mechanisms():
    assert len(FAMILIES) >= 8


@pytest.mark.parametrize("name", FAMILIES)
def test_margins_of_both_methods(name):
    how = make(name, 4, 1.0)
    for collect in (by_count, by_record):
        found = collect(how, TABLE, 3, np.random.default_rng(1))
        assert (found.counts.sum(axis=1) == 3 * TABLE.sum(axis=1)).all()
        assert (found.pooled.sum(axis=1) == 3 * TABLE.sum(axis=0)).all()
        assert (found.counts.sum(axis=0) == found.pooled.sum(axis=0)).all()


@pytest.mark.parametrize("name", FAMILIES)
def test_both_methods_give_the_same_shares_and_not_those_of_another_budget(name):
    how, replicas = make(name, 4, 1.0), 400
    records = by_record(how, TABLE, replicas, np.random.default_rng(2))
    counts = by_count(how, TABLE, replicas, np.random.default_rng(3))
    assert same_shares(records.counts, counts.counts) > 1e-3
    assert same_shares(records.pooled, counts.pooled) > 1e-3
    for factor in (0.1, 6.0) if name == "basic-rappor" else (0.7, 1.3):
        other = by_count(make(name, 4, factor), TABLE, replicas, np.random.default_rng(4))
        assert same_shares(records.counts, other.counts) < 1e-3


def estimates(collect, how, runs, seed):
    """The plug-in estimates of many small collections, all cells filled in."""
    generator = np.random.default_rng(seed)
    table = TABLE[:2]
    totals = 2 * table.sum(axis=1)
    found = [collect(how, table, 2, generator).counts[:, :, None] for _ in range(runs)]
    return np.array([largest_log_ratios(counts, totals)[0] for counts in found])


@pytest.mark.parametrize("name", FAMILIES)
def test_both_methods_give_estimates_of_the_same_distribution(name):
    how = make(name, 4, 1.0)
    one, two = (estimates(collect, how, 200, 5) for collect in (by_record, by_count))
    assert stats.ks_2samp(one, two).pvalue > 1e-3


def test_that_comparison_rejects_other_budgets():
    reference = estimates(by_record, GRR(4, 2.0), 400, 6)
    assert stats.ks_2samp(reference, estimates(by_count, GRR(4, 2.0), 400, 7)).pvalue > 1e-3
    for factor in (0.7, 1.3):
        other = estimates(by_count, GRR(4, 2.0 * factor), 400, 8)
        assert stats.ks_2samp(reference, other).pvalue < 1e-3


@pytest.mark.parametrize("collect", [by_count, by_record])
def test_cells_vary_as_sums_of_multinomials_not_as_one(collect):
    how, replicas, runs = GRR(4, 3.0), 2, 600
    channel, generator = how.inferred_channel(), np.random.default_rng(9)
    counts = [collect(how, TABLE[:2], replicas, generator).counts for _ in range(runs)]
    exact = replicas * TABLE[:2] @ (channel * (1 - channel))
    shares = TABLE[:2] @ channel / TABLE[:2].sum(axis=1, keepdims=True)
    naive = replicas * TABLE[:2].sum(axis=1, keepdims=True) * shares * (1 - shares)
    found = np.var(counts, axis=0, ddof=1)
    assert np.mean(found / exact) == pytest.approx(1, abs=0.1)
    assert np.mean(found / naive) < 0.7


def test_blocks_do_not_change_the_counts(monkeypatch):
    assert REPORTS_PER_BLOCK >= 1 << 16
    whole = by_record(GRR(4, 800.0), TABLE, 5, np.random.default_rng(1))
    monkeypatch.setattr("seepage.study.estimation_task.REPORTS_PER_BLOCK", 7)
    blocks = by_record(GRR(4, 800.0), TABLE, 5, np.random.default_rng(1))
    assert np.array_equal(whole.counts, 5 * TABLE)
    assert np.array_equal(blocks.counts, 5 * TABLE)
    assert np.array_equal(blocks.pooled, np.diag(5 * TABLE.sum(axis=0)))


@pytest.mark.parametrize(
    "channel",
    [
        GRR(4, 1.0).inferred_channel(),
        GRR(4, 0.0).inferred_channel(),
        np.eye(4),
        np.array([[0.5, 0.5, 0, 0], [0.1, 0.2, 0.3, 0.4], [0, 0, 0.5, 0.5], [0.7, 0.1, 0.1, 0.1]]),
        report_channel(OUE(4, 1.0)),
    ],
)
def test_many_tables_at_once_have_the_same_distribution(channel):
    cells = np.array([40, 3, 10, 0])
    size = 4_000
    stack = np.repeat(cells[:, None], size, axis=1)
    rows = simulate_row(stack, channel, 2, np.random.default_rng(1))
    assert (rows.sum(axis=0) == 2 * cells.sum()).all()
    expected = 2 * cells @ channel
    spread = 2 * cells @ (channel * (1 - channel))
    assert rows.mean(axis=1) == pytest.approx(expected, abs=4.5 * np.sqrt(spread.max() / size))
    varied = spread > 0.5
    assert rows.var(axis=1)[varied] == pytest.approx(spread[varied], rel=0.15)


# Whole reports -----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [GRR(3, 1.0), SubsetSelection(8, 1.0), OUE(3, 1.0)])
def test_whole_reports_are_counted_in_their_columns(how):
    table = np.full((2, how.k), 300)
    found = by_record(how, table, 20, np.random.default_rng(1), view="report")
    expected = 20 * table.sum(axis=0)[:, None] * report_channel(how)
    assert found.pooled.shape == expected.shape
    statistic = ((found.pooled - expected) ** 2 / expected).sum()
    freedom = how.k * (expected.shape[1] - 1)
    assert stats.chi2.sf(statistic, freedom) > 1e-3
    swapped = ((found.pooled[:, ::-1] - expected) ** 2 / expected).sum()
    assert stats.chi2.sf(swapped, freedom) < 1e-6


def test_unary_reports_are_enumerated():
    channel = report_channel(OUE(3, 1.0))
    assert channel.shape == (3, 8)
    assert channel.sum(axis=1) == pytest.approx(1)
    assert report_name(channel, 0b101, ("a", "b", "c")) == "a+c"
    assert report_name(channel, 0b111, ("a", "b", "c")) == "number 7"


def test_too_many_reports_raise():
    for how in (SHE(2, 1.0), OUE(40, 1.0)):
        with pytest.raises(InputError, match="too many reports"):
            report_channel(how)


def test_reports_without_likeliest_values_raise():
    with pytest.raises(InputError, match="aggregate"):
        report_indexer(SubsetSelection(8, 0.0))
