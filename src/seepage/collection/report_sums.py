"""What each report contributes to estimates: the values it supports, or its noisy vector."""

from typing import Any

import numpy as np

from seepage._numerics import Booleans, Floats
from seepage.mechanisms import Mechanism
from seepage.mechanisms.base import PureMechanism
from seepage.mechanisms.direct import checked_values
from seepage.mechanisms.hashing import LocalHashing, hashes_to
from seepage.mechanisms.reports import BitReports, HashReports, ValueReports, VectorReports

__all__ = ["contributions", "informative", "is_pure", "one_hot_map", "supported"]


def informative(mechanism: Mechanism) -> bool:
    """Return whether reports tell anything: not at epsilon 0, unless there is one value."""
    return bool(np.isfinite(mechanism.variance(1)).all())


def is_pure(mechanism: Mechanism) -> bool:
    """Return whether a report supports a set of values, and that set is all it tells."""
    return isinstance(mechanism, PureMechanism) and (
        mechanism.reports in (ValueReports, BitReports) or isinstance(mechanism, LocalHashing)
    )


def supported(mechanism: Mechanism, reports: Any) -> Booleans:
    """Return which values each report supports: one row a report, one column a value.

    Parameters
    ----------
    mechanism
        A mechanism for which `is_pure` holds.
    reports
        Its reports.

    Examples
    --------
    >>> from seepage.mechanisms import GRR
    >>> grr = GRR(3, 50.0)
    >>> supported(grr, grr.perturb([2, 0])).astype(int).tolist()
    [[0, 0, 1], [1, 0, 0]]
    """
    if mechanism.k == 1:
        return np.ones((len(reports), 1), dtype=np.bool_)
    if isinstance(reports, ValueReports):
        return np.equal.outer(checked_values(reports, mechanism.k), np.arange(mechanism.k))
    if isinstance(reports, HashReports) and isinstance(mechanism, LocalHashing):
        return hashes_to(reports.seeds, reports.buckets, mechanism.k, mechanism.buckets)
    return np.asarray(reports.bits())


def contributions(mechanism: Mechanism, reports: Any) -> Floats | Booleans:
    """Return what each report adds to the mechanism's tally: one row a report.

    Any mechanism will do; one that is neither pure nor a noisy vector is tallied report by
    report, which is slow.
    """
    mechanism._own(reports)
    if is_pure(mechanism):
        return supported(mechanism, reports)
    if isinstance(reports, VectorReports):
        return reports.vectors
    rows = [mechanism.tally(reports[row : row + 1]) for row in range(len(reports))]
    return np.array(rows).reshape(-1, mechanism.k)


def one_hot_map(mechanism: Mechanism) -> tuple[float, float]:
    """Return (a, b) such that (c - b) / a is an unbiased one-hot vector, c a contribution.

    For a pure mechanism a = p* - q* and b = q* [Wang et al. 2017]; (1, 0) for tallies that are
    sums of unbiased vectors.
    """
    if isinstance(mechanism, PureMechanism):
        true, other = mechanism.support
        return true - other, other
    return 1.0, 0.0
