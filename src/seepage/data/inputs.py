"""`data` as every public function takes it, to pair counts or to records.

`data` is a pandas, Polars, PyArrow or Spark frame; the path of a table, a folder or a glob; the
path of a file of pair counts; the name of a dataset; `PairCounts` or `Records`.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from seepage import _checks
from seepage.data.counting.count import count_table
from seepage.data.domain import Domain
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.data.table.options import TableOptions, as_pool
from seepage.errors import DomainError, InputError

CHOICES = ("columns", "drop", "rename", "pool")
"""Table options that counts and records obey too."""

ENGINE_OPTIONS = ("engine", "progress")


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
                return _read(DATASETS[str(data)].read(), records, settings)
            found = load_pairs(str(data))
        elif _is_pairs_file(data):
            found = PairCounts.load(data)
        else:
            check_holds_records(data)
            return _read(data, records, reading)
        _allow_only((*CHOICES, "progress"), options, f"{data} is counted already")
        return _within(_chosen(found, options), within)
    return _read(data, records, reading)


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


def _read(data: Any, records: bool, options: Mapping[str, Any]) -> PairCounts | Records:
    """Return the records or the counts of a table."""
    if records:
        return Records.from_data(data, **options)
    engine = {name: options[name] for name in ENGINE_OPTIONS if options.get(name) is not None}
    table = {name: value for name, value in options.items() if name not in ENGINE_OPTIONS}
    return count_table(data, TableOptions.from_keywords(**table), **engine)


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
    return found if options.get("pool") is None else _pooled(found, as_pool(options["pool"]))


def _pooled(found: PairCounts | Records, pool: float) -> PairCounts | Records:
    from seepage.data.pooling import pool_pairs, pool_records

    return pool_records(found, pool) if isinstance(found, Records) else pool_pairs(found, pool)


def _allow_only(allowed: Iterable[str], options: Mapping[str, Any], why: str) -> None:
    """Raise an error for options that do not exist, or that have no effect."""
    others = (*ENGINE_OPTIONS, "sample", "seed")
    TableOptions.from_keywords(**{name: None for name in options if name not in others})
    for name, value in options.items():
        given = value is not None and (name, value) != ("engine", "auto")
        if given and name not in allowed:
            raise InputError(f"{name} has no effect: {why}")


def _is_pairs_file(path: str | os.PathLike[str]) -> bool:
    from seepage.data.pairs_file import is_pairs_file

    return is_pairs_file(path)


def check_holds_records(data: str | os.PathLike[str]) -> None:
    """Raise an InputError if files hold our reports or counts: noise read as records leaks less."""
    import pyarrow.parquet as pq
    from pyarrow import ArrowException

    from seepage.data.table.sources import find_files

    files = [Path(data)] if Path(data).is_file() else find_files(data)[1]
    for file in files:
        if file.is_fifo():
            continue
        try:
            metadata = pq.read_schema(file).metadata or {}
        except (ArrowException, OSError):
            return
        if any(key.startswith(b"seepage") for key in metadata):
            raise InputError(
                f"{file} must hold records, got reports or counts that seepage wrote; "
                "reports are read together with their plan"
            )
