"""Admissible reports: the cone of likelihood vectors whose leakage is within given
limits.

A report is a vector w > 0 of likelihoods over cells, the combinations of a form's
answers.  Its leakage about a secret is a log-ratio of means of w, so each limit is a
set of linear inequalities in w, and the admissible reports form a polyhedral cone.  A
mechanism draws by integer thresholds near a mixture of admissible reports; every limit
is checked on the integers in exact arithmetic.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from seepage._core.arrays import Booleans, Floats, Integers
from seepage.designs.forms.form_counter import FormCounter

MARGIN = 1e-8
"""Nats by which limits are lowered during the search: room for rounding to integers."""


BISECTION_STEPS = 60
"""Number of bisection steps for the budget of a product of randomised responses."""


INTERIOR = 0.9
"""Relative distance of initial reports from the neutral report, 1 at the boundary of
the cone."""


SHRINKING = 0.999
"""The same of other reports from which a search starts."""


MAX_LIMIT = 16.0
"""Larger limits in nats are lowered to this one: e^16 is within the range of linear
programs."""


ACCURACY = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
"""The finest tolerances of HiGHS."""


DUAL = 1


PRIMAL = 4
"""HiGHS codes of the simplex strategy: dual after new bounds, primal after new
columns."""


class RatioLimit(NamedTuple):
    """One limit on the mean likelihoods of a report given the values of a secret.

    With n[x, z] the counts, P(z | x) . w <= e^limit P(z | x') . w for all values x, x'
    that occur.
    """

    name: str
    counts: Integers
    """One row per value x of the secret, one column per cell z; each row has a positive
    sum."""
    limit: float

    @property
    def rows(self) -> Floats:
        """P(z | x), by which a ratio limit makes reports admissible."""
        shares = self.counts / self.counts.sum(axis=1, keepdims=True)
        # counts above 2^63 are objects
        return np.asarray(shares, dtype=np.float64)


class AnswerCounts(NamedTuple):
    """The counts of a form's answers, by cell.

    A cell is a combination of answers, in row-major order: the last attribute is the
    fastest.
    """

    sources: tuple[str, ...]
    sizes: tuple[int, ...]
    counts: Integers
    """The number of records in each cell."""
    targets: Mapping[str, Integers]
    """Numbers of records of each protected attribute, asked or not: one row per value,
    one column per cell."""
    factor: int = 1
    """All counts are numbers of records times this factor: those without an answer are
    spread over the answers."""

    @property
    def frequencies(self) -> Floats:
        """The nominal frequencies of the cells, by which admissible reports are scaled;
        counts above 2^63 are objects.
        """
        return np.asarray(self.counts / self.counts.sum(), dtype=np.float64)

    @classmethod
    def of(
        cls, counter: FormCounter, sources: Iterable[str], targets: Iterable[str] = ()
    ) -> "AnswerCounts":
        """Return the counts that reports are admissible by: of the answers of a form,
        and of protected attributes by cell.
        """
        domain = counter.records.domain
        asked = tuple(sources)
        table = counter.exact_counts([domain.index(name) for name in asked])
        cells = table.counts.sum(axis=0).T
        values = [
            cells[start : start + size]
            for start, size in zip(counter.starts, counter.sizes, strict=True)
        ]
        by_cell = {name: values[domain.index(name)] for name in targets}
        people = table.people.sum(axis=0)
        return cls(asked, table.sizes, people, by_cell, table.factor)

    def ratio_limit(self, name: str, limit: float) -> RatioLimit:
        """Return the limit of a protected attribute on admissible reports, over the
        values that occur.
        """
        counts = self.targets[name]
        return RatioLimit(name, counts[counts.sum(axis=1) > 0], limit)

    def possible(self, name: str) -> Booleans:
        """Return whether in admissible reports each value of a protected attribute may
        occur in each cell.

        People without an answer may be in any.
        """
        values = np.arange(len(self.targets[name]))[:, None]
        if name not in self.sources:
            return np.ones(self.targets[name].shape, dtype=bool)
        axis = self.sources.index(name)
        answers = np.unravel_index(np.arange(len(self.counts)), self.sizes)
        is_missing = values == self.sizes[axis]
        return np.asarray((answers[axis] == values) | is_missing)


def answer_limits(
    sources: Sequence[str], sizes: Sequence[int], epsilons: Sequence[float]
) -> list[RatioLimit]:
    """Return the limits on admissible reports of changing one answer: over cells that
    differ in this answer only.
    """
    cells = np.arange(math.prod(sizes)).reshape(tuple(sizes))
    unit = np.eye(cells.size, dtype=np.int64)
    return [
        RatioLimit(source, unit[line], epsilon)
        for axis, (source, epsilon) in enumerate(zip(sources, epsilons, strict=True))
        for line in np.moveaxis(cells, axis, -1).reshape(-1, sizes[axis])
    ]


def padded(rows: Floats, width: int) -> Floats:
    """Return rows of constraints on reports with zeros appended up to a width."""
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])))


class LinearPrograms:
    """Maximise c . x subject to A x <= 0, e . x = 1 and x >= 0, for a sequence of c.

    HiGHS solves the dual, min z subject to A' y + z e >= c and y >= 0, whose basis is
    as small as x, and x is its dual solution.  With one model, each c starts from the
    basis of the last (warm start), which takes a few pivots: half the time of the
    primal problem.

    Parameters
    ----------
    upper
        The rows of A.
    equal
        e, as one row.
    """

    def __init__(self, upper: Floats, equal: Floats) -> None:
        """Prepare the linear programs of admissible reports."""
        import highspy

        highs: Any = highspy
        self._optimal = highs.HighsModelStatus.kOptimal
        self._solver = highs.Highs()
        for name, value in {
            "output_flag": False,
            "presolve": "off",
            **ACCURACY,
        }.items():
            self._solver.setOptionValue(name, value)
        width = upper.shape[1]
        self._indices = np.arange(width, dtype=np.int32)
        self._unbounded = np.full(width, np.inf)
        empty = (
            np.zeros(width, dtype=np.int32),
            np.zeros(0, dtype=np.int32),
            np.zeros(0),
        )
        self._solver.addRows(width, np.zeros(width), self._unbounded, 0, *empty)
        self._add(equal, np.ones(1), np.full(1, -np.inf))
        self.add(upper)
        self.maximise(np.zeros(width))

    def add(self, rows: Floats) -> None:
        """Add constraints on admissible reports, padded with zeros to the width of
        A.
        """
        wide = padded(rows, len(self._indices))
        self._add(wide, np.zeros(len(rows)), np.zeros(len(rows)))

    def _add(self, rows: Floats, costs: Floats, lower: Floats) -> None:
        """Add constraints with their bounds to the linear programs of admissible
        reports.
        """
        sparse: Any = csr_array(rows)
        cells = sparse.nnz, sparse.indptr[:-1], sparse.indices, sparse.data
        self._solver.addCols(
            len(rows), costs, lower, np.full(len(rows), np.inf), *cells
        )
        self._solver.setOptionValue("simplex_strategy", PRIMAL)

    def maximise(self, gain: Floats) -> Floats | None:
        """Return the admissible x that maximises gain . x, gain padded with zeros; None
        on failure.

        It fails if the problem is unbounded, or if the solver fails.
        """
        width = len(self._indices)
        lower = np.pad(gain, (0, width - len(gain)))
        self._solver.changeRowsBounds(width, self._indices, lower, self._unbounded)
        for warm in (True, False):
            if not warm:
                self._solver.clearSolver()
            self._solver.run()
            if self._solver.getModelStatus() == self._optimal:
                self._solver.setOptionValue("simplex_strategy", DUAL)
                return np.array(self._solver.getSolution().row_dual)
        return None


class AdmissibleReports:
    """The cone of admissible reports, restricted to w . f = 1 at the nominal
    frequencies f.

    Parameters
    ----------
    limits
        The limits of the leakage.  One of them must bound the ratio of any two cells.
    frequencies
        The nominal frequencies f of the cells; reports are scaled to w . f = 1.
    """

    def __init__(self, limits: Sequence[RatioLimit], frequencies: Floats) -> None:
        """Prepare the cone of reports that are within limits."""
        self.frequencies = frequencies
        self.cells = len(frequencies)
        self._bounded = list[tuple[Floats, float]]()
        for bound in limits:
            if len(bound.counts) > 1:
                limit = min(bound.limit, MAX_LIMIT)
                ratio = math.exp(max(limit - MARGIN, limit / 2))
                self._bounded.append((bound.rows, ratio))

    def initial_reports(self) -> Floats:
        """Return the first admissible reports 1 +- t d for each direction d of a cell;
        their mean is 1.

        t is `INTERIOR` times the largest admissible one.
        """
        directions = np.eye(self.cells) - self.frequencies[:, None]
        directions = directions[np.abs(directions).max(axis=1) > 1e-9]
        lengths = self.reach(np.vstack([directions, -directions]))
        shortest = lengths.reshape(2, -1).min(axis=0)
        steps = INTERIOR * shortest[:, None] * directions
        return np.vstack([1 + steps, 1 - steps])

    def reach(self, directions: Floats) -> Floats:
        """Return the largest t of each direction d for which the report 1 + t d is
        admissible: within all limits.

        With rows r of a limit l, 1 + t max r.d <= e^l (1 + t min r.d).
        """
        lengths = np.full(len(directions), np.inf)
        for rows, ratio in self._bounded:
            means = directions @ rows.T
            with np.errstate(divide="ignore"):
                room = (ratio - 1) / np.maximum(
                    means.max(axis=1) - ratio * means.min(axis=1), 0.0
                )
            lengths = np.minimum(lengths, room)
        return lengths

    def shrunk(self, reports: Floats) -> Floats:
        """Return reports mixed with the neutral one until they are admissible: strictly
        within all limits.
        """
        kept = np.minimum(self.reach(reports - 1), 1.0)
        return np.asarray(1 + SHRINKING * kept[:, None] * (reports - 1))

    # Linear programs ------------------------------------------------------------------

    @cached_property
    def _programs(self) -> LinearPrograms:
        """The linear programs over all admissible reports."""
        return self._linear_programs(np.zeros((0, self.cells)))

    def _linear_programs(self, cuts: Floats) -> LinearPrograms:
        """Return the constraints on an admissible report w, cuts a . w <= 0 included.

        A limit of more than two rows has an auxiliary variable, the minimum of its
        means.
        """
        width = self.cells + sum(len(rows) > 2 for rows, _ in self._bounded)
        blocks = list[Floats]()
        minimum = self.cells
        for rows, ratio in self._bounded:
            if len(rows) == 2:
                block = padded(rows - ratio * rows[::-1], width)
            else:
                block = padded(np.vstack([rows, -rows]), width)
                block[: len(rows), minimum] = -ratio
                block[len(rows) :, minimum] = 1.0
                minimum += 1
            blocks.append(block)
        equal = padded(self.frequencies[None], width)
        return LinearPrograms(np.vstack([*blocks, padded(cuts, width)]), equal)

    def best_report(self, gain: Floats) -> Floats | None:
        """Return an admissible report that maximises gain . w; None if the solver
        fails.
        """
        solution = self._programs.maximise(gain / max(np.abs(gain).max(), 1e-300))
        if solution is None:
            return None
        report = solution[: self.cells]
        return np.asarray(report / (report @ self.frequencies))


# The product of randomised responses --------------------------------------------------


def product_reports(
    sizes: Sequence[int], budgets: Iterable[float], frequencies: Floats
) -> Floats:
    """Return the admissible reports of independent randomised responses, one row
    each.
    """
    likelihoods: Floats = np.ones((1, 1))
    for size, budget in zip(sizes, budgets, strict=True):
        response = np.ones((size, size))
        np.fill_diagonal(response, math.exp(budget))
        likelihoods = np.asarray(np.kron(likelihoods, response), dtype=np.float64)
    return np.asarray(likelihoods / (likelihoods @ frequencies)[:, None])


def product_budgets(
    limits: Sequence[RatioLimit], sizes: Sequence[int], epsilons: Sequence[float]
) -> list[float]:
    """Return the largest equal budgets of admissible randomised responses: independent,
    within all limits.

    Each is at most its answer's epsilon.  The leakage increases with every budget, so
    bisection finds them.
    """
    caps = [min(epsilon, MAX_LIMIT) for epsilon in epsilons]
    bounds = list[tuple[Floats, float]]()
    for bound in limits:
        ratio = math.exp(min(bound.limit, MAX_LIMIT) - MARGIN)
        bounds.append((bound.rows, ratio))
    flat = np.ones(math.prod(sizes))

    def is_within(budget: float) -> bool:
        """Return whether randomised responses of a budget are admissible."""
        reports = product_reports(sizes, [min(budget, cap) for cap in caps], flat).T
        means = [rows @ reports for rows, _ in bounds]
        return all(
            bool((mean.max(axis=0) <= ratio * mean.min(axis=0)).all())
            for mean, (_, ratio) in zip(means, bounds, strict=True)
        )

    low = 0.0
    high = max(caps)
    if is_within(high):
        low = high
    for _ in range(BISECTION_STEPS if low < high else 0):
        middle = (low + high) / 2
        if is_within(middle):
            low = middle
        else:
            high = middle
    return [min(low, cap) for cap in caps]
