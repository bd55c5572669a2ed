"""`OpenTable`: a table that is opened once, and checked once for each way of reading
it.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from seepage._core.errors import InputError
from seepage.tables.table_options import SPARK

if TYPE_CHECKING:
    from seepage.tables.data_check import DataCheck
    from seepage.tables.sources import Source


FORMAT_OPTIONS = ("delimiter", "column_names", "encoding")
"""Options of opening text files."""


OPTIONS_OF_A_DOMAIN = ("columns", "drop", "bins", "pool")
"""Options that a given domain replaces."""


Keywords = TypeVar("Keywords", bound=Mapping[str, Any])


@dataclass(frozen=True, eq=False, repr=False)
class OpenTable:
    """A table that is opened once: every function takes it as `data`, see `read`.

    Parameters
    ----------
    source
        Its records, which can be read repeatedly.
    keywords
        The options of reading it, which functions may override.
    origin
        The frame, path or paths that were opened, or the name of a dataset.
    is_dataset
        Whether it is a dataset, whose columns are used as they are.
    checks
        The checks so far, by the columns and by what means missing in each.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import seepage as sp
    >>> people = sp.read(pa.table({"id": range(4), "smoker": ["no", "yes"] * 2}))
    >>> people
    OpenTable(2 columns: id, smoker)
    >>> sp.count_pairs(people, columns=["smoker", "id"])
    PairCounts(4 records, 2 attributes)
    """

    source: "Source"
    keywords: Mapping[str, Any]
    origin: Any
    is_dataset: bool = False
    checks: "dict[Any, DataCheck]" = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return the open table in one line: where it is from and its columns."""
        names = ", ".join(self.source.names[:5])
        more = len(self.source.names) - 5
        if more > 0:
            names += f" and {more} more"
        name = ""
        if isinstance(self.origin, (str, os.PathLike)):
            name = f"{Path(self.origin).name!r}, "
        count = len(self.source.names)
        columns = "1 column" if count == 1 else f"{count} columns"
        return f"OpenTable({name}{columns}: {names})"

    @property
    def names(self) -> tuple[str, ...]:
        """The column names of the open table."""
        return self.source.names

    def reading(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return these options of reading, and those of the open table that they leave
        open.

        Another format of text files than the table was opened with raises.
        """
        for name in FORMAT_OPTIONS:
            if name in options and options[name] != self.keywords.get(name):
                raise InputError(
                    f"{name} has no effect: the table is open already; give it to read",
                    parameter=name,
                )
        merged = {**self.keywords, **options}
        if options.get("domain") is not None:
            for name in OPTIONS_OF_A_DOMAIN:
                if name not in options:
                    merged.pop(name, None)
        return merged

    def records(self, engine: str) -> Any:
        """Return what an engine reads of the open table: Spark the files or the frame,
        others the source.
        """
        if engine == SPARK and not self.is_dataset:
            return self.origin
        return self.source


def merged_reading(data: Any, table: Keywords) -> tuple[Any, Keywords]:
    """Return `data` and the keywords `**table` of a function, with those of an open
    table, which then has none of its own but the format.
    """
    if not isinstance(data, OpenTable):
        return data, table
    reading = data.reading(table)
    kept = dict[str, Any]()
    for name in FORMAT_OPTIONS:
        if name in data.keywords:
            kept[name] = data.keywords[name]
    return replace(data, keywords=kept), reading  # type: ignore[return-value]
