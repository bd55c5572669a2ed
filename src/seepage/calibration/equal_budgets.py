"""The largest equal budgets whose totals are within the limits."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Booleans, Floats
from seepage._core.errors import InputError
from seepage._core.registry import MECHANISMS
from seepage.calibration.calibration_options import CalibrationOptions, positive_limit
from seepage.calibration.root import largest_within
from seepage.channel.domain import Domain, for_each
from seepage.channel.pairs import PairCounts
from seepage.channel.records import Records
from seepage.leakage.release import PUBLIC, Release, releases
from seepage.tables.read import as_pairs
from seepage.totals.result import TotalLeakage
from seepage.totals.total import total_leakage

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
    each = [checks.delta(value) for value in for_each(domain, options.delta, "delta")]
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


def attribute_masks(
    domain: Domain,
    public: Iterable[str],
    left_out: Iterable[str],
    known: Iterable[str] = (),
) -> list[Booleans]:
    """Return masks of public, left-out and known attributes; a public one is neither
    other.
    """
    given = {"public": public, "left out": left_out, "known": known}
    masks = list[Booleans]()
    for role, names in given.items():
        indices = [
            domain.index(name) for name in checks.items(names, role.replace(" ", "_"))
        ]
        masks.append(np.isin(np.arange(len(domain)), indices))
        both = np.flatnonzero(masks[0] & masks[-1])
        if role != "public" and len(both):
            raise InputError(
                f"{domain.names[both[0]]!r} cannot be both public and {role}"
            )
    return masks
