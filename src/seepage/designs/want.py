"""What is to be estimated, frequencies, means and joint tables, and how precise one
report is.

A statistic of an attribute with k values is a matrix B with k columns: its estimate is
B f, and the error that a design minimises is the variance of one report's estimate of B
f, summed over the rows. For frequencies B is the identity.  For the mean of a numeric
answer with scores v it is the row

    sqrt(2) v / (max v - min v),

so that the mean and the frequencies of an answer with two values have the same error,
and below it the identity times sqrt(`RIDGE`), so that frequencies can be estimated too,
with larger errors.
"""

import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import InputError, SeepageWarning
from seepage._core.number_grammar import number_of_text
from seepage._core.wanted_text import MEAN, SCORES, TIMES
from seepage.channel.domain import Attribute, Domain
from seepage.designs.design_options import wanted_statistics
from seepage.tables.interval_scores import integer_midpoints

RIDGE = 1e-4
"""Weight of the frequencies of an answer whose mean is wanted: it costs 0.1 % of the
variance."""


class Wanted(NamedTuple):
    """The statistics that are wanted beside the frequencies of every attribute."""

    joint: list[tuple[int, ...]]
    """The attributes of each joint table that is wanted, at least two, by ascending
    index."""
    scores: dict[int, Floats]
    """The scores of the attributes whose mean is wanted."""
    rows: dict[int, Floats]
    """B of the attributes whose mean is wanted."""


def parse_want(domain: Domain, want: Any) -> Wanted:
    """Return the wanted statistics.

    Parameters
    ----------
    domain
        The attributes.
    want
        Texts: `"mean hours"`, or `"mean hours = 10, 30, 50"` with one score per value,
        and `"ill x income"` for a joint table; names in a tuple are a joint table as
        well.

    Examples
    --------
    >>> hours = Attribute("hours", ("[0, 20)", "[20, 60]"), (0, 20, 60))
    >>> domain = Domain([Attribute("ill", ("no", "yes")), hours])
    >>> wanted = parse_want(domain, ["mean hours", "ill x hours"])
    >>> wanted.joint, {j: scores.tolist() for j, scores in wanted.scores.items()}
    ([(0, 1)], {1: [10.0, 40.0]})
    """
    joint = list[tuple[int, ...]]()
    scores = dict[int, Floats]()
    for statistic in wanted_statistics(want):
        names, numbers = _parsed(domain, statistic)
        indices = sorted({domain.index(name) for name in names})
        if numbers is not None:
            scores[indices[0]] = numbers
        elif len(indices) == len(names) >= 2:
            joint.append(tuple(indices))
        else:
            raise checks.violation(
                "each of want", "different attributes, at least two", statistic
            )
    rows = {j: mean_rows(numbers) for j, numbers in scores.items()}
    return Wanted(joint, scores, rows)


def _parsed(
    domain: Domain, statistic: str | Sequence[str]
) -> tuple[Sequence[str], Floats | None]:
    """Return the attributes of a wanted statistic, and for a mean its scores."""
    if not isinstance(statistic, str):
        return statistic, None
    if not statistic.startswith(MEAN):
        return _names_of_table(domain, statistic), None
    name, sign, numbers = statistic.removeprefix(MEAN).partition(SCORES)
    attribute = domain[name.strip()]
    scores = None
    if sign:
        scores = [number for number in numbers.split(",") if number.strip()]
    return [attribute.name], attribute_scores(attribute, scores, "want")


def _names_of_table(domain: Domain, statistic: str) -> list[str]:
    """Return the attributes of a wanted joint table such as `"ill x income"`.

    The longest name comes first: a name may contain the sign itself.
    """
    parts = statistic.split(TIMES)
    if len(parts) < 2:
        raise checks.violation("each of want", '"mean A" or "A x B"', statistic)
    names = list[str]()
    while parts:
        sizes = range(len(parts), 0, -1)
        size = next((n for n in sizes if TIMES.join(parts[:n]) in domain.names), 1)
        names.append(TIMES.join(parts[:size]))
        parts = parts[size:]
    return names


def attribute_scores(
    attribute: Attribute, scores: Any = None, what: str = "scores"
) -> Floats:
    """Return one number for each value, for a wanted mean: those given, those of the
    attribute, such as the means within intervals, the values as numbers, or midpoints
    of bins.

    Examples
    --------
    >>> attribute_scores(Attribute("rooms", ("1", "2", "3"))).tolist()
    [1.0, 2.0, 3.0]
    """
    name = attribute.name
    stated: Sequence[Any]
    hint = ""
    if scores is None:
        known = _known_scores(attribute)
        if known is not None:
            return known
        stated = attribute.values
        hint = ", which are no numbers themselves"
    else:
        stated = checks.items(scores, what)
    numbers = np.array([_score(number) for number in stated])
    if not np.isfinite(numbers).all() or len(numbers) != attribute.size:
        rule = (
            f"must have one number for each of the {attribute.size} values of {name!r}"
        )
        raise InputError(f"{what} {rule}{hint}", parameter=what)
    if numbers.min() == numbers.max():
        raise InputError(
            f"{what} must have different numbers for {name!r}", parameter=what
        )
    return numbers


def warn_of_midpoints(attribute: Attribute, scores: Floats) -> None:
    """Warn where midpoints of intervals stand for the numbers of a wanted mean.

    A plan of records as they are knows no means within its intervals.
    """
    middles = _known_scores(attribute)
    if middles is None or attribute.scores or not np.array_equal(scores, middles):
        return
    most = float((scores - np.array(attribute.edges[:-1])).max())
    if most > 0:
        warnings.warn(
            f"numbers of {attribute.name!r} count as the midpoints of their intervals, "
            f"which may be off by {most:g}: no interval covers that; give scores, such "
            "as the means within the intervals",
            SeepageWarning,
            stacklevel=3,
        )


def _known_scores(attribute: Attribute) -> Floats | None:
    """Return the scores for a wanted mean that an attribute has, or the midpoints of
    its bins; None if its values must be numbers.
    """
    if attribute.scores:
        return np.array(attribute.scores)
    edges = np.array(attribute.edges)
    if len(edges) != attribute.size + 1 or not np.isfinite(edges).all():
        return None
    of_integers = integer_midpoints(attribute.values, attribute.edges)
    if of_integers is not None:
        return of_integers
    return np.asarray((edges[1:] + edges[:-1]) / 2.0)


def _score(number: Any) -> float:
    """Return a score of a wanted mean, a number or a text that spells one; NaN for
    anything else.
    """
    if isinstance(number, str):
        spelled = number_of_text(number.strip())
        return math.nan if spelled is None else spelled
    try:
        return float(number)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def mean_rows(scores: Floats) -> Floats:
    """Return B of a wanted mean: its scaled scores, and the identity times the root of
    `RIDGE`.
    """
    scaled = math.sqrt(2) * (scores - scores.min()) / np.ptp(scores)
    return np.vstack([scaled, math.sqrt(RIDGE) * np.eye(len(scores))])


def wanted_errors(domain: Domain, want: Any, errors: Floats) -> dict[str, float]:
    """Return the squared error of each wanted statistic, means in their own units.

    Parameters
    ----------
    domain, want
        As in `parse_want`.
    errors
        The errors of all attributes, scaled means where means are wanted, and of all
        joint tables.
    """
    wanted = parse_want(domain, want)
    names = domain.names
    means = {
        f"{MEAN}{names[j]}": float(errors[j]) * float(np.ptp(scores)) ** 2 / 2
        for j, scores in wanted.scores.items()
    }
    tables = [TIMES.join(names[j] for j in table) for table in wanted.joint]
    return means | dict(zip(tables, errors[len(names) :].tolist(), strict=True))
