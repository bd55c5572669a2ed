"""Whole curves of leakage against epsilon in a few numbers, never below the exact ones.

With lambda = e^c - 1, c the contrast of a report, the leakage of a pair is ln H for the one H >= 1
with lambda E(H) = H - 1 [THEORY section 3].  E, the hockey-stick profile over the likely sets that
a mechanism allows, is a maximum of lines A - H B, so it is convex, and

    leakage(c) = max over its lines of ln (1 + lambda A) / (1 + lambda B).

A few lines therefore say the leakage at every budget.  Where E has many pieces, chords between
points on it take their place: a chord of a convex function lies above it, so what is computed from
chords is never below the exact leakage, and it is refined until it is above by a tolerance only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from seepage._numerics import Floats, Integers
from seepage.ratios import LikelySets

__all__ = ["Lines", "evaluate", "profile_lines"]

LEAST_CONTRAST = 1e-7
"""Where the search begins; E at H = 1 lies above its value there by no more than this."""

SLACK = 2.0**-22
"""Relative amount by which A is raised and B lowered before both become single precision."""

ROUNDS = 60


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
    values: np.ndarray[tuple[int, int], np.dtype[np.float32]]


def evaluate(lines: Floats, contrast: float) -> float:
    """Return the leakage of one pair's lines at a contrast, at most the contrast itself.

    Examples
    --------
    >>> round(evaluate(np.array([[0.9, 0.2]]), 1.0), 4)
    0.6392
    """
    if not len(lines):
        return 0.0
    ratios = _leakage(np.expm1(contrast), lines[:, 0], lines[:, 1])
    return float(min(contrast, ratios.max()))


def profile_lines(
    channels: Floats,
    sets: LikelySets,
    tolerance: float,
    least: float = LEAST_CONTRAST,
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
        return _singleton_lines(channels, np.exp(most))
    ask = _questions(channels, sets)
    every = np.arange(len(channels))
    known = _Known(tolerance)
    for contrast in (max(least, LEAST_CONTRAST), most):
        known.add(every, ask(every, np.full(len(channels), contrast)))
    for _ in range(ROUNDS):
        pairs, contrasts = known.open_questions()
        if not len(pairs):
            break
        known.add(pairs, ask(pairs, contrasts))
    return known.lines(len(channels), least <= LEAST_CONTRAST)


def _singleton_lines(channels: Floats, steepest: float) -> Lines:
    """Return max_x G[x,u] - H min_x G[x,u] for the source values u that matter, exactly."""
    high, low = channels.max(axis=1), channels.min(axis=1)
    chosen = [_envelope(a, b, steepest) for a, b in zip(high, low, strict=True)]
    values = [np.stack([a[c], b[c]], 1) for a, b, c in zip(high, low, chosen, strict=True)]
    return _packed(values)


def _envelope(high: Floats, low: Floats, steepest: float) -> Integers:
    """Return which of the lines high - H low are largest for some H from 1 to `steepest`."""
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
        if at > steepest:
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


class _Known:
    """What is known of every pair's E: points on it with their tangents, and gaps left between."""

    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance
        self.points: dict[int, list[tuple[float, ...]]] = {}
        self.fresh: set[int] = set()
        self.closed: set[tuple[int, float]] = set()

    def add(self, pairs: Integers, answers: Floats) -> None:
        for pair, answer in zip(pairs.tolist(), answers.tolist(), strict=True):
            if answer[1] > 0:
                self.points.setdefault(pair, []).append(tuple(answer))
                self.fresh.add(pair)
        for pair in self.fresh:
            self.points[pair].sort()

    def open_questions(self) -> tuple[Integers, Floats]:
        """Return where tangents cross between points that are not close enough yet."""
        pairs, contrasts = [], []
        for pair in sorted(self.fresh):
            points = self.points[pair]
            for left, right in pairwise(points):
                crossing = None if (pair, left[0]) in self.closed else self._crossing(left, right)
                if crossing is None:
                    self.closed.add((pair, left[0]))
                else:
                    pairs.append(pair)
                    contrasts.append(crossing)
        self.fresh = set(pairs)
        return np.array(pairs, dtype=np.int64), np.array(contrasts)

    def _crossing(self, left: tuple[float, ...], right: tuple[float, ...]) -> float | None:
        """Return the contrast at which two tangents cross, None where a chord will do."""
        gap = left[3] - right[3]
        if gap <= 1e-12:
            return None
        ratio = (left[2] - right[2]) / gap
        height = left[2] - ratio * left[3]
        if ratio <= 1 or height <= 0:
            return None
        growth = (ratio - 1) / height
        at = float(np.log1p(growth))
        inside = left[0] * (1 + 1e-6) < at < right[0] * (1 - 1e-6)
        return at if inside and _gap(left, right, at) > self.tolerance else None

    def lines(self, count: int, from_zero: bool) -> Lines:
        """Return the chords of every pair, with a flat line beyond the last point."""
        values = []
        for pair in range(count):
            points = self.points.get(pair, [])
            chords = [_chord(*both) for both in pairwise(points)]
            if points:
                chords.append((_height(points[-1]), 0.0))
            if points and from_zero:
                slack = LEAST_CONTRAST
                chords = [(high + slack * low, low) for high, low in chords]
            values.append(np.array(chords, dtype=np.float64).reshape(-1, 2))
        return _packed(values)


def _height(point: tuple[float, ...]) -> float:
    """Return E(H) = (H - 1)/lambda at a point."""
    return float(np.expm1(point[1]) / np.expm1(point[0]))


def _chord(left: tuple[float, ...], right: tuple[float, ...]) -> tuple[float, float]:
    """Return A and B of the line through two points, or of the tangent they share."""
    if left[2:] == right[2:]:
        return left[2], left[3]
    width = np.exp(left[1]) * np.expm1(right[1] - left[1])
    if width <= 0:
        return max(_height(left), _height(right)), 0.0
    top = _height(left)
    slope = max(0.0, float((top - _height(right)) / width))
    return top + float(np.exp(left[1])) * slope, slope


def _gap(left: tuple[float, ...], right: tuple[float, ...], crossing: float) -> float:
    """Return how far the chord leads above the two tangents, the most of several contrasts."""
    contrasts = np.append(np.geomspace(left[0], right[0], 12), crossing)
    growth = np.expm1(contrasts)
    tangents = np.maximum(_leakage(growth, *left[2:]), _leakage(growth, *right[2:]))
    return float((_leakage(growth, *_chord(left, right)) - tangents).max())


def _leakage(growth: Any, high: Any, low: Any) -> Floats:
    """Return ln (1 + lambda A)/(1 + lambda B) for several lambda."""
    return np.asarray(np.log1p(growth * (high - low) / (1 + growth * low)))


def _packed(values: list[Floats]) -> Lines:
    """Return lines in single precision, rounded to the safe side."""
    counts = np.array([len(part) for part in values], dtype=np.int64)
    everything = np.concatenate(values) if values else np.zeros((0, 2))
    everything = everything * [1 + SLACK, 1 - SLACK]
    return Lines(counts, everything.astype(np.float32))
