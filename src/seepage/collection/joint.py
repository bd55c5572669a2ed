"""Estimated joint frequencies of two attributes, by inversion or by maximum likelihood.

Inversion is unbiased: the mean of products of one-hot vectors, see `report_sums`; if several
forms ask for both attributes, their estimates are combined by inverse variance.

The likelihood is maximised by an accelerated EM iteration.  A pair of reports (y, y') has
likelihood sum_uv F[u, v] A[y, u] B[y', v], with A and B the likelihoods of each report, up to
factors that do not depend on the value.  The log-likelihood is concave in F; one EM step
multiplies F by

    D[u, v] = mean over reports of A[y, u] B[y', v] / likelihood(y, y'),

and if max D <= 1 + g, the log-likelihood is at most n g below its maximum.  Two steps are
extrapolated by SQUAREM [Varadhan and Roland 2008]; if the likelihood falls, by the plain EM steps.

The likelihood of a two-level mechanism's report depends only on the set of values that it supports.
If there are at most 2^22 pairs of sets, all reports are counted by their sets; otherwise EM runs on
a random sample of about 2^16 reports, and `Joint.records` is the size of the sample.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from seepage import _checks
from seepage._numerics import Floats, Integers, nearest_distribution
from seepage._results import Result
from seepage.collection.frequencies import STANDARD_ERRORS, combine, form_estimates
from seepage.collection.report_source import ReportSource, open_reports
from seepage.collection.report_sums import PooledSums, pool_reports
from seepage.data.domain import Attribute
from seepage.errors import InputError, Setting
from seepage.mechanisms.base import Mechanism
from seepage.plan.plan import Plan

MAX_SET_PAIRS = 1 << 22
"""Maximum number of pairs of supported sets for counting, 32 MB; above it reports are sampled."""

MAX_SET_SIZE = 62
"""Maximum alphabet size whose sets are int64 bitmasks."""

SAMPLE_SIZE = 1 << 16
"""Expected number of sampled reports."""
SEED = 20_240_607
"""Seed of the sample: the same reports give the same estimate."""

MAX_ITERATIONS = 500
MAX_GAP = 0.05
"""Tolerance of the log-likelihood in nats: far below its sampling error."""

METHODS = ("inversion", "em")
"""Estimators of a joint distribution."""


class PairLikelihoods(NamedTuple):
    """Likelihoods of pairs of reports under each value, with the count of each pair.

    If `counts` is a matrix, `counts[i, j]` is that of row i of `first` and row j of `second`; if
    it is a vector, `counts[i]` is that of row i of both.
    """

    first: Floats
    second: Floats
    counts: Floats

    @property
    def total(self) -> float:
        """The number of pairs."""
        return float(self.counts.sum())

    def likelihoods(self, frequencies: Floats) -> Floats:
        """Return the likelihood of each pair, 1 for a pair that does not occur."""
        if self.counts.ndim == 2:
            likelihoods = self.first @ frequencies @ self.second.T
        else:
            likelihoods = np.einsum("ij,ij->i", self.first @ frequencies, self.second)
        return np.where(self.counts > 0, likelihoods, 1.0)

    def responsibilities(self, frequencies: Floats) -> Floats:
        """Return D for some frequencies."""
        ratios = self.counts / self.likelihoods(frequencies)
        left = self.first.T @ ratios if ratios.ndim == 2 else self.first.T * ratios
        return np.asarray(left @ self.second / self.counts.sum())

    def log_likelihood(self, frequencies: Floats) -> float:
        """Return the log-likelihood of some frequencies."""
        return float((self.counts * np.log(self.likelihoods(frequencies))).sum())


def _maximise(forms: Sequence[PairLikelihoods], frequencies: Floats) -> tuple[Floats, float]:
    """Return the frequencies of maximum likelihood, and the bound n g on the remaining gap.

    Each form has its own people.
    """
    total = sum(form.total for form in forms)

    def responsibilities(frequencies: Floats) -> Floats:
        terms = [form.total / total * form.responsibilities(frequencies) for form in forms]
        return np.asarray(np.sum(terms, axis=0))

    def log_likelihood(frequencies: Floats) -> float:
        return sum(form.log_likelihood(frequencies) for form in forms)

    level, gap = log_likelihood(frequencies), np.inf
    for _ in range(MAX_ITERATIONS):
        ratios = responsibilities(frequencies)
        gap = total * max(0.0, float(ratios.max()) - 1.0)
        if gap <= MAX_GAP:
            break
        once = frequencies * ratios
        twice = once * responsibilities(once)
        extrapolated = _extrapolated(frequencies, once, twice)
        reached = log_likelihood(extrapolated)
        if reached < level:
            extrapolated, reached = twice, log_likelihood(twice)
        frequencies, level = extrapolated, reached
    return frequencies, gap


def _extrapolated(start: Floats, once: Floats, twice: Floats) -> Floats:
    """Return the SQUAREM extrapolation of two EM steps (step length S3), as a distribution."""
    change, curvature = once - start, twice - 2.0 * once + start
    norm = float(np.linalg.norm(curvature))
    if norm == 0.0:
        return twice
    length = max(1.0, float(np.linalg.norm(change)) / norm)
    extrapolated = np.maximum(start + 2.0 * length * change + length**2 * curvature, twice * 1e-3)
    return np.asarray(extrapolated / extrapolated.sum())


def _likelihoods(
    source: ReportSource, index: int, mechanisms: Mapping[str, Mechanism]
) -> PairLikelihoods:
    """Return the likelihoods of one form's reports of two attributes, counted or sampled."""
    rows, columns = (_observed_sets(source, index, name, mechanisms[name]) for name in mechanisms)
    if rows is None or columns is None or len(rows) * len(columns) > MAX_SET_PAIRS:
        return _sample_likelihoods(source, index, mechanisms)
    first, second = mechanisms.values()
    counts = np.zeros((len(rows), len(columns)))
    for batch, other in source.batches(list(mechanisms), index):
        row = np.searchsorted(rows, _set_bitmasks(first, batch))
        column = np.searchsorted(columns, _set_bitmasks(second, other))
        cells = np.bincount(row * counts.shape[1] + column, minlength=counts.size)
        counts += cells.reshape(counts.shape)
    return PairLikelihoods(_set_likelihoods(first, rows), _set_likelihoods(second, columns), counts)


def _observed_sets(
    source: ReportSource, index: int, name: str, mechanism: Mechanism
) -> Integers | None:
    """Return the distinct bitmasks of the sets that reports support, sorted; None if too many."""
    if not mechanism.is_two_level or mechanism.k > MAX_SET_SIZE:
        return None
    seen = np.zeros(0, dtype=np.int64)
    for (batch,) in source.batches([name], index):
        seen = np.union1d(seen, _set_bitmasks(mechanism, batch))
        if len(seen) > MAX_SET_PAIRS:
            return None
    return seen


def _set_bitmasks(mechanism: Mechanism, reports: Any) -> Integers:
    """Return the bitmask of the set that each report supports."""
    bits = mechanism.supported(reports)
    return np.asarray(bits @ (1 << np.arange(mechanism.k, dtype=np.int64)))


def _set_likelihoods(mechanism: Mechanism, bitmasks: Integers) -> Floats:
    """Return the likelihood of each set under each value: 1 if it contains it, else e^-contrast."""
    likely = (bitmasks[:, None] >> np.arange(mechanism.k)) & 1 > 0
    sets = mechanism.likely_sets
    contrast = sets.contrast if sets is not None else mechanism.epsilon
    return np.where(likely, 1.0, np.exp(-contrast))


def _sample_likelihoods(
    source: ReportSource, index: int, mechanisms: Mapping[str, Mechanism]
) -> PairLikelihoods:
    """Return the likelihoods of a Bernoulli sample of `SAMPLE_SIZE` expected reports."""
    generator = np.random.default_rng(SEED)
    probability = min(1.0, SAMPLE_SIZE / int(source.people[index]))
    parts: list[list[Floats]] = [[], []]
    for batch in source.batches(list(mechanisms), index):
        chosen = np.flatnonzero(generator.random(len(batch[0])) < probability)
        for part, mechanism, column in zip(parts, mechanisms.values(), batch, strict=True):
            logarithms = mechanism.log_likelihood(column)[chosen]
            part.append(np.exp(logarithms - logarithms.max(axis=1, keepdims=True)))
    first, second = (np.concatenate(part) for part in parts)
    return PairLikelihoods(first, second, np.ones(len(first)))


def pair_columns(first: Attribute, second: Attribute, frequencies: Floats) -> dict[str, list[Any]]:
    """Return joint frequencies of two attributes as columns in long form, row-major."""
    return {
        "first": [first.name] * frequencies.size,
        "second": [second.name] * frequencies.size,
        "first_value": [value for value in first.values for _ in range(second.size)],
        "second_value": list(second.values) * first.size,
        "frequency": frequencies.ravel().tolist(),
    }


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
        Standard errors of the inverted estimate of the frequencies in the population.  Those of
        the maximum likelihood estimate from all reports are not larger.
    conditional_errors
        Those of the frequencies among the people who reported.
    records
        The number of reports that were used.
    method
        `"inversion"` or `"em"`.
    gap
        For EM, an upper bound in nats on the maximum log-likelihood minus the attained one.
    """

    first: Attribute
    second: Attribute
    frequencies: Floats
    standard_errors: Floats
    conditional_errors: Floats
    records: int
    method: str
    gap: float | None = None

    def _headline(self) -> str:
        how = "unbiased" if self.method == "inversion" else "maximum likelihood"
        return f"Joint({self.first.name} by {self.second.name}, {self.records:,} reports, {how})"

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        return {
            **pair_columns(self.first, self.second, self.frequencies),
            "standard_error": self.standard_errors.ravel().tolist(),
            "conditional_error": self.conditional_errors.ravel().tolist(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON-compatible data; rows are the first attribute."""
        return {
            "attributes": [self.first.name, self.second.name],
            "values": [list(self.first.values), list(self.second.values)],
            "method": self.method,
            "records": self.records,
            "gap": self.gap,
            "standard_errors_are": STANDARD_ERRORS,
            "frequencies": self.frequencies.tolist(),
            "standard_errors": self.standard_errors.tolist(),
            "conditional_errors": self.conditional_errors.tolist(),
        }


def estimate_joint(
    plan: Plan, reports: Any, first: str, second: str, *, method: str = "inversion"
) -> Joint:
    """Return the estimated joint frequencies of two attributes; see `Plan.estimate_joint`."""
    _checks.choice(method, "method", METHODS)
    row, column = plan.collected[first], plan.collected[second]
    if row == column:
        raise InputError(f"the two attributes must differ, got {row.name!r} twice")
    indices = forms_asking_both(plan, row.name, column.name)
    if method == "em":
        indices = [index for index in indices if plan.forms[index].is_product]
        if not indices:
            raise InputError(
                f"method 'em' needs a form with separate reports of {row.name!r} and "
                f"{column.name!r}; use ",
                Setting("method", "inversion"),
                parameter="method",
            )
    source = open_reports(plan, reports)
    pooled = pool_reports(plan, source, indices, [row.name, column.name])
    inverted = invert_joint(pooled, row, column)
    if inverted is None:
        raise InputError(
            f"the reports do not determine the joint frequencies of {row.name!r} and "
            f"{column.name!r}"
        )
    if method == "inversion":
        return inverted
    return maximum_likelihood(plan, source, pooled, inverted)


def forms_asking_both(plan: Plan, first: str, second: str) -> list[int]:
    """Return the indices of the forms that ask for two attributes; raise where none does."""
    indices = [
        index
        for index, form in enumerate(plan.forms)
        if first in form.attributes and second in form.attributes
    ]
    if not indices:
        raise never_asked_together(first, second)
    return indices


def never_asked_together(first: str, second: str) -> InputError:
    """Return the error for two attributes that no form asks for together."""
    return InputError(
        f"no form asks for both {first!r} and {second!r}, so their joint frequencies cannot be "
        "estimated; design a plan that asks for both together"
    )


def invert_joint(pooled: PooledSums, first: Attribute, second: Attribute) -> Joint | None:
    """Return the unbiased joint estimate, combined over forms; None if no form determines it."""
    estimates = form_estimates(pooled, first.name, second.name).values()
    if not estimates:
        return None
    found = combine(estimates, pooled.records)
    frequencies, errors, conditional = (
        part.reshape(first.size, second.size)
        for part in (found.frequencies, found.standard_errors, found.conditional_errors)
    )
    return Joint(first, second, frequencies, errors, conditional, found.records, "inversion")


def maximum_likelihood(
    plan: Plan, source: ReportSource, pooled: PooledSums, inverted: Joint
) -> Joint:
    """Return the joint frequencies of maximum likelihood, from the product forms that ask for both.

    Without such a form, the unbiased estimate.

    Parameters
    ----------
    plan, source, pooled
        The plan, its reports and their sums.
    inverted
        The unbiased estimate: the start of the iteration, and the standard errors.
    """
    names = inverted.first.name, inverted.second.name
    likelihoods = [
        _likelihoods(source, index, {name: plan.form_mechanisms[index][name] for name in names})
        for index in pooled.forms
        if plan.forms[index].is_product and set(names) <= set(plan.form_mechanisms[index])
    ]
    if not likelihoods:
        return inverted
    start = nearest_distribution(inverted.frequencies.ravel()).reshape(inverted.frequencies.shape)
    frequencies, gap = _maximise(likelihoods, (start + 1.0 / start.size) / 2.0)
    used = int(sum(form.total for form in likelihoods))
    factor = np.sqrt(inverted.records / used)
    errors = inverted.standard_errors * factor, inverted.conditional_errors * factor
    return Joint(inverted.first, inverted.second, frequencies, *errors, used, "em", gap)
