"""Scales of intervals of numbers, and numbers beside them: "<5", "5", "6", "10+"."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from seepage.channel.domain import MISSING
from seepage.tables.missing_texts import means_missing

INTERVAL = re.compile(
    r"\s*(?P<below>[<≤]=?|under|below|less than|lt|up to)?"
    r"(?P<above>[>≥]=?|over|above|more than|gt)?"
    r"[\s=\[($€£]*(?P<low>-?(0|[1-9][0-9]*)(,[0-9]{3})*(\.[0-9]+)?(?![0-9]))"
    r"(?P<more>\s*(\+|(or|and) (more|over|above|older|up|later)))?"
    r"(?P<less>\s*(or|and) (less|fewer|under|below|younger|earlier))?.*",
    re.IGNORECASE,
)
"""A number or an interval of numbers: 5, <5, 10+, 18-24, 65 or more, $10,000 to
$20,000."""


@dataclass(frozen=True, order=True)
class ScalePlace:
    """Where a label stands on a scale of numbers.

    Parameters
    ----------
    number
        The number that it begins with.
    side
        -1 for all numbers below, 1 for all above, else 0.
    """

    number: float
    side: int


def number_scale(labels: Sequence[str]) -> list[str]:
    """Return the scale of intervals of numbers, and numbers beside them, in ascending
    order, without what means missing, such as "refused".

    Empty where another label is among them, all are numbers and nothing is beside them,
    two begin alike, fewer than three, or what stands beside the numbers differs: "1.
    Never married", "2. Married" are in no order.

    Examples
    --------
    >>> number_scale(["5", "6", "10+", "<5", "(missing)", "refused"])
    ['<5', '5', '6', '10+']
    >>> number_scale(["18-24", "65 or more", "25-64"])
    ['18-24', '25-64', '65 or more']
    >>> number_scale(["1", "2", "never"]), number_scale(["1", "2", "3"])
    ([], [])
    >>> number_scale(["2", "10", "refused", "9"])
    ['2', '9', '10']
    >>> number_scale(["1. Never married", "2. Married", "3. Widowed"])
    []
    >>> number_scale(["<9 years", "9-11 years", "12 years"])
    ['<9 years', '9-11 years', '12 years']
    >>> number_scale(["$25000 or more", "lt $1000", "$1000 to 24999"])
    ['lt $1000', '$1000 to 24999', '$25000 or more']
    >>> (
    ...     number_scale(["01-301", "24-104", "36-710"]),
    ...     number_scale(["17-1", "17-2", "18-1"]),
    ... )
    ([], [])
    """
    places = dict[str, ScalePlace]()
    is_scale = False
    for label in labels:
        if means_missing(label):
            is_scale |= label != MISSING
            continue
        interval = INTERVAL.fullmatch(label)
        if interval is None:
            return []
        places[label] = _place(interval)
        if interval["low"] != label:
            is_scale = True
    are_distinct = len(set(places.values())) == len(places)
    if not is_scale or len(places) < 3 or not are_distinct:
        return []
    if len({_unit(label) for label in places} - {""}) > 1:
        return []
    return sorted(places, key=places.__getitem__)


BARE = re.compile(
    r"[<≤>≥]?=?\s*[0-9][0-9,.]*(\s*(-|–|to)\s*[0-9][0-9,.]*)?\s*(\+|or (more|less))?"
)
"""A number or an interval of numbers, without units or other words."""


MAX_BESIDE = 2
"""Maximum number of other answers beside a scale of numbers."""


NO_UNIT = re.compile(
    r"[\d.,<>≤≥=+\-–()\[\]\s]|\b(?:under|below|less|than|lt|gt|up|to|over|above|more|or|and|older"
    r"|later|earlier|fewer|younger)\b",
    re.IGNORECASE,
)
"""What makes an interval of a number; what remains of a label is its unit."""


def _unit(label: str) -> str:
    """Return the unit of a label on a scale of numbers, such as "year"; often
    nothing.
    """
    return NO_UNIT.sub("", label).lower().removesuffix("s")


def scale_beside_answers(labels: Sequence[str]) -> list[str]:
    """Return the scale of intervals of numbers in ascending order where a few other
    answers stand beside them; empty if that is not so.

    Examples
    --------
    >>> scale_beside_answers(["3", "5+", "do not watch", "<1", "1-2"])
    ['<1', '1-2', '3', '5+']
    >>> scale_beside_answers(["1st class", "2nd class", "3rd class", "crew"])
    []
    """
    numbers = [label for label in labels if BARE.fullmatch(label.strip())]
    beside = [
        label for label in labels if label not in numbers and not means_missing(label)
    ]
    if not 0 < len(beside) <= MAX_BESIDE:
        return []
    return number_scale(numbers)


def _place(interval: re.Match[str]) -> ScalePlace:
    """Return where an interval of numbers stands on a scale."""
    side = 0
    if interval["below"] or interval["less"]:
        side = -1
    elif interval["above"] or interval["more"]:
        side = 1
    return ScalePlace(float(interval["low"].replace(",", "")), side)


CURRENCIES = "$€£"
"""Signs before a number, which are written before a merged one too."""


PLAIN_NUMBERS = re.compile(r"-?[0-9][0-9,.]*(\s*(-|to)\s*[0-9][0-9,.]*)?")
"""A number, or an interval of two, without units."""


def _last_number(label: str) -> str:
    """Return the last number of a scale's label, the upper end of an interval."""
    return re.split(r"\s*(?:-|to)\s*", label)[-1]


def scale_label(group: Sequence[str]) -> str:
    """Return the label of neighbours of a scale, in which each recognises herself.

    Examples
    --------
    >>> scale_label(["7", "8", "10+"]), scale_label(["<5", "5"]), scale_label(["6"])
    ('7 or more', 'up to 5', '6')
    >>> scale_label(["bad", "fair"]), scale_label(["$10,000", "over $20,000"])
    ('bad to fair', '$10,000 to over $20,000')
    >>> scale_label(["1-2", "3-5", "10-19", "30"]), scale_label(["1-2", "3-5"])
    ('1 to 30', '1 to 5')
    >>> scale_label(["Under 2,600", "2,600 to 5,200"])
    'up to 5,200'
    >>> scale_label(["lt $1000", "$1000 to 2999"])
    'up to $2999'
    >>> scale_label(["$1000 to 2999", "$3000 - 3999"])
    '$1000 to 3999'
    """
    first = group[0]
    last = group[-1]
    if len(group) == 1:
        return first
    low = INTERVAL.fullmatch(first)
    high = INTERVAL.fullmatch(last)
    label = None
    if low is not None and high is not None:
        label = _amounts_label(low, high) or _numbers_label(low, high)
    return label or f"{first} to {last}"


def _amounts_label(low: re.Match[str], high: re.Match[str]) -> str | None:
    """Return the label of a scale's amounts of money, from the lowest interval to the
    highest; None for other numbers.
    """
    first = low.string
    last = high.string
    currency = first[0] if first[0] in CURRENCIES else last[0]
    highest = last.lstrip(CURRENCIES)
    if currency not in CURRENCIES or not PLAIN_NUMBERS.fullmatch(highest):
        return None
    end = _last_number(last).lstrip(CURRENCIES)
    if _place(low).side < 0:
        return f"up to {currency}{end}"
    if PLAIN_NUMBERS.fullmatch(first.lstrip(CURRENCIES)):
        return f"{currency}{low['low']} to {end}"
    return None


def _numbers_label(low: re.Match[str], high: re.Match[str]) -> str | None:
    """Return the label of a scale's numbers, from the lowest interval to the highest;
    None if they have units.
    """
    is_plain_below = PLAIN_NUMBERS.fullmatch(low.string) is not None
    is_plain_above = PLAIN_NUMBERS.fullmatch(high.string) is not None
    if _place(high).side > 0 and is_plain_below:
        return f"{low['low']} or more"
    if _place(low).side < 0 and is_plain_above:
        return f"up to {_last_number(high.string)}"
    if is_plain_below and is_plain_above:
        return f"{low['low']} to {_last_number(high.string)}"
    return None
