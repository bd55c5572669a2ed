"""Confidence limits of leakages that are estimated from sums over reports alone.

A report with likely set S is exp(l) times likelier under target value x than under x', with

    l(x, x', S) = ln w(x, S) - ln w(x', S),   w(x, S) = (f_x + lambda F_x(S)) / f_x / e^eps,

lambda = e^eps - 1, F_x(S) the joint frequency of x and S, f_x that of x [theory: The bound].
The leakage is the largest l.  Both parts of w are means over reports of unbiased terms, so that
the limits of w are Fieller's, from the spread between groups of reports: they widen to all that is
possible, e^-eps to 1, where x is too rare to tell it from 0.  The two logarithms' distances to
their limits are combined by Zou and Donner's rule [2008], with their correlation; where a limit
is cut off at what is possible, they are added up.

* Upper limit: the true maximum is one of the l, so the largest of their upper limits covers it,
  and none needs a correction for their number.  Where reports can favour any set, S runs through
  the sets that are best for some estimate of l; it never exceeds eps.
* Lower limit: half of the groups choose one (x, x', S), the other half gives its lower limit, and
  the other way round; the better counts.  So choosing the best of many does not flatter it.
* The estimate is the mean of those two values: it does not grow by chance with the number of
  values, as a maximum over estimates does.

Groups vary by noise and by who is in them: the limits hold for the people who reported, and for
the population that they were drawn from.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from seepage._numerics import Booleans, Floats, Integers
from seepage.collection.pooled_sums import PooledSums
from seepage.leakage.likely_sets import LikelySets

NEGLIGIBLE = 2.0**-10
"""An estimate of 0 is taken for this share of its upper limit, where a logarithm is needed."""

MIN_GROUPS = 8
"""With fewer groups of reports their spread tells nothing, and the limits are all there can be."""


class LeakageInterval(NamedTuple):
    """An estimated leakage with its confidence limits."""

    estimate: float
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class PairTerms:
    """Sums of the unbiased terms of two attributes, by groups of reports.

    Parameters
    ----------
    joint
        Sums of X^_x Y^_z, shape (groups, targets, sources).
    marginal
        Sums of X^_x, shape (groups, targets).
    sizes
        The number of reports in each group.
    """

    joint: Floats
    marginal: Floats
    sizes: Floats

    def some(self, groups: slice) -> "PairTerms":
        """Return the terms of some of the groups."""
        return PairTerms(self.joint[groups], self.marginal[groups], self.sizes[groups])

    def correlation(self) -> Floats:
        """Return the estimated F_x(z) / f_x, limited to what is possible."""
        joint, marginal = self.joint.sum(axis=0), self.marginal.sum(axis=0)
        ratio = np.divide(
            joint, marginal[:, None], out=np.zeros_like(joint), where=marginal[:, None] > 0
        )
        return np.asarray(np.clip(ratio, 0.0, 1.0))


class RatioLimits(NamedTuple):
    """One target value x against each x' and S, shape (targets, sets): estimates and limits."""

    estimate: Floats
    lower: Floats
    upper: Floats


def leakage_interval(
    sums: PooledSums, target: str, source: str, sets: LikelySets, confidence: float
) -> LeakageInterval:
    """Return the leakage of a source's report about a target, estimated from reports.

    Parameters
    ----------
    sums
        The sums over reports.
    target, source
        The attributes.
    sets
        The likely sets of the source's reports.
    confidence
        The probability with which the limits cover the leakage.

    Notes
    -----
    O(g m^2 t) with g groups, m target and t source values.
    """
    terms = PairTerms(*sums.terms(target, source))
    groups, targets, sources = terms.joint.shape
    if targets < 2 or sources < 2 or sets.contrast == 0 or _favours_all(sets, sources):
        return LeakageInterval(0.0, 0.0, 0.0)
    if groups < MIN_GROUPS:
        return LeakageInterval(0.0, 0.0, sets.contrast)
    alpha = 1.0 - confidence
    upper = max(
        float(_limits(terms, x, _orders(terms, x, sets), sets, alpha / 2).upper.max())
        for x in range(targets)
    )
    halves = terms.some(slice(None, None, 2)), terms.some(slice(1, None, 2))
    chosen = [_cross(*pair, sets, alpha / 4) for pair in (halves, halves[::-1])]
    lower = max(0.0, *(limits.lower.item() for limits in chosen))
    upper = max(lower, min(upper, sets.contrast))
    middle = float(np.mean([limits.estimate.item() for limits in chosen]))
    return LeakageInterval(min(max(middle, lower), upper), lower, upper)


def _favours_all(sets: LikelySets, sources: int) -> bool:
    return sets.kind == "subsets" and sets.size >= sources


def _cross(choosing: PairTerms, judging: PairTerms, sets: LikelySets, level: float) -> RatioLimits:
    """Return what one half says about the (x, x', S) that the other half finds most telling."""
    best, index = -np.inf, (0, 0, 0)
    for x in range(choosing.marginal.shape[1]):
        found = _limits(choosing, x, _orders(choosing, x, sets), sets, level).lower
        other, last = divmod(int(found.argmax()), found.shape[1])
        if found[other, last] > best:
            best, index = float(found[other, last]), (x, other, last)
    x, other, last = index
    limits = _limits(judging, x, _orders(choosing, x, sets), sets, level)
    return RatioLimits(*(part[other, last] for part in limits))


def _orders(terms: PairTerms, x: int, sets: LikelySets) -> Integers:
    """Return for each x' the source values, those first that speak for x and against x'.

    For sets of any size by F_x / F_x', whose beginnings hold the best set; for sets of one size
    the best set comes first [`seepage.leakage.likely_sets`].
    """
    correlation = terms.correlation()
    if sets.kind == "singletons":
        return np.broadcast_to(np.arange(correlation.shape[1]), correlation.shape)
    gap = correlation[x] - correlation
    if sets.kind == "all":
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.argsort(np.where(gap > 0, correlation / gap, np.inf), axis=1, kind="stable")
    likely = sets.best_of_pairs(correlation[x], correlation)[1]
    return np.argsort(~likely, axis=1, kind="stable")


def _limits(
    terms: PairTerms, x: int, orders: Integers, sets: LikelySets, level: float
) -> RatioLimits:
    """Return estimate and limits of l(x, x', S) for every x' and S, at a one-sided level."""
    own = PairTerms(terms.joint[:, x : x + 1], terms.marginal[:, x : x + 1], terms.sizes)
    one, two = (_weights(some, orders, sets, level) for some in (own, terms))
    shared = np.where(one.inner & two.inner, _correlation(one.residuals, two.residuals), -1.0)
    estimate = one.logarithm - two.logarithm
    limits = RatioLimits(
        estimate,
        estimate - _combined(one.down, two.up, shared),
        estimate + _combined(one.up, two.down, shared),
    )
    for part in limits:
        part[x] = -np.inf
    return limits


class LogWeights(NamedTuple):
    """Ln w of target values and sets, with distances to its limits, shape (targets, sets).

    `inner` says where both limits lie inside of what is possible; `residuals`, by group, are what
    is left of the numerators when the estimate is taken off.
    """

    logarithm: Floats
    down: Floats
    up: Floats
    inner: Booleans
    residuals: Floats


def _weights(terms: PairTerms, orders: Integers, sets: LikelySets, level: float) -> LogWeights:
    """Return ln w with its limits; what is impossible is cut off."""
    floor = float(np.exp(-sets.contrast))
    whole = terms.marginal[:, :, None]
    part = floor * whole + (1.0 - floor) * _inside(terms, orders, sets)
    spreads = _spread(whole, terms.sizes), _spread(part, terms.sizes)
    low, high = _fieller(whole.sum(axis=0), part.sum(axis=0), *spreads, level)
    inner = (low > floor) & (high < 1.0)
    low, high = np.clip(low, floor, 1.0), np.clip(high, max(floor, NEGLIGIBLE), 1.0)
    ratio = part.sum(axis=0) / np.where(whole.sum(axis=0) > 0, whole.sum(axis=0), np.inf)
    value = np.clip(ratio, np.maximum(low, high * NEGLIGIBLE), high)
    with np.errstate(divide="ignore"):
        below, middle, above = np.log(low), np.log(value), np.log(high)
    residuals = spreads[1] - value * spreads[0]
    return LogWeights(middle, middle - below, above - middle, inner, residuals)


def _spread(groups: Floats, sizes: Floats) -> Floats:
    """Return by how much the sum of each group exceeds what its size lets expect."""
    return np.asarray(groups - sizes[:, None, None] * (groups.sum(axis=0) / sizes.sum()))


def _fieller(
    whole: Floats, part: Floats, spread: Floats, part_spread: Floats, level: float
) -> tuple[Floats, Floats]:
    """Return the limits of part / whole [Fieller 1954]; infinite where the whole may be 0.

    A ratio r is within the limits if part - r whole is no further from 0 than chance allows at
    this one-sided level, judged by the spread between groups.
    """
    from scipy.special import stdtrit

    groups = len(spread)
    width = float(stdtrit(groups - 1, level)) ** 2 * groups / (groups - 1)
    square = whole**2 - width * (spread**2).sum(axis=0)
    cross = whole * part - width * (spread * part_spread).sum(axis=0)
    constant = part**2 - width * (part_spread**2).sum(axis=0)
    clear = (square > 0) & (whole > 0)
    root = np.sqrt(np.maximum(cross**2 - square * constant, 0.0))
    divisor = np.where(clear, square, 1.0)
    return (
        np.where(clear, (cross - root) / divisor, -np.inf),
        np.where(clear, (cross + root) / divisor, np.inf),
    )


def _inside(terms: PairTerms, orders: Integers, sets: LikelySets) -> Floats:
    """Return the sums of F_x(S) by group, shape (groups, targets, sets)."""
    if sets.kind == "singletons":
        return terms.joint
    ordered: Floats = np.take_along_axis(terms.joint, orders[None], axis=2).cumsum(axis=2)
    chosen = slice(None) if sets.kind == "all" else slice(sets.size - 1, sets.size)
    return np.asarray(ordered[:, :, chosen])


def _correlation(one: Floats, two: Floats) -> Floats:
    """Return the correlation over groups of two residuals."""
    product = np.sqrt((one**2).sum(axis=0) * (two**2).sum(axis=0))
    together = (one * two).sum(axis=0)
    return np.asarray(np.divide(together, product, out=0.0 * together, where=product > 0))


def _combined(one: Floats, two: Floats, shared: Floats) -> Floats:
    """Return the distance of a difference to its limit, from those of its terms."""
    finite = np.isfinite(one) & np.isfinite(two)
    first, second = np.where(finite, one, 0.0), np.where(finite, two, 0.0)
    square = first**2 + second**2 - 2.0 * shared * first * second
    return np.where(finite, np.sqrt(np.maximum(square, 0.0)), np.inf)
