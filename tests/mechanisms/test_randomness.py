"""Draws made from known bytes are exact to the last bit; guesses among set bits are
uniform.
"""

import numpy as np
import pytest
from scipy import stats

from seepage._core.errors import InputError
from seepage.mechanisms.exact_probabilities import CERTAIN
from seepage.mechanisms.randomness import Randomness, guess_supported, randomness


class Scripted(Randomness):
    """A source that gives known bytes and then no more."""

    def __init__(self, content):
        super().__init__(None)
        self.left = content

    def bytes(self, count):
        part = self.left[:count]
        self.left = self.left[count:]
        assert len(part) == count, "more bytes drawn than expected"
        return np.frombuffer(part, dtype=np.uint8)


def shorts(*numbers):
    return Scripted(np.array(numbers, dtype="<u2").tobytes())


@pytest.mark.parametrize(
    "threshold", [1, 2**56, 2**63 + 12_345, 200 * 2**56 - 1, CERTAIN - 1]
)
def test_an_event_happens_below_its_threshold_and_not_at_it(threshold):
    for number in (0, threshold - 1, threshold, threshold + 1, CERTAIN - 1):
        if number == CERTAIN:
            continue
        rest = (number & (2**56 - 1)) << 8
        source = Scripted(bytes([number >> 56]) + (rest | 0xFF).to_bytes(8, "little"))
        assert source.happens(threshold, 1).tolist() == [number < threshold]


def test_certain_and_impossible_events_need_no_draw():
    source = Scripted(b"")
    assert source.happens(CERTAIN, (2, 3)).tolist() == [[True] * 3] * 2
    assert source.happens(0, 2).tolist() == [False, False]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 255, 256, 1000, 1023, 1024])
def test_every_number_below_a_limit_is_equally_likely(limit):
    """All 2^16 draws: each result as often as any other, at most one draw in 64
    rejected.
    """
    found, rejected = shorts(*range(1 << 16))._multiply(limit, 1 << 16)
    kept = np.delete(found, rejected)
    assert np.bincount(kept).tolist() == [(1 << 16) // limit] * limit
    assert len(rejected) <= (1 << 16) // 64


@pytest.mark.parametrize("limit", [1025, 65_537, 3 << 30, (1 << 32) - 1, 1 << 32])
def test_large_limits_are_exact_in_32_bits(limit):
    """Result r has the draws from ceil(r 2^32 / limit) on, 2^32 // limit of them are
    kept.
    """
    each = (1 << 32) // limit
    for result in (0, 1, limit // 3, limit - 1):
        first, end = (
            -(-(position << 32) // limit) for position in (result, result + 1)
        )
        numbers = (
            range(first, end)
            if end - first < 9
            else (first, first + 1, end - 2, end - 1)
        )
        source = Scripted(np.array(numbers, dtype="<u4").tobytes())
        found, rejected = source._multiply(limit, len(numbers))
        assert set(found.tolist()) == {result}
        assert len(rejected) == end - first - each


def test_a_rejected_draw_is_repeated_in_its_place():
    """Of 2^16 draws below 3 only 0 is rejected."""
    assert shorts(5, 0, 0, 65_535).below(3, 2).tolist() == [0, 2]
    assert shorts(0, 65_535, 40_000).below(3, 2).tolist() == [1, 2]


def test_a_limit_or_seed_out_of_range_raises():
    for limit in (0, -1, (1 << 32) + 1):
        with pytest.raises(InputError, match=r"limit must be from 1 to 2\^32"):
            Scripted(b"").below(limit, 1)
    with pytest.raises(InputError, match="rng must be"):
        randomness("secret")
    assert randomness(None).generator is None
    assert randomness(1).generator is not None


def test_every_draw_reads_the_operating_system():
    source = randomness(None)
    assert source.bytes(64).tobytes() != source.bytes(64).tobytes()
    assert not np.array_equal(source.words(8), randomness(None).words(8))


# A uniform value of a set


def source(seed=0):
    return Randomness(np.random.default_rng(seed))


@pytest.mark.parametrize("k", [1, 3, 64, 65, 200])
def test_a_single_bit_is_always_found(k):
    assert guess_supported(np.eye(k, dtype=np.bool_), source()).tolist() == list(
        range(k)
    )


@pytest.mark.parametrize("k", [5, 70, 130])
def test_guesses_are_uniform_among_the_set_bits(k):
    bits = np.zeros(k, dtype=np.bool_)
    bits[[0, 2, k // 2, k - 1]] = True
    sets = np.tile(bits, (40_000, 1))
    counts = np.bincount(guess_supported(sets, source(k)), minlength=k)
    assert counts[~bits].sum() == 0
    assert stats.chisquare(counts[bits]).pvalue > 1e-4
    shares = np.where(np.flatnonzero(bits) == 0, 0.7, 1.1)
    assert (
        stats.chisquare(counts[bits], counts.sum() * shares / shares.sum()).pvalue
        < 1e-9
    )


@pytest.mark.parametrize("k", [1, 2, 9, 100])
def test_without_a_set_bit_every_value_is_as_likely(k):
    sets = np.zeros((20_000, k), dtype=np.bool_)
    counts = np.bincount(guess_supported(sets, source(k)), minlength=k)
    assert len(counts) == k
    assert k == 1 or stats.chisquare(counts).pvalue > 1e-4


def test_rows_with_and_without_bits_do_not_disturb_each_other():
    bits = np.random.default_rng(3).random((5000, 90)) < 0.01
    guesses = guess_supported(bits, source(4))
    some = bits.any(axis=1)
    assert 0 < some.sum() < len(some)
    assert bits[some, guesses[some]].all()
    assert ((guesses >= 0) & (guesses < 90)).all()


def test_no_reports_no_guesses():
    assert guess_supported(np.zeros((0, 100), dtype=np.bool_), source()).tolist() == []
