"""Options of commands: fields of options objects, options that commands share; reading
DATA.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import Field, fields
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin

import click

from seepage._core.errors import InputError
from seepage._core.options import descriptions, flag_of
from seepage.channel.domain import ALL_OTHERS
from seepage.cli.files import OutputFile, OutputFolder, option_name
from seepage.cli.reading import Command, was_given, written
from seepage.tables.table_options import DataOptions
from seepage.totals.total_settings import TotalSettings


def grouped(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Return one decorator that adds several options in this order."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


# Fields of options objects ------------------------------------------------------------


def of(kind: Any, *names: str) -> Callable[[Command], Command]:
    """Return the options that stand for the fields of an options object.

    Parameters
    ----------
    kind
        A dataclass.  A field made by `seepage._options.option` becomes the option of
        its name with dashes, the first sentence of its description the help; those of
        totals and of reading data come last.
    names
        Only these fields; all by default.
    """
    shared = [
        {one.name for one in fields(base)} for base in (TotalSettings, DataOptions)
    ]
    chosen = [one for one in fields(kind) if "option" in one.metadata]
    chosen.sort(key=lambda one: sum(one.name in names for names in shared))
    said = descriptions(kind)
    return grouped(
        *(
            _as_option(one, said[one.name])
            for one in chosen
            if not names or one.name in names
        )
    )


def _as_option(one: Field[Any], description: str) -> Callable[[Command], Command]:
    """Return the option of a field, and the one of single attributes where it has any."""
    how = one.metadata
    flag = flag_of(one)
    default = ",".join(one.default) if isinstance(one.default, tuple) else one.default
    text = re.sub(r'`"?(.*?)"?`', r"\1", description)
    reading = {"help": text, "metavar": how.get("metavar"), **_reading(one)}
    if (
        isinstance(default, (str, int, float))
        and default != ""
        and "multiple" not in reading
    ):
        reading["default"] = default
    opposite = f"no-{flag[2:]}" if default is True else how.get("opposite")
    shown = f"{flag}/--{opposite}" if opposite else flag
    names = (how["short"], shown, one.name) if "short" in how else (shown, one.name)
    option = click.option(*names, **reading)
    if "each" not in how:
        return option
    single = _settings(_number_or_none if how["type"] is float else _as_text)
    about: dict[str, Any] = {
        "metavar": "NAME=VALUE",
        "help": f"{flag} of one attribute.",
    }
    return grouped(
        option, click.option(f"{flag}-of", multiple=True, callback=single, **about)
    )


def _reading(one: Field[Any]) -> dict[str, Any]:
    """Return how Click reads a field: its type, or a callback that parses the text."""
    how = one.metadata
    kind = one.metadata.get("type", one.type)
    if one.name in PARSERS:
        return PARSERS[one.name]
    if isinstance(kind, UnionType):
        kind = next(part for part in get_args(kind) if part is not NoneType)
    if get_origin(kind) is Literal or "choices" in how:
        return {"type": click.Choice(how.get("choices", get_args(kind)))}
    if kind is bool:
        return {"is_flag": True, "default": None}
    if kind in (int, float, str):
        return {"type": kind}
    if get_origin(kind) is Sequence:
        several = {"multiple": True} if get_args(kind)[0] is not str else {}
        return {
            "callback": _parse_names,
            "metavar": how.get("metavar", "A,B,..."),
            **several,
        }
    parse = _number if float in get_args(kind) else _as_text
    return {"callback": _settings(parse), "multiple": True}


def chosen(*names: str) -> dict[str, Any]:
    """Return those of these parameters that the command line gives; others have their
    defaults.
    """
    params = click.get_current_context().params
    return {name: params[name] for name in names if was_given(name)}


# Parsing ------------------------------------------------------------------------------

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
    return _numbers(text, f"each edge of {name}") if "," in text else text


def _numbers(text: str, name: str) -> list[float]:
    return [_number(part.strip(), name) for part in text.split(",")]


def _names(text: str, _: str = "") -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _settings(
    parse: Parse,
) -> Callable[[Any, click.Parameter, Iterable[str]], dict[str, Any]]:
    """Return a callback of Click: from NAME=VALUE, given several times, to values by
    name.
    """

    def read(
        _: Any, option: click.Parameter, settings: Iterable[str]
    ) -> dict[str, Any]:
        flag = option_name(option)
        parsed = dict[str, Any]()
        for setting in settings:
            name, sign, value = setting.rpartition("=")
            if not sign or not name:
                raise InputError(f"{flag} must be NAME=VALUE, got {setting!r}")
            if name in parsed:
                told = f"{value!r} too" if name == ALL_OTHERS else f"{name!r} twice"
                raise InputError(f"{flag} must name each once, got {told}")
            parsed[name] = parse(value, f"{flag} {name}")
        return parsed

    return read


def _for_all(parsed: dict[str, Any]) -> Any:
    """Return the value that alone is given, for all columns, or the mapping by column."""
    return parsed[ALL_OTHERS] if set(parsed) == {ALL_OTHERS} else parsed


def _parse_bins(context: Any, option: click.Parameter, rules: tuple[str, ...]) -> Any:
    """Return one rule for all columns, or a mapping by column with `"*"` for all
    others.
    """
    named = [rule if "=" in rule else f"{ALL_OTHERS}={rule}" for rule in rules]
    return _for_all(_settings(_bin_rule)(context, option, named))


def _parse_order(
    context: Any, option: click.Parameter, settings: tuple[str, ...]
) -> Any:
    """Return the path of a codebook, or the labels by column."""
    if len(settings) == 1 and "=" not in settings[0]:
        return settings[0]
    return _settings(_names)(context, option, settings)


def _parse_markers(_: Any, __: Any, settings: tuple[str, ...]) -> Any:
    """Return the texts that mean missing, or a mapping by column with `"*"` for all."""
    parsed = dict[str, list[str]]()
    for setting in settings:
        name, _, text = setting.rpartition("=")
        parsed.setdefault(name or ALL_OTHERS, []).append(text)
    return _for_all(parsed)


def _parse_names(_: Any, __: Any, value: str | tuple[str, ...] | None) -> list[Any]:
    """Return names with commas between as a list, or several such lists."""
    return (
        [_names(text) for text in value]
        if isinstance(value, tuple)
        else _names(value or "")
    )


def _parse_values(_: Any, __: Any, text: str | None) -> list[Any]:
    """Return values as a client expects them: integers, numbers or texts."""
    return [_typed(name) for name in _names(text or "")]


def _typed(text: str) -> Any:
    from seepage.tables.labels import field_key

    key = field_key(text)
    if isinstance(key, float):
        return int(key) if key.is_integer() else key
    return text


def _parse_numbers(
    _: Any, option: click.Parameter, value: str | None
) -> list[float] | None:
    """Return numbers with commas between as a list; None if the option was not given."""
    return None if value is None else _numbers(value, f"each of {option_name(option)}")


DELIMITERS = {"\\t": "\t", "tab": "\t", "space": " "}


SEED = click.IntRange(min=0)


PARSERS: dict[str, dict[str, Any]] = {
    "bins": {"callback": _parse_bins, "multiple": True},
    "missing_markers": {"callback": _parse_markers, "multiple": True},
    "want": {"multiple": True},
    "delimiter": {"callback": lambda _, __, text: DELIMITERS.get(text, text)},
    "rng": {"type": SEED},
    "values": {"callback": _parse_values, "metavar": "A,B,..."},
    "order": {"callback": _parse_order, "multiple": True},
    "precision": {
        "type": float,
        "callback": lambda _, __, points: points and points / 100,
    },
}
"""How Click reads fields whose type does not say it."""


def output_file(about: str, **more: Any) -> Callable[[Command], Command]:
    """Return the option `--output`."""
    return click.option("-o", "--output", type=OutputFile(), help=about, **more)


def form(*kinds: str) -> Callable[[Command], Command]:
    """Return the option `--format`, a table by default."""
    how: dict[str, Any] = {"type": click.Choice(["table", *kinds]), "default": "table"}
    return click.option("--format", "form", help="How to write the result.", **how)


RESULT = grouped(form("json", "csv"), output_file("Write to a file."))
"""Options of where and how the result is written."""


def chart(what: str) -> Callable[[Command], Command]:
    """Return the option `--chart`; `what` is drawn."""
    return written("--chart", f"Draw {what}: a .svg, .png or .pdf file.")


def page(what: str) -> Callable[[Command], Command]:
    """Return the option `--report`, a page of `what`."""
    return written(
        "--report", f"Write the page of {what}, one self-contained HTML file."
    )


def folder(about: str, **more: Any) -> Callable[[Command], Command]:
    """Return the option `--output` that names a folder."""
    return click.option("-o", "--output", type=OutputFolder(), help=about, **more)


def file(
    name: str, about: str, dest: str = "", **more: Any
) -> Callable[[Command], Command]:
    """Return an option that names a file to read."""
    names = (name, dest) if dest else (name,)
    return click.option(*names, type=click.Path(dir_okay=False), help=about, **more)


def names(name: str, about: str) -> Callable[[Command], Command]:
    """Return an option of names with commas between."""
    return click.option(name, metavar="A,B,...", callback=_parse_names, help=about)


def numbers(name: str, about: str) -> Callable[[Command], Command]:
    """Return an option of numbers with commas between."""
    return click.option(name, metavar="A,B,...", callback=_parse_numbers, help=about)
