"""Argument checks, one function and one message per rule; a violation raises an
InputError.
"""

import difflib
import errno
import inspect
import math
import operator
import os
import reprlib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from seepage._core.errors import ChannelError, InputError, Setting, Text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


Kind = TypeVar("Kind")


MAX_EPSILON = 1e300
"""Maximum privacy budget: sums of budgets stay finite floats."""


MAX_WEIGHT = 1e15
"""Maximum pseudo-count of a cell; above, counts up to 2^53 are no longer exact as
floats."""


MAX_RECORDS = 2**53
"""Maximum number of records: integers up to here are exact in double precision."""


MAX_DRAWS = 10**8
"""Maximum number of records, reports or surrogates drawn at once, which fit in
memory."""


ROW_SUM_TOLERANCE = 1e-9
"""Largest distance from 1 of the sum of a row of probabilities."""


MAX_ITEMS = 1_000_000
"""Maximum number of items of an option: a longer one, such as `range(10**12)`, would
fill the memory."""


MAX_INTEGER_BITS = 4_096
"""Integers of more bits are not printed; Python limits conversions to 4,300 digits."""


Check: TypeAlias = Callable[[Any, str], Any]
"""A function of a value and its name, which returns the checked value or raises."""


def constrain(options: Any, constraints: Mapping[str, Check]) -> None:
    """Check the fields of a frozen dataclass by a table of checks, or raise.

    For its `__post_init__`; a default is not checked.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Limits:
    ...     confidence: float | None = None
    ...
    ...     def __post_init__(self):
    ...         constrain(self, {"confidence": inner_probability})
    >>> Limits(), Limits(confidence="much")
    Traceback (most recent call last):
    seepage.InputError: confidence must be a number, got 'much'
    """
    for name, check in constraints.items():
        value = getattr(options, name)
        if value is not getattr(type(options), name, None):
            object.__setattr__(options, name, check(value, name))


@cache
def is_installed(module: str) -> bool:
    """Return whether a dependency that some platforms lack can be imported."""
    return find_spec(module) is not None


def need(module: str, package: str, purpose: str) -> None:
    """Check that a module can be imported, else raise an InputError with the package to
    install.
    """
    if not is_installed(module):
        raise InputError(
            f"{purpose} needs {package}, which is not installed: pip install {package}"
        )


def violation(name: str, rule: str, value: Any, hint: str = "") -> InputError:
    """Return the error of a check that a parameter breaks a rule; "each of x" is about
    the parameter x.

    Examples
    --------
    >>> error = violation("each of columns", "a string", 3)
    >>> print(error, "|", error.parameter)
    each of columns must be a string, got 3 | columns
    """
    return InputError(
        f"{name} must be {rule}, got {shown(value)}{hint}", parameter=name
    )


def exclusive(name: str, other: str, why: str) -> InputError:
    """Return the error of a check that two parameters exclude each other.

    Examples
    --------
    >>> print(exclusive("bins", "domain", "a domain has its own bins"))
    bins and domain exclude each other: a domain has its own bins
    """
    clash = Text(Setting(name), " and ", Setting(other), f" exclude each other: {why}")
    return InputError(clash, parameter=name)


def epsilon(value: Any, name: str = "epsilon") -> float:
    """Return a checked argument as a privacy budget, a float in [0, 1e300]."""
    return _nonnegative(value, name, MAX_EPSILON)


def weight(value: Any, name: str) -> float:
    """Return a checked argument as a number of records, a float in [0, 1e15]."""
    return _nonnegative(value, name, MAX_WEIGHT)


def _nonnegative(value: Any, name: str, maximum: float) -> float:
    """Return a checked argument as a float from 0 to a maximum."""
    number = real(
        value, name, "a finite number of at least 0", lambda x: 0 <= x < math.inf
    )
    if number > maximum:
        raise violation(name, f"at most {maximum:g}", value)
    return number + 0.0  # turns -0.0 into 0.0


def delta(value: Any, name: str = "delta") -> float:
    """Return a checked argument as the delta of approximate LDP, in [0, 1)."""
    return real(value, name, "at least 0 and below 1", lambda x: 0 <= x < 1)


def probability(value: Any, name: str) -> float:
    """Return a checked argument as a probability in [0, 1]."""
    return real(value, name, "between 0 and 1", lambda x: 0 <= x <= 1)


def inner_probability(value: Any, name: str) -> float:
    """Return a checked argument as a probability in (0, 1)."""
    return real(value, name, "above 0 and below 1", lambda x: 0 < x < 1)


def confidence(value: Any, name: str) -> float:
    """Return a checked argument as the confidence of a limit, in [0.5, 1)."""
    inner_probability(value, name)
    return real(value, name, "at least 0.5", lambda x: x >= 0.5)


def real(
    value: Any,
    name: str,
    rule: str = "a number",
    fits: Callable[[float], bool] | None = None,
) -> float:
    """Return a checked argument as a float that fits a rule; booleans and strings
    raise.
    """
    if isinstance(value, (bool, str, bytes)) or value is None:
        raise violation(name, "a number", value)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError, AttributeError):
        raise violation(name, "a number", value) from None
    if fits is not None and not fits(number):
        raise violation(name, rule, value)
    return number


def positive(value: Any, name: str) -> float:
    """Return a checked argument as a number above 0."""
    return real(value, name, "above 0", lambda number: number > 0)


def integer(value: Any, name: str, minimum: int, maximum: int | None = None) -> int:
    """Return a checked argument as an integer in [minimum, maximum]; booleans and
    floats raise.
    """
    rule = f"an integer of at least {minimum}"
    if maximum is not None:
        rule = f"an integer from {minimum} to {maximum}"
    try:
        number = operator.index(value)
    except TypeError:
        raise violation(name, rule, value) from None
    if isinstance(value, bool) or number < minimum:
        raise violation(name, rule, value)
    if maximum is not None and number > maximum:
        raise violation(name, rule, value)
    return number


def draws(value: Any, name: str, minimum: int = 0) -> int:
    """Return a checked argument as a number of records, reports or people to draw."""
    return integer(value, name, minimum, MAX_DRAWS)


def flag(value: Any, name: str) -> bool:
    """Return a checked argument as a bool; 0 and 1 raise."""
    return instance(value, name, bool, "True or False")


def text(value: Any, name: str) -> str:
    """Return a checked argument as a string; one with a lone surrogate, which no file
    can hold, raises.
    """
    string = instance(value, name, str, "a string")
    if not string.isascii():
        try:
            string.encode()
        except UnicodeEncodeError:
            raise violation(name, "a string that has a UTF-8 form", value) from None
    return string


def path(value: Any, name: str = "path") -> Path:
    """Return a checked argument as a path; an empty text, or one that no file can be
    named by, raises.

    The empty text would be the current folder.  Lone surrogates that are no bytes of a
    file name have no encoding.
    """
    place = value
    if isinstance(value, (str, os.PathLike)):
        place = os.fspath(value)
    if not isinstance(place, str) or not place or "\0" in place:
        raise violation(name, "a path", place)
    try:
        os.fsencode(place)
    except UnicodeEncodeError:
        raise violation(name, "a path", place) from None
    return Path(place)


def input_path(value: Any, name: str = "path") -> Path:
    """Return a checked argument as a path that the file system can look up, existing or
    not.

    A name too long, one that is no Unicode, or a folder that may not be read raises.
    """
    file = path(value, name)
    try:
        file.stat()
    except PermissionError:
        raise violation(name, "a path that may be read", str(file)) from None
    except (OSError, ValueError) as problem:
        if isinstance(problem, ValueError) or problem.errno == errno.ENAMETOOLONG:
            raise violation(name, "a path", str(file)) from None
    return file


def _is_longer(numbers: range, most: int) -> bool:
    """Return whether an argument that is a range has too many items."""
    return bool(numbers[most : most + 1])


def items(value: Any, name: str, what: str = "a sequence") -> list[Any]:
    """Return a checked argument, an iterable, as a list; a string or bytes raise.

    More than `MAX_ITEMS` raise, before they are in memory.

    Examples
    --------
    >>> items(range(10**12), "columns")
    Traceback (most recent call last):
    seepage.InputError: columns must have at most 1,000,000 items
    """
    if isinstance(value, (str, bytes)):
        raise violation(name, what, value)
    try:
        listed = list(islice(value, MAX_ITEMS + 1))
    except TypeError:
        raise violation(name, what, value) from None
    if len(listed) > MAX_ITEMS:
        raise InputError(
            f"{name} must have at most {MAX_ITEMS:,} items", parameter=name
        )
    return listed


def texts(value: Any, name: str) -> list[str]:
    """Return a checked argument as a list of strings."""
    return [
        text(item, f"each of {name}")
        for item in items(value, name, "a sequence of strings")
    ]


def numbers(value: Any, name: str) -> list[float]:
    """Return a checked argument as a list of floats."""
    return [
        real(item, f"each of {name}")
        for item in items(value, name, "a sequence of numbers")
    ]


def array(value: Any, name: str) -> "NDArray[Any]":
    """Return a checked argument as a NumPy array of any dtype; ragged sequences and
    endless ranges raise.
    """
    import numpy as np

    if isinstance(value, range) and _is_longer(value, MAX_DRAWS):
        raise violation(name, f"an array of at most {MAX_DRAWS:,} numbers", value)
    try:
        return np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        raise violation(name, "an array of numbers", value) from None


def read_only(value: Any, name: str) -> "NDArray[Any]":
    """Return a checked argument as a NumPy array that can no longer be written to."""
    import numpy as np

    array = instance(value, name, np.ndarray, "an array")
    array.flags.writeable = False
    return array


def probabilities(value: Any, name: str) -> "NDArray[np.float64]":
    """Return a checked argument as one probability or an array of them, each in [0,
    1].
    """
    import numpy as np

    numeric = array(value, name)
    if numeric.dtype.kind not in "biuf" or not np.all((numeric >= 0) & (numeric <= 1)):
        raise violation(name, "between 0 and 1", value)
    return numeric.astype(np.float64)


def stochastic(value: Any, name: str) -> "NDArray[np.float64]":
    """Return a checked argument as a matrix of probabilities whose rows sum to 1 within
    1e-9, read-only.

    Anything else raises a ChannelError.
    """
    import numpy as np

    try:
        matrix = _float_matrix(value)
    except (TypeError, ValueError, OverflowError):
        raise ChannelError(
            f"{name} must be a matrix of probabilities", parameter=name
        ) from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ChannelError(
            f"{name} must be a matrix with at least one row and column, got shape "
            f"{matrix.shape}",
            parameter=name,
        )
    # Of small matrices argmin is faster than min; it finds NaN first.  Sums of cells up
    # to 2 are finite.
    within = matrix.item(matrix.argmin()) >= 0 and matrix.item(matrix.argmax()) <= 2
    if not (within and _are_one(np.add.reduce(matrix, axis=1))):
        raise _not_stochastic(matrix, name)
    matrix.setflags(write=False)
    return matrix


def _float_matrix(value: Any) -> "NDArray[np.float64]":
    """Return an argument as a matrix of floats; anything else raises a TypeError or the
    like.
    """
    import numpy as np

    numbers = array(value, "the matrix")  # fractions come as objects
    if numbers.dtype.kind not in "biufO":
        raise TypeError
    return numbers.astype(np.float64)


def _are_one(sums: "NDArray[np.float64]") -> bool:
    """Return whether the row sums of a matrix argument are 1, up to rounding."""
    each = sums.tolist()
    return bool(
        1 - min(each) <= ROW_SUM_TOLERANCE and max(each) - 1 <= ROW_SUM_TOLERANCE
    )


def _not_stochastic(matrix: "NDArray[np.float64]", name: str) -> ChannelError:
    """Return the error for an argument whose rows are no probabilities that sum to
    1.
    """
    import numpy as np

    bad = matrix[~(matrix >= 0) | (matrix == np.inf)]
    if bad.size:
        rule = "must hold probabilities of at least 0"
        return ChannelError(f"{name} {rule}, got {bad[0]}", parameter=name)
    with np.errstate(over="ignore"):
        sums = np.asarray(matrix.sum(axis=1))
        hint = "; it looks transposed" if _are_one(matrix.sum(axis=0)) else ""
    row = int(np.argmax(np.abs(sums - 1)))
    return ChannelError(
        f"each row of {name} must sum to 1, but row {row} sums to "
        f"{sums[row]:.12g}{hint}"
    )


def mapping(value: Any, name: str, what: str = "a mapping") -> Mapping[Any, Any]:
    """Return a checked argument as a mapping."""
    if not isinstance(value, Mapping):
        raise violation(name, what, value)
    return value


def progress(value: Any, name: str = "progress") -> Any:
    """Return a checked argument as a progress callback: None, or a function of the
    steps done and their total.
    """
    if value is None:
        return None
    rule = "a function of two arguments or None"
    if not callable(value):
        raise violation(name, rule, value)
    try:
        inspect.signature(value).bind(0, None)
    except TypeError:
        raise violation(name, rule, value) from None
    except ValueError:  # a built-in function without a signature
        return value
    return value


def instance(value: Any, name: str, kind: type[Kind], what: str) -> Kind:
    """Return a checked argument as an instance of a class; `what` describes the class
    in the message.
    """
    if not isinstance(value, kind):
        raise violation(name, what, value)
    return value


def generator(rng: Any, name: str = "rng") -> "np.random.Generator":
    """Return a checked seed as a random generator: an integer of at least 0, a
    generator, or None.
    """
    import numpy as np

    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None:
        return np.random.default_rng()
    return np.random.default_rng(integer(rng, name, 0))


def seed(rng: Any, name: str = "rng", maximum: int | None = None) -> int | None:
    """Return a checked seed: an integer of at least 0, drawn for a
    `numpy.random.Generator`; or None.
    """
    if rng is None:
        return None
    return required_seed(rng, name, maximum)


def required_seed(rng: Any, name: str = "rng", maximum: int | None = None) -> int:
    """Return a checked seed that is not None, drawn for a `numpy.random.Generator`."""
    if type(rng).__name__ == "Generator" and hasattr(rng, "integers"):
        rng = int(rng.integers(2**63))
    return integer(rng, name, 0, maximum)


def choice(value: Any, name: str, options: Iterable[str]) -> str:
    """Return a checked argument, one of the options; for any other value the message
    suggests the closest one.
    """
    known = list(options)
    if not isinstance(value, str) or value not in known:
        raise violation(
            name, f"one of {', '.join(known)}", value, near_miss(value, known)
        )
    return str(value)


def choices(value: Any, name: str, options: Iterable[str]) -> list[str]:
    """Return a checked argument, one of the options or several as a list; all of them
    for `"all"`.
    """
    known = list(options)
    names = [value]
    if not isinstance(value, str):
        names = items(value, name, "a name or several")
    if names == ["all"]:
        return known
    return [choice(each, name, known) for each in names]


def options(
    names: Iterable[str],
    known: Iterable[str],
    suggested: Iterable[str] | None = None,
) -> None:
    """Check the names of options; the message suggests one of `suggested`, by default
    of those that are known.
    """
    options = list(known)
    for name in names:
        if name not in options:
            hint = near_miss(name, suggested or options, cutoff=0.7)
            raise InputError(f"there is no option {name!r}{hint}")


def near_miss(value: Any, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the hint of a check, "; did you mean ...?" with the closest known name, or
    an empty string.
    """
    by_folded = {name.casefold(): name for name in known}
    word = value.casefold() if isinstance(value, str) else shown(value)
    close = difflib.get_close_matches(word, by_folded, n=1, cutoff=cutoff)
    if not close:
        return ""
    return f"; did you mean {by_folded[close[0]]!r}?"


def shown(value: Any) -> str:
    """Return the `repr` of a checked argument for a message, shortened to about 80
    characters.

    Examples
    --------
    >>> shown("grr"), shown(list(range(1000)))
    ("'grr'", '[0, 1, 2, 3, 4, 5, ...]')
    """
    if isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
        return f"an integer of {value.bit_length()} bits"
    return _SHORT.repr(value)


_SHORT = reprlib.Repr()


_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 80
