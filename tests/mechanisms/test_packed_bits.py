"""Counting and choosing among packed bits against plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from seepage.mechanisms.randomness import Randomness
from seepage.mechanisms.reports import BitReports, _set_bit, count_bits, guess_supported


def source(seed=0):
    return Randomness(np.random.default_rng(seed))


@pytest.mark.parametrize("k", [1, 2, 7, 64, 65, 128, 1000])
@pytest.mark.parametrize("rows", [0, 1, 254, 255, 256, 3000])
def test_count_bits_is_the_column_sum(k, rows):
    bits = np.random.default_rng(k + rows).random((rows, k)) < 0.6
    assert count_bits(BitReports.pack(bits), k).tolist() == bits.sum(axis=0).tolist()


def test_counts_beyond_a_byte_do_not_overflow():
    words = np.full((255 * 256 * 2 + 77, 1), 2**64 - 1, dtype=np.uint64)
    assert count_bits(words, 64).tolist() == [len(words)] * 64


@given(st.integers(1, 2**64 - 1), st.data())
def test_the_set_bit_of_a_rank(word, data):
    places = [place for place in range(64) if word >> place & 1]
    rank = data.draw(st.integers(0, len(places) - 1))
    found = _set_bit(np.array([word], dtype=np.uint64), np.array([rank]))
    assert found.tolist() == [places[rank]]


@pytest.mark.parametrize("k", [1, 3, 64, 65, 200])
def test_a_single_bit_is_always_found(k):
    words = BitReports.pack(np.eye(k, dtype=np.bool_))
    assert guess_supported(words, k, source()).tolist() == list(range(k))


@pytest.mark.parametrize("k", [5, 70, 130])
def test_guesses_are_uniform_among_the_set_bits(k):
    bits = np.zeros(k, dtype=np.bool_)
    bits[[0, 2, k // 2, k - 1]] = True
    words = np.tile(BitReports.pack(bits[None]), (40_000, 1))
    counts = np.bincount(guess_supported(words, k, source(k)), minlength=k)
    assert counts[~bits].sum() == 0
    assert stats.chisquare(counts[bits]).pvalue > 1e-4
    shares = np.where(np.flatnonzero(bits) == 0, 0.7, 1.1)
    assert stats.chisquare(counts[bits], counts.sum() * shares / shares.sum()).pvalue < 1e-9


@pytest.mark.parametrize("k", [1, 2, 9, 100])
def test_without_a_set_bit_every_value_is_as_likely(k):
    words = np.zeros((20_000, -(-k // 64)), dtype=np.uint64)
    counts = np.bincount(guess_supported(words, k, source(k)), minlength=k)
    assert len(counts) == k
    assert k == 1 or stats.chisquare(counts).pvalue > 1e-4


def test_rows_with_and_without_bits_do_not_disturb_each_other():
    bits = np.random.default_rng(3).random((5000, 90)) < 0.01
    guesses = guess_supported(BitReports.pack(bits), 90, source(4))
    some = bits.any(axis=1)
    assert 0 < some.sum() < len(some)
    assert bits[some, guesses[some]].all()
    assert ((guesses >= 0) & (guesses < 90)).all()


def test_no_reports_no_guesses():
    assert guess_supported(np.zeros((0, 2), dtype=np.uint64), 100, source()).tolist() == []
