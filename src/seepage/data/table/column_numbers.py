"""Numbers of a column's batches as NumPy arrays, with masks of what is missing or no number."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from seepage._numerics import Booleans
from seepage.data.table.labels import EXACT, field_key, is_number


class Numbers(NamedTuple):
    """The numbers of a batch, undefined where they are missing or the field is a text.

    `missing` and `texts` are masks, None if no entry is.
    """

    values: NDArray[Any]
    missing: Booleans | None
    texts: Booleans | None


def numbers_of(array: pa.Array, markers: frozenset[str]) -> Numbers:
    """Return the numbers of a numeric array, or of the fields of a text file.

    Nulls, NaN and the `markers` are missing.  What floats cannot represent is a text.
    """
    if pa.types.is_dictionary(array.type):
        array = array.dictionary.take(array.indices)
    texts = None
    if pa.types.is_decimal(array.type) or _beyond_floats(array):
        array = array.cast(pa.string())
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        array, texts = _parsed(array, markers)
    missing = ~present(array) if array.null_count else None
    values = array.fill_null(0).to_numpy(zero_copy_only=False)
    marked = [values == key for key in map(field_key, markers) if is_number(key)]
    if values.dtype.kind == "f" and len(values) and np.isnan(values.max()):
        marked.append(np.isnan(values))
    for mask in marked:
        if mask.any():
            missing = mask if missing is None else missing | mask
    if missing is not None and texts is not None:
        missing = missing & ~texts
    return Numbers(values, missing, texts)


def _beyond_floats(array: pa.Array) -> bool:
    """Return whether an array has integers that floats may not represent."""
    if array.type not in (pa.int64(), pa.uint64()) or array.null_count == len(array):
        return False
    low, high = pc.min_max(array).as_py().values()
    return bool(max(-low, high) > EXACT)


def _parsed(fields: pa.Array, markers: frozenset[str]) -> tuple[pa.Array, Booleans | None]:
    """Return the numbers of fields, null where missing, and the mask of those that are texts."""
    try:
        numbers = pc.utf8_trim_whitespace(fields).cast(pa.float64())
        if np.abs(numbers.fill_null(0).to_numpy()).max(initial=0) < EXACT:
            return numbers, None
    except pa.ArrowInvalid:
        pass
    encoded = fields.dictionary_encode()
    keys = [field_key(text) for text in encoded.dictionary.to_pylist()]
    is_text = [isinstance(key, str) and key not in markers for key in keys]
    floats = pa.array([key if is_number(key) else None for key in keys], pa.float64())
    texts = np.isin(encoded.indices.fill_null(-1).to_numpy(), np.flatnonzero(is_text))
    return floats.take(encoded.indices), texts if texts.any() else None


def present(array: pa.Array) -> Booleans:
    """Return which entries of an Arrow array are not null."""
    return np.asarray(pc.is_valid(array).to_numpy(zero_copy_only=False))
