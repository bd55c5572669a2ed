"""Tables with fixed margins against exact probabilities; the statistic against plain loops."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from seepage.study import permutation as tables
from seepage.study.permutation import hypergeometric, largest_log_ratios, random_rows


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
        counts, expected = counts[:-1], expected[:-1]
    statistic = ((counts - expected) ** 2 / expected).sum()
    return stats.chi2.sf(statistic, len(counts) - 1) if len(counts) > 1 else 1.0


@pytest.mark.parametrize(
    ("rows", "columns"), [([3, 5], [2, 6]), ([1, 2, 3], [2, 2, 2]), ([4, 0, 2], [6]), ([5], [2, 3])]
)
def test_margins_are_kept(rows, columns):
    found = draw(rows, columns, 50)
    assert found.min() >= 0
    assert (found.sum(axis=1) == np.array(rows)[:, None]).all()
    assert (found.sum(axis=0) == np.array(columns)[:, None]).all()


def every_table(rows, columns):
    """All tables with these margins and how many permutations of the records give each."""
    cells = [range(min(r, c) + 1) for r in rows for c in columns]
    for numbers in product(*cells):
        table = np.array(numbers).reshape(len(rows), len(columns))
        if (table.sum(axis=1) == rows).all() and (table.sum(axis=0) == columns).all():
            weight = math.prod(math.factorial(n) for n in (*rows, *columns))
            yield numbers, weight / math.prod(math.factorial(n) for n in numbers)


def test_tables_have_the_distribution_of_permuted_records():
    rows, columns, size = [2, 3, 2], [3, 2, 2], 20_000
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


@pytest.mark.parametrize(
    ("good", "bad", "sample"),
    [(30, 50, 20), (1, 200, 100), (200, 1, 100), (90, 90, 179), (7, 0, 3), (0, 9, 3), (40, 40, 0)],
)
def test_halving_large_populations_is_exact(monkeypatch, good, bad, sample):
    monkeypatch.setattr(tables, "LARGEST_POPULATION", 12)
    size = 20_000
    parts = [np.full(size, part) for part in (good, bad, sample)]
    found = hypergeometric(np.random.default_rng(3), *parts)
    chances = stats.hypergeom(good + bad, good, sample).pmf(np.arange(good + 1))
    assert pearson(np.bincount(found, minlength=good + 1), chances) > 1e-3


def test_populations_beyond_numpys_limit():
    size = 4_000
    parts = [np.full(size, part) for part in (6 * 10**9, 4 * 10**9, 10**6)]
    found = hypergeometric(np.random.default_rng(5), *parts)
    exact = stats.hypergeom(10**10, 6 * 10**9, 10**6)
    error = exact.std() / math.sqrt(size)
    assert abs(found.mean() - exact.mean()) < 4 * error
    assert 0.7 < found.std() / exact.std() < 1.3
    assert found.std() == pytest.approx(exact.std(), rel=0.05)


def brute_force(table):
    """The largest log-ratio of shares, an empty cell as half a report."""
    totals = table.sum(axis=1)
    best = 0.0
    for y in range(table.shape[1]):
        if not table[:, y].any():
            continue
        for x, other in product(range(len(table)), repeat=2):
            share = max(table[x, y], 0.5) / totals[x]
            best = max(best, math.log(share / (max(table[other, y], 0.5) / totals[other])))
    return best


def test_statistic_by_brute_force():
    generator = np.random.default_rng(2)
    for shape in [(2, 2), (3, 5), (4, 2), (1, 3), (2, 1)]:
        stack = generator.poisson(1.5, (*shape, 40))
        stack[:, 0] += 1
        for table in np.moveaxis(stack, 2, 0):
            found = largest_log_ratios(table[:, :, None], table.sum(axis=1))[0]
            assert found == pytest.approx(brute_force(table), abs=1e-12)
