"""Limits of leakages among people: coverage, order, oracles over every set."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seepage as sp
import strategies
from seepage._core.errors import GuaranteeError, InputError
from seepage.confidence.all_sets_bound import upper_over_all_sets
from seepage.confidence.mean_limits import kl_lower, kl_upper
from seepage.confidence.pair_limits import set_intervals, statements_per_row
from seepage.confidence.proportion_limits import clopper_pearson
from seepage.leakage.likely_sets import LikelySets

CATEGORICAL = ["workclass", "education", "marital-status", "occupation", "relationship"]
CATEGORICAL += ["race", "sex", "income"]


def pair_counts(table):
    table = np.asarray(table)
    names = [tuple(map(str, range(size))) for size in table.shape]
    domain = sp.Domain([sp.Attribute("a", names[0]), sp.Attribute("b", names[1])])
    return sp.PairCounts(domain, [table.sum(1), table.sum(0)], table.reshape(-1))


def oracle(counts, sets, c, contrast, limits):
    """Try every set and every two rows; `limits` of counts give (lower, upper)."""
    rows, size = counts.shape
    masks = [[number >> u & 1 for u in range(size)] for number in range(1, 2**size - 1)]
    masks = np.array([m for m in masks if sets == "all" or sum(m) == 1])
    low, high = (
        1 + math.expm1(contrast) * np.asarray(part)
        for part in limits(counts @ masks.T, counts.sum(axis=1)[:, None], c)
    )
    others = [(x, y) for x in range(rows) for y in range(rows) if x != y]
    lower = max(float((low[x] / high[y]).max()) for x, y in others)
    upper = max(float((high[x] / low[y]).max()) for x, y in others)
    return max(0.0, math.log(lower)), math.log(upper)


def chernoff(k, n, c):
    return kl_lower(k / n, c / n), kl_upper(k / n, c / n)


@given(
    strategies.tables(least=2, targets=3, sources=5), st.sampled_from([0.5, 1.0, 3.0])
)
@settings(max_examples=40, deadline=None)
def test_limits_equal_the_enumeration_of_all_sets(counts, epsilon):
    if counts.shape[1] < 2:
        return
    for kind in ("singletons", "all"):
        found = set_intervals(
            counts[None],
            LikelySets(kind, epsilon),
            np.array([9.0]),
            np.array([epsilon]),
        )
        low, high = oracle(counts, kind, 9.0, epsilon, clopper_pearson)
        assert found.lower[0] == pytest.approx(low, abs=1e-9)
        assert found.upper[0] == pytest.approx(min(high, epsilon), abs=1e-9)


def test_ranked_sets_give_the_limits_of_all_sets():
    """With 9 values most sets are ruled out by a simpler inequality; the maximum is the
    same.
    """
    rng = np.random.default_rng(3)
    for _ in range(4):
        counts = rng.multinomial(400, rng.dirichlet([0.5] * 9), size=3)
        found = set_intervals(
            counts[None], LikelySets("all", 1.5), np.array([12.0]), np.array([1.5])
        )
        low, high = oracle(counts, "all", 12.0, 1.5, clopper_pearson)
        assert found.upper[0] == pytest.approx(min(high, 1.5), abs=1e-9)
        assert low - 0.05 <= found.lower[0] <= low + 1e-9


def test_large_tables_give_the_limits_of_all_sets():
    """Of most cells a simpler inequality suffices; the largest upper limit is the
    same.
    """
    rng = np.random.default_rng(4)
    for records in (100, 5000):
        counts = rng.multinomial(records, rng.dirichlet([1.0] * 9), size=20)
        found = set_intervals(
            counts[None],
            LikelySets("singletons", 1.0),
            np.array([14.0]),
            np.array([1.0]),
        )
        low, high = oracle(counts, "singletons", 14.0, 1.0, clopper_pearson)
        assert found.upper[0] == pytest.approx(high, abs=1e-9)
        assert low - 0.02 <= found.lower[0] <= low + 1e-9


def test_lines_bound_every_set_from_above():
    """Also where the tables of one source are bounded together."""
    rng = np.random.default_rng(0)
    excess = []
    for _ in range(12):
        size = int(rng.integers(3, 8))
        c = float(rng.uniform(5, 30))
        contrast = float(rng.choice([0.5, 1, 2, 4, 30]))
        tables = []
        for _ in range(5):
            base = rng.dirichlet([0.7] * size) * rng.choice([3, 300]) + 1e-3
            people = rng.integers(20, 5000, rng.integers(2, 6))
            tables.append(
                np.array([rng.multinomial(n, rng.dirichlet(base)) for n in people])
            )
        shares = [counts / counts.sum(axis=1, keepdims=True) for counts in tables]
        radii = [c / counts.sum(axis=1) for counts in tables]
        found = upper_over_all_sets(shares, radii, contrast)
        excess += [
            value - oracle(counts, "all", c, contrast, chernoff)[1]
            for value, counts in zip(found, tables, strict=True)
        ]
    assert min(excess) >= -1e-12
    assert max(excess) <= 0.0011
    assert np.mean(excess) <= 1e-4


def test_lines_bound_reports_with_large_contrasts():
    """With a lower limit of 0 the ratio is 1 + lambda U: the lines' denominators tell
    nothing.
    """
    shares = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    radii = np.array([0.1, 3.0])
    for contrast in (300.0, 700.0):
        found = upper_over_all_sets([shares], [radii], contrast)[0]
        assert contrast - 1e-9 <= found <= contrast
    assert upper_over_all_sets([shares], [radii], math.inf)[0] == math.inf


def test_the_best_set_is_no_prefix():
    """Counts (0, 50, 0) and (6, 983, 11) at epsilon 3: the best set is {first}."""
    counts = np.array([[0, 50, 0], [6, 983, 11]])
    c = math.log(2 * 6 / 0.05)
    found = upper_over_all_sets(
        [counts / [[50], [1000]]], [c / np.array([50, 1000])], 3.0
    )[0]
    truth = oracle(counts, "all", c, 3.0, chernoff)[1]
    assert truth - 1e-12 <= found <= truth + 0.002


@pytest.mark.parametrize(
    ("kind", "size", "values", "number"),
    [
        ("singletons", 1, 2, 1),
        ("singletons", 1, 3, 3),
        ("subsets", 2, 4, 3),
        ("subsets", 2, 5, 10),
        ("all", 1, 2, 1),
        ("all", 1, 5, 15),
    ],
)
def test_statements_are_counted_once_for_a_set_and_its_complement(
    kind, size, values, number
):
    assert statements_per_row(LikelySets(kind, 1.0, size), values) == number


@given(
    strategies.tables(targets=4, sources=5),
    st.sampled_from([None, "grr", "ss", "exp", "oue"]),
)
@settings(max_examples=60, deadline=None)
def test_limits_enclose_the_table_and_widen_as_they_should(counts, mechanism):
    matrix = sp.leakage_matrix(pair_counts(counts), 1.0, mechanism=mechanism)
    found = matrix.interval()
    sure = matrix.interval(0.999)
    order = [0.0, sure.lower, found.lower, matrix.values, found.upper, sure.upper, 1.0]
    for low, high in pairwise(order):
        assert np.all(low <= high + 1e-12)


def test_limits_tend_to_the_table():
    table = np.array([[30, 20, 10], [10, 20, 30]])
    for mechanism in (None, "grr"):
        widths = []
        for times in (1, 10, 1000, 10**7):
            found = sp.leakage_matrix(
                pair_counts(table * times), 1.0, mechanism=mechanism
            )
            limits = found.interval()
            widths.append((limits.upper - limits.lower).max())
        assert widths == sorted(widths, reverse=True)
        assert widths[-1] < 1e-3


def test_rare_values_have_trivial_limits():
    found = sp.leakage_matrix(
        pair_counts([[5, 5], [0, 0], [6, 4]]), 1.0, mechanism="grr"
    )
    limits = found.interval()
    assert limits.upper[0, 1] > 0.9
    assert limits.lower[0, 1] == 0.0
    assert [(few.attribute, few.values[0]) for few in limits.too_few] == [
        ("a", "0"),
        ("b", "1"),
    ]


def test_values_without_records_are_not_listed_as_rare():
    limits = sp.leakage_matrix(
        pair_counts([[5, 4], [0, 0], [6, 4]]), 1.0, mechanism="grr"
    ).interval()
    assert limits.upper[0, 1] > 0.9
    rows, columns = limits.too_few
    assert (rows.attribute, rows.values, rows.counts) == ("a", ("0", "2"), (9, 10))
    assert "too few records to say about 0 (9), 2 (10);" in rows.sentence()
    assert (columns.values, columns.counts) == (("1", "0"), (8, 11))


def test_the_needed_number_of_records_suffices():
    """With as many as are said to be needed, a share of 0 excludes half of the
    budget.
    """
    limits = sp.leakage_matrix(
        pair_counts([[3, 3], [2000, 3000]]), 1.0, mechanism="grr"
    ).interval()
    needed = limits.too_few[0].needed
    for seen, few in ((needed, 0), (needed - 1, 1)):
        table = [[seen, 0], [2000, 3000]]
        found = sp.leakage_matrix(pair_counts(table), 1.0, mechanism="grr").interval()
        assert len([f for f in found.too_few if f.attribute == "a"]) == few


def test_a_constant_attribute_leaks_nothing():
    limits = sp.leakage_matrix(pair_counts([[5, 9]]), 1.0).interval()
    assert not limits.upper.any()


def test_a_matrix_mechanism_has_limits_of_its_reports():
    channel = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])
    pairs = pair_counts([[4000, 1000], [1000, 4000]])
    mechanism = sp.MatrixMechanism(channel)
    matrix = sp.leakage_matrix(pairs, 1.0, mechanism=[mechanism, mechanism])
    found = matrix.interval()
    assert 0 < found.lower[0, 1] < matrix.values[0, 1] < found.upper[0, 1] < math.log(5)


def test_limits_ignore_smoothing():
    pairs = pair_counts([[40, 1], [5, 60]])
    plain = sp.leakage_matrix(pairs, 1.0, mechanism="grr")
    smooth = sp.leakage_matrix(pairs, 1.0, mechanism="grr", prior=5.0)
    assert (smooth.interval().upper == plain.interval().upper).all()
    assert (smooth.interval().values == plain.values).all()


@pytest.mark.parametrize("confidence", [0, 1, -1, "high", None, math.nan])
def test_confidence_is_a_probability(confidence):
    with pytest.raises(InputError, match="confidence must be"):
        sp.leakage_matrix(pair_counts([[1, 2], [3, 4]]), 1.0).interval(confidence)


def test_leaks_are_ranked_by_lower_limit():
    limits = sp.leakage_matrix("adult", 1.0, mechanism="grr").interval()
    ranked = limits.strongest(300)
    assert len(ranked) == 15 * 14
    assert [leak.lower for leak in ranked] == sorted(
        (r.lower for r in ranked), reverse=True
    )
    assert limits[ranked[0].target, ranked[0].source] == ranked[0]
    columns = limits.to_arrow()
    assert columns.column_names[:5] == ["target", "source", "lower", "leakage", "delta"]
    assert columns.num_rows == 15 * 14


def test_limits_of_adult():
    matrix = sp.leakage_matrix("adult", 1.0, mechanism="grr", columns=CATEGORICAL)
    off = ~np.eye(8, dtype=np.bool_)
    assert matrix.values[off].mean() == pytest.approx(0.422, abs=1e-3)
    assert matrix.interval().upper[off].mean() <= 0.58


def _channel(rng, shape):
    """A population with zero cells: G of some target values misses source values."""
    joint = rng.dirichlet([0.4] * shape[0])[:, None] * rng.dirichlet(
        [0.5] * shape[1], shape[0]
    )
    joint[rng.random(shape) < 0.2] = 0.0
    return joint / joint.sum()


@pytest.mark.parametrize("mechanism", ["grr", None])
@pytest.mark.parametrize("shape", [(3, 4), (2, 2), (4, 14)])
def test_limits_hold_for_the_population(mechanism, shape):
    """All limits hold at once in at least 95 %: fewer in 60 draws than 1 in 10,000 by
    chance.
    """
    rng = np.random.default_rng(8)
    joint = _channel(rng, shape)
    true = sp.leakage_matrix(
        pair_counts((joint * 10**12).astype(np.int64)), 1.0, mechanism=mechanism
    )
    missed = 0
    for _ in range(60):
        sample = rng.multinomial(2000, joint.reshape(-1)).reshape(shape)
        found = sp.leakage_matrix(
            pair_counts(sample), 1.0, mechanism=mechanism
        ).interval()
        inside = (found.lower <= true.values + 1e-9) & (
            true.values <= found.upper + 1e-9
        )
        missed += not inside.all()
    assert missed <= 10


def test_reports_of_all_values_say_nothing():
    counts = np.random.default_rng(0).integers(1, 9, (2, 3, 4))
    sets = LikelySets("subsets", 1.0, 4)
    channels = counts / counts.sum(axis=2, keepdims=True)
    found = set_intervals(counts, sets, np.full(2, 9.0), np.ones(2))
    assert not found.lower.any()
    assert not found.upper.any()
    assert not sets.largest(channels).any()
    assert not sets.best_by_pair(channels, np.ones(2)).any()


def test_a_report_without_a_matrix_has_the_limits_of_any_mechanism(monkeypatch):
    def no_matrix(self):
        raise sp.InputError("too many reports")

    pairs = sp.load_pairs("adult").select(["sex", "race", "income"])
    bound = sp.leakage_matrix(pairs, 1.0)
    known = sp.leakage_matrix(pairs, 1.0, mechanism="hadamard")
    monkeypatch.setattr(type(known.releases[0].mechanism), "channel", no_matrix)
    found = sp.leakage_matrix(pairs, 1.0, mechanism="hadamard").interval()
    assert not found.lower.any()
    assert np.array_equal(found.upper, bound.interval().upper)
    with pytest.raises(
        GuaranteeError, match="reports of hadamard cannot be enumerated"
    ):
        sp.total_leakage(
            sp.make_survey(100), 1.0, mechanism="hadamard", guarantee="exact"
        )
