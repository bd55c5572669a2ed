"""Estimated joint frequencies of two attributes, by inversion or by maximum likelihood.

Inversion is unbiased: the mean of products of one-hot vectors, see `pooled_sums`; where several
forms ask for both attributes, their estimates are combined by inverse variance.

The likelihood is maximised by an accelerated EM iteration.  A pair of reports (y, y') has
likelihood sum_uv F[u, v] A[y, u] B[y', v], with A and B the likelihoods of each report, as far as
they depend on the value.  The log-likelihood is concave in F; one EM step multiplies F by

    D[u, v] = mean over reports of A[y, u] B[y', v] / likelihood(y, y'),

and where D nowhere exceeds 1 + g, no F has a log-likelihood more than n g above.  Two steps are
extrapolated by SQUAREM [Varadhan and Roland 2008], which a failing step falls back from.

A report of a pure mechanism matters only through the values it supports.  Where those sets are few
(2^22 pairs of them) the reports are counted by them, all of them; otherwise EM runs on a random
sample of at most 2^16 reports, which the result says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from seepage import _checks
from seepage._numerics import Floats, Integers, nearest_distribution
from seepage._results import Result
from seepage.collection.form_estimates import combine
from seepage.collection.pooled_sums import PooledSums, pool_reports
from seepage.collection.report_source import ReportSource, open_reports
from seepage.data.domain import Attribute
from seepage.errors import InputError
from seepage.mechanisms import Mechanism
from seepage.plan.plan import Plan

MAX_SETS = 1 << 22
"""Pairs of supported sets up to which reports are counted rather than sampled: 32 MB."""

MAX_BITS = 62
"""Sets of up to so many values have a number of 64 bits."""

SAMPLE = 1 << 16
SEED = 20_240_607
"""Fixes which reports are sampled: the same reports give the same estimate."""

STEPS = 500
ENOUGH = 0.05
"""The gap in nats at which the iteration ends: far below what chance moves the likelihood by."""

METHODS = ("inversion", "em")
"""Ways to estimate a joint distribution."""


class PairLikelihoods(NamedTuple):
    """Distinct pairs of reports: their likelihoods and how often each occurs.

    Where `counts` is a matrix, every first is paired with every second; else they go row by row.
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
            found = self.first @ frequencies @ self.second.T
        else:
            found = np.einsum("ij,ij->i", self.first @ frequencies, self.second)
        return np.where(self.counts > 0, found, 1.0)

    def responsibilities(self, frequencies: Floats) -> Floats:
        """Return D for some frequencies."""
        ratios = self.counts / self.likelihoods(frequencies)
        left = self.first.T @ ratios if ratios.ndim == 2 else self.first.T * ratios
        return np.asarray(left @ self.second / self.counts.sum())

    def log_likelihood(self, frequencies: Floats) -> float:
        """Return the log-likelihood of some frequencies."""
        return float((self.counts * np.log(self.likelihoods(frequencies))).sum())


class PooledLikelihoods(NamedTuple):
    """Pairs of reports of several forms, whose people are different ones."""

    parts: tuple[PairLikelihoods, ...]

    @property
    def total(self) -> float:
        """The number of pairs."""
        return sum(part.total for part in self.parts)

    def responsibilities(self, frequencies: Floats) -> Floats:
        """Return D for some frequencies."""
        each = [part.total / self.total * part.responsibilities(frequencies) for part in self.parts]
        return np.asarray(np.sum(each, axis=0))

    def log_likelihood(self, frequencies: Floats) -> float:
        """Return the log-likelihood of some frequencies."""
        return sum(part.log_likelihood(frequencies) for part in self.parts)


def _climb(likelihoods: PooledLikelihoods, frequencies: Floats) -> tuple[Floats, float]:
    """Return the frequencies of maximum likelihood, and the gap that is left."""
    total, level = likelihoods.total, likelihoods.log_likelihood(frequencies)
    gap = np.inf
    for _ in range(STEPS):
        ratios = likelihoods.responsibilities(frequencies)
        gap = total * max(0.0, float(ratios.max()) - 1.0)
        if gap <= ENOUGH:
            break
        once = frequencies * ratios
        twice = once * likelihoods.responsibilities(once)
        leap = _extrapolated(frequencies, once, twice)
        reached = likelihoods.log_likelihood(leap)
        if reached < level:
            leap, reached = twice, likelihoods.log_likelihood(twice)
        frequencies, level = leap, reached
    return frequencies, gap


def _extrapolated(start: Floats, once: Floats, twice: Floats) -> Floats:
    """Return where two EM steps lead to, step length S3 of SQUAREM, kept a distribution."""
    change, bend = once - start, twice - 2.0 * once + start
    size = float(np.linalg.norm(bend))
    if size == 0.0:
        return twice
    length = max(1.0, float(np.linalg.norm(change)) / size)
    leap = np.maximum(start + 2.0 * length * change + length**2 * bend, twice * 1e-3)
    return np.asarray(leap / leap.sum())


def _likelihoods(
    source: ReportSource, index: int, made: Mapping[str, Mechanism]
) -> PairLikelihoods:
    """Return the likelihoods of one form's reports of two attributes."""
    rows, columns = (_seen_sets(source, index, name, made[name]) for name in made)
    if rows is None or columns is None or len(rows) * len(columns) > MAX_SETS:
        return _sampled(source, index, made)
    first, second = made.values()
    counts = np.zeros((len(rows), len(columns)))
    for one, two in source.batches(list(made), index):
        row = np.searchsorted(rows, _set_numbers(first, one))
        column = np.searchsorted(columns, _set_numbers(second, two))
        cells = np.bincount(row * counts.shape[1] + column, minlength=counts.size)
        counts += cells.reshape(counts.shape)
    return PairLikelihoods(_two_levels(first, rows), _two_levels(second, columns), counts)


def _seen_sets(source: ReportSource, index: int, name: str, made: Mechanism) -> Integers | None:
    """Return the numbers of all sets that reports support, None where they are too many."""
    if not made.is_two_level or made.k > MAX_BITS:
        return None
    seen = np.zeros(0, dtype=np.int64)
    for (batch,) in source.batches([name], index):
        seen = np.union1d(seen, _set_numbers(made, batch))
        if len(seen) > MAX_SETS:
            return None
    return seen


def _set_numbers(mechanism: Mechanism, reports: Any) -> Integers:
    """Return a number for the set that each report supports: its bits."""
    bits = mechanism.supported(reports)
    return np.asarray(bits @ (1 << np.arange(mechanism.k, dtype=np.int64)))


def _two_levels(mechanism: Mechanism, numbers: Integers) -> Floats:
    """Return the likelihood of each set under each value, up to a factor: 1 or e^-contrast."""
    likely = (numbers[:, None] >> np.arange(mechanism.k)) & 1 > 0
    sets = mechanism.likely_sets
    contrast = sets.contrast if sets is not None else mechanism.epsilon
    return np.where(likely, 1.0, np.exp(-contrast))


def _sampled(source: ReportSource, index: int, made: Mapping[str, Mechanism]) -> PairLikelihoods:
    """Take each report with the same chance, so that about `SAMPLE` are expected."""
    generator = np.random.default_rng(SEED)
    chance = min(1.0, SAMPLE / int(source.people[index]))
    parts: list[list[Floats]] = [[], []]
    for batch in source.batches(list(made), index):
        chosen = np.flatnonzero(generator.random(len(batch[0])) < chance)
        for part, mechanism, column in zip(parts, made.values(), batch, strict=True):
            logarithms = mechanism.log_likelihood(column)[chosen]
            part.append(np.exp(logarithms - logarithms.max(axis=1, keepdims=True)))
    first, second = (np.concatenate(part) for part in parts)
    return PairLikelihoods(first, second, np.ones(len(first)))


def pair_columns(first: Attribute, second: Attribute, frequencies: Floats) -> dict[str, list[Any]]:
    """Return joint frequencies of two attributes in long form."""
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
        errors = self.standard_errors.ravel().tolist()
        return pair_columns(self.first, self.second, self.frequencies) | {"standard_error": errors}

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
    indices = asking_both(plan, one.name, two.name)
    if method == "em":
        indices = [index for index in indices if plan.forms[index].is_product]
        if not indices:
            raise InputError(
                f"maximum likelihood needs a form with a report of its own for {one.name!r} and "
                f"for {two.name!r}; use the method 'inversion'"
            )
    source = open_reports(plan, reports)
    pooled = pool_reports(plan, source, indices, [one.name, two.name])
    inverted = join(pooled, one, two)
    if method == "inversion":
        return inverted
    return most_likely(plan, source, inverted, list(pooled.forms))


def asking_both(plan: Plan, first: str, second: str) -> list[int]:
    """Return the indices of the forms that ask for two attributes; raise where none does."""
    indices = [
        index
        for index, form in enumerate(plan.forms)
        if first in form.attributes and second in form.attributes
    ]
    if not indices:
        raise asked_apart(first, second)
    return indices


def asked_apart(first: str, second: str) -> InputError:
    """Return the error for two attributes that no form asks for together."""
    return InputError(
        f"no form asks for both {first!r} and {second!r}, so nothing tells how they occur "
        "together; design the plan with the pair asked together"
    )


def join(pooled: PooledSums, first: Attribute, second: Attribute) -> Joint:
    """Return the unbiased estimate of all forms that ask for both, by inverse variance."""
    parts = pooled.parts(first.name, second.name)
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


def most_likely(plan: Plan, source: ReportSource, inverted: Joint, indices: Sequence[int]) -> Joint:
    """Return the joint frequencies of maximum likelihood.

    Parameters
    ----------
    plan, source
        The plan and its reports.
    inverted
        The unbiased estimate: where the iteration begins, and the standard errors.
    indices
        The indices of the forms that ask for both, products.
    """
    names = inverted.first.name, inverted.second.name
    likelihoods = PooledLikelihoods(
        tuple(
            _likelihoods(source, index, {name: plan.channels[index][name] for name in names})
            for index in indices
        )
    )
    start = nearest_distribution(inverted.frequencies.ravel()).reshape(inverted.frequencies.shape)
    frequencies, gap = _climb(likelihoods, (start + 1.0 / start.size) / 2.0)
    used = int(likelihoods.total)
    errors = inverted.standard_errors * np.sqrt(inverted.records / used)
    return Joint(inverted.first, inverted.second, frequencies, errors, used, "em", gap)
