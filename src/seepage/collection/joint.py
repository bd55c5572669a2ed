"""Estimated joint frequencies of two attributes, by inversion or by maximum likelihood.

Inversion is unbiased: the mean of products of one-hot vectors, see `ReportSums`; where several
forms ask for both attributes, their estimates are combined by inverse variance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Floats
from seepage._results import Result
from seepage.collection.form_estimates import combine
from seepage.collection.joint_likelihood import maximise
from seepage.collection.pooled_sums import PooledSums, pool_reports
from seepage.collection.report_source import open_reports
from seepage.data.domain import Attribute
from seepage.errors import InputError
from seepage.mechanisms.base import nearest_distribution
from seepage.plan.plan import Plan

METHODS = ("inversion", "em")


@dataclass(frozen=True, eq=False, repr=False)
class Joint(Result):
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

    def _headline(self) -> str:
        how = "unbiased" if self.method == "inversion" else "maximum likelihood"
        return f"Joint({self.first.name} by {self.second.name}, {self.records:,} reports, {how})"

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        rows, columns = self.frequencies.shape
        return {
            "first": [self.first.name] * (rows * columns),
            "second": [self.second.name] * (rows * columns),
            "first_value": [value for value in self.first.values for _ in range(columns)],
            "second_value": list(self.second.values) * rows,
            "frequency": self.frequencies.ravel().tolist(),
            "standard_error": self.standard_errors.ravel().tolist(),
        }

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


def estimate_joint(
    plan: Plan, reports: Any, first: str, second: str, *, method: str = "inversion"
) -> Joint:
    """Return the estimated joint frequencies of two attributes; see `Plan.estimate_joint`."""
    _checks.choice(method, "method", METHODS)
    one, two = plan.collected[first], plan.collected[second]
    if one == two:
        raise InputError(f"the two attributes must differ, got {one.name!r} twice")
    places = asking_both(plan, one.name, two.name)
    if method == "em":
        places = [place for place in places if plan.forms[place].is_product]
        if not places:
            raise InputError(
                f"maximum likelihood needs a form with a report of its own for {one.name!r} and "
                f"for {two.name!r}; use the method 'inversion'"
            )
    source = open_reports(plan, reports)
    pooled = pool_reports(plan, source, places, [one.name, two.name])
    inverted = join(pooled, one, two)
    if method == "inversion":
        return inverted
    return most_likely(plan, source, inverted, list(pooled.forms))


def asking_both(plan: Plan, first: str, second: str) -> list[int]:
    """Return the places of the forms that ask for two attributes; raise where none does."""
    places = [
        place
        for place, form in enumerate(plan.forms)
        if first in form.attributes and second in form.attributes
    ]
    if not places:
        raise asked_apart(first, second)
    return places


def asked_apart(first: str, second: str) -> InputError:
    """Return the error for two attributes that no form asks for together."""
    return InputError(
        f"no form asks for both {first!r} and {second!r}, so nothing tells how they occur "
        "together; design the plan with the pair asked together"
    )


def join(pooled: PooledSums, first: Attribute, second: Attribute) -> Joint:
    """Return the unbiased estimate of all forms that ask for both, by inverse variance."""
    parts = pooled.joint_parts(first, second)
    if not parts:
        raise InputError(f"reports of {first.name!r} and {second.name!r} do not tell both values")
    found = combine(parts, pooled.records)
    shape = first.size, second.size
    return Joint(
        first,
        second,
        found.frequencies.reshape(shape),
        found.standard_errors.reshape(shape),
        found.records,
        "inversion",
    )


def most_likely(plan: Plan, reports: Any, inverted: Joint, places: Sequence[int] = (0,)) -> Joint:
    """Return the joint frequencies of maximum likelihood.

    Parameters
    ----------
    plan, reports
        The plan and its reports.
    inverted
        The unbiased estimate: where the iteration begins, and the standard errors.
    places
        The places of the forms that ask for both, products.
    """
    names = inverted.first.name, inverted.second.name
    start = nearest_distribution(inverted.frequencies.ravel()).reshape(inverted.frequencies.shape)
    frequencies, gap, used = maximise(plan, reports, names, places, start)
    errors = inverted.standard_errors * np.sqrt(inverted.records / used)
    return Joint(inverted.first, inverted.second, frequencies, errors, used, "em", gap)
