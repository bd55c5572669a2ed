"""A-optimal shares: the shares of people over forms that have the least mean error.

A quantity is an attribute's frequencies, or the joint distribution of attributes that
are asked together.  v_j(f) is the variance of the unbiased estimate of quantity j from
one report of form f, summed over the values, for a person drawn from the population:
the sum of noise and sampling variance.  Its precision is V[f, j] = 1 / v_j(f), and 0 if
the form does not ask it.  With shares pi the precision of j is P_j = sum_f pi_f V[f,
j], for n people its expected squared error is 1 / (n P_j), and the objective

    phi(pi) = sum_j w_j / P_j

is convex: an A-optimal design [Silvey, Titterington and Torsney 1978; theory-forms].
`FormPool` is the restricted master problem of column generation: the best shares over
the forms found so far.
"""

from typing import NamedTuple

import numpy as np

from seepage._core.arrays import Floats

UPDATES_PER_PRUNING = 400
"""Multiplicative updates between two removals of forms whose shares have converged to
0."""


ZERO_SHARE = 1e-12
"""A share below this counts as 0 if its form has a negative reduced gain, so that it
decreases."""


class ShareSolution(NamedTuple):
    """A solution of the master problem: shares of forms, objective, optimality gap,
    prices.
    """

    shares: Floats
    """pi, one share for each form; they sum to 1."""
    objective: float
    """phi(pi)."""
    gap: float
    """Upper bound of phi(pi) / min phi - 1 over the same forms."""
    prices: Floats
    """Dual prices w_j / P_j^2, one for each quantity."""


def evaluate(precisions: Floats, weights: Floats, shares: Floats) -> ShareSolution:
    """Return the A-optimal objective, prices, and the optimality gap of the equivalence
    theorem, at given shares.

    With g_f = sum_j w_j V[f, j] / P_j^2, phi <= (1 + gap) min phi, gap = max_f g_f /
    phi - 1.

    Examples
    --------
    >>> found = evaluate(np.eye(2), np.ones(2), np.array([0.5, 0.5]))
    >>> found.objective, found.gap
    (4.0, 0.0)
    """
    used = weights > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = shares @ precisions
        prices = np.where(used, weights / precision**2, 0.0)
        objective = float((weights[used] / precision[used]).sum())
        if not np.isfinite(objective):
            return ShareSolution(shares, np.inf, np.inf, prices)
        gap = float((precisions @ prices).max() / objective - 1)
    return ShareSolution(shares, objective, max(gap, 0.0), prices)


def best_shares(
    precisions: Floats,
    weights: Floats,
    start: Floats,
    tolerance: float = 1e-4,
    max_updates: int = 4000,
) -> ShareSolution:
    """Return A-optimal shares with a gap of at most `tolerance`, or those after
    `max_updates` updates.

    The multiplicative update pi_f <- pi_f sqrt(g_f), normalised, never increases phi.
    A form with start share 0 keeps it, but counts in the gap.

    Examples
    --------
    >>> forms = np.array([[1.0, 0.0], [0.0, 4.0], [0.6, 1.0]])
    >>> found = best_shares(forms, np.ones(2), np.full(3, 1 / 3), 1e-6)
    >>> found.shares.round(3).tolist(), found.gap < 1e-6
    ([0.667, 0.333, 0.0], True)
    """
    shares = start / start.sum()
    active = np.flatnonzero(shares)
    updates = 0
    used = weights > 0
    pi = shares[active]
    importance = weights[used]
    rows = np.ascontiguousarray(precisions[active][:, used])
    while updates < max_updates:
        for _ in range(min(UPDATES_PER_PRUNING, max_updates - updates)):
            updates += 1
            precision = pi @ rows
            gains = rows @ (importance / precision**2)
            objective = float((importance / precision).sum())
            if gains.max() <= objective * (1 + tolerance):
                updates = max_updates
                break
            pi = pi * np.sqrt(gains)
            pi /= pi.sum()
        kept = (pi > ZERO_SHARE) | (gains > objective)
        active = active[kept]
        pi = pi[kept] / pi[kept].sum()
        rows = rows[kept]
    shares = np.zeros(len(precisions))
    shares[active] = pi
    return evaluate(precisions, weights, shares)
