"""Structures that a user may vouch for: a forest, or groups independent of one another."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from seepage.domain import Domain
from seepage.errors import InputError
from seepage.totals.result import GuaranteeError

__all__ = ["Forest", "Groups", "Structure", "read_structure"]


@dataclass(frozen=True)
class Forest:
    """Edges between attributes, without a cycle: the data follow this tree, or trees.

    Parameters
    ----------
    edges
        Pairs of attribute names.  Attributes in no edge are independent of all others.

    Examples
    --------
    >>> Forest.path(["monday", "tuesday", "wednesday"]).edges
    (('monday', 'tuesday'), ('tuesday', 'wednesday'))
    """

    edges: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        edges = []
        for edge in self.edges:
            if isinstance(edge, str) or len(edge) != 2:
                raise InputError(f"an edge must be a pair of attributes, got {edge!r}")
            edges.append((str(edge[0]), str(edge[1])))
        object.__setattr__(self, "edges", tuple(edges))

    @classmethod
    def path(cls, names: Iterable[str]) -> "Forest":
        """Return the path through attributes in this order, as for data over time."""
        return cls(tuple(pairwise(names)))

    def neighbours(self, domain: Domain) -> list[list[int]]:
        """Return each attribute's neighbours, or refuse edges that are no forest."""
        found: list[list[int]] = [[] for _ in domain]
        component = list(range(len(domain)))
        for names in self.edges:
            first, second = (domain.index(name) for name in names)
            if component[first] == component[second]:
                raise InputError(
                    f"the edges of a tree must not close a cycle, but {names[0]!r} to "
                    f"{names[1]!r} does; leave it out, or use 'exact' or 'sampled'"
                )
            old, new = component[second], component[first]
            component = [new if part == old else part for part in component]
            found[first].append(second)
            found[second].append(first)
        return found


@dataclass(frozen=True)
class Groups:
    """Groups of attributes, independent of one another; nothing is assumed within a group.

    Parameters
    ----------
    groups
        Attribute names, each in at most one group; the others are groups of their own.
    """

    groups: tuple[Sequence[str], ...]

    def __post_init__(self) -> None:
        groups = []
        for group in self.groups:
            if isinstance(group, str):
                raise InputError(f"a group must be a list of attributes, got {group!r}")
            groups.append(tuple(group))
        object.__setattr__(self, "groups", tuple(groups))

    def members(self, domain: Domain) -> list[list[int]]:
        """Return the positions in each group, those of single attributes included."""
        found = [[domain.index(name) for name in group] for group in self.groups]
        named = [position for group in found for position in group]
        twice = {domain.names[p] for p in named if named.count(p) > 1}
        if twice:
            raise InputError(f"an attribute must be in one group, {min(twice)!r} is in two")
        return [*filter(None, found), *([p] for p in range(len(domain)) if p not in named)]


Structure = Forest | Groups


def read_structure(structure: Any) -> Structure:
    """Return a structure from what an option gives: one of the classes, or a list of edges."""
    if isinstance(structure, (Forest, Groups)):
        return structure
    if structure is None:
        raise GuaranteeError(
            "guarantee 'tree' needs a structure: edges such as [('age', 'income')], "
            "Forest.path([...]) for data over time, or Groups([...]); without one use 'exact' "
            "or 'sampled'"
        )
    if isinstance(structure, (str, bytes)) or not isinstance(structure, Iterable):
        raise InputError(
            f"structure must be a list of edges, a Forest or Groups, got {structure!r}"
        )
    return Forest(tuple(structure))
