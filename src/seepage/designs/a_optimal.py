"""A-optimal designs: the best shares of people over forms, and other strategies to
compare.

A quantity is an attribute's frequencies, or the joint distribution of attributes that
are asked together.  v_j(f) is the variance of the unbiased estimate of quantity j from
one report of form f, summed over the values, for a person drawn from the population:
the sum of noise and sampling variance.  Its precision is V[f, j] = 1 / v_j(f), and 0 if
the form does not ask it.  With shares pi the precision of j is P_j = sum_f pi_f V[f,
j], for n people its expected squared error is 1 / (n P_j), and the objective

    phi(pi) = sum_j w_j / P_j

is convex: an A-optimal design [Silvey, Titterington and Torsney 1978; theory-forms].
`FormPool` is the restricted master problem of column generation: the best shares over
the forms found so far.

The errors of other strategies within the same limit are closed-form variances of the
same kind. SPL, which keeps a limit by its budgets alone, is not compared if attributes
are public, since public values leak besides the reports.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from seepage._numerics import Floats, Integers
from seepage.designs.form import Form, Strategy
from seepage.designs.form_problem import MAX_BUDGET, FormProblem, equal_split
from seepage.designs.report_channels import stored_number

MIN_REDUCED_GAIN = 2e-4
"""Minimum reduced gain g_f / phi - 1 of a form that enters the pool, about the final
gap."""

UPDATES_PER_PRUNING = 400
"""Multiplicative updates between two removals of forms whose shares have converged to
0."""

ZERO_SHARE = 1e-12
"""A share below this counts as 0 if its form has a negative reduced gain, so that it
decreases."""

MAX_REENTRIES = 4
"""Maximum number of times that forms with share 0 re-enter while the master problem is
solved."""


MIN_SHARE = 1e-3
"""Minimum share of people of a form in the result; the reported gap includes what this
costs."""

MIN_VARIANT_RATIO = 0.1
"""Minimum share of a form relative to the largest share of a form with the same
attributes.

Forms that differ in their budgets only are variants; small ones are dropped as well."""

MINIMAX_ROUNDS = 30
"""Updates of the weights of errors before each solution for the largest error."""


class ShareSolution(NamedTuple):
    """A solution of the master problem: shares of forms, objective, optimality gap,
    prices.
    """

    shares: Floats
    """pi, one share for each form; they sum to 1."""
    objective: float
    """phi(pi)."""
    gap: float
    """Upper bound of phi(pi) / min phi - 1 over the same forms."""
    prices: Floats
    """Dual prices w_j / P_j^2, one for each quantity."""


def evaluate(precisions: Floats, weights: Floats, shares: Floats) -> ShareSolution:
    """Return objective, prices, and the optimality gap of the equivalence theorem, at
    given shares.

    With g_f = sum_j w_j V[f, j] / P_j^2, phi <= (1 + gap) min phi, gap = max_f g_f /
    phi - 1.

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
    """Return shares with a gap of at most `tolerance`, or those after `max_updates`
    updates.

    The multiplicative update pi_f <- pi_f sqrt(g_f), normalised, never increases phi.
    A form with start share 0 keeps it, but counts in the gap.

    Examples
    --------
    >>> forms = np.array([[1.0, 0.0], [0.0, 4.0], [0.6, 1.0]])
    >>> found = best_shares(forms, np.ones(2), np.full(3, 1 / 3), 1e-6)
    >>> found.shares.round(3).tolist(), found.gap < 1e-6
    ([0.667, 0.333, 0.0], True)
    """
    shares = start / start.sum()
    active = np.flatnonzero(shares)
    updates = 0
    used = weights > 0
    pi = shares[active]
    importance = weights[used]
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
        active = active[kept]
        pi = pi[kept] / pi[kept].sum()
        rows = rows[kept]
    shares = np.zeros(len(precisions))
    shares[active] = pi
    return evaluate(precisions, weights, shares)


class FormPool:
    """The columns of the restricted master problem: forms, their precisions, and their
    shares.

    Parameters
    ----------
    problem
        The conditions of the design.

    Attributes
    ----------
    forms, rows, shares
        The forms, the precision of every quantity from each (one row per form), and the
        best shares found so far.
    keys
        Rounded budgets of every form added so far, to recognise duplicates.
    """

    def __init__(self, problem: FormProblem) -> None:
        self.problem = problem
        self.forms: list[Form] = []
        self.rows = np.zeros((0, len(problem.precisions.quantities)))
        self.shares = np.zeros(0)
        self.keys: set[tuple[Any, ...]] = set()

    def add(self, forms: list[Form], weight: float = 0.1) -> None:
        """Add forms that are not in the pool yet; they start with `weight` of the
        shares.
        """
        forms = [form for form in forms if self._add_key(form)]
        if not forms:
            return
        self.rows = np.vstack([self.rows, *map(self.problem.row, forms)])
        self.forms = [*self.forms, *forms]
        start = weight if len(self.shares) else 1.0
        new_shares = np.full(len(forms), start / len(forms))
        self.shares = np.concatenate([self.shares * (1 - start), new_shares])

    def _add_key(self, form: Form) -> bool:
        """Add the key of a form; return False for a duplicate, with budgets equal to 4
        digits.
        """
        digits = np.round(form.epsilons / form.max_budget, 4).tolist()
        key = (
            form.attributes,
            form.mechanisms,
            round(math.log(form.max_budget), 5),
            *digits,
        )
        if not form.is_product:
            key = (*key, *np.round(self.problem.row(form), 6).tolist())
        if key in self.keys:
            return False
        self.keys.add(key)
        return True

    def solve_master(self, tolerance: float, max_updates: int) -> ShareSolution:
        """Improve the shares; forms with share 0 and a positive reduced gain re-enter.

        For the largest error c_j / P_j the weights are improved first: w_j <- w_j c_j /
        P_j.  The minimax design is A-optimal at its own weights [Pukelsheim 2006,
        chapter 9].
        """
        problem = self.problem
        scale = self.problem.scale
        for _ in range(0 if scale is None else MINIMAX_ROUNDS):
            assert scale is not None
            weights = problem.importance
            self.shares = best_shares(
                self.rows, weights, self.shares + 1e-3, 1e-2, 100
            ).shares
            with np.errstate(divide="ignore", invalid="ignore"):
                grown = np.where(
                    weights > 0, weights * scale / (self.shares @ self.rows), 0.0
                )
            if np.isfinite(grown).all():
                problem.importance = np.maximum(
                    grown / grown.max(), 1e-9 * (weights > 0)
                )
        solution = self.solution
        for _ in range(MAX_REENTRIES):
            improving = (self.shares < 1e-9) & (
                self.rows @ solution.prices > solution.objective
            )
            start = self.shares
            if improving.any():
                start = self.shares * 0.95 + 0.05 * improving / improving.sum()
            better = best_shares(
                self.rows, self.problem.importance, start, tolerance, max_updates
            )
            if better.objective <= solution.objective:
                solution = better
                self.shares = better.shares
            if solution.gap <= tolerance or not improving.any():
                break
        return solution

    def final_solution(self) -> ShareSolution:
        """Return the best shares, those below the minimum shares dropped where that is
        possible.
        """
        self.solve_master(1e-4, 20_000)
        largest: dict[tuple[str, ...], float] = {}
        for form, share in zip(self.forms, self.shares.tolist(), strict=True):
            largest[form.attributes] = max(share, largest.get(form.attributes, 0.0))
        minimum = [
            max(MIN_SHARE, MIN_VARIANT_RATIO * largest[form.attributes])
            for form in self.forms
        ]
        start = np.where(self.shares >= minimum, self.shares, 0.0)
        weights = self.problem.importance
        if math.isfinite(evaluate(self.rows, weights, start / start.sum()).objective):
            self.shares = best_shares(self.rows, weights, start, 1e-4, 20_000).shares
        return self.solution

    @property
    def solution(self) -> ShareSolution:
        """Objective, gap and prices at the current shares."""
        return evaluate(self.rows, self.problem.importance, self.shares)

    def support(self, least: float = 1e-4) -> list[Form]:
        """Return the forms with a share above `least`, in descending order of the
        shares.
        """
        order = np.argsort(-self.shares, kind="stable").tolist()
        return [self.forms[index] for index in order if self.shares[index] > least]

    def is_improving(self, form: Form, solution: ShareSolution) -> bool:
        """Return whether the reduced gain g_f / phi - 1 is above `MIN_REDUCED_GAIN`."""
        gain = self.problem.gain(form, solution.prices)
        return gain > solution.objective * (1 + MIN_REDUCED_GAIN)


# Other strategies within the same limit -----------------------------------------------

SPLIT = "equal split (SPL)"
CALIBRATED = "everyone asked everything, calibrated"
UNIFORM_SMP = "one random attribute each (SMP)"
OPTIMAL_SMP = "one attribute each, best shares (SMP)"
DESIGN = "some attributes each (forms)"
SHAPED = "some attributes each (shaped forms)"
RECORD_SMP = "one attribute each, at the whole record's epsilon (SMP)"
"""SMP whose one report may tell what a form of the design tells about the whole record:
the rival against an adversary who knows all other answers, beyond the limits of single
attributes."""
NO_NOISE = "no privacy, everyone asked everything"
BEYOND = (RECORD_SMP, NO_NOISE)
"""Strategies that do not keep the limits."""


def compare_designs(
    problem: FormProblem,
    people: int,
    singles: Sequence[Form],
    full_forms: Sequence[Form],
    forms: Sequence[Form],
    errors: Floats,
) -> tuple[Strategy, ...]:
    """Return the strategies, the design last, on the attributes asked.

    Parameters
    ----------
    problem, people
        The constraints, and the number of people of the errors.
    singles, full_forms
        Forms of one attribute, and forms of all attributes.
    forms, errors
        The forms of the design, and its error of each attribute.
    """
    asked = np.flatnonzero(
        problem.collected & (problem.importance[: len(problem.domain)] > 0)
    )
    names, found = [problem.domain.names[j] for j in asked], list[Strategy]()
    limit = float(problem.limits.min())
    precisions = problem.precisions

    def add(name: str, rests_on: str, errors: Iterable[float], record: float) -> None:
        strategy = Strategy(
            name=name,
            rests_on=rests_on,
            certified=name not in BEYOND,
            errors=dict(zip(names, map(stored_number, errors), strict=True)),
            record=stored_number(record),
        )
        found.append(strategy)

    def best_precisions(budget: float) -> Floats:
        return np.array([precisions.best(j, budget) for j in asked.tolist()])

    if not problem.public:
        add(
            SPLIT,
            "worst",
            _errors(best_precisions(equal_split(limit, len(asked))), people),
            limit,
        )
    if full_forms:
        full = min(full_forms, key=lambda form: (1 / problem.row(form)[asked]).sum())
        add(
            CALIBRATED,
            full.guarantee,
            _errors(problem.row(full)[asked], people),
            full.record,
        )
    ascending = sorted(singles, key=lambda form: float(problem.row(form).max()))
    best = {problem.indices(form): form for form in ascending}
    each = np.array([problem.row(best[j,])[j] for j in asked.tolist()])
    budget = max(best[j,].max_budget for j in asked.tolist())
    is_within = problem.fixed_caps and budget <= limit and not problem.public
    guarantee = "worst" if is_within else "exact"
    add(UNIFORM_SMP, guarantee, _errors(each * (1 / len(asked)), people), budget)
    add(
        OPTIMAL_SMP, guarantee, _errors(_best_smp(problem, asked, each), people), budget
    )
    record = max(form.record for form in forms)
    rival = _best_smp(problem, asked, best_precisions(min(record, MAX_BUDGET)))
    add(RECORD_SMP, "exceeds the limits", _errors(rival, people), record)
    without = [precisions.sampling_variance(j) / people for j in asked.tolist()]
    add(NO_NOISE, "exceeds the limits", without, math.inf)
    name = DESIGN if all(form.is_product for form in forms) else SHAPED
    guarantees = ", ".join(sorted({form.guarantee for form in forms}))
    add(name, guarantees, errors[asked].tolist(), record)
    return tuple(found)


def _best_smp(problem: FormProblem, asked: Integers, precisions: Floats) -> Floats:
    """Return the precisions pi_j P_j of forms of one attribute each with the best
    shares pi.

    With precision P_j of one report: pi_j ~ sqrt(w_j / P_j) for the mean of w_j / (pi_j
    P_j), and pi_j ~ c_j / P_j for the largest c_j / (pi_j P_j).
    """
    if problem.scale is None:
        shares = np.sqrt(problem.importance[asked] / precisions)
    else:
        shares = problem.scale[asked] / precisions
    return np.asarray(precisions * (shares / shares.sum()))


def _errors(precisions: Floats, people: int) -> list[float]:
    """Return 1 / (n P) of each precision P, for n people."""
    return [1 / (people * precision) for precision in precisions.tolist()]
