"""A Spark DataFrame that is nothing but Parquet files: executors can read those themselves."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyarrow.parquet import read_schema

from seepage.errors import TableError
from seepage.table.columnar import ColumnarSource
from seepage.table.paths import PARQUET

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["files_of"]

SAME_IN_BOTH = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
}
"""Spark's types whose values are those that Arrow reads from the same file."""


def files_of(frame: "DataFrame", columns: Sequence[str]) -> list[Path]:
    """Return the Parquet files that a DataFrame was read from, where it is nothing else.

    Parameters
    ----------
    frame
        The DataFrame.
    columns
        The columns that will be read.

    Returns
    -------
    list of Path
        The files, as the DataFrame lists them.  Empty where it is computed, filtered, renamed,
        cached or partitioned, where files differ in their columns, are not on a mounted file
        system, or hold types that Spark reads in a way of its own.
    """
    relation = _relation(frame)
    if relation is None:
        return []
    addresses = [urlsplit(name) for name in relation.location().inputFiles()]
    if not addresses or any(place.scheme != "file" or place.netloc for place in addresses):
        return []
    files = [Path(unquote(place.path)) for place in addresses]
    kinds = dict(frame.dtypes)
    return files if _alike(files, {name: kinds[name] for name in columns}) else []


def _relation(frame: "DataFrame") -> Any:
    """Return Spark's own object for a plain scan of Parquet files; None for all else."""
    classic = getattr(frame, "_jdf", None)
    if classic is None or frame.is_cached:
        return None
    plan = classic.queryExecution().analyzed()
    while plan.nodeName() in ("Project", "SubqueryAlias"):
        if plan.nodeName() == "Project" and not all(_is_plain(plan.projectList())):
            return None
        plan = plan.child()
    if plan.nodeName() != "LogicalRelation" or plan.isStreaming():
        return None
    relation = plan.relation()
    if relation.getClass().getSimpleName() != "HadoopFsRelation":
        return None
    parquet = relation.fileFormat().getClass().getSimpleName() == "ParquetFileFormat"
    return relation if parquet and relation.partitionSchema().isEmpty() else None


def _is_plain(projected: Any) -> Iterator[bool]:
    """Yield for each column of a projection whether it is one of the table, as it is."""
    for number in range(projected.size()):
        yield projected.apply(number).getClass().getSimpleName() == "AttributeReference"


def _alike(files: Sequence[Path], kinds: Mapping[str, str]) -> bool:
    """Say whether all files have the same columns, and some are of the types that Spark says."""
    try:
        names = ColumnarSource(PARQUET, files).names
    except TableError:
        return False
    schema = read_schema(files[0])
    return len(set(names)) == len(names) and all(
        name in names and schema.field(name).type == SAME_IN_BOTH.get(kind)
        for name, kind in kinds.items()
    )
