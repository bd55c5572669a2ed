"""People without an answer: counts in which each is spread over the answers.

The device of a person without an answer draws one by fixed shares s, once, and keeps
it; only then noise is added.  The likelihood of a report is linear in that draw, so
what her report tells is that of a mixture: as a source of reports "no answer" is one
more input with the row s C, C the matrix of the mechanism.  A total is therefore
computed exactly, without any draw, from counts in which her record is spread over the
answers by the shares.  As a target "no answer" keeps a row of its own
[theory-population: No answer].
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seepage._core.arrays import Floats, Integers
from seepage.channel.domain import PERCENT, Attribute

MIN_SHARE_RECORDS = 20
"""Least number of records of the part that a share of its own rests on; the share of a
smaller group of answers is that of all of them, divided equally."""


def answer_shares(counts: Sequence[int] | Integers) -> tuple[int, ...]:
    """Return the shares by which people without an answer are given one, in whole
    percent.

    Parameters
    ----------
    counts
        The number of people of the part with each answer.

    Notes
    -----
    A plan's file goes to every client, so shares are rounded, and those of answers with
    fewer than 20 people are pooled: the rarest answers with the next rarer ones, until
    they have 20 people together, and each gets an equal part.  Rounded by largest
    remainders, the sum is 100.

    Examples
    --------
    >>> answer_shares([60, 40]), answer_shares([970, 20, 9, 1]), answer_shares([0, 0])
    ((60, 40), (97, 1, 1, 1), (50, 50))
    """
    weights = np.asarray(counts, dtype=np.float64).copy()
    ascending = np.argsort(weights, kind="stable")
    pooled = int((weights < MIN_SHARE_RECORDS).sum())
    while 0 < pooled < len(weights):
        if weights[ascending[:pooled]].sum() >= MIN_SHARE_RECORDS:
            break
        pooled += 1
    if pooled:
        rare = ascending[:pooled]
        weights[rare] = weights[rare].mean()
    if not weights.any():
        weights[:] = 1.0
    percents = PERCENT * weights / weights.sum()
    shares = np.floor(percents).astype(np.int64)
    left = PERCENT - int(shares.sum())
    shares[np.argsort(shares - percents, kind="stable")[:left]] += 1
    return tuple(shares.tolist())


def spread(counts: Integers, axis: int, shares: Sequence[int]) -> Integers:
    """Return counts times 100 where those without an answer, last along an axis, are
    spread over the others.

    Parameters
    ----------
    counts
        Counts, the last entry along the axis those of people without an answer.
    axis
        The axis.
    shares
        The share of each answer, in whole percent.

    Examples
    --------
    >>> spread(np.array([5, 3, 2]), 0, (60, 40)).tolist()
    [620, 380]
    """
    along_axis = np.moveaxis(counts, axis, 0)
    percents = np.array(shares, dtype=counts.dtype)
    percents = percents.reshape(-1, *[1] * (along_axis.ndim - 1))
    answers = PERCENT * along_axis[:-1] + percents * along_axis[-1]
    return np.moveaxis(answers, 0, axis)


def completed(
    counts: Integers, attributes: Sequence[Attribute]
) -> tuple[Integers, int]:
    """Return a table of coded records as one of answers, those without one spread, and
    the factor of its counts.

    Parameters
    ----------
    counts
        Counts whose first axes are the coded attributes; further axes stay.
    attributes
        The attributes.

    Returns
    -------
    tuple
        Counts times the factor, a power of 100; 1 if nobody lacks an answer.

    Examples
    --------
    >>> sex = Attribute("sex", ("F", "M"), shares=(50, 50)).as_coded
    >>> completed(np.array([30, 10, 0]), [sex])
    (array([30, 10]), 1)
    >>> completed(np.array([30, 10, 1]), [sex])
    (array([3050, 1050]), 100)
    """
    factor = 1
    for axis, attribute in enumerate(attributes):
        if attribute.answers == attribute.size:
            continue
        lacking = np.take(counts, attribute.answers, axis=axis)
        if lacking.any():
            counts = spread(counts, axis, attribute.shares)
            factor *= PERCENT
        else:
            counts = np.take(counts, range(attribute.answers), axis=axis)
    return counts, factor


def completed_frequencies(counts: Integers, attribute: Attribute) -> Floats:
    """Return the expected counts of the answers that reports are drawn from, with those
    of people without one.
    """
    answers, factor = completed(np.asarray(counts), [attribute])
    return np.asarray(answers / factor)


def drawn_answers(words: NDArray[np.uint64], shares: Sequence[int]) -> Integers:
    """Return the answers that 64-bit words draw for people without one.

    With p = floor(100 w / 2^64), the first answer whose cumulative share is above p.

    Examples
    --------
    >>> words = np.array([0, 2**63, 2**64 - 1], dtype=np.uint64)
    >>> drawn_answers(words, (50, 0, 50)).tolist()
    [0, 2, 2]
    """
    high = words >> np.uint64(32)
    low = words & np.uint64(2**32 - 1)
    hundred = np.uint64(PERCENT)
    carried = (low * hundred) >> np.uint64(32)
    percents = (high * hundred + carried) >> np.uint64(32)
    ends = np.cumsum(shares)
    return np.asarray(np.searchsorted(ends, percents.astype(np.int64), side="right"))
