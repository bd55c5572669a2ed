"""What changes of a design cost: shares solved again over the forms that were found.

A search leaves a pool of admissible forms with the precision of every question.  For a
changed collection the best shares over the same pool are a feasible design, so their
error is an upper bound of the error that a search for it would find.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, combinations

import numpy as np

from seepage._core.arrays import Booleans, Floats
from seepage.designs.changes import Change, ChangeKind
from seepage.designs.forms.a_optimal_shares import best_shares
from seepage.designs.forms.form import Form
from seepage.designs.forms.form_pool import FormPool
from seepage.designs.forms.form_problem import FormProblem, Indices

TOLERANCE = 2e-3
"""Relative gap at which the shares of a changed design are good enough."""


MAX_UPDATES = 400
"""Maximum number of updates of these shares."""


MIN_SHARE = 1e-3
"""Minimum share of a form that counts as used."""


MIN_OF_LARGEST = 0.1
"""Minimum share of a form that counts as used, in shares of the largest one: of more
than a thousand forms each may have less than `MIN_SHARE`.
"""


MAX_PAIRS = 300
"""Maximum number of pairs that are priced as asked together; none of more."""


MAX_ADDED = 12
"""Maximum number of unasked attributes that are priced."""


EXTENDED_FORMS = 6
"""Number of forms, by share, that an unasked attribute is added to."""


NEW_SHARE = 0.1
"""Share that forms outside the solution start with, all together."""


DIGITS = 4
"""Decimals of a stored factor."""


def change_prices(problem: FormProblem, pool: FormPool) -> tuple[Change, ...]:
    """Return what each change of a design costs in people, at most.

    Parameters
    ----------
    problem
        The constraints of the design.
    pool
        The forms found, with their shares.

    Notes
    -----
    The factor of a change is the ratio of the least weighted errors of the other
    questions, which is that of the numbers of people for the same errors.  Both are of
    shares that are not balanced: balancing costs a share of the mean error that would
    hide the prices of changes.

    Cost: some milliseconds for each change.
    """
    prices = ChangePrices(problem, pool)
    return (
        *prices.dropped(),
        *prices.added(),
        *prices.never_together(),
        *prices.at_most(),
        *prices.together(),
    )


class ChangePrices:
    """The pool of a design, and the errors of changed ones.

    Parameters
    ----------
    problem, pool
        As in `change_prices`.
    """

    def __init__(self, problem: FormProblem, pool: FormPool) -> None:
        """Prepare the prices of changes of a design, by the forms of its search."""
        self.problem = problem
        self.rows = pool.rows
        self.shares = pool.shares / pool.shares.sum()
        self.weights = problem.importance
        self.forms = [problem.indices(form) for form in pool.forms]
        self.products: Booleans = np.array([form.is_product for form in pool.forms])
        smallest = min(MIN_SHARE, MIN_OF_LARGEST * float(self.shares.max()))
        used = np.flatnonzero(self.shares > smallest)
        order = np.argsort(-self.shares[used], kind="stable")
        self.used: list[int] = used[order].tolist()
        count = len(problem.domain)
        self.asked = [j for j in problem.everything if self.weights[:count][j] > 0]

    # Changes --------------------------------------------------------------------------

    def dropped(self) -> Iterator[Change]:
        """Yield the price of not asking each question: forms with it ask the others."""
        if len(self.asked) < 2:
            return
        for j in self.asked:
            weights = self.weights.copy()
            weights[j] = 0.0
            for index, table in enumerate(self.problem.precisions.joint):
                if j in table:
                    weights[len(self.problem.domain) + index] = 0.0
            factor = self._factor(self.rows, self.shares, weights, weights)
            if factor is not None:  # the same shares remain possible
                yield from self._change("drop", (j,), min(factor, 1.0))

    def never_together(self) -> Iterator[Change]:
        """Yield the price of separating each two questions that are asked together."""
        pairs = {
            pair
            for index in self.used
            for pair in combinations(self.forms[index], 2)
            if not self._is_wanted(pair)
        }
        for pair in sorted(pairs):
            both = np.array([set(pair) <= set(form) for form in self.forms])
            split = both & self.products
            rows = [self.rows[~both]]
            shares = [self.shares[~both]]
            for j in pair:  # a form without one of its questions
                without = self.rows[split].copy()
                without[:, j] = 0.0
                rows.append(without)
                shares.append(self.shares[split] / 2)
            factor = self._factor(
                np.vstack(rows), np.concatenate(shares), self.weights, self.weights
            )
            yield from self._change("never", pair, factor)

    def at_most(self) -> Iterator[Change]:
        """Yield the price of asking each person at most 1, 2, 3, ... questions."""
        sizes = np.array([len(form) for form in self.forms])
        for questions in range(1, int(sizes[self.used].max())):
            small = sizes <= questions
            factor = self._factor(
                self.rows[small], self.shares[small], self.weights, self.weights
            )
            if factor is not None:
                yield Change(kind="largest", questions=questions, people=factor)

    def together(self) -> Iterator[Change]:
        """Yield the price of the joint table of each two questions.

        Only of pairs that no form of the design asks together: the joint tables of the
        others can be estimated without any change.
        """
        pairs = list(combinations(self.asked, 2))
        if len(pairs) > MAX_PAIRS:
            return
        asked = {
            pair for index in self.used for pair in combinations(self.forms[index], 2)
        }
        for pair in pairs:
            if pair in asked or self.problem.has_clash(pair):
                continue
            yield from self._pair_together(pair)

    def _pair_together(self, pair: Indices) -> Iterator[Change]:
        """Yield the price of the joint table of one pair, if a form can ask it."""
        form = self.problem.fit(pair) if self.problem.is_allowed(pair) else None
        if form is None or form.max_budget <= 0:
            return
        joint = self.problem.precisions.joint_precision(pair, form.epsilons.tolist())
        rows = np.vstack([self.rows, self.problem.row(form)])
        column = np.zeros((len(rows), 1))
        column[-1] = joint
        weights = np.append(self.weights, 1.0)
        counted = np.append(self.weights, 0.0)
        factor = self._factor(
            np.hstack([rows, column]), np.append(self.shares, 0.0), weights, counted
        )
        yield from self._change("together", pair, factor)

    def added(self) -> Iterator[Change]:
        """Yield the price of asking each protected attribute that is not asked, and
        all.
        """
        forms = dict[int, list[Form]]()
        for j in self._unasked()[:MAX_ADDED]:
            forms_with = self._forms_with(j)
            if forms_with:
                forms[j] = forms_with
        for j in forms:
            yield from self._added((j,), forms[j])
        if len(forms) > 1:
            yield from self._added(tuple(forms), list(chain(*forms.values())))

    def _unasked(self) -> list[int]:
        """Return the attributes whose asking has a price: protected, of several values,
        and not asked.
        """
        problem = self.problem
        unprotected = {*problem.public, *problem.known}
        unasked = list[int]()
        for j, size in enumerate(problem.domain.sizes):
            if problem.collected[j] or j in unprotected:
                continue
            if size > 1 and math.isfinite(problem.limits[j]):
                unasked.append(j)
        return unasked

    def _added(self, attributes: Indices, forms: Sequence[Form]) -> Iterator[Change]:
        """Yield the price of asking attributes in these forms too."""
        weights = self.weights.copy()
        weights[list(attributes)] = 1.0
        new = [self.problem.row(form) for form in forms]
        shares = np.append(self.shares, np.zeros(len(new)))
        rows = np.vstack([self.rows, *new])
        factor = self._factor(rows, shares, weights, self.weights)
        yield from self._change("add", attributes, factor)

    def _forms_with(self, j: int) -> list[Form]:
        """Return forms to price an unasked attribute with, alone and added to the forms
        used.
        """
        collected = self.problem.collected.copy()
        collected[j] = True
        problem = replace(self.problem, collected=collected)
        products = [index for index in self.used if self.products[index]]
        extended = [(*self.forms[index], j) for index in products[:EXTENDED_FORMS]]
        sets = [(j,), *(tuple(sorted(each)) for each in extended)]
        forms = [problem.fit(each) for each in sets if problem.is_allowed(each)]
        return [form for form in forms if form.max_budget > 0]

    # Errors ---------------------------------------------------------------------------

    def _is_wanted(self, pair: Sequence[int]) -> bool:
        """Return whether separating two questions has no price, as a wanted joint table
        needs them together.
        """
        return any(set(pair) <= set(table) for table in self.problem.precisions.joint)

    def _change(
        self, kind: ChangeKind, attributes: Indices, factor: float | None
    ) -> Iterator[Change]:
        """Yield a change with its price, unless no forms of the pool allow it."""
        if factor is not None:
            names = tuple(self.problem.domain.names[j] for j in attributes)
            yield Change(kind=kind, attributes=names, people=factor)

    @cached_property
    def _best_precision(self) -> Floats:
        """The precision of each quantity before a change, at the shares of least mean
        error.
        """
        start = self.shares * (1 - NEW_SHARE) + NEW_SHARE / len(self.shares)
        best = best_shares(self.rows, self.weights, start, TOLERANCE, MAX_UPDATES)
        return np.asarray(best.shares @ self.rows)

    def _factor(
        self, rows: Floats, shares: Floats, weights: Floats, counted: Floats
    ) -> float | None:
        """Return the price of a change as a ratio of the errors that count, after and
        before it.

        Parameters
        ----------
        rows, shares
            The precisions of the forms that are allowed after the change, and shares
            to start from.
        weights
            The importance of each quantity after the change.
        counted
            That of the quantities whose errors are compared.
        """
        if not len(rows):
            return None
        if not (rows[:, weights > 0].max(axis=0) > 0).all():
            return None
        start = shares * (1 - NEW_SHARE) + NEW_SHARE / len(rows)
        solution = best_shares(rows, weights, start, TOLERANCE, MAX_UPDATES)
        width = self.rows.shape[1]
        before = _error(self._best_precision, counted[:width])
        after = _error((solution.shares @ rows)[:width], counted[:width])
        self.problem.scorer.counter.work.spend(len(rows) * 1e-2)
        return round(after / before, DIGITS)


def _error(precision: Floats, weights: Floats) -> float:
    """Return the weighted error sum of 1 / P before or after a change."""
    used = weights > 0
    return float((weights[used] / precision[used]).sum())
