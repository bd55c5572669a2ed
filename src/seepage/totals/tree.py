"""`tree`: totals under a structure that the user assumes, a forest or independent groups.

Given a forest, everything that reaches a target through a neighbour passes through that
neighbour's value.  Seen from the neighbour it is one report with some total; the correlation
channel in between weakens it as it would any report (theory: The bound), pair of values by pair.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import UNIT, Floats, round_up
from seepage.data.domain import Domain
from seepage.data.inputs import as_pairs
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.errors import InputError
from seepage.leakage import Release
from seepage.leakage.likely_sets import LikelySets
from seepage.leakage.release import View
from seepage.totals.composition import merged_totals, worst_totals
from seepage.totals.exact_total import exact_is_feasible, exact_totals
from seepage.totals.likelihood_columns import likelihood_columns
from seepage.totals.result import GuaranteeError, direct_leakage


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
        for edge in _checks.items(self.edges, "edges"):
            ends = _checks.items(edge, "an edge", "a pair of attributes")
            if len(ends) != 2:
                given = _checks.shown(edge)
                raise InputError(f"an edge must be a pair of attributes, got {given}")
            edges.append((str(ends[0]), str(ends[1])))
        object.__setattr__(self, "edges", tuple(edges))

    @classmethod
    def path(cls, names: Iterable[str]) -> "Forest":
        """Return the path through attributes in this order, as for data over time."""
        return cls(tuple(pairwise(_checks.items(names, "names"))))

    def neighbours(self, domain: Domain) -> list[list[int]]:
        """Return each attribute's neighbours; edges that close a cycle raise an InputError."""
        found: list[list[int]] = [[] for _ in domain]
        tree = np.arange(len(domain))  # the tree that each attribute is in so far
        for edge in self.edges:
            first, second = (domain.index(name) for name in edge)
            if tree[first] == tree[second]:
                raise InputError(
                    f"the edges of a tree must not close a cycle, but {edge[0]!r} to "
                    f"{edge[1]!r} does; leave it out, or use 'exact' or 'sampled'"
                )
            tree[tree == tree[second]] = tree[first]
            found[first].append(second)
            found[second].append(first)
        return found


@dataclass(frozen=True)
class IndependentGroups:
    """Groups of attributes, independent of one another; nothing is assumed within a group.

    Parameters
    ----------
    groups
        Attribute names, each in at most one group; the others are groups of their own.
    """

    groups: tuple[Sequence[str], ...]

    def __post_init__(self) -> None:
        groups = (
            tuple(_checks.items(group, "a group", "a list of attributes"))
            for group in _checks.items(self.groups, "groups")
        )
        object.__setattr__(self, "groups", tuple(groups))

    def members(self, domain: Domain) -> list[list[int]]:
        """Return the positions in each group, those of single attributes included."""
        found = [[domain.index(name) for name in group] for group in self.groups]
        named = [position for group in found for position in group]
        twice = {domain.names[p] for p in named if named.count(p) > 1}
        if twice:
            raise InputError(f"an attribute must be in one group, {min(twice)!r} is in two")
        return [*filter(None, found), *([p] for p in range(len(domain)) if p not in named)]


def structure_totals(
    data: PairCounts | Records, released: Sequence[Release], view: View, structure: Any
) -> tuple[Floats, Floats]:
    """Return the totals and their deltas under a forest (or its edges) or independent groups."""
    if structure is None:
        raise GuaranteeError(
            "guarantee 'tree' needs a structure: edges such as [('age', 'income')], "
            "Forest.path([...]) for data over time, or IndependentGroups([...]); without one use "
            "'exact' or 'sampled'"
        )
    if isinstance(structure, IndependentGroups):
        return group_totals(data, released, view, structure)
    if isinstance(structure, (str, bytes)) or not isinstance(structure, (Forest, Iterable)):
        raise InputError(
            "structure must be a list of edges, a Forest or IndependentGroups, "
            f"got {_checks.shown(structure)}"
        )
    forest = structure if isinstance(structure, Forest) else Forest(tuple(structure))
    return forest_totals(as_pairs(data), released, view, forest)


def pair_bounds(channel: Floats, epsilon: float) -> Floats:
    """Return the bound for each ordered pair of rows, rounded up.

    bound[z, z'] = ln max over S of (1 + lambda G_z(S)) / (1 + lambda G_z'(S)).

    Parameters
    ----------
    channel
        G, m rows.
    epsilon
        The budget of what is released at the other end; may be infinite.

    Notes
    -----
    All pairs of one z at a time, O(m^2 t log t).

    Examples
    --------
    >>> pair_bounds(np.array([[0.9, 0.1], [0.2, 0.8]]), 1.0).round(4).tolist()
    [[0.0, 0.6393], [0.7063, 0.0]]
    """
    sets, terms = LikelySets("all", epsilon), channel.shape[1]
    bounds = np.array([sets.best_of_pairs(row, channel)[0] for row in channel])
    guard = -np.expm1(-epsilon) * 4 * (terms + 8) * UNIT
    raised = np.where(bounds > 0, round_up(bounds, 3 * terms + 8) + guard, 0.0)
    return np.asarray(np.minimum(raised, epsilon))


def _relaxed(channel: Floats, bounds: Floats, epsilon: float, delta: float) -> Floats:
    """Return delta' for each pair of rows, delta (e^l - 1)/(e^eps - 1), as `relaxation` does."""
    if delta == 0:
        return np.zeros_like(bounds)
    if epsilon == 0:
        share = np.array([np.maximum(row - channel, 0.0).sum(axis=1) for row in channel])
    else:
        share = np.exp(bounds - epsilon) * np.expm1(-bounds) / np.expm1(-epsilon)
    operations = 2 * channel.shape[1] + math.ceil(epsilon)
    return np.asarray(np.minimum(round_up(delta * share, operations), delta))


def forest_totals(
    pairs: PairCounts, released: Sequence[Release], view: View, forest: Forest
) -> tuple[Floats, Floats]:
    """Return the totals of every attribute, if the data follow the forest.

    Rooted at the target, bottom-up:
    total(i) = eps_i + max over z, z' of sum over children c of
    bound_pair(G[c given i], total(c))[z, z']   [theory-totals].

    Parameters
    ----------
    pairs
        Pair counts; only those along edges are used.
    released
        How each attribute is released; only budgets matter.
    view
        What the adversary keeps.
    forest
        The structure, the user's own.

    Returns
    -------
    tuple[Floats, Floats]
        Totals and their deltas, rounded up.  delta(i) = delta_i + max over z, z' of the sum of
        the children's, each weakened likewise.

    Notes
    -----
    One `pair_bounds` for each direction of each edge: a message serves all targets behind it.
    """
    neighbours = forest.neighbours(pairs.domain)
    own = [direct_leakage(release, view) for release in released]
    messages: dict[tuple[int, int], tuple[Floats, Floats]] = {}

    def total(node: int, origin: int | None) -> tuple[float, float]:
        parts = [messages[child, node] for child in neighbours[node] if child != origin]
        if not parts:
            return own[node]
        largest = np.array(parts).sum(axis=0).max(axis=(1, 2))
        value, delta = (own[node] + largest).tolist()
        return round_up(value, len(parts) + 1), round_up(delta, len(parts) + 1)

    for child, parent in _directions(neighbours):
        budget, slack = total(child, parent)
        channel = pairs.channel(target=parent, source=child).matrix
        bounds = pair_bounds(channel, budget)
        messages[child, parent] = bounds, _relaxed(channel, bounds, budget, slack)
    totals = np.array([total(node, None) for node in range(len(neighbours))])
    return totals[:, 0], totals[:, 1]


def _directions(neighbours: list[list[int]]) -> list[tuple[int, int]]:
    """Return both directions of every edge, each after those that it builds on."""
    inward: list[tuple[int, int]] = []
    seen: set[int] = set()
    for root in range(len(neighbours)):
        waiting = [] if root in seen else [root]
        for node in waiting:
            seen.add(node)
            children = [child for child in neighbours[node] if child not in seen]
            inward += [(child, node) for child in children]
            waiting += children
    return [*reversed(inward), *((parent, child) for child, parent in inward)]


def group_totals(
    data: PairCounts | Records,
    released: Sequence[Release],
    view: View,
    structure: IndependentGroups,
) -> tuple[Floats, Floats]:
    """Return the totals of every attribute, if what is outside its group says nothing about it.

    Parameters
    ----------
    data
        Records, or pair counts.
    released, view
        How each attribute is released and what the adversary keeps.
    structure
        The groups.

    Returns
    -------
    tuple[Floats, Floats]
        Totals and their deltas.  Within a group nothing is assumed: with records the totals are
        `exact` there where that fits and `merged` otherwise; with pair counts a group of two is
        a tree, and a larger one has the sum of its budgets.
    """
    totals = np.zeros((2, len(released)))
    for members in structure.members(data.domain):
        totals[:, members] = _within(data.select(members), [released[k] for k in members], view)
    return totals[0], totals[1]


def _within(
    data: PairCounts | Records, released: Sequence[Release], view: View
) -> tuple[Floats, Floats]:
    names = data.domain.names
    if isinstance(data, PairCounts):
        if len(names) <= 2:
            return forest_totals(data, released, view, Forest.path(names))
        return worst_totals(released, view)
    if all(release.delta == 0 for release in released):
        columns = likelihood_columns(data.domain, released, view)
        if exact_is_feasible(columns, data.records):
            return exact_totals(data, columns).values, np.zeros(len(names))
    return merged_totals(data, released, view)
