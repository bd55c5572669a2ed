"""Numbers as answers: the edges of at most six intervals, and their labels in words."""

import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from seepage._core.arrays import Booleans, Floats
from seepage.tables.labels import number_label, roundest
from seepage.tables.number_summary import NumberSummary

MOST_ANSWERS = 6
"""Maximum number of answers of a number."""


SLACK = 0.25
"""A cut may miss its quantile by this share of an interval to be at a rounder
number."""


YEAR_NAME = re.compile(r"(?i)year|(^|[_. -])yr|yob|born|birth|built|since")
"""Names of columns whose numbers are years, if they may be."""


NAMED_YEARS = (1500, 2200)
"""The least and the largest number of a column that is named a year."""


YEARS = (1850, 2050)
"""Those of a column of any name: other numbers are seldom so near to each other."""


def interval_edges(
    numbers: NumberSummary, people: int, share: float
) -> tuple[float, ...]:
    """Return the edges of the intervals that a column of numbers is asked in; empty if
    its values are answers.

    Parameters
    ----------
    numbers
        The numbers of the part.
    people, share
        The number of records of the part, and the least share of an answer.

    Notes
    -----
    A value with 1/6 of the people stays alone.  The runs between such values share the
    other answers in proportion to their people and are cut at quantiles, each moved to
    the roundest number within a quarter of an interval.  While an interval is below the
    share, or there are more than 6, the lightest joins the lighter of its neighbours.

    Examples
    --------
    >>> days = NumberSummary()
    >>> days.add(
    ...     np.repeat(np.arange(31), [700] + 30 * [10]), np.zeros(1000, dtype=np.uint64)
    ... )
    >>> interval_edges(days, 1000, 0.05)
    (-inf, 1.0, 8.0, 14.0, 20.0, 25.0, inf)
    """
    values, counts = numbers.distinct()
    masses = counts / max(people, 1)
    if len(values) <= MOST_ANSWERS and masses.min() >= share:
        return ()
    heavy = masses >= 1 / MOST_ANSWERS
    free = max(MOST_ANSWERS - int(heavy.sum()), 1)
    step = max(share, float(masses[~heavy].sum()) / free)
    edges = set[float]()
    for run in _runs(heavy):
        edges.update(_quantiles(values[run], masses[run], step, numbers.integral))
        is_last = run.stop == len(values)
        if not is_last and numbers.integral:
            edges.update(_edges_beside_heavy(values, heavy, run))
        elif not is_last:
            edges.add(roundest(values[run.stop - 1], values[run.stop], integral=False))
    inner = sorted(edge for edge in edges if values[0] < edge <= values[-1])
    interval = np.searchsorted(inner, values, side="right")
    people_of_interval = np.bincount(interval, masses).tolist()
    starts = join_lightest(people_of_interval, share, MOST_ANSWERS)
    return (-math.inf, *(inner[start - 1] for start in starts[1:]), math.inf)


def _runs(heavy: Booleans) -> Iterator[slice]:
    """Yield the runs of values between which intervals of answers end: each heavy value
    alone, and those between.
    """
    start = 0
    for stop in range(1, len(heavy)):
        if heavy[start] or heavy[stop]:
            yield slice(start, stop)
            start = stop
    yield slice(start, len(heavy))


def _edges_beside_heavy(values: Floats, heavy: Booleans, run: slice) -> Iterator[float]:
    """Yield the edges of intervals of answers between a run of integers and the next,
    of which one is a heavy value alone.
    """
    if heavy[run.start]:
        yield float(values[run.start]) + 1
    else:
        yield roundest(values[run.stop - 1], values[run.stop], integral=True)
    if heavy[run.stop]:
        yield float(values[run.stop])


def _quantiles(
    values: Floats, masses: Floats, step: float, integral: bool
) -> Iterator[float]:
    """Yield edges that cut a run of values into intervals of answers of about equal
    mass.
    """
    if len(values) < 2:
        return
    running = np.cumsum(masses)[:-1]
    total = float(masses.sum())
    pieces = max(1, round(total / step))
    for index in range(1, pieces):
        away = np.abs(running - masses.sum() * index / pieces)
        reach = max(SLACK * masses.sum() / pieces, float(away.min()))
        near = np.flatnonzero(away <= reach)
        yield roundest(values[near[0]], values[near[-1] + 1], integral=integral)


def join_lightest(sizes: Sequence[float], least: float, most: int) -> list[int]:
    """Return where groups of neighbouring answers start: the lightest joins the lighter
    one beside it.

    While a group is lighter than `least`, or there are more than `most`.

    Examples
    --------
    >>> join_lightest([5, 1, 2, 9], 3, 4)
    [0, 1, 3]
    """
    starts = list(range(len(sizes)))
    left = list(sizes)
    while len(left) > 1 and (min(left) < least or len(left) > most):
        lightest = left.index(min(left))
        beside = [k for k in (lightest - 1, lightest + 1) if 0 <= k < len(left)]
        first = min(lightest, min(beside, key=left.__getitem__))
        left[first : first + 2] = [left[first] + left[first + 1]]
        del starts[first + 1]
    return starts


def are_years(name: str, numbers: NumberSummary) -> bool:
    """Return whether the numbers of a column are years, so that its last answer is "or
    later", not "or more".

    Examples
    --------
    >>> years = NumberSummary()
    >>> years.add(np.array([1963.0, 2015.0]), np.zeros(2, dtype=np.uint64))
    >>> are_years("earliest credit line", years)
    True
    """
    low, high = NAMED_YEARS if YEAR_NAME.search(name) else YEARS
    return numbers.integral and low <= numbers.low and numbers.high <= high


def interval_labels(
    edges: Sequence[float], numbers: NumberSummary, name: str = ""
) -> tuple[str, ...]:
    """Return the labels of open-ended intervals that people answer with, in words.

    Parameters
    ----------
    edges, numbers
        The edges of the intervals, and the numbers of the part.
    name
        The name of the column, which tells years from other numbers.

    Examples
    --------
    >>> import numpy as np
    >>> days = NumberSummary()
    >>> days.add(np.arange(31), np.zeros(31, dtype=np.uint64))
    >>> interval_labels([-math.inf, 1, 6, math.inf], days)
    ('0', '1 to 5', '6 or more')
    >>> born = NumberSummary()
    >>> born.add(np.arange(1930, 2006), np.zeros(76, dtype=np.uint64))
    >>> interval_labels([-math.inf, 1960, 1980, math.inf], born, "born")
    ('1959 or earlier', '1960 to 1979', '1980 or later')
    """
    if are_years(name, numbers):
        labels_of_years = list[str]()
        for low, high in pairwise(edges):
            labels_of_years.append(_label_of_years(low, high, numbers.low))
        return tuple(labels_of_years)
    labels = list[str]()
    for low, high in pairwise(edges):
        if numbers.integral:
            labels.append(_label_of_integers(low, high, numbers.low))
        else:
            labels.append(_label_of_fractions(low, high))
    return tuple(labels)


def _label_of_years(low: float, high: float, least: float) -> str:
    """Return the label of an interval of answers that are years."""
    if math.isfinite(low) and math.isinf(high):
        return f"{number_label(low)} or later"
    if math.isinf(low) and math.isfinite(high) and high - 1 > least:
        return f"{number_label(high - 1)} or earlier"
    return _label_of_integers(low, high, least)


def _label_of_integers(low: float, high: float, least: float) -> str:
    """Return the label of an interval of answers, the integers from low to below high;
    the least number stands for a low end that is open.
    """
    if math.isinf(high):
        return _label_without_end(low)
    first = low if math.isfinite(low) else least
    last = high - 1
    if first == last:
        return number_label(first)
    if math.isinf(low):
        return f"up to {number_label(last)}"
    return f"{number_label(first)} to {number_label(last)}"


def _label_of_fractions(low: float, high: float) -> str:
    """Return the label of an interval of answers that are not integers."""
    if math.isinf(high):
        return _label_without_end(low)
    if math.isinf(low):
        return f"under {number_label(high)}"
    return f"{number_label(low)} to under {number_label(high)}"


def _label_without_end(low: float) -> str:
    """Return the label of an interval of answers that has no upper end."""
    if math.isinf(low):
        return "any number"
    return f"{number_label(low)} or more"
