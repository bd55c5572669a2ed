"""`tree`: totals under a structure that the user assumes, a forest or independent groups.

In a forest, all reports beyond a neighbour of the target depend on the target only through the
neighbour's value.  Together they are one report of the neighbour, whose total is its budget; the
leakage about the target is bounded pair by pair of values as for any report [theory: The bound].
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
    """Edges between attributes, without a cycle: the assumed Markov forest of the data.

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
        """Return the path through the attributes in this order (a Markov chain)."""
        return cls(tuple(pairwise(_checks.items(names, "names"))))

    def neighbours(self, domain: Domain) -> list[list[int]]:
        """Return the neighbours of each attribute by index; raise an InputError for a cycle."""
        neighbours: list[list[int]] = [[] for _ in domain]
        component = np.arange(len(domain))  # connected component of each attribute so far
        for edge in self.edges:
            first, second = (domain.index(name) for name in edge)
            if component[first] == component[second]:
                raise InputError(
                    f"the edges of a tree must not close a cycle, but {edge[0]!r} to "
                    f"{edge[1]!r} does; leave it out, or use 'exact' or 'sampled'"
                )
            component[component == component[second]] = component[first]
            neighbours[first].append(second)
            neighbours[second].append(first)
        return neighbours


@dataclass(frozen=True)
class IndependentGroups:
    """Mutually independent groups of attributes; nothing is assumed within a group.

    Parameters
    ----------
    groups
        Attribute names, each in at most one group; every other attribute is a group by itself.
    """

    groups: tuple[Sequence[str], ...]

    def __post_init__(self) -> None:
        groups = (
            tuple(_checks.items(group, "a group", "a list of attributes"))
            for group in _checks.items(self.groups, "groups")
        )
        object.__setattr__(self, "groups", tuple(groups))

    def members(self, domain: Domain) -> list[list[int]]:
        """Return the indices of each group's attributes, groups of one included."""
        groups = [[domain.index(name) for name in group] for group in self.groups]
        grouped = [index for group in groups for index in group]
        repeated = {domain.names[index] for index in grouped if grouped.count(index) > 1}
        if repeated:
            raise InputError(f"an attribute must be in one group, {min(repeated)!r} is in two")
        singles = ([index] for index in range(len(domain)) if index not in grouped)
        return [*filter(None, groups), *singles]


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

    bound[z, z'] = ln max over S of (1 + lambda G_z(S)) / (1 + lambda G_z'(S)),
    lambda = e^epsilon - 1.

    Parameters
    ----------
    channel
        G = P(source given target), m rows and t columns.
    epsilon
        The budget of the source's report; may be infinite.

    Notes
    -----
    O(m^2 t log t), vectorised over the pairs of one z.

    Examples
    --------
    >>> pair_bounds(np.array([[0.9, 0.1], [0.2, 0.8]]), 1.0).round(4).tolist()
    [[0.0, 0.6393], [0.7063, 0.0]]
    """
    sets, terms = LikelySets("all", epsilon), channel.shape[1]
    bounds = np.array([sets.best_of_pairs(row, channel)[0] for row in channel])
    guard = -np.expm1(-epsilon) * 4 * (terms + 8) * UNIT
    rounded = np.where(bounds > 0, round_up(bounds, 3 * terms + 8) + guard, 0.0)
    return np.asarray(np.minimum(rounded, epsilon))


def _pair_deltas(channel: Floats, bounds: Floats, epsilon: float, delta: float) -> Floats:
    """Return delta' = delta (e^l - 1)/(e^eps - 1) for each pair of rows with bound l, rounded up.

    As `likely_sets.relaxation`; for epsilon = 0, delta times the total variation distance.
    """
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
    """Return the totals of every attribute, valid if the data follow the forest.

    Rooted at the target, bottom-up:
    total(i) = eps_i + max over z, z' of sum over children c of
    pair_bounds(G[c given i], total(c))[z, z']   [theory-totals].

    Parameters
    ----------
    pairs
        Pair counts; only those of the edges are used.
    released
        How each attribute is released; only budgets matter.
    view
        What the adversary keeps.
    forest
        The assumed structure.

    Returns
    -------
    tuple[Floats, Floats]
        Totals and their deltas, rounded up.  delta(i) = delta_i + max over z, z' of the sum over
        the children of their delta' (`_pair_deltas`).

    Notes
    -----
    Message passing: one `pair_bounds` per direction of each edge, shared by all targets behind it.
    """
    neighbours = forest.neighbours(pairs.domain)
    own = [direct_leakage(release, view) for release in released]
    messages: dict[tuple[int, int], tuple[Floats, Floats]] = {}

    def total(node: int, parent: int | None) -> tuple[float, float]:
        """Return (total, delta) of a node from its own report and all neighbours but one."""
        incoming = [messages[child, node] for child in neighbours[node] if child != parent]
        if not incoming:
            return own[node]
        largest = np.array(incoming).sum(axis=0).max(axis=(1, 2))
        value, delta = (own[node] + largest).tolist()
        return round_up(value, len(incoming) + 1), round_up(delta, len(incoming) + 1)

    for child, parent in _message_order(neighbours):
        budget, slack = total(child, parent)
        channel = pairs.channel(target=parent, source=child).matrix
        bounds = pair_bounds(channel, budget)
        messages[child, parent] = bounds, _pair_deltas(channel, bounds, budget, slack)
    totals = np.array([total(node, None) for node in range(len(neighbours))])
    return totals[:, 0], totals[:, 1]


def _message_order(neighbours: list[list[int]]) -> list[tuple[int, int]]:
    """Return both directions (from, to) of every edge: leaves to roots, then roots to leaves.

    Each message comes after those that it depends on (breadth-first order).
    """
    to_root: list[tuple[int, int]] = []
    seen: set[int] = set()
    for root in range(len(neighbours)):
        queue = [] if root in seen else [root]
        for node in queue:
            seen.add(node)
            children = [child for child in neighbours[node] if child not in seen]
            to_root += [(child, node) for child in children]
            queue += children
    return [*reversed(to_root), *((parent, child) for child, parent in to_root)]


def group_totals(
    data: PairCounts | Records,
    released: Sequence[Release],
    view: View,
    structure: IndependentGroups,
) -> tuple[Floats, Floats]:
    """Return the totals of every attribute, valid if the groups are mutually independent.

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
        Totals and their deltas.  Within a group nothing is assumed: with records they are `exact`
        totals if feasible, else `merged`; with pair counts a group of two is a tree, and a larger
        one has the sum of its budgets.
    """
    values, deltas = np.zeros((2, len(released)))
    for members in structure.members(data.domain):
        group = data.select(members), [released[k] for k in members], view
        values[members], deltas[members] = _totals_within(*group)
    return values, deltas


def _totals_within(
    data: PairCounts | Records, released: Sequence[Release], view: View
) -> tuple[Floats, Floats]:
    """Return the totals of the attributes of one group, see `group_totals`."""
    names = data.domain.names
    if isinstance(data, PairCounts):
        if len(names) <= 2:
            return forest_totals(data, released, view, Forest.path(names))
        return worst_totals(released, view)
    if all(release.delta == 0 for release in released):
        columns = likelihood_columns(data.domain, released, view)
        if exact_is_feasible(columns, data.records):
            return exact_totals(data, columns)[0], np.zeros(len(names))
    return merged_totals(data, released, view)
