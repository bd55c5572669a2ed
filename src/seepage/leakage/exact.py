"""The exact leakage of a mechanism whose transition matrix is known: the paper's Algorithm 1."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from seepage._numerics import UNIT, Floats, log_ratio, round_up
from seepage.data.channel import (
    Channel,
    DenseOrSparse,
    SparseLike,
    as_dense_or_sparse,
    dense,
    is_sparse,
    rows_are_equal,
)
from seepage.errors import ChannelError
from seepage.leakage.evidence import Leakage, Witness, labels

SCALE = 400
"""The power of two that every report's likeliest input is brought to, clear of underflow."""

CELLS_AT_ONCE = 1 << 24
"""Cells of the product W that are held at once: 128 MB."""


def exact_leakage(channel: Channel | ArrayLike | SparseLike, mechanism: Any) -> Leakage:
    """Return the exact leakage about a target when its source is released through a mechanism.

    CPL = ln max_y ( max_x W[x, y] / min_x W[x, y] ),  W = G C   [theory].

    Parameters
    ----------
    channel
        G = P(source given target): m target values by t source values; a `Channel`, a matrix, or a
        sparse matrix of SciPy.
    mechanism
        C = P(report given source), the mechanism's transition matrix, likewise: t source values by
        r reports; or a `Mechanism`, whose own closed form is used.

    Returns
    -------
    Leakage
        With the two target values and the report y that attain it, rounded up.  A report that
        no target value can produce is left out; one that is possible under one and impossible
        under another makes the leakage infinite.

    Notes
    -----
    One product and a maximum and minimum for each report, O(m t r); O(n r) with n cells of a
    sparse G that are not zero.  The product is made for some reports at a time, so that memory
    does not grow with m r, and a sparse channel is never made a whole matrix.  The paper loops
    over all pairs of target values, O(m^2 t^2), and its listing takes a row of C where its
    equation takes the column of the report y; the column is right, for y is what the adversary
    sees.

    With c the least entry of a column, W = c + G (C - c): what all inputs share is not rounded,
    so a report that tells nothing leaks exactly 0.

    Examples
    --------
    >>> import seepage as sp
    >>> randomised_response = [[0.75, 0.25], [0.25, 0.75]]
    >>> found = sp.exact_leakage([[0.9, 0.1], [0.2, 0.8]], randomised_response)
    >>> round(found.value, 4), found.witness.report
    (0.7732, 1)

    >>> from scipy.sparse import csr_array
    >>> sparse = sp.exact_leakage(csr_array([[0.9, 0.1], [0.2, 0.8]]), randomised_response)
    >>> round(sparse.value, 4), sparse.witness == found.witness
    (0.7732, True)

    >>> round(sp.exact_leakage([[0.9, 0.1], [0.2, 0.8]], sp.GRR(2, 1.0)).value, 4)
    0.7063
    """
    if callable(getattr(mechanism, "leakage", None)):
        if not is_sparse(channel):
            return mechanism.leakage(channel)  # type: ignore[no-any-return]
        mechanism = mechanism.channel()
    correlation = as_dense_or_sparse(channel, "channel")
    transition = as_dense_or_sparse(mechanism, "mechanism")
    _check_axes(channel, mechanism, correlation, transition)
    if rows_are_equal(correlation):
        return Leakage(0.0, None)
    columns = transition.tocsc() if is_sparse(transition) else transition
    step = max(1, CELLS_AT_ONCE // max(correlation.shape[0], transition.shape[0]))
    best = _Telling(0.0, 0, 0, 0)
    for begin in range(0, transition.shape[1], step):
        found = _most_telling(correlation, dense(columns[:, begin : begin + step]))
        if found.value > best.value:
            best = found._replace(report=begin + found.report)
    if best.likelier == best.other:
        return Leakage(best.value, None)
    return Leakage(best.value, _witness(channel, mechanism, columns, best))


class _Telling(NamedTuple):
    """The most telling of some reports: its leakage, the two target values, and its number."""

    value: float
    likelier: int
    other: int
    report: int


def _most_telling(correlation: DenseOrSparse, mechanism: Floats) -> _Telling:
    """Return the most telling report through some columns of a mechanism."""
    highest = mechanism.max(axis=0)
    possible = np.flatnonzero(highest)
    if not len(possible):
        return _Telling(0.0, 0, 0, 0)
    columns = np.ldexp(mechanism[:, possible], SCALE - np.frexp(highest[possible])[1])
    shared = columns.min(axis=0)
    columns -= shared
    seen = correlation @ columns
    ratios = _log_ratios(seen, shared, len(mechanism))
    place = int(ratios.argmax())
    column = seen[:, place]
    return _Telling(
        float(ratios[place]), int(column.argmax()), int(column.argmin()), int(possible[place])
    )


def _witness(channel: Any, mechanism: Any, columns: DenseOrSparse, best: _Telling) -> Witness:
    """Return the names of what attains a leakage; the likely inputs are the report's likeliest."""
    column = dense(columns[:, [best.report]])[:, 0]
    targets = labels(channel, 0, max(best.likelier, best.other) + 1)
    sources = labels(channel, 1, len(column))
    return Witness(
        targets[best.likelier],
        targets[best.other],
        tuple(sources[u] for u in np.flatnonzero(column == column.max()).tolist()),
        labels(mechanism, 1, columns.shape[1])[best.report],
    )


def _log_ratios(seen: Floats, shared: Floats, terms: int) -> Floats:
    """Return ln max / min of `shared + seen` in each column, rounded up.

    Infinite where only the minimum is 0, and 0 where all inputs give the report alike.  A sum of
    `terms` products and the rounded cells move the logarithm by as many units of the share that
    is not common; so far a difference may hide.
    """
    most, least = seen.max(axis=0), seen.min(axis=0)
    ratios = log_ratio(most - least, shared + least, np.inf)
    with np.errstate(invalid="ignore"):
        guard = 2 * (terms + 8) * UNIT * (most / (shared + most))
    return np.where(most > 0, round_up(ratios, 8) + guard, 0.0)


def _check_axes(
    channel: Any, mechanism: Any, correlation: DenseOrSparse, transition: DenseOrSparse
) -> None:
    if (
        isinstance(channel, Channel)
        and isinstance(mechanism, Channel)
        and channel.output != mechanism.given
    ):
        raise ChannelError(
            f"the source of channel is {channel.output.name!r} but mechanism perturbs "
            f"{mechanism.given.name!r}; they must be the same attribute"
        )
    if correlation.shape[1] != transition.shape[0]:
        raise ChannelError(
            f"channel has {correlation.shape[1]} source values but mechanism has "
            f"{transition.shape[0]} rows; they must be equal"
        )
