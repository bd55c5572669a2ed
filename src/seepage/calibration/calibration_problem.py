"""`CalibrationProblem`: the constraints of a calibration, and its totals at any
budgets.

Everything that does not depend on the budgets is read and checked once, when the
problem is made: an evaluation of the totals costs the leakages and nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Booleans, Floats
from seepage._core.errors import InputError
from seepage.calibration.attribute_roles import AttributeRoles, attribute_roles
from seepage.calibration.calibration_options import CalibrationOptions, positive_limit
from seepage.channel.domain import Domain, for_each
from seepage.channel.pairs import PairCounts
from seepage.channel.records import Records
from seepage.confidence.total_limits import uses_ranges
from seepage.leakage.matrix import LeakageMatrix, matrix_of_releases
from seepage.leakage.uncertainty import Uncertainty, uncertainty_of
from seepage.mechanisms.base import PUBLIC
from seepage.mechanisms.likelihood_columns import pure_columns
from seepage.mechanisms.mechanism_registry import MECHANISMS
from seepage.mechanisms.release import Release, View, releases
from seepage.tables.read import as_pairs
from seepage.totals.compute_total import compute_total, population_total
from seepage.totals.total_result import TotalLeakage
from seepage.totals.total_settings import TotalSettings

BISECTION_STEPS = 14
"""Steps of a bisection whose tests are counted: budgets to 1/16,000 of the largest
limit."""

FROM_UNCERTAIN_ROWS = ("independent", "sum")
"""Guarantees whose totals are computed from rows known up to a distance."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CalibrationProblem:
    """Constraints of a calibration; arrays have one entry for each attribute of the
    data.

    Parameters
    ----------
    data
        The pair counts or records that totals are computed from.
    limits
        The maximum total of each attribute in nats; infinite for public attributes.
    roles
        The public attributes and those that are not collected.
    guarantee
        The guarantee of the totals.
    scope
        For whom totals hold, `"table"` or `"population"`.
    view
        What the adversary keeps, `"report"` or `"inferred"`.
    mechanisms
        The mechanism of each attribute: `"public"`, a name, an object, or None where
        only the budget is known.
    deltas
        The delta of each attribute, 0 for those not collected.
    settings
        Confidence, sample and progress of the totals.
    uncertainty
        The distances within which the rows of every channel lie; None for the table's
        own rows.
    """

    data: PairCounts | Records
    limits: Floats
    roles: AttributeRoles
    guarantee: str
    scope: str
    view: View
    mechanisms: Sequence[Any]
    deltas: Sequence[float]
    settings: TotalSettings
    uncertainty: Uncertainty | None = None

    @property
    def domain(self) -> Domain:
        """The attributes of a calibration."""
        return self.data.domain

    @property
    def collected(self) -> Booleans:
        """Mask of the attributes that a calibration gives a budget."""
        return self.roles.collected

    @cached_property
    def steps(self) -> int:
        """The number of a calibration's bisection steps that the level counts; 0 if it
        counts none.

        For the population, budgets are the largest of one ascending family that pass.
        Where computed totals may fall as budgets grow, each step of a bisection is
        counted instead [theory-certificate: Families].
        """
        if self.scope != "population" or self.guarantee != "exact":
            return 0
        columns = pure_columns(self.matrix(self.equal(self.max_budget)))
        return BISECTION_STEPS if uses_ranges(columns) else 0

    @cached_property
    def pairs(self) -> PairCounts:
        """The pair counts that a calibration is of."""
        return as_pairs(self.data)

    # Budgets --------------------------------------------------------------------------

    @property
    def max_budget(self) -> float:
        """Upper bound of any budget of a calibration: the largest limit, as an
        attribute's own report counts.
        """
        return float(self.limits[self.collected].max())

    def equal(self, budget: float) -> Floats:
        """Return equal budgets of a calibration, each at most its limit; 0 for
        attributes not collected.
        """
        return np.where(self.collected, np.minimum(budget, self.limits), 0.0)

    def scaled(self, epsilons: Floats, factor: float) -> Floats:
        """Return the budgets of a calibration times a factor, each at most its
        attribute's limit.
        """
        scaled = np.minimum(epsilons * factor, self.limits)
        return np.where(self.collected, scaled, 0.0)

    # Totals ---------------------------------------------------------------------------

    def releases(self, epsilons: Floats) -> list[Release]:
        """Return the release of each attribute at some budgets of a calibration."""
        return releases(self.domain, epsilons.tolist(), self.mechanisms, self.deltas)

    def matrix(self, epsilons: Floats) -> LeakageMatrix:
        """Return the leakages between attributes at some budgets of a calibration."""
        released = self.releases(epsilons)
        return matrix_of_releases(self.pairs, released, self.view, self.uncertainty)

    def totals(self, epsilons: Floats, **sampling: Any) -> TotalLeakage:
        """Return every attribute's total at some budgets of a calibration.

        Parameters
        ----------
        epsilons
            The budget of each attribute.
        sampling
            Another `rng` and `confidence` than those of the settings.
        """
        settings = replace(self.settings, **sampling) if sampling else self.settings
        matrix = self.matrix(epsilons)
        if self.scope == "population" and self.guarantee != "worst":
            claims = self.steps + 1  # a bisection tests the budget 0 too
            return population_total(self.guarantee, self.data, matrix, settings, claims)
        return compute_total(self.guarantee, self.data, matrix, settings)

    def excess(self, totals: Floats) -> float:
        """Return the largest excess of a total over its limit in a calibration, in
        nats; negative if none exceeds.
        """
        limited = np.isfinite(self.limits)
        return float((totals[limited] - self.limits[limited]).max())


def make_calibration_problem(
    data: PairCounts | Records, options: CalibrationOptions, scope: str
) -> CalibrationProblem:
    """Return the constraints of a calibration for a scope, checked against the data."""
    uncertainty = uncertainty_of(data.domain, options.uncertainty)
    if uncertainty is not None:
        _check_uncertain(options.guarantee)
        data = uncertainty.coded(as_pairs(data))
    domain = data.domain
    roles = attribute_roles(domain, options.public, options.left_out)
    collected = roles.collected
    if not collected.any():
        raise InputError(
            "at least one attribute must be collected, all are public or left out"
        )
    limits = np.array(
        [positive_limit(value) for value in for_each(domain, options.limit, "limit")]
    )
    limits[roles.public] = np.inf
    checks.choice(options.view, "view", ("report", "inferred"))
    mechanisms = _mechanisms(domain, options.mechanism, roles)
    deltas = [checks.delta(value) for value in for_each(domain, options.delta, "delta")]
    return CalibrationProblem(
        data=data,
        limits=limits,
        roles=roles,
        guarantee=options.guarantee,
        scope=scope,
        view=options.view,
        mechanisms=mechanisms,
        deltas=np.where(collected, deltas, 0.0).tolist(),
        settings=options,
        uncertainty=uncertainty,
    )


def _check_uncertain(guarantee: str) -> None:
    """Raise unless a calibration's totals are defined over rows within their
    distances.
    """
    if guarantee not in FROM_UNCERTAIN_ROWS:
        raise InputError(
            "with uncertainty budgets need the guarantee 'independent' or 'sum': the "
            f"others are of the table's own joint distribution, got {guarantee!r}",
            parameter="guarantee",
        )


def _mechanisms(domain: Domain, mechanism: Any, roles: AttributeRoles) -> list[Any]:
    """Return the mechanism of each attribute of a calibration.

    One that needs a delta is not used where it is not collected, as it has none there.
    """
    mechanisms = for_each(domain, mechanism, "mechanism")
    for j, collected in enumerate(roles.collected.tolist()):
        if roles.public[j]:
            mechanisms[j] = PUBLIC
        elif not collected and _needs_delta(mechanisms[j]):
            mechanisms[j] = None
    return mechanisms


def _needs_delta(mechanism: Any) -> bool:
    """Return whether a mechanism of a calibration, given by name, is approximate."""
    if not isinstance(mechanism, str) or mechanism not in MECHANISMS:
        return False
    return MECHANISMS[mechanism].approximate
