"""`data` as every public function takes it, to pair counts or to records.

`data` is a pandas, Polars, PyArrow or Spark frame; the path of a table, a folder or a glob; the
path of a file of pair counts; the name of a dataset; `PairCounts` or `Records`.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from seepage import _checks
from seepage._results import Progress
from seepage.data.counting.count import ENGINES, SPARK, count_scan
from seepage.data.domain import Domain
from seepage.data.pairs import FILE_KEY, PairCounts
from seepage.data.recoding import pool_rare
from seepage.data.records import Records
from seepage.data.spark import is_spark_frame
from seepage.data.table.options import TableOptions, as_pool
from seepage.data.table.scan import open_scan
from seepage.errors import DomainError, InputError

CHOICES = ("columns", "drop", "rename", "pool")
"""Table options that counts and records obey too."""

ENGINE_OPTIONS = ("engine", "progress")

PARQUET_START = b"PAR1"


def count_pairs(
    data: Any,
    *,
    engine: str = "auto",
    progress: Progress | None = None,
    **table_options: Any,
) -> PairCounts:
    """Return how often each two values of each two attributes occur together.

    Parameters
    ----------
    data
        A pandas, Polars or PyArrow frame; or the path of a CSV, TSV, Parquet or Feather file, of
        a folder of such files, a glob, or a list of paths; or a Spark DataFrame; or the name of a
        dataset, a file of pair counts, `PairCounts` or `Records`, which are counted already and
        obey the options `columns`, `drop`, `rename` and `pool` only.
    engine
        `"numpy"`, `"numba"`, or `"auto"`: Numba where the work is worth loading it; `"spark"`:
        the executors of the active Spark session read the Parquet files.  All count the same.
    progress
        Called with the records read so far and the records in all, None where not known; not with
        Spark, which shows its own progress.
    table_options
        The options of `seepage.data.table.TableOptions`, with these most used:

        bins
            How numbers with many values are binned: `10` or `"quantile:10"`, `"width:8"`,
            ascending edges, `"none"`, or a mapping by column with `"*"` for all others.
        columns, drop, rename
            The columns to use, not to use, and their new names.
        missing
            `"category"`: missing values are a value of their own; `"drop"`: such records are left
            out.
        pool
            Values that fewer records have (`100`, or a share such as `0.001`) become "(other)".
        person
            The column that says whose record it is: the first record of each person is kept.
        max_values
            A column with more values raises an error.
        domain
            Count in this domain, so that shards can be merged by `+`; values outside raise an
            error.
        few, missing_markers
            Up to how many values numbers are categories; texts that mean missing.
        delimiter, column_names, skip_lines, encoding
            The format of text files.

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
    _checks.choice(engine, "engine", ENGINES)
    return as_pairs(data, engine=engine, progress=progress, **table_options)


def as_pairs(data: Any, **options: Any) -> PairCounts:
    """Return the pair counts of any data; tables are counted with these options.

    Parameters
    ----------
    data
        See above.
    options
        The table options of `count_pairs`.  Counts and records that exist already obey `columns`,
        `drop`, `rename` and `pool`; any other option raises an InputError: it would have no effect.

    Examples
    --------
    >>> import pyarrow as pa
    >>> as_pairs(pa.table({"sex": ["F", "M"], "age": [30, 40]}), bins=2)
    PairCounts(2 records, 2 attributes)
    >>> as_pairs("adult", columns=["sex", "race"])
    PairCounts(48,842 records, 2 attributes)
    """
    found = as_counted(data, records=False, **options)
    return found.pairs() if isinstance(found, Records) else found


def as_records(data: Any, **options: Any) -> Records:
    """Return the distinct records of any data that has them; pair counts raise an InputError.

    Parameters
    ----------
    data
        See above.
    options
        The table options of `count_pairs`, and `sample` and `seed` of `Records.from_data`.

    Examples
    --------
    >>> as_records("survey", columns=["coffee", "sleep"]).domain.names
    ('coffee', 'sleep')
    """
    found = as_counted(data, records=True, **options)
    if isinstance(found, PairCounts):
        raise InputError("this needs records, and data has pair counts only; give the table itself")
    return found


def as_counted(
    data: Any, *, records: bool = True, within: Domain | None = None, **options: Any
) -> PairCounts | Records:
    """Return the records of data where it has them and they are wanted, else its pair counts.

    Where a domain is given as `within`, tables are read in it and what is counted already must be
    of it; other columns are ignored.
    """
    reading = options if within is None else {**options, "domain": within}
    _checks.progress(options.get("progress"))
    if isinstance(data, (PairCounts, Records)):
        _allow_only(CHOICES, options, "the data are counted already")
        return _within(_chosen(data, options), within)
    if isinstance(data, (str, os.PathLike)):
        if is_dataset_name(data):
            from seepage.data.datasets import DATASETS, load_pairs

            if _is_read(str(data), records, reading):
                settings = _settings(DATASETS[str(data)].table, reading)
                return _read(DATASETS[str(data)].read(), records, **settings)
            found = load_pairs(str(data))
        elif is_pairs_file(data):
            found = PairCounts.load(data)
        else:
            check_holds_records(data)
            return _read(data, records, **reading)
        _allow_only((*CHOICES, "progress"), options, f"{data} is counted already")
        return _within(_chosen(found, options), within)
    return _read(data, records, **reading)


def _within(found: PairCounts | Records, domain: Domain | None) -> PairCounts | Records:
    """Return the attributes of a domain; counts of another domain raise a DomainError."""
    if domain is None:
        return found
    if set(domain.names) < set(found.domain.names):
        found = found.select(domain.names)
    if found.domain != domain:
        where = found.domain.differences(domain)
        raise DomainError(f"data must be of the domain asked for: {where}")
    return found


def _read(
    data: Any,
    records: bool,
    *,
    engine: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> PairCounts | Records:
    """Return the records or the counts of a table."""
    engine = _checks.choice("auto" if engine is None else engine, "engine", ENGINES)
    if records:
        return Records.from_data(data, engine=engine, progress=progress, **options)
    table = TableOptions.from_keywords(**options)
    if engine == SPARK or is_spark_frame(data):
        from seepage.data.spark.engine import count_with_spark

        counted = count_with_spark(data, table)
    else:
        counted = count_scan(open_scan(data, table), engine, progress)
    return counted if table.pool is None else pool_rare(counted, table.pool)


def is_dataset_name(data: str | os.PathLike[str]) -> bool:
    """Return whether a text can only be the name of a dataset: no file, no path and no pattern."""
    file = _checks.input_path(data, "data")
    return isinstance(data, str) and not file.exists() and data.replace("-", "").isalnum()


def _is_read(name: str, records: bool, options: dict[str, Any]) -> bool:
    """Return whether a dataset is read: it is at hand, and its bundled counts do not suffice."""
    from seepage.data.datasets import BUNDLED, DATASETS

    reading = set(options) - {*CHOICES, *ENGINE_OPTIONS}
    at_hand = name in DATASETS and DATASETS[name].at_hand
    return at_hand and (records or bool(reading) or name not in BUNDLED)


def _settings(own: Mapping[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return a dataset's own table options, with those given in their place.

    Its bins are by its own names of columns; those of columns that are not used are left out, and
    those of renamed ones follow the name.  A domain that is given has bins of its own.
    """
    if options.get("domain") is not None:
        own = {name: value for name, value in own.items() if name not in ("bins", "columns")}
    settings = {**own, **options}
    bins, chosen = own.get("bins"), options.get("bins")
    if isinstance(bins, Mapping) and (chosen is None or isinstance(chosen, Mapping)):
        used = set(options.get("columns") or bins) - set(options.get("drop") or ())
        new = options.get("rename") or {}
        kept = {new.get(name, name): rule for name, rule in bins.items() if name in used}
        settings["bins"] = {**kept, **(chosen or {})}
    return settings


def _chosen(found: PairCounts | Records, options: Mapping[str, Any]) -> PairCounts | Records:
    """Return the counts or records with the columns chosen, renamed and pooled."""
    columns, drop = options.get("columns"), options.get("drop") or ()
    wanted = found.domain.names if columns is None else columns
    dropped = {found.domain[name].name for name in drop}
    kept = [name for name in wanted if name not in dropped]
    if not kept:
        raise InputError("there is no column left to read")
    if tuple(kept) != found.domain.names:
        found = found.select(kept)
    if options.get("rename"):
        found = found.rename(dict(options["rename"]))
    return found if options.get("pool") is None else pool_rare(found, as_pool(options["pool"]))


def _allow_only(allowed: Iterable[str], options: Mapping[str, Any], why: str) -> None:
    """Raise an error for options that do not exist, or that have no effect."""
    others = (*ENGINE_OPTIONS, "sample", "seed")
    TableOptions.from_keywords(**{name: None for name in options if name not in others})
    for name, value in options.items():
        given = value is not None and (name, value) != ("engine", "auto")
        if given and name not in allowed:
            raise InputError(f"{name} has no effect: {why}")


def is_pairs_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a file of pair counts, as far as its metadata tell."""
    return FILE_KEY in _our_metadata(Path(path))


def _our_metadata(file: Path) -> list[bytes]:
    """Return the keys under which seepage wrote metadata of a Parquet file; none of another."""
    from pyarrow import ArrowException
    from pyarrow.parquet import read_schema

    try:
        if not file.is_file():
            return []
        with file.open("rb") as start:
            if start.read(len(PARQUET_START)) != PARQUET_START:
                return []
        return [key for key in read_schema(file).metadata or () if key.startswith(b"seepage")]
    except (OSError, ValueError, ArrowException):
        return []


def check_holds_records(data: str | os.PathLike[str]) -> None:
    """Raise an InputError if files hold our reports or counts: noise read as records leaks less."""
    from seepage.data.table.sources import find_files

    files = [Path(data)] if Path(data).is_file() else find_files(data)[1]
    for file in files:
        if _our_metadata(file):
            raise InputError(
                f"{file} must hold records, got reports or counts that seepage wrote; "
                "reports are read together with their plan"
            )
