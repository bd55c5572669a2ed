"""Columns whose values stand in several records, all of them of one person.

A certificate for the population needs one record per person.  A column identifies
people who occur several times if it has many values with few records each, and others
never change within one of its values, although they change from one value to the next:
sex and birth year within a person's number, but not an income's group within an income,
which changes a few times along the incomes, and not wages within a state, which has
many records of each value.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seepage._core.arrays import Booleans, Floats, Integers
from seepage._core.text import short_list
from seepage.tables.kinds import ANSWERS, ID_NAME, MIN_LIKELY_TWINS, KindJudgement
from seepage.tables.profile import MIN_VALUES, Profile

MAX_RECORDS_PER_PERSON = 15
"""Maximum mean number of records of a value of a person; regions have more."""


REGION_NAME = re.compile(
    r"(?i)school|^sch|class|teacher|^tch|district|^dist|county|country|state|city|town"
    r"|region|province|municip|hospital|clinic|village|cluster|^psu$|firm|compan|store"
    r"|^iso[23]?c?$|sector|industr|occ|job|model|brand|product|code_?name"
)
"""Names of what people belong to, or of kinds of things."""


MOMENT_NAME = re.compile(
    r"(?i)(^|[_. -])(day|week|month|quarter|year|hour|date|yday|doy|rank)s?([_. -]|$)"
    r"|^(day|week|wk|hour|rank)_?[0-9]+$"
)
"""Names of moments and of places in an order, which no two records of a time share
either: a day of the year is nobody's number.
"""


LEAST_REPEATED = 0.1
"""Share of the records that are not the first of their value, at least."""


FIRST_PAIRS = 2**7
"""Pairs of records of one value on which all columns are compared first."""


MAX_PAIRS = 2**13
"""Pairs of records of one value on which the columns that remain are compared."""


CONSTANT = 0.97
"""Share of the pairs of records of one value in which a constant column agrees."""


MOST_BY_CHANCE = 0.85
"""Largest probability that two records agree by chance in a column that tells
something."""


ONCE = 0.999
"""Share of the records that have a value and a time of their own in a panel."""


FEWER_VALUES = 0.25
"""Number of values of what people share with others, as a share of their number, at
most: a column of more is a copy of the numbers."""


MIN_ERRORS = 4
"""Standard errors by which records of one person agree more often in some column than
those of two."""


LEAST_CONSTANT = 0.25
"""Share of the answers that are constant within a person, at least; of a column whose
name is that of an identifier one suffices."""


@dataclass(frozen=True)
class RepeatedValues:
    """A column whose values are those of people, or of regions, with several records.

    Parameters
    ----------
    name
        The column.
    values, records
        The number of its values, and of the records that have one.
    constant
        Answers that never change within a value, though they do between values.
    once_per
        A time at which no value has two records; None for none.
    is_person
        Whether it has few records of each value, as people have; else a region.
    """

    name: str
    values: int
    records: int
    constant: tuple[str, ...]
    once_per: str | None
    is_person: bool

    @property
    def reason(self) -> str:
        """What tells that the records of a value are of one person or region, in
        words.
        """
        counts = f"{self.values:,} values in {self.records:,} records"
        if not self.constant:
            return f"{counts}, none of them twice in one {self.once_per}"
        verb = "changes" if len(self.constant) == 1 else "change"
        return f"{counts}, and {short_list(self.constant)} never {verb} within one"


def repeated_values(
    profiles: Sequence[Profile], judgements: Sequence[KindJudgement]
) -> list[RepeatedValues]:
    """Return the columns that identify people or regions with several records.

    O(columns) for the codes of some pairs of records of each column with many values,
    O(records log records) for each of them whose first pairs agree in other columns.
    """
    is_answer = np.array([judgement.kind in ANSWERS for judgement in judgements])
    answers = [profiles[k] for k in np.flatnonzero(is_answer).tolist()]
    times = list[Profile]()
    for profile, judgement in zip(profiles, judgements, strict=True):
        if judgement.kind in ("time", "date"):
            times.append(profile)
    repeated = list[RepeatedValues]()
    for index, profile in enumerate(profiles):
        if not _may_repeat(profile, judgements[index]):
            continue
        constant = _constant_answers(index, profiles, judgements[index], is_answer)
        once_per = _time_of_each(profile, times)
        if not constant and (
            once_per is None or _is_of_new_records(profile, once_per, answers)
        ):
            continue
        repeated.append(
            RepeatedValues(
                name=profile.name,
                values=profile.values,
                records=profile.present,
                constant=constant,
                once_per=None if once_per is None else once_per.name,
                is_person=_is_person(profile),
            )
        )
    return repeated


def _constant_answers(
    index: int,
    profiles: Sequence[Profile],
    judgement: KindJudgement,
    is_answer: Booleans,
) -> tuple[str, ...]:
    """Return the names of the answers that never change within a value that repeats, as
    those of a person.

    None if they are too few to tell that it is of people.
    """
    profile = profiles[index]
    codes = [other.codes for other in profiles]
    chance = np.array([_chance(other) for other in profiles])
    sizes = np.array([other.values for other in profiles])
    others = is_answer & (chance < MOST_BY_CHANCE)
    others &= sizes <= FEWER_VALUES * profile.values
    others[index] = False
    constant = _constant_within(codes, index, profile, others)
    if not _is_named_identifier(profile, judgement):
        constant &= _changes_between(codes, index, profile, constant, chance)
    names = tuple(profiles[k].name for k in np.flatnonzero(constant).tolist())
    if len(names) < _least_constant(profile, judgement, others):
        return ()
    return names


def _is_of_new_records(
    profile: Profile, time: Profile, answers: Sequence[Profile]
) -> bool:
    """Return whether a column numbers no repeated people, but the records of each time
    anew.
    """
    return _counts_each_time(profile, time) and not _resembles_itself(
        profile, time, answers
    )


def _is_person(profile: Profile) -> bool:
    """Return whether a column of repeated values is one of people, not of regions."""
    if REGION_NAME.search(profile.name):
        return False
    is_few = profile.present <= MAX_RECORDS_PER_PERSON * profile.values
    return is_few or bool(ID_NAME.search(profile.name))


def _is_named_identifier(profile: Profile, judgement: KindJudgement) -> bool:
    """Return whether a column of repeated people is an identifier by its values or its
    name.
    """
    return judgement.kind == "identifier" or bool(ID_NAME.search(profile.name))


def _least_constant(
    profile: Profile, judgement: KindJudgement, others: Booleans
) -> float:
    """Return how many answers must be constant within repeated values, as within
    people.
    """
    if _is_named_identifier(profile, judgement):
        return 1
    return max(2.0, LEAST_CONSTANT * float(others.sum()))


def _time_of_each(profile: Profile, times: Sequence[Profile]) -> Profile | None:
    """Return a time at which no repeated person has two records, though by chance some
    would; None for none.
    """
    for time in times:
        if time.name == profile.name:
            continue
        is_present = (profile.codes < profile.values) & (time.codes < time.values)
        records = int(is_present.sum())
        likely_twins = records**2 / (2 * profile.values * max(time.values, 1))
        if likely_twins <= MIN_LIKELY_TWINS:
            continue
        cells = profile.codes[is_present] * (time.values + 1) + time.codes[is_present]
        if len(np.unique(cells)) >= ONCE * records:
            return time
    return None


def _counts_each_time(profile: Profile, time: Profile) -> bool:
    """Return whether nearly every time's numbers are 1, 2, 3 and so on, not of repeated
    people.
    """
    if profile.texts:
        return False
    is_present = (profile.codes < profile.values) & (time.codes < time.values)
    numbers = profile.numbers[profile.codes[is_present]]
    when = time.codes[is_present]
    records = np.bincount(when, minlength=time.values)
    is_counted = numbers <= (1 + LEAST_REPEATED) * records[when]
    return bool(numbers.min() >= 0 and is_counted.mean() >= CONSTANT)


def _resembles_itself(
    profile: Profile, time: Profile, answers: Sequence[Profile]
) -> bool:
    """Return whether a repeated person's records agree more often than those of two
    people at the same two times, in some other column.

    The same people do; others who were given the same numbers later do not.
    """
    order, is_pair = _in_order(profile.codes, profile)
    places = _spread(np.flatnonzero(is_pair), MAX_PAIRS)
    left = order[places]
    right = order[places + 1]
    by_time = np.argsort(time.codes[right], kind="stable")
    other = np.empty_like(right)
    other[by_time] = np.roll(right[by_time], 1)
    least = MIN_ERRORS * np.sqrt(0.5 / max(len(places), 1))
    for answer in answers:
        if answer.name == profile.name:
            continue
        groups = _groups(answer)
        of_one = np.mean(groups[left] == groups[right])
        of_two = np.mean(groups[left] == groups[other])
        if of_one - of_two > least:
            return True
    return False


def _groups(profile: Profile) -> Integers:
    """Return the group of each record's value for finding repeated people: of many
    numbers their tenth.
    """
    if profile.texts or profile.values <= MIN_VALUES:
        return profile.codes
    ranks = _ranks(profile)
    counts = np.zeros(profile.values + 1)
    counts[ranks[:-1]] = profile.counts
    tenths = np.floor(10 * (np.cumsum(counts) - counts) / profile.present)
    return np.asarray(tenths[ranks][profile.codes], dtype=np.int64)


def _chance(profile: Profile) -> float:
    """Return the probability that not repeated people, but chance makes two records
    agree in a column.
    """
    counts = np.append(profile.counts, profile.missing)
    shares = counts / max(profile.records, 1)
    return float(shares @ shares)


def _may_repeat(profile: Profile, judgement: KindJudgement) -> bool:
    """Return whether a column may be one of repeated people: many integers or texts, a
    share of which repeat.
    """
    if judgement.kind in ("constant", "weight", "date", "time"):
        return False
    if profile.values <= MIN_VALUES:
        return False
    if MOMENT_NAME.search(profile.name) and not ID_NAME.search(profile.name):
        return False
    if not profile.texts and not profile.are_integers:
        return False
    return profile.present - profile.values >= LEAST_REPEATED * profile.present


def _constant_within(
    codes: Sequence[Integers],
    index: int,
    profile: Profile,
    others: Booleans,
) -> Booleans:
    """Return which other columns are constant within a value, as a repeated person's
    would be.
    """
    order, is_pair = _in_order(codes[index], profile)
    constant = others.copy()
    for most in (FIRST_PAIRS, MAX_PAIRS):
        places = _spread(np.flatnonzero(is_pair), most)
        constant &= _agreement(codes, constant, order, places) >= CONSTANT
        if not constant.any():
            return constant
    return constant


def _changes_between(
    codes: Sequence[Integers],
    index: int,
    profile: Profile,
    constant: Booleans,
    chance: Floats,
) -> Booleans:
    """Return which columns constant within a repeated person change between people.

    A column that changes seldom along the values in their order is a recoding of them
    rather than something about a person; people with numbers of their own may be in the
    order of their sex.
    """
    order, is_pair = _in_order(codes[index], profile)
    places = _spread(np.flatnonzero(~is_pair), MAX_PAIRS)
    between = _agreement(codes, constant, order, places)
    return np.asarray(between <= (1 + chance) / 2)


def _in_order(own: Integers, profile: Profile) -> tuple[Integers, Booleans]:
    """Return the records in the order of a column of repeated people, and which have
    the same value as the next.
    """
    order = np.argsort(_ranks(profile)[own], kind="stable")
    order = order[own[order] < profile.values]
    return order, own[order][1:] == own[order][:-1]


def _ranks(profile: Profile) -> Integers:
    """Return the rank of each value to find repeated people, numbers by size and texts
    by label; missing last.
    """
    if profile.texts:
        order = np.argsort(np.array(profile.labels, dtype=object), kind="stable")
    else:
        order = np.argsort(profile.numbers, kind="stable")
    ranks = np.empty(profile.values + 1, dtype=np.int64)
    ranks[order] = np.arange(profile.values)
    ranks[profile.values] = profile.values
    return ranks


def _spread(places: Integers, most: int) -> Integers:
    """Return at most so many places in the records of repeated people, evenly
    spread.
    """
    return places[:: -(-len(places) // most) or 1]


def _agreement(
    codes: Sequence[Integers], columns: Booleans, order: Integers, places: Integers
) -> Floats:
    """Return the share of neighbouring records of repeated people that agree in each of
    some columns; 0 for the others.
    """
    agreement = np.zeros(len(codes))
    if not len(places):
        return agreement
    left = order[places]
    right = order[places + 1]
    for k in np.flatnonzero(columns).tolist():
        agreement[k] = np.mean(codes[k][left] == codes[k][right])
    return agreement
