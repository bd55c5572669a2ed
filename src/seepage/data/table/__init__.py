"""The table layer: frames and files to coded columns.

`scan.open_scan` reads pandas, Polars and PyArrow frames, CSV, TSV, Parquet and Feather files,
folders and globs, one batch at a time, and codes each column.  The same table gives the same domain
from each of them:

* strings are unchanged; booleans are `true` and `false`; dates and times are in ISO form, those
  with a time zone in UTC (`2020-01-02T02:04:05+00:00`);
* numbers with few distinct values are ordered categories, others are binned.  Numbers are floats,
  and the label of a number is the shortest decimal that rounds to it, the same for an integer, a
  float or a decimal.  A number from 2^53 on that no float equals is a category like a string;
* nulls, NaN, empty fields of text files and `missing_markers` are `(missing)`, or dropped.

Text files have no types: a field that looks like a number is one, and a column is numeric if all
its fields are.  Values that do not occur are not in the domain, except empty bins.

Importing the package, `options` or `labels` does not import PyArrow.
"""
