"""Estimated frequencies of every collected attribute, combined over forms by inverse variance.

Each form that asks for an attribute gives an unbiased estimate of its frequencies from its own
people.  The estimates are weighted by

    n_f / v(f),

n_f the number of people with form f and v(f) the variance of one report's estimate, noise and
sampling together, summed over the values at nominal frequencies.  The plan states these, and they
were fixed before the collection, so the weights do not depend on the reports and the weighted mean
is unbiased; if the true frequencies are the nominal ones, its summed variance is minimal and
precisions add: 1/v = sum_f n_f / v(f).

The standard error is that of the mean over the n people who reported.  Given these people, forms
are assigned at random, which adds to the variance of a frequency f, besides the noise,

    f (1 - f) n / (n - 1) (sum_f w_f^2 / n_f - 1 / n),   w the weights,

the variance of a weighted mean over disjoint random samples of a finite population [Cochran 1977,
chapter 2]; it is 0 if everyone is asked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, NamedTuple

import numpy as np

from seepage import _checks
from seepage._numerics import Floats, nearest_distribution
from seepage._results import Result
from seepage.collection.report_source import open_reports
from seepage.data.domain import Domain
from seepage.errors import InputError
from seepage.mechanisms import Estimate, Mechanism
from seepage.mechanisms.reports import Reports
from seepage.mechanisms.transition_matrix import IDENTITY_TOLERANCE, least_squares_inverse
from seepage.plan.form import REPORT, MatrixChannel
from seepage.plan.plan import Plan


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


def nominal_frequencies(plan: Plan, name: str) -> Floats:
    """Return the nominal frequencies of an attribute; uniform if the plan has none."""
    planned = plan[name]
    size = planned.attribute.size
    return np.array(planned.frequencies) if planned.frequencies else np.full(size, 1.0 / size)


def informative_mechanisms(plan: Plan, index: int) -> dict[str, Mechanism]:
    """Return the mechanisms of a product form whose reports carry information, in plan order."""
    mechanisms = plan.form_mechanisms[index]
    names = [name for name in plan.domain.names if name in mechanisms]
    return {name: mechanisms[name] for name in names if mechanisms[name].informative}


def form_weights(estimates: Sequence[FormEstimate]) -> Floats:
    """Return the weight of each form, n_f / v(f), normalised to sum 1.

    If all v(f) are 0 (an attribute with one value), weights are proportional to n_f.
    """
    precisions = np.array([e.records / max(e.unit_variance, 1e-300) for e in estimates])
    return np.asarray(precisions / precisions.sum())


def combine(
    estimates: Sequence[FormEstimate], people: int, *, consistent: bool = False
) -> Estimate:
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
    excess = max(0.0, float((weights**2 / asked).sum()) - 1.0 / people)
    assignment = share * (1.0 - share) * people / max(1, people - 1) * excess
    if consistent:
        frequencies = nearest_distribution(frequencies)
    return Estimate(frequencies, np.sqrt(noise + assignment), int(asked.sum()), consistent)


def report_variance(mechanism: Mechanism, nominal: Floats) -> float:
    """Return v(f) of a mechanism: variance of one report's estimate, summed over values."""
    return max(0.0, float(mechanism.variance(1, nominal).sum() + 1.0 - nominal @ nominal))


def marginal_estimate(
    plan: Plan, name: str, mechanism: Mechanism, frequencies: Floats, records: int
) -> FormEstimate:
    """Return a form's estimate of an attribute, with the mechanism's closed-form variance."""
    noise = mechanism.variance(records, np.clip(frequencies, 0.0, 1.0))
    unit_variance = report_variance(mechanism, nominal_frequencies(plan, name))
    return FormEstimate(frequencies, noise, records, unit_variance)


class MatrixSums:
    """Counts of each report of a matrix form by groups, and its weighted least squares estimates.

    With C the channel from cells of answers to reports, and D the diagonal of report probabilities
    at nominal frequencies, A = D^-1/2 (C D^-1/2)^+ B' has C A = B': A[y] is an unbiased estimate of
    the marginal B from one report y.

    Parameters
    ----------
    plan, channel
        The plan, and the channel of the form.
    groups
        The number of groups.
    """

    columns = (REPORT,)

    def __init__(self, plan: Plan, channel: MatrixChannel, groups: int = 1) -> None:
        self.values = {name: plan.domain[name].size for name in channel.attributes}
        self.records, self.counts = 0, np.zeros((groups, channel.mechanism.outputs))
        self._channel = channel.mechanism.channel()
        if channel.frequencies:
            self._cells = np.array(channel.frequencies)
        else:
            nominal = [nominal_frequencies(plan, name) for name in self.values]
            self._cells = np.asarray(reduce(np.multiply.outer, nominal)).ravel()

    @cached_property
    def _inverse(self) -> Floats:
        """D^-1/2 (C D^-1/2)^+, one row per report and one column per cell."""
        return least_squares_inverse(self._channel, self._cells @ self._channel)

    def marginal_matrix(self, *names: str) -> Floats:
        """Return B, the 0-1 matrix that sums cells of all answers to cells of some attributes."""
        codes = np.unravel_index(np.arange(len(self._cells)), tuple(self.values.values()))
        of_name = dict(zip(self.values, codes, strict=True))
        shape = [self.values[name] for name in names]
        cells = np.ravel_multi_index([of_name[name] for name in names], shape)
        return np.asarray(cells == np.arange(np.prod(shape))[:, None], dtype=np.float64)

    def coefficients(self, *names: str) -> Floats | None:
        """Return A, one row per report and one column per cell of some attributes.

        None if C A = B' has no solution, so that no unbiased estimate exists.
        """
        marginal = self.marginal_matrix(*names).T
        estimator = self._inverse @ marginal
        exact = np.abs(self._channel @ estimator - marginal).max() <= IDENTITY_TOLERANCE
        return np.asarray(estimator) if exact else None

    def unit_variance(self, *names: str) -> float:
        """Return v(f): the variance of one report's estimate, summed, at nominal frequencies."""
        coefficients = self.coefficients(*names)
        if coefficients is None:
            return np.inf
        nominal = self.marginal_matrix(*names) @ self._cells
        second = float((self._cells @ self._channel) @ (coefficients**2).sum(axis=1))
        return second - float(nominal @ nominal)

    def add(self, reports: Sequence[Any]) -> None:
        """Add the reports of some people, one column."""
        groups, outputs = self.counts.shape
        values = reports[0].below(outputs)
        group = (self.records + np.arange(len(values))) % groups
        cells = np.bincount(group * outputs + values, minlength=self.counts.size)
        self.counts += cells.reshape(groups, outputs)
        self.records += len(values)

    @property
    def sizes(self) -> Floats:
        """The number of reports in each group."""
        return np.asarray(self.counts.sum(axis=1))

    def one_hot_sums(self, *names: str) -> Floats:
        """Return the sum over each group of X^, or of X^ Y^'; only where an estimate exists."""
        coefficients = self.coefficients(*names)
        assert coefficients is not None
        shape = [self.values[name] for name in names]
        return np.asarray(self.counts @ coefficients).reshape(-1, *shape)

    def estimate(self, *names: str) -> FormEstimate | None:
        """Return the form's joint estimate of attributes; None if it is not asked or determined.

        Notes
        -----
        The variance of an estimated frequency f given the people is (m - f) / n, with m the mean
        of A[y]^2, which is its own unbiased estimate.
        """
        if not set(names) <= set(self.values):
            return None
        coefficients = self.coefficients(*names)
        if coefficients is None:
            return None
        counts = self.counts.sum(axis=0)
        frequencies = counts @ coefficients / self.records
        second = counts @ coefficients**2 / self.records
        noise = np.maximum(second - np.clip(frequencies, 0.0, 1.0), 0.0) / self.records
        return FormEstimate(frequencies, noise, self.records, self.unit_variance(*names))


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


# All forms ---------------------------------------------------------------------------------------


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
    unestimated
        Attributes collected at epsilon 0, whose reports carry no information.
    """

    domain: Domain
    estimates: Mapping[str, Estimate]
    records: int
    unestimated: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Estimate:
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
            "unestimated": list(self.unestimated),
        }


def estimate_frequencies(plan: Plan, reports: Any, *, consistent: bool = False) -> Frequencies:
    """Return the estimated frequencies of every collected attribute; see `Plan.estimate`.

    Notes
    -----
    One pass over the reports in batches, in constant memory.  Each form gives an unbiased estimate;
    they are combined by inverse variance at the plan's nominal frequencies.
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
    unestimated = tuple(name for name in plan.collected.names if name not in estimates)
    return Frequencies(plan.collected, estimates, source.records, unestimated)
