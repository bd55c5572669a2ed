"""Values that may mean missing: 9 beside 1 to 5, 99 beside 0 to 30, -9, a question
mark.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from seepage._core.arrays import Floats
from seepage.tables.labels import number_label
from seepage.tables.missing_texts import TEXTS_FOR_MISSING
from seepage.tables.profile import MIN_VALUES, Profile

CODES_FOR_MISSING = re.compile(
    r"-[1-9]|-(7{2,}|8{2,}|9{2,})|[789]|9[78]|7{2,}|8{2,}|9{2,}|99+[78]"
)
"""Numbers that surveys use for missing answers."""


MAX_DISTINCT_NUMBERS = 5 * MIN_VALUES
"""Columns with more distinct numbers are measurements without codes."""


MIN_GAP = 1.3
"""A code exceeds the largest number of its scale by more than this factor."""


MIN_DENSITY = 0.6
"""A scale beside a code has more than this share of the integers of its range."""


LARGE_SCALE = 500
"""A scale of such numbers need not be dense if the code is more than twice as large."""


def codes_for_missing(column: Profile) -> Iterator[str]:
    """Yield the codes for missing of a column: values that may mean missing, as labels.

    Numbers of equal digits 7, 8 or 9 beyond a gap above a scale that does not reach
    half of them, or negative numbers below a scale from 0 on; and texts such as "?", or
    a text beside numbers.
    """
    yield from column.beside
    for text in column.texts:
        if text and text.lower() in TEXTS_FOR_MISSING:
            yield text
    for number in _numbers_for_missing(column.numbers):
        yield number_label(number)


@dataclass
class _Scale:
    """The numbers that are answers, as far as they are known.

    Parameters
    ----------
    low, high
        The least and the largest.
    values
        Their number.
    """

    low: float
    high: float
    values: int

    def reaches(self, number: float) -> bool:
        """Return whether a number lies on the scale of answers beside codes for
        missing, or next above it.
        """
        return self.low <= number <= self.high + 1

    def add(self, number: float) -> None:
        """Add a number that is no code for missing: it lies on the scale of answers."""
        self.high = max(self.high, number)
        self.values += 1

    def is_code(self, number: float) -> bool:
        """Return whether a number beside the scale is a code for missing rather than an
        answer.
        """
        if number < 0:
            return self.low >= 0 and self.values > 2
        if number <= MIN_GAP * self.high:
            return False
        is_dense = self.values > MIN_DENSITY * (self.high - self.low + 1)
        is_far = number > 2 * self.high and self.high >= LARGE_SCALE
        return is_dense or is_far


def _numbers_for_missing(numbers: Floats) -> Iterator[float]:
    """Yield the codes for missing among distinct numbers, ascending."""
    ascending = np.sort(numbers[~np.isnan(numbers)]).tolist()
    if len(ascending) > MAX_DISTINCT_NUMBERS:
        return
    candidates = list[float]()
    answers = list[float]()
    for number in ascending:
        if CODES_FOR_MISSING.fullmatch(number_label(number)):
            candidates.append(number)
        else:
            answers.append(number)
    if len(answers) < 2:
        return
    scale = _Scale(answers[0], answers[-1], len(answers))
    for number in candidates:
        if scale.reaches(number):
            scale.add(number)
        elif scale.is_code(number):
            yield number
