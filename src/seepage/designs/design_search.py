"""One search for a design: its pool of forms, shaped reports among them, and the result.

For the population everything about a shaped form is chosen by looking: what is asked, and each
column of its report.  So the whole search for shaped forms, product forms included, sees a random
fifth of the records; the other records certify the reports that it ends with, all of them together.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from seepage._numerics import Floats
from seepage._results import Progress
from seepage.data.records import Records
from seepage.designs.design import Design, DesignedForm
from seepage.designs.design_options import make_form_problem
from seepage.designs.forms.a_optimal import Precisions, Shares, best_shares, evaluate
from seepage.designs.forms.form_problem import FittedForm, FormProblem, Indices
from seepage.designs.forms.form_search import FormPool, FormSearch, Timer, generate
from seepage.designs.forms.form_totals import ExactForms
from seepage.designs.forms.population_certifier import PopulationCertifier, halved
from seepage.designs.forms.table_certifier import TableCertifier
from seepage.designs.shaped.form_shaper import (
    IN_USE,
    MAX_SHAPED,
    FormShaper,
    people_shapes,
    table_shapes,
)
from seepage.designs.shaped.shaped_population import CHOSEN_ON, split_records
from seepage.designs.strategies import compare_designs
from seepage.errors import InputError

MIN_SHARE = 1e-3
"""A form with a smaller share is left out at the end; the gap counts what that costs."""

VARIANT = 0.1
"""So is one with less than this share of another that asks the same with other budgets."""


Certifier = TableCertifier | PopulationCertifier
"""Makes forms that keep their limits for the people of a scope."""


def search_design(
    conditions: Mapping[str, Any],
    confidence: float,
    shape: str,
    mechanism: str | None,
    seed: int,
    records: Records,
    seconds: float,
    progress: Progress | None,
) -> Design:
    """Return the best design for some records that a search of limited time finds.

    Parameters
    ----------
    conditions
        The keywords of `make_form_problem`.
    confidence, shape, mechanism, seed
        As in `find_design`.
    records, seconds, progress
        The records, the longest time, and the function that is told of progress.
    """
    timer = Timer(seconds)
    problem = make_form_problem(records, **conditions)
    strata = problem.public_indices or problem.known_indices
    shaped = mechanism is None and shape != "never" and not strata
    certifier: Certifier
    if problem.fixed_caps:  # half of what the confidence leaves is for shaped forms
        certifier = PopulationCertifier(problem, records, confidence, shaped)
        certifier.prime(timer, seed)
    else:
        certifier = TableCertifier(problem, records)
    run = DesignRun(certifier, timer, conditions["largest"], mechanism, progress)
    run.start()
    if shaped:
        _shape_forms(run, shape, seed)
    run.search(seed)
    return run.result(seed)


class DesignRun:
    """One search: the pool, how it ended, and the result made of it."""

    def __init__(
        self,
        certifier: Certifier,
        timer: Timer,
        largest: int | None,
        mechanism: str | None,
        progress: Progress | None,
    ) -> None:
        self.certifier, self.timer = certifier, timer
        self.problem, self.records = certifier.problem, certifier.records
        self.largest, self.mechanism, self.progress = largest, mechanism, progress
        self.pool, self.search_forms = FormPool(self.problem), FormSearch(self.problem, timer)
        self.whole: list[FittedForm] = []
        self.singles: list[FittedForm] = []
        self.ended = "no better form"

    def on(self, certifier: Certifier) -> "DesignRun":
        """Return another search within the same time, for other conditions or records."""
        return DesignRun(certifier, self.timer, self.largest, "grr", self.progress)

    def start(self) -> None:
        """Fill the pool with single items, all attributes, and the pairs that are wanted."""
        problem = self.problem
        first = [self._item(item) for item in problem.items]
        if self.mechanism is None:
            first += self.certifier.singles()
        self.singles = [form for form in first if len(form.attributes) == 1]
        self.whole = self.certifier.whole(self.timer)
        allowed = self.largest is None or self.largest >= len(problem.domain)
        self.pool.add([*first, *(self.whole if allowed else [])])
        wanted = [self._wanted(pair) for pair in problem.precisions.joint]
        self.pool.add([form for form in wanted if form is not None])
        if not math.isfinite(self.pool.state.objective):
            raise InputError(
                "no form within the limits gives every joint distribution that is wanted; raise "
                "the limit or want fewer"
            )
        self.pool.settle(1e-6, 4000)

    def _item(self, item: Indices) -> FittedForm:
        """Return a form of one item; with coarser totals where its table is too large."""
        problem, found = self.problem, None
        single = self.certifier.by_budget(item[0], self.timer) if len(item) == 1 else None
        if single is not None:
            found = self.search_forms.found[item] = single if problem.useful(single) else None
        elif problem.scorer.fits(item):
            found = self._certified(item)
        else:
            coarse = self.certifier.too_large(item)
            found = coarse if problem.useful(coarse) else None
        if found is None:
            raise InputError(
                f"{problem.listed(item)} asked together cannot have their least "
                "useful budgets; raise the limit or lower `least`"
            )
        return found

    def _certified(self, form: Indices) -> FittedForm | None:
        found = self.search_forms.fit(form[:-1], form[-1:])
        certified = None if found is None else self.certifier.first(found)
        return certified if certified is not None and self.problem.useful(certified) else None

    def _wanted(self, pair: tuple[int, int]) -> FittedForm | None:
        items = {next(item for item in self.problem.items if j in item) for j in pair}
        return self._certified(tuple(sorted(j for item in items for j in item)))

    def search(self, seed: int) -> None:
        """Generate forms; an interrupt ends the search and keeps what was found."""
        self.collect(self._generated(np.random.default_rng(seed)))

    def _generated(self, rng: np.random.Generator) -> Iterator[Shares]:
        one = self.certifier
        for thorough in (False, True):
            yield from generate(self.search_forms, self.pool, one.accept, rng, thorough, one.pairs)

    def collect(self, rounds: Iterator[Shares]) -> None:
        """Go through rounds of a search; an interrupt ends all and keeps what was found."""
        if self.ended == "interrupted":
            return
        before = self.pool.saved()
        try:
            self.search_forms.count_pairs()
            for _ in rounds:
                before = self.pool.saved()
                self._report()
        except KeyboardInterrupt:
            self.pool.restore(before)
            self.ended = "interrupted"
        else:
            self.ended = "time" if self.timer.over() else "no better form"

    def _report(self) -> None:
        if self.progress is None:
            return
        total = None if math.isinf(self.timer.seconds) else math.ceil(self.timer.seconds)
        self.progress(int(min(self.timer.spent, self.timer.seconds)), total)
        describe = getattr(self.progress, "describe", None)
        if describe is not None:
            error = self.pool.state.objective / self.records.records
            describe(f"designing, error {error / (self.problem.weights > 0).sum():.4g}")

    def result(self, seed: int) -> Design:
        """Return the design, its forms checked once more."""
        problem = self.problem
        indices, state = self._final()
        order = sorted(indices, key=lambda index: -state.shares[index])
        forms = self.certifier.settled([self.pool.forms[index] for index in order])
        if any(problem.excess(form.totals, form.spent) > 0 for form in forms):
            raise AssertionError("a total of a designed form exceeds its limit")
        with np.errstate(divide="ignore"):
            errors = 1 / (self.records.records * (state.shares @ self.pool.rows))
        count = len(problem.domain)
        names = problem.domain.names
        alone = errors[:count].copy()
        alone[np.array(problem.domain.sizes) == 1] = 0.0
        shares, plain = [float(state.shares[index]) for index in order], self._product_design()
        comparison = compare_designs(
            problem, self.records, self.singles, self.whole, forms, alone, plain
        )
        pairs = [(names[i], names[j]) for i, j in problem.precisions.joint]
        return Design(
            self.records.pairs(),
            problem.limits,
            tuple(names[j] for j in problem.public_indices),
            tuple(names[j] for j in problem.known_indices),
            tuple(_named(problem, form, part) for form, part in zip(forms, shares, strict=True)),
            alone,
            dict(zip(pairs, errors[count:].tolist(), strict=True)),
            problem.weights[:count],
            state.gap,
            sum(found is not None for found in self.search_forms.found.values()),
            comparison,
            self.ended,
            seed,
            (*self.certifier.notes(forms), *self._notes()),
            self.certifier.scope,
            self.certifier.confidence,
        )

    def _product_design(self) -> tuple[list[FittedForm], Floats] | None:
        """Return forms and errors of the best design without shaped reports, if it has such."""
        pool = self.pool
        plain = np.array([form.matrix is None for form in pool.forms])
        if plain.all():
            return None
        rows = pool.rows[plain]
        shares = best_shares(rows, self.problem.weights, np.ones(len(rows)), 1e-3, 4000).shares
        forms = [form for form in pool.forms if form.matrix is None]
        used = [form for form, share in zip(forms, shares.tolist(), strict=True) if share > 0]
        with np.errstate(divide="ignore"):
            return used, 1 / (self.records.records * (shares @ rows))

    def _final(self) -> tuple[list[int], Shares]:
        """Return the forms that stay, without those of vanishing shares, and the state."""
        pool, weights = self.pool, self.problem.weights
        pool.settle(1e-4, 20_000)
        most: dict[Indices, float] = {}
        for form, share in zip(pool.forms, pool.shares.tolist(), strict=True):
            most[form.attributes] = max(share, most.get(form.attributes, 0.0))
        least = [max(MIN_SHARE, VARIANT * most[form.attributes]) for form in pool.forms]
        start = np.where(pool.shares >= least, pool.shares, 0.0)
        fewer = evaluate(pool.rows, weights, start / start.sum())
        if math.isfinite(fewer.objective):
            pool.shares = best_shares(pool.rows, weights, start, 1e-4, 20_000).shares
        state = pool.state
        return np.flatnonzero(state.shares > 0).tolist(), state

    def _notes(self) -> Iterator[str]:
        problem = self.problem
        for attribute in problem.domain:
            if attribute.size == 1:
                yield f"{attribute.name!r} has one value: nothing to ask"
        unasked = problem.collected & (problem.weights[: len(problem.domain)] == 0)
        for j in np.flatnonzero(unasked).tolist():
            yield f"{problem.domain.names[j]!r} has weight 0: asked only where that costs nothing"
        if self.ended != "no better form":
            yield f"the search ended by {self.ended} after {self.timer.spent:.0f} s"


def _named(problem: FormProblem, form: FittedForm, share: float) -> DesignedForm:
    names = tuple(problem.domain.names[j] for j in form.attributes)
    budgets, totals = tuple(form.epsilons.tolist()), tuple(form.totals.tolist())
    return DesignedForm(
        names,
        form.mechanisms,
        budgets,
        share,
        totals,
        form.guarantee,
        form.record,
        form.matrix,
    )


# Shaped reports ---------------------------------------------------------------------------------

MAX_CHOSEN = 16
"""Combinations of answers of a form that is shaped for the population."""

PRODUCT_TIME = 0.3
"""The share of the time that forms to be shaped are searched for."""

PEOPLE_TIME = 0.25, 0.8
"""The same for the population, and the share until which forms are shaped."""


def _shape_forms(run: DesignRun, how: str, seed: int) -> None:
    """Search for forms that can be shaped, `"single"`, `"forms"` or `"record"`; shape what pays."""
    problem, timer = run.problem, run.timer
    rule, whole = "record" if how == "record" else "answer", timer.seconds
    if run.certifier.scope == "population":
        _shape_for_people(run, how, rule, seed)
        return
    if how != "single":
        timer.seconds, problem.most_cells = whole * PRODUCT_TIME, MAX_SHAPED
        run.search(seed)
        timer.seconds, problem.most_cells = whole, math.inf
    maker = table_shapes(problem, run.records, rule)
    shaper = FormShaper(problem, maker, timer, single=how == "single")
    run.collect(shaper.improve(run.pool, run.search_forms))


def _shape_for_people(run: DesignRun, how: str, rule: str, seed: int) -> None:
    """Search and shape on a fifth of the records; add the forms that the rest certifies."""
    timer, whole = run.timer, run.timer.seconds
    confidence = halved(run.certifier.confidence or 0.0)
    fifth, rest = split_records(run.records, seed)
    grown = Records(fifth.domain, fifth.codes, fifth.weights * CHOSEN_ON)
    problem = replace(
        run.problem,
        scorer=ExactForms(grown),
        precisions=Precisions(grown, run.problem.precisions.joint),
        most_cells=MAX_CHOSEN,
    )
    inner = run.on(PopulationCertifier(problem, grown, confidence))
    maker = people_shapes(problem, fifth, rule, confidence)
    shaper = FormShaper(problem, maker, timer, single=how == "single")
    try:
        timer.seconds = whole * PEOPLE_TIME[0]
        inner.start()
        if how != "single":
            inner.search(seed)
        timer.seconds = whole * PEOPLE_TIME[1]
        inner.collect(shaper.improve(inner.pool, inner.search_forms))
        chosen = [form for form, share in inner.pool.support if share >= IN_USE and form.matrix]
        timer.seconds = whole
        certified = shaper.certified(chosen, rest, run.records, confidence)
    except KeyboardInterrupt:
        run.ended = "interrupted"
        return
    finally:
        timer.seconds = whole
    run.pool.add([form for form in certified if form.record <= _product_record(run, form)])
    run.pool.settle(1e-4, 4000)


def _product_record(run: DesignRun, form: FittedForm) -> float:
    """Return what GRR reports about the same answers would tell about the whole record."""
    if len(form.attributes) == 1:
        return math.inf
    return run.certifier.first(run.problem.fit(form.attributes)).record
