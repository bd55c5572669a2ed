"""The best mixture of all admissible reports, by column generation, and how far from it at most.

Reports are priced by the prices of the best mixture so far: one whose excess is above 0 lowers the
variance.  The excess is convex, so extreme rays of the cone suffice.  Where they are enumerated the
gap is proven; otherwise linear programs climb from many starts, and the gap is that of the best
report they found.
"""

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from seepage._numerics import Floats
from seepage.designs.shaped.admissible_reports import AdmissibleReports
from seepage.designs.shaped.report_mixture import Mixture, best_mixture
from seepage.errors import InputError

ROUNDS = 150
"""Rounds of pricing at most."""

NEGLIGIBLE = 1e-9
"""Reports with a smaller share leave the mixture."""

MOST_ADDED = 150
"""Enumerated reports that enter in one round."""

MOST_SIGNS = 5
"""Wanted functions up to which all their signs are starts of linear programs."""

STARTS = 40
"""Further starts: reports of the mixture with the largest shares, and random signs."""

CLIMBS = 4
"""Linear programs from one start."""

UNSOLVED = 1e-8
"""The error of the equations above which reports are not reduced."""

UNSTABLE = (
    "reports within these limits differ too little to be computed; raise the smallest limits or "
    "pool rare values"
)

LEAST_EXCESS = 0.02
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
        Reports in use from which linear programs start, besides the signs.
    """
    search = _Search(cone, wanted @ cone.span, starts)
    if not search.mix(known):
        raise InputError(UNSTABLE)
    try:
        for _ in range(ROUNDS):
            new = search.price(gap, stop)
            reached = search.mixture.second_moment - offset <= (1 + gap) * (search.lower - offset)
            if reached or not len(new) or not search.mix(new) or stop():
                break
    except KeyboardInterrupt:
        pass
    return search.result()


class _Search:
    """The best mixture of the reports found so far, and what bounds it from below."""

    mixture: Mixture

    def __init__(self, cone: AdmissibleReports, goal: Floats, starts: int) -> None:
        self.cone, self.goal, self.starts = cone, goal, starts
        self.whole = cone.span.sum(axis=0)
        self.rays = cone.extreme_rays() if cone.enumerable else None
        self.pool = cone.first()
        self.shares = np.full(len(self.pool), 1 / len(self.pool))
        self.draws = np.random.default_rng(0)
        self.lower = 0.0

    def mix(self, new: Floats | None) -> bool:
        """Add reports and find the best shares; False where that fails, and nothing changes."""
        wider, begin = _joined(self.pool, self.shares, new)
        better = _mixed(wider @ self.cone.span, self.goal, self.whole, begin)
        if better is None:
            return False
        kept = better.shares > NEGLIGIBLE
        self.pool, self.shares, self.mixture = wider[kept], better.shares[kept], better
        return True

    def price(self, gap: float, stop: Callable[[], bool]) -> Floats:
        """Return reports that lower phi; raises the lower bound unless stopped before the end."""
        if self.rays is not None:
            new, excess = _highest(self.rays, self.mixture.excess(self.rays @ self.cone.span))
        else:
            new, excess = self._climbed(LEAST_EXCESS * gap * self.mixture.second_moment, stop)
        self.lower = max(self.lower, self.mixture.lower_bound(self.whole, excess))
        return new

    def _climbed(self, least: float, stop: Callable[[], bool]) -> tuple[Floats, float]:
        """Return reports above a least excess that linear programs found, and the largest excess.

        |M w|^2 = max over v of 2 v . M w - |v|^2: for a given v a linear program in w, then
        v = M w.  The excess is infinite where the search was stopped.
        """
        cone, mixture = self.cone, self.mixture
        scorer, prices = mixture.coefficients @ cone.span.T, cone.span @ mixture.prices
        starts, sizes = _starts(self.pool @ scorer.T, self.shares, self.draws, self.starts)
        found, seen, largest = [], set[bytes](), 0.0
        for start in starts:
            point, reached = start, -np.inf
            for _ in range(CLIMBS):
                report = cone.largest(2 * point @ scorer - prices)
                if report is None:
                    break
                point = scorer @ report
                excess = float(point @ point - prices @ report)
                place = np.round(point / sizes, 4).tobytes()
                if excess <= reached + least or place in seen:
                    break
                reached = excess
                seen.add(place)
                if excess > least:
                    found.append(report)
            largest = max(largest, reached)
            if stop():
                largest = np.inf
                break
        return np.array(found).reshape(-1, cone.cells), largest

    def result(self) -> ShapedReports:
        """Return as few reports as the best mixture needs, and its lower bound."""
        cone, mixture, proven = self.cone, self.mixture, self.rays is not None
        if proven:  # the limits themselves, without the margin
            exact = AdmissibleReports(cone.limits, cone.frequencies, margin=0.0).extreme_rays()
            excess = float(mixture.excess(exact @ cone.span).max())
            self.lower = mixture.lower_bound(self.whole, excess)
        pool, shares = _fewest(self.pool, self.shares, mixture, cone.span, self.goal)
        return ShapedReports(pool, shares, mixture.second_moment, self.lower, proven)


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
    best = np.argsort(-excess)[:MOST_ADDED]
    return rays[best[excess[best] > 0]], float(excess[best[0]])


def _starts(
    scores: Floats, shares: Floats, draws: np.random.Generator, number: int
) -> tuple[Floats, Floats]:
    """Return starts for `_climbed`, and the root mean square of each score."""
    sizes = np.sqrt((shares[:, None] * scores**2).sum(axis=0))
    wanted = len(sizes)
    if wanted <= MOST_SIGNS:
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=wanted)))
    else:
        signs = draws.choice((-1.0, 1.0), size=(STARTS // 2, wanted))
    likeliest = np.argsort(-shares)[:number]
    return np.vstack([signs * sizes, scores[likeliest]]), np.maximum(sizes, 1e-300)


def _fewest(
    pool: Floats, shares: Floats, mixture: Mixture, span: Floats, goal: Floats
) -> tuple[Floats, Floats]:
    """Return as few of the reports as the same estimate needs.

    Any shares with sum theta w = 1 and sum theta (M w) w' = B keep the coefficients M unbiased, and
    the second moment, sum theta |M w|^2 = sum theta w . prices, the same.  A basic solution of
    these equations has no more reports than equations.
    """
    places = pool @ span
    scores = places @ mixture.coefficients.T
    products = (scores[:, :, None] * places[:, None, :]).reshape(len(pool), -1)
    equations = np.hstack([places, products]).T
    right = np.concatenate([span.sum(axis=0), goal.ravel()])
    scale = np.abs(equations).max(axis=1)
    equations, right = equations / scale[:, None], right / scale
    fewer, missing = nnls(equations * shares, right, maxiter=30 * len(shares))
    if missing < UNSOLVED:
        chosen = fewer * shares > NEGLIGIBLE
        pool, places, shares = pool[chosen], places[chosen], (fewer * shares)[chosen]
    return pool, _corrected(places.T, span.sum(axis=0), shares)


def _corrected(equations: Floats, right: Floats, shares: Floats) -> Floats:
    """Return shares moved as little as possible, in proportion, to solve the equations."""
    scaled = equations * shares
    return np.asarray(
        shares + shares * np.linalg.lstsq(scaled, right - scaled.sum(axis=1), rcond=None)[0]
    )
