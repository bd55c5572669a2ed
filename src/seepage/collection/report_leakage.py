"""Leakages estimated from reports alone, with confidence limits.

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, NamedTuple, SupportsIndex

import numpy as np

from seepage import __version__, _checks
from seepage._numerics import Booleans, Floats, Integers, ceiling_text, floor_text
from seepage._results import Progress, Result, json_ready
from seepage.collection.estimated_cells import ratio_intervals
from seepage.collection.estimated_pairs import EstimatedPairs, PairTerms, estimate_pairs
from seepage.errors import InputError
from seepage.leakage.leaks import Leak
from seepage.leakage.likely_sets import LikelySets
from seepage.leakage.release import VIEWS, Release, View
from seepage.plan.plan import Plan

NEGLIGIBLE = 2.0**-10
"""An estimate of 0 is replaced by this share of its upper limit before taking its logarithm."""

MIN_GROUPS = 8
"""Minimum number of groups for a variance between them; with fewer, limits are 0 and epsilon."""


class Limits(NamedTuple):
    """A leakage and its limits, or those of l(x, x', S) by x' and S, shape (targets, sets)."""

    estimate: Any
    lower: Any
    upper: Any


def leakage_interval(terms: PairTerms, sets: LikelySets, confidence: float) -> Limits:
    """Return the leakage of a source's report about a target, estimated from reports.

    Parameters
    ----------
    terms
        The sums over reports of the two attributes.
    sets
        The likely sets of the source's reports.
    confidence
        The probability with which the limits cover the leakage.

    Notes
    -----
    O(g m^2 t) with g groups, m target and t source values.
    """
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
    quantile = -float(stdtrit(groups - 1, level)) * (groups / (groups - 1)) ** 0.5
    products = (part_deviations**2, part_deviations * deviations, deviations**2)
    own, both, other = (product.sum(axis=0) for product in products)
    limits = ratio_intervals(part, whole, own, both, other, 0.0, quantile)
    return limits[..., 0], limits[..., 1]


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


# All pairs ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class ReportAnalysis(Result):
    """The leakage of every source about every target, estimated from reports.

    Only pairs that some form asks for together, and sources with a report of their own.

    Parameters
    ----------
    leaks
        The leakages by the names of target and source.  Each is cross-fitted, so not biased upward,
        without values too rare to distinguish, and has its own confidence limits; an upper limit of
        epsilon means that the reports do not exclude the largest possible leakage.
    confidence
        The coverage probability of each interval.
    view
        What the adversary keeps: the `"report"`, or a value `"inferred"` from it.
    releases
        The release of each attribute, by the form with the largest budget for it.
    pairs
        The estimated joint tables.
    """

    leaks: Mapping[tuple[str, str], Leak]
    confidence: float
    view: View
    releases: Mapping[str, Release]
    pairs: EstimatedPairs

    def __getitem__(self, pair: tuple[str | SupportsIndex, str | SupportsIndex]) -> Leak:
        """Return the leakage about a target from a source, with its limits."""
        target, source = (self.pairs.domain[name].name for name in pair)
        if (target, source) not in self.leaks:
            raise InputError(f"the leakage about {target!r} from {source!r} is not estimated")
        return self.leaks[target, source]

    def strongest(self, count: int = 10) -> list[Leak]:
        """Return the leaks with the largest lower confidence limits."""
        ordered = sorted(self.leaks.values(), key=lambda leak: (-leak.lower, -leak.leakage))
        return ordered[: _checks.integer(count, "count", 0)]

    def sentences(self, count: int = 10) -> list[str]:
        """Return one sentence for each of the strongest leaks, its limits rounded outwards."""
        return [
            f"{leak.source} -> {leak.target}: {leak.leakage:.2f} "
            f"({floor_text(leak.lower, 2)} to {ceiling_text(leak.upper, 2)}) "
            f"of at most {self.releases[leak.source].epsilon:.2f}"
            for leak in self.strongest(count)
        ]

    def _headline(self) -> str:
        largest = max((leak.leakage for leak in self.leaks.values()), default=0.0)
        return (
            f"ReportAnalysis({self.pairs.records:,} reports, {len(self.pairs.domain)} attributes, "
            f"largest leakage {largest:.4g}, view {self.view!r})"
        )

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        leaks = self.leaks.values()
        releases = [self.releases[leak.source] for leak in leaks]
        return {
            "target": [leak.target for leak in leaks],
            "source": [leak.source for leak in leaks],
            "epsilon": [release.epsilon for release in releases],
            "mechanism": [release.name for release in releases],
            "view": [self.view] * len(leaks),
            "leakage": [leak.leakage for leak in leaks],
            "lower": [leak.lower for leak in leaks],
            "upper": [leak.upper for leak in leaks],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the analysis as JSON-compatible data; infinity is the text "inf"."""
        content = {
            "seepage": __version__,
            "reports": self.pairs.records,
            "confidence": self.confidence,
            "leakages": self._columns(),
            "unestimated": self.pairs.unestimated,
        }
        return dict(json_ready(content))


def analyse_reports(
    plan: Plan,
    reports: Any,
    *,
    view: View = "report",
    confidence: float = 0.95,
    progress: Progress | None = None,
) -> ReportAnalysis:
    """Return the leakage of every attribute about every other that some form asks for with it.

    Parameters
    ----------
    plan, reports
        The plan, and its reports, see `Plan.estimate`.
    view, confidence
        See `ReportAnalysis`.
    progress
        Called with the number of ordered pairs done and their total.

    Notes
    -----
    One pass; then O(g m^2 t) for each ordered pair with m and t values and up to 64 groups g.

    Examples
    --------
    >>> import pyarrow as pa, seepage as sp
    >>> sick = np.random.default_rng(1).random(50_000) < 0.3
    >>> people = pa.table({"sick": sick, "fever": sick ^ (np.arange(50_000) % 5 == 0)})
    >>> pairs = sp.count_pairs(people)
    >>> plan = sp.calibrate(pairs, 2.0, guarantee="worst")
    >>> found = analyse_reports(plan, plan.perturb(people))["sick", "fever"]
    >>> truth = sp.leakage_matrix(pairs, 1.0, mechanism="grr")["sick", "fever"].value
    >>> found.upper - found.lower < 0.5 and abs(found.leakage - truth) < 0.3
    True
    """
    _checks.choice(view, "view", VIEWS)
    _checks.progress(progress)
    level = _checks.inner_probability(confidence, "confidence")
    pairs = estimate_pairs(plan, reports)
    names = pairs.domain.names
    releases = {name: _release(plan, name) for name in names}
    ordered = [
        (target, source)
        for target, source in permutations(range(len(names)), 2)
        if tuple(sorted((target, source))) in pairs.tables
        and releases[names[source]].mechanism is not None
    ]
    if not ordered and len(names) > 1:
        raise InputError("no two attributes are asked together, so no leakage can be estimated")
    leaks = {}
    for done, (target, source) in enumerate(ordered, start=1):
        release, pair = releases[names[source]], (names[target], names[source])
        # A mechanism that does not state its likely sets may have any set.
        sets = release.sets(view) or LikelySets("all", release.epsilon)
        value, low, high = leakage_interval(pairs.terms(target, source), sets, level)
        leaks[pair] = Leak(*pair, value, (low, high))
        if progress is not None:
            progress(done, len(ordered))
    return ReportAnalysis(leaks, level, view, releases, pairs)


def _release(plan: Plan, name: str) -> Release:
    """Return the release by the form with the largest budget; none if only matrix forms ask."""
    mechanisms = [form[name] for form in plan.form_mechanisms if name in form]
    if not mechanisms:
        return Release(plan[name].epsilon)
    largest = max(mechanisms, key=lambda mechanism: mechanism.epsilon)
    return Release(largest.epsilon, largest.delta, largest)
