"""Column generation of forms: a local search grows, swaps and shrinks forms to maximise
the gain.

The restricted master problem is the A-optimal design over the forms of the pool
(`FormPool`).  At its solution, with objective phi and dual prices w_j / P_j^2, a form f
has the gain g_f = sum_j prices_j / v_j(f).  Pricing searches forms with a positive
reduced gain g_f / phi - 1: only those lower phi [theory-forms].

Totals of GRR reports increase with every budget and every attribute added, so the
budget of S + j is at most that of S, and that of every pair in S + j.  This bounds the
gain of a candidate before it is counted; most other candidates are excluded by one
evaluation of the totals, at the budget that they would need.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from seepage._core.arrays import Floats
from seepage.designs.forms.a_optimal_shares import ShareSolution
from seepage.designs.forms.certifier import Certifier
from seepage.designs.forms.form import Form
from seepage.designs.forms.form_pool import FormPool
from seepage.designs.forms.form_problem import FormProblem, Indices
from seepage.designs.forms.search_work import SearchWork

MIN_STEP_GAIN = 1e-6
"""Minimum relative increase of the gain for a step of the local search; guards against
rounding."""


MAX_IDLE_ROUNDS = 8
"""Rounds in a row without an improving form after which the thorough search ends."""


FIRST_IDLE_ROUNDS = 2
"""The same of searches before forms are shaped, after which it goes on."""


STARTS_PER_ROUND = 6
"""Number of start forms of the local search per pricing round."""


MAX_SEARCH_CELLS = 1 << 19
"""Maximum entries of a form's table during the search: 4 MB of doubles, which fit the
cache."""


STALL_RATIO = 0.997
"""Ratio of the objectives after and before a round from which growing alone has
stalled.

The thorough search, which also swaps and shrinks forms, follows."""


MIN_EQUAL_BUDGET_GAIN = 0.7
"""Minimum g_f / phi with equal budgets; refined budgets can then lift the gain above
phi."""


MIN_PAIR_GAIN = 0.8
"""Minimum g_f / phi of a pair that is certified in a round without an improving
form."""


MAX_CANDIDATES = 16
"""Maximum number of candidates counted per growing step, in descending order of their
bounds."""


class FormSearch:
    """Pricing by local search over forms with equal budgets, for given prices.

    Parameters
    ----------
    problem
        The conditions of the design.
    work
        The work done and allowed.

    Attributes
    ----------
    fitted
        Every form tried so far with its largest budgets; None where these are 0.
    pair_budgets
        Upper bound of the equal budget of each pair of attributes.
    grid, table
        Budgets, and the precision of each attribute at each of them.
    rounds_left
        Rounds without an improving form after which the current step ends.
    ratios
        Factors of the gains of forms of 1, 2, ... questions, the last for all larger
        ones: what is expected of shaping them in a search for forms to shape.
    """

    def __init__(self, problem: FormProblem, work: SearchWork) -> None:
        """Prepare the search of forms that improve."""
        self.problem = problem
        self.work = work
        self.ratios: Sequence[float] = (1.0,)
        self.rounds_left = MAX_IDLE_ROUNDS
        self.grid, self.table = problem.precisions.tabulate(problem.caps)
        self.fitted: dict[Indices, Form | None] = {}
        self.pair_budgets = np.minimum(problem.caps[:, None], problem.caps[None, :])

    def expect(self, ratios: Sequence[float]) -> None:
        """Multiply the gains of searched forms of 1, 2, ... questions by these
        factors.
        """
        self.ratios = ratios

    def fit(self, attributes: Indices) -> Form | None:
        """Return a form for the search with the largest equal budgets; None if not
        allowed or without a budget.
        """
        form = tuple(sorted(attributes))
        if form not in self.fitted:
            if not self.problem.is_allowed(form):
                return None
            self.remember(self.problem.fit(attributes))
        return self.fitted[form]

    def remember(self, form: Form) -> None:
        """Keep a form for the search if it has a budget, which is a bound if it is a
        pair.
        """
        indices = self.problem.indices(form)
        self.fitted[indices] = form if form.max_budget > 0 else None
        if len(indices) == 2:
            i, j = indices
            self.pair_budgets[i, j] = self.pair_budgets[j, i] = form.max_budget

    def learn(self, certified: Form, certifier: Certifier) -> None:
        """Replace the estimated budgets of a searched form by those that are certified,
        for the population.

        For the table they are known, and certified ones are refined for some prices.
        """
        if certifier.scope == "population":
            self.remember(certified)

    def fit_pairs(self) -> None:
        """Fit every pair of attributes before the search: their budgets bound those of
        all larger forms.
        """
        for index, first in enumerate(self.problem.everything):
            for second in self.problem.everything[:index]:
                if self.work.expired():
                    return
                self.fit((first, second))

    def ratio(self, questions: int) -> float:
        """Return the search's factor of the gain of a form with this number of
        questions.
        """
        return self.ratios[min(questions, len(self.ratios)) - 1]

    def _gain_bounds(self, form: Indices, prices: Floats) -> Floats:
        """Return an upper bound of the searched gain of a form at every budget of the
        grid.
        """
        curve = prices[list(form)] @ self.table[list(form)]
        joint = self.problem.precisions.joint
        extra = prices[len(self.problem.domain) :]
        for table, price in zip(joint, extra, strict=True):
            if set(table) <= set(form):
                curve = curve + price * self.table[list(table)].min(axis=0)
        return np.asarray(self.ratio(len(form)) * curve)

    def _gain(self, form: Form, prices: Floats) -> float:
        """Return a form's gain times its factor, by which the search compares."""
        return self.ratio(len(form.attributes)) * self.problem.gain(form, prices)

    def is_small(self, form: Indices, times: int = 1) -> bool:
        """Return whether `times` the table of a form is small enough to be scored often
        in the search.
        """
        sizes = self.problem.domain.sizes
        return (
            times * math.prod(sizes[j] for j in form) * sum(sizes) <= MAX_SEARCH_CELLS
        )

    def _candidates(self, form: Form, prices: Floats) -> list[tuple[float, int, float]]:
        """Return (gain bound, attribute, budget bound) of each that the search may add,
        best first.
        """
        candidates = []
        indices = self.problem.indices(form)
        for j in self.problem.everything:
            joined = tuple(sorted({*indices, j}))
            useless = j in indices or self.fitted.get(joined, form) is None
            if (
                useless
                or not self.is_small(joined)
                or not self.problem.is_allowed(joined)
            ):
                continue
            pairs = float(self.pair_budgets[list(indices), j].min())
            bound = min(form.max_budget, pairs, float(self.problem.caps[j]))
            index = min(int(np.searchsorted(self.grid, bound)), len(self.grid) - 1)
            candidates.append(
                (float(self._gain_bounds(joined, prices)[index]), j, bound)
            )
        return sorted(candidates, key=lambda candidate: -candidate[0])

    def grow(self, form: Form, prices: Floats) -> tuple[Form, float]:
        """Search by adding the attribute of largest gain until none raises it; return
        the form and its gain.
        """
        gain = self._gain(form, prices)
        while not self.work.expired():
            best: Form | None = None
            candidates = self._candidates(form, prices)[:MAX_CANDIDATES]
            for gain_bound, j, budget_bound in candidates:
                if gain_bound <= gain * (1 + MIN_STEP_GAIN) or self.work.expired():
                    break
                larger = self._fit_if_better(form, j, budget_bound, gain, prices)
                if larger is not None:
                    value = self._gain(larger, prices)
                    if value > gain * (1 + MIN_STEP_GAIN):
                        best = larger
                        gain = value
            if best is None:
                break
            form = best
        return form, gain

    def _fit_if_better(
        self, form: Form, j: int, bound: float, gain: float, prices: Floats
    ) -> Form | None:
        """Return the searched form with attribute j; None if the budget it would need
        exceeds a limit.
        """
        problem = self.problem
        indices = problem.indices(form)
        joined = tuple(sorted((*indices, j)))
        if joined in self.fitted:
            return self.fitted[joined]
        table = problem.scorer.counter.table((*indices, j))
        index = int(np.searchsorted(self._gain_bounds(joined, prices), gain))
        needed = self.grid[max(index - 1, 0)]
        budgets = problem.capped_budgets(table.attributes, needed)
        if problem.excess(problem.scorer.totals(table, budgets), budgets) > 0:
            return None
        self.remember(problem.fit_table(table, bound))
        return self.fitted[joined]

    def improve(
        self, form: Form, prices: Floats, rng: np.random.Generator
    ) -> tuple[Form, float]:
        """Search by growing a form; then remove an attribute and grow again, while that
        raises the gain.
        """
        form, gain = self.grow(form, prices)
        improved = True
        while improved and not self.work.expired():
            improved = False
            for index in rng.permutation(len(form.attributes)).tolist():
                indices = self.problem.indices(form)
                rest = indices[:index] + indices[index + 1 :]
                smaller = self.fit(rest) if rest else None
                if smaller is None:
                    continue
                other, value = self.grow(smaller, prices)
                if value > gain * (1 + MIN_STEP_GAIN):
                    form = other
                    gain = value
                    improved = True
                    break
        return form, gain


def generate_forms(
    search: FormSearch,
    pool: FormPool,
    certifier: Certifier,
    rng: np.random.Generator,
    *,
    thorough: bool = True,
    patience: int = MAX_IDLE_ROUNDS,
) -> Iterator[ShareSolution]:
    """Add improving forms to the pool until none is found; yield the solution after
    each round.

    Parameters
    ----------
    search, pool
        The pricing search, and the columns of the master problem, whose solution gives
        the prices.
    certifier
        Certifies the forms that enter the pool.
    rng
        Generator for the start forms.
    thorough
        Whether attributes are also swapped and removed, not only added.
    patience
        Rounds in a row without an improving form after which a thorough search ends.
    """
    idle = 0
    singles = {search.problem.indices(form): form for form in reversed(pool.forms)}
    if not thorough:
        patience = 1
    while idle < patience and not search.work.expired():
        solution = pool.solution
        starts = _starts(search, pool, singles, solution.prices, rng)
        if thorough:
            local = _improved(search, starts, solution.prices, rng)
            new = _improving(search, pool, certifier, local, solution.prices)
            if not new:
                new = _improving_pairs(search, pool, certifier)
        else:
            local = _grown(search, starts, solution.prices)
            new = _improving(search, pool, certifier, local, None)
        before = len(pool.forms)
        pool.add(new)
        improved = pool.solve_master(1e-4, 300)
        stalled = not thorough and improved.objective > STALL_RATIO * solution.objective
        if len(pool.forms) > before and not stalled:
            idle = 0
        else:
            idle += 1
        search.rounds_left = patience - idle
        yield improved


def _grown(
    search: FormSearch, starts: Iterable[Form], prices: Floats
) -> Iterator[tuple[Form, float]]:
    """Yield forms that the search grows from start forms, with their gains, while work
    is left.
    """
    for start in starts:
        if search.work.expired():
            return
        yield search.grow(start, prices)


def _improved(
    search: FormSearch, starts: Iterable[Form], prices: Floats, rng: np.random.Generator
) -> Iterator[tuple[Form, float]]:
    """Yield start forms of the search with attributes added, swapped and removed, and
    their gains, while work is left.
    """
    for start in starts:
        if search.work.expired():
            return
        yield search.improve(start, prices, rng)


def _improving(
    search: FormSearch,
    pool: FormPool,
    certifier: Certifier,
    local: Iterable[tuple[Form, float]],
    prices: Floats | None,
) -> list[Form]:
    """Return the certified forms that the search found, of different attributes, that
    improve the pool.

    Parameters
    ----------
    search, pool, certifier
        As in `generate_forms`.
    local
        Forms with equal budgets, and their gains.
    prices
        Prices at which budgets are refined; None for equal budgets.
    """
    solution = pool.solution
    least_gain = MIN_EQUAL_BUDGET_GAIN * solution.objective
    improving = list[Form]()
    seen = set[tuple[str, ...]]()
    for candidate, gain in local:
        if candidate.attributes in seen or gain < least_gain:
            continue
        seen.add(candidate.attributes)
        form = certifier.certify(candidate, prices)
        search.learn(form, certifier)
        if pool.is_improving(form, solution):
            improving.append(form)
    return improving


def _improving_pairs(
    search: FormSearch, pool: FormPool, certifier: Certifier
) -> list[Form]:
    """Return pairs that improve once certified, even if not with the budgets of the
    search.
    """
    solution = pool.solution
    pairs = [
        form for form in search.fitted.values() if form and len(form.attributes) == 2
    ]
    gains = {
        pair.attributes: search.problem.gain(pair, solution.prices) for pair in pairs
    }
    pairs.sort(key=lambda pair: -gains[pair.attributes])
    improving = []
    for pair in pairs[: certifier.max_pairs]:
        is_small = gains[pair.attributes] < MIN_PAIR_GAIN * solution.objective
        if is_small or search.work.expired():
            break
        form = certifier.certify(pair, solution.prices)
        search.learn(form, certifier)
        if pool.is_improving(form, solution):
            improving.append(form)
    return improving


def _starts(
    search: FormSearch,
    pool: FormPool,
    singles: dict[Indices, Form],
    prices: Floats,
    rng: np.random.Generator,
) -> list[Form]:
    """Return the start forms of a search: half single questions drawn by gain, half
    from the pool's support.
    """
    problem = search.problem
    alone = [singles[j,] for j in problem.everything]
    gains = np.array([problem.gain(form, prices) for form in alone])
    weights = gains + gains.max() * 1e-3
    count = min(STARTS_PER_ROUND // 2, len(alone))
    drawn = rng.choice(len(alone), count, replace=False, p=weights / weights.sum())
    starts = [alone[index] for index in drawn.tolist()]
    support = dict.fromkeys(map(problem.indices, pool.support()))
    fitted = [form for form in map(search.fitted.get, support) if form is not None]
    if fitted:
        number = min(STARTS_PER_ROUND - count, len(fitted))
        drawn = rng.choice(len(fitted), number, replace=False)
        starts += [fitted[index] for index in drawn.tolist()]
    return starts
