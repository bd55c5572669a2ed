"""The table layer: frames and files to coded columns.

`open_scan` reads pandas, Polars and PyArrow frames, CSV, TSV, Parquet and Feather files, folders
and globs, one batch at a time, and codes each column.  The same table gives the same domain from
each of them:

* strings are unchanged; booleans are `true` and `false`; dates and times are in ISO form, those
  with a time zone in UTC (`2020-01-02T02:04:05+00:00`);
* numbers with few distinct values are ordered categories, others are binned.  The label of a number
  is its exact decimal expansion: `3` for an integer, a float or a decimal, `9223372036854775813`,
  `12345678901234567.01`.  A float that is an integer below 2^64 has its exact value, any other
  float the shortest decimal that rounds to it;
* nulls, NaN, empty fields of text files and `missing_markers` are `(missing)`, or dropped.

Text files have no types: a field that looks like a number is one, and a column is numeric if all
its fields are.  Values that do not occur are not in the domain, except empty bins.

Bin edges are floats and cover every number of the column.  Numbers that are closer together than
floats (2^60 + 1, 2^60 + 2, ...) have no edges between them and stay categories, up to `max_values`.
"""

from seepage.data.table.options import TableOptions
from seepage.data.table.scan import CodedBatch, TableScan, open_scan

__all__ = ["CodedBatch", "TableOptions", "TableScan", "open_scan"]
