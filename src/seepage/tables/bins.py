"""Bins of numbers: rules, the edges that follow from them, labels, and codes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seepage._core import checks
from seepage._core.arrays import Codes, Integers
from seepage._core.errors import InputError
from seepage._core.number_grammar import is_count
from seepage.channel.domain import MISSING, Attribute
from seepage.tables.labels import (
    bin_labels,
    number_label,
    readable_edges,
)
from seepage.tables.number_summary import NumberSummary
from seepage.tables.table_options import DEFAULT_BINS, MAX_ALPHABET

FEW_EDGES = 100
"""Maximum number of edges for which comparing with each is faster than a binary
search."""


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
        """Return the edges of quantile bins for a column's numbers; empty if these are
        all equal.
        """
        values, counts = summary.distinct()
        starts = _starts(np.cumsum(counts), self.bins)
        inner = _inside(summary, [summary.decimal(values[start]) for start in starts])
        if not inner:
            return Width(self.bins).edges(summary)
        return _closed(summary, inner)


@dataclass(frozen=True)
class Width:
    """Bins of equal width between the minimum and the maximum.

    Edge j is low + j (high - low) / bins, rounded up to an integer if all numbers are
    integers: the bins then hold the same numbers, and there are fewer bins where two
    edges coincide.
    """

    bins: int

    def edges(self, summary: NumberSummary) -> tuple[float, ...]:
        """Return the edges of bins of equal width for a column's numbers; empty if
        these are all equal.
        """
        if summary.low == summary.high:
            return ()
        edges = [self._edge(summary, index) for index in range(1, self.bins)]
        inner = _inside(summary, edges)
        if not inner and self.bins > 1:
            inner = [summary.high]
        return _closed(summary, inner)

    def _edge(self, summary: NumberSummary, index: int) -> float:
        """Return one edge of the bins of equal width."""
        left = self.bins - index
        if summary.integral:
            scaled = int(summary.low) * left + int(summary.high) * index
            rounded_up = -(-scaled // self.bins)
            return float(rounded_up)
        return summary.low * (left / self.bins) + summary.high * (index / self.bins)


@dataclass(frozen=True)
class Edges:
    """Bins with given edges; the outer ones may be -inf and inf."""

    given: tuple[float, ...]

    @property
    def bins(self) -> int:
        """Number of bins between the declared edges."""
        return max(len(self.given) - 1, 0)


BinningRule: TypeAlias = Quantile | Width | Edges


NO_BINS = Edges(())
"""No bins: every distinct number is a category."""


BIN_FORMATS = (
    "a number of quantile bins, 'quantile:10', 'width:8', 'none', or ascending edges"
)
"""What the option `bins` may be, for messages."""


DEFAULT_RULE = Quantile(DEFAULT_BINS)
"""Bins of numbers with more values than an attribute may have."""


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
    """Return the binning rule of a text such as "width:4"."""
    if text == "none":
        return NO_BINS
    if is_count(text):
        text = f"quantile:{text}"
    kind, colon, count = text.partition(":")
    kinds: dict[str, type[Quantile] | type[Width]] = {
        "quantile": Quantile,
        "width": Width,
    }
    if kind not in kinds or (colon and not is_count(count.strip())):
        hint = checks.near_miss(kind, [*kinds, "none"])
        raise checks.violation("bins", BIN_FORMATS, text, hint)
    bins = int(count) if colon else DEFAULT_RULE.bins
    return kinds[kind](checks.integer(bins, "the number of bins", 1, MAX_ALPHABET))


def _read_edges(edges: Any) -> tuple[float, ...]:
    """Return the binning rule of declared edges; an InputError if they do not
    ascend.
    """
    listed = checks.items(edges, "bins")
    numbers = tuple(checks.real(edge, "an edge of bins") for edge in listed)
    if len(numbers) < 2 or any(not a < b for a, b in pairwise(numbers)):
        shown = ", ".join(number_label(number) for number in numbers)
        rule = "bins must have at least two edges, ascending"
        raise InputError(f"{rule}, got [{shown}]", parameter="bins")
    return numbers


def _starts(running: Integers, bins: int) -> list[int]:
    """Return the indices of the distinct values at which quantile bins begin,
    ascending, without the first.

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
    """Return, ascending, the distinct bin edges with numbers on both sides."""
    return sorted({edge for edge in edges if summary.low < edge <= summary.high})


def _closed(summary: NumberSummary, inner: list[float]) -> tuple[float, ...]:
    """Return all bin edges: the minimum, the inner edges, and the last edge.

    The last edge is the maximum; if the maximum has a bin of its own, a number above
    it.
    """
    low = summary.low
    top = summary.high
    if inner and inner[-1] >= top:
        step = 1.0 if summary.integral else (top - low) / 100
        top = max(top + step, math.nextafter(top, math.inf))
    edges = [low, *inner, top]
    if not summary.integral:
        edges = readable_edges(edges)
    return tuple(edges)


def binned_attribute(
    name: str, edges: tuple[float, ...], *, missing: bool
) -> Attribute:
    """Return the attribute of a binned column, with or without a category for missing
    values.
    """
    values = bin_labels(edges)
    if missing:
        values = (*values, MISSING)
    return Attribute(name, values, edges)


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
