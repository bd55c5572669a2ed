"""Calibration: the largest equal budgets whose totals are within their limits, and
their audit.

[theory-totals: Calibration]
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from seepage._core.arrays import Floats
from seepage._core.errors import InputError, Setting
from seepage._core.rounding import summed_up
from seepage.calibration.calibration_options import (
    CalibrationOptions,
    check_all_records,
)
from seepage.calibration.calibration_problem import (
    CalibrationProblem,
    make_calibration_problem,
)
from seepage.calibration.equal_budgets import confirmed_budgets, equal_budgets
from seepage.calibration.refutation import audit_note
from seepage.channel.pairs import PairCounts
from seepage.channel.records import Records
from seepage.tables.check import settle
from seepage.tables.read import as_counted, check_whole_table
from seepage.totals.guarantees import GUARANTEES
from seepage.totals.total import choose_guarantee
from seepage.totals.total_result import TotalLeakage

FOR_POPULATION = ("auto", "exact", "merged")
"""The guarantees that can be certified for the population."""

MIN_BUDGET = 1e-6
"""A budget below which no mechanism changes its family of likely sets."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Budgets that keep every total within its limit, with the guarantee of the totals.

    Parameters
    ----------
    problem
        The constraints: data, limits, attributes, mechanisms.
    epsilons
        The budget of each attribute; 0 for those not collected.
    totals
        Every attribute's total at these budgets, with the guarantee's name and kind.
    notes
        Remarks for the reader, with the witness against totals that are an assumption.
    """

    problem: CalibrationProblem
    epsilons: Floats
    totals: TotalLeakage
    notes: tuple[str, ...] = ()


def calibrated(data: Any, options: CalibrationOptions) -> Calibration:
    """Return the largest budgets whose totals stay within the limit, under a named
    guarantee.

    Some ten evaluations of the totals.
    """
    if options.is_uncertain and options.guarantee == "auto":
        options = replace(options, guarantee="independent")
    certain = options.guarantee in FOR_POPULATION and options.scope != "table"
    whom = "population" if certain else "table"
    settled = settle(data, options, asked=True, stacklevel=4, scope=whom)
    reading = options.records_options(options.rng, whom)
    counted = as_counted(settled.data, **reading | settled.table)
    check_all_records(counted)
    if isinstance(counted, Records):
        origin = replace(counted.origin, columns=settled.unused)
        counted = counted.with_origin(origin)
    scope = _resolved_scope(options, counted)
    problem = make_calibration_problem(counted, options, scope)
    problem = replace(problem, guarantee=_resolved_guarantee(problem))
    epsilons, totals = _budgets_and_totals(problem)
    notes = list[str](settled.notes)
    if options.audit and _can_be_refuted(problem, totals):
        notes.append(audit_note(problem, epsilons, bool(totals.deltas.any())))
    return Calibration(problem, epsilons, totals, tuple(notes))


def _budgets_and_totals(problem: CalibrationProblem) -> tuple[Floats, TotalLeakage]:
    """Return the largest equal budgets of a calibration, and the totals at these
    budgets.
    """
    epsilons = equal_budgets(problem)
    if problem.guarantee == "sampled":
        epsilons, totals = confirmed_budgets(problem, epsilons)
    else:
        totals = problem.totals(epsilons)
    if problem.excess(totals.values) > 0:
        raise AssertionError("a calibrated total exceeds its limit")
    if problem.scope == "population" and totals.guarantee != "worst":
        totals = replace(totals, values=_proven_totals(problem, totals))
    return epsilons, totals


def _can_be_refuted(problem: CalibrationProblem, totals: TotalLeakage) -> bool:
    """Return whether calibrated totals rest on an assumption about the table that a
    witness can refute.
    """
    return (
        problem.uncertainty is None and GUARANTEES[totals.guarantee].kind == "assumed"
    )


def _resolved_scope(options: CalibrationOptions, counted: PairCounts | Records) -> str:
    """Return the scope of a safe calibration, by default the population if records and
    guarantee allow it.
    """
    scope = options.scope
    if scope is None:
        has_records = isinstance(counted, Records)
        is_certain = options.guarantee in FOR_POPULATION
        scope = "population" if has_records and is_certain else "table"
    check_whole_table(counted, options.guarantee, "budgets", scope)
    return scope


def _resolved_guarantee(problem: CalibrationProblem) -> str:
    """Return the guarantee of a safe calibration that `"auto"` stands for; raise for
    one that sets no budgets.
    """
    guarantee = problem.guarantee
    unproven = _without_monotone_totals(problem)
    if guarantee == "auto":
        matrix = problem.matrix(np.ones(len(problem.domain)))
        guarantee = choose_guarantee(problem.data, matrix, problem.scope)
        return "merged" if unproven and guarantee == "exact" else guarantee
    if guarantee == "exact" and unproven:
        raise InputError(
            f"exact totals of {unproven!r} need not grow with the budget, so that "
            "budgets found on the same records are not proven for the population; use ",
            Setting("guarantee", "merged"),
            " or ",
            Setting("scope", "table"),
        )
    if guarantee == "witness":
        raise InputError(
            "a witness is a lower bound: it refutes budgets but cannot set them"
        )
    return guarantee


def _without_monotone_totals(problem: CalibrationProblem) -> str | None:
    """Return a mechanism whose totals are not known to grow with its budget, so that
    bisection is not safe.

    Budgets for the population are found by bisection, which proves the limits only if
    exact totals grow [theory-certificate: Families]. They do where the family of likely
    sets is the same at all budgets.  That of subset selection is not: its sets have
    k / (e^epsilon + 1) values.
    """
    if problem.scope != "population":
        return None
    lowest = _likely_families(problem, MIN_BUDGET)
    highest = _likely_families(problem, problem.max_budget)
    for k in np.flatnonzero(problem.collected).tolist():
        if lowest[k] is None or lowest[k] != highest[k]:
            unproven: str | None = problem.mechanisms[k]
            return unproven
    return None


def _likely_families(
    problem: CalibrationProblem, budget: float
) -> list[tuple[str, int] | None]:
    """Return the family of each attribute's likely sets at a budget of a calibration,
    None if it has none.
    """
    epsilons = np.where(problem.collected, budget, 0.0)
    families: list[tuple[str, int] | None] = []
    for release in problem.releases(epsilons):
        sets = release.sets("report")
        if sets is None:
            families.append(None)
        else:
            families.append((sets.kind, sets.size))
    return families


def _proven_totals(problem: CalibrationProblem, totals: TotalLeakage) -> Floats:
    """Return the totals that a safe calibration proves for the population: limits or
    sums of budgets.

    Budgets are the largest that pass on the same records that certify them.  That
    proves the limits, not totals that happen to be lower [theory-certificate:
    Families].
    """
    if problem.roles.public.any():
        return problem.limits
    budgets = [release.epsilon for release in totals.matrix.releases]
    return np.minimum(problem.limits, summed_up(budgets))
