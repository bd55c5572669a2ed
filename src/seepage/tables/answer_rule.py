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
from seepage.tables.answer_intervals import interval_labels, join_lightest
from seepage.tables.bins import Edges
from seepage.tables.column import marker_labels
from seepage.tables.labels import bin_labels
from seepage.tables.number_scale import number_scale
from seepage.tables.number_summary import NumberSummary
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
        self, attribute: Attribute, counts: Integers, numbers: NumberSummary | None
    ) -> Attribute:
        """Return the attribute that every value, seen or not, is coded in.

        Parameters
        ----------
        attribute, counts
            The attribute with the values of the part, and their counts there.
        numbers
            Its numbers, if it is a column of numbers that no option bins or orders.
        """
        options = self.options
        if attribute.name in options.order:
            scale = [str(value) for value in options.order[attribute.name]]
            return self._ordered(attribute, counts, scale)
        if attribute.edges:
            return self._intervals(attribute, counts, numbers)
        if options.pool is not None:
            return self._labels(attribute, counts, self._pooled_below(counts))
        if not options.merges_answers or options.given_rule(attribute.name) == "none":
            return with_catch_all(attribute, counts)
        if counts.min() < self.least:
            scale = number_scale(attribute.values)
            if scale:
                return self._ordered(attribute, counts, scale)
        return self._labels(attribute, counts, self.least)

    def _pooled_below(self, counts: Integers) -> float:
        """Return the number of records of the part below which `pool` merges a value."""
        pool = self.options.pool
        assert pool is not None
        if pool >= 1:
            return max(2.0, pool * self.scale)
        return pool * max(int(counts.sum()), 1)

    def _intervals(
        self, attribute: Attribute, counts: Integers, numbers: NumberSummary | None
    ) -> Attribute:
        """Return intervals, the outer ones open; a declared range stays as it is."""
        options = self.options
        bins = len(attribute.edges) - 1
        has_missing = attribute.size > bins
        merges_missing = options.merges_answers and counts[bins:].sum() < self.least
        missing = list[str]()
        if has_missing and not merges_missing:
            missing = [MISSING]
        labels = attribute.values[:bins]
        edges = attribute.edges
        others = list[str]()
        if not isinstance(options.bins_of(attribute.name), Edges):
            others = [ALL_OTHERS]
            edges = (-math.inf, *edges[1:-1], math.inf)
            labels = bin_labels(edges)
            if numbers is not None:
                labels = interval_labels(edges, numbers)
        elif not missing and not options.dropping:
            others = [MISSING]
        commonest = labels[int(np.argmax(counts[:bins]))]
        merged = tuple((other, commonest) for other in others)
        return Attribute(attribute.name, (*labels, *missing), edges, merged)

    def _labels(
        self, attribute: Attribute, counts: Integers, least: float
    ) -> Attribute:
        """Return the attribute with rare labels merged into "(other)".

        Where a common label must join them, it gives the answer its name: "Asian or
        other".
        """
        ascending = np.argsort(counts, kind="stable")  # the first ones are merged
        rare = int((counts < least).sum())
        total = int(counts[ascending[:rare]].sum())
        if self.options.merges_answers and total < NEGLIGIBLE * least:
            common = np.sort(ascending[rare:])
            if not len(common):
                return attribute
            return with_catch_all(attribute.restrict(common), counts[common])
        merged = rare
        while total < least and merged < attribute.size - 1:
            total += int(counts[ascending[merged]])
            merged += 1
        if merged >= attribute.size - 1 and total < least:
            return attribute.restrict(ascending[-1:])
        joining = [attribute.values[code] for code in ascending[rare:merged]]
        other = _name_of_others(joining, attribute.values)
        alone = [attribute.values[code] for code in np.sort(ascending[merged:])]
        values = [value for value in alone if value not in (OTHER, MISSING)]
        values.append(other)
        if MISSING in alone:
            values.append(MISSING)
        pairs = list[tuple[str, str]]()
        if other != OTHER:
            pairs = [(value, other) for value in (*joining, ALL_OTHERS)]
        return Attribute(attribute.name, tuple(values), (), tuple(pairs))

    def _ordered(
        self, attribute: Attribute, counts: Integers, scale: Sequence[str]
    ) -> Attribute:
        """Return the attribute with neighbours of an ordered scale merged until none is
        rare.
        """
        for value in attribute.values:
            if value not in scale and value != MISSING:
                rule = f"a list of all its values, also {value!r}"
                raise checks.violation(
                    f"order of {attribute.name!r}", rule, list(scale)
                )
        people = dict(zip(attribute.values, counts.tolist(), strict=True))
        along_scale = [people.get(value, 0) for value in scale]
        starts = join_lightest(along_scale, self.least, len(scale))
        labels = list[str]()
        merged = list[tuple[str, str]]()
        sizes = list[int]()
        for start, stop in pairwise([*starts, len(scale)]):
            group = scale[start:stop]
            sizes.append(sum(along_scale[start:stop]))
            if len(group) == 1:
                labels.append(group[0])
            else:
                label = f"{group[0]} to {group[-1]}"
                labels.append(label)
                merged += [(value, label) for value in group]
        commonest = labels[sizes.index(max(sizes))]
        merged.append((ALL_OTHERS, commonest))
        if people.get(MISSING, 0) >= self.least:
            labels.append(MISSING)
        return Attribute(attribute.name, tuple(labels), (), tuple(merged))


def _name_of_others(joining: Sequence[str], values: Sequence[str]) -> str:
    """Return the label of merged values: "Asian or other" if a common one joins them."""
    if not joining or MISSING in joining or OTHER in joining:
        return OTHER
    name = " or ".join([*joining, "other"])
    if name in values:
        return OTHER
    return name


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
    label_of = {value: value for value in attribute.values}
    label_of.update(attribute.merged)
    missing = label_of.get(MISSING, attribute.catch_all)
    for marker in sorted(markers & label_of.keys()):
        if label_of[marker] != missing:
            rule = (
                f"texts that the domain of {attribute.name!r} does not code otherwise"
            )
            raise checks.violation("missing_markers", rule, marker)
    new_markers = sorted(markers - label_of.keys())
    if missing is None or not new_markers:
        return attribute
    as_missing = tuple((marker, missing) for marker in new_markers)
    return replace(attribute, merged=(*as_missing, *attribute.merged))
