"""Forms whose totals hold for the people whom the records were drawn from.

Any form may be chosen by looking: the statements about all forms of a size are counted
(`population_forms`).  Its budgets are equal, none above its attribute's own limit: one ascending
family that is fixed before looking, so the largest budgets that pass may be taken
[theory-population: Budgets chosen by looking].
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from seepage import _checks
from seepage._numerics import Floats, summed_up
from seepage.data.records import Records
from seepage.designs.equal_budgets import largest_within
from seepage.designs.forms.form_problem import FittedForm, FormProblem, Indices
from seepage.designs.forms.form_search import Timer
from seepage.designs.forms.form_totals import ExactForms
from seepage.designs.forms.population_forms import PopulationForms, ScreenedForms
from seepage.designs.forms.table_certifier import coarse_form
from seepage.errors import InputError

MAX_SPLIT = 10**9
"""Fewer people than this can be split, which is where NumPy's draw ends."""

TOLERANCE = 5e-4
"""Relative accuracy to which budgets are found."""

PRIMED = 3
"""Forms of each size that are looked at before the search."""


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
    if records.records >= MAX_SPLIT:
        raise InputError(
            f"limits for the population need fewer than 10^9 records, got {records.records:,}; "
            "give a sample of them, or scope='table'"
        )


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
    pairs = 1000
    """Pairs that are certified where no form pays by its guess, some 20 ms each."""

    def __init__(
        self, problem: FormProblem, records: Records, confidence: float, shared: bool = False
    ) -> None:
        exact = problem.scorer
        assert isinstance(exact, ExactForms)
        check_split(records)
        level = _checks.probability(confidence, "confidence")
        indices = np.flatnonzero(problem.collected).tolist()
        self.people = PopulationForms(
            records,
            halved(level) if shared and level else level,
            largest=problem.largest,
            asked=indices,
            counter=exact.counter,
        )
        self.screen = ScreenedForms(exact, self.people, problem.limits, problem.caps)
        self.records, self.confidence = records, confidence
        self.problem = replace(problem, scorer=self.screen)
        self.least_limit = float(problem.limits.min())
        self._found: dict[Indices, FittedForm] = {}
        self._check_public()

    def _check_public(self) -> None:
        """Raise where what is public may tell the people more than a limit allows."""
        if not self.people.public:
            return
        problem = self.problem
        told = np.where(np.isfinite(problem.limits), self.people.told(1), 0.0)
        over = told - problem.limits
        k = int(np.argmax(over))
        if over[k] < 0:
            return
        protected = np.arange(len(over)) == k
        start = (
            f"the limit of {problem.domain.names[k]!r} is {problem.limits[k]:g}, and what is "
            f"public already ({problem.listed(self.people.public)}) may tell "
        )
        hint = "declare what is public as known, give more records, or pool rare values"
        if math.isinf(told[k]):
            raise InputError(
                f"{start}anything about it among the people: {self.people.rarest(protected)}, so "
                f"no limit can be certified for the population; {hint}"
            )
        most = math.ceil(told[k] * 1e3) / 1e3
        raise InputError(
            f"{start}{most:g} about it among the people, as {self.people.rarest(protected)}; a "
            f"limit above {most:g} would do, or leave it unprotected, {hint}"
        )

    def prime(self, timer: Timer, seed: int = 0) -> None:
        """Look at some forms of each size, so that the first guesses are not the table's totals."""
        rng, problem = np.random.default_rng(seed), self.problem
        indices = np.flatnonzero(problem.collected)
        for asked in range(2, self.people.largest + 1):
            for _ in range(PRIMED):
                form = rng.choice(indices, asked, replace=False).tolist()
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

    def _question(self, j: int, name: str, guarantee: str) -> FittedForm:
        """Return a single question within every limit: it tells its budget at most."""
        budget = min(float(self.problem.caps[j]), self.least_limit)
        totals = np.full(len(self.problem.domain), budget)
        return FittedForm((j,), np.array([budget]), totals, (name,), guarantee)

    def singles(self) -> list[FittedForm]:
        """Return single questions by other mechanisms than GRR, which rest on their budgets."""
        problem, found = self.problem, list[FittedForm]()
        for item in () if self.people.public else problem.items:
            budget = min(float(problem.caps[item[0]]), self.least_limit)
            name = problem.precisions.best_mechanism(item[0], budget) if len(item) == 1 else "grr"
            if name != "grr":
                found.append(self._question(item[0], name, "worst"))
        return [form for form in found if problem.useful(form)]

    def by_budget(self, j: int, timer: Timer) -> FittedForm | None:
        """Return a single question that rests on its budget, where nothing is public.

        Where limits differ an attribute may have more, searched for while there is time.
        """
        more = self.problem.caps[j] > self.least_limit and not timer.over()
        return None if self.people.public or more else self._question(j, "grr", "exact")

    def whole(self, timer: Timer) -> list[FittedForm]:
        """Return forms that ask all attributes: `exact` where that fits, and the split."""
        problem, form = self.problem, self.problem.everything
        if problem.clashes(form):
            return []
        found = [] if self.people.public else [coarse_form(problem, None, form)]
        if self.screen.fits(form):
            found.append(self.first(problem.fit(form)))
        return [one for one in found if problem.useful(one)]

    def too_large(self, item: Indices) -> FittedForm:
        """Return the form of attributes asked together whose limits cannot be computed."""
        if self.people.public:
            raise InputError(
                f"{self.problem.listed(item)} asked together cannot be certified for the "
                "population beside what is public; ask fewer together, raise the limit, or give "
                "more records"
            )
        return coarse_form(self.problem, None, item)

    def first(self, form: FittedForm) -> FittedForm:
        """Return a form with the largest equal budgets that keep all limits for people."""
        if form.guarantee != self.people.guarantee:
            return form
        if form.attributes not in self._found:
            self._found[form.attributes] = self._certified(form)
        return self._found[form.attributes]

    def accept(self, form: FittedForm, prices: Floats, thorough: bool) -> FittedForm:
        """Return a form that the search found as it may enter the pool."""
        return self.first(form)

    def _certified(self, form: FittedForm, spread: float = 0.15) -> FittedForm:
        problem, table = self.problem, self.screen.table(form.attributes)
        cap = float(problem.caps[list(form.attributes)].max())
        guess = form.level if form.level > 0 else cap

        def excess(level: float) -> float:
            budgets = problem.level_budgets(form.attributes, level)
            if level <= 0:
                told = self.people.told(len(budgets)) if self.people.public else 0 * form.totals
                return problem.excess(told, budgets)
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

        Where all ask one question within every limit, they rest on their budgets alone, if nothing
        is public.
        """
        if not self.people.public and all(
            len(form.attributes) == 1 and form.level <= self.least_limit for form in forms
        ):
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
        promised = self.problem.limits.copy()
        if not self.people.public:
            promised = np.minimum(promised, summed_up(budgets.tolist()))
        promised[list(self.people.known)] = 0.0
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
        protected = np.isfinite(self.problem.limits)
        if protected.any():
            yield (
                "no form of several questions is both certified for the population and better: "
                f"{self.people.rarest(protected)}; pool rare values or give more records"
            )
