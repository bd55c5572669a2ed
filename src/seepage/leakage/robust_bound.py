"""The leakage bound for an adversary whose knowledge differs from the table's channel.

Every row of the channel may be any row of a set around it: a ball in total variation, or a box of
lower and upper limits of its cells.  With U_x(S) the largest and L_x(S) the least mass that a row
of the set of x can give S, and x and x' free of each other,

    exp(l) = max over x, x', S of (1 + lambda U_x(S)) / (1 + lambda L_x'(S)),  lambda = e^eps - 1,

over S neither empty nor full [theory: An adversary who knows something else].

* ball of radius r: U = min(1, G(S) + r), L = max(0, G(S) - r);
* box [lo, hi]: U = min(hi(S), 1 - lo(not S)), L = max(lo(S), 1 - hi(not S)).

Up to `ENUMERATED` source values every S is looked at, and the value is exact.  Beyond that the
value is an upper bound: for balls over fractional S, for boxes the least over mixtures of the two
arguments of each minimum and maximum.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import UNIT, Booleans, Floats, Integers, log_ratio, round_up
from seepage.data.channel import as_matrix, is_sparse
from seepage.errors import InputError
from seepage.leakage.likely_sets import Leakage, LikelySets, named_witness, two_level_leakage
from seepage.leakage.solver import best_rows, sums_of_gains

ENUMERATED = 12
"""Up to so many source values all 2^t - 2 sets are enumerated."""

MIXTURES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Weights of the first argument of a minimum or maximum of boxes."""

BOX_TOLERANCE = 1e-9
"""By so much a channel may be outside the box that is given for it, for rounding."""


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
        """Return an upper bound over S, with rows and an S that come near it.

        The most mass that a fractional S with mass B under x' can have under x is a concave
        function of B, the Neyman-Pearson curve.  Between its vertices and the points B = r and
        A = 1 - r, where U and L change their form, the ratio is quasi-convex, so that it is
        largest at one of these.  An S that is not empty has B >= the least cell of x', one that is
        not full has A <= 1 - the least cell of x: the curve is looked at in between.
        """
        found: tuple[float, int, int, Booleans] | None = None
        guard = _guard(self.matrix.shape[1])
        for likelier, row in enumerate(self.matrix):
            others = np.delete(np.arange(len(self.matrix)), likelier)
            rest = self.matrix[others]
            order, above, below = _curve(row, rest)
            least, most = rest.min(axis=1), np.full(len(rest), 1 - row.min())
            points = [
                _at_mass(below, above, at + guard) for at in (least, np.maximum(least, self.radius))
            ]
            points += [
                _at_mass(above, below, at - guard, first=True)[::-1]
                for at in (most, np.minimum(most, 1 - self.radius))
            ]
            high = np.column_stack([above[:, 1:-1], *(upper for _, upper in points)])
            low = np.column_stack([below[:, 1:-1], *(lower for lower, _ in points)])
            high = np.minimum(high, most[:, None]) + self.radius
            low = np.maximum(low, least[:, None]) - self.radius
            ratios = _ratios(high, low, epsilon, guard)
            best = ratios.max(axis=1)
            index = int(best.argmax())
            if found is None or best[index] > found[0]:
                size = 1 + int(ratios[index, : len(row) - 1].argmax())
                likely = np.zeros(len(row), dtype=np.bool_)
                likely[order[index, :size]] = True
                found = float(best[index]), likelier, int(others[index]), likely
        assert found is not None
        return found

    def distance(self) -> float:
        """Return an upper bound on the total variation distance of two rows."""
        return _furthest(self.matrix, self.matrix) + 2 * self.radius


@dataclass(frozen=True)
class Box:
    """Rows whose cells are within lower and upper limits, tightened: each end can be attained."""

    lower: Floats
    upper: Floats

    @classmethod
    def tightened(cls, lower: Floats, upper: Floats) -> "Box":
        """Return the box with lo >= 1 - the other hi, and hi <= 1 - the other lo."""
        low = np.maximum(lower, 1 - (upper.sum(axis=1, keepdims=True) - upper))
        high = np.minimum(upper, 1 - (lower.sum(axis=1, keepdims=True) - lower))
        return cls(low, np.maximum(low, high))

    def masses(self, sets: Floats) -> tuple[Floats, Floats]:
        """Return U and L of every row and set; `sets` has one 0-1 column per set."""
        low, high = self.lower @ sets, self.upper @ sets
        least, most = self.lower @ (1 - sets), self.upper @ (1 - sets)
        return np.minimum(high, 1 - least), np.maximum(low, 1 - most)

    def relaxed(self, epsilon: float) -> tuple[float, int, int, Booleans]:
        """Return an upper bound over S, with rows and an S that come near it.

        Any mixture of the two arguments of the minimum is at least it, and of the maximum at most
        it; either is a constant plus a sum over S, so that the best S is found by sorting.  All
        pairs of rows have the least over the four corners; those with the largest have the least
        over the whole grid too, until no other can exceed it.
        """
        count = len(self.lower)
        bounds = np.full((count, count), -np.inf)
        for likelier in range(count):
            others = np.delete(np.arange(count), likelier)
            bounds[likelier, others] = self._least(likelier, others, epsilon, MIXTURES[::4])
        refined = np.zeros((count, count), dtype=np.bool_)
        while True:
            likelier, other = divmod(int(bounds.argmax()), count)
            if refined[likelier, other]:
                likely = self._near(likelier, other, epsilon)
                return float(bounds[likelier, other]), likelier, other, likely
            alone = np.array([other])
            bounds[likelier, other] = self._least(likelier, alone, epsilon, MIXTURES)[0]
            refined[likelier, other] = True

    def _least(
        self, likelier: int, others: Integers, epsilon: float, weights: Sequence[float]
    ) -> Floats:
        """Return the least upper bound over mixtures with these weights, for each other row."""
        bounds = [self._mixture(likelier, others, epsilon, *w) for w in product(weights, weights)]
        return np.asarray(np.minimum.reduce([*bounds, np.full(len(others), epsilon)]))

    def _mixture(
        self, likelier: int, others: Integers, epsilon: float, one: float, two: float
    ) -> Floats:
        """Return the largest log-ratio of a row against others under one mixture of each."""
        gain = one * self.upper[likelier] + (1 - one) * self.lower[likelier]
        cost = two * self.lower[others] + (1 - two) * self.upper[others]
        start = (1 - one) * max(0.0, 1 - self.lower[likelier].sum())
        debt = (1 - two) * np.minimum(0.0, 1 - self.upper[others].sum(axis=1))[:, None]
        _, above, below = _curve(gain, cost)
        all_high, all_low = above[:, -1:], below[:, -1:]
        high = np.column_stack([above[:, 1:-1], np.broadcast_to(gain, cost.shape), all_high - gain])
        low = np.column_stack([below[:, 1:-1], cost, all_low - cost])
        guard = _guard(len(gain))
        ratios = _ratios(high + start, low + debt, epsilon, guard, signed=debt < 0)
        positive = np.exp(-epsilon) - np.expm1(-epsilon) * (debt[:, 0] - guard) > 0
        return np.where((debt[:, 0] == 0) | positive, ratios.max(axis=1), np.inf)

    def _near(self, likelier: int, other: int, epsilon: float) -> Booleans:
        """Return the best S among those that the mixtures find for two rows."""
        size = self.lower.shape[1]
        prefixes = []
        for one in MIXTURES:
            gain = one * self.upper[likelier] + (1 - one) * self.lower[likelier]
            for two in MIXTURES:
                cost = two * self.lower[other] + (1 - two) * self.upper[other]
                order = _curve(gain, cost[None])[0][0]
                ranks = np.empty(size, dtype=np.int64)
                ranks[order] = np.arange(size)
                prefixes.append(ranks[:, None] < np.arange(1, size))
        sets = np.concatenate([*prefixes, np.eye(size, dtype=np.bool_)], axis=1)
        high, low = Box(self.lower[[likelier, other]], self.upper[[likelier, other]]).masses(
            sets.astype(np.float64)
        )
        return np.asarray(sets[:, int(_ratios(high[0], low[1], epsilon, 0.0).argmax())])

    def distance(self) -> float:
        """Return an upper bound on the total variation distance of two rows."""
        return _furthest(self.upper, self.lower)


def robust_leakage(
    channel: Any, sets: LikelySets, reach: Ball | Box | None, delta: float = 0.0
) -> Leakage:
    """Return the largest leakage of reports with these likely sets over all rows in reach.

    Parameters
    ----------
    channel
        G = P(source given target), a `Channel` or a matrix.
    sets
        The likely sets of the report and their contrast.
    reach
        The rows that the adversary may believe in; None for those of the channel alone.
    delta
        The mechanism's relaxation, from which that of the leakage follows.

    Notes
    -----
    Rounded up, at most the contrast, and never below the leakage of the channel itself.  Exact up
    to 12 source values, O(m 2^t), and for single likely values; else an upper bound, O(m^2 t log t)
    for m target values.  Beyond 12 source values likely sets of a given size are bounded by all.
    """
    plain = two_level_leakage(channel, sets, delta)
    matrix = as_matrix(channel)
    if reach is None or 1 in matrix.shape:
        return plain
    epsilon, size = sets.contrast, matrix.shape[1]
    one = sets.kind == "singletons" or (sets.kind == "subsets" and sets.size == 1)
    if sets.kind == "subsets" and sets.size == size:
        return plain
    if one or size <= ENUMERATED:
        value, first, second, likely = _enumerated(reach, _choices(sets, size), epsilon)
    else:
        value, first, second, likely = reach.relaxed(epsilon)
    value = min(max(round_up(value, 16), plain.value), epsilon)
    certified = _relaxation(reach, value, epsilon, delta)
    if value == 0:
        return Leakage(0.0, None, certified, certified)
    witness = named_witness(channel, first, second, likely, None)
    mass = reach.masses(likely[:, None].astype(np.float64))[0][first, 0] if delta else 0.0
    return Leakage(value, witness, certified, max(certified, delta * min(1.0, float(mass))))


def reach_of(channel: Any, radius: Any, uncertainty: Any) -> Ball | Box | None:
    """Return the rows within a radius or box around those of a channel; None for no others."""
    size = _checks.probability(radius, "radius")
    if uncertainty is not None and size:
        raise InputError("radius and uncertainty exclude each other: give one of them")
    if not size and uncertainty is None:
        return None
    if is_sparse(channel):
        name = "radius" if uncertainty is None else "uncertainty"
        raise InputError(f"{name} must come with a dense channel, got a sparse one; use toarray()")
    matrix = as_matrix(channel)
    if uncertainty is None:
        return Ball(matrix, size)
    return Box.tightened(*_limits(matrix, uncertainty))


def _limits(matrix: Floats, uncertainty: Any) -> tuple[Floats, Floats]:
    """Return the lower and upper limits of the cells of a channel."""
    rows, columns = matrix.shape
    given = _checks.array(uncertainty, "uncertainty")
    if given.dtype.kind not in "iuf" or not np.all(given >= 0) or not np.isfinite(given).all():
        raise InputError("uncertainty must hold finite numbers of at least 0")
    if given.shape == (2, rows, columns):
        lower, upper = given.astype(np.float64)
        inside = (lower <= matrix + BOX_TOLERANCE) & (matrix <= upper + BOX_TOLERANCE)
        if not inside.all():
            row, column = np.argwhere(~inside)[0].tolist()
            raise InputError(
                f"uncertainty must contain the channel, but cell ({row}, {column}) "
                f"= {matrix[row, column]:g} is outside"
            )
        return np.minimum(lower, matrix), np.minimum(np.maximum(upper, matrix), 1.0)
    try:
        half = np.broadcast_to(given.astype(np.float64), matrix.shape)
    except ValueError:
        raise InputError(
            f"uncertainty must be one half-width, {rows} x {columns} of them, or their lower and "
            f"upper limits (2 x {rows} x {columns}), got shape {given.shape}"
        ) from None
    return np.maximum(matrix - half, 0.0), np.minimum(matrix + half, 1.0)


def _relaxation(reach: Ball | Box, value: float, epsilon: float, delta: float) -> float:
    """Return delta' as `likely_sets.relaxation` does, for every row in reach."""
    if delta == 0:
        return 0.0
    if epsilon == 0:
        share = reach.distance()
    else:
        share = float(np.exp(value - epsilon) * np.expm1(-value) / np.expm1(-epsilon))
    return min(delta, float(np.nextafter(round_up(delta * share, 64), np.inf)))


def _choices(sets: LikelySets, size: int) -> Floats:
    """Return all sets of a family, one 0-1 column each."""
    masks, paired = sets.masks(size)
    return (np.vstack([masks, 1 - masks[::-1]]) if paired else masks).T


def _enumerated(
    reach: Ball | Box, choices: Floats, epsilon: float
) -> tuple[float, int, int, Booleans]:
    """Return the largest log-ratio over two different rows and these sets, one column each."""
    high, low = reach.masses(choices)
    guard = _guard(len(choices))
    found = best_rows(high + guard, low - guard, epsilon)
    index = int(found.ratio.argmax())
    rows = int(found.likelier[index]), int(found.other[index])
    return float(found.ratio[index]), *rows, choices[:, index] > 0


def _curve(row: Floats, others: Floats) -> tuple[Integers, Floats, Floats]:
    """Return the order of sources by row / other, descending, and the running sums of both."""
    with np.errstate(divide="ignore", invalid="ignore"):
        falling = -np.nan_to_num(row / others, nan=0.0, posinf=np.inf)
    order = falling.argsort(axis=1, kind="stable")
    sums = [
        np.pad(np.take_along_axis(part, order, axis=1).cumsum(axis=1), ((0, 0), (1, 0)))
        for part in (np.broadcast_to(row, others.shape), others)
    ]
    return order, sums[0], sums[1]


def _at_mass(
    along: Floats, across: Floats, at: Floats, first: bool = False
) -> tuple[Floats, Floats]:
    """Return `at` and the point of each curve there; the first such, or the last."""
    size = along.shape[1]
    passed = (along < at[:, None]) if first else (along <= at[:, None])
    begin = np.clip(passed.sum(axis=1) - 1, 0, size - 2)
    every = np.arange(len(along))
    step = along[every, begin + 1] - along[every, begin]
    part = np.divide(at - along[every, begin], step, out=np.ones_like(step), where=step > 0)
    rise = across[every, begin + 1] - across[every, begin]
    return at, across[every, begin] + np.clip(part, 0.0, 1.0) * rise


def _ratios(high: Floats, low: Floats, epsilon: float, guard: float, signed: Any = False) -> Floats:
    """Return ln (1 + lambda U) / (1 + lambda L), U and L moved apart by their rounding errors."""
    high = np.minimum(high + guard, 1.0)
    low = np.where(signed, low - guard, np.maximum(low - guard, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return log_ratio(high - low, low, epsilon)


def _furthest(likelier: Floats, other: Floats) -> float:
    """Return the largest sum of max(0, likelier - other) over two different rows."""
    gaps = sums_of_gains(likelier, other)
    np.fill_diagonal(gaps, 0.0)
    return float(gaps.max())


def _guard(terms: int) -> float:
    """Return what rounding can have moved a sum of so many probabilities by."""
    return (2 * terms + 32) * UNIT
