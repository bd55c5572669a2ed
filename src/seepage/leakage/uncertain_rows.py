"""Leakage of a channel whose rows are known only up to a distance.

Let the row of each target value x be any distribution within total variation distance
r_x of G[x], independently for each x.  Then

    e^l = max over x != x', S of (1 + lambda U_x(S)) / (1 + lambda L_x'(S)),

U_x(S) = min(1, G_x(S) + r_x) the largest and L_x(S) = max(0, G_x(S) - r_x) the smallest
mass of S, S neither empty nor full [theory-tables].  Up to `MAX_ENUMERATED`
source values all S are enumerated, which is exact.  Beyond, S may be fractional: along
the Neyman-Pearson curve of two rows the ratio is monotone between its vertices and the
points where U or L is clipped, so that its maximum, an upper bound, is at one of these.

For a mechanism with transition matrix C the extreme likelihoods of a report y move a
mass of r_x from the inputs of the smallest C[u, y] to that of the largest, or the other
way round.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from seepage._core.arrays import Booleans, Floats, Integers
from seepage._core.log_ratios import log_ratio, quotient
from seepage._core.rounding import UNIT, round_up
from seepage.channel.channel import Channel, as_matrix
from seepage.leakage.leakage import Leakage, named_witness
from seepage.leakage.likely_sets import LikelySets

MAX_ENUMERATED = 12
"""Maximum alphabet size for which all 2^t - 2 sets are enumerated."""


MAX_SETS = 1 << 12
"""Maximum number of sets of one size that are enumerated."""


MASS_CELLS = 1 << 20
"""Masses of sets, by pair of rows, that are in memory at a time."""


def uncertain_ratios(
    channels: Floats, radii: Floats, sets: LikelySets, contrasts: Floats
) -> Floats:
    """Return the largest log-ratio of each ordered pair of uncertain rows, rounded up.

    Parameters
    ----------
    channels
        A stack of p channels, shape (p, m, t).
    radii
        The total variation distance r_x of each row, shape (p, m).
    sets
        The likely sets of the report; those of subset selection are bounded by all sets
        where they are too many to enumerate.
    contrasts
        The contrast of each channel's report, shape (p,).

    Returns
    -------
    Floats
        Shape (p, m, m); 0 for a row with itself, at most the contrast, and never below
        the ratio of the channels themselves.

    Notes
    -----
    O(m^2 t) for singletons, O(m^2 2^t) for enumerated sets, else O(m^2 t log t) for
    each channel.

    Examples
    --------
    >>> channel = np.array([[[0.9, 0.1], [0.8, 0.2]]])
    >>> radii = np.array([[0.05, 0.05]])
    >>> sets = LikelySets("all", 1.0)
    >>> ratios = uncertain_ratios(channel, radii, sets, np.array([1.0]))
    >>> ratios[0].round(4).tolist()
    [[0.0, 0.1399], [0.275, 0.0]]
    """
    plain = sets.best_by_pair(channels, contrasts)
    size = channels.shape[2]
    if size == 1 or (sets.kind == "subsets" and sets.size == size):
        return plain
    if _is_enumerable(sets, size):
        ratios = _enumerated(channels, radii, sets, contrasts)
    else:
        ratios = np.zeros_like(plain)
        for index, contrast in enumerate(contrasts.tolist()):
            ratios[index] = _on_curves(channels[index], radii[index], contrast)
    limits = contrasts[:, None, None]
    ratios = np.minimum(np.maximum(round_up(ratios, 16), plain), limits)
    diagonal = np.arange(ratios.shape[1])
    ratios[:, diagonal, diagonal] = 0.0
    return np.asarray(ratios)


def uncertain_report_ratios(
    channel: Floats, radii: Floats, transition: Floats
) -> Floats:
    """Return the largest log-ratio over all reports of each ordered pair of uncertain
    rows, for a transition matrix.

    ln max over y of U_x(y) / L_x'(y): U_x(y) is the largest and L_x(y) the smallest
    likelihood of y over the distributions within r_x of G[x].  Exact, rounded up; 0 for
    a row with itself.

    Parameters
    ----------
    channel
        G = P(source given target), shape (m, t).
    radii
        The total variation distance r_x of each row.
    transition
        C = P(report given source), shape (t, reports).

    Notes
    -----
    O((m t + m^2) r) with r reports, and a sort of each column of C.

    Examples
    --------
    >>> grr = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> rows = np.array([[0.9, 0.1], [0.8, 0.2]])
    >>> uncertain_report_ratios(rows, np.array([0.05, 0.05]), grr).round(4).tolist()
    [[0.0, 0.1484], [0.3102, 0.0]]
    """
    highest, lowest = _extreme_likelihoods(channel, radii, transition)
    guard = 2 * (2 * channel.shape[1] + 16) * UNIT
    ratios = np.zeros((len(channel), len(channel)))
    for x, row in enumerate(highest):
        logarithms = np.log(quotient(row, lowest)).max(axis=1, initial=0.0)
        ratios[x] = np.where(logarithms > 0, round_up(logarithms, 8) + guard, 0.0)
    np.fill_diagonal(ratios, 0.0)
    return ratios


def uncertain_report_leakage(
    channel: Channel, radii: Floats, transition: Floats, epsilon: float
) -> Leakage:
    """Return the largest ratio of `uncertain_report_ratios`, at most epsilon, with its
    witness.
    """
    matrix = channel.matrix
    ratios = uncertain_report_ratios(matrix, radii, transition)
    likelier, other = divmod(int(ratios.argmax()), len(ratios))
    value = min(float(ratios[likelier, other]), epsilon)
    if value == 0:
        return Leakage(0.0, None)
    highest, lowest = _extreme_likelihoods(matrix, radii, transition)
    report = int(quotient(highest[likelier], lowest[other]).argmax())
    column = transition[:, report]
    likely = column == column.max()
    witness = named_witness(channel, likelier, other, likely, report=report)
    return Leakage(value, witness)


def _extreme_likelihoods(
    channel: Floats, radii: Floats, transition: Floats
) -> tuple[Floats, Floats]:
    """Return the extremes U and L of every uncertain row and report, shapes (m,
    reports).
    """
    order = np.argsort(transition, axis=0, kind="stable")
    ascending = np.take_along_axis(transition, order, axis=0)
    highest = np.empty((len(channel), transition.shape[1]))
    lowest = np.empty_like(highest)
    for x, row in enumerate(channel):
        shares = row[order]
        highest[x] = moved_mass(shares, ascending, float(radii[x]))
        lowest[x] = moved_mass(shares[::-1], ascending[::-1], float(radii[x]))
    return highest, lowest


def moved_mass(shares: Floats, likelihoods: Floats, radius: float) -> Floats:
    """Return the likelihood of each report after a mass of an uncertain row was moved
    from the first inputs to the last one.

    Parameters
    ----------
    shares, likelihoods
        P(input given target value) and P(report given input), inputs x reports: one
        column per report, in its own order of inputs.
    radius
        The mass that is moved at most.

    Examples
    --------
    >>> shares = np.array([[0.9], [0.1]])
    >>> moved_mass(shares, np.array([[0.25], [0.75]]), 0.1).round(3).tolist()
    [0.35]
    """
    before = np.cumsum(shares, axis=0) - shares
    reach = radius + 4 * len(shares) * UNIT * (radius > 0)
    taken = np.clip(reach - before, 0.0, shares)
    kept = ((shares - taken) * likelihoods).sum(axis=0)
    return np.asarray(kept + taken.sum(axis=0) * likelihoods[-1])


def uncertain_leakage(
    channel: Channel | ArrayLike,
    radii: Floats,
    sets: LikelySets,
    *,
    delta: float = 0.0,
) -> Leakage:
    """Return the largest leakage over all uncertain rows of reports with these likely
    sets, with its witness.

    Parameters
    ----------
    channel
        G = P(source given target), m target values by t source values.
    radii
        The total variation distance of each row.
    sets
        The likely sets of the report and their contrast.
    delta
        The delta of the mechanism.
    """
    matrix = as_matrix(channel)
    epsilon = sets.contrast
    ratios = uncertain_ratios(matrix[None], radii[None], sets, np.array([epsilon]))[0]
    likelier, other = divmod(int(ratios.argmax()), len(ratios))
    value = float(ratios[likelier, other])
    certified = uncertain_relaxation(matrix, radii, value, epsilon=epsilon, delta=delta)
    if value == 0:
        return Leakage(0.0, None, certified, certified)
    likely = _attaining_set(matrix[[likelier, other]], radii[[likelier, other]], sets)
    witness = named_witness(channel, likelier, other, likely)
    mass = min(1.0, float(matrix[likelier][likely].sum() + radii[likelier]))
    return Leakage(value, witness, certified, max(certified, delta * mass))


def uncertain_relaxation(
    matrix: Floats, radii: Floats, value: float, *, epsilon: float, delta: float
) -> float:
    """Return the delta' for which uncertain rows are (value, delta')-LDP from target to
    report, whatever the rows within their distances.

    delta (e^l - 1)/(e^eps - 1), as of known rows [theory: The certified delta]; at
    epsilon 0 delta times the largest total variation distance of two rows, r_x + r_x'
    included.  Rounded up.
    """
    if delta == 0 or math.isinf(epsilon):
        return delta
    if epsilon > 0:
        share = math.exp(value - epsilon)
        share *= math.expm1(-value) / math.expm1(-epsilon)
    else:
        share = _largest_distance(matrix, radii)
    operations = 4 * matrix.shape[1] + 64
    return min(delta, math.nextafter(round_up(delta * share, operations), math.inf))


def _largest_distance(matrix: Floats, radii: Floats) -> float:
    """Return the largest total variation distance of two uncertain rows, at most 1."""
    largest = 0.0
    for x, row in enumerate(matrix):
        distances = np.maximum(row - matrix, 0.0).sum(axis=1) + radii[x] + radii
        distances[x] = 0.0
        largest = max(largest, float(distances.max()))
    return min(1.0, largest)


# All sets one by one ------------------------------------------------------------------


def _is_enumerable(sets: LikelySets, size: int) -> bool:
    """Return whether so few likely sets are over `size` values that uncertain rows can
    try each.
    """
    if sets.kind == "all":
        return size <= MAX_ENUMERATED
    return sets.kind == "singletons" or sets.count(size) <= MAX_SETS


def _every_set(sets: LikelySets, size: int) -> Floats:
    """Return the likely sets to try on uncertain rows as 0-1 rows, complements
    included.
    """
    masks, has_complements = sets.masks(size)
    if not has_complements:
        return masks
    return np.concatenate([masks, 1 - masks])


def _extreme_masses(
    channels: Floats, radii: Floats, sets: LikelySets
) -> tuple[Floats, Floats]:
    """Return the extremes U and L of every uncertain row and set, raised and lowered by
    more than their rounding errors.

    Shapes (..., m, sets), for channels of shape (..., m, t).
    """
    size = channels.shape[-1]
    if sets.kind == "singletons" and size > 2:
        masses = channels
    else:
        masses = channels @ _every_set(sets, size).T
    reach = (radii + _guard(size) * (radii > 0))[..., None]
    return np.minimum(masses + reach, 1.0), np.maximum(masses - reach, 0.0)


def _enumerated(
    channels: Floats, radii: Floats, sets: LikelySets, contrasts: Floats
) -> Floats:
    """Return the largest log-ratio over all sets of each ordered pair of uncertain
    rows.
    """
    high, low = _extreme_masses(channels, radii, sets)
    _, count, width = high.shape
    ratios = np.zeros((len(channels) * count, count))
    step = max(1, MASS_CELLS // (count * width))
    for start in range(0, len(ratios), step):
        block = np.arange(start, min(start + step, len(ratios)))
        index, x = np.divmod(block, count)
        smaller = low[index]
        gaps = high[index, x][:, None] - smaller
        logarithms = log_ratio(gaps, smaller, contrasts[index][:, None, None])
        ratios[block] = logarithms.max(axis=2, initial=0.0)
    return ratios.reshape(-1, count, count)


def _attaining_set(rows: Floats, radii: Floats, sets: LikelySets) -> Booleans:
    """Return the set of the largest ratio of two uncertain rows; beyond enumeration the
    best prefix of their Neyman-Pearson curve, whose ratio is close to it.
    """
    size = rows.shape[1]
    if _is_enumerable(sets, size):
        high, low = _extreme_masses(rows, radii, sets)
        masks = _every_set(sets, size)
        best = log_ratio(high[0] - low[1], low[1], sets.contrast).argmax()
        return np.asarray(masks[int(best)] > 0)
    order, above, below = _curves(rows[0], rows[1:])
    high = np.minimum(above[0, 1:-1] + radii[0], 1.0)
    low = np.maximum(below[0, 1:-1] - radii[1], 0.0)
    length = 1 + int(log_ratio(high - low, low, sets.contrast).argmax())
    likely = np.zeros(size, dtype=np.bool_)
    likely[order[0, :length]] = True
    return likely


# Fractional sets ----------------------------------------------------------------------


def _on_curves(channel: Floats, radii: Floats, contrast: float) -> Floats:
    """Return an upper bound over all S of the log-ratio of pairs of uncertain rows.

    The largest mass A under x of a fractional S with mass B under x' is a concave
    function of B.  A set that is not empty has B >= the smallest cell of x', and one
    that is not full has A <= 1 - the smallest cell of x: only this part of the curve is
    searched.
    """
    guard = _guard(channel.shape[1])
    least_cells = channel.min(axis=1)
    ratios = np.zeros((len(channel), len(channel)))
    for x, row in enumerate(channel):
        _, above, below = _curves(row, channel)
        most = np.full(len(channel), 1.0 - least_cells[x])
        high = [above[:, 1:-1]]
        low = [below[:, 1:-1]]
        for mass in (least_cells, np.maximum(least_cells, radii)):
            high.append(_interpolated(below, above, mass + guard)[:, None])
            low.append((mass + guard)[:, None])
        for mass in (most, np.minimum(most, 1.0 - radii[x])):
            high.append((mass - guard)[:, None])
            low.append(_interpolated(above, below, mass - guard, first=True)[:, None])
        upper = np.minimum(np.hstack(high), most[:, None]) + radii[x] + guard
        lower = np.maximum(np.hstack(low), least_cells[:, None]) - radii[:, None]
        upper = np.minimum(upper, 1.0)
        lower = np.maximum(lower - guard, 0.0)
        logarithms = log_ratio(upper - lower, lower, contrast)
        ratios[x] = logarithms.max(axis=1, initial=0.0)
    return ratios


def _curves(row: Floats, others: Floats) -> tuple[Integers, Floats, Floats]:
    """Return the curves of uncertain rows: the order of sources by row / other,
    descending, and the cumulative sums of both rows in this order, shapes (n, t) and
    (n, t + 1).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        negated = -np.nan_to_num(row / others, nan=0.0, posinf=np.inf)
    order = negated.argsort(axis=1, kind="stable")
    above = np.zeros((len(others), len(row) + 1))
    below = np.zeros_like(above)
    np.cumsum(row[order], axis=1, out=above[:, 1:])
    np.cumsum(np.take_along_axis(others, order, axis=1), axis=1, out=below[:, 1:])
    return order, above, below


def _interpolated(x: Floats, y: Floats, mass: Floats, first: bool = False) -> Floats:
    """Return y of each curve (x, y) of uncertain rows at x = mass; where x is constant,
    that of the last vertex, or of the first one.
    """
    passed = x < mass[:, None] if first else x <= mass[:, None]
    start = np.clip(passed.sum(axis=1) - 1, 0, x.shape[1] - 2)
    rows = np.arange(len(x))
    step = x[rows, start + 1] - x[rows, start]
    rise = y[rows, start + 1] - y[rows, start]
    part = np.divide(
        mass - x[rows, start], step, out=np.ones_like(step), where=step > 0
    )
    return np.asarray(y[rows, start] + np.clip(part, 0.0, 1.0) * rise)


def _guard(terms: int) -> float:
    """Return an upper bound on the rounding error of a sum over an uncertain row."""
    return (2 * terms + 32) * UNIT
