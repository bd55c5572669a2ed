"""`TableOptions`: how a table is read, its columns, bins, missing values and format.

`scan.open_scan` reads pandas, Polars and PyArrow frames, CSV, TSV, Parquet and Feather
files, folders and globs, one batch at a time, and codes each column.  The same table
gives the same domain from each of them:

* strings are unchanged; booleans are `true` and `false`; dates and times are in ISO
  form, those with a time zone in UTC (`2020-01-02T02:04:05+00:00`);
* numbers with few distinct values are ordered categories, others are binned.  Numbers
  are floats, and the label of a number is the shortest decimal that rounds to it, the
  same for an integer, a float or a decimal.  A number from 2^53 on that no float equals
  is a category like a string;
* nulls, NaN, empty fields of text files and `missing_markers` are `(missing)`, or
  dropped.

Text files have no types: a field that looks like a number is one, and a column is
numeric if all its fields are.  Values that do not occur are not in the domain, except
empty bins.

Importing this module does not import PyArrow.
"""

import codecs
import inspect
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypedDict

from seepage._core import checks
from seepage._core.errors import InputError, Setting, TableError
from seepage._core.progress import Progress
from seepage.channel.domain import ALL_OTHERS, Domain

if TYPE_CHECKING:
    from seepage.tables.bins import BinningRule


MAX_ALPHABET = 2**16 - 2
"""Maximum alphabet size: codes have 16 bits, and one code is reserved for new
values."""


DEFAULT_BINS = 10
"""Number of quantile bins by default."""


FEW_NUMBERS = 50
"""Maximum number of distinct numbers that are ordered categories rather than binned."""


ANSWERS = ("merged", "as-is")
"""Values of the option `answers`, see `seepage.tables.answer_rule`."""


NO_PERSON = "none"
"""The value of the option `person` for tables with one record per person."""


MISSING_VALUES = ("category", "drop")
"""Values of the option `missing`."""


SPARK = "spark"
"""Value of the option `engine` that counts on a cluster."""


ENGINES = ("auto", SPARK)
"""Values of the option `engine`."""


IS_DOMAIN = partial(checks.instance, kind=Domain, what="a Domain")
"""Check of the option `domain`."""


BinRule: TypeAlias = int | str | Sequence[float] | None


Bins: TypeAlias = BinRule | Mapping[str, BinRule]


def _texts(value: Any, name: str) -> tuple[str, ...]:
    """Check an option of a table that is a list of texts."""
    return tuple(checks.texts(value, name))


def _markers(value: Any, name: str) -> tuple[str, ...] | dict[str, tuple[str, ...]]:
    """Check the option `missing_markers` of a table: strings, by column if a mapping is
    given.
    """
    if isinstance(value, Mapping):
        return {column: _texts(value[column], name) for column in value}
    return _texts(value, name)


def _delimiter(value: Any, name: str) -> str:
    """Check the option `delimiter` of a table."""
    mark = checks.text(value, name)
    if not (len(mark) == 1 and mark.isascii()):
        raise checks.violation(name, "one ASCII character", mark)
    return mark


def _encoding(value: Any, name: str) -> str:
    """Check the option `encoding` of a table: one that Python can decode incrementally,
    as files are read.
    """
    text = "a,\n"
    try:
        decoder = codecs.getincrementaldecoder(value)()
        known = text == "".join(
            decoder.decode(bytes([byte])) for byte in text.encode(value)
        )
    except (LookupError, TypeError, ValueError):
        known = False
    if not known:
        raise checks.violation(name, "a text encoding that Python knows", value)
    return str(value)


def _pool(value: Any, name: str) -> float:
    """Check the option `pool` of a table."""
    number = checks.weight(value, name)
    if number == 0 or (number > 1 and number != int(number)):
        rule = "a number of records of at least 1 or a share between 0 and 1"
        raise checks.violation(name, rule, value)
    return number


TABLE_CONSTRAINTS: dict[str, checks.Check] = {
    "columns": _texts,
    "drop": _texts,
    "missing": partial(checks.choice, options=MISSING_VALUES),
    "max_values": partial(checks.integer, minimum=1, maximum=MAX_ALPHABET),
    "missing_markers": _markers,
    "delimiter": _delimiter,
    "column_names": _texts,
    "encoding": _encoding,
    "domain": IS_DOMAIN,
    "pool": _pool,
    "person": checks.text,
}
"""What each of the `TableOptions` must be; rules of bins are read when they are used.
"""


class CodingKeywords(TypedDict, total=False):
    """Keywords of how the columns of a table are coded, see `TableKeywords`."""

    columns: Sequence[str] | None
    drop: Sequence[str]
    bins: Bins
    missing: str
    max_values: int
    missing_markers: Sequence[str] | Mapping[str, Sequence[str]]
    delimiter: str | None
    column_names: Sequence[str] | None
    encoding: str
    domain: Domain | None
    pool: float | None
    person: str | None


class TableKeywords(CodingKeywords, total=False):
    """Keywords of reading a table, of every public function that takes `data`.

    A function takes them as `**table: Unpack[TableKeywords]`.

    Parameters
    ----------
    columns
        The columns to use, in this order; all by default.
    drop
        The columns to leave out.
    bins
        Binning of numeric columns with many values: `"quantile:10"` (the default),
        `"width:8"`, ascending edges, or `"none"` (each number is a category).  An
        integer is a number of quantile bins; many values are more than 50.  A mapping
        gives a rule for each column, `"*"` that of all others; a column that it names
        is binned even if it has fewer.
    missing
        `"category"`: missing values are a category; `"drop"`: records with a missing
        value are left out, and their other values are ignored.
    max_values
        Maximum alphabet size, 1,000 by default; a column with more values raises an
        error.
    missing_markers
        Strings that mean missing, such as `"?"`.  They are in addition to empty fields
        of text files, nulls and NaN; a mapping gives those of each column, `"*"` those
        of all.
    delimiter
        The delimiter of text files; detected by default.
    column_names
        The column names of a text file without a header line.
    encoding
        The encoding of text files, such as `"latin-1"`; `"utf-8"` by default.
    domain
        The domain to code in: its columns, values and bins.  A value outside raises an
        error, unless the attribute has the value "(other)".
    pool
        Minimum number of records of a value, below 1 their minimum share: rarer values
        are merged into "(other)".  Off by default.  Bins are not merged.
    person
        The column that identifies the person, whose first record that is not dropped is
        kept; it is not an attribute.  Values and bins are still those of the whole
        table.  `"none"`: each record is a person, also where a column looks as if
        several records were of one.
    engine
        `"auto"` (the default): NumPy, or Numba if the work exceeds the time to load it;
        `"spark"`: the executors of the active Spark session read the Parquet files.
        All counts are equal.
    progress
        Called with the number of steps done and their total, None if unknown.  It is
        not called by Spark, which shows its own progress.  A search of a design shows
        its progress on a terminal without it.

    Examples
    --------
    >>> import seepage as sp
    >>> table: TableKeywords = {"columns": ["sex", "race"]}
    >>> sp.count_pairs("adult", **table)
    PairCounts(48,842 records, 2 attributes)
    """

    engine: str
    progress: Progress | None


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """Options that determine how a table is coded into attributes.

    Parameters
    ----------
    columns
        The columns to use, in this order; all by default.
    drop
        The columns to leave out.
    bins
        Binning of numeric columns with many values: `"quantile:10"` (the default),
        `"width:8"`, ascending edges, or `"none"` (each number is a category).  An
        integer is a number of quantile bins; many values are more than 50.  A mapping
        gives a rule for each column, `"*"` that of all others; a column that it names
        is binned even if it has fewer.
    missing
        `"category"`: missing values are a category; `"drop"`: records with a missing
        value are left out, and their other values are ignored.
    max_values
        Maximum alphabet size; a column with more values raises an error.
    missing_markers
        Strings that mean missing, such as `"?"`.  They are in addition to empty fields
        of text files, nulls and NaN; a mapping gives those of each column, `"*"` those
        of all.
    delimiter
        The delimiter of text files; detected by default.
    column_names
        The column names of a text file without a header line.
    encoding
        The encoding of text files, such as `"latin-1"`.
    domain
        The domain to code in: its columns, values and bins.  A value outside raises an
        error, unless the attribute has the value "(other)".
    pool
        Minimum number of records of a value, below 1 their minimum share: rarer values
        are merged into "(other)".  Off by default.  Bins are not merged.
    person
        The column that identifies the person, whose first record that is not dropped is
        kept; it is not an attribute.  Values and bins are still those of the whole
        table.  `"none"`: each record is a person, also where a column looks as if
        several records were of one.

    Examples
    --------
    >>> TableOptions(
    ...     drop=["id"], bins={"age": [0, 18, 65, 120], "*": "width:8"}
    ... ).bins_of("height")
    Width(bins=8)
    """

    columns: Sequence[str] | None = None
    drop: Sequence[str] = ()
    bins: Bins = None
    missing: str = "category"
    max_values: int = 1000
    missing_markers: Sequence[str] | Mapping[str, Sequence[str]] = ()
    delimiter: str | None = None
    column_names: Sequence[str] | None = None
    encoding: str = "utf-8"
    domain: Domain | None = None
    pool: float | None = None
    person: str | None = None

    def __post_init__(self) -> None:
        """Check the options of reading a table."""
        checks.constrain(self, TABLE_CONSTRAINTS)
        if self.domain is None:
            self._check_number_of_bins()
        elif self.bins is not None:
            raise checks.exclusive("bins", "domain", "a domain has its own bins")
        elif self.pool is not None:
            raise checks.exclusive("pool", "domain", "a domain has its own values")

    @classmethod
    def from_keywords(
        cls, table: Mapping[str, Any], function: Callable[..., Any]
    ) -> Self:
        """Return the options of the keywords `**table` of a public function.

        Any other keyword raises, with the closest one of the function or of a table.

        Examples
        --------
        >>> def count(data, *, digits=2, **table):
        ...     return TableOptions.from_keywords(table, count)
        >>> count("adult", bin=4)
        Traceback (most recent call last):
        seepage.InputError: there is no option 'bin'; did you mean 'bins'?
        >>> count("adult", digit=4)
        Traceback (most recent call last):
        seepage.InputError: there is no option 'digit'; did you mean 'digits'?
        """
        check_keywords(table, function, cls)
        return cls(**table)

    def _check_number_of_bins(self) -> None:
        """Raise for an option `bins` of a table with too many bins."""
        most = DEFAULT_BINS
        if self.bins is not None:
            from seepage.tables.bins import read_rule

            rules: Iterable[Any] = [self.bins]
            if isinstance(self.bins, Mapping):
                rules = self.bins.values()
            most = max((read_rule(rule).bins for rule in rules), default=0)
        if most > self.max_values:
            raise InputError(
                "bins must be at most ",
                Setting("max_values"),
                f" ({self.max_values:,}), got {most:,}",
                parameter="bins",
            )

    @property
    def keywords(self) -> dict[str, Any]:
        """The options of reading a table that differ from their defaults, by name."""
        return changed(self, type(self))

    @property
    def coding(self) -> dict[str, Any]:
        """The options of coding a table that differ from their defaults, by name."""
        return changed(self, TableOptions)

    @property
    def person_column(self) -> str | None:
        """The option `person` of a table as a column; None if each record is a
        person.
        """
        if self.person == NO_PERSON:
            return None
        return self.person

    @property
    def dropping(self) -> bool:
        """Whether the option `missing` of a table says that records with missing values
        are dropped.
        """
        return self.missing == "drop"

    def given_rule(self, name: str) -> BinRule:
        """Return the rule that the option `bins` gives for a column; None if it gives
        none.
        """
        rules = self.bins
        if not isinstance(rules, Mapping):
            return rules
        return rules.get(name, rules.get(ALL_OTHERS))

    def bins_of(self, name: str) -> "BinningRule":
        """Return the binning rule of a numeric column by the table's options."""
        from seepage.tables.bins import DEFAULT_RULE, read_rule

        rule = self.given_rule(name)
        if rule is None:
            return DEFAULT_RULE
        return read_rule(rule)

    def markers_of(self, name: str) -> Sequence[str]:
        """Return the strings that mean missing in a column by the table's options."""
        markers = self.missing_markers
        if not isinstance(markers, Mapping):
            return markers
        return (*markers.get(ALL_OTHERS, ()), *markers.get(name, ()))

    def choose(self, names: Sequence[str]) -> list[str]:
        """Return the columns to read by the table's options, of these names; unknown
        names raise.
        """
        _check_distinct(names, "the table")
        selected = names if self.columns is None else self.columns
        check_known([*selected, *self.drop], names)
        check_known(_named_in(self.missing_markers), names, "missing_markers")
        person = self.person_column
        if person is not None:
            check_known([person], names, "person")
            if self.columns is not None and person in self.columns:
                raise TableError(
                    f"columns must not name the person, got {person!r} in both",
                    parameter="columns",
                )
        left_out = {*self.drop, person}
        kept = [name for name in selected if name not in left_out]
        _check_distinct(kept, "the list of columns")
        if not all(kept):
            raise TableError(
                "a column has no name; name it or drop it (", Setting("drop"), ")"
            )
        if not kept:
            raise TableError("there is no column left to read")
        if self.domain is not None:
            check_known(self.domain.names, kept, "domain")
            kept = list(self.domain.names)
        check_known(_named_in(self.bins), kept, "bins")
        return kept


DATA_CONSTRAINTS: dict[str, checks.Check] = {
    "engine": partial(checks.choice, options=ENGINES),
    "progress": checks.progress,
}
"""What each of the `DataOptions` must be, beside those of a table."""


@dataclass(frozen=True, kw_only=True)
class DataOptions(TableOptions):
    """Options of functions that take `data`: how a table is coded, and by what it is
    read.

    Parameters
    ----------
    engine
        `"auto"`: NumPy, or Numba if the work exceeds the time to load it; `"spark"`:
        the executors of the active Spark session read the Parquet files.  All counts
        are equal.
    progress
        Called with the number of steps done and their total, None if unknown.  It is
        not called by Spark, which shows its own progress.  A search of a design shows
        its progress on a terminal without it.
    """

    engine: str = "auto"
    progress: Progress | None = None

    def __post_init__(self) -> None:
        """Check the options of reading `data`."""
        super().__post_init__()
        checks.constrain(self, DATA_CONSTRAINTS)

    @property
    def reading(self) -> dict[str, Any]:
        """The options of reading `data` that differ from their defaults, by name."""
        return changed(self, DataOptions)


def check_keywords(
    table: Mapping[str, Any],
    function: Callable[..., Any],
    kind: type[TableOptions] = DataOptions,
) -> None:
    """Raise unless the keywords `**table` of a function are options of reading a table.

    The message suggests the closest keyword of the function or of a table.
    """
    known = [field.name for field in fields(kind)]
    if table.keys() <= set(known):
        return
    hints = list[str]()
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is not parameter.VAR_KEYWORD:
            hints.append(parameter.name)
    checks.options(table, known, [*hints, *known])


def changed(options: TableOptions, kind: type[TableOptions]) -> dict[str, Any]:
    """Return those table options of a kind that differ from their defaults, by name."""
    differing = {}
    for keyword in fields(kind):
        value = getattr(options, keyword.name)
        if type(value) is not type(keyword.default) or value != keyword.default:
            differing[keyword.name] = value
    return differing


def is_spark_frame(data: Any) -> bool:
    """Return whether `data` is a Spark DataFrame, classic or Connect; PySpark is not
    imported.

    Examples
    --------
    >>> import pyarrow as pa
    >>> is_spark_frame(pa.table({"a": [1, 2]}))
    False
    """
    kinds = [(kind.__module__, kind.__name__) for kind in type(data).__mro__]
    return ("pyspark.sql.dataframe", "DataFrame") in kinds


def uses_spark(data: Any, engine: str, person: str | None) -> bool:
    """Return whether the option `engine` reads `data` by Spark, which does not look for
    a person's first record.
    """
    used = engine == SPARK or is_spark_frame(data)
    if used and person is not None:
        raise TableError(
            "Spark reads every record; give it a DataFrame with one for each person "
            f"(dropDuplicates), without {person!r}",
            parameter="person",
        )
    return used


def check_known(
    keywords: Iterable[str], names: Sequence[str], parameter: str = ""
) -> None:
    """Raise a TableError unless all names in a table option are columns; it suggests
    the closest one.
    """
    for name in keywords:
        if name not in names:
            hint = checks.near_miss(name, names)
            subject = f"{parameter}: " if parameter else ""
            raise TableError(
                f"{subject}there is no column {name!r}{hint}", parameter=parameter
            )


def _check_distinct(names: Sequence[str], where: str) -> None:
    """Raise a TableError for a name that a table option has twice."""
    for name, count in Counter(names).items():
        if count > 1:
            raise TableError(f"{where} has the column {name!r} twice")


def _named_in(value: Any) -> list[str]:
    """Return the columns that a table option, a mapping of rules or markers, names;
    none of anything else.
    """
    if not isinstance(value, Mapping):
        return []
    return [name for name in value if name != ALL_OTHERS]


RECORD_CONSTRAINTS: dict[str, checks.Check] = {
    "sample": partial(checks.integer, minimum=1),
    "rng": checks.seed,
    "scope": partial(checks.choice, options=("table", "population")),
    "answers": partial(checks.choice, options=ANSWERS),
    "may_decline": checks.flag,
}
"""What each of the `RecordOptions` must be."""


@dataclass(frozen=True, kw_only=True)
class RecordOptions(DataOptions):
    """Options of `Records.from_data`, which describes them."""

    sample: int | None = None
    rng: Any = 0
    scope: str = "table"
    answers: str = "as-is"
    order: Mapping[str, Sequence[str]] = field(default_factory=dict)
    keep: Collection[str] = ()
    may_decline: bool = False
    merges: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the options of reading records."""
        super().__post_init__()
        checks.constrain(self, RECORD_CONSTRAINTS)

    @property
    def draws_missing(self) -> bool:
        """Whether options of reading records give a person without an answer one at
        random.
        """
        return self.may_decline or self.merges_answers

    @property
    def merges_answers(self) -> bool:
        """Whether options of reading records merge answers by the rule."""
        return self.answers == "merged"


def with_more_markers(
    markers: Sequence[str] | Mapping[str, Sequence[str]],
    more: Mapping[str, Sequence[str]],
) -> dict[str, Sequence[str]]:
    """Return the option `missing_markers` by column, with more of some columns."""
    by_column = dict(markers) if isinstance(markers, Mapping) else {ALL_OTHERS: markers}
    for name, texts in more.items():
        by_column[name] = (*by_column.get(name, ()), *texts)
    return by_column
