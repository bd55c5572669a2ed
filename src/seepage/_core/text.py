"""Numbers, rounded to the safe side, and lists as text."""

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Protocol

# Numbers as text, rounded to the safe side --------------------------------------------


def ceiling_text(value: float, decimals: int = 4) -> str:
    """Return a number as text, its shortest decimal rounded up to a number of decimals.

    Examples
    --------
    >>> ceiling_text(1.98761), ceiling_text(1.1, 2), ceiling_text(math.inf)
    ('1.9877', '1.10', 'inf')
    """
    return _rounded_text(value, decimals, ROUND_CEILING)


def floor_text(value: float, decimals: int = 4) -> str:
    """Return a number as text, its shortest decimal rounded down to a number of
    decimals.

    Examples
    --------
    >>> floor_text(1.98769), floor_text(0.29, 2)
    ('1.9876', '0.29')
    """
    return _rounded_text(value, decimals, ROUND_FLOOR)


def _rounded_text(value: float, decimals: int, rounding: str) -> str:
    """Return a number as text, its shortest decimal rounded in a direction."""
    if not math.isfinite(value):
        return str(float(value))
    exact = Context(prec=400, rounding=rounding)  # the largest float has 309 digits
    step = Decimal(1).scaleb(-decimals)
    return f"{Decimal(repr(float(value))).quantize(step, context=exact):f}"


def shortest_above(value: float) -> str:
    """Return a number as text in three decimals, rounded up, without trailing zeros.

    Examples
    --------
    >>> shortest_above(1.99999), shortest_above(0.1234)
    ('2', '0.124')
    """
    text = ceiling_text(value, 3)
    if "." not in text:
        return text
    return text.rstrip("0").rstrip(".")


def delta_text(delta: float, digits: int = 2) -> str:
    """Return a delta as text, ", delta d" rounded up, but for an excess of 1e-9 of it;
    "" for a delta of 0.

    Examples
    --------
    >>> delta_text(6.0371e-3), delta_text(1e-5), delta_text(0.0)
    (', delta 0.0061', ', delta 1e-05', '')
    """
    if not delta:
        return ""
    up = Context(prec=digits, rounding=ROUND_CEILING)
    rounded = up.create_decimal(Decimal(repr(float(delta) * (1 - 1e-9))))
    return f", delta {float(rounded):g}"


def lower_text(value: float) -> str:
    """Return a lower bound as text, two decimals rounded down; a shortfall of 1e-11 is
    ignored.
    """
    if not math.isfinite(value):
        return "infinitely many"
    if value >= 1e15:
        return f"{value:g}"
    return f"{math.floor(100 * value + 1e-9) / 100:.2f}"


def upper_text(value: float) -> str:
    """Return an upper bound as text, two decimals rounded up; an excess of 1e-11 is
    ignored.
    """
    if not value < 1e15:
        return "infinity"
    return f"{math.ceil(100 * value - 1e-9) / 100:.2f}"


MAX_SHOWN = 8
"""Maximum number of attributes in the `repr` of a domain."""


class Counted(Protocol):
    """Pair counts or distinct records, as far as the number of records is concerned."""

    @property
    def records(self) -> int:
        """Number of records counted, which a text names."""

    @property
    def population(self) -> int | None:
        """Number of records that the sample of a text was drawn from; None for a whole
        table.
        """


def how_many(counted: Counted) -> str:
    """Return the number of records as text, with the population if they are a sample.

    Examples
    --------
    >>> from seepage.channel.domain import Attribute
    >>> from seepage.channel.domain import Domain
    >>> from seepage.channel.pairs import PairCounts
    >>> domain = Domain([Attribute("sex", ("F", "M"))])
    >>> how_many(PairCounts(domain, [[60, 40]], []))
    '100 records'
    >>> how_many(PairCounts(domain, [[60, 40]], [], population=5000))
    'sample of 100 of 5,000 records'
    """
    if counted.population is None:
        return f"{counted.records:,} records"
    return f"sample of {counted.records:,} of {counted.population:,} records"


def sample_caution(counted: Counted) -> str | None:
    """Return the text of a caveat for results computed from a sample; None for a whole
    table.
    """
    if counted.population is None:
        return None
    return (
        f"from a {how_many(counted)}: valid only if the sample's leakages are those of "
        "the population; values absent from the sample may leak more"
    )


def short_list(names: Sequence[str], maximum: int = 3) -> str:
    """Return the first names as text, separated by commas, and the number of the
    others.

    Examples
    --------
    >>> short_list(["sex", "age", "job", "income", "race"])
    'sex, age, job and 2 more'
    """
    shown = ", ".join(names[:maximum])
    more = len(names) - maximum
    if more <= 0:
        return shown
    return f"{shown} and {more} more"


def number_of(number: int, noun: str, plural: str = "") -> str:
    """Return a number of things as text, the noun in the singular for one.

    Parameters
    ----------
    number
        The number.
    noun, plural
        The noun, and its plural where that is not the noun with an s.

    Examples
    --------
    >>> number_of(1, "form"), number_of(1200, "form"), number_of(2, "person", "people")
    ('1 form', '1,200 forms', '2 people')
    """
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {plural or noun + 's'}"


FACTOR = "1 nat: the odds between two values change by a factor of 2.7"
"""The unit of leakages, in words."""


def span(numbers: Iterable[float | None]) -> str:
    """Return the range of some numbers as text, None left out.

    Examples
    --------
    >>> span([3, 1, 5]), span([2.0, 2.0, None]), span([None])
    ('1 to 5', '2', 'none')
    """
    known = [number for number in numbers if number is not None]
    if not known:
        return "none"
    least = min(known)
    most = max(known)
    if least == most:
        return f"{least:g}"
    return f"{least:g} to {most:g}"


def nats(value: float) -> str:
    """Return a number of nats as text, rounded up at the third decimal and without
    trailing zeros.

    Examples
    --------
    >>> nats(1.99999), nats(0.1234), nats(math.inf)
    ('2', '0.124', 'any number of')
    """
    if not math.isfinite(value):
        return "any number of"
    return shortest_above(value)


def factor(value: float) -> str:
    """Return a number of nats as the text of a factor, e to it rounded up to two
    digits.

    Rounding errors of the exponential, below 1e-15 for factors up to 1,000, are not
    rounded up; totals have larger guards.

    Examples
    --------
    >>> (
    ...     factor(2.0),
    ...     factor(0.1),
    ...     factor(6.0),
    ...     factor(8.0),
    ...     factor(50.0),
    ...     factor(math.log(3)),
    ... )
    ('7.4', '1.2', '410', '3,000', '5.2e21', '3')
    """
    if not value < 700:
        return "any number"
    grown = math.exp(value)
    digits = 1 - math.floor(math.log10(grown))
    above = math.ceil(grown * 10.0**digits * (1 - 1e-15)) / 10.0**digits
    if 10 <= above < 1e6:
        return f"{above:,.0f}"
    return short_exponent(f"{above:.2g}")


def short_exponent(number: str) -> str:
    """Return a number as text with its exponent as short as can be.

    Examples
    --------
    >>> short_exponent("3.2e+06"), short_exponent("1e+21"), short_exponent("7.4")
    ('3.2e6', '1e21', '7.4')
    """
    return number.replace("e+0", "e").replace("e+", "e")


def two_digits(number: float) -> str:
    """Return a positive number as text of two digits, without an exponent.

    Examples
    --------
    >>> two_digits(1.23), two_digits(24.4), two_digits(126.0), two_digits(1_560.3)
    ('1.2', '24', '130', '1,600')
    """
    if number < 10:
        return f"{number:.2g}"
    unit = 10 ** (len(str(int(number))) - 2)
    return f"{round(number / unit) * unit:,}"


def points(width: float) -> str:
    """Return a half-width in percentage points as text of two digits, rounded up.

    Examples
    --------
    >>> points(0.00801), points(0.2), points(0.034), points(math.inf)
    ('0.81', '20', '3.4', 'not known')
    """
    if not math.isfinite(width):
        return "not known"
    if width <= 0:
        return "0"
    grown = 100 * width
    digits = 1 - math.floor(math.log10(grown))
    return f"{math.ceil(grown * 10.0**digits - 1e-9) / 10.0**digits:.{max(0, digits)}f}"


def whole_points(width: float) -> str:
    """Return a half-width in percentage points as text without a zero behind the point.

    Examples
    --------
    >>> whole_points(0.03), whole_points(0.034)
    ('3', '3.4')
    """
    return points(width).removesuffix(".0")


def rounded_people(number: int) -> str:
    """Return a number of people as text, rounded up to three digits.

    Examples
    --------
    >>> rounded_people(4207), rounded_people(987), rounded_people(123_456)
    ('4,210', '987', '124,000')
    """
    unit = 10 ** max(0, len(str(number)) - 3)
    return f"{math.ceil(number / unit) * unit:,}"
