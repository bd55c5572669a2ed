"""Shares of forms whose largest error is the least."""

from typing import NamedTuple

import numpy as np

from seepage._core.arrays import Floats
from seepage.designs.forms.a_optimal_shares import best_shares

MIN_WEIGHT = 1e-9
"""Minimum weight of an error, relative to the largest: errors that have become small
can become large again."""


REENTERING = 1e-3
"""Share of every form with which each solution starts: forms without a share return."""


TOLERANCE = 1e-2


MAX_UPDATES = 100
"""Gap and updates of the shares for each weights."""


class MinimaxShares(NamedTuple):
    """Shares with the least largest error, and the weights at which they are best."""

    shares: Floats
    weights: Floats
    largest: float
    """The largest of the errors c_j / P_j."""
    gap: float
    """Upper bound of this error over the least of the same forms, minus 1."""


def minimax_shares(
    rows: Floats, scale: Floats, weights: Floats, shares: Floats, rounds: int
) -> MinimaxShares:
    """Return shares with a small largest error c_j / P_j, the best of some rounds.

    The minimax design is A-optimal at its own weights [Pukelsheim 2006, chapter 9]:
    w_j <- w_j c_j / P_j, relative to the largest, and the best shares for them.

    Parameters
    ----------
    rows
        The precision of each quantity from each form.
    scale
        The factor c_j of each quantity's error; 0 to leave it out.
    weights, shares
        Where the rounds start.
    rounds
        Number of times that the weights change.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [0.0, 4.0]])
    >>> found = minimax_shares(rows, np.ones(2), np.ones(2), np.ones(2) / 2, 100)
    >>> found.shares.round(3).tolist(), round(found.largest, 3)
    ([0.8, 0.2], 1.25)
    >>> 0 <= found.gap < 0.01
    True
    """
    best = _measured(rows, scale, weights, shares)
    used = scale > 0
    for _ in range(rounds):
        start = shares + REENTERING
        shares = best_shares(rows, weights, start, TOLERANCE, MAX_UPDATES).shares
        new = _measured(rows, scale, weights, shares)
        if new.largest < best.largest:
            best = new
        with np.errstate(divide="ignore", invalid="ignore"):
            grown = np.where(used, weights * scale / (shares @ rows), 0.0)
        weights = np.maximum(grown / grown.max(), MIN_WEIGHT * used)
    return best


def _measured(
    rows: Floats, scale: Floats, weights: Floats, shares: Floats
) -> MinimaxShares:
    """Return minimax shares with their largest error, and its gap."""
    used = scale > 0
    with np.errstate(divide="ignore"):
        largest = float((scale[used] / (shares @ rows)[used]).max())
    least = least_largest_error(rows, scale, weights, shares)
    return MinimaxShares(shares, weights, largest, max(0.0, largest / least - 1))


def least_largest_error(
    rows: Floats, scale: Floats, weights: Floats, shares: Floats
) -> float:
    """Return a lower bound of the largest error c_j / P_j over all shares of forms.

    By weak duality of the game of forms against quantities: for any prices y_j >= 0,
    max_j c_j / P_j >= sum_j y_j c_j / max_f sum_j y_j V[f, j]; here y_j = w_j / P_j^2
    at the given shares.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [0.0, 4.0]])
    >>> least_largest_error(
    ...     rows, np.ones(2), np.array([1.0, 0.25]), np.array([0.8, 0.2])
    ... )
    1.25
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        prices = np.where(scale > 0, weights / (shares @ rows) ** 2, 0.0)
    return float(scale @ prices) / float((rows @ prices).max())
