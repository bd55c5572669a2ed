"""The exact leakage of a mechanism whose transition matrix is known: the paper's Algorithm 1."""

import numpy as np
from numpy.typing import ArrayLike

from seepage._numerics import UNIT, Floats, log_ratio, round_up
from seepage.channel import Channel, as_matrix
from seepage.errors import ChannelError
from seepage.evidence import Leakage, Witness, labels

__all__ = ["exact_leakage"]

SCALE = 400
"""The power of two that every report's likeliest input is brought to, clear of underflow."""


def exact_leakage(G: Channel | ArrayLike, C: Channel | ArrayLike) -> Leakage:
    """Return the exact leakage about a target when its source is released through C.

    CPL = ln max_y ( max_x W[x, y] / min_x W[x, y] ),  W = G C   [THEORY section 2].

    Parameters
    ----------
    G
        P(source given target): m target values by t source values.
    C
        P(report given source), the mechanism's transition matrix: t source values by reports.

    Returns
    -------
    Leakage
        With the two target values and the report y that attain it, rounded up.  A report that
        no target value can produce is left out; one that is possible under one and impossible
        under another makes the leakage infinite.

    Notes
    -----
    One product and a maximum and minimum for each report, O(m t r).  The paper loops over all
    pairs of target values, O(m^2 t^2), and its listing takes a row of C where its equation takes
    the column of the report y; the column is right, for y is what the adversary sees.

    With c the least entry of a column, W = c + G (C - c): what all inputs share is not rounded,
    so a report that tells nothing leaks exactly 0.

    Examples
    --------
    >>> import seepage as sp
    >>> randomised_response = [[0.75, 0.25], [0.25, 0.75]]
    >>> found = sp.exact_leakage([[0.9, 0.1], [0.2, 0.8]], randomised_response)
    >>> round(found.value, 4), found.witness.report
    (0.7732, 1)
    """
    correlation, mechanism = as_matrix(G, "G"), as_matrix(C, "C")
    _check_axes(G, C, correlation, mechanism)
    if (correlation == correlation[0]).all():
        return Leakage(0.0, None)
    highest = mechanism.max(axis=0)
    possible = np.flatnonzero(highest)
    columns = np.ldexp(mechanism[:, possible], SCALE - np.frexp(highest[possible])[1])
    shared = columns.min(axis=0)
    seen = correlation @ (columns - shared)
    ratios = _log_ratios(seen, shared, len(mechanism))
    if ratios.max() <= 0:
        return Leakage(0.0, None)
    report = int(ratios.argmax())
    first, second = int(seen[:, report].argmax()), int(seen[:, report].argmin())
    column = int(possible[report])
    targets, sources = labels(G, 0, len(correlation)), labels(G, 1, len(mechanism))
    likely = np.flatnonzero(mechanism[:, column] == highest[column])
    witness = Witness(
        targets[first],
        targets[second],
        tuple(sources[u] for u in likely),
        labels(C, 1, mechanism.shape[1])[column],
    )
    return Leakage(float(ratios[report]), witness if first != second else None)


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
    G: Channel | ArrayLike, C: Channel | ArrayLike, correlation: Floats, mechanism: Floats
) -> None:
    if isinstance(G, Channel) and isinstance(C, Channel) and G.output != C.given:
        raise ChannelError(
            f"the source of G is {G.output.name!r} but C perturbs {C.given.name!r}; "
            "they must be the same attribute"
        )
    if correlation.shape[1] != mechanism.shape[0]:
        raise ChannelError(
            f"G has {correlation.shape[1]} source values but C has {mechanism.shape[0]} rows; "
            "they must be equal"
        )
