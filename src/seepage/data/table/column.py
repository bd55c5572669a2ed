"""One column of a scan: its coder, its bins, and the errors for values without a code."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from seepage._numerics import Booleans, Codes
from seepage.data.domain import OTHER
from seepage.data.table.bin_coder import BinCoder, NotANumber, numbers_of
from seepage.data.table.bins import Edges, NoBins
from seepage.data.table.coders import CategoryCoder, category_coder, is_number_type, unpacked
from seepage.data.table.labels import (
    Alphabet,
    FoundAlphabet,
    GivenAlphabet,
    ManyNumbers,
    OutsideDomain,
    code_type,
    marker_labels,
    number_label,
)
from seepage.data.table.options import Choice, TableOptions
from seepage.data.table.sampling import NumberSummary, Priorities, record_priorities
from seepage.data.table.sources import Source
from seepage.errors import DomainError, Setting, TableError, Text


class Column:
    """State of a column while a table is coded.

    Parameters
    ----------
    choice
        Its name in the data and in the domain.
    options
        The table options.
    fields
        Whether it consists of fields of a text file, which have no type.
    other
        The value of a given domain that stands for values outside it, also for texts and numbers
        outside the bins; by default "(other)", of categories alone.

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
    coder, alphabet
        The coder of its arrays, and the values of the codes.
    """

    coder: CategoryCoder | BinCoder
    alphabet: Alphabet | BinCoder

    def __init__(
        self, choice: Choice, options: TableOptions, *, fields: bool, other: str | None = None
    ) -> None:
        self.source, self.name = choice
        self._options = options
        self.fields = fields
        self._other = other
        self.markers = marker_labels(options.missing_markers)
        self.given = None if options.domain is None else options.domain[self.name]
        self.rule = options.rule(self.name)
        named = isinstance(options.bins, Mapping) and self.name in options.bins
        self.binned_by_name = named and not isinstance(self.rule, NoBins)
        self.edges = self.given.edges if self.given is not None else ()
        self.given_edges = self.rule.given if isinstance(self.rule, Edges) else ()
        if self.binned_by_name and self.given_edges:
            self.edges = self.given_edges
        self.needs_edges = self.binned_by_name and not self.edges
        self._unbinned: str | None = None

    def set_edges(self, edges: tuple[float, ...], stray: str | None = None) -> None:
        """Set the bin edges; without edges the values stay categories.

        `stray` is the field, not a number, that prevents binning.  If it is None, the column has a
        single number, or numbers that are closer together than floats.
        """
        self.edges = edges
        self.needs_edges = False
        if not edges:
            self.rule = NoBins()
            self._unbinned = (
                "they are too close together for bins, which have the precision of floats;"
                if stray is None
                else Text(
                    f"if {stray!r} means missing, say so (", Setting("missing_markers"), "); else"
                )
            )

    def start(self, kind: pa.DataType) -> None:
        """Make the coder and an empty alphabet, for arrays of this Arrow type."""
        if (self.edges or self.needs_edges) and not (self.fields or is_number_type(kind)):
            raise TableError(
                f"column {self.name!r} must be numeric to be binned (",
                Setting("bins"),
                f"), got {kind}",
            )
        dropping = self._options.dropping
        if self.edges:
            self.coder = self.alphabet = BinCoder(
                self.name,
                self.edges,
                markers=self.markers,
                given=self.given,
                dropping=dropping,
                other=self._other,
            )
            return
        if self.given is not None:
            self.alphabet = GivenAlphabet(
                self.given, markers=self.markers, dropping=dropping, other=self._other or OTHER
            )
        else:
            self.alphabet = FoundAlphabet(
                self.name,
                few=None if isinstance(self.rule, NoBins) else self._options.few,
                max_values=self._options.max_values,
                markers=self.markers,
                unbinned=self._unbinned,
            )
        self.coder = category_coder(self.name, kind, self.alphabet, fields=self.fields)

    def code(self, array: pa.Array, before: int) -> Codes | None:
        """Return the codes of a batch, None if the bin edges that it needs are unknown.

        Parameters
        ----------
        array
            The column of the batch, after `unpacked`.
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

    def missing_numbers(self, array: pa.Array) -> Booleans | None:
        """Return the mask of the missing numbers of a batch, None if none is."""
        return numbers_of(array, self.markers)[1]

    def collect(self, array: pa.Array, priorities: Priorities, summary: NumberSummary) -> None:
        """Add the numbers of a batch to a summary; `priorities` are those of the records."""
        values, missing = numbers_of(array, self.markers)
        present = slice(None) if missing is None else ~missing
        summary.add(values[present], priorities[present])

    def edges_of(self, summary: NumberSummary) -> tuple[float, ...]:
        """Return the bin edges by the column's rule; empty if it has no numbers or no bins."""
        if isinstance(self.rule, NoBins) or summary.low > summary.high:
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
                f"{where} is missing, and the domain has no category for missing values; drop such "
                "records"
            )
        if self.given is not None:
            return DomainError(f"{where} has a value outside the domain")
        low, high = number_label(self.edges[0]), number_label(self.edges[-1])
        return TableError(
            f"{where} is outside its bins, which reach from {low} to {high}; use -inf and inf "
            "as the outer edges"
        )

    def not_a_number(self, problem: NotANumber, before: int) -> TableError:
        """Return the error for a field that is to be binned and is not a number."""
        return TableError(
            f"record {before + problem.position + 1:,}: column {self.name!r} must be a number to "
            "be binned; if this value means missing, list it (",
            Setting("missing_markers"),
            ")",
        )


def columns_of(
    names: Sequence[str], options: TableOptions, *, fields: bool = False
) -> list[Column]:
    """Return the columns that the options choose of a table with these column names."""
    return [Column(choice, options, fields=fields) for choice in options.choose(names)]


def find_edges(source: Source, columns: Sequence[Column]) -> None:
    """Set the bin edges of columns, in one pass over these columns of the whole table.

    A column of a text file with fields that are not numbers stays categorical; if the options bin
    it by name, that is an error.  A column with a single number, or with numbers closer together
    than floats, stays categorical too.
    """
    summaries: dict[Column, NumberSummary] = {}
    for column in columns:
        if column.given_edges and not column.fields:
            column.set_edges(column.given_edges)
        else:
            summaries[column] = NumberSummary()
    if not summaries:
        return
    before = 0
    for batch in source.batches([column.source for column in summaries]):
        priorities = record_priorities(before, batch.num_rows)
        for column, summary in list(summaries.items()):
            try:
                column.collect(unpacked(batch.column(column.source)), priorities, summary)
            except NotANumber as problem:
                if column.binned_by_name:
                    raise column.not_a_number(problem, before) from None
                column.set_edges((), stray=problem.word)
                del summaries[column]
        before += batch.num_rows
        if not summaries:
            break
    for column, summary in summaries.items():
        column.set_edges(column.edges_of(summary))
