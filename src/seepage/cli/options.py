"""Reading DATA, and the options that several commands share."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from seepage._results import short_list
from seepage.cli.output import OutputFile, progress_bar
from seepage.data.pairs import PairCounts
from seepage.errors import InputError

Command = TypeVar("Command", bound=Callable[..., Any])


def reject_options(names: Iterable[str], reason: str) -> None:
    """Raise an InputError if one of these options was given although it has no effect.

    Parameters
    ----------
    names
        The parameter names of the options.
    reason
        Why they have no effect.
    """
    for option in click.get_current_context().command.params:
        if option.name in names and was_given(option.name):
            raise InputError(f"{option.opts[-1]} has no effect: {reason}")


def was_given(name: str) -> bool:
    """Return whether the option with this parameter name is on the command line."""
    source = click.get_current_context().get_parameter_source(name)
    return source is ParameterSource.COMMANDLINE


def all_options_but(*names: str) -> list[str]:
    """Return the parameter names of the current command, except these."""
    params = click.get_current_context().command.params
    return [option.name for option in params if option.name and option.name not in names]


# DATA --------------------------------------------------------------------------------------------


def read_pairs(data: str, arguments: dict[str, Any]) -> PairCounts:
    """Return the pair counts of DATA; a table is counted."""
    from seepage.data.inputs import as_pairs

    with progress_bar("counting") as progress:
        pairs = as_pairs(data, progress=progress, **arguments)
    print_reading_notes(data, pairs, arguments)
    return pairs


def read_records(data: str, arguments: dict[str, Any], options: dict[str, Any]) -> Any:
    """Return the records of DATA, or a sample of them; pair counts if DATA has no records."""
    from seepage.data.inputs import as_counted

    names = ("engine",) if options["sample"] is None else ("engine", "sample", "seed")
    reading = arguments | {name: options[name] for name in names}
    with engine_session(data, options), progress_bar("reading") as progress:
        counted = as_counted(data, progress=progress, **reading)
    print_reading_notes(data, counted, arguments)
    return counted


ID_NAME = re.compile(r"(^|[_ .-])(id|uuid|key)$|[a-z]I[dD]$|^I[dD]$")
"""Names of columns that look like identifiers."""


def print_reading_notes(data: str, counted: Any, arguments: dict[str, Any]) -> None:
    """Print one line on columns that were binned by default, and on those that look like ids."""
    from seepage.data.inputs import is_dataset_name, is_pairs_file

    if is_dataset_name(data) or is_pairs_file(data):
        return
    bins = arguments.get("bins")
    chosen = set(bins) if isinstance(bins, dict) else set()
    automatic = bins is None or (chosen and "*" not in chosen)
    binned = [a.name for a in counted.domain if a.edges and automatic and a.name not in chosen]
    ids = [
        a.name
        for a in counted.domain
        if ID_NAME.search(a.name) or (not a.edges and a.size > max(20, counted.records // 2))
    ]
    parts = []
    if binned:
        parts.append(f"numbers binned at deciles: {short_list(binned, 4)} (--bins chooses)")
    if ids:
        parts.append(f"columns that look like ids: {short_list(ids, 4)} (--drop leaves them out)")
    if parts:
        click.echo("; ".join(parts), err=True)


# Options that several commands share -------------------------------------------------------------


def grouped(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Return one decorator that adds several options in this order."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def engine_options(*local: str) -> Callable[[Command], Command]:
    """Return the options `--engine` and `--master`; `local` are engines besides auto and spark."""
    return grouped(
        click.option(
            "--engine",
            type=click.Choice(["auto", *local, "spark"]),
            default="auto",
            help="What reads DATA; spark: its executors read the Parquet files themselves.",
        ),
        click.option(
            "--master", metavar="URL", help="Spark's master; by default all cores of this machine."
        ),
    )


@contextmanager
def engine_session(data: str, options: dict[str, Any]) -> Iterator[None]:
    """Keep a Spark session open during the block if the engine is Spark.

    An InputError is raised before Spark starts if it cannot read DATA.
    """
    master = options["master"]
    if options["engine"] != "spark":
        if master is not None:
            raise InputError("--master needs --engine spark")
        yield
        return
    from seepage.data.inputs import is_dataset_name, is_pairs_file
    from seepage.data.spark.engine import spark_session
    from seepage.data.table.sources import PARQUET, find_files

    if is_dataset_name(data) or is_pairs_file(data):
        raise InputError(f"--engine spark reads Parquet files, and {data} is counted already")
    kind, files = find_files(data)
    if kind != PARQUET:
        raise InputError(f"--engine spark reads Parquet files, got {kind} ({files[0].name})")
    with spark_session(master):
        yield


SEED = click.IntRange(min=0)
BUDGET = click.option(
    "-e",
    "--epsilon",
    type=float,
    default=1.0,
    help="The budget of each attribute.",
)
RENAME = click.option("--rename", multiple=True, metavar="OLD=NEW", help="Rename a column.")
MISSING_MARKER = click.option(
    "--missing-marker", multiple=True, metavar="TEXT", help="Text that means missing, as ?."
)
DELIMITER = click.option(
    "--delimiter", metavar="CHAR", help="The CSV delimiter; detected by default."
)
ENCODING = click.option(
    "--encoding", default="utf-8", help="Encoding of text files, such as latin-1."
)

table_options = grouped(
    click.option("--columns", metavar="A,B,...", help="Only these columns."),
    click.option("--drop", metavar="A,B,...", help="All columns but these."),
    RENAME,
    click.option(
        "--bins",
        multiple=True,
        metavar="[COLUMN=]RULE",
        help="Bin numbers with many values: quantile:10 (the default), width:8, or edges such as "
        "0,18,65,120; for one column or for all.",
    ),
    click.option(
        "--missing",
        type=click.Choice(["category", "drop"]),
        default="category",
        help="Missing values: a category of their own, or drop the record.",
    ),
    MISSING_MARKER,
    DELIMITER,
    ENCODING,
    click.option(
        "--max-values",
        type=int,
        default=1000,
        help="The largest number of values of a column; more are an error.",
    ),
    click.option(
        "--pool",
        type=float,
        metavar="N",
        help="Merge values of fewer than N records into (other); below 1: a share of all records.",
    ),
    click.option(
        "--person", metavar="COLUMN", help="Keep the first record of each person in this column."
    ),
)
"""Options of how a table is read."""

output_options = grouped(
    click.option(
        "--format",
        "form",
        type=click.Choice(["table", "json", "csv"]),
        default="table",
        help="How to write the result.",
    ),
    click.option("-o", "--output", type=OutputFile(), help="Write to a file, not the screen."),
)
"""Options of where and how the result is written."""


def chart_option(what: str) -> Callable[[Command], Command]:
    """Return the option `--chart`; `what` is drawn."""
    return click.option(
        "--chart", type=OutputFile(), help=f"Draw {what}: a .svg, .png, .pdf or .html file."
    )


# Parsing the values of options -------------------------------------------------------------------


def table_arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Return the given table options as Python arguments; removes all of them from `options`."""
    given = {name: options.pop(name) for name in TABLE_PARAMETERS if was_given(name)}
    for name in TABLE_PARAMETERS:
        options.pop(name, None)
    renamed = {"missing_marker": "missing_markers"}
    return {
        renamed.get(name, name): PARSERS[name](value) if name in PARSERS else value
        for name, value in given.items()
    }


def parse_settings(settings: tuple[str, ...], option: str) -> dict[str, str]:
    """Return NAME=VALUE settings as a mapping."""
    parsed = dict[str, str]()
    for setting in settings:
        name, sign, value = setting.rpartition("=")
        if not sign or not name:
            raise InputError(f"{option} must be NAME=VALUE, got {setting!r}")
        if name in parsed:
            raise InputError(f"{option} must name each once, got {name!r} twice")
        parsed[name] = value
    return parsed


def parse_names(text: str | None) -> list[str]:
    """Return the names of A,B,...; an empty list for None."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def parse_number(text: str, name: str) -> float:
    """Return the number of a NAME=NUMBER setting."""
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{name} must be a number, got {text!r}") from None


def _bins(rules: tuple[str, ...]) -> Any:
    """Return one rule for all columns, or a mapping by column with `"*"` for all others."""
    if not rules:
        return None
    parsed = dict[str, str | list[float]]()
    for text in rules:
        name, _, rule = text.rpartition("=")
        if (name or "*") in parsed:
            raise InputError(f"--bins must name each column once, got {text!r} too")
        parsed[name or "*"] = _bin_rule(rule)
    return parsed["*"] if set(parsed) == {"*"} else parsed


def _bin_rule(rule: str) -> str | list[float]:
    if "," not in rule:
        return rule
    try:
        return [float(edge) for edge in rule.split(",")]
    except ValueError:
        raise InputError(f"bin edges must be numbers with commas between, got {rule!r}") from None


TABLE_PARAMETERS = (
    "columns",
    "drop",
    "rename",
    "bins",
    "missing",
    "missing_marker",
    "delimiter",
    "encoding",
    "max_values",
    "pool",
    "person",
)
"""The parameter names of `table_options`."""

PARSERS: dict[str, Callable[[Any], Any]] = {
    "columns": parse_names,
    "drop": parse_names,
    "rename": lambda settings: parse_settings(settings, "--rename"),
    "bins": _bins,
    "delimiter": lambda text: {"\\t": "\t", "tab": "\t", "space": " "}.get(text, text),
}
"""Parsers of table options whose values are texts."""
