"""The largest equal budgets whose totals stay within the limits [theory-totals: Calibration]."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Booleans, Floats
from seepage._registry import MECHANISMS
from seepage.data.domain import Domain, for_each
from seepage.data.inputs import as_pairs
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.designs.design_options import CalibrationOptions, positive_limit
from seepage.errors import InputError
from seepage.leakage.matrix import LeakageMatrix, leakage_matrix
from seepage.leakage.release import PUBLIC
from seepage.totals.result import TotalLeakage
from seepage.totals.total import total_leakage

MAX_ITERATIONS = 200
"""Maximum number of iterations of the root search."""

TOLERANCE = 1e-9
"""Accuracy of a budget in nats; relative to the limit if that is below 1."""

SAMPLED_TOLERANCE = 1e-2
"""Accuracy of a budget relative to the limit, where totals are computed on sampled reports."""

MAX_CONFIRMATIONS = 20
"""Maximum number of fresh samples drawn to confirm sampled budgets, each time lowered."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Constraints of a calibration; arrays have one entry for each attribute of the data.

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
    mechanism
        The mechanism of each attribute by name; None for the bound over all mechanisms.
    guarantee, options
        The guarantee of the totals, and further keywords of `total_leakage`.
    """

    data: PairCounts | Records
    limits: Floats
    collected: Booleans
    public: Booleans
    mechanism: tuple[str | None, ...]
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

    @cached_property
    def release_names(self) -> dict[str, Any]:
        """Mechanisms by attribute, "public" included: an argument of `leakage_matrix`.

        An attribute that is not collected has delta 0, and no mechanism that needs another.
        """
        masks = zip(self.public, self.collected, self.mechanism, strict=True)
        releases = [
            PUBLIC if public else name if collected or not _needs_delta(name) else None
            for public, collected, name in masks
        ]
        return dict(zip(self.domain.names, releases, strict=True))

    @cached_property
    def deltas(self) -> dict[str, float]:
        """The delta of each attribute; 0 for those not collected."""
        given = for_each(self.domain, self.options["delta"], "delta")
        deltas = np.where(self.collected, [_checks.delta(value) for value in given], 0.0)
        return dict(zip(self.domain.names, deltas.tolist(), strict=True))

    @property
    def max_budget(self) -> float:
        """Upper bound of any budget: the largest limit, as an attribute's own report counts."""
        return float(self.limits[self.collected].max())

    def matrix(self, epsilons: Floats) -> LeakageMatrix:
        """Return the leakage matrix at some budgets."""
        names, deltas = self.release_names, self.deltas
        return leakage_matrix(self.pairs, epsilons, mechanism=names, delta=deltas)

    def totals(self, epsilons: Floats) -> Floats:
        """Return the total of each attribute in nats at some budgets, under the guarantee."""
        return totals_at(self, epsilons).values

    def excess(self, totals: Floats) -> float:
        """Return the largest excess of a total over its limit in nats; negative if none exceeds."""
        limited = np.isfinite(self.limits)
        return float((totals[limited] - self.limits[limited]).max())

    def scaled(self, budgets: Floats, factor: float) -> Floats:
        """Return the budgets times a factor, each at most its attribute's limit."""
        return self.epsilons(np.minimum(budgets * factor, self.limits))


def make_problem(data: PairCounts | Records, options: CalibrationOptions, scope: str) -> Problem:
    """Return the constraints of a calibration for a scope, checked against the data."""
    domain = data.domain
    is_public, is_left_out, _ = attribute_masks(domain, options.public, options.left_out)
    collected = ~(is_public | is_left_out)
    if not collected.any():
        raise InputError("at least one attribute must be collected, all are public or left out")
    limits = np.array([positive_limit(value) for value in for_each(domain, options.limit, "limit")])
    limits[is_public] = np.inf
    names = tuple(for_each(domain, options.mechanism, "mechanism"))
    return Problem(
        data,
        limits,
        collected,
        is_public,
        names,
        options.guarantee,
        options.of_totals(scope),
    )


def _needs_delta(name: Any) -> bool:
    return isinstance(name, str) and name in MECHANISMS and MECHANISMS[name].approximate


def attribute_masks(
    domain: Domain, public: Iterable[str], left_out: Iterable[str], known: Iterable[str] = ()
) -> list[Booleans]:
    """Return masks of public, left-out and known attributes; a public one is neither other."""
    given = {"public": public, "left out": left_out, "known": known}
    masks = list[Booleans]()
    for role, names in given.items():
        indices = [domain.index(name) for name in _checks.items(names, role.replace(" ", "_"))]
        masks.append(np.isin(np.arange(len(domain)), indices))
        both = np.flatnonzero(masks[0] & masks[-1])
        if role != "public" and len(both):
            raise InputError(f"{domain.names[both[0]]!r} cannot be both public and {role}")
    return masks


def largest_within(
    excess: Callable[[float], float], maximum: float, tolerance: float = 1e-9
) -> float:
    """Return the largest budget up to `maximum` whose excess over the limit is not positive.

    Parameters
    ----------
    excess
        The largest total minus its limit, as a non-decreasing function of the budget.
    maximum
        Upper end of the search.
    tolerance
        How far the result may lie below the root; it is never above.

    Notes
    -----
    Regula falsi (the Illinois rule) inside a bracket whose lower end always satisfies the limit,
    with a bisection whenever it does not halve the bracket: about ten evaluations for smooth
    totals, at most fifty for any.

    Examples
    --------
    >>> budget = largest_within(lambda budget: 3 * budget - 1, maximum=1.0)
    >>> 1 / 3 - 1e-9 <= budget <= 1 / 3
    True
    """
    low, at_low = 0.0, excess(0.0)
    if at_low > 0:
        raise InputError(
            f"no budget fits: the public attributes alone exceed a limit by {at_low:.4g}; raise "
            "the limit, or declare fewer attributes as public"
        )
    high, at_high = maximum, excess(maximum)
    if at_high <= 0:
        return maximum
    for _ in range(MAX_ITERATIONS):
        width = high - low
        if width <= tolerance:
            break
        for share in (_chord_root(at_low, at_high), 0.5):
            middle = low + (high - low) * share
            if not low < middle < high:
                continue
            at_middle = excess(middle)
            if at_middle <= 0:
                low, at_low = middle, at_middle
            else:
                high, at_high = middle, at_middle
            if high - low <= width / 2:
                break
    return low


def _chord_root(at_low: float, at_high: float) -> float:
    """Return the root of the chord (regula falsi) as a share of the bracket, clipped to 1e-3."""
    if at_high == float("inf") or at_low == float("-inf"):
        return 0.5
    return min(max(-at_low / (at_high - at_low), 1e-3), 1 - 1e-3)


def equal_split(limit: float, attributes: int) -> float:
    """Return limit / n, the budget of plain budget splitting (SPL), rounded down.

    Examples
    --------
    >>> equal_split(10.0, 40)
    0.25
    """
    share = limit / attributes
    return share if share * attributes <= limit else float(np.nextafter(share, 0.0))


def totals_at(problem: Problem, epsilons: Floats, **overrides: Any) -> TotalLeakage:
    """Return every attribute's total at some budgets; keywords override the problem's options."""
    options = {"guarantee": problem.guarantee, **problem.options, **overrides}
    options["delta"] = problem.deltas
    budgets = dict(zip(problem.domain.names, epsilons.tolist(), strict=True))
    return total_leakage(problem.data, budgets, mechanism=problem.release_names, **options)


def equal_budgets(problem: Problem) -> Floats:
    """Return the largest equal budgets whose totals stay within the limits.

    The total is continuous and increasing in the budget, so a root search finds the budget to
    `TOLERANCE`; for `sampled` to `SAMPLED_TOLERANCE`, as `confirmed` must still confirm it.  No
    attribute gets more than its own limit.
    """
    maximum, ones = problem.max_budget, np.ones(len(problem.domain))
    sampled = problem.guarantee == "sampled"
    budget = largest_within(
        lambda budget: problem.excess(problem.totals(problem.scaled(ones, budget))),
        maximum,
        SAMPLED_TOLERANCE * maximum if sampled else TOLERANCE * min(maximum, 1.0),
    )
    return problem.scaled(ones, budget)


def confirmed(problem: Problem, epsilons: Floats) -> tuple[Floats, TotalLeakage]:
    """Return budgets that `sampled` confirms on reports not used to choose them, and their totals.

    The search evaluates all budgets on one sample of reports; only an independent sample may
    confirm them, and only its totals are reported.  Budgets that are not confirmed are lowered by
    3%.  The j-th confirmation has error probability beta / 2^j, so by the union bound all hold
    with confidence 1 - beta, which is reported whichever attempt succeeds.
    """
    confidence, rng = problem.options["confidence"], problem.options["rng"]
    for attempt in range(1, MAX_CONFIRMATIONS + 1):
        attempt_confidence = 1 - (1 - confidence) / 2**attempt
        new_seed = None if rng is None else rng + attempt
        totals = totals_at(problem, epsilons, rng=new_seed, confidence=attempt_confidence)
        if problem.excess(totals.values) <= 0:
            return epsilons, replace(totals, confidence=confidence)
        epsilons = problem.scaled(epsilons, 0.97)
    raise InputError("no sampled total was confirmed within its limit; use more reports")
