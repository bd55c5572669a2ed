"""Columns of numbers, or of fields of text files: as arrays without loss, and as codes of bins."""

import math
from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from seepage._numerics import Booleans, Codes, Integers
from seepage.data.domain import MISSING, Attribute
from seepage.data.table.bins import binned_attribute
from seepage.data.table.coders import cast_or_none, exact_numbers, is_number_type, present
from seepage.data.table.labels import (
    EXACT,
    Number,
    OutsideDomain,
    code_type,
    field_key,
    is_number,
    key_label,
    number_label,
)

FEW_EDGES = 100
"""Maximum number of edges for which comparing with each is faster than a binary search."""


class NotANumber(Exception):  # noqa: N818
    """A field of a text file that is not a number.

    Attributes
    ----------
    position
        Its index in the batch.
    word
        The field's text.
    """

    def __init__(self, position: int, word: str) -> None:
        super().__init__(position, word)
        self.position = position
        self.word = word


class Numbers(NamedTuple):
    """The numbers of a batch, undefined where `missing` is true; None if none is missing."""

    values: NDArray[Any]
    missing: Booleans | None


@dataclass(eq=False)
class BinCoder:
    """Codes each number by its bin.

    Parameters
    ----------
    name, edges
        The column's name and its bin edges.
    markers
        Labels that mean missing.
    given
        The attribute of a given domain, whose values are the bins.
    dropping
        Whether records with missing values are dropped.
    other
        The value of the given attribute that stands for texts, for numbers outside the edges, and
        for missing values if it has no category for them; None for none.

    Attributes
    ----------
    outside
        Temporary code of numbers outside the edges, until it is known whether their records are
        dropped (`Column.check_inside`); None if none occurred.
    """

    name: str
    edges: tuple[float, ...]
    _: KW_ONLY
    markers: frozenset[str]
    given: Attribute | None = None
    dropping: bool = False
    other: str | None = None

    def __post_init__(self) -> None:
        self.outside: int | None = None
        self._other: int | None = None
        if self.given is not None and self.other is not None:
            self._other = self.given.code(self.other)
        self._any_missing = False
        self._plain = binned_attribute(self.name, self.edges, missing=False)
        self._with_missing = self.given or binned_attribute(self.name, self.edges, missing=True)
        values = self._with_missing.values
        self._bin_codes = np.flatnonzero([value != MISSING for value in values])
        if MISSING in values:
            self._missing_code: int | None = values.index(MISSING)
        else:
            self._missing_code = len(values) if self.dropping else self._other

    @property
    def missing(self) -> int | None:
        """The code of missing values, None if none occurred."""
        return self._missing_code if self._any_missing else None

    @property
    def size(self) -> int:
        """The number of codes so far."""
        return self.attribute()[0].size if self.outside is None else self.outside + 1

    def attribute(self, seen: Booleans | None = None) -> tuple[Attribute, Integers]:
        """Return the final attribute with all bins, empty ones included, and its codes 0, 1, ..."""
        kept = self._any_missing and seen is None
        attribute = self.given or (self._with_missing if kept else self._plain)
        return attribute, np.arange(attribute.size, dtype=np.int64)

    def code(self, array: pa.Array) -> Codes:
        """Return the code of each entry's bin."""
        texts = None if self._other is None else _text_fields(array, self.markers)
        if texts is not None:
            array = pc.if_else(pa.array(texts), pa.scalar(None, array.type), array)
        values, missing = numbers_of(array, self.markers)
        outside = self._rows_outside(values, missing)
        codes = _bins_of(values, self.edges[1:-1])
        if self._bin_codes[-1] >= len(self._bin_codes):
            codes = self._bin_codes[codes].astype(codes.dtype)
        if missing is not None:
            if self._missing_code is None:
                raise OutsideDomain(int(np.argmax(missing)), missing=True)
            self._any_missing = True
            codes[missing] = self._missing_code
        if texts is not None:
            codes[texts] = self._outside_code(texts)
        if outside is not None:
            codes[outside] = self._outside_code(outside)
        return codes

    def _outside_code(self, outside: Booleans) -> int:
        """Return the code of texts, and of numbers outside the edges; raise if there is none."""
        if self._other is not None:
            return self._other
        if not self.dropping:
            raise OutsideDomain(int(np.argmax(outside)))
        self.outside = self._with_missing.size + 1
        return self.outside

    def _rows_outside(self, values: NDArray[Any], missing: Booleans | None) -> Booleans | None:
        """Return the mask of numbers outside the edges, None if all are inside."""
        low = _comparable(self.edges[0], values.dtype)
        high = _comparable(self.edges[-1], values.dtype, up=False)
        present = values if missing is None else values[~missing]
        if not len(present) or (present.min() >= low and present.max() <= high):
            return None
        outside = (values < low) | (values > high)
        return np.asarray(outside if missing is None else outside & ~missing)


def _text_fields(array: pa.Array, markers: frozenset[str]) -> Booleans | None:
    """Return which fields are neither numbers nor missing-value markers; None if there are none."""
    if is_number_type(array.type):
        return None
    encoded = array.dictionary_encode()
    keys = [field_key(text) for text in encoded.dictionary.to_pylist()]
    is_text = [not (k is None or is_number(k) or key_label(k) in markers) for k in keys]
    texts = np.isin(encoded.indices.fill_null(-1).to_numpy(), np.flatnonzero(is_text))
    return texts if texts.any() else None


def _bins_of(values: NDArray[Any], inner: tuple[float, ...]) -> Codes:
    """Return the bin of each value: the number of inner edges that are at most the value."""
    edges = [_comparable(edge, values.dtype) for edge in inner]
    if len(edges) > FEW_EDGES:
        indices = np.searchsorted(_in_type(edges, values.dtype), values, side="right")
        return np.asarray(indices.astype(code_type(len(edges) + 4)))
    codes = np.zeros(len(values), dtype=np.uint8)
    for edge in edges:
        codes += (values >= edge).view(np.uint8)
    return codes


def _in_type(edges: list[Any], kind: np.dtype[Any]) -> NDArray[Any]:
    """Return edges as an array of the values' dtype, without those above the dtype's maximum."""
    if kind.kind == "f":
        return np.array(edges, dtype=kind)
    limits = np.iinfo(kind)
    return np.array([max(edge, limits.min) for edge in edges if edge <= limits.max], dtype=kind)


def _comparable(edge: float, kind: np.dtype[Any], *, up: bool = True) -> Any:
    """Return an edge in the dtype of the values, so that comparisons need no conversion.

    For integers x >= edge means x >= ceil(edge), and x > edge means x > floor(edge).
    """
    if kind.kind == "f":
        return kind.type(edge)
    if not math.isfinite(edge):
        return edge
    return math.ceil(edge) if up else math.floor(edge)


def numbers_of(array: pa.Array, markers: frozenset[str]) -> Numbers:
    """Return the numbers of a numeric array, or of the fields of a text file.

    Nulls, NaN and numbers among the `markers` are missing.  A field that is not a number raises
    `NotANumber`.
    """
    marked = [key for key in map(field_key, markers) if is_number(key)]
    if pa.types.is_decimal(array.type):
        numeric, marked = _plain_numbers(_unmarked(array, marked)), []
    elif is_number_type(array.type):
        numeric = _plain_numbers(array)
    elif any(isinstance(key, Decimal) or abs(key) >= EXACT for key in marked):
        numeric, marked = _parsed_one_by_one(array, markers), []
    else:
        numeric = _parsed(array, markers)
    missing = None
    if numeric.null_count:
        missing = ~present(numeric)
        numeric = numeric.fill_null(0)
    values = numeric.to_numpy(zero_copy_only=True)
    for mask in _missing_masks(values, marked):
        missing = mask if missing is None else missing | mask
    return Numbers(values, missing)


def _plain_numbers(array: pa.Array) -> pa.Array:
    """Return numbers in a type of NumPy: decimals that are not integers as the nearest floats."""
    numbers = exact_numbers(array)
    if not pa.types.is_decimal(numbers.type):
        return numbers
    integers = cast_or_none(numbers, pa.uint64()) if numbers.type.scale <= 0 else None
    # through strings: Arrow's direct cast of decimals to floats is wrong by one ulp in 1 of 7 cases
    return numbers.cast(pa.string()).cast(pa.float64()) if integers is None else integers


def _unmarked(decimals: pa.Array, marked: list[Number]) -> pa.Array:
    """Return decimals with the marked numbers replaced by null."""
    for key in marked:
        try:
            marker = pa.scalar(Decimal(number_label(key)), decimals.type)
        except pa.ArrowInvalid:
            continue  # the type cannot represent the marker
        decimals = pc.if_else(pc.equal(decimals, marker), pa.scalar(None, decimals.type), decimals)
    return decimals


def _missing_masks(values: NDArray[Any], marked: list[Number]) -> list[Booleans]:
    """Return one nonempty mask for NaN and for each marked number that occurs."""
    masks = []
    if values.dtype.kind == "f" and len(values) and np.isnan(values.max()):
        masks.append(np.isnan(values))
    for key in marked:
        if isinstance(key, float) or (isinstance(key, int) and values.dtype.kind != "f"):
            masks.append(values == key)
        elif isinstance(key, int) and float(key) == key:
            masks.append(values == np.float64(key))
    return [mask for mask in masks if mask.any()]


def _parsed(fields: pa.Array, markers: frozenset[str]) -> pa.Array:
    """Return fields as the numbers of `field_key`: floats, integers from 2^53 on as integers."""
    trimmed = pc.utf8_trim_whitespace(fields)
    numeric = cast_or_none(trimmed, pa.float64())
    if numeric is None:
        return _parsed_one_by_one(fields, markers)
    if numeric.null_count == len(numeric):
        return numeric
    if pc.any(pc.is_nan(numeric)).as_py():
        return _parsed_one_by_one(fields, markers)
    if pc.max(pc.abs(numeric)).as_py() < EXACT:
        return numeric
    integers = (cast_or_none(trimmed, kind) for kind in (pa.int64(), pa.uint64()))
    return next((array for array in integers if array is not None), numeric)


def _parsed_one_by_one(fields: pa.Array, markers: frozenset[str]) -> pa.Array:
    """Return fields as numbers, each distinct field parsed by `field_key`."""
    encoded = fields.dictionary_encode()
    keys = [field_key(text) for text in encoded.dictionary.to_pylist()]
    keys = [None if key is None or key_label(key) in markers else key for key in keys]
    words = [entry for entry, key in enumerate(keys) if isinstance(key, str)]
    if words:
        entries = encoded.indices.fill_null(-1).to_numpy()
        position = int(np.argmax(np.isin(entries, words)))
        raise NotANumber(position, str(keys[entries[position]]))
    return pc.take(_narrowest([key for key in keys if not isinstance(key, str)]), encoded.indices)


def _narrowest(numbers: list[Number | None]) -> pa.Array:
    """Return numbers as floats; if all are integers and some reach 2^53, as int64 or uint64."""
    integers = [number for number in numbers if isinstance(number, int)]
    if (
        len(integers) == len(numbers) - numbers.count(None)
        and max(map(abs, integers), default=0) >= EXACT
    ):
        for kind in (np.int64, np.uint64):
            if np.iinfo(kind).min <= min(integers) and max(integers) <= np.iinfo(kind).max:
                return pa.array(numbers, pa.from_numpy_dtype(kind))
    return pa.array([None if number is None else float(number) for number in numbers], pa.float64())
