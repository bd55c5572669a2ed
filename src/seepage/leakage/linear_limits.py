"""The largest ratio of kl limits over every likely set of a large alphabet, certified.

With U_x(S) and L_x'(S) the kl limits of two rows' masses of S, the maximum over S of

    ln (1 + lambda U_x(S)) / (1 + lambda L_x'(S))

is not that of a prefix in the order of the likelihood ratio: limits are not linear in the mass.
But U is concave and L convex in it, so straight lines that touch them bound the ratio from above,
and with lines it is Dinkelbach's problem, whose S are read off [theory-population: The bound over
all sets].  Where the lines touch decides how tight the bound is, never whether it holds.
"""

from typing import NamedTuple

import numpy as np

from seepage._numerics import Booleans, Floats, Integers, log_ratio
from seepage.leakage.deviations import kl_lower, kl_upper, lower_lines, upper_lines

TINY = 1e-280
"""The least denominator that a ratio is computed with."""

TOLERANCE = 1e-3
"""How far above the best set found the certified value may stay."""

ROUNDS = 3
"""Brackets of the search for the point where the lines touch."""

GRID = np.linspace(-1.0, 1.0, 7)
"""Points of each bracket, in units of the distance between the points before."""

MOST_SPLITS = 12

MOST_PARTS = 1 << 10
"""Parts of the search that are looked at together; with more the bounds are left as they are."""


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


def row_pairs(count: int) -> tuple[Integers, Integers]:
    """Return all ordered pairs of different rows."""
    first, second = np.nonzero(~np.eye(count, dtype=np.bool_))
    return first, second


def upper_over_all_sets(rows: Floats, radii: Floats, contrast: float) -> float:
    """Return an upper limit of ln (1 + lambda U_x(S))/(1 + lambda L_x'(S)) over x != x' and all S.

    Parameters
    ----------
    rows
        The shares of the source values for each target value, shape (m, t).
    radii
        c/n of each row.
    contrast
        The contrast of the report.

    Notes
    -----
    Lines touch at the best point of the Neyman-Pearson curve, along which the ratio is unimodal.
    Where a point between two sets exceeds all sets, as heavy source values make it, the search is
    split into the sets with the heaviest value and those without.  Parts within `TOLERANCE` of the
    best set found are done with.
    """
    first, second = row_pairs(len(rows))
    nothing = np.zeros(len(first), dtype=np.bool_)
    parts = _Parts(
        rows[first],
        rows[second],
        np.ones((len(first), rows.shape[1]), dtype=np.bool_),
        np.zeros((len(first), 2)),
        np.stack([radii[first], radii[second]], axis=1),
        nothing,
        nothing,
        np.full(len(first), contrast),
    )
    certified = attained = 0.0
    for depth in range(MOST_SPLITS + 1):
        bound, attained = _bounds(parts, contrast, attained)
        wide = bound > attained + TOLERANCE
        certified = max(certified, float(bound[~wide].max(initial=0.0)))
        if not wide.any() or depth == MOST_SPLITS or 2 * wide.sum() > MOST_PARTS:
            return max(certified, float(bound[wide].max(initial=0.0)))
        parts = parts._replace(bound=bound).select(wide).split()
    return contrast


def _bounds(parts: _Parts, contrast: float, attained: float) -> tuple[Floats, float]:
    """Return a certified value for each part, and the largest ratio of any set seen."""
    bound, size = parts.bound.copy(), parts.likelier.shape[1]
    curve = _curve(parts)
    going, places = np.arange(len(bound)), np.tile(np.arange(size + 1.0), (len(bound), 1))
    for number in range(ROUNDS):
        now = parts.select(going) if number else parts
        above, below = (_along(line, places) for line in curve)
        high = kl_upper(above, now.radii[:, :1], 1 + number)
        low = kl_lower(below, now.radii[:, 1:], 1 + number)
        reached = log_ratio(high - low, low, contrast)
        if number == 0:
            attained = max(attained, _attained(reached, now))
        best = reached.argmax(axis=1)[:, None]
        touch = [np.take_along_axis(part, best, axis=1)[:, 0] for part in (above, below)]
        bound[going] = np.minimum(bound[going], _linear_maximum(now, touch, contrast))
        kept = bound[going] > attained + TOLERANCE
        if not kept.any():
            break
        width = (places[:, 1] - places[:, 0])[kept, None]
        centre = np.take_along_axis(places, best, axis=1)[kept]
        places = np.clip(centre + width * GRID, 0.0, size)
        going, curve = going[kept], [line[kept] for line in curve]
    return bound, attained


def _attained(reached: Floats, parts: _Parts) -> float:
    """Return the largest ratio at a vertex: a set that is neither empty nor all values."""
    first = np.where(parts.some_in, reached[:, 0], 0.0)
    last = np.where(parts.some_out, reached[:, -1], 0.0)
    return max(float(part.max(initial=0.0)) for part in (reached[:, 1:-1], first, last))


def _curve(parts: _Parts) -> list[Floats]:
    """Return the masses of both rows along the Neyman-Pearson curve, shape (parts, t + 1).

    From the values in S to all that are not excluded; values enter by their ratio.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(parts.likelier > 0, parts.other / parts.likelier, np.inf)
    order = np.argsort(ratio, axis=1)
    found = []
    for row, mass in zip((parts.likelier, parts.other), parts.masses.T, strict=True):
        sums = np.zeros((len(order), row.shape[1] + 1))
        np.cumsum(np.take_along_axis(row, order, axis=1), axis=1, out=sums[:, 1:])
        found.append(np.minimum(sums + mass[:, None], 1.0))
    return found


def _along(curve: Floats, places: Floats) -> Floats:
    """Return the points of piecewise linear curves at fractional places."""
    before = np.minimum(places.astype(np.int64), curve.shape[1] - 2)
    start = np.take_along_axis(curve, before, axis=1)
    step = np.take_along_axis(curve, before + 1, axis=1) - start
    return np.asarray(start + (places - before) * step)


def _linear_maximum(parts: _Parts, touch: list[Floats], contrast: float) -> Floats:
    """Return max over S of ln of (w + v U(S))/(w + v L(S)) with lines U and L, w = e^-contrast.

    Dinkelbach's iteration on all parts at once.  At any ratio H the maximum exceeds H by at most
    the gain, max over S of the numerator minus H times the denominator, over the least denominator:
    that is added at the end, so the value is certified wherever the iteration stops.
    """
    floor, scale = np.exp(-contrast), -np.expm1(-contrast)
    radius, radius_below = parts.radii.T
    upper = upper_lines(np.clip(touch[0], 1e-3 * radius, 1.0), radius)
    lower = lower_lines(np.clip(touch[1], 0.0, 1.0 - 1e-3 * radius_below), radius_below)
    top = floor + scale * (upper.constant + upper.slope * parts.masses[:, 0])
    bottom = floor + scale * (lower.constant + lower.slope * parts.masses[:, 1])
    gains = scale * upper.slope[:, None] * parts.likelier
    losses = scale * lower.slope[:, None] * parts.other
    sound = bottom > TINY  # else a ratio may overflow, and the contrast bounds the leakage
    bottom = np.where(sound, bottom, 1.0)
    ratio = np.ones(len(top))
    for _ in range(6):
        chosen = _best_sets(gains - ratio[:, None] * losses, parts)
        found = (top + (gains * chosen).sum(axis=1)) / (bottom + (losses * chosen).sum(axis=1))
        grown = found > ratio * (1 + 1e-13)
        ratio = np.maximum(ratio, found)
        if not grown.any():
            break
    excess = gains - ratio[:, None] * losses
    left = (excess * _best_sets(excess, parts)).sum(axis=1) + top - ratio * bottom
    ratio = ratio + (np.maximum(left, 0.0) + 1e-13 * ratio) / bottom
    value = np.where(sound, np.minimum(np.log(ratio), contrast), contrast)
    decided = ~parts.free.any(axis=1) & ~(parts.some_in & parts.some_out)
    return np.where(decided, 0.0, value)


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
