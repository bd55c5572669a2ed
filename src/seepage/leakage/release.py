"""How an attribute is released: the likely sets of its reports, and its leakage about a
target.

Given its report, a two-level mechanism makes each input u of the source either likely
(probability c e^eps) or unlikely (c).  With S the likely inputs, the report is

    H(x, x', S) = (1 + lambda G_x(S)) / (1 + lambda G_x'(S)),   lambda = e^eps - 1,

times likelier under target value x than under x', where G_x(S) is the sum of G[x, u]
over S (theory: The bound; the paper's equation for H-bar).  Mechanisms differ in the
sets S they allow:

* singletons: one input (GRR, the exponential mechanism), O(m t);
* subsets: exactly omega inputs (subset selection);
* all: any inputs (unary encodings, local hashing, SHE): the paper's Algorithm 2.

The latter two are solved by Dinkelbach's iteration (`solver`), of which two or three
rounds of O(m^2 t) suffice.  The paper sorts the inputs of every pair, O(m^2 t log t);
here only pairs that raise the ratio are sorted.

A `Release` is the budget of one attribute and, where known, its mechanism.  Its leakage
is exact, or the bound over all mechanisms with that budget, with a witness: the two
target values and the S that attain it.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage._core.registry import MECHANISMS
from seepage.channel.channel import Channel, as_matrix
from seepage.channel.domain import Domain, for_each
from seepage.leakage.delta import delta_at
from seepage.leakage.leakage import Leakage
from seepage.leakage.likely_sets import (
    LikelySets,
    bounded_leakage,
    relaxed_leakage,
    two_level_leakage,
)

if TYPE_CHECKING:
    from seepage.mechanisms.base import Mechanism


# Releases -----------------------------------------------------------------------------

View = Literal["report", "inferred"]


PUBLIC = "public"
"""Stands in place of a mechanism's name for a public attribute."""


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
    mechanism: "Mechanism | None" = None
    public: bool = False

    @property
    def name(self) -> str | None:
        """The mechanism's name, or "public"; None where only the budget is known."""
        if self.public:
            return PUBLIC
        return None if self.mechanism is None else self.mechanism.name

    def sets(self, view: View) -> LikelySets | None:
        """Return the likely sets of what the adversary observes; None if it is not
        two-level.
        """
        if self.mechanism is None:
            return LikelySets("singletons" if self.public else "all", self.epsilon)
        return (
            self.mechanism.guess_sets
            if view == "inferred"
            else self.mechanism.likely_sets
        )

    def transition(self, view: View) -> Floats:
        """Return P(what the adversary observes given value); an InputError if it is not
        known.
        """
        assert self.mechanism is not None
        return (
            self.mechanism.inferred_channel()
            if view == "inferred"
            else self.mechanism.channel()
        )

    def leakage(self, G: Channel, view: View) -> Leakage:
        """Return the leakage about the target of G when its source is released in this
        way.
        """
        sets = self.sets(view)
        if self.public:
            return two_level_leakage(G, LikelySets("singletons", self.epsilon))
        if self.mechanism is None:
            return bounded_leakage(G, self.epsilon, self.delta)
        if view == "report":
            return self.mechanism.leakage(G)
        guessed = self.transition(view)
        if sets is None:
            from seepage.leakage.exact_leakage import exact_leakage

            return exact_leakage(G, Channel(guessed, G.output, G.output))
        pure = two_level_leakage(G, sets)
        curve = partial(delta_at, as_matrix(G), pure.value, guessed)
        return relaxed_leakage(G, pure, (self.epsilon, self.delta), curve)


def releases(
    domain: Domain, epsilon: Any, mechanism: Any, delta: Any = 0.0
) -> list[Release]:
    """Return the release of each attribute; every setting is one for all, or one for
    each.
    """
    epsilons = [
        checks.epsilon(e, "epsilon") for e in for_each(domain, epsilon, "epsilon")
    ]
    deltas = [checks.delta(d) for d in for_each(domain, delta, "delta")]
    released = []
    for attribute, budget, slack, choice in zip(
        domain, epsilons, deltas, for_each(domain, mechanism, "mechanism"), strict=True
    ):
        if choice is None:
            released.append(Release(budget, slack))
        elif isinstance(choice, str) and choice == PUBLIC:
            released.append(
                Release(math.inf if attribute.size > 1 else 0.0, public=True)
            )
        elif isinstance(choice, str):
            created = MECHANISMS.find(choice).create(attribute.size, budget, slack)
            released.append(Release(budget, slack, created))
        else:
            if not (hasattr(choice, "k") and hasattr(choice, "likely_sets")):
                raise checks.violation("mechanism", "a name or a Mechanism", choice)
            if choice.k != attribute.size:
                raise InputError(
                    f"the mechanism of {attribute.name!r} must have k = {attribute.size}, "
                    f"got k = {choice.k}"
                )
            released.append(Release(choice.epsilon, choice.delta, choice))
    return released
