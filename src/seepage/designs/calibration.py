"""Calibration: the largest equal budgets whose totals are within their limits, and
their audit.

[theory-totals: Calibration]
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Booleans, Floats, largest_within, summed_up
from seepage._options import MECHANISMS
from seepage._results import Progress
from seepage.data import Domain, for_each
from seepage.data.data_check import settle
from seepage.data.inputs import as_counted, as_pairs, check_whole_table
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.designs import CalibrationOptions, positive_limit
from seepage.designs.form_problem import attribute_masks
from seepage.errors import InputError, Setting
from seepage.leakage.matrix import leakage_matrix
from seepage.leakage.release import PUBLIC, Release, releases
from seepage.totals import GUARANTEES, TotalLeakage
from seepage.totals.likelihood_columns import JointWitness, likelihood_columns
from seepage.totals.total import choose_guarantee, total_leakage
from seepage.totals.witness_search import search_witness

TOLERANCE = 1e-9
"""Accuracy of a budget in nats; relative to the limit if that is below 1."""

SAMPLED_TOLERANCE = 1e-2
"""Accuracy of a budget relative to the limit, where totals are computed on sampled
reports."""

MAX_CONFIRMATIONS = 20
"""Maximum number of fresh samples drawn to confirm sampled budgets, each time
lowered."""

MIN_BUDGET = 1e-6
"""A budget below which no mechanism changes its family of likely sets."""

FOR_POPULATION = ("auto", "exact", "merged")
"""The guarantees that can be certified for the population."""


# Constraints --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Problem:
    """Constraints of a calibration; arrays have one entry for each attribute of the
    data.

    Parameters
    ----------
    data
        The pair counts or records that totals are computed from.
    limits
        The maximum total of each attribute in nats; infinite for public attributes.
    collected
        Mask of the attributes that are collected, and so get a budget.
    public
        Mask of the public attributes: identity release (epsilon = infinity).
    guarantee, options
        The guarantee of the totals, and further keywords of `total_leakage`:
        `mechanism` by attribute, with "public", and `delta` by attribute, 0 for those
        not collected.
    """

    data: PairCounts | Records
    limits: Floats
    collected: Booleans
    public: Booleans
    guarantee: str
    options: Mapping[str, Any]

    @property
    def domain(self) -> Domain:
        """The attributes."""
        return self.data.domain

    @cached_property
    def pairs(self) -> PairCounts:
        """The pair counts of the data."""
        return as_pairs(self.data)

    def epsilons(self, budgets: Floats) -> Floats:
        """Return the budget of each attribute: 0 for those not collected."""
        return np.where(self.collected, budgets, 0.0)

    def releases(self, budgets: Floats) -> list[Release]:
        """Return the release of each attribute at some budgets, 0 for those not
        collected.
        """
        mechanism = self.options["mechanism"]
        delta = self.options["delta"]
        return releases(self.domain, self.epsilons(budgets), mechanism, delta)

    @property
    def max_budget(self) -> float:
        """Upper bound of any budget: the largest limit, as an attribute's own report
        counts.
        """
        return float(self.limits[self.collected].max())

    def excess(self, totals: Floats) -> float:
        """Return the largest excess of a total over its limit in nats; negative if none
        exceeds.
        """
        limited = np.isfinite(self.limits)
        return float((totals[limited] - self.limits[limited]).max())

    def scaled(self, budgets: Floats, factor: float) -> Floats:
        """Return the budgets times a factor, each at most its attribute's limit."""
        return self.epsilons(np.minimum(budgets * factor, self.limits))


def make_problem(
    data: PairCounts | Records, options: CalibrationOptions, scope: str
) -> Problem:
    """Return the constraints of a calibration for a scope, checked against the data."""
    domain = data.domain
    is_public, is_left_out, _ = attribute_masks(
        domain, options.public, options.left_out
    )
    collected = ~(is_public | is_left_out)
    if not collected.any():
        raise InputError(
            "at least one attribute must be collected, all are public or left out"
        )
    limits = np.array(
        [positive_limit(value) for value in for_each(domain, options.limit, "limit")]
    )
    limits[is_public] = np.inf
    given = for_each(domain, options.mechanism, "mechanism")
    mechanisms = [  # one that needs a delta has none where it is not collected
        PUBLIC if public else name if asked or not _needs_delta(name) else None
        for public, asked, name in zip(is_public, collected, given, strict=True)
    ]
    each = [_checks.delta(value) for value in for_each(domain, options.delta, "delta")]
    deltas = np.where(collected, each, 0.0).tolist()
    by_name = {
        "mechanism": dict(zip(domain.names, mechanisms, strict=True)),
        "delta": dict(zip(domain.names, deltas, strict=True)),
    }
    chosen = {**options.of_totals(scope), **by_name}
    return Problem(data, limits, collected, is_public, options.guarantee, chosen)


def _needs_delta(name: Any) -> bool:
    return isinstance(name, str) and name in MECHANISMS and MECHANISMS[name].approximate


def totals_at(problem: Problem, epsilons: Floats, **overrides: Any) -> TotalLeakage:
    """Return every attribute's total at some budgets; keywords override the problem's
    options.
    """
    options = {"guarantee": problem.guarantee, **problem.options, **overrides}
    budgets = dict(zip(problem.domain.names, epsilons.tolist(), strict=True))
    return total_leakage(problem.data, budgets, **options)


def equal_budgets(problem: Problem) -> Floats:
    """Return the largest equal budgets whose totals stay within the limits.

    The total is continuous and increasing in the budget, so a root search finds the
    budget to `TOLERANCE`; for `sampled` to `SAMPLED_TOLERANCE`, as `confirmed` must
    still confirm it.  No attribute gets more than its own limit.
    """
    maximum = problem.max_budget
    ones = np.ones(len(problem.domain))
    sampled = problem.guarantee == "sampled"
    budget = largest_within(
        lambda budget: problem.excess(
            totals_at(problem, problem.scaled(ones, budget)).values
        ),
        maximum,
        SAMPLED_TOLERANCE * maximum if sampled else TOLERANCE * min(maximum, 1.0),
    )
    return problem.scaled(ones, budget)


def confirmed(problem: Problem, epsilons: Floats) -> tuple[Floats, TotalLeakage]:
    """Return budgets that `sampled` confirms on reports not used to choose them, and
    their totals.

    The search evaluates all budgets on one sample of reports; only an independent
    sample may confirm them, and only its totals are reported.  Budgets that are not
    confirmed are lowered by 3%.  The j-th confirmation has error probability beta /
    2^j, so by the union bound all hold with confidence 1 - beta, which is reported
    whichever attempt succeeds.
    """
    confidence = problem.options["confidence"]
    rng = problem.options["rng"]
    for attempt in range(1, MAX_CONFIRMATIONS + 1):
        attempt_confidence = 1 - (1 - confidence) / 2**attempt
        new_seed = None if rng is None else rng + attempt
        totals = totals_at(
            problem, epsilons, rng=new_seed, confidence=attempt_confidence
        )
        if problem.excess(totals.values) <= 0:
            return epsilons, replace(totals, confidence=confidence)
        epsilons = problem.scaled(epsilons, 0.97)
    raise InputError(
        "no sampled total was confirmed within its limit; use more reports"
    )


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
        notes = (*notes, _audit_note(problem, epsilons, bool(totals.deltas.any())))
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


def _audit_note(problem: Problem, epsilons: Floats, has_delta: bool) -> str:
    """Return a note on the search for witnesses against totals that are an assumption.

    One search per attribute.  If no mechanism is given, it ranges over all mechanisms
    with these budgets.
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
    problem: Problem,
    epsilons: Floats,
    targets: Sequence[int],
    progress: Progress | None = None,
) -> dict[int, JointWitness]:
    """Return the witnesses above the limit of their target, by index of the target."""
    columns = likelihood_columns(problem.domain, problem.releases(epsilons), "report")
    witnesses = dict[int, JointWitness]()
    rng = int(problem.options["rng"] or 0)
    assert isinstance(problem.data, Records)
    for done, target in enumerate(targets, start=1):
        witness = search_witness(problem.data, columns, target, rng)
        if witness is not None and witness.counted > problem.limits[target]:
            witnesses[target] = witness
        if progress is not None:
            progress(done, len(targets))
    return witnesses
