"""Calibration: from an allowed total to the budgets that keep it, and an audit of assumptions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from seepage import _checks
from seepage._numerics import Floats, summed_up
from seepage._results import Progress, Result
from seepage.data.domain import for_each
from seepage.data.inputs import as_counted
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.designs.attribute_budgets import budgets_for_each, weighted_variance
from seepage.designs.equal_budgets import (
    Problem,
    confirmed,
    equal_budgets,
    equal_split,
    make_problem,
    totals_at,
)
from seepage.errors import InputError
from seepage.leakage.release import releases
from seepage.totals import GUARANTEES, JointWitness, TotalLeakage
from seepage.totals.exact_total import exact_is_feasible
from seepage.totals.likelihood_columns import likelihood_columns
from seepage.totals.result import SCOPES, GuaranteeError, check_whole_table
from seepage.totals.total import TotalSettings, choose_guarantee
from seepage.totals.witness_search import search_witness

SHARE_TOLERANCE = 0.01
"""Accuracy of the surviving budgets, as a share of the refuted ones."""

BudgetChoice = Literal["equal", "per-attribute"]

USABLE = ("worst", "exact", "merged", "sampled", "independent", "tree")
"""The guarantees that budgets can rest on."""

OF_TOTALS = {*(field.name for field in fields(TotalSettings)), "delta", "view"}
"""Keywords of `total_leakage` that a calibration hands on."""


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Result):
    """Result of a witness search at some budgets.

    Parameters
    ----------
    refutations
        For each attribute whose limit is exceeded, the reports that exceed it.
    surviving
        Budgets in the same proportions at which the search finds none any more: not refuted, which
        is not the same as certified.  None where nothing was refuted.
    """

    refutations: tuple[JointWitness, ...]
    surviving: Floats | None

    @property
    def strongest(self) -> JointWitness | None:
        """The refutation that says the most; None where there is none."""
        return max(self.refutations, key=lambda witness: witness.counted, default=None)

    def _columns(self) -> dict[str, Sequence[Any]]:
        names = ("target", "likelier", "other", "value", "held_out")
        return {name: [getattr(one, name) for one in self.refutations] for name in names}

    def _headline(self) -> str:
        if self.strongest is None:
            return "Audit(no reports found that exceed a limit)"
        targets = ", ".join(witness.target for witness in self.refutations)
        return f"Audit(limits exceeded: {targets}; strongest {self.strongest.counted:.4g})"


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Result):
    """Budgets that keep every total within its limit, and what they rest on.

    Parameters
    ----------
    problem
        What was asked.
    epsilons
        The budget of each attribute; 0 for those not collected.
    totals
        Every attribute's total at these budgets, with the guarantee's name and kind.
    budgets
        `"equal"` or `"per-attribute"`.
    gain
        For budgets per attribute: the weighted variance with equal budgets over that with these.
    audit
        What a search for refuting reports found, after an assumption; None if none was made.
    dropped
        Attributes to drop, in this order, when the smallest useful budgets do not fit.
    notes
        What a reader must know besides.
    """

    problem: Problem
    epsilons: Floats
    totals: TotalLeakage
    budgets: BudgetChoice
    gain: float | None = None
    audit: Audit | None = None
    dropped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def binding(self) -> str:
        """The attribute whose total is nearest to its limit."""
        limits = self.problem.limits
        slack = np.subtract(limits, self.totals.values, out=limits.copy(), where=limits < np.inf)
        return self.problem.domain.names[int(np.argmin(slack))]

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
        spent = self.epsilons[self.problem.collected]
        low, high = (f"{budget:.4g}" for budget in (spent.min(), spent.max()))
        shown = f"epsilon {low}" if low == high else f"epsilons {low} to {high}"
        rests = f"{self.totals.guarantee!r}, {self.totals.kind}"
        refuted = ", refuted" if self.audit is not None and self.audit.refutations else ""
        return f"Calibration({rests}{refuted}, {shown}, nearest to its limit: {self.binding!r})"


def find_budgets(
    data: Any,
    limit: Any,
    *,
    mechanism: Any = None,
    guarantee: str = "auto",
    budgets: BudgetChoice = "equal",
    public: Iterable[str] = (),
    left_out: Iterable[str] = (),
    least: Any = 0.0,
    weights: Any = 1.0,
    audit: bool = True,
    **options: Any,
) -> Calibration:
    """Return the largest budgets whose totals stay within the limit, under a named guarantee.

    Parameters
    ----------
    data
        A frame, a path, the name of a dataset, `Records` or `PairCounts`.  A sample of records
        raises, but for the guarantee `"worst"`, which needs none, and for `scope="population"`.
    limit
        The allowed total of every attribute, or one for each (a mapping by name).
    mechanism
        A mechanism by name, for all or by attribute: its own leakage is used.  None for the bound
        that holds for any mechanism.
    guarantee
        What totals rest on, by the names of `total_leakage`; `"auto"` is `"independent"` for pair
        counts, and for records `"exact"` where it fits and `"sampled"` otherwise.
    budgets
        `"equal"`: the same for all; `"per-attribute"`: those that minimise the weighted variance.
    public, left_out
        Attributes that are public already, and attributes that are not collected.
    least
        The smallest useful budget, for all or by attribute; where the limit does not allow it,
        `dropped` names the attributes to drop first.
    weights
        How much each attribute's variance counts, for `"per-attribute"`.
    audit
        After a guarantee that is an assumption, and with records, search for a witness against it.
    options
        Further keywords of `total_leakage` (`structure`, `seed`, `reports`, `confidence`,
        `target_delta`, `progress`, `scope`), and table options of `count_pairs`.  With
        `scope="population"` totals are limits for the people whom the records were drawn from, and
        budgets are equal: the largest that pass, which costs no confidence [theory-population:
        Budgets chosen by looking].  That is the default where it can be had: for records, equal
        budgets, and `"auto"`, `"exact"` or `"merged"`; else it is `"table"`.

    Returns
    -------
    Calibration
        Budgets, their totals, and the evidence: the witness, the gain, the attributes to drop.

    Notes
    -----
    Equal budgets take some ten evaluations of the totals; those per attribute a convex solver.

    Examples
    --------
    >>> import seepage as sp
    >>> adult = sp.load_pairs("adult").select(["sex", "race", "income"])
    >>> found = sp.find_budgets(adult, limit=1.0)
    >>> found.binding, bool(found.totals.values.max() <= 1.0)
    ('race', True)
    """
    _checks.choice(budgets, "budgets", ("equal", "per-attribute"))
    _checks.choice(guarantee, "guarantee", ("auto", *GUARANTEES))
    _checks.flag(audit, "audit")
    settings = {name: value for name, value in options.items() if name in OF_TOTALS}
    table_options = {name: value for name, value in options.items() if name not in OF_TOTALS}
    known = as_counted(data, **table_options)
    people = _for_people(settings, known, guarantee, budgets)
    problem = make_problem(known, limit, mechanism, public, left_out, least, options=settings)
    problem = replace(problem, guarantee=_guarantee(guarantee, problem))
    importance = _weights(problem, weights)
    epsilons = equal = equal_budgets(problem)
    if budgets == "per-attribute":
        epsilons = budgets_for_each(problem, importance, equal)
    if problem.guarantee == "sampled":
        epsilons, totals = confirmed(problem, epsilons)
    else:
        totals = totals_at(problem, epsilons)
    if problem.excess(totals.values) > 0:
        raise AssertionError("a calibrated total exceeds its limit")
    if people and totals.guarantee != "worst":
        totals = replace(totals, values=_promised(problem, epsilons))
    gain = None
    if budgets == "per-attribute":
        before, after = (weighted_variance(problem, importance, e) for e in (equal, epsilons))
        gain = before / after if 0 < after < np.inf else 1.0
    dropped = _to_drop(problem, epsilons)
    notes = (*_split_note(problem, epsilons, guarantee), *_out_of_reach(problem))
    found = Calibration(problem, epsilons, totals, budgets, gain, None, dropped, notes)
    return _audited(found) if audit else found


def _for_people(
    settings: dict[str, Any],
    known: PairCounts | Records,
    guarantee: str,
    budgets: BudgetChoice,
) -> bool:
    """Set the scope where none is given; return whether totals are for the population.

    By default they are where that can be had.
    """
    if settings.get("scope") is None:
        can = isinstance(known, Records) and guarantee in ("auto", "exact", "merged")
        settings["scope"] = "population" if can and budgets == "equal" else "table"
    if _checks.choice(settings["scope"], "scope", SCOPES) == "table":
        check_whole_table(known, guarantee, "budgets")
        return False
    if budgets != "equal":
        raise InputError(
            "budgets must be 'equal' for scope 'population': others are chosen by looking at the "
            "very records that must certify them"
        )
    return True


def _guarantee(guarantee: str, problem: Problem) -> str:
    if guarantee == "auto":
        scope = problem.options.get("scope", "table")
        return choose_guarantee(problem.data, problem.matrix(np.ones(len(problem.domain))), scope)
    if guarantee == "witness":
        raise InputError(
            "a witness is a lower bound: it refutes budgets but cannot set them; "
            f"use one of {', '.join(USABLE)}"
        )
    return _checks.choice(guarantee, "guarantee", USABLE)


def _weights(problem: Problem, weights: Any) -> Floats:
    values = [_checks.epsilon(w, "weights") for w in for_each(problem.domain, weights, "weights")]
    found = np.array(values)
    if not (found[problem.collected] > 0).any():
        raise InputError("weights must be above 0 for at least one collected attribute")
    return found


def _promised(problem: Problem, epsilons: Floats) -> Floats:
    """Return what is promised of each total for people: its limit, or the sum of the budgets.

    Budgets are the largest that pass on the very records which certify them.  That proves the
    limits, not that a total which happens to be lower stays there [theory-population: Budgets
    chosen by looking].
    """
    worst = np.inf if problem.public.any() else summed_up(epsilons.tolist())
    return np.minimum(problem.limits, worst)


def _to_drop(problem: Problem, epsilons: Floats) -> tuple[str, ...]:
    """Return the attributes to drop until every one left has its smallest useful budget.

    Each time the attribute goes that leaks most in all about the others, at the smallest useful
    budgets: dropping it frees the largest share of their totals.
    """
    dropped = list[str]()
    while (problem.collected & (epsilons < problem.least)).any():
        if problem.collected.sum() == 1:
            problem.raise_least()
        leaks = problem.matrix(problem.least).values.sum(axis=0) + problem.least
        worst = int(np.argmax(np.where(problem.collected, leaks, -np.inf)))
        dropped.append(problem.domain.names[worst])
        collected = problem.collected.copy()
        collected[worst] = False
        problem = replace(problem, collected=collected)
        epsilons = equal_budgets(problem)
    return tuple(dropped)


def _split_note(problem: Problem, epsilons: Floats, wanted: str) -> tuple[str, ...]:
    """Return a note where the budgets are no more than what splitting the limit gives anyway."""
    count = int(problem.collected.sum())
    split = equal_split(float(problem.limits.min()), count)
    if wanted == "worst" or problem.public.any() or epsilons.max() > split * (1 + 1e-6):
        return ()
    return (
        f"no budget is above the equal split, limit / {count} = {split:.4g}, which any data allow; "
        "`design` asks each person for some attributes only, with larger budgets",
    )


def _out_of_reach(problem: Problem) -> tuple[str, ...]:
    """Return a note that names the attributes with the most values, where `exact` does not fit."""
    if isinstance(problem.data, PairCounts) or problem.guarantee not in ("sampled", "merged"):
        return ()
    matrix = problem.matrix(problem.scaled(np.ones(len(problem.domain)), 1.0))
    kept = list(range(len(problem.domain)))
    try:
        columns = likelihood_columns(matrix.domain, matrix.releases, matrix.view)
    except GuaranteeError:
        return ()
    order = sorted(kept, key=lambda j: -columns[j].count)
    dropped = list[str]()
    while len(kept) > 1 and not exact_is_feasible([columns[j] for j in kept], problem.data.records):
        dropped.append(problem.domain.names[order[len(dropped)]])
        kept.remove(order[len(dropped) - 1])
    if not dropped:
        return ()
    shown = ", ".join(dropped[:5]) + (f" and {len(dropped) - 5} more" if len(dropped) > 5 else "")
    return (f"exact totals would fit without {shown}; `design` needs no such choice",)


def _audited(found: Calibration) -> Calibration:
    """Return the calibration with what a witness search says, if it rests on an assumption.

    One search per attribute; then bisection over the share of the budgets, for the refuted ones
    only.  Where only budgets are known, the search ranges over all mechanisms with them.
    """
    problem, epsilons = found.problem, found.epsilons
    if GUARANTEES[found.totals.guarantee] != "assumed":
        return found
    if isinstance(problem.data, PairCounts):
        note = "no witness was searched for: pair counts have no records; give the table itself"
        return replace(found, notes=(note, *found.notes))
    limited = np.flatnonzero(np.isfinite(problem.limits)).tolist()
    refuted = _exceeding(problem, epsilons, limited, problem.options.get("progress"))
    if not refuted:
        return replace(found, audit=Audit((), None))
    low, high = 0.0, 1.0
    while high - low > SHARE_TOLERANCE:
        share = (low + high) / 2
        if _exceeding(problem, problem.scaled(epsilons, share), list(refuted)):
            high = share
        else:
            low = share
    return replace(found, audit=Audit(tuple(refuted.values()), problem.scaled(epsilons, low)))


def _exceeding(
    problem: Problem, epsilons: Floats, targets: Sequence[int], progress: Progress | None = None
) -> dict[int, JointWitness]:
    """Return the witnesses that exceed the limit of their attribute."""
    released = releases(problem.domain, epsilons, problem.mechanisms)
    columns = likelihood_columns(problem.domain, released, "report")
    found, seed = dict[int, JointWitness](), int(problem.options.get("seed") or 0)
    assert isinstance(problem.data, Records)
    for done, target in enumerate(targets, start=1):
        witness = search_witness(problem.data, columns, target, seed)
        if witness is not None and witness.counted > problem.limits[target]:
            found[target] = witness
        if progress is not None:
            progress(done, len(targets))
    return found
