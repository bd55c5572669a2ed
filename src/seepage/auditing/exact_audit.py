"""Exact epsilon and delta of published parameters, over all rounds of one attribute."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce

import numpy as np

from seepage._core.arrays import Floats
from seepage._core.log_ratios import LARGE_EPSILON
from seepage._core.rounding import UNIT, round_down, summed_up
from seepage.auditing.claims import AuditedClaim, likelihood_ratio
from seepage.leakage.delta import budget_profile, delta_of_reports
from seepage.leakage.exact_leakage import exact_leakage
from seepage.leakage.leakage import Leakage
from seepage.mechanisms.exact_probabilities import float_above
from seepage.mechanisms.gaussian import Gaussian
from seepage.mechanisms.published_randomiser import RandomisedAttribute
from seepage.mechanisms.rappor import MAX_COUNTED, BasicRAPPOR

MAX_BITS = 22.0
"""Binary logarithm of the maximum number of cells of the matrix of all reports of a
person."""


MAX_PRODUCT = 1 << 26
"""Maximum number of cells times rows of the matrix of all reports of several
attributes."""


ROUNDS = 60
"""Bisections of epsilon at a given delta."""


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The outcomes of one report in words, and P(outcome given value).

    Parameters
    ----------
    names
        The outcomes in words.
    matrix
        One row per value, one column per outcome.
    """

    names: Sequence[str]
    matrix: Floats

    @property
    def leakage(self) -> Leakage:
        """The largest log-ratio of a column of an exact audit, with its outcome and
        values.
        """
        return exact_leakage(np.eye(len(self.matrix)), self.matrix)


@dataclass(frozen=True)
class RealisedDelta:
    """A delta that holds with an epsilon, and whether it is the smallest one."""

    value: float
    is_exact: bool


class ExactPrivacy:
    """Epsilon and delta of all reports of one attribute [audit: Formulas].

    Parameters
    ----------
    attribute
        How it is randomised.
    rounds, memoised
        The number of linked reports, and whether all repeat a stored one.  RAPPOR
        stores the permanent response, so that its memoised reports are
        `BasicRAPPOR.epsilon_after`.
    """

    def __init__(
        self, attribute: RandomisedAttribute, rounds: int, memoised: bool
    ) -> None:
        """Compute the exact privacy of an attribute with published parameters."""
        self.attribute = attribute
        if memoised:
            self.stored = rounds
            self.repeats = attribute.copies
        else:
            self.stored = 1
            self.repeats = attribute.copies * rounds

    @property
    def permanent(self) -> bool:
        """Whether several exactly audited reports repeat a stored response with new
        noise.
        """
        return self.stored > 1 and isinstance(self.attribute.mechanism, BasicRAPPOR)

    @cached_property
    def _outcomes(self) -> Outcomes | None:
        """The outcomes of one exactly audited report, for the values that decide; None
        if they are too many.
        """
        attribute = self.attribute
        if attribute.pair is None:
            if attribute.channel is None:
                return None
            return Outcomes(attribute.reports, attribute.channel)
        first, second = attribute.values[:2]
        supported = (
            f"{first} and {second}",
            f"{first} and not {second}",
            f"{second} and not {first}",
            f"neither {first} nor {second}",
        )
        names = [f"that supports {values}" for values in supported]
        return Outcomes(names, attribute.pair)

    @cached_property
    def one_report(self) -> float:
        """The exact epsilon of one audited outcome: the largest log-ratio, rounded
        up.
        """
        mechanism = self.attribute.mechanism
        if mechanism is None:
            assert self._outcomes is not None
            return self._outcomes.leakage.value
        if isinstance(mechanism, BasicRAPPOR):
            return mechanism.epsilon_after(self.stored)
        if mechanism.likely_sets:
            return mechanism.likely_sets.contrast
        return mechanism.pure_leakage(np.eye(mechanism.k)).value

    @cached_property
    def pure(self) -> float:
        """The exact epsilon of all audited reports with delta 0: infinite where a
        report excludes a value.
        """
        if self.repeats == 1 or math.isinf(self.one_report):
            return self.one_report
        return float_above(self.repeats * Fraction(self.one_report))

    @cached_property
    def all_reports(self) -> Floats | None:
        """P(outcomes of all reports given value) of an exact audit, where that matrix
        is small.
        """
        if self.permanent:
            once = self._ones_of_two_bits()
        elif self._outcomes is not None:
            once = self._outcomes.matrix
        else:
            once = None
        if once is None:
            return None
        if self.repeats == 1:
            return once
        rows, columns = once.shape
        if math.log2(rows) + self.repeats * math.log2(columns) > MAX_BITS:
            return None
        product = once
        for _ in range(self.repeats - 1):
            product = (product[:, :, None] * once[:, None]).reshape(rows, -1)
        return product

    def _ones_of_two_bits(self) -> Floats | None:
        """Return the exact P(numbers of 1s in two audited bits given the one value or
        the other).

        The other bits have one distribution under both, and the order of reports that
        repeat a stored bit tells nothing.  None if there are too many numbers.
        """
        mechanism = self.attribute.mechanism
        assert isinstance(mechanism, BasicRAPPOR)
        numbers = (self.stored + 1) ** 2
        if self.stored > MAX_COUNTED or math.log2(2 * numbers) > MAX_BITS:
            return None
        true, other = mechanism.counts_of_ones(self.stored)
        return np.stack([np.outer(true, other).ravel(), np.outer(other, true).ravel()])

    def delta(self, epsilon: float) -> RealisedDelta:
        """Return the smallest exact delta known to hold with this epsilon for an audit.

        Notes
        -----
        The hockey stick of the matrix of all reports (`delta_of_reports`); where that
        is too large, the largest delta of any mechanism with this pure epsilon
        (`budget_profile`).
        """
        if self.all_reports is not None:
            return RealisedDelta(self._hockey_stick(epsilon), is_exact=True)
        mechanism = self.attribute.mechanism
        if isinstance(mechanism, Gaussian) and self.repeats == 1:
            return RealisedDelta(mechanism.privacy_profile(epsilon), is_exact=True)
        bound = budget_profile(self.pure, 0.0, epsilon)
        return RealisedDelta(bound, is_exact=bound == 0)

    def _hockey_stick(self, epsilon: float) -> float:
        """Return the exact delta of all audited reports at an epsilon."""
        assert self.all_reports is not None
        return _hockey_stick(
            self.all_reports, pure=self.pure, factors=self.repeats, epsilon=epsilon
        )

    def claim(self, claim: float, delta: float) -> AuditedClaim:
        """Return the exact audit of a claim: what these parameters realise beside
        it.
        """
        realised = self.delta(claim)
        epsilon = self.epsilon(delta)
        is_exact = realised.is_exact or delta == 0
        return AuditedClaim(
            attribute=self.attribute.name,
            claim=claim,
            claimed_delta=delta,
            lower=epsilon if is_exact else 0.0,
            upper=epsilon,
            delta=realised.value,
            witness=self.witness(),
        )

    def epsilon(self, delta: float) -> float:
        """Return the smallest exact epsilon found with at most this delta for an audit,
        rounded up.
        """
        if delta == 0:
            return self.pure
        low = 0.0
        high = min(self.pure, LARGE_EPSILON)
        if self.delta(high).value > delta:
            return self.pure
        for _ in range(ROUNDS):
            middle = (low + high) / 2
            if self.delta(middle).value <= delta:
                high = middle
            else:
                low = middle
        return high

    def witness(self) -> str:
        """Return the most telling report of an exact audit in words."""
        report = "the most telling report"
        likelier = "one value"
        other = "another"
        if self._outcomes is not None:
            witness = self._outcomes.leakage.witness
            if witness is None:
                return "all reports are equally likely from all values"
            values = self.attribute.values
            report = f"a report {self._outcomes.names[witness.report]}"
            if self.permanent:
                report += f" in all {self.stored} rounds"
            likelier = f"value {values[int(witness.likelier)]}"
            other = f"value {values[int(witness.other)]}"
        if math.isinf(self.one_report):
            return f"{report} is possible from {likelier} and impossible from {other}"
        ratio = likelihood_ratio(self.one_report)
        sentence = (
            f"{report} is {ratio} times likelier from {likelier} than from {other}"
        )
        if self.repeats > 1:
            together = likelihood_ratio(self.pure)
            sentence += f", {self.repeats} such outcomes together {together} times"
        return sentence


def _hockey_stick(
    reports: Floats, *, pure: float, factors: int, epsilon: float
) -> float:
    """Return the exact delta of a matrix of audited reports at an epsilon, rounded up.

    Each of its cells is a product of so many `factors`, which have rounding errors.
    """
    delta = delta_of_reports(np.eye(len(reports)), reports, epsilon, pure)
    if delta == 0:
        return 0.0
    return min(1.0, delta + 8 * factors * UNIT)


# Several attributes -------------------------------------------------------------------


def record_delta(attributes: Sequence[ExactPrivacy], epsilon: float) -> float:
    """Return an upper bound on the delta of all reports of several exactly audited
    attributes at an epsilon.

    The hockey stick of the product of their matrices where that is small, else the
    smaller of two bounds: that of any mechanism with the sum of the pure epsilons, and
    the sum of the deltas at shares of epsilon in proportion to these (basic
    composition).
    """
    pure = summed_up(privacy.pure for privacy in attributes)
    if epsilon >= pure:
        return 0.0
    product = _product_matrix(attributes)
    if product is not None:
        repeats = sum(privacy.repeats for privacy in attributes)
        return _hockey_stick(product, pure=pure, factors=repeats, epsilon=epsilon)
    composed = _composed_delta(attributes, pure, epsilon)
    return min(composed, budget_profile(pure, 0.0, epsilon))


def _product_matrix(attributes: Sequence[ExactPrivacy]) -> Floats | None:
    """Return the exact P(audited reports of all attributes given their values), where
    that is small.
    """
    matrices = []
    for privacy in attributes:
        if privacy.all_reports is None:
            return None
        matrices.append(privacy.all_reports)
    cells = math.prod(float(matrix.size) for matrix in matrices)
    rows = math.prod(float(len(matrix)) for matrix in matrices)
    if cells * rows > MAX_PRODUCT:
        return None
    return reduce(lambda left, right: np.asarray(np.kron(left, right)), matrices)


def _composed_delta(
    attributes: Sequence[ExactPrivacy], pure: float, epsilon: float
) -> float:
    """Return the sum of the exact deltas of an audit at shares of epsilon in proportion
    to the pure epsilons.
    """
    deltas = []
    for privacy in attributes:
        share = 1 / len(attributes)
        if math.isfinite(pure):
            share = privacy.pure / pure
        deltas.append(privacy.delta(round_down(share * epsilon, 2)).value)
    return summed_up(deltas)
