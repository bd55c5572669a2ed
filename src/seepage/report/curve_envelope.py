"""Whole curves of leakage against epsilon in a few numbers, never below the exact ones.

With lambda = e^c - 1, c the contrast of a report, the leakage of a pair is ln H for the one H >= 1
with lambda E(H) = H - 1 [theory: The bound].  E, the hockey-stick profile over the likely sets that
a mechanism allows, is a maximum of lines A - H B, so it is convex, and

    leakage(c) = max over its lines of ln (1 + lambda A) / (1 + lambda B).

A few lines therefore say the leakage at every budget.  Where E has many pieces, chords between
points on it take their place: a chord of a convex function lies above it, so what is computed from
chords is never below the exact leakage, and it is refined until it is above by a tolerance only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Booleans, Floats, Integers
from seepage.leakage.likely_sets import LikelySets

Singles: TypeAlias = NDArray[np.float32]

MIN_CONTRAST = 1e-7
"""Where the search begins; E at H = 1 lies above its value there by no more than this."""

MAX_CONTRAST = 700.0
"""Where the search ends: soon after, e^c overflows, and all that saturates has long done so."""

SLACK = 2.0**-22
"""Relative amount by which A is raised and B lowered before both become single precision."""

ROUNDS = 60

SHARES = np.linspace(0.0, 1.0, 12)[:, None]
"""Where between two contrasts, on a logarithmic scale, a chord is compared with its tangents."""


@dataclass(frozen=True)
class Lines:
    """The lines of several pairs, one after the other.

    Parameters
    ----------
    counts
        How many lines each pair has; 0 where nothing leaks.
    values
        A and B of each line, shape (n, 2), in single precision: A rounded up and B down.
    """

    counts: Integers
    values: Singles


def profile_lines(
    channels: Floats,
    sets: LikelySets,
    tolerance: float,
    least: float = MIN_CONTRAST,
    most: float = 12.0,
) -> Lines:
    """Return the lines of a stack of channels for contrasts between two ends.

    Parameters
    ----------
    channels
        P(source given target) of each pair, shape (p, m, t).
    sets
        The kind and size of the likely sets; its contrast is not looked at.
    tolerance
        How far above the exact leakage the lines may lead, in nats.
    least, most
        The contrasts between which the lines are to be that close; beyond they are cautious.

    Notes
    -----
    Each round asks for the exact leakage where two neighbouring tangents cross, for all pairs at
    once: a pair whose E has n pieces is exact after about 2 n questions of O(m^2 t).
    """
    if sets.kind == "singletons":
        return _singleton_lines(channels, most)
    ends = max(least, MIN_CONTRAST), min(most, MAX_CONTRAST)
    pairs, points = _refined(len(channels), _questions(channels, sets), tolerance, *ends)
    return _chords(pairs, points, len(channels))


def without_mixtures(channels: Floats) -> Floats:
    """Return channels without target values whose rows are mixtures of others: they are never best.

    Numerator and denominator of a ratio are linear in the row, so one of the mixed rows does as
    well.  Known are mixtures of rows with a single source value, which rare target values have:
    hundreds of rows become some dozens.  All channels keep as many, the first one repeated.
    """
    seen = channels > 0
    single = seen & (seen.sum(axis=2) == 1)[:, :, None]
    first = single & (single.cumsum(axis=1) == 1)
    mixed = (seen <= single.any(axis=1)[:, None]).all(axis=2)
    kept = ~mixed | first.any(axis=2)
    counts = kept.sum(axis=1)[:, None]
    order = np.argsort(~kept, axis=1, kind="stable")[:, : counts.max()]
    rows = np.where(np.arange(order.shape[1]) < counts, order, order[:, :1])
    return np.take_along_axis(channels, rows[:, :, None], axis=1)


def _singleton_lines(channels: Floats, most: float) -> Lines:
    """Return max_x G[x,u] - H min_x G[x,u] for the source values u that matter, exactly."""
    high, low = channels.max(axis=1), channels.min(axis=1)
    chosen = [_envelope(a, b, most) for a, b in zip(high, low, strict=True)]
    counts = np.array([len(part) for part in chosen], dtype=np.int64)
    pairs = np.repeat(np.arange(len(channels)), counts)
    source = np.concatenate(chosen)
    return Lines(counts, _safe(np.stack([high[pairs, source], low[pairs, source]], axis=1)))


def _envelope(high: Floats, low: Floats, most: float) -> Integers:
    """Return which of the lines high - H low are largest for some H from 1 to e^most."""
    at, kept = 1.0, list[int]()
    left = np.flatnonzero(high > low)
    while len(left):
        heights = high[left] - at * low[left]
        top = heights.max()
        leaders = left[heights >= top - 1e-15]
        leader = int(leaders[low[leaders].argmin()])
        kept.append(leader)
        left = left[low[left] < low[leader]]
        if not len(left):
            break
        crossings = (high[leader] - high[left]) / (low[leader] - low[left])
        at = max(at, float(crossings.min()))
        if np.log(at) > most:
            break
    return np.array(kept, dtype=np.int64)


Question = Callable[[Integers, Floats], Floats]
"""From pairs and a contrast each to rows (contrast, ln H, A, B) of points and tangents of E."""


def _questions(channels: Floats, sets: LikelySets) -> Question:
    """Return what answers for the exact leakage of some pairs and the tangent of E there."""

    def ask(pairs: Integers, contrasts: Floats) -> Floats:
        stack = channels[pairs]
        found = sets.best(stack, contrasts)
        every = np.arange(len(pairs))
        likelier, other = stack[every, found.likelier], stack[every, found.other]
        high = np.where(found.likely, likelier, 0.0).sum(axis=1)
        low = np.where(found.likely, other, 0.0).sum(axis=1)
        return np.stack([contrasts, found.value, high, low], axis=1)

    return ask


def _refined(
    count: int, ask: Question, tolerance: float, least: float, most: float
) -> tuple[Integers, Floats]:
    """Return pairs and points on their E, so many that chords between them are close enough."""
    pairs = np.arange(count)
    left = ask(pairs, np.full(count, least))
    right = ask(pairs, np.full(count, most))
    known = [(pairs, left), (pairs, right)]
    for _ in range(ROUNDS):
        crossings, far = _crossings(left, right, tolerance)
        if not far.any():
            break
        pairs, left, right = pairs[far], left[far], right[far]
        middle = ask(pairs, crossings[far])
        known.append((pairs, middle))
        pairs = np.concatenate([pairs, pairs])
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
    everyone = np.concatenate([part[0] for part in known])
    points = np.concatenate([part[1] for part in known])
    order = np.lexsort([points[:, 0], everyone])
    order = order[points[order, 1] > 0]
    return everyone[order], points[order]


def _crossings(left: Floats, right: Floats, tolerance: float) -> tuple[Floats, Booleans]:
    """Return the contrasts at which neighbouring tangents cross, and where a chord will not do."""
    with np.errstate(all="ignore"):
        ratio = (left[:, 2] - right[:, 2]) / (left[:, 3] - right[:, 3])
        growth = (ratio - 1) / (left[:, 2] - ratio * left[:, 3])
        crossing = np.log1p(growth)
        inside = (crossing > left[:, 0] * (1 + 1e-6)) & (crossing < right[:, 0] * (1 - 1e-6))
        contrasts = left[:, 0] * (right[:, 0] / left[:, 0]) ** SHARES
        asked = np.vstack([contrasts, np.where(inside, crossing, left[:, 0])])
        tangents = np.maximum(
            _leakage(asked, left[:, 2], left[:, 3]), _leakage(asked, right[:, 2], right[:, 3])
        )
        above = _leakage(asked, *_chord(left, right).T) - tangents
    return crossing, inside & (above.max(axis=0) > tolerance)


def _chord(left: Floats, right: Floats) -> Floats:
    """Return A and B of the line through two points of each pair, or of the tangent they share."""
    top, bottom = _height(left), _height(right)
    with np.errstate(all="ignore"):
        apart = np.expm1(right[:, 1] - left[:, 1])
        rise = np.where(apart > 0, np.maximum(0.0, (top - bottom) / apart), 0.0)
    line = np.stack([top + rise, rise * np.exp(-left[:, 1])], axis=1)
    same = (left[:, 2:] == right[:, 2:]).all(axis=1)
    return np.where(same[:, None], left[:, 2:], line)


def _height(points: Floats) -> Floats:
    """Return E(H) = (H - 1)/lambda at each point, of H and lambda that may overflow."""
    contrast, leakage = points[:, 0], points[:, 1]
    return np.asarray(np.exp(leakage - contrast) * np.expm1(-leakage) / np.expm1(-contrast))


def _chords(pairs: Integers, points: Floats, count: int) -> Lines:
    """Return the chords of every pair, with a flat line beyond its last point."""
    last = np.append(pairs[1:] != pairs[:-1], True) if len(pairs) else np.zeros(0, dtype=np.bool_)
    following = np.minimum(np.arange(1, len(pairs) + 1), max(0, len(pairs) - 1))
    flat = np.stack([_height(points), np.zeros(len(points))], axis=1)
    lines = np.where(last[:, None], flat, _chord(points, points[following]))
    lines[:, 0] += MIN_CONTRAST * lines[:, 1]
    return Lines(np.bincount(pairs, minlength=count), _safe(lines))


def _leakage(contrast: Any, high: Any, low: Any) -> Floats:
    """Return ln (1 + lambda A)/(1 + lambda B), of a lambda = e^c - 1 that may overflow.

    Both sides are taken times e^-c; where that vanishes and B is 0, ln lambda A is c + ln A.
    """
    least, rest = np.exp(-contrast), -np.expm1(-contrast)
    with np.errstate(all="ignore"):
        found = np.log1p(rest * (high - low) / (least + rest * low))
        alone = contrast + np.log(least + rest * high)
    return np.asarray(np.where((low == 0) & (contrast > 1), alone, found))


def _safe(lines: Floats) -> Singles:
    """Return lines in single precision, rounded to the safe side; a tiny B becomes 0."""
    high, low = (lines * [1 + SLACK, 1 - SLACK]).T
    low = np.where(low < np.finfo(np.float32).tiny, 0.0, low)
    return np.stack([high, low], axis=1).astype(np.float32)
