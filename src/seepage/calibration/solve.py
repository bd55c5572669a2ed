"""Solving for a budget: the largest one whose total stays within the limit, never above it."""

from collections.abc import Callable

from seepage.errors import InputError

__all__ = ["largest_within"]

STEPS = 200


def largest_within(excess: Callable[[float], float], most: float, tolerance: float = 1e-9) -> float:
    """Return the largest budget up to `most` whose excess over the limit is not positive.

    Parameters
    ----------
    excess
        The largest total minus its limit, at a budget; it does not fall as the budget grows.
    most
        A budget that need not be exceeded.
    tolerance
        How far below the true answer the result may lie; it is never above.

    Notes
    -----
    Regula falsi (the Illinois rule) inside a bracket whose lower end always satisfies the limit,
    with a bisection whenever it does not halve the bracket: about ten evaluations for smooth
    totals, at most fifty for any.

    Examples
    --------
    >>> found = largest_within(lambda budget: 3 * budget - 1, most=1.0)
    >>> 1 / 3 - 1e-9 <= found <= 1 / 3
    True
    """
    low, at_low = 0.0, excess(0.0)
    if at_low > 0:
        raise InputError(
            f"no budget fits: with nothing collected a total is {at_low:.4g} above its limit"
        )
    high, at_high = most, excess(most)
    if at_high <= 0:
        return most
    for _ in range(STEPS):
        width = high - low
        if width <= tolerance:
            break
        for share in (_falsi(at_low, at_high), 0.5):
            middle = low + (high - low) * share
            if not low < middle < high:
                continue
            found = excess(middle)
            if found <= 0:
                low, at_low = middle, found
            else:
                high, at_high = middle, found
            if high - low <= width / 2:
                break
    return low


def _falsi(at_low: float, at_high: float) -> float:
    """Return where the chord crosses 0, as a share of the bracket, kept off its ends."""
    if at_high == float("inf") or at_low == float("-inf"):
        return 0.5
    return min(max(-at_low / (at_high - at_low), 1e-3), 1 - 1e-3)
