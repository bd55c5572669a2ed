"""Confidence limits of leakages, estimated from reports alone.

A report with likely set S is exp(l) times likelier under target value x than under x', with

    l(x, x', S) = ln w(x, S) - ln w(x', S),   w(x, S) = (f_x + lambda F_x(S)) / f_x / e^eps,

lambda = e^eps - 1, F_x(S) the joint frequency of x and S, f_x that of x [theory: The bound].
The leakage is the maximum of l.  Numerator and denominator of w are means over reports of unbiased
terms, so the limits of w are Fieller's, from the variance between groups of reports: they are the
whole range, e^-eps to 1, if f_x is not significantly above 0.  The distances of the two logarithms
to their limits are combined by Zou and Donner's rule [2008], with their correlation; if a limit is
clipped to the range, the distances are added.

* Upper limit: the true maximum is one of the l, so the maximum of their upper limits covers it
  without a correction for their number.  If S may be any set, S runs through the prefixes of the
  order by estimated likelihood ratio, one of which maximises l; the limit never exceeds eps.
* Lower limit: half of the groups selects one (x, x', S), the other half gives its lower limit, and
  vice versa; the larger counts, at half the level each.  So selection does not bias it.
* The estimate is the mean of the two cross-fitted values: unlike a maximum over estimates, it is
  not biased upward by the number of values.

Groups vary by noise and by who is in them: the limits hold for the people who reported, and for
the population that they were drawn from.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from seepage._numerics import Booleans, Floats, Integers
from seepage.collection.report_sums import PooledSums
from seepage.leakage.likely_sets import LikelySets

NEGLIGIBLE = 2.0**-10
"""An estimate of 0 is replaced by this share of its upper limit before taking its logarithm."""

MIN_GROUPS = 8
"""Minimum number of groups for a variance between them; with fewer, limits are 0 and epsilon."""


@dataclass(frozen=True, eq=False)
class PairTerms:
    """Sums of the unbiased one-hot vectors of two attributes, by groups of reports.

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

    @classmethod
    def of(cls, pooled: PooledSums, target: str, source: str) -> "PairTerms | None":
        """Return the groups of all forms that ask for both, each weighted by 1/v(f); None if none.

        The sum of `joint` over the sum of `sizes` is the estimated table [`report_vectors`].
        """
        asking = [sums for sums in pooled.forms.values() if {target, source} <= {*sums.attributes}]
        variances = [(sums, sums.unit_variance(target, source)) for sums in asking]
        minimum, weighted = min((v for _, v in variances), default=np.inf), []
        for sums, variance in variances:
            if np.isfinite(variance):
                weight = minimum / variance if variance else 1.0
                terms = sums.one_hot_sums(target, source), sums.one_hot_sums(target), sums.sizes
                weighted.append([weight * term for term in terms])
        if not weighted:
            return None
        return cls(*(np.concatenate(terms) for terms in zip(*weighted, strict=True)))

    def select(self, groups: slice) -> "PairTerms":
        """Return the terms of a slice of the groups."""
        return PairTerms(self.joint[groups], self.marginal[groups], self.sizes[groups])

    def correlation(self) -> Floats:
        """Return the estimated correlation channel F_x(z) / f_x, clipped to [0, 1]."""
        joint, marginal = self.joint.sum(axis=0), self.marginal.sum(axis=0)
        ratio = np.divide(
            joint, marginal[:, None], out=np.zeros_like(joint), where=marginal[:, None] > 0
        )
        return np.asarray(np.clip(ratio, 0.0, 1.0))


class Limits(NamedTuple):
    """A leakage and its limits, or those of l(x, x', S) by x' and S, shape (targets, sets)."""

    estimate: Any
    lower: Any
    upper: Any


def leakage_interval(
    sums: PooledSums, target: str, source: str, sets: LikelySets, confidence: float
) -> Limits:
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
    terms = PairTerms.of(sums, target, source)
    assert terms is not None
    groups, targets, sources = terms.joint.shape
    contains_all = sets.kind == "subsets" and sets.size >= sources  # then nothing leaks
    if targets < 2 or sources < 2 or sets.contrast == 0 or contains_all:
        return Limits(0.0, 0.0, 0.0)
    if groups < MIN_GROUPS:
        return Limits(0.0, 0.0, sets.contrast)
    alpha = 1.0 - confidence
    upper = max(
        float(_limits(terms, x, _orders(terms, x, sets), sets, alpha / 2).upper.max())
        for x in range(targets)
    )
    halves = terms.select(slice(None, None, 2)), terms.select(slice(1, None, 2))
    fitted = [_cross_fit(*pair, sets, alpha / 4) for pair in (halves, halves[::-1])]
    lower = max(0.0, *(limits.lower.item() for limits in fitted))
    upper = max(lower, min(upper, sets.contrast))
    mean = float(np.mean([limits.estimate.item() for limits in fitted]))
    return Limits(min(max(mean, lower), upper), lower, upper)


def _cross_fit(
    selecting: PairTerms, evaluating: PairTerms, sets: LikelySets, level: float
) -> Limits:
    """Return the limits of l(x, x', S), evaluated on one half, selected on the other half.

    Selected is the (x, x', S) with the largest lower limit.
    """
    largest, argmax = -np.inf, (0, 0, 0)
    for x in range(selecting.marginal.shape[1]):
        lower = _limits(selecting, x, _orders(selecting, x, sets), sets, level).lower
        other, last = divmod(int(lower.argmax()), lower.shape[1])
        if lower[other, last] > largest:
            largest, argmax = float(lower[other, last]), (x, other, last)
    x, other, last = argmax
    limits = _limits(evaluating, x, _orders(selecting, x, sets), sets, level)
    return Limits(*(part[other, last] for part in limits))


def _orders(terms: PairTerms, x: int, sets: LikelySets) -> Integers:
    """Return for each x' an order of the source values whose prefixes contain the best set.

    For sets of any size, by decreasing likelihood ratio of x against x'; for sets of one size, the
    best set comes first [`seepage.leakage.likely_sets`].
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


def _limits(terms: PairTerms, x: int, orders: Integers, sets: LikelySets, level: float) -> Limits:
    """Return estimates and limits of l(x, x', S) for every x' and S, at a one-sided level."""
    only_x = PairTerms(terms.joint[:, x : x + 1], terms.marginal[:, x : x + 1], terms.sizes)
    w, other = (_weights(part, orders, sets, level) for part in (only_x, terms))
    correlation = np.where(
        w.unclipped & other.unclipped, _correlation(w.residuals, other.residuals), -1.0
    )
    estimate = w.logarithm - other.logarithm
    limits = Limits(
        estimate,
        estimate - _combined(w.down, other.up, correlation),
        estimate + _combined(w.up, other.down, correlation),
    )
    for part in limits:
        part[x] = -np.inf
    return limits


class LogWeights(NamedTuple):
    """Ln w of target values and sets, with the distances to its limits, shape (targets, sets).

    `unclipped` says where neither limit is clipped to the range [e^-eps, 1]; `residuals` are
    numerator - w denominator by group, shape (groups, targets, sets).
    """

    logarithm: Floats
    down: Floats
    up: Floats
    unclipped: Booleans
    residuals: Floats


def _weights(terms: PairTerms, orders: Integers, sets: LikelySets, level: float) -> LogWeights:
    """Return ln w with its limits, clipped to the range of w."""
    minimum = float(np.exp(-sets.contrast))
    whole = terms.marginal[:, :, None]
    part = minimum * whole + (1.0 - minimum) * _set_sums(terms, orders, sets)
    deviations = _deviations(whole, terms.sizes), _deviations(part, terms.sizes)
    low, high = _fieller(whole.sum(axis=0), part.sum(axis=0), *deviations, level)
    unclipped = (low > minimum) & (high < 1.0)
    low, high = np.clip(low, minimum, 1.0), np.clip(high, max(minimum, NEGLIGIBLE), 1.0)
    ratio = part.sum(axis=0) / np.where(whole.sum(axis=0) > 0, whole.sum(axis=0), np.inf)
    value = np.clip(ratio, np.maximum(low, high * NEGLIGIBLE), high)
    with np.errstate(divide="ignore"):
        log_low, log_value, log_high = np.log(low), np.log(value), np.log(high)
    residuals = deviations[1] - value * deviations[0]
    down, up = log_value - log_low, log_high - log_value
    return LogWeights(log_value, down, up, unclipped, residuals)


def _deviations(groups: Floats, sizes: Floats) -> Floats:
    """Return the deviation of each group's sum from its expectation, its share of the total."""
    return np.asarray(groups - sizes[:, None, None] * (groups.sum(axis=0) / sizes.sum()))


def _fieller(
    whole: Floats, part: Floats, deviations: Floats, part_deviations: Floats, level: float
) -> tuple[Floats, Floats]:
    """Return the limits of part / whole [Fieller 1954]; infinite if the whole may be 0.

    A ratio r is within the limits if part - r whole does not differ from 0 in a t-test at this
    one-sided level, with the variance between groups.
    """
    from scipy.special import stdtrit

    groups = len(deviations)
    width = float(stdtrit(groups - 1, level)) ** 2 * groups / (groups - 1)
    # The limits are the roots of square r^2 - 2 cross r + constant.
    square = whole**2 - width * (deviations**2).sum(axis=0)
    cross = whole * part - width * (deviations * part_deviations).sum(axis=0)
    constant = part**2 - width * (part_deviations**2).sum(axis=0)
    bounded = (square > 0) & (whole > 0)
    root = np.sqrt(np.maximum(cross**2 - square * constant, 0.0))
    divisor = np.where(bounded, square, 1.0)
    return (
        np.where(bounded, (cross - root) / divisor, -np.inf),
        np.where(bounded, (cross + root) / divisor, np.inf),
    )


def _set_sums(terms: PairTerms, orders: Integers, sets: LikelySets) -> Floats:
    """Return the sums of F_x(S) by group, shape (groups, targets, sets)."""
    if sets.kind == "singletons":
        return terms.joint
    ordered: Floats = np.take_along_axis(terms.joint, orders[None], axis=2).cumsum(axis=2)
    chosen = slice(None) if sets.kind == "all" else slice(sets.size - 1, sets.size)
    return np.asarray(ordered[:, :, chosen])


def _correlation(first: Floats, second: Floats) -> Floats:
    """Return the correlation over groups of two residuals, 0 if one of them is 0."""
    norms = np.sqrt((first**2).sum(axis=0) * (second**2).sum(axis=0))
    product = (first * second).sum(axis=0)
    return np.asarray(np.divide(product, norms, out=0.0 * product, where=norms > 0))


def _combined(one: Floats, two: Floats, correlation: Floats) -> Floats:
    """Return the distance of a difference to its limit, from those of its terms.

    Zou and Donner: sqrt(a^2 + b^2 - 2 rho a b); rho = -1 adds the distances.
    """
    finite = np.isfinite(one) & np.isfinite(two)
    first, second = np.where(finite, one, 0.0), np.where(finite, two, 0.0)
    square = first**2 + second**2 - 2.0 * correlation * first * second
    return np.where(finite, np.sqrt(np.maximum(square, 0.0)), np.inf)
