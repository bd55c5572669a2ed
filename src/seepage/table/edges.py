"""The pass over a table that finds the bin edges of some of its columns."""

import math
from collections.abc import Sequence

from seepage.errors import TableError
from seepage.table.binning import Edges
from seepage.table.collecting import Collector, priorities
from seepage.table.columns import Column
from seepage.table.kinds import unpacked
from seepage.table.numbers import NotANumber, numbers_of
from seepage.table.reading import Source

__all__ = ["edges_of", "find_edges"]


def find_edges(source: Source, columns: Sequence[Column]) -> None:
    """Settle the bins of columns, reading these columns of the whole table once.

    A column of a text file that also has fields that are no numbers stays a column of
    categories, unless the options bin it by name: then it is refused.  So does a column with one
    number only, and one of numbers that are closer together than floats.
    """
    pending = {}
    for column in columns:
        if isinstance(column.rule, Edges) and not column.fields:
            column.settle(column.rule.given)
        else:
            pending[column.source] = (column, Collector())
    if pending:
        _collect(source, pending)
    for column, collector in pending.values():
        column.settle(edges_of(column, collector))


def _collect(source: Source, pending: dict[str, tuple[Column, Collector]]) -> None:
    """Feed the collectors; columns that turn out to hold words are settled and taken out."""
    before = 0
    for batch in source.batches(list(pending)):
        ranks = priorities(before, batch.num_rows)
        for name in list(pending):
            column, collector = pending[name]
            try:
                values, missing = numbers_of(unpacked(batch.column(name)), column.markers)
            except NotANumber as refusal:
                if column.named:
                    raise column.not_a_number(refusal, before) from None
                column.settle((), stray=refusal.word)
                del pending[name]
                continue
            if missing is None:
                collector.add(values, ranks)
            else:
                collector.add(values[~missing], ranks[~missing])
        before += batch.num_rows
        if not pending:
            return


def edges_of(column: Column, collector: Collector) -> tuple[float, ...]:
    """Return the bin edges of a column from its numbers; none where it has no number."""
    if collector.low > collector.high:
        return ()
    if isinstance(column.rule, Edges):
        return column.rule.given
    if not (math.isfinite(collector.low) and math.isfinite(collector.high)):
        raise TableError(
            f"column {column.name!r} has infinite numbers; give its edges, e.g. "
            f"bins={{{column.name!r}: [-inf, 0, inf]}}"
        )
    return column.rule.edges(collector)
