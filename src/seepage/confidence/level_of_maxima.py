"""The level of confidence limits whose largest alone is claimed.

Let U be the largest of upper confidence limits, each wrong with probability at most q.
The true maximum is attained at one fixed statement, and U is at least the limit of that
one: U is wrong with probability at most q, *however many statements there are*.
Likewise a test that every statement holds is passed wrongly with at most the
probability that one fixed false statement is not found (intersection-union test)
[Berger 1982].
"""

import math

from seepage._core import checks

LEAST = math.log(4.0)
"""Least level: that from which limits of shares hold for draws without replacement
[theory-population: One statement]."""


def level_of_maxima(families: float, confidence: float) -> float:
    """Return the level c = ln(2 F / beta) of limits of maxima over F families, beta = 1
    - confidence.

    Each confidence limit is to be wrong with probability at most e^-c.  Then, with
    probability at least `confidence`, all of the F claims hold at once, each of which
    is one of

    * "every leakage of one plan is within its limit", the plan fixed beforehand;
    * the same of the largest member that passes of one ascending family of plans, fixed
      beforehand, if limits never fall along it;
    * "the total about one attribute is at most U", U the largest ratio of an upper to a
      lower limit.

    Parameters
    ----------
    families
        F, the number of claims that *could* be made: a choice among them costs its
        logarithm, the number of reports, values and targets in each costs nothing.
    confidence
        1 - beta.

    Notes
    -----
    Conditions, proof and what is not claimed: [theory-certificate: The theorem].  The 2
    is for the two limits of a ratio.  Plans, domains and their order must be fixed
    without the records that certify.  Lower limits and rankings need a union bound over
    all statements.

    Examples
    --------
    >>> round(level_of_maxima(1, 0.95), 2), round(level_of_maxima(9_880, 0.95), 2)
    (3.69, 12.89)
    """
    level = checks.inner_probability(confidence, "confidence")
    return max(math.log(2 * families) - math.log1p(-level), LEAST)
