"""Forms that need no search: single questions by their best mechanism, and everything at once."""

from collections.abc import Iterable

import numpy as np

from seepage._numerics import Floats, round_down, summed_up
from seepage.data.records import Records
from seepage.designs.equal_budgets import equal_split, largest_within
from seepage.designs.forms.form_problem import TOLERANCE, FittedForm, Form, FormProblem
from seepage.designs.forms.form_search import Timer
from seepage.leakage import leakage_matrix
from seepage.mechanisms import registered
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
            name = best_mechanism(problem, item[0], float(problem.caps[item[0]]))
            if name != "grr":
                chosen.setdefault(name, []).append(item[0])
    found = []
    for name, places in chosen.items():
        budgets = np.where(np.isin(np.arange(len(problem.domain)), places), problem.caps, 0.0)
        values = leakage_matrix(records.pairs(), budgets, mechanism=name).values
        for j in places:
            totals = values[:, j].copy()
            totals[j] = problem.caps[j]
            form = FittedForm((j,), problem.caps[[j]], totals, (name,), "exact")
            if problem.excess(totals, form.epsilons) <= 0 and problem.useful(form):
                found.append(form)
    return found


def best_mechanism(problem: FormProblem, j: int, epsilon: float) -> str:
    """Return the pure mechanism that estimates attribute j most precisely with a budget."""
    precise = problem.precisions.of_mechanism
    best, most = "grr", precise(j, "grr", epsilon) * (1 + 1e-9)
    for name, family in registered().items():
        if not family.approximate:
            value = precise(j, name, epsilon)
            made = problem.precisions.mechanism(name, problem.domain[j].size, epsilon)
            if value > most and made.epsilon <= epsilon:
                best, most = name, value
    return best


def everything(
    problem: FormProblem, records: Records, public: bool, known: bool, timer: Timer
) -> list[FittedForm]:
    """Return forms that ask all attributes: the calibrated collection, and the split.

    With `exact` totals where its table is small enough, and with the smaller of `merged` and
    `worst`, for which any mechanism will do; none of the latter where attributes are public.
    `merged` only while little of the time is spent.
    """
    form = tuple(sorted(j for item in problem.items for j in item))
    found = list[FittedForm]()
    if problem.apart[np.ix_(form, form)].any():
        return found
    exact = problem.scorer.fits(form)
    if exact:
        found.append(problem.fit(form))
    if not public:
        found.append(coarse_form(problem, None if known or exact else records, form, timer))
    return [one for one in found if problem.useful(one)]


def coarse_form(
    problem: FormProblem, records: Records | None, form: Form, timer: Timer | None = None
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
    problem: FormProblem, records: Records, form: Form, split: float, timer: Timer | None
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
    problem: FormProblem, form: Form, epsilons: Floats, totals: Iterable[float], name: str
) -> FittedForm:
    best = [
        best_mechanism(problem, j, budget)
        for j, budget in zip(form, epsilons.tolist(), strict=True)
    ]
    return FittedForm(form, epsilons, np.array(totals), tuple(best), name)
