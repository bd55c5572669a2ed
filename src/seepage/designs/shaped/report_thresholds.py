"""Integer thresholds of shaped reports near a mixture, with their exact totals."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from seepage._core.arrays import Floats, Integers
from seepage.designs.forms.form_counter import FormCounter
from seepage.designs.shaped.admissible_reports import RatioLimit
from seepage.designs.shaped.least_leakage import least_leakage
from seepage.mechanisms.exact_probabilities import (
    CERTAIN,
    Thresholds,
    exact_cells,
    exp_below,
    largest_ratio,
    log_above,
)

# Integer thresholds -------------------------------------------------------------------

NEUTRAL_SHARE = 1e-6
"""Share of the last, almost neutral report, which absorbs the remainders of
rounding."""


NEUTRAL_MIXTURES = (0.0, *(10.0**exponent for exponent in range(-9, 0)), 1.0)
"""Shares of the neutral report mixed into each report, tried in order until all limits
hold."""


def mixture_thresholds(
    reports: Floats, shares: Floats, limits: Sequence[RatioLimit]
) -> Thresholds:
    """Return integer thresholds out of 2^64 near a mixture of reports, within every
    limit exactly.

    Parameters
    ----------
    reports, shares
        Likelihoods w_y, one row per report, and shares theta_y with sum_y theta_y w_y =
        1.
    limits
        The limits, checked for every output, the last one included.

    Returns
    -------
    Thresholds
        One row per cell, each summing to 2^64; one column per report, and a last,
        almost neutral one with the remainders.

    Notes
    -----
    theta_y w_y is rounded down.  Reports are mixed with a share t of the neutral
    report, the smallest t of `NEUTRAL_MIXTURES` that keeps all limits; 0 unless the
    solution is off by more than the margin.
    """
    for t in NEUTRAL_MIXTURES:
        probabilities = shares[:, None] * (
            (1 - NEUTRAL_SHARE) * ((1 - t) * reports + t)
        )
        columns = exact_cells(int, np.floor(probabilities.T * CERTAIN))
        columns = columns[:, (columns > 0).all(axis=0)]
        rest = CERTAIN - columns.sum(axis=1, keepdims=True)
        thresholds = np.hstack([columns, rest])
        within = (
            realised_ratio(thresholds, limit) <= exp_below(limit.limit)
            for limit in limits
        )
        if (rest > 0).all() and all(within):
            return thresholds
    raise AssertionError("a neutral report keeps every limit")


def rounding_changes(thresholds: Thresholds) -> tuple[float, float]:
    """Return by how much rounding to thresholds changes log-likelihood ratios, at most,
    and the largest of the last report.

    A threshold K is at most 1 above its value before, which changes its logarithm by at
    most 1/K; the last report is neutral before.
    """
    last = thresholds[:, -1].tolist()
    remainder = math.log(max(last) / min(last)) * (1 + 1e-9) + 1e-15
    smallest = min(int(column.min()) for column in thresholds[:, :-1].T)
    return 1 / smallest + 1e-14, remainder


def realised_ratio(thresholds: Thresholds, limit: RatioLimit) -> Fraction:
    """Return the largest likelihood ratio of an output's thresholds about a secret, as
    an exact fraction.
    """
    return largest_ratio(scaled_means(thresholds, limit.counts))


def report_totals(
    counter: FormCounter, sources: Iterable[str], thresholds: Thresholds
) -> list[float]:
    """Return the total of a report of integer thresholds about every attribute, asked
    or not, in nats, rounded up.

    In integers; with the public values of the counter beside the report.  A value that
    never occurs has no distribution of the other answers: the total about an answer
    with such values is at least what its report leaks under every distribution.
    """
    asked = [counter.records.domain.index(name) for name in sources]
    table = counter.exact_counts(asked)
    sizes = counter.sizes.tolist()
    totals = list[float]()
    for index, start in enumerate(counter.starts.tolist()):
        counts = table.counts[:, :, start : start + sizes[index]].transpose(2, 0, 1)
        occurs = counts.any(axis=(1, 2))
        means = scaled_means(thresholds, counts[occurs])
        total = _log_ratio_above(means)
        if index in asked and not occurs.all():
            least = least_leakage(thresholds, table.sizes, asked.index(index))
            total = max(total, least)
        totals.append(total)
    return totals


def _log_ratio_above(means: Thresholds) -> float:
    """Return the largest log-ratio of two rows of thresholds, rounded up; infinite for
    one of a zero.
    """
    impossible = (means.max(axis=0) > 0) & (means.min(axis=0) == 0)
    if impossible.any():
        return math.inf
    return log_above(largest_ratio(means))


def scaled_means(thresholds: Thresholds, counts: Integers) -> Thresholds:
    """Return the mean thresholds given each value of a secret, times a common
    denominator.

    One row per value.  Counts are by value and cell, or by value, public values and
    cell.
    """
    if counts.ndim == 2 and (np.count_nonzero(counts, axis=1) == 1).all():
        return np.asarray(thresholds[counts.argmax(axis=1)])
    totals = [int(row.sum()) for row in counts]
    common = math.lcm(*totals)
    factors = np.array([common // total for total in totals], dtype=object)
    means = (exact_cells(int, counts) @ thresholds).reshape(len(counts), -1)
    return np.asarray(means * factors[:, None])
