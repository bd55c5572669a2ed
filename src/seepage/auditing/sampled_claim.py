"""The lower limit of epsilon that samples of a randomiser prove."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._core import checks
from seepage._core.arrays import Booleans, Floats, Integers
from seepage._core.errors import InputError
from seepage._core.log_ratios import largest_log_ratio
from seepage._core.text import short_list
from seepage.auditing.claims import AuditedClaim, factor
from seepage.auditing.samples import Samples
from seepage.confidence.proportion_limits import clopper_pearson
from seepage.mechanisms.randomiser import label

PAIRS = 16
"""Number of pairs of values for which thresholds are compared."""


THRESHOLDS = 256
"""Maximum number of thresholds that are compared."""


NOISE = 2.0
"""Standard errors by which log-ratios are lowered when events are compared."""


MAX_CATEGORIES = 256
"""Maximum number of categories of a report, or of one part: ranges of numbers, frequent
texts."""


MAX_RANGES = 16
"""Maximum number of ranges of each part of a vector, whose parts add up."""


# What samples prove -------------------------------------------------------------------


def sampled_claim(
    name: str, samples: Samples, claim: float, delta: float, beta: float, rng: int
) -> AuditedClaim:
    """Return what samples prove of a claim, wrong with probability at most beta on each
    side.

    The event is chosen on a random half of the samples.  O(n p + k^2 c) for n samples
    of p parts, k values and c categories in all parts.
    """
    level = math.log(2 / beta)
    least = 2 * math.floor(level / math.log(2)) + 2  # fewer prove nothing
    counts = np.bincount(samples.codes, minlength=len(samples.values))
    if (counts >= least).sum() < 2:
        raise InputError(
            f"too few samples for any statement: two values need at least {least} each, got "
            f"{np.sort(counts)[-2:][::-1].tolist()}",
            parameter="samples",
        )
    order = checks.generator(rng).permutation(len(samples.codes))
    first = np.zeros(len(order), dtype=np.bool_)
    first[order[np.argsort(samples.codes[order], kind="stable")][::2]] = (
        True  # of each value
    )
    events = _Events(samples, first, level, delta)
    *pair, score, threshold = events.best(np.flatnonzero(counts >= least))
    tested = [events.scores(score, ~first, value) >= threshold for value in pair]
    hits = [int(one.sum()) for one in tested]
    totals = [len(one) for one in tested]
    limits = clopper_pearson(hits, totals, level)
    above = float(limits.lower[0])
    below = float(limits.upper[1])
    lower = max(0.0, math.log((above - delta) / below)) if above > delta else 0.0
    upper = largest_possible(samples, beta)
    told = [
        f"value {samples.values[value]} ({hit:,} of {total:,} samples)"
        for value, hit, total in zip(pair, hits, totals, strict=True)
    ]
    times = (
        f"at least {factor(lower, down=True)} times likelier"
        if lower
        else "not likelier"
    )
    witness = f"{events.words(score, threshold)} is {times} from {told[0]} than from {told[1]}"
    if (counts < least).any():
        skipped = [samples.values[code] for code in np.flatnonzero(counts < least)]
        witness += (
            f"; nothing is said of {short_list(skipped, 4)}, with too few samples"
        )
    realised = max(0.0, above - math.exp(min(claim, 700.0)) * below)
    shares = [hit / total for hit, total in zip(hits, totals, strict=True)]
    estimate = (
        math.log(shares[0] / shares[1])
        if all(shares)
        else math.inf
        if shares[0]
        else 0.0
    )
    needed = _further_samples(
        min(totals), estimate - claim, estimate - lower, upper - estimate
    )
    size = len(samples.codes)
    return AuditedClaim(
        name, claim, delta, lower, upper, realised, witness, needed, size
    )


def _further_samples(
    tested: int, excess: float, below: float, above: float
) -> int | None:
    """Return how many more samples per value would decide, with the estimate `excess`
    above claim.

    Its distance from a limit, `below` or `above`, decreases with the square root of the
    samples.
    """
    width = below if excess > 0 else above
    if not excess or not 0 < width < math.inf:
        return None
    growth = (width / excess) ** 2
    return math.ceil(2 * tested * max(0.0, growth - 1)) if growth < 1e6 else None


def largest_possible(samples: Samples, beta: float) -> float:
    """Return the upper limit of epsilon for reports from a known finite set.

    ln max over reports y and values u != u' of upper(y given u) / lower(y given u'),
    the limits of all cells valid at once with probability 1 - beta; infinite where a
    count is 0.
    """
    if (table := samples.table) is None:
        return math.inf
    totals = table.sum(axis=1, keepdims=True)
    limits = clopper_pearson(table, totals, math.log(2 * table.size / beta))
    return float(
        largest_log_ratio(limits.upper.T, limits.lower.T, np.array([0]), 0.0)[0]
    )


@dataclass(frozen=True, eq=False)
class Part:
    """One part of each report, in categories that one half of the samples determined."""

    name: str
    codes: Integers
    """The category of each sample; `len(labels)` for one that was not seen in that
    half."""
    labels: Sequence[str]
    edges: Floats | None = None
    """The ascending edges of categories that are ranges of numbers; None for others."""

    def words(self, chosen: Integers) -> str:
        """Return a set of categories in words."""
        if self.edges is None:
            labels = [self.labels[code] for code in chosen]
            return (
                f"a report {'among ' if len(labels) > 1 else ''}{short_list(labels, 4)}"
            )
        low = self.edges[chosen[0]]
        high = self.edges[chosen[-1] + 1]
        ends = [f"of at least {low:.6g}"] if low > -np.inf else []
        ends += [f"below {high:.6g}"] if high < np.inf else []
        ends += (
            [f"in {len(chosen)} ranges"]
            if chosen[-1] - chosen[0] >= len(chosen)
            else []
        )
        return f"a report {' and '.join(ends)}"


def _parts(columns: Mapping[str, NDArray[Any]], half: Booleans) -> list[Part]:
    """Return the parts in categories that a half determines; together if these are few."""
    ranges = MAX_CATEGORIES if len(columns) == 1 else MAX_RANGES
    parts = [_part(name, column, half, ranges) for name, column in columns.items()]
    sizes = [len(part.labels) + 1 for part in parts]
    if len(parts) == 1 or np.prod(sizes, dtype=np.float64) > MAX_CATEGORIES:
        return parts
    codes = np.ravel_multi_index([part.codes for part in parts], sizes)
    rows = itertools.product(*([*part.labels, "?"] for part in parts))
    return [Part("report", codes, [f"({', '.join(row)})" for row in rows])]


def _part(name: str, column: NDArray[Any], half: Booleans, ranges: int) -> Part:
    """Return a part of the reports as categories: its values, or ranges of many
    numbers.
    """
    uniques, counts = np.unique(column[half], return_counts=True)
    if len(uniques) > MAX_CATEGORIES and column.dtype.kind in "iuf":
        levels = np.linspace(0, 1, ranges + 1)[1:-1]
        edges = np.unique(
            np.quantile(column[half].astype(np.float64), levels, method="lower")
        )
        labels = [f"{edge:.6g}" for edge in (-np.inf, *edges)]
        codes = np.searchsorted(edges, column, side="right")
        return Part(name, codes, labels, np.array([-np.inf, *edges, np.inf]))
    uniques = uniques[np.sort(np.argsort(-counts, kind="stable")[:MAX_CATEGORIES])]
    places = np.minimum(np.searchsorted(uniques, column), len(uniques) - 1)
    codes = np.where(uniques[places] == column, places, len(uniques))
    return Part(name, codes, [label(one) for one in uniques.tolist()])


class _Events:
    """Events that are compared on the first half of the samples."""

    def __init__(
        self, samples: Samples, first: Booleans, level: float, delta: float
    ) -> None:
        self.codes = samples.codes
        self.first = first
        self.level = level
        self.delta = delta
        self.parts = _parts(samples.columns, first)
        sizes = [
            len(part.labels) + 1 for part in self.parts
        ]  # one more for what was not seen
        *starts, size = np.cumsum([0, *sizes]).tolist()
        self.starts = np.array(starts)
        self.unseen = np.cumsum(sizes) - 1
        self.places = (
            np.stack([part.codes for part in self.parts], axis=1) + self.starts
        )
        cells = self.codes[first, None] * size + self.places[first]
        k = len(samples.values)
        self.counts = np.bincount(cells.ravel(), minlength=k * size).reshape(k, size)
        self.totals = np.bincount(self.codes[first], minlength=k)

    def best(self, values: Integers) -> tuple[int, int, Floats, float]:
        """Return the pair of values, the scores of categories and the threshold."""
        found = [(*self._threshold(*pair), pair) for pair in self._promising(values)]
        _, score, threshold, pair = max(found, key=lambda one: one[0])
        return *pair, score, threshold

    def _promising(self, values: Integers) -> list[tuple[int, int]]:
        """Return the pairs with the largest log-ratio of single categories, summed over
        parts.
        """
        counts = self.counts[values]
        total = self.totals[values, None]
        noise = NOISE * np.sqrt(counts)
        low = np.log((counts + noise + NOISE**2) / total)  # the square for a count of 0
        with np.errstate(divide="ignore"):
            high = np.log(np.maximum(counts - noise, 0.0) / total)
        ratios = (np.maximum(one - low, 0.0) for one in high)
        parts = [
            np.maximum.reduceat(one, self.starts, axis=1).sum(axis=1) for one in ratios
        ]
        best = np.stack(parts)
        np.fill_diagonal(best, -np.inf)
        count = min(PAIRS, best.size - len(best))
        flat = np.argpartition(-best, count - 1, axis=None)[:count]
        rows, columns = np.unravel_index(flat, best.shape)
        return list(zip(values[rows].tolist(), values[columns].tolist(), strict=True))

    def _threshold(self, likelier: int, other: int) -> tuple[float, Floats, float]:
        """Return the limit of the best threshold on this half, the scores, and the
        threshold.
        """
        counts = self.counts[[likelier, other]] + 0.5
        shares = counts / self.totals[[likelier, other]][:, None]
        score = np.log(shares[0] / shares[1])
        if len(self.parts) > 1:  # noise of many parts would hide the signal of a few
            score[np.abs(score) < 1.5 * NOISE * np.sqrt((1 / counts).sum(axis=0))] = 0.0
        score[self.unseen] = 0.0
        ranked = [
            np.sort(self.scores(score, self.first, value))
            for value in (likelier, other)
        ]
        levels = np.unique(ranked[0])
        levels = levels[
            np.linspace(0, len(levels) - 1, min(len(levels), THRESHOLDS)).astype(int)
        ]
        above = [len(one) - np.searchsorted(one, levels) for one in ranked]
        chance = (
            clopper_pearson(above[0], len(ranked[0]), self.level).lower - self.delta
        )
        limit = clopper_pearson(above[1], len(ranked[1]), self.level).upper
        with np.errstate(divide="ignore"):
            limits = np.log(np.maximum(chance, 0.0) / limit)
        best = int(limits.argmax())
        return float(limits[best]), score, float(levels[best])

    def scores(self, score: Floats, half: Booleans, value: int) -> Floats:
        """Return the log-likelihood ratio of the reports of a value, in one half."""
        return np.asarray(score[self.places[half & (self.codes == value)]].sum(axis=1))

    def words(self, score: Floats, threshold: float) -> str:
        """Return the event in words."""
        if len(self.parts) == 1:
            return self.parts[0].words(np.flatnonzero(score[:-1] >= threshold))
        strongest = np.argsort(-np.abs(score), kind="stable")[:4]
        told = []
        for index in np.sort(strongest[score[strongest] > 0]):
            part = int(np.searchsorted(self.starts, index, side="right")) - 1
            category = self.parts[part].labels[index - self.starts[part]]
            told.append(f"{self.parts[part].name} = {category}")
        return f"a report such as one with {' and '.join(told)}" if told else "a report"
