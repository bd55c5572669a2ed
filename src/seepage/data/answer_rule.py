"""The rule that chooses the answers of each question, from the records that fix the domain.

Numbers get at most 6 answers, intervals of about equal mass cut at round numbers, values with a
sixth of the people alone; rare labels are merged into "(other)", neighbours of an ordered scale,
also one of intervals such as "<5" and "10+", with each other; no answer has fewer than 2,000 people
of the certifying records, between 1 % and 10 % of them [theory-population: Which answers].
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from seepage._numerics import Floats, Integers
from seepage.data import ALL_OTHERS, MISSING, OTHER, Attribute
from seepage.data.column_kinds import RARE_RECORDS, RARE_SHARES, number_scale
from seepage.data.table.bins import Edges, NumberSummary, bin_labels
from seepage.data.table.values import number_label
from seepage.errors import InputError

MOST_ANSWERS = 6
"""Maximum number of answers of a number."""

NEGLIGIBLE = 0.1
"""Labels that together have less than this share of the minimum count as the commonest answer."""

SLACK = 0.25
"""A cut may miss its quantile by this share of an interval to be at a rounder number."""


def least_share(certifying: int) -> float:
    """Return the least share of an answer of a table with so many certifying records.

    Examples
    --------
    >>> least_share(100_000), least_share(5_000), least_share(10**6)
    (0.02, 0.1, 0.01)
    """
    low, high = RARE_SHARES
    return min(high, max(low, RARE_RECORDS / max(certifying, 1)))


@dataclass(frozen=True)
class AnswerRule:
    """How the attributes of a part become those of the domain.

    Parameters
    ----------
    options
        The options of reading, `RecordOptions`.
    share
        The least share of an answer.
    scale
        The share of all records that the part is.
    """

    options: Any
    share: float
    scale: float

    def attribute(
        self, found: Attribute, counts: Integers, numbers: NumberSummary | None
    ) -> Attribute:
        """Return the attribute that every value, seen or not, is coded in."""
        options, people = self.options, max(int(counts.sum()), 1)
        pool = options.pool
        if found.name in options.order:
            scale = [str(value) for value in options.order[found.name]]
            return self._ordered(found, counts, people, scale)
        if found.edges:
            return self._numbers(found, counts, people, numbers)
        if pool is not None:
            least = max(2.0, pool * self.scale) if pool >= 1 else pool * people
        elif options.merges_answers and options.given_rule(found.name) != "none":
            if counts.min() < self.share * people and (scale := number_scale(found.values)):
                return self._ordered(found, counts, people, scale)
            least = self.share * people
        else:
            return with_catch_all(found, counts)
        return self._labels(found, counts, least, people)

    def _numbers(
        self, found: Attribute, counts: Integers, people: int, numbers: NumberSummary | None
    ) -> Attribute:
        """Return intervals, the outer ones open; a declared range stays as it is."""
        bins = len(found.edges) - 1
        commonest = int(np.argmax(counts[:bins]))
        declared = isinstance(self.options.bins_of(found.name), Edges)
        rare = bool(self.options.merges_answers) and counts[bins:].sum() < self.share * people
        missing = [] if rare or found.size == bins else [MISSING]
        if declared:
            labels, edges = found.values[:bins], found.edges
        else:
            edges = (-math.inf, *found.edges[1:-1], math.inf)
            labels = bin_labels(edges) if numbers is None else interval_labels(edges, numbers)
        other = MISSING if declared and not self.options.dropping else ALL_OTHERS
        merged = ((other, labels[commonest]),) if other not in missing else ()
        if declared and self.options.dropping:
            merged = ()
        return Attribute(found.name, (*labels, *missing), edges, merged)

    def _labels(self, found: Attribute, counts: Integers, least: float, people: int) -> Attribute:
        """Return the attribute with rare labels merged into "(other)".

        Where a common label must join them, it gives the answer its name: "Asian or other".
        """
        order = np.argsort(counts, kind="stable").tolist()
        rare = {code for code in order if counts[code] < least}
        total = int(counts[list(rare)].sum())
        if self.options.merges_answers and total < NEGLIGIBLE * least:
            kept = tuple(v for code, v in enumerate(found.values) if code not in rare)
            marginal = np.array([c for code, c in enumerate(counts.tolist()) if code not in rare])
            return with_catch_all(Attribute(found.name, kept), marginal) if kept else found
        joining = list[str]()
        for code in order:
            if total >= least or len(rare) >= found.size - 1:
                break
            if code not in rare:
                rare.add(code)
                total += int(counts[code])
                joining.append(found.values[code])
        if len(rare) >= found.size - 1 and total < least:
            return found.restrict([order[-1]])
        other = " or ".join([*joining, "other"])
        if not joining or MISSING in joining or OTHER in joining or other in found.values:
            joining, other = [], OTHER
        shown = [v for code, v in enumerate(found.values) if code not in rare and v != OTHER]
        last = [value for value in shown if value == MISSING]
        merged = [(value, other) for value in (*joining, ALL_OTHERS) if joining]
        values = (*(v for v in shown if v != MISSING), other, *last)
        return Attribute(found.name, values, (), tuple(merged))

    def _ordered(
        self, found: Attribute, counts: Integers, people: int, scale: Sequence[str]
    ) -> Attribute:
        """Return the attribute with neighbours of an ordered scale merged until none is rare."""
        of = dict(zip(found.values, counts.tolist(), strict=True))
        for value in found.values:
            if value not in scale and value != MISSING:
                raise InputError(
                    f"order of {found.name!r} must list all of its values, and {value!r} is not "
                    "in it",
                    parameter="order",
                )
        starts = joined([of.get(value, 0) for value in scale], self.share * people, len(scale))
        groups = [scale[start:stop] for start, stop in pairwise([*starts, len(scale)])]
        sizes = [sum(of.get(value, 0) for value in group) for group in groups]
        labels = [g[0] if len(g) == 1 else f"{g[0]} to {g[-1]}" for g in groups]
        merged = [(v, b) for g, b in zip(groups, labels, strict=True) if len(g) > 1 for v in g]
        missing = [MISSING] if of.get(MISSING, 0) >= self.share * people else []
        commonest = labels[sizes.index(max(sizes))]
        merged.append((ALL_OTHERS, commonest))
        return Attribute(found.name, (*labels, *missing), (), tuple(merged))


def with_catch_all(attribute: Attribute, counts: Integers) -> Attribute:
    """Return an attribute whose commonest value stands for all values that it does not have."""
    if OTHER in attribute.values:
        return attribute
    commonest = attribute.values[int(np.argmax(counts))]
    return replace(attribute, merged=((ALL_OTHERS, commonest),))


def with_markers(attribute: Attribute, markers: frozenset[str]) -> Attribute:
    """Return an attribute that codes what means missing as missing, wherever it is collected."""
    missing = MISSING if MISSING in attribute.values else attribute.catch_all
    known = {*attribute.values, *(value for value, _ in attribute.merged)}
    new = [(marker, missing) for marker in sorted(markers - known - {MISSING}) if missing]
    return replace(attribute, merged=(*new, *attribute.merged)) if new else attribute


def interval_edges(numbers: NumberSummary, people: int, share: float) -> tuple[float, ...]:
    """Return the edges of the intervals of a column of numbers; empty if its values are answers.

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
    >>> days.add(np.repeat(np.arange(31), [700] + 30 * [10]), np.zeros(1000, dtype=np.uint64))
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
    edges, start = set[float](), 0
    for stop in range(1, len(values) + 1):
        if stop < len(values) and not (heavy[start] or heavy[stop]):
            continue
        edges |= set(_quantiles(values[start:stop], masses[start:stop], step, numbers.integral))
        if stop < len(values):
            if numbers.integral and heavy[start]:
                edges.add(float(values[start]) + 1)
            else:
                edges.add(_roundest(values[stop - 1], values[stop], numbers.integral))
            if numbers.integral and heavy[stop]:
                edges.add(float(values[stop]))
        start = stop
    inner = sorted(edge for edge in edges if values[0] < edge <= values[-1])
    interval = np.searchsorted(inner, values, side="right")
    starts = joined(np.bincount(interval, masses).tolist(), share, MOST_ANSWERS)
    return (-math.inf, *(inner[start - 1] for start in starts[1:]), math.inf)


def _quantiles(values: Floats, masses: Floats, step: float, integral: bool) -> Iterator[float]:
    """Yield edges that cut a run of values into intervals of about equal mass."""
    running = np.cumsum(masses)[:-1]
    pieces = max(1, round(float(masses.sum()) / step)) if len(values) > 1 else 1
    for index in range(1, pieces):
        away = np.abs(running - masses.sum() * index / pieces)
        near = np.flatnonzero(away <= max(SLACK * masses.sum() / pieces, float(away.min())))
        yield _roundest(values[near[0]], values[near[-1] + 1], integral)


def _roundest(low: float, high: float, integral: bool) -> float:
    """Return the roundest number above `low` and at most `high`, an integer if all are.

    A multiple of 5, 2.5, 2 or 1 times as large a power of ten as possible.

    Examples
    --------
    >>> _roundest(17, 23, True), _roundest(0, 114, True), _roundest(0.21, 0.29, False)
    (20.0, 100.0, 0.25)
    """
    power = math.ceil(math.log10(max(abs(low), abs(high), high - low))) + 1
    for exponent in range(power, power - 20, -1):
        for factor in (5, 2.5, 2, 1):
            unit = factor * 10.0**exponent
            number = float(math.floor(high / unit) * unit)
            if low < number <= high and (number.is_integer() or not integral):
                return round(number, max(0, 1 - exponent))
    return float(high)


def joined(sizes: Sequence[float], least: float, most: int) -> list[int]:
    """Return where groups of neighbours start: the lightest joins the lighter one beside it.

    While a group is lighter than `least`, or there are more than `most`.

    Examples
    --------
    >>> joined([5, 1, 2, 9], 3, 4)
    [0, 1, 3]
    """
    starts, left = list(range(len(sizes))), list(sizes)
    while len(left) > 1 and (min(left) < least or len(left) > most):
        lightest = left.index(min(left))
        beside = [k for k in (lightest - 1, lightest + 1) if 0 <= k < len(left)]
        first = min(lightest, min(beside, key=left.__getitem__))
        left[first : first + 2] = [left[first] + left[first + 1]]
        del starts[first + 1]
    return starts


def interval_labels(edges: Sequence[float], numbers: NumberSummary) -> tuple[str, ...]:
    """Return the labels of open-ended intervals of numbers, in words.

    Examples
    --------
    >>> days = NumberSummary()
    >>> days.add(np.arange(31), np.zeros(31, dtype=np.uint64))
    >>> interval_labels([-math.inf, 1, 6, math.inf], days)
    ('0', '1 to 5', '6 or more')
    """
    labels = list[str]()
    for low, high in pairwise(edges):
        first = low if math.isfinite(low) else numbers.low
        last = high - 1 if numbers.integral else high
        if math.isinf(high):
            labels.append(f"{number_label(low)} or more" if math.isfinite(low) else "any number")
        elif numbers.integral and first == last:
            labels.append(number_label(first))
        elif math.isinf(low):
            labels.append(f"{'up to' if numbers.integral else 'under'} {number_label(last)}")
        else:
            between = "to" if numbers.integral else "to under"
            labels.append(f"{number_label(first)} {between} {number_label(last)}")
    return tuple(labels)
