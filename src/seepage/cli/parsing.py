"""From the text of an option to the value of a keyword: callbacks of Click."""

import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import click

from seepage._core.errors import InputError
from seepage._core.number_grammar import number_of_text
from seepage._core.odds import limit_in_nats
from seepage.channel.domain import ALL_OTHERS
from seepage.cli.files import option_name

Parse = Callable[[str, str], Any]
"""From the text of an option's value, and its name for messages, to a Python value."""

DELIMITERS = {"\\t": "\t", "tab": "\t", "space": " "}
"""Delimiters that are hard to type, by the words for them."""


LISTED_NAME = re.compile(r"""\s*(?:"((?:[^"]|"")+)"|([^,]*?))\s*(?:,|$)""")
"""A name of a list, in double quotes, which are doubled within, or without."""


HALF_WIDTH = re.compile(
    r"(?P<number>[^\s%a-z]+)\s*(?P<unit>%|pp|(percentage )?points?)?", re.IGNORECASE
)
"""A number with or without a unit of half-widths."""


MAX_BARE_SHARE = 0.25
"""A half-width without a unit is a share below this."""


POINTS = (0.05, 50.0)
"""The half-widths that are plausible, in percentage points."""


# Single values ------------------------------------------------------------------------


def parse_delimiter(_: Any, __: Any, text: str | None) -> str | None:
    """Parse an option's text as a delimiter; some have words."""
    if text is None:
        return None
    return DELIMITERS.get(text, text)


def parse_half_width(_: Any, option: click.Parameter, text: str | None) -> Any:
    """Parse an option's text as a half-width, a share; None if the option was not
    given.
    """
    if text is None:
        return None
    return as_half_width(text, option_name(option))


# Lists with commas between ------------------------------------------------------------


def parse_names(_: Any, __: Any, text: str | None) -> list[str]:
    """Parse an option's text as names with commas between."""
    return _names(text or "")


def parse_name_lists(_: Any, __: Any, texts: tuple[str, ...]) -> list[list[str]]:
    """Parse each of an option's texts as a list of names."""
    return [_names(text) for text in texts]


def parse_limit(_: Any, option: click.Parameter, text: str | None) -> float | None:
    """Parse an option's text as a limit in nats; None if the option was not given."""
    if text is None:
        return None
    return as_limit(text, option_name(option))


def parse_limits(
    _: Any, option: click.Parameter, text: str | None
) -> list[float] | None:
    """Parse an option's text as limits with commas between; None if the option was not
    given.
    """
    if text is None:
        return None
    name = f"each of {option_name(option)}"
    return [as_limit(part.strip(), name) for part in text.split(",")]


def parse_client_values(_: Any, __: Any, text: str | None) -> list[Any]:
    """Parse an option's texts as values that a client expects: integers, numbers or
    texts.
    """
    return [_json_number_or_text(name) for name in _names(text or "")]


# Values by column or attribute --------------------------------------------------------


def parse_by_name(
    parse: Parse, *, others: Any = None
) -> Callable[[Any, click.Parameter, Iterable[str]], dict[str, Any]]:
    """Return a callback: from NAME=VALUE, given several times, to values by name.

    Parameters
    ----------
    parse
        Returns the value of a text, and names the option in its message.
    others
        The value of names that are not given; None for no such entry.
    """

    def read(
        _: Any, option: click.Parameter, settings: Iterable[str]
    ) -> dict[str, Any]:
        """Parse the NAME=VALUE texts of an option."""
        values = _by_name(option_name(option), settings, parse)
        if others is None:
            return values
        return {ALL_OTHERS: others, **values}

    return read


def as_text(text: str, _: str) -> str:
    """Parse an option's text as itself."""
    return text


def as_number(text: str, name: str) -> float:
    """Parse an option's text as a number."""
    number = number_of_text(text.strip())
    if number is None:
        raise InputError(f"{name} must be a number, got {text!r}")
    return number


def as_half_width(text: str, name: str) -> float:
    """Parse an option's text as the half-width of a share, given as 2, "2 points", 2%
    or 0.02.

    Without a unit, numbers from 1 on are percentage points, and below 0.25 shares.
    Whoever would then ask very few people, or millions, or means one of two things, is
    asked which.

    Examples
    --------
    >>> [as_half_width(text, "--precision") for text in ("2", "2 points", "2%", "0.02")]
    [0.02, 0.02, 0.02, 0.02]
    """
    match = HALF_WIDTH.fullmatch(text.strip())
    number = None if match is None else number_of_text(match["number"])
    if match is None or number is None:
        raise InputError(
            f"{name} must be such as 2, 2%, '2 points' or 0.02, got {text!r}"
        )
    is_share = not match["unit"] and number < MAX_BARE_SHARE
    if not match["unit"] and MAX_BARE_SHARE <= number < 1:
        raise InputError(
            f"{name} {text} may mean {number:g} points or {100 * number:g} points: say "
            f"'{number:g} points' or {100 * number:g}%"
        )
    points = float(f"{100 * number:.10g}") if is_share else number
    low, high = POINTS
    if not low <= points <= high:
        raise InputError(
            f"{name} must be from {low:g} to {high:g} percentage points, and {text!r} "
            f"means {points:g} points; write 2%, '2 points' or 0.02"
        )
    return float(f"{points / 100:.10g}")


def as_limit(text: str, name: str) -> float:
    """Parse an option's text as a limit in nats, given in nats or as odds such as
    7.4x.
    """
    number = number_of_text(text.strip())
    return limit_in_nats(text if number is None else number, name)


def as_limit_or_none(text: str, name: str) -> float | None:
    """Parse an option's text as a limit in nats, or None for "none"."""
    if text.strip().casefold() == "none":
        return None
    return as_limit(text, name)


def parse_bins(_: Any, option: click.Parameter, rules: tuple[str, ...]) -> Any:
    """Parse the option of bins: one rule for all columns, or a mapping by column with
    `"*"` for all others.
    """
    named = [rule if "=" in rule else f"{ALL_OTHERS}={rule}" for rule in rules]
    return _for_all(_by_name(option_name(option), named, _bin_rule))


def parse_order(_: Any, option: click.Parameter, settings: tuple[str, ...]) -> Any:
    """Parse the option of scales: the path of a codebook, or the labels by column."""
    if len(settings) == 1 and "=" not in settings[0]:
        return settings[0]
    return _by_name(option_name(option), settings, lambda text, _: _names(text))


def parse_markers(_: Any, __: Any, settings: tuple[str, ...]) -> Any:
    """Parse the option of missing markers: the texts that mean missing, or a mapping by
    column with `"*"` for all.
    """
    markers: dict[str, list[str]] = {ALL_OTHERS: []}
    for setting in settings:
        column, _, text = setting.rpartition("=")
        markers.setdefault(column or ALL_OTHERS, []).append(text)
    return _for_all(markers)


def _by_name(flag: str, settings: Iterable[str], parse: Parse) -> dict[str, Any]:
    """Parse the NAME=VALUE texts of an option by name, each name once."""
    values = dict[str, Any]()
    for setting in settings:
        name, sign, text = setting.rpartition("=")
        if not sign or not name:
            raise InputError(f"{flag} must be NAME=VALUE, got {setting!r}")
        if name in values:
            repeated = f"{text!r} too" if name == ALL_OTHERS else f"{name!r} twice"
            raise InputError(f"{flag} must name each once, got {repeated}")
        values[name] = parse(text, f"{flag} {name}")
    return values


def _for_all(values: dict[str, Any]) -> Any:
    """Return the parsed value that alone is given, for all columns, or the mapping by
    column.
    """
    if set(values) == {ALL_OTHERS}:
        return values[ALL_OTHERS]
    return values


def _bin_rule(text: str, name: str) -> str | list[float]:
    """Parse a text as a rule of binning; numbers with commas between are edges."""
    if "," not in text:
        return text
    return _numbers(text, f"each edge of {name}")


def _numbers(text: str, name: str) -> list[float]:
    """Parse a text as numbers with commas between."""
    return [as_number(part.strip(), name) for part in text.split(",")]


def _names(text: str) -> list[str]:
    """Parse a text as names with commas between; one in double quotes may have commas
    itself.
    """
    names = list[str]()
    for quoted, plain in LISTED_NAME.findall(text):
        name = quoted.replace('""', '"') or plain
        if name:
            names.append(name)
    return names


def _json_number_or_text(text: str) -> Any:
    """Parse a text as a number of JSON if it is one, and keep any other as it is: "00"
    too.
    """
    with suppress(ValueError):
        value = json.loads(text, parse_constant=str)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return value
    return text
