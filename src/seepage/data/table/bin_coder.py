"""`BinCoder`: columns of numbers to the codes of their bins."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seepage._numerics import Booleans, Codes, Integers
from seepage.data.domain import MISSING, Attribute
from seepage.data.table.arrow_numbers import code_type, numbers_of
from seepage.data.table.bins import binned_attribute
from seepage.data.table.labels import OutsideDomain

FEW_EDGES = 100
"""Maximum number of edges for which comparing with each is faster than a binary search."""


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

    def __post_init__(self) -> None:
        self.outside: int | None = None
        self._any_missing = False
        self._plain = binned_attribute(self.name, self.edges, missing=False)
        self._with_missing = self.given or binned_attribute(self.name, self.edges, missing=True)
        values = self._with_missing.values
        self._bin_codes = np.flatnonzero([value != MISSING for value in values])
        if MISSING in values:
            self._missing_code: int | None = values.index(MISSING)
        else:
            self._missing_code = len(values) if self.dropping else None

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
        values, missing = numbers_of(array, self.markers)
        outside = self._rows_outside(values, missing)
        codes = _bins_of(values, self.edges[1:-1])
        if self._bin_codes[-1] >= len(self._bin_codes):
            codes = self._bin_codes[codes].astype(codes.dtype)
        if missing is not None:
            codes[missing] = self._admit_missing(missing)
        if outside is not None:
            codes[outside] = self._admit_outside(outside)
        return codes

    def _admit_missing(self, missing: Booleans) -> int:
        if self._missing_code is None:
            raise OutsideDomain(int(np.argmax(missing)), missing=True)
        self._any_missing = True
        return self._missing_code

    def _admit_outside(self, outside: Booleans) -> int:
        if not self.dropping:
            raise OutsideDomain(int(np.argmax(outside)))
        self.outside = self._with_missing.size + 1
        return self.outside

    def _rows_outside(self, values: NDArray[Any], missing: Booleans | None) -> Booleans | None:
        """Return the mask of numbers outside the edges, None if all are inside."""
        present = values if missing is None else values[~missing]
        if not len(present) or not self._outside(np.array([present.min(), present.max()])).any():
            return None
        outside = self._outside(values)
        return outside if missing is None else outside & ~missing

    def _outside(self, values: NDArray[Any]) -> Booleans:
        low, high = self.edges[0], self.edges[-1]
        below = values < _comparable(low, values.dtype)
        return np.asarray(below | (values > _comparable(high, values.dtype, up=False)))


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
