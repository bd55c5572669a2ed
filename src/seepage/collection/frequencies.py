"""Estimated frequencies of every attribute, from the reports of all forms that ask for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Floats
from seepage._results import Result
from seepage.collection.form_estimates import (
    FormPart,
    MatrixEstimator,
    combine,
    nominal_frequencies,
)
from seepage.collection.report_source import ReportSource, open_reports
from seepage.data.domain import Domain
from seepage.errors import InputError
from seepage.mechanisms import Estimate
from seepage.plan.form import REPORT, MatrixChannel
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
    tallies = _tallies(plan, source)
    estimates = dict[str, Estimate]()
    for planned in plan.attributes:
        nominal = nominal_frequencies(plan, planned.name)
        parts = [
            part
            for number, _ in planned.asking
            if (part := tallies[number - 1].part(planned.name, nominal)) is not None
        ]
        if parts:
            estimates[planned.name] = combine(parts, source.records, consistent=consistent)
    untold = tuple(name for name in plan.collected.names if name not in estimates)
    return Frequencies(plan.collected, estimates, source.records, untold)


class FormTallies:
    """Sums over the reports of one form: a tally by attribute, or how often a matrix's reports are.

    Parameters
    ----------
    plan
        The plan.
    place
        The place of the form.
    """

    def __init__(self, plan: Plan, place: int) -> None:
        channel, made = plan.forms[place].channel, plan.channels[place]
        self.matrix = MatrixEstimator(plan, channel) if isinstance(channel, MatrixChannel) else None
        self.made = {name: m for name, m in made.items() if self.matrix or m.informative}
        self.records = 0
        sizes = {name: self.matrix.outputs if self.matrix else m.k for name, m in made.items()}
        self.sums = {name: np.zeros(sizes[name]) for name in self.made}

    def add(self, reports: Sequence[Any]) -> None:
        """Add reports, in the order of `made`."""
        for (name, made), column in zip(self.made.items(), reports, strict=True):
            if self.matrix:
                self.sums[name] += self.matrix.count(column)
            else:
                self.sums[name] += made.tally(column)
        self.records += len(reports[0])

    def part(self, name: str, nominal: Floats) -> FormPart | None:
        """Return what the form says about an attribute; None where it says nothing."""
        if not self.records:
            return None
        if self.matrix:
            return self.matrix.part((name,), self.sums[REPORT])
        if name not in self.made:
            return None
        made = self.made[name]
        frequencies = made.frequencies(self.sums[name], self.records)
        return FormPart(
            frequencies,
            made.variance(self.records, np.clip(frequencies, 0.0, 1.0)),
            self.records,
            float(made.variance(1, nominal).sum() + 1.0 - nominal @ nominal),
        )


def _tallies(plan: Plan, source: ReportSource) -> list[FormTallies]:
    tallies = [FormTallies(plan, place) for place in range(len(plan.forms))]
    for place, found in source.by_form([list(tally.made) for tally in tallies]):
        tallies[place].add(found)
    return tallies
