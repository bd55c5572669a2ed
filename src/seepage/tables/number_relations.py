"""What columns of numbers tell of each other: monotone copies, recodings and sums.

The logarithm of an income is the income once more; an age group follows from the age; a
number of visits may be the sum of two others.
"""

from collections.abc import Sequence

import numpy as np

from seepage._core.arrays import Floats, Integers
from seepage.tables.kinds import MIN_RECORDS
from seepage.tables.profile import MIN_VALUES, Profile

SCREENED = 2**12
"""Records on which columns are compared first."""


MAX_ADDED = 200
"""Maximum number of columns of numbers among which sums are sought."""


OUT_OF_ORDER = 0.001
"""Largest share of the records of a copy that are out of order."""


LEAST_DISTINCT = 0.5
"""Number of distinct numbers of a copy as a share of those of the other, at least."""


MOST_PAIRS = 1.05
"""Number of distinct pairs of numbers of two copies as a multiple of the distinct
numbers, at most."""


LEAST_KNOWN = 0.5
"""Share of the records in which both of two copies are known, at least."""


NEARLY_ONE = 0.02
"""Largest deviation of the coefficient of a term from 1."""


NEARLY_ALWAYS = 0.99
"""Share of the records in which a sum is that of its terms."""


LEAST_TERM = 0.05
"""Share of the records in which each term of a sum is another number than 0, at least.
"""


def monotone_copies(profiles: Sequence[Profile]) -> dict[int, int]:
    """Return the columns of many numbers that are in the order of another one, or in
    its reverse, and that one: the first on the left.

    On 4,096 records first, and then on all.
    """
    many = [k for k, profile in enumerate(profiles) if _has_many_numbers(profile)]
    if len(many) < 2:
        return {}
    step = -(-profiles[0].records // SCREENED)
    numbers = {k: _numbers(profiles[k]) for k in many}
    copies = dict[int, int]()
    for place, k in enumerate(many):
        for first in many[:place]:
            if first in copies:
                continue
            sampled = numbers[first][::step], numbers[k][::step]
            if _is_in_order(*sampled) and _is_in_order(numbers[first], numbers[k]):
                copies[k] = first
                break
    return copies


def recodings(profiles: Sequence[Profile]) -> dict[int, int]:
    """Return the columns whose values follow from the order of many numbers, such as a
    group of incomes from the income, and the column of those.

    Along the numbers such a column changes as often as it has further values.
    """
    followed = dict[int, int]()
    for source, profile in enumerate(profiles):
        if not _has_many_numbers(profile):
            continue
        numbers = _numbers(profile)
        order = np.argsort(numbers, kind="stable")
        order = order[~np.isnan(numbers[order])]
        sampled = order[:: -(-len(order) // SCREENED) or 1]
        for k, other in enumerate(profiles):
            if k == source or k in followed or not 2 <= other.values <= MIN_VALUES:
                continue
            if _changes(other, sampled) >= other.values:
                continue
            if _follows(other, numbers, order):
                followed[k] = source
    return followed


def sums(profiles: Sequence[Profile]) -> dict[int, tuple[int, ...]]:
    """Return the columns of numbers that are the sum of others, and those.

    Least squares on 4,096 records propose the terms, and all records decide.
    """
    added = [k for k, profile in enumerate(profiles) if _may_add(profile)]
    if not 3 <= len(added) <= MAX_ADDED:
        return {}
    numbers = np.array([_numbers(profiles[k]) for k in added])
    complete = np.flatnonzero(~np.isnan(numbers).any(axis=0))
    if len(complete) < max(MIN_RECORDS, 3 * len(added)):
        return {}
    step = -(-len(complete) // SCREENED)
    sampled = numbers[:, complete[::step]]
    products = sampled @ sampled.T
    relations = dict[int, tuple[int, ...]]()
    for place, k in enumerate(added):
        terms = _terms(products, place)
        if len(terms) < 2:
            continue
        total = numbers[terms].sum(axis=0)
        agree = np.isclose(total, numbers[place], rtol=1e-6, atol=1e-9)
        known = ~np.isnan(total) & ~np.isnan(numbers[place])
        if agree.sum() >= NEARLY_ALWAYS * known.sum():
            relations[k] = tuple(added[term] for term in terms)
    return relations


def _has_many_numbers(profile: Profile) -> bool:
    """Return whether a column has so many numbers that relations between them tell
    something.
    """
    return not profile.texts and profile.values > MIN_VALUES


def _may_add(profile: Profile) -> bool:
    """Return whether a column may be related to others as a sum or a term: numbers,
    often enough not 0.
    """
    if profile.texts or profile.values < 2 or profile.present < MIN_RECORDS:
        return False
    is_zero = profile.numbers == 0
    return bool(profile.counts[~is_zero].sum() >= LEAST_TERM * profile.records)


def _numbers(profile: Profile) -> Floats:
    """Return the number of each record of a column whose relations are sought, NaN
    where it is missing.
    """
    by_code = np.append(profile.numbers, np.nan)
    numbers: Floats = by_code[profile.codes]
    return numbers


def _is_in_order(first: Floats, second: Floats) -> bool:
    """Return whether two columns of numbers are in the same order, or in the reverse,
    where both are known.
    """
    known = ~np.isnan(first) & ~np.isnan(second)
    if known.sum() < max(MIN_RECORDS, LEAST_KNOWN * len(known)):
        return False
    left = first[known]
    right = second[known]
    distinct = len(np.unique(left)), len(np.unique(right))
    if min(distinct) < LEAST_DISTINCT * max(distinct):
        return False
    pairs = len(np.unique(np.stack([left, right]), axis=1).T)
    if pairs > MOST_PAIRS * max(distinct):  # equal numbers with different copies
        return False
    return _rises(left, right) or _rises(left, -right)


def _rises(first: Floats, second: Floats) -> bool:
    """Return whether the second of two related columns of numbers does not fall along
    the first, but for a few.
    """
    along = second[np.lexsort((second, first))]
    return bool(np.mean(np.diff(along) < 0) <= OUT_OF_ORDER)


def _changes(profile: Profile, order: Integers) -> int:
    """Return how often a column changes along the order of another one's numbers,
    missing values left out.
    """
    along = profile.codes[order]
    values = along[along < profile.values]
    return int(np.count_nonzero(values[1:] != values[:-1]))


def _follows(other: Profile, numbers: Floats, order: Integers) -> bool:
    """Return whether a column follows from another one's numbers: it changes between
    these only, and once per further value.
    """
    if other.counts.min() < MIN_RECORDS or _changes(other, order) != other.values - 1:
        return False
    kept = order[other.codes[order] < other.values]
    values = other.codes[kept]
    last = np.flatnonzero(values[1:] != values[:-1])
    return bool((numbers[kept][last + 1] > numbers[kept][last]).all())


def _terms(products: Floats, place: int) -> list[int]:
    """Return the columns of which another one may be the sum: least squares give them a
    coefficient of about 1.

    Records that are no sums move the coefficients of all; the records decide.

    Parameters
    ----------
    products
        The inner products of all columns.
    place
        The index of the column.
    """
    others = np.delete(np.arange(len(products)), place)
    norms = np.sqrt(np.diagonal(products))[others]
    norms[norms == 0] = 1.0  # 0 in all records of the sample
    if not np.isfinite(products).all():
        return []
    scaled = products[np.ix_(others, others)] / np.outer(norms, norms)
    target = products[others, place] / norms
    coefficients = np.linalg.lstsq(scaled, target, rcond=1e-10)[0] / norms
    is_one = np.abs(coefficients - 1) < NEARLY_ONE
    return [int(k) for k in others[is_one]]
