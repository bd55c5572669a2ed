"""`takes`: public functions whose keywords are the fields of one options object.

The options of a function are a frozen dataclass.  Its fields give the function's
signature, and its `__post_init__` checks the values.

`Registry`: what an option can name, built in, registered, or from entry points of other
packages.
"""

import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, field, fields
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from seepage._core import checks

Given = ParamSpec("Given")


Chosen = TypeVar("Chosen")


Answer = TypeVar("Answer")


Owner = TypeVar("Owner")


SECTION = re.compile(
    r"^( *)Parameters\n *-{10}\n(.*?)(?=^ *\w+\n *-{3,}\n|\Z)", re.M | re.S
)
"""The section "Parameters" of a NumPy docstring: its indentation, and its text."""


def option(default: Any, **how: Any) -> Any:
    """Return a field that is also an option of commands.

    Parameters
    ----------
    default
        The field's default; `dict` for an empty mapping.
    how
        How the command line reads it: `short` ("-e"), `name` (if it is not that of the
        field with dashes), `opposite` (name of the option for no), `type` (where the
        annotation does not say), `choices`, `metavar`, `repeat` if several values are
        given by as many options, and `each` for a second option that sets the value of
        one attribute (`--epsilon-of NAME=VALUE`). And `check`, see `check_fields`.
    """
    made = {"default_factory": dict} if default is dict else {"default": default}
    return field(**made, metadata={"option": True, **how})


def check_fields(options: Any) -> None:
    """Replace values of frozen options by what the `check` of their fields returns, or
    raise.

    It is a function of the value and the field's name; a default is not checked.
    """
    for one in fields(options):
        value = getattr(options, one.name)
        if "check" in one.metadata and value is not one.default:
            object.__setattr__(
                options, one.name, one.metadata["check"](value, one.name)
            )


class Checked:
    """Base of frozen dataclasses whose fields are checked, see `check_fields`."""

    def __post_init__(self) -> None:
        check_fields(self)


def flag_of(one: Field[Any]) -> str:
    """Return the long name of the option that stands for a field."""
    return f"--{one.metadata.get('name', one.name.replace('_', '-'))}"


def command_words(given: Mapping[str, Any], kind: Any) -> Iterator[str]:
    """Yield the words of a command line that give values of fields that are options.

    Examples
    --------
    >>> from seepage.tables.table_options import TableOptions
    >>> given = {
    ...     "columns": ("a", "b"),
    ...     "bins": {"a": [0.0, 0.5, 1.0]},
    ...     "missing_markers": ("?", "-"),
    ... }
    >>> " ".join(command_words(given, TableOptions))
    '--columns a,b --bins a=0,0.5,1 --missing-marker ? --missing-marker -'
    """
    for one in fields(kind):
        if "option" not in one.metadata or one.name not in given:
            continue
        value = given[one.name]
        for name, part in (
            value.items() if isinstance(value, Mapping) else [("", value)]
        ):
            for single in part if "repeat" in one.metadata else [part]:
                several = single if isinstance(single, (list, tuple)) else [single]
                text = ",".join(
                    f"{x:.15g}" if isinstance(x, float) else str(x) for x in several
                )
                flag = flag_of(one)
                if name in ("", "*"):
                    yield from (flag, text)
                else:
                    yield from (
                        f"{flag}-of" if "each" in one.metadata else flag,
                        f"{name}={text}",
                    )


def takes(
    options: Callable[Given, Chosen],
) -> Callable[
    [Callable[[Any, Chosen], Answer]], Callable[Concatenate[Any, Given], Answer]
]:
    """Return a decorator for functions of data and options.

    Parameters
    ----------
    options
        A frozen dataclass, keyword-only but for the number asked about (`limit`,
        `epsilon`).

    Returns
    -------
    Callable
        Turns `f(data, options)` into a function of data and the fields of `options`,
        with their names, types and defaults as its signature and their descriptions in
        its docstring.  A keyword that is no field raises an InputError with the closest
        one.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Rounding:
    ...     '''How to round.
    ...
    ...     Parameters
    ...     ----------
    ...     digits
    ...         Number of digits.
    ...     '''
    ...
    ...     digits: int = 2
    >>> @takes(Rounding)
    ... def rounded(data, options):
    ...     '''Return a rounded number.'''
    ...     return round(data, options.digits)
    >>> inspect.signature(rounded)
    <Signature (data, *, digits: int = 2)>
    >>> rounded(0.1234), rounded(0.1234, digits=3)
    (0.12, 0.123)
    >>> rounded(0.1234, digit=3)
    Traceback (most recent call last):
    seepage.InputError: there is no option 'digit'; did you mean 'digits'?
    """

    def decorate(
        function: Callable[[Any, Chosen], Answer],
    ) -> Callable[Concatenate[Any, Given], Answer]:
        signature = _signature(function, options)
        chosen = {one.name for one in fields(options)}  # type: ignore[arg-type]

        @functools.wraps(function)
        def call(*given: Any, **keywords: Any) -> Answer:
            checks.options(keywords, signature.parameters)
            arguments = signature.bind(*given, **keywords).arguments
            own = [value for name, value in arguments.items() if name not in chosen]
            fields_given = {
                name: arguments[name] for name in arguments if name in chosen
            }
            return function(*own, options(**fields_given))  # type: ignore[call-arg]

        call.__signature__ = signature  # type: ignore[attr-defined]
        call.__doc__ = _documented(function, options)
        return cast(Callable[Concatenate[Any, Given], Answer], call)

    return decorate


def method_takes(
    options: Callable[Given, Chosen],
) -> Callable[
    [Callable[[Owner, Any, Chosen], Answer]],
    Callable[Concatenate[Owner, Any, Given], Answer],
]:
    """Return `takes` for methods, of an object or a class, data and options."""
    return takes(options)  # type: ignore[return-value]


def _signature(function: Callable[..., Any], options: Any) -> inspect.Signature:
    """Return the signature: what is given, then the fields of the options, own before
    inherited.
    """
    own = inspect.signature(function)
    *given, _ = own.parameters.values()
    depth = {
        name: distance
        for distance, base in reversed(list(enumerate(options.__mro__)))
        for name in inspect.get_annotations(base)
    }
    defaults = {one.name: one.default_factory for one in fields(options)}
    keywords = [
        one.replace(default=factory())
        if callable(factory := defaults[one.name])
        else one
        for one in inspect.signature(options).parameters.values()
    ]
    ordered = sorted(keywords, key=lambda one: (one.kind, depth[one.name]))
    return own.replace(parameters=[*given, *ordered])


def _documented(function: Callable[..., Any], options: Any) -> str | None:
    """Return the docstring of a function, the options described after its own
    parameters.
    """
    text = function.__doc__ and inspect.cleandoc(function.__doc__) + "\n"
    described = [_section(kind) for kind in options.__mro__ if "__doc__" in vars(kind)]
    added = "".join(part for part in described if part)
    if not text or not added:
        return text
    own = SECTION.search(text)
    if own is None:
        return f"{text}\nParameters\n----------\n{added}"
    return f"{text[: own.end(2)].rstrip()}\n{added}\n{text[own.end(2) :]}"


def _section(kind: type) -> str:
    """Return the text of a class's section "Parameters", one line feed at its end."""
    found = SECTION.search(inspect.cleandoc(kind.__doc__ or "") + "\n")
    return f"{found[2].rstrip()}\n" if found else ""
