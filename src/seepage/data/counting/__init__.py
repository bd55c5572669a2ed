"""Who makes `PairCounts`: the one pass over the records.

`kernel` counts one batch, `accumulator` adds batches up while alphabets grow, `local` streams the
batches of a table through them, `spark` runs them on executors.  Kernel and accumulator know
nothing of tables, so that other engines can run them where their data are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from seepage import _checks
from seepage.data.counting.accumulator import PairAccumulator
from seepage.data.counting.local import ENGINES, Progress, count_codes, count_stream
from seepage.data.domain import Domain
from seepage.data.pairs import PairCounts
from seepage.errors import InputError

__all__ = ["PairAccumulator", "count_codes", "count_pairs", "is_spark_frame"]

SPARK = "spark"


def is_spark_frame(data: Any) -> bool:
    """Say whether something is a Spark DataFrame, classic or of Spark Connect.

    Examples
    --------
    >>> import pyarrow as pa
    >>> is_spark_frame(pa.table({"a": [1, 2]}))
    False
    """
    kinds = [(kind.__module__, kind.__name__) for kind in type(data).__mro__]
    return ("pyspark.sql.dataframe", "DataFrame") in kinds


def count_pairs(
    data: Any,
    *,
    bins: Any = None,
    engine: str = "auto",
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    rename: Mapping[str, str] | None = None,
    missing: str = "category",
    max_values: int = 1000,
    domain: Domain | None = None,
    progress: Progress | None = None,
    **table: Any,
) -> PairCounts:
    """Return how often each two values of each two attributes of a table occur together.

    Parameters
    ----------
    data
        A pandas, Polars or PyArrow frame; or the path of a CSV, TSV, Parquet or Feather file, of
        a folder of such files, a glob, or a list of paths; or a Spark DataFrame.
    bins
        How numbers with many values are binned: `10` or `"quantile:10"`, `"width:8"`, ascending
        edges, `"none"`, or a mapping by column with `"*"` for all others.
    engine
        `"numpy"`, `"numba"`, or `"auto"`: Numba where the work is worth loading it; `"spark"`:
        the executors of the active Spark session read the Parquet files, see `counting.spark`.
        All count the same.
    columns, drop, rename
        The columns to use, not to use, and their new names.
    missing
        `"category"`: missing values are a value of their own; `"drop"`: such records are left out.
    max_values
        A column with more values is refused.
    domain
        Count in this domain, so that shards can be merged by `+`; values outside are refused.
    progress
        Called with the records read so far and the records in all, None where not known; not with
        Spark, which shows its own progress.
    table
        Further options of `seepage.data.table.TableOptions`: `few`, `missing_markers`, `delimiter`,
        `column_names`, `skip_lines`, `encoding`.

    Notes
    -----
    The records are streamed: memory does not grow with their number.  On two cores, 10 million
    records of 40 binary attributes in memory take about as long as copying them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> people = pa.table({"sex": ["F", "M", "M", "F"], "smoker": [True, False, True, True]})
    >>> pairs = count_pairs(people)
    >>> pairs.table("sex", "smoker").tolist()
    [[0, 2], [1, 1]]
    """
    from seepage.data.table import TableOptions, open_stream

    _checks.choice(engine, "engine", (*ENGINES, SPARK))
    known = [field.name for field in fields(TableOptions)]
    for name in table:
        if name not in known:
            raise InputError(f"there is no option {name!r}{_checks.near_miss(name, known)}")
    options = TableOptions(
        columns=columns,
        drop=drop,
        rename=rename or {},
        bins=bins,
        missing=missing,
        max_values=max_values,
        domain=domain,
        **table,
    )
    if engine == SPARK or is_spark_frame(data):
        from seepage.data.spark.engine import count_with_spark

        return count_with_spark(data, options)
    return count_stream(open_stream(data, options), engine, progress)
