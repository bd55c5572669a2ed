"""Estimated frequencies of every collected attribute, from the reports of a plan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage import _checks
from seepage._results import Result
from seepage.collection.form_estimates import FormPart, MatrixEstimator, combine, marginal_part
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
            raise InputError(f"reports of {name!r} at epsilon 0 tell nothing")
        return self.estimates[self.domain[name].name]

    @property
    def consistent(self) -> bool:
        """Whether the frequencies of each attribute are a distribution, else unbiased."""
        return any(found.consistent for found in self.estimates.values())

    def _headline(self) -> str:
        how = "nearest distributions" if self.consistent else "unbiased"
        return f"Frequencies({self.records:,} reports, {len(self.estimates)} attributes, {how})"

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        columns: dict[str, list[Any]] = {
            name: [] for name in ("attribute", "value", "frequency", "standard_error")
        }
        for name, found in self.estimates.items():
            columns["attribute"] += [name] * len(found.frequencies)
            columns["value"] += self.domain[name].values
            columns["frequency"] += found.frequencies.tolist()
            columns["standard_error"] += found.standard_errors.tolist()
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON."""
        return {
            "records": self.records,
            "consistent": self.consistent,
            "standard_errors": "of the unbiased estimates, given the people who reported",
            "attributes": {
                name: {
                    "records": found.records,
                    "values": list(self.domain[name].values),
                    "frequencies": found.frequencies.tolist(),
                    "standard_errors": found.standard_errors.tolist(),
                }
                for name, found in self.estimates.items()
            },
            "untold": list(self.untold),
        }


def estimate_frequencies(plan: Plan, reports: Any, *, consistent: bool = False) -> Frequencies:
    """Return the estimated frequencies of every collected attribute; see `Plan.estimate`.

    Notes
    -----
    One pass over the reports in batches: memory does not grow with them.  Each form gives an
    unbiased estimate; they are combined by inverse variance at the plan's nominal frequencies
    [`form_estimates`].
    """
    _checks.flag(consistent, "consistent")
    source = open_reports(plan, reports)
    if not source.records:
        raise InputError("there is no estimate without reports, got none")
    tallies = [_form_tally(plan, index) for index in range(len(plan.forms))]
    for index, found in source.by_form({k: tally.columns for k, tally in enumerate(tallies)}):
        tallies[index].add(found)
    estimates = dict[str, Estimate]()
    for planned in plan.attributes:
        asked = [tallies[number - 1] for number, _ in planned.asking]
        parts = [tally.part(planned.name) for tally in asked if tally.records]
        telling = [part for part in parts if part is not None]
        if telling:
            estimates[planned.name] = combine(telling, source.records, consistent=consistent)
    untold = tuple(name for name in plan.collected.names if name not in estimates)
    return Frequencies(plan.collected, estimates, source.records, untold)


class ProductTallies:
    """Tallies of the reports of a product form, for each attribute that they tell.

    Parameters
    ----------
    plan
        The plan.
    index
        The index of the form.
    """

    def __init__(self, plan: Plan, index: int) -> None:
        self._plan, self.records = plan, 0
        self._made = {n: made for n, made in plan.channels[index].items() if made.informative}
        self._sums = {name: np.zeros(made.k) for name, made in self._made.items()}

    @property
    def columns(self) -> list[str]:
        """The reports that are added up."""
        return list(self._made)

    def add(self, reports: Sequence[Reports]) -> None:
        """Add the reports of some people, one column for each attribute."""
        for (name, made), column in zip(self._made.items(), reports, strict=True):
            self._sums[name] += made.tally(column)
        self.records += len(reports[0])

    def part(self, name: str) -> FormPart | None:
        """Return what the form says about an attribute; None where it says nothing."""
        if name not in self._made:
            return None
        made = self._made[name]
        frequencies = made.frequencies(self._sums[name], self.records)
        return marginal_part(self._plan, name, made, frequencies, self.records)


def _form_tally(plan: Plan, index: int) -> ProductTallies | MatrixSums:
    channel = plan.forms[index].channel
    if isinstance(channel, MatrixChannel):
        return MatrixSums(MatrixEstimator(plan, channel))
    return ProductTallies(plan, index)
