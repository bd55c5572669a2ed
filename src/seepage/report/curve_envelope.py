"""Piecewise representation of leakage against epsilon, never below the exact curve.

With lambda = e^c - 1, c the contrast of a report, the leakage of a pair is ln H for the one H >= 1
with lambda E(H) = H - 1 [theory: The bound].  E, the hockey-stick profile over the likely sets that
a mechanism allows, is a maximum of lines A - H B, so it is convex, and

    leakage(c) = max over its lines of ln (1 + lambda A) / (1 + lambda B).

So a few lines determine the leakage at every budget.  If E has many pieces, they are replaced by
chords between points on E: a chord of a convex function lies above it, so leakages computed from
chords are never below the exact ones; chords are refined until they exceed them by at most a
tolerance.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Booleans, Floats, Integers
from seepage.leakage.likely_sets import LikelySets

Singles: TypeAlias = NDArray[np.float32]

MIN_CONTRAST = 1e-7
"""Smallest contrast of the search; E at H = 1 exceeds its value there by at most this."""

MAX_CONTRAST = 700.0
"""Largest contrast of the search: e^c overflows soon after; finite leakages are saturated."""

SLACK = 2.0**-22
"""Relative amount by which A is raised and B lowered before rounding to single precision."""

MAX_ROUNDS = 60

SHARES = np.linspace(0.0, 1.0, 12)[:, None]
"""Positions between two contrasts, on a log scale, where chords are compared with tangents."""


def profile_lines(
    channels: Floats,
    sets: LikelySets,
    tolerance: float,
    minimum: float = MIN_CONTRAST,
    maximum: float = 12.0,
) -> list[Singles]:
    """Return the lines of a stack of channels for a range of contrasts.

    For each pair A and B of its lines, shape (n, 2), in single precision: A rounded up and B down;
    no line if nothing leaks.

    Parameters
    ----------
    channels
        P(source given target) of each pair, shape (p, m, t).
    sets
        The kind and size of the likely sets; its contrast is not used.
    tolerance
        Maximum excess over the exact leakage, in nats.
    minimum, maximum
        The contrasts between which the tolerance holds; beyond, the lines are upper bounds.

    Notes
    -----
    Each round evaluates the exact leakage where two neighbouring tangents cross, for all pairs at
    once: a pair whose E has n pieces is exact after about 2 n evaluations of O(m^2 t).
    """
    if sets.kind == "singletons":
        return _singleton_lines(channels, maximum)
    ends = max(minimum, MIN_CONTRAST), min(maximum, MAX_CONTRAST)
    pairs, points = _refined(channels, sets, tolerance, *ends)
    return _chords(pairs, points, len(channels))


def _singleton_lines(channels: Floats, maximum: float) -> list[Singles]:
    """Return the lines max_x G[x,u] - H min_x G[x,u] of the upper envelope over source values u."""
    high, low = channels.max(axis=1), channels.min(axis=1)
    lines = []
    for a, b in zip(high, low, strict=True):
        chosen = _envelope(a, b, maximum)
        lines.append(_safe(np.stack([a[chosen], b[chosen]], axis=1)))
    return lines


def _envelope(high: Floats, low: Floats, maximum: float) -> Integers:
    """Return the indices of the lines high - H low that are largest for some H up to e^maximum."""
    h, kept = 1.0, list[int]()
    remaining = np.flatnonzero(high > low)
    while len(remaining):
        heights = high[remaining] - h * low[remaining]
        top = heights.max()
        largest = remaining[heights >= top - 1e-15]
        current = int(largest[low[largest].argmin()])
        kept.append(current)
        remaining = remaining[low[remaining] < low[current]]
        if not len(remaining):
            break
        crossings = (high[current] - high[remaining]) / (low[current] - low[remaining])
        h = max(h, float(crossings.min()))
        if np.log(h) > maximum:
            break
    return np.array(kept, dtype=np.int64)


def _refined(
    channels: Floats, sets: LikelySets, tolerance: float, minimum: float, maximum: float
) -> tuple[Integers, Floats]:
    """Return pairs and points on their E, refined until all chords are within the tolerance.

    A point is a row (contrast, ln H, A, B): the exact leakage ln H, and the tangent of E there.
    """

    def evaluate(pairs: Integers, contrasts: Floats) -> Floats:
        stack = channels[pairs]
        best = sets.best(stack, contrasts)
        indices = np.arange(len(pairs))
        likelier, other = stack[indices, best.likelier], stack[indices, best.other]
        high = np.where(best.likely, likelier, 0.0).sum(axis=1)
        low = np.where(best.likely, other, 0.0).sum(axis=1)
        return np.stack([contrasts, best.value, high, low], axis=1)

    pairs = np.arange(len(channels))
    left = evaluate(pairs, np.full(len(channels), minimum))
    right = evaluate(pairs, np.full(len(channels), maximum))
    evaluated = [(pairs, left), (pairs, right)]
    for _ in range(MAX_ROUNDS):
        crossings, inexact = _crossings(left, right, tolerance)
        if not inexact.any():
            break
        pairs, left, right = pairs[inexact], left[inexact], right[inexact]
        middle = evaluate(pairs, crossings[inexact])
        evaluated.append((pairs, middle))
        pairs = np.concatenate([pairs, pairs])
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
    all_pairs = np.concatenate([part[0] for part in evaluated])
    points = np.concatenate([part[1] for part in evaluated])
    order = np.lexsort([points[:, 0], all_pairs])
    order = order[points[order, 1] > 0]
    return all_pairs[order], points[order]


def _crossings(left: Floats, right: Floats, tolerance: float) -> tuple[Floats, Booleans]:
    """Return the contrasts at which tangents cross, and which chords exceed the tolerance."""
    with np.errstate(all="ignore"):
        ratio = (left[:, 2] - right[:, 2]) / (left[:, 3] - right[:, 3])
        growth = (ratio - 1) / (left[:, 2] - ratio * left[:, 3])
        crossing = np.log1p(growth)
        inside = (crossing > left[:, 0] * (1 + 1e-6)) & (crossing < right[:, 0] * (1 - 1e-6))
        contrasts = left[:, 0] * (right[:, 0] / left[:, 0]) ** SHARES
        contrasts = np.vstack([contrasts, np.where(inside, crossing, left[:, 0])])
        tangents = np.maximum(
            _leakage(contrasts, left[:, 2], left[:, 3]),
            _leakage(contrasts, right[:, 2], right[:, 3]),
        )
        excess = _leakage(contrasts, *_chord(left, right).T) - tangents
    return crossing, inside & (excess.max(axis=0) > tolerance)


def _chord(left: Floats, right: Floats) -> Floats:
    """Return A and B of the line through two points of each pair, or of their common tangent."""
    top, bottom = _height(left), _height(right)
    with np.errstate(all="ignore"):
        distance = np.expm1(right[:, 1] - left[:, 1])
        slope = np.where(distance > 0, np.maximum(0.0, (top - bottom) / distance), 0.0)
    line = np.stack([top + slope, slope * np.exp(-left[:, 1])], axis=1)
    same = (left[:, 2:] == right[:, 2:]).all(axis=1)
    return np.where(same[:, None], left[:, 2:], line)


def _height(points: Floats) -> Floats:
    """Return E(H) = (H - 1)/lambda at each point, computed without overflow of H and lambda."""
    contrast, leakage = points[:, 0], points[:, 1]
    return np.asarray(np.exp(leakage - contrast) * np.expm1(-leakage) / np.expm1(-contrast))


def _chords(pairs: Integers, points: Floats, count: int) -> list[Singles]:
    """Return the chords of every pair, and a constant line beyond its last point."""
    last = np.append(pairs[1:] != pairs[:-1], True) if len(pairs) else np.zeros(0, dtype=np.bool_)
    following = np.minimum(np.arange(1, len(pairs) + 1), max(0, len(pairs) - 1))
    flat = np.stack([_height(points), np.zeros(len(points))], axis=1)
    lines = np.where(last[:, None], flat, _chord(points, points[following]))
    lines[:, 0] += MIN_CONTRAST * lines[:, 1]
    ends = np.cumsum(np.bincount(pairs, minlength=count))
    return np.split(_safe(lines), ends[:-1])


def _leakage(contrast: Any, high: Any, low: Any) -> Floats:
    """Return ln (1 + lambda A)/(1 + lambda B), computed without overflow of lambda = e^c - 1.

    Numerator and denominator are multiplied by e^-c; if B = 0 and c > 1, the logarithm is
    c + ln(e^-c + (1 - e^-c) A).
    """
    small, rest = np.exp(-contrast), -np.expm1(-contrast)
    with np.errstate(all="ignore"):
        general = np.log1p(rest * (high - low) / (small + rest * low))
        zero_low = contrast + np.log(small + rest * high)
    return np.asarray(np.where((low == 0) & (contrast > 1), zero_low, general))


def _safe(lines: Floats) -> Singles:
    """Return lines in single precision: A rounded up, B down, a subnormal B to 0."""
    high, low = (lines * [1 + SLACK, 1 - SLACK]).T
    low = np.where(low < np.finfo(np.float32).tiny, 0.0, low)
    return np.stack([high, low], axis=1).astype(np.float32)
