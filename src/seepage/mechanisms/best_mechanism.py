"""The registered mechanism with the lowest variance for an alphabet size and a budget."""

from seepage import _checks
from seepage.mechanisms import Mechanism, registered

TIE_TOLERANCE = 1e-9
"""Relative difference up to which two variances are tied; the shorter report wins a tie."""


def best_mechanism(k: int, epsilon: float) -> str:
    """Return the name of the registered pure mechanism with the lowest variance.

    Parameters
    ----------
    k
        The alphabet size.
    epsilon
        The budget.

    Notes
    -----
    Mechanisms are compared by `variance(1, 1/k)`: closed-form variances are affine in the
    frequency, so this is the mean over the k values whatever their distribution.  Ties go to the
    shortest report, then to the mechanism registered first.  Approximate mechanisms (delta > 0)
    are not considered.

    Examples
    --------
    >>> [best_mechanism(k, 1.0) for k in (1, 2, 4, 100)]
    ['grr', 'grr', 'grr', 'ss']
    """
    size, budget = _checks.integer(k, "k", 1), _checks.epsilon(epsilon)
    pure: list[Mechanism] = [
        family(size, budget)  # type: ignore[call-arg]
        for family in registered().values()
        if not family.approximate
    ]
    variances = [float(mechanism.variance(1, 1 / size)) for mechanism in pure]
    threshold = min(variances) * (1 + TIE_TOLERANCE)
    tied = [m for m, variance in zip(pure, variances, strict=True) if variance <= threshold]
    return min(tied, key=lambda mechanism: mechanism.bits).name
