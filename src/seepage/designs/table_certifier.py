"""Forms whose totals hold for the people in the table: everything a search asks of that scope."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from seepage._numerics import Floats
from seepage.data.records import Records
from seepage.designs.form_budgets import refine
from seepage.designs.form_problem import FittedForm, Form, FormProblem
from seepage.designs.form_search import Timer
from seepage.designs.form_totals import ExactForms
from seepage.designs.plain_forms import coarse_form, everything, single_questions
from seepage.errors import InputError


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

    def __init__(self, problem: FormProblem, records: Records) -> None:
        assert isinstance(problem.scorer, ExactForms)
        self.problem, self.records, self.scorer = problem, records, problem.scorer

    @property
    def _stratified(self) -> bool:
        return self.scorer.public or self.scorer.known

    def singles(self) -> list[FittedForm]:
        """Return single questions by other mechanisms than GRR."""
        return [] if self._stratified else single_questions(self.problem, self.records)

    def whole(self, timer: Timer) -> list[FittedForm]:
        """Return forms that ask all attributes."""
        return everything(self.problem, self.records, self.scorer.public, self.scorer.known, timer)

    def too_large(self, item: Form) -> FittedForm:
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

    def quick(self, form: FittedForm, prices: Floats) -> FittedForm:
        """Return a form that the search found, as it is."""
        return form

    def accept(self, form: FittedForm, prices: Floats) -> FittedForm:
        """Return a form that the search found as it may enter the pool."""
        return refine(self.problem, form, prices)

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
