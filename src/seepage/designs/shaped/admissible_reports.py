"""Admissible reports: likelihood vectors within limits on what they tell, and the best of them.

A report is a vector w > 0 of likelihoods over cells.  What it tells about a secret is a ratio of
means of w, so each limit is linear in w, and the admissible reports form a polyhedral cone.  What
is drawn are integers near a mixture of them, every limit checked on these in exact arithmetic.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from seepage._numerics import Booleans, Floats, Integers
from seepage.designs.shaped.report_programs import LinearPrograms
from seepage.errors import InputError
from seepage.mechanisms.exact_probabilities import (
    CERTAIN,
    Thresholds,
    exact_cells,
    exp_below,
    largest_ratio,
)

MARGIN = 1e-8
"""Limits are lowered by this while reports are chosen, for what rounding takes."""

MIN_LIMIT = 1e-6
"""A smaller limit is taken as 0: rounding would take a good part of it."""

MAX_ENUMERATED = 16
"""Cells up to which all extreme rays are enumerated: 2^16 sets."""

INTERIOR = 0.9
"""First reports lie this far on the way from the neutral report to the boundary."""

MAX_LIMIT = 16.0
"""Larger limits are kept as this one: e^16 is what linear programs can take."""


class RatioLimit(NamedTuple):
    """One limit: the mean likelihoods of a report given the values of a secret.

    With n[x, z] the counts, P(z | x) . w <= e^limit P(z | x') . w for all values x, x' that occur.
    """

    name: str
    counts: Integers
    """One row per value x of the secret, one column per cell z; each row has a positive sum."""
    limit: float
    kind: str = "target"
    """`"target"`, `"answer"`, `"record"` or `"known"`."""

    @property
    def rows(self) -> Floats:
        """P(z | x)."""
        return np.asarray(self.counts / self.counts.sum(axis=1, keepdims=True))


class AdmissibleReports:
    """The cone of admissible reports, cut at those whose chance at the nominal frequencies is 1.

    Parameters
    ----------
    limits
        What a report may tell.  One of them must bound all cells against each other.
    frequencies
        The nominal frequencies f of the cells; reports are scaled to w . f = 1.
    margin
        By how much limits are lowered.
    """

    def __init__(
        self, limits: Sequence[RatioLimit], frequencies: Floats, margin: float = MARGIN
    ) -> None:
        self.limits = [one for one in limits if len(one.counts) > 1]
        self.frequencies = frequencies
        self.cells = len(frequencies)
        self._bounded = [
            (one.rows, math.exp(min(one.limit, MAX_LIMIT) - margin))
            for one in self.limits
            if one.limit >= MIN_LIMIT
        ]

    @cached_property
    def equalities(self) -> Floats:
        """Rows a with a . w = 0: the differences of the rows of limits that are 0."""
        closed = [one.rows for one in self.limits if one.limit < MIN_LIMIT]
        return np.vstack([np.zeros((0, self.cells)), *(rows[1:] - rows[0] for rows in closed)])

    @cached_property
    def span(self) -> Floats:
        """An orthonormal basis, one column each, of the span of all admissible reports."""
        if not len(self.equalities):
            return np.eye(self.cells)
        _, sizes, right = np.linalg.svd(self.equalities)
        rank = int((sizes > 1e-10 * max(1.0, sizes.max())).sum())
        return np.asarray(right[rank:].T)

    def first(self) -> Floats:
        """Return reports 1 +- t d for each direction d of the span; equal shares sum to 1.

        t is a share of the largest that is admissible: with rows r of a limit l,
        1 + t max r.d <= e^l (1 + t min r.d), and so for -d.
        """
        directions = self.span @ self.span.T
        directions = directions - directions @ self.frequencies[:, None]
        directions = directions[np.abs(directions).max(axis=1) > 1e-9]
        reach = np.full(len(directions), np.inf)
        for rows, most in self._bounded:
            along = directions @ rows.T
            high, low = along.max(axis=1), along.min(axis=1)
            with np.errstate(divide="ignore"):
                reach = np.minimum(
                    reach, (most - 1) / np.maximum(high - most * low, most * high - low)
                )
        moves = INTERIOR * reach[:, None] * directions
        return np.vstack([1 + moves, 1 - moves])

    def admits(self, reports: Floats) -> Booleans:
        """Return which reports are within all limits."""
        within = np.ones(len(reports), dtype=bool)
        if len(self.equalities):
            within &= np.abs(reports @ self.equalities.T).max(axis=1) < 1e-12
        for rows, most in self._bounded:
            means = reports @ rows.T
            within &= means.max(axis=1) <= most * means.min(axis=1)
        return within

    # Extreme rays -------------------------------------------------------------------------------

    @property
    def enumerable(self) -> bool:
        """Whether all extreme rays are enumerated: one binary secret besides the record."""
        return self.cells <= MAX_ENUMERATED and self._record_and_pair() is not None

    def _record_and_pair(self) -> tuple[float, list[tuple[Floats, float]]] | None:
        records = [most for rows, most in self._bounded if _is_whole(rows)]
        others = [(rows, most) for rows, most in self._bounded if not _is_whole(rows)]
        fits = records and not len(self.equalities) and len(others) <= 1
        if not fits or any(len(rows) > 2 for rows, _ in others):
            return None
        return min(records), others

    def extreme_rays(self) -> Floats:
        """Return every extreme ray, where `enumerable`.

        Notes
        -----
        Within w_max <= e^eps w_min the extreme rays have two levels.  A binary secret adds two
        half-spaces that are never tight at once, so a new ray lies on an edge of the cone: one
        limit tight, and one cell between the two levels.
        """
        found = self._record_and_pair()
        if found is None:
            raise InputError("extreme rays are enumerated for one binary secret at most")
        largest, others = found
        if self.cells == 2:
            return self._scaled(_two_cells(largest, others))
        sets = np.arange(1 << self.cells)
        high = (sets[:, None] >> np.arange(self.cells)) & 1
        levels = 1 + (largest - 1) * high
        sizes = high.sum(axis=1)
        proper = (sizes > 0) & (sizes < self.cells)
        sides = [a - most * b for rows, most in others for a, b in (rows, rows[::-1])]
        values = [levels @ side for side in sides]
        within = proper & np.all([value <= 0 for value in values], axis=0) if values else proper
        rays = [levels[within]]
        for cell in range(self.cells):
            below = sets[(high[:, cell] == 0) & (sizes > 0) & (sizes < self.cells - 1)]
            above = below | 1 << cell
            for value in values:
                crossing = value[below] * value[above] < 0
                low, up = value[below[crossing]], value[above[crossing]]
                edge = levels[below[crossing]]
                edge[:, cell] += (largest - 1) * low / (low - up)
                rays.append(edge)
        return self._scaled(np.vstack(rays))

    def _scaled(self, reports: Floats) -> Floats:
        return np.asarray(reports / (reports @ self.frequencies)[:, None])

    # Linear programs ----------------------------------------------------------------------------

    @cached_property
    def _programs(self) -> LinearPrograms:
        """The constraints of `largest`: rows in w and one lowest mean for each longer limit."""
        longer = [index for index, (rows, _) in enumerate(self._bounded) if len(rows) > 2]
        width = self.cells + len(longer)
        blocks = [np.zeros((0, width))]
        for index, (rows, most) in enumerate(self._bounded):
            wide = np.zeros((2 * len(rows), width))
            if len(rows) == 2:
                wide = wide[:2]
                wide[:, : self.cells] = rows - most * rows[::-1]
            else:
                wide[:, : self.cells] = np.vstack([rows, -rows])
                lowest = self.cells + longer.index(index)
                wide[: len(rows), lowest], wide[len(rows) :, lowest] = -most, 1.0
            blocks.append(wide)
        equal = np.zeros((1 + len(self.equalities), width))
        equal[0, : self.cells] = self.frequencies
        equal[1:, : self.cells] = self.equalities
        return LinearPrograms(np.vstack(blocks), equal)

    def largest(self, gain: Floats) -> Floats | None:
        """Return an admissible report that maximises gain . w; None where the solver fails."""
        found = self._programs.largest(gain / max(np.abs(gain).max(), 1e-300))
        return None if found is None else self._scaled(found[None, : self.cells])[0]


def _is_whole(rows: Floats) -> bool:
    return rows.shape[0] == rows.shape[1] and bool((rows == np.eye(len(rows))).all())


def _two_cells(largest: float, others: Iterable[tuple[Floats, float]]) -> Floats:
    """Return the two extreme rays (1, r) of two cells: the smallest and the largest ratio."""
    least, most = 1 / largest, largest
    for rows, limit in others:
        for a, b in (rows - limit * rows[::-1]).tolist():  # a + b r <= 0
            if b > 0:
                most = min(most, -a / b)
            elif b < 0:
                least = max(least, -a / b)
    return np.array([[1.0, least], [1.0, most]])


# Integers that are drawn --------------------------------------------------------------------------

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
    closed = [one.counts for one in limits if one.limit < MIN_LIMIT]
    lattice = _lattice(closed) if closed else None
    for mixed in MIXING:
        chances = shares[:, None] * ((1 - SPARE) * ((1 - mixed) * reports + mixed))
        columns = _rounded(chances.T, lattice)
        columns = columns[:, (columns > 0).all(axis=0)]
        rest = CERTAIN - columns.sum(axis=1, keepdims=True)
        thresholds = np.hstack([columns, rest])
        within = (realised_ratio(thresholds, one) <= exp_below(one.limit) for one in limits)
        if (rest > 0).all() and all(within):
            return thresholds
    raise AssertionError("a neutral report keeps every limit")


def realised_ratio(thresholds: Thresholds, limit: RatioLimit) -> Fraction:
    """Return the largest ratio of what an output tells about a secret, as an exact fraction."""
    return largest_ratio(scaled_means(thresholds, limit.counts))


def scaled_means(thresholds: Thresholds, counts: Integers) -> Thresholds:
    """Return the mean thresholds given each value of a secret, times a common denominator.

    One row per value; counts by value and cell, or by value, what is seen besides, and cell.
    """
    if counts.ndim == 2 and (np.count_nonzero(counts, axis=1) == 1).all():
        return np.asarray(thresholds[counts.argmax(axis=1)])
    totals = [int(row.sum()) for row in counts]
    common = math.lcm(*totals)
    factors = np.array([common // total for total in totals], dtype=object)
    means = (exact_cells(int, counts) @ thresholds).reshape(len(counts), -1)
    return np.asarray(means * factors[:, None])


def _rounded(chances: Floats, lattice: Thresholds | None) -> Thresholds:
    """Return chances out of 2^64 as integers: rounded down, or in a lattice."""
    if lattice is None:
        return exact_cells(int, np.floor(chances * CERTAIN))
    basis = lattice.astype(np.float64)
    indices = np.linalg.lstsq(basis, chances * CERTAIN, rcond=None)[0]
    return np.asarray(lattice @ exact_cells(round, indices))


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
