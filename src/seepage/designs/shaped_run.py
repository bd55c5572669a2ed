"""Shaping as a part of the search for a design: when, for whom, and beside which product design."""

import math
from typing import TYPE_CHECKING

import numpy as np

from seepage._numerics import Floats
from seepage.designs.form_problem import FittedForm
from seepage.designs.shaped_designs import MOST_SHAPED, FormShaper, TableShapes
from seepage.designs.shares import best_shares

if TYPE_CHECKING:
    from seepage.designs.find_design import DesignRun

PRODUCT_TIME = 0.3
"""The share of the time that forms to be shaped are searched for."""


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
    if problem.public_places or problem.known_places or run.certifier.scope != "table":
        return
    whole = timer.seconds
    if how != "single":
        timer.seconds, problem.most_cells = whole * PRODUCT_TIME, MOST_SHAPED
        run.search(seed)
        timer.seconds, problem.most_cells = whole, math.inf
    maker = TableShapes(problem, run.records, "record" if how == "record" else "answer")
    shaper = FormShaper(problem, maker, timer, how == "single")
    run.collect(shaper.improve(run.pool, run.search_forms))


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
