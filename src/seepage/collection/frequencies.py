"""Estimated frequencies of every collected attribute, combined over forms by inverse variance.

Each form that asks for an attribute gives an unbiased estimate of its frequencies from its own
people.  The estimates are weighted by

    n_f / v(f),

n_f the number of people with form f and v(f) the variance of one report's estimate, noise and
sampling together, summed over the values at nominal frequencies.  The plan states these, and they
were fixed before the collection, so the weights do not depend on the reports and the weighted mean
is unbiased; if the true frequencies are the nominal ones, its summed variance is minimal and
precisions add: 1/v = sum_f n_f / v(f).

Standard errors are those for the population that the n people who reported were drawn from.  The
estimate of a form is the mean of one coefficient for each report, so its variance is theirs over
n_f: the noise and, for a frequency f, f (1 - f) of sampling.  With the weights w it is

    sum_f w_f^2 (noise_f + f (1 - f) / n_f).

Conditional errors are those of the mean over the people who reported.  Given these people, forms
are assigned at random, which adds to the noise

    f (1 - f) n / (n - 1) (sum_f w_f^2 / n_f - 1 / n),

the variance of a weighted mean over disjoint random samples of a finite population [Cochran 1977,
chapter 2]; it is 0 if everyone is asked.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from seepage import _checks
from seepage._numerics import Floats, nearest_distribution
from seepage._results import Estimated, Result, json_ready
from seepage.collection.report_source import ReportSource, open_reports
from seepage.collection.report_sums import FormSums, MatrixSums, PooledSums, pool_reports
from seepage.collection.report_vectors import sum_cells
from seepage.data.domain import Domain
from seepage.errors import InputError
from seepage.mechanisms.base import Estimate, Mechanism
from seepage.plan.plan import Plan
from seepage.plan.plan_parts import wanted_of

STANDARD_ERRORS = (
    "of the unbiased estimates, for the population; conditional: for the people who reported"
)
"""The meaning of the errors, in results as JSON."""


class FormEstimate(NamedTuple):
    """Estimated frequencies from the reports of one form.

    Parameters
    ----------
    frequencies
        Unbiased estimates of the frequencies among the form's people.
    noise
        Their variances, given the form's people.
    records
        The number of people with the form.
    unit_variance
        v(f): the variance of one report's estimate, summed over values, at nominal frequencies.
    """

    frequencies: Floats
    noise: Floats
    records: int
    unit_variance: float


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
        Those of its frequencies among the people who reported, without the error of sampling them;
        NaN with weights.
    """

    conditional_errors: Floats


def form_weights(estimates: Collection[FormEstimate]) -> Floats:
    """Return the weight of each form, n_f / v(f), normalised to sum 1.

    If all v(f) are 0 (an attribute with one value), weights are proportional to n_f.
    """
    precisions = np.array([e.records / max(e.unit_variance, 1e-300) for e in estimates])
    return np.asarray(precisions / precisions.sum())


def combine(
    estimates: Collection[FormEstimate], people: int, *, consistent: bool = False
) -> FrequencyEstimate:
    """Return the weighted mean of the forms' estimates, with its standard errors.

    Parameters
    ----------
    estimates
        The estimate of each form.
    people
        The number of people who reported, over all forms.
    consistent
        Project the frequencies onto the nearest distribution.

    Examples
    --------
    >>> estimates = [
    ...     FormEstimate(np.array([0.4, 0.6]), np.array([0.01, 0.01]), 100, 2.0),
    ...     FormEstimate(np.array([0.6, 0.4]), np.array([0.01, 0.01]), 300, 2.0),
    ... ]
    >>> combine(estimates, 400).frequencies.round(6).tolist()
    [0.55, 0.45]
    """
    weights = form_weights(estimates)
    weighted = list(zip(weights, estimates, strict=True))
    frequencies = np.sum([w * estimate.frequencies for w, estimate in weighted], axis=0)
    noise = np.sum([w**2 * estimate.noise for w, estimate in weighted], axis=0)
    asked = np.array([estimate.records for estimate in estimates])
    share = np.clip(frequencies, 0.0, 1.0)
    draws = float((weights**2 / asked).sum())
    finite = people / max(1, people - 1) * max(0.0, draws - 1.0 / people)
    errors, conditional = (
        np.sqrt(noise + share * (1.0 - share) * factor) for factor in (draws, finite)
    )
    if consistent:
        frequencies = nearest_distribution(frequencies)
    return FrequencyEstimate(frequencies, errors, int(asked.sum()), consistent, conditional)


# From sums to estimates --------------------------------------------------------------------------


def form_estimates(pooled: PooledSums, name: str) -> dict[int, FormEstimate]:
    """Return the estimate of each form that has one, of one attribute."""
    return {
        index: estimate
        for index, sums in pooled.forms.items()
        if (estimate := _form_estimate(sums, name)) is not None
    }


def _form_estimate(sums: FormSums, name: str) -> FormEstimate | None:
    """Return a form's estimate; None if its reports do not determine it.

    In a matrix form the variance of an estimated frequency f given the people is (m - f) / n, with
    m the mean of A[y]^2, which is its own unbiased estimate.
    """
    if name not in sums.attributes or not sums.records:
        return None
    if isinstance(sums, MatrixSums):
        coefficients, counts = sums.coefficients(name), sums.counts.sum(axis=0)
        if coefficients is None:
            return None
        frequencies, second = (counts @ coefficients**power / sums.records for power in (1, 2))
        noise = np.maximum(second - np.clip(frequencies, 0.0, 1.0), 0.0) / sums.records
    else:
        mechanism = sums.mechanisms[name]
        frequencies = mechanism.frequencies(sums.tallies[name], sums.records)
        noise = mechanism.variance(sums.records, np.clip(frequencies, 0.0, 1.0))
    return FormEstimate(frequencies, noise, sums.records, sums.unit_variance(name))


def report_variance(mechanism: Mechanism, nominal: Floats) -> float:
    """Return v(f) of a mechanism: variance of one report's estimate, summed over values."""
    return max(0.0, float(mechanism.variance(1, nominal).sum() + 1.0 - nominal @ nominal))


# All attributes ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Frequencies(Result):
    """Estimated frequencies of each collected attribute, with standard errors.

    Parameters
    ----------
    domain
        The attributes that were collected.
    estimates
        Frequencies by attribute, with standard errors for the population, and conditional ones.
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
        """Return the mean of a numeric answer that the plan was designed for (`want`).

        It is that of the scores of the values: the values as numbers, midpoints of bins, or given.
        """
        if self.domain[name].name not in self.means:
            raise InputError(f"the plan was not designed for the mean of {name!r}")
        return self.means[self.domain[name].name]

    def share(self, name: str, value: str) -> Estimated:
        """Return the estimated frequency of one value, with its standard error and interval."""
        estimate, code = self[name], self.domain[name].code(value)
        return Estimated.normal(estimate.frequencies[code], estimate.standard_errors[code])

    def __getitem__(self, name: str) -> FrequencyEstimate:
        """Return the estimate of one attribute."""
        if self.domain[name].name in self.unestimated:
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
        names = ("attribute", "value", "frequency", "standard_error", "conditional_error")
        columns: dict[str, list[Any]] = {name: [] for name in names}
        for name, estimate in self.estimates.items():
            columns["attribute"] += [name] * len(estimate.frequencies)
            columns["value"] += self.domain[name].values
            columns["frequency"] += estimate.frequencies.tolist()
            columns["standard_error"] += estimate.standard_errors.tolist()
            columns["conditional_error"] += estimate.conditional_errors.tolist()
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Return the estimates as JSON-compatible data."""
        content = {
            "records": self.records,
            "consistent": self.consistent,
            "standard_errors_are": STANDARD_ERRORS,
            "attributes": {
                name: {
                    "records": estimate.records,
                    "values": list(self.domain[name].values),
                    "frequencies": estimate.frequencies.tolist(),
                    "standard_errors": estimate.standard_errors.tolist(),
                    "conditional_errors": estimate.conditional_errors.tolist(),
                }
                for name, estimate in self.estimates.items()
            },
            "unestimated": list(self.unestimated),
            "means": {name: mean._asdict() for name, mean in self.means.items()},
        }
        return dict(json_ready(content))


def estimate_frequencies(
    plan: Plan, reports: Any, *, consistent: bool = False, weights: Any = None
) -> Frequencies:
    """Return the estimated frequencies of every collected attribute; see `Plan.estimate`.

    Notes
    -----
    One pass over the reports in batches, in constant memory.  Each form gives an unbiased estimate;
    they are combined by inverse variance at the plan's nominal frequencies.  With weights they are
    weighted means (Hajek) with linearised errors, and conditional errors are NaN.
    """
    _checks.flag(consistent, "consistent")
    names, source, estimates = plan.collected.names, open_reports(plan, reports), {}
    if weights is None:
        pooled = pool_reports(plan, source, tallies=True)
        for name in names:
            if forms := form_estimates(pooled, name):
                estimates[name] = combine(forms.values(), pooled.records, consistent=consistent)
    else:
        cells = sum_cells(plan, source, [[name] for name in names], weights, full=False)
        for name, sums in zip(names, cells, strict=True):
            if asked := sum(sums.people.values()):
                mean = nearest_distribution(sums.mean) if consistent else sums.mean
                errors = np.sqrt(sums.covariance)
                unknown = np.full_like(errors, np.nan)
                estimates[name] = FrequencyEstimate(mean, errors, asked, consistent, unknown)
    unestimated = tuple(name for name in names if name not in estimates)
    means = _means(plan, source, weights)
    return Frequencies(plan.collected, estimates, source.records, unestimated, means)


def _means(plan: Plan, source: ReportSource, weights: Any) -> dict[str, Estimated]:
    """Return the wanted means; nothing is read again if there are none."""
    scores = {plan.domain.names[j]: v for j, v in wanted_of(plan).scores.items()}
    sums = sum_cells(plan, source, [[name] for name in scores], weights) if scores else []
    return {
        name: Estimated.normal(float(one.mean @ v), max(0.0, float(v @ one.covariance @ v)) ** 0.5)
        for (name, v), one in zip(scores.items(), sums, strict=True)
        if any(one.people.values())
    }
