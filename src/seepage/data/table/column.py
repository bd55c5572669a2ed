"""One column of a scan: its coder, its bins, and the errors for values without a code."""

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seepage._numerics import Booleans, Codes
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
from seepage.errors import DomainError, TableError


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

    Attributes
    ----------
    binned_by_name
        Whether the mapping `bins` of the options names it.
    rule, edges
        The binning rule, and the bin edges; empty while unknown or not binned.
    needs_edges
        Whether it must be binned and the edges are not known yet.
    numeric
        Whether its Arrow type is numeric.
    coder, alphabet
        The coder of its arrays, and the values of the codes.
    """

    coder: CategoryCoder | BinCoder
    alphabet: Alphabet | BinCoder
    pooling = True
    """Whether values outside a given domain are coded as its "(other)"."""

    def __init__(self, choice: Choice, options: TableOptions, *, fields: bool) -> None:
        self.source, self.name = choice
        self._options = options
        self.fields = fields
        self.markers = marker_labels(options.missing_markers)
        self.given = None if options.domain is None else options.domain[self.name]
        self.rule = options.rule(self.name)
        self.binned_by_name = options.names_bins_of(self.name) and not isinstance(self.rule, NoBins)
        self.edges = self.given.edges if self.given is not None else ()
        self.given_edges = self.rule.given if isinstance(self.rule, Edges) else ()
        if self.binned_by_name and self.given_edges:
            self.edges = self.given_edges
        self.needs_edges = self.binned_by_name and not self.edges
        self._unbinned: str | None = None

    def use_given_edges(self) -> bool:
        """Use the edges of the options for a numeric column; return whether there are any."""
        if self.given_edges and not self.fields:
            self.set_edges(self.given_edges)
            return True
        return False

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
                else f"if {stray!r} means missing, say so (missing_markers); else"
            )

    def start(self, kind: pa.DataType) -> None:
        """Make the coder and an empty alphabet, for arrays of this Arrow type."""
        self.numeric = is_number_type(kind)
        if (self.edges or self.needs_edges) and not (self.fields or self.numeric):
            raise TableError(
                f"column {self.name!r} must be numeric to be binned (bins), got {kind}"
            )
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

    def collect(
        self, array: pa.Array, priorities: Priorities | None, summary: NumberSummary | None
    ) -> Booleans | None:
        """Add the numbers of a batch to a summary; return the mask of missing ones, None if none.

        `priorities` are those of the records.
        """
        values, missing = numbers_of(array, self.markers)
        if summary is not None and priorities is not None:
            present = slice(None) if missing is None else ~missing
            summary.add(values[present], priorities[present])
        return missing

    def edges_of(self, summary: NumberSummary) -> tuple[float, ...]:
        """Return the bin edges by the column's rule; empty if it has no numbers or no bins."""
        if isinstance(self.rule, NoBins) or summary.low > summary.high:
            return ()
        if isinstance(self.rule, Edges):
            return self.rule.given
        if not (math.isfinite(summary.low) and math.isfinite(summary.high)):
            raise TableError(
                f"column {self.name!r} has infinite numbers; give it bins with outer edges -inf "
                "and inf, such as -inf, 0, inf (bins)"
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
            "be binned; if this value means missing, list it (missing_markers)"
        )


def collect_numbers(source: Source, columns: Sequence[Column]) -> list[NumberSummary | None]:
    """Return a summary of the numbers of each column of a table, for their bin edges.

    Only these columns are read, once.  The summary is None for a column of a text file with fields
    that are not numbers, whose values stay categories.
    """
    summaries: list[NumberSummary | None] = [NumberSummary() for _ in columns]
    before = 0
    for batch in source.batches([column.source for column in columns]):
        priorities = record_priorities(before, batch.num_rows)
        for index, column in enumerate(columns):
            if summaries[index] is None:
                continue
            try:
                column.collect(unpacked(batch.column(column.source)), priorities, summaries[index])
            except NotANumber as problem:
                if column.binned_by_name:
                    raise column.not_a_number(problem, before) from None
                column.set_edges((), stray=problem.word)
                summaries[index] = None
        before += batch.num_rows
        if all(summary is None for summary in summaries):
            break
    return summaries
