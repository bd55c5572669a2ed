"""How attributes are released: a budget and, where known, a mechanism each."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seepage import _checks
from seepage._registry import MECHANISMS
from seepage.data.channel import Channel
from seepage.data.domain import Domain
from seepage.errors import InputError
from seepage.leakage.evidence import Leakage, two_level_leakage
from seepage.leakage.exact import exact_leakage
from seepage.leakage.likely_sets import LikelySets
from seepage.leakage.robust_bound import reach_of, robust_leakage

if TYPE_CHECKING:
    from seepage.mechanisms.base import Mechanism


View = Literal["report", "inferred"]
VIEWS = ("report", "inferred")

PUBLIC = "public"
"""In place of a mechanism's name: the attribute is public already."""


@dataclass(frozen=True)
class Release:
    """How one attribute is released: its budget and, where known, its mechanism.

    Parameters
    ----------
    epsilon, delta
        The budget.
    mechanism
        The mechanism; None for any mechanism with that budget, whose leakage is the bound.
    public
        Identity release of a public attribute (epsilon = infinity): the adversary sees the value
        itself, whose leakage is ln max G[x, u] / G[x', u].
    """

    epsilon: float
    delta: float = 0.0
    mechanism: "Mechanism | None" = None
    public: bool = False

    @property
    def name(self) -> str | None:
        """The mechanism's name, or "public"; None where only the budget is known."""
        if self.public:
            return PUBLIC
        return None if self.mechanism is None else self.mechanism.name

    def sets(self, view: View) -> LikelySets | None:
        """Return the likely sets that an adversary with this view sees, if it is two-level."""
        if self.mechanism is None:
            return LikelySets("singletons" if self.public else "all", self.epsilon)
        return self.mechanism.guess_sets if view == "inferred" else self.mechanism.likely_sets

    def leakage(self, G: Channel, view: View) -> Leakage:
        """Return the leakage about the target of a channel whose source is so released."""
        sets = self.sets(view)
        if self.mechanism is not None and view == "report":
            return self.mechanism.leakage(G)
        if sets is not None:
            return two_level_leakage(G, sets, self.delta if self.mechanism is None else 0.0)
        assert self.mechanism is not None
        return exact_leakage(G, Channel(self.mechanism.inferred_channel(), G.output, G.output))

    def robust_leakage(self, G: Channel, view: View, radius: float) -> Leakage:
        """Return the most that it leaks over all channels whose rows are within a radius of G's.

        A mechanism that is not two-level counts with the bound over all of its budget.
        """
        sets, slack = self.sets(view), self.delta if self.mechanism is None else 0.0
        if sets is None:
            if self.delta:
                raise InputError(
                    f"radius must be 0 for {self.name!r}, whose delta is {self.delta:g}; "
                    "leave the mechanism out for the bound of its budget"
                )
            sets = LikelySets("all", self.epsilon)
        return robust_leakage(G, sets, reach_of(G, radius, None), slack)


def releases(domain: Domain, epsilon: Any, mechanism: Any, delta: Any = 0.0) -> list[Release]:
    """Return how each attribute of a domain is released, from one setting or one for each."""
    epsilons = [_checks.epsilon(e, "epsilon") for e in for_each(domain, epsilon, "epsilon")]
    deltas = [_checks.delta(d) for d in for_each(domain, delta, "delta")]
    found = []
    for attribute, budget, slack, how in zip(
        domain, epsilons, deltas, for_each(domain, mechanism, "mechanism"), strict=True
    ):
        if how is None:
            found.append(Release(budget, slack))
        elif isinstance(how, str) and how == PUBLIC:
            found.append(Release(math.inf if attribute.size > 1 else 0.0, public=True))
        elif isinstance(how, str):
            made = MECHANISMS.find(how).create(attribute.size, budget, slack)
            found.append(Release(budget, slack, made))
        else:
            if not (hasattr(how, "k") and hasattr(how, "likely_sets")):
                raise InputError(
                    f"mechanism must be a name or a Mechanism, got {_checks.shown(how)}"
                )
            if how.k != attribute.size:
                raise InputError(
                    f"the mechanism of {attribute.name!r} must have k = {attribute.size}, "
                    f"got k = {how.k}"
                )
            found.append(Release(how.epsilon, how.delta, how))
    return found


def for_each(domain: Domain, setting: Any, name: str) -> list[Any]:
    """Return a setting for each attribute: one for all, a sequence, or a mapping by name."""
    if isinstance(setting, Mapping):
        for attribute in setting:
            domain.index(attribute)
        missing = [attribute for attribute in domain.names if attribute not in setting]
        if missing:
            raise InputError(f"{name} must be given for every attribute, {missing[0]!r} has none")
        return [setting[attribute] for attribute in domain.names]
    if isinstance(setting, (Sequence, np.ndarray)) and not isinstance(setting, str):
        if len(setting) != len(domain):
            raise InputError(
                f"{name} must be one number or one for each of the {len(domain)} attributes, "
                f"got {len(setting)}"
            )
        return list(setting)
    return [setting] * len(domain)
