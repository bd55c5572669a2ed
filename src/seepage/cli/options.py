"""Reading DATA, and the options that several commands share."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from seepage._results import short_list
from seepage.cli.output import OutputFile, option_name, progress_bar
from seepage.data.domain import Domain
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
            raise InputError(f"{option_name(option)} has no effect: {reason}")


def was_given(name: str) -> bool:
    """Return whether the option with this parameter name is on the command line."""
    source = click.get_current_context().get_parameter_source(name)
    return source is ParameterSource.COMMANDLINE


def all_options_but(*names: str) -> list[str]:
    """Return the parameter names of the current command, except these."""
    params = click.get_current_context().command.params
    return [option.name for option in params if option.name and option.name not in names]


# DATA --------------------------------------------------------------------------------------------


def read_data(data: str, options: dict[str, Any], *, records: bool = False, **more: Any) -> Any:
    """Return the pair counts of DATA; or its records, if it has any and they are asked for.

    Parameters
    ----------
    data
        The argument of the command.
    options
        The options of the command: the table options, the engine, and the size of a sample.
    records
        Whether records are asked for.
    more
        Further arguments of `count_pairs`.
    """
    from seepage.data.inputs import as_counted

    arguments = table_arguments(options)
    sampling = ("sample", "seed") if options.get("sample") is not None else ()
    more |= {name: options[name] for name in ("engine", *sampling) if name in options}
    what = "reading" if records else "counting"
    with engine_session(data, options), progress_bar(what) as progress:
        counted = as_counted(data, records=records, progress=progress, **arguments, **more)
    _print_reading_notes(data, counted, arguments)
    return counted


ID_NAME = re.compile(r"(^|[_ .-])(id|uuid|key)$|[a-z]I[dD]$|^I[dD]$")
"""Names of columns that look like identifiers."""


def _print_reading_notes(data: str, counted: Any, arguments: dict[str, Any]) -> None:
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
    master = options.get("master")
    if options.get("engine") != "spark":
        if master is not None:
            raise InputError("--master needs --engine spark")
        yield
        return
    from seepage.data.inputs import is_dataset_name, is_pairs_file
    from seepage.data.spark import spark_session
    from seepage.data.table.sources import PARQUET, find_files

    if is_dataset_name(data) or is_pairs_file(data):
        raise InputError(f"--engine spark reads Parquet files, and {data} is counted already")
    kind, files = find_files(data)
    if kind != PARQUET:
        raise InputError(f"--engine spark reads Parquet files, got {kind} ({files[0].name})")
    with spark_session(master):
        yield


Parse = Callable[[str, str], Any]
"""From the text of an option's value, and its name for messages, to a Python value."""


def parse_number(text: str, name: str) -> float:
    """Return the number of a NAME=NUMBER setting."""
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{name} must be a number, got {text!r}") from None


def setting_option(
    *names: str, parse: Parse = lambda text, _: text, **more: Any
) -> Callable[[Command], Command]:
    """Return an option NAME=VALUE that may be repeated; the command gets a mapping."""

    def parse_settings(_: Any, option: Any, settings: tuple[str, ...]) -> dict[str, Any]:
        parsed = dict[str, Any]()
        for setting in settings:
            name, sign, value = setting.rpartition("=")
            if not sign or not name:
                raise InputError(f"{names[0]} must be NAME=VALUE, got {setting!r}")
            if name in parsed:
                raise InputError(f"{names[0]} must name each once, got {name!r} twice")
            parsed[name] = parse(value, f"{names[0]} {name}")
        return parsed

    return click.option(*names, multiple=True, callback=parse_settings, **more)


def for_each_attribute(domain: Domain, value: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Return one value for all attributes but those that a `setting_option` names."""
    named = {domain[name].name: setting for name, setting in settings.items()}
    return dict.fromkeys(domain.names, value) | named


def _parse_names(_: Any, option: Any, value: str | tuple[str, ...] | None) -> list[Any]:
    if isinstance(value, tuple):
        return [_parse_names(_, option, text) for text in value]
    return [name.strip() for name in (value or "").split(",") if name.strip()]


names_option = partial(click.option, metavar="A,B,...", callback=_parse_names)
"""An option A,B,...; the command gets a list of names, or of such lists if `multiple`."""


class TableOption(click.Option):
    """An option of how a table is read; its parameter is that of `count_pairs`."""


table_option = partial(click.option, cls=TableOption)


def _bins(_: Any, __: Any, rules: tuple[str, ...]) -> Any:
    """Return one rule for all columns, or a mapping by column with `"*"` for all others."""
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


DELIMITERS = {"\\t": "\t", "tab": "\t", "space": " "}
SEED = click.IntRange(min=0)
BUDGET = click.option(
    "-e",
    "--epsilon",
    type=float,
    default=1.0,
    help="The budget of each attribute.",
)
LIMIT = click.option("--limit", type=float, help="The allowed total of every attribute, in nats.")
RENAME = setting_option("--rename", metavar="OLD=NEW", help="Rename a column.", cls=TableOption)
MISSING_MARKER = table_option(
    "--missing-marker",
    "missing_markers",
    multiple=True,
    metavar="TEXT",
    help="Text that means missing, as ?.",
)
DELIMITER = table_option(
    "--delimiter",
    metavar="CHAR",
    callback=lambda _, __, text: DELIMITERS.get(text, text),
    help="The CSV delimiter; detected by default.",
)
ENCODING = table_option(
    "--encoding", default="utf-8", help="Encoding of text files, such as latin-1."
)

table_options = grouped(
    names_option("--columns", help="Only these columns.", cls=TableOption),
    names_option("--drop", help="All columns but these.", cls=TableOption),
    RENAME,
    table_option(
        "--bins",
        multiple=True,
        metavar="[COLUMN=]RULE",
        callback=_bins,
        help="Bin numbers with many values: quantile:10 (the default), width:8, or edges such as "
        "0,18,65,120; for one column or for all.",
    ),
    table_option(
        "--missing",
        type=click.Choice(["category", "drop"]),
        default="category",
        help="Missing values: a category of their own, or drop the record.",
    ),
    MISSING_MARKER,
    DELIMITER,
    ENCODING,
    table_option(
        "--max-values",
        type=int,
        default=1000,
        help="The largest number of values of a column; more are an error.",
    ),
    table_option(
        "--pool",
        type=float,
        metavar="N",
        help="Merge values of fewer than N records into (other); below 1: a share of all records.",
    ),
    table_option(
        "--person",
        metavar="COLUMN",
        help="Keep the first record of each person in this column.",
    ),
)
"""Options of how a table is read."""


def table_parameters() -> list[str]:
    """Return the parameter names of the table options of the current command."""
    params = click.get_current_context().command.params
    return [param.name for param in params if isinstance(param, TableOption) and param.name]


def table_arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Return the given table options as arguments of `count_pairs`."""
    return {name: options[name] for name in table_parameters() if was_given(name)}


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
