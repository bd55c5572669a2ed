"""What samples of a randomiser prove of a claim.

The lower limit of epsilon [audit: Formulas] uses two values u, u' and a set S of
reports, chosen on one half of the samples and tested on the other, so that no union
over events is needed:

    epsilon >= ln (lower limit of P(S given u) - delta) / (upper limit of P(S given
    u')).

Every choice gives a valid limit; a good one gives a large limit (`event_search`).
"""

import math
from dataclasses import dataclass

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Booleans, Integers
from seepage._core.errors import InputError
from seepage._core.log_ratios import largest_log_ratio
from seepage._core.text import short_list
from seepage.auditing.claims import AuditedClaim, proven_likelihood_ratio
from seepage.auditing.event_search import EventSearch
from seepage.auditing.samples import Samples
from seepage.confidence.proportion_limits import clopper_pearson

MAX_EXPONENT = 700.0
"""Largest number whose exponential is taken: that of a larger one is no finite float.
"""


MAX_GROWTH = 1e6
"""Factor of samples from which on no number of further samples is stated."""


NOISE = 2.0
"""Standard errors of an estimate within which a claim cannot be told from it."""


@dataclass(frozen=True)
class EventFrequencies:
    """How often an event occurred in the second half of the samples.

    Parameters
    ----------
    hits, samples
        Occurrences and samples of the likelier value.
    other_hits, other_samples
        Those of the other value.
    lower
        Lower limit of the probability of the event given the likelier value.
    other_upper
        Upper limit of its probability given the other value.
    """

    hits: int
    samples: int
    other_hits: int
    other_samples: int
    lower: float
    other_upper: float

    @property
    def estimate(self) -> float:
        """The log-ratio of the two sampled frequencies of an event."""
        if self.hits == 0:
            return 0.0
        if self.other_hits == 0:
            return math.inf
        share = self.hits / self.samples
        other_share = self.other_hits / self.other_samples
        return math.log(share / other_share)

    @property
    def standard_error(self) -> float:
        """The standard error of the sampled estimate: sqrt((1 - p) / (n p) + (1 - q) /
        (m q)) of the two frequencies p and q; infinite where one is 0.
        """
        if not self.hits or not self.other_hits:
            return math.inf
        variance = 1 / self.hits - 1 / self.samples
        other_variance = 1 / self.other_hits - 1 / self.other_samples
        return math.sqrt(variance + other_variance)

    def is_within_noise(self, claim: float) -> bool:
        """Return whether a sampled estimate and a claim differ by at most `NOISE`
        standard errors.
        """
        if not self.hits or not self.other_hits:
            return False
        return abs(self.estimate - claim) <= NOISE * self.standard_error

    def epsilon(self, delta: float) -> float:
        """Return the lower limit of epsilon that the samples prove at a delta."""
        if self.lower <= delta:
            return 0.0
        return max(0.0, math.log((self.lower - delta) / self.other_upper))

    def delta(self, epsilon: float) -> float:
        """Return the lower limit of delta that the samples prove at an epsilon."""
        factor = math.exp(min(epsilon, MAX_EXPONENT))
        return max(0.0, self.lower - factor * self.other_upper)


def sampled_claim(
    name: str,
    samples: Samples,
    *,
    claim: float,
    delta: float,
    beta: float,
    rng: int,
) -> AuditedClaim:
    """Return what samples prove of a claim, wrong with probability at most beta on each
    side.

    The event is chosen on a random half of the samples.  O(n p + k^2 c) for n samples
    of p parts, k values and c categories in all parts.
    """
    level = math.log(2 / beta)
    enough = _values_with_enough(samples, level)
    search = EventSearch(samples, _first_half(samples, rng), level, delta)
    event = search.best(np.flatnonzero(enough))
    tested = _tested(
        search.tested(event, event.likelier), search.tested(event, event.other), level
    )
    lower = tested.epsilon(delta)
    upper = largest_possible(samples, beta)
    likelier = samples.values[event.likelier]
    other = samples.values[event.other]
    ratio = "not likelier"
    if lower:
        ratio = f"at least {proven_likelihood_ratio(lower)} times likelier"
    witness = (
        f"{search.words(event)} is {ratio} "
        f"from value {likelier} ({tested.hits:,} of {tested.samples:,} samples) "
        f"than from value {other} "
        f"({tested.other_hits:,} of {tested.other_samples:,} samples)"
    )
    if not enough.all():
        skipped = [samples.values[code] for code in np.flatnonzero(~enough)]
        named = short_list(skipped, 4)
        witness += f"; nothing is said of {named}, with too few samples"
    return AuditedClaim(
        attribute=name,
        claim=claim,
        claimed_delta=delta,
        lower=lower,
        upper=upper,
        delta=tested.delta(claim),
        witness=witness,
        needed=_further_samples(tested, claim, lower, upper),
        within_noise=tested.is_within_noise(claim),
        samples=len(samples.codes),
    )


def _values_with_enough(samples: Samples, level: float) -> Booleans:
    """Return which values have enough samples for any statement about a claim; raise
    unless two have.
    """
    fewest = 2 * math.floor(level / math.log(2)) + 2
    counts = np.bincount(samples.codes, minlength=len(samples.values))
    enough = np.asarray(counts >= fewest)
    if enough.sum() < 2:
        largest = np.sort(counts)[-2:][::-1].tolist()
        raise InputError(
            "too few samples for any statement: two values need at least "
            f"{fewest} each, got {largest}",
            parameter="samples",
        )
    return enough


def _first_half(samples: Samples, rng: int) -> Booleans:
    """Return a random half of the samples of each value."""
    order = checks.generator(rng).permutation(len(samples.codes))
    by_value: Integers = order[np.argsort(samples.codes[order], kind="stable")]
    first = np.zeros(len(order), dtype=np.bool_)
    first[by_value[::2]] = True
    return first


def _tested(inside: Booleans, other_inside: Booleans, level: float) -> EventFrequencies:
    """Return the limits of an event of a claim that occurred in some samples of two
    values.
    """
    hits = [int(inside.sum()), int(other_inside.sum())]
    totals = [len(inside), len(other_inside)]
    limits = clopper_pearson(hits, totals, level)
    return EventFrequencies(
        hits=hits[0],
        samples=totals[0],
        other_hits=hits[1],
        other_samples=totals[1],
        lower=float(limits.lower[0]),
        other_upper=float(limits.upper[1]),
    )


def _further_samples(
    tested: EventFrequencies, claim: float, lower: float, upper: float
) -> int | None:
    """Return how many more samples per value would decide a claim; None if unknown.

    The distance of the estimate from a limit, `lower` or `upper`, decreases with the
    square root of the samples; it must become that of the estimate from the claim.
    Within the noise of the estimate nothing is known of that distance.
    """
    if tested.is_within_noise(claim):
        return None
    excess = tested.estimate - claim
    width = upper - tested.estimate
    if excess > 0:
        width = tested.estimate - lower
    if not excess or not 0 < width < math.inf:
        return None
    growth = (width / excess) ** 2
    if growth >= MAX_GROWTH:
        return None
    smaller = min(tested.samples, tested.other_samples)
    return math.ceil(2 * smaller * max(0.0, growth - 1))


def largest_possible(samples: Samples, beta: float) -> float:
    """Return the upper limit of epsilon that samples of a known finite set of reports
    leave.

    ln max over reports y and values u != u' of upper(y given u) / lower(y given u'),
    the limits of all cells valid at once with probability 1 - beta; infinite where a
    count is 0.
    """
    table = samples.table
    if table is None:
        return math.inf
    totals = table.sum(axis=1, keepdims=True)
    limits = clopper_pearson(table, totals, math.log(2 * table.size / beta))
    largest = largest_log_ratio(limits.upper.T, limits.lower.T, np.array([0]), 0.0)
    return float(largest[0])
