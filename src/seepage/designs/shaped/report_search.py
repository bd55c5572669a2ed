"""Column generation of admissible reports: the A-optimal mixture, up to an optimality
gap.

A report is a vector w of likelihoods, scaled to w . f = 1 at the nominal frequencies f.
Shares theta >= 0 with sum_y theta_y w_y = 1 are a mechanism, whose information matrix
about the frequencies is I = sum_y theta_y w_y w_y'.  The estimates of the wanted linear
functions B of the frequencies have a total second moment phi = tr(B I^-1 B'), convex in
theta: an A-optimal design [Pukelsheim 1993].

The restricted master problem is the best mixture of the reports found so far
(`best_mixture`).  Its prices give every admissible report a reduced gain; one above 0
lowers the variance.  Pricing solves linear programs from many starts, and the gap is
relative to the reports that they found.
"""

import itertools
import sys
from collections.abc import Callable, Sequence

import numpy as np

from seepage._core.arrays import Floats
from seepage.designs.shaped.admissible_reports import AdmissibleReports
from seepage.designs.shaped.report_mixture import Mixture, best_mixture

MAX_ROUNDS = 150
"""Maximum number of pricing rounds."""


MIN_SHARE = 1e-9
"""Minimum share theta of a report; reports below are removed from the mixture."""


MAX_INCREASE = 1e-3
"""Maximum relative increase of the second moment in a round, by the removal of small
shares."""


MAX_REPORTS_PER_CELL = 8


CROWDED_MIN_SHARE = 3e-8
"""Reports per cell above which the mixture is crowded, and its minimum share: keeps
rounds fast."""


MAX_SIGN_FUNCTIONS = 5
"""Maximum number of wanted functions for which all 2^r sign vectors are starts."""


STARTS = 40
"""Further starts per round: the reports of the mixture with the largest shares.

With more than `MAX_SIGN_FUNCTIONS` functions, random starts of two kinds replace the
signs, as many of each."""


STALL_ROUNDS = 15


COARSE_STALL_ROUNDS = 4
"""Rounds within which the variance must decrease by the gap; the second is for a coarse
search."""


COARSE_GAP = 1e-2


MAX_IDLE_ROUNDS = 2
"""Gap from which a search is coarse: it ends at the gap, a fine one after further
rounds, whose random starts may find what the last ones missed."""


MAX_ASCENT_STEPS = 4
"""Maximum number of linear programs solved in a row from one start."""


MIN_REDUCED_GAIN = 0.02
"""Minimum reduced gain of a new report, relative to gap x second moment."""


class ReportSearch:
    """The restricted master problem and its pricing.

    Parameters
    ----------
    cone
        The cone of admissible reports.
    wanted
        B, one row per wanted linear function of the frequencies.
    known
        Admissible reports to start with, besides those around the neutral one.
    starts
        Number of reports of the mixture from which linear programs start in each round.
    stop
        Called after every start; the search ends with the reports found if it returns
        True. Ctrl-C ends it too.

    Attributes
    ----------
    pool, shares, mixture
        Reports w_y, shares theta_y with sum_y theta_y w_y = 1, and the solution of the
        master problem, with B I^-1.
    """

    mixture: "Mixture"

    def __init__(
        self,
        cone: AdmissibleReports,
        wanted: Floats,
        known: Floats,
        starts: int = STARTS,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Prepare the search of a mixture of admissible reports."""
        self.cone = cone
        self.wanted = wanted
        self.starts = starts
        self.stop = stop
        self.pool = cone.initial_reports()
        self.shares = np.full(len(self.pool), 1 / len(self.pool))
        self.rng = np.random.default_rng(0)
        self.max_moment = sys.float_info.max
        self.is_solved = self.solve_master(known)
        """False if the reports within the limits differ too little to be computed."""

    def run(self, gap: float, offset: float = 0.0) -> None:
        """Search until the mixture's total variance is at most 1 + gap times its lower
        bound.

        The total variance is phi - offset, with offset = sum (B f)^2.
        """
        fine = gap < COARSE_GAP
        idle = 0
        rounds = STALL_ROUNDS if fine else COARSE_STALL_ROUNDS
        moments = [self.mixture.second_moment]
        try:
            while len(moments) <= MAX_ROUNDS and not _has_stalled(moments, gap, rounds):
                new, largest = self.price(gap)
                lowest = self.mixture.lower_bound(largest) - offset
                is_within = moments[-1] - offset <= (1 + gap) * lowest
                idle = idle + 1 if is_within or not len(new) else 0
                if idle > (MAX_IDLE_ROUNDS if fine else 0):
                    break
                if not self.solve_master(new) or self.stop():
                    break
                moments.append(self.mixture.second_moment)
        except KeyboardInterrupt:
            pass

    def solve_master(self, new: Floats) -> bool:
        """Add reports to the search and compute the best shares; return False, and
        change nothing, on failure.

        It fails where the information of the start is singular, or becomes so by
        rounding: further reports cannot raise the minimum of the second moment.
        """
        pool = np.vstack([self.pool, new])  # new reports start with small shares
        start = np.concatenate([self.shares, np.full(len(new), 0.1 / len(pool))])
        if np.linalg.matrix_rank(np.sqrt(start)[:, None] * pool) < self.cone.cells:
            return False
        try:
            mixture = best_mixture(pool, self.wanted, start)
        except np.linalg.LinAlgError:
            return False
        if not mixture.second_moment <= self.max_moment:
            return False
        least_share = MIN_SHARE
        if len(pool) > MAX_REPORTS_PER_CELL * self.cone.cells:
            least_share = CROWDED_MIN_SHARE
        kept = mixture.shares > least_share
        self.pool = pool[kept]
        self.shares = mixture.shares[kept]
        self.mixture = mixture
        self.max_moment = (1 + MAX_INCREASE) * mixture.second_moment
        return True

    def price(self, gap: float) -> tuple[Floats, float]:
        """Return the reports that the search finds with a positive reduced gain, and
        the largest reduced gain.

        |M w|^2 = max over v of 2 v . M w - |v|^2: alternate between a linear program in
        w for given v, and v = M w.  The largest reduced gain is infinite (unknown) if
        the search was stopped.
        """
        cone = self.cone
        coefficients = self.mixture.coefficients
        prices = self.mixture.prices
        minimum = MIN_REDUCED_GAIN * gap * self.mixture.second_moment
        scales = np.sqrt(
            (self.shares[:, None] * (self.pool @ coefficients.T) ** 2).sum(axis=0)
        )
        scales = np.maximum(scales, 1e-300)
        reports = []
        seen = set[bytes]()
        largest = 0.0
        for start in self._starts(coefficients, scales):
            scores = start
            reached = -np.inf
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
            if self.stop():
                largest = np.inf
                break
        return np.array(reports).reshape(-1, cone.cells), largest

    def _starts(self, coefficients: Floats, scales: Floats) -> Floats:
        """Return starts v of the search of reports: all sign vectors or random ones,
        and M w of the likeliest reports w.

        Random ones are M w of reports drawn from the mixture, plus noise, and of
        two-level w.
        """
        likeliest = np.argsort(-self.shares)[: self.starts]
        scores = self.pool @ coefficients.T
        if len(scales) <= MAX_SIGN_FUNCTIONS:
            signs = np.array(list(itertools.product((-1.0, 1.0), repeat=len(scales))))
            return np.vstack([signs * scales, scores[likeliest]])
        rng = self.rng
        number = self.starts
        drawn = rng.choice(
            len(self.pool), size=number, p=self.shares / self.shares.sum()
        )
        noise = rng.normal(size=(number, len(scales))) * scales
        likely = rng.random((number, self.cone.cells)) < rng.random((number, 1)) / 2
        sets = np.where(likely, self.pool.max(), self.pool.min())
        sets = sets / (sets @ self.cone.frequencies)[:, None]
        return np.vstack(
            [scores[drawn] + noise, sets @ coefficients.T, scores[likeliest]]
        )


def _has_stalled(moments: Sequence[float], gap: float, rounds: int) -> bool:
    """Return whether the last rounds of the report search lowered the second moment by
    less than the gap.
    """
    return (
        len(moments) > rounds and moments[-rounds - 1] - moments[-1] < gap * moments[-1]
    )
