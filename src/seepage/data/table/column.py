"""One column of a scan: its coder, its bins, and the errors for values that have no code."""

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seepage._numerics import Booleans
from seepage.data.table.arrow_numbers import (
    Codes,
    NotANumber,
    code_type,
    is_number_type,
    numbers_of,
)
from seepage.data.table.bin_coder import BinCoder
from seepage.data.table.bins import Edges, Keep
from seepage.data.table.coders import CategoryCoder, category_coder, unpacked
from seepage.data.table.labels import (
    Alphabet,
    FoundAlphabet,
    GivenAlphabet,
    ManyNumbers,
    OutsideDomain,
    labels_of,
    number_label,
)
from seepage.data.table.options import Choice, TableOptions
from seepage.data.table.sampling import NumberSummary, Priorities, priorities
from seepage.data.table.sources import Source
from seepage.errors import DomainError, TableError


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
    coder, alphabet
        What turns its arrays into codes, and what the codes stand for.
    """

    coder: CategoryCoder | BinCoder
    alphabet: Alphabet | BinCoder
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
        dropping = self._options.dropping
        if self.edges:
            self.coder = self.alphabet = BinCoder(
                self.name, self.edges, markers=self.markers, given=self.given, dropping=dropping
            )
            return
        if self.given is not None:
            self.alphabet = GivenAlphabet(
                self.given, markers=self.markers, dropping=dropping, pooling=self.pooling
            )
        else:
            self.alphabet = FoundAlphabet(
                self.name,
                few=None if isinstance(self.rule, Keep) else self._options.few,
                most=self._options.max_values,
                markers=self.markers,
                unbinned=self._unbinned,
            )
        self.coder = category_coder(self.name, kind, self.alphabet, fields=self.fields)

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
        return codes.astype(code_type(self.alphabet.size), copy=False)

    def collect(
        self, array: pa.Array, ranks: Priorities | None, collector: NumberSummary | None
    ) -> Booleans | None:
        """Give the numbers of a batch to their collector; return which are missing, None for none.

        `ranks` are the priorities of the records.
        """
        values, missing = numbers_of(array, self.markers)
        if collector is not None and ranks is not None:
            there = slice(None) if missing is None else ~missing
            collector.add(values[there], ranks[there])
        return missing

    def edges_of(self, numbers: NumberSummary) -> tuple[float, ...]:
        """Return the bin edges that follow from its numbers; none where it has no number."""
        if isinstance(self.rule, Keep) or numbers.low > numbers.high:
            return ()
        if isinstance(self.rule, Edges):
            return self.rule.given
        if not (math.isfinite(numbers.low) and math.isfinite(numbers.high)):
            raise TableError(
                f"column {self.name!r} has infinite numbers; give it bins with the edges -inf, 0, "
                "inf, for example"
            )
        return self.rule.edges(numbers)

    def check_inside(self, codes: Codes, kept: Booleans | None, before: int) -> None:
        """Raise an error for a value outside domain or bins in the records kept, None for all."""
        if self.alphabet.outside is None:
            return
        outside = codes == self.alphabet.outside
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


def collect_numbers(
    source: Source, columns: Sequence[Column], first: int = 0, shares: Sequence[float] = ()
) -> list[NumberSummary | None]:
    """Return the numbers of some columns of a table or shard, for their bin edges.

    Parameters
    ----------
    source, columns
        The records and the columns; only these are read, once.
    first
        The number of records of the table before the source.
    shares
        The share of the numbers of each column that is kept, of what is not counted one by one;
        all by default.

    Returns
    -------
    list
        The numbers of each column; None for a column of a text file that turned out to hold
        words too, whose values stay categories.
    """
    found: list[NumberSummary | None] = [
        NumberSummary(share) for share in shares or [1.0] * len(columns)
    ]
    before = first
    for batch in source.batches([column.source for column in columns]):
        ranks = priorities(before, batch.num_rows)
        for index, column in enumerate(columns):
            if found[index] is None:
                continue
            try:
                column.collect(unpacked(batch.column(column.source)), ranks, found[index])
            except NotANumber as problem:
                if column.named:
                    raise column.not_a_number(problem, before) from None
                column.settle((), stray=problem.word)
                found[index] = None
        before += batch.num_rows
        if all(numbers is None for numbers in found):
            break
    return found
