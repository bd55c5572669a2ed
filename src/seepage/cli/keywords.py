"""Keywords of the library's functions that a command line gives."""

from collections.abc import Iterable
from typing import Any

import click
from click.core import ParameterSource

from seepage._core.errors import InputError
from seepage.channel.domain import ALL_OTHERS
from seepage.cli.files import option_name


def is_explicit(name: str) -> bool:
    """Return whether the option of this keyword is on the command line."""
    source = click.get_current_context().get_parameter_source(name)
    return source is ParameterSource.COMMANDLINE


def explicit_keywords(names: Iterable[str]) -> dict[str, Any]:
    """Return the keywords that the command line gives, by name.

    Others have the default of the function that is called.  Values of single attributes
    (`--limit-of income=2`) join that of all others.
    """
    values = click.get_current_context().params
    keywords = dict[str, Any]()
    for name in names:
        if is_explicit(name):
            keywords[name] = values[name]
        if by_attribute := values.get(f"{name}_of"):
            keywords[name] = {ALL_OTHERS: values[name], **by_attribute}
    return keywords


def reject(names: Iterable[str], reason: str) -> None:
    """Raise an InputError if the option of one of these keywords was given although it
    has no effect.

    Parameters
    ----------
    names
        The parameter names of the options.
    reason
        Why they have no effect.
    """
    for option in click.get_current_context().command.params:
        if option.name in names and is_explicit(option.name):
            raise InputError(f"{option_name(option)} has no effect: {reason}")
