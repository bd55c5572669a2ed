"""One column of a scan: its bins, its coder, and the errors for values that have no code."""

import math
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seepage._numerics import Booleans, Integers
from seepage.data.domain import MISSING, Attribute
from seepage.data.table.bins import Edges, Keep, bin_labels
from seepage.data.table.coders import CategoryCoder, Codes, category_coder, code_type
from seepage.data.table.labels import (
    Alphabet,
    FoundAlphabet,
    GivenAlphabet,
    ManyNumbers,
    OutsideDomain,
    labels_of,
    number_label,
)
from seepage.data.table.numbers import NotANumber, is_number_type, numbers_of
from seepage.data.table.options import Choice, TableOptions
from seepage.errors import DomainError, TableError

FEW_EDGES = 100
"""Up to so many edges, comparing with each in turn is faster than a search."""


def binned_attribute(name: str, edges: tuple[float, ...], *, missing: bool) -> Attribute:
    """Return the attribute of a binned column, with a category of missing values or without."""
    return Attribute(name, (*bin_labels(edges), *([MISSING] if missing else [])), edges)


class BinCoder:
    """Codes numbers by the bin that holds them.

    Parameters
    ----------
    name, edges
        The column and its bin edges.
    markers
        Labels that stand for missing values.
    given
        The attribute of a given domain, whose values the bins then are.
    dropping
        Whether records with missing values are dropped.

    Attributes
    ----------
    outside
        The code of numbers outside the edges, until it is known whether their records are dropped;
        None where none occurred.
    """

    def __init__(
        self,
        name: str,
        edges: tuple[float, ...],
        *,
        markers: frozenset[str],
        given: Attribute | None = None,
        dropping: bool = False,
    ) -> None:
        self.outside: int | None = None
        self._dropping = dropping
        self._edges = edges
        self._markers = markers
        self._given = given
        self._plain = binned_attribute(name, edges, missing=False)
        self._with_missing = given or binned_attribute(name, edges, missing=True)
        values = self._with_missing.values
        self._slots = np.flatnonzero([value != MISSING for value in values])
        if MISSING in values:
            self._slot_of_missing: int | None = values.index(MISSING)
        else:
            self._slot_of_missing = len(values) if dropping else None
        self._any_missing = False

    @property
    def missing(self) -> int | None:
        """The code of missing values, None where none occurred."""
        return self._slot_of_missing if self._any_missing else None

    @property
    def size(self) -> int:
        """The number of codes so far."""
        return self.attribute()[0].size if self.outside is None else self.outside + 1

    def attribute(self, seen: Booleans | None = None) -> tuple[Attribute, Integers]:
        """Return the final attribute, all its bins included, and its codes as they are."""
        kept = self._any_missing and seen is None
        attribute = self._given or (self._with_missing if kept else self._plain)
        return attribute, np.arange(attribute.size, dtype=np.int64)

    def code(self, array: pa.Array) -> Codes:
        """Return the code of each entry's bin."""
        values, missing = numbers_of(array, self._markers)
        outside = self._rows_outside(values, missing)
        codes = _bins_of(values, self._edges[1:-1])
        if self._slots[-1] >= len(self._slots):
            codes = self._slots[codes].astype(codes.dtype)
        if missing is not None:
            codes[missing] = self._admit_missing(missing)
        if outside is not None:
            codes[outside] = self._admit_outside(outside)
        return codes

    def _admit_missing(self, missing: Booleans) -> int:
        if self._slot_of_missing is None:
            raise OutsideDomain(int(np.argmax(missing)), missing=True)
        self._any_missing = True
        return self._slot_of_missing

    def _admit_outside(self, outside: Booleans) -> int:
        if not self._dropping:
            raise OutsideDomain(int(np.argmax(outside)))
        self.outside = self._with_missing.size + 1
        return self.outside

    def _rows_outside(self, values: NDArray[Any], missing: Booleans | None) -> Booleans | None:
        """Return which numbers are outside the edges, None where all are inside."""
        present = values if missing is None else values[~missing]
        if not len(present) or not self._outside(np.array([present.min(), present.max()])).any():
            return None
        outside = self._outside(values)
        return outside if missing is None else outside & ~missing

    def _outside(self, values: NDArray[Any]) -> Booleans:
        low, high = self._edges[0], self._edges[-1]
        below = values < _comparable(low, values.dtype)
        return np.asarray(below | (values > _comparable(high, values.dtype, up=False)))


def _bins_of(values: NDArray[Any], inner: tuple[float, ...]) -> Codes:
    """Return how many of the inner edges each value reaches."""
    edges = [_comparable(edge, values.dtype) for edge in inner]
    if len(edges) > FEW_EDGES:
        places = np.searchsorted(_in_type(edges, values.dtype), values, side="right")
        return np.asarray(places.astype(code_type(len(edges) + 4)))
    codes = np.zeros(len(values), dtype=np.uint8)
    for edge in edges:
        codes += (values >= edge).view(np.uint8)
    return codes


def _in_type(edges: list[Any], kind: np.dtype[Any]) -> NDArray[Any]:
    """Return comparable edges in the type of the values, without those above all of its numbers."""
    if kind.kind == "f":
        return np.array(edges, dtype=kind)
    limits = np.iinfo(kind)
    return np.array([max(edge, limits.min) for edge in edges if edge <= limits.max], dtype=kind)


def _comparable(edge: float, kind: np.dtype[Any], *, up: bool = True) -> Any:
    """Return an edge in the type of the values, so that comparing needs no conversion.

    For integers x >= edge means x >= ceil(edge), and x > edge means x > floor(edge).
    """
    if kind.kind == "f":
        return kind.type(edge)
    if not math.isfinite(edge):
        return edge
    return math.ceil(edge) if up else math.floor(edge)


Coder: TypeAlias = CategoryCoder | BinCoder
"""Turns the arrays of one column into codes."""


class Column:
    """A column of a table while it is coded.

    Parameters
    ----------
    choice
        Its name in the data and in the domain.
    options
        How the table is read.
    fields
        Whether it holds fields of a text file.

    Attributes
    ----------
    named
        Whether the options bin it by name.
    rule, edges
        The rule for its bins and, where they are known, the edges.
    needs_edges
        Whether it needs bins whose edges are not known.
    number
        Whether it has a type of numbers.
    """

    coder: Coder
    pooling = True
    """Whether "(other)" in a given domain is for values outside it."""

    def __init__(self, choice: Choice, options: TableOptions, *, fields: bool) -> None:
        self.source, self.name = choice
        self._options = options
        self.fields = fields
        self.markers = labels_of(options.missing_markers)
        self.given = None if options.domain is None else options.domain[self.name]
        self.rule = options.rule(self.name)
        self.named = options.names_bins_of(self.name) and not isinstance(self.rule, Keep)
        self.edges = self.given.edges if self.given is not None else ()
        self.given_edges = self.rule.given if isinstance(self.rule, Edges) else ()
        if self.named and self.given_edges:
            self.edges = self.given_edges
        self.needs_edges = self.named and not self.edges
        self._unbinned: str | None = None

    def settle_given(self) -> bool:
        """Take the edges that the options give a column of numbers; return whether they do."""
        if self.given_edges and not self.fields:
            self.settle(self.given_edges)
            return True
        return False

    def settle(self, edges: tuple[float, ...], stray: str | None = None) -> None:
        """Take the edges of the bins; none means that the values stay categories.

        `stray` is the word that keeps a column of numbers from having bins.  Without one, the
        column has one number only, or numbers that are closer together than floats.
        """
        self.edges = edges
        self.needs_edges = False
        if not edges:
            self.rule = Keep()
            self._unbinned = (
                "they are too close together for bins, which have the precision of floats;"
                if stray is None
                else f"if {stray!r} means missing, say so (missing_markers); else"
            )

    def begin(self, kind: pa.DataType) -> None:
        """Start coding from the first record, for arrays of this type."""
        self.number = is_number_type(kind)
        if (self.edges or self.needs_edges) and not (self.fields or self.number):
            raise TableError(f"column {self.name!r} holds {kind}, no numbers, and has no bins")
        self.coder = self._bins() if self.edges else self._categories(kind)

    def _bins(self) -> Coder:
        return BinCoder(
            self.name,
            self.edges,
            markers=self.markers,
            given=self.given,
            dropping=self._options.dropping,
        )

    def _categories(self, kind: pa.DataType) -> Coder:
        alphabet: Alphabet
        if self.given is not None:
            alphabet = GivenAlphabet(
                self.given,
                markers=self.markers,
                dropping=self._options.dropping,
                pooling=self.pooling,
            )
        else:
            alphabet = FoundAlphabet(
                self.name,
                few=None if isinstance(self.rule, Keep) else self._options.few,
                most=self._options.max_values,
                markers=self.markers,
                unbinned=self._unbinned,
            )
        return category_coder(self.name, kind, alphabet, fields=self.fields)

    def code(self, array: pa.Array, before: int) -> Codes | None:
        """Return the codes of a batch, None where the column needs bins whose edges are unknown.

        Parameters
        ----------
        array
            The unpacked array.
        before
            The number of records before the batch, for messages.
        """
        if self.needs_edges:
            return None
        try:
            codes = self.coder.code(array)
        except ManyNumbers:
            self.needs_edges = True
            return None
        except OutsideDomain as problem:
            raise self._outside(problem, before) from None
        except NotANumber as problem:
            raise self.not_a_number(problem, before) from None
        except UnicodeDecodeError:
            raise TableError(f"column {self.name!r} holds text that is not UTF-8") from None
        return codes.astype(code_type(self.coder.size), copy=False)

    def check_inside(self, codes: Codes, kept: Booleans | None, before: int) -> None:
        """Raise an error for a value outside domain or bins in the records kept, None for all."""
        if self.coder.outside is None:
            return
        outside = codes == self.coder.outside
        if kept is not None:
            outside &= kept
        if not outside.any():
            return
        raise self._outside(OutsideDomain(int(np.argmax(outside))), before)

    def _outside(self, problem: OutsideDomain, before: int) -> TableError | DomainError:
        where = f"record {before + problem.position + 1:,}: column {self.name!r}"
        if problem.missing:
            return DomainError(
                f"{where} is missing, and the domain has no category for that; drop such records"
            )
        if self.given is not None:
            return DomainError(f"{where} has a value outside the domain")
        low, high = number_label(self.edges[0]), number_label(self.edges[-1])
        return TableError(
            f"{where} is outside its bins, which reach from {low} to {high}; use -inf and inf "
            "as the outer edges"
        )

    def not_a_number(self, problem: NotANumber, before: int) -> TableError:
        """Return the error for a field that should be binned and is no number."""
        return TableError(
            f"record {before + problem.position + 1:,}: column {self.name!r} is no number and has "
            "no bin; if it means missing, list it in missing_markers"
        )
