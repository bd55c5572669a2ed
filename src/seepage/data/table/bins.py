"""Bins of numbers: the summary of a column, rules, the edges that follow, labels, and codes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seepage import _checks
from seepage._numerics import Booleans, Codes, Floats, Integers
from seepage.data.counting.distinct import Priorities, PrioritySample
from seepage.data.domain import MISSING, Attribute
from seepage.data.table.labels import EXACT, code_type, number_label, single_number
from seepage.data.table.options import DEFAULT_BINS
from seepage.errors import InputError

SAMPLE_SIZE = 2**18
"""Records whose fractional numbers are kept; tables with no more have exact quantiles."""

MAX_SPAN = 2**16
"""Integers are counted one by one if high - low is below this."""

OVERSAMPLING = 1.1
"""Factor on the expected number of records that a share keeps, against chance shortfalls."""

EDGE_DIGITS = 2
"""Edges of fractional numbers are rounded to 10^-2 of the order of the bins beside them."""

FEW_EDGES = 100
"""Maximum number of edges for which comparing with each is faster than a binary search."""


def share_of(rows: int | None) -> float:
    """Return the share of priorities, lowest first, that holds a full sample of `rows` records."""
    return 1.0 if rows is None else min(1.0, OVERSAMPLING * SAMPLE_SIZE / max(rows, 1))


class NumberSummary:
    """Range and distribution of the numbers of one column, from which bin edges follow.

    Minimum and maximum are exact.  Integers with max - min below 65,536 are counted one by one; of
    other numbers a uniform sample of 262,144 is kept, so the rank of a quantile is off by at most
    about 0.1% of the records (one standard deviation).

    Parts of a table are summarised separately and merged.  The sample consists of the records of
    lowest priority in the whole table, so the edges do not depend on the parts.  Of n records, a
    part keeps only those in the lowest share 1.1 x 262,144 / n of all priorities.  The probability
    that fewer than 262,144 of n numbers fall into it is below 10^-500; with missing numbers it is
    not, see `complete`.

    Parameters
    ----------
    share
        The share of priorities, lowest first, whose records are kept: `share_of` the records of the
        whole table.

    Attributes
    ----------
    low, high
        Minimum and maximum so far; `inf` and `-inf` before the first number.
    stray
        A value that is not a number that floats can represent, set by the caller; None if all are.
    integral
        Whether all numbers so far are integers, of any type (3.0 is one).
    """

    def __init__(self, share: float = 1.0) -> None:
        self.low = math.inf
        self.high = -math.inf
        self.stray: str | None = None
        self.integral = True
        self._single = False
        self._first = 0
        self._counts: Integers | None = np.zeros(0, dtype=np.int64)
        self._sample = PrioritySample(SAMPLE_SIZE, share)
        self._seen = 0

    @property
    def complete(self) -> bool:
        """Whether the counts are exact or the sample is full: the share kept was large enough."""
        return self._counts is not None or self._sample.kept >= min(SAMPLE_SIZE, self._seen)

    def add(self, values: NDArray[Any], priorities: Priorities) -> None:
        """Add numbers, none of them NaN, with the priorities of their records."""
        if not len(values):
            return
        self._single = values.dtype == np.float32
        low, high = self.decimal(values.min()), self.decimal(values.max())
        self.low, self.high = min(self.low, low), max(self.high, high)
        if self.integral and values.dtype.kind == "f":
            self.integral = math.isfinite(low + high) and bool((values == np.floor(values)).all())
        counts = np.bincount(values.astype(np.int64) - int(low)) if self._countable() else None
        self._add_counts(int(low) if counts is not None else 0, counts)
        self._seen += len(values)
        candidates = self._sample.candidates(priorities)
        self._sample.add(values[candidates].astype(np.float64), priorities[candidates])

    def _countable(self) -> bool:
        """Return whether all numbers so far are integers in a span that is counted one by one."""
        exact = max(-self.low, self.high) <= EXACT
        near = exact and self.high - self.low < MAX_SPAN
        return self._counts is not None and self.integral and near

    def _add_counts(self, first: int, counts: Integers | None) -> None:
        """Add the counts of the integers `first`, `first` + 1, ...; None if they are not known."""
        if self._counts is None or counts is None or not self._countable():
            self._counts = None
            return
        lowest, size = int(self.low), int(self.high - self.low) + 1
        if (lowest, size) != (self._first, len(self._counts)):
            wider = np.zeros(size, dtype=np.int64)
            if len(self._counts):
                wider[self._first - lowest :][: len(self._counts)] = self._counts
            self._first, self._counts = lowest, wider
        self._counts[first - lowest :][: len(counts)] += counts

    def merge(self, other: "NumberSummary") -> None:
        """Add the numbers of another part of the table."""
        self.stray = self.stray if other.stray is None else other.stray
        if other.low > other.high:
            return
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.integral = self.integral and other.integral
        self._single = self._single or other._single
        self._add_counts(other._first, other._counts)
        self._seen += other._seen
        self._sample.merge(other._sample)

    def decimal(self, value: float) -> float:
        """Return the shortest decimal that rounds to a value in the precision of the column."""
        return single_number(np.float32(value)) if self._single else float(value)

    def distinct(self) -> tuple[Floats, Integers]:
        """Return the distinct numbers, all or those of the sample, ascending, and their counts."""
        if self._counts is not None:
            present = np.flatnonzero(self._counts)
            return (present + self._first).astype(np.float64), self._counts[present]
        values, counts = np.unique(self._sample.thinned()[0], return_counts=True)
        return values, counts.astype(np.int64)


@dataclass(frozen=True)
class Quantile:
    """Bins with about equally many records.

    Edge j is the value of rank floor(n j / bins) among n values in ascending order (rank 0 is the
    minimum), so that bin j begins with a value that occurs.  A value that fills more than one bin
    has one bin of its own, and there are fewer bins.  If the sample holds a single value, the bins
    are those of `Width`.
    """

    bins: int

    def edges(self, summary: NumberSummary) -> tuple[float, ...]:
        """Return the edges for a column's numbers; empty if no edge can lie between them."""
        values, counts = summary.distinct()
        starts = _starts(np.cumsum(counts), self.bins)
        inner = _inside(summary, [summary.decimal(values[start]) for start in starts])
        return _closed(summary, inner) if inner else Width(self.bins).edges(summary)


@dataclass(frozen=True)
class Width:
    """Bins of equal width between the minimum and the maximum.

    Edge j is low + j (high - low) / bins, rounded up to an integer if all numbers are integers: the
    bins then hold the same numbers, and there are fewer bins where two edges coincide.
    """

    bins: int

    def edges(self, summary: NumberSummary) -> tuple[float, ...]:
        """Return the edges for a column's numbers; empty if no edge can lie between them."""
        inner = _inside(summary, [self._edge(summary, index) for index in range(1, self.bins)])
        if summary.low == summary.high or (self.bins > 1 and not inner):
            return ()
        return _closed(summary, inner)

    def _edge(self, summary: NumberSummary, index: int) -> float:
        left = self.bins - index
        if summary.integral:
            return float(-(-(int(summary.low) * left + int(summary.high) * index) // self.bins))
        return summary.low * (left / self.bins) + summary.high * (index / self.bins)


@dataclass(frozen=True)
class Edges:
    """Bins with given edges; the outer ones may be -inf and inf."""

    given: tuple[float, ...]

    @property
    def bins(self) -> int:
        """Number of bins."""
        return len(self.given) - 1


@dataclass(frozen=True)
class NoBins:
    """No bins: every distinct number is a category."""

    bins: ClassVar[int] = 0


BinningRule: TypeAlias = Quantile | Width | Edges | NoBins

MAX_BINS = 10_000
BIN_FORMATS = "a number of quantile bins, 'quantile:10', 'width:8', 'none', or ascending edges"
DEFAULT_RULE = Quantile(DEFAULT_BINS)


def read_rule(rule: Any) -> BinningRule:
    """Return the binning rule of an option's value; an invalid value raises an InputError.

    Examples
    --------
    >>> read_rule("width:8"), read_rule(5), read_rule([0, 18, 65])
    (Width(bins=8), Quantile(bins=5), Edges(given=(0.0, 18.0, 65.0)))
    """
    if rule is None:
        return DEFAULT_RULE
    if isinstance(rule, (Quantile, Width, Edges, NoBins)):
        return rule
    if isinstance(rule, str):
        return _read_text(rule.strip())
    if isinstance(rule, (bytes, bool)) or not hasattr(rule, "__iter__"):
        return Quantile(_checks.integer(rule, "the number of bins", 1, MAX_BINS))
    return Edges(_read_edges(rule))


def _read_text(text: str) -> BinningRule:
    if text == "none":
        return NoBins()
    if text.isdecimal():
        text = f"quantile:{text}"
    kind, colon, count = text.partition(":")
    kinds: dict[str, type[Quantile] | type[Width]] = {"quantile": Quantile, "width": Width}
    if kind not in kinds or (colon and not count.strip().isdecimal()):
        hint = _checks.near_miss(kind, [*kinds, "none"])
        raise _checks.violation("bins", BIN_FORMATS, text, hint)
    bins = int(count) if colon else DEFAULT_RULE.bins
    return kinds[kind](_checks.integer(bins, "the number of bins", 1, MAX_BINS))


def _read_edges(edges: Any) -> tuple[float, ...]:
    numbers = tuple(_checks.real(edge, "an edge of bins") for edge in edges)
    if len(numbers) < 2 or any(not a < b for a, b in pairwise(numbers)):
        shown = ", ".join(number_label(number) for number in numbers)
        rule = "bins must have at least two edges, ascending"
        raise InputError(f"{rule}, got [{shown}]", parameter="bins")
    if len(numbers) > MAX_BINS + 1:
        rule = f"bins must have at most {MAX_BINS + 1} edges"
        raise InputError(f"{rule}, got {len(numbers)}", parameter="bins")
    return numbers


def _starts(running: Integers, bins: int) -> list[int]:
    """Return the indices of the distinct values at which bins begin, ascending, without the first.

    `running` are the cumulative counts of the distinct values.  An index found for two ranks
    belongs to a value that fills a bin: the next bin begins with the next value.
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

    The last edge is the maximum; if the maximum has a bin of its own, a number above it.
    """
    low, top = summary.low, summary.high
    if inner and inner[-1] >= top:
        beyond = top + (1.0 if summary.integral else (top - low) / 100)
        top = max(beyond, math.nextafter(top, math.inf))
    edges = [low, *inner, top]
    return tuple(edges if summary.integral else _readable(edges))


def _readable(edges: Sequence[float]) -> list[float]:
    """Return edges with few digits, each moved by less than 1% of the narrower bin beside it.

    Edges are rounded down and the last one up, so a bin keeps the value that it begins with and all
    values stay covered.
    """
    with np.errstate(over="ignore"):
        widths = np.diff(edges)
    beside = np.minimum(np.concatenate([widths[:1], widths]), np.concatenate([widths, widths[-1:]]))
    rounded = [_rounded(e, w, ROUND_FLOOR) for e, w in zip(edges, beside, strict=True)]
    rounded[-1] = _rounded(edges[-1], beside[-1], ROUND_CEILING)
    return rounded if all(a < b for a, b in pairwise(rounded)) else [*edges]


def _rounded(edge: float, width: float, direction: str) -> float:
    if not math.isfinite(width):
        return edge
    step = Decimal((0, (1,), math.floor(math.log10(width)) - EDGE_DIGITS))
    return float(Decimal(edge).quantize(step, direction, Context(prec=400, Emin=-9999, Emax=9999)))


def bin_labels(edges: Sequence[float]) -> tuple[str, ...]:
    """Return the labels of the bins between edges.

    Examples
    --------
    >>> bin_labels([17, 26, 90]), bin_labels([float("-inf"), 10, 50, float("inf")])
    (('[17, 26)', '[26, 90]'), ('< 10', '[10, 50)', '>= 50'))
    """
    last = len(edges) - 2
    return tuple(_label(edges[i], edges[i + 1], i == last) for i in range(last + 1))


def _label(low: float, high: float, last: bool) -> str:
    if math.isinf(low):
        return "any number" if math.isinf(high) else f"< {number_label(high)}"
    if math.isinf(high):
        return f">= {number_label(low)}"
    return f"[{number_label(low)}, {number_label(high)}{']' if last else ')'}"


def binned_attribute(name: str, edges: tuple[float, ...], *, missing: bool) -> Attribute:
    """Return the attribute of a binned column, with or without a category for missing values."""
    return Attribute(name, (*bin_labels(edges), *([MISSING] if missing else [])), edges)


def bins_of(values: NDArray[Any], inner: tuple[float, ...]) -> Codes:
    """Return the bin of each value: the number of inner edges that are at most the value."""
    kind = code_type(len(inner) + 4)
    if len(inner) > FEW_EDGES:
        edges = np.array(inner, values.dtype if values.dtype.kind == "f" else np.float64)
        return np.asarray(np.searchsorted(edges, values, side="right").astype(kind))
    codes = np.zeros(len(values), dtype=kind)
    for edge in inner:
        codes += values >= _comparable(edge, values.dtype)
    return codes


def _comparable(edge: float, kind: np.dtype[Any]) -> Any:
    """Return an edge in the type of the values: for integers x >= edge means x >= ceil(edge)."""
    if kind.kind == "f":
        return kind.type(edge)
    return math.ceil(edge) if math.isfinite(edge) else edge


def outside_edges(values: NDArray[Any], edges: tuple[float, ...]) -> Booleans | None:
    """Return the mask of numbers outside the edges, None if all are inside."""
    kind = values.dtype
    low, high = (kind.type(e) if kind.kind == "f" else e for e in (edges[0], edges[-1]))
    if not len(values) or (values.min() >= low and values.max() <= high):
        return None
    return np.asarray((values < low) | (values > high))
