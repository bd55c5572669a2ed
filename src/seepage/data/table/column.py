"""One column of a stream: what it is binned by, its coder, and how it refuses values."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seepage._numerics import Booleans
from seepage.data.table.alphabet import (
    Alphabet,
    FoundAlphabet,
    GivenAlphabet,
    ManyNumbers,
    OutsideDomain,
    labels_of,
)
from seepage.data.table.bin_coder import BinCoder, OutsideBins
from seepage.data.table.bins import Edges, Keep
from seepage.data.table.coders import Coder, Codes, category_coder, code_type
from seepage.data.table.labels import number_label
from seepage.data.table.numbers import NotANumber, is_number_type
from seepage.data.table.options import Choice, TableOptions
from seepage.errors import DomainError, TableError

__all__ = ["Column", "complete_records"]


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
    """

    coder: Coder

    def __init__(self, choice: Choice, options: TableOptions, *, fields: bool) -> None:
        self.source, self.name = choice
        self._options = options
        self.fields = fields
        self.markers = labels_of(options.missing_markers)
        self.given = None if options.domain is None else options.domain[self.name]
        self.rule = options.rule(self.name)
        self.named = options.names_bins_of(self.name) and not isinstance(self.rule, Keep)
        self.edges = self.given.edges if self.given is not None else ()
        if self.named and isinstance(self.rule, Edges):
            self.edges = self.rule.given
        self._needs_edges = self.named and not self.edges
        self._unbinned: str | None = None

    def settle(self, edges: tuple[float, ...], stray: str | None = None) -> None:
        """Take the edges of the bins; none means that the values stay categories.

        `stray` is the word that keeps a column of numbers from having bins.  Without one, the
        column has one number only, or numbers that are closer together than floats.
        """
        self.edges = edges
        self._needs_edges = False
        if not edges:
            self.rule = Keep()
            self._unbinned = (
                "they are too close together for bins, which have the precision of floats;"
                if stray is None
                else f"if {stray!r} means missing, say so (missing_markers); else"
            )

    def begin(self, kind: pa.DataType) -> None:
        """Start coding from the first record, for arrays of this type."""
        if (self.edges or self._needs_edges) and not (self.fields or is_number_type(kind)):
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
                self.given, markers=self.markers, dropping=self._options.dropping
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
        if self._needs_edges:
            return None
        try:
            codes = self.coder.code(array)
        except ManyNumbers:
            return None
        except OutsideDomain as refusal:
            raise self._outside_domain(refusal, before) from None
        except OutsideBins as refusal:
            raise self._outside_bins(refusal, before) from None
        except NotANumber as refusal:
            raise self.not_a_number(refusal, before) from None
        except UnicodeDecodeError:
            raise TableError(f"column {self.name!r} holds text that is not UTF-8") from None
        return codes.astype(code_type(self.coder.size), copy=False)

    def check_inside(self, codes: Codes, kept: Booleans | None, before: int) -> None:
        """Refuse a value outside domain or bins in the records that are kept, None for all."""
        if self.coder.outside is None:
            return
        outside = codes == self.coder.outside
        if kept is not None:
            outside &= kept
        if not outside.any():
            return
        position = int(np.argmax(outside))
        if self.edges:
            raise self._outside_bins(OutsideBins(position), before)
        refusal = OutsideDomain(missing=False)
        refusal.position = position
        raise self._outside_domain(refusal, before)

    def _outside_domain(self, refusal: OutsideDomain, before: int) -> DomainError:
        what = "has a value outside the domain"
        if refusal.missing:
            what = "is missing, and the domain has no category for that; drop such records"
        return DomainError(f"record {before + refusal.position + 1:,}: column {self.name!r} {what}")

    def _outside_bins(self, refusal: OutsideBins, before: int) -> TableError | DomainError:
        where = f"record {before + refusal.position + 1:,}: column {self.name!r}"
        if self.given is not None:
            return DomainError(f"{where} has a value outside the domain")
        low, high = number_label(self.edges[0]), number_label(self.edges[-1])
        return TableError(
            f"{where} is outside its bins, which reach from {low} to {high}; use -inf and inf "
            "as the outer edges"
        )

    def not_a_number(self, refusal: NotANumber, before: int) -> TableError:
        """Return the error for a field that should be binned and is no number."""
        return TableError(
            f"record {before + refusal.position + 1:,}: column {self.name!r} is no number and has "
            "no bin; if it means missing, list it in missing_markers"
        )


def complete_records(
    columns: Sequence[Column], codes: Sequence[Codes], before: int
) -> Booleans | None:
    """Return which records of a batch have no missing value, None where all have none.

    The others are to be dropped, whatever else is in them.  In these, values outside a given
    domain are refused; `before` is the number of records before the batch.
    """
    out = [
        part == column.coder.missing
        for column, part in zip(columns, codes, strict=True)
        if column.coder.missing is not None
    ]
    missing = np.logical_or.reduce(out) if out else None
    kept = None if missing is None or not missing.any() else ~missing
    for column, part in zip(columns, codes, strict=True):
        column.check_inside(part, kept, before)
    return kept
