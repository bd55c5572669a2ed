"""Distinct or sampled records with Spark: made on executors, only the records kept come back."""

from collections.abc import Callable, Iterator
from typing import Any

from seepage.counting.records import DistinctRecords, Gathering
from seepage.counting.spark import find_domain, opened, run_unpacking
from seepage.counting.spark_domain import in_domain
from seepage.counting.spark_tasks import gather_records
from seepage.domain import Domain
from seepage.errors import TableError
from seepage.table.options import TableOptions

__all__ = ["gather_with_spark"]

MOST_BYTES = 2**30
"""The most that distinct records may take: they pass through one task and return to the driver."""


def gather_with_spark(
    data: Any, options: TableOptions, start: Callable[[], Gathering]
) -> tuple[Domain, Gathering]:
    """Return the domain of a table and what is kept of its records, in the codes of the domain.

    Parameters
    ----------
    data
        A Spark DataFrame, or Parquet files that executors can read.
    options
        How the table is read.
    start
        Begins to gather: all distinct records (at most 1 GB of them), or a sample.

    Notes
    -----
    One job finds the domain where none is given, and one gathers.
    """
    begin = _limited(start)
    with opened(data, options) as table:
        table, domain = find_domain(table, options)
        coding = in_domain(options, domain)

        def join(parts: Iterator[Gathering]) -> Gathering:
            total = begin()
            for part in parts:
                total.merge(part)
            return total

        kept: Gathering = run_unpacking(
            table,
            options,
            lambda source, first: gather_records(source, coding, first, begin()),
            join,
            tree=True,
        )
    if not kept.seen:
        raise TableError("the table has no records, or none without a missing value")
    return domain, kept


def _limited(start: Callable[[], Gathering]) -> Callable[[], Gathering]:
    def begin() -> Gathering:
        return DistinctRecords(MOST_BYTES)

    return begin if start is DistinctRecords else start
