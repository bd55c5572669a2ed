"""`Release`: how an attribute is released, and its leakage about a target.

A `Release` is the budget of one attribute and, where known, its mechanism.  Its leakage
is exact, or the bound over all mechanisms with that budget, with a witness: the two
target values and the S that attain it.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from numpy.typing import ArrayLike

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage.channel.channel import Channel, as_matrix
from seepage.channel.domain import Attribute, Domain, for_each
from seepage.leakage.bound import bounded_leakage, relaxed_leakage
from seepage.leakage.delta import delta_of_reports
from seepage.leakage.exact_leakage import exact_leakage
from seepage.leakage.leakage import Leakage
from seepage.leakage.likely_sets import LikelySets, two_level_leakage
from seepage.mechanisms.base import PUBLIC, Mechanism
from seepage.mechanisms.mechanism_registry import MECHANISMS

View = Literal["report", "inferred"]


@dataclass(frozen=True)
class Release:
    """How one attribute is released: its budget and, where known, its mechanism.

    Parameters
    ----------
    epsilon, delta
        The budget.
    mechanism
        The mechanism; None for any mechanism with that budget, whose leakage is the
        bound.
    public
        Identity release of a public attribute (epsilon = infinity): the adversary sees
        the value itself, whose leakage is ln max G[x, u] / G[x', u].
    """

    epsilon: float
    delta: float = 0.0
    mechanism: Mechanism | None = None
    public: bool = False

    @property
    def name(self) -> str | None:
        """The name of a release's mechanism, or "public"; None where only the budget is
        known.
        """
        if self.public:
            return PUBLIC
        if self.mechanism is None:
            return None
        return self.mechanism.name

    def sets(self, view: View) -> LikelySets | None:
        """Return the likely sets of what the adversary observes of a release; None if
        it is not two-level.
        """
        if self.public:
            return LikelySets("singletons", self.epsilon)
        if self.mechanism is None:
            return LikelySets("all", self.epsilon)
        if view == "inferred":
            return self.mechanism.guess_sets
        return self.mechanism.likely_sets

    def transition(self, view: View) -> Floats:
        """Return P(what the adversary observes of a release given value); an InputError
        if it is not known.
        """
        assert self.mechanism is not None
        if view == "inferred":
            return self.mechanism.inferred_channel()
        return self.mechanism.channel()

    def leakage(self, G: Channel | ArrayLike, view: View) -> Leakage:
        """Return the leakage about the target of G of the release of its source."""
        if self.public:
            return two_level_leakage(G, LikelySets("singletons", self.epsilon))
        if self.mechanism is None:
            return bounded_leakage(G, self.epsilon, self.delta)
        if view == "report":
            return self.mechanism.leakage(G)
        return self._guess_leakage(G)

    def _guess_leakage(self, G: Channel | ArrayLike) -> Leakage:
        """Return the leakage of the value that the adversary infers from a released
        report.
        """
        sets = self.sets("inferred")
        guesses = self.transition("inferred")
        if sets is not None:
            pure = two_level_leakage(G, sets)
        elif isinstance(G, Channel):
            pure = exact_leakage(G, Channel(guesses, G.output, G.output))
        else:
            pure = exact_leakage(G, guesses)
        return relaxed_leakage(
            G,
            pure,
            partial(delta_of_reports, as_matrix(G), guesses, pure=pure.value),
            epsilon=self.epsilon,
            delta=self.delta,
        )


def releases(
    domain: Domain, epsilon: Any, mechanism: Any, delta: Any = 0.0
) -> list[Release]:
    """Return the release of each attribute; every setting is one for all, or one for
    each.
    """
    epsilons = [
        checks.epsilon(value, "epsilon")
        for value in for_each(domain, epsilon, "epsilon")
    ]
    deltas = [checks.delta(value) for value in for_each(domain, delta, "delta")]
    mechanisms = for_each(domain, mechanism, "mechanism")
    settings = zip(domain, epsilons, deltas, mechanisms, strict=True)
    return [
        make_release(attribute, epsilon=budget, delta=slack, mechanism=choice)
        for attribute, budget, slack, choice in settings
    ]


def make_release(
    attribute: Attribute, *, epsilon: float, delta: float, mechanism: Any
) -> Release:
    """Return the release of one attribute by a mechanism, its name, `PUBLIC`, or
    any.
    """
    if mechanism is None:
        return Release(epsilon, delta)
    if isinstance(mechanism, str) and mechanism == PUBLIC:
        return Release(math.inf if attribute.size > 1 else 0.0, public=True)
    if isinstance(mechanism, str):
        family = MECHANISMS.find(mechanism)
        named = family.create(attribute.size, epsilon, delta)
        budget = max(epsilon, named.epsilon)
        return Release(budget, max(delta, named.delta), named)
    if not (hasattr(mechanism, "k") and hasattr(mechanism, "likely_sets")):
        raise checks.violation("mechanism", "a name or a Mechanism", mechanism)
    if mechanism.k != attribute.size:
        raise InputError(
            f"the mechanism of {attribute.name!r} must have k = {attribute.size}, "
            f"got k = {mechanism.k}"
        )
    return Release(mechanism.epsilon, mechanism.delta, mechanism)
