"""The grammar of numbers in texts: of files, options, labels, formulas and covariates.

Python's `float` also reads `2020_1` as 20201, digits of other scripts, and blanks
around; none of these is a number here.
"""

import re

NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]{1,9})?|inf|infinity)",
    re.IGNORECASE,
)
"""Numbers in texts: decimal, with an exponent, or infinite."""


INTEGER = re.compile(r"[+-]?[0-9]+")
"""Integers in texts."""


def number_of_text(text: str) -> float | None:
    """Return the number that a text spells; None if it spells none.

    Examples
    --------
    >>> [
    ...     number_of_text(text)
    ...     for text in ("1e3", "-.5", "2020_1", " 1", "\u0663", "nan")
    ... ]
    [1000.0, -0.5, None, None, None, None]
    """
    if NUMBER.fullmatch(text) is None:
        return None
    return float(text)


def is_count(text: str) -> bool:
    """Return whether a text spells an integer of at least 0 in the digits 0 to 9.

    Examples
    --------
    >>> [is_count(text) for text in ("12", "1_2", "-1", "\u0663")]
    [True, False, False, False]
    """
    return text.isascii() and text.isdecimal()
