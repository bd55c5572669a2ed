"""Estimated frequencies of collected attributes, from all forms by inverse variance.

They are the means of the unbiased vectors of single reports, weighted by form
[`cell_sums`]: precisions add, 1/v = sum_f n_f / v(f), if the true frequencies are
the nominal ones.

Standard errors are those for the population that the n people who reported were drawn
from, noise and sampling together.  Conditional errors are those of the mean over the
people who reported: given these people, only the noise and the random assignment of
forms vary, so the variance is less by

    f (1 - f) / (n - 1),

which leaves f (1 - f) n / (n - 1) (1 / n_f - 1 / n) of sampling where n_f of the n
people are asked [Cochran 1977, chapter 2], and none if everyone is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage._core.nearest_distribution import nearest_distribution
from seepage._core.results import Result, json_ready
from seepage.channel.domain import Attribute, Domain
from seepage.collection.cell_sums import CellSums, add_reports
from seepage.collection.estimated_cells import Estimated
from seepage.collection.report_files import open_reports
from seepage.designs.want import warn_of_midpoints
from seepage.mechanisms.base import Estimate
from seepage.plan.plan_content import PlanContent, wanted_of

STANDARD_ERRORS = (
    "of the unbiased estimates, for the population; "
    "conditional: for the people who reported"
)
"""The meaning of the errors, in results as JSON."""


@dataclass(frozen=True, repr=False)
class FrequencyEstimate(Estimate):
    """Estimated frequencies of an attribute, with standard errors for the population.

    Parameters
    ----------
    frequencies, records, consistent
        See `Estimate`.
    standard_errors
        Standard errors of the unbiased estimate of the frequencies in the population.
    conditional_errors
        Those of its frequencies among the people who reported, without the error of
        sampling them; NaN with weights.
    """

    conditional_errors: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Frequencies(Result):
    """Estimated frequencies of each collected attribute, with standard errors.

    Parameters
    ----------
    domain
        The attributes that were collected.
    estimates
        Frequencies by attribute, with standard errors for the population, and
        conditional ones.
    records
        The number of reports.
    unestimated
        Attributes collected at epsilon 0, whose reports carry no information.
    means
        The means that the plan was designed for, by attribute.
    """

    domain: Domain
    estimates: Mapping[str, FrequencyEstimate]
    records: int
    unestimated: tuple[str, ...] = ()
    means: Mapping[str, Estimated] = field(default_factory=dict)

    def mean(self, name: str) -> Estimated:
        """Return the mean, from the frequencies, of a numeric answer that the plan was
        designed for (`want`).

        It is that of the scores of the values: the values as numbers, the means within
        intervals on the part that fixed them, whose errors widen the interval,
        midpoints of bins, or given.
        """
        if checks.text(name, "name") not in self.means:
            raise InputError(
                f"the plan was not designed for the mean of {checks.shown(name)}"
            )
        return self.means[name]

    def share(self, name: str, value: str) -> Estimated:
        """Return the estimated frequency of one value, with its standard error and
        interval.
        """
        estimate = self[name]
        code = self.domain[name].code(value)
        return Estimated.normal(
            estimate.frequencies[code], estimate.standard_errors[code]
        )

    def __getitem__(self, name: str) -> FrequencyEstimate:
        """Return the estimated frequencies of one attribute."""
        if self.domain[name].name in self.unestimated:
            raise InputError(f"reports of {name!r} at epsilon 0 carry no information")
        return self.estimates[self.domain[name].name]

    @property
    def consistent(self) -> bool:
        """Whether the frequencies of each attribute are a distribution; else they are
        unbiased.
        """
        return any(estimate.consistent for estimate in self.estimates.values())

    def chart(self) -> Any:
        """Return the frequencies as an Altair chart: shares with 95 % intervals from 0
        to 100 %; of two answers the last one.
        """
        from seepage.charts.estimate_charts import shares_chart

        rows = list[dict[str, Any]]()
        for name in self.estimates:
            values = self.domain[name].values
            drawn = values[-1:] if len(values) == 2 else values
            for value in drawn:
                share = self.share(name, value)
                low, high = share.interval
                rows.append(
                    {
                        "label": f"{name}: {value}",
                        "share": 100 * share.value,
                        "lower": 100 * low,
                        "upper": 100 * high,
                    }
                )
        return shares_chart(rows)

    def _headline(self) -> str:
        """Return estimated frequencies in one line."""
        how = "unbiased"
        if self.consistent:
            how = "nearest distributions"
        return (
            f"Frequencies({self.records:,} reports, {len(self.estimates)} attributes, "
            f"{how})"
        )

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the columns of estimated frequencies in long form."""
        attributes = list[str]()
        values = list[str]()
        frequencies = list[float]()
        standard_errors = list[float]()
        conditional_errors = list[float]()
        for name, estimate in self.estimates.items():
            attributes += [name] * len(estimate.frequencies)
            values += self.domain[name].values
            frequencies += estimate.frequencies.tolist()
            standard_errors += estimate.standard_errors.tolist()
            conditional_errors += estimate.conditional_errors.tolist()
        return {
            "attribute": attributes,
            "value": values,
            "frequency": frequencies,
            "standard_error": standard_errors,
            "conditional_error": conditional_errors,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the estimated frequencies as JSON-compatible data."""
        attributes = {}
        for name, estimate in self.estimates.items():
            attributes[name] = {
                "records": estimate.records,
                "values": list(self.domain[name].values),
                "frequencies": estimate.frequencies.tolist(),
                "standard_errors": estimate.standard_errors.tolist(),
                "conditional_errors": estimate.conditional_errors.tolist(),
            }
        content = {
            "records": self.records,
            "consistent": self.consistent,
            "standard_errors_are": STANDARD_ERRORS,
            "attributes": attributes,
            "unestimated": list(self.unestimated),
            "means": {name: mean._asdict() for name, mean in self.means.items()},
        }
        return dict(json_ready(content))


def estimate_frequencies(
    plan: PlanContent, reports: Any, *, consistent: bool = False, weights: Any = None
) -> Frequencies:
    """Return the estimated frequencies of every collected attribute; see
    `Plan.estimate`.

    Notes
    -----
    One pass over the reports in batches, in constant memory.  Each form gives an
    unbiased estimate; they are combined by inverse variance at the plan's nominal
    frequencies.  With weights they are weighted means (Hajek) with linearised errors,
    and conditional errors are NaN.
    """
    checks.flag(consistent, "consistent")
    names = plan.collected.names
    source = open_reports(plan, reports)
    wanted = wanted_of(plan).scores
    scores = {plan.domain.names[j]: numbers for j, numbers in wanted.items()}
    sums = {name: CellSums(plan, [name], full=name in scores) for name in names}
    add_reports(source, list(sums.values()), weights)
    people = None
    if weights is None:
        people = source.records
    estimates = {}
    for name, of_name in sums.items():
        if any(of_name.people.values()):
            estimates[name] = _estimate(of_name, people, consistent)
    means = {}
    for name, numbers in scores.items():
        if name in estimates:
            warn_of_midpoints(plan.domain[name], numbers)
            error = score_error(plan.domain[name], numbers, sums[name].mean)
            means[name] = _mean(sums[name], numbers).widened(error)
    return Frequencies(
        domain=plan.collected,
        estimates=estimates,
        records=source.records,
        unestimated=tuple(name for name in names if name not in estimates),
        means=means,
    )


def score_error(attribute: Attribute, scores: Floats, shares: Floats) -> float:
    """Return the standard error of a mean from frequencies by that of its scores: sum_v
    f_v^2 e_v^2.

    0 for scores that are not those of the attribute: they are the question's own.
    """
    if tuple(scores) != attribute.scores:
        return 0.0
    errors = np.clip(shares, 0.0, 1.0) * np.array(attribute.score_errors)
    return float(np.sqrt((errors**2).sum()))


def _mean(sums: CellSums, scores: Floats) -> Estimated:
    """Return the mean of the scores of an attribute's values by their frequencies."""
    error = _root(scores @ sums.covariance @ scores)
    return Estimated.normal(float(sums.mean @ scores), error)


def _estimate(
    sums: CellSums, people: int | None, consistent: bool
) -> FrequencyEstimate:
    """Return the frequencies of an attribute; `people` is the number of reports of all
    forms.
    """
    frequencies = sums.mean
    if consistent:
        frequencies = nearest_distribution(frequencies)
    variances = sums.covariance
    if variances.ndim == 2:
        variances = np.diag(variances)
    conditional = np.full(len(variances), np.nan)
    if people is not None:
        share = np.clip(sums.mean, 0.0, 1.0)
        sampling = 1.0 / max(1, people - 1)
        conditional = variances - sampling * share * (1.0 - share)
    return FrequencyEstimate(
        frequencies,
        standard_errors=_root(variances),
        records=sum(sums.people.values()),
        consistent=consistent,
        conditional_errors=_root(conditional),
    )


def _root(variances: Any) -> Any:
    """Return standard errors of frequencies; variances below 0 are rounding errors."""
    return np.sqrt(np.maximum(variances, 0.0))
