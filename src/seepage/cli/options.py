"""DATA on the command line, read as in Python, and the options that several commands share."""

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


def reject_options(names: Iterable[str], why: str) -> None:
    """Raise an InputError if one of these options was given: it would have no effect.

    Parameters
    ----------
    names
        The options by the names of their parameters.
    why
        Why they have none.
    """
    for option in click.get_current_context().command.params:
        if option.name in names and was_given(option.name):
            raise InputError(f"{option.opts[-1]} has no effect: {why}")


def was_given(name: str) -> bool:
    """Return whether an option stands on the command line, by the name of its parameter."""
    source = click.get_current_context().get_parameter_source(name)
    return source is ParameterSource.COMMANDLINE


def all_options_but(*names: str) -> list[str]:
    """Return the parameters of the command that runs, without these."""
    params = click.get_current_context().command.params
    return [option.name for option in params if option.name and option.name not in names]


# DATA --------------------------------------------------------------------------------------------


def read_pairs(data: str, arguments: dict[str, Any]) -> PairCounts:
    """Return the pair counts of DATA, counting them if it is a table."""
    from seepage.data.inputs import as_pairs

    with progress_bar("counting") as progress:
        found = as_pairs(data, progress=progress, **arguments)
    announce_reading(data, found, arguments)
    return found


def read_records(data: str, arguments: dict[str, Any], options: dict[str, Any]) -> Any:
    """Return the records of DATA where it has them, else its pair counts; or a sample of them."""
    from seepage.data.inputs import as_counted

    names = ("engine",) if options["sample"] is None else ("engine", "sample", "seed")
    reading = arguments | {name: options[name] for name in names}
    with engine_session(data, options), progress_bar("reading") as progress:
        found = as_counted(data, progress=progress, **reading)
    announce_reading(data, found, arguments)
    return found


ID_NAME = re.compile(r"(^|[_ .-])(id|uuid|key)$|[a-z]I[dD]$|^I[dD]$")
"""Names of columns that tell people apart."""


def announce_reading(data: str, found: Any, arguments: dict[str, Any]) -> None:
    """Say in one line which numbers got bins by themselves, and which columns look like ids."""
    from seepage.data.inputs import is_dataset_name, is_pairs_file

    if is_dataset_name(data) or is_pairs_file(data):
        return
    chosen = arguments.get("bins")
    own = set(chosen) if isinstance(chosen, dict) else set()
    automatic = chosen is None or (own and "*" not in own)
    binned = [a.name for a in found.domain if a.edges and automatic and a.name not in own]
    ids = [
        a.name
        for a in found.domain
        if ID_NAME.search(a.name) or (not a.edges and a.size > max(20, found.records // 2))
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
    """Return several options as one decorator, which keeps their order."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def engine_options(*local: str) -> Callable[[Command], Command]:
    """Return the options of the engine; `local` are those of this machine besides `auto`."""
    return grouped(
        click.option(
            "--engine",
            type=click.Choice(["auto", *local, "spark"]),
            default="auto",
            help="What reads DATA; spark: its executors read the Parquet files themselves.",
        ),
        click.option(
            "--master", metavar="URL", help="Spark's master; all cores of this machine if not."
        ),
    )


@contextmanager
def engine_session(data: str, options: dict[str, Any]) -> Iterator[None]:
    """Keep a Spark session open as long as the block lasts, where Spark is the engine.

    What Spark cannot read raises an InputError before it starts.
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
        help="Raise an error for a column with more values.",
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
"""How a table is read."""

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
"""Where and how the result is written."""


def chart_option(what: str) -> Callable[[Command], Command]:
    """Return the option of a chart of something."""
    return click.option(
        "--chart", type=OutputFile(), help=f"Draw {what}: a .svg, .png, .pdf or .html file."
    )


# What was given ----------------------------------------------------------------------------------


def table_arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Return the table options that were given, as Python takes them; takes all of them out."""
    given = {name: options.pop(name) for name in OF_TABLES if was_given(name)}
    for name in OF_TABLES:
        options.pop(name, None)
    renamed = {"missing_marker": "missing_markers"}
    return {
        renamed.get(name, name): PARSED[name](value) if name in PARSED else value
        for name, value in given.items()
    }


def named_settings(settings: tuple[str, ...], option: str) -> dict[str, str]:
    """Return NAME=VALUE settings as a mapping."""
    result = dict[str, str]()
    for setting in settings:
        name, sign, value = setting.rpartition("=")
        if not sign or not name:
            raise InputError(f"{option} must be NAME=VALUE, got {setting!r}")
        if name in result:
            raise InputError(f"{option} must name each once, got {name!r} twice")
        result[name] = value
    return result


def names_listed(text: str | None) -> list[str]:
    """Return the names of A,B,...; none where the option was not given."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def number_named(text: str, name: str) -> float:
    """Return the number of a NAME=NUMBER setting."""
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{name} must be a number, got {text!r}") from None


def _bins(rules: tuple[str, ...]) -> Any:
    """Return bins for all columns, or a mapping by column with `"*"` for the others."""
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


OF_TABLES = (
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
"""The parameters of all that `table_options` adds."""

PARSED: dict[str, Callable[[Any], Any]] = {
    "columns": names_listed,
    "drop": names_listed,
    "rename": lambda settings: named_settings(settings, "--rename"),
    "bins": _bins,
    "delimiter": lambda text: {"\\t": "\t", "tab": "\t", "space": " "}.get(text, text),
}
"""How the texts of some of them are read."""
