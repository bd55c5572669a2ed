"""Limits on the realised epsilon from samples: one event chosen on one half, tested on the other.

The lower limit [theory: Audits] uses two values u, u' and a set S of reports that were chosen on
other samples, so that no union over events is needed:

    epsilon >= ln (lower limit of P(S given u) - delta) / (upper limit of P(S given u')).

Every choice gives a valid limit; a good one gives a large limit.  Reports are split into parts (the
bits of a vector, the rounds of a person), each with few categories, and S holds the reports whose
log-likelihood ratio, summed over parts as if these were independent, is above a threshold.
"""

import math
from dataclasses import dataclass

import numpy as np

from seepage import _checks
from seepage._numerics import Booleans, Floats, Integers, largest_log_ratio
from seepage.auditing.samples import Samples
from seepage.errors import InputError
from seepage.leakage.deviations import clopper_pearson

PAIRS = 16
"""Number of pairs of values for which thresholds are compared."""

THRESHOLDS = 256
"""Maximum number of thresholds that are compared."""

NOISE = 2.0
"""Standard errors by which log-ratios are lowered when events are compared."""

MAX_JOINT = 256
"""Maximum number of combinations of the parts for which they are taken together."""


@dataclass(frozen=True, eq=False)
class EventTest:
    """The test of one event, on samples that were not used to choose it.

    Parameters
    ----------
    likelier, other
        The indices of the two values u and u'.
    hits, totals
        Under each of the two, how many samples were in the event S, and how many there were.
    limits
        Lower limit of P(S given u), upper limit of P(S given u').
    event
        S in words.
    skipped
        The values with too few samples, of which nothing is said.
    """

    likelier: int
    other: int
    hits: list[int]
    totals: list[int]
    limits: tuple[float, float]
    event: str
    skipped: list[str]

    def epsilon(self, delta: float = 0.0) -> float:
        """Return the lower limit of epsilon, at least 0."""
        above, below = self.limits
        return max(0.0, math.log((above - delta) / below)) if above > delta else 0.0

    def delta(self, epsilon: float) -> float:
        """Return the lower limit of delta at an epsilon, at least 0."""
        return max(0.0, self.limits[0] - math.exp(min(epsilon, 700.0)) * self.limits[1])

    @property
    def estimate(self) -> float:
        """The log-ratio of the event's frequencies, infinite if u' never had it."""
        first, second = (hit / total for hit, total in zip(self.hits, self.totals, strict=True))
        return math.log(first / second) if first and second else math.inf if first else 0.0


def tested_event(samples: Samples, beta: float, delta: float, seed: int) -> EventTest:
    """Return the test of the event chosen on a random half of the samples.

    Its limits are wrong with probability at most beta together.  O(n p + k^2 c) for n samples of p
    parts, k values and c categories in all parts.
    """
    needed = 2 * math.floor(math.log(2 / beta) / math.log(2)) + 2  # fewer prove nothing
    counts = np.bincount(samples.codes, minlength=len(samples.values))
    if (counts >= needed).sum() < 2:
        raise InputError(
            f"too few samples for any statement: two values need at least {needed} each, got "
            f"{np.sort(counts)[-2:][::-1].tolist()}",
            parameter="samples",
        )
    order = _checks.generator(seed).permutation(len(samples.codes))
    first = np.zeros(len(order), dtype=np.bool_)
    first[order[np.argsort(samples.codes[order], kind="stable")][::2]] = True  # of each value
    chosen = _Chosen(samples, first, beta, delta, np.flatnonzero(counts >= needed))
    likelier, other, score, threshold = chosen.best()
    hits, totals = [], []
    for value in (likelier, other):
        rows = np.flatnonzero(~first & (samples.codes == value))
        hits.append(int((chosen.scores(score, rows) >= threshold).sum()))
        totals.append(len(rows))
    limits = clopper_pearson(hits, totals, math.log(2 / beta))
    ends = float(limits.lower[0]), float(limits.upper[1])
    words = chosen.words(score, threshold)
    skipped = [samples.values[code] for code in np.flatnonzero(counts < needed)]
    return EventTest(likelier, other, hits, totals, ends, words, skipped)


class _Chosen:
    """Events that are compared on the first half of the samples."""

    def __init__(
        self, samples: Samples, first: Booleans, beta: float, delta: float, values: Integers
    ) -> None:
        self.samples, self.first, self.values = samples, first, values
        self.beta, self.delta = beta, delta
        self.parts = samples.categories(first, MAX_JOINT)
        sizes = [len(part.labels) + 1 for part in self.parts]  # one more for what was not seen
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        codes, k = samples.codes[first], len(samples.values)
        self.totals = np.bincount(codes, minlength=k)
        tables = [
            np.bincount(codes * size + part.codes[first], minlength=k * size).reshape(k, size)
            for part, size in zip(self.parts, sizes, strict=True)
        ]
        self.counts = np.concatenate(tables, axis=1).astype(np.float64)

    def best(self) -> tuple[int, int, Floats, float]:
        """Return the pair of values, the scores of categories and the threshold."""
        promising = self._promising()
        found = [self._threshold(u, v) for u, v in promising]
        at = int(np.argmax([value for value, _, _ in found]))
        _, score, threshold = found[at]
        return *promising[at], score, threshold

    def _promising(self) -> list[tuple[int, int]]:
        """Return the pairs with the largest log-ratio of single categories, summed over parts."""
        counts = self.counts[self.values]
        noise, total = NOISE * np.sqrt(counts), self.totals[self.values, None]
        low = np.log((counts + noise + NOISE**2) / total)  # the square for a count of 0
        with np.errstate(divide="ignore"):
            high = np.log(np.maximum(counts - noise, 0.0) / total)
        ratios = (np.maximum(one - low, 0.0) for one in high)
        starts = self.starts[:-1]
        best = np.stack([np.maximum.reduceat(one, starts, axis=1).sum(axis=1) for one in ratios])
        np.fill_diagonal(best, -np.inf)
        count = min(PAIRS, best.size - len(best))
        flat = np.argpartition(-best, count - 1, axis=None)[:count]
        rows, columns = np.unravel_index(flat, best.shape)
        return list(zip(self.values[rows].tolist(), self.values[columns].tolist(), strict=True))

    def _threshold(self, likelier: int, other: int) -> tuple[float, Floats, float]:
        """Return the limit of the best threshold on this half, the scores, and the threshold."""
        counts = self.counts[[likelier, other]] + 0.5
        shares = counts / self.totals[[likelier, other]][:, None]
        score = np.log(shares[0] / shares[1])
        if len(self.parts) > 1:  # noise of many parts would hide the signal of a few
            score[np.abs(score) < 1.5 * NOISE * np.sqrt((1 / counts).sum(axis=0))] = 0.0
        score[self.starts[1:] - 1] = 0.0
        ranked = [
            np.sort(self.scores(score, np.flatnonzero(self.first & (self.samples.codes == value))))
            for value in (likelier, other)
        ]
        levels = np.unique(ranked[0])
        levels = levels[np.linspace(0, len(levels) - 1, min(len(levels), THRESHOLDS)).astype(int)]
        above = [len(one) - np.searchsorted(one, levels) for one in ranked]
        level = math.log(2 / self.beta)
        chance = clopper_pearson(above[0], len(ranked[0]), level).lower - self.delta
        with np.errstate(divide="ignore", invalid="ignore"):
            limits = np.log(chance / clopper_pearson(above[1], len(ranked[1]), level).upper)
        limits[~(chance > 0)] = -np.inf
        best = int(limits.argmax())
        return float(limits[best]), score, float(levels[best])

    def scores(self, score: Floats, rows: Integers) -> Floats:
        """Return the log-likelihood ratio of the reports of some samples."""
        total = np.zeros(len(rows))
        for part, start in zip(self.parts, self.starts, strict=False):
            total += score[start + part.codes[rows]]
        return total

    def words(self, score: Floats, threshold: float) -> str:
        """Return the event in words."""
        if len(self.parts) == 1:
            return self.parts[0].words(np.flatnonzero(score[:-1] >= threshold))
        strongest = np.argsort(-np.abs(score), kind="stable")[:4]
        told = []
        for index in sorted(strongest[np.abs(score[strongest]) > 0].tolist()):
            part = int(np.searchsorted(self.starts, index, side="right")) - 1
            label = self.parts[part].labels[index - int(self.starts[part])]
            if score[index] > 0:
                told.append(f"{self.parts[part].name} = {label}")
        return f"a report such as one with {' and '.join(told)}" if told else "a report"


def largest_possible(samples: Samples, beta: float) -> float:
    """Return the upper limit of epsilon for reports from a known finite set.

    ln max over reports y and values u != u' of upper(y given u) / lower(y given u'), the limits of
    all cells valid at once with probability 1 - beta; infinite where a count is 0.
    """
    if (table := samples.table) is None:
        return math.inf
    totals = table.sum(axis=1, keepdims=True)
    limits = clopper_pearson(table, totals, math.log(2 * table.size / beta))
    return float(largest_log_ratio(limits.upper.T, limits.lower.T, np.array([0]), 0.0)[0])
