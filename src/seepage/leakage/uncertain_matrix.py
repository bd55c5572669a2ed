"""The leakages of a matrix whose rows are known only up to a distance."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import permutations
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from seepage._core.arrays import Booleans, Floats, Integers
from seepage._core.errors import InputError
from seepage.channel.channel import Channel
from seepage.leakage.leakage import Leakage
from seepage.leakage.likely_sets import LikelySets, by_kind
from seepage.leakage.uncertain_rows import (
    uncertain_leakage,
    uncertain_ratios,
    uncertain_relaxation,
    uncertain_report_leakage,
    uncertain_report_ratios,
)
from seepage.leakage.uncertainty import FULL_RADIUS
from seepage.mechanisms.release import Release

if TYPE_CHECKING:
    from seepage.leakage.matrix import LeakageMatrix


def uncertain_leakages(matrix: "LeakageMatrix") -> Floats:
    """Return the matrix of leakages and deltas, shape (2, n, n), over all rows within
    their distances.

    A mechanism with a delta has the bound of its budget, and so has one that is neither
    two-level nor has a transition matrix.
    """
    count = len(matrix.domain)
    leakages = np.zeros((2, count, count))
    for targets, sources, ratios in _all_ratios(matrix):
        leakages[0, targets, sources] = ratios.max(axis=(1, 2))
    for target, source in permutations(range(count), 2):
        release = matrix.releases[source]
        if release.delta:
            leakages[1, target, source] = uncertain_relaxation(
                _occurring_rows(matrix, target, source),
                _occurring_radii(matrix, target, source),
                float(leakages[0, target, source]),
                epsilon=release.epsilon,
                delta=release.delta,
            )
    return leakages


def uncertain_ratios_of(
    matrix: "LeakageMatrix",
) -> Iterator[tuple[Integers, Integers, Floats]]:
    """Yield `LeakageMatrix.ratios_by_pair` over all uncertain rows within their
    distances, for sources with delta 0.
    """
    is_pure = np.array([release.delta == 0 for release in matrix.releases])
    for targets, sources, ratios in _all_ratios(matrix):
        pure = is_pure[sources]
        if pure.any():
            yield targets[pure], sources[pure], ratios[pure]


def uncertain_leakage_of(
    matrix: "LeakageMatrix", target: str | SupportsIndex, source: str | SupportsIndex
) -> Leakage:
    """Return one leakage of a matrix over all rows within their distances, with its
    witness.
    """
    row = matrix.domain.index(target)
    column = matrix.domain.index(source)
    release = matrix.releases[column]
    rows = _occurring_rows(matrix, row, column)
    radii = _occurring_radii(matrix, row, column)
    values = np.flatnonzero(_occurs(matrix, row)).tolist()
    attribute = matrix.domain[row]
    if len(values) < attribute.size:
        attribute = attribute.restrict(values)
    channel = Channel(rows, attribute, matrix.domain[column])
    sets = _sets_of(release, matrix)
    if sets is not None:
        return uncertain_leakage(channel, radii, sets, delta=release.delta)
    return uncertain_report_leakage(
        channel, radii, release.transition(matrix.view), release.epsilon
    )


def _all_ratios(
    matrix: "LeakageMatrix",
) -> Iterator[tuple[Integers, Integers, Floats]]:
    """Yield (targets, sources, ratios) of an uncertain matrix: the largest log-ratio of
    each pair of target values, ratios of shape (p, m, m); 0 for values that do not
    occur.
    """
    sets = [_sets_of(release, matrix) for release in matrix.releases]
    for targets, sources, channels in matrix.channel_stacks():
        radii = np.array(
            [
                np.broadcast_to(_radii(matrix, target, source), channels.shape[1])
                for target, source in zip(
                    targets.tolist(), sources.tolist(), strict=True
                )
            ]
        )
        occurs = np.array([_occurs(matrix, target) for target in targets.tolist()])
        for group in by_kind(sets, sources):
            pairs = group.positions
            ratios = uncertain_ratios(
                channels[pairs], radii[pairs], group.sets, group.contrasts
            )
            yield targets[pairs], sources[pairs], _among(ratios, occurs[pairs])
        for index, source in enumerate(sources.tolist()):
            if sets[source] is not None:
                continue
            release = matrix.releases[source]
            ratios = uncertain_report_ratios(
                channels[index], radii[index], release.transition(matrix.view)
            )
            ratios = np.minimum(ratios, release.epsilon)[None]
            pair = slice(index, index + 1)
            yield targets[pair], sources[pair], _among(ratios, occurs[pair])


def _among(ratios: Floats, occurs: Booleans) -> Floats:
    """Return ratios of an uncertain matrix by pair of values, 0 unless both values
    occur.
    """
    both = occurs[:, :, None] & occurs[:, None, :]
    return np.where(both, ratios, 0.0)


def _sets_of(release: Release, matrix: "LeakageMatrix") -> LikelySets | None:
    """Return the likely sets of a source in an uncertain matrix; None for a transition
    matrix.
    """
    every_set = LikelySets("all", release.epsilon)
    if release.delta:
        return every_set
    sets = release.sets(matrix.view)
    if sets is not None:
        return sets
    with suppress(InputError):  # too many reports
        release.transition(matrix.view)
        return None
    return every_set


def _occurs(matrix: "LeakageMatrix", target: int) -> Booleans:
    """Return the values of a target of an uncertain matrix that occur in the table or,
    where it is compared, in the other one.
    """
    assert matrix.uncertainty is not None
    in_table = matrix.pairs.marginals[target] > 0
    return np.asarray(in_table | matrix.uncertainty.occurring(target))


def _radii(matrix: "LeakageMatrix", target: int, source: int) -> Floats:
    """Return the distance of the row of each target value of an uncertain matrix; 1
    where the table has none.
    """
    assert matrix.uncertainty is not None
    in_table = matrix.pairs.marginals[target] > 0
    radii = matrix.uncertainty.radii(target, source)
    return np.where(in_table, radii, FULL_RADIUS)


def _occurring_radii(matrix: "LeakageMatrix", target: int, source: int) -> Floats:
    """Return the distances of the rows of the values that occur in an uncertain
    matrix.
    """
    return _radii(matrix, target, source)[_occurs(matrix, target)]


def _occurring_rows(matrix: "LeakageMatrix", target: int, source: int) -> Floats:
    """Return the rows of the values that occur in an uncertain matrix; any row for
    those that the table lacks.
    """
    table = matrix.pairs.table(target, source)[_occurs(matrix, target)]
    cells = table + (table.sum(axis=1, keepdims=True) == 0)
    return np.asarray(cells / cells.sum(axis=1, keepdims=True))
