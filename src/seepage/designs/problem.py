"""What a calibration is asked: whose budgets, which limits, what is public or left out."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from seepage import _checks
from seepage._numerics import Booleans, Floats
from seepage.data.domain import Domain
from seepage.errors import InputError
from seepage.leakage.release import PUBLIC, for_each

__all__ = ["Problem", "make_problem"]


@dataclass(frozen=True, eq=False)
class Problem:
    """A calibration's conditions, one entry for each attribute of the domain.

    Parameters
    ----------
    domain
        The attributes.
    limits
        The allowed total of each; infinite for public attributes.
    collected
        Whether the attribute is collected, and so gets a budget.
    public
        Whether its value is public already: it leaks in clear about the others.
    least
        The smallest budget worth collecting the attribute for.
    mechanism
        Each attribute's mechanism by name; None for any.
    """

    domain: Domain
    limits: Floats
    collected: Booleans
    public: Booleans
    least: Floats
    mechanism: tuple[str | None, ...]

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

    def refuse_least(self) -> NoReturn:
        """Refuse the smallest useful budgets: no attribute can have its own within the limit."""
        raise InputError(
            "no attribute can have its smallest useful budget within the limit; "
            "raise the limit or lower `least`"
        )


def make_problem(
    domain: Domain,
    limit: Any,
    mechanism: Any = None,
    public: Iterable[str] = (),
    left_out: Iterable[str] = (),
    least: Any = 0.0,
) -> Problem:
    """Return the conditions of a calibration, checked.

    Parameters
    ----------
    domain
        The attributes of the table.
    limit
        The allowed total: one for all, a sequence, or a mapping by name.
    mechanism
        A registered name for all, or one for each attribute; None for any mechanism.
    public, left_out
        Attributes whose values are public already, and attributes that are not collected.
    least
        The smallest useful budget: one for all, or one for each.
    """
    known, absent = _named(domain, public), _named(domain, left_out)
    both = known & absent
    if both.any():
        name = domain.names[int(np.argmax(both))]
        raise InputError(f"{name!r} cannot be both public and left out")
    collected = ~(known | absent)
    if not collected.any():
        raise InputError("at least one attribute must be collected, all are public or left out")
    limits = np.array([_limit(value) for value in for_each(domain, limit, "limit")])
    limits[known] = np.inf
    floors = [_checks.epsilon(v, "least") for v in for_each(domain, least, "least")]
    names = tuple(for_each(domain, mechanism, "mechanism"))
    problem = Problem(domain, limits, collected, known, np.array(floors), names)
    if (problem.least > limits)[collected].all():
        problem.refuse_least()
    return problem


def _named(domain: Domain, names: Iterable[str]) -> Booleans:
    chosen = np.zeros(len(domain), dtype=np.bool_)
    for name in names:
        chosen[domain.index(name)] = True
    return chosen


def _limit(value: Any) -> float:
    limit = _checks.epsilon(value, "limit")
    if limit == 0:
        raise InputError("limit must be above 0: a total of 0 means that nothing is collected")
    return limit
