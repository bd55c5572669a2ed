"""Column generation of admissible reports: the A-optimal mixture, and its optimality gap.

The restricted master problem is the best mixture of the reports found so far (`best_mixture`).  Its
prices give every admissible report a reduced gain; one above 0 lowers the variance.  The reduced
gain is convex in the report, so pricing may be restricted to extreme rays of the cone.  If they
are enumerated the gap is proven; otherwise pricing solves linear programs from many starts, and the
gap is relative to the reports that they found.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from seepage._numerics import Floats
from seepage.designs.admissible_reports import AdmissibleReports
from seepage.designs.report_programs import Mixture, best_mixture
from seepage.errors import InputError

MAX_ROUNDS = 150
"""Maximum number of pricing rounds."""

MIN_SHARE = 1e-9
"""Minimum share theta of a report; reports below are removed from the mixture."""

MAX_REPORTS_PER_CELL, CROWDED_MIN_SHARE = 8, 3e-8
"""Reports per cell above which the mixture is crowded, and its minimum share: keeps rounds fast."""

MAX_NEW_RAYS = 150
"""Maximum number of enumerated extreme rays that enter per round."""

MAX_SIGN_FUNCTIONS = 5
"""Maximum number of wanted functions for which all 2^r sign vectors are starts."""

STARTS = 40
"""Further starts per round: the reports of the mixture with the largest shares.

With more than `MAX_SIGN_FUNCTIONS` functions, random starts of two kinds replace the signs, as many
of each."""

THOROUGH_FACTOR, MAX_STARTS_PER_CELL = 4, 10
"""Factor on the random starts of the last pricing before the search ends, and their maximum."""

STALL_ROUNDS, COARSE_STALL_ROUNDS = 15, 4
"""Rounds within which the variance must decrease by the gap for the search to go on.

The second is for a coarse search or for enumerated rays."""

COARSE_GAP = 1e-2
"""Gap from which a search is coarse: it ends without a thorough pricing."""

MAX_ASCENT_STEPS = 4
"""Maximum number of linear programs solved in a row from one start."""

MAX_RESIDUAL = 1e-8
"""Maximum residual of the equations for which the number of reports is reduced."""

MAX_CORRECTION = 0.01
"""Maximum relative change of a share that corrects a residual."""

MIN_REDUCED_GAIN = 0.02
"""Minimum reduced gain of a new report, relative to gap x second moment."""


class ShapedReports(NamedTuple):
    """Admissible reports w_y with shares theta_y: sum_y theta_y w_y = 1."""

    reports: Floats
    shares: Floats
    second_moment: float
    """phi = tr(B I^-1 B') of the mixture."""
    lower_bound: float
    """Lower bound of phi over all admissible mixtures; 0 if none is known."""
    proven: bool
    """Whether the bound is proven, or relative to the reports found by linear programs."""


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
    """Return the mixture of admissible reports with the least total variance, up to a gap.

    Parameters
    ----------
    cone
        The cone of admissible reports.
    wanted
        B, one row per wanted linear function of the frequencies, in the span of the cone.
    offset
        sum (B f)^2: the total variance is phi - offset.
    gap
        Stop if phi - offset is at most 1 + gap times its lower bound.
    known
        Admissible reports to start with, besides those around the neutral one.
    stop
        Called after every start; the search ends with the reports found if it returns True.
        Ctrl-C ends it too.
    starts
        Number of reports of the mixture from which linear programs start in each round.
    """
    search = _ReportSearch(cone, wanted @ cone.span, starts)
    if not search.solve_master(known):
        raise InputError(
            "reports within these limits differ too little to be computed; raise the smallest "
            "limits or pool rare values"
        )
    fine = gap < COARSE_GAP and not search.proven
    stall_rounds = STALL_ROUNDS if fine else COARSE_STALL_ROUNDS
    moments = [search.mixture.second_moment]
    try:
        while len(moments) <= MAX_ROUNDS and not _has_stalled(moments, gap, stall_rounds):
            new = search.price(gap, stop)
            if fine and (search.is_within(gap, offset) or not len(new)):
                new = search.price(gap, stop, thorough=True)
            if search.is_within(gap, offset) or not len(new):
                break
            if not search.solve_master(new) or stop():
                break
            moments.append(search.mixture.second_moment)
    except KeyboardInterrupt:
        pass
    return search.result()


def _has_stalled(moments: Sequence[float], gap: float, rounds: int) -> bool:
    """Return whether the last rounds lowered the second moment by less than the gap."""
    return len(moments) > rounds and moments[-rounds - 1] - moments[-1] < gap * moments[-1]


class _ReportSearch:
    """The restricted master problem and its pricing.

    Parameters
    ----------
    cone
        The cone of admissible reports.
    goal
        The wanted functions, in the coordinates of the cone's span.
    starts
        Number of reports of the mixture from which linear programs start.
    """

    mixture: Mixture

    def __init__(self, cone: AdmissibleReports, goal: Floats, starts: int) -> None:
        self.cone, self.goal, self.starts = cone, goal, starts
        self.ones = cone.span.sum(axis=0)
        self.rays = cone.extreme_rays()
        self.proven = self.rays is not None
        self.pool = cone.initial_reports()
        self.shares = np.full(len(self.pool), 1 / len(self.pool))
        self.rng = np.random.default_rng(0)
        self.bounds = list[tuple[Mixture, float]]()

    def solve_master(self, new: Floats | None) -> bool:
        """Add reports and compute the best shares; return False, and change nothing, on failure."""
        pool, start = self.pool, self.shares
        if new is not None and len(new):  # new reports start with small shares
            pool = np.vstack([pool, new])
            start = np.concatenate([start, np.full(len(new), 0.1 / len(pool))])
        reports = pool @ self.cone.span
        if np.linalg.matrix_rank(np.sqrt(start)[:, None] * reports) < reports.shape[1]:
            return False  # the information matrix of the start is singular
        mixture = best_mixture(reports, self.goal, self.ones, start)
        if not math.isfinite(mixture.second_moment):
            return False
        crowded = len(pool) > MAX_REPORTS_PER_CELL * self.cone.cells
        kept = mixture.shares > (CROWDED_MIN_SHARE if crowded else MIN_SHARE)
        self.pool, self.shares, self.mixture = pool[kept], mixture.shares[kept], mixture
        return True

    def is_within(self, gap: float, offset: float) -> bool:
        """Return whether the optimality gap is reached."""
        return self.mixture.second_moment - offset <= (1 + gap) * (self.lower_bound - offset)

    def price(self, gap: float, stop: Callable[[], bool], thorough: bool = False) -> Floats:
        """Return reports with a positive reduced gain, and update the lower bounds of phi.

        The largest reduced gain of all reports bounds phi below; every report found later may
        raise that of an earlier mixture.
        """
        if self.rays is not None:
            gains = self.mixture.reduced_gains(self.rays @ self.cone.span)
            best = np.argsort(-gains)[:MAX_NEW_RAYS]
            new, largest = self.rays[best[gains[best] > 0]], float(gains[best[0]])
        else:
            minimum = MIN_REDUCED_GAIN * gap * self.mixture.second_moment
            new, largest = self._ascend(minimum, stop, thorough)
        if largest < np.inf:
            self.bounds.append((self.mixture, largest))
        if len(new):
            self.bounds = [
                (mixture, max(gain, float(mixture.reduced_gains(new @ self.cone.span).max())))
                for mixture, gain in self.bounds
            ]
        return new

    @property
    def lower_bound(self) -> float:
        """The largest lower bound of phi so far, given the reports found by now."""
        bounds = [mixture.lower_bound(self.ones, gain) for mixture, gain in self.bounds]
        return max(bounds, default=0.0)

    def _ascend(
        self, minimum: float, stop: Callable[[], bool], thorough: bool
    ) -> tuple[Floats, float]:
        """Return the reports with a reduced gain above a minimum, and the largest reduced gain.

        |M w|^2 = max over v of 2 v . M w - |v|^2: alternate between a linear program in w for given
        v, and v = M w.  The largest reduced gain is infinite (unknown) if the search was stopped.
        """
        cone, mixture = self.cone, self.mixture
        coefficients, prices = mixture.coefficients @ cone.span.T, cone.span @ mixture.prices
        scales = np.sqrt((self.shares[:, None] * (self.pool @ coefficients.T) ** 2).sum(axis=0))
        scales = np.maximum(scales, 1e-300)
        if thorough:
            number = min(THOROUGH_FACTOR * self.starts, MAX_STARTS_PER_CELL * cone.cells)
            starts = self._random_starts(coefficients, scales, number)
        else:
            starts = self._starts(coefficients, scales)
        reports, seen, largest = [], set[bytes](), 0.0
        for start in starts:
            scores, reached = start, -np.inf
            for _ in range(MAX_ASCENT_STEPS):
                report = cone.best_report(2 * scores @ coefficients - prices)
                if report is None:
                    break
                scores = coefficients @ report
                gain = float(scores @ scores - prices @ report)
                key = np.round(scores / scales, 4).tobytes()
                if gain <= reached + minimum or key in seen:
                    break
                reached = gain
                seen.add(key)
                if gain > minimum:
                    reports.append(report)
            largest = max(largest, reached)
            if stop():
                largest = np.inf
                break
        return np.array(reports).reshape(-1, cone.cells), largest

    def _starts(self, coefficients: Floats, scales: Floats) -> Floats:
        """Return starts v: all sign vectors or random ones, and M w of the likeliest reports w."""
        likeliest = np.argsort(-self.shares)[: self.starts]
        if len(scales) <= MAX_SIGN_FUNCTIONS:
            first = np.array(list(itertools.product((-1.0, 1.0), repeat=len(scales)))) * scales
        else:
            first = self._random_starts(coefficients, scales, self.starts)
        return np.vstack([first, self.pool[likeliest] @ coefficients.T])

    def _random_starts(self, coefficients: Floats, scales: Floats, number: int) -> Floats:
        """Return M w of reports drawn from the mixture, plus noise, and of random two-level w."""
        rng, cells = self.rng, self.cone.cells
        drawn = rng.choice(len(self.pool), size=number, p=self.shares / self.shares.sum())
        noise = rng.normal(size=(number, len(scales))) * scales
        likely = rng.random((number, cells)) < rng.random((number, 1)) / 2
        sets = np.where(likely, self.pool.max(), self.pool.min())
        sets = sets / (sets @ self.cone.frequencies)[:, None]
        return np.vstack([self.pool[drawn] @ coefficients.T + noise, sets @ coefficients.T])

    def result(self) -> ShapedReports:
        """Return the mixture with few reports, and its lower bound."""
        cone, mixture, lower_bound = self.cone, self.mixture, self.lower_bound
        if self.proven:  # for the limits themselves, without the margin
            exact = AdmissibleReports(cone.limits, cone.frequencies, margin=0.0).extreme_rays()
            assert exact is not None
            largest = float(mixture.reduced_gains(exact @ cone.span).max())
            lower_bound = mixture.lower_bound(self.ones, largest)
        pool, shares = _fewest_reports(self.pool, self.shares, mixture, cone.span, self.goal)
        return ShapedReports(pool, shares, mixture.second_moment, lower_bound, self.proven)


def _fewest_reports(
    pool: Floats, shares: Floats, mixture: Mixture, span: Floats, goal: Floats
) -> tuple[Floats, Floats]:
    """Return a subset of the reports, with shares of the same variance.

    Any shares with sum theta w = 1 and sum theta (M w) w' = B keep the coefficients M unbiased, and
    the second moment, sum theta |M w|^2 = sum theta w . prices, the same.  A basic solution of
    these equations has no more reports than equations.
    """
    coordinates = pool @ span
    scores = coordinates @ mixture.coefficients.T
    products = (scores[:, :, None] * coordinates[:, None, :]).reshape(len(pool), -1)
    equations = np.hstack([coordinates, products]).T
    right = np.concatenate([span.sum(axis=0), goal.ravel()])
    scale = np.abs(equations).max(axis=1)
    equations, right = equations / scale[:, None], right / scale
    factors, residual = nnls(equations * shares, right, maxiter=30 * len(shares))
    basic = factors * shares > MIN_SHARE
    if residual < MAX_RESIDUAL:
        fewer = _corrected(coordinates[basic], span, (factors * shares)[basic])
        if fewer is not None:
            return pool[basic], fewer
    corrected = _corrected(coordinates, span, shares)
    if (
        corrected is None
    ):  # sum theta w <= 1: the neutral report of `mixture_thresholds` adds the rest
        corrected = shares / (shares @ pool).max()
    return pool, corrected


def _corrected(coordinates: Floats, span: Floats, shares: Floats) -> Floats | None:
    """Return shares with sum theta w = 1, of least squared relative change; None if that is large.

    It is large where the reports hardly determine a cell that never occurs.
    """
    scaled = (shares[:, None] * coordinates).T
    missing = span.sum(axis=0) - scaled.sum(axis=1)
    change = np.linalg.lstsq(scaled, missing, rcond=None)[0]
    return shares + shares * change if np.abs(change).max() < MAX_CORRECTION else None
