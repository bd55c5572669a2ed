"""`MECHANISMS`: the LDP mechanisms by name, built in or of other packages.

Each perturbs, estimates, infers and computes the leakage of its report.  A new
mechanism is one class in one file and its name in `BUILT_IN`; one of another package
calls `register`.  See `Mechanism`.
"""

import inspect
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from seepage._core import checks
from seepage._core.errors import InputError, SeepageWarning
from seepage._core.registry import Registry
from seepage.mechanisms.base import PUBLIC, Mechanism, check_needed_delta
from seepage.mechanisms.direct import GRR, ApproximateGRR, Exponential
from seepage.mechanisms.gaussian import Gaussian
from seepage.mechanisms.hadamard import HadamardResponse
from seepage.mechanisms.hashing import BLH, OLH
from seepage.mechanisms.histogram import SHE
from seepage.mechanisms.rappor import BasicRAPPOR
from seepage.mechanisms.subset_selection import SubsetSelection
from seepage.mechanisms.support_independence import supports_are_independent
from seepage.mechanisms.unary import OUE, RAPPOR, ApproximateSUE

BUILT_IN: tuple[type[Mechanism], ...] = (
    GRR,
    RAPPOR,
    OUE,
    Exponential,
    BLH,
    OLH,
    SHE,
    SubsetSelection,
    HadamardResponse,
    BasicRAPPOR,
    ApproximateGRR,
    ApproximateSUE,
    Gaussian,
)
"""The mechanisms of this package, in the order in which they are listed."""


BUDGET_TOLERANCE = 1e-12
"""Relative excess of a factory's epsilon and delta over the stated ones, due to the
rounding of a matrix; leakages and totals are those of the larger ones."""


@dataclass(frozen=True)
class MechanismFactory:
    """A family of mechanisms that a function makes: what a class is otherwise.

    Parameters
    ----------
    name
        The registered name, which all mechanisms of the family get.
    make
        Returns a mechanism for `(k, epsilon)`, or `(k, epsilon, delta)`.
    approximate
        Whether it takes a delta, which is above 0 then.
    """

    name: str
    make: Callable[..., Mechanism]
    approximate: bool

    def create(self, k: int, epsilon: float, delta: float = 0.0) -> Mechanism:
        """Return the registered factory's mechanism for k values at a budget, checked
        to be within it.
        """
        check_needed_delta(self.name, self.approximate, delta)
        size = checks.integer(k, "k", 1)
        budget = checks.epsilon(epsilon)
        arguments: list[Any] = [size, budget]
        if self.approximate:
            arguments.append(delta)
        mechanism = self.make(*arguments)
        if not isinstance(mechanism, Mechanism) or mechanism.k != size:
            raise InputError(
                f"the function of mechanism {self.name!r} must return a Mechanism with "
                f"k = {size}, got {checks.shown(mechanism)}"
            )
        exceeds = mechanism.epsilon > budget * (1 + BUDGET_TOLERANCE)
        if exceeds or mechanism.delta > delta * (1 + BUDGET_TOLERANCE):
            raise InputError(
                f"the function of mechanism {self.name!r} must keep ({budget:g}, "
                f"{delta:g}), got a mechanism with ({mechanism.epsilon:.6g}, "
                f"{mechanism.delta:.3g})"
            )
        mechanism.name = self.name
        return mechanism


MechanismFamily: TypeAlias = type[Mechanism] | MechanismFactory
"""What is registered: a class, or a factory of mechanisms."""


def register(
    family: type[Mechanism] | Callable[..., Mechanism],
    *,
    name: str = "",
    replace: bool = False,
) -> type[Mechanism] | Callable[..., Mechanism]:
    """Add a mechanism to the registry under its name.

    A `TwoLevelMechanism` whose reports do not support values independently of each
    other, as its closed forms assume, is registered with a `SeepageWarning`: its
    leakage is too large, and its attack another.  `check_mechanism` checks everything
    that a mechanism states.

    Parameters
    ----------
    family
        A subclass of `Mechanism` without abstract members.  An InputError names missing
        members, a wrong constructor, or a name that is registered already.  Or a
        function `(k, epsilon)` or `(k, epsilon, delta)` that returns a mechanism within
        that budget.
    name
        The name of a function's mechanisms; by default the function's, with hyphens.
    replace
        Replace the mechanism of that name, for example in a notebook cell that is run
        again.

    Examples
    --------
    >>> class Another(GRR):
    ...     name = "grr"
    >>> register(Another)
    Traceback (most recent call last):
        ...
    seepage.InputError: a mechanism named 'grr' is registered already (replace=True ...
    >>> from seepage.mechanisms.two_level import TwoLevelMechanism
    >>> class Unfinished(TwoLevelMechanism):
    ...     name = "unfinished"
    >>> register(Unfinished)
    Traceback (most recent call last):
        ...
    seepage.InputError: mechanism Unfinished must define draw, reports, supported

    A function, here of randomised response that tells the value with probability delta:

    >>> import numpy as np
    >>> import seepage as sp
    >>> def telling(k, epsilon, delta):
    ...     other = (1 - delta) / (np.exp(epsilon) + k - 1)
    ...     noisy = other * (1 + np.expm1(epsilon) * np.eye(k))
    ...     rows = np.hstack([noisy, delta * np.eye(k)])
    ...     return sp.MatrixMechanism(rows, epsilon=epsilon)
    >>> register(telling) is telling
    True
    >>> mechanism = sp.mechanism("telling", 3, 1.0, 0.01)
    >>> mechanism.epsilon, round(mechanism.delta, 6)
    (1.0, 0.01)
    >>> MECHANISMS.remove("telling")
    """
    if not isinstance(family, type) and callable(family):
        factory = _factory(family, name)
        MECHANISMS.add(factory.name, factory, replace=replace)
        return family
    checked = _check_class(family)
    if name:
        raise InputError(
            f"a class has its own name, {checked.name!r}: name is for functions",
            parameter="name",
        )
    if not _is_independent(checked):
        warnings.warn(
            f"reports of {checked.name!r} do not support values independently of each "
            "other, as two levels without a size assume: define likely_sets = None and "
            "pure_leakage",
            SeepageWarning,
            stacklevel=2,
        )
    MECHANISMS.add(checked.name, checked, replace=replace)
    return checked


def _factory(function: Callable[..., Mechanism], name: str) -> MechanismFactory:
    """Return the registered factory of a function under a name; raise for other
    parameters.
    """
    own_name = getattr(function, "__name__", "").replace("_", "-")
    known_as = checks.text(name, "name") or own_name
    if not known_as.replace("-", "").isalnum():
        raise InputError(
            "a function without a name needs one: register(function, name=...)",
            parameter="name",
        )
    _check_free(known_as)
    signature = inspect.signature(function)
    for approximate, budget in ((False, [1.0]), (True, [1.0, 0.1])):
        with suppress(TypeError):
            signature.bind(2, *budget)
            return MechanismFactory(known_as, function, approximate)
    raise InputError(
        f"the function of mechanism {known_as!r} must take (k, epsilon) or (k, "
        "epsilon, delta)"
    )


def _check_free(name: str) -> None:
    """Raise for a mechanism to register under the name that stands for a public
    attribute.
    """
    if name.casefold() == PUBLIC:
        raise InputError(f"the name {PUBLIC!r} stands for a public attribute")


def _check_class(family: Any) -> type[Mechanism]:
    """Return a class to register; raise where it is no complete mechanism with a
    constructor and a free name.
    """
    if not (isinstance(family, type) and issubclass(family, Mechanism)):
        raise InputError(
            f"a mechanism must be a subclass of Mechanism, got {checks.shown(family)}"
        )
    missing = {name for name in ("name", "reports") if not hasattr(family, name)}
    missing |= family.__abstractmethods__
    if missing:
        raise InputError(
            f"mechanism {family.__name__} must define {', '.join(sorted(missing))}"
        )
    try:
        inspect.signature(family).bind(2, *_example_budget(family))
    except TypeError:
        expected = "(k, epsilon, delta)" if family.approximate else "(k, epsilon)"
        raise InputError(
            f"the constructor of {family.__name__} must take {expected}"
        ) from None
    _check_free(family.name)
    return family


def _example_budget(family: type[Mechanism]) -> list[float]:
    """Return a budget to try a registered class at: epsilon, and delta for an
    approximate one.
    """
    return [1.0, 0.1] if family.approximate else [1.0]


def _is_independent(family: type[Mechanism]) -> bool:
    """Return whether values are supported independently, where the registered class
    assumes it.

    True for a mechanism for other alphabets than one of 4 values.
    """
    with suppress(InputError):
        return supports_are_independent(family.create(4, *_example_budget(family)))
    return True


MECHANISMS: Registry[MechanismFamily] = Registry(
    "mechanism", "seepage.mechanisms", register
)
"""Mechanism classes and factories by name."""


for family in BUILT_IN:
    MECHANISMS.add(family.name, family)


def registered() -> dict[str, MechanismFamily]:
    """Return every registered mechanism by name.

    Examples
    --------
    >>> sorted(registered())[:3]
    ['approximate-grr', 'approximate-sue', 'basic-rappor']
    """
    return dict(MECHANISMS)


def mechanism(name: str, k: int, epsilon: float, delta: float = 0.0) -> Mechanism:
    """Return the registered mechanism of this name for k values.

    Parameters
    ----------
    name
        A registered name such as `"grr"`; capitals do not matter.
    k
        The alphabet size.
    epsilon, delta
        The budget; a delta above 0 only for approximate mechanisms.

    Examples
    --------
    >>> mechanism("OUE", 4, 1.0).bits
    4.0
    """
    return MECHANISMS.find(name).create(k, epsilon, delta)
