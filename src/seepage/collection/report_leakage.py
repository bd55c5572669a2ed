"""Leakages estimated from reports alone, with confidence limits.

A report with likely set S is exp(l) times likelier under target value x than under x',
with

    l(x, x', S) = ln w(x, S) - ln w(x', S),  w(x, S) = (f_x + lambda F_x(S)) / f_x /
    e^eps,

lambda = e^eps - 1, F_x(S) the joint frequency of x and S, f_x that of x [theory: The
bound]. The leakage is the maximum of l.  With N and D the numerator and denominator of
w, means over reports of unbiased terms,

    e^l = N(x, S) D(x') / (N(x', S) D(x)),

whose limits are Fieller's, from the variance of these products between groups of
reports, linearised: they are the whole range, e^-eps to e^eps, if N(x', S) D(x) is not
significantly above 0, as for rare values.  N is clipped to its range, e^-eps D to D.

* Upper limit: the true maximum is one of the l, so the maximum of their upper limits
  covers it without a correction for their number.  If S may be any set, S runs through
  the prefixes of the order by estimated likelihood ratio, one of which maximises l; the
  limit never exceeds eps.
* Lower limit: half of the groups selects one (x, x', S), the other half gives its lower
  limit, and vice versa; the larger counts, at half the level each.  So selection does
  not bias it.
* The estimate is the mean of the two cross-fitted values: unlike a maximum over
  estimates, it is not biased upward by the number of values.

Groups vary by noise and by who is in them: the limits hold for the people who reported,
and for the population that they were drawn from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any, NamedTuple

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats, Integers
from seepage._core.errors import InputError
from seepage._core.odds import odds_above
from seepage._core.results import Result
from seepage.collection.cell_sums import add_reports
from seepage.collection.ratio_intervals import ratio_intervals
from seepage.collection.report_batches import ReportSource
from seepage.collection.report_files import open_reports
from seepage.leakage.likely_sets import LikelySets
from seepage.leakage.pair_leak import Leak
from seepage.mechanisms.release import Release
from seepage.plan.plan_content import PlanContent
from seepage.plan.report_vectors import informative_forms

GROUPS = 64
"""Number of groups of reports: their variance gives standard errors."""


MAX_VALUES = 4096
"""Maximum number of values of all attributes for the sums of all pairs by groups: 4
GB."""


MIN_GROUPS = 8
"""Minimum number of groups for a variance between them; with fewer, limits are 0 and
epsilon."""


class PairTerms(NamedTuple):
    """Sums of the unbiased one-hot vectors of two attributes, by groups of reports.

    Parameters
    ----------
    joint
        Sums of X^_x Y^_z, shape (groups, targets, sources).
    marginal
        Sums of X^_x, shape (groups, targets).
    sizes
        The number of reports in each group, weighted by form.
    """

    joint: Floats
    marginal: Floats
    sizes: Floats

    def select(self, groups: Any) -> "PairTerms":
        """Return the terms of some groups of reports that a leakage is estimated
        from.
        """
        return PairTerms(self.joint[groups], self.marginal[groups], self.sizes[groups])

    def correlation(self) -> Floats:
        """Return the correlation channel F_x(z) / f_x estimated from reports, clipped
        to [0, 1].
        """
        joint = self.joint.sum(axis=0)
        marginal = self.marginal.sum(axis=0)
        ratio = np.divide(
            joint,
            marginal[:, None],
            out=np.zeros_like(joint),
            where=marginal[:, None] > 0,
        )
        return np.asarray(np.clip(ratio, 0.0, 1.0))


class PairSums:
    """Sums of the vectors over two attributes with their margins, by groups of reports.

    Neighbours are in different groups, so that a sorted or drifting table does not make
    groups differ.
    """

    def __init__(self, plan: PlanContent, names: Sequence[str]) -> None:
        """Start the sums of reports that a pair's leakage is estimated from."""
        self.forms = informative_forms(plan, names, margins=True)
        self.sizes = np.zeros(GROUPS)
        self.people = 0
        self.sums = np.zeros((GROUPS, *(plan.domain[name].size + 1 for name in names)))

    def add(self, index: int, reports: Sequence[Any], weights: Floats | None) -> None:
        """Add reports of one form to the sums of a pair's leakage; weights are not
        counted.
        """
        vectors = self.forms[index]
        precision = 1.0 / (self.forms[index].variance or 1.0)
        for group in range(GROUPS):
            rows = slice((group - self.people) % GROUPS, None, GROUPS)
            part = [column[rows] for column in reports]
            if len(part[0]):
                distinct, counts, _ = vectors.distinct(part, None)
                self.sizes[group] += precision * counts.sum()
                added = counts @ vectors.vectors(distinct)
                self.sums[group] += precision * added.reshape(self.sums[group].shape)
        self.people += len(reports[0])

    def terms(self, *, transposed: bool = False) -> PairTerms:
        """Return the terms of groups that have reports, of a pair's leakage;
        `transposed` if the source is first.
        """
        cells = self.sums
        if transposed:
            cells = cells.swapaxes(1, 2)
        terms = PairTerms(cells[:, 1:, 1:], cells[:, 1:, 0], self.sizes)
        return terms.select(self.sizes > 0)


class Limits(NamedTuple):
    """A leakage and its limits, or those of l(x, x', S) by x' and S, shape (targets,
    sets).
    """

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
    contains_all = sets.kind == "subsets" and sets.size >= sources
    if targets < 2 or sources < 2 or sets.contrast == 0 or contains_all:
        return Limits(0.0, 0.0, 0.0)  # nothing leaks
    if groups < MIN_GROUPS:
        return Limits(0.0, 0.0, sets.contrast)
    alpha = 1.0 - confidence
    upper = _upper_limit(terms, sets, alpha / 2)
    even = terms.select(slice(None, None, 2))
    odd = terms.select(slice(1, None, 2))
    fits = [
        _cross_fit(even, odd, sets, alpha / 4),
        _cross_fit(odd, even, sets, alpha / 4),
    ]
    lower = max(0.0, *(limits.lower.item() for limits in fits))
    upper = max(lower, min(upper, sets.contrast))
    mean = float(np.mean([limits.estimate.item() for limits in fits]))
    return Limits(min(max(mean, lower), upper), lower, upper)


def _upper_limit(terms: PairTerms, sets: LikelySets, level: float) -> float:
    """Return the largest upper limit of a leakage l(x, x', S) from reports, at a
    one-sided level.
    """
    largest = -np.inf
    for x in range(terms.marginal.shape[1]):
        limits = _limits(terms, x, _orders(terms, x, sets), sets, level)
        largest = max(largest, float(limits.upper.max()))
    return largest


def _cross_fit(
    selecting: PairTerms, evaluating: PairTerms, sets: LikelySets, level: float
) -> Limits:
    """Return the limits of l(x, x', S) from reports, evaluated on one half, selected on
    the other half.

    Selected is the (x, x', S) with the largest lower limit.
    """
    largest = -np.inf
    argmax = (0, 0, 0)
    for x in range(selecting.marginal.shape[1]):
        lower = _limits(selecting, x, _orders(selecting, x, sets), sets, level).lower
        other, last = divmod(int(lower.argmax()), lower.shape[1])
        if lower[other, last] > largest:
            largest = float(lower[other, last])
            argmax = (x, other, last)
    x, other, last = argmax
    limits = _limits(evaluating, x, _orders(selecting, x, sets), sets, level)
    return Limits(
        estimate=limits.estimate[other, last],
        lower=limits.lower[other, last],
        upper=limits.upper[other, last],
    )


def _orders(terms: PairTerms, x: int, sets: LikelySets) -> Integers:
    """Return for each x' an order of the source values: the set of largest leakage is a
    prefix.

    For sets of any size, by decreasing likelihood ratio of x against x'; for sets of
    one size, the best set comes first [`seepage.leakage.dinkelbach`].
    """
    correlation = terms.correlation()
    if sets.kind == "singletons":
        return np.broadcast_to(np.arange(correlation.shape[1]), correlation.shape)
    gap = correlation[x] - correlation
    if sets.kind == "all":
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.argsort(
                np.where(gap > 0, correlation / gap, np.inf), axis=1, kind="stable"
            )
    likely = sets.best_of_pairs(correlation[x], correlation)[1]
    return np.argsort(~likely, axis=1, kind="stable")


def _limits(
    terms: PairTerms, x: int, orders: Integers, sets: LikelySets, level: float
) -> Limits:
    """Return estimates and limits of the leakage l(x, x', S) for every x' and S, at a
    one-sided level.
    """
    minimum = np.exp(-sets.contrast)
    maximum = np.exp(sets.contrast)

    def ratio_parts(part: PairTerms) -> tuple[Floats, Floats, Floats, Floats]:
        """Return N and D of the leakage's ratio N / D, and their deviations by group of
        reports.
        """
        whole = part.marginal[:, :, None]
        numerator = minimum * whole + (1.0 - minimum) * _set_sums(part, orders, sets)
        total = whole.sum(axis=0)
        clipped = np.clip(numerator.sum(axis=0), minimum * total, total)
        return (
            clipped,
            total,
            _deviations(numerator, terms.sizes),
            _deviations(whole, terms.sizes),
        )

    only_x = PairTerms(
        terms.joint[:, x : x + 1], terms.marginal[:, x : x + 1], terms.sizes
    )
    n_x, d_x, change_n_x, change_d_x = ratio_parts(only_x)
    n, d, change_n, change_d = ratio_parts(terms)
    above = n_x * d
    below = n * d_x
    rises = change_n_x * d + n_x * change_d
    falls = change_n * d_x + n * change_d_x
    low, high = np.clip(_fieller(below, above, falls, rises, level), minimum, maximum)
    ratio = np.divide(above, below, out=np.ones_like(above), where=below > 0)
    with np.errstate(divide="ignore"):
        limits = Limits(
            estimate=np.log(np.clip(ratio, low, high)),
            lower=np.log(low),
            upper=np.log(high),
        )
    for part in limits:
        part[x] = -np.inf
    return limits


def _deviations(groups: Floats, sizes: Floats) -> Floats:
    """Return the deviation of each group's sum of reports from its expectation, its
    share of the total.
    """
    return np.asarray(
        groups - sizes[:, None, None] * (groups.sum(axis=0) / sizes.sum())
    )


def _fieller(
    whole: Floats,
    part: Floats,
    deviations: Floats,
    part_deviations: Floats,
    level: float,
) -> tuple[Floats, Floats]:
    """Return the limits of a leakage's ratio part / whole [Fieller 1954]; infinite if
    the whole may be 0.

    A ratio r is within the limits if part - r whole does not differ from 0 in a t-test
    at this one-sided level, with the variance between groups.
    """
    from scipy.special import stdtrit

    groups = len(deviations)
    quantile = -float(stdtrit(groups - 1, level)) * (groups / (groups - 1)) ** 0.5
    limits = ratio_intervals(
        part,
        whole,
        aa=(part_deviations**2).sum(axis=0),
        am=(part_deviations * deviations).sum(axis=0),
        mm=(deviations**2).sum(axis=0),
        sampling=0.0,
        quantile=quantile,
    )
    return limits[..., 0], limits[..., 1]


def _set_sums(terms: PairTerms, orders: Integers, sets: LikelySets) -> Floats:
    """Return the sums of F_x(S) by group of reports, shape (groups, targets, sets)."""
    if sets.kind == "singletons":
        return terms.joint
    ordered = np.take_along_axis(terms.joint, orders[None], axis=2)
    prefixes: Floats = ordered.cumsum(axis=2)
    if sets.kind == "all":
        return prefixes
    return prefixes[:, :, sets.size - 1 : sets.size]


# All pairs ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class ReportAnalysis(Result):
    """The leakage of every source about every target, estimated from reports.

    Only pairs that some form asks for together, and sources with a report of their own.

    Parameters
    ----------
    leaks
        The leakages by the names of target and source.  Each is cross-fitted, so not
        biased upward, without values too rare to distinguish, and has its own
        confidence limits; an upper limit of epsilon means that the reports do not
        exclude the largest possible leakage.
    confidence
        The coverage probability of each interval.
    releases
        The release of each attribute that is estimated, by the form with the largest
        budget for it.
    records
        The number of reports.
    """

    leaks: Mapping[tuple[str, str], Leak]
    confidence: float
    releases: Mapping[str, Release]
    records: int

    def __getitem__(self, pair: tuple[str, str]) -> Leak:
        """Return the leakage about a target from a source that reports show, with its
        limits.
        """
        names = tuple(checks.texts(pair, "the pair"))
        if len(names) != 2:
            raise InputError(
                "leakages are indexed by a target and a source, as in [target, "
                f"source], got {checks.shown(pair)}"
            )
        target, source = names
        if (target, source) not in self.leaks:
            raise InputError(
                f"the leakage about {target!r} from {source!r} is not estimated"
            )
        return self.leaks[target, source]

    def strongest(self, count: int = 10) -> list[Leak]:
        """Return the leaks that reports show with the largest lower confidence
        limits.
        """
        ordered = sorted(
            self.leaks.values(), key=lambda leak: (-leak.lower, -leak.leakage)
        )
        return ordered[: checks.integer(count, "count", 0)]

    def _headline(self) -> str:
        """Return the leakages estimated from reports in one line."""
        largest = max((leak.leakage for leak in self.leaks.values()), default=0.0)
        return (
            f"ReportAnalysis({self.records:,} reports, {len(self.releases)} "
            f"attributes, largest change of odds {odds_above(largest)})"
        )

    UPPER_NATS = ("leakage", "upper")
    LOWER_NATS = ("lower",)

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the columns of the leakages estimated from reports in long form."""
        leaks = self.leaks.values()
        releases = [self.releases[leak.source] for leak in leaks]
        return {
            "target": [leak.target for leak in leaks],
            "source": [leak.source for leak in leaks],
            "epsilon": [release.epsilon for release in releases],
            "mechanism": [release.name for release in releases],
            "leakage": [leak.leakage for leak in leaks],
            "lower": [leak.lower for leak in leaks],
            "upper": [leak.upper for leak in leaks],
        }


def analyse_reports(
    plan: PlanContent, reports: Any, *, confidence: float = 0.95
) -> ReportAnalysis:
    """Return the leakage of every attribute about every other that some form asks for
    with it, from reports alone.

    Parameters
    ----------
    plan, reports
        The plan, and its reports, see `Plan.estimate`.
    confidence
        The coverage probability of each interval.

    Notes
    -----
    One pass; then O(g m^2 t) for each ordered pair with m and t values and up to 64
    groups g.

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
    level = checks.inner_probability(confidence, "confidence")
    source = open_reports(plan, reports)
    names = plan.collected.names
    if sum(plan.domain[name].size for name in names) > MAX_VALUES:
        raise InputError(
            f"the attributes must have at most {MAX_VALUES:,} values in all"
        )
    terms = _pair_terms(plan, source)
    releases = {name: _release(plan, name) for name in names}
    leaks = {}
    for target, source_name in permutations(names, 2):
        release = releases[source_name]
        pair = (target, source_name)
        if pair in terms and release.mechanism is not None:
            # A mechanism that does not state its likely sets may have any set.
            sets = release.sets("report") or LikelySets("all", release.epsilon)
            value, low, high = leakage_interval(terms[pair], sets, level)
            leaks[pair] = Leak(target, source_name, value, (low, high))
    if not leaks and len(names) > 1:
        raise InputError(
            "no two attributes are asked together, so no leakage can be estimated"
        )
    return ReportAnalysis(leaks, level, releases, source.records)


def _pair_terms(
    plan: PlanContent, source: ReportSource
) -> dict[tuple[str, str], PairTerms]:
    """Return the terms of the leakage of each ordered pair of attributes that a form
    asks for together.
    """
    pairs = list(combinations(plan.collected.names, 2))
    sums = {pair: PairSums(plan, pair) for pair in pairs}
    add_reports(source, list(sums.values()))
    terms = {}
    for (first, second), of_pair in sums.items():
        if of_pair.people:
            terms[first, second] = of_pair.terms()
            terms[second, first] = of_pair.terms(transposed=True)
    return terms


def _release(plan: PlanContent, name: str) -> Release:
    """Return the release of a leakage by the form with the largest budget; none if only
    matrix forms ask.
    """
    mechanisms = [form[name] for form in plan.form_mechanisms if name in form]
    if not mechanisms:
        return Release(plan[name].epsilon)
    largest = max(mechanisms, key=lambda mechanism: mechanism.epsilon)
    return Release(largest.epsilon, largest.delta, largest)
