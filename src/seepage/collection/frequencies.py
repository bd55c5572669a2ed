"""Estimated frequencies of every collected attribute, with standard errors."""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from seepage.collection.report_source import ReportSource, open_reports
from seepage.data.domain import Domain
from seepage.errors import InputError
from seepage.mechanisms import Estimate
from seepage.plan.model import Plan

__all__ = ["Frequencies", "estimate_frequencies"]


@dataclass(frozen=True, eq=False)
class Frequencies:
    """What a collection tells about each attribute alone.

    Parameters
    ----------
    domain
        The attributes that were collected.
    estimates
        Frequencies and standard errors by attribute.
    records
        The number of reports.
    untold
        Attributes collected at epsilon 0, of which nothing can be said.
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

    def rows(self) -> Iterator[tuple[str, str, float, float]]:
        """Yield attribute, value, frequency and standard error of each value."""
        for name, found in self.estimates.items():
            for value, frequency, error in zip(
                self.domain[name].values,
                found.frequencies.tolist(),
                found.standard_errors.tolist(),
                strict=True,
            ):
                yield name, value, frequency, error

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON."""
        return {
            "records": self.records,
            "consistent": any(found.consistent for found in self.estimates.values()),
            "standard_errors": "of the unbiased estimates, given the people who reported",
            "attributes": {
                name: {
                    "values": list(self.domain[name].values),
                    "frequencies": found.frequencies.tolist(),
                    "standard_errors": found.standard_errors.tolist(),
                }
                for name, found in self.estimates.items()
            },
            "untold": list(self.untold),
        }

    def to_csv(self) -> str:
        """Return one line a value."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["attribute", "value", "frequency", "standard_error"])
        writer.writerows(self.rows())
        return text.getvalue()


def estimate_frequencies(plan: Plan, reports: Any, *, consistent: bool = False) -> Frequencies:
    """Return the estimated frequencies of every collected attribute; see `Plan.estimate`.

    Notes
    -----
    One attribute after the other, each in batches: memory does not grow with the reports.
    """
    source = open_reports(plan, reports)
    told = {name: made for name, made in plan.mechanisms.items() if made.informative}
    estimates = {
        name: made.estimate(_column(source, name), consistent=consistent)
        for name, made in told.items()
    }
    untold = tuple(name for name in plan.mechanisms if name not in told)
    return Frequencies(plan.collected, estimates, source.records, untold)


def _column(source: ReportSource, name: str) -> Iterator[Any]:
    for batch in source.batches([name]):
        yield batch[0]
