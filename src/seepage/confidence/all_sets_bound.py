"""Certified upper bounds on the ratio of kl limits over all likely sets of a large
alphabet.

With U_x(S) and L_x'(S) the kl limits of the masses of S under two rows, the maximum
over S of

    ln (1 + lambda U_x(S)) / (1 + lambda L_x'(S))

is not attained by a prefix in the order of the likelihood ratio: limits are not linear
in the mass. But U is concave and L convex in the mass, so tangent lines bound the ratio
from above, and with lines it is Dinkelbach's problem, whose optimal S has a closed form
[theory-population: The bound over all sets].  The point of tangency determines how
tight the bound is; the bound is always valid.

All tables of one source are bounded together: most pairs of rows by lines tangent at
one set, in O(m^2 t) without a sort, the others by lines tangent at the best point of
the pair.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from seepage._core.arrays import Booleans, Floats, Integers
from seepage._core.log_ratios import log_ratio
from seepage._core.rounding import UNIT
from seepage.confidence.mean_limits import kl_lower, kl_upper, tangent_lines

TINY = 1e-280
"""Smallest denominator of a ratio."""


TOLERANCE = 1e-3
"""Largest gap in nats between a certified bound and the best set of its table."""


BRACKET_ROUNDS = 3
"""Bracketing steps in the search for the point of tangency of a pair of rows."""


DINKELBACH_ROUNDS = 6
"""Maximum number of Dinkelbach iterations for a ratio of lines."""


KL_ROUNDS = 3
"""Iterations for the kl limits during the bracketing."""


GRID = np.linspace(-1.0, 1.0, 7)
"""Points of each bracket, in units of the previous distance between points."""


MAX_SPLITS = 12
"""Maximum depth of branching: source values decided to be in S or not."""


MAX_BRANCHES = 1 << 10
"""Maximum number of branches per table; beyond it their current bounds are kept."""


BATCH_CELLS = 1 << 16
"""Cells per batch of pairs of rows, so that they fit a core's cache."""


class _Branches(NamedTuple):
    """Branches of the search: pairs of rows, with some source values fixed in S or
    outside S.

    `likelier` and `other` hold the masses of the `free` (undecided) values and 0 for
    the others; `masses` the total masses of the values fixed in S, one column for each
    of the two rows. `some_in` and `some_out` say whether a value is fixed in S and
    outside S: S is neither empty nor all values, whose masses are known without error.
    """

    likelier: Floats
    other: Floats
    free: Booleans
    masses: Floats
    radii: Floats
    some_in: Booleans
    some_out: Booleans
    table: Integers
    bound: Floats

    def select(self, branches: Booleans | Integers) -> "_Branches":
        """Return some of the branches of the search over all sets."""
        return _Branches._make(part[branches] for part in self)

    def split(self) -> "_Branches":
        """Return two branches of sets for each: its heaviest free value in S, and
        outside S.
        """
        branch = np.arange(len(self.bound))
        heaviest = np.where(
            self.free, np.maximum(self.likelier, self.other), -1.0
        ).argmax(axis=1)
        mass = np.stack([row[branch, heaviest] for row in self[:2]], axis=1)
        likelier = self.likelier.copy()
        other = self.other.copy()
        free = self.free.copy()
        likelier[branch, heaviest] = other[branch, heaviest] = 0.0
        free[branch, heaviest] = False
        true = np.ones(len(branch), dtype=np.bool_)
        fixed = self._replace(likelier=likelier, other=other, free=free)
        inside = fixed._replace(masses=self.masses + mass, some_in=true)
        outside = fixed._replace(some_out=true)
        return _Branches._make(
            np.concatenate(both) for both in zip(inside, outside, strict=True)
        )


class _Fractions(NamedTuple):
    """Ratios (top + gains(S))/(bottom + losses(S)): lines in place of the limits U and
    L.
    """

    top: Floats
    gains: Floats
    bottom: Floats
    losses: Floats

    @classmethod
    def tangent(
        cls, masses: Floats, branches: _Branches, contrast: float
    ) -> "_Fractions":
        """Return the bounds over sets by lines tangent at given masses (columns: the
        two rows), or near them.

        With w = e^-contrast a numerator is w + (1 - w) U(S), a denominator w + (1 - w)
        L(S).  Both are rounded outwards by more than the errors of their sums.
        """
        floor = np.exp(-contrast)
        scale = -np.expm1(-contrast)
        above = np.minimum(np.maximum(masses[:, 0], 1e-3 * branches.radii[:, 0]), 1.0)
        below = np.minimum(
            masses[:, 1], np.maximum(1.0 - 1e-3 * branches.radii[:, 1], 0.0)
        )
        constant, slope = tangent_lines(above, below, *branches.radii.T)
        guard = 4 * (branches.likelier.shape[1] + 20) * UNIT * np.array([[1.0], [-1.0]])
        fixed = guard * (floor + scale * (np.abs(constant) + slope)) + floor
        top, bottom = fixed + scale * (constant + slope * branches.masses.T)
        gains, losses = (scale * slope)[:, :, None] * branches[:2]
        return cls(top, gains, bottom, losses)

    def best(self, branches: _Branches, attained: Floats) -> Floats:
        """Return the logarithms of the maxima over all sets S, or `attained` where that
        is larger.

        Dinkelbach's iteration on all branches; the value is a valid bound wherever it
        stops. `seepage.leakage.dinkelbach` knows no constants in the ratio and no
        values fixed in S.
        """
        ratio = np.exp(np.minimum(attained, 600.0))
        for iteration in range(DINKELBACH_ROUNDS + 1):
            excess = self.gains - ratio[:, None] * self.losses
            likely = _best_sets(excess, branches)
            gain = (excess * likely).sum(axis=1) + self.top - ratio * self.bottom
            if iteration == DINKELBACH_ROUNDS or not (gain > 1e-12 * ratio).any():
                break
            ratio = np.maximum(ratio, self.at(likely))
        trivial = ~branches.free.any(axis=1) & ~(branches.some_in & branches.some_out)
        return np.where(trivial, 0.0, _certified(ratio, gain, self.bottom))

    def at(self, likely: Booleans) -> Floats:
        """Return the ratio of each branch at its set S; `likely` has shape (branches,
        t).
        """
        above = self.top + (self.gains * likely).sum(axis=1)
        below = self.bottom + (self.losses * likely).sum(axis=1)
        return np.asarray(above / np.maximum(below, TINY))


def upper_over_all_sets(
    tables: Sequence[Floats], radii: Sequence[Floats], contrast: float
) -> Floats:
    """Return upper bounds over all sets S of ln (1 + lambda U_x(S))/(1 + lambda
    L_x'(S)), x != x'.

    Parameters
    ----------
    tables
        P(source value given target value) of each target, shapes (m, t) with the same
        t.
    radii
        c/n of each row.
    contrast
        The contrast of the report.

    Notes
    -----
    The lines of a pair are tangent at the best point of its Neyman-Pearson curve, along
    which the ratio is unimodal.  Where that point is a mixture of two sets with a ratio
    above that of any set, as heavy source values cause, branch and bound separates the
    sets with the heaviest value from those without.  Branches within `TOLERANCE` of the
    best set of their table are closed.
    """
    bounds = _RowPairs(tables, radii, contrast)
    bounds.use_single_lines()
    return bounds.use_pair_lines()


class _RowPairs:
    """Bounds of all pairs of rows of all tables, whose rows are stacked in one array.

    `bounds` holds a certified upper bound of each pair of rows, row-major by table in
    one flat array, and `attained` the largest ratio of a set of each table.
    """

    def __init__(
        self, tables: Sequence[Floats], radii: Sequence[Floats], contrast: float
    ) -> None:
        """Prepare the bounds over all sets of each pair of rows of each table."""
        self.rows = np.concatenate(tables)
        self.radii = np.concatenate(radii)
        self.contrast = contrast
        self.sizes = np.array([len(table) for table in tables])
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.offsets = np.cumsum(self.sizes**2) - self.sizes**2
        self.table_of_pair = np.repeat(np.arange(len(tables)), self.sizes**2)
        self.bounds = np.full(len(self.table_of_pair), contrast)
        self.attained = np.zeros(len(tables))
        for size, offset in zip(
            self.sizes.tolist(), self.offsets.tolist(), strict=True
        ):
            self.bounds[offset : offset + size**2 : size + 1] = (
                0.0  # of a row with itself
            )

    def use_single_lines(self) -> None:
        """Bound all sets of each pair of rows with lines tangent at one set, which is
        fast.

        The set of a pair is the best one at the ratio that its table has attained so
        far.
        """
        for batch in self._batches(np.flatnonzero(self._loose())):
            branches = self._branches(batch)
            ratio = np.exp(np.minimum(self.attained[branches.table], 600.0))[:, None]
            likely = _best_sets(branches.likelier - ratio * branches.other, branches)
            masses = np.stack(
                [(row * likely).sum(axis=1) for row in branches[:2]], axis=1
            )
            lines = _Fractions.tangent(masses, branches, self.contrast)
            reached = np.minimum(np.log(lines.at(likely)), self.contrast)
            np.maximum.at(self.attained, branches.table, reached)
            bounds = lines.best(branches, self.attained[branches.table])
            self.bounds[batch] = np.minimum(branches.bound, bounds)

    def _branches(self, pairs: Integers) -> _Branches:
        """Return the root branches of the search over all sets of pairs of rows: every
        source value is free.
        """
        table = self.table_of_pair[pairs]
        inside = np.divmod(pairs - self.offsets[table], self.sizes[table])
        first, second = (self.starts[table] + row for row in inside)
        none = np.zeros(len(pairs), dtype=np.bool_)
        count = len(pairs)
        return _Branches(
            likelier=self.rows[first],
            other=self.rows[second],
            free=np.ones((count, self.rows.shape[1]), dtype=np.bool_),
            masses=np.zeros((count, 2)),
            radii=np.stack([self.radii[first], self.radii[second]], axis=1),
            some_in=none,
            some_out=none,
            table=table,
            bound=self.bounds[pairs],
        )

    def _batches(self, indices: Integers) -> Iterator[Integers]:
        """Yield pairs of rows in batches whose bounds over all sets fit in memory."""
        step = max(1, BATCH_CELLS // self.rows.shape[1])
        return (indices[start : start + step] for start in range(0, len(indices), step))

    def _loose(self) -> Booleans:
        """Return which bounds over all sets exceed the ratio attained in their table by
        more than TOLERANCE.
        """
        return self.bounds > (self.attained + TOLERANCE)[self.table_of_pair]

    def use_pair_lines(self) -> Floats:
        """Return the bound over all sets of each table; loose pairs of rows by branch
        and bound.
        """
        loose = self._loose()
        tight = np.maximum.reduceat(np.where(loose, 0.0, self.bounds), self.offsets)
        certified = np.maximum(tight, self.attained)
        for batch in self._batches(np.flatnonzero(loose)):
            _branch_and_bound(
                self._branches(batch), self.contrast, self.attained, certified
            )
        return np.minimum(certified, self.contrast)


def _certified(ratio: Floats, gain: Floats, bottom: Floats) -> Floats:
    """Return the logarithm of an upper bound on the ratio of all sets S.

    At any ratio H the maximum exceeds H by at most the gain, max over S of the
    numerator minus H times the denominator, divided by the smallest denominator.  A
    gain of at most 0 implies that every denominator is positive.
    """
    smallest = np.where(bottom > TINY, bottom, 0.0)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        bound = ratio + np.where(gain > 0, gain / smallest, 0.0)
        return np.log(bound * (1 + 1e-13))


def _branch_and_bound(
    branches: _Branches, contrast: float, attained: Floats, certified: Floats
) -> None:
    """Raise, in place, the bound over all sets and the attained ratio of each table."""
    for depth in range(MAX_SPLITS + 1):
        bound = _bounds(branches, contrast, attained)
        loose = bound > attained[branches.table] + TOLERANCE
        last = depth == MAX_SPLITS or 2 * loose.sum() > MAX_BRANCHES * len(attained)
        closed = slice(None) if last else ~loose
        np.maximum.at(certified, branches.table[closed], bound[closed])
        if last or not loose.any():
            return
        branches = branches._replace(bound=bound).select(loose).split()


def _bounds(branches: _Branches, contrast: float, attained: Floats) -> Floats:
    """Return a bound over all sets of each branch; raise `attained` in place by the
    sets evaluated.
    """
    bound = branches.bound.copy()
    size = branches.likelier.shape[1]
    curve, proper = _curve(branches)
    active = np.arange(len(bound))
    indices = np.tile(np.arange(size + 1.0), (len(bound), 1))
    for iteration in range(BRACKET_ROUNDS):
        current = branches.select(active) if iteration else branches
        above, below = (_interpolate(line, indices) for line in curve)
        high = kl_upper(above, current.radii[:, :1], KL_ROUNDS)
        low = kl_lower(below, current.radii[:, 1:], KL_ROUNDS)
        ratios = log_ratio(high - low, low, contrast)
        if iteration == 0:
            np.maximum.at(
                attained, current.table, np.where(proper, ratios, 0.0).max(axis=1)
            )
        best = ratios.argmax(axis=1)[:, None]
        tangency = np.hstack(
            [np.take_along_axis(mass, best, axis=1) for mass in (above, below)]
        )
        limit = attained[current.table]
        bounds = _Fractions.tangent(tangency, current, contrast).best(current, limit)
        bound[active] = np.minimum(bound[active], bounds)
        loose = bound[active] > limit + TOLERANCE
        if not loose.any():
            break
        width = (indices[:, 1] - indices[:, 0])[loose, None]
        centre = np.take_along_axis(indices, best, axis=1)[loose]
        indices = np.clip(centre + width * GRID, 0.0, size)
        active = active[loose]
        curve = [line[loose] for line in curve]
    return bound


def _curve(branches: _Branches) -> tuple[list[Floats], Booleans]:
    """Return the masses of sets of both rows along the Neyman-Pearson curve, shape
    (branches, t + 1).

    The curve starts at the values fixed in S; free values enter in the order of their
    likelihood ratio.  Also whether each vertex is a set that is neither empty nor all
    values.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(
            branches.likelier > 0, branches.other / branches.likelier, np.inf
        )
    order = np.argsort(ratio, axis=1)

    def along(row: Floats | Booleans) -> Floats:
        """Return a row's cumulative masses of sets along the Neyman-Pearson curve."""
        sums = np.zeros((len(order), row.shape[1] + 1))
        np.cumsum(np.take_along_axis(row, order, axis=1), axis=1, out=sums[:, 1:])
        return sums

    masses = zip(branches[:2], branches.masses.T, strict=True)
    entered = along(branches.free)
    some_in = branches.some_in[:, None] | (entered > 0)
    some_out = branches.some_out[:, None] | (entered < entered[:, -1:])
    return [
        np.minimum(along(row) + mass[:, None], 1.0) for row, mass in masses
    ], some_in & some_out


def _interpolate(curve: Floats, indices: Floats) -> Floats:
    """Return the masses of sets at fractional indices of Neyman-Pearson curves."""
    before = np.minimum(indices.astype(np.int64), curve.shape[1] - 2)
    start = np.take_along_axis(curve, before, axis=1)
    step = np.take_along_axis(curve, before + 1, axis=1) - start
    return np.asarray(start + (indices - before) * step)


def _best_sets(scores: Floats, branches: _Branches) -> Booleans:
    """Return the best set S of each branch: the free values of positive score, neither
    none nor all as a whole.
    """
    likely = scores > 0
    none = ~branches.some_in & ~likely.any(axis=1)
    if none.any():
        best = np.where(branches.free[none], scores[none], -np.inf).argmax(axis=1)
        likely[none, best] = True
    whole = ~branches.some_out & (likely == branches.free).all(axis=1)
    if whole.any():
        worst = np.where(branches.free[whole], scores[whole], np.inf).argmin(axis=1)
        likely[whole, worst] = False
    return likely
