"""One attribute of a plan: its values, its mechanism, and what is promised about it."""

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

import msgspec

from seepage import _checks
from seepage.data.domain import Attribute
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


class PlannedAttribute(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True
):
    """One attribute of a plan: how it is collected, and what is promised about it.

    Parameters
    ----------
    name
        The attribute's name.
    mechanism
        The mechanism that perturbs it; None for an attribute that is not collected, whose
        epsilon is 0.
    public
        Whether its value is public already: released as it is, without a mechanism.
    epsilon, delta
        The budget that the mechanism is made with.
    parameters
        Further parameters of the mechanism.
    limit
        The largest admissible total in nats; None for no limit.
    total, total_delta
        What all reports together leak about it, under the plan's guarantee, and the delta with
        which that holds.
    values, edges
        The values in the order of their codes, and the bin edges of a binned number.
    """

    name: str
    mechanism: str | None
    public: bool = False
    epsilon: Budget
    delta: Relaxation = 0.0
    parameters: dict[str, float] = {}
    limit: Budget | None = None
    total: Unbounded
    total_delta: Budget = 0.0
    values: tuple[str, ...]
    edges: tuple[float | Literal["inf", "-inf"], ...] = ()

    def __post_init__(self) -> None:
        if self.attribute.size and self.made is None and (self.epsilon or self.delta):
            raise InputError(
                f"attribute {self.name!r} is not collected, so its epsilon and delta must be 0"
            )
        if self.public and self.made is not None:
            raise InputError(f"attribute {self.name!r} is public, so it must have no mechanism")

    @cached_property
    def attribute(self) -> Attribute:
        """The attribute with its values and bin edges."""
        return Attribute(self.name, self.values, tuple(map(float, self.edges)))

    @cached_property
    def made(self) -> Mechanism | None:
        """The mechanism itself; None where the attribute is not collected."""
        if self.mechanism is None:
            return None
        return build_mechanism(
            self.mechanism, self.attribute.size, self.epsilon, self.delta, self.parameters
        )

    @property
    def exceeds(self) -> bool:
        """Whether the total is above its limit."""
        return self.limit is not None and not float(self.total) <= self.limit
