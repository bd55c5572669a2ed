"""`largest_within`: the largest number of an interval that satisfies a monotone
condition.
"""

import math
from collections.abc import Callable

MAX_ITERATIONS = 200
"""Maximum number of iterations of the root search."""


class NothingWithinError(ValueError):
    """No number satisfies the condition.

    Attributes
    ----------
    excess
        The excess at 0, which is positive.
    """

    def __init__(self, excess: float) -> None:
        """Keep the excess at 0, the least number within the interval."""
        super().__init__(f"the excess at 0 is {excess:.4g}, above 0")
        self.excess = excess


def largest_within(
    excess: Callable[[float], float], maximum: float, tolerance: float = 1e-9
) -> float:
    """Return the root of a monotone function: the largest x in [0, maximum] with
    excess(x) <= 0.

    Parameters
    ----------
    excess
        A non-decreasing function; infinite values are allowed.
    maximum
        Upper end of the search.
    tolerance
        How far the result may lie below the root; it is never above.

    Raises
    ------
    NothingWithinError
        If the excess at 0 is positive.

    Notes
    -----
    Regula falsi (the Illinois rule) inside a bracket whose lower end always satisfies
    the condition, with a bisection whenever it does not halve the bracket: about ten
    evaluations for smooth functions, at most fifty for any.

    Examples
    --------
    >>> root = largest_within(lambda x: 3 * x - 1, maximum=1.0)
    >>> 1 / 3 - 1e-9 <= root <= 1 / 3
    True
    """
    low = 0.0
    at_low = excess(0.0)
    if at_low > 0:
        raise NothingWithinError(at_low)
    high = maximum
    at_high = excess(maximum)
    if at_high <= 0:
        return maximum
    for _ in range(MAX_ITERATIONS):
        width = high - low
        if width <= tolerance:
            break
        for share in (_chord_root(at_low, at_high), 0.5):
            middle = low + (high - low) * share
            if not low < middle < high:
                continue
            at_middle = excess(middle)
            if at_middle <= 0:
                low = middle
                at_low = at_middle
            else:
                high = middle
                at_high = at_middle
            if high - low <= width / 2:
                break
    return low


def _chord_root(at_low: float, at_high: float) -> float:
    """Return where the chord is 0 (regula falsi) as a share of the interval that holds
    the largest number, clipped to 1e-3.
    """
    if math.isinf(at_high) or math.isinf(at_low):
        return 0.5
    return min(max(-at_low / (at_high - at_low), 1e-3), 1 - 1e-3)
