"""The bound on the leakage of a channel under any mechanism (Algorithm 2)."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage._core import checks
from seepage._core.rounding import round_up
from seepage.channel.channel import Channel
from seepage.leakage.leakage import Leakage
from seepage.leakage.likely_sets import bounded_leakage

# The bound as a function of epsilon, and its inverse ----------------------------------


def leakage_bound(
    channel: Channel | ArrayLike, epsilon: Any, *, delta: Any = 0.0, c_min: Any = None
) -> Leakage:
    """Return the largest leakage about a target of any (epsilon, delta)-LDP mechanism.

    exp(l) = max over x, x', S of (1 + lambda G_x(S)) / (1 + lambda G_x'(S)),
    lambda = e^epsilon - 1, G_x(S) the sum of G[x, u] over u in S   [theory: The bound].

    Parameters
    ----------
    channel
        G = P(source given target): m target values by t source values; a `Channel` or a
        matrix.
    epsilon, delta
        The budget of the mechanism that releases the source.
    c_min
        A lower bound on P(report given value), over all reports and values.  With it
        the mechanism is pure at eps' = ln(e^epsilon + delta / c_min), and the leakage
        has delta 0.

    Returns
    -------
    Leakage
        `value` is l, between 0 and epsilon, rounded up; 0 iff epsilon is 0 or all rows
        are equal, epsilon iff two rows have disjoint support.  `delta` is the certified
        delta' = delta (e^l - 1)/(e^epsilon - 1), `paper_delta` the paper's f* = delta
        A, never smaller. The witness holds the two target values and S; `profile()` is
        delta as a function of l.

    Notes
    -----
    Dinkelbach's iteration on the hockey-stick profile, O(m^2 t); see `leakage.release`.

    Examples
    --------
    >>> import seepage as sp
    >>> joint = [
    ...     [0.2, 0, 0, 0],
    ...     [0, 0.2, 0, 0],
    ...     [0.1, 0.15, 0.03, 0.02],
    ...     [0.1, 0.15, 0.03, 0.02],
    ... ]
    >>> G = [[cell / sum(row) for cell in row] for row in joint]
    >>> found = sp.leakage_bound(G, epsilon=1.0)
    >>> found.value, found.witness.likelier, found.witness.other, found.witness.likely
    (1.0, 0, 1, (0,))

    With a delta the leakage is a pair; if no report is less likely than 1/4, it is
    pure:

    >>> G = [[0.9, 0.1], [0.8, 0.2]]
    >>> for how in ({}, {"c_min": 0.25}):
    ...     found = sp.leakage_bound(G, 1.0, delta=0.01, **how)
    ...     print(round(found.value, 4), round(found.delta, 6))
    0.1368 0.000853
    0.1394 0.0
    """
    budget = checks.epsilon(epsilon)
    slack = checks.delta(delta)
    if c_min is not None:
        least = checks.inner_probability(c_min, "c_min")
        raised = (
            float(np.logaddexp(budget, math.log(slack / least))) if slack else budget
        )
        budget = round_up(raised, 8)
        slack = 0.0
    return bounded_leakage(channel, budget, slack)
