"""The leakage bound for an adversary whose prior knowledge differs from the table's channel.

Every row of the channel may be replaced by any row of an uncertainty set around it: a ball in total
variation, or a box of lower and upper limits of its cells.  With U_x(S) the largest and L_x(S) the
smallest mass of S over the uncertainty set of x, and independent choices for x and x',

    exp(l) = max over x, x', S of (1 + lambda U_x(S)) / (1 + lambda L_x'(S)),  lambda = e^eps - 1,

over S neither empty nor full [theory: An adversary who knows something else].

* ball of radius r: U = min(1, G(S) + r), L = max(0, G(S) - r);
* box [lo, hi]: U = min(hi(S), 1 - lo(not S)), L = max(lo(S), 1 - hi(not S)).

Up to `MAX_ENUMERATED` source values all S are enumerated, and the value is exact.  Beyond, it is an
upper bound: for balls the maximum over fractional S, for boxes the minimum over convex combinations
of the two arguments of each minimum and maximum.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from operator import itemgetter
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import UNIT, Booleans, Floats, Integers, log_ratio, round_up
from seepage.data.channel import as_matrix
from seepage.errors import InputError
from seepage.leakage.leaks import Leakage, named_witness
from seepage.leakage.likely_sets import LikelySets, best_rows, sums_of_gains, two_level_leakage

MAX_ENUMERATED = 12
"""Maximum alphabet size for which all 2^t - 2 sets are enumerated."""

MIXTURES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Weights of the first argument in convex combinations of the arguments of a minimum or maximum."""

BOX_TOLERANCE = 1e-9
"""Tolerance for rounding when checking that a channel is inside its box."""


@dataclass(frozen=True)
class Ball:
    """Rows within a total variation distance of those of a channel."""

    matrix: Floats
    radius: float

    def masses(self, sets: Floats) -> tuple[Floats, Floats]:
        """Return U and L of every row and set; `sets` has one 0-1 column per set."""
        mass = self.matrix @ sets
        return mass + self.radius, mass - self.radius

    def relaxed(self, epsilon: float) -> tuple[float, int, int, Booleans]:
        """Return an upper bound over S, with two rows and an S whose ratio is close to it.

        The largest mass A under x of a fractional S with mass B under x' is a concave function of
        B, the Neyman-Pearson curve.  Between its vertices and the points B = r and A = 1 - r, where
        U and L are clipped, the ratio is quasi-convex, so that its maximum is at one of these.  A
        nonempty S has B >= the smallest cell of x', and an S that is not full has A <= 1 - the
        smallest cell of x: only this range of the curve is searched.
        """
        found = []
        guard = _guard(self.matrix.shape[1])
        for likelier, row in enumerate(self.matrix):
            others = np.delete(np.arange(len(self.matrix)), likelier)
            rest = self.matrix[others]
            order, above, below = _curve(row, rest)
            min_low, max_high = rest.min(axis=1), np.full(len(rest), 1 - row.min())
            points = [
                _at_mass(below, above, mass + guard)
                for mass in (min_low, np.maximum(min_low, self.radius))
            ]
            points += [
                _at_mass(above, below, mass - guard, first=True)[::-1]
                for mass in (max_high, np.minimum(max_high, 1 - self.radius))
            ]
            high = np.column_stack([above[:, 1:-1], *(upper for _, upper in points)])
            low = np.column_stack([below[:, 1:-1], *(lower for lower, _ in points)])
            high = np.minimum(high, max_high[:, None]) + self.radius
            low = np.maximum(low, min_low[:, None]) - self.radius
            ratios = _ratios(high, low, epsilon, guard)
            best = ratios.max(axis=1)
            index = int(best.argmax())
            size = 1 + int(ratios[index, : len(row) - 1].argmax())
            likely = np.isin(np.arange(len(row)), order[index, :size])
            found.append((float(best[index]), likelier, int(others[index]), likely))
        return max(found, key=itemgetter(0))

    def distance(self) -> float:
        """Return an upper bound on the total variation distance of two rows."""
        return _largest_distance(self.matrix, self.matrix) + 2 * self.radius


@dataclass(frozen=True)
class Box:
    """Rows whose cells are within lower and upper limits, each of which some row attains."""

    lower: Floats
    upper: Floats

    @classmethod
    def tightened(cls, lower: Floats, upper: Floats) -> "Box":
        """Return the box with lo >= 1 - sum of the other hi, and hi <= 1 - sum of the other lo."""
        low = np.maximum(lower, 1 - (upper.sum(axis=1, keepdims=True) - upper))
        high = np.minimum(upper, 1 - (lower.sum(axis=1, keepdims=True) - lower))
        return cls(low, np.maximum(low, high))

    def masses(self, sets: Floats) -> tuple[Floats, Floats]:
        """Return U and L of every row and set; `sets` has one 0-1 column per set."""
        low, high = self.lower @ sets, self.upper @ sets
        low_outside, high_outside = self.lower @ (1 - sets), self.upper @ (1 - sets)
        return np.minimum(high, 1 - low_outside), np.maximum(low, 1 - high_outside)

    def relaxed(self, epsilon: float) -> tuple[float, int, int, Booleans]:
        """Return an upper bound over S, with two rows and an S whose ratio is close to it.

        A convex combination of the two arguments of a minimum is at least the minimum, and of a
        maximum at most the maximum; either is a constant plus a sum over S, so that the best S is
        found by sorting.  Every pair of rows is bounded by the minimum over the four corners of the
        grid of weights; the pair with the largest bound is refined to the minimum over the whole
        grid, until the largest bound is a refined one.
        """
        count = len(self.lower)
        bounds = np.full((count, count), -np.inf)
        for likelier in range(count):
            others = np.delete(np.arange(count), likelier)
            bounds[likelier, others] = self._min_bound(likelier, others, epsilon, MIXTURES[::4])
        refined = np.zeros((count, count), dtype=np.bool_)
        while True:
            likelier, other = divmod(int(bounds.argmax()), count)
            if refined[likelier, other]:
                likely = self._near_optimal_set(likelier, other, epsilon)
                return float(bounds[likelier, other]), likelier, other, likely
            pair = np.array([other])
            bounds[likelier, other] = self._min_bound(likelier, pair, epsilon, MIXTURES)[0]
            refined[likelier, other] = True

    def _min_bound(
        self, likelier: int, others: Integers, epsilon: float, weights: Sequence[float]
    ) -> Floats:
        """Return, for each other row, the smallest bound over combinations with these weights."""
        bounds = [
            self._combination_bound(likelier, others, epsilon, *pair)
            for pair in product(weights, weights)
        ]
        return np.asarray(np.minimum.reduce([*bounds, np.full(len(others), epsilon)]))

    def _combination(
        self, likelier: int, others: Integers, high_weight: float, low_weight: float
    ) -> tuple[Floats, Floats]:
        """Return the cells of a row in a combination of U, and of others in one of L."""
        return (
            high_weight * self.upper[likelier] + (1 - high_weight) * self.lower[likelier],
            low_weight * self.lower[others] + (1 - low_weight) * self.upper[others],
        )

    def _combination_bound(
        self, likelier: int, others: Integers, epsilon: float, high_weight: float, low_weight: float
    ) -> Floats:
        """Return the largest log-ratio of a row against others, U and L replaced by combinations.

        U(S) <= w hi(S) + (1 - w) (1 - lo(not S)), and L(S) likewise from below.
        """
        gain, cost = self._combination(likelier, others, high_weight, low_weight)
        high_constant = (1 - high_weight) * max(0.0, 1 - self.lower[likelier].sum())
        low_constant = np.minimum(0.0, 1 - self.upper[others].sum(axis=1))[:, None]
        low_constant = (1 - low_weight) * low_constant
        _, above, below = _curve(gain, cost)
        all_high, all_low = above[:, -1:], below[:, -1:]
        high = np.column_stack([above[:, 1:-1], np.broadcast_to(gain, cost.shape), all_high - gain])
        low = np.column_stack([below[:, 1:-1], cost, all_low - cost])
        guard = _guard(len(gain))
        negative = low_constant < 0
        ratios = _ratios(high + high_constant, low + low_constant, epsilon, guard, signed=negative)
        constant = low_constant[:, 0]
        positive = np.exp(-epsilon) - np.expm1(-epsilon) * (constant - guard) > 0
        return np.where((constant == 0) | positive, ratios.max(axis=1), np.inf)

    def _near_optimal_set(self, likelier: int, other: int, epsilon: float) -> Booleans:
        """Return the best S among the prefixes of all combinations and the singletons."""
        size = self.lower.shape[1]
        prefixes = []
        for weights in product(MIXTURES, MIXTURES):
            gain, cost = self._combination(likelier, np.array([other]), *weights)
            ranks = _curve(gain, cost)[0][0].argsort()
            prefixes.append(ranks[:, None] < np.arange(1, size))
        sets = np.concatenate([*prefixes, np.eye(size, dtype=np.bool_)], axis=1)
        high, low = Box(self.lower[[likelier, other]], self.upper[[likelier, other]]).masses(
            sets.astype(np.float64)
        )
        return np.asarray(sets[:, int(_ratios(high[0], low[1], epsilon, 0.0).argmax())])

    def distance(self) -> float:
        """Return an upper bound on the total variation distance of two rows."""
        return _largest_distance(self.upper, self.lower)


def robust_leakage(
    channel: Any, sets: LikelySets, region: Ball | Box, delta: float = 0.0
) -> Leakage:
    """Return the largest leakage of reports with these likely sets over all uncertain rows.

    Parameters
    ----------
    channel
        G = P(source given target), a `Channel` or a matrix.
    sets
        The likely sets of the report and their contrast.
    region
        The uncertainty set of the rows.
    delta
        The mechanism's relaxation, from which that of the leakage follows.

    Notes
    -----
    Rounded up, at most the contrast, and never below the leakage of the channel itself.  Exact up
    to 12 source values, O(m 2^t), and for singletons; else an upper bound, O(m^2 t log t) for m
    target values.  Beyond 12 source values, likely sets of a given size have the bound of all sets.
    """
    plain = two_level_leakage(channel, sets, delta)
    matrix = as_matrix(channel)
    epsilon, size = sets.contrast, matrix.shape[1]
    if 1 in matrix.shape or (sets.kind == "subsets" and sets.size == size):
        return plain
    if size <= MAX_ENUMERATED or (sets.kind != "all" and sets.size == 1):
        value, first, second, likely = _enumerated(region, sets, size)
    else:
        value, first, second, likely = region.relaxed(epsilon)
    value = min(max(round_up(value, 16), plain.value), epsilon)
    certified = _relaxation(region, value, epsilon, delta)
    if value == 0:
        return Leakage(0.0, None, certified, certified)
    witness = named_witness(channel, first, second, likely, None)
    mass = region.masses(likely[:, None].astype(np.float64))[0][first, 0] if delta else 0.0
    return Leakage(value, witness, certified, max(certified, delta * min(1.0, float(mass))))


def uncertainty_set(channel: Any, radius: Any, uncertainty: Any) -> Ball | Box | None:
    """Return the ball or box around the rows of a channel; None if neither is given."""
    distance = _checks.probability(radius, "radius")
    if uncertainty is not None and distance:
        raise InputError(
            "radius and uncertainty exclude each other: give one of them", parameter="radius"
        )
    if not distance and uncertainty is None:
        return None
    matrix = as_matrix(channel)
    if uncertainty is None:
        return Ball(matrix, distance)
    return Box.tightened(*_limits(matrix, uncertainty))


def _limits(matrix: Floats, uncertainty: Any) -> tuple[Floats, Floats]:
    """Return the lower and upper limits of the cells of a channel."""
    rows, columns = matrix.shape
    limits = _checks.array(uncertainty, "uncertainty")
    if limits.dtype.kind not in "iuf" or not np.all(limits >= 0) or not np.isfinite(limits).all():
        raise InputError(
            "uncertainty must hold finite numbers of at least 0", parameter="uncertainty"
        )
    if limits.shape == (2, rows, columns):
        lower, upper = limits.astype(np.float64)
        inside = (lower <= matrix + BOX_TOLERANCE) & (matrix <= upper + BOX_TOLERANCE)
        if not inside.all():
            row, column = np.argwhere(~inside)[0].tolist()
            raise InputError(
                f"uncertainty must contain the channel, but cell ({row}, {column}) "
                f"= {matrix[row, column]:g} is outside",
                parameter="uncertainty",
            )
        return np.minimum(lower, matrix), np.minimum(np.maximum(upper, matrix), 1.0)
    try:
        half = np.broadcast_to(limits.astype(np.float64), matrix.shape)
    except ValueError:
        raise InputError(
            f"uncertainty must be one half-width, {rows} x {columns} of them, or their lower and "
            f"upper limits (2 x {rows} x {columns}), got shape {limits.shape}",
            parameter="uncertainty",
        ) from None
    return np.maximum(matrix - half, 0.0), np.minimum(matrix + half, 1.0)


def _relaxation(region: Ball | Box, value: float, epsilon: float, delta: float) -> float:
    """Return the delta' of `likely_sets.relaxation` for the worst rows of the uncertainty set."""
    if delta == 0:
        return 0.0
    if epsilon == 0:
        share = region.distance()
    else:
        share = float(np.exp(value - epsilon) * np.expm1(-value) / np.expm1(-epsilon))
    return min(delta, float(np.nextafter(round_up(delta * share, 64), np.inf)))


def every_set(sets: LikelySets, size: int) -> Floats:
    """Return all sets of a family over `size` values as 0-1 rows, complements included."""
    masks, paired = sets.masks(size)
    return np.vstack([masks, 1 - masks[::-1]]) if paired else masks


def _enumerated(
    region: Ball | Box, sets: LikelySets, size: int
) -> tuple[float, int, int, Booleans]:
    """Return the largest log-ratio over two different rows and all sets of `size` values."""
    columns = every_set(sets, size).T
    high, low = region.masses(columns)
    best = best_rows(high + _guard(size), low - _guard(size), sets.contrast)
    index = int(best.ratio.argmax())
    rows = int(best.likelier[index]), int(best.other[index])
    return float(best.ratio[index]), *rows, columns[:, index] > 0


def _curve(row: Floats, others: Floats) -> tuple[Integers, Floats, Floats]:
    """Return the order of sources by row / other, descending, and the cumulative sums of both."""
    with np.errstate(divide="ignore", invalid="ignore"):
        negated = -np.nan_to_num(row / others, nan=0.0, posinf=np.inf)
    order = negated.argsort(axis=1, kind="stable")
    sums = [
        np.pad(np.take_along_axis(part, order, axis=1).cumsum(axis=1), ((0, 0), (1, 0)))
        for part in (np.broadcast_to(row, others.shape), others)
    ]
    return order, sums[0], sums[1]


def _at_mass(x: Floats, y: Floats, mass: Floats, first: bool = False) -> tuple[Floats, Floats]:
    """Return `mass` and the interpolated y of each curve (x, y) at x = mass.

    Where x is constant, that of the first vertex or of the last one.
    """
    size = x.shape[1]
    passed = (x < mass[:, None]) if first else (x <= mass[:, None])
    start = np.clip(passed.sum(axis=1) - 1, 0, size - 2)
    rows = np.arange(len(x))
    step = x[rows, start + 1] - x[rows, start]
    part = np.divide(mass - x[rows, start], step, out=np.ones_like(step), where=step > 0)
    rise = y[rows, start + 1] - y[rows, start]
    return mass, y[rows, start] + np.clip(part, 0.0, 1.0) * rise


def _ratios(high: Floats, low: Floats, epsilon: float, guard: float, signed: Any = False) -> Floats:
    """Return ln (1 + lambda U) / (1 + lambda L), U raised and L lowered by `guard`."""
    high = np.minimum(high + guard, 1.0)
    low = np.where(signed, low - guard, np.maximum(low - guard, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return log_ratio(high - low, low, epsilon)


def _largest_distance(likelier: Floats, other: Floats) -> float:
    """Return the largest sum of max(0, likelier - other) over two different rows."""
    gaps = sums_of_gains(likelier, other)
    np.fill_diagonal(gaps, 0.0)
    return float(gaps.max())


def _guard(terms: int) -> float:
    """Return an upper bound on the rounding error of a sum of so many probabilities."""
    return (2 * terms + 32) * UNIT
