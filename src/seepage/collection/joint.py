"""Estimated joint frequencies of two attributes, by inversion or by maximum likelihood."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Floats
from seepage.collection.report_sums import ReportSums, sum_reports
from seepage.data.domain import Attribute
from seepage.errors import InputError
from seepage.mechanisms import Mechanism
from seepage.plan.model import Plan

__all__ = ["METHODS", "Joint", "estimate_joint", "invert"]

METHODS = ("inversion", "em")


@dataclass(frozen=True, eq=False)
class Joint:
    """Estimated joint frequencies of two attributes: rows the first, columns the second.

    Parameters
    ----------
    first, second
        The attributes.
    frequencies
        By inversion unbiased, so entries may be negative and need not sum to 1; by EM the
        distribution of maximum likelihood, which is biased where true entries are near 0.
    standard_errors
        Of the inverted estimate, given the people who reported.  The maximum likelihood estimate
        has no larger errors when it rests on all reports; `records` says on how many it rests.
    records
        The number of reports that the frequencies rest on.
    method
        `"inversion"` or `"em"`.
    gap
        For EM, by how many nats the log-likelihood may at most be below its maximum.
    """

    first: Attribute
    second: Attribute
    frequencies: Floats
    standard_errors: Floats
    records: int
    method: str
    gap: float | None = None

    def rows(self) -> Iterator[tuple[str, str, float, float]]:
        """Yield both values, frequency and standard error of each cell."""
        for u, row in enumerate(self.first.values):
            for v, column in enumerate(self.second.values):
                cell = float(self.frequencies[u, v]), float(self.standard_errors[u, v])
                yield row, column, *cell

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON; rows are the first attribute."""
        return {
            "attributes": [self.first.name, self.second.name],
            "values": [list(self.first.values), list(self.second.values)],
            "method": self.method,
            "records": self.records,
            "gap": self.gap,
            "standard_errors_are": "of the unbiased estimates, given the people who reported",
            "frequencies": self.frequencies.tolist(),
            "standard_errors": self.standard_errors.tolist(),
        }

    def to_csv(self) -> str:
        """Return one line a cell."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([self.first.name, self.second.name, "frequency", "standard_error"])
        writer.writerows(self.rows())
        return text.getvalue()


def estimate_joint(
    plan: Plan, reports: Any, first: str, second: str, method: str = "inversion"
) -> Joint:
    """Return the estimated joint frequencies of two attributes; see `Plan.joint`."""
    _checks.choice(method, "method", METHODS)
    one, two = plan.collected[first], plan.collected[second]
    if one == two:
        raise InputError(f"the two attributes must differ, got {one.name!r} twice")
    sums = sum_reports(plan, reports, [one.name, two.name])
    inverted = invert(sums, one, two)
    if method == "inversion":
        return inverted
    from seepage.collection.likelihood import most_likely

    return most_likely(plan, reports, inverted)


def invert(sums: ReportSums, first: Attribute, second: Attribute) -> Joint:
    """Return the unbiased estimate: the mean of X^_u Y^_v over all reports.

    Notes
    -----
    Given the people, the variance of a cell is (M[u, v] - F[u, v]) / n, with M the mean of the
    second moment s(u) t(v): s is 1 + Var(X^_u given u) for people with the value u and
    Var(X^_u given another) for others, from the mechanism's own closed form; t likewise.
    """
    records = sums.records
    joint = sums.joint(first.name, second.name).sum(axis=0) / records
    rows = sums.marginal(first.name).sum(axis=0) / records
    columns = sums.marginal(second.name).sum(axis=0) / records
    variances = _variances(
        sums.mechanisms[first.name], sums.mechanisms[second.name], joint, rows, columns
    )
    return Joint(first, second, joint, np.sqrt(variances / records), records, "inversion")


def _variances(
    first: Mechanism, second: Mechanism, joint: Floats, rows: Floats, columns: Floats
) -> Floats:
    """Return the variance of one report's X^_u Y^_v, for estimated frequencies."""
    cells = np.clip(joint, 0.0, 1.0)
    own = np.maximum(np.clip(rows, 0.0, 1.0)[:, None], cells)
    theirs = np.maximum(np.clip(columns, 0.0, 1.0)[None, :], cells)
    neither = np.clip(1.0 - own - theirs + cells, 0.0, 1.0)
    (hit, miss), (other_hit, other_miss) = _second_moments(first), _second_moments(second)
    second_moment = (
        cells * hit * other_hit
        + (own - cells) * hit * other_miss
        + (theirs - cells) * miss * other_hit
        + neither * miss * other_miss
    )
    return np.asarray(np.maximum(second_moment - cells, 0.0))


def _second_moments(mechanism: Mechanism) -> tuple[float, float]:
    """Return E[X^_u^2] for people with the value u, and for others."""
    return 1.0 + float(np.mean(mechanism.variance(1, 1.0))), float(
        np.mean(mechanism.variance(1, 0.0))
    )
