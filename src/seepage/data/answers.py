"""The domain of a table, fixed on a random part of its records, and the rule that
merges answers.

What is read off records is not independent of them: values that a sample shows are
overcounted in it, and pools of rare ones are made of values whose counts fell low by
chance.  So a domain that the user does not declare is fixed on a random part of the
records, and the others, coded in it, are the only ones that certify anything for the
population [theory-population: Which answers].

Numbers get at most 6 answers, intervals of about equal mass cut at round numbers,
values with a sixth of the people alone; rare labels are merged into "(other)",
neighbours of an ordered scale, also one of intervals such as "<5" and "10+", with each
other; no answer has fewer than 2,000 people of the certifying records, between 1 % and
10 % of them.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from seepage import _checks
from seepage._numerics import Floats, Integers
from seepage.data import ALL_OTHERS, MISSING, OTHER, Attribute, Domain
from seepage.data.column_kinds import least_share, number_scale
from seepage.data.counting.distinct import RandomPart, read_part
from seepage.data.table import MAX_ALPHABET, TableOptions, is_spark_frame
from seepage.data.table.bins import (
    Edges,
    NumberSummary,
    bin_labels,
    interval_labels,
    roundest,
)
from seepage.data.table.column import Column, marker_labels
from seepage.data.table.scan import TableScan, summaries_of
from seepage.data.table.sources import is_number_type, open_frame, open_source
from seepage.errors import InputError, Setting, Text

if TYPE_CHECKING:
    from seepage.data.records import RecordOptions

NOT_ASKED = "not asked, and nothing is promised about them"
"""How the note on attributes whose answers are too rare begins; it ends with their
names."""

MOST_ANSWERS = 6
"""Maximum number of answers of a number."""

NEGLIGIBLE = 0.1
"""Labels that together have less than this share of the minimum count as the commonest
answer."""

SLACK = 0.25
"""A cut may miss its quantile by this share of an interval to be at a rounder
number."""


@dataclass(frozen=True)
class FixedDomain:
    """How a domain was fixed.

    Parameters
    ----------
    domain
        The domain.
    part
        The random part that fixed it, which certifies nothing; None if all records did.
    records
        The number of records that fixed it.
    values
        The number of values that each attribute had among them.
    left_out
        Columns of which all answers but one are too rare to ask for, and that have no
        part in any promise.
    merging
        Whether answers were merged by the rule.
    dropping
        Whether records with a missing value were left out.
    """

    domain: Domain
    part: RandomPart | None
    records: int
    values: Mapping[str, int]
    left_out: tuple[str, ...]
    merging: bool
    dropping: bool

    def settings(self) -> dict[str, Any]:
        """Return what a plan states: records that fixed the answers, values, what is
        left out.
        """
        found: dict[str, Any] = (
            {} if self.part is None else {"fixing records": self.records}
        )
        if self.merging:
            sizes = {attribute.name: attribute.size for attribute in self.domain}
            found["values"] = {
                n: v for n, v in self.values.items() if v > sizes.get(n, v)
            }
        return found | ({"missing": "drop"} if self.dropping else {})

    def notes(self) -> Iterator[str]:
        """Yield remarks on the part, on what was merged, and on what is not asked."""
        if self.part is not None:
            yield (
                f"the answers were fixed on a random part of {self.records:,} records, and the "
                "limits are certified on the others; a value that the part does not have is coded "
                'as "(other)", or else as the commonest answer'
            )
        if self.left_out:
            yield Text(
                f"{NOT_ASKED} (all answers but one are too rare; to ask them, name them by ",
                Setting("importance"),
                f"): {', '.join(self.left_out)}",
            )
        for attribute in self.domain if self.merging else ():
            listed = ", ".join(attribute.values)
            values = self.values[attribute.name]
            merged = f" ({values:,} values)" if values != attribute.size else ""
            yield f"{attribute.name}: {listed}{merged}"


def fix_domain(
    data: Any, options: "RecordOptions", rng: int
) -> tuple[Any, FixedDomain]:
    """Return the data to code, and their domain, for the population fixed on a random
    part of them.

    Parameters
    ----------
    data
        A frame, also of Spark, or the path of a file, folder or glob.
    options
        The table options, with the scope and how answers are chosen.
    rng
        The seed of the part.
    """
    if is_spark_frame(data):
        from seepage.data.spark.engine import split_frame

        held_frame, others = split_frame(data, rng)
        return others, fix_domain(
            held_frame, replace(options, engine="auto", scope="table"), rng
        )[1]
    source = open_source(data, options)
    whole = options.scope == "table"
    held, part = read_part(
        source, options.choose(source.names), options.person, rng, whole=whole
    )
    scale = min(1.0, part.threshold / 2**64)
    people = held.num_rows / scale
    share = least_share(round(people if whole else people * (1 - scale)))
    merging = options.merges_answers
    numbers = _numbers(held, options, source.fields) if merging else {}
    cuts = {
        name: interval_edges(one, held.num_rows, share) for name, one in numbers.items()
    }
    for name in options.keep:
        if len(cuts.get(name, ())) == 2:  # a single interval
            cuts[name] = interval_edges(numbers[name], held.num_rows, 0.0)
    domain, counts = _scan(held, options, source.fields, cuts)
    for name in options.order:
        domain.index(name)
    rule = AnswerRule(options, share * max(int(counts[0].sum()), 1), scale)
    attributes = list[Attribute]()
    left_out = list[str]()
    for attribute, marginal in zip(domain, counts, strict=True):
        found = rule.attribute(attribute, marginal, numbers.get(attribute.name))
        if found.size == 1 and merging and attribute.name not in options.keep:
            left_out.append(attribute.name)
        else:
            lost = found.size == 1 < attribute.size
            found = with_catch_all(attribute, marginal) if lost else found
            attributes.append(with_markers(found, options))
    if not attributes:
        raise InputError(
            "no column has two answers with enough people; ask for the values as they are",
            parameter="answers",
        )
    values = {a.name: int((m > 0).sum()) for a, m in zip(domain, counts, strict=True)}
    values |= {
        name: len(one.distinct()[0]) for name, one in numbers.items() if cuts[name]
    }
    about = held.num_rows, values, tuple(left_out), merging, options.dropping
    fixed = FixedDomain(Domain(attributes), None if whole else part, *about)
    return (data if source.frame is None else source), fixed


def _numbers(
    held: pa.Table, options: "RecordOptions", fields: bool
) -> dict[str, NumberSummary]:
    """Return summaries of the columns of numbers that the options neither bin nor
    order.
    """
    chosen = [
        Column(name, options, fields=fields)
        for name in held.column_names
        if options.given_rule(name) is None
        and name not in options.order
        and (fields or is_number_type(held.schema.field(name).type))
    ]
    found = zip(
        chosen, summaries_of(open_frame(held), chosen) if chosen else (), strict=True
    )
    return {
        column.name: summary
        for column, summary in found
        if summary.stray is None and summary.low <= summary.high
    }


def _scan(
    held: pa.Table,
    options: "RecordOptions",
    fields: bool,
    cuts: Mapping[str, tuple[float, ...]],
) -> tuple[Domain, list[Integers]]:
    """Return the domain of the part, with the cuts as bins, and the counts of its
    values.
    """
    bins = options.bins
    if cuts:
        rest = bins if isinstance(bins, Mapping) else {}
        bins = {**rest, **{name: edges or "none" for name, edges in cuts.items()}}
    most = MAX_ALPHABET if options.merges_answers else options.max_values
    table = replace(options, bins=bins, pool=None, max_values=most, person=None)
    columns = [Column(name, table, fields=fields) for name in held.column_names]
    scan = TableScan(open_frame(held), columns, table)
    codes = scan.read(lambda batches: [batch.codes for batch in batches])
    domain, orders = scan.finish()
    return domain, [
        np.bincount(np.concatenate(column), minlength=int(order.max()) + 1)[order]
        for *column, order in zip(*codes, orders, strict=True)
    ]


@dataclass(frozen=True)
class AnswerRule:
    """How the attributes of a part become those of the domain.

    Parameters
    ----------
    options
        The options of reading.
    least
        The least number of records of the part with an answer.
    scale
        The share of all records that the part is.
    """

    options: "RecordOptions"
    least: float
    scale: float

    def attribute(
        self, found: Attribute, counts: Integers, numbers: NumberSummary | None
    ) -> Attribute:
        """Return the attribute that every value, seen or not, is coded in."""
        options = self.options
        pool = self.options.pool
        if found.name in options.order:
            return self._ordered(
                found, counts, [str(v) for v in options.order[found.name]]
            )
        if found.edges:
            return self._intervals(found, counts, numbers)
        if pool is not None:
            least = (
                max(2.0, pool * self.scale)
                if pool >= 1
                else pool * max(int(counts.sum()), 1)
            )
            return self._labels(found, counts, least)
        if not options.merges_answers or options.given_rule(found.name) == "none":
            return with_catch_all(found, counts)
        if counts.min() < self.least and (scale := number_scale(found.values)):
            return self._ordered(found, counts, scale)
        return self._labels(found, counts, self.least)

    def _intervals(
        self, found: Attribute, counts: Integers, numbers: NumberSummary | None
    ) -> Attribute:
        """Return intervals, the outer ones open; a declared range stays as it is."""
        bins = len(found.edges) - 1
        options = self.options
        labels, edges, commonest = (
            found.values[:bins],
            found.edges,
            int(np.argmax(counts[:bins])),
        )
        rare = options.merges_answers and counts[bins:].sum() < self.least
        missing = [] if rare or found.size == bins else [MISSING]
        if isinstance(options.bins_of(found.name), Edges):
            others = [] if missing or options.dropping else [MISSING]
        else:
            edges = (-math.inf, *edges[1:-1], math.inf)
            others = [ALL_OTHERS]
            labels = (
                bin_labels(edges)
                if numbers is None
                else interval_labels(edges, numbers)
            )
        merged = tuple((other, labels[commonest]) for other in others)
        return Attribute(found.name, (*labels, *missing), edges, merged)

    def _labels(self, found: Attribute, counts: Integers, least: float) -> Attribute:
        """Return the attribute with rare labels merged into "(other)".

        Where a common label must join them, it gives the answer its name: "Asian or
        other".
        """
        order = np.argsort(counts, kind="stable")  # the first ones are merged
        rare = merged = int((counts < least).sum())
        total = int(counts[order[:rare]].sum())
        if self.options.merges_answers and total < NEGLIGIBLE * least:
            kept = np.sort(order[rare:])
            return (
                with_catch_all(found.restrict(kept), counts[kept])
                if len(kept)
                else found
            )
        while total < least and merged < found.size - 1:
            total += int(counts[order[merged]])
            merged += 1
        if merged >= found.size - 1 and total < least:
            return found.restrict(order[-1:])
        joining = [found.values[code] for code in order[rare:merged]]
        other = OTHER
        named = " or ".join([*joining, "other"])
        if joining and not {MISSING, OTHER} & {*joining} and named not in found.values:
            other = named
        shown = [found.values[code] for code in np.sort(order[merged:])]
        last = [value for value in shown if value == MISSING]
        values = (
            *(value for value in shown if value not in (OTHER, MISSING)),
            other,
            *last,
        )
        pairs = [(value, other) for value in (*joining, ALL_OTHERS) if other != OTHER]
        return Attribute(found.name, values, (), tuple(pairs))

    def _ordered(
        self, found: Attribute, counts: Integers, scale: Sequence[str]
    ) -> Attribute:
        """Return the attribute with neighbours of an ordered scale merged until none is
        rare.
        """
        of = dict(zip(found.values, counts.tolist(), strict=True))
        for value in found.values:
            if value not in scale and value != MISSING:
                rule = f"a list of all its values, also {value!r}"
                raise _checks.violation(f"order of {found.name!r}", rule, list(scale))
        starts = joined([of.get(value, 0) for value in scale], self.least, len(scale))
        groups = [scale[start:stop] for start, stop in pairwise([*starts, len(scale)])]
        sizes = [sum(of.get(value, 0) for value in group) for group in groups]
        labels = [g[0] if len(g) == 1 else f"{g[0]} to {g[-1]}" for g in groups]
        merged = [
            (v, b) for g, b in zip(groups, labels, strict=True) if len(g) > 1 for v in g
        ]
        missing = [MISSING] if of.get(MISSING, 0) >= self.least else []
        merged.append((ALL_OTHERS, labels[sizes.index(max(sizes))]))
        return Attribute(found.name, (*labels, *missing), (), tuple(merged))


def with_catch_all(attribute: Attribute, counts: Integers) -> Attribute:
    """Return an attribute whose commonest value stands for all values that it does not
    have.
    """
    if OTHER in attribute.values:
        return attribute
    commonest = attribute.values[int(np.argmax(counts))]
    return replace(attribute, merged=((ALL_OTHERS, commonest),))


def with_markers(attribute: Attribute, options: TableOptions) -> Attribute:
    """Return an attribute that codes what means missing as missing, wherever it is
    collected.

    A marker that the attribute codes otherwise raises an InputError: it would be
    certified as missing, and collected as another answer.
    """
    markers = marker_labels(options.markers_of(attribute.name)) - {MISSING}
    coded = {value: value for value in attribute.values} | dict(attribute.merged)
    missing = coded.get(MISSING, attribute.catch_all)
    for marker in sorted(markers & coded.keys()):
        if coded[marker] != missing:
            rule = (
                f"texts that the domain of {attribute.name!r} does not code otherwise"
            )
            raise _checks.violation("missing_markers", rule, marker)
    new = [(marker, missing) for marker in sorted(markers - coded.keys()) if missing]
    return replace(attribute, merged=(*new, *attribute.merged)) if new else attribute


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
    starts = joined(np.bincount(interval, masses).tolist(), share, MOST_ANSWERS)
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


def joined(sizes: Sequence[float], least: float, most: int) -> list[int]:
    """Return where groups of neighbours start: the lightest joins the lighter one
    beside it.

    While a group is lighter than `least`, or there are more than `most`.

    Examples
    --------
    >>> joined([5, 1, 2, 9], 3, 4)
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
