"""`MECHANISMS`: the LDP mechanisms by name, built in or of other packages.

Each perturbs, estimates, infers and computes the leakage of its report.  A new
mechanism is one class in one file and its name in `BUILT_IN`; one of another package
calls `register`.  See `Mechanism`.
"""

import inspect
import warnings
from contextlib import suppress
from typing import Any

from seepage._core import checks
from seepage._core.errors import InputError, SeepageWarning
from seepage._core.registry import Registry
from seepage.mechanisms.base import PUBLIC, Mechanism
from seepage.mechanisms.direct import GRR, ApproximateGRR, Exponential, SubsetSelection
from seepage.mechanisms.gaussian import Gaussian
from seepage.mechanisms.hashing import BLH, OLH, HadamardResponse
from seepage.mechanisms.histogram import SHE
from seepage.mechanisms.support_independence import supports_are_independent
from seepage.mechanisms.unary import OUE, RAPPOR, ApproximateSUE, BasicRAPPOR

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


def register(family: type[Mechanism], *, replace: bool = False) -> type[Mechanism]:
    """Add a mechanism to the registry under its name.

    A `TwoLevelMechanism` whose reports do not support values independently of each
    other, as its closed forms assume, is registered with a `SeepageWarning`: its
    leakage is too large, and its attack another.  `check_mechanism` checks everything
    that a mechanism states.

    Parameters
    ----------
    family
        A subclass of `Mechanism` without abstract members.  An InputError names missing
        members, a wrong constructor, or a name that is registered already.
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
    """
    _check_class(family)
    if not _is_independent(family):
        warnings.warn(
            f"reports of {family.name!r} do not support values independently of each other, as "
            "two levels without a size assume: define likely_sets = None and pure_leakage",
            SeepageWarning,
            stacklevel=2,
        )
    return MECHANISMS.add(family.name, family, replace=replace)


def _check_class(family: Any) -> None:
    """Raise where a class is no complete mechanism with a constructor and a free name."""
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
    if family.name.casefold() == PUBLIC:
        raise InputError(f"the name {PUBLIC!r} stands for a public attribute")


def _example_budget(family: type[Mechanism]) -> list[float]:
    """Return a budget of this class: epsilon, and delta for an approximate one."""
    return [1.0, 0.1] if family.approximate else [1.0]


def _is_independent(family: type[Mechanism]) -> bool:
    """Return whether values are supported independently, where the class assumes it.

    True for a mechanism for other alphabets than one of 4 values.
    """
    with suppress(InputError):
        return supports_are_independent(family.create(4, *_example_budget(family)))
    return True


MECHANISMS: Registry[type[Mechanism]] = Registry(
    "mechanism", "seepage.mechanisms", register
)
"""Mechanism classes by name."""


for family in BUILT_IN:
    MECHANISMS.add(family.name, family)


def registered() -> dict[str, type[Mechanism]]:
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
