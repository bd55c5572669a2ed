"""`largest_budget`: the largest budget whose totals are within their limits."""

from collections.abc import Callable

from seepage._core.errors import InputError
from seepage.calibration.root import NothingWithinError, largest_within


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
        raise InputError(
            f"no budget fits: the public attributes alone exceed a limit by {nothing.excess:.4g}; "
            "raise the limit, or declare fewer attributes as public"
        ) from None
