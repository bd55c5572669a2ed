"""A-optimal designs: the best shares of people over forms.

A quantity is an attribute's frequencies, or the joint distribution of attributes that are
asked together.  v_j(f) is the variance of the unbiased estimate of quantity j from one report of
form f, summed over the values, for a person drawn from the population: the sum of noise and
sampling variance.  Its precision is V[f, j] = 1 / v_j(f), and 0 if the form does not ask it.  With
shares pi the precision of j is P_j = sum_f pi_f V[f, j], for n people its expected squared error
is 1 / (n P_j), and the objective

    phi(pi) = sum_j w_j / P_j

is convex: an A-optimal design [Silvey, Titterington and Torsney 1978; theory-forms].  `FormPool` is
the restricted master problem of column generation: the best shares over the forms found so far.
"""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seepage._numerics import Floats
from seepage.data.records import Records
from seepage.designs.form import Form
from seepage.mechanisms.direct import GRR, SubsetSelection, best_mechanism

if TYPE_CHECKING:
    from seepage.designs.form_problem import FormProblem

MIN_REDUCED_GAIN = 2e-4
"""Minimum reduced gain g_f / phi - 1 of a form that enters the pool, about the final gap."""

UPDATES_PER_PRUNING = 400
"""Multiplicative updates between two removals of forms whose shares have converged to 0."""

ZERO_SHARE = 1e-12
"""A share below this counts as 0 if its form has a negative reduced gain, so that it decreases."""

MAX_REENTRIES = 4
"""Maximum number of times that forms with share 0 re-enter while the master problem is solved."""


MIN_SHARE = 1e-3
"""Minimum share of people of a form in the result; the reported gap includes what this costs."""

MIN_VARIANT_RATIO = 0.1
"""Minimum share of a form relative to the largest share of a form with the same attributes.

Forms that differ in their budgets only are variants; small ones are dropped as well."""

MINIMAX_ROUNDS = 30
"""Updates of the weights of errors before each solution for the largest error."""

FAMILIES = {"grr": GRR, "ss": SubsetSelection}
"""The mechanisms that `best_mechanism` names."""

GRID_SIZE = 1024
"""Number of budgets at which precisions are tabulated, to bound the gains of candidate forms."""


def grr_terms(k: int, epsilon: float) -> tuple[float, float]:
    """Return (alpha, beta) with E[a_u^2 given x] = alpha + beta [x = u].

    a_u = ([y = u] - q) / (p - q) is the unbiased estimate of [x = u] from a GRR report y, so
    alpha = q (1 - q) / (p - q)^2 and beta = (1 - 2 q) / (p - q); infinite at budget 0.
    """
    if epsilon <= 0:
        return math.inf, math.inf
    growth = math.exp(-epsilon)
    rest = 1 + (k - 1) * growth
    q, gap = growth / rest, -math.expm1(-epsilon) / rest
    return q * (1 - q) / gap / gap, (1 - 2 * q) / gap


class Precisions:
    """Precision 1 / v of each quantity from one report of a form of GRR reports.

    Parameters
    ----------
    records
        The records, for the frequencies.
    joint
        Attributes, by ascending index, of each joint distribution that is to be estimated.
    rows
        B of the attributes of which another statistic than the frequencies is to be estimated
        [`designs.wanted`].

    Attributes
    ----------
    quantities
        The attributes of each quantity: single ones, then joint distributions.

    Notes
    -----
    With f the frequencies, v = k alpha + beta - sum f^2 for one attribute; for a joint distribution
    the product of k alpha + beta over its attributes, minus sum f^2 over its cells, since reports
    are independent given the answers.  For a statistic B, with b_y its columns and b their sum,
    v = sum_y P(y) |b_y - q b|^2 / (p - q)^2 - |B f|^2.  An attribute with one value has v = 0; its
    precision is set to 0, as there is nothing to estimate.

    Examples
    --------
    >>> import seepage as sp
    >>> domain = sp.Domain([sp.Attribute("a", ("0", "1"))])
    >>> people = sp.Records(domain, [[0], [1]])
    >>> noise = sp.GRR(2, 1.0).variance(1, [0.5, 0.5]).sum()
    >>> float(round(1 / Precisions(people).single(0, 1.0) - noise, 12))
    0.5
    """

    def __init__(
        self,
        records: Records,
        joint: Sequence[tuple[int, ...]] = (),
        rows: Mapping[int, Floats] | None = None,
    ) -> None:
        self.rows = dict(rows or {})
        self.sizes = records.domain.sizes
        number = max(records.records, 1)
        attributes = range(len(self.sizes))
        self.frequencies = [records.marginal(j) / number for j in attributes]
        wanted = [self.rows.get(j, np.eye(size)) for j, size in enumerate(self.sizes)]
        products = zip(wanted, self.frequencies, strict=True)
        self.squares = [float(((b @ f) ** 2).sum()) for b, f in products]
        self.joint = tuple(joint)
        self.quantities = [*((j,) for j in attributes), *self.joint]
        self._mechanism = lru_cache(None)(lambda name, k, epsilon: FAMILIES[name](k, epsilon))
        self._joint_squares = [
            float(((records.counts(list(table)) / number) ** 2).sum()) for table in self.joint
        ]

    def _second_moment(self, j: int, epsilon: float) -> float:
        """Return k alpha + beta: the expected sum of squares of one report's estimate."""
        alpha, beta = grr_terms(self.sizes[j], epsilon)
        return self.sizes[j] * alpha + beta

    def _moment(self, j: int, epsilon: float) -> float:
        """Return the same of the statistic that is wanted."""
        if j not in self.rows or epsilon <= 0:
            return self._second_moment(j, epsilon)
        growth, rows = math.exp(-epsilon), self.rows[j]
        rest = 1 + (self.sizes[j] - 1) * growth
        q, gap = growth / rest, -math.expm1(-epsilon) / rest
        distances = ((rows - q * rows.sum(axis=1, keepdims=True)) ** 2).sum(axis=0)
        return float((q + gap * self.frequencies[j]) @ distances) / gap / gap

    def single(self, j: int, epsilon: float) -> float:
        """Return the precision of attribute j from one report with this budget."""
        if epsilon <= 0 or self.sizes[j] == 1:
            return 0.0
        return 1 / (self._moment(j, epsilon) - self.squares[j])

    def of_mechanism(self, j: int, name: str, epsilon: float) -> float:
        """Return the precision of attribute j from one report of a mechanism in `FAMILIES`."""
        if j in self.rows:
            return self.single(j, epsilon)
        made = self._mechanism(name, self.sizes[j], epsilon)
        noise = float(made.variance(1, self.frequencies[j]).sum())
        variance = noise + 1 - self.squares[j]
        return 1 / variance if variance > 0 else 0.0

    def best_mechanism(self, j: int, epsilon: float) -> str:
        """Return the pure mechanism with the highest precision of attribute j; ties go to GRR.

        GRR for a mean: reports that are shaped to it are far more precise than any of these.
        """
        return "grr" if j in self.rows else best_mechanism(self.sizes[j], epsilon).name

    def best(self, j: int, epsilon: float) -> float:
        """Return the highest precision of attribute j from one report of a pure mechanism."""
        return self.of_mechanism(j, self.best_mechanism(j, epsilon), epsilon)

    def row(self, attributes: Sequence[int], epsilons: Sequence[float]) -> Floats:
        """Return V[f, :], the precision of every quantity from one report of a form."""
        row = np.zeros(len(self.quantities))
        budgets = dict(zip(attributes, epsilons, strict=True))
        for j, epsilon in budgets.items():
            row[j] = self.single(j, epsilon)
        for index, (table, square) in enumerate(zip(self.joint, self._joint_squares, strict=True)):
            if min(budgets.get(j, 0.0) for j in table) > 0:
                moment = math.prod(self._second_moment(j, budgets[j]) for j in table)
                row[len(self.sizes) + index] = 1 / (moment - square)
        return row

    def tabulate(self, caps: Floats) -> tuple[Floats, Floats]:
        """Return a grid of budgets, and the precision of each attribute at each of them.

        Parameters
        ----------
        caps
            The largest budget of each attribute; its precision is constant beyond.
        """
        grid = np.linspace(0.0, float(caps.max()), GRID_SIZE)
        table = np.zeros((len(self.sizes), GRID_SIZE))
        squares: dict[int, Floats] = {}
        for j, cap in enumerate(caps.tolist()):
            size = self.sizes[j]
            if size > 1 and cap > 0:
                key = -j - 1 if j in self.rows else size
                if key not in squares:
                    squares[key] = np.array([self._moment(j, e) for e in grid.tolist()])
                table[j] = 1 / (squares[key] - self.squares[j])
                table[j, grid > cap] = self.single(j, cap)
        return grid, table


class ShareSolution(NamedTuple):
    """A solution of the master problem: shares of forms, objective, optimality gap, prices."""

    shares: Floats
    """pi, one share for each form; they sum to 1."""
    objective: float
    """phi(pi)."""
    gap: float
    """Upper bound of phi(pi) / min phi - 1 over the same forms."""
    prices: Floats
    """Dual prices w_j / P_j^2, one for each quantity."""


def evaluate(precisions: Floats, weights: Floats, shares: Floats) -> ShareSolution:
    """Return objective, prices, and the optimality gap of the equivalence theorem, at given shares.

    With g_f = sum_j w_j V[f, j] / P_j^2, phi <= (1 + gap) min phi, gap = max_f g_f / phi - 1.

    Examples
    --------
    >>> found = evaluate(np.eye(2), np.ones(2), np.array([0.5, 0.5]))
    >>> found.objective, found.gap
    (4.0, 0.0)
    """
    used = weights > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = shares @ precisions
        prices = np.where(used, weights / precision**2, 0.0)
        objective = float((weights[used] / precision[used]).sum())
        if not np.isfinite(objective):
            return ShareSolution(shares, np.inf, np.inf, prices)
        gap = float((precisions @ prices).max() / objective - 1)
    return ShareSolution(shares, objective, max(gap, 0.0), prices)


def best_shares(
    precisions: Floats,
    weights: Floats,
    start: Floats,
    tolerance: float = 1e-4,
    max_updates: int = 4000,
) -> ShareSolution:
    """Return shares with a gap of at most `tolerance`, or those after `max_updates` updates.

    The multiplicative update pi_f <- pi_f sqrt(g_f), normalised, never increases phi.  A form with
    start share 0 keeps it, but counts in the gap.

    Examples
    --------
    >>> forms = np.array([[1.0, 0.0], [0.0, 4.0], [0.6, 1.0]])
    >>> found = best_shares(forms, np.ones(2), np.full(3, 1 / 3), 1e-6)
    >>> found.shares.round(3).tolist(), found.gap < 1e-6
    ([0.667, 0.333, 0.0], True)
    """
    shares = start / start.sum()
    active = np.flatnonzero(shares)
    updates, used = 0, weights > 0
    pi, importance = shares[active], weights[used]
    rows = np.ascontiguousarray(precisions[active][:, used])
    while updates < max_updates:
        for _ in range(min(UPDATES_PER_PRUNING, max_updates - updates)):
            updates += 1
            precision = pi @ rows
            gains = rows @ (importance / precision**2)
            objective = float((importance / precision).sum())
            if gains.max() <= objective * (1 + tolerance):
                updates = max_updates
                break
            pi = pi * np.sqrt(gains)
            pi /= pi.sum()
        kept = (pi > ZERO_SHARE) | (gains > objective)
        active, pi, rows = active[kept], pi[kept] / pi[kept].sum(), rows[kept]
    shares = np.zeros(len(precisions))
    shares[active] = pi
    return evaluate(precisions, weights, shares)


class FormPool:
    """The columns of the restricted master problem: forms, their precisions, and their shares.

    Parameters
    ----------
    problem
        The conditions of the design.

    Attributes
    ----------
    forms, rows, shares
        The forms, the precision of every quantity from each (one row per form), and the best
        shares found so far.
    keys
        Rounded budgets of every form added so far, to recognise duplicates.
    """

    def __init__(self, problem: "FormProblem") -> None:
        self.problem = problem
        self.forms: list[Form] = []
        self.rows = np.zeros((0, len(problem.precisions.quantities)))
        self.shares = np.zeros(0)
        self.keys: set[tuple[Any, ...]] = set()

    def add(self, forms: list[Form], weight: float = 0.1) -> None:
        """Add forms that are not in the pool yet; they start with `weight` of the shares."""
        forms = [form for form in forms if self._add_key(form)]
        if not forms:
            return
        self.rows = np.vstack([self.rows, *map(self.problem.row, forms)])
        self.forms = [*self.forms, *forms]
        start = weight if len(self.shares) else 1.0
        new_shares = np.full(len(forms), start / len(forms))
        self.shares = np.concatenate([self.shares * (1 - start), new_shares])

    def _add_key(self, form: Form) -> bool:
        """Add the key of a form; return False for a duplicate, with budgets equal to 4 digits."""
        digits = np.round(form.epsilons / form.max_budget, 4).tolist()
        key = (form.attributes, form.mechanisms, round(math.log(form.max_budget), 5), *digits)
        if not form.is_product:
            key = (*key, *np.round(self.problem.row(form), 6).tolist())
        if key in self.keys:
            return False
        self.keys.add(key)
        return True

    def solve_master(self, tolerance: float, max_updates: int) -> ShareSolution:
        """Improve the shares; forms with share 0 and a positive reduced gain re-enter.

        For the largest error c_j / P_j the weights are improved first: w_j <- w_j c_j / P_j.  The
        minimax design is A-optimal at its own weights [Pukelsheim 2006, chapter 9].
        """
        problem, scale = self.problem, self.problem.scale
        for _ in range(0 if scale is None else MINIMAX_ROUNDS):
            assert scale is not None
            weights = problem.importance
            self.shares = best_shares(self.rows, weights, self.shares + 1e-3, 1e-2, 100).shares
            with np.errstate(divide="ignore", invalid="ignore"):
                grown = np.where(weights > 0, weights * scale / (self.shares @ self.rows), 0.0)
            if np.isfinite(grown).all():
                problem.importance = np.maximum(grown / grown.max(), 1e-9 * (weights > 0))
        solution = self.solution
        for _ in range(MAX_REENTRIES):
            improving = (self.shares < 1e-9) & (self.rows @ solution.prices > solution.objective)
            start = self.shares
            if improving.any():
                start = self.shares * 0.95 + 0.05 * improving / improving.sum()
            better = best_shares(self.rows, self.problem.importance, start, tolerance, max_updates)
            if better.objective <= solution.objective:
                solution, self.shares = better, better.shares
            if solution.gap <= tolerance or not improving.any():
                break
        return solution

    def final_solution(self) -> ShareSolution:
        """Return the best shares, those below the minimum shares dropped where that is possible."""
        self.solve_master(1e-4, 20_000)
        largest: dict[tuple[str, ...], float] = {}
        for form, share in zip(self.forms, self.shares.tolist(), strict=True):
            largest[form.attributes] = max(share, largest.get(form.attributes, 0.0))
        minimum = [
            max(MIN_SHARE, MIN_VARIANT_RATIO * largest[form.attributes]) for form in self.forms
        ]
        start, weights = np.where(self.shares >= minimum, self.shares, 0.0), self.problem.importance
        if math.isfinite(evaluate(self.rows, weights, start / start.sum()).objective):
            self.shares = best_shares(self.rows, weights, start, 1e-4, 20_000).shares
        return self.solution

    @property
    def solution(self) -> ShareSolution:
        """Objective, gap and prices at the current shares."""
        return evaluate(self.rows, self.problem.importance, self.shares)

    def support(self, least: float = 1e-4) -> list[Form]:
        """Return the forms with a share above `least`, in descending order of the shares."""
        order = np.argsort(-self.shares, kind="stable").tolist()
        return [self.forms[index] for index in order if self.shares[index] > least]

    def is_improving(self, form: Form, solution: ShareSolution) -> bool:
        """Return whether the reduced gain g_f / phi - 1 is above `MIN_REDUCED_GAIN`."""
        gain = self.problem.gain(form, solution.prices)
        return gain > solution.objective * (1 + MIN_REDUCED_GAIN)
