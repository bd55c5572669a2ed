"""Collections drawn from counts have the distribution of perturbing every record."""

import numpy as np
import pytest
from scipy import stats

from seepage.benchmarks.statistical.permutation import largest_log_ratios
from seepage.benchmarks.statistical.simulated_collection import Collection, simulate
from seepage.mechanisms.direct import GRR
from seepage.mechanisms.mechanism_registry import mechanism, registered

TABLE = np.array([[40, 3, 10, 0], [5, 60, 20, 7], [0, 0, 1, 0]])
FAMILIES = sorted(registered())


def make(name, k, epsilon):
    return mechanism(name, k, epsilon, 0.01 if registered()[name].approximate else 0.0)


def by_record(how, table, replicas, generator):
    """The honest simulation: every record perturbs its value and the attacker guesses
    it.
    """
    target, source = np.divmod(
        np.repeat(np.arange(table.size), table.ravel()), table.shape[1]
    )
    target = np.repeat(target, replicas)
    source = np.repeat(source, replicas)
    guesses = how.infer(how.perturb(source, generator), generator)
    counts = np.zeros(table.shape, int)
    pooled = np.zeros((how.k, how.k), int)
    np.add.at(counts, (target, guesses), 1)
    np.add.at(pooled, (source, guesses), 1)
    return Collection(table, how.inferred_channel(), replicas, counts, pooled)


def by_count(how, table, replicas, generator):
    return simulate(table, how.inferred_channel(), replicas, generator)


def same_shares(one, two):
    """The p-value of the test that two tables of reports have the same shares in each
    row.
    """
    total = 0.0
    freedom = 0
    for first, second in zip(one, two, strict=True):
        both = np.stack([first, second])
        both = both[:, both.sum(axis=0) > 0]
        if both.shape[1] > 1 and (both.sum(axis=1) > 0).all():
            found = stats.chi2_contingency(both, correction=False)
            total = total + found.statistic
            freedom = freedom + found.dof
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
    how = make(name, 4, 1.0)
    replicas = 400
    records = by_record(how, TABLE, replicas, np.random.default_rng(2))
    counts = by_count(how, TABLE, replicas, np.random.default_rng(3))
    assert same_shares(records.counts, counts.counts) > 1e-3
    assert same_shares(records.pooled, counts.pooled) > 1e-3
    for factor in (0.1, 6.0) if name == "basic-rappor" else (0.7, 1.3):
        other = by_count(
            make(name, 4, factor), TABLE, replicas, np.random.default_rng(4)
        )
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
    assert (
        stats.ks_2samp(reference, estimates(by_count, GRR(4, 2.0), 400, 7)).pvalue
        > 1e-3
    )
    for factor in (0.7, 1.3):
        other = estimates(by_count, GRR(4, 2.0 * factor), 400, 8)
        assert stats.ks_2samp(reference, other).pvalue < 1e-3


@pytest.mark.parametrize("collect", [by_count, by_record])
def test_cells_vary_as_sums_of_multinomials_not_as_one(collect):
    how = GRR(4, 3.0)
    replicas = 2
    runs = 600
    channel = how.inferred_channel()
    generator = np.random.default_rng(9)
    counts = [collect(how, TABLE[:2], replicas, generator).counts for _ in range(runs)]
    exact = replicas * TABLE[:2] @ (channel * (1 - channel))
    shares = TABLE[:2] @ channel / TABLE[:2].sum(axis=1, keepdims=True)
    naive = replicas * TABLE[:2].sum(axis=1, keepdims=True) * shares * (1 - shares)
    found = np.var(counts, axis=0, ddof=1)
    assert np.mean(found / exact) == pytest.approx(1, abs=0.1)
    assert np.mean(found / naive) < 0.7
