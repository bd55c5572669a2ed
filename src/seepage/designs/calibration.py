"""Calibration: the largest budgets whose totals are within their limits, and the audit of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, SupportsIndex

import numpy as np

from seepage import _checks
from seepage._numerics import Floats, summed_up
from seepage._options import takes
from seepage._results import Progress, Result
from seepage.data.data_check import settle
from seepage.data.domain import short_list
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
from seepage.errors import GuaranteeError, InputError, Setting
from seepage.leakage.release import releases
from seepage.totals.exact_total import exact_is_feasible
from seepage.totals.likelihood_columns import JointWitness, likelihood_columns
from seepage.totals.result import GUARANTEES, TotalLeakage, check_whole_table
from seepage.totals.total import choose_guarantee
from seepage.totals.witness_search import search_witness

SHARE_TOLERANCE = 0.01
"""Accuracy of the surviving budgets relative to the refuted ones."""

MIN_BUDGET = 1e-6
"""A budget below which no mechanism changes its family of likely sets."""

USABLE = ("worst", "exact", "merged", "sampled", "independent", "sum")
"""The guarantees of totals by which budgets can be calibrated."""


FOR_POPULATION = ("auto", "exact", "merged")
"""The guarantees that can be certified for the population."""


@dataclass(frozen=True, eq=False, repr=False)
class WitnessAudit(Result):
    """Result of a witness search at some budgets.

    Parameters
    ----------
    refutations
        For each attribute whose limit is exceeded, the witness: reports that exceed it.
    surviving
        Budgets in the same proportions at which the search finds no witness: not refuted, but not
        certified either.  None if nothing was refuted.
    """

    refutations: tuple[JointWitness, ...]
    surviving: Floats | None

    @property
    def strongest(self) -> JointWitness | None:
        """The witness with the largest leakage; None if there is none."""
        return max(self.refutations, key=lambda witness: witness.counted, default=None)

    def _columns(self) -> dict[str, Sequence[Any]]:
        names = ("target", "likelier", "other", "value", "held_out")
        return {name: [getattr(witness, name) for witness in self.refutations] for name in names}

    def _headline(self) -> str:
        if self.strongest is None:
            return "WitnessAudit(no reports found that exceed a limit)"
        targets = ", ".join(witness.target for witness in self.refutations)
        return f"WitnessAudit(limits exceeded: {targets}; strongest {self.strongest.counted:.4g})"


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Result):
    """Budgets that keep every total within its limit, with the guarantee of the totals.

    `calibration["sex"]` is the budget of one attribute.

    Parameters
    ----------
    problem
        The constraints: data, limits, attributes, mechanisms.
    epsilons
        The budget of each attribute; 0 for those not collected.
    totals
        Every attribute's total at these budgets, with the guarantee's name and kind.
    audit
        The result of a witness search, if the guarantee is an assumption; None without a search.
    dropped
        Attributes to drop, in this order, if the minimum useful budgets are not within the limit.
    notes
        Further remarks for the reader.
    """

    problem: Problem
    epsilons: Floats
    totals: TotalLeakage
    audit: WitnessAudit | None = None
    dropped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def binding(self) -> str:
        """The attribute whose total is nearest to its limit."""
        limits = self.problem.limits
        slack = np.subtract(limits, self.totals.values, out=limits.copy(), where=limits < np.inf)
        return self.problem.domain.names[int(np.argmin(slack))]

    def __getitem__(self, name: str | SupportsIndex) -> float:
        """Return the budget of one attribute; a public one has none and raises."""
        index = self.problem.domain.index(name)
        if self.problem.public[index]:
            raise InputError(f"{self.problem.domain.names[index]!r} is public and has no budget")
        return float(self.epsilons[index])

    def _columns(self) -> dict[str, Sequence[Any]]:
        limits = self.problem.limits.tolist()
        return {
            "attribute": self.problem.domain.names,
            "mechanism": self.problem.mechanism,
            "collected": self.problem.collected.tolist(),
            "public": self.problem.public.tolist(),
            "epsilon": self.epsilons.tolist(),
            "total": self.totals.values.tolist(),
            "delta": self.totals.deltas.tolist(),
            "limit": [limit if np.isfinite(limit) else None for limit in limits],
        }

    def _headline(self) -> str:
        budgets = self.epsilons[self.problem.collected]
        low, high = (f"{budget:.4g}" for budget in (budgets.min(), budgets.max()))
        shown = f"epsilon {low}" if low == high else f"epsilons {low} to {high}"
        guarantee = f"{self.totals.guarantee!r}, {self.totals.kind}"
        refuted = ", refuted" if self.audit is not None and self.audit.refutations else ""
        return f"Calibration({guarantee}{refuted}, {shown}, nearest to its limit: {self.binding!r})"


@takes(CalibrationOptions)
def find_budgets(data: Any, options: CalibrationOptions) -> Calibration:
    """Return the largest budgets whose totals stay within the limit, under a named guarantee.

    Parameters
    ----------
    data
        A frame, a path, the name of a dataset, `Records` or `PairCounts`.  A sample of records
        raises, except for the guarantee `"worst"` and for `scope="population"`.

    Returns
    -------
    Calibration
        Budgets, their totals, and the evidence: the witness, the attributes to drop.

    Notes
    -----
    Some ten evaluations of the totals.

    Examples
    --------
    >>> import seepage as sp
    >>> adult = sp.load_pairs("adult").select(["sex", "race", "income"])
    >>> found = sp.find_budgets(adult, limit=1.0)
    >>> found.binding, bool(found.totals.values.max() <= 1.0)
    ('income', True)
    >>> round(found["race"], 4), round(found.totals["race"], 4)
    (0.7297, 0.9673)
    """
    return calibrated(data, options)


def calibrated(data: Any, options: CalibrationOptions) -> Calibration:
    """Return the budgets of `find_budgets`."""
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
    dropped = _to_drop(problem, epsilons)
    notes = (*found, *_split_note(problem, epsilons, guarantee), *_exact_note(problem))
    calibration = Calibration(problem, epsilons, totals, None, dropped, notes)
    return _audited(calibration) if options.audit else calibration


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


def _to_drop(problem: Problem, epsilons: Floats) -> tuple[str, ...]:
    """Return the attributes to drop until every remaining one has its minimum useful budget.

    Greedy: each time the attribute with the largest sum of leakages about the others, at the
    minimum useful budgets, since dropping it lowers their totals most.
    """
    dropped = list[str]()
    while (problem.collected & (epsilons < problem.least)).any():
        if problem.collected.sum() == 1:
            problem.raise_least()
        leaks = problem.matrix(problem.least).values.sum(axis=0) + problem.least
        largest = int(np.argmax(np.where(problem.collected, leaks, -np.inf)))
        dropped.append(problem.domain.names[largest])
        collected = problem.collected.copy()
        collected[largest] = False
        problem = replace(problem, collected=collected)
        epsilons = equal_budgets(problem)
    return tuple(dropped)


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


def _exact_note(problem: Problem) -> tuple[str, ...]:
    """Return a note on the attributes without which `exact` totals could be computed."""
    if isinstance(problem.data, PairCounts) or problem.guarantee not in ("sampled", "merged"):
        return ()
    matrix = problem.matrix(problem.scaled(np.ones(len(problem.domain)), 1.0))
    try:
        columns = likelihood_columns(matrix.domain, matrix.releases, matrix.view)
    except GuaranteeError:
        return ()
    remaining = sorted(range(len(columns)), key=lambda j: (columns[j].count, -j))
    records, dropped = problem.data.records, list[str]()
    while len(remaining) > 1 and not exact_is_feasible([columns[j] for j in remaining], records):
        dropped.append(problem.domain.names[remaining.pop()])
    if not dropped:
        return ()
    names = short_list(dropped, 5)
    return (f"exact totals would fit without {names}; `design` needs no such choice",)


def _audited(calibration: Calibration) -> Calibration:
    """Return the calibration with a witness search, if its guarantee is an assumption.

    One search per attribute; then bisection over a factor of the budgets, for the refuted ones
    only.  If no mechanism is given, the search ranges over all mechanisms with these budgets.
    """
    problem, epsilons = calibration.problem, calibration.epsilons
    if GUARANTEES[calibration.totals.guarantee].kind != "assumed":
        return calibration
    if calibration.totals.deltas.any():
        note = "no witness was searched for: single reports do not refute totals with a delta"
        return replace(calibration, notes=(note, *calibration.notes))
    if isinstance(problem.data, PairCounts):
        note = "no witness was searched for: pair counts have no records; give the table itself"
        return replace(calibration, notes=(note, *calibration.notes))
    limited = np.flatnonzero(np.isfinite(problem.limits)).tolist()
    refuted = _refutations(problem, epsilons, limited, problem.options["progress"])
    if not refuted:
        return replace(calibration, audit=WitnessAudit((), None))
    low, high = 0.0, 1.0
    while high - low > SHARE_TOLERANCE:
        factor = (low + high) / 2
        if _refutations(problem, problem.scaled(epsilons, factor), list(refuted)):
            high = factor
        else:
            low = factor
    audit = WitnessAudit(tuple(refuted.values()), problem.scaled(epsilons, low))
    return replace(calibration, audit=audit)


def _refutations(
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
