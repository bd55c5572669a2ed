"""The argument `data` of every public function, converted to pair counts or records.

`data` is a pandas, Polars, PyArrow or Spark frame; the path of a table, a folder or a
glob; the path of a file of pair counts; the name of a dataset; `PairCounts` or
`Records`; or the `OpenTable` that `read` returns.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Unpack

from seepage._core import checks
from seepage._core.errors import DomainError, GuaranteeError, InputError
from seepage._core.text import Counted, how_many
from seepage.channel.domain import Domain
from seepage.channel.pairs import FILE_KEY, PairCounts
from seepage.channel.pooling import pool_rare
from seepage.channel.records import Records
from seepage.counting.accumulate import count_scan
from seepage.tables.opened_table import OpenTable, merged_reading
from seepage.tables.table_options import (
    CodingKeywords,
    DataOptions,
    RecordOptions,
    TableKeywords,
    TableOptions,
    check_keywords,
    uses_spark,
)

RECODING_OPTIONS = ("columns", "drop", "pool")
"""Table options that also apply to existing pair counts and records."""


ENGINE_OPTIONS = ("engine", "progress")
"""Options that do not change what is counted."""


FIXING_OPTIONS = ("rng", "scope", "answers", "order", "keep", "may_decline", "merges")
"""Options of fixing a domain, without effect on data that have one."""


PARQUET_SIGNATURE = b"PAR1"
"""First bytes of a Parquet file."""


def read(data: Any, **table: Unpack[CodingKeywords]) -> OpenTable:
    """Return a table that is opened once, for all functions that take `data`.

    A text file is sniffed once, a lazy frame computed once, and its columns are checked
    once for each way of reading them.

    Parameters
    ----------
    data
        A pandas, Polars or PyArrow frame; the path of a CSV, TSV, Parquet or Feather
        file, of a folder of such files, a glob, or a list of paths; or the name of a
        dataset whose files are at hand.  Data that are counted already raise.
    **table
        How the table is read, unless a function overrides it: `columns`, `drop`,
        `bins`, `missing`, `max_values`, `missing_markers`, `delimiter`, `column_names`,
        `encoding`, `domain`, `pool`, `person`; see `TableKeywords`.

    Notes
    -----
    Of a file the first 100 lines are read.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import seepage as sp
    >>> columns = {"sex": ["F", "M"] * 50, "smoker": ["no", "yes", "yes", "no"] * 25}
    >>> people = sp.read(pa.table(columns))
    >>> sp.check(people)
    DataCheck(100 records, 2 columns)
    >>> round(sp.analyse(people, 1.0).matrix["sex", "smoker"].value, 3)
    0.0
    """
    options = TableOptions.from_keywords(table, read)
    if is_counted(data):
        raise InputError(
            "data must be a table to be read, and are counted already; give the table "
            "itself",
            parameter="data",
        )
    return open_table(data, options)


def open_table(data: Any, options: TableOptions) -> OpenTable:
    """Return a table that is not counted, opened with the options of reading."""
    from seepage.tables.open_source import open_source

    if isinstance(data, OpenTable):
        return replace(data, keywords=data.reading(options.coding))
    table, keywords = table_of(data, options.coding)
    source = open_source(table, TableOptions(**keywords))
    return OpenTable(source, keywords, data, is_dataset=is_dataset(data))


def count_pairs(data: Any, **table: Unpack[TableKeywords]) -> PairCounts:
    """Return the pair counts: the two-way contingency table of every pair of
    attributes.

    Parameters
    ----------
    data
        A pandas, Polars or PyArrow frame; or the path of a CSV, TSV, Parquet or Feather
        file, of a folder of such files, a glob, or a list of paths; or a Spark
        DataFrame; or the name of a dataset, a file of pair counts, `PairCounts` or
        `Records`, for which only the options `columns`, `drop` and `pool` are allowed.
    **table
        How a table is read: `columns`, `drop`, `bins`, `missing`, `max_values`,
        `missing_markers`, `delimiter`, `column_names`, `encoding`, `domain`, `pool`,
        `person`, `engine`, `progress`; see `TableKeywords`.

    Notes
    -----
    The records are streamed: memory does not grow with their number.  On two cores, 10
    million records of 40 binary attributes in memory take about as long as copying
    them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> people = pa.table(
    ...     {"sex": ["F", "M", "M", "F"], "smoker": [True, False, True, True]}
    ... )
    >>> pairs = count_pairs(people)
    >>> pairs.table("sex", "smoker").tolist()
    [[0, 2], [1, 1]]
    """
    check_keywords(table, count_pairs)
    data, table = merged_reading(data, table)
    return as_pairs(data, **DataOptions(**table).keywords)


def as_pairs(data: Any, **options: Any) -> PairCounts:
    """Return the pair counts of `data`; tables are counted with these options.

    Parameters
    ----------
    data
        See the module.
    options
        The table options of `count_pairs`.  For pair counts and records only `columns`,
        `drop` and `pool`; any other option would have no effect and raises an
        InputError.

    Examples
    --------
    >>> import pyarrow as pa
    >>> as_pairs(pa.table({"sex": ["F", "M"], "age": [30, 40]}), bins=2)
    PairCounts(2 records, 2 attributes)
    >>> as_pairs("adult", columns=["sex", "race"])
    PairCounts(48,842 records, 2 attributes)
    """
    counted = as_counted(data, records=False, **options)
    return counted.pairs() if isinstance(counted, Records) else counted


def as_records(data: Any, **options: Any) -> Records:
    """Return the distinct records of `data`; pair counts have none and raise an
    InputError.

    Parameters
    ----------
    data
        See the module.
    options
        The table options of `count_pairs`, and those of `Records.from_data`.

    Examples
    --------
    >>> as_records("survey", columns=["coffee", "sleep"]).domain.names
    ('coffee', 'sleep')
    """
    counted = as_counted(data, records=True, **options)
    if isinstance(counted, PairCounts):
        raise InputError(
            "data must have records, and has pair counts only; give the table itself",
            parameter="data",
        )
    return counted


def as_counted(
    data: Any, *, records: bool = True, within: Domain | None = None, **options: Any
) -> PairCounts | Records:
    """Return the distinct records of `data` if asked for and available, else its pair
    counts.

    With a domain `within`, tables are coded in it, and existing counts or records must
    have it; columns that it does not name are ignored.
    """
    known = RecordOptions if records else DataOptions
    checks.options(options, [option.name for option in fields(known)])
    reading = dict[str, Any]()
    for name, value in options.items():
        if value is not None or name == "rng":
            reading[name] = value
    coding = dict(reading)
    if within is not None:
        within = within.as_coded()
        coding["domain"] = within
    counted = _counted_already(data, coding, records=records)
    if counted is None:
        table, coding = table_of(data, coding)
        if records:
            return Records.from_data(table, **coding)
        return _count(table, coding)
    _check_effective(reading, data)
    return _within(_recoded(counted, reading), within)


def _check_effective(options: Iterable[str], data: Any) -> None:
    """Raise an InputError for an option of reading that has no effect on `data` that
    are counted.
    """
    for name in options:
        if name not in (*RECODING_OPTIONS, *FIXING_OPTIONS, "progress"):
            what = "the data are"
            if isinstance(data, (str, os.PathLike)):
                what = f"{data} is"
            raise InputError(
                f"{name} has no effect: {what} counted already", parameter=name
            )


def _counted_already(
    data: Any, coding: Mapping[str, Any], *, records: bool
) -> PairCounts | Records | None:
    """Return `data` to read that are counted, also a file of pair counts and those of a
    dataset; None for tables.
    """
    if isinstance(data, (PairCounts, Records)):
        return data
    if not isinstance(data, (str, os.PathLike)):
        return None
    if is_dataset_name(data):
        if _needs_file(str(data), records, coding):
            return None
        from seepage.datasets.catalogue import load_pairs

        return load_pairs(str(data))
    if is_pairs_file(data):
        return PairCounts.load(data)
    return None


def _within(
    counted: PairCounts | Records, domain: Domain | None
) -> PairCounts | Records:
    """Return the counts or records read of a domain's attributes; any other domain
    raises.
    """
    if domain is None:
        return counted
    if set(domain.names) < set(counted.domain.names):
        counted = counted.select(domain.names)
    if counted.domain != domain:
        where = counted.domain.differences(domain)
        raise DomainError(
            f"data must be of the domain asked for: {where}", parameter="data"
        )
    return counted


def _count(data: Any, coding: Mapping[str, Any]) -> PairCounts:
    """Return the pair counts of `data` that are a table."""
    from seepage.tables.sources import source_files

    options = DataOptions(**coding)
    spark = uses_spark(data, options.engine, options.person_column)
    sources = source_files(data)
    if spark:
        from seepage.counting.spark.engine import count_with_spark

        counted = count_with_spark(data, options)
    else:
        from seepage.tables.scan import open_scan

        counted = count_scan(open_scan(data, options), options.progress)
    counted = counted.counted_from(sources)
    if options.pool is not None:
        counted = pool_rare(counted, options.pool)
    return counted


def is_counted(data: Any, *, datasets: bool = False) -> bool:
    """Return whether `data` are pair counts or records, or known as such by name.

    A dataset counts as counted where only its counts are at hand, or if `datasets` says
    so.
    """
    if not isinstance(data, (str, os.PathLike)):
        return isinstance(data, (PairCounts, Records))
    if not is_dataset_name(data):
        return is_pairs_file(data)
    return datasets or not _needs_file(str(data), True, {})


def check_domain_stands(counted: Any) -> None:
    """Raise an InputError if `data` were read in a domain chosen by the records that
    are to certify something.

    Pair counts do not tell: what is stated from them says that their domain is taken as
    declared.
    """
    if counted.pooled:
        raise InputError(
            "pool: values pooled by the same counts certify nothing for a population; "
            "give the table itself, or count in a declared domain",
            parameter="pool",
        )
    if isinstance(counted, Records) and not counted.origin.declared:
        raise InputError(
            "the domain of these records was read off them, so they certify nothing "
            "for a population; give the table itself, or read the records with a "
            "domain",
            parameter="data",
        )


def check_whole_table(
    counted: Counted,
    guarantee: str,
    what: str,
    scope: str = "table",
    hint: str = "give the table itself, its pair counts, or guarantee 'worst'",
) -> None:
    """Raise a GuaranteeError if `data` are read as a sample where a guarantee is for
    all records.

    The sum of all budgets, `"worst"`, holds for any records; totals with the scope
    `"population"` are computed from samples.

    Parameters
    ----------
    counted
        The records, or their pair counts.
    guarantee
        The name of the guarantee.
    what
        The subject of the message, in the plural ("budgets").
    scope
        `"table"` or `"population"`.
    hint
        The end of the message: alternatives.
    """
    if scope == "population" and guarantee != "worst":
        check_domain_stands(counted)
    if counted.population is not None and guarantee != "worst" and scope == "table":
        raise GuaranteeError(
            f"{what} need all records, and these are a {how_many(counted)}: people "
            "left out may have what leaks most; ",
            hint,
        )


def table_of(data: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return `data` that are a table and its options of reading; of a dataset or an
    open table also its own.
    """
    if isinstance(data, OpenTable):
        reading = data.reading(options)
        return data.records(reading.get("engine", "")), reading
    if not is_dataset(data):
        return data, options
    from seepage.datasets.catalogue import dataset

    known = dataset(str(data))
    return known.read(), _dataset_options(known.table, options)


def is_dataset(data: Any) -> bool:
    """Return whether `data` is the name of a dataset, or a dataset that is open."""
    if isinstance(data, OpenTable):
        return data.is_dataset
    return isinstance(data, (str, os.PathLike)) and is_dataset_name(data)


def path_of(data: Any) -> str:
    """Return the path or name of `data`, also of an open table; empty for others."""
    if isinstance(data, OpenTable):
        data = data.origin
    if isinstance(data, (str, os.PathLike)):
        return os.fspath(data)
    return ""


def is_dataset_name(data: str | os.PathLike[str]) -> bool:
    """Return whether `data` are a dataset's name: letters, digits and hyphens, and no
    file.
    """
    file = checks.input_path(data, "data")
    return (
        isinstance(data, str) and not file.exists() and data.replace("-", "").isalnum()
    )


def _needs_file(name: str, records: bool, options: Mapping[str, Any]) -> bool:
    """Return whether the files of `data`, a dataset's name, are read: at hand, and its
    bundled counts do not suffice.
    """
    from seepage.datasets.catalogue import BUNDLED, DATASETS

    recounting = set(options) - {*RECODING_OPTIONS, *ENGINE_OPTIONS}
    at_hand = name in DATASETS and DATASETS[name].at_hand
    return at_hand and (records or bool(recounting) or name not in BUNDLED)


def _dataset_options(
    defaults: Mapping[str, Any], options: dict[str, Any]
) -> dict[str, Any]:
    """Return the options of reading a dataset, its defaults overridden by those given.

    Default bins of unused columns are left out.  A given domain replaces default
    columns and bins.
    """
    if options.get("domain") is not None:
        defaults = dict(defaults)
        defaults.pop("bins", None)
        defaults.pop("columns", None)
    merged = {**defaults, **options}
    default_bins = defaults.get("bins")
    bins = options.get("bins") or {}
    if isinstance(default_bins, Mapping) and isinstance(bins, Mapping):
        used = set(options.get("columns") or default_bins)
        used -= set(options.get("drop") or ())
        merged["bins"] = {
            name: rule for name, rule in default_bins.items() if name in used
        }
        merged["bins"].update(bins)
    return merged


def _recoded(
    counted: PairCounts | Records, reading: Mapping[str, Any]
) -> PairCounts | Records:
    """Return counts or records given as `data` with columns selected, and rare values
    pooled.
    """
    recoding = dict[str, Any]()
    for name in (*RECODING_OPTIONS, "progress"):
        if name in reading:
            recoding[name] = reading[name]
    options = DataOptions(**recoding)
    names = options.choose(counted.domain.names)
    if tuple(names) != counted.domain.names:
        counted = counted.select(names)
    if options.pool is not None:
        counted = pool_rare(counted, options.pool)
    return counted


def is_pairs_file(path: str | os.PathLike[str]) -> bool:
    """Return whether `data` are a path of a file of pair counts, by its Parquet
    metadata.
    """
    file = Path(path)
    try:
        if not file.is_file() or not _begins_as_parquet(file):
            return False
    except (OSError, ValueError):
        return False
    from pyarrow import ArrowException
    from pyarrow.parquet import read_schema

    try:
        return FILE_KEY in (read_schema(file).metadata or {})
    except (OSError, ValueError, ArrowException):
        return False


def _begins_as_parquet(file: Path) -> bool:
    """Return whether the file given as `data` begins as Parquet files do."""
    with file.open("rb") as stream:
        return stream.read(len(PARQUET_SIGNATURE)) == PARQUET_SIGNATURE
