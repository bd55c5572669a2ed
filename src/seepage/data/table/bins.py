"""Bins of numbers: the rules, the edges that a rule finds, and the names of the bins."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seepage import _checks
from seepage.data.table.labels import number_label
from seepage.errors import InputError

if TYPE_CHECKING:
    from seepage.data.table.collecting import Collector


MOST_BINS = 10_000
FINEST = 2
"""Edges of fractional numbers are rounded to 10^-2 of the order of the bins beside them."""

FORMS = "a number of quantile bins, 'quantile:10', 'width:8', 'none', or ascending edges"


@dataclass(frozen=True)
class Quantile:
    """Bins with about equally many records.

    Edge j is the value of rank floor(n j / bins) among n values in ascending order (rank 0 is
    the smallest), so that bin j begins with a value that occurs.  A value that fills more than
    one bin has one bin of its own; there are then fewer bins.  Where a sample has but one of the
    values, the bins are those of `Width`.
    """

    bins: int

    def edges(self, numbers: "Collector") -> tuple[float, ...]:
        """Return the edges for these numbers; none where they cannot differ."""
        values, counts = numbers.distinct()
        starts = _starts(np.cumsum(counts), self.bins)
        inner = _inside(numbers, [numbers.decimal(values[start]) for start in starts])
        return _closed(numbers, inner) if inner else Width(self.bins).edges(numbers)


@dataclass(frozen=True)
class Width:
    """Bins of the same width between the smallest and the largest value.

    Edge j is low + j (high - low) / bins, raised to an integer where all values are whole:
    the bins then hold the same values, and there are fewer where two edges meet.
    """

    bins: int

    def edges(self, numbers: "Collector") -> tuple[float, ...]:
        """Return the edges for these numbers; none where they cannot differ."""
        inner = _inside(numbers, [self._edge(numbers, number) for number in range(1, self.bins)])
        if numbers.low == numbers.high or (self.bins > 1 and not inner):
            return ()
        return _closed(numbers, inner)

    def _edge(self, numbers: "Collector", number: int) -> float:
        left = self.bins - number
        if numbers.whole:
            return float(-(-(int(numbers.low) * left + int(numbers.high) * number) // self.bins))
        return numbers.low * (left / self.bins) + numbers.high * (number / self.bins)


@dataclass(frozen=True)
class Edges:
    """Bins with given edges; -inf and inf are allowed at the ends."""

    given: tuple[float, ...]

    def edges(self, numbers: "Collector | None" = None) -> tuple[float, ...]:
        """Return the given edges."""
        return self.given


@dataclass(frozen=True)
class Keep:
    """No bins: every number is a category of its own."""

    def edges(self, numbers: "Collector | None" = None) -> tuple[float, ...]:
        """Return no edges."""
        return ()


BinningRule: TypeAlias = Quantile | Width | Edges | Keep

DEFAULT_RULE = Quantile(10)


def _starts(running: NDArray[np.int64], bins: int) -> list[int]:
    """Return the positions in the distinct values where bins begin, ascending, without the first.

    `running` are the running counts of the distinct values.  A position met twice belongs to a
    value that fills a bin: the next one begins right behind it.
    """
    total = int(running[-1])
    ranks = [total * bin_ // bins for bin_ in range(1, bins)]
    starts = [0]
    crowded = True
    for position in np.searchsorted(running, ranks, side="right").tolist():
        if position > starts[-1]:
            starts.append(position)
            crowded = True
        elif position == starts[-1] and crowded and position + 1 < len(running):
            starts.append(position + 1)
            crowded = False
        elif position == starts[-1]:
            crowded = True
    return starts[1:]


def _inside(numbers: "Collector", edges: Sequence[float]) -> list[float]:
    """Return, ascending, the edges that have numbers on either side.

    Integers from 2^53 on may be closer together than floats, and then have no edge between them.
    """
    return sorted({edge for edge in edges if numbers.low < edge <= numbers.high})


def _closed(numbers: "Collector", inner: list[float]) -> tuple[float, ...]:
    """Return all edges: the inner ones with the smallest number and one that closes the last bin.

    That is the largest number, or where it has a bin of its own, something above.  An integer that
    no float is has the next float outside it as its edge, so that all numbers are covered.
    """
    low, top = _at_most(numbers.low), -_at_most(-numbers.high)
    if inner and inner[-1] >= top:
        beyond = top + (1.0 if numbers.whole else (top - low) / 100)
        top = max(beyond, math.nextafter(top, math.inf))
    edges = [low, *inner, top]
    return tuple(edges if numbers.whole else _readable(edges))


def _at_most(number: float | int) -> float:
    """Return the largest float that is not above a number."""
    near = float(number)
    return near if near <= number else math.nextafter(near, -math.inf)


def _readable(edges: Sequence[float]) -> list[float]:
    """Return edges with few digits: each moves by less than 1% of the narrower bin beside it.

    Edges move down, the last one up, so a bin keeps the value that it begins with and all values
    stay covered.
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
    step = Decimal((0, (1,), math.floor(math.log10(width)) - FINEST))
    return float(Decimal(edge).quantize(step, direction, Context(prec=400, Emin=-9999, Emax=9999)))


def bin_labels(edges: Sequence[float]) -> tuple[str, ...]:
    """Return the names of the bins between edges.

    Examples
    --------
    >>> bin_labels([17, 26, 90]), bin_labels([float("-inf"), 10, 50, float("inf")])
    (('[17, 26)', '[26, 90]'), ('< 10', '[10, 50)', '>= 50'))
    """
    last = len(edges) - 2
    return tuple(_label(edges[i], edges[i + 1], i == last) for i in range(last + 1))


def _label(low: float, high: float, last: bool) -> str:
    if math.isinf(low):
        return "any number" if math.isinf(high) else f"< {number_label(float(high))}"
    if math.isinf(high):
        return f">= {number_label(float(low))}"
    return f"[{number_label(float(low))}, {number_label(float(high))}{']' if last else ')'}"


def read_rule(rule: Any, name: str = "bins") -> BinningRule:
    """Return the rule that an option names, or raise an error.

    Examples
    --------
    >>> read_rule("width:8"), read_rule(5), read_rule([0, 18, 65])
    (Width(bins=8), Quantile(bins=5), Edges(given=(0.0, 18.0, 65.0)))
    """
    if rule is None:
        return DEFAULT_RULE
    if isinstance(rule, (Quantile, Width, Edges, Keep)):
        return rule
    if isinstance(rule, str):
        return _read_text(rule.strip(), name)
    if isinstance(rule, (bytes, bool)) or not hasattr(rule, "__iter__"):
        return Quantile(_checks.integer(rule, f"the number of {name}", 1, MOST_BINS))
    return Edges(_read_edges(rule, name))


def _read_text(text: str, name: str) -> BinningRule:
    if text == "none":
        return Keep()
    if text.isdecimal():
        text = f"quantile:{text}"
    kind, colon, count = text.partition(":")
    kinds: dict[str, type[Quantile] | type[Width]] = {"quantile": Quantile, "width": Width}
    if kind not in kinds or (colon and not count.strip().isdecimal()):
        hint = _checks.near_miss(kind, [*kinds, "none"])
        raise InputError(f"{name} must be {FORMS}, got {text!r}{hint}")
    bins = int(count) if colon else DEFAULT_RULE.bins
    return kinds[kind](_checks.integer(bins, f"the number of {name}", 1, MOST_BINS))


def _read_edges(edges: Any, name: str) -> tuple[float, ...]:
    numbers = tuple(_checks.real(edge, f"an edge of {name}") for edge in edges)
    if len(numbers) < 2 or any(not a < b for a, b in pairwise(numbers)):
        shown = ", ".join(number_label(number) for number in numbers)
        raise InputError(f"{name} must have at least two edges, ascending, got [{shown}]")
    if len(numbers) > MOST_BINS + 1:
        raise InputError(f"{name} must have at most {MOST_BINS + 1} edges, got {len(numbers)}")
    return numbers
