"""Integer thresholds of shaped reports, and every limit checked on them in exact arithmetic."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from seepage._numerics import Floats, Integers
from seepage.designs.shaped.admissible_reports import SMALLEST_LIMIT, RatioLimit
from seepage.mechanisms.randomness import CERTAIN, Thresholds, exact_cells, exp_below, largest_ratio

SPARE = 1e-6
"""The share of the neutral report, which takes what rounding leaves."""

MIXING = (0.0, *(10.0**exponent for exponent in range(-9, 0)), 1.0)
"""Shares of the neutral report that each report is mixed with until all limits are kept."""


def whole_thresholds(reports: Floats, shares: Floats, limits: Sequence[RatioLimit]) -> Thresholds:
    """Return integers out of 2^64 near a mixture of reports, which keep every limit exactly.

    Parameters
    ----------
    reports, shares
        Likelihoods w_y, one row per report, and shares theta_y with sum_y theta_y w_y = 1.
    limits
        Checked for every output, the last one included.

    Returns
    -------
    Thresholds
        One row per cell, each summing to 2^64; one column per report, and a last one, close to
        neutral, that takes what the others leave.

    Notes
    -----
    theta_y w_y is rounded down; where a limit is 0, to the nearest point of the lattice of integer
    vectors that tell nothing at all.  Mixed with a share t of the neutral report, the smallest t
    of `MIXING` that keeps all limits; 0 but for solutions that are off by more than the margin.
    """
    closed = [one.counts for one in limits if one.limit < SMALLEST_LIMIT]
    lattice = _lattice(closed) if closed else None
    for mixed in MIXING:
        chances = shares[:, None] * ((1 - SPARE) * ((1 - mixed) * reports + mixed))
        columns = _rounded(chances.T, lattice)
        columns = columns[:, (columns > 0).all(axis=0)]
        rest = CERTAIN - columns.sum(axis=1, keepdims=True)
        thresholds = np.hstack([columns, rest])
        if (rest > 0).all() and keeps_all(thresholds, limits):
            return thresholds
    raise AssertionError("a neutral report keeps every limit")


def keeps_all(thresholds: Thresholds, limits: Sequence[RatioLimit]) -> bool:
    """Say whether the exact ratios of every output are within every limit."""
    return all(realised_ratio(thresholds, one) <= exp_below(one.limit) for one in limits)


def realised_ratio(thresholds: Thresholds, limit: RatioLimit) -> Fraction:
    """Return the largest ratio of what an output tells about a secret, as an exact fraction."""
    return largest_ratio(_scaled_means(thresholds, limit.counts))


def _scaled_means(thresholds: Thresholds, counts: Integers) -> Thresholds:
    """Return the mean thresholds given each value of a secret, times a common denominator."""
    if (np.count_nonzero(counts, axis=1) == 1).all():
        return np.asarray(thresholds[counts.argmax(axis=1)])
    totals = [int(total) for total in counts.sum(axis=1)]
    common = math.lcm(*totals)
    factors = np.array([common // total for total in totals], dtype=object)
    return np.asarray((exact_cells(int, counts) @ thresholds) * factors[:, None])


def _rounded(chances: Floats, lattice: Thresholds | None) -> Thresholds:
    """Return chances out of 2^64 as integers: rounded down, or in a lattice."""
    if lattice is None:
        return exact_cells(int, np.floor(chances * CERTAIN))
    basis = lattice.astype(np.float64)
    places = np.linalg.lstsq(basis, chances * CERTAIN, rcond=None)[0]
    return np.asarray(lattice @ exact_cells(round, places))


def _lattice(counts: Sequence[Integers]) -> Thresholds:
    """Return a short basis, one column each, of the integer vectors w that tell nothing.

    n_x' sum_z n[x, z] w_z = n_x sum_z n[x', z] w_z for the values of all secrets.  The kernel of
    an integer matrix A is found by lattice reduction of [1 | c A'], c large: rows whose last
    entries are 0 are a reduced basis [Lenstra, Lenstra and Lovasz 1982].
    """
    from flint import fmpz_mat

    rows: list[list[int]] = []
    for table in counts:
        totals = [sum(map(int, row)) for row in table]
        first = [int(n) for n in table[0]]
        rows += [
            [int(n) * totals[0] - m * total for n, m in zip(row, first, strict=True)]
            for row, total in zip(table[1:], totals[1:], strict=True)
        ]
    cells = counts[0].shape[1]
    large = 1 << (2 * cells + 64)
    whole = [
        [int(cell == other) for other in range(cells)] + [large * row[cell] for row in rows]
        for cell in range(cells)
    ]
    reduced: Any = fmpz_mat(whole).lll().tolist()
    kept = [[int(n) for n in row[:cells]] for row in reduced if not any(row[cells:])]
    return np.array(kept, dtype=object).T
