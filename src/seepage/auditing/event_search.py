"""The event that tells two values apart best, chosen on one half of the samples.

Reports are split into parts (the bits of a vector, the rounds of a person), each with
few categories.  An event holds the reports whose log-likelihood ratio, summed over
parts as if these were independent, is at least a threshold.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from seepage._core.arrays import Booleans, Floats, Integers
from seepage._core.text import short_list
from seepage.auditing.report_columns import ReportColumn
from seepage.auditing.samples import Samples
from seepage.confidence.proportion_limits import clopper_pearson

PAIRS = 16
"""Number of pairs of values for which thresholds are compared."""


THRESHOLDS = 256
"""Maximum number of thresholds that are compared."""


NOISE = 2.0
"""Standard errors by which log-ratios are lowered when events are compared."""


PART_NOISE = 1.5 * NOISE
"""Standard errors below which a log-ratio of one part among several counts as 0."""


MAX_CATEGORIES = 256
"""Maximum number of categories of a report, or of one part: ranges of numbers, frequent
texts."""


MAX_RANGES = 16
"""Maximum number of ranges of each part of a vector, whose parts add up."""


MAX_NAMED_PARTS = 4
"""Maximum number of parts that the words for an event name."""


# Parts of a report --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Part:
    """One part of each report, in categories that one half of the samples determined.

    Parameters
    ----------
    name
        The name of the part.
    codes
        The category of each sample; `len(labels)` for one that was not seen in that
        half.
    labels
        The categories as they are printed.
    edges
        The ascending edges of the first categories, which are ranges of numbers; None
        where none are.
    """

    name: str
    codes: Integers
    labels: Sequence[str]
    edges: Floats | None = None

    @property
    def size(self) -> int:
        """Number of categories that an event chooses from, with that of what was not
        seen.
        """
        return len(self.labels) + 1

    def words(self, categories: Integers) -> str:
        """Return the part of an event that is a set of categories, in words."""
        if self.edges is None:
            return f"a report {self._listed(categories)}"
        is_range = categories < len(self.edges) - 1
        if not is_range.any():
            return f"a report {self._listed(categories)}"
        words = self._range_words(categories[is_range], self.edges)
        if not is_range.all():
            words += f" or {self._listed(categories[~is_range])}"
        return words

    def _listed(self, categories: Integers) -> str:
        """Return categories of an event that are single reports, in words."""
        labels = [self.labels[category] for category in categories]
        if len(labels) > 1:
            return f"among {short_list(labels, 4)}"
        return short_list(labels, 4)

    def _range_words(self, categories: Integers, edges: Floats) -> str:
        """Return categories of an event that are ranges of numbers, in words."""
        first = categories[0]
        last = categories[-1]
        low = edges[first]
        high = edges[last + 1]
        ends = []
        if low > -np.inf:
            ends.append(f"of at least {low:.6g}")
        if high < np.inf:
            ends.append(f"below {high:.6g}")
        if last - first >= len(categories):  # ranges between them are left out
            ends.append(f"in {len(categories)} ranges")
        return f"a report {' and '.join(ends)}"


def parts_of(columns: Mapping[str, ReportColumn], half: Booleans) -> list[Part]:
    """Return the parts whose categories events are searched in, from a half of the
    samples; together if these are few.
    """
    ranges = MAX_CATEGORIES if len(columns) == 1 else MAX_RANGES
    parts = [_part(name, column, half, ranges) for name, column in columns.items()]
    if len(parts) == 1:
        return parts
    sizes = [part.size for part in parts]
    if np.prod(sizes, dtype=np.float64) > MAX_CATEGORIES:
        return parts
    return [_combined(parts)]


def _combined(parts: Sequence[Part]) -> Part:
    """Return one part to search events in, whose categories are the tuples of the
    categories of several.
    """
    sizes = [part.size for part in parts]
    codes = np.ravel_multi_index([part.codes for part in parts], sizes)
    labels_of_parts = [[*part.labels, "?"] for part in parts]
    tuples = itertools.product(*labels_of_parts)
    labels = [f"({', '.join(categories)})" for categories in tuples]
    return Part("report", np.asarray(codes), labels)


def _part(name: str, column: ReportColumn, half: Booleans, ranges: int) -> Part:
    """Return a part to search events in: the frequent reports, or ranges if most are
    different numbers.
    """
    counts = np.bincount(column.codes[half], minlength=len(column.keys))
    seen = np.flatnonzero(counts)
    is_number = ~np.isnan(column.numbers[seen])
    if len(seen) <= MAX_CATEGORIES or 2 * is_number.sum() < len(seen):
        return _part_of_reports(name, column, _most_frequent(seen, counts))
    others = _most_frequent(seen[~is_number], counts)
    return _part_in_ranges(name, column, half, ranges, others)


def _most_frequent(codes: Integers, counts: Integers) -> Integers:
    """Return the most frequent reports as categories of events, in ascending order."""
    by_frequency = np.argsort(-counts[codes], kind="stable")
    return np.asarray(codes[np.sort(by_frequency[:MAX_CATEGORIES])])


def _part_of_reports(name: str, column: ReportColumn, codes: Integers) -> Part:
    """Return a part to search events in, whose categories are these different
    reports.
    """
    places = np.full(len(column.keys), len(codes))
    places[codes] = np.arange(len(codes))
    return Part(
        name=name,
        codes=places[column.codes],
        labels=[column.shown[code] for code in codes],
    )


def _part_in_ranges(
    name: str, column: ReportColumn, half: Booleans, ranges: int, others: Integers
) -> Part:
    """Return a part to search events in, whose categories are ranges of numbers,
    equally frequent in the half, and these reports that are no numbers.
    """
    levels = np.linspace(0, 1, ranges + 1)[1:-1]
    numbers = column.numbers[column.codes[half]]
    numbers = numbers[~np.isnan(numbers)]
    edges = np.unique(np.quantile(numbers, levels, method="lower"))
    lower_ends = [-np.inf, *edges]
    labels = [f"{edge:.6g}" for edge in lower_ends]
    labels += [column.shown[code] for code in others]
    places = np.searchsorted(edges, column.numbers, side="right")
    places[np.isnan(column.numbers)] = len(labels)
    places[others] = np.arange(len(lower_ends), len(labels))
    return Part(
        name=name,
        codes=places[column.codes],
        labels=labels,
        edges=np.array([*lower_ends, np.inf]),
    )


# The event ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Event:
    """The reports whose score is at least a threshold.

    Parameters
    ----------
    likelier, other
        The codes of the two values that the event tells apart.
    scores
        The log-likelihood ratio of each category of all parts, which add up.
    threshold
        The least score of a report in the event.
    limit
        The lower limit of epsilon that the event would prove on the half on which it
        was chosen.
    """

    likelier: int
    other: int
    scores: Floats
    threshold: float
    limit: float


class EventSearch:
    """Events that are compared on the first half of the samples.

    Parameters
    ----------
    samples
        All samples.
    first
        Which of them are in the first half.
    level
        ln 1/alpha of each limit, see `clopper_pearson`.
    delta
        The claimed delta.
    """

    def __init__(
        self, samples: Samples, first: Booleans, level: float, delta: float
    ) -> None:
        """Prepare the search for events on the first half of the samples."""
        self.values = samples.codes
        self.first = first
        self.level = level
        self.delta = delta
        self.parts = parts_of(samples.columns, first)
        sizes = [part.size for part in self.parts]
        ends = np.cumsum(sizes)
        size = int(ends[-1])
        self.starts = np.asarray(ends - sizes, dtype=np.int64)
        self.unseen = ends - 1
        codes = np.stack([part.codes for part in self.parts], axis=1)
        self.categories = codes + self.starts
        k = len(samples.values)
        cells = self.values[first, None] * size + self.categories[first]
        self.counts = np.bincount(cells.ravel(), minlength=k * size).reshape(k, size)
        self.totals = np.bincount(self.values[first], minlength=k)

    def best(self, values: Integers) -> Event:
        """Return the event with the largest limit, for two of these values."""
        events = []
        for likelier, other in self._promising(values):
            events.append(self._best_threshold(likelier, other))
        return max(events, key=lambda event: event.limit)

    def _promising(self, values: Integers) -> list[tuple[int, int]]:
        """Return the pairs of values to search events for: those with the largest
        log-ratio of single categories, summed over parts.
        """
        counts = self.counts[values]
        total = self.totals[values, None]
        noise = NOISE * np.sqrt(counts)
        low = np.log((counts + noise + NOISE**2) / total)  # the square for a count of 0
        with np.errstate(divide="ignore"):
            high = np.log(np.maximum(counts - noise, 0.0) / total)
        best = np.stack([self._summed_ratios(row - low) for row in high])
        np.fill_diagonal(best, -np.inf)
        count = min(PAIRS, best.size - len(best))
        places = np.argpartition(-best, count - 1, axis=None)[:count]
        likelier, other = np.unravel_index(places, best.shape)
        return list(zip(values[likelier].tolist(), values[other].tolist(), strict=True))

    def _summed_ratios(self, ratios: Floats) -> Floats:
        """Return the log-ratio of the best event: the largest positive one of the
        categories of each part, summed over parts.
        """
        positive = np.maximum(ratios, 0.0)
        largest = np.maximum.reduceat(positive, self.starts, axis=1)
        return np.asarray(largest.sum(axis=1))

    def _category_scores(self, likelier: int, other: int) -> Floats:
        """Return the log-likelihood ratio of each category of an event, 0 for what was
        not seen.
        """
        pair = [likelier, other]
        counts = self.counts[pair] + 0.5
        shares = counts / self.totals[pair][:, None]
        scores = np.log(shares[0] / shares[1])
        if len(self.parts) > 1:  # noise of many parts would hide the signal of a few
            error = np.sqrt((1 / counts).sum(axis=0))
            scores[np.abs(scores) < PART_NOISE * error] = 0.0
        scores[self.unseen] = 0.0
        return np.asarray(scores)

    def _best_threshold(self, likelier: int, other: int) -> Event:
        """Return the event of the threshold that has the largest limit on this half."""
        scores = self._category_scores(likelier, other)
        of_likelier = np.sort(self._report_scores(scores, self.first, likelier))
        of_other = np.sort(self._report_scores(scores, self.first, other))
        levels = np.unique(of_likelier)
        count = min(len(levels), THRESHOLDS)
        levels = levels[np.linspace(0, len(levels) - 1, count).astype(int)]
        hits = len(of_likelier) - np.searchsorted(of_likelier, levels)
        misses = len(of_other) - np.searchsorted(of_other, levels)
        lower = clopper_pearson(hits, len(of_likelier), self.level).lower
        upper = clopper_pearson(misses, len(of_other), self.level).upper
        with np.errstate(divide="ignore"):
            limits = np.log(np.maximum(lower - self.delta, 0.0) / upper)
        best = int(limits.argmax())
        return Event(
            likelier=likelier,
            other=other,
            scores=scores,
            threshold=float(levels[best]),
            limit=float(limits[best]),
        )

    def _report_scores(self, scores: Floats, half: Booleans, value: int) -> Floats:
        """Return the scores by which an event is chosen: log-likelihood ratios of the
        reports of a value in one half.
        """
        reports = self.categories[half & (self.values == value)]
        return np.asarray(scores[reports].sum(axis=1))

    def tested(self, event: Event, value: int) -> Booleans:
        """Return which reports of a value in the second half are in the event."""
        scores = self._report_scores(event.scores, ~self.first, value)
        return np.asarray(scores >= event.threshold)

    def words(self, event: Event) -> str:
        """Return the event in words."""
        scores = event.scores
        if len(self.parts) == 1:
            inside = np.flatnonzero(scores[:-1] >= event.threshold)
            return self.parts[0].words(inside)
        strongest = np.argsort(-np.abs(scores), kind="stable")[:MAX_NAMED_PARTS]
        categories = np.sort(strongest[scores[strongest] > 0])
        if len(categories) == 0:
            return "a report"
        named = " and ".join(self._category_words(int(code)) for code in categories)
        return f"a report such as one with {named}"

    def _category_words(self, category: int) -> str:
        """Return a category of an event with the name of its part, as in `part 2 =
        1`.
        """
        index = int(np.searchsorted(self.starts, category, side="right")) - 1
        part = self.parts[index]
        return f"{part.name} = {part.labels[category - self.starts[index]]}"
