"""The argument `data` of every public function, converted to pair counts or records.

`data` is a pandas, Polars, PyArrow or Spark frame; the path of a table, a folder or a
glob; the path of a file of pair counts; the name of a dataset; `PairCounts` or
`Records`.
"""

import os
from collections.abc import Mapping
from dataclasses import fields
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
from seepage.tables.table_options import (
    DataOptions,
    RecordOptions,
    TableKeywords,
    uses_spark,
)

RECODING_OPTIONS = ("columns", "drop", "pool")
"""Table options that also apply to existing pair counts and records."""


ENGINE_OPTIONS = ("engine", "progress")


FIXING_OPTIONS = ("rng", "scope", "answers", "order", "keep")


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
    The records are streamed: memory does not grow with their number.  On two cores, 10 million
    records of 40 binary attributes in memory take about as long as copying them.

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
    return as_pairs(data, **DataOptions.from_keywords(table, count_pairs).keywords)


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
    given = {
        name: one for name, one in options.items() if one is not None or name == "rng"
    }
    coding = given if within is None else {**given, "domain": within}
    counted = data
    what = "the data are"
    if isinstance(data, (str, os.PathLike)):
        what = f"{data} is"
        if is_dataset_name(data) and not _needs_file(str(data), records, coding):
            from seepage.datasets.catalogue import load_pairs

            counted = load_pairs(str(data))
        elif is_pairs_file(data):
            counted = PairCounts.load(data)
    if not isinstance(counted, (PairCounts, Records)):
        table, coding = table_of(data, coding)
        return Records.from_data(table, **coding) if records else _count(table, coding)
    for name in given:
        if name not in (*RECODING_OPTIONS, *FIXING_OPTIONS, "progress"):
            raise InputError(
                f"{name} has no effect: {what} counted already", parameter=name
            )
    return _within(_recoded(counted, given), within)


def _within(
    counted: PairCounts | Records, domain: Domain | None
) -> PairCounts | Records:
    """Return the counts or records of a domain's attributes; any other domain raises."""
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
    """Return the pair counts of a table."""
    options = DataOptions(**coding)
    if uses_spark(data, options.engine, options.person):
        from seepage.counting.spark.engine import count_with_spark

        counted = count_with_spark(data, options)
    else:
        from seepage.tables.scan import open_scan

        counted = count_scan(open_scan(data, options), options.progress)
    return counted if options.pool is None else pool_rare(counted, options.pool)


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
    """Raise an InputError if a domain was chosen by the records that are to certify
    something.

    Pair counts do not tell: what is stated from them says that their domain is taken as
    declared.
    """
    if counted.pooled:
        raise InputError(
            "pool: values pooled by the same counts certify nothing for a population; give the "
            "table itself, or count in a declared domain",
            parameter="pool",
        )
    if not getattr(counted, "declared", True):
        raise InputError(
            "the domain of these records was read off them, so they certify nothing for a "
            "population; give the table itself, or read the records with a domain",
            parameter="data",
        )


def check_whole_table(
    counted: Counted,
    guarantee: str,
    what: str,
    scope: str = "table",
    hint: str = "give the table itself, its pair counts, or guarantee 'worst'",
) -> None:
    """Raise a GuaranteeError if a guarantee for all records is computed from a sample
    of them.

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
            f"{what} need all records, and these are a {how_many(counted)}: people left out may "
            "have what leaks most; ",
            hint,
        )


def table_of(data: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return a table and its options; of a dataset its own, and those that are given."""
    if not isinstance(data, (str, os.PathLike)) or not is_dataset_name(data):
        return data, options
    from seepage.datasets.catalogue import dataset

    known = dataset(str(data))
    return known.read(), _dataset_options(known.table, options)


def is_dataset_name(data: str | os.PathLike[str]) -> bool:
    """Return whether a string is a dataset's name: letters, digits and hyphens, and no
    file.
    """
    file = checks.input_path(data, "data")
    return (
        isinstance(data, str) and not file.exists() and data.replace("-", "").isalnum()
    )


def _needs_file(name: str, records: bool, options: dict[str, Any]) -> bool:
    """Return whether a dataset's files are read: at hand, and its bundled counts do not
    suffice.
    """
    from seepage.datasets.catalogue import BUNDLED, DATASETS

    recounting = set(options) - {*RECODING_OPTIONS, *ENGINE_OPTIONS}
    at_hand = name in DATASETS and DATASETS[name].at_hand
    return at_hand and (records or bool(recounting) or name not in BUNDLED)


def _dataset_options(
    defaults: Mapping[str, Any], options: dict[str, Any]
) -> dict[str, Any]:
    """Return the table options of a dataset, its defaults overridden by the options
    given.

    Default bins of unused columns are left out.  A given domain replaces default
    columns and bins.
    """
    if options.get("domain") is not None:
        defaults = {
            key: value
            for key, value in defaults.items()
            if key not in ("bins", "columns")
        }
    merged = {**defaults, **options}
    bins = defaults.get("bins")
    given = options.get("bins")
    if isinstance(bins, Mapping) and (given is None or isinstance(given, Mapping)):
        used = set(options.get("columns") or bins) - set(options.get("drop") or ())
        kept = {name: rule for name, rule in bins.items() if name in used}
        merged["bins"] = {**kept, **(given or {})}
    return merged


def _recoded(
    counted: PairCounts | Records, given: Mapping[str, Any]
) -> PairCounts | Records:
    """Return counts or records with columns selected, and rare values pooled."""
    used = {
        name: given[name] for name in (*RECODING_OPTIONS, "progress") if name in given
    }
    options = DataOptions(**used)
    names = options.choose(counted.domain.names)
    if tuple(names) != counted.domain.names:
        counted = counted.select(names)
    return counted if options.pool is None else pool_rare(counted, options.pool)


def is_pairs_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a file of pair counts, by its Parquet metadata."""
    from pyarrow import ArrowException
    from pyarrow.parquet import read_schema

    file = Path(path)
    try:
        return file.is_file() and FILE_KEY in (read_schema(file).metadata or {})
    except (OSError, ValueError, ArrowException):
        return False
