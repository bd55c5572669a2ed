"""Forms whose totals keep the limits for the population that the records were sampled
from.

Any form may be selected on the same records: the level counts all forms of a size
(`PopulationFormTotals`).  Its budgets are equal, none above its attribute's own limit.
That is one ascending family fixed in advance, so the largest budgets that pass may be
taken [theory-certificate: Families].
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage.calibration.largest_budget import largest_budget
from seepage.channel.records import Records
from seepage.confidence.union_bound import halved
from seepage.designs.forms.certifier import Certifier
from seepage.designs.forms.form import Form
from seepage.designs.forms.form_problem import FormProblem, check_public
from seepage.designs.forms.form_totals import ScreenedFormTotals
from seepage.designs.forms.population_form_totals import PopulationFormTotals
from seepage.tables.rare_values import rare_below
from seepage.totals.compute_total import DECLARED

TOLERANCE = 5e-4
"""Relative accuracy of certified budgets; they are rounded down."""


TOO_FEW = "no form of several questions is both certified for the population and better"
"""Start of the note where every form has one question."""


PRIMING_FORMS = 3
"""Random forms of each size whose limits are computed before the search, for
`ScreenedFormTotals`."""


class PopulationCertifier(Certifier):
    """Certifies forms with equal budgets for the population, on all records.

    Parameters
    ----------
    problem
        The constraints, with caps that do not depend on the records; totals by
        `ExactFormTotals`.
    records
        A random sample of the population, one record per person.
    confidence
        Confidence that every limit holds.
    shared
        Whether shaped forms take half of the error probability 1 - confidence.
    """

    scope = "population"
    max_pairs = 1000
    """Pairs certified in a round without an improving form by the screen, some 20 ms
    each."""

    def __init__(
        self,
        problem: FormProblem,
        records: Records,
        confidence: float,
        shared: bool = False,
    ) -> None:
        """Prepare to certify forms for the population."""
        level = halved(confidence) if shared else confidence
        self.population = PopulationFormTotals(
            problem.scorer.counter,
            checks.inner_probability(level, "confidence"),
            problem.largest,
            np.flatnonzero(problem.collected).tolist(),
        )
        self.screen = ScreenedFormTotals(self.population, problem.limits, problem.caps)
        self.records = records
        self.confidence = confidence
        self.problem = replace(problem, scorer=self.screen)
        self._certified_forms: dict[tuple[str, ...], Form] = {}
        if problem.public:
            leakages = self.population.public_leakage(1)
            check_public(
                problem.domain, problem.public, problem.limits, leakages, self._rarest
            )

    def _rarest(self, k: int) -> str:
        """Return a clause on the value of attribute k that the fewest records of the
        population's sample certify.
        """
        rarest = self.population.rarest(np.arange(len(self.problem.domain)) == k)
        return f" in the population: {rarest}"

    def prime_screen(self, rng: int = 0) -> None:
        """Compute the population limits of random forms of each size, to start the
        estimates of the screen.
        """
        generator = np.random.default_rng(rng)
        problem = self.problem
        indices = np.flatnonzero(problem.collected)
        for questions in range(2, self.population.largest + 1):
            for _ in range(PRIMING_FORMS):
                form = generator.choice(indices, questions, replace=False).tolist()
                if not self.screen.fits(form):
                    continue
                table = self.screen.counter.table(form)
                fitted = problem.fit_table(table, math.inf, TOLERANCE)
                order = np.searchsorted(problem.indices(fitted), form)
                budgets = fitted.epsilons[order]
                self.screen.learn(
                    table, budgets, self.population.totals(table, budgets)
                )

    def _single_question(self, j: int, guarantee: str) -> Form:
        """Return the form of attribute j alone, certified for the population; its
        totals are its budget, within every limit.

        By GRR for the guarantee `"exact"`, else by the most precise mechanism.
        """
        budget = min(float(self.problem.caps[j]), self.problem.min_limit)
        name = "grr"
        if guarantee == "worst":
            name = self.problem.precisions.best_mechanism(j, budget)
        totals = np.full(len(self.problem.domain), budget)
        return self.problem.form((j,), np.array([budget]), totals, (name,), guarantee)

    def singles(self) -> list[Form]:
        """Return forms of one question for the population by another mechanism than
        GRR; totals are its budget.
        """
        asked = () if self.population.public else self.problem.everything
        forms = [self._single_question(j, "worst") for j in asked]
        return [form for form in forms if form.mechanisms != ("grr",)]

    def budget_form(self, j: int) -> Form | None:
        """Return the form of attribute j alone, certified for the population with
        totals equal to its budget.

        None if attributes are public; or if its own limit is larger than the smallest
        one, so that a larger budget may pass.
        """
        may_be_larger = self.problem.caps[j] > self.problem.min_limit
        if self.population.public or may_be_larger:
            return None
        form = self._single_question(j, "exact")
        # no larger budget keeps its limit
        self._certified_forms[form.attributes] = form
        return form

    def certify(self, form: Form, prices: Floats | None = None) -> Form:
        """Return the form with the largest equal budgets that keep all limits for the
        population, cached.

        For any prices: budgets refined on the same records would not be certified.
        """
        if form.guarantee != "exact":
            return form
        if form.attributes not in self._certified_forms:
            self._certified_forms[form.attributes] = self._certified(form)
        return self._certified_forms[form.attributes]

    def _certified(self, form: Form, spread: float = 0.15) -> Form:
        """Return a form certified for the population; the root search starts around the
        screen's budget.
        """
        problem = self.problem
        indices = problem.indices(form)
        table = self.screen.counter.table(indices)
        cap = float(problem.caps[list(indices)].max())
        estimate = form.max_budget if form.max_budget > 0 else cap

        def excess(budget: float) -> float:
            """Return the excess of a form's population limits at equal budgets."""
            budgets = problem.capped_budgets(indices, budget)
            if budget > 0:
                limits = self.population.totals(table, budgets, enough=problem.limits)
                return problem.excess(limits, budgets)
            return problem.excess(self.population.public_leakage(len(budgets)), budgets)

        upper = min(estimate * (1 + spread), cap)
        tolerance = TOLERANCE * min(estimate, problem.min_limit)
        while (
            budget := largest_budget(excess, upper, tolerance)
        ) >= upper and upper < cap:
            upper = min(upper * (1 + 2 * spread), cap)
        budgets = problem.capped_budgets(indices, budget)
        limits = self.population.totals(table, budgets)
        self.screen.learn(table, budgets, limits)
        return problem.form(indices, budgets, limits, form.mechanisms, form.guarantee)

    def proven(self, forms: list[Form]) -> list[Form]:
        """Return the forms of the result with the totals that are proven for the
        population.

        If every form asks one question with a budget within every limit, and no
        attribute is public, the guarantee is `"worst"`: totals equal to the budgets.
        Otherwise the largest budgets that pass prove the limits only, not totals that
        happen to be lower.
        """
        if not self.population.public and all(
            len(form.attributes) == 1 and form.max_budget <= self.problem.min_limit
            for form in forms
        ):
            count = len(self.problem.domain)
            return [
                Form.of(form.channel, "worst", [form.max_budget] * count)
                for form in forms
            ]
        return [
            Form.of(form.channel, form.guarantee, self._proven_totals(form).tolist())
            for form in forms
        ]

    def _proven_totals(self, form: Form) -> Floats:
        """Return the limits for the population, after a check that the form's totals
        computed again are within them.

        Without public attributes no total is above the sum of the budgets, so a form
        whose budgets are within every limit needs no check.
        """
        if form.guarantee != "exact" or not form.is_product:
            return form.total_values
        largest = np.inf if self.population.public else form.record
        if largest > self.problem.min_limit:
            table = self.population.counter.table(self.problem.indices(form))
            limits = self.problem.limits
            computed = self.population.totals(table, form.epsilons, enough=limits)
            if self.problem.excess(computed, form.epsilons) > 0:
                raise AssertionError("a total of a designed form exceeds its limit")
        totals = np.minimum(self.problem.limits, largest)
        totals[list(self.population.known)] = 0.0
        return totals

    def notes(self, forms: list[Form]) -> Iterator[str]:
        """Yield notes: that the limits hold for the population, and under which
        assumption on the sample.
        """
        if {form.guarantee for form in forms} == {"worst"}:
            yield (
                "every limit holds for everybody: no total is above the sum of a "
                "form's budgets"
            )
            yield from self._too_few()
            return
        population = self.records.population
        sampled = "" if population is None else f" (a random sample of {population:,})"
        declared = f"; {DECLARED}" if self.records.origin.fixed is None else ""
        yield (
            f"every limit holds for the people whom the {self.records.records:,} "
            f"records{sampled} were drawn from, with confidence {self.confidence:g}, "
            "if the records are a random sample of them with one record per person, "
            f"and taking part does not depend on answers{declared}"
        )

    def _too_few(self) -> Iterator[str]:
        """Yield a note on what keeps forms of several questions from being certified
        for the population: a rare value, few records.
        """
        protected = np.isfinite(self.problem.limits)
        records = self.records
        if not protected.any() or len(self.problem.everything) < 2:
            return
        rare = [
            is_protected
            and len(counts) > 2
            and counts.min() < rare_below(records.records)
            for is_protected, counts in zip(
                protected, records.pairs().marginals, strict=True
            )
        ]
        if any(rare) or self.population.strata > 1:
            rarest = self.population.rarest(np.array(rare) if any(rare) else protected)
            yield f"{TOO_FEW}: {rarest}; pool rare values or give more records"
        else:
            yield (
                f"{TOO_FEW}: {records.records:,} records are too few; give more, or "
                "merge answers"
            )
