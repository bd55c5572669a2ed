"""The random part of a table that the app shows and explores.

It is the part on which `seepage.design` fixes the answers, and which certifies nothing:
what a person decides by looking at it costs no try [theory-population: Which answers].
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from seepage.channel.records import Records
from seepage.tables.fixed_domain import FixedDomain, fix_domain, read_part
from seepage.tables.open_source import open_source
from seepage.tables.read import table_of
from seepage.tables.table_options import RecordOptions

SEED = 0
"""Seed of the part, as of a design."""


class ExploredPart(NamedTuple):
    """A random part of the records, and how its text was read.

    Attributes
    ----------
    table
        The records.
    fields
        Whether they are fields of a text file, in which numbers are text.
    rows
        The number of all records, of which these are a part.
    """

    table: pa.Table
    fields: bool
    rows: int


def read_explored(
    data: str, names: Sequence[str], keywords: Mapping[str, Any]
) -> ExploredPart:
    """Return the records of the explored part with some columns."""
    origin, reading = table_of(data, {})
    source = open_source(origin, RecordOptions(**reading))
    person = RecordOptions(person=keywords.get("person")).person_column
    rows = 0

    def counted_batches(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield batches of records, counting those that may be in the explored part."""
        nonlocal rows
        for batch in source.batches(columns):
            rows += batch.num_rows
            yield batch

    counted = replace(source, batches=counted_batches)
    table, _ = read_part(counted, list(names), person, SEED, whole=False)
    return ExploredPart(table, source.fields, rows)


def write_explored(part: ExploredPart, folder: Path) -> Path:
    """Write the explored part as a file that is read as the table was: as text, or with
    types.
    """
    if part.fields:
        path = folder / "part.csv"
        pyarrow.csv.write_csv(part.table, path)
    else:
        path = folder / "part.parquet"
        pq.write_table(part.table, path)
    return path


def with_texts_beside(
    keywords: Mapping[str, Any],
    names: Sequence[str],
    beside: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    """Return keywords of reading the explored part by which texts beside numbers are
    missing, as a design reads them.

    Examples
    --------
    >>> with_texts_beside({}, ["age"], {"age": ("refused",), "sex": ()})
    {'missing_markers': {'age': ('refused',)}}
    """
    markers = dict(keywords.get("missing_markers", {}))
    for name in names:
        texts = (*markers.get(name, ()), *beside.get(name, ()))
        if texts:
            markers[name] = tuple(dict.fromkeys(texts))
    if not markers:
        return dict(keywords)
    return {**keywords, "missing_markers": markers}


def asked_answers(
    data: str, names: Sequence[str], keywords: Mapping[str, Any]
) -> FixedDomain:
    """Return the answers of columns as a design would ask them, fixed on the explored
    part.
    """
    origin, reading = table_of(data, dict(keywords))
    reading = {**reading, "columns": tuple(names)}
    options = RecordOptions(**reading, scope="population", answers="merged")
    _, fixed = fix_domain(origin, options, SEED)
    return fixed


def coded_part(part: ExploredPart, fixed: FixedDomain, folder: Path) -> Records:
    """Return the explored part coded in the answers that are asked."""
    path = write_explored(part, folder)
    try:
        return Records.from_data(path, domain=fixed.domain)
    finally:
        path.unlink()
