"""Any frame or file to coded columns: the table layer.

`open_stream` reads pandas, Polars and PyArrow frames, CSV, TSV, Parquet and Feather files, folders
and globs, one batch at a time, and turns each column into codes.  The same table gives the same
domain from each of them:

* text as it is; true and false as `true` and `false`; dates and times in ISO form;
* numbers with few distinct values as ordered categories (`3.0` is `3`), others binned;
* nulls, NaN, empty fields of text files and the options' markers as `(missing)`, or dropped.

A text file has no types: a field that is a number is that number, and a column is one of numbers
if all its fields are.  Values that do not occur are not in the domain, except empty bins.
"""

from seepage.table.options import TableOptions
from seepage.table.stream import CodedStream, Restart, open_stream

__all__ = ["CodedStream", "Restart", "TableOptions", "open_stream"]
