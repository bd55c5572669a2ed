"""The kind of a column, from its name, its values and their order: an answer, or something else.

Rules of thumb, each with its reason in words.  A wrong guess costs one option: a column that the
options name is used whatever its kind.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Floats, Integers
from seepage.data.domain import MISSING, Attribute
from seepage.data.table.column import encoded, is_number_type, is_text_type, plain
from seepage.data.table.column_numbers import numbers_of
from seepage.data.table.labels import field_key, number_label

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

ID_NAME = re.compile(
    r"(^|[_ .-])(id|ids|uuid|guid|key|nbr|nr|no|serial|seqn|rownames?|index)$|[a-z]I[dD]$"
    r"|^(idnum|case_?id|resp_?id|respondent|participant|subject|patient|person|name|image|file)"
    r"(_?name)?$",
    re.IGNORECASE,
)
WEIGHT_NAME = re.compile(
    r"wgt|(^|[_.])(llcp|final|fin|samp|sample|sampling|survey|person|per|hh|asec|case|pop|p|f)"
    r"[_.]?(wt|weight)s?(_|$)|^wt(ss|mec|int|pfin)|^weights$",
    re.IGNORECASE,
)
MAYBE_WEIGHT = re.compile(r"^(wt|weight)s?$", re.IGNORECASE)
CODE_NAME = re.compile(
    r"(^|[_ .-])(zip|postal|postcode|plz|fips|naics|sic|icd\d*|puma|county)([_ .-]|$)"
    r"|(zip|post|area|[_ .-])codes?$|^(indp|occp|socp|naicsp)$|[_ .-]id$",
    re.IGNORECASE,
)
CODE = re.compile(r"(?=.*[0-9])[A-Z0-9][A-Z0-9. -]{1,9}")
DATE = re.compile(
    r"[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}([T ].*)?|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2,4}"
    r"|[0-9]{1,2}:[0-9]{2}(:[0-9]{2}.*)?"
)
STARTS_WITH_NUMBER = re.compile(r"\s*[\[(<>=≤≥]*\s*-?[0-9]")
TEXTS_FOR_MISSING = {"?", "na", "n/a", "#n/a", "null", "nan", ".", "-", "missing", "not available"}
CODES_FOR_MISSING = re.compile(r"-[1-9]|-(7{2,}|8{2,}|9{2,})|[789]|9[78]|7{2,}|8{2,}|9{2,}|99+[78]")


@dataclass(frozen=True, eq=False)
class Profile:
    """The distinct values of a column of some records.

    Parameters
    ----------
    name
        The column's name.
    codes
        The code of each record's value, -1 if it is missing; empty if records are not known.
    counts
        The number of records of each value.
    missing
        The number of records with a missing value.
    numbers
        The value of each code as a number, NaN if it is a text.
    texts
        The label of each code that is a text, None for numbers; empty if all are numbers.
    beside
        Texts beside numbers, counted as missing: at most three, beside at least three numbers.
    form
        What is known of the values beforehand: "date", "bins", "ordered" or nothing.
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
        numbers = self.numbers.tolist()
        pairs = zip(self.texts or [None] * len(numbers), numbers, strict=True)
        return [number_label(number) if text is None else text for text, number in pairs]

    @classmethod
    def of(
        cls,
        name: str,
        codes: Integers,
        counts: Integers,
        records: int,
        numbers: Floats,
        texts: Sequence[str | None],
        form: str,
    ) -> "Profile":
        """Return the profile of values that are numbers, texts or, if neither, missing."""
        no_text = np.array([text is None for text in texts], dtype=np.bool_)
        used = (counts > 0) & ~(np.isnan(numbers) & no_text)
        beside = np.flatnonzero(used & ~no_text).tolist()
        if not 0 < len(beside) <= 3 <= np.count_nonzero(used) - len(beside):
            beside = []
        used[beside] = False
        new = np.append(np.where(used, np.cumsum(used) - 1, -1), -1)
        left = [texts[index] for index in np.flatnonzero(used).tolist()]
        left = [] if all(text is None for text in left) else left
        missing = records - int(counts[used].sum())
        about = tuple(left), tuple(str(texts[index]) for index in beside), form
        return cls(name, new[codes], counts[used], missing, numbers[used], *about)


def profile_of(name: str, array: "pa.Array", fields: bool, markers: frozenset[str]) -> Profile:
    """Return the profile of a column; `fields` says that strings are fields of a text file."""
    import pyarrow as pa

    array = plain(array)
    form = "ordered" if pa.types.is_dictionary(array.type) and array.type.ordered else ""
    indices, values = encoded(array)
    kind = values.type
    if is_number_type(kind) or (is_text_type(kind) and fields):
        found = numbers_of(values, markers)
        numbers, texts = found.values.astype(np.float64), list[str | None]([None]) * len(values)
        if found.missing is not None:
            numbers[found.missing] = np.nan
        for index in () if found.texts is None else np.flatnonzero(found.texts).tolist():
            numbers[index], texts[index] = np.nan, str(values[index].as_py()).strip()
    else:
        labels = values.cast(pa.string()).to_pylist()
        texts = [None if label in markers else label for label in labels]
        numbers = np.full(len(texts), np.nan)
        form = "date" if pa.types.is_date(kind) or pa.types.is_timestamp(kind) else form
    codes = indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    counts = np.bincount(codes[codes >= 0], minlength=len(values))
    return Profile.of(name, codes, counts, len(codes), numbers, texts, form)


def profile_of_counts(attribute: Attribute, counts: Integers) -> Profile:
    """Return the profile of an attribute whose values are counted."""
    known = [None if label == MISSING else label for label in attribute.values]
    keys = known if attribute.edges else [field_key(label) for label in known]
    numbers = np.array([key if isinstance(key, float) else np.nan for key in keys])
    texts = [key if isinstance(key, str) else None for key in keys]
    codes, form = np.zeros(0, dtype=np.int64), "bins" if attribute.edges else ""
    return Profile.of(attribute.name, codes, counts, int(counts.sum()), numbers, texts, form)


def kind_of(column: Profile) -> tuple[str, str]:
    """Return the kind of a column, and the reason in words where it is not an answer."""
    values = len(column.counts)
    if values + (column.missing > 0) <= 1:
        return "constant", "one value"
    if column.form == "date" or _are_dates(column):
        return "date", f"{values:,} dates or times"
    if column.form == "bins":
        named = WEIGHT_NAME.search(column.name)
        return ("weight", "its name") if named else ("number", "")
    found = _text_kind(column) if column.texts else _number_kind(column)
    if found is not None:
        return found
    if CODE_NAME.search(column.name) and values > 2:
        return "code", ""
    if column.texts:
        many = values > MIN_VALUES and np.mean([bool(CODE.fullmatch(t)) for t in column.labels])
        if many and many > NEARLY_ALL:
            return "code", ""
        intervals = values > 2 and all(map(STARTS_WITH_NUMBER.match, column.labels))
        return ("ordered" if column.form or intervals else "answer"), ""
    scale = values <= MIN_VALUES and _are_integers(column)
    return ("answer" if values <= 2 else "ordered" if scale else "number"), ""


def _are_integers(column: Profile) -> bool:
    return bool((column.numbers == np.floor(column.numbers)).all())


def _are_dates(column: Profile) -> bool:
    texts = [text for text in column.texts if text is not None]
    if len(texts) < len(column.texts) or len(texts) < 3:
        return False
    return bool(np.mean([bool(DATE.fullmatch(text)) for text in texts]) > NEARLY_ALL)


def _number_kind(column: Profile) -> tuple[str, str] | None:
    """Return weight, running number or identifier with the reason; None for other numbers."""
    numbers, values, present = column.numbers, len(column.counts), column.present
    if values > 10 and numbers.min() >= 0:
        mean = float((numbers * column.counts).sum() / present)
        if WEIGHT_NAME.search(column.name):
            return "weight", "its name, and no number below 0"
        if MAYBE_WEIGHT.search(column.name) and abs(mean - 1) < 0.01:
            return "weight", "its name, and a mean of 1"
    identifier = "identifier", f"its name, and {values:,} values in {present:,} records"
    named = ID_NAME.search(column.name) is not None
    if present < MIN_RECORDS:
        return None
    if not _are_integers(column):
        return identifier if named and values >= NEARLY_ALL * present else None
    low, high = float(numbers.min()), float(numbers.max())
    years = low > 1500 and high < 2200
    if len(column.codes) and not years:
        steps = np.diff(numbers[column.codes[column.codes >= 0]])
        ascending = bool((steps > 0).all() or (steps < 0).all())
        if ascending and high - low < 5 * present:
            return "running number", "a number of its own in each record, in order"
        if values > MIN_VALUES and np.mean(steps == 1) > NEARLY_ALL:
            return "running number", "one more than in the record before"
    if named and (values > max(MIN_VALUES, 0.1 * present) or values >= NEARLY_ALL * present):
        return identifier
    likely_twins = present**2 / (2 * (high - low + 1))
    if values == present and likely_twins > 10 and not years:
        return "identifier", "a number of its own in each record"
    return None


def _text_kind(column: Profile) -> tuple[str, str] | None:
    """Return identifier or free text with the reason; None for other texts."""
    labels, values, present = column.labels, len(column.counts), column.present
    own = present >= MIN_RECORDS and values >= NEARLY_ALL * present
    named = ID_NAME.search(column.name) and values > MIN_VALUES
    its = "its name, and " if named else ""
    words = float(np.mean([label.count(" ") + 1 for label in labels[:1000]]))
    if (own or values > MIN_RECORDS) and words >= 4 and np.mean(column.counts == 1) > 0.5:
        return "free text", f"{values:,} texts of {words:.0f} words on average"
    if own or named:
        return "identifier", f"{its}{values:,} values in {present:,} records"
    if values > 1000 and values > 0.3 * present:
        return "free text", f"{values:,} texts in {present:,} records"
    return None


def codes_for_missing(column: Profile) -> Iterator[str]:
    """Yield values that may mean missing: 9 beside 1 to 5, 99 beside 0 to 30, -9, a question mark.

    Numbers of equal digits 7, 8 or 9 beyond a gap above a scale that does not reach half of them,
    or negative numbers below a scale from 0 on; and texts such as "?", or a text beside numbers.
    """
    yield from column.beside
    yield from (text for text in column.texts if text and text.lower() in TEXTS_FOR_MISSING)
    numbers = np.sort(column.numbers[~np.isnan(column.numbers)])
    if column.form == "bins" or len(numbers) > 5 * MIN_VALUES:
        return
    coded = np.array([bool(CODES_FOR_MISSING.fullmatch(number_label(x))) for x in numbers], bool)
    scale = numbers[~coded]
    if len(scale) < 2:
        return
    for number in numbers[coded].tolist():
        if scale[0] <= number <= scale[-1] + 1:
            scale = np.append(scale, max(number, scale[-1]))
        elif number < 0:
            if scale[0] >= 0 and len(scale) > 2:
                yield number_label(number)
        elif number > 1.3 * scale[-1] and _is_dense(scale, number):
            yield number_label(number)


def _is_dense(scale: NDArray[Any], code: float) -> bool:
    """Return whether a scale has most integers of its range, or is far below a code."""
    return bool(len(scale) > 0.6 * (scale[-1] - scale[0] + 1) or code > 2 * scale[-1] >= 1000)
