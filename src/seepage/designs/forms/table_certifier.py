"""Forms whose totals keep the limits for the people in the table, with one budget per
attribute.

Single questions by their best mechanism and the form of all attributes need no search.
For other forms `refine` maximises the gain sum_j prices_j / v_j(eps_j) subject to
T_k(eps) <= limit_k for every attribute k of the table, by successive linear programming
in a trust region.  Each solution is scaled towards budget 0, along which totals
decrease, until every total is within its limit.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from seepage._core.arrays import Floats
from seepage._core.errors import Setting, Text
from seepage.calibration.largest_budget import largest_budget
from seepage.channel.records import Records
from seepage.designs.forms.certifier import Certifier
from seepage.designs.forms.form import Form
from seepage.designs.forms.form_counter import FormTable
from seepage.designs.forms.form_problem import FormProblem
from seepage.leakage.matrix import leakage_matrix

# Refined budgets ----------------------------------------------------------------------

RELATIVE_STEP = 1e-4
"""Step of a forward difference relative to the budget."""


MIN_BUDGET_RATIO = 1e-2
"""Minimum budget relative to the attribute's cap; below, a form without the attribute
is better."""


START_RADIUS = 0.25
"""Radius of the trust region at the start, relative to each budget."""


MIN_RADIUS = 0.01
"""Radius of the trust region at which `refine` ends."""


MIN_REFINED_GAIN = 1e-5
"""Minimum relative increase of the gain for a step to be taken; else the radius
shrinks."""


def refine(problem: FormProblem, form: Form, prices: Floats) -> Form:
    """Return the form certified on the table with one budget per attribute, of at least
    the same gain at these prices.

    A form with another guarantee than `"exact"` is returned unchanged.
    """
    if len(form.attributes) == 1 or form.guarantee != "exact":
        return form
    table = problem.scorer.counter.table(problem.indices(form))
    epsilons = form.epsilons
    radius = START_RADIUS
    gain = _gain(problem, table, epsilons, prices)
    while radius >= MIN_RADIUS:
        step = _linear_program(problem, table, epsilons, prices, radius)
        feasible = _scaled_to_limits(problem, table, step)
        value = _gain(problem, table, feasible, prices)
        if value > gain * (1 + MIN_REFINED_GAIN):
            epsilons = feasible
            gain = value
        else:
            radius /= 2.5
    return problem.fitted(table, epsilons)


def _gain(
    problem: FormProblem, table: FormTable, epsilons: Floats, prices: Floats
) -> float:
    """Return the gain of a form of these budgets on the table, to refine it."""
    return float(problem.precisions.row(table.attributes, epsilons.tolist()) @ prices)


def _linear_program(
    problem: FormProblem,
    table: FormTable,
    epsilons: Floats,
    prices: Floats,
    radius: float,
) -> Floats:
    """Return the refined budgets in the trust region that maximise the linearised
    gain.
    """
    from scipy.optimize import linprog

    solve: Any = linprog
    limited = np.isfinite(problem.limits)
    totals = problem.scorer.totals(table, epsilons)[limited]
    gain = _gain(problem, table, epsilons, prices)
    total_slopes = np.empty((len(totals), len(epsilons)))
    gain_slopes = np.empty(len(epsilons))
    for index, epsilon in enumerate(epsilons.tolist()):
        moved = epsilons.copy()
        moved[index] = epsilon * (1 + RELATIVE_STEP)
        width = moved[index] - epsilon
        total_slopes[:, index] = (
            problem.scorer.totals(table, moved)[limited] - totals
        ) / width
        gain_slopes[index] = (_gain(problem, table, moved, prices) - gain) / width
    caps = problem.caps[list(table.attributes)]
    low = np.minimum(
        np.maximum(MIN_BUDGET_RATIO * caps - epsilons, -radius * epsilons), 0.0
    )
    high = np.maximum(np.minimum(caps - epsilons, radius * epsilons), 0.0)
    rows = total_slopes
    slack = problem.limits[limited] - totals
    if problem.record_limit < np.inf:
        rows = np.vstack([rows, np.ones(len(epsilons))])
        slack = np.append(slack, problem.record_limit - epsilons.sum())
    answer = solve(
        -gain_slopes / max(np.abs(gain_slopes).max(), 1e-300),
        A_ub=rows,
        b_ub=np.maximum(slack, 0.0),
        bounds=np.stack([low, high], axis=1),
        method="highs",
    )
    return epsilons + answer.x if answer.status == 0 else epsilons


def _scaled_to_limits(
    problem: FormProblem, table: FormTable, budgets: Floats
) -> Floats:
    """Return the largest multiple of refined budgets, each at most its cap, that keeps
    all limits on the table.
    """
    caps = problem.caps[list(table.attributes)]

    def scaled(factor: float) -> Floats:
        """Return the refined budgets times a factor, each at most its cap."""
        return np.minimum(budgets * factor, caps)

    def excess(factor: float) -> float:
        """Return the excess over the limits on the table of scaled budgets."""
        epsilons = scaled(factor)
        return problem.excess(problem.scorer.totals(table, epsilons), epsilons)

    return scaled(largest_budget(excess, 1.05, 1e-7))


class TableCertifier(Certifier):
    """Certifies forms for the table, by the same totals as the search, with any
    budgets.

    Parameters
    ----------
    problem
        The constraints; totals by `ExactFormTotals`.
    records
        The records.
    """

    scope = "table"
    max_pairs = 32
    """Pairs refined, with one budget per attribute, in a round without an improving
    form."""

    def __init__(self, problem: FormProblem, records: Records) -> None:
        """Prepare to certify forms for the table."""
        self.problem = problem
        self.records = records
        self.stratified = bool(problem.public or problem.known)
        sizes = problem.domain.sizes
        self.declining = records.domain.sizes != sizes
        """Whether somebody may have no answer: then forms are of GRR reports alone."""
        self._prices = np.zeros(0)
        self._refined: dict[tuple[tuple[str, ...], bytes], Form] = {}
        """Refined forms at the last prices: rounds without an improving form repeat
        themselves."""

    def singles(self) -> list[Form]:
        """Return forms of one question for the table by another mechanism than GRR,
        where it is more precise.

        Totals are the exact values of `leakage_matrix`, at most the budget.  A form is
        returned only if every total is within its limit at exactly this budget, as the
        leakage of subset selection is not monotone in the budget.
        """
        problem = self.problem
        caps = self.problem.caps
        forms = list[Form]()
        names = ["grr"] * len(caps)
        only_grr = self.stratified or self.declining
        for j in () if only_grr else problem.everything:
            names[j] = problem.precisions.best_mechanism(j, float(caps[j]))
        budgets = np.where(np.array(names) != "grr", caps, 0.0)
        if budgets.any():
            leakages = leakage_matrix(
                self.records.pairs(), budgets, mechanism=names
            ).values
        for j in np.flatnonzero(budgets).tolist():
            totals = np.where(np.arange(len(caps)) == j, caps[j], leakages[:, j])
            form = problem.form((j,), caps[[j]], totals, (names[j],))
            if problem.excess(totals, form.epsilons) <= 0:
                forms.append(form)
        return forms

    def certify(self, form: Form, prices: Floats | None = None) -> Form:
        """Return a form of the search, whose totals are certified on the table, with
        refined budgets.
        """
        if prices is None:
            return form
        if not np.array_equal(prices, self._prices):
            self._prices = prices
            self._refined = {}
        key = form.attributes, form.epsilons.tobytes()
        if key not in self._refined:
            self._refined[key] = refine(self.problem, form, prices)
        return self._refined[key]

    def notes(self, forms: list[Form]) -> Iterator[str]:
        """Yield a note that the limits hold for the people of the table."""
        yield Text(
            "every limit holds for the people in this table, and for them only; ",
            Setting("scope", "population"),
            " keeps it for those whom the table is a sample of",
        )
