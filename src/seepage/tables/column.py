"""One column of a table to codes, called with one Arrow array per batch.

Arrow encodes a batch as indices into a dictionary of its distinct values; each new
entry of the dictionary that occurs is labelled once, and a lookup table gives the
codes.  Bytes and booleans need no encoding: they are indices into the dictionary of all
their values, and where they equal their codes the codes are a view.  Numbers of a
binned column are compared with the edges.

A value is identified by its key: a number, a string, or None if missing.  Its label is
a string; two values are the same category if and only if their labels are equal, for
every engine and format.
"""

import math
from collections.abc import Iterable, Mapping
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from seepage._core.arrays import Booleans, Codes, Integers
from seepage._core.errors import DomainError, Setting, TableError, Text
from seepage.channel.domain import ALL_OTHERS, MISSING, Attribute
from seepage.tables.arrow_types import (
    can_be_coded,
    is_number_type,
    is_text_type,
    plain_array,
    readable,
)
from seepage.tables.bins import NO_BINS, Edges, binned_attribute, bins_of
from seepage.tables.labels import field_key, number_label, numbers_of, single_number
from seepage.tables.number_summary import NumberSummary
from seepage.tables.table_options import FEW_NUMBERS, TableOptions

Key: TypeAlias = float | str | None


UNSEEN = 2**32 - 1
"""Lookup table entry of a value without a code: all bits set, also in a narrower
table."""


PARTITION_STRIDE = 2**40
"""Records of a Spark DataFrame have no order: partition p begins with index (p + 1)
2^40."""


class Column:
    """State of a column while a table is coded.

    Values of a given attribute have its codes; k = `given.size` means missing without a
    category, k + 1 any other value without a code.  Values that are found have the
    codes 0, 1, ...

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
    named
        Whether the mapping `bins` of the options names it: then two numbers suffice to
        bin it.
    edges
        The bin edges; empty while unknown or not binned.
    needs_edges
        Whether it has too many numbers for categories and the edges are not known yet.
    has_missing
        Whether some values so far are missing.
    """

    def __init__(self, name: str, options: TableOptions, *, fields: bool) -> None:
        """Prepare to code a column by its options."""
        self.name = name
        self.fields = fields
        self._options = options
        self.markers = marker_labels(options.markers_of(name))
        self._declared: Attribute | None = None
        self.edges: tuple[float, ...] = ()
        if options.domain is not None:
            self._declared = options.domain[name].as_coded
            self.edges = self._declared.edges
            if self.edges:  # of numbers, what is merged by name means missing
                merged = {value for value, _ in self._declared.merged}
                self.markers |= merged - {ALL_OTHERS}
        self._rule = options.bins_of(name)
        in_mapping = isinstance(options.bins, Mapping) and name in options.bins
        self.named = in_mapping and self._rule != NO_BINS
        if self.named and isinstance(self._rule, Edges):
            self.edges = self._rule.given
        self._stray: str | None = None
        self.reset()

    def reset(self) -> None:
        """Forget the values found in the column."""
        self.needs_edges = False
        self.has_missing = False
        self._keys: list[Key] = []
        self._texts = 0
        self._seen: set[int] = set()
        self._values: pa.Array | None = None
        self._known = self._declared
        if self.edges and self._declared is None:
            self._known = binned_attribute(self.name, self.edges, missing=True)
        self._codes: dict[str, int] = {}
        if self._known is not None:
            self._take_codes_of(self._known)

    def _take_codes_of(self, known: Attribute) -> None:
        """Set the code of every value of the column's known attribute, and that of all
        other values.
        """
        for code, value in enumerate(known.values):
            self._codes[value] = code
        for value, label in known.merged:
            if value != ALL_OTHERS:
                self._codes[value] = self._codes[label]
        other = None
        if known.catch_all is not None:
            other = self._codes[known.catch_all]
        self._outside = known.size + 1 if other is None else other
        without = self._outside
        if self._options.dropping or other is None:
            without = known.size
        self._codes.setdefault(MISSING, without)

    def set_edges(self, summary: NumberSummary) -> None:
        """Set the column's bin edges by its rule; if some value is not a number there
        are none.
        """
        self._stray = summary.stray
        if summary.stray is not None:
            self._rule = NO_BINS
        elif isinstance(self._rule, Edges):
            self.edges = self._rule.given
        elif not (math.isfinite(summary.low) and math.isfinite(summary.high)):
            raise TableError(
                f"column {self.name!r} has infinite numbers; give it bins with outer "
                "edges -inf and inf, such as -inf, 0, inf (",
                Setting("bins"),
                ")",
            )
        else:
            self.edges = self._rule.edges(summary)
        self.needs_edges = False

    @property
    def size(self) -> int:
        """Alphabet size of the column so far; of a given attribute its own."""
        if self._declared is not None:
            return self._declared.size
        if not self.edges:
            return len(self._keys)
        bins = len(self.edges) - 1
        return bins + self.has_missing

    def attribute(self) -> tuple[Attribute, Integers]:
        """Return the column's final attribute and the codes of its values; bins may be
        empty.

        Numbers are ascending, strings sorted, and missing is last.  If records with
        missing values are dropped, it has the values seen in the others.
        """
        dropping = self._options.dropping
        attribute = self._declared
        if self.edges and attribute is None:
            missing = self.has_missing and not dropping
            attribute = binned_attribute(self.name, self.edges, missing=missing)
        if attribute is not None:
            return attribute, np.arange(attribute.size)
        codes = list(range(len(self._keys)))
        if dropping:
            codes = [code for code in codes if self._is_seen(code)]
        codes.sort(key=lambda code: sort_key(self._keys[code]))
        values = tuple(key_label(self._keys[code]) for code in codes)
        return Attribute(self.name, values), np.array(codes, dtype=np.int64)

    def _is_seen(self, code: int) -> bool:
        """Return whether a record that is not dropped has a value of the column."""
        return self._keys[code] is not None and code in self._seen

    def code(self, array: pa.Array, before: int) -> Codes | None:
        """Return the codes of a column's batch, None if the bin edges that it needs are
        unknown.

        Parameters
        ----------
        array
            The column of the batch.
        before
            The number of records before the batch, for messages.
        """
        numeric = self._may_hold_numbers(array.type)
        if self._declared is None and (self.edges or self.named) and not numeric:
            raise TableError(
                f"column {self.name!r} must be numeric to be binned (",
                Setting("bins"),
                f"), got {array.type}",
            )
        with readable(self.name, array.type):
            if self.edges and numeric:
                return self._bin_codes(array, before)
            codes = None if self.needs_edges else self._value_codes(array, before)
            if codes is None:
                self.has_missing |= bool(numbers_of(array, self.markers).missing.any())
            return codes

    def _may_hold_numbers(self, kind: pa.DataType) -> bool:
        """Return whether a column of a type can be binned: of a domain that was given
        also texts.
        """
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if self._declared is not None and is_text_type(kind):
            return True
        return self.fields or is_number_type(kind) or pa.types.is_null(kind)

    def _value_codes(self, array: pa.Array, before: int) -> Codes | None:
        """Return the codes of a column of categories; None if there are too many
        numbers.
        """
        indices, values = encoded(array)
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
        unseen = codes == np.iinfo(codes.dtype).max
        if unseen.any():
            self._admit(indices.to_numpy(), unseen, values, before)
            codes = self._take(indices)
        return None if self.needs_edges else codes

    def _take(self, indices: pa.Array) -> Codes:
        """Return the codes of a column's dictionary indices, by its lookup table."""
        sizes = len(self._keys) if self._known is None else self._known.size + 2
        narrow = self._table.astype(np.min_scalar_type(sizes))
        return np.asarray(
            pc.take(pa.array(narrow), indices, boundscheck=False).to_numpy()
        )

    def _admit(
        self, indices: NDArray[Any], unseen: Booleans, values: pa.Array, before: int
    ) -> None:
        """Give codes to the entries of the column's lookup table that are unseen."""
        entries = np.unique(indices[unseen])
        present = entries[entries < len(values)]
        taken = values.take(pa.array(present))
        keys = keys_of(taken, fields=self.fields)
        texts: Iterable[str | None] = repeat(None, len(present))
        if is_text_type(values.type):
            texts = taken.to_pylist()
        for entry, key, text in zip(present, keys, texts, strict=True):
            if self._known is None:
                self._table[entry] = self._code_of(key)
            else:
                self._table[entry] = self._known_code(key, text)
            if self.named and self._texts:
                raise self.not_a_number(int(np.argmax(indices == entry)), before)
            if self.needs_edges:
                return
        if len(present) < len(entries):
            self._table[-1] = self._code_of(None)
        differing = self._table[:-1] != np.arange(len(values))
        self._identity = int(np.argmax(differing)) if differing.any() else len(values)

    def _known_code(self, key: Key, text: str | None) -> int:
        """Return the code of a value of a column's known attribute: that of its text if
        it is one, else of its label, else of the label of its text in a text file.

        Clients code answers so [`docs/wire.md`], whether the plan's table was a frame,
        whose texts are values as they are, or a text file.
        """
        labels = [key_label(key)]
        if text is not None:
            labels = [text, key_label(key), key_label(field_key(text))]
        for label in labels:
            if label in self.markers:
                self.has_missing = True
                return self._codes[MISSING]
            if label in self._codes:
                return self._codes[label]
        return self._outside

    def _code_of(self, key: Key) -> int:
        """Return the code of a value of the column; a value that is found gets the next
        code.
        """
        if self._known is not None:
            return self._known_code(key, None)
        label = key_label(key)
        if label in self.markers:
            label = MISSING
            key = None
        self.has_missing |= key is None
        if label not in self._codes:
            self._codes[label] = len(self._keys)
            self._keys.append(key)
            self._texts += isinstance(key, str)
            self._check_number_of_values()
        return self._codes[label]

    def _check_number_of_values(self) -> None:
        """Note that the column has too many numbers and needs bin edges, and raise for
        too many other values.
        """
        values = len(self._keys) - (MISSING in self._codes)
        most = self._options.max_values
        if values > self._most_numbers() and not self._texts:
            self.needs_edges = True
        elif values > most:
            raise TableError(
                f"column {self.name!r} has more than {most:,} values; ",
                self._hint_for_many_values(),
            )

    def _most_numbers(self) -> float:
        """Return the maximum number of a column's distinct numbers that are not
        binned.
        """
        if self._rule == NO_BINS:
            return math.inf
        return 1 if self.named else FEW_NUMBERS

    def _hint_for_many_values(self) -> Text:
        """Return what to do about a column of too many values, for its error."""
        drop = Text("drop it (", Setting("drop"), ") or raise the limit (")
        hint = Text(drop, Setting("max_values"), ")")
        if self._stray is not None:
            means = f"if {self._stray!r} means missing, say so ("
            return Text(means, Setting("missing_markers"), "); else ", hint)
        if not self._texts:
            return Text("bin it (", Setting("bins"), "), ", hint)
        return hint

    def _bin_codes(self, array: pa.Array, before: int) -> Codes:
        """Return the codes of the bins of a column of numbers."""
        values, missing, texts = numbers_of(array, self.markers)
        if self._declared is None and texts.any():
            raise self.not_a_number(int(np.argmax(texts)), before)
        assert self._known is not None
        first = int(self._known.values[0] == MISSING)
        codes = bins_of(values, self.edges, first, self._outside)
        if texts.any():
            codes[texts] = self._text_codes(plain_array(array).filter(pa.array(texts)))
        if missing.any():
            codes[missing] = self._code_of(None)
        return codes

    def _text_codes(self, array: pa.Array) -> list[int]:
        """Return the codes of a column's texts that are no numbers, for given bins."""
        texts = array.cast(pa.large_string()).to_pylist()
        codes = {text: self._known_code(field_key(text), text) for text in set(texts)}
        return [codes[text] for text in texts]

    def missing_in(self, array: pa.Array, codes: Codes | None) -> Booleans:
        """Return the mask of the missing values of a column's batch, from its codes if
        it has any.
        """
        if codes is None:
            return numbers_of(array, self.markers).missing
        return np.asarray(codes == self._codes.get(MISSING, UNSEEN))

    def see(self, codes: Codes) -> None:
        """Note the codes of the column that records have that are not dropped."""
        if self._known is None and len(self._seen) < len(self._keys):
            self._seen.update(np.flatnonzero(np.bincount(codes)).tolist())

    def merge(self, other: "Column") -> None:
        """Add the values that the same column has in another part of the table."""
        self.has_missing |= other.has_missing
        self.needs_edges |= other.needs_edges
        if not self.needs_edges and self._known is None:
            codes = [self._code_of(key) for key in other._keys]
            self._seen.update(codes[code] for code in other._seen)

    def __getstate__(self) -> dict[str, Any]:
        """Return the column to pickle, without the lookup table."""
        return {**self.__dict__, "_values": None, "_table": None}

    def check_inside(self, codes: Codes, kept: Booleans | None, before: int) -> None:
        """Raise if a kept record has a value outside the column's domain or bins;
        `kept` None means all.
        """
        if self._known is None or codes.max() < self._known.size:
            return
        outside = codes >= self._known.size
        if kept is not None:
            outside &= kept
        if not outside.any():
            return
        row = int(np.argmax(outside))
        name = record_name(before + row)
        why = self._why_outside(int(codes[row]) == self._known.size)
        raise DomainError(f"{name}: column {self.name!r} {why}")

    def _why_outside(self, is_missing: bool) -> str:
        """Return why a value of the column has no code, in words."""
        if is_missing:
            return (
                "is missing, and the domain has no category for missing values; drop "
                "such records"
            )
        if self.edges:
            low = number_label(self.edges[0])
            high = number_label(self.edges[-1])
            return (
                f"is outside its bins, which reach from {low} to {high}; use -inf and "
                "inf as the outer edges"
            )
        return "has a value outside the domain"

    def not_a_number(self, position: int, before: int) -> TableError:
        """Return the error for a value of the column that is to be binned and is not a
        number.
        """
        return TableError(
            f"{record_name(before + position)}: column {self.name!r} must be a number "
            "that floats can tell from others to be binned; if this value means "
            "missing, list it (",
            Setting("missing_markers"),
            ")",
        )


def record_name(index: int) -> str:
    """Return the name of a record in messages on a column, from its index in the
    table.
    """
    partition = index // PARTITION_STRIDE - 1
    if partition < 0:
        return f"record {index + 1:,}"
    return f"a record of partition {partition}"


# Arrow arrays -------------------------------------------------------------------------

BYTES = {
    pa.int8(): pa.array(np.arange(256, dtype=np.uint8).view(np.int8)),
    pa.uint8(): pa.array(np.arange(256, dtype=np.uint8)),
    pa.bool_(): pa.array([False, True]),
}
"""Types of one byte, and their values in the order of their bits."""


def encoded(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return a column's array as indices and the dictionary of its values, in a type
    that is labelled.
    """
    array = plain_array(array)
    if array.type in BYTES:
        values = BYTES[array.type]
        if array.type == pa.bool_():
            return array.cast(pa.uint8()), values
        return array.view(pa.uint8()), values
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    return array.indices, array.dictionary


def keys_of(values: pa.Array, *, fields: bool) -> Iterable[Key]:
    """Return the keys by which a column codes values; `fields` says that strings are
    fields of a text file.

    A value that is neither a string nor a float means what its text means in such a
    file.
    """
    kind = values.type
    if pa.types.is_floating(kind):
        numbers = values.to_numpy(zero_copy_only=False)
        return map(_float_key, numbers)
    if is_text_type(kind) and not fields:
        return list(values.to_pylist())
    if not can_be_coded(kind):
        raise pa.ArrowNotImplementedError(f"no keys of {kind}")
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        values = values.cast(pa.timestamp(kind.unit, "UTC"))
    return map(field_key, values.cast(pa.string()).to_pylist())


def _float_key(number: "np.floating[Any]") -> float | None:
    """Return the key by which a column codes a float; None for NaN."""
    return None if np.isnan(number) else single_number(number)


def key_label(key: Key) -> str:
    """Return the label of a column's key: the value's name in the domain."""
    if key is None:
        return MISSING
    if isinstance(key, str):
        return key
    return number_label(key)


def sort_key(key: Key) -> tuple[int, float, str]:
    """Return the sort key of a column's values: numbers ascending, then strings,
    missing last.
    """
    if key is None:
        return 2, 0.0, ""
    if isinstance(key, str):
        return 1, 0.0, key
    return 0, key, ""


def marker_labels(markers: Iterable[str]) -> frozenset[str]:
    """Return the labels that mean missing in a column, from the fields that
    `missing_markers` lists.
    """
    return frozenset({MISSING, *(key_label(field_key(marker)) for marker in markers)})
