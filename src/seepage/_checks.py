"""Checks of arguments: each message is written once, and a violation raises an InputError."""

import difflib
import errno
import inspect
import math
import operator
import os
import reprlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from seepage.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Kind = TypeVar("Kind")

MAX_EPSILON = 1e300
"""Budgets add up, and their sum must be a float too."""

MAX_WEIGHT = 1e15
"""Largest smoothing of a cell; more would drown 2^53 records, and float counts are not exact."""

MAX_RECORDS = 2**53
"""Sums are taken in double precision, which is exact up to here."""

MAX_DRAWS = 10**8
"""Most records, reports or surrogates that are drawn: more would fill the memory."""

LONGEST_INTEGER = 4_096
"""Most bits of an integer; Python does not write more than 4,300 digits."""


def epsilon(value: Any, name: str = "epsilon") -> float:
    """Return a privacy budget as a float: a finite number of at least 0, at most 1e300."""
    return _up_to(MAX_EPSILON, value, name)


def weight(value: Any, name: str) -> float:
    """Return a number of records, which may be a fraction: at least 0, at most 1e15."""
    return _up_to(MAX_WEIGHT, value, name)


def _up_to(largest: float, value: Any, name: str) -> float:
    number = real(value, name)
    if not math.isfinite(number) or number < 0:
        raise InputError(f"{name} must be a finite number of at least 0, got {shown(value)}")
    if number > largest:
        raise InputError(f"{name} must be at most {largest:g}, got {shown(value)}")
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


def inner_probability(value: Any, name: str) -> float:
    """Return a probability as a float, in (0, 1)."""
    number = real(value, name)
    if not 0 < number < 1:
        raise InputError(f"{name} must be above 0 and below 1, got {shown(value)}")
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


def flag(value: Any, name: str) -> bool:
    """Return True or False."""
    return instance(value, name, bool, "True or False")


def text(value: Any, name: str) -> str:
    """Return a text."""
    return instance(value, name, str, "a text")


def path(value: Any, name: str = "path") -> Path:
    """Return a path, which has no null character."""
    given = os.fspath(value) if isinstance(value, (str, os.PathLike)) else value
    if not isinstance(given, str) or "\0" in given:
        raise InputError(f"{name} must be a path, got {shown(given)}")
    return Path(given)


def input_path(value: Any, name: str = "path") -> Path:
    """Return a path that the file system can look up, whether it exists or not."""
    found = path(value, name)
    try:
        found.stat()
    except OSError as problem:
        if problem.errno == errno.ENAMETOOLONG:
            raise InputError(f"{name} must be a path, got {shown(str(found))}") from None
    return found


def items(value: Any, name: str, what: str = "a sequence") -> list[Any]:
    """Return what an iterable holds; a text or bytes are one thing, not many."""
    if isinstance(value, (str, bytes)):
        raise InputError(f"{name} must be {what}, got {shown(value)}")
    try:
        return list(value)
    except TypeError:
        raise InputError(f"{name} must be {what}, got {shown(value)}") from None


def texts(value: Any, name: str) -> list[str]:
    """Return a list of texts."""
    return [text(one, f"each of {name}") for one in items(value, name, "a sequence of texts")]


def numbers(value: Any, name: str) -> list[float]:
    """Return a list of floats."""
    return [real(one, f"each of {name}") for one in items(value, name, "a sequence of numbers")]


def array(value: Any, name: str) -> "NDArray[Any]":
    """Return an array of whatever numbers; what is ragged is none."""
    import numpy as np

    try:
        return np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be an array of numbers, got {shown(value)}") from None


def probabilities(value: Any, name: str) -> "NDArray[np.float64]":
    """Return one probability or an array of them, each in [0, 1]."""
    import numpy as np

    found = array(value, name)
    if found.dtype.kind not in "biuf" or not np.all((found >= 0) & (found <= 1)):
        raise InputError(f"{name} must be between 0 and 1, got {shown(value)}")
    return found.astype(np.float64)


def mapping(value: Any, name: str, what: str = "a mapping") -> Mapping[Any, Any]:
    """Return a mapping."""
    if not isinstance(value, Mapping):
        raise InputError(f"{name} must be {what}, got {shown(value)}")
    return value


def progress(value: Any, name: str = "progress") -> None:
    """Raise where this is neither None nor a function of the steps done and those in all."""
    if value is not None and not _takes_two(value):
        raise InputError(f"{name} must be a function of two arguments or None, got {shown(value)}")


def _takes_two(value: Any) -> bool:
    if not callable(value):
        return False
    try:
        inspect.signature(value).bind(0, None)
    except ValueError:  # a built-in function that does not tell its arguments
        return True
    except TypeError:
        return False
    return True


def instance(value: Any, name: str, kind: type[Kind], what: str) -> Kind:
    """Return an object of a class, which the message describes in words."""
    if not isinstance(value, kind):
        raise InputError(f"{name} must be {what}, got {shown(value)}")
    return value


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
    word = value.casefold() if isinstance(value, str) else shown(value)
    close = difflib.get_close_matches(word, by_folded, n=1)
    return f"; did you mean {by_folded[close[0]]!r}?" if close else ""


def shown(value: Any) -> str:
    """Return what was given in a few characters, however large it is.

    Examples
    --------
    >>> shown("grr"), shown(list(range(1000)))
    ("'grr'", '[0, 1, 2, 3, 4, 5, ...]')
    """
    if isinstance(value, int) and value.bit_length() > LONGEST_INTEGER:
        return f"an integer of {value.bit_length()} bits"  # its digits may take too long to write
    return _SHORT.repr(value)


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 80
