"""Shaping as a part of the search for a design: when, for whom, beside which product design.

For the population everything about a shaped form is chosen by looking: what is asked, and each
column of its report.  So the whole search for shaped forms, product forms included, sees a random
fifth of the records; the other records certify the reports that it ends with, all of them together.
"""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from seepage._numerics import Floats
from seepage.data.records import Records
from seepage.designs.forms.a_optimal import Precisions, best_shares
from seepage.designs.forms.form_problem import FittedForm, FormProblem
from seepage.designs.forms.form_totals import ExactForms
from seepage.designs.forms.population_certifier import PopulationCertifier, halved
from seepage.designs.shaped.form_shaper import (
    IN_USE,
    MOST_SHAPED,
    FormMaker,
    FormShaper,
    form_limits,
    protected,
    table_shapes,
)
from seepage.designs.shaped.shape import certified_on, chosen_mechanism
from seepage.designs.shaped.shaped_mechanism import ShapedMechanism
from seepage.designs.shaped.shaped_population import CHOSEN_ON, split_records
from seepage.errors import InputError

if TYPE_CHECKING:
    from seepage.designs.find_design import DesignRun


MOST_CHOSEN = 16
"""Combinations of answers of a form that is shaped for the population."""

SPARE = 0.98
"""The share of the record's limit that is used: the fifth tells it with an error."""


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


class SplitRecords:
    """The part of the records that is looked at, as a problem of its own, and the other part.

    Parameters
    ----------
    problem, records
        The conditions and all records.
    confidence
        Of all limits of shaped forms together.
    seed
        Of the split.
    """

    def __init__(
        self, problem: FormProblem, records: Records, confidence: float, seed: int
    ) -> None:
        self.all, self.confidence = records, confidence
        self.fifth, self.rest = split_records(records, seed)
        fifth = self.fifth
        self.grown = Records(fifth.domain, fifth.codes, fifth.weights * CHOSEN_ON)
        self.problem = replace(
            problem,
            scorer=ExactForms(self.grown, [], []),
            precisions=Precisions(self.grown, problem.precisions.joint),
            most_cells=MOST_CHOSEN,
        )

    def certifier(self) -> PopulationCertifier:
        """Return what the product forms would be certified with, by the records looked at."""
        return PopulationCertifier(self.problem, self.grown, self.confidence)

    def certified(self, forms: list[FittedForm], shaper: FormShaper) -> list[FittedForm]:
        """Return the shaped forms that the other records certify, each for the people.

        The confidence is shared by all forms given, which were chosen before looking.
        """
        each = 1 - (1 - self.confidence) / max(len(forms), 1)
        found = [self._certified(form, each, shaper) for form in forms]
        return [form for form in found if form is not None]

    def _certified(
        self, form: FittedForm, confidence: float, shaper: FormShaper
    ) -> FittedForm | None:
        limits = protected(self.problem)
        assert form.matrix is not None
        try:
            made = certified_on(self.rest, self.all, form.matrix, limits, confidence)
            told = made.realised()
            totals = np.array(
                [told.get(name, made.realised_epsilon) for name in self.problem.domain.names]
            )
            return shaper.with_matrix(form, made, totals)
        except InputError:
            return None


PRODUCT_TIME = 0.3
"""The share of the time that forms to be shaped are searched for."""

PEOPLE_TIME = 0.25, 0.8
"""The same for the population, and the share until which forms are shaped."""


def shape_forms(run: "DesignRun", how: str, seed: int) -> None:
    """Search for forms that can be shaped, and shape those that pay.

    Parameters
    ----------
    run
        The search, with its pool of single questions.
    how
        `"single"`, `"forms"` or `"record"`.
    seed
        Of the search.
    """
    problem, timer = run.problem, run.timer
    rule, whole = "record" if how == "record" else "answer", timer.seconds
    if run.certifier.scope == "population":
        _shape_for_people(run, how, rule, seed)
        return
    if how != "single":
        timer.seconds, problem.most_cells = whole * PRODUCT_TIME, MOST_SHAPED
        run.search(seed)
        timer.seconds, problem.most_cells = whole, math.inf
    maker = table_shapes(problem, run.records, rule)
    shaper = FormShaper(problem, maker, timer, single=how == "single")
    run.collect(shaper.improve(run.pool, run.search_forms))


def _shape_for_people(run: "DesignRun", how: str, rule: str, seed: int) -> None:
    """Search and shape on a fifth of the records; add the forms that the rest certifies."""
    timer, whole = run.timer, run.timer.seconds
    confidence = run.certifier.confidence or 0.0
    parts = SplitRecords(run.problem, run.records, halved(confidence), seed)
    inner = run.on(parts.certifier())
    try:
        timer.seconds = whole * PEOPLE_TIME[0]
        inner.start()
        if how != "single":
            inner.search(seed)
        timer.seconds = whole * PEOPLE_TIME[1]
        maker = people_shapes(parts.problem, parts.fifth, rule, parts.confidence)
        shaper = FormShaper(parts.problem, maker, timer, single=how == "single")
        inner.collect(shaper.improve(inner.pool, inner.search_forms))
        chosen = [form for form, share in inner.pool.support if share >= IN_USE and form.matrix]
        timer.seconds = whole
        certified = parts.certified(chosen, shaper)
    except KeyboardInterrupt:
        run.ended = "interrupted"
        return
    finally:
        timer.seconds = whole
    most = {form.attributes: _product_record(run, form) for form in certified}
    run.pool.add([form for form in certified if form.record <= most[form.attributes]])
    run.pool.settle(1e-4, 4000)


def _product_record(run: "DesignRun", form: FittedForm) -> float:
    """Return what GRR reports about the same answers would tell about the whole record."""
    if len(form.attributes) == 1:
        return math.inf
    return run.certifier.first(run.problem.fit(form.attributes)).record


def product_design(run: "DesignRun") -> tuple[list[FittedForm], Floats] | None:
    """Return the forms and errors of the best design without shaped reports, if there are such."""
    pool = run.pool
    plain = np.array([form.matrix is None for form in pool.forms])
    if plain.all():
        return None
    rows = pool.rows[plain]
    shares = best_shares(rows, run.problem.weights, np.ones(len(rows)), 1e-3, 4000).shares
    forms = [form for form in pool.forms if form.matrix is None]
    used = [form for form, share in zip(forms, shares.tolist(), strict=True) if share > 0]
    with np.errstate(divide="ignore"):
        return used, 1 / (run.records.records * (shares @ rows))
