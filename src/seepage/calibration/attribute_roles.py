"""`AttributeRoles`: which attributes are public, left out, or known of the person."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Booleans
from seepage._core.errors import InputError
from seepage.channel.domain import Domain


@dataclass(frozen=True, eq=False)
class AttributeRoles:
    """Masks with one entry for each attribute of a domain.

    Parameters
    ----------
    public
        Attributes with an identity release (epsilon = infinity).
    left_out
        Attributes that are not collected.
    known
        Attributes that the adversary knows of the person.
    """

    public: Booleans
    left_out: Booleans
    known: Booleans

    @property
    def collected(self) -> Booleans:
        """Mask of the attributes whose role permits a budget."""
        return ~(self.public | self.left_out)


def attribute_roles(
    domain: Domain,
    public: Iterable[str],
    left_out: Iterable[str],
    known: Iterable[str] = (),
) -> AttributeRoles:
    """Return the roles of all attributes; raise if a public one has another role too.

    Examples
    --------
    >>> from seepage.channel.domain import Attribute
    >>> domain = Domain([Attribute(name, ("0", "1")) for name in ("a", "b", "c")])
    >>> attribute_roles(domain, public=["a"], left_out=["c"]).collected.tolist()
    [False, True, False]
    """
    is_public = _mask(domain, public, "public")
    is_left_out = _mask(domain, left_out, "left_out")
    _check_disjoint(domain, is_public, is_left_out, "left out")
    is_known = _mask(domain, known, "known")
    _check_disjoint(domain, is_public, is_known, "known")
    return AttributeRoles(public=is_public, left_out=is_left_out, known=is_known)


def _mask(domain: Domain, names: Iterable[str], option: str) -> Booleans:
    """Return the mask of the attributes that an option gives a role."""
    mask = np.zeros(len(domain), dtype=np.bool_)
    mask[[domain.index(name) for name in checks.items(names, option)]] = True
    return mask


def _check_disjoint(
    domain: Domain, is_public: Booleans, mask: Booleans, role: str
) -> None:
    """Raise if a public attribute has another role as well."""
    both = np.flatnonzero(is_public & mask)
    if len(both):
        name = domain.names[both[0]]
        raise InputError(f"{name!r} cannot be both public and {role}")
