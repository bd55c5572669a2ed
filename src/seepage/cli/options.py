"""Options that several commands share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from seepage.cli.inputs import was_given
from seepage.cli.output import OutputFile
from seepage.errors import InputError

__all__ = [
    "BUDGET",
    "DELIMITER",
    "ENCODING",
    "OF_TABLES",
    "SEED",
    "delimiter_named",
    "named_settings",
    "names_listed",
    "number_named",
    "output_options",
    "table_arguments",
    "table_options",
]

Command = TypeVar("Command", bound=Callable[..., Any])

SEED = click.IntRange(min=0)
BUDGET = click.option(
    "-e",
    "--epsilon",
    type=float,
    default=1.0,
    show_default=True,
    help="The budget of each attribute.",
)
DELIMITER = click.option(
    "--delimiter", metavar="CHAR", help="The CSV delimiter; detected by default."
)
ENCODING = click.option(
    "--encoding", default="utf-8", show_default=True, help="Of text files, such as latin-1."
)

TABLE_OPTIONS = (
    click.option("--columns", metavar="A,B,...", help="Only these columns."),
    click.option("--drop", metavar="A,B,...", help="All columns but these."),
    click.option("--rename", multiple=True, metavar="OLD=NEW", help="Rename a column."),
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
        show_default=True,
        help="Missing values: a category of their own, or drop the record.",
    ),
    click.option(
        "--missing-marker", multiple=True, metavar="TEXT", help="Text that means missing, as ?."
    ),
    DELIMITER,
    ENCODING,
    click.option(
        "--max-values",
        type=int,
        default=1000,
        show_default=True,
        help="Refuse a column with more values.",
    ),
)

OUTPUT_OPTIONS = (
    click.option(
        "--format",
        "form",
        type=click.Choice(["table", "json", "csv"]),
        default="table",
        show_default=True,
        help="How to write the result.",
    ),
    click.option("-o", "--output", type=OutputFile(), help="Write to a file, not the screen."),
)


def table_options(command: Command) -> Command:
    """Add the options that say how a table is read."""
    for option in reversed(TABLE_OPTIONS):
        command = option(command)
    return command


def output_options(command: Command) -> Command:
    """Add the options that say where and how the result is written."""
    for option in reversed(OUTPUT_OPTIONS):
        command = option(command)
    return command


def table_arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Return the table options that were given, as Python takes them; takes all of them out."""
    given = {name: options.pop(name) for name in OF_TABLES if was_given(name)}
    for name in OF_TABLES:
        options.pop(name, None)
    renamed = {"missing_marker": "missing_markers"}
    return {renamed.get(name, name): PARSED.get(name, _as_is)(v) for name, v in given.items()}


def _as_is(value: Any) -> Any:
    return value


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


def delimiter_named(text: str | None) -> str | None:
    """Return the delimiter that an option names, where it is given."""
    return text if text is None else {"\\t": "\t", "tab": "\t", "space": " "}.get(text, text)


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
)
"""The parameters of all that `table_options` adds."""

PARSED: dict[str, Callable[[Any], Any]] = {
    "columns": names_listed,
    "drop": names_listed,
    "rename": lambda settings: named_settings(settings, "--rename"),
    "bins": _bins,
    "delimiter": delimiter_named,
}
"""How the texts of some of them are read."""
