"""Estimated frequencies of every collected attribute, from the reports of a plan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage import _checks
from seepage._results import Result
from seepage.collection.form_estimates import (
    FormEstimate,
    combine,
    informative_mechanisms,
    marginal_estimate,
)
from seepage.collection.pooled_sums import MatrixSums
from seepage.collection.report_source import open_reports
from seepage.data.domain import Domain
from seepage.errors import InputError
from seepage.mechanisms import Estimate
from seepage.mechanisms.reports import Reports
from seepage.plan.form import MatrixChannel
from seepage.plan.plan import Plan


@dataclass(frozen=True, eq=False, repr=False)
class Frequencies(Result):
    """Estimated frequencies of each collected attribute, with standard errors.

    Parameters
    ----------
    domain
        The attributes that were collected.
    estimates
        Frequencies and standard errors by attribute.
    records
        The number of reports.
    untold
        Attributes collected at epsilon 0, whose reports carry no information.
    """

    domain: Domain
    estimates: Mapping[str, Estimate]
    records: int
    untold: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Estimate:
        """Return the estimate of one attribute."""
        if self.domain[name].name in self.untold:
            raise InputError(f"reports of {name!r} at epsilon 0 carry no information")
        return self.estimates[self.domain[name].name]

    @property
    def consistent(self) -> bool:
        """Whether the frequencies of each attribute are a distribution; else they are unbiased."""
        return any(estimate.consistent for estimate in self.estimates.values())

    def _headline(self) -> str:
        how = "nearest distributions" if self.consistent else "unbiased"
        return f"Frequencies({self.records:,} reports, {len(self.estimates)} attributes, {how})"

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        columns: dict[str, list[Any]] = {
            name: [] for name in ("attribute", "value", "frequency", "standard_error")
        }
        for name, estimate in self.estimates.items():
            columns["attribute"] += [name] * len(estimate.frequencies)
            columns["value"] += self.domain[name].values
            columns["frequency"] += estimate.frequencies.tolist()
            columns["standard_error"] += estimate.standard_errors.tolist()
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Return the estimates as JSON-compatible data."""
        return {
            "records": self.records,
            "consistent": self.consistent,
            "standard_errors": "of the unbiased estimates, given the people who reported",
            "attributes": {
                name: {
                    "records": estimate.records,
                    "values": list(self.domain[name].values),
                    "frequencies": estimate.frequencies.tolist(),
                    "standard_errors": estimate.standard_errors.tolist(),
                }
                for name, estimate in self.estimates.items()
            },
            "untold": list(self.untold),
        }


def estimate_frequencies(plan: Plan, reports: Any, *, consistent: bool = False) -> Frequencies:
    """Return the estimated frequencies of every collected attribute; see `Plan.estimate`.

    Notes
    -----
    One pass over the reports in batches, in constant memory.  Each form gives an unbiased estimate;
    they are combined by inverse variance at the plan's nominal frequencies [`form_estimates`].
    """
    _checks.flag(consistent, "consistent")
    source = open_reports(plan, reports)
    if not source.records:
        raise InputError("reports must not be empty, got none")
    tallies = [_empty_tally(plan, index) for index in range(len(plan.forms))]
    for index, batch in source.by_form({k: tally.columns for k, tally in enumerate(tallies)}):
        tallies[index].add(batch)
    estimates = dict[str, Estimate]()
    for planned in plan.attributes:
        asked = [tallies[number - 1] for number, _ in planned.asking]
        by_form = [tally.estimate(planned.name) for tally in asked if tally.records]
        known = [estimate for estimate in by_form if estimate is not None]
        if known:
            estimates[planned.name] = combine(known, source.records, consistent=consistent)
    untold = tuple(name for name in plan.collected.names if name not in estimates)
    return Frequencies(plan.collected, estimates, source.records, untold)


class ProductTallies:
    """Tallies of a product form's reports, of each attribute with an informative mechanism.

    Parameters
    ----------
    plan
        The plan.
    index
        The index of the form.
    """

    def __init__(self, plan: Plan, index: int) -> None:
        self._plan, self.records = plan, 0
        self._mechanisms = informative_mechanisms(plan, index)
        self._sums = {name: np.zeros(mechanism.k) for name, mechanism in self._mechanisms.items()}

    @property
    def columns(self) -> list[str]:
        """The names of the reports that `add` takes."""
        return list(self._mechanisms)

    def add(self, reports: Sequence[Reports]) -> None:
        """Add the reports of some people, one column for each attribute."""
        for (name, mechanism), column in zip(self._mechanisms.items(), reports, strict=True):
            self._sums[name] += mechanism.tally(column)
        self.records += len(reports[0])

    def estimate(self, name: str) -> FormEstimate | None:
        """Return the form's estimate of an attribute; None if its reports are not informative."""
        if name not in self._mechanisms:
            return None
        mechanism = self._mechanisms[name]
        frequencies = mechanism.frequencies(self._sums[name], self.records)
        return marginal_estimate(self._plan, name, mechanism, frequencies, self.records)


def _empty_tally(plan: Plan, index: int) -> ProductTallies | MatrixSums:
    channel = plan.forms[index].channel
    if isinstance(channel, MatrixChannel):
        return MatrixSums(plan, channel)
    return ProductTallies(plan, index)
