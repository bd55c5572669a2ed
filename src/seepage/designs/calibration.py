"""Calibration: the largest budgets whose totals are within their limits, and the audit of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Floats, summed_up
from seepage._results import Progress
from seepage.data.data_check import settle
from seepage.data.inputs import as_counted
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.designs.design_options import CalibrationOptions
from seepage.designs.equal_budgets import (
    Problem,
    confirmed,
    equal_budgets,
    equal_split,
    make_problem,
    totals_at,
)
from seepage.errors import InputError, Setting
from seepage.leakage.release import releases
from seepage.totals.likelihood_columns import JointWitness, likelihood_columns
from seepage.totals.result import GUARANTEES, TotalLeakage, check_whole_table
from seepage.totals.total import choose_guarantee
from seepage.totals.witness_search import search_witness

MIN_BUDGET = 1e-6
"""A budget below which no mechanism changes its family of likely sets."""

USABLE = ("worst", "exact", "merged", "sampled", "independent", "sum")
"""The guarantees of totals by which budgets can be calibrated."""


FOR_POPULATION = ("auto", "exact", "merged")
"""The guarantees that can be certified for the population."""


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
    """Return the largest budgets whose totals stay within the limit, under a named guarantee.

    Some ten evaluations of the totals.
    """
    guarantee = options.guarantee
    data, settled, found = settle(data, options, asked=True, stacklevel=5)
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
        totals = replace(totals, values=_proven_totals(problem, epsilons))
    notes = (*found, *_split_note(problem, epsilons, guarantee))
    if options.audit and GUARANTEES[totals.guarantee].kind == "assumed":
        notes = (*notes, _audit_note(problem, epsilons, bool(totals.deltas.any())))
    return Calibration(problem, epsilons, totals, notes)


def _scope(options: CalibrationOptions, counted: PairCounts | Records) -> str:
    """Return the scope given, by default the population if records and guarantee allow it."""
    scope = options.scope
    if scope is None:
        for_population = isinstance(counted, Records) and options.guarantee in FOR_POPULATION
        scope = "population" if for_population else "table"
    check_whole_table(counted, options.guarantee, "budgets", scope)
    return scope


def _guarantee(guarantee: str, problem: Problem) -> str:
    unproven = _without_monotone_totals(problem)
    if guarantee == "auto":
        matrix = problem.matrix(np.ones(len(problem.domain)))
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
            "a witness is a lower bound: it refutes budgets but cannot set them; "
            f"use one of {', '.join(USABLE)}"
        )
    return _checks.choice(guarantee, "guarantee", USABLE)


def _without_monotone_totals(problem: Problem) -> str | None:
    """Return a mechanism whose totals for the population are not known to grow with its budget.

    Budgets for the population are the last of an ascending grid before the first failure, which
    proves the limits only if exact totals grow [theory-population: Budgets chosen by looking].
    They do where the family of likely sets is the same at all budgets.  That of subset selection
    is not: its sets have k / (e^epsilon + 1) values.
    """
    if problem.options["scope"] != "population":
        return None
    names = problem.release_names
    lowest, highest = (
        releases(
            problem.domain,
            problem.epsilons(np.full_like(problem.limits, budget)),
            names,
            problem.deltas,
        )
        for budget in (MIN_BUDGET, problem.max_budget)
    )
    for k in np.flatnonzero(problem.collected):
        low, high = lowest[k].sets("report"), highest[k].sets("report")
        if low is None or high is None or (low.kind, low.size) != (high.kind, high.size):
            return problem.mechanism[k]
    return None


def _proven_totals(problem: Problem, epsilons: Floats) -> Floats:
    """Return the proven total of each attribute for the population: its limit or sum of budgets.

    Budgets are the largest that pass on the same records that certify them.  That proves the
    limits, not totals that happen to be lower [theory-population: Budgets chosen by looking].
    """
    worst = np.inf if problem.public.any() else summed_up(epsilons.tolist())
    return np.minimum(problem.limits, worst)


def _split_note(problem: Problem, epsilons: Floats, guarantee: str) -> tuple[str, ...]:
    """Return a note if no budget is above limit / attributes, which holds for any data."""
    count = int(problem.collected.sum())
    split = equal_split(float(problem.limits.min()), count)
    if guarantee == "worst" or problem.public.any() or epsilons.max() > split * (1 + 1e-6):
        return ()
    return (
        f"no budget is above the equal split, limit / {count} = {split:.4g}, which any data allow; "
        "`design` asks each person for some attributes only, with larger budgets",
    )


def _audit_note(problem: Problem, epsilons: Floats, has_delta: bool) -> str:
    """Return a note on the search for witnesses against totals that are an assumption.

    One search per attribute.  If no mechanism is given, it ranges over all mechanisms with these
    budgets.
    """
    if has_delta:
        return "no witness was searched for: single reports do not refute totals with a delta"
    if isinstance(problem.data, PairCounts):
        return "no witness was searched for: pair counts have no records; give the table itself"
    limited = np.flatnonzero(np.isfinite(problem.limits)).tolist()
    refuted = refutations(problem, epsilons, limited, problem.options["progress"])
    if not refuted:
        return "a search found no reports that exceed a limit; that is no guarantee"
    strongest = max(refuted.values(), key=lambda witness: witness.counted)
    return (
        f"REFUTED: {strongest.sentence()}: {strongest.value:.2f} nats about "
        f"{strongest.target}, above its limit"
    )


def refutations(
    problem: Problem, epsilons: Floats, targets: Sequence[int], progress: Progress | None = None
) -> dict[int, JointWitness]:
    """Return the witnesses above the limit of their target, by index of the target."""
    released = releases(problem.domain, epsilons, problem.release_names, problem.deltas)
    columns = likelihood_columns(problem.domain, released, "report")
    witnesses, rng = dict[int, JointWitness](), int(problem.options["rng"] or 0)
    assert isinstance(problem.data, Records)
    for done, target in enumerate(targets, start=1):
        witness = search_witness(problem.data, columns, target, rng)
        if witness is not None and witness.counted > problem.limits[target]:
            witnesses[target] = witness
        if progress is not None:
            progress(done, len(targets))
    return witnesses
