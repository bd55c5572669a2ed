"""Distinct or sampled records with Spark: made on executors, only the records kept come back."""

from collections.abc import Callable
from typing import Any

from seepage.counting.records import DistinctRecords, Gathering
from seepage.counting.spark import find_domain, opened, run_unpacking
from seepage.counting.spark_coding import gather_records, plan_coding
from seepage.domain import Domain
from seepage.table.options import TableOptions

__all__ = ["gather_with_spark"]

MOST_BYTES = 2**29 - 2**17
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
        Begins to gather: all distinct records (at most 0.5 GB of them), or a sample.

    Notes
    -----
    One job finds the domain where none is given, and one gathers.
    """
    begin = _limited(start)
    with opened(data, options) as table:
        table, domain = find_domain(table, options)
        coding = plan_coding(table.names, options, domain)
        _, kept = run_unpacking(
            table,
            options,
            lambda source, first: gather_records(source, coding, first, begin()),
        )
    kept.check(kept.made.seen)
    return domain, kept.made


def _limited(start: Callable[[], Gathering]) -> Callable[[], Gathering]:
    def begin() -> Gathering:
        return DistinctRecords(MOST_BYTES)

    return begin if start is DistinctRecords else start
