"""Types of options that are numbers, read by the grammar of the whole package.

Click reads them as Python does: `1_0` as 10, and digits of other scripts.
"""

import re
from typing import Any

import click

from seepage._core.number_grammar import INTEGER, NUMBER

NOT_A_NUMBER = re.compile("nan", re.IGNORECASE)
"""A text that the checks of the library name in their own words."""


def _check(
    kind: Any,
    grammar: re.Pattern[str],
    value: Any,
    param: click.Parameter | None,
    ctx: click.Context | None,
) -> None:
    """Raise Click's own error for an option's text that is no number of its type's
    grammar.
    """
    if isinstance(value, str) and not grammar.fullmatch(value.strip()):
        kind.fail(f"{value!r} is not a valid {kind.name.split()[0]}.", param, ctx)


class NumberType(click.types.FloatParamType):
    """A number: decimal, with an exponent, or infinite."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number that an option's text spells; any other text fails."""
        if not (isinstance(value, str) and NOT_A_NUMBER.fullmatch(value.strip())):
            _check(self, NUMBER, value, param, ctx)
        return super().convert(value, param, ctx)


class IntegerType(click.types.IntParamType):
    """An integer."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the integer that an option's text spells; any other text fails."""
        _check(self, INTEGER, value, param, ctx)
        return super().convert(value, param, ctx)


class IntegerRange(click.IntRange):
    """An integer from a minimum, to a maximum if it is given."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the integer within a range that an option's text spells; any other
        text fails.
        """
        _check(self, INTEGER, value, param, ctx)
        return super().convert(value, param, ctx)


NUMBER_TYPE = NumberType()
"""Type of the options that take a number."""


INTEGER_TYPE = IntegerType()
"""Type of the options that take an integer."""
