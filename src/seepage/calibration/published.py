"""Algorithm 3 of the paper as printed: budgets by the sum of leakages."""

from typing import Any

from seepage._core.odds import limit_in_nats
from seepage.channel.pairs import PairCounts
from seepage.leakage.matrix import leakage_matrix
from seepage.tables.read import check_whole_table

STEP = 0.01
"""The increment of the budget in the paper's Algorithm 3."""


def calibrate_as_the_paper(pairs: PairCounts, limit: Any) -> float:
    """Return the budget of the published Algorithm 3, which exceeds the limit.

    It starts at limit / n, increases the budget by `STEP` while the largest total is
    below the limit, and returns the budget after the last increase: one step beyond the
    first that reaches the limit.  The inner loop includes j = i, whose leakage about
    itself is the budget.

    Parameters
    ----------
    pairs
        The pair counts of a table, not of a sample.
    limit
        The maximum total of every attribute, in nats.

    Examples
    --------
    >>> import seepage as sp
    >>> from seepage.calibration.published import calibrate_as_the_paper
    >>> budget = calibrate_as_the_paper(sp.load_pairs("adult"), 5.0)
    >>> totals = budget + sp.leakage_matrix(sp.load_pairs("adult"), budget).values.sum(
    ...     axis=1
    ... )
    >>> bool(totals.max() > 5.0)
    True
    """
    allowed = limit_in_nats(limit)
    check_whole_table(pairs, "sum", "budgets")
    budget = allowed / len(pairs.domain)
    largest = 0.0
    while largest < allowed:
        largest = max(largest, largest_sum(pairs, budget))
        budget += STEP
    return budget


def largest_sum(pairs: PairCounts, budget: float) -> float:
    """Return what the published algorithm limits: the largest sum of a budget and the
    leakages about an attribute.
    """
    return float((budget + leakage_matrix(pairs, budget).values.sum(axis=1)).max())
