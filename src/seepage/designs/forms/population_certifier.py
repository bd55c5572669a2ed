"""Forms whose totals hold for the people whom the records were drawn from.

Any form may be chosen by looking: the statements about all forms of a size are counted
(`PopulationForms`).  Its budgets are equal, none above its attribute's own limit: one ascending
family that is fixed before looking, so the largest budgets that pass may be taken
[theory-population: Budgets chosen by looking].
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from seepage import _checks
from seepage._numerics import Floats, summed_up
from seepage.data.records import Records
from seepage.designs.equal_budgets import largest_within
from seepage.designs.forms.form_problem import LARGEST_FORM, FittedForm, Form, FormProblem
from seepage.designs.forms.form_search import Timer
from seepage.designs.forms.form_totals import ExactForms, FormCounter, FormTable
from seepage.designs.forms.plain_forms import best_mechanism, coarse_form
from seepage.errors import InputError
from seepage.totals.report_limits import form_level, form_limits

MOST_SPLIT = 10**9
"""Fewer people than this can be split, which is where NumPy's draw ends."""


class PopulationForms:
    """`exact` totals of forms of GRR reports, as upper limits for people: a `FormScorer`.

    Parameters
    ----------
    records
        A random sample of the people, one record per person.
    confidence
        Of all totals together, of whichever forms are chosen.
    largest
        The most attributes of a form; the form of all attributes that may be asked counts besides.
    asked
        Places of the attributes that may be asked; by default all.
    counter
        What counts forms of these records; by default a new one.
    compiled
        Whether to count with the compiled kernels; None where the table is large enough.

    Notes
    -----
    The claim holds for one ascending family of budgets per form that is fixed beforehand, such as
    equal budgets, and the largest that pass.  Some 10 ms for six binary questions and 80 values
    with equal budgets, 100 ms otherwise.

    Examples
    --------
    >>> import seepage as sp
    >>> domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")])
    >>> coins = sp.Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]], [50_000] * 4)
    >>> scorer = PopulationForms(coins)
    >>> scorer.totals(scorer.table([0, 1]), np.array([1.0, 1.0])).round(3).tolist()
    [1.016, 1.016, 0.447]
    """

    guarantee = "exact"
    scope = "population"

    def __init__(
        self,
        records: Records,
        confidence: float = 0.95,
        largest: int = LARGEST_FORM,
        asked: Sequence[int] | None = None,
        counter: FormCounter | None = None,
        compiled: bool | None = None,
    ) -> None:
        self.counter = FormCounter(records, compiled=compiled) if counter is None else counter
        self.confidence = _open_probability(confidence)
        sizes = self.counter.layout.sizes
        self.asked_sizes = sizes if asked is None else sizes[list(asked)]
        self.largest = min(largest, len(self.asked_sizes))
        with np.errstate(divide="ignore"):
            people = np.where(self.counter.seen[0], 1 / self.counter.scale[0], 0.0)
        self.people = np.rint(people)

    def level(self, asked: int) -> float:
        """Return the c of each statement about a form that asks so many attributes."""
        numbers = {*range(1, self.largest + 1), len(self.asked_sizes)}
        if asked and asked not in numbers:
            raise InputError(f"a form has at most {self.largest} attributes, got {asked}")
        width = self.counter.layout.width
        return form_level(self.asked_sizes, width, asked, len(numbers), self.confidence)

    def fits(self, attributes: Sequence[int]) -> bool:
        """Return whether the totals of a form can be computed."""
        return self.counter.fits(attributes)

    def table(self, attributes: Sequence[int]) -> FormTable:
        """Return the counts of a form."""
        return self.counter.table(attributes)

    def totals(self, table: FormTable, epsilons: Floats, rounds: int = 3) -> Floats:
        """Return upper limits of the total of every attribute of the table."""
        return form_limits(
            np.rint(table.shares * self.people),
            self.people,
            self.counter.layout.starts,
            table.attributes,
            table.sizes.tolist(),
            np.asarray(epsilons, dtype=np.float64),
            self.level(len(table.attributes)),
            rounds,
        )


def _open_probability(confidence: float) -> float:
    found = _checks.probability(confidence, "confidence")
    if found in (0, 1):
        raise InputError(f"confidence must be above 0 and below 1, got {found:g}")
    return found


def halved(confidence: float) -> float:
    """Return the confidence of each of two parts that together have this one.

    Examples
    --------
    >>> round(halved(0.95), 3)
    0.975
    """
    return 1 - (1 - confidence) / 2


def check_split(records: Records) -> None:
    """Raise where there are too many people to draw a part of them."""
    if records.records >= MOST_SPLIT:
        raise InputError(
            f"limits for the population need fewer than 10^9 records, got {records.records:,}; "
            "give a sample of them, or scope='table'"
        )


TOLERANCE = 5e-4
"""To what share of them budgets are found."""

MOST_WEIGHTS = 1 << 23
"""Weights of all reports and values of a form whose limits are computed: 64 MB an array."""

PRIMED = 3
"""Forms of each size that are looked at before the search."""

MEMORY = 30
"""Forms of a size over which the excess of limits over totals is averaged."""


class ScreenedForms:
    """Guesses of the limits for people, as fast as the table's totals: a `FormScorer`.

    T_k + r_k E, with T_k the table's total, E the sum of the budgets, and r_k the mean of
    (limit - total) / E over forms of the same size whose limits were computed.

    Parameters
    ----------
    exact
        Totals of the table.
    caps
        The largest budget of each attribute: where they differ, so may the budgets of a form.
    """

    guarantee = "exact"

    def __init__(self, exact: ExactForms, caps: Floats) -> None:
        self.exact, self.caps = exact, caps
        count = len(exact.counter.layout.sizes)
        self.rates = np.zeros((count + 1, count))
        self.learnt = np.zeros(count + 1, dtype=np.int64)

    def fits(self, attributes: Sequence[int]) -> bool:
        """Return whether the limits of a form can be computed."""
        asked = len(attributes)
        equal = asked < 2 or float(np.ptp(self.caps[list(attributes)])) == 0
        weights = asked + 1 if equal else 1 << min(asked, 64)
        return self.exact.counter.cells(attributes) * weights <= MOST_WEIGHTS

    def table(self, attributes: Sequence[int]) -> FormTable:
        """Return the counts of a form."""
        return self.exact.table(attributes)

    def totals(self, table: FormTable, epsilons: Floats) -> Floats:
        """Return guessed limits of the total of every attribute."""
        whole = summed_up(np.asarray(epsilons).tolist())
        found = self.exact.totals(table, epsilons) + self.rates[len(table.attributes)] * whole
        return np.asarray(np.minimum(found, whole))

    def learn(self, table: FormTable, epsilons: Floats, limits: Floats) -> None:
        """Note how far the limits of a form are above its totals."""
        asked, whole = len(table.attributes), float(epsilons.sum())
        if whole <= 0:
            return
        rates = (limits - self.exact.totals(table, epsilons)) / whole
        share = 1 / min(self.learnt[asked] + 1, MEMORY)
        self.rates[asked] += share * (np.maximum(rates, 0.0) - self.rates[asked])
        self.learnt[asked] += 1


class PopulationCertifier:
    """Limits for people, on all records: forms with equal budgets.

    Parameters
    ----------
    problem
        The conditions, with caps that do not depend on the records; totals by `ExactForms`.
    records
        A random sample of the people, one record per person.
    confidence
        Of all totals together.
    shared
        Whether half of what is left of 1 is for limits of other forms.
    """

    scope = "population"

    def __init__(
        self, problem: FormProblem, records: Records, confidence: float, shared: bool = False
    ) -> None:
        exact = problem.scorer
        assert isinstance(exact, ExactForms)
        check_split(records)
        level = _checks.probability(confidence, "confidence")
        places = np.flatnonzero(problem.collected).tolist()
        self.people = PopulationForms(
            records,
            halved(level) if shared and level else level,
            largest=problem.largest,
            asked=places,
            counter=exact.counter,
        )
        self.screen = ScreenedForms(exact, problem.caps)
        self.records, self.confidence = records, confidence
        self.problem = replace(problem, scorer=self.screen)
        self.least_limit = float(problem.limits.min())
        self._found: dict[Form, FittedForm] = {}

    def prime(self, timer: Timer, seed: int = 0) -> None:
        """Look at some forms of each size, so that the first guesses are not the table's totals."""
        rng, problem = np.random.default_rng(seed), self.problem
        places = np.flatnonzero(problem.collected)
        for asked in range(2, self.people.largest + 1):
            for _ in range(PRIMED):
                form = rng.choice(places, asked, replace=False).tolist()
                if timer.spent > timer.seconds / 4:
                    return
                if not self.screen.fits(form):
                    continue
                table = self.screen.table(form)
                guess = problem.fit_table(table, math.inf, TOLERANCE)
                order = np.searchsorted(guess.attributes, form)
                budgets = guess.epsilons[order]
                self.screen.learn(table, budgets, self.people.totals(table, budgets))
            if asked < len(self.screen.rates) - 1:
                self.screen.rates[asked + 1] = self.screen.rates[asked]

    def singles(self) -> list[FittedForm]:
        """Return single questions by other mechanisms than GRR, which rest on their budgets."""
        problem, found = self.problem, list[FittedForm]()
        for item in problem.items:
            budget = min(float(problem.caps[item[0]]), self.least_limit)
            name = best_mechanism(problem, item[0], budget) if len(item) == 1 else "grr"
            if name != "grr":
                totals = np.full(len(problem.domain), budget)
                found.append(FittedForm(item, np.array([budget]), totals, (name,), "worst"))
        return [form for form in found if problem.useful(form)]

    def whole(self, timer: Timer) -> list[FittedForm]:
        """Return forms that ask all attributes: `exact` where that fits, and the split."""
        problem = self.problem
        form = tuple(sorted(j for item in problem.items for j in item))
        if problem.apart[np.ix_(form, form)].any():
            return []
        found = [coarse_form(problem, None, form)]
        if self.screen.fits(form):
            found.append(self.first(problem.fit(form)))
        return [one for one in found if problem.useful(one)]

    def too_large(self, item: Form) -> FittedForm:
        """Return the form of attributes asked together whose table is too large to be counted."""
        return coarse_form(self.problem, None, item)

    def first(self, form: FittedForm) -> FittedForm:
        """Return a form with the largest equal budgets that keep all limits for people."""
        if form.guarantee != self.people.guarantee:
            return form
        if form.attributes not in self._found:
            self._found[form.attributes] = self._certified(form)
        return self._found[form.attributes]

    def quick(self, form: FittedForm, prices: Floats) -> FittedForm:
        """Return a form that the search found, with equal budgets that keep all limits."""
        return self.first(form)

    def accept(self, form: FittedForm, prices: Floats) -> FittedForm:
        """Return a form that the search found as it may enter the pool."""
        return self.first(form)

    def _certified(self, form: FittedForm, spread: float = 0.15) -> FittedForm:
        problem, table = self.problem, self.screen.table(form.attributes)
        cap = float(problem.caps[list(form.attributes)].max())
        guess = form.level if form.level > 0 else cap

        def excess(level: float) -> float:
            budgets = problem.level_budgets(form.attributes, level)
            if level <= 0:
                return -problem.least_slack
            return problem.excess(self.people.totals(table, budgets), budgets)

        top, tolerance = min(guess * (1 + spread), cap), TOLERANCE * min(guess, problem.least_slack)
        while (level := largest_within(excess, top, tolerance)) >= top and top < cap:
            top = min(top * (1 + 2 * spread), cap)
        budgets = problem.level_budgets(form.attributes, level)
        limits = self.people.totals(table, budgets)
        self.screen.learn(table, budgets, limits)
        return replace(form, epsilons=budgets, totals=limits)

    def settled(self, forms: list[FittedForm]) -> list[FittedForm]:
        """Return the forms of the design, counted again without compiled kernels.

        Where all ask one question within every limit, they rest on their budgets alone.
        """
        if all(len(form.attributes) == 1 and form.level <= self.least_limit for form in forms):
            return [
                replace(form, guarantee="worst", totals=np.full_like(form.totals, form.level))
                for form in forms
            ]
        return [self._checked(form) for form in forms]

    def _checked(self, form: FittedForm) -> FittedForm:
        if form.guarantee != self.people.guarantee or form.matrix is not None:
            return form
        plain, budgets = self.people.counter.plain_table(form.attributes), form.epsilons
        for _ in range(3):
            totals = self.people.totals(plain, budgets)
            if self.problem.excess(totals, budgets) <= 0:
                break
            budgets = budgets * (1 - 1e-6)
        # largest budgets that pass prove the limits, not that lower totals stay where they are
        promised = np.minimum(self.problem.limits, summed_up(budgets.tolist()))
        return replace(form, epsilons=budgets, totals=promised)

    def notes(self, forms: list[FittedForm]) -> Iterator[str]:
        """Yield for whom the limits hold, and what that needs."""
        if {form.guarantee for form in forms} == {"worst"}:
            yield "every limit holds for everybody: no total is above the sum of a form's budgets"
            yield from self._too_few()
            return
        whole = self.records.population
        read = "" if whole is None else f" (a random sample of {whole:,})"
        yield (
            f"every limit holds for the people whom the {self.records.records:,} records{read} "
            f"were drawn from, with confidence {self.confidence:g}, if the records are a random "
            "sample of them with one record per person"
        )

    def _too_few(self) -> Iterator[str]:
        """Yield which values keep the design from asking more than one question."""
        people, layout = self.people.people, self.people.counter.layout
        protected = np.repeat(np.isfinite(self.problem.limits), layout.sizes)
        if not protected.any():
            return
        column = int(np.argmin(np.where(protected, people, np.inf)))
        k = int(np.searchsorted(layout.starts, column, side="right")) - 1
        attribute = self.problem.domain[k]
        value = attribute.values[column - int(layout.starts[k])]
        number = int(people[column])
        yield (
            "no form of several questions is both certified for the population and better: "
            f"{attribute.name!r} has the value {value!r} in {number:,} of "
            f"{self.records.records:,} records; pool rare values or give more records"
        )
