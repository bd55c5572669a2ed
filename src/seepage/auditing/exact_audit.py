"""Exact epsilon and delta of published parameters, over all rounds of one attribute."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, reduce

import numpy as np

from seepage._core.arrays import Floats
from seepage._core.log_ratios import LARGE_EPSILON
from seepage._core.rounding import UNIT, round_down, summed_up
from seepage.auditing.claims import AuditedClaim, factor
from seepage.leakage.delta import budget_profile, delta_at
from seepage.leakage.exact_leakage import exact_leakage
from seepage.mechanisms.exact_probabilities import float_above
from seepage.mechanisms.gaussian import Gaussian
from seepage.mechanisms.randomiser import RandomisedAttribute
from seepage.mechanisms.unary import BasicRAPPOR

MAX_BITS = 22.0
"""Binary logarithm of the maximum number of cells of the matrix of all reports of a
person."""


MAX_PRODUCT = 1 << 26
"""Maximum number of cells times rows of the matrix of all reports of several
attributes."""


ROUNDS = 60
"""Bisections of epsilon at a given delta."""


class ExactPrivacy:
    """Epsilon and delta of all reports of one attribute [theory: Audits].

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
        self.attribute = attribute
        self.stored = rounds if memoised else 1
        self.repeats = attribute.copies * (1 if memoised else rounds)

    @property
    def permanent(self) -> bool:
        """Whether several reports repeat a stored response with new noise."""
        return self.stored > 1 and isinstance(self.attribute.mechanism, BasicRAPPOR)

    @cached_property
    def _decisive(self) -> tuple[Sequence[str], Floats] | None:
        """The outcomes of one report and P(outcome given value), for the values that
        decide.
        """
        if self.attribute.pair is None:
            channel = self.attribute.channel
            return None if channel is None else (self.attribute.reports, channel)
        u, v = self.attribute.values[:2]
        words = (
            f"{u} and {v}",
            f"{u} and not {v}",
            f"{v} and not {u}",
            f"neither {u} nor {v}",
        )
        return [f"that supports {which}" for which in words], self.attribute.pair

    @cached_property
    def one_report(self) -> float:
        """The epsilon of one outcome: the largest log-ratio, rounded up."""
        mechanism = self.attribute.mechanism
        if mechanism is None:
            assert self._decisive is not None
            matrix = self._decisive[1]
            return exact_leakage(np.eye(len(matrix)), matrix).value
        if isinstance(mechanism, BasicRAPPOR):
            return mechanism.epsilon_after(self.stored)
        sets = mechanism.likely_sets
        return (
            sets.contrast if sets else mechanism.pure_leakage(np.eye(mechanism.k)).value
        )

    @cached_property
    def pure(self) -> float:
        """The epsilon of all reports with delta 0: infinite where a report excludes a
        value.
        """
        if self.repeats == 1 or math.isinf(self.one_report):
            return self.one_report
        return float_above(self.repeats * Fraction(self.one_report))

    @cached_property
    def all_reports(self) -> Floats | None:
        """P(outcomes of all reports given value), where that matrix is small."""
        if self._decisive is None or self.permanent:
            return None
        one = self._decisive[1]
        if math.log2(len(one)) + self.repeats * math.log2(one.shape[1]) > MAX_BITS:
            return one if self.repeats == 1 else None
        product = one
        for _ in range(self.repeats - 1):
            product = (product[:, :, None] * one[:, None]).reshape(len(one), -1)
        return product

    def delta(self, epsilon: float) -> tuple[float, bool]:
        """Return the smallest delta known to hold with this epsilon, and whether it is
        exact.

        Notes
        -----
        The hockey stick of the matrix of all reports (`delta_at`); where that is too large, the
        largest delta of any mechanism with this pure epsilon (`budget_profile`).
        """
        mechanism = self.attribute.mechanism
        if self.all_reports is not None:
            return _hockey_stick(
                self.all_reports, self.pure, self.repeats, epsilon
            ), True
        if isinstance(mechanism, Gaussian) and self.repeats == 1:
            return mechanism.privacy_profile(epsilon), True
        bound = budget_profile(self.pure, 0.0, epsilon)
        return bound, bound == 0

    def claim(self, claim: float, delta: float) -> AuditedClaim:
        """Return what these parameters realise beside a claim."""
        realised, known = self.delta(claim)
        epsilon = self.epsilon(delta)
        lower = epsilon if known or not delta else 0.0
        name = self.attribute.name
        return AuditedClaim(
            name, claim, delta, lower, epsilon, realised, self.witness()
        )

    def epsilon(self, delta: float) -> float:
        """Return the smallest epsilon found with at most this delta, rounded up."""
        low = 0.0
        high = min(self.pure, LARGE_EPSILON)
        if delta == 0 or self.delta(high)[0] > delta:
            return self.pure
        for _ in range(ROUNDS):
            middle = (low + high) / 2
            low, high = (
                (low, middle) if self.delta(middle)[0] <= delta else (middle, high)
            )
        return high

    def witness(self) -> str:
        """Return the most telling report in words."""
        values = self.attribute.values
        told = ("the most telling report", "one value", "another")
        if self._decisive is not None:
            outcomes, matrix = self._decisive
            found = exact_leakage(np.eye(len(matrix)), matrix).witness
            if found is None:
                return "all reports are equally likely from all values"
            often = f" in all {self.stored} rounds" if self.permanent else ""
            told = (
                f"a report {outcomes[found.report]}{often}",
                f"value {values[int(found.likelier)]}",
                f"value {values[int(found.other)]}",
            )
        if math.isinf(self.one_report):
            return "{} is possible from {} and impossible from {}".format(*told)
        times = f"{factor(self.one_report)} times likelier"
        sentence = f"{told[0]} is {times} from {told[1]} than from {told[2]}"
        if self.repeats > 1:
            sentence += (
                f", {self.repeats} such outcomes together {factor(self.pure)} times"
            )
        return sentence


def _hockey_stick(reports: Floats, pure: float, repeats: int, epsilon: float) -> float:
    """Return the delta of a matrix whose cells are products of so many numbers, rounded
    up.
    """
    found = delta_at(np.eye(len(reports)), pure, reports, epsilon)
    return min(1.0, found + 8 * repeats * UNIT) if found else 0.0


def record_delta(parts: Sequence[ExactPrivacy], epsilon: float) -> float:
    """Return an upper bound on the delta of all reports of several attributes at an
    epsilon.

    The hockey stick of the product of their matrices where that is small, else the
    smaller of two bounds: that of any mechanism with the sum of the pure epsilons, and
    the sum of the deltas at shares of epsilon in proportion to these (basic
    composition).
    """
    pure = summed_up(one.pure for one in parts)
    if epsilon >= pure:
        return 0.0
    matrices = [one.all_reports for one in parts if one.all_reports is not None]
    cells = math.prod(float(one.size) for one in matrices)
    rows = math.prod(float(len(one)) for one in matrices)
    if len(matrices) == len(parts) and cells * rows <= MAX_PRODUCT:
        product = reduce(lambda one, other: np.asarray(np.kron(one, other)), matrices)
        return _hockey_stick(product, pure, sum(one.repeats for one in parts), epsilon)
    shares = [
        one.pure / pure if math.isfinite(pure) else 1 / len(parts) for one in parts
    ]
    composed = summed_up(
        one.delta(round_down(share * epsilon, 2))[0]
        for one, share in zip(parts, shares, strict=True)
    )
    return min(composed, budget_profile(pure, 0.0, epsilon))
