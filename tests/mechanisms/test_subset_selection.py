"""Subset selection against its formulas, and against enumeration of every subset."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from seepage._core.errors import InputError
from seepage.mechanisms.direct import GRR
from seepage.mechanisms.exact_probabilities import CERTAIN, exp_below
from seepage.mechanisms.reports import BitReports
from seepage.mechanisms.subset_selection import SubsetSelection

EPSILONS = [0.0, 1e-12, 1e-3, 1 / 3, 1.0, 7.7, 50.0, 700.0, 800.0]


def all_subsets(mechanism):
    """Return every possible report, in the order of the channel's columns."""
    rows = list(itertools.combinations(range(mechanism.k), mechanism.size))
    bits = np.zeros((len(rows), mechanism.k), dtype=np.bool_)
    for row, members in enumerate(rows):
        bits[row, list(members)] = True
    return BitReports(mechanism.describe(), BitReports.pack(bits))


def positions(mechanism, reports):
    """Return the column of each report in the channel."""
    column = {
        bytes(word): index for index, word in enumerate(all_subsets(mechanism).words)
    }
    words, among = np.unique(reports.words, axis=0, return_inverse=True)
    return np.array([column[bytes(word)] for word in words])[among]


def table_of(mechanism, reports, codes):
    columns = math.comb(mechanism.k, mechanism.size)
    cells = codes * columns + positions(mechanism, reports)
    return np.bincount(cells, minlength=mechanism.k * columns)


def p_value(table, mechanism, count):
    expected = mechanism.channel().ravel() * count
    freedom = len(table) - mechanism.k
    return stats.chi2.sf(((table - expected) ** 2 / expected).sum(), freedom)


@pytest.mark.parametrize("k", [2, 3, 16, 128, 1000])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 3.0, 8.0])
def test_subset_size_and_probabilities_are_the_papers(k, epsilon):
    mechanism = SubsetSelection(k, epsilon)
    growth = math.exp(epsilon)
    size = max(1, math.floor(k / (growth + 1)))
    inside = size * growth / (size * growth + k - size)
    true, other = mechanism.support
    assert mechanism.size == size
    assert true == pytest.approx(inside)
    assert other == pytest.approx(
        inside * (size - 1) / (k - 1) + (1 - inside) * size / (k - 1)
    )
    assert mechanism.hit_rate == pytest.approx(inside / size)
    assert mechanism.bits == k


@pytest.mark.parametrize("k", [2, 3, 16, 1000])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_subset_budget_is_recomputed_and_kept_in_exact_fractions(k, epsilon):
    mechanism = SubsetSelection(k, epsilon)
    assert mechanism.epsilon == epsilon
    forced = Fraction(mechanism.keep, CERTAIN)
    everywhere = (1 - forced) / math.comb(k, mechanism.size)
    inside = everywhere + forced / math.comb(k - 1, mechanism.size - 1)
    assert 1 <= inside / everywhere <= exp_below(epsilon)
    assert mechanism.realised_epsilon <= epsilon
    if 1e-3 <= epsilon <= 7.7:
        assert mechanism.realised_epsilon == pytest.approx(epsilon, rel=1e-12)


def test_a_wrong_subset_parameterisation_is_detected():
    mechanism = SubsetSelection(9, 1.0)
    mechanism.true += Fraction(1, 100)
    assert mechanism.epsilon > 1.03


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 5.0, 700.0])
def test_the_channel_lists_every_subset(k, epsilon):
    mechanism = SubsetSelection(k, epsilon)
    channel = mechanism.channel()
    reports = all_subsets(mechanism)
    assert channel.shape == (k, math.comb(k, mechanism.size))
    assert np.allclose(channel.sum(axis=1), 1)
    assert np.allclose(
        np.exp(mechanism.log_likelihood(reports)), channel.T, atol=1e-300
    )
    if k > 1:
        spread = np.ptp(mechanism.log_likelihood(reports), axis=1)
        assert np.allclose(spread, epsilon)


@pytest.mark.parametrize("epsilon", [0.4, 1.0])
@pytest.mark.parametrize("k", [4, 7])
@pytest.mark.parametrize("secure", [False, True])
def test_every_subset_is_as_likely_as_the_channel_says(k, epsilon, secure):
    mechanism = SubsetSelection(k, epsilon)
    assert mechanism.size >= 1
    codes = np.arange(40_000 * k) % k
    seed = None if secure else 3
    table = table_of(mechanism, mechanism.perturb(codes, seed), codes)
    assert p_value(table, mechanism, 40_000) > 1e-6
    for factor in (0.7, 1.3):
        other = SubsetSelection(k, factor * epsilon)
        if other.size == mechanism.size:
            assert p_value(table, other, 40_000) < 1e-9


def test_subset_draws_with_ties_are_rejected_without_bias(monkeypatch):
    """Keys of two bits collide nearly always, and what is left must still be
    uniform.
    """
    mechanism = SubsetSelection(6, 0.5)
    assert mechanism.size == 2
    plain = SubsetSelection._keys
    drawn = []

    def coarse(self, rows, source):
        drawn.append(rows)
        return plain(self, rows, source) >> np.uint16(14)

    monkeypatch.setattr(SubsetSelection, "_keys", coarse)
    codes = np.arange(120_000) % 6
    reports = mechanism.perturb(codes, 1)
    assert sum(drawn) > 1.5 * len(codes)
    assert p_value(table_of(mechanism, reports, codes), mechanism, 20_000) > 1e-6


@pytest.mark.parametrize("k", [63, 64, 65, 128, 1000, 5000])
def test_subsets_of_large_alphabets_have_the_right_members(k):
    mechanism = SubsetSelection(k, 1.0)
    count = 400_000 // k + 200
    codes = np.full(count, k - 1)
    reports = mechanism.perturb(codes, 2)
    bits = reports.bits()
    assert (bits.sum(axis=1) == mechanism.size).all()
    true, other = mechanism.support
    inside = bits[:, k - 1].mean()
    assert abs(inside - true) < 5 * math.sqrt(true * (1 - true) / count)
    rest = bits[:, :-1].mean(axis=0)
    assert np.abs(rest - other).max() < 6 * math.sqrt(other * (1 - other) / count)
    assert np.array_equal(mechanism.tally(reports), bits.sum(axis=0))


def test_the_guess_is_a_member_of_the_subset_and_right_as_often_as_stated():
    mechanism = SubsetSelection(7, 0.6)
    assert mechanism.size == 2
    codes = np.arange(210_000) % 7
    reports = mechanism.perturb(codes, 5)
    guesses = mechanism.infer(reports, 6)
    assert reports.bits()[np.arange(len(codes)), guesses].all()
    table = np.bincount(codes * 7 + guesses, minlength=49)
    expected = mechanism.inferred_channel().ravel() * 30_000
    assert stats.chi2.sf(((table - expected) ** 2 / expected).sum(), 42) > 1e-6
    wrong = SubsetSelection(7, 0.7).inferred_channel().ravel() * 30_000
    assert stats.chi2.sf(((table - wrong) ** 2 / wrong).sum(), 42) < 1e-6
    rate = mechanism.hit_rate
    assert mechanism.guess_contrast == pytest.approx(math.log(rate * 6 / (1 - rate)))


def test_subsets_of_one_are_grr():
    subset = SubsetSelection(6, 3.0)
    response = GRR(6, 3.0)
    assert subset.size == 1
    assert np.allclose(subset.channel(), response.channel())
    G = np.random.default_rng(1).dirichlet(np.ones(6), size=3)
    assert subset.leakage(G).value == pytest.approx(response.leakage(G).value)
    assert np.allclose(subset.variance(100, 0.2), response.variance(100, 0.2))


def test_a_channel_with_too_many_subsets_raises():
    with pytest.raises(InputError, match="too many reports"):
        SubsetSelection(128, 1.0).channel()


@pytest.mark.parametrize(
    "words",
    [[[0b0]], [[0b1]], [[0b111]], [[0b11], [0b1]], [[1 << 6 | 1]], [[0b11, 0]]],
    ids=["empty", "too few", "too many", "one of two", "outside", "too wide"],
)
def test_damaged_subset_reports_raise(words):
    mechanism = SubsetSelection(6, 0.5)
    assert mechanism.size == 2
    damaged = BitReports(mechanism.describe(), np.array(words, dtype=np.uint64))
    for use in (mechanism.estimate, mechanism.infer, mechanism.log_likelihood):
        with pytest.raises(
            InputError, match=r"exactly 2 of 6|bits below 6|must have 1 words"
        ):
            use(damaged)
