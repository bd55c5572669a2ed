"""The restricted master problem of column generation: the best shares over a pool of forms."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seepage._numerics import Floats
from seepage.designs.forms.a_optimal import ShareSolution, best_shares, evaluate
from seepage.designs.forms.form_problem import FittedForm, FormProblem

MAX_REENTRIES = 4
"""Maximum number of times that forms with share 0 re-enter while the master problem is solved."""


@dataclass
class FormPool:
    """The columns of the restricted master problem: forms, their precisions, and their shares.

    Parameters
    ----------
    problem
        The conditions of the design.
    forms, rows, shares
        The forms, the precision of every quantity from each (one row per form), and the best
        shares found so far.
    keys
        Rounded budgets of every form added so far, to recognise duplicates.
    """

    problem: FormProblem
    forms: list[FittedForm] = field(default_factory=list)
    rows: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    shares: Floats = field(default_factory=lambda: np.zeros(0))
    keys: set[tuple[Any, ...]] = field(default_factory=set)

    def add(self, forms: list[FittedForm], weight: float = 0.1) -> None:
        """Add forms that are not in the pool yet; they start with `weight` of the shares."""
        forms = [form for form in forms if self._add_key(form)]
        if not forms:
            return
        rows = np.array([self.problem.row(form) for form in forms])
        self.rows = rows if not self.forms else np.vstack([self.rows, rows])
        self.forms.extend(forms)
        start = weight if len(self.shares) else 1.0
        new_shares = np.full(len(forms), start / len(forms))
        self.shares = np.concatenate([self.shares * (1 - start), new_shares])

    def _add_key(self, form: FittedForm) -> bool:
        """Add the key of a form; return False for a duplicate, with budgets equal to 4 digits."""
        digits = np.round(form.epsilons / form.max_budget, 4).tolist()
        key = (form.attributes, form.mechanisms, round(math.log(form.max_budget), 5), *digits)
        if form.precision is not None:
            key = (*key, *np.round(form.precision, 6).tolist())
        if key in self.keys:
            return False
        self.keys.add(key)
        return True

    def solve_master(self, tolerance: float, max_updates: int) -> ShareSolution:
        """Improve the shares; forms with share 0 and a positive reduced gain re-enter."""
        solution = self.solution
        for _ in range(MAX_REENTRIES):
            improving = (self.shares < 1e-9) & (self.rows @ solution.prices > solution.objective)
            start = self.shares
            if improving.any():
                start = self.shares * 0.95 + 0.05 * improving / improving.sum()
            better = best_shares(self.rows, self.problem.weights, start, tolerance, max_updates)
            if better.objective <= solution.objective:
                solution, self.shares = better, better.shares
            if solution.gap <= tolerance or not improving.any():
                break
        return solution

    def snapshot(self) -> tuple[list[FittedForm], Floats, Floats]:
        """Return forms, rows and shares, for `restore` after an interrupt."""
        return list(self.forms), self.rows, self.shares

    def restore(self, snapshot: tuple[list[FittedForm], Floats, Floats]) -> None:
        """Restore the forms, rows and shares of a snapshot."""
        self.forms, self.rows, self.shares = snapshot

    @property
    def solution(self) -> ShareSolution:
        """Objective, gap and prices at the current shares."""
        return evaluate(self.rows, self.problem.weights, self.shares)

    @property
    def support(self) -> Iterator[tuple[FittedForm, float]]:
        """The forms with a share above 1e-4, in descending order of the shares."""
        for index in np.argsort(-self.shares, kind="stable").tolist():
            if self.shares[index] > 1e-4:
                yield self.forms[index], float(self.shares[index])
