"""Shaped reports of given answers within given limits, as designs make them for their
forms.
"""

import numpy as np

import seepage as sp
from seepage.confidence.level_of_maxima import level_of_maxima
from seepage.designs.forms.form_counter import FormCounter
from seepage.designs.shaped.admissible_reports import AnswerCounts, product_reports
from seepage.designs.shaped.certified_report import certified_report, select_report
from seepage.designs.shaped.population_leakages import split_records
from seepage.designs.shaped.report_thresholds import report_totals
from seepage.designs.shaped.shape_form import shape_form


def of_adult(*names):
    """Return the records of two attributes of Adult."""
    pairs = sp.load_pairs("adult").select(list(names))
    return sp.Records.from_joint(pairs.domain, pairs.table(*names))


def arguments(records, sources, limit, epsilon=None, record_limit=None, **options):
    """Return counter, sources, limits and keywords of `shape_form`."""
    names = [sources] if isinstance(sources, str) else list(sources)
    limits = (
        limit if isinstance(limit, dict) else dict.fromkeys(records.domain.names, limit)
    )
    epsilons = [limits[name] if epsilon is None else epsilon for name in names]
    record = record_limit or (epsilons[0] if len(names) == 1 else 0.9 * sum(epsilons))
    return (
        FormCounter(records),
        names,
        limits,
        {"epsilons": epsilons, "record_limit": record} | (options),
    )


def shape(records, sources, limit, epsilon=None, record_limit=None, **options):
    """Return the shaped report of some answers for the table, within limits for all
    attributes.
    """
    counter, names, limits, keywords = arguments(
        records, sources, limit, epsilon, record_limit, **options
    )
    return shape_form(AnswerCounts.of(counter, names, limits), limits, **keywords)


def shape_for_population(records, sources, limit, epsilon=None, *, rng=0, **options):
    """Return a shaped report that is certified for the population, and its leakages; or
    None.
    """
    fifth, rest = split_records(records, rng)
    counter, names, limits, keywords = arguments(
        fifth, sources, limit, epsilon, **options
    )
    table = AnswerCounts.of(counter, names, limits)
    selected = select_report(table, limits, 0.95, **keywords)
    return certified_report(
        selected,
        limits,
        FormCounter(rest),
        FormCounter(records),
        level_of_maxima(1, 0.95),
    )


def realised(report, records):
    """Return the leakage of a report about each attribute of a table."""
    totals = report_totals(
        FormCounter(records), report.table.sources, report.mechanism.thresholds
    )
    return dict(zip(records.domain.names, totals, strict=True))


def total_variance(report):
    """Return n times the variance of all wanted tables, weighted."""
    return sum(
        weight * report.variances[axes] for axes, weight in report.wanted.items()
    )


def estimates(report, cells, rng):
    """Return the estimated frequencies of each answer from one report of each of some
    cells.
    """
    mechanism = report.mechanism
    sizes = report.table.sizes
    drawn = mechanism.perturb(cells, rng=rng).below(mechanism.outputs)
    shares = np.bincount(drawn, minlength=mechanism.outputs) / len(cells)
    return [shares @ report.coefficients((axis,)) for axis in range(len(sizes))]


def product_budget(records, sources, limit):
    """Return the largest equal budget of independent responses within a limit, by
    bisection.
    """
    counter = FormCounter(records)
    table = AnswerCounts.of(counter, sources, records.domain.names)
    rows = [table.ratio_limit(name, limit).rows for name in records.domain.names]
    low = 0.0
    high = limit
    for _ in range(60):
        middle = (low + high) / 2
        budgets = [middle] * len(table.sizes)
        flat = np.ones(len(table.counts))
        means = [one @ product_reports(table.sizes, budgets, flat).T for one in rows]
        largest = max(
            float(np.log(one.max(axis=0) / one.min(axis=0)).max()) for one in means
        )
        low, high = (middle, high) if largest <= limit else (low, middle)
    return low
