"""The kind of a column, an answer or something else, and what columns tell of each
other.

Rules of thumb, each with its reason in words.  A wrong guess costs one option: a column
that the options name is used whatever its kind.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from seepage._core.arrays import Floats, Integers
from seepage.channel.domain import MISSING
from seepage.tables.column import encoded
from seepage.tables.labels import number_label, numbers_of
from seepage.tables.sources import is_number_type, is_text_type

if TYPE_CHECKING:
    import pyarrow as pa


ANSWERS = ("answer", "ordered", "number", "code")
"""Kinds of columns that are asked and analysed."""


NO_ANSWERS = ("constant", "identifier", "running number", "weight", "date", "free text")
"""Kinds of columns that are not, unless an option names them."""


MIN_RECORDS = 20
"""Minimum number of records from which values alone, without the name, tell a kind."""


MIN_VALUES = 50
"""Columns with no more values are answers, unless (nearly) every record has its own."""


NEARLY_ALL = 0.9


MAX_BODY = 300
"""People weigh less on average, in kilograms or pounds; grams are integers."""


ID_NAME = re.compile(
    r"(?i)(^|[_ .-])(id|ids|uuid|guid|key|nbr|nr|no|serial|seqn|rownames?|index)$|[a-z]I[dD]$"
    r"|^(idnum|case_?id|resp_?id|respondent|participant|subject|patient|person|name|image|file)"
    r"(_?name)?$"
)


WEIGHT_NAME = re.compile(
    r"(?i)wgt|(^|[_.])(llcp|final|fin|samp|sample|sampling|survey|person|per|hh|asec|case|pop|p|f)"
    r"[_.]?(wt|weight)s?(_|$)|^wt(ss|mec|int|pfin)|^weights$"
)


MAYBE_WEIGHT = re.compile(r"(?i)^(wt|weight)s?$")


CODE_NAME = re.compile(
    r"(?i)(^|[_ .-])(zip|postal|postcode|plz|fips|naics|sic|icd\d*|puma|county)([_ .-]|$)"
    r"|(zip|post|area|[_ .-])codes?$|^(indp|occp|socp|naicsp)$|[_ .-]id$"
)


CODE = re.compile(r"(?=.*[0-9])[A-Z0-9][A-Z0-9. -]{1,9}")


DATE = re.compile(
    r"[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}([T ].*)?|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2,4}"
    r"|[0-9]{1,2}:[0-9]{2}(:[0-9]{2}.*)?"
)


INTERVAL = re.compile(
    r"\s*(?P<below>[<≤]=?|under|below|less than|up to)?(?P<above>[>≥]=?|over|above|more than)?"
    r"[\s=\[($€£]*(?P<low>-?(0|[1-9][0-9]*)(,[0-9]{3})*(\.[0-9]+)?(?![0-9]))"
    r"(?P<more>\s*(\+|(or|and) (more|over|above|older|up)))?.*",
    re.IGNORECASE,
)
"""A number or an interval of numbers: 5, <5, 10+, 18-24, 65 or more, $10,000 to
$20,000."""


TEXTS_FOR_MISSING = {
    "?",
    "na",
    "n/a",
    "#n/a",
    "null",
    "nan",
    ".",
    "-",
    "missing",
    "not available",
}


CODES_FOR_MISSING = re.compile(
    r"-[1-9]|-(7{2,}|8{2,}|9{2,})|[789]|9[78]|7{2,}|8{2,}|9{2,}|99+[78]"
)


@dataclass(frozen=True, eq=False)
class Profile:
    """The distinct values of a column of some records.

    Parameters
    ----------
    name
        The column's name.
    codes
        The code of each record's value; that of missing values is the number of values.
    counts
        The number of records of each value.
    missing
        The number of records with a missing value.
    numbers
        The value of each code as a number, NaN if it is a text.
    texts
        The label of each code that is a text, None for numbers; empty if all are
        numbers.
    beside
        Texts beside at least three numbers, counted as missing: at most three, and no
        intervals.
    form
        What their type tells of the values: "date", "ordered" or nothing.
    """

    name: str
    codes: Integers
    counts: Integers
    missing: int
    numbers: Floats
    texts: tuple[str | None, ...]
    beside: tuple[str, ...]
    form: str

    @property
    def present(self) -> int:
        """The number of records with a value."""
        return int(self.counts.sum())

    @property
    def records(self) -> int:
        """The number of records."""
        return self.present + self.missing

    @property
    def labels(self) -> list[str]:
        """The label of each value."""
        pairs = zip(
            self.texts or [None] * len(self.numbers), self.numbers.tolist(), strict=True
        )
        return [
            number_label(number) if text is None else text for text, number in pairs
        ]


def profile_of(
    name: str, array: "pa.Array", fields: bool, markers: frozenset[str]
) -> Profile:
    """Return the profile of a column.

    Parameters
    ----------
    name, array
        The column's name and values.
    fields
        Whether strings are fields of a text file.
    markers
        Labels that mean missing.
    """
    import pyarrow as pa

    ordered = pa.types.is_dictionary(array.type) and array.type.ordered
    indices, values = encoded(array)
    numbers = np.full(len(values), np.nan)
    texts = np.full(len(values), None, dtype=object)
    if is_number_type(values.type) or (is_text_type(values.type) and fields):
        found = numbers_of(values, markers)
        numbers = np.where(found.missing, np.nan, found.values)
        for index in np.flatnonzero(found.texts).tolist():
            numbers[index], texts[index] = np.nan, str(values[index].as_py()).strip()
    else:
        labels = values.cast(pa.string()).to_pylist()
        texts[:] = [None if label in markers else label for label in labels]
    is_date = pa.types.is_date(values.type) or pa.types.is_timestamp(values.type)
    form = "date" if is_date else "ordered" if ordered else ""
    codes = indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    counts = np.bincount(codes[codes >= 0], minlength=len(values))
    is_text = np.array([text is not None for text in texts], dtype=np.bool_)
    used = (counts > 0) & (is_text | ~np.isnan(numbers))
    beside = np.flatnonzero(used & is_text)
    if len(beside) <= MIN_VALUES:
        beside = np.array(
            [k for k in beside if not INTERVAL.fullmatch(texts[k])], dtype=int
        )
    if len(beside) > 3 or np.count_nonzero(used & ~is_text) < 3:
        beside = beside[:0]
    used[beside] = False
    new = np.append(np.where(used, np.cumsum(used) - 1, used.sum()), used.sum())
    left = tuple(texts[used]) if (used & is_text).any() else ()
    missing = len(codes) - int(counts[used].sum())
    aside = tuple(texts[beside])
    return Profile(
        name, new[codes], counts[used], missing, numbers[used], left, aside, form
    )


def kind_of(column: Profile) -> tuple[str, str]:
    """Return the kind of a column, and the reason in words where it is not an answer."""
    values = len(column.counts)
    if values + (column.missing > 0) <= 1:
        return "constant", "one value"
    found = _text_kind(column) if column.texts else _number_kind(column)
    if found is not None:
        return found
    if values > 2 and CODE_NAME.search(column.name):
        return "code", ""
    if not column.texts:
        scale = values <= MIN_VALUES and _are_integers(column)
        return ("answer" if values <= 2 else "ordered" if scale else "number"), ""
    if values > MIN_VALUES and _nearly_all(CODE, column.labels):
        return "code", ""
    ordered = column.form == "ordered" or number_scale(column.labels)
    return ("ordered" if ordered else "answer"), ""


def number_scale(labels: Sequence[str]) -> list[str]:
    """Return intervals of numbers, and numbers beside them, in ascending order, without
    missing.

    Empty where another label is among them, all are numbers, two begin alike, or fewer
    than three.

    Examples
    --------
    >>> number_scale(["5", "6", "10+", "<5", "(missing)"])
    ['<5', '5', '6', '10+']
    >>> number_scale(["18-24", "65 or more", "25-64"])
    ['18-24', '25-64', '65 or more']
    >>> number_scale(["1", "2", "never"]), number_scale(["1", "2", "3"])
    ([], [])
    >>> (
    ...     number_scale(["01-301", "24-104", "36-710"]),
    ...     number_scale(["17-1", "17-2", "18-1"]),
    ... )
    ([], [])
    """
    places = dict[str, tuple[float, int]]()
    intervals = False
    for label in labels:
        if label == MISSING:
            continue
        if (found := INTERVAL.fullmatch(label)) is None:
            return []
        side = -1 if found["below"] else 1 if found["above"] or found["more"] else 0
        places[label] = float(found["low"].replace(",", "")), side
        intervals |= found["low"] != label
    is_scale = intervals and len(places) > 2 and len({*places.values()}) == len(places)
    return sorted(places, key=places.__getitem__) if is_scale else []


def _are_integers(column: Profile) -> bool:
    return bool((column.numbers == np.floor(column.numbers)).all())


def _nearly_all(pattern: re.Pattern[str], labels: Sequence[str]) -> bool:
    return bool(
        np.mean([pattern.fullmatch(label) is not None for label in labels]) > NEARLY_ALL
    )


def _number_kind(column: Profile) -> tuple[str, str] | None:
    """Return weight, running number or identifier with the reason; None for other
    numbers.
    """
    numbers = column.numbers
    values = len(column.counts)
    present = column.present
    low = float(numbers.min())
    high = float(numbers.max())
    if values > 10 and low >= 0:
        if WEIGHT_NAME.search(column.name):
            return "weight", "its name, and no number below 0"
        if MAYBE_WEIGHT.search(column.name):
            mean = float((numbers * column.counts).sum() / present)
            if abs(mean - 1) < 0.01:
                return "weight", "its name, and a mean of 1"
            if numbers.mean() > MAX_BODY and np.mean(numbers % 1 != 0) > 0.5:
                return (
                    "weight",
                    "its name, and fractions of numbers that no body weighs",
                )
    if present < MIN_RECORDS:
        return None
    integers = _are_integers(column)
    numbering = integers and not (low > 1500 and high < 2200)  # rather than years
    if numbering:
        steps = np.diff(numbers[column.codes[column.codes < values]])
        if high - low < 5 * present and ((steps > 0).all() or (steps < 0).all()):
            return "running number", "a number of its own in each record, in order"
        if values > MIN_VALUES and np.mean(steps == 1) > NEARLY_ALL:
            return "running number", "one more than in the record before"
    many = integers and values > max(MIN_VALUES, 0.1 * present)
    if ID_NAME.search(column.name) and (many or values >= NEARLY_ALL * present):
        return "identifier", f"its name, and {values:,} values in {present:,} records"
    likely_twins = present**2 / (2 * (high - low + 1))
    if numbering and values == present and likely_twins > 10:
        return "identifier", "a number of its own in each record"
    return None


def _text_kind(column: Profile) -> tuple[str, str] | None:
    """Return date, identifier or free text with the reason; None for other texts."""
    labels = column.labels
    values = len(column.counts)
    present = column.present
    if column.form == "date" or (values > 2 and _nearly_all(DATE, labels)):
        return "date", f"{values:,} dates or times"
    own = present >= MIN_RECORDS and values >= NEARLY_ALL * present
    named = ID_NAME.search(column.name) and values > MIN_VALUES
    words = float(np.mean([label.count(" ") + 1 for label in labels[:1000]]))
    if (
        (own or values > MIN_RECORDS)
        and words >= 4
        and np.mean(column.counts == 1) > 0.5
    ):
        return "free text", f"{values:,} texts of {words:.0f} words on average"
    if own or named:
        its = "its name, and " if named else ""
        return "identifier", f"{its}{values:,} values in {present:,} records"
    if values > 1000 and values > 0.3 * present:
        return "free text", f"{values:,} texts in {present:,} records"
    return None


def codes_for_missing(column: Profile) -> Iterator[str]:
    """Yield values that may mean missing: 9 beside 1 to 5, 99 beside 0 to 30, -9, a
    question mark.

    Numbers of equal digits 7, 8 or 9 beyond a gap above a scale that does not reach
    half of them, or negative numbers below a scale from 0 on; and texts such as "?", or
    a text beside numbers.
    """
    yield from column.beside
    yield from (
        text for text in column.texts if text and text.lower() in TEXTS_FOR_MISSING
    )
    numbers = np.sort(column.numbers[~np.isnan(column.numbers)])
    if len(numbers) > 5 * MIN_VALUES:
        return
    coded = np.array(
        [bool(CODES_FOR_MISSING.fullmatch(number_label(x))) for x in numbers], bool
    )
    scale = numbers[~coded]
    if len(scale) < 2:
        return
    for number in numbers[coded].tolist():
        low = scale[0]
        high = scale[-1]
        dense = len(scale) > 0.6 * (high - low + 1) or number > 2 * high >= 1000
        if low <= number <= high + 1:
            scale = np.append(scale, max(number, high))
        elif (
            (low >= 0 and len(scale) > 2)
            if number < 0
            else (number > 1.3 * high and dense)
        ):
            yield number_label(number)
