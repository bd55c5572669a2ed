"""The LDP mechanisms: each perturbs, estimates, infers and tells what its report leaks.

A new mechanism is one class in one file, and one `register(...)`.
"""

from seepage._registry import MECHANISMS
from seepage.mechanisms.base import Estimate, Mechanism
from seepage.mechanisms.clear import InClear
from seepage.mechanisms.direct import GRR, ApproximateGRR
from seepage.mechanisms.exponential import Exponential, UtilityExponential
from seepage.mechanisms.hashing import BLH, OLH
from seepage.mechanisms.histogram import SHE, Gaussian
from seepage.mechanisms.rappor import BasicRAPPOR
from seepage.mechanisms.reports import Reports, load_reports
from seepage.mechanisms.subset import SubsetSelection
from seepage.mechanisms.unary import OUE, RAPPOR, ApproximateSUE

__all__ = [
    "BLH",
    "GRR",
    "OLH",
    "OUE",
    "RAPPOR",
    "SHE",
    "ApproximateGRR",
    "ApproximateSUE",
    "BasicRAPPOR",
    "Estimate",
    "Exponential",
    "Gaussian",
    "InClear",
    "Mechanism",
    "Reports",
    "SubsetSelection",
    "UtilityExponential",
    "load_reports",
    "mechanism",
    "register",
    "registered",
]


def register(family: type[Mechanism]) -> type[Mechanism]:
    """Add a mechanism to the registry under its name; a name is taken only once.

    Examples
    --------
    >>> class Another(GRR):
    ...     name = "grr"
    >>> register(Another)
    Traceback (most recent call last):
        ...
    seepage.errors.InputError: a mechanism named 'grr' is registered already
    """
    return MECHANISMS.add(family.name, family)


def registered() -> dict[str, type[Mechanism]]:
    """Return every registered mechanism by name.

    Examples
    --------
    >>> sorted(registered())[:3]
    ['approximate-grr', 'approximate-sue', 'blh']
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


register(GRR)
register(RAPPOR)
register(OUE)
register(Exponential)
register(BLH)
register(OLH)
register(SHE)
register(SubsetSelection)
register(ApproximateGRR)
register(ApproximateSUE)
register(Gaussian)
