"""The search for forms to shape, on the table or on a fifth of the records.

For the population, a shaped form depends on the records in everything: which attributes
are asked, and each column of its channel.  So the search for shaped forms, product
forms included, reads a random fifth of the records only; the other records certify its
final reports, all of them at once [theory-certificate: What each result counts].
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from seepage.channel.records import Records
from seepage.confidence.union_bound import halved
from seepage.designs.design_options import ShapedSets
from seepage.designs.forms.form import Form
from seepage.designs.forms.form_counter import FormCounter
from seepage.designs.forms.form_search import FIRST_IDLE_ROUNDS
from seepage.designs.forms.form_totals import ExactFormTotals
from seepage.designs.forms.population_certifier import PopulationCertifier
from seepage.designs.report_precision import Precisions
from seepage.designs.shaped.form_shaper import (
    MIN_SHAPED_SHARE,
    FormShaper,
    most_cells,
)
from seepage.designs.shaped.population_leakages import SPLIT_FACTOR, split_records

if TYPE_CHECKING:
    from seepage.designs.design_search import DesignSearch


SEARCH_END = 0.3


SHAPING_END = 0.75


REFINING_END = 0.9
"""Shares of the work at which steps end: the search for product forms, the search for
forms to shape and their shaping, and the finer shaping of the solution's forms."""


MAX_PASSES = 4
"""Maximum number of times that forms to shape are searched for, at the prices of the
last."""


MIN_PASS_DECREASE = 2e-3
"""Minimum relative decrease of the objective in such a pass; a smaller one is the
last."""


PRODUCT_SEARCH_END = 0.35
"""For the population: the share of the work at which the search for product forms
ends."""


SHAPING_SHARE = 0.45


PASSES_SHARE = 0.35


PASS_SEARCH_SHARE = 0.06
"""For the population: the shares of the work, from where it begins, of all that is done
on a fifth of the records, of its passes, and of each search for forms to shape."""


def shape_forms(run: "DesignSearch") -> None:
    """Search for forms that can be shaped, and add the improving shaped forms to the
    pool.

    Those that the search of a warm start shaped are shaped first.
    """
    if run.certifier.scope == "population":
        _shape_for_population(run)
        return
    with run.work.stage(SEARCH_END):
        run.search(FIRST_IDLE_ROUNDS)
    shaper = FormShaper(run.certifier, run.problem.scorer.counter, run.work)
    _shape_warm_start(run, shaper, part="")
    with run.work.stage(SHAPING_END):
        _run_passes(run, shaper)
    with run.work.stage(REFINING_END):
        run.run_rounds(shaper.refine(run.pool))
    run.shaped_sets = ShapedSets(_sets_of_shaped(run.pool.support(MIN_SHAPED_SHARE)))


def _run_passes(
    run: "DesignSearch", shaper: FormShaper, search_share: float = 1.0
) -> None:
    """Search for forms to shape at the current prices, with a share of the work at
    most, and shape them; again while that gains, or forms of another size were shaped.
    """
    for _ in range(MAX_PASSES):
        before = run.pool.solution.objective
        sizes = set(shaper.ratios)
        run.narrow(most_cells(run.problem), shaper.expected_ratios())
        with run.work.stage(run.work.share + search_share):
            run.search(FIRST_IDLE_ROUNDS)
        run.widen()
        run.run_rounds(shaper.improve(run.pool, run.form_search))
        gained = before - run.pool.solution.objective
        if gained < before * MIN_PASS_DECREASE and sizes == set(shaper.ratios):
            return


def _shape_for_population(run: "DesignSearch") -> None:
    """Search and shape on a fifth of the records; add the forms that the other records
    certify.

    After a search for product forms on all records, which gains most and takes the
    least time.
    """
    with run.work.stage(PRODUCT_SEARCH_END):
        run.search(FIRST_IDLE_ROUNDS)
    if run.ended == "interrupted":
        return
    fifth, rest = split_records(run.records, run.options.rng)
    scaled = Records(fifth.domain, fifth.codes, fifth.weights * SPLIT_FACTOR)
    old = run.problem.precisions
    problem = replace(
        run.problem,
        scorer=ExactFormTotals(FormCounter(scaled, work=run.work)),
        precisions=Precisions(scaled, old.joint, old.rows),
        # as given: that of the largest error depends on all records
        importance=run.importance,
    )
    confidence = halved(run.certifier.confidence or 0.0)
    inner = run.with_certifier(PopulationCertifier(problem, scaled, confidence))
    shaper = FormShaper(inner.certifier, FormCounter(fifth), run.work)
    try:
        # how far it comes may not depend on the records that certify
        with run.work.own_stage(SHAPING_SHARE):
            part = fifth.pairs().digest
            _select_forms(inner, shaper, part)
        used = _used_forms(inner, run)
        run.shaped_sets = ShapedSets(_sets_of_shaped(used), part)
        products = _certified_products(used, run)
        shaped = [form for form in used if not form.is_product]
        counters = FormCounter(rest), run.problem.scorer.counter
        certified = shaper.certified(shaped, *counters, products)
    except KeyboardInterrupt:
        run.interrupt()
        return
    useful = [form for form in products.values() if form.max_budget > 0]
    run.pool.add([*useful, *certified])
    run.pool.solve_master(1e-4, 4000)


def _used_forms(inner: "DesignSearch", run: "DesignSearch") -> list[Form]:
    """Return the forms that shaping on a part of the records uses: the shaped ones, and
    the products that are small enough to be certified on all records.
    """
    used = list[Form]()
    for form in inner.pool.support(MIN_SHAPED_SHARE):
        is_small = run.form_search.is_small(run.problem.indices(form))
        if is_small or not form.is_product:
            used.append(form)
    return used


def _certified_products(
    forms: Sequence[Form], run: "DesignSearch"
) -> dict[tuple[str, ...], Form]:
    """Return the certified product of each form of several attributes that was
    shaped.
    """
    products = dict[tuple[str, ...], Form]()
    for form in forms:
        if len(form.attributes) > 1:
            fitted = run.problem.fit(run.problem.indices(form))
            products[form.attributes] = run.certifier.certify(fitted)
    return products


def _sets_of_shaped(forms: Iterable[Form]) -> tuple[tuple[str, ...], ...]:
    """Return the sets of questions of the shaped ones of some forms."""
    return tuple(tuple(form.attributes) for form in forms if not form.is_product)


def _shape_warm_start(run: "DesignSearch", shaper: FormShaper, part: str) -> None:
    """Shape the forms that the search of a warm start chose to shape on the same part
    of the records.

    What it chose on others may follow from the records that certify
    [theory-certificate].
    """
    start = run.options.start
    if start is None or start.shaped.part != part:
        return
    warm = run.add_sets(start.shaped.sets)
    run.run_rounds(shaper.shape_all(run.pool, warm))


def _select_forms(inner: "DesignSearch", shaper: FormShaper, part: str) -> None:
    """Search for products of any size before shaping, for their prices; then for forms
    to shape, and shape them.

    Those that the search of a warm start shaped on the same part are shaped first.
    """
    work = inner.work
    inner.start()
    _shape_warm_start(inner, shaper, part)
    with work.stage(work.share + PASS_SEARCH_SHARE):
        inner.search(FIRST_IDLE_ROUNDS)
    with work.stage(work.share + PASSES_SHARE):
        _run_passes(inner, shaper, PASS_SEARCH_SHARE)
    inner.run_rounds(shaper.refine(inner.pool))
