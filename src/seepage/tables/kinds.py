"""The kind of a column: an answer or something else, judged by its name, its values
and their order.

Rules of thumb, each with its reason in words.  A wrong guess costs one option: a column
that the options name is used whatever its kind.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from seepage.tables.number_scale import number_scale
from seepage.tables.profile import MIN_VALUES, Profile

ANSWERS = ("answer", "ordered", "number", "code")
"""Kinds of columns that are asked and analysed."""


NO_ANSWERS = (
    "constant",
    "identifier",
    "running number",
    "weight",
    "time",
    "date",
    "free text",
)
"""Kinds of columns that are not, unless an option names them."""


MIN_RECORDS = 20
"""Minimum number of records from which values alone, without the name, tell a kind."""


NEARLY_ALL = 0.9
"""Share of values or records of which a rule need only hold."""


MIN_WEIGHTS = 11
"""Minimum number of distinct survey weights."""


MAX_BODY = 300
"""People weigh less on average, in kilograms or pounds; grams are integers."""


LARGE_SHARE = 0.1
"""Share of the records that an identifier's number of values exceeds."""


MIN_LIKELY_TWINS = 10
"""Expected number of pairs with equal values, were the values drawn by chance, from
which all being distinct is no chance."""


WORDS_OF_FREE_TEXT = 4
"""Minimum number of words on average of texts that people wrote."""


ID_NAME = re.compile(
    r"(?i)(^|[_ "
    r".-])(id|ids|uuid|guid|key|nbr|nr|no|serial|seqn|rownames?|index)$|[a-z]I[dD]$"
    r"|^(idnum|case_?id|resp_?id|respondent|participant|subject|patient|person|name|image|file)"
    r"(_?name)?$"
)
"""Names of identifiers."""


WEIGHT_NAME = re.compile(
    r"(?i)wgt|(^|[_.])(llcp|final|fin|samp|sample|sampling|survey|person|per|hh|asec|case|pop|p|f)"
    r"[_.]?(wt|weight)s?(_|$)|^wt(ss|mec|int|pfin)|^weights$"
)
"""Names of survey weights."""


MAYBE_WEIGHT = re.compile(r"(?i)^(wt|weight)s?$")
"""Names of survey weights, or of how much people weigh."""


CODE_NAME = re.compile(
    r"(?i)(^|[_ .-])(zip|postal|postcode|plz|fips|naics|sic|icd\d*|puma|county)([_ "
    r".-]|$)"
    r"|(zip|post|area|[_ .-])codes?$|^(indp|occp|socp|naicsp)$|[_ .-]id$"
)
"""Names of codes: numbers without an order."""


CODE = re.compile(r"(?=.*[0-9])[A-Z0-9][A-Z0-9. -]{1,9}")
"""Texts that are codes."""


MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
"""The name of a month, or how it begins."""


DATE = re.compile(
    r"(?i)[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}([T ].*)?"
    r"|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2,4}|[0-9]{1,2}:[0-9]{2}(:[0-9]{2}.*)?"
    rf"|{MONTH}[-/. ]+[0-9]{{2,4}}|[0-9]{{2,4}}[-/. ]+{MONTH}"
    rf"|[0-9]{{1,2}}[-/. ]+{MONTH}[-/. ]+[0-9]{{2,4}}"
    r"|[0-9]{4}[-/. ]?[qmw][0-9]{1,2}|[0-9]{4}[-/.][0-9]{2}"
)
"""Texts that are dates or times."""


TIME_NAME = re.compile(
    r"(?i)^(year|yr|wave|round|quarter|qtr|iyear|imonth|iday|month)$"
    r"|^(survey|interview|int|study|sample|data|issue|exam|visit|collection|cohort_wave)"
    r"[_. ]?(year|yr|month|wave|date|d|week|quarter|round)$"
)
"""Names of when a record was collected."""


TIME_DUMMY = re.compile(
    r"(?i)^(quarter|qtr|qrt)[_. ]?[1-4]$|^(year|yr)[_. ]?(19|20)[0-9]{2}$"
)
"""Names of columns that are 1 for a quarter or a year, and 0 for the others.  A month
or the fifth year may be when an outcome was measured."""


COLLECTED = "when a record was collected"
"""What a time tells."""


MAX_WAVES = 400
"""Maximum number of times at which records were collected."""


@dataclass(frozen=True)
class KindJudgement:
    """The kind of a column, and the reason in words where it is not an answer."""

    kind: str
    reason: str = ""


def kind_of(column: Profile) -> KindJudgement:
    """Return the kind of a column: the first one that a rule tells, else an answer."""
    if column.values + (column.missing > 0) <= 1:
        return KindJudgement("constant", "one value")
    rules = TEXT_RULES if column.texts else NUMBER_RULES
    for rule in rules:
        judgement = rule(column)
        if judgement is not None:
            return judgement
    if column.values > 2 and CODE_NAME.search(column.name):
        return KindJudgement("code")
    if column.texts:
        return KindJudgement(_kind_of_text_answer(column))
    return KindJudgement(_kind_of_number_answer(column))


def _kind_of_number_answer(column: Profile) -> str:
    """Return the kind of a column of numbers that are answers: answer, ordered or
    number.
    """
    if column.values <= 2:
        return "answer"
    if column.values <= MIN_VALUES and column.are_integers:
        return "ordered"
    return "number"


def _kind_of_text_answer(column: Profile) -> str:
    """Return the kind of a column of texts that are answers."""
    if column.values > MIN_VALUES and _nearly_all(CODE, column.labels):
        return "code"
    if column.form == "ordered" or number_scale(column.labels):
        return "ordered"
    return "answer"


def _nearly_all(pattern: re.Pattern[str], labels: Sequence[str]) -> bool:
    """Return whether nearly all labels of a column have a pattern that tells its
    kind.
    """
    matches = sum(pattern.fullmatch(label) is not None for label in labels)
    return matches > NEARLY_ALL * len(labels)


# Numbers ------------------------------------------------------------------------------


def survey_weight(column: Profile) -> KindJudgement | None:
    """Judge whether a column's kind is a weight of a survey."""
    if column.values < MIN_WEIGHTS or column.low < 0:
        return None
    if WEIGHT_NAME.search(column.name):
        return KindJudgement("weight", "its name, and no number below 0")
    if not MAYBE_WEIGHT.search(column.name):
        return None
    if abs(column.mean - 1) < 0.01:
        return KindJudgement("weight", "its name, and a mean of 1")
    most_are_fractions = np.mean(column.numbers % 1 != 0) > 0.5
    if column.numbers.mean() > MAX_BODY and most_are_fractions:
        reason = "its name, and fractions of numbers that no body weighs"
        return KindJudgement("weight", reason)
    return None


def time_number(column: Profile) -> KindJudgement | None:
    """Judge whether a column's kind is a time: numbers of years, waves or months of the
    collection.
    """
    if not column.are_integers or column.low < 0:
        return None
    is_time = TIME_NAME.search(column.name) and column.values <= MAX_WAVES
    is_dummy = TIME_DUMMY.search(column.name) and column.high <= 1
    if not is_time and not is_dummy:
        return None
    return KindJudgement("time", f"its name: {COLLECTED}")


def running_number(column: Profile) -> KindJudgement | None:
    """Judge whether a column's kind is a running number: of the records in their
    order.
    """
    if column.present < MIN_RECORDS or not _may_number_records(column):
        return None
    steps = column.steps
    is_dense = column.high - column.low < 5 * column.present
    if is_dense and ((steps > 0).all() or (steps < 0).all()):
        return KindJudgement(
            "running number", "a number of its own in each record, in order"
        )
    if column.values > MIN_VALUES and np.mean(steps == 1) > NEARLY_ALL:
        return KindJudgement("running number", "one more than in the record before")
    return None


def named_identifier(column: Profile) -> KindJudgement | None:
    """Judge by name and number of values whether a column's kind is an identifier, of
    numbers.
    """
    if column.present < MIN_RECORDS or not ID_NAME.search(column.name):
        return None
    least = max(MIN_VALUES, LARGE_SHARE * column.present)
    many_integers = column.are_integers and column.values > least
    if not many_integers and column.values < NEARLY_ALL * column.present:
        return None
    counts = f"{column.values:,} values in {column.present:,} records"
    return KindJudgement("identifier", f"its name, and {counts}")


def unnamed_identifier(column: Profile) -> KindJudgement | None:
    """Judge whether a column's kind is an identifier: all integers differ though chance
    would have made some equal.

    Of n numbers drawn from a range of r, n^2 / (2 r) pairs are expected to be equal.
    """
    if column.present < MIN_RECORDS or not _may_number_records(column):
        return None
    likely_twins = column.present**2 / (2 * (column.high - column.low + 1))
    if column.values == column.present and likely_twins > MIN_LIKELY_TWINS:
        return KindJudgement("identifier", "a number of its own in each record")
    return None


def _may_number_records(column: Profile) -> bool:
    """Return whether a column's kind may be that of numbered records: integers that are
    not years.
    """
    are_years = column.low > 1500 and column.high < 2200
    return column.are_integers and not are_years


# Texts --------------------------------------------------------------------------------


def dates(column: Profile) -> KindJudgement | None:
    """Judge whether a column's kind is a date: dates or times."""
    are_dates = column.values > 2 and _nearly_all(DATE, column.labels)
    if column.form == "date" or are_dates:
        return KindJudgement("date", f"{column.values:,} dates or times")
    return None


def time_text(column: Profile) -> KindJudgement | None:
    """Judge whether a column's kind is a time: texts name years, waves or months of the
    collection.
    """
    if not TIME_NAME.search(column.name) or column.values > MAX_WAVES:
        return None
    return KindJudgement("time", f"its name: {COLLECTED}")


def long_texts(column: Profile) -> KindJudgement | None:
    """Judge whether a column's kind is free text: several words that rarely repeat."""
    if column.values <= MIN_RECORDS and not _differ_in_nearly_all(column):
        return None
    words = float(np.mean([label.count(" ") + 1 for label in column.labels[:1000]]))
    if words < WORDS_OF_FREE_TEXT or np.mean(column.counts == 1) <= 0.5:
        return None
    reason = f"{column.values:,} texts of {words:.0f} words on average"
    return KindJudgement("free text", reason)


def text_identifier(column: Profile) -> KindJudgement | None:
    """Judge whether a column's kind is an identifier: texts, by their number or their
    name.
    """
    counts = f"{column.values:,} values in {column.present:,} records"
    if column.values > MIN_VALUES and ID_NAME.search(column.name):
        return KindJudgement("identifier", f"its name, and {counts}")
    if _differ_in_nearly_all(column):
        return KindJudgement("identifier", counts)
    return None


def many_texts(column: Profile) -> KindJudgement | None:
    """Judge whether a column's kind is free text: too many to be answers."""
    if column.values > 1000 and column.values > 0.3 * column.present:
        reason = f"{column.values:,} texts in {column.present:,} records"
        return KindJudgement("free text", reason)
    return None


def _differ_in_nearly_all(column: Profile) -> bool:
    """Return whether nearly every record has a value of its own, which tells a column's
    kind.
    """
    enough = column.present >= MIN_RECORDS
    return enough and column.values >= NEARLY_ALL * column.present


Rule: TypeAlias = Callable[[Profile], KindJudgement | None]


NUMBER_RULES: tuple[Rule, ...] = (
    survey_weight,
    time_number,
    running_number,
    named_identifier,
    unnamed_identifier,
)
"""Rules on columns of numbers: the first one that tells a kind decides."""


TEXT_RULES: tuple[Rule, ...] = (
    dates,
    time_text,
    long_texts,
    text_identifier,
    many_texts,
)
"""Rules on columns with texts: the first one that tells a kind decides."""
