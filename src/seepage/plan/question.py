"""One question of a form: the attribute asked for, and the mechanism that perturbs the answer."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from seepage import _checks
from seepage.errors import InputError
from seepage.mechanisms import BasicRAPPOR, Mechanism, registered

Budget = Annotated[float, msgspec.Meta(ge=0)]
Relaxation = Annotated[float, msgspec.Meta(ge=0, lt=1)]
Unbounded = Budget | Literal["inf"]
"""A number of at least 0; JSON has no infinity, so it is the text "inf"."""


TIE = 1e-9
"""Variances within this relative distance are equal; the shorter report wins."""


def best_mechanism(k: int, epsilon: float) -> str:
    """Return the name of the registered mechanism with the least variance at a pure budget.

    Parameters
    ----------
    k
        The alphabet size.
    epsilon
        The budget.

    Notes
    -----
    Compared is `variance(1, 1/k)`: closed-form variances are affine in the frequency, so this is
    the mean over the k values whatever their distribution.  Of equal ones the shortest report
    wins, then the one registered first.  Mechanisms that need a delta are not considered.

    Examples
    --------
    >>> [best_mechanism(k, 1.0) for k in (1, 2, 4, 100)]
    ['grr', 'grr', 'grr', 'ss']
    """
    size, budget = _checks.integer(k, "k", 1), _checks.epsilon(epsilon)
    made: list[Mechanism] = [
        family(size, budget)  # type: ignore[call-arg]
        for family in registered().values()
        if not family.approximate
    ]
    variances = [float(mechanism.variance(1, 1 / size)) for mechanism in made]
    least = [m for m, v in zip(made, variances, strict=True) if v <= min(variances) * (1 + TIE)]
    return min(least, key=lambda mechanism: mechanism.bits).name


def build_mechanism(
    name: str, k: int, epsilon: float, delta: float, parameters: Mapping[str, float]
) -> Mechanism:
    """Return a mechanism from what a plan says of it.

    Parameters
    ----------
    name
        A registered name, or `"basic-rappor"`.
    k
        The alphabet size.
    epsilon, delta
        The stated budget; a delta above 0 only for approximate mechanisms.
    parameters
        What the constructor takes besides: `f`, `p` and `q` of basic RAPPOR, whose epsilon
        follows from them and must be the one stated.

    Examples
    --------
    >>> build_mechanism("grr", 4, 1.0, 0.0, {})
    GRR(mechanism=grr, k=4, epsilon=1.0)
    """
    families: dict[str, Any] = {**registered(), BasicRAPPOR.name: BasicRAPPOR}
    family = families[_checks.choice(name, "mechanism", families)]
    if delta > 0 and not family.approximate:
        raise InputError(f"mechanism {name!r} has delta 0, got delta {delta}")
    budget = [] if family is BasicRAPPOR else [epsilon, delta] if family.approximate else [epsilon]
    try:
        made: Mechanism = family(k, *budget, **parameters)
    except TypeError:
        given = ", ".join(sorted(parameters))
        raise InputError(f"mechanism {name!r} does not take the parameters {given}") from None
    if family is BasicRAPPOR and made.epsilon > epsilon:
        raise InputError(f"epsilon of {name!r} must be {made.epsilon!r}, got {epsilon!r}")
    return made


class Question(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question: the answer is perturbed by a mechanism of its own.

    Parameters
    ----------
    attribute
        The name of the attribute asked for.
    mechanism
        The name of the mechanism that perturbs the answer.
    epsilon, delta
        The budget that the mechanism is made with.
    parameters
        Further parameters of the mechanism.

    Examples
    --------
    >>> Question(attribute="sex", mechanism="grr", epsilon=1.0).made_for(2)
    GRR(mechanism=grr, k=2, epsilon=1.0)
    """

    attribute: str
    mechanism: str
    epsilon: Budget
    delta: Relaxation = 0.0
    parameters: dict[str, float] = {}

    def made_for(self, k: int) -> Mechanism:
        """Return the mechanism for an attribute with k values."""
        return build_mechanism(self.mechanism, k, self.epsilon, self.delta, self.parameters)

    @classmethod
    def of(cls, attribute: str, made: Mechanism) -> "Question":
        """Return the question whose answer this mechanism perturbs."""
        described = made.describe()
        return cls(
            attribute=attribute,
            mechanism=described.pop("mechanism"),
            epsilon=described.pop("epsilon", made.epsilon),
            delta=described.pop("delta", 0.0),
            parameters={name: described[name] for name in described if name != "k"},
        )
