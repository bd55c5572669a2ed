"""Forms that keep their limits for the people in the table, with one budget for each attribute.

Some need no search: single questions by their best mechanism, and everything at once.  For the
others `refine` maximises sum_j prices_j / v_j(eps_j) subject to T_k(eps) <= limit_k for every
attribute k of the table: a sequence of linear programs within a trust region, each answer drawn
back along the ray to budget 0, on which totals fall, until every total is within its limit.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from seepage._numerics import Floats, round_down, summed_up
from seepage.data.records import Records
from seepage.designs.equal_budgets import equal_split, largest_within
from seepage.designs.forms.form_problem import TOLERANCE, FittedForm, FormProblem, Indices
from seepage.designs.forms.form_search import Timer
from seepage.designs.forms.form_totals import ExactForms, FormTable
from seepage.errors import InputError
from seepage.leakage import leakage_matrix
from seepage.totals import total_leakage
from seepage.totals.result import GuaranteeError

MERGED_TIME = 0.2
"""Share of the time after which `merged` totals are given up."""

MERGED_WORK = 1e6
"""Distinct records x attributes up to which `merged` totals of all attributes are computed."""


def single_questions(problem: FormProblem, records: Records) -> list[FittedForm]:
    """Return other mechanisms than GRR for single questions, where they are more precise.

    A report with budget eps says at most eps about anything, whatever the mechanism, and what it
    says is `leakage_matrix`'s exact value; a budget is kept only where every value is within its
    limit at that very budget, since subset selection is not monotone in its budget.
    """
    chosen: dict[str, list[int]] = {}
    for item in problem.items:
        if len(item) == 1:
            name = problem.precisions.best_mechanism(item[0], float(problem.caps[item[0]]))
            if name != "grr":
                chosen.setdefault(name, []).append(item[0])
    found = []
    for name, indices in chosen.items():
        budgets = np.where(np.isin(np.arange(len(problem.domain)), indices), problem.caps, 0.0)
        values = leakage_matrix(records.pairs(), budgets, mechanism=name).values
        for j in indices:
            totals = values[:, j].copy()
            totals[j] = problem.caps[j]
            form = FittedForm((j,), problem.caps[[j]], totals, (name,), "exact")
            if problem.excess(totals, form.epsilons) <= 0 and problem.useful(form):
                found.append(form)
    return found


def coarse_form(
    problem: FormProblem, records: Records | None, form: Indices, timer: Timer | None = None
) -> FittedForm:
    """Return a form whose totals are the smaller of `merged` and `worst`, with equal budgets.

    `merged` is computed where there are records, and not too many.
    """
    whole = round_down(min(float(problem.limits.min()), problem.record_limit), 2)
    split = equal_split(whole, len(form))
    equal = problem.level_budgets(form, split)
    work = np.inf if records is None else len(records) * len(problem.domain)
    if records is not None and work <= MERGED_WORK:
        try:
            return _merged(problem, records, form, split, timer)
        except (GuaranteeError, _TimeUpError):
            pass
    return _coarse(problem, form, equal, [summed_up(equal.tolist())] * len(problem.domain), "worst")


class _TimeUpError(Exception):
    """`merged` totals took too long."""


def _merged(
    problem: FormProblem, records: Records, form: Indices, split: float, timer: Timer | None
) -> FittedForm:
    def totals(level: float) -> Floats:
        if timer is not None and timer.spent > MERGED_TIME * timer.seconds:
            raise _TimeUpError
        budgets = np.zeros(len(problem.domain))
        budgets[list(form)] = problem.level_budgets(form, level)
        found = total_leakage(records, budgets, mechanism="grr", guarantee="merged").values
        return np.minimum(found, summed_up(budgets.tolist()))

    def excess(level: float) -> float:
        return problem.excess(totals(level), problem.level_budgets(form, level))

    level = split
    if excess(split * 1.01) <= 0:
        cap = float(problem.caps[list(form)].max())
        level = largest_within(excess, min(3 * split, cap), max(TOLERANCE, 1e-2 * split))
        if level >= 3 * split:
            level = largest_within(excess, cap, max(TOLERANCE, 1e-2 * split))
    budgets = problem.level_budgets(form, level)
    values = totals(level)
    name = "merged" if values.max() < summed_up(budgets.tolist()) * (1 - 1e-12) else "worst"
    return _coarse(problem, form, budgets, values, name)


def _coarse(
    problem: FormProblem, form: Indices, epsilons: Floats, totals: Iterable[float], name: str
) -> FittedForm:
    best = map(problem.precisions.best_mechanism, form, epsilons.tolist())
    return FittedForm(form, epsilons, np.array(totals), tuple(best), name)


# Budgets refined ----------------------------------------------------------------------------------

STEP = 1e-4
"""Relative step of the differences."""

SMALLEST = 1e-2
"""Share of the largest budget below which none is tried; a form without the attribute is better."""

FIRST, LAST = 0.25, 0.01
"""Trust region as a share of each budget: where it starts, and where the search ends."""

BETTER = 1e-5


def refine(problem: FormProblem, form: FittedForm, prices: Floats) -> FittedForm:
    """Return the form with budgets that gain at least as much at some prices.

    A form whose totals are coarser than the scorer's stays as it is.
    """
    if len(form.attributes) == 1 or form.guarantee != problem.scorer.guarantee:
        return form
    table = problem.scorer.table(form.attributes)
    epsilons, trust = form.epsilons, FIRST
    gain = _gain(problem, table, epsilons, prices)
    while trust >= LAST:
        wished = _step(problem, table, epsilons, prices, trust)
        found = _drawn_back(problem, table, wished)
        value = _gain(problem, table, found, prices)
        if value > gain * (1 + BETTER):
            epsilons, gain = found, value
        else:
            trust /= 2.5
    return problem.fitted(table, epsilons)


def _gain(problem: FormProblem, table: FormTable, epsilons: Floats, prices: Floats) -> float:
    return float(problem.precisions.row(table.attributes, epsilons.tolist()) @ prices)


def _step(
    problem: FormProblem, table: FormTable, epsilons: Floats, prices: Floats, trust: float
) -> Floats:
    """Return the best budgets by the linearised gain and totals."""
    from scipy.optimize import linprog

    solve: Any = linprog
    bound = np.isfinite(problem.limits)
    now = problem.scorer.totals(table, epsilons)[bound]
    gain = _gain(problem, table, epsilons, prices)
    slopes, gains = np.empty((len(now), len(epsilons))), np.empty(len(epsilons))
    for index, epsilon in enumerate(epsilons.tolist()):
        moved = epsilons.copy()
        moved[index] = epsilon * (1 + STEP)
        width = moved[index] - epsilon
        slopes[:, index] = (problem.scorer.totals(table, moved)[bound] - now) / width
        gains[index] = (_gain(problem, table, moved, prices) - gain) / width
    caps = problem.caps[list(table.attributes)]
    least = np.maximum(problem.least[list(table.attributes)], SMALLEST * caps)
    low = np.minimum(np.maximum(least - epsilons, -trust * epsilons), 0.0)
    high = np.maximum(np.minimum(caps - epsilons, trust * epsilons), 0.0)
    rows, slack = slopes, problem.limits[bound] - now
    if problem.record_limit < np.inf:
        rows = np.vstack([rows, np.ones(len(epsilons))])
        slack = np.append(slack, problem.record_limit - epsilons.sum())
    answer = solve(
        -gains / max(np.abs(gains).max(), 1e-300),
        A_ub=rows,
        b_ub=np.maximum(slack, 0.0),
        bounds=np.stack([low, high], axis=1),
        method="highs",
    )
    return epsilons + answer.x if answer.status == 0 else epsilons


def _drawn_back(problem: FormProblem, table: FormTable, wished: Floats) -> Floats:
    """Return the largest multiple of some budgets that keeps the limits, none above its cap."""
    caps = problem.caps[list(table.attributes)]

    def scaled(share: float) -> Floats:
        return np.minimum(wished * share, caps)

    def excess(share: float) -> float:
        budgets = scaled(share)
        return problem.excess(problem.scorer.totals(table, budgets), budgets)

    return scaled(largest_within(excess, 1.05, 1e-7))


class TableCertifier:
    """Totals of the table itself: the search's own totals, with budgets of any proportions.

    Parameters
    ----------
    problem
        The conditions; totals by `ExactForms`.
    records
        The people.
    """

    scope = "table"
    confidence: float | None = None
    pairs = 32
    """Pairs that get one budget for each attribute where no larger form pays."""

    def __init__(self, problem: FormProblem, records: Records) -> None:
        assert isinstance(problem.scorer, ExactForms)
        self.problem, self.records, self.scorer = problem, records, problem.scorer

    @property
    def _stratified(self) -> bool:
        return self.scorer.public or self.scorer.known

    def singles(self) -> list[FittedForm]:
        """Return single questions by other mechanisms than GRR."""
        return [] if self._stratified else single_questions(self.problem, self.records)

    def by_budget(self, j: int, timer: Timer) -> FittedForm | None:
        """Return no single question that rests on its budget alone: totals are lower."""
        return None

    def whole(self, timer: Timer) -> list[FittedForm]:
        """Return forms that ask all attributes: the calibrated collection, and the split.

        With `exact` totals where its table is small enough, and with the smaller of `merged` and
        `worst`, for which any mechanism will do; none of the latter where attributes are public.
        """
        problem, form, found = self.problem, self.problem.everything, list[FittedForm]()
        if problem.clashes(form):
            return found
        if exact := problem.scorer.fits(form):
            found.append(problem.fit(form))
        if not self.scorer.public:
            counted = None if self.scorer.known or exact else self.records
            found.append(coarse_form(problem, counted, form, timer))
        return [one for one in found if problem.useful(one)]

    def too_large(self, item: Indices) -> FittedForm:
        """Return the form of attributes asked together whose table is too large to be counted."""
        if self._stratified:
            raise InputError(
                f"the table of {self.problem.listed(item)} is too large for exact totals; "
                "ask fewer together, or merge values"
            )
        return coarse_form(self.problem, self.records, item)

    def first(self, form: FittedForm) -> FittedForm:
        """Return a form with equal budgets as it may enter the pool."""
        return form

    def accept(self, form: FittedForm, prices: Floats, thorough: bool) -> FittedForm:
        """Return a form that the search found as it may enter the pool."""
        return refine(self.problem, form, prices) if thorough else form

    def settled(self, forms: list[FittedForm]) -> list[FittedForm]:
        """Return the forms of the design, their totals computed again without compiled kernels.

        Budgets are lowered where the two differ by a rounding and a limit is met exactly.
        """
        return [self._checked(form) for form in forms]

    def _checked(self, form: FittedForm) -> FittedForm:
        if form.guarantee == "exact" and set(form.mechanisms) == {"grr"}:
            for _ in range(3):
                again = self.scorer.again(form.attributes, form.epsilons)
                totals = np.maximum(form.totals, again)
                form = replace(form, totals=totals)
                if self.problem.excess(totals, form.epsilons) <= 0:
                    break
                table, lower = self.scorer.table(form.attributes), form.epsilons * (1 - 1e-9)
                form = self.problem.fitted(table, lower)
        return form

    def notes(self, forms: list[FittedForm]) -> Iterator[str]:
        """Yield for whom the limits hold."""
        yield (
            "every limit holds for the people in this table, and for them only; "
            'scope="population" keeps it for those whom the table is a sample of'
        )
