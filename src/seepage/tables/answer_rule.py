"""The rule that chooses the answers of each attribute, on a random part of the records.

What is read off records is not independent of them: values that a sample shows are
overcounted in it, and pools of rare ones are made of values whose counts fell low by
chance.  So a domain that the user does not declare is fixed on a random part of the
records, and the others, coded in it, are the only ones that certify anything for the
population [theory-population: Which answers].

Numbers get at most 6 answers, intervals of about equal mass cut at round numbers,
values with a sixth of the people alone, the outer ones open; rare labels are merged
into "(other)", neighbours of an ordered scale, also one of intervals such as "<5" and
"10+", with each other; no answer has fewer than 2,000 people of the certifying records,
between 1 % and 10 % of them.

Missing values, and labels such as "unknown", are never merged into an answer.  A person
without an answer, or with a value that neither the part nor the answers have, is given
one at random by the shares of the part: "prefer not to say" belongs to every question
[theory-population: No answer].
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Integers
from seepage._core.number_grammar import number_of_text
from seepage.channel.domain import ALL_OTHERS, MISSING, OTHER, Attribute
from seepage.channel.no_answer import answer_shares
from seepage.tables.answer_intervals import MOST_ANSWERS, interval_labels, join_lightest
from seepage.tables.bins import Edges
from seepage.tables.column import marker_labels
from seepage.tables.labels import bin_labels
from seepage.tables.missing_texts import means_missing
from seepage.tables.number_scale import (
    number_scale,
    scale_beside_answers,
    scale_label,
)
from seepage.tables.number_summary import NumberSummary
from seepage.tables.rare_values import PROTECTED_PEOPLE
from seepage.tables.table_options import MAX_ALPHABET, TableOptions

if TYPE_CHECKING:
    from seepage.tables.table_options import RecordOptions


NEGLIGIBLE = 0.1
"""Labels that together have less than this share of the minimum are no answers: people
who have them prefer not to say."""


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
        """Return the attribute by the rule of answers, in which every value, seen or
        not, is coded, as reported.

        Parameters
        ----------
        attribute, counts
            The attribute with the values of the part, and their counts there.
        numbers
            Its numbers, if it is a column of numbers that no option bins or orders.
        """
        answers, people = _without_missing(attribute, counts)
        if answers is None:
            return attribute
        merged = self._merged_by_option(answers, people, numbers)
        if merged is None:
            merged = self._merged_by_counts(answers, people)
        return self._completed(merged, attribute, counts)

    def as_they_are(self, attribute: Attribute, counts: Integers) -> Attribute:
        """Return the attribute with all values of the part as answers, without the
        rule.
        """
        answers, _ = _without_missing(attribute, counts)
        if answers is None:
            return attribute
        return self._completed(answers, attribute, counts)

    def _merged_by_option(
        self, answers: Attribute, people: Integers, numbers: NumberSummary | None
    ) -> Attribute | None:
        """Return the attribute's answers merged as an option of reading says, not by
        the rule; None if none does.
        """
        options = self.options
        name = answers.name
        if answers.edges and name not in options.order:
            return self._intervals(answers, numbers)
        if name in options.merges:
            return self._declared(name, options.merges[name])
        if name in options.order:
            scale = [str(value) for value in options.order[name]]
            return self._ordered(answers, people, scale)
        if options.pool is not None:
            return self._labels(answers, people, self._pooled_below(people))
        if not options.merges_answers or options.given_rule(name) == "none":
            return answers
        return None

    def _merged_by_counts(self, answers: Attribute, people: Integers) -> Attribute:
        """Return the attribute's answers merged by the rule: neighbours of a scale, or
        rare labels.
        """
        scale = number_scale(answers.values)
        if scale and _are_numbers(scale):
            return self._ordered(answers, people, scale, MOST_ANSWERS)
        if people.min() < self.least:
            if scale:
                return self._ordered(answers, people, scale)
            scale = scale_beside_answers(answers.values)
            if scale and self._are_common_beside(answers, people, scale):
                return self._ordered_beside(answers, people, scale)
        return self._labels_and_no_answers(answers, people)

    def _labels_and_no_answers(
        self, attribute: Attribute, counts: Integers
    ) -> Attribute:
        """Return the attribute with rare labels merged, but those that mean no answer:
        they stand alone, or are missing if they are rare.

        "Not known" and "yes" are no common answer, and "no" beside "not known" is one
        answer only.
        """
        is_none = np.array([means_missing(value) for value in attribute.values])
        answers = np.flatnonzero(~is_none)
        if not is_none.any() or len(answers) < 2:
            return self._labels(attribute, counts, self.least)
        labels = self._labels(attribute.restrict(answers), counts[answers], self.least)
        if labels.size < 2:
            return labels
        alone = list[str]()
        for code in np.flatnonzero(is_none).tolist():
            if counts[code] >= self.least:
                alone.append(attribute.values[code])
        return replace(labels, values=(*labels.values, *alone))

    def _are_common_beside(
        self, answers: Attribute, people: Integers, scale: Sequence[str]
    ) -> bool:
        """Return whether, by the rule, every answer beside a scale has people
        enough.
        """
        return all(
            count >= self.least
            for value, count in zip(answers.values, people.tolist(), strict=True)
            if value not in scale and not means_missing(value)
        )

    def _ordered_beside(
        self, answers: Attribute, people: Integers, scale: Sequence[str]
    ) -> Attribute:
        """Return the attribute with neighbours of a scale merged, and other answers
        that stand beside it as they are.
        """
        on_scale = [answers.code(value) for value in answers.values if value in scale]
        ordered = self._ordered(answers.restrict(on_scale), people[on_scale], scale)
        beside = [
            value
            for value in answers.values
            if value not in scale and not means_missing(value)
        ]
        return replace(ordered, values=(*ordered.values, *beside))

    def _completed(
        self, answers: Attribute, attribute: Attribute, counts: Integers
    ) -> Attribute:
        """Return the attribute's answers with what the rule does where a person has
        none.

        Parameters
        ----------
        answers
            The attribute with its answers.
        attribute, counts
            The attribute with the values of the part, and their counts there.
        """
        if not self.options.draws_missing:
            coded = {*answers.values, *(value for value, _ in answers.merged)}
            beside = [value for value in attribute.values if value not in coded]
            has_missing = any(map(means_missing, beside))
            return self._with_own_missing(answers, attribute, counts, has_missing)
        no_answers = _rare_no_answers(answers, attribute)
        people = people_by_answer(answers, attribute, counts)
        lacking = int(counts.sum() - people.sum())
        declared = self.options.merges.get(answers.name, {})
        as_missing = tuple(
            (value, label)
            for value, label in declared.items()
            if label == MISSING and value != MISSING
        )
        return replace(
            answers,
            merged=(*no_answers, *answers.merged, *as_missing),
            shares=answer_shares(people),
            protects_missing=self._certifying(lacking) >= PROTECTED_PEOPLE,
        )

    def _certifying(self, people: int) -> float:
        """Return by the rule of answers about how many certifying records stand behind
        people of the part.
        """
        if self.scale >= 1:
            return people
        return people * (1 - self.scale) / self.scale

    def _with_own_missing(
        self, answers: Attribute, attribute: Attribute, counts: Integers, seen: bool
    ) -> Attribute:
        """Return the attribute by the rule of answers with "(missing)" as one of its
        own, if it was seen.

        All other values are coded as "(other)" if there is one; else as missing if that
        was seen, and as the commonest answer if not.
        """
        people = people_by_answer(answers, attribute, counts)
        commonest = answers.values[int(np.argmax(people))]
        values = answers.values
        if seen:
            values = (*values, MISSING)
            commonest = MISSING
        merged = answers.merged
        if seen:
            merged = (*_rare_no_answers(answers, attribute), *merged)
        declared = answers.edges and isinstance(
            self.options.bins_of(answers.name), Edges
        )
        if declared and not seen and not self.options.dropping:
            merged = (*merged, (MISSING, commonest))
        elif not declared and answers.catch_all is None:
            merged = (*merged, (ALL_OTHERS, commonest))
        return replace(answers, values=values, merged=merged)

    def _declared(self, name: str, merges: Mapping[str, str]) -> Attribute:
        """Return the attribute with the answers that a codebook declares, in place of
        the rule's.
        """
        labels = tuple(
            dict.fromkeys(each for each in merges.values() if each != MISSING)
        )
        merged = tuple(
            (value, label)
            for value, label in merges.items()
            if label != MISSING and value not in labels
        )
        return Attribute(name, labels, (), merged)

    def _pooled_below(self, counts: Integers) -> float:
        """Return the number of records of the part below which an answer is merged by
        the option `pool`.
        """
        pool = self.options.pool
        assert pool is not None
        if pool >= 1:
            return max(2.0, pool * self.scale)
        return pool * max(int(counts.sum()), 1)

    def _intervals(
        self, attribute: Attribute, numbers: NumberSummary | None
    ) -> Attribute:
        """Return the attribute's answers as intervals, the outer ones open; a declared
        range stays as it is, with the names that a codebook gives.
        """
        if isinstance(self.options.bins_of(attribute.name), Edges):
            names = self.options.merges.get(attribute.name, {})
            values = tuple(names.get(label, label) for label in attribute.values)
            return replace(attribute, values=values)
        edges = (-math.inf, *attribute.edges[1:-1], math.inf)
        labels = bin_labels(edges)
        if numbers is not None:
            labels = interval_labels(edges, numbers, attribute.name)
        return Attribute(attribute.name, labels, edges)

    def _labels(
        self, attribute: Attribute, counts: Integers, least: float
    ) -> Attribute:
        """Return the attribute with rare labels merged into "(other)".

        Where a common label must join them, it gives the answer its name: "Asian or
        other".  Negligible labels are no answers.
        """
        ascending = np.argsort(counts, kind="stable")  # the first ones are merged
        rare = int((counts < least).sum())
        total = int(counts[ascending[:rare]].sum())
        if self.options.merges_answers and total < NEGLIGIBLE * least:
            common = np.sort(ascending[rare:])
            return attribute.restrict(common) if len(common) else attribute
        merged = rare
        while total < least and merged < attribute.size - 1:
            total += int(counts[ascending[merged]])
            merged += 1
        if merged >= attribute.size - 1 and total < least:
            return attribute.restrict(ascending[-1:])
        alone = np.sort(ascending[merged:])
        return _with_others(attribute, alone, joining=ascending[rare:merged])

    def _ordered(
        self,
        attribute: Attribute,
        counts: Integers,
        scale: Sequence[str],
        most: int = MAX_ALPHABET,
    ) -> Attribute:
        """Return the attribute with neighbours of an ordered scale merged until none is
        rare, and there are no more than `most`.

        Values that mean missing are beside the scale.
        """
        for value in attribute.values:
            if value not in scale and not means_missing(value):
                rule = f"a list of all its values, also {value!r}"
                raise checks.violation(
                    f"order of {attribute.name!r}", rule, list(scale)
                )
        people = dict(zip(attribute.values, counts.tolist(), strict=True))
        along_scale = [people.get(value, 0) for value in scale]
        starts = join_lightest(along_scale, self.least, most)
        labels = list[str]()
        merged = list[tuple[str, str]]()
        for start, stop in pairwise([*starts, len(scale)]):
            group = scale[start:stop]
            label = scale_label(group)
            labels.append(label)
            if len(group) > 1:
                merged += [(value, label) for value in group]
        return Attribute(attribute.name, tuple(labels), (), tuple(merged))


def _are_numbers(scale: Sequence[str]) -> bool:
    """Return whether all answers of a scale are single numbers."""
    return all(number_of_text(label) is not None for label in scale)


def _with_others(
    attribute: Attribute, alone: Integers, *, joining: Integers
) -> Attribute:
    """Return the attribute with some answers alone and all others merged.

    Parameters
    ----------
    attribute
        An attribute.
    alone, joining
        The codes of the values that stay, and of common ones that give the merged
        answer its name.
    """
    named = [attribute.values[code] for code in joining]
    other = _name_of_others(named, attribute.values)
    values = list[str]()
    for code in alone:
        if attribute.values[code] != OTHER:
            values.append(attribute.values[code])
    values.append(other)
    merged = list[tuple[str, str]]()
    if other != OTHER:
        merged = [(value, other) for value in (*named, ALL_OTHERS)]
    return Attribute(attribute.name, tuple(values), (), tuple(merged))


def _without_missing(
    attribute: Attribute, counts: Integers
) -> tuple[Attribute | None, Integers]:
    """Return the attribute's answers without "(missing)", None if it has no other
    value, and their counts.
    """
    kept = [code for code, value in enumerate(attribute.values) if value != MISSING]
    if not kept:
        return None, counts[:0]
    values = tuple(attribute.values[code] for code in kept)
    return replace(attribute, values=values), counts[kept]


def people_by_answer(
    answers: Attribute, attribute: Attribute, counts: Integers
) -> Integers:
    """Return the number of people of the part with each of the chosen answers.

    Examples
    --------
    >>> job = Attribute("job", ("nurse", "pilot", "smith", "(missing)"))
    >>> answers = Attribute("job", ("smith", "(other)"))
    >>> people_by_answer(answers, job, np.array([4, 2, 9, 5])).tolist()
    [9, 6]
    """
    if answers.edges:
        return np.asarray(counts[: answers.size])
    people = np.zeros(answers.size, dtype=np.int64)
    merged = dict(answers.merged)
    for value, count in zip(attribute.values, counts.tolist(), strict=True):
        label = value
        if value not in answers.values:
            rest = MISSING if means_missing(value) else answers.catch_all
            label = merged.get(value, rest or MISSING)
        if value != MISSING and label in answers.values:
            people[answers.code(label)] += count
    return people


def _rare_no_answers(
    answers: Attribute, attribute: Attribute
) -> tuple[tuple[str, str], ...]:
    """Return how rare labels that mean no answer are coded by the rule: as missing, and
    not as the answer for all others.
    """
    if answers.catch_all is None:
        return ()
    coded = {*answers.values, *(value for value, _ in answers.merged)}
    return tuple(
        (value, MISSING)
        for value in attribute.values
        if value not in coded and value != MISSING and means_missing(value)
    )


def _name_of_others(joining: Sequence[str], values: Sequence[str]) -> str:
    """Return the label of merged answers: "Asian or other" if a common one joins
    them.
    """
    if not joining or OTHER in joining:
        return OTHER
    name = " or ".join([*joining, "other"])
    if name in values:
        return OTHER
    return name


def with_markers(attribute: Attribute, options: TableOptions) -> Attribute:
    """Return an attribute whose answers exclude what means missing, wherever it is
    collected.

    A marker that the attribute codes otherwise raises an InputError: it would be
    certified as missing, and collected as another answer.
    """
    markers = marker_labels(options.markers_of(attribute.name)) - {MISSING}
    label_of = {value: value for value in attribute.as_coded.values}
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
