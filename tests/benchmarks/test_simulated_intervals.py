"""Intervals cover, corrected estimates correct, p-values are uniform: shown by
simulation.
"""

import numpy as np
import pytest
from scipy import stats

import seepage as sp
from real_data import pairs_of, real_data
from seepage.benchmarks.statistical.permutation import largest_log_ratios, significance
from seepage.benchmarks.statistical.simulated_collection import Collection, simulate
from seepage.benchmarks.statistical.simulated_intervals import (
    interval,
    poisson_distances,
)
from seepage.leakage.exact_leakage import exact_leakage
from seepage.mechanisms.direct import GRR
from seepage.mechanisms.mechanism_registry import mechanism


@pytest.fixture(scope="module")
def adult():
    return sp.load_pairs("adult")


def truth(table, channel):
    seen = table.sum(axis=1) > 0
    rows = table[seen]
    return exact_leakage(rows / rows.sum(axis=1, keepdims=True), channel).value


def tables_of(pairs):
    for target in range(len(pairs.domain)):
        for source in range(len(pairs.domain)):
            if target != source:
                yield pairs.table(target, source)[pairs.marginal(target) > 0]


def covered(pairs, name, epsilon, replicas=50, confidence=0.95, seed=0, runs=1):
    """Whether each interval of each pair covers the table's own leakage, and its
    width.
    """
    generator = np.random.default_rng(seed)
    hits = []
    widths = []
    for table in tables_of(pairs):
        channel = mechanism(name, table.shape[1], epsilon).inferred_channel()
        exact = truth(table, channel)
        for _ in range(runs):
            found = interval(simulate(table, channel, replicas, generator), confidence)
            hits.append(found.lower <= exact <= found.upper)
            widths.append(found.upper - found.lower)
    return np.mean(hits), np.mean(widths)


# Coverage -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "epsilon", "width"),
    [("grr", 1.0, 0.03), ("grr", 3.0, 0.04), ("oue", 1.0, 0.03)],
)
def test_intervals_cover_on_adult(adult, name, epsilon, width):
    share, mean_width = covered(adult, name, epsilon)
    assert share >= 0.93
    assert mean_width < width


def test_intervals_are_not_too_wide(adult):
    share, _ = covered(adult, "grr", 1.0, confidence=0.5)
    assert 0.5 <= share <= 0.8


@real_data
@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("epsilon", [1.0, pytest.param(3.0, marks=pytest.mark.slow)])
def test_intervals_cover_on_celeba(epsilon, step):
    every = pairs_of("celeba").select(range(0, 40, step))
    share, mean_width = covered(every, "grr", epsilon)
    assert share >= 0.93
    assert mean_width < 0.003


@pytest.mark.slow
@pytest.mark.parametrize("replicas", [1, 5, 50])
@pytest.mark.parametrize("name", ["grr", "exp", "oue", "olh", "she", "ss"])
def test_intervals_cover_for_every_mechanism_and_few_replicas(adult, name, replicas):
    for epsilon in (0.3, 1.0, 3.0):
        share, _ = covered(adult, name, epsilon, replicas, seed=replicas, runs=4)
        assert share >= 0.93


def test_intervals_cover_where_the_largest_ratio_is_not_unique():
    channel = GRR(4, 1.0).inferred_channel()
    generator = np.random.default_rng(3)
    shared = np.array([400, 300, 200, 100])
    moved = np.array([[0, 0, 0, 0], [0, 0, 0, 0], [1, -1, 0, 0], [0, 0, 1, -1]])
    rows = shared + moved
    exact = truth(rows, channel)
    found = [interval(simulate(rows, channel, 1, generator), 0.95) for _ in range(400)]
    hits = [part.lower <= exact <= part.upper for part in found]
    assert np.mean(hits) >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 400)


def test_equal_rows_have_an_estimate_of_zero():
    table = np.repeat(np.array([[30, 10, 60]]), 4, axis=0)
    found = interval(
        simulate(table, GRR(3, 2.0).inferred_channel(), 1, np.random.default_rng(1)),
        0.95,
    )
    assert found.lower == found.corrected == 0.0
    assert found.upper < 0.1


# The corrected estimate ---------------------------------------------------------------


def random_table(generator, shape, records):
    codes = [generator.integers(size, size=records) for size in shape]
    cells = codes[0] * shape[1] + codes[1]
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)


def test_independent_attributes_of_sixteen_values():
    channel = GRR(16, 1.0).inferred_channel()
    generator = np.random.default_rng(11)
    corrected = []
    plug_in = []
    for _ in range(40):
        table = random_table(generator, (16, 16), 5_000)
        collection = simulate(table, channel, 1, generator)
        corrected.append(interval(collection, 0.95).corrected)
        totals = collection.counts.sum(axis=1)
        plug_in.append(largest_log_ratios(collection.counts[:, :, None], totals)[0])
    assert np.mean(np.array(corrected) < 0.1) >= 0.95
    assert np.mean(corrected) < 0.07
    assert 0.9 < np.mean(plug_in) < 1.5


def test_corrected_is_above_the_truth_at_most_half_the_time(adult):
    generator = np.random.default_rng(12)
    above = []
    for table in tables_of(adult):
        channel = GRR(table.shape[1], 1.0).inferred_channel()
        found = interval(simulate(table, channel, 5, generator), 0.95)
        above.append(found.corrected > truth(table, channel))
    assert np.mean(above) < 0.5 + 3 * np.sqrt(0.25 / len(above))
    assert np.mean(above) > 0.2  # and not by being far too low


def test_pooling_helps_a_target_value_with_one_record():
    table = np.array([[300, 200, 500], [1, 0, 0]])
    channel = GRR(3, 1.0).inferred_channel()
    generator = np.random.default_rng(13)
    exact = truth(table, channel)
    errors = []
    for _ in range(100):
        collection = simulate(table, channel, 50, generator)
        plain = largest_log_ratios(
            collection.counts[:, :, None], 50 * table.sum(axis=1)
        )[0]
        errors.append([plain - exact, interval(collection, 0.95).corrected - exact])
    plain, pooled = np.sqrt(np.mean(np.square(errors), axis=0))
    assert pooled < plain / 10


# Limits of one cell -------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.025, 1e-4])
def test_poisson_limits_by_their_definition(level):
    counts = np.array([1.0, 4.0, 37.0, 5e4])
    down, up = poisson_distances(counts, level)
    lower = counts * np.exp(-down)
    upper = counts * np.exp(up)
    assert stats.poisson.sf(counts - 1, lower) == pytest.approx(
        np.full(4, level), rel=1e-6
    )
    assert stats.poisson.cdf(counts, upper) == pytest.approx(
        np.full(4, level), rel=1e-6
    )


def test_poisson_limits_join_where_the_approximation_begins():
    counts = np.array([99_999.0, 100_001.0, 1e12])
    for level in (0.025, 1e-7):
        down, up = poisson_distances(counts, level)
        assert down[0] == pytest.approx(down[1], rel=1e-4)
        assert up[0] == pytest.approx(up[1], rel=1e-4)
        assert down[2] == pytest.approx(-stats.norm.ppf(level) / 1e6, rel=1e-4)


def test_a_count_of_zero_has_no_lower_limit():
    down, up = poisson_distances(np.array([0.0]), 0.05)
    assert np.isinf(down[0])
    assert 0.5 * np.exp(up[0]) == pytest.approx(-np.log(0.05))


def test_large_alphabets_are_handled_in_blocks(monkeypatch):
    generator = np.random.default_rng(14)
    collection = simulate(
        random_table(generator, (9, 7), 900),
        GRR(7, 1.0).inferred_channel(),
        3,
        generator,
    )
    whole = interval(collection, 0.95)
    monkeypatch.setattr(
        "seepage.benchmarks.statistical.simulated_intervals.RATIOS_PER_BLOCK", 1
    )
    assert interval(collection, 0.95) == pytest.approx(whole, abs=1e-12)


def test_a_report_never_seen_leaves_no_upper_limit():
    table = np.array([[5, 0], [5, 0]])
    channel = np.array([[0.9, 0.1], [0.1, 0.9]])
    counts = np.array([[5, 0], [5, 0]])
    nothing = Collection(table, channel, 1, counts, np.array([[10, 0], [0, 0]]))
    assert np.isinf(interval(nothing, 0.95).upper)
    certain = Collection(
        table, np.array([[1.0, 0.0], [0.0, 1.0]]), 1, counts, nothing.pooled
    )
    assert interval(certain, 0.95).upper < 2


# P-values -----------------------------------------------------------------------------


def p_values(replicas, tables, epsilon=1.0):
    generator = np.random.default_rng(21)
    found = []
    for table in tables:
        channel = GRR(table.shape[1], epsilon).inferred_channel()
        collection = simulate(table, channel, replicas, generator)
        tested = significance(collection, 99, lambda block: generator)
        found.append(tested.p_value)
    return np.array(found)


def uniform(values):
    """The p-value of the test that p-values of 99 surrogates are uniform."""
    spread = values - np.random.default_rng(1).random(len(values)) / 100
    return stats.kstest(spread, "uniform").pvalue


def independent_tables(count, shape=(3, 4), records=800):
    generator = np.random.default_rng(22)
    return [random_table(generator, shape, records) for _ in range(count)]


def test_p_values_are_uniform_under_independence():
    assert uniform(p_values(1, independent_tables(500))) > 1e-3
    product = np.outer([2, 3, 5], [10, 20, 30, 40])
    assert uniform(p_values(50, [product] * 500, epsilon=0.5)) > 1e-3


def test_p_values_see_dependence():
    generator = np.random.default_rng(23)
    added = 150 * np.eye(3, 4, dtype=int)
    tables = [random_table(generator, (3, 4), 800) + added for _ in range(20)]
    assert p_values(1, tables).max() < 0.1
