"""`FormPool`: the forms that a design may use, with their precisions."""

import math
from typing import Any

import numpy as np

from seepage._core.arrays import Booleans, Floats
from seepage.designs.forms.a_optimal_shares import ShareSolution, best_shares, evaluate
from seepage.designs.forms.balanced_shares import MAX_COST, balanced_shares
from seepage.designs.forms.form import Form
from seepage.designs.forms.form_problem import FormProblem
from seepage.designs.forms.minimax_shares import (
    MinimaxShares,
    least_largest_error,
    minimax_shares,
)

MIN_REDUCED_GAIN = 2e-4
"""Minimum reduced gain g_f / phi - 1 of a form that enters the pool, about the final
gap."""


MAX_REENTRIES = 4
"""Maximum number of times that forms with share 0 re-enter while the master problem is
solved."""


MIN_SHARES = (1e-2, 5e-3, 2e-3, 1e-3)
"""Minimum shares of people of a form in the result, the first that costs little.

The reported gap includes what it costs."""


MAX_PRUNING_COST = 5e-3
"""Maximum relative increase of the least mean error, or of the largest error of
balanced shares, when forms with small shares are dropped."""


NO_SHARE = 1e-4
"""Share below which a form is left out of balanced shares."""


MAX_PRUNINGS = 8
"""Maximum number of times that forms are dropped and the shares solved again."""


MINIMAX_ROUNDS = 30
"""Updates of the weights of errors before each solution for the largest error."""


FINAL_MINIMAX_ROUNDS = 300
"""The same for the final solution."""


MIN_SKETCHED = 1e-4
"""Minimum share of people of a form in a sketch of the best so far."""


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
    minimises_largest
        Whether the largest error is minimised rather than the mean.
    balanced
        The balanced shares of the forms so far when this began.
    """

    def __init__(self, problem: FormProblem) -> None:
        """Begin an empty pool of forms."""
        self.problem = problem
        self.forms: list[Form] = []
        self.rows = np.zeros((0, len(problem.precisions.quantities)))
        self.shares = np.zeros(0)
        self.keys: set[tuple[Any, ...]] = set()
        self.minimises_largest = False
        self.balanced = np.zeros(0)

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
        """Add the key of a form to the pool; return False for a duplicate, with budgets
        equal to 4 digits.
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

    def sketch(self) -> list[tuple[float, tuple[str, ...]]]:
        """Return the sets of questions of the pool's forms that some people get, with
        the share of the people, the largest first.
        """
        shares = dict[tuple[str, ...], float]()
        for form, share in zip(self.forms, self.shares.tolist(), strict=True):
            if share >= MIN_SKETCHED:
                names = tuple(form.attributes)
                shares[names] = shares.get(names, 0.0) + share
        whole = math.fsum(shares.values())
        return sorted(
            ((share / whole, names) for names, share in shares.items()), reverse=True
        )

    def solve_master(self, tolerance: float, max_updates: int) -> ShareSolution:
        """Improve the shares of the forms in the pool; those with share 0 and a
        positive reduced gain re-enter.

        For the largest error its weights are improved first.
        """
        if self.minimises_largest:
            self._take(self._minimax(MINIMAX_ROUNDS))
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
        """Return the best shares of the pool's forms, balanced for a smaller largest
        error, those below the minimum shares dropped where that costs little.

        Its gap bounds by how much the mean error is above the least of these forms.
        """
        if self.minimises_largest:
            return self._final_minimax()
        best = self.solve_master(1e-4, 20_000)
        self._balance(best)
        final = self.solution
        least = best.objective / (1 + best.gap)
        return final._replace(gap=max(0.0, final.objective / least - 1))

    # The largest error ----------------------------------------------------------------

    def minimise_largest(self) -> None:
        """Minimise the pool's largest error from now on, from the best balanced shares.

        These are kept, so that the final solution has no larger one.
        """
        self.final_solution()
        self.balanced = self.shares
        self.minimises_largest = True

    def _minimax(self, rounds: int) -> MinimaxShares:
        """Return shares of the pool with a smaller largest error than the current
        ones.
        """
        weights = self.problem.importance
        scale = self._scale()
        return minimax_shares(self.rows, scale, weights, self.shares, rounds)

    def _take(self, minimax: MinimaxShares) -> None:
        """Go on with shares of the pool and the weights at which they are best."""
        self.shares = minimax.shares
        self.problem.weigh(minimax.weights)

    def _final_minimax(self) -> ShareSolution:
        """Return the pool's shares of least largest error, or the balanced ones of
        before.

        Its gap bounds by how much this error is above the least of these forms, at the
        factors c_j of these shares.
        """
        minimax = self._minimax(FINAL_MINIMAX_ROUNDS)
        self._take(minimax)
        self._prune_minimax(minimax.largest * (1 + MAX_PRUNING_COST))
        added = len(self.shares) - len(self.balanced)
        balanced = np.pad(self.balanced, (0, added))
        if self._largest(balanced) <= self._largest(self.shares):
            self.shares = balanced
        scale = self._scale()
        least = least_largest_error(self.rows, scale, minimax.weights, minimax.shares)
        gap = max(0.0, _largest_error(self.rows, scale, self.shares) / least - 1)
        return self.solution._replace(gap=gap)

    def _prune_minimax(self, highest: float) -> None:
        """Drop forms with small shares from the pool where the largest error stays
        small enough.
        """
        scale = self._scale()
        for minimum in MIN_SHARES:
            for _ in range(MAX_PRUNINGS):
                kept = self.shares >= minimum
                if not self.shares[~kept].any():
                    break
                if (self.rows[kept].sum(axis=0)[scale > 0] == 0).any():
                    break  # a question would not be asked any more
                start = self.shares[kept] / self.shares[kept].sum()
                pruned = minimax_shares(
                    self.rows[kept],
                    scale,
                    self.problem.importance,
                    start,
                    MINIMAX_ROUNDS,
                )
                if pruned.largest > highest:
                    break
                self.shares = np.zeros(len(self.shares))
                self.shares[kept] = pruned.shares

    def _largest(self, shares: Floats) -> float:
        """Return the largest error of a question at some shares of the pool."""
        return _largest_error(self.rows, self._scale(shares), shares)

    # Pruning and balancing ------------------------------------------------------------

    def _balance(self, best: ShareSolution) -> None:
        """Balance the errors of the questions over as few forms of the pool as cost
        little.
        """
        scale = self._scale()
        everything = np.ones(len(self.shares), dtype=np.bool_)
        self.shares = self._balanced(everything, best, scale)
        highest = _largest_error(self.rows, scale, self.shares) * (1 + MAX_PRUNING_COST)
        for minimum in MIN_SHARES:
            for _ in range(MAX_PRUNINGS):
                kept = self.shares >= minimum
                if not self.shares[~kept].any():
                    return
                if not kept.any():
                    break
                pruned = self._best_of(kept)
                cost = pruned.objective / best.objective - 1
                if cost > MAX_COST:
                    break
                least = best._replace(shares=pruned.shares)
                shares = self._balanced(kept, least, scale)
                largest = _largest_error(self.rows, scale, shares)
                if cost > MAX_PRUNING_COST and largest > highest:
                    break
                self.shares = shares

    def _balanced(self, kept: Booleans, best: ShareSolution, scale: Floats) -> Floats:
        """Return shares of some forms of the pool with balanced errors, from those of
        least mean.
        """
        importance = self.problem.importance
        rows = self.rows[kept]
        start = evaluate(rows, importance, best.shares[kept])
        shares = np.zeros(len(self.shares))
        shares[kept] = balanced_shares(rows, importance, scale, start, best.objective)
        shares[shares < NO_SHARE] = 0.0
        return np.asarray(shares / shares.sum())

    def _scale(self, shares: Floats | None = None) -> Floats:
        """Return the factor of each question's error that the pool compares.

        Its importance per answer, and the largest variance of an answer relative to
        their mean, at some shares or the current ones.  Joint tables count for the
        objective `"largest"` only, as the mean of their cells.
        """
        if shares is None:
            shares = self.shares
        sizes = np.array(self.problem.domain.sizes)
        scale = np.zeros(len(self.problem.importance))
        if self.problem.scale is None:
            scale[: len(sizes)] = self.problem.importance[: len(sizes)] / sizes
        else:
            scale[:] = self.problem.scale
        information = shares @ self.rows
        squares = shares @ self.rows**2
        for j in np.flatnonzero(scale[: len(sizes)]).tolist():
            # the mean precision of a report that tells something about it
            precision = (
                float(squares[j] / information[j]) if information[j] > 0 else 0.0
            )
            scale[j] *= self.problem.precisions.largest_to_mean(j, precision)
        return scale

    def _best_of(self, kept: Booleans) -> ShareSolution:
        """Return the best shares of some forms of the pool."""
        start = np.where(kept, self.shares, 0.0)
        weights = self.problem.importance
        solution = evaluate(self.rows, weights, start / start.sum())
        if math.isfinite(solution.objective):
            solution = best_shares(self.rows, weights, start, 1e-4, 20_000)
        return solution

    @property
    def solution(self) -> ShareSolution:
        """Objective, gap and prices of the pool at its current shares."""
        return evaluate(self.rows, self.problem.importance, self.shares)

    @property
    def error(self) -> float:
        """The error that the pool minimises, at the current shares: the mean or the
        largest.
        """
        if self.problem.scale is None:
            return self.solution.objective
        return self._largest(self.shares)

    def support(self, least: float = 1e-4) -> list[Form]:
        """Return the forms of the pool with a share above `least`, in descending order
        of the shares.
        """
        order = np.argsort(-self.shares, kind="stable").tolist()
        return [self.forms[index] for index in order if self.shares[index] > least]

    def is_improving(self, form: Form, solution: ShareSolution) -> bool:
        """Return whether a form improves the pool: its reduced gain g_f / phi - 1 is
        above `MIN_REDUCED_GAIN`.
        """
        gain = self.problem.gain(form, solution.prices)
        return gain > solution.objective * (1 + MIN_REDUCED_GAIN)


def _largest_error(rows: Floats, scale: Floats, shares: Floats) -> float:
    """Return the largest error of a question at some shares of a pool's forms."""
    used = scale > 0
    with np.errstate(divide="ignore"):
        return float((scale[used] / (shares @ rows)[used]).max())
