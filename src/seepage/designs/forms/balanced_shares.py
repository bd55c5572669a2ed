"""Shares of forms whose mean error is close to the least, and whose largest is smaller.

How many people are asked follows from the least precise answer.  The mean error is flat
around its minimum, so that a fiftieth of it buys a far smaller largest error.
"""

import numpy as np

from seepage._core.arrays import Floats
from seepage.designs.forms.a_optimal_shares import ShareSolution, best_shares, evaluate

MAX_COST = 0.02
"""Maximum relative increase of the mean error."""


EMPHASES = tuple(0.02 * 1.3**step for step in range(24))
"""Weights of the largest errors relative to that of the mean, ascending."""


ROUNDS = 8
"""Number of times that the weight of the largest errors is divided anew, for each."""


STEP = 4.0
"""Exponent of the errors by which their parts of it change each time."""


OVERSHOOT = 0.03
"""Relative excess of the mean error over the highest at which the search ends."""


TOLERANCE = 1e-3


MAX_UPDATES = 400
"""Gap and updates of the shares for each weights."""


REENTERING = 1e-5
"""Share of every form with which each solution starts: forms without a share return."""


def balanced_shares(
    rows: Floats, importance: Floats, scale: Floats, best: ShareSolution, least: float
) -> Floats:
    """Return shares that balance the errors, the largest smaller, by further weight on
    large ones.

    At the least largest error for a mean error the shares are best for the weights of
    the mean plus some on the questions with the largest errors: the conditions of
    Karush, Kuhn and Tucker.  Their weight grows until the mean error is `MAX_COST`
    above the best one.

    Parameters
    ----------
    rows
        The precision of each quantity from each form.
    importance
        The weight of each quantity in the mean error.
    scale
        The factor of each quantity's error that is compared; 0 to leave it out.
    best
        The shares of least mean error.
    least
        The mean error that the cost is relative to: that of these shares, or of more
        forms.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [0.0, 4.0]])
    >>> best = best_shares(rows, np.ones(2), np.ones(2))
    >>> found = balanced_shares(rows, np.ones(2), np.ones(2), best, best.objective)
    >>> (1 / (best.shares @ rows)).round(3).tolist()
    [1.5, 0.75]
    >>> bool((1 / (found @ rows)).max() < 1.41)
    True
    >>> evaluate(rows, np.ones(2), found).objective <= 1.02 * best.objective
    True
    """
    highest = least * (1 + MAX_COST)
    balanced = best.shares.copy()
    errors = _errors(rows, scale, best.shares)
    smallest = errors.max()
    parts = np.where(errors > 0, scale, 0.0)
    shares = best.shares
    for emphasis in EMPHASES:
        for _ in range(ROUNDS):
            parts = parts * (errors / errors.max()) ** STEP
            parts = parts / parts.sum()
            weights = importance + emphasis * importance.sum() * parts
            start = shares + REENTERING
            shares = best_shares(rows, weights, start, TOLERANCE, MAX_UPDATES).shares
            errors = _errors(rows, scale, shares)
            near = _within(rows, importance, highest, balanced, shares)
            largest = _errors(rows, scale, near).max()
            if largest < smallest:
                smallest = largest
                balanced = near
        if evaluate(rows, importance, shares).objective > highest * (1 + OVERSHOOT):
            break
    return balanced


def _errors(rows: Floats, scale: Floats, shares: Floats) -> Floats:
    """Return the errors that shares balance; 0 for others."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(scale > 0, scale / (shares @ rows), 0.0)


def _within(
    rows: Floats, importance: Floats, highest: float, near: Floats, far: Floats
) -> Floats:
    """Return the balanced shares furthest on the way from some to others whose mean
    error, which is convex, is not too high.
    """
    low = 0.0
    high = 1.0
    if evaluate(rows, importance, far).objective <= highest:
        return far
    for _ in range(20):
        middle = (low + high) / 2
        shares = (1 - middle) * near + middle * far
        if evaluate(rows, importance, shares).objective <= highest:
            low = middle
        else:
            high = middle
    return (1 - low) * near + low * far
