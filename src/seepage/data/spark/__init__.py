"""Counting with Spark: the same kernel on the executors, the same integer counts."""

from typing import Any


def is_spark_frame(data: Any) -> bool:
    """Return whether `data` is a Spark DataFrame, classic or Connect; PySpark is not imported.

    Examples
    --------
    >>> import pyarrow as pa
    >>> is_spark_frame(pa.table({"a": [1, 2]}))
    False
    """
    kinds = [(kind.__module__, kind.__name__) for kind in type(data).__mro__]
    return ("pyspark.sql.dataframe", "DataFrame") in kinds
