"""A-optimal shares: how many people get which form.

A form f estimates quantity j from one report with precision V[f, j] = 1 / v_j(f), 0 where it does
not ask it.  With shares pi the precision of j is P_j = sum_f pi_f V[f, j], for n people its
expected squared error 1 / (n P_j), and the objective

    phi(pi) = sum_j w_j / P_j

is convex: an A-optimal design [Silvey, Titterington and Torsney 1978; theory-forms].
"""

from typing import NamedTuple

import numpy as np

from seepage._numerics import Floats

ROUNDS = 400
"""Updates between two looks at which shares have vanished."""

VANISHED = 1e-12
"""A share below this is taken for 0 where it still falls."""


class Shares(NamedTuple):
    """Shares, the objective, and how far it may be above the least one over the same forms.

    `prices` are w_j / P_j^2: what a form gains for the precision of each quantity.
    """

    shares: Floats
    objective: float
    gap: float
    prices: Floats


def evaluate(precisions: Floats, weights: Floats, shares: Floats) -> Shares:
    """Return the objective at some shares and the gap of the equivalence theorem.

    With g_f = sum_j w_j V[f, j] / P_j^2, phi <= (1 + gap) min phi, gap = max_f g_f / phi - 1.

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
            return Shares(shares, np.inf, np.inf, prices)
        gap = float((precisions @ prices).max() / objective - 1)
    return Shares(shares, objective, max(gap, 0.0), prices)


def best_shares(
    precisions: Floats,
    weights: Floats,
    start: Floats,
    tolerance: float = 1e-4,
    most: int = 4000,
) -> Shares:
    """Return shares whose objective is within `tolerance` of the least, or those after `most`.

    The update pi_f <- pi_f sqrt(g_f), normalised, never raises phi.  A form with share 0 at the
    start stays out; the gap counts it all the same.

    Examples
    --------
    >>> forms = np.array([[1.0, 0.0], [0.0, 4.0], [0.6, 1.0]])
    >>> found = best_shares(forms, np.ones(2), np.full(3, 1 / 3), 1e-6)
    >>> found.shares.round(3).tolist(), found.gap < 1e-6
    ([0.667, 0.333, 0.0], True)
    """
    shares = start / start.sum()
    active = np.flatnonzero(shares)
    part, done = precisions[active], 0
    pi, used = shares[active], weights > 0
    part, importance = np.ascontiguousarray(part[:, used]), weights[used]
    while done < most:
        for _ in range(min(ROUNDS, most - done)):
            done += 1
            precision = pi @ part
            gains = part @ (importance / precision**2)
            objective = float((importance / precision).sum())
            if gains.max() <= objective * (1 + tolerance):
                done = most
                break
            pi = pi * np.sqrt(gains)
            pi /= pi.sum()
        kept = (pi > VANISHED) | (gains > objective)
        active, pi, part = active[kept], pi[kept] / pi[kept].sum(), part[kept]
    shares = np.zeros(len(precisions))
    shares[active] = pi
    return evaluate(precisions, weights, shares)
