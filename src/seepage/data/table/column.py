"""One column of a table to codes, called with one Arrow array per batch.

Arrow encodes a batch as indices into a dictionary of its distinct values; each new entry of the
dictionary that occurs is labelled once, and a lookup table gives the codes.  Bytes and booleans
need no encoding: they are indices into the dictionary of all their values, and where they equal
their codes the codes are a view.  Numbers of a binned column are compared with the edges.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from seepage._numerics import Booleans, Codes, Integers
from seepage.data.domain import MISSING, OTHER, Attribute
from seepage.data.table.bins import (
    Edges,
    NoBins,
    NumberSummary,
    binned_attribute,
    bins_of,
    outside_edges,
)
from seepage.data.table.labels import (
    Alphabet,
    Key,
    ManyNumbers,
    Numbers,
    datetime_label,
    field_key,
    integer_key,
    marker_labels,
    number_label,
    numbers_of,
    single_number,
)
from seepage.data.table.options import FEW_NUMBERS, TableOptions
from seepage.errors import DomainError, Setting, TableError, Text

UNSEEN = 2**32 - 1
"""Lookup table entry of a value without a code: all bits set, also in a narrower table."""


BYTES = {
    pa.int8(): pa.array(np.arange(256, dtype=np.uint8).view(np.int8)),
    pa.uint8(): pa.array(np.arange(256, dtype=np.uint8)),
    pa.bool_(): pa.array([False, True]),
}
"""Types of one byte, and their values in the order of their bits."""

BEYOND_FLOATS = "no float equals, and bins need floats"


class Column:
    """State of a column while a table is coded.

    Parameters
    ----------
    name
        Its name.
    options
        The table options.
    fields
        Whether it consists of fields of a text file, which have no type.

    Attributes
    ----------
    binned_by_name
        Whether the mapping `bins` of the options names it.
    rule, given_edges
        The binning rule, and the edges that it gives; empty for other rules.
    edges
        The bin edges; empty while unknown or not binned.
    needs_edges
        Whether it must be binned and the edges are not known yet.
    alphabet
        The values of the codes; of a binned column those of a given attribute.
    """

    def __init__(self, name: str, options: TableOptions, *, fields: bool) -> None:
        self.name = name
        self._options = options
        self.fields = fields
        self.markers = marker_labels(options.markers_of(name))
        self.given = None if options.domain is None else options.domain[name]
        own = None if self.given is None else self.given.catch_all
        self._other = own or OTHER
        self.rule = options.bins_of(name)
        named = isinstance(options.bins, Mapping) and name in options.bins
        self.binned_by_name = named and not isinstance(self.rule, NoBins)
        self.edges = self.given.edges if self.given is not None else ()
        self.given_edges = self.rule.given if isinstance(self.rule, Edges) else ()
        if self.binned_by_name and self.given_edges:
            self.edges = self.given_edges
        self.needs_edges = self.binned_by_name and not self.edges
        self._unbinned: Text | None = None

    def set_edges(self, edges: tuple[float, ...], stray: str | None = None) -> None:
        """Set the bin edges; without edges the values stay categories.

        `stray` is the field, not a number, that prevents binning; None if the column has a single
        number.
        """
        self.edges = edges
        self.needs_edges = False
        if not edges:
            self.rule = NoBins()
            if stray is not None:
                self._unbinned = Text(
                    f"if {stray!r} means missing, say so (", Setting("missing_markers"), "); else"
                )

    def start(self, kind: pa.DataType) -> None:
        """Start with an empty alphabet, for arrays of this Arrow type."""
        values = kind.value_type if pa.types.is_dictionary(kind) else kind
        numeric = self.fields or is_number_type(values) or pa.types.is_null(values)
        if (self.edges or self.needs_edges) and not numeric:
            raise TableError(
                f"column {self.name!r} must be numeric to be binned (",
                Setting("bins"),
                f"), got {kind}",
            )
        given = self.given
        if self.edges and given is None:
            given = binned_attribute(self.name, self.edges, missing=True)
        self._missing_bin = False
        self._values: pa.Array | None = None
        self.alphabet = Alphabet(
            self.name,
            markers=self.markers,
            given=given,
            dropping=self._options.dropping,
            other=self._other,
            few=None if isinstance(self.rule, NoBins) else FEW_NUMBERS,
            max_values=self._options.max_values,
            unbinned=self._unbinned,
        )

    @property
    def size(self) -> int:
        """Alphabet size so far; of a given attribute its own."""
        if self.given is not None:
            return self.given.size
        return len(self.edges) - 1 + self._missing_bin if self.edges else self.alphabet.size

    @property
    def has_missing(self) -> bool:
        """Whether some values found so far are missing."""
        return self._missing_bin or (not self.edges and self.alphabet.missing is not None)

    def attribute(self) -> tuple[Attribute, Integers]:
        """Return the final attribute and the codes of its values; bins may be empty."""
        if self.given is not None or not self.edges:
            return self.alphabet.attribute()
        missing = self._missing_bin and not self._options.dropping
        attribute = binned_attribute(self.name, self.edges, missing=missing)
        return attribute, np.arange(attribute.size)

    def code(self, array: pa.Array, before: int) -> Codes | None:
        """Return the codes of a batch, None if the bin edges that it needs are unknown.

        Parameters
        ----------
        array
            The column of the batch.
        before
            The number of records before the batch, for messages.
        """
        if self.needs_edges:
            return None
        try:
            with readable(self.name, array.type):
                return self._bin_codes(array, before) if self.edges else self._value_codes(array)
        except ManyNumbers:
            self.needs_edges, self._missing_bin = True, self.has_missing
            return None

    def _value_codes(self, array: pa.Array) -> Codes:
        """Return the codes of categories; new ones are added to the alphabet."""
        indices, values = encoded(plain(array))
        if self._values is None or not values.equals(self._values):
            self._values = values
            self._table = np.full(len(values) + 1, UNSEEN, dtype=np.uint32)
            self._identity = 0  # length of the prefix of the table with table[i] == i
        if indices.null_count:  # the last entry of the table stands for nulls
            indices = indices.cast(pa.int32()).fill_null(len(values))
        elif indices.type == pa.uint8() and self._identity:
            same: Codes = indices.to_numpy()
            if same.max() < self._identity:
                return same
        codes = self._take(indices)
        unseen = np.iinfo(codes.dtype).max
        if codes.max() == unseen:
            self._admit(np.unique(indices.to_numpy()[codes == unseen]), values)
            codes = self._take(indices)
        return codes

    def _take(self, indices: pa.Array) -> Codes:
        narrow = self._table.astype(np.min_scalar_type(self.alphabet.size))
        return np.asarray(pc.take(pa.array(narrow), indices, boundscheck=False).to_numpy())

    def _admit(self, entries: NDArray[Any], values: pa.Array) -> None:
        """Give codes to new entries of the lookup table."""
        present = entries[entries < len(values)]
        keys = keys_of(values.take(pa.array(present)), fields=self.fields)
        for entry, key in zip(present, keys, strict=True):
            self._table[entry] = self.alphabet.code(key)
        if len(present) < len(entries):
            self._table[-1] = self.alphabet.code(None)
        differing = self._table[:-1] != np.arange(len(values))
        self._identity = int(np.argmax(differing)) if differing.any() else len(values)

    def _bin_codes(self, array: pa.Array, before: int) -> Codes:
        """Return the codes of the bins of numbers."""
        values, missing, texts = self.numbers(array)
        if texts is not None and self.given is None:
            raise self.not_a_number(int(np.argmax(texts)), before)
        codes = bins_of(values, self.edges[1:-1])
        known = self.alphabet.given
        assert known is not None
        if known.values[0] == MISSING:
            codes += 1
        outside = outside_edges(values, self.edges)
        if texts is not None:
            outside = texts if outside is None else outside | texts
        if outside is not None:
            codes[outside] = self.alphabet.outside
        if missing is not None:
            self._missing_bin = True
            codes[missing] = self.alphabet.code(None)
        return codes

    def numbers(self, array: pa.Array) -> Numbers:
        """Return the numbers of a batch."""
        return numbers_of(plain(array), self.markers)

    def missing_numbers(self, array: pa.Array) -> Booleans | None:
        """Return the mask of the missing numbers of a batch, None if none is."""
        missing = self.numbers(array).missing
        self._missing_bin |= missing is not None
        return missing

    def merge(self, other: "Column") -> None:
        """Add the values that `other` found in another part of the table."""
        self._missing_bin = self.has_missing or other.has_missing
        try:
            if other.needs_edges:
                raise ManyNumbers
            if not (self.needs_edges or self.edges):
                self.alphabet.merge(other.alphabet)
        except ManyNumbers:
            self.needs_edges = True

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, without the lookup table."""
        return {**self.__dict__, "_values": None, "_table": None}

    def edges_of(self, summary: NumberSummary) -> tuple[float, ...]:
        """Return the bin edges by the column's rule; empty if it has no numbers or no bins."""
        if isinstance(self.rule, NoBins) or summary.stray or summary.low > summary.high:
            return ()
        if isinstance(self.rule, Edges):
            return self.rule.given
        if not (math.isfinite(summary.low) and math.isfinite(summary.high)):
            raise TableError(
                f"column {self.name!r} has infinite numbers; give it bins with outer edges -inf "
                "and inf, such as -inf, 0, inf (",
                Setting("bins"),
                ")",
            )
        return self.rule.edges(summary)

    def check_inside(self, codes: Codes, kept: Booleans | None, before: int) -> None:
        """Raise if a kept record has a value outside the domain or bins; `kept` None means all."""
        known = self.alphabet.given
        if known is None or codes.max() < known.size:
            return
        outside = codes >= known.size if kept is None else (codes >= known.size) & kept
        if not outside.any():
            return
        row = int(np.argmax(outside))
        where = f"record {before + row + 1:,}: column {self.name!r}"
        if codes[row] == known.size:
            raise DomainError(
                f"{where} is missing, and the domain has no category for missing values; drop such "
                "records"
            )
        if self.given is not None:
            raise DomainError(f"{where} has a value outside the domain")
        low, high = number_label(self.edges[0]), number_label(self.edges[-1])
        raise TableError(
            f"{where} is outside its bins, which reach from {low} to {high}; use -inf and inf "
            "as the outer edges"
        )

    def not_a_number(self, position: int, before: int) -> TableError:
        """Return the error for a value that is to be binned and is not a number."""
        where = f"record {before + position + 1:,}: column {self.name!r}"
        if self.fields:
            return TableError(
                f"{where} must be a number to be binned; if this value means missing, list it (",
                Setting("missing_markers"),
                ")",
            )
        return TableError(f"{where} is a number that {BEYOND_FLOATS}")


@contextmanager
def readable(name: str, kind: pa.DataType) -> Iterator[None]:
    """Turn errors of reading a column into a TableError of one line that names it."""
    try:
        yield
    except pa.ArrowNotImplementedError:
        raise TableError(
            f"column {name!r} must hold text, numbers, dates or booleans, got {kind}; drop it (",
            Setting("drop"),
            ") or turn it into text",
        ) from None
    except UnicodeDecodeError:
        raise TableError(f"column {name!r} holds text that is not UTF-8") from None


def is_number_type(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is numeric; booleans are not."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def is_text_type(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is a string."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def plain(array: pa.Array) -> pa.Array:
    """Return an array in one of the types that are labelled, or a dictionary of such.

    Extension types and views of strings become strings, half-precision floats single ones, short
    decimals longer ones, and the null type float64, all missing.
    """
    if pa.types.is_dictionary(array.type):
        values = plain(array.dictionary)
        same = values is array.dictionary
        return array if same else pa.DictionaryArray.from_arrays(array.indices, values)
    if isinstance(array, pa.ExtensionArray) and is_text_type(array.type.storage_type):
        return array.storage
    if pa.types.is_null(array.type):
        return array.cast(pa.float64())
    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    if pa.types.is_decimal(array.type) and array.type.bit_width < 128:
        return array.cast(pa.decimal128(array.type.precision, array.type.scale))
    return array.cast(pa.float32()) if pa.types.is_float16(array.type) else array


def encoded(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return an array as indices and the dictionary of its values."""
    if array.type in BYTES:
        bits = array.cast(pa.uint8()) if array.type == pa.bool_() else array.view(pa.uint8())
        return bits, BYTES[array.type]
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    return array.indices, array.dictionary


def keys_of(values: pa.Array, *, fields: bool) -> Iterable[Key]:
    """Return the keys of values; `fields` says that strings are fields of a text file."""
    kind = values.type
    if is_text_type(kind):
        return map(field_key, values.to_pylist()) if fields else values.to_pylist()
    if pa.types.is_decimal(kind):
        return (None if entry is None else field_key(str(entry)) for entry in values.to_pylist())
    if pa.types.is_boolean(kind):
        return (None if entry is None else str(entry).lower() for entry in values.to_pylist())
    if pa.types.is_integer(kind):
        return (None if entry is None else integer_key(entry) for entry in values.to_pylist())
    if pa.types.is_floating(kind):
        number = single_number if pa.types.is_float32(kind) else float
        numbers = values.to_numpy(zero_copy_only=False)
        return (None if np.isnan(entry) else number(entry) for entry in numbers)
    if pa.types.is_date(kind) or pa.types.is_time(kind) or pa.types.is_timestamp(kind):
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            values = values.cast(pa.timestamp(kind.unit, "UTC"))
        texts = values.cast(pa.string()).to_pylist()
        return (None if text is None else datetime_label(text) for text in texts)
    raise pa.ArrowNotImplementedError(f"no keys of {kind}")
