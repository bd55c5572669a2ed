"""The largest ratio of kl limits over every likely set of a large alphabet, certified.

With U_x(S) and L_x'(S) the kl limits of two rows' masses of S, the maximum over S of

    ln (1 + lambda U_x(S)) / (1 + lambda L_x'(S))

is not that of a prefix in the order of the likelihood ratio: limits are not linear in the mass.
But U is concave and L convex in it, so straight lines that touch them bound the ratio from above,
and with lines it is Dinkelbach's problem, whose S are read off [theory-population: The bound over
all sets].  Where the lines touch decides how tight the bound is, never whether it holds.

All tables of one source are bounded together: most of their pairs of rows by lines that the pairs
of a row share, in O(m^2 t) without a sort, the few others by lines of their own.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from seepage._numerics import UNIT, Booleans, Floats, Integers, log_ratio
from seepage.leakage.deviations import kl_lower, kl_upper, touching_lines
from seepage.leakage.solver import sums_of_gains

TINY = 1e-280
"""The least denominator that a ratio is computed with."""

TOLERANCE = 1e-3
"""How far above the best set found the certified value may stay."""

SHARED_ROUNDS = 4
"""Rounds of lines that the pairs of a row share."""

FEW = 4
"""Pairs of rows of a table that are left to lines of their own without another round."""

ROUNDS = 3
"""Brackets of the search for the point where the lines of a pair touch."""

DINKELBACH_ROUNDS = 6
"""Rounds of Dinkelbach's iteration for the ratio of two lines."""

KL_ROUNDS = 3
"""Iterations for the kl limits on the way there."""

GRID = np.linspace(-1.0, 1.0, 7)
"""Points of each bracket, in units of the distance between the points before."""

MAX_SPLITS = 12

MAX_PARTS = 1 << 10
"""Parts of the search that are looked at together; with more the bounds are left as they are."""

MAX_CELLS = 1 << 16
"""Differences of rows that are computed at once: what a core's cache holds."""


class _Parts(NamedTuple):
    """Parts of the search: two rows, and for some source values whether they are in S.

    `likelier` and `other` hold the masses of the values that are `free`, not decided, and 0 for the
    others; `masses` those of the values in S, one column for each of the two rows.  S is neither
    empty nor all values, whose masses are known.
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

    def select(self, chosen: Booleans | Integers) -> "_Parts":
        return _Parts._make(part[chosen] for part in self)

    def split(self) -> "_Parts":
        """Return both halves of each part: its heaviest value in S, and not in S."""
        every = np.arange(len(self.bound))
        heaviest = np.where(self.free, np.maximum(self.likelier, self.other), -1.0).argmax(axis=1)
        taken = np.stack([row[every, heaviest] for row in self[:2]], axis=1)
        likelier, other, free = self.likelier.copy(), self.other.copy(), self.free.copy()
        likelier[every, heaviest] = other[every, heaviest] = 0.0
        free[every, heaviest] = False
        yes = np.ones(len(every), dtype=np.bool_)
        rest = self._replace(likelier=likelier, other=other, free=free)
        inside = rest._replace(masses=self.masses + taken, some_in=yes)
        outside = rest._replace(some_out=yes)
        return _Parts._make(np.concatenate(both) for both in zip(inside, outside, strict=True))


class _Fractions(NamedTuple):
    """Ratios (top + gains(S))/(bottom + losses(S)) with lines in place of the limits."""

    top: Floats
    gains: Floats
    bottom: Floats
    losses: Floats

    @classmethod
    def touching(cls, masses: Floats, parts: _Parts, contrast: float) -> "_Fractions":
        """Return those of lines that touch at given masses, columns the two rows, or next to them.

        With w = e^-contrast a numerator is w + (1 - w) U(S), a denominator w + (1 - w) L(S).  Both
        are rounded to the safe side by more than the errors of their sums.
        """
        floor, scale = np.exp(-contrast), -np.expm1(-contrast)
        above = np.minimum(np.maximum(masses[:, 0], 1e-3 * parts.radii[:, 0]), 1.0)
        below = np.minimum(masses[:, 1], np.maximum(1.0 - 1e-3 * parts.radii[:, 1], 0.0))
        upper, lower = touching_lines(above, below, *parts.radii.T)
        guard = 4 * (parts.likelier.shape[1] + 20) * UNIT * np.array([[1.0], [-1.0]])
        top, bottom = guard * [floor + scale * (abs(c) + slope) for c, slope in (upper, lower)]
        return cls(
            top + floor + scale * (upper.constant + upper.slope * parts.masses[:, 0]),
            (scale * upper.slope)[:, None] * parts.likelier,
            bottom + floor + scale * (lower.constant + lower.slope * parts.masses[:, 1]),
            (scale * lower.slope)[:, None] * parts.other,
        )

    def best(self, parts: _Parts, attained: Floats) -> Floats:
        """Return the logarithms of the maxima over S, or those attained where they are larger.

        Dinkelbach's iteration on all parts at once; the value is certified wherever it stops.
        """
        ratio = np.exp(np.minimum(attained, 600.0))
        for number in range(DINKELBACH_ROUNDS + 1):
            excess = self.gains - ratio[:, None] * self.losses
            chosen = _best_sets(excess, parts)
            gain = (excess * chosen).sum(axis=1) + self.top - ratio * self.bottom
            if number == DINKELBACH_ROUNDS or not (gain > 1e-12 * ratio).any():
                break
            ratio = np.maximum(ratio, self.at(chosen))
        decided = ~parts.free.any(axis=1) & ~(parts.some_in & parts.some_out)
        return np.where(decided, 0.0, _certified(ratio, gain, self.bottom))

    def at(self, chosen: Booleans) -> Floats:
        """Return the ratios of sets, shape (parts, t)."""
        above = self.top + (self.gains * chosen).sum(axis=1)
        below = self.bottom + (self.losses * chosen).sum(axis=1)
        return np.asarray(above / np.maximum(below, TINY))


def upper_over_all_sets(
    tables: Sequence[Floats], radii: Sequence[Floats], contrast: float
) -> Floats:
    """Return upper limits of ln (1 + lambda U_x(S))/(1 + lambda L_x'(S)) over x != x' and all S.

    Parameters
    ----------
    tables
        The shares of the source values for each value of a target, shapes (m, t), t the same.
    radii
        c/n of each row.
    contrast
        The contrast of the report.

    Notes
    -----
    Lines of a pair touch at the best point of its Neyman-Pearson curve, along which the ratio is
    unimodal.  Where a point between two sets exceeds all sets, as heavy source values make it, the
    search is split into the sets with the heaviest value and those without.  Parts within
    `TOLERANCE` of the best set found in their table are done with.
    """
    search = _RowPairs(tables, radii, contrast)
    search.by_shared_lines()
    return search.by_own_lines()


class _RowPairs:
    """The rows of all tables under each other; what is certified and what is attained of each.

    `bounds` holds a certified value of each two rows of a table, those of all tables in one array.
    """

    def __init__(self, tables: Sequence[Floats], radii: Sequence[Floats], contrast: float) -> None:
        self.rows, self.radii = np.concatenate(tables), np.concatenate(radii)
        self.contrast = contrast
        self.sizes = np.array([len(table) for table in tables])
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.offsets = np.cumsum(self.sizes**2) - self.sizes**2
        self.table = np.repeat(np.arange(len(tables)), self.sizes)
        self.owner = np.repeat(np.arange(len(tables)), self.sizes**2)
        self.bounds = np.full(len(self.owner), contrast)
        self.attained = np.zeros(len(tables))
        every = np.arange(len(self.rows))
        self.bounds[self._place(every, every)] = 0.0

    def _place(self, first: Integers, second: Integers) -> Integers:
        """Return where the bounds of pairs of rows are."""
        table = self.table[first]
        start = self.starts[table]
        inside = (first - start) * self.sizes[table] + second - start
        return np.asarray(self.offsets[table] + inside)

    def by_shared_lines(self) -> None:
        """Bound every two rows by one line above each row and one below it.

        They touch at its mass of the set with the largest gain over any row, or of any over it.
        The pair of rows that gains most in its table, and then all these pairs whose bounds are
        loose, are bounded by lines of their own too.
        """
        every, tables = np.arange(len(self.rows)), np.arange(len(self.sizes))
        alone = self._parts(every, every)
        masses = np.full((len(every), 2), 0.5)
        partners, most = np.zeros((2, len(every)), dtype=np.int64), np.zeros(len(tables), np.int64)
        going = tables
        for number in range(SHARED_ROUNDS):
            lines = _Fractions.touching(masses, alone, self.contrast)
            ratio = np.exp(np.minimum(self.attained, 600.0))[self.table]
            lines = lines._replace(losses=ratio[:, None] * lines.losses)
            for table in going.tolist():
                most[table] = self._share(table, lines, ratio, partners)
            first, second = np.append(every, partners[0]), np.append(partners[1], every)
            own = most
            if number:
                own = np.append(most, np.flatnonzero(self._loose()[self._place(first, second)]))
            for some in self._batches(own):
                self._bound_alone(first[some], second[some], lines)
            going = tables[np.bincount(self.owner[self._loose()], minlength=len(tables)) > FEW]
            if not len(going):
                break
            masses[:, 0] = (self.rows * (lines.gains > lines.losses[partners[1]])).sum(axis=1)
            masses[:, 1] = (self.rows * (lines.gains[partners[0]] > lines.losses)).sum(axis=1)

    def _share(self, table: int, lines: _Fractions, ratio: Floats, partners: Integers) -> int:
        """Bound every two rows of a table by shared lines; enter the largest gains as partners.

        Returns the row that gains most.
        """
        size, start, offset = self.sizes[table], self.starts[table], self.offsets[table]
        top, gains, bottom, losses = (part[start : start + size] for part in lines)
        gain = sums_of_gains(gains, losses) + top[:, None] - ratio[start] * bottom
        np.fill_diagonal(gain, -np.inf)
        bounds = self.bounds[offset : offset + size**2].reshape(size, size)
        np.minimum(bounds, _certified(ratio[start], gain, bottom), out=bounds)
        partners[0, start : start + size] = start + gain.argmax(axis=0)
        partners[1, start : start + size] = start + gain.argmax(axis=1)
        return int(start + gain.argmax() // size)

    def _bound_alone(self, first: Integers, second: Integers, lines: _Fractions) -> None:
        """Bound pairs of rows by lines that touch at the best sets of shared lines."""
        parts = self._parts(first, second)
        chosen = _best_sets(lines.gains[first] - lines.losses[second], parts)
        masses = np.stack([(row * chosen).sum(axis=1) for row in parts[:2]], axis=1)
        lines = _Fractions.touching(masses, parts, self.contrast)
        reached = np.minimum(np.log(lines.at(chosen)), self.contrast)
        np.maximum.at(self.attained, parts.table, reached)
        found = lines.best(parts, self.attained[parts.table])
        np.minimum.at(self.bounds, self._place(first, second), found)

    def _parts(self, first: Integers, second: Integers) -> _Parts:
        """Return the search for pairs of rows over all sets."""
        count = len(first)
        return _Parts(
            self.rows[first],
            self.rows[second],
            np.ones((count, self.rows.shape[1]), dtype=np.bool_),
            np.zeros((count, 2)),
            np.stack([self.radii[first], self.radii[second]], axis=1),
            np.zeros(count, dtype=np.bool_),
            np.zeros(count, dtype=np.bool_),
            self.table[first],
            self.bounds[self._place(first, second)],
        )

    def _batches(self, indices: Integers) -> Iterator[Integers]:
        step = max(1, MAX_CELLS // self.rows.shape[1])
        return (indices[start : start + step] for start in range(0, len(indices), step))

    def _loose(self) -> Booleans:
        """Return which bounds are not within the tolerance of what is attained in their table."""
        return self.bounds > (self.attained + TOLERANCE)[self.owner]

    def by_own_lines(self) -> Floats:
        """Return what is certified, after a search for all pairs whose bounds are loose."""
        loose = self._loose()
        tight = np.maximum.reduceat(np.where(loose, 0.0, self.bounds), self.offsets)
        certified = np.maximum(tight, self.attained)
        for some in self._batches(np.flatnonzero(loose)):
            table = self.owner[some]
            first, second = np.divmod(some - self.offsets[table], self.sizes[table])
            parts = self._parts(self.starts[table] + first, self.starts[table] + second)
            _split(parts, self.contrast, self.attained, certified)
        return np.minimum(certified, self.contrast)


def _certified(ratio: Floats, gain: Floats, bottom: Floats) -> Floats:
    """Return the logarithm of a ratio that no S exceeds.

    At any ratio H the maximum exceeds H by at most the gain, max over S of the numerator minus H
    times the denominator, over the least denominator.  No gain, then every denominator is positive.
    """
    least = np.where(bottom > TINY, bottom, 0.0)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        found = ratio + np.where(gain > 0, gain / least, 0.0)
        return np.log(found * (1 + 1e-13))


def _split(parts: _Parts, contrast: float, attained: Floats, certified: Floats) -> None:
    """Raise what is certified and what is attained of each table by those of the parts."""
    for depth in range(MAX_SPLITS + 1):
        bound = _bounds(parts, contrast, attained)
        wide = bound > attained[parts.table] + TOLERANCE
        last = depth == MAX_SPLITS or 2 * wide.sum() > MAX_PARTS * len(attained)
        done = slice(None) if last else ~wide
        np.maximum.at(certified, parts.table[done], bound[done])
        if last or not wide.any():
            return
        parts = parts._replace(bound=bound).select(wide).split()


def _bounds(parts: _Parts, contrast: float, attained: Floats) -> Floats:
    """Return a certified value for each part; raise what is attained by the sets seen."""
    bound, size = parts.bound.copy(), parts.likelier.shape[1]
    curve, proper = _curve(parts)
    going, indices = np.arange(len(bound)), np.tile(np.arange(size + 1.0), (len(bound), 1))
    for number in range(ROUNDS):
        now = parts.select(going) if number else parts
        above, below = (_along(line, indices) for line in curve)
        high = kl_upper(above, now.radii[:, :1], KL_ROUNDS)
        low = kl_lower(below, now.radii[:, 1:], KL_ROUNDS)
        reached = log_ratio(high - low, low, contrast)
        if number == 0:
            np.maximum.at(attained, now.table, np.where(proper, reached, 0.0).max(axis=1))
        best = reached.argmax(axis=1)[:, None]
        touch = np.hstack([np.take_along_axis(part, best, axis=1) for part in (above, below)])
        limit = attained[now.table]
        found = _Fractions.touching(touch, now, contrast).best(now, limit)
        bound[going] = np.minimum(bound[going], found)
        kept = bound[going] > limit + TOLERANCE
        if not kept.any():
            break
        width = (indices[:, 1] - indices[:, 0])[kept, None]
        centre = np.take_along_axis(indices, best, axis=1)[kept]
        indices = np.clip(centre + width * GRID, 0.0, size)
        going, curve = going[kept], [line[kept] for line in curve]
    return bound


def _curve(parts: _Parts) -> tuple[list[Floats], Booleans]:
    """Return the masses of both rows along the Neyman-Pearson curve, shape (parts, t + 1).

    From the values in S to all that are not excluded; values enter by their ratio.  And whether
    each vertex is a set that is neither empty nor all values.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(parts.likelier > 0, parts.other / parts.likelier, np.inf)
    order = np.argsort(ratio, axis=1)

    def along(row: Floats | Booleans) -> Floats:
        sums = np.zeros((len(order), row.shape[1] + 1))
        np.cumsum(np.take_along_axis(row, order, axis=1), axis=1, out=sums[:, 1:])
        return sums

    masses = zip(parts[:2], parts.masses.T, strict=True)
    entered = along(parts.free)
    some_in = parts.some_in[:, None] | (entered > 0)
    some_out = parts.some_out[:, None] | (entered < entered[:, -1:])
    return [np.minimum(along(row) + mass[:, None], 1.0) for row, mass in masses], some_in & some_out


def _along(curve: Floats, indices: Floats) -> Floats:
    """Return the points of piecewise linear curves at fractional indices."""
    before = np.minimum(indices.astype(np.int64), curve.shape[1] - 2)
    start = np.take_along_axis(curve, before, axis=1)
    step = np.take_along_axis(curve, before + 1, axis=1) - start
    return np.asarray(start + (indices - before) * step)


def _best_sets(scores: Floats, parts: _Parts) -> Booleans:
    """Return the free values of positive score: at least one of all, and not all of them."""
    chosen = scores > 0
    none = ~parts.some_in & ~chosen.any(axis=1)
    if none.any():
        best = np.where(parts.free[none], scores[none], -np.inf).argmax(axis=1)
        chosen[none, best] = True
    whole = ~parts.some_out & (chosen == parts.free).all(axis=1)
    if whole.any():
        worst = np.where(parts.free[whole], scores[whole], np.inf).argmin(axis=1)
        chosen[whole, worst] = False
    return chosen
