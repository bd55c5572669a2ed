"""Column generation: forms that pay, found by growing, swapping and shrinking.

With prices w_j / P_j^2 at the present shares a form f gains g_f = sum_j prices_j / v_j(f), and it
lowers the objective where g_f exceeds it [theory-forms].  Totals of GRR reports grow with every
budget and every attribute added, so the budget of S + j is at most that of S, and of every pair in
it: that bounds the gain of a candidate before it is counted, and one evaluation at the budget that
it would need tells most of the others.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Floats
from seepage.designs.forms.a_optimal import Shares, best_shares, evaluate
from seepage.designs.forms.form_problem import FittedForm, FormProblem, Indices, join
from seepage.errors import InputError

Accept = Callable[[FittedForm, Floats, bool], FittedForm]
"""Certifies a form for the pool, from the form, the prices, and whether the search is thorough."""

BETTER = 1e-6
"""A gain counts as larger from this share on."""

ENTRIES = 4
"""Times that forms left out may come in again while shares are improved."""

PATIENCE = 8
"""Rounds without a form that pays after which the search ends."""

PAYS = 2e-4
"""By which share of the objective a form must gain more to be added."""

STARTS = 6
"""Forms that are improved for one set of prices."""

QUICK_CELLS = 1 << 19
"""Entries of the largest table that the search grows: 4 MB, which stays in the cache."""

SLOW = 0.997
"""Where a round of growing leaves more than this of the objective, the thorough search begins."""

PROMISING = 0.7
"""Share of the objective that a form must gain with equal budgets, to get one for each."""

TRIED = 16
"""Candidates counted in one growing step at most, the most promising first."""


class Timer:
    """Time that a search may take.

    Parameters
    ----------
    seconds
        How long; infinite for no limit.
    """

    def __init__(self, seconds: float) -> None:
        self.begin, self.seconds = time.monotonic(), seconds

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.begin

    def over(self) -> bool:
        """Whether the search must end."""
        return self.spent >= self.seconds


def search_time(seconds: Any) -> float:
    """Return how long a search may take, checked."""
    found = _checks.real(seconds, "seconds")
    if not found > 0:
        raise InputError(f"seconds must be above 0, got {_checks.shown(seconds)}")
    return found


@dataclass
class FormPool:
    """Forms considered so far, and the best shares found over them.

    Parameters
    ----------
    problem
        The conditions.
    """

    problem: FormProblem
    forms: list[FittedForm] = field(default_factory=list)
    rows: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    shares: Floats = field(default_factory=lambda: np.zeros(0))
    keys: set[tuple[Any, ...]] = field(default_factory=set)

    def add(self, forms: list[FittedForm], weight: float = 0.1) -> None:
        """Add forms with a positive starting share, but those that are there already."""
        forms = [form for form in forms if self.is_new(form)]
        if not forms:
            return
        rows = np.array([self.problem.row(form) for form in forms])
        self.rows = rows if not self.forms else np.vstack([self.rows, rows])
        self.forms.extend(forms)
        begin = weight if len(self.shares) else 1.0
        fresh = np.full(len(forms), begin / len(forms))
        self.shares = np.concatenate([self.shares * (1 - begin), fresh])

    def is_new(self, form: FittedForm) -> bool:
        """Note a form; return whether none with nearly the same budgets was noted before."""
        digits = np.round(form.epsilons / form.level, 4).tolist()
        key = (form.attributes, form.mechanisms, round(math.log(form.level), 5), *digits)
        if form.precision is not None:
            key = (*key, *np.round(form.precision, 6).tolist())
        if key in self.keys:
            return False
        self.keys.add(key)
        return True

    def settle(self, tolerance: float, most: int) -> Shares:
        """Improve the shares; a form left out that pays at the present prices comes in again."""
        found = self.state
        for _ in range(ENTRIES):
            paying = (self.shares < 1e-9) & (self.rows @ found.prices > found.objective)
            shares = self.shares * 0.95 + 0.05 * paying / paying.sum() if paying.any() else None
            start = self.shares if shares is None else shares
            better = best_shares(self.rows, self.problem.weights, start, tolerance, most)
            if better.objective <= found.objective:
                found, self.shares = better, better.shares
            if found.gap <= tolerance or shares is None:
                break
        return found

    def saved(self) -> tuple[list[FittedForm], Floats, Floats]:
        """Return forms, rows and shares, to be restored after an interrupt."""
        return list(self.forms), self.rows, self.shares

    def restore(self, saved: tuple[list[FittedForm], Floats, Floats]) -> None:
        """Go back to what was saved."""
        self.forms, self.rows, self.shares = saved

    @property
    def state(self) -> Shares:
        """The objective at the present shares."""
        return evaluate(self.rows, self.problem.weights, self.shares)

    @property
    def support(self) -> Iterator[tuple[FittedForm, float]]:
        """Forms with a share that matters, the largest first."""
        for index in np.argsort(-self.shares, kind="stable").tolist():
            if self.shares[index] > 1e-4:
                yield self.forms[index], float(self.shares[index])


class FormSearch:
    """Forms with equal budgets, improved for given prices.

    Parameters
    ----------
    problem
        The conditions.
    timer
        When to end.
    """

    def __init__(self, problem: FormProblem, timer: Timer) -> None:
        self.problem, self.timer = problem, timer
        self.grid, self.table = problem.precisions.tabulate(problem.caps)
        self.found: dict[Indices, FittedForm | None] = {}
        self.pairs = np.minimum(problem.caps[:, None], problem.caps[None, :])

    def fit(self, stem: Indices, item: Indices) -> FittedForm | None:
        """Return a stem with an item added, with the largest equal budgets; None if not allowed."""
        form = join(stem, item)
        if form not in self.found:
            if not self.problem.allowed(form):
                return None
            added = tuple(j for j in item if j not in stem)
            found = self.problem.fit((*stem, *added)) if added else self.fit((), form)
            found = found if found is not None and self.problem.useful(found) else None
            self.found[form] = found
            self._note(found)
        return self.found[form]

    def _note(self, form: FittedForm | None) -> None:
        if form is not None and len(form.attributes) == 2:
            i, j = form.attributes
            self.pairs[i, j] = self.pairs[j, i] = form.level

    def gain(self, form: FittedForm, prices: Floats) -> float:
        """Return what a form gains at some prices."""
        return float(self.problem.row(form) @ prices)

    def count_pairs(self) -> None:
        """Fit every pair: their budgets bound those of all larger forms."""
        for index, first in enumerate(self.problem.items):
            for second in self.problem.items[:index]:
                if self.timer.over():
                    return
                if len(first) == len(second) == 1:
                    self.fit(first, second)

    def _bound(self, form: FittedForm, item: Indices) -> float:
        """Return a budget that a form with an item added cannot exceed."""
        pairs = self.pairs[np.ix_(list(form.attributes), list(item))]
        return min(form.level, float(pairs.min()), float(self.problem.caps[list(item)].max()))

    def _curve(self, form: Indices, prices: Floats) -> Floats:
        """Return an upper limit of a form's gain at every budget of the grid."""
        curve = prices[list(form)] @ self.table[list(form)]
        joint = self.problem.precisions.joint
        extra = prices[len(self.problem.domain) :]
        for (i, j), price in zip(joint, extra, strict=True):
            if i in form and j in form:
                curve = curve + price * np.minimum(self.table[i], self.table[j])
        return np.asarray(curve)

    def _is_quick(self, form: Indices) -> bool:
        """Return whether a form's table is small enough to be scored thousands of times."""
        sizes = self.problem.domain.sizes
        return math.prod(sizes[j] for j in form) * sum(sizes) <= QUICK_CELLS

    def _candidates(self, form: FittedForm, prices: Floats) -> list[tuple[float, Indices, float]]:
        """Return the items that may be added: bound of the gain, item, bound of the budget."""
        found = []
        for item in self.problem.items:
            if item[0] in form.attributes:
                continue
            joined = join(form.attributes, item)
            known = self.found.get(joined, form)
            if known is None or not self._is_quick(joined) or not self.problem.allowed(joined):
                continue
            bound = self._bound(form, item)
            index = min(int(np.searchsorted(self.grid, bound)), len(self.grid) - 1)
            found.append((float(self._curve(joined, prices)[index]), item, bound))
        return sorted(found, key=lambda one: -one[0])

    def grow(self, form: FittedForm, prices: Floats) -> tuple[FittedForm, float]:
        """Add items one at a time, each time that which gains most."""
        gain = self.gain(form, prices)
        while not self.timer.over():
            best: FittedForm | None = None
            for tried, (limit, item, bound) in enumerate(self._candidates(form, prices)):
                if limit <= gain * (1 + BETTER) or tried >= TRIED or self.timer.over():
                    break
                found = self._try(form, item, bound, gain, prices)
                if found is not None:
                    value = self.gain(found, prices)
                    if value > gain * (1 + BETTER):
                        best, gain = found, value
            if best is None:
                break
            form = best
        return form, gain

    def _try(
        self, form: FittedForm, item: Indices, bound: float, gain: float, prices: Floats
    ) -> FittedForm | None:
        """Fit a form with an item added, unless it cannot gain enough."""
        joined = join(form.attributes, item)
        if joined in self.found:
            return self.found[joined]
        problem = self.problem
        table = problem.scorer.table((*form.attributes, *item))
        enough = int(np.searchsorted(self._curve(joined, prices), gain))
        needed = self.grid[max(enough - 1, 0)]
        budgets = problem.level_budgets(table.attributes, needed)
        if problem.excess(problem.scorer.totals(table, budgets), budgets) > 0:
            return None
        found = problem.fit_table(table, bound)
        self.found[joined] = found if problem.useful(found) else None
        self._note(found)
        return self.found[joined]

    def improve(
        self, form: FittedForm, prices: Floats, rng: np.random.Generator
    ) -> tuple[FittedForm, float]:
        """Grow a form, then take one item out and grow again, as long as that gains."""
        form, gain = self.grow(form, prices)
        improved = True
        while improved and not self.timer.over():
            improved = False
            for index in rng.permutation(len(form.attributes)).tolist():
                rest = self._without(form, form.attributes[index])
                if rest is None:
                    continue
                other, value = self.grow(rest, prices)
                if value > gain * (1 + BETTER):
                    form, gain, improved = other, value, True
                    break
        return form, gain

    def _without(self, form: FittedForm, j: int) -> FittedForm | None:
        """Return the form without the item that holds j; None where nothing is left."""
        item = next(item for item in self.problem.items if j in item)
        rest = tuple(i for i in form.attributes if i not in item)
        return self.fit(rest[:-1], rest[-1:]) if rest else None


def generate(
    search: FormSearch,
    pool: FormPool,
    accept: Accept,
    rng: np.random.Generator,
    thorough: bool = True,
    pairs: int = 0,
) -> Iterator[Shares]:
    """Add forms that pay until none is found, or time is over; yield the state after each round.

    Parameters
    ----------
    search, pool
        What finds forms, and where they go; the pool's shares give the prices.
    accept
        See `Accept`.
    rng
        Of the starts.
    thorough
        Whether forms are swapped too, or only grow.
    pairs
        So many pairs are tried where no larger form pays.
    """
    idle = 0
    singles = {form.attributes: form for form in reversed(pool.forms)}
    while idle < (PATIENCE if thorough else 1) and not search.timer.over():
        state = pool.state
        fresh, seen = list[FittedForm](), set[Indices]()
        for start in _starts(search, pool, singles, state.prices, rng):
            if search.timer.over():
                break
            if thorough:
                found, gain = search.improve(start, state.prices, rng)
            else:
                found, gain = search.grow(start, state.prices)
            if found.attributes in seen or gain < PROMISING * state.objective:
                continue
            seen.add(found.attributes)
            form = accept(found, state.prices, thorough)
            if search.gain(form, state.prices) > state.objective * (1 + PAYS):
                fresh.append(form)
        if thorough and not fresh:
            fresh = _paying_pairs(search, accept, state, pairs)
        before = len(pool.forms)
        pool.add(fresh)
        settled = pool.settle(1e-4, 300)
        slow = not thorough and settled.objective > SLOW * state.objective
        idle = 0 if len(pool.forms) > before and not slow else idle + 1
        yield settled


def _paying_pairs(
    search: FormSearch, accept: Accept, state: Shares, number: int
) -> list[FittedForm]:
    """Return pairs that pay as accepted, though not as the search found them."""
    pairs = [form for form in search.found.values() if form and len(form.attributes) == 2]
    pairs.sort(key=lambda form: -search.gain(form, state.prices))
    found = []
    for form in pairs[:number]:
        if search.timer.over():
            break
        better = accept(form, state.prices, True)
        if search.gain(better, state.prices) > state.objective * (1 + PAYS):
            found.append(better)
    return found


def _starts(
    search: FormSearch,
    pool: FormPool,
    singles: dict[Indices, FittedForm],
    prices: Floats,
    rng: np.random.Generator,
) -> list[FittedForm]:
    """Return items drawn by what they gain alone, and forms in use."""
    problem = search.problem
    gains = np.array([problem.row(singles[item]) @ prices for item in problem.items])
    chance = gains + gains.max() * 1e-3
    count = min(STARTS // 2, len(problem.items))
    drawn = rng.choice(len(problem.items), count, replace=False, p=chance / chance.sum())
    starts = [singles[problem.items[index]] for index in drawn.tolist()]
    used = list(dict.fromkeys(form.attributes for form, _ in pool.support))
    equal = [found for found in (search.found.get(form) for form in used) if found is not None]
    if equal:
        some = rng.choice(len(equal), min(STARTS - count, len(equal)), replace=False)
        starts += [equal[index] for index in some.tolist()]
    return starts
