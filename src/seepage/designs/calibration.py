"""Calibration: from an allowed total to the budgets that keep it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Floats
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.designs.attribute_budgets import budgets_for_each, weighted_variance
from seepage.designs.audit import audit_budgets
from seepage.designs.equal_budgets import (
    Budgets,
    Calibration,
    confirmed,
    equal_budgets,
    excess_of,
    largest_within,
    totals_at,
)
from seepage.designs.paper import calibrate_as_the_paper, equal_split, realised_totals
from seepage.designs.problem import Problem, make_problem
from seepage.designs.strategy_comparison import Comparison, compare_strategies
from seepage.errors import InputError
from seepage.leakage.release import for_each
from seepage.totals import GUARANTEES
from seepage.totals.result import refuse_sample

__all__ = [
    "Calibration",
    "Comparison",
    "calibrate_as_the_paper",
    "compare_strategies",
    "equal_split",
    "find_budgets",
    "largest_within",
    "realised_totals",
]

WAYS = ("equal", "per-attribute")
USABLE = ("worst", "exact", "merged", "sampled", "independent", "tree")


def find_budgets(
    data: PairCounts | Records,
    limit: Any,
    guarantee: str = "auto",
    mechanism: Any = None,
    budgets: Budgets = "equal",
    *,
    public: Iterable[str] = (),
    left_out: Iterable[str] = (),
    least: Any = 0.0,
    weights: Any = 1.0,
    audit: bool = True,
    options: Mapping[str, Any] | None = None,
) -> Calibration:
    """Return the largest budgets whose totals stay within the limit, under a named guarantee.

    Parameters
    ----------
    data
        Pair counts, or records as distinct tuples.  A sample of records is refused, but for the
        guarantee `"worst"`, which needs none.
    limit
        The allowed total of every attribute, or one for each (a mapping by name).
    guarantee
        What totals rest on, by the names of `total_leakage`; `"auto"` is `"independent"` for pair
        counts, and for records `"exact"` where it fits and `"sampled"` otherwise.
    mechanism
        A mechanism by name, for all or by attribute: its own leakage is used.  None for the bound
        that holds for any mechanism.
    budgets
        `"equal"`: the same for all; `"per-attribute"`: those that minimise the weighted variance.
    public, left_out
        Attributes that are public already, and attributes that are not collected.
    least
        The smallest useful budget, for all or by attribute.
    weights
        How much each attribute's variance counts, for `"per-attribute"`.
    audit
        After a guarantee that is an assumption, and with records, search for a witness against it.
    options
        Further options of `total_leakage`, such as `structure`, `seed`, `reports`, `confidence`.

    Examples
    --------
    >>> import seepage as sp
    >>> adult = sp.load_pairs("adult").select(["sex", "race", "income"])
    >>> found = sp.find_budgets(adult, limit=1.0)
    >>> found.binding, bool(found.totals.values.max() <= 1.0)
    ('race', True)
    """
    _checks.choice(budgets, "budgets", WAYS)
    refuse_sample(data, guarantee, "budgets")
    pairs = data if isinstance(data, PairCounts) else data.pairs()
    problem = make_problem(pairs.domain, limit, mechanism, public, left_out, least)
    settings = dict(options or {})
    name = _guarantee(guarantee, data, problem)
    importance = _weights(problem, weights)
    equal = equal_budgets(data, problem, name, settings)
    epsilons, gain = equal, None
    if budgets == "per-attribute":
        epsilons = budgets_for_each(data, problem, name, importance, equal, settings)
    if name == "sampled":
        epsilons, totals = confirmed(data, problem, epsilons, settings)
    else:
        totals = totals_at(data, problem, name, epsilons, settings)
    if excess_of(problem, totals.values) > 0:
        raise AssertionError("a calibrated total exceeds its limit")
    if budgets == "per-attribute":
        before, after = (
            weighted_variance(pairs, problem, importance, each) for each in (equal, epsilons)
        )
        gain = before / after if 0 < after < np.inf else 1.0
    found = Calibration(problem, epsilons, totals, budgets, gain)
    found = replace(found, dropped=_to_drop(data, found, name, settings))
    return _audited(data, found, settings) if audit else found


def _guarantee(guarantee: str, data: PairCounts | Records, problem: Problem) -> str:
    if guarantee == "auto":
        from seepage.totals import choose_guarantee

        return choose_guarantee(data, problem.domain, problem.mechanisms)
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


def _audited(
    data: PairCounts | Records, found: Calibration, settings: Mapping[str, Any]
) -> Calibration:
    """Return the calibration with what a witness search says, if it rests on an assumption."""
    if GUARANTEES[found.totals.guarantee] != "assumed":
        return found
    if isinstance(data, PairCounts):
        note = "no witness was searched for: pair counts have no records; give the table itself"
        return replace(found, notes=(*found.notes, note))
    seed = int(settings.get("seed") or 0)
    audit = audit_budgets(data, found.problem, found.epsilons, seed, settings.get("progress"))
    return replace(found, audit=audit)


def _to_drop(
    data: PairCounts | Records, found: Calibration, name: str, settings: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return the attributes to drop until every one left has its smallest useful budget.

    Each time the attribute goes that leaks most in all about the others, at the smallest useful
    budgets: dropping it frees the largest share of their totals.
    """
    problem, dropped = found.problem, list[str]()
    epsilons = found.epsilons
    while True:
        short = problem.collected & (epsilons < problem.least)
        if not short.any():
            return tuple(dropped)
        if problem.collected.sum() == 1:
            problem.refuse_least()
        matrix = totals_at(data, problem, "independent", problem.least, {}).matrix
        leaks = np.where(problem.collected, matrix.values.sum(axis=0) + problem.least, -np.inf)
        worst = int(np.argmax(leaks))
        dropped.append(problem.domain.names[worst])
        collected = problem.collected.copy()
        collected[worst] = False
        problem = replace(problem, collected=collected)
        epsilons = equal_budgets(data, problem, name, settings)
