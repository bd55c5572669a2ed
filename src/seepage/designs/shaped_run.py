"""Shaping as a part of the search for a design: when, for whom, and beside which product design."""

import math
from typing import TYPE_CHECKING

import numpy as np

from seepage._numerics import Floats
from seepage.designs.form_problem import FittedForm
from seepage.designs.population_forms import halved
from seepage.designs.shaped_designs import IN_USE, MOST_SHAPED, FormShaper, TableShapes
from seepage.designs.shaped_people import PeopleShapes, SplitRecords
from seepage.designs.shares import best_shares

if TYPE_CHECKING:
    from seepage.designs.find_design import DesignRun

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
    if problem.public_places or problem.known_places:
        return
    rule, whole = "record" if how == "record" else "answer", timer.seconds
    if run.certifier.scope == "population":
        _shape_for_people(run, how, rule, seed)
        return
    if how != "single":
        timer.seconds, problem.most_cells = whole * PRODUCT_TIME, MOST_SHAPED
        run.search(seed)
        timer.seconds, problem.most_cells = whole, math.inf
    shaper = FormShaper(
        problem, TableShapes(problem, run.records, rule), timer, single=how == "single"
    )
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
        maker = PeopleShapes(parts.problem, parts.fifth, rule, parts.confidence)
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
