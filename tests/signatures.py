"""The keywords of a function, those of reading a table with its own."""

import inspect
from typing import get_args


def own_keywords(function):
    """Return the parameters that a signature names."""
    return [
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]


def unpacked_keywords(function):
    """Return the keys of the `TypedDict` that `**table` or `**options` unpacks."""
    return [
        name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is parameter.VAR_KEYWORD
        for keywords in get_args(parameter.annotation)
        for name in keywords.__annotations__
    ]
