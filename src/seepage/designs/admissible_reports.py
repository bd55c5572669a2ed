"""Admissible reports: the cone of likelihood vectors whose leakage is within given limits.

A report is a vector w > 0 of likelihoods over cells.  Its leakage about a secret is a log-ratio of
means of w, so each limit is a set of linear inequalities in w, and the admissible reports form a
polyhedral cone.  A mechanism draws by integer thresholds near a mixture of admissible reports;
every limit is checked on the integers in exact arithmetic.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from seepage import _checks
from seepage._numerics import Booleans, Floats, Integers
from seepage.designs.report_programs import LinearPrograms, padded
from seepage.mechanisms.exact_draws import (
    CERTAIN,
    Thresholds,
    exact_cells,
    exp_below,
    largest_ratio,
)

MARGIN = 1e-8
"""Nats by which limits are lowered during the search: room for rounding to integers."""

MIN_LIMIT = 1e-6
"""A smaller limit in nats is treated as 0: rounding would use up much of it."""

MAX_ENUMERATED = 16
"""Maximum number of cells for which all extreme rays are enumerated: 2^16 likely sets."""

INTERIOR = 0.9
"""Relative distance of initial reports from the neutral report, 1 at the boundary of the cone."""

MAX_LIMIT = 16.0
"""Larger limits in nats are lowered to this one: e^16 is within the range of linear programs."""


class RatioLimit(NamedTuple):
    """One limit on the mean likelihoods of a report given the values of a secret.

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


def answer_limits(
    sources: Sequence[str], sizes: Sequence[int], epsilons: Sequence[float]
) -> list[RatioLimit]:
    """Return the limits of changing one answer: over cells that differ in this answer only."""
    cells = np.arange(math.prod(sizes)).reshape(tuple(sizes))
    unit = np.eye(cells.size, dtype=np.int64)
    return [
        RatioLimit(source, unit[line], epsilon, "answer")
        for axis, (source, epsilon) in enumerate(zip(sources, epsilons, strict=True))
        for line in np.moveaxis(cells, axis, -1).reshape(-1, sizes[axis])
    ]


class AdmissibleReports:
    """The cone of admissible reports, restricted to w . f = 1 at the nominal frequencies f.

    Parameters
    ----------
    limits
        The limits of the leakage.  One of them must bound the ratio of any two cells.
    frequencies
        The nominal frequencies f of the cells; reports are scaled to w . f = 1.
    margin
        Nats by which limits are lowered.
    """

    def __init__(
        self, limits: Sequence[RatioLimit], frequencies: Floats, margin: float = MARGIN
    ) -> None:
        self.limits = [limit for limit in limits if len(limit.counts) > 1]
        self.frequencies = frequencies
        self.cells = len(frequencies)
        self._bounded = [
            (limit.rows, math.exp(min(limit.limit, MAX_LIMIT) - margin))
            for limit in self.limits
            if limit.limit >= MIN_LIMIT
        ]

    @cached_property
    def equalities(self) -> Floats:
        """Rows a with a . w = 0: the differences of the rows of limits that are 0."""
        zero = [limit.rows for limit in self.limits if limit.limit < MIN_LIMIT]
        return np.vstack([np.zeros((0, self.cells)), *(rows[1:] - rows[0] for rows in zero)])

    @cached_property
    def span(self) -> Floats:
        """An orthonormal basis, one column each, of the span of all admissible reports."""
        if not len(self.equalities):
            return np.eye(self.cells)
        _, singular_values, right = np.linalg.svd(self.equalities)
        rank = int((singular_values > 1e-10 * max(1.0, singular_values.max())).sum())
        return np.asarray(right[rank:].T)

    def initial_reports(self) -> Floats:
        """Return reports 1 +- t d for each direction d of the span; their mean is 1.

        t is `INTERIOR` times the largest admissible one: with rows r of a limit l,
        1 + t max r.d <= e^l (1 + t min r.d), and the same for -d.
        """
        directions = self.span @ self.span.T
        directions = directions - directions @ self.frequencies[:, None]
        directions = directions[np.abs(directions).max(axis=1) > 1e-9]
        lengths = np.full(len(directions), np.inf)
        for rows, ratio in self._bounded:
            means = directions @ rows.T
            high, low = means.max(axis=1), means.min(axis=1)
            with np.errstate(divide="ignore"):
                lengths = np.minimum(
                    lengths, (ratio - 1) / np.maximum(high - ratio * low, ratio * high - low)
                )
        steps = INTERIOR * lengths[:, None] * directions
        return np.vstack([1 + steps, 1 - steps])

    def admits(self, reports: Floats) -> Booleans:
        """Return a mask of the reports that are within all limits."""
        within = np.ones(len(reports), dtype=bool)
        if len(self.equalities):
            within &= np.abs(reports @ self.equalities.T).max(axis=1) < 1e-12
        for rows, ratio in self._bounded:
            means = reports @ rows.T
            within &= means.max(axis=1) <= ratio * means.min(axis=1)
        return within

    # Extreme rays -------------------------------------------------------------------------------

    def extreme_rays(self) -> Floats | None:
        """Return every extreme ray; None if they cannot be enumerated.

        They can for few cells, a record limit, and at most one other limit, on a binary secret.

        Notes
        -----
        Within w_max <= e^eps w_min the extreme rays have two levels.  A binary secret adds two
        half-spaces that are never tight at once, so a new ray lies on an edge of the cone: one
        limit tight, and one cell between the two levels.
        """
        records = [ratio for rows, ratio in self._bounded if _is_identity(rows)]
        others = [(rows, ratio) for rows, ratio in self._bounded if not _is_identity(rows)]
        binary = len(others) <= 1 and all(len(rows) == 2 for rows, _ in others)
        if not (records and binary and self.cells <= MAX_ENUMERATED) or len(self.equalities):
            return None
        largest = min(records)
        if self.cells == 2:
            return self._scaled(_two_cells(largest, others))
        sets = np.arange(1 << self.cells)
        members = (sets[:, None] >> np.arange(self.cells)) & 1
        levels = 1 + (largest - 1) * members
        sizes = members.sum(axis=1)
        proper = (sizes > 0) & (sizes < self.cells)
        sides = [a - ratio * b for rows, ratio in others for a, b in (rows, rows[::-1])]
        values = [levels @ side for side in sides]
        within = proper & np.all([value <= 0 for value in values], axis=0) if values else proper
        rays = [levels[within]]
        for cell in range(self.cells):
            without = sets[(members[:, cell] == 0) & (sizes > 0) & (sizes < self.cells - 1)]
            with_cell = without | 1 << cell
            for value in values:
                crossing = value[without] * value[with_cell] < 0
                low, up = value[without[crossing]], value[with_cell[crossing]]
                edge = levels[without[crossing]]
                edge[:, cell] += (largest - 1) * low / (low - up)
                rays.append(edge)
        return self._scaled(np.vstack(rays))

    def _scaled(self, reports: Floats) -> Floats:
        return np.asarray(reports / (reports @ self.frequencies)[:, None])

    # Linear programs ----------------------------------------------------------------------------

    @cached_property
    def _programs(self) -> LinearPrograms:
        return self._linear_programs(np.zeros((0, self.cells)))

    def _linear_programs(self, cuts: Floats) -> LinearPrograms:
        """Return the constraints on w, cuts a . w <= 0 included.

        A limit of more than two rows has an auxiliary variable, the minimum of its means.
        """
        width = self.cells + sum(len(rows) > 2 for rows, _ in self._bounded)
        blocks, minimum = list[Floats](), self.cells
        for rows, ratio in self._bounded:
            if len(rows) == 2:
                block = padded(rows - ratio * rows[::-1], width)
            else:
                block = padded(np.vstack([rows, -rows]), width)
                block[: len(rows), minimum], block[len(rows) :, minimum] = -ratio, 1.0
                minimum += 1
            blocks.append(block)
        equal = np.vstack([self.frequencies, self.equalities])
        return LinearPrograms(np.vstack([*blocks, padded(cuts, width)]), padded(equal, width))

    def best_report(self, gain: Floats) -> Floats | None:
        """Return an admissible report that maximises gain . w; None if the solver fails."""
        solution = self._programs.maximise(gain / max(np.abs(gain).max(), 1e-300))
        return None if solution is None else self._scaled(solution[None, : self.cells])[0]


def _is_identity(rows: Floats) -> bool:
    """Return whether the secret is the cell itself."""
    return rows.shape[0] == rows.shape[1] and bool((rows == np.eye(len(rows))).all())


def _two_cells(largest: float, others: Iterable[tuple[Floats, float]]) -> Floats:
    """Return the two extreme rays (1, r) of two cells: the smallest and the largest ratio r."""
    low, high = 1 / largest, largest
    for rows, ratio in others:
        for a, b in (rows - ratio * rows[::-1]).tolist():  # a + b r <= 0
            if b > 0:
                high = min(high, -a / b)
            elif b < 0:
                low = max(low, -a / b)
    return np.array([[1.0, low], [1.0, high]])


# Integer thresholds --------------------------------------------------------------------------

NEUTRAL_SHARE = 1e-6
"""Share of the last, almost neutral report, which absorbs the remainders of rounding."""

NEUTRAL_MIXTURES = (0.0, *(10.0**exponent for exponent in range(-9, 0)), 1.0)
"""Shares of the neutral report mixed into each report, tried in order until all limits hold."""


def mixture_thresholds(reports: Floats, shares: Floats, limits: Sequence[RatioLimit]) -> Thresholds:
    """Return integer thresholds out of 2^64 near a mixture of reports, within every limit exactly.

    Parameters
    ----------
    reports, shares
        Likelihoods w_y, one row per report, and shares theta_y with sum_y theta_y w_y = 1.
    limits
        The limits, checked for every output, the last one included.

    Returns
    -------
    Thresholds
        One row per cell, each summing to 2^64; one column per report, and a last, almost neutral
        one with the remainders.

    Notes
    -----
    theta_y w_y is rounded down; for limits of 0, to the nearest point of the lattice of integer
    vectors with leakage exactly 0.  Reports are mixed with a share t of the neutral report, the
    smallest t of `NEUTRAL_MIXTURES` that keeps all limits; 0 unless the solution is off by more
    than the margin.
    """
    zero = [limit.counts for limit in limits if limit.limit < MIN_LIMIT]
    lattice = _zero_leakage_lattice(zero) if zero else None
    for t in NEUTRAL_MIXTURES:
        probabilities = shares[:, None] * ((1 - NEUTRAL_SHARE) * ((1 - t) * reports + t))
        columns = _rounded(probabilities.T, lattice)
        columns = columns[:, (columns > 0).all(axis=0)]
        rest = CERTAIN - columns.sum(axis=1, keepdims=True)
        thresholds = np.hstack([columns, rest])
        within = (realised_ratio(thresholds, limit) <= exp_below(limit.limit) for limit in limits)
        if (rest > 0).all() and all(within):
            return thresholds
    raise AssertionError("a neutral report keeps every limit")


def realised_ratio(thresholds: Thresholds, limit: RatioLimit) -> Fraction:
    """Return the largest likelihood ratio of an output about a secret, as an exact fraction."""
    return largest_ratio(scaled_means(thresholds, limit.counts))


def scaled_means(thresholds: Thresholds, counts: Integers) -> Thresholds:
    """Return the mean thresholds given each value of a secret, times a common denominator.

    One row per value.  Counts are by value and cell, or by value, public values and cell.
    """
    if counts.ndim == 2 and (np.count_nonzero(counts, axis=1) == 1).all():
        return np.asarray(thresholds[counts.argmax(axis=1)])
    totals = [int(row.sum()) for row in counts]
    common = math.lcm(*totals)
    factors = np.array([common // total for total in totals], dtype=object)
    means = (exact_cells(int, counts) @ thresholds).reshape(len(counts), -1)
    return np.asarray(means * factors[:, None])


def _rounded(probabilities: Floats, lattice: Thresholds | None) -> Thresholds:
    """Return probabilities as integers out of 2^64: rounded down, or to a lattice point."""
    if lattice is None:
        return exact_cells(int, np.floor(probabilities * CERTAIN))
    basis = lattice.astype(np.float64)
    coordinates = np.linalg.lstsq(basis, probabilities * CERTAIN, rcond=None)[0]
    return np.asarray(lattice @ exact_cells(round, coordinates))


def _zero_leakage_lattice(counts: Sequence[Integers]) -> Thresholds:
    """Return a reduced basis, one column each, of the integer vectors w with leakage 0.

    n_x' sum_z n[x, z] w_z = n_x sum_z n[x', z] w_z for the values of all secrets.  The kernel of
    an integer matrix A is found by lattice reduction of [1 | c A'], c large: rows whose last
    entries are 0 are a reduced basis [Lenstra, Lenstra and Lovasz 1982].
    """
    _checks.need("flint", "python-flint", "a limit of 0")
    from flint import fmpz_mat

    rows = []
    for table in counts:
        exact = exact_cells(int, table)
        totals = exact.sum(axis=1, keepdims=True)
        rows.append(exact[1:] * totals[0] - exact[0] * totals[1:])
    cells = counts[0].shape[1]
    large = 1 << (2 * cells + 64)
    extended = np.hstack([exact_cells(int, np.eye(cells)), large * np.vstack(rows).T]).tolist()
    reduced: Any = fmpz_mat(extended).lll().tolist()
    kernel = [[int(n) for n in row[:cells]] for row in reduced if not any(row[cells:])]
    return np.array(kernel, dtype=object).T
