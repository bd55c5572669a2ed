"""Limits and leakages as odds: `7.4x` is the limit ln 7.4 in nats.

A total of L nats changes the odds between two values at most exp(L) times.
"""

import math
import re
from typing import Any

from seepage._core import checks
from seepage._core.text import factor, short_exponent

ODDS = re.compile(r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*(?:x|×|times)", re.IGNORECASE)
"""Odds as they are typed: 7.4x, 7.4 x, 7.4 ×, 7.4 times."""

RULE = "a number of nats, or odds such as '7.4x'"
"""What a limit may be, in messages."""

MAX_DIGITS = 6
"""Maximum number of digits of odds that are recognised as typed."""


def limit_in_nats(value: Any, name: str = "limit") -> float:
    """Return a limit in nats, given in nats or as odds that change at most so often.

    Parameters
    ----------
    value
        A number of nats of at least 0, or odds from 1x on as text.
    name
        The parameter's name, for messages.

    Notes
    -----
    The logarithm is rounded down by one unit in the last place, so that a total within
    the limit never exceeds the odds.

    Examples
    --------
    >>> limit_in_nats(2), round(limit_in_nats("7.4x"), 5), limit_in_nats("1 times")
    (2.0, 2.00148, 0.0)
    >>> limit_in_nats("7.4")
    Traceback (most recent call last):
    seepage.InputError: limit must be a number of nats, or odds such as '7.4x', got
    '7.4'
    """
    if not isinstance(value, str):
        return checks.epsilon(value, name)
    typed = ODDS.fullmatch(value.strip())
    if typed is None:
        raise checks.violation(name, RULE, value)
    odds = float(typed[1])
    if odds < 1:
        raise checks.violation(name, "odds of at least 1x", value)
    return checks.epsilon(_below_log(odds), name)


def _below_log(odds: float) -> float:
    """Return the limit in nats of odds from 1 on, rounded down; infinity for
    infinity.
    """
    logarithm = math.log(odds)
    if logarithm in (0.0, math.inf):
        return logarithm
    return math.nextafter(logarithm, 0.0)


def odds_text(limit: float) -> str:
    """Return a limit in nats as odds: those that were typed, else rounded up.

    Examples
    --------
    >>> odds_text(limit_in_nats("7.45x")), odds_text(2.0), odds_text(0.5)
    ('7.45', '7.4', '1.7')
    """
    typed = _typed_odds(limit)
    if typed is None:
        return factor(limit)
    return f"{float(typed):,.6g}" if float(typed) < 1e6 else typed


def odds_at_least(value: float) -> str:
    """Return the change of odds of a number of nats that is known to be told, rounded
    down to three digits.

    Examples
    --------
    >>> odds_at_least(2.0), odds_at_least(5.541), odds_at_least(8.0), odds_at_least(0.0)
    ('7.38', '254', '2,980', '1')
    """
    grown = math.exp(min(value, 700.0))
    digits = 2 - math.floor(math.log10(grown))
    below = math.floor(grown * 10.0**digits * (1 + 1e-15)) / 10.0**digits
    if 100 <= below < 1e6:
        return f"{below:,.0f}"
    return short_exponent(f"{below:.3g}")


def least_odds(value: float) -> str:
    """Return the change of odds of a lower bound in nats, rounded down to two digits,
    from 100 on to three.

    Examples
    --------
    >>> least_odds(1.0), least_odds(6.185), least_odds(0.0), least_odds(math.inf)
    ('2.7', '485', '1', 'any number of')
    """
    if not value < 700:
        return "any number of"
    odds = math.exp(max(0.0, value))
    digits = (2 if odds >= 100 else 1) - math.floor(math.log10(odds))
    below = math.floor(odds * 10.0**digits + 1e-9) / 10.0**digits
    if below >= 1e6:
        return short_exponent(f"{below:.3g}")
    if below >= 10:
        return f"{below:,.0f}"
    return f"{below:.2g}"


def measured_odds(value: float) -> str:
    """Return the change of odds of a leakage that was measured, rounded up to three
    digits.

    Examples
    --------
    >>> (
    ...     measured_odds(1.0),
    ...     measured_odds(0.0),
    ...     measured_odds(5.0),
    ...     measured_odds(math.inf),
    ... )
    ('2.72', '1', '149', 'any number of')
    """
    if not value < 700:
        return "any number of"
    odds = math.exp(value)
    digits = 2 - math.floor(math.log10(odds))
    above = math.ceil(odds * 10.0**digits * (1 - 1e-12)) / 10.0**digits
    if above >= 1e6:
        return short_exponent(f"{above:.3g}")
    return f"{above:,.6g}"


def odds_above(bound: float) -> str:
    """Return an upper bound in nats as odds, as limits are typed, rounded up.

    Examples
    --------
    >>> odds_above(2.0), odds_above(0.0), odds_above(math.inf)
    ('7.39x', '1x', 'any number')
    """
    if not bound < 700:
        return "any number"
    return f"{measured_odds(bound)}x"


def odds_below(bound: float) -> str:
    """Return a lower bound in nats as odds, as limits are typed, rounded down.

    Examples
    --------
    >>> odds_below(2.0), odds_below(0.0), odds_below(math.inf)
    ('7.38x', '1x', 'any number')
    """
    if not bound < 700:
        return "any number"
    return f"{odds_at_least(bound)}x"


def odds_cell(leakage: float) -> str:
    """Return measured odds for a column of numbers: all below 10 have two decimals.

    Examples
    --------
    >>> odds_cell(1.0), odds_cell(0.0), odds_cell(3.0), odds_cell(math.inf)
    ('2.72', '1.00', '20.1', 'any')
    """
    if not leakage < 700:
        return "any"
    text = measured_odds(leakage)
    if leakage >= math.log(10):
        return text
    return f"{float(text):.2f}"


def limit_as_odds(limit: float) -> str:
    """Return a limit as odds: those that were typed, else rounded up to three digits.

    Examples
    --------
    >>> limit_as_odds(limit_in_nats("7.4x")), limit_as_odds(2.0)
    ('7.4x', '7.39x')
    """
    typed = limit_as_typed(limit)
    if typed.endswith("x"):
        return typed
    return odds_above(limit)


def limit_and_odds(limit: float) -> str:
    """Return a limit as it was typed; nats with their odds, rounded up.

    Examples
    --------
    >>> limit_and_odds(limit_in_nats("7.4x")), limit_and_odds(2.0)
    ('7.4x', '2 nats (7.39x)')
    """
    typed = limit_as_typed(limit)
    if typed.endswith("x"):
        return typed
    return f"{typed} nats ({odds_above(limit)})"


def limit_as_typed(limit: float) -> str:
    """Return a limit as it is typed in a function or a command: odds, else nats.

    Examples
    --------
    >>> limit_as_typed(limit_in_nats("7.4x")), limit_as_typed(2.0)
    ('7.4x', '2')
    """
    if float(f"{limit:.6g}") == limit:
        return f"{limit:.6g}"
    typed = _typed_odds(limit)
    if typed is None:
        return f"{limit:.15g}"
    return f"{typed}x"


def _typed_odds(limit: float) -> str | None:
    """Return the shortest odds whose limit in nats this is exactly; None if no odds
    are.
    """
    if not 0 < limit < 700:
        return None
    grown = math.exp(limit)
    for digits in range(1, MAX_DIGITS + 1):
        text = f"{grown:.{digits}g}"
        if "e" in text:
            text = f"{float(text):.0f}"
        if _below_log(float(text)) == limit:
            return text
    return None
