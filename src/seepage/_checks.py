"""Checks of arguments: each message is written once, and a violation raises an InputError."""

import difflib
import math
import operator
import reprlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from seepage.errors import InputError

if TYPE_CHECKING:
    import numpy as np


LARGEST_EPSILON = 1e300
"""Budgets add up, and their sum must be a float too."""


def epsilon(value: Any, name: str = "epsilon") -> float:
    """Return a privacy budget as a float: a finite number of at least 0, at most 1e300."""
    number = real(value, name)
    if not math.isfinite(number) or number < 0:
        raise InputError(f"{name} must be a finite number of at least 0, got {shown(value)}")
    if number > LARGEST_EPSILON:
        raise InputError(f"{name} must be at most {LARGEST_EPSILON:g}, got {shown(value)}")
    return number + 0.0  # no minus before a zero


def delta(value: Any, name: str = "delta") -> float:
    """Return a relaxation as a float, in [0, 1)."""
    number = real(value, name)
    if not 0 <= number < 1:
        raise InputError(f"{name} must be at least 0 and below 1, got {shown(value)}")
    return number


def probability(value: Any, name: str) -> float:
    """Return a probability as a float, in [0, 1]."""
    number = real(value, name)
    if not 0 <= number <= 1:
        raise InputError(f"{name} must be between 0 and 1, got {shown(value)}")
    return number


def real(value: Any, name: str) -> float:
    """Return a number as a float; booleans and texts are none."""
    if isinstance(value, (bool, str, bytes)) or value is None:
        raise InputError(f"{name} must be a number, got {shown(value)}")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError, AttributeError):
        raise InputError(f"{name} must be a number, got {shown(value)}") from None


def integer(value: Any, name: str, least: int, most: int | None = None) -> int:
    """Return an integer within its limits."""
    rule = f"at least {least}" if most is None else f"from {least} to {most}"
    if isinstance(value, bool):
        raise InputError(f"{name} must be an integer {rule}, got {shown(value)}")
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{name} must be an integer {rule}, got {shown(value)}") from None
    if number < least or (most is not None and number > most):
        raise InputError(f"{name} must be an integer {rule}, got {shown(value)}")
    return number


def generator(seed: Any, name: str = "seed") -> "np.random.Generator":
    """Return the generator of a seed: an integer of at least 0, a generator, or None."""
    import numpy as np

    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(None if seed is None else integer(seed, name, 0))


def choice(value: Any, name: str, options: Iterable[str]) -> str:
    """Return one of the options; the message for any other value names the nearest one."""
    known = list(options)
    if not isinstance(value, str) or value not in known:
        raise InputError(
            f"{name} must be one of {', '.join(known)}, got {shown(value)}{near_miss(value, known)}"
        )
    return str(value)


def near_miss(value: Any, known: Iterable[str]) -> str:
    """Return "; did you mean ...?" where a known word is close, else nothing."""
    by_folded = {word.casefold(): word for word in known}
    close = difflib.get_close_matches(str(value).casefold(), by_folded, n=1)
    return f"; did you mean {by_folded[close[0]]!r}?" if close else ""


def shown(value: Any) -> str:
    """Return what was given in a few characters, however large it is.

    Examples
    --------
    >>> shown("grr"), shown(list(range(1000)))
    ("'grr'", '[0, 1, 2, 3, 4, 5, ...]')
    """
    return _SHORT.repr(value)


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 80
