"""Forms of a design as one shaped report each, where that is more precise.

A form of GRR reports is one channel from its answers to reports; the best channel within the same
limits, and with no more told about the whole record, is at least as precise (see `shape`).
Forms are shaped for the prices of the present shares, in column generation like product forms.
"""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from seepage._numerics import Floats
from seepage.data.records import Records
from seepage.designs.forms.a_optimal import Shares
from seepage.designs.forms.form_problem import MAX_BUDGET, FittedForm, FormProblem, Indices
from seepage.designs.forms.form_search import PAYS, FormPool, FormSearch, Timer
from seepage.designs.shaped.admissible_reports import realised_ratio
from seepage.designs.shaped.shape import certified_on, chosen_mechanism
from seepage.designs.shaped.shape_form import (
    MAX_CELLS,
    AnswerCounts,
    form_table,
    shape_form,
)
from seepage.designs.shaped.shaped_mechanism import ShapedMechanism
from seepage.errors import InputError
from seepage.mechanisms.exact_probabilities import log_above

SHAPES = ("never", "single", "forms", "record")

MAX_SHAPED = 32
"""Combinations of answers of a form of several attributes that is shaped."""


class Effort(NamedTuple):
    """How closely a form is shaped: the gap and the starts of `shape_form`."""

    gap: float
    starts: int


ROUGH, FINE = Effort(5e-2, 4), Effort(5e-3, 40)
"""At first, and again where a form is in use: the first costs .1 % to .3 % of the variance."""

TRIED = 8
"""Forms shaped in one round, the most promising first."""

WORTHWHILE = 3e-3
"""Shaping ends after a round that lowers the error by less than this share."""

SPARE = 0.98
"""Share of the record's limit used on a fifth of the records, whose estimate has an error."""

BETTER = 1e-3
"""Least relative gain of a shaped report over the product of the same form."""

IN_USE = 1e-3
"""Forms with a smaller share of people are not shaped."""

WORKERS = 2
"""Forms shaped at once; each is made by one thread and depends on no other."""

POLLED = 0.2
"""Seconds between two checks of the time."""


FormMaker: TypeAlias = Callable[[FittedForm, dict[str, Any]], tuple[ShapedMechanism, Floats]]
"""Makes the shaped report of a form, with further options of `shape_form`; with the totals about
every attribute of the table."""


def table_shapes(problem: FormProblem, records: Records, rule: str) -> FormMaker:
    """Return a maker of reports whose totals are those of the table, in exact arithmetic."""

    def make(form: FittedForm, options: dict[str, Any]) -> tuple[ShapedMechanism, Floats]:
        domain = problem.domain
        names = [domain.names[j] for j in form.attributes]
        table = form_table(records, names, domain.names)
        limits = form_limits(problem, form, rule)
        made = shape_form(table, protected(problem), **limits, **options)
        return made, exact_totals(made, table)

    return make


def people_shapes(problem: FormProblem, fifth: Records, rule: str, confidence: float) -> FormMaker:
    """Return a maker of reports, by the records looked at, that the others should certify."""

    def make(form: FittedForm, options: dict[str, Any]) -> tuple[ShapedMechanism, Floats]:
        names = [problem.domain.names[j] for j in form.attributes]
        most = form_limits(problem, form, rule)
        most["record_limit"] *= SPARE if len(names) > 1 else 1.0
        limits = protected(problem)
        made = chosen_mechanism(fifth, names, limits, {**most, **options}, confidence)
        return made, problem.limits

    return make


def protected(problem: FormProblem) -> dict[str, float]:
    """Return the limit of each protected attribute."""
    limits = zip(problem.domain.names, problem.limits.tolist(), strict=True)
    return {name: limit for name, limit in limits if math.isfinite(limit)}


def form_limits(problem: FormProblem, form: FittedForm, rule: str) -> dict[str, Any]:
    """Return how much one answer and the whole record may change the report of a form.

    An answer by its attribute's own limit.  The record by what the product of the same form tells
    about it; where one attribute is asked, by its limit.
    """
    own = np.minimum(problem.limits[list(form.attributes)], MAX_BUDGET)
    most = float(own[0]) if len(form.attributes) == 1 else form.record
    record = min(most, problem.record_limit)
    return {
        "epsilons": np.minimum(own, record).tolist(),
        "record_limit": record,
        "rule": rule,
    }


def exact_totals(made: ShapedMechanism, table: AnswerCounts) -> Floats:
    """Return what reports tell about each attribute, protected or not, rounded up."""
    known = made.realised()
    return np.array(
        [
            known[name]
            if name in known
            else log_above(realised_ratio(made.thresholds, table.ratio_limit(name, 0.0)))
            for name in table.targets
        ]
    )


class FormShaper:
    """Adds shaped forms to a pool while that lowers the error.

    Parameters
    ----------
    problem
        The conditions.
    maker
        Makes the report of one form.
    timer
        When to end.
    single
        Whether to shape forms of one attribute only.
    """

    def __init__(
        self, problem: FormProblem, maker: FormMaker, timer: Timer, single: bool = False
    ) -> None:
        self.problem, self.maker, self.timer, self.single = problem, maker, timer, single
        self.tried: set[Indices] = set()
        self.gains: dict[int, list[float]] = {}
        self.stop = Event()

    # Which forms --------------------------------------------------------------------------------

    def worth(self, form: FittedForm) -> bool:
        """Return whether a form can be shaped, and could gain by it."""
        problem, indices = self.problem, list(form.attributes)
        sizes = [problem.domain.sizes[j] for j in indices]
        most = MAX_CELLS if len(indices) == 1 else MAX_SHAPED
        if math.prod(sizes) > most or (self.single and len(indices) > 1):
            return False
        if not (problem.weights[indices] > 0).all():
            return False
        largest = np.minimum(problem.limits[indices], min(problem.record_limit, MAX_BUDGET))
        spent = set(sizes) == {2} and bool((form.epsilons >= largest * (1 - 1e-6)).all())
        return not spent  # no report about one answer is more precise than GRR at its limit

    def _promising(self, pool: FormPool, search: FormSearch, state: Shares) -> list[FittedForm]:
        """Return forms not shaped yet, by what a shaped report of them should gain."""
        known = [*pool.forms, *(form for form in search.found.values() if form is not None)]
        best: dict[Indices, tuple[float, FittedForm]] = {}
        for form in known:
            if form.matrix is None and form.attributes not in self.tried and self.worth(form):
                gain = search.gain(form, state.prices) * self._expected(len(form.attributes))
                if gain > best.get(form.attributes, (0.0, form))[0]:
                    best[form.attributes] = gain, form
        order = sorted(best.values(), key=lambda one: (-one[0], one[1].attributes))
        return [form for gain, form in order[:TRIED] if gain > state.objective * (1 + PAYS)]

    def _expected(self, asked: int) -> float:
        """Return how much more a shaped report of so many answers gained, on average."""
        found = self.gains.get(asked) or [one for gains in self.gains.values() for one in gains]
        return float(np.mean(found)) if found else 1.0

    # Shaping ------------------------------------------------------------------------------------

    def improve(self, pool: FormPool, search: FormSearch) -> Iterator[Shares]:
        """Shape the forms in use, then others by what they promise; yield after each round."""
        chosen = [
            form
            for form, share in pool.support
            if share >= IN_USE and form.matrix is None and self.worth(form)
        ]
        while chosen and not self.timer.over():
            state = pool.state
            paying = [
                form
                for form in self.shaped(chosen, state.prices, ROUGH)
                if search.gain(form, state.prices) > state.objective * (1 + PAYS)
            ]
            pool.add(paying)
            after = pool.settle(1e-4, 4000)
            yield after
            if after.objective > state.objective * (1 - WORTHWHILE):
                break
            chosen = self._promising(pool, search, after)
        yield from self._refined(pool)

    def _refined(self, pool: FormPool) -> Iterator[Shares]:
        """Shape the forms in use once more, closely and for the prices reached."""
        if self.timer.over():
            return
        state = pool.state
        again = [form for form, share in pool.support if form.matrix is not None and share > IN_USE]
        pool.add(self.shaped(again, state.prices, FINE))
        yield pool.settle(1e-4, 4000)

    def shaped(
        self, forms: Iterable[FittedForm], prices: Floats, effort: Effort
    ) -> list[FittedForm]:
        """Return the shaped forms that gain more than the forms given, in their order."""
        forms = list(forms)
        threads = ThreadPoolExecutor(min(WORKERS, os.cpu_count() or 1))
        found = list[FittedForm]()
        try:
            waiting = [threads.submit(self._shape, form, prices, effort) for form in forms]
            for form, future in zip(forms, waiting, strict=True):
                made = self._awaited(future)
                if made is not None and self._gains(form, made, prices):
                    found.append(made)
        finally:
            self.stop.set()
            threads.shutdown(wait=True, cancel_futures=True)
            self.stop.clear()
        return found

    def _awaited(self, future: "Future[FittedForm | None]") -> FittedForm | None:
        """Return what a thread made; when time is over it ends with the reports found."""
        while not future.done():
            wait([future], timeout=POLLED)
            if self.timer.over():
                self.stop.set()
        return future.result()

    def _gains(self, form: FittedForm, made: FittedForm, prices: Floats) -> bool:
        """Return whether a shaped report is worth more than the form that it replaces."""
        gain = float(self.problem.row(made) @ prices) / float(self.problem.row(form) @ prices)
        if form.matrix is not None:
            return gain > 1
        self.tried.add(form.attributes)
        self.gains.setdefault(len(form.attributes), []).append(gain)
        return gain > 1 + BETTER

    def _shape(self, form: FittedForm, prices: Floats, effort: Effort) -> FittedForm | None:
        """Return a form with one shaped report; None where time is over or nothing can be had."""
        if self.stop.is_set():
            return None
        options = {"wanted": self._wanted(form, prices), "stop": self.stop.is_set}
        try:
            return self.with_matrix(form, *self.maker(form, {**options, **effort._asdict()}))
        except (InputError, np.linalg.LinAlgError):
            return None

    def with_matrix(self, form: FittedForm, made: ShapedMechanism, totals: Floats) -> FittedForm:
        """Return a form with one shaped report; an InputError where that estimates too little."""
        row = np.zeros(self.problem.precisions.count)
        for axes, variance in zip(made.wanted, made.variances.values(), strict=True):
            row[self._quantity([form.attributes[axis] for axis in axes])] = 1 / variance
        changes = np.array([made.answer_changes[name] for name in made.sources])
        names = ("shaped",) * len(form.attributes)
        return FittedForm(form.attributes, changes, totals, names, "exact", made, row)

    def certified(
        self, forms: Sequence[FittedForm], rest: Records, records: Records, confidence: float
    ) -> list[FittedForm]:
        """Return the shaped forms that records not looked at certify, each for the people.

        The confidence is shared by all forms given, which were chosen before looking.
        """
        each, found = 1 - (1 - confidence) / max(len(forms), 1), list[FittedForm]()
        limits, names = protected(self.problem), self.problem.domain.names
        for form in forms:
            assert form.matrix is not None
            try:
                made = certified_on(rest, records, form.matrix, limits, each)
                told, most = made.realised(), made.realised_epsilon
                totals = np.array([told.get(name, most) for name in names])
                found.append(self.with_matrix(form, made, totals))
            except InputError:
                continue
        return found

    def _wanted(self, form: FittedForm, prices: Floats) -> dict[tuple[int, ...], float]:
        """Return the tables that a form estimates, by its prices."""
        asked = form.attributes
        tables = [(axis,) for axis in range(len(asked))] + [
            (asked.index(i), asked.index(j))
            for i, j in (sorted(pair) for pair in self.problem.precisions.joint)
            if i in asked and j in asked
        ]
        found = {
            axes: float(prices[self._quantity([asked[axis] for axis in axes])]) for axes in tables
        }
        mean = sum(found.values()) / len(found)
        return {axes: price / mean for axes, price in found.items()}

    def _quantity(self, indices: Sequence[int]) -> int:
        """Return the number of a wanted quantity: an attribute's, or a pair's."""
        if len(indices) == 1:
            return indices[0]
        pairs = [sorted(pair) for pair in self.problem.precisions.joint]
        return len(self.problem.domain) + pairs.index(sorted(indices))
