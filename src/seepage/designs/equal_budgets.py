"""The calibration problem, and the largest equal budgets whose totals stay within the limits."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from seepage import _checks
from seepage._numerics import Booleans, Floats
from seepage.data.domain import Domain, for_each
from seepage.data.inputs import as_pairs
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.errors import InputError
from seepage.leakage import LeakageMatrix, leakage_matrix
from seepage.leakage.release import PUBLIC
from seepage.totals import TotalLeakage, total_leakage
from seepage.totals.composition import independent_totals

STEPS = 200
"""Halvings of a bracket at most."""

TOLERANCE = 1e-9
"""To what a budget is found; where the limit is below 1, to what share of it."""

SAMPLED_TOLERANCE = 1e-2
"""To what share of the limit a budget is found where each evaluation draws its own sample."""

ATTEMPTS = 20
"""Fresh samples that may be drawn to confirm a sampled budget, each lower than the last."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Conditions of a calibration, one entry for each attribute of the data.

    Parameters
    ----------
    data
        The pair counts or records that totals are computed from.
    limits
        The allowed total of each attribute; infinite for public attributes.
    collected
        Whether the attribute is collected, and so gets a budget.
    public
        Whether its value is public already: an identity release (epsilon = infinity).
    least
        The smallest budget worth collecting the attribute for.
    mechanism
        Each attribute's mechanism by name; None for any.
    guarantee, options
        What totals rest on, and further keywords of `total_leakage`.
    """

    data: PairCounts | Records
    limits: Floats
    collected: Booleans
    public: Booleans
    least: Floats
    mechanism: tuple[str | None, ...]
    guarantee: str = "independent"
    options: Mapping[str, Any] = field(default_factory=dict)

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
    def mechanisms(self) -> dict[str, Any]:
        """How each attribute is released, as `leakage_matrix` takes it."""
        return {
            attribute.name: PUBLIC if public else name
            for attribute, public, name in zip(
                self.domain, self.public, self.mechanism, strict=True
            )
        }

    @property
    def most(self) -> float:
        """A budget that no collected attribute can exceed: its own report counts in its total."""
        return float(self.limits[self.collected].max())

    def matrix(self, epsilons: Floats) -> LeakageMatrix:
        """Return the leakage matrix at some budgets."""
        return leakage_matrix(self.pairs, epsilons, mechanism=self.mechanisms)

    def independent(self, epsilons: Floats) -> Floats:
        """Return each attribute's sum of leakages at some budgets: one matrix, milliseconds."""
        return independent_totals(self.matrix(epsilons))[0]

    def totals(self, epsilons: Floats) -> Floats:
        """Return each attribute's total at some budgets under the guarantee, the shortest way."""
        if self.guarantee == "independent":
            return self.independent(epsilons)
        return totals_at(self, epsilons).values

    def excess(self, totals: Floats) -> float:
        """Return how far the worst total is above its limit; negative where all are within."""
        limited = np.isfinite(self.limits)
        return float((totals[limited] - self.limits[limited]).max())

    def scaled(self, base: Floats, share: float) -> Floats:
        """Return budgets in the same proportions, none above its own limit."""
        return self.epsilons(np.minimum(base * share, self.limits))

    def raise_least(self) -> NoReturn:
        """Raise where no attribute can have its smallest useful budget within the limit."""
        raise InputError(
            "no attribute can have its smallest useful budget within the limit; "
            "raise the limit or lower `least`"
        )


def make_problem(
    data: PairCounts | Records,
    limit: Any,
    mechanism: Any = None,
    public: Iterable[str] = (),
    left_out: Iterable[str] = (),
    least: Any = 0.0,
    **more: Any,
) -> Problem:
    """Return the conditions of a calibration, checked.

    Parameters
    ----------
    data
        The pair counts or records.
    limit
        The allowed total: one for all, a sequence, or a mapping by name.
    mechanism
        A registered name for all, or one for each attribute; None for any mechanism.
    public, left_out
        Attributes whose values are public already, and attributes that are not collected.
    least
        The smallest useful budget: one for all, or one for each.
    more
        The guarantee and its options, see `Problem`.
    """
    domain = data.domain
    known, absent = chosen(domain, public, "public"), chosen(domain, left_out, "left_out")
    if (both := known & absent).any():
        name = domain.names[int(np.argmax(both))]
        raise InputError(f"{name!r} cannot be both public and left out")
    collected = ~(known | absent)
    if not collected.any():
        raise InputError("at least one attribute must be collected, all are public or left out")
    limits = np.array([positive_limit(value) for value in for_each(domain, limit, "limit")])
    limits[known] = np.inf
    floors = [_checks.epsilon(v, "least") for v in for_each(domain, least, "least")]
    names = tuple(for_each(domain, mechanism, "mechanism"))
    problem = Problem(data, limits, collected, known, np.array(floors), names, **more)
    if (problem.least > limits)[collected].all():
        problem.raise_least()
    return problem


def chosen(domain: Domain, names: Iterable[str], what: str) -> Booleans:
    """Return which attributes are named."""
    found = np.zeros(len(domain), dtype=np.bool_)
    for name in _checks.items(names, what):
        found[domain.index(name)] = True
    return found


def positive_limit(value: Any, what: str = "limit") -> float:
    """Return an allowed total, checked."""
    limit = _checks.epsilon(value, what)
    if limit == 0:
        raise InputError(f"{what} must be above 0: a total of 0 means that nothing is collected")
    return limit


def largest_within(excess: Callable[[float], float], most: float, tolerance: float = 1e-9) -> float:
    """Return the largest budget up to `most` whose excess over the limit is not positive.

    Parameters
    ----------
    excess
        The largest total minus its limit, at a budget; it does not fall as the budget grows.
    most
        A budget that need not be exceeded.
    tolerance
        How far below the true answer the result may lie; it is never above.

    Notes
    -----
    Regula falsi (the Illinois rule) inside a bracket whose lower end always satisfies the limit,
    with a bisection whenever it does not halve the bracket: about ten evaluations for smooth
    totals, at most fifty for any.

    Examples
    --------
    >>> found = largest_within(lambda budget: 3 * budget - 1, most=1.0)
    >>> 1 / 3 - 1e-9 <= found <= 1 / 3
    True
    """
    low, at_low = 0.0, excess(0.0)
    if at_low > 0:
        raise InputError(
            f"no budget fits: what is public already tells {at_low:.4g} more than a limit allows; "
            "raise it, or make less public"
        )
    high, at_high = most, excess(most)
    if at_high <= 0:
        return most
    for _ in range(STEPS):
        width = high - low
        if width <= tolerance:
            break
        for share in (_falsi(at_low, at_high), 0.5):
            middle = low + (high - low) * share
            if not low < middle < high:
                continue
            found = excess(middle)
            if found <= 0:
                low, at_low = middle, found
            else:
                high, at_high = middle, found
            if high - low <= width / 2:
                break
    return low


def _falsi(at_low: float, at_high: float) -> float:
    """Return where the chord crosses 0, as a share of the bracket, kept off its ends."""
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


def totals_at(problem: Problem, epsilons: Floats, **others: Any) -> TotalLeakage:
    """Return every attribute's total at some budgets; others replace the problem's options."""
    options = {"guarantee": problem.guarantee, **problem.options, **others}
    budgets = dict(zip(problem.domain.names, epsilons.tolist(), strict=True))
    return total_leakage(problem.data, budgets, mechanism=problem.mechanisms, **options)


def equal_budgets(problem: Problem) -> Floats:
    """Return the largest equal budgets whose totals stay within the limits.

    The total is continuous and increasing in the budget, so it is solved for to 1e-9, and to a
    hundredth of the limit for `sampled`, whose answer `confirmed` must still confirm.  No
    attribute gets more than its own limit.
    """
    most, same = problem.most, np.ones(len(problem.domain))
    sampled = problem.guarantee == "sampled"
    found = largest_within(
        lambda budget: problem.excess(problem.totals(problem.scaled(same, budget))),
        most,
        SAMPLED_TOLERANCE * most if sampled else TOLERANCE * min(most, 1.0),
    )
    return problem.scaled(same, found)


def confirmed(problem: Problem, epsilons: Floats) -> tuple[Floats, TotalLeakage]:
    """Return budgets that `sampled` confirms on reports not used to choose them, and their totals.

    The search looks at one set of reports over and over; only a fresh set may confirm, and only
    its totals may be stated.  Budgets that are not confirmed are lowered by 3%.  The j-th
    confirmation may be wrong with probability beta / 2^j, so all together hold with 1 - beta:
    that is stated whichever of them succeeds, for it was they that chose which.
    """
    confidence = _checks.probability(problem.options.get("confidence", 0.95), "confidence")
    seed = problem.options.get("seed", 0)
    for attempt in range(1, ATTEMPTS + 1):
        sure = 1 - (1 - confidence) / 2**attempt
        fresh = None if seed is None else seed + attempt
        totals = totals_at(problem, epsilons, seed=fresh, confidence=sure)
        if problem.excess(totals.values) <= 0:
            return epsilons, replace(totals, confidence=confidence)
        epsilons = problem.scaled(epsilons, 0.97)
    raise InputError("no sampled total was confirmed within its limit; use more reports")
