"""Joint frequencies of maximum likelihood, by an accelerated EM iteration.

A pair of reports (y, y') has likelihood sum_uv F[u, v] A[y, u] B[y', v], with A and B the
likelihoods of each report, as far as they depend on the value.  The log-likelihood is concave in F;
one EM step multiplies F by

    D[u, v] = mean over reports of A[y, u] B[y', v] / likelihood(y, y'),

and where D nowhere exceeds 1 + g, no F has a log-likelihood more than n g above.  Two steps are
extrapolated by SQUAREM [Varadhan and Roland 2008], which a failing step falls back from.

A report of a pure mechanism matters only through the values it supports.  Where those sets are few
(2^22 pairs of them) the reports are counted by them, all of them; otherwise EM runs on a random
sample of at most 2^16 reports, which the result says.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from seepage._numerics import Floats, Integers
from seepage.collection.joint import Joint
from seepage.collection.report_source import ReportSource, open_reports
from seepage.mechanisms import Mechanism
from seepage.mechanisms.base import nearest_distribution
from seepage.plan.model import Plan

__all__ = ["most_likely"]

MOST_SETS = 1 << 22
"""Pairs of supported sets up to which reports are counted rather than sampled: 32 MB."""

MOST_BITS = 62
"""Sets of up to so many values have a number of 64 bits."""

SAMPLE = 1 << 16
SEED = 20_240_607
"""Fixes which reports are sampled: the same reports give the same estimate."""

STEPS = 500
ENOUGH = 0.05
"""The gap in nats at which the iteration ends: far below what chance moves the likelihood by."""


class Evidence(NamedTuple):
    """Distinct pairs of reports: their likelihoods and how often each occurs.

    Where `counts` is a matrix, every first is paired with every second; else they go row by row.
    """

    first: Floats
    second: Floats
    counts: Floats

    def responsibilities(self, frequencies: Floats) -> Floats:
        """Return D for some frequencies."""
        if self.counts.ndim == 2:
            likelihood = self.first @ frequencies @ self.second.T
            ratios = np.divide(
                self.counts, likelihood, out=np.zeros_like(likelihood), where=self.counts > 0
            )
            return np.asarray(self.first.T @ ratios @ self.second / self.counts.sum())
        likelihood = np.einsum("ij,ij->i", self.first @ frequencies, self.second)
        weighted = self.first * (self.counts / likelihood)[:, None]
        return np.asarray(weighted.T @ self.second / self.counts.sum())

    def log_likelihood(self, frequencies: Floats) -> float:
        """Return the log-likelihood of some frequencies."""
        if self.counts.ndim == 2:
            likelihood = self.first @ frequencies @ self.second.T
        else:
            likelihood = np.einsum("ij,ij->i", self.first @ frequencies, self.second)
        seen = self.counts > 0
        return float(self.counts[seen] @ np.log(likelihood[seen]))


def most_likely(plan: Plan, reports: Any, inverted: Joint) -> Joint:
    """Return the joint frequencies of maximum likelihood.

    Parameters
    ----------
    plan, reports
        The plan and its reports.
    inverted
        The unbiased estimate: where the iteration begins, and the standard errors.
    """
    names = inverted.first.name, inverted.second.name
    mechanisms = [plan.mechanisms[name] for name in names]
    source = open_reports(plan, reports)
    evidence = _evidence(source, names, mechanisms)
    start = nearest_distribution(inverted.frequencies.ravel()).reshape(inverted.frequencies.shape)
    frequencies, gap = _climb(evidence, (start + 1.0 / start.size) / 2.0)
    used = int(evidence.counts.sum())
    errors = inverted.standard_errors * np.sqrt(inverted.records / used)
    return Joint(inverted.first, inverted.second, frequencies, errors, used, "em", gap)


def _climb(evidence: Evidence, frequencies: Floats) -> tuple[Floats, float]:
    """Return the frequencies of maximum likelihood, and the gap that is left."""
    total, level = float(evidence.counts.sum()), evidence.log_likelihood(frequencies)
    gap = np.inf
    for _ in range(STEPS):
        ratios = evidence.responsibilities(frequencies)
        gap = total * max(0.0, float(ratios.max()) - 1.0)
        if gap <= ENOUGH:
            break
        once = frequencies * ratios
        twice = once * evidence.responsibilities(once)
        leap = _extrapolated(frequencies, once, twice)
        reached = evidence.log_likelihood(leap)
        if reached < level:
            leap, reached = twice, evidence.log_likelihood(twice)
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


def _evidence(
    source: ReportSource, names: Sequence[str], mechanisms: Sequence[Mechanism]
) -> Evidence:
    rows, columns = (_seen_sets(source, *pair) for pair in zip(names, mechanisms, strict=True))
    if rows is None or columns is None or len(rows) * len(columns) > MOST_SETS:
        return _sampled(source, names, mechanisms)
    counts = np.zeros((len(rows), len(columns)))
    for batch in source.batches(names):
        first, second = (
            np.searchsorted(seen, _set_numbers(mechanism, column))
            for seen, mechanism, column in zip((rows, columns), mechanisms, batch, strict=True)
        )
        cells = np.bincount(first * counts.shape[1] + second, minlength=counts.size)
        counts += cells.reshape(counts.shape)
    return Evidence(_two_levels(mechanisms[0], rows), _two_levels(mechanisms[1], columns), counts)


def _seen_sets(source: ReportSource, name: str, mechanism: Mechanism) -> Integers | None:
    """Return the numbers of all sets that reports support, None where they are too many."""
    if not mechanism.is_two_level or mechanism.k > MOST_BITS:
        return None
    seen = np.zeros(0, dtype=np.int64)
    for batch in source.batches([name]):
        seen = np.union1d(seen, _set_numbers(mechanism, batch[0]))
        if len(seen) > MOST_SETS:
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


def _sampled(
    source: ReportSource, names: Sequence[str], mechanisms: Sequence[Mechanism]
) -> Evidence:
    """Take each report with the same chance, so that about `SAMPLE` are expected."""
    generator = np.random.default_rng(SEED)
    chance = min(1.0, SAMPLE / source.records)
    parts: list[list[Floats]] = [[], []]
    for batch in source.batches(names):
        chosen = np.flatnonzero(generator.random(len(batch[0])) < chance)
        for part, mechanism, column in zip(parts, mechanisms, batch, strict=True):
            logarithms = mechanism.log_likelihood(column)[chosen]
            part.append(np.exp(logarithms - logarithms.max(axis=1, keepdims=True)))
    first, second = (np.concatenate(part) for part in parts)
    return Evidence(first, second, np.ones(len(first)))
