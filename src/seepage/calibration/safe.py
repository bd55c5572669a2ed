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
from seepage.calibration.calibration_options import CalibrationOptions
from seepage.calibration.equal_budgets import (
    MIN_BUDGET,
    Problem,
    confirmed,
    equal_budgets,
    make_problem,
    totals_at,
)
from seepage.calibration.refutation import audit_note
from seepage.channel.pairs import PairCounts
from seepage.channel.records import Records
from seepage.leakage.matrix import leakage_matrix
from seepage.tables.check import settle
from seepage.tables.read import as_counted, check_whole_table
from seepage.totals.guarantees import GUARANTEES
from seepage.totals.result import TotalLeakage
from seepage.totals.total import choose_guarantee

FOR_POPULATION = ("auto", "exact", "merged")
"""The guarantees that can be certified for the population."""


# Calibration --------------------------------------------------------------------------


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

    problem: Problem
    epsilons: Floats
    totals: TotalLeakage
    notes: tuple[str, ...] = ()


def calibrated(data: Any, options: CalibrationOptions) -> Calibration:
    """Return the largest budgets whose totals stay within the limit, under a named
    guarantee.

    Some ten evaluations of the totals.
    """
    guarantee = options.guarantee
    data, settled, found, _ = settle(data, options, asked=True, stacklevel=5)
    certain = guarantee in FOR_POPULATION and options.scope != "table"
    reading = options.records_options(options.rng, "population" if certain else "table")
    counted = as_counted(data, **reading | settled)
    scope = _scope(options, counted)
    problem = make_problem(counted, options, scope)
    problem = replace(problem, guarantee=_guarantee(guarantee, problem))
    epsilons = equal_budgets(problem)
    if problem.guarantee == "sampled":
        epsilons, totals = confirmed(problem, epsilons)
    else:
        totals = totals_at(problem, epsilons)
    if problem.excess(totals.values) > 0:
        raise AssertionError("a calibrated total exceeds its limit")
    if scope == "population" and totals.guarantee != "worst":
        totals = replace(totals, values=_proven_totals(problem, totals))
    notes: tuple[str, ...] = tuple(found)
    if options.audit and GUARANTEES[totals.guarantee].kind == "assumed":
        notes = (*notes, audit_note(problem, epsilons, bool(totals.deltas.any())))
    return Calibration(problem, epsilons, totals, notes)


def _scope(options: CalibrationOptions, counted: PairCounts | Records) -> str:
    """Return the scope given, by default the population if records and guarantee allow
    it.
    """
    scope = options.scope
    if scope is None:
        for_population = (
            isinstance(counted, Records) and options.guarantee in FOR_POPULATION
        )
        scope = "population" if for_population else "table"
    check_whole_table(counted, options.guarantee, "budgets", scope)
    return scope


def _guarantee(guarantee: str, problem: Problem) -> str:
    unproven = _without_monotone_totals(problem)
    if guarantee == "auto":
        ones = np.ones(len(problem.domain))
        matrix = leakage_matrix(
            problem.pairs,
            ones,
            mechanism=problem.options["mechanism"],
            delta=problem.options["delta"],
        )
        chosen = choose_guarantee(problem.data, matrix, problem.options["scope"])
        return "merged" if unproven and chosen == "exact" else chosen
    if guarantee == "exact" and unproven:
        raise InputError(
            f"exact totals of {unproven!r} need not grow with the budget, so that budgets found on "
            "the same records are not proven for the population; use ",
            Setting("guarantee", "merged"),
            " or ",
            Setting("scope", "table"),
        )
    if guarantee == "witness":
        raise InputError(
            "a witness is a lower bound: it refutes budgets but cannot set them"
        )
    return guarantee


def _without_monotone_totals(problem: Problem) -> str | None:
    """Return a mechanism whose totals for the population are not known to grow with its
    budget.

    Budgets for the population are the last of an ascending grid before the first
    failure, which proves the limits only if exact totals grow [theory-population:
    Budgets chosen by looking]. They do where the family of likely sets is the same at
    all budgets.  That of subset selection is not: its sets have k / (e^epsilon + 1)
    values.
    """
    if problem.options["scope"] != "population":
        return None
    lowest, highest = (
        problem.releases(np.full_like(problem.limits, budget))
        for budget in (MIN_BUDGET, problem.max_budget)
    )
    for k in np.flatnonzero(problem.collected):
        low = lowest[k].sets("report")
        high = highest[k].sets("report")
        if (
            low is None
            or high is None
            or (low.kind, low.size) != (high.kind, high.size)
        ):
            unproven: str | None = problem.options["mechanism"][problem.domain.names[k]]
            return unproven
    return None


def _proven_totals(problem: Problem, totals: TotalLeakage) -> Floats:
    """Return the proven total of each attribute for the population: its limit or sum of
    budgets.

    Budgets are the largest that pass on the same records that certify them.  That
    proves the limits, not totals that happen to be lower [theory-population: Budgets
    chosen by looking].
    """
    budgets = [release.epsilon for release in totals.matrix.releases]
    return np.minimum(
        problem.limits, np.inf if problem.public.any() else summed_up(budgets)
    )
