"""The largest budget whose totals are within their limits."""

from collections.abc import Callable

from seepage._core.errors import InputError
from seepage.calibration.largest_within import NothingWithinError, largest_within


def largest_budget(
    excess: Callable[[float], float], maximum: float, tolerance: float = 1e-9
) -> float:
    """Return the largest budget up to `maximum` whose totals exceed no limit.

    Parameters
    ----------
    excess
        The largest excess of a total over its limit, non-decreasing in the budget.
    maximum, tolerance
        As in `largest_within`: the budget is never above the root.

    Examples
    --------
    >>> largest_budget(lambda budget: 3 * budget - 1.5, maximum=2.0)
    0.5
    """
    try:
        return largest_within(excess, maximum, tolerance)
    except NothingWithinError as nothing:
        raise _no_budget(nothing.excess) from None


def bisected_budget(
    excess: Callable[[float], float], maximum: float, steps: int
) -> float:
    """Return the largest budget that passed one of so many tests of a plain bisection.

    The points tested depend on the outcomes before only, not on the values of the
    excess. If the true totals grow with the budget, at most one test of each step is of
    a budget that violates a limit while none has passed: the level counts the steps
    [theory-certificate: Families].

    Parameters
    ----------
    excess
        The largest excess of a total over its limit; it may fall.
    maximum
        Upper end of the search, which is not tested.
    steps
        The number of tests.  The budget 0 is tested too; it violates nothing, or
        raises.

    Examples
    --------
    >>> bisected_budget(lambda budget: 3 * budget - 1.5, maximum=2.0, steps=4)
    0.5
    """
    at_zero = excess(0.0)
    if at_zero > 0:
        raise _no_budget(at_zero)
    low = 0.0
    high = maximum
    for _ in range(steps):
        middle = (low + high) / 2
        if excess(middle) <= 0:
            low = middle
        else:
            high = middle
    return low


def _no_budget(excess: float) -> InputError:
    """Return the error that no budget is the largest: public attributes alone exceed a
    limit.
    """
    return InputError(
        f"no budget fits: the public attributes alone exceed a limit by {excess:.4g}; "
        "raise the limit, or declare fewer attributes as public"
    )
