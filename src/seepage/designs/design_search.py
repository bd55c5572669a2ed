"""`designed`: start forms, column generation, shaped reports, and the result."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from seepage._core.errors import InputError, Setting, Text
from seepage._core.threads import one_blas_thread
from seepage.calibration.calibration_options import check_all_records
from seepage.channel.records import Records
from seepage.designs.design import Design
from seepage.designs.design_options import DesignOptions
from seepage.designs.forms.certifier import Certifier
from seepage.designs.forms.form_problem import make_form_problem
from seepage.designs.forms.population_certifier import PopulationCertifier
from seepage.designs.forms.search_work import DEFAULT_WORK, SearchWork
from seepage.designs.forms.table_certifier import TableCertifier
from seepage.designs.shaped.form_shaper import shape_forms
from seepage.tables.check import settle
from seepage.tables.read import as_records, check_whole_table

WARM_WORK = 0.2
"""Share of the work for a search that starts from the forms of another design."""


def designed(data: Any, options: DesignOptions) -> "Design":
    """Return the most accurate collection by forms whose totals provably stay within
    the limit.

    A form is a set of attributes with a mechanism and a budget each.  Everyone gets one
    form, drawn independently of the record.  The leakage of its reports about attribute
    k is at most the form's total, computed for every attribute of the table, asked or
    not [theory-forms].

    Notes
    -----
    Shares are A-optimal by a multiplicative algorithm; new forms come by column generation.  The
    pool of forms contains every attribute alone and all attributes together, so neither SMP nor the
    calibrated collection has a smaller weighted error, up to the gap.

    For the population the level counts all forms of a size, so that any of them may be
    selected, with equal budgets in each form [theory-certificate].

    Cost: 0.05 ms to count a form of binary attributes and 0.1 ms for its totals about
    40 attributes, after 6 ms for 115,000 distinct records; some thousands of forms.
    For the population also six evaluations of 10 ms for every form that the screen
    finds improving.
    """
    records, notes = read_records(data, options)
    return search_design(records, options, notes)


def read_records(data: Any, options: DesignOptions) -> tuple[Records, Sequence[str]]:
    """Return the records to design with, and notes on the columns that are left out."""
    settled = settle(data, options, asked=True, stacklevel=5, scope=options.scope)
    reading = options.records_options(options.rng, options.scope)
    records = as_records(settled.data, **reading | settled.table)
    origin = replace(records.origin, columns=settled.unused)
    records = records.with_origin(origin)
    check_all_records(records)
    if records.origin.fixed is None and (options.order or options.answers == "merged"):
        raise InputError(
            "answers are merged where a table is read without a domain, and these records have one",
            parameter="order" if options.order else "answers",
        )
    hint = Text("give the table itself, or ", Setting("scope", "population"))
    check_whole_table(records, "exact", "designs for the table", options.scope, hint)
    return records, settled.notes


def search_design(
    records: Records,
    options: DesignOptions,
    notes: Iterable[str] = (),
) -> "Design":
    """Return the best design found with the work of the options.

    Its notes start with those given.
    """
    limit = DEFAULT_WORK * options.effort
    if options.start:
        limit *= WARM_WORK
    work = SearchWork(limit, options.seconds)
    with one_blas_thread():  # the order of sums depends on their number
        return _search_with(work, records, options, notes)


def _search_with(
    work: SearchWork,
    records: Records,
    options: DesignOptions,
    notes: Iterable[str],
) -> "Design":
    """Return the design that a search finds, with its certificate."""
    problem = make_form_problem(records, options, work)
    shaped = (
        options.mechanism is None
        and options.shape != "never"
        and not (problem.public or problem.known)
    )
    certifier: Certifier
    if (
        problem.fixed_caps
    ):  # shaped forms take half of the error probability 1 - confidence
        population = PopulationCertifier(
            problem, records, options.look_confidence, shaped
        )
        population.prime_screen(options.rng)
        certifier = population
    else:
        certifier = TableCertifier(problem, records)
    design = Design(certifier, work, options)
    design.start()
    warm = design.add_sets(options.start or ())
    if shaped:
        shape_forms(design, warm)
    design.search()
    design.finish(notes)
    return design
