"""The best mixture of all admissible reports, by column generation, and how far from it at most.

Reports are priced by the prices of the best mixture so far: one whose excess is above 0 lowers the
variance.  The excess is convex, so extreme rays of the cone suffice.  Where they are enumerated the
gap is proven; otherwise linear programs climb from many starts, and the gap is that of the reports
they found.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from seepage._numerics import Floats
from seepage.designs.shaped.admissible_reports import AdmissibleReports
from seepage.designs.shaped.report_programs import Mixture, best_mixture
from seepage.errors import InputError

ROUNDS = 150
"""Rounds of pricing at most."""

NEGLIGIBLE, MANY, SMALL = 1e-9, 8, 3e-8
"""Reports with a smaller share leave the mixture; where it has so many reports for each cell, those
below the last."""

MAX_ADDED = 150
"""Enumerated reports that enter in one round."""

MAX_SIGNS = 5
"""Wanted functions up to which all their signs are starts of linear programs."""

STARTS = 40
"""Further starts: reports of the mixture with the largest shares; as many random ones of either
kind where there are too many signs."""

THOROUGH = 4
"""Times as many random starts of either kind before a search ends, but at most 10 for each cell."""

TAIL, FEW = 15, 4
"""A search, or a coarse one, ends where so many rounds lower the variance by less than the gap."""

COARSE = 1e-2
"""The gap from which on a search is coarse, and ends without them."""

CLIMBS = 4
"""Linear programs from one start."""

UNSOLVED = 1e-8
"""The error of the equations above which reports are not reduced."""

UNSTABLE = (
    "reports within these limits differ too little to be computed; raise the smallest limits or "
    "pool rare values"
)

MIN_EXCESS = 0.02
"""The excess, as a share of the gap allowed, below which a report is no gain."""


class ShapedReports(NamedTuple):
    """Admissible reports w_y with shares theta_y: sum_y theta_y w_y = 1."""

    reports: Floats
    shares: Floats
    second_moment: float
    """phi = tr(B I^-1 B') of the mixture."""
    lower_bound: float
    """What phi of any admissible mixture is not below; 0 where that is not known."""
    proven: bool
    """Whether the bound is proven, or rests on the reports that linear programs found."""


def search_reports(
    cone: AdmissibleReports,
    wanted: Floats,
    *,
    offset: float = 0.0,
    gap: float = 1e-4,
    known: Floats | None = None,
    stop: Callable[[], bool] = lambda: False,
    starts: int = STARTS,
) -> ShapedReports:
    """Return the mixture of admissible reports with the smallest total variance, up to a gap.

    Parameters
    ----------
    cone
        The admissible reports.
    wanted
        B, one row per wanted function of the frequencies, in the span of the cone.
    offset
        The sum of (B f)^2, by which the total variance is below phi.
    gap
        Stop where phi - offset is within a factor of 1 + gap of its lower bound.
    known
        Admissible reports to begin with, besides those around the neutral one.
    stop
        Asked all the time whether to end with the reports found.  Ctrl-C ends the search too.
    starts
        Reports in use from which linear programs start, besides signs or random reports.
    """
    search = _ReportSearch(cone, wanted @ cone.span, starts)
    if not search.mix(known):
        raise InputError(UNSTABLE)
    closely = gap < COARSE and not search.proven
    moments = [search.mixture.second_moment]
    try:
        while len(moments) <= ROUNDS and not _tails_off(moments, gap, TAIL if closely else FEW):
            new = search.price(gap, stop)
            if closely and (search.within(gap, offset) or not len(new)):
                new = search.price(gap, stop, thorough=True)
            if search.within(gap, offset) or not len(new) or not search.mix(new) or stop():
                break
            moments.append(search.mixture.second_moment)
    except KeyboardInterrupt:
        pass
    return search.result()


def _tails_off(moments: Sequence[float], gap: float, rounds: int) -> bool:
    """Say whether so many rounds gained less than the gap."""
    return len(moments) > rounds and moments[-rounds - 1] - moments[-1] < gap * moments[-1]


class _ReportSearch:
    """The best mixture of the reports found so far, and what bounds it from below."""

    mixture: Mixture

    def __init__(self, cone: AdmissibleReports, goal: Floats, starts: int) -> None:
        self.cone, self.goal, self.starts = cone, goal, starts
        self.whole = cone.span.sum(axis=0)
        self.proven = cone.enumerable
        self.rays = cone.extreme_rays() if self.proven else None
        self.pool = cone.first()
        self.shares = np.full(len(self.pool), 1 / len(self.pool))
        self.draws = np.random.default_rng(0)
        self.bounds = list[tuple[Mixture, float]]()

    def mix(self, new: Floats | None) -> bool:
        """Add reports and find the best shares; False where that fails, and nothing changes."""
        wider, begin = _joined(self.pool, self.shares, new)
        better = _mixed(wider @ self.cone.span, self.goal, self.whole, begin)
        if better is None:
            return False
        crowded = len(wider) > MANY * self.cone.cells
        kept = better.shares > (SMALL if crowded else NEGLIGIBLE)
        self.pool, self.shares, self.mixture = wider[kept], better.shares[kept], better
        return True

    def within(self, gap: float, offset: float) -> bool:
        """Say whether the gap is reached."""
        return self.mixture.second_moment - offset <= (1 + gap) * (self.lower - offset)

    def price(self, gap: float, stop: Callable[[], bool], thorough: bool = False) -> Floats:
        """Return reports that lower phi, and bound it from below by the best of them."""
        if self.rays is not None:
            new, excess = _highest(self.rays, self.mixture.excess(self.rays @ self.cone.span))
        else:
            least = MIN_EXCESS * gap * self.mixture.second_moment
            new, excess = self._climbed(least, stop, thorough)
        if excess < np.inf:
            self.bounds.append((self.mixture, excess))
        if len(new):
            self.bounds = [
                (mixture, max(excess, float(mixture.excess(new @ self.cone.span).max())))
                for mixture, excess in self.bounds
            ]
        return new

    @property
    def lower(self) -> float:
        """The largest lower bound of a mixture so far, given the reports found by now."""
        bounds = [mixture.lower_bound(self.whole, excess) for mixture, excess in self.bounds]
        return max(bounds, default=0.0)

    def _climbed(
        self, least: float, stop: Callable[[], bool], thorough: bool
    ) -> tuple[Floats, float]:
        """Return reports above a least excess that linear programs found, and the largest excess.

        |M w|^2 = max over v of 2 v . M w - |v|^2: for a given v a linear program in w, then
        v = M w.  The excess is infinite where the search was stopped.
        """
        cone, mixture = self.cone, self.mixture
        scorer, prices = mixture.coefficients @ cone.span.T, cone.span @ mixture.prices
        sizes = np.sqrt((self.shares[:, None] * (self.pool @ scorer.T) ** 2).sum(axis=0))
        sizes = np.maximum(sizes, 1e-300)
        starts = (
            self._random_starts(scorer, sizes, min(THOROUGH * self.starts, 10 * cone.cells))
            if thorough
            else self._starts(scorer, sizes)
        )
        found, seen, largest = [], set[bytes](), 0.0
        for start in starts:
            point, reached = start, -np.inf
            for _ in range(CLIMBS):
                report = cone.largest(2 * point @ scorer - prices)
                if report is None:
                    break
                point = scorer @ report
                excess = float(point @ point - prices @ report)
                index = np.round(point / sizes, 4).tobytes()
                if excess <= reached + least or index in seen:
                    break
                reached = excess
                seen.add(index)
                if excess > least:
                    found.append(report)
            largest = max(largest, reached)
            if stop():
                largest = np.inf
                break
        return np.array(found).reshape(-1, cone.cells), largest

    def _starts(self, scorer: Floats, sizes: Floats) -> Floats:
        """Return the scores of signs, or of random reports, and of the likeliest reports."""
        likeliest = np.argsort(-self.shares)[: self.starts]
        if len(sizes) <= MAX_SIGNS:
            first = np.array(list(itertools.product((-1.0, 1.0), repeat=len(sizes)))) * sizes
        else:
            first = self._random_starts(scorer, sizes, self.starts)
        return np.vstack([first, self.pool[likeliest] @ scorer.T])

    def _random_starts(self, scorer: Floats, sizes: Floats, number: int) -> Floats:
        """Return the scores of reports in use, changed at random, and of random sets of cells."""
        draws, cells = self.draws, self.cone.cells
        chosen = draws.choice(len(self.pool), size=number, p=self.shares / self.shares.sum())
        noise = draws.normal(size=(number, len(sizes))) * sizes
        high = draws.random((number, cells)) < draws.random((number, 1)) / 2
        sets = np.where(high, self.pool.max(), self.pool.min())
        sets = sets / (sets @ self.cone.frequencies)[:, None]
        return np.vstack([self.pool[chosen] @ scorer.T + noise, sets @ scorer.T])

    def result(self) -> ShapedReports:
        """Return as few reports as the best mixture needs, and its lower bound."""
        cone, mixture, lower = self.cone, self.mixture, self.lower
        if self.proven:  # the limits themselves, without the margin
            exact = AdmissibleReports(cone.limits, cone.frequencies, margin=0.0).extreme_rays()
            lower = mixture.lower_bound(self.whole, float(mixture.excess(exact @ cone.span).max()))
        pool, shares = _fewest(self.pool, self.shares, mixture, cone.span, self.goal)
        return ShapedReports(pool, shares, mixture.second_moment, lower, self.proven)


def _mixed(reports: Floats, goal: Floats, whole: Floats, shares: Floats) -> Mixture | None:
    """Return the best mixture; None where the reports with shares are numerically dependent."""
    weighted = np.sqrt(shares)[:, None] * reports
    if np.linalg.matrix_rank(weighted) < reports.shape[1]:
        return None
    found = best_mixture(reports, goal, whole, shares)
    return found if math.isfinite(found.second_moment) else None


def _joined(pool: Floats, shares: Floats, new: Floats | None) -> tuple[Floats, Floats]:
    """Return a mixture joined by new reports with small shares."""
    if new is None or not len(new):
        return pool, shares
    added = np.full(len(new), 0.1 / (len(pool) + len(new)))
    return np.vstack([pool, new]), np.concatenate([shares, added])


def _highest(rays: Floats, excess: Floats) -> tuple[Floats, float]:
    """Return the rays of the highest excess, where it is above 0, and that excess."""
    best = np.argsort(-excess)[:MAX_ADDED]
    return rays[best[excess[best] > 0]], float(excess[best[0]])


def _fewest(
    pool: Floats, shares: Floats, mixture: Mixture, span: Floats, goal: Floats
) -> tuple[Floats, Floats]:
    """Return as few of the reports as the same estimate needs.

    Any shares with sum theta w = 1 and sum theta (M w) w' = B keep the coefficients M unbiased, and
    the second moment, sum theta |M w|^2 = sum theta w . prices, the same.  A basic solution of
    these equations has no more reports than equations.
    """
    indices = pool @ span
    scores = indices @ mixture.coefficients.T
    products = (scores[:, :, None] * indices[:, None, :]).reshape(len(pool), -1)
    equations = np.hstack([indices, products]).T
    right = np.concatenate([span.sum(axis=0), goal.ravel()])
    scale = np.abs(equations).max(axis=1)
    equations, right = equations / scale[:, None], right / scale
    fewer, missing = nnls(equations * shares, right, maxiter=30 * len(shares))
    if missing < UNSOLVED:
        chosen = fewer * shares > NEGLIGIBLE
        pool, indices, shares = pool[chosen], indices[chosen], (fewer * shares)[chosen]
    return pool, _corrected(indices.T, span.sum(axis=0), shares)


def _corrected(equations: Floats, right: Floats, shares: Floats) -> Floats:
    """Return shares moved as little as possible, in proportion, to solve the equations."""
    scaled = equations * shares
    return np.asarray(
        shares + shares * np.linalg.lstsq(scaled, right - scaled.sum(axis=1), rcond=None)[0]
    )
