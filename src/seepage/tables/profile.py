"""The distinct values of a column of some records: numbers, texts, and texts beside
numbers.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seepage._core.arrays import Booleans, Floats, Integers
from seepage.tables.arrow_types import is_number_type, is_text_type
from seepage.tables.column import encoded
from seepage.tables.labels import number_label, numbers_of
from seepage.tables.number_scale import INTERVAL

MIN_VALUES = 50
"""Columns with no more values are answers, unless (nearly) every record has its own."""


MAX_TEXTS_BESIDE_NUMBERS = 3
"""Maximum number of texts beside numbers that are counted as missing."""


MIN_NUMBERS_BESIDE_TEXTS = 3
"""Minimum number of numbers beside which texts are counted as missing."""


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
    def values(self) -> int:
        """The number of distinct values in a column's profile."""
        return len(self.counts)

    @cached_property
    def present(self) -> int:
        """The number of records with a value in a column's profile."""
        return int(self.counts.sum())

    @property
    def records(self) -> int:
        """The number of records in a column's profile."""
        return self.present + self.missing

    @cached_property
    def labels(self) -> list[str]:
        """The label of each value in a column's profile."""
        if not self.texts:
            return [number_label(number) for number in self.numbers.tolist()]
        labels = list[str]()
        for text, number in zip(self.texts, self.numbers.tolist(), strict=True):
            labels.append(number_label(number) if text is None else text)
        return labels

    @cached_property
    def low(self) -> float:
        """The least number in a column's profile."""
        return float(self.numbers.min())

    @cached_property
    def high(self) -> float:
        """The largest number in a column's profile."""
        return float(self.numbers.max())

    @cached_property
    def are_integers(self) -> bool:
        """Whether all values in a column's profile are integers."""
        return bool((self.numbers == np.floor(self.numbers)).all())

    @cached_property
    def mean(self) -> float:
        """The mean of the numbers in a column's profile."""
        return float((self.numbers * self.counts).sum() / self.present)

    @cached_property
    def steps(self) -> Floats:
        """The differences of consecutive numbers in a column's profile."""
        return np.diff(self.numbers[self.codes[self.codes < self.values]])


def profile_of(
    name: str, array: pa.Array, *, fields: bool, markers: frozenset[str]
) -> Profile:
    """Return the profile of a column: what its values, counts and order tell.

    Parameters
    ----------
    name, array
        The column's name and values.
    fields
        Whether strings are fields of a text file.
    markers
        Labels that mean missing.
    """
    indices, dictionary = encoded(array)
    if is_number_type(dictionary.type) or (fields and is_text_type(dictionary.type)):
        numbers, texts = _numbers_and_texts(dictionary, markers)
    else:
        numbers = np.full(len(dictionary), np.nan)
        texts = _texts_only(dictionary, markers)
    is_text = np.array([text is not None for text in texts], dtype=np.bool_)
    entries = indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    counts = np.bincount(entries[entries >= 0], minlength=len(dictionary))
    used = (counts > 0) & (is_text | ~np.isnan(numbers))
    beside = _texts_beside_numbers(texts, used & is_text, used & ~is_text)
    used[beside] = False
    return Profile(
        name=name,
        codes=_codes_of_used(used)[entries],
        counts=counts[used],
        missing=len(entries) - int(counts[used].sum()),
        numbers=numbers[used],
        texts=tuple(texts[used]) if (used & is_text).any() else (),
        beside=tuple(texts[beside]),
        form=_form(array.type, dictionary.type),
    )


def _numbers_and_texts(
    dictionary: pa.Array, markers: frozenset[str]
) -> tuple[Floats, NDArray[Any]]:
    """Return for a profile the number of each entry, NaN for missing and texts; the
    text of each, None for numbers.
    """
    parsed = numbers_of(dictionary, markers)
    numbers = np.where(parsed.missing, np.nan, parsed.values)
    texts = np.full(len(dictionary), None, dtype=object)
    for index in np.flatnonzero(parsed.texts).tolist():
        numbers[index] = np.nan
        texts[index] = str(dictionary[index].as_py()).strip()
    return numbers, texts


def _texts_only(dictionary: pa.Array, markers: frozenset[str]) -> NDArray[Any]:
    """Return for a profile the label of each entry, None for those that mean
    missing.
    """
    texts = np.full(len(dictionary), None, dtype=object)
    labels = dictionary.cast(pa.string()).to_pylist()
    texts[:] = [None if label in markers else label for label in labels]
    return texts


def _texts_beside_numbers(
    texts: NDArray[Any], is_text: Booleans, is_number: Booleans
) -> Integers:
    """Return the entries of texts that a profile counts as missing beside numbers.

    An interval such as "10+" is no such text: it is an answer on the numbers' scale.
    """
    nothing = np.zeros(0, dtype=np.int64)
    if np.count_nonzero(is_number) < MIN_NUMBERS_BESIDE_TEXTS:
        return nothing
    entries = np.flatnonzero(is_text)
    if len(entries) <= MIN_VALUES:
        no_intervals = [k for k in entries if not INTERVAL.fullmatch(str(texts[k]))]
        entries = np.array(no_intervals, dtype=np.int64)
    if len(entries) > MAX_TEXTS_BESIDE_NUMBERS:
        return nothing
    return entries


def _codes_of_used(used: Booleans) -> Integers:
    """Return the code of each entry in a profile: used ones in order, then one for all
    others.

    The last element, that of index -1, is the code of null.
    """
    values = np.count_nonzero(used)
    codes = np.where(used, np.cumsum(used) - 1, values)
    return np.append(codes, values)


def _form(kind: pa.DataType, value_kind: pa.DataType) -> str:
    """Return for a profile what types tell of the values: "date", "ordered" or
    nothing.
    """
    if pa.types.is_date(value_kind) or pa.types.is_timestamp(value_kind):
        return "date"
    if pa.types.is_dictionary(kind) and kind.ordered:
        return "ordered"
    return ""
