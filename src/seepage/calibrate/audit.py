"""After an assumption: search for a report that refutes it, and for a budget that survives."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from seepage._numerics import Floats
from seepage.calibrate.budgets import excess_of, scaled
from seepage.calibrate.problem import Problem
from seepage.totals import TotalLeakage, total_leakage
from seepage.tuples import Tuples

__all__ = ["audit_budgets", "witness_at"]

SHARE_TOLERANCE = 1e-3
"""To what share of the refuted budgets the surviving ones are found."""


def witness_at(
    data: Tuples, problem: Problem, epsilons: Floats, options: Mapping[str, Any]
) -> TotalLeakage:
    """Return the most telling reports that a search finds at some budgets.

    A search needs a mechanism; where only budgets are known it takes GRR, which any bound over all
    mechanisms must withstand.
    """
    mechanisms = {name: "grr" if how is None else how for name, how in problem.mechanisms.items()}
    budgets = dict(zip(problem.domain.names, epsilons.tolist(), strict=True))
    return total_leakage(data, budgets, mechanisms, "witness", **options)


def audit_budgets(
    data: Tuples, problem: Problem, epsilons: Floats, options: Mapping[str, Any]
) -> tuple[TotalLeakage | None, Floats | None]:
    """Return a witness that exceeds a limit, and the largest scaled budgets that survive.

    Parameters
    ----------
    data
        The records, as distinct tuples.
    problem, epsilons
        The limits, and the budgets that an assumption allows.
    options
        Options of the search, such as its seed.

    Returns
    -------
    tuple
        (None, None) where no witness exceeds a limit.  Otherwise the witness, and budgets in the
        same proportions at which the search finds none any more: not refuted, which is not the
        same as certified.
    """
    found = witness_at(data, problem, epsilons, options)
    if excess_of(problem, found.values) <= 0:
        return None, None
    low, high = 0.0, 1.0
    while high - low > SHARE_TOLERANCE:
        share = (low + high) / 2
        trial = witness_at(data, problem, scaled(problem, epsilons, share), options)
        if excess_of(problem, trial.values) <= 0:
            low = share
        else:
            high = share
    return found, np.asarray(scaled(problem, epsilons, low))
