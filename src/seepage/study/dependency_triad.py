"""The Dependency Triad: a pair of attributes reduced to three numbers, for any budget.

Our own reading of the formulas in the authors' artifact of 2026 (dependency-triad-ccs26), whose
text is not at hand.  Over all pairs of target values x, x', each maximum taken by itself:

* e^alpha = max of G[x, u] / G[x', u] over the u that both can have;
* delta = max of the mass under x of the u that x' cannot have;
* phi = max of the total variation distance of the two rows.

Every set S then has A <= e^alpha B + delta and A - B <= phi, with A and B its mass under x and x',
so that (1 + lambda A) / (1 + lambda B) is at most its value at the corner of the two lines,

    B = (phi - delta) / (e^alpha - 1),  A = e^alpha B + delta = B + phi,

or at B = 0, A = delta where it falls along the first line: e^alpha - 1 < delta lambda.  The
artifact writes B with a fourth number beta, e^beta = ((1-delta) e^alpha - 1 - phi + 2 delta) /
((1-phi) e^alpha - 1 + delta), as (e^beta - 1)(1 - delta) / (e^(alpha+beta) - 1): the same number.
Where a cell is zero it has NaN; here such cells are in delta alone and alpha is finite.  Where
alpha = 0 the limit phi = delta, B = 0 is taken.
"""

from dataclasses import dataclass

import numpy as np

from seepage._numerics import Floats, log_ratio
from seepage.data.pairs import PairCounts
from seepage.leakage.matrix import leakage_matrix


@dataclass(frozen=True)
class DependencyTriad:
    """Dependency Triad: an upper bound from three numbers of each pair, in our reading.

    Never below the bound over all mechanisms, which it equals for two source values (up to
    rounding).
    """

    name: str = "Triad"

    def leakages(self, pairs: PairCounts, epsilons: Floats) -> Floats:
        """Return the leakage of each source (column) about each target (row)."""
        values = np.zeros((len(pairs.domain), len(pairs.domain)))
        for targets, sources, stack in leakage_matrix(pairs, epsilons).channel_stacks():
            for target, source, channel in zip(targets, sources, stack, strict=True):
                values[target, source] = triad_leakage(*triad(channel), float(epsilons[source]))
        return values


def triad(channel: Floats) -> tuple[float, float, float]:
    """Return alpha, delta and phi of a channel G = P(source given target).

    Notes
    -----
    O(m^2 t) for m target and t source values.

    Examples
    --------
    >>> alpha, delta, phi = triad(np.array([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25]]))
    >>> round(float(np.exp(alpha)), 6), delta, phi
    (2.0, 0.25, 0.25)
    """
    highest = channel.max(axis=0)
    lowest = np.where(channel > 0, channel, np.inf).min(axis=0)
    possible = highest > 0
    alpha = float(np.log(highest[possible] / lowest[possible]).max())
    delta = float((channel @ (channel == 0).astype(np.float64).T).max())
    phi = max(float(np.maximum(row - channel, 0.0).sum(axis=1).max()) for row in channel)
    return alpha, min(delta, phi), min(phi, 1.0)


def triad_leakage(alpha: float, delta: float, phi: float, epsilon: float) -> float:
    """Return the leakage that three numbers allow at a budget, at most epsilon.

    Examples
    --------
    >>> round(triad_leakage(np.log(2), 0.0, 0.25, 1.0), 4)
    0.2627
    """
    growth = np.expm1(alpha)
    falling = growth * np.exp(-epsilon) < -delta * np.expm1(-epsilon)
    corner = 0.0 if falling or growth == 0 else (phi - delta) / growth
    gap = delta if falling else phi
    return min(float(log_ratio(gap, corner, epsilon)), epsilon)
