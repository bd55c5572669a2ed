"""Options of commands: fields of options objects, options that commands share; reading DATA."""

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import MISSING, Field, fields
from functools import partial
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin

import click
from click.core import ParameterSource

from seepage._options import descriptions, flag_of
from seepage._results import Progress
from seepage.cli.output import OutputFile, option_name, option_names, progress_bar
from seepage.data import ALL_OTHERS, Domain, short_list
from seepage.data.table import DataOptions, TableOptions
from seepage.errors import InputError, naming

Command = TypeVar("Command", bound=Callable[..., Any])
SEED = click.IntRange(min=0)


def grouped(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Return one decorator that adds several options in this order."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


# Fields of options objects -----------------------------------------------------------------------


def click_options(kind: Any, *names: str) -> Callable[[Command], Command]:
    """Return the options that stand for the fields of an options object.

    Parameters
    ----------
    kind
        A dataclass.  A field made by `seepage._options.option` becomes the option of its name with
        dashes, the first sentence of its description the help; those of `DataOptions` come last.
    names
        Only these fields; all by default.
    """
    shared = {one.name for one in fields(DataOptions)}
    chosen = [one for one in fields(kind) if "option" in one.metadata]
    chosen.sort(key=lambda one: one.name in shared)
    said = descriptions(kind)
    return grouped(
        *(_as_option(one, said[one.name]) for one in chosen if not names or one.name in names)
    )


def _as_option(one: Field[Any], description: str) -> Callable[[Command], Command]:
    """Return the option of a field, and the one of single attributes where it has any."""
    how = one.metadata
    flag = flag_of(one)
    default = ",".join(one.default) if isinstance(one.default, tuple) else one.default
    text = re.sub(r'`"?(.*?)"?`', r"\1", description)
    settings = {"help": text, "metavar": how.get("metavar")}
    reading = _reading(one, flag)
    if isinstance(default, (str, int, float)) and default != "" and "multiple" not in reading:
        settings["default"] = default
    shown = f"{flag}/--no-{flag[2:]}" if default is True else flag
    names = (how["short"], shown, one.name) if "short" in how else (shown, one.name)
    option = click.option(*names, **{**settings, **reading})
    if "each" not in how:
        return option
    parse = _number_or_none if how["type"] is float else _as_text
    read = partial(_parse_settings, f"{flag}-of", parse)
    single: dict[str, Any] = {"metavar": "NAME=VALUE", "help": f"{flag} of one attribute."}
    return grouped(option, click.option(f"{flag}-of", multiple=True, callback=read, **single))


def _reading(one: Field[Any], flag: str) -> dict[str, Any]:
    """Return how Click reads a field: its type, or a callback that parses the text."""
    how, kind = one.metadata, one.metadata.get("type", one.type)
    if one.name in PARSERS:
        return PARSERS[one.name]
    if isinstance(kind, UnionType):
        kind = next(part for part in get_args(kind) if part is not NoneType)
    if get_origin(kind) is Literal or "choices" in how:
        return {"type": click.Choice(how.get("choices", get_args(kind)))}
    if kind is bool:
        return {"is_flag": True}
    if kind in (int, float, str):
        return {"type": kind}
    if get_origin(kind) is Sequence:
        several = get_args(kind)[0] is not str
        metavar = how.get("metavar", "A,B,...")
        multiple = {"multiple": True} if several else {}
        return {"callback": parse_names, "metavar": metavar, **multiple}
    parse = _number if float in get_args(kind) else _as_text
    return {"callback": partial(_parse_settings, flag, parse), "multiple": True}


def given(kind: Any) -> dict[str, Any]:
    """Return the fields of an options object that the command line gives, by name."""
    options, found = click.get_current_context().params, dict[str, Any]()
    for one in fields(kind):
        if one.name in options and was_given(one.name):
            value = options[one.name]
            rest = {} if one.default is MISSING or one.name == "bins" else {ALL_OTHERS: one.default}
            found[one.name] = {**rest, **value} if isinstance(value, dict) else value
        if settings := options.get(f"{one.name}_of"):
            found[one.name] = {ALL_OTHERS: options[one.name], **settings}
    return found


# Parsing -----------------------------------------------------------------------------------------

Parse = Callable[[str, str], Any]
"""From the text of an option's value, and its name for messages, to a Python value."""


def _as_text(text: str, _: str) -> str:
    return text


def _number(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{name} must be a number, got {text!r}") from None


def _number_or_none(text: str, name: str) -> float | None:
    return None if text.strip().casefold() == "none" else _number(text, name)


def _bin_rule(text: str, name: str) -> str | list[float]:
    return (
        [_number(edge, f"each edge of {name}") for edge in text.split(",")] if "," in text else text
    )


def _names(text: str, _: str = "") -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _parse_settings(
    option: str, parse: Parse, _: Any, __: Any, settings: tuple[str, ...]
) -> dict[str, Any]:
    """Return the values of NAME=VALUE by name."""
    parsed = dict[str, Any]()
    for setting in settings:
        name, sign, value = setting.rpartition("=")
        if not sign or not name:
            raise InputError(f"{option} must be NAME=VALUE, got {setting!r}")
        if name in parsed:
            told = f"{value!r} too" if name == ALL_OTHERS else f"{name!r} twice"
            raise InputError(f"{option} must name each once, got {told}")
        parsed[name] = parse(value, f"{option} {name}")
    return parsed


def _parse_bins(_: Any, __: Any, rules: tuple[str, ...]) -> Any:
    """Return one rule for all columns, or a mapping by column with `"*"` for all others."""
    named = [rule if "=" in rule else f"{ALL_OTHERS}={rule}" for rule in rules]
    parsed = _parse_settings("--bins", _bin_rule, None, None, tuple(named))
    return parsed[ALL_OTHERS] if set(parsed) == {ALL_OTHERS} else parsed


def _parse_order(_: Any, __: Any, settings: tuple[str, ...]) -> Any:
    """Return the path of a codebook, or the labels by column."""
    if len(settings) == 1 and "=" not in settings[0]:
        return settings[0]
    return _parse_settings("--order", _names, None, None, settings)


def _parse_markers(_: Any, __: Any, settings: tuple[str, ...]) -> Any:
    """Return the texts that mean missing, or a mapping by column with `"*"` for all."""
    parsed = dict[str, list[str]]()
    for setting in settings:
        name, _, text = setting.rpartition("=")
        parsed.setdefault(name or ALL_OTHERS, []).append(text)
    return parsed[ALL_OTHERS] if set(parsed) == {ALL_OTHERS} else parsed


def parse_names(_: Any, __: Any, value: str | tuple[str, ...] | None) -> list[Any]:
    """Return names with commas between as a list, or several such lists."""
    return [_names(text) for text in value] if isinstance(value, tuple) else _names(value or "")


def parse_numbers(_: Any, option: click.Parameter, value: str | None) -> list[float] | None:
    """Return numbers with commas between as a list; None if the option was not given."""
    if value is None:
        return None
    return [_number(text.strip(), f"each of {option_name(option)}") for text in value.split(",")]


DELIMITERS = {"\\t": "\t", "tab": "\t", "space": " "}
PARSERS: dict[str, dict[str, Any]] = {
    "bins": {"callback": _parse_bins, "multiple": True},
    "missing_markers": {"callback": _parse_markers, "multiple": True},
    "want": {"multiple": True},
    "delimiter": {"callback": lambda _, __, text: DELIMITERS.get(text, text)},
    "rng": {"type": SEED},
    "order": {"callback": _parse_order, "multiple": True},
    "precision": {"type": float, "callback": lambda _, __, points: points and points / 100},
}
"""How Click reads fields whose type does not say it."""


# What was given ----------------------------------------------------------------------------------


def was_given(name: str) -> bool:
    """Return whether the option with this parameter name is on the command line."""
    source = click.get_current_context().get_parameter_source(name)
    return source is ParameterSource.COMMANDLINE


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


# DATA --------------------------------------------------------------------------------------------


def count_data(data: str, kind: Any = DataOptions, **more: Any) -> Any:
    """Return the pair counts of DATA, read with the options given; print notes on its columns."""
    from seepage.data.inputs import count_pairs

    with reading_progress(data, "counting") as progress:
        pairs = count_pairs(data, progress=progress, **(given(kind) | more))
    print_reading_notes(data, pairs.domain)
    return pairs


def print_reading_notes(data: str, domain: Domain, notes: Sequence[str] = ()) -> None:
    """Print notes, and one line on columns that were binned by default."""
    from seepage.data.inputs import is_dataset_name, is_pairs_file

    for note in notes:
        click.echo(naming(note, option_names()), err=True)
    if is_dataset_name(data) or is_pairs_file(data):
        return
    bins = given(TableOptions).get("bins")
    chosen = set(bins) if isinstance(bins, dict) else set()
    automatic = bins is None or (chosen and ALL_OTHERS not in chosen)
    binned = [a.name for a in domain if a.edges and automatic and a.name not in chosen]
    if binned:
        click.echo(f"numbers binned at deciles: {short_list(binned, 4)} (--bins chooses)", err=True)


def reading_progress(data: str, what: str) -> AbstractContextManager[Progress | None]:
    """Start a Spark session if the engine is Spark, and return the progress bar of the work.

    An InputError is raised before Spark starts if it cannot read DATA.
    """
    options = click.get_current_context().params
    master = options.get("master")
    if options.get("engine") != "spark":
        if master is not None:
            raise InputError("--master needs --engine spark")
        return progress_bar(what)
    from seepage.data.inputs import is_dataset_name, is_pairs_file
    from seepage.data.spark import spark_session
    from seepage.data.table.sources import PARQUET, find_files

    if is_dataset_name(data) or is_pairs_file(data):
        raise InputError(f"--engine spark reads Parquet files, and {data} is counted already")
    kind, files = find_files(data)
    if kind != PARQUET:
        raise InputError(f"--engine spark reads Parquet files, got {kind} ({files[0].name})")
    spark_session(master)
    return progress_bar(what)


# Options that several commands share -------------------------------------------------------------

MASTER = click.option(
    "--master", metavar="URL", help="Spark's master; by default all cores of this machine."
)
output_options = grouped(
    click.option(
        "--format",
        "form",
        type=click.Choice(["table", "json", "csv"]),
        default="table",
        help="How to write the result.",
    ),
    click.option("-o", "--output", type=OutputFile(), help="Write to a file."),
)
"""Options of where and how the result is written."""


def chart_option(what: str) -> Callable[[Command], Command]:
    """Return the option `--chart`; `what` is drawn."""
    return click.option(
        "--chart", type=OutputFile(), help=f"Draw {what}: a .svg, .png or .pdf file."
    )
