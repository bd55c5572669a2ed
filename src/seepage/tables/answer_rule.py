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
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Integers
from seepage.channel.domain import ALL_OTHERS, MISSING, OTHER, Attribute
from seepage.tables.bins import Edges, NumberSummary, joined
from seepage.tables.column import marker_labels
from seepage.tables.interval_labels import interval_labels
from seepage.tables.kinds import number_scale
from seepage.tables.labels import bin_labels
from seepage.tables.table_options import TableOptions

if TYPE_CHECKING:
    from seepage.tables.table_options import RecordOptions


NEGLIGIBLE = 0.1
"""Labels that together have less than this share of the minimum count as the commonest
answer."""


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
                raise checks.violation(f"order of {found.name!r}", rule, list(scale))
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
            raise checks.violation("missing_markers", rule, marker)
    new = [(marker, missing) for marker in sorted(markers - coded.keys()) if missing]
    return replace(attribute, merged=(*new, *attribute.merged)) if new else attribute
