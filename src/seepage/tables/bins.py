"""Bins of numbers: the summary of a column, rules, the edges that follow, labels, and
codes.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seepage._core import checks
from seepage._core.arrays import Codes, Floats, Integers
from seepage._core.errors import InputError
from seepage.channel.domain import MISSING, Attribute
from seepage.counting.record_samples import Priorities, PrioritySample
from seepage.tables.labels import (
    bin_labels,
    number_label,
    readable_edges,
    roundest,
    single_number,
)
from seepage.tables.table_options import DEFAULT_BINS, MAX_ALPHABET

SAMPLE_SIZE = 2**18
"""Records whose numbers are kept; tables with no more have exact quantiles."""


MAX_COUNTED = 2**16
"""Maximum number of distinct numbers that are counted one by one."""


FEW_EDGES = 100
"""Maximum number of edges for which comparing with each is faster than a binary
search."""


class NumberSummary:
    """Range and distribution of the numbers of one column, from which bin edges follow.

    Minimum and maximum are exact.  Up to 65,536 distinct numbers are counted one by
    one; of more a uniform sample of 262,144 records is kept, so the rank of a quantile
    is off by at most about 0.1% of the records (one standard deviation).

    Parts of a table are summarised separately and merged.  The sample consists of the
    records of lowest priority in the whole table, so the edges do not depend on the
    parts.

    Attributes
    ----------
    low, high
        Minimum and maximum so far; `inf` and `-inf` before the first number.
    stray
        A value that is not a number that floats can represent, set by the caller; None
        if all are.
    integral
        Whether all numbers so far are integers, of any type (3.0 is one).
    """

    def __init__(self) -> None:
        self.low = math.inf
        self.high = -math.inf
        self.stray: str | None = None
        self.integral = True
        self._single = False
        self._counted: tuple[Floats, Integers] | None = (
            np.zeros(0),
            np.zeros(0, dtype=np.int64),
        )
        self._sample = PrioritySample(SAMPLE_SIZE)

    def add(self, values: NDArray[Any], priorities: Priorities) -> None:
        """Add numbers, none of them NaN, with the priorities of their records."""
        if not len(values):
            return
        self._single = values.dtype == np.float32
        low = self.decimal(values.min())
        high = self.decimal(values.max())
        self.low, self.high = min(self.low, low), max(self.high, high)
        if self.integral:
            self.integral = math.isfinite(low + high) and bool(
                (values == np.floor(values)).all()
            )
        if self._counted is not None:
            self._count(*np.unique(values, return_counts=True))
        candidates = self._sample.candidates(priorities)
        self._sample.add(values[candidates].astype(np.float64), priorities[candidates])

    def _count(self, values: NDArray[Any], counts: Integers) -> None:
        """Add the counts of distinct numbers; too many are not counted any more."""
        assert self._counted is not None
        found, places = np.unique(
            np.append(self._counted[0], values), return_inverse=True
        )
        weights = np.append(self._counted[1], counts)
        totals = np.bincount(places, weights).astype(np.int64)
        self._counted = (found, totals) if len(found) <= MAX_COUNTED else None

    def merge(self, other: "NumberSummary") -> None:
        """Add the numbers of another part of the table."""
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.stray = self.stray or other.stray
        self.integral = self.integral and other.integral
        self._single = self._single or other._single
        if self._counted is None or other._counted is None:
            self._counted = None
        else:
            self._count(*other._counted)
        self._sample.merge(other._sample)

    def decimal(self, value: float) -> float:
        """Return the shortest decimal that rounds to a value in the precision of the
        column.
        """
        return single_number(np.float32(value)) if self._single else float(value)

    def distinct(self) -> tuple[Floats, Integers]:
        """Return the distinct numbers, all or those of the sample, ascending, and their
        counts.
        """
        if self._counted is not None:
            return self._counted
        values, counts = np.unique(self._sample.thinned()[0], return_counts=True)
        return values, counts.astype(np.int64)


@dataclass(frozen=True)
class Quantile:
    """Bins with about equally many records.

    Edge j is the value of rank floor(n j / bins) among n values in ascending order
    (rank 0 is the minimum), so that bin j begins with a value that occurs.  A value
    that fills more than one bin has one bin of its own, and there are fewer bins.  If
    the sample holds a single value, the bins are those of `Width`.
    """

    bins: int

    def edges(self, summary: NumberSummary) -> tuple[float, ...]:
        """Return the edges for a column's numbers; empty if these are all equal."""
        values, counts = summary.distinct()
        starts = _starts(np.cumsum(counts), self.bins)
        inner = _inside(summary, [summary.decimal(values[start]) for start in starts])
        return _closed(summary, inner) if inner else Width(self.bins).edges(summary)


@dataclass(frozen=True)
class Width:
    """Bins of equal width between the minimum and the maximum.

    Edge j is low + j (high - low) / bins, rounded up to an integer if all numbers are
    integers: the bins then hold the same numbers, and there are fewer bins where two
    edges coincide.
    """

    bins: int

    def edges(self, summary: NumberSummary) -> tuple[float, ...]:
        """Return the edges for a column's numbers; empty if these are all equal."""
        if summary.low == summary.high:
            return ()
        inner = _inside(
            summary, [self._edge(summary, index) for index in range(1, self.bins)]
        )
        return _closed(summary, inner or [summary.high] * (self.bins > 1))

    def _edge(self, summary: NumberSummary, index: int) -> float:
        left = self.bins - index
        if summary.integral:
            return float(
                -(-(int(summary.low) * left + int(summary.high) * index) // self.bins)
            )
        return summary.low * (left / self.bins) + summary.high * (index / self.bins)


@dataclass(frozen=True)
class Edges:
    """Bins with given edges; the outer ones may be -inf and inf."""

    given: tuple[float, ...]

    @property
    def bins(self) -> int:
        """Number of bins."""
        return max(len(self.given) - 1, 0)


BinningRule: TypeAlias = Quantile | Width | Edges


NO_BINS = Edges(())
"""No bins: every distinct number is a category."""


BIN_FORMATS = (
    "a number of quantile bins, 'quantile:10', 'width:8', 'none', or ascending edges"
)


DEFAULT_RULE = Quantile(DEFAULT_BINS)


def read_rule(rule: Any) -> BinningRule:
    """Return the binning rule of an option's value; an invalid value raises an
    InputError.

    Examples
    --------
    >>> read_rule("width:8"), read_rule(5), read_rule([0, 18, 65])
    (Width(bins=8), Quantile(bins=5), Edges(given=(0.0, 18.0, 65.0)))
    """
    if rule is None:
        return DEFAULT_RULE
    if isinstance(rule, str):
        return _read_text(rule.strip())
    if isinstance(rule, (bytes, bool)) or not hasattr(rule, "__iter__"):
        return Quantile(checks.integer(rule, "the number of bins", 1, MAX_ALPHABET))
    return Edges(_read_edges(rule))


def _read_text(text: str) -> BinningRule:
    if text == "none":
        return NO_BINS
    if text.isdecimal():
        text = f"quantile:{text}"
    kind, colon, count = text.partition(":")
    kinds: dict[str, type[Quantile] | type[Width]] = {
        "quantile": Quantile,
        "width": Width,
    }
    if kind not in kinds or (colon and not count.strip().isdecimal()):
        hint = checks.near_miss(kind, [*kinds, "none"])
        raise checks.violation("bins", BIN_FORMATS, text, hint)
    bins = int(count) if colon else DEFAULT_RULE.bins
    return kinds[kind](checks.integer(bins, "the number of bins", 1, MAX_ALPHABET))


def _read_edges(edges: Any) -> tuple[float, ...]:
    numbers = tuple(checks.real(edge, "an edge of bins") for edge in edges)
    if len(numbers) < 2 or any(not a < b for a, b in pairwise(numbers)):
        shown = ", ".join(number_label(number) for number in numbers)
        rule = "bins must have at least two edges, ascending"
        raise InputError(f"{rule}, got [{shown}]", parameter="bins")
    return numbers


def _starts(running: Integers, bins: int) -> list[int]:
    """Return the indices of the distinct values at which bins begin, ascending, without
    the first.

    `running` are the cumulative counts of the distinct values.  An index found for two
    ranks belongs to a value that fills a bin: the next bin begins with the next value.
    """
    total = int(running[-1])
    ranks = [total * bin_ // bins for bin_ in range(1, bins)]
    starts = [0]
    fills_bin = True
    for index in np.searchsorted(running, ranks, side="right").tolist():
        if index > starts[-1]:
            starts.append(index)
            fills_bin = True
        elif index == starts[-1] and fills_bin and index + 1 < len(running):
            starts.append(index + 1)
            fills_bin = False
        elif index == starts[-1]:
            fills_bin = True
    return starts[1:]


def _inside(summary: NumberSummary, edges: Sequence[float]) -> list[float]:
    """Return, ascending, the distinct edges with numbers on both sides."""
    return sorted({edge for edge in edges if summary.low < edge <= summary.high})


def _closed(summary: NumberSummary, inner: list[float]) -> tuple[float, ...]:
    """Return all edges: the minimum, the inner edges, and the last edge.

    The last edge is the maximum; if the maximum has a bin of its own, a number above
    it.
    """
    low = summary.low
    top = summary.high
    if inner and inner[-1] >= top:
        beyond = top + (1.0 if summary.integral else (top - low) / 100)
        top = max(beyond, math.nextafter(top, math.inf))
    edges = [low, *inner, top]
    return tuple(edges if summary.integral else readable_edges(edges))


def binned_attribute(
    name: str, edges: tuple[float, ...], *, missing: bool
) -> Attribute:
    """Return the attribute of a binned column, with or without a category for missing
    values.
    """
    return Attribute(name, (*bin_labels(edges), *([MISSING] if missing else [])), edges)


def bins_of(
    values: NDArray[Any], edges: tuple[float, ...], first: int = 0, outside: int = 0
) -> Codes:
    """Return the bin of each number: `first` + the number of inner edges that are at
    most it.

    Numbers outside the edges have the code `outside`.  Numbers of single precision are
    compared with the edges in their precision.
    """
    exact = np.array(edges, values.dtype)
    inner = exact[1:-1]
    kind = np.min_scalar_type(len(edges) + 2)
    if len(inner) > FEW_EDGES:
        codes = (np.searchsorted(inner, values, side="right") + first).astype(kind)
    else:
        codes = np.full(len(values), first, dtype=kind)
        for edge in inner:
            codes += values >= edge
    codes[(values < exact[0]) | (values > exact[-1])] = outside
    return codes


MOST_ANSWERS = 6
"""Maximum number of answers of a number."""


SLACK = 0.25
"""A cut may miss its quantile by this share of an interval to be at a rounder
number."""


def interval_edges(
    numbers: NumberSummary, people: int, share: float
) -> tuple[float, ...]:
    """Return the edges of the intervals of a column of numbers; empty if its values are
    answers.

    Parameters
    ----------
    numbers
        The numbers of the part.
    people, share
        The number of records of the part, and the least share of an answer.

    Notes
    -----
    A value with 1/6 of the people stays alone.  The runs between such values share the other
    answers in proportion to their people and are cut at quantiles, each moved to the roundest
    number within a quarter of an interval.  While an interval is below the share, or there are
    more than 6, the lightest joins the lighter of its neighbours.

    Examples
    --------
    >>> days = NumberSummary()
    >>> days.add(
    ...     np.repeat(np.arange(31), [700] + 30 * [10]), np.zeros(1000, dtype=np.uint64)
    ... )
    >>> interval_edges(days, 1000, 0.05)
    (-inf, 1.0, 8.0, 14.0, 20.0, 25.0, inf)
    """
    values, counts = numbers.distinct()
    masses = counts / max(people, 1)
    if len(values) <= MOST_ANSWERS and masses.min() >= share:
        return ()
    heavy = masses >= 1 / MOST_ANSWERS
    free = max(MOST_ANSWERS - int(heavy.sum()), 1)
    step = max(share, float(masses[~heavy].sum()) / free)
    edges = set[float]()
    start = 0
    for stop in range(1, len(values) + 1):
        if stop < len(values) and not (heavy[start] or heavy[stop]):
            continue
        edges |= set(
            _quantiles(values[start:stop], masses[start:stop], step, numbers.integral)
        )
        if stop < len(values):
            if numbers.integral and heavy[start]:
                edges.add(float(values[start]) + 1)
            else:
                edges.add(roundest(values[stop - 1], values[stop], numbers.integral))
            if numbers.integral and heavy[stop]:
                edges.add(float(values[stop]))
        start = stop
    inner = sorted(edge for edge in edges if values[0] < edge <= values[-1])
    interval = np.searchsorted(inner, values, side="right")
    starts = join_lightest(np.bincount(interval, masses).tolist(), share, MOST_ANSWERS)
    return (-math.inf, *(inner[start - 1] for start in starts[1:]), math.inf)


def _quantiles(
    values: Floats, masses: Floats, step: float, integral: bool
) -> Iterator[float]:
    """Yield edges that cut a run of values into intervals of about equal mass."""
    running = np.cumsum(masses)[:-1]
    pieces = max(1, round(float(masses.sum()) / step)) if len(values) > 1 else 1
    for index in range(1, pieces):
        away = np.abs(running - masses.sum() * index / pieces)
        near = np.flatnonzero(
            away <= max(SLACK * masses.sum() / pieces, float(away.min()))
        )
        yield roundest(values[near[0]], values[near[-1] + 1], integral)


def join_lightest(sizes: Sequence[float], least: float, most: int) -> list[int]:
    """Return where groups of neighbours start: the lightest joins the lighter one
    beside it.

    While a group is lighter than `least`, or there are more than `most`.

    Examples
    --------
    >>> join_lightest([5, 1, 2, 9], 3, 4)
    [0, 1, 3]
    """
    starts = list(range(len(sizes)))
    left = list(sizes)
    while len(left) > 1 and (min(left) < least or len(left) > most):
        lightest = left.index(min(left))
        beside = [k for k in (lightest - 1, lightest + 1) if 0 <= k < len(left)]
        first = min(lightest, min(beside, key=left.__getitem__))
        left[first : first + 2] = [left[first] + left[first + 1]]
        del starts[first + 1]
    return starts
