"""The Parquet file of reports."""

from collections.abc import Iterator
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from seepage.collection.report_batches import FORM, report_columns, reports_schema
from seepage.mechanisms.reports import ValueReports
from seepage.plan.content import PlanContent

ROW_GROUP = 1 << 17
"""Minimum number of rows of a Parquet row group."""


def write_report_file(
    plan: PlanContent, batches: Iterator[pa.RecordBatch], file: IO[bytes]
) -> int:
    """Write batches of reports to a Parquet file; return the number of rows.

    Row groups have at least `ROW_GROUP` rows.  Reports that are values, and forms, are
    dictionary-encoded.
    """
    buffer = list[pa.RecordBatch]()
    written = 0
    encoded = list[str]()
    if not plan.is_single:
        encoded.append(FORM)
    for column, index, name in report_columns(plan):
        if plan.form_mechanisms[index][name].reports is ValueReports:
            encoded.append(column)
    with pq.ParquetWriter(
        file,
        reports_schema(plan),
        compression="zstd",
        use_dictionary=encoded,
        use_compliant_nested_type=False,
        write_page_checksum=True,
    ) as writer:
        for batch in batches:
            buffer.append(batch)
            written += batch.num_rows
            if sum(part.num_rows for part in buffer) >= ROW_GROUP:
                writer.write_table(pa.Table.from_batches(buffer))
                buffer.clear()
        if buffer:
            writer.write_table(pa.Table.from_batches(buffer))
    return written
