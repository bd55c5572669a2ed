"""Draws from any small channel in whole chances, so that the epsilon they realise is exact."""

from fractions import Fraction

import numpy as np

from seepage._numerics import Floats, Integers
from seepage.mechanisms.base import ROWS
from seepage.mechanisms.randomness import Randomness

__all__ = ["draw_outputs", "largest_ratio", "whole_chances"]

TOTAL_BITS = 62
"""Each row of chances sums to 2^62, so that all sums fit signed 64-bit integers."""

RARE = 2.0**-32
"""An output rarer than this for every value is drawn alike for all of them."""


def whole_chances(channel: Floats, limit: Fraction) -> Integers:
    """Return whole chances near a channel whose ratios within each column keep a limit exactly.

    Parameters
    ----------
    channel
        P(output given value), rows summing to 1 up to rounding.
    limit
        The largest ratio allowed, at least 1.

    Returns
    -------
    Integers
        One row a value, each summing to 2^62.

    Notes
    -----
    The channel is mixed with a share t of its average row, t the smallest of 0, 2^-52, 2^-51,
    ..., 1 that keeps the limit once rounded; t = 1 always does.  A channel that keeps the limit
    up to rounding needs a t of about the rounding over ln(limit).  Outputs rarer than 2^-32 get
    the same chance for all values, since rounding alone would tell these apart.

    Examples
    --------
    >>> chances = whole_chances(np.array([[0.75, 0.25], [0.25, 0.75]]), Fraction(3))
    >>> chances.sum(axis=1).tolist() == [2**62, 2**62], largest_ratio(chances)
    (True, Fraction(3, 1))
    """
    channel = np.where(channel.max(axis=0) < RARE, channel.mean(axis=0), channel)
    average = channel.mean(axis=0)
    for share in (0.0, *(2.0**exponent for exponent in range(-52, 0))):
        chances = _round_rows((1 - share) * channel + share * average)
        if _keeps(chances, limit):
            return chances
    return _round_rows(np.tile(average, (len(channel), 1)))


def _round_rows(channel: Floats) -> Integers:
    """Return whole chances; what rounding leaves goes to the likeliest output."""
    total = 1 << TOTAL_BITS
    chances = np.floor(channel * total).astype(np.int64)
    every, likeliest = np.arange(len(chances)), chances.argmax(axis=1)
    chances[every, likeliest] += total - chances.sum(axis=1)
    return chances


def _keeps(chances: Integers, limit: Fraction) -> bool:
    """Say whether each column's largest chance is at most `limit` times its smallest, exactly."""
    pairs = zip(chances.max(axis=0).tolist(), chances.min(axis=0).tolist(), strict=True)
    return all(high * limit.denominator <= low * limit.numerator for high, low in pairs)


def largest_ratio(chances: Integers) -> Fraction:
    """Return the largest exact ratio within a column; an output without any chance is left out."""
    pairs = zip(chances.max(axis=0).tolist(), chances.min(axis=0).tolist(), strict=True)
    return max(Fraction(high, low) for high, low in pairs if high)


def draw_outputs(chances: Integers, codes: Integers, source: Randomness) -> Integers:
    """Return one output for each code, each with exactly its chance out of 2^62.

    A uniform 62-bit integer is looked up in the running sums of its row; O(log r) each for r
    outputs, in blocks so that memory does not grow beyond the outputs.
    """
    ends = np.cumsum(chances, axis=1)
    outputs = np.empty(len(codes), dtype=np.int64)
    for begin in range(0, len(codes), ROWS):
        block = codes[begin : begin + ROWS]
        words = source.words(len(block)) >> np.uint64(64 - TOTAL_BITS)
        places = words.astype(np.int64)
        order = np.argsort(block, kind="stable")
        borders = np.searchsorted(block[order], np.arange(len(chances) + 1))
        for value in np.flatnonzero(np.diff(borders)):
            rows = order[borders[value] : borders[value + 1]]
            outputs[begin + rows] = np.searchsorted(ends[value], places[rows], side="right")
    return outputs
