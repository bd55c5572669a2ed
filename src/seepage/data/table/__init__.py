"""Any frame or file to coded columns: the table layer.

`open_scan` reads pandas, Polars and PyArrow frames, CSV, TSV, Parquet and Feather files, folders
and globs, one batch at a time, and turns each column into codes.  The same table gives the same
domain from each of them:

* text as it is; true and false as `true` and `false`; dates and times in ISO form, moments with a
  zone in UTC (`2020-01-02T02:04:05+00:00`), in whichever zone they are written;
* numbers with few distinct values as ordered categories, others binned.  A label is the decimal
  number that the value is, to its last digit: `3` whether it is an integer, a float or a decimal,
  `9223372036854775813`, `12345678901234567.01`.  A float that is whole and below 2^64 is its exact
  value, any other the shortest decimal that means it;
* nulls, NaN, empty fields of text files and the options' markers as `(missing)`, or dropped.

A text file has no types: a field that is a number is that number, and a column is one of numbers
if all its fields are.  Values that do not occur are not in the domain, except empty bins.

Bin edges are floats, and those found here hold every number they were found from.  Numbers that
are closer together than floats (2^60 + 1, 2^60 + 2, ...) cannot have edges between them: they stay
categories, however many, up to `max_values`.
"""

from seepage.data.table.options import TableOptions
from seepage.data.table.scan import CodedBatch, TableScan, open_scan

__all__ = ["CodedBatch", "TableOptions", "TableScan", "open_scan"]
