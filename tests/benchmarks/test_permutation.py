"""Random tables against exact probabilities and permuted records; p-values."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from seepage.benchmarks.statistical import permutation
from seepage.benchmarks.statistical.permutation import (
    QUANTILES,
    largest_log_ratios,
    random_rows,
    significance,
)
from seepage.benchmarks.statistical.simulated_collection import simulate
from seepage.mechanisms.direct import GRR

# Tables with fixed margins ------------------------------------------------------------


def draw(rows, columns, size, seed=1):
    generator = np.random.default_rng(seed)
    return np.stack([*random_rows(generator, np.array(rows), np.array(columns), size)])


def pearson(observed, probabilities):
    """The p-value of Pearson's test, rare outcomes taken together."""
    counts = np.asarray(observed, dtype=float)
    expected = np.asarray(probabilities) * counts.sum()
    usual = expected > 5
    counts = np.append(counts[usual], counts[~usual].sum())
    expected = np.append(expected[usual], expected[~usual].sum())
    if expected[-1] < 1e-6:
        assert counts[-1] == 0
        counts = counts[:-1]
        expected = expected[:-1]
    statistic = ((counts - expected) ** 2 / expected).sum()
    return stats.chi2.sf(statistic, len(counts) - 1) if len(counts) > 1 else 1.0


@pytest.mark.parametrize(
    ("rows", "columns"),
    [([3, 5], [2, 6]), ([1, 2, 3], [2, 2, 2]), ([4, 0, 2], [6]), ([5], [2, 3])],
)
def test_margins_are_kept(rows, columns):
    found = draw(rows, columns, 50)
    assert found.min() >= 0
    assert (found.sum(axis=1) == np.array(rows)[:, None]).all()
    assert (found.sum(axis=0) == np.array(columns)[:, None]).all()


def every_table(rows, columns):
    """All tables with these margins and how many permutations of the records give
    each.
    """
    cells = [range(min(r, c) + 1) for r in rows for c in columns]
    for numbers in product(*cells):
        table = np.array(numbers).reshape(len(rows), len(columns))
        if (table.sum(axis=1) == rows).all() and (table.sum(axis=0) == columns).all():
            weight = math.prod(math.factorial(n) for n in (*rows, *columns))
            yield numbers, weight / math.prod(math.factorial(n) for n in numbers)


def test_tables_have_the_distribution_of_permuted_records():
    rows = [2, 3, 2]
    columns = [3, 2, 2]
    size = 20_000
    expected = dict(every_table(rows, columns))
    total = math.factorial(7)
    assert sum(expected.values()) == pytest.approx(total)
    found = draw(rows, columns, size).reshape(9, size).T
    counted = dict.fromkeys(expected, 0)
    for table in found:
        counted[tuple(table.tolist())] += 1
    shares = np.array(list(expected.values())) / total
    assert pearson(list(counted.values()), shares) > 1e-3
    assert pearson(list(counted.values()), np.full(len(shares), 1 / len(shares))) < 1e-6


def brute_force(table):
    """The largest log-ratio of shares, an empty cell as half a report."""
    totals = table.sum(axis=1)
    best = 0.0
    for y in range(table.shape[1]):
        if not table[:, y].any():
            continue
        for x, other in product(range(len(table)), repeat=2):
            share = max(table[x, y], 0.5) / totals[x]
            best = max(
                best, math.log(share / (max(table[other, y], 0.5) / totals[other]))
            )
    return best


def test_statistic_by_brute_force():
    generator = np.random.default_rng(2)
    for shape in [(2, 2), (3, 5), (4, 2), (1, 3), (2, 1)]:
        stack = generator.poisson(1.5, (*shape, 40))
        stack[:, 0] += 1
        for table in np.moveaxis(stack, 2, 0):
            found = largest_log_ratios(table[:, :, None], table.sum(axis=1))[0]
            assert found == pytest.approx(brute_force(table), abs=1e-12)


# The permutation null distribution ----------------------------------------------------

TABLE = np.array([[30, 12, 8], [20, 25, 5], [4, 10, 26]])
REPLICAS = 3
RUNS = 500


@pytest.fixture(scope="module")
def collection():
    channel = GRR(3, 2.0).inferred_channel()
    return simulate(TABLE, channel, REPLICAS, np.random.default_rng(1))


def nulls(monkeypatch, collection, seed=2, draws=RUNS):
    """Every surrogate's statistic, which the result keeps as quantiles only."""
    kept = []
    monkeypatch.setattr(
        permutation, "_quantiles", lambda values: kept.append(values) or ()
    )
    significance(collection, draws, lambda block: np.random.default_rng([seed, block]))
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
    assert stats.ks_2samp(nulls(monkeypatch, collection), permuted).pvalue > 1e-3
    fewer = target[::3], report[::3]
    other = [statistic(fewer[0], generator.permutation(fewer[1])) for _ in range(RUNS)]
    assert stats.ks_2samp(nulls(monkeypatch, collection), other).pvalue < 1e-6


def test_p_value_counts_hits(monkeypatch, collection):
    values = nulls(monkeypatch, collection, draws=99)
    found = significance(
        collection, 99, lambda block: np.random.default_rng([2, block])
    )
    assert found.hits == np.count_nonzero(values >= found.statistic)
    assert found.p_value == (1 + found.hits) / 100


def test_quantiles_are_those_of_the_surrogates(monkeypatch, collection):
    found = significance(
        collection, 200, lambda block: np.random.default_rng([2, block])
    )
    values = nulls(monkeypatch, collection, draws=200)
    assert list(found.null) == list(QUANTILES)
    assert list(found.null.values()) == pytest.approx(np.quantile(values, QUANTILES))


def test_equal_statistics_are_hits():
    table = np.array([[5, 0], [0, 5]])
    same = simulate(table, np.ones((2, 1)), 1, np.random.default_rng(1))
    assert (
        significance(same, 9, lambda block: np.random.default_rng(block)).p_value == 1.0
    )


def test_blocks_have_seeds_of_their_own(monkeypatch, collection):
    monkeypatch.setattr(permutation, "CELLS_PER_BLOCK", 3 * 40)
    blocks = []

    def generators(block):
        blocks.append(block)
        return np.random.default_rng([5, block])

    significance(collection, 100, generators)
    assert blocks == [0, 1, 2]


def test_a_wider_report_than_source_alphabet():
    channel = np.array([[0.1] * 7 + [0.3], [0.3] + [0.1] * 7, [0.2, 0.05] * 4])
    wide = simulate(TABLE, channel, 5, np.random.default_rng(1))
    found = significance(wide, 50, lambda block: np.random.default_rng(block))
    assert found.statistic > 0
    assert 0 < found.p_value <= 1
