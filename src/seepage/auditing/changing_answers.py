"""Stored reports of answers that change: what repeating them reveals.

A client that stores one report for each value and repeats it sends another report once
the answer changes: two different reports prove that it did.  With the rates of change
of a Markov chain, M[x, x'] = P(next answer x' given x), the leakage of all reports
y = (y_1, ..., y_T) about the answer x_t of round t is

    max over y, x, x' of ln P(y given x_t = x) / P(y given x_t = x'),

where the reports R(v) of the values v are drawn once and independently: y_t = R(x_t).
It is infinite where a value cannot be left, or cannot be reached [audit: Formulas].

A second level (RAPPOR) draws each report anew from the stored response.  What one bit
of these reports tells about the path p = (x_1, ..., x_T) of the answers is, whatever
makes them change,

    max over y, p, p' of ln P(y given p) / P(y given p').

P(y given p) is a product over values: with n rounds of a value, a of them with a 1,
the factor is sum_b P(b) P(1 given b)^a P(0 given b)^(n - a).  So it depends on counts
alone, and for two values it is found in O(T^3).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.linalg import matrix_power
from scipy.special import xlogy

from seepage._core.arrays import Floats
from seepage._core.errors import InputError, escaped
from seepage._core.odds import odds_at_least
from seepage.auditing.exact_audit import ExactPrivacy
from seepage.mechanisms.published_randomiser import AnswerChanges, RandomisedAttribute
from seepage.mechanisms.rappor import BasicRAPPOR

MAX_SEQUENCES = 1 << 18
"""Maximum number of probabilities of sequences of reports with first and last answers.
"""


MAX_PATH_ROUNDS = 200
"""Rounds from which on the total about a path is that of so many."""


# One level: a stored report for each value --------------------------------------------


@dataclass(frozen=True, eq=False)
class RepeatedReports:
    """The reports of one person over all rounds, a stored one for each value.

    Parameters
    ----------
    given_first, given_last
        P(reports given the answer of the first round, and given that of the last), one
        row for each value, one column for each sequence of reports.
    revealed
        The share of people whose reports differ, which proves that the answer changed.
    """

    given_first: Floats
    given_last: Floats
    revealed: float


def repeated_reports(
    channel: Floats, changes: AnswerChanges, rounds: int
) -> RepeatedReports:
    """Return P(stored reports that are repeated over rounds, given changing answers).

    Parameters
    ----------
    channel
        P(report given value), one row for each value.
    changes
        How answers change.
    rounds
        The number T of reports of a person.

    Notes
    -----
    All sequences of m different reports, for every assignment of stored reports to k
    values: O(m^(T + k) k^3).  A sequence is the digits of a number to the base m.

    Examples
    --------
    An illness: 2 % of the healthy fall ill between two rounds, and nobody recovers.

    >>> epsilon_1 = np.array([[0.731, 0.269], [0.269, 0.731]])
    >>> falling_ill = np.array([[0.98, 0.02], [0.0, 1.0]])
    >>> illness = AnswerChanges(falling_ill, start=np.array([0.9, 0.1]))
    >>> round(repeated_reports(epsilon_1, illness, 4).revealed, 3)
    0.032
    """
    k, m = channel.shape
    if k * k * float(m) ** rounds > MAX_SEQUENCES or float(m) ** k > MAX_SEQUENCES:
        raise InputError(
            f"{k} values, {m} reports and {rounds} rounds have too many sequences of "
            "reports for what changes of answers reveal"
        )
    joint = np.zeros((k, m**rounds, k))
    for stored in product(range(m), repeat=k):
        probability = math.prod(channel[range(k), stored].tolist())
        if probability > 0:
            joint += probability * _joint_given_stored(
                stored, m, changes.matrix, rounds
            )
    given_first = joint.sum(axis=2)
    with_last = np.einsum("x,xyz->zy", changes.start, joint)
    shares = with_last.sum(axis=1, keepdims=True)
    occurs = shares.ravel() > 0
    constant = [_constant_sequence(report, m, rounds) for report in range(m)]
    unchanged = float((changes.start @ given_first)[constant].sum())
    return RepeatedReports(
        given_first=given_first,
        given_last=with_last[occurs] / shares[occurs],
        revealed=max(0.0, 1.0 - unchanged),
    )


def _joint_given_stored(
    stored: Sequence[int], m: int, changes: Floats, rounds: int
) -> Floats:
    """Return P(reports, last answer given first answer) of a changing answer, for
    stored reports of all values.

    Axes: the first answer; the reports, as the digits of a number to the base m; the
    last answer.
    """
    k = len(stored)
    joint = np.zeros((k, m, k))
    joint[range(k), stored, range(k)] = 1.0
    for _ in range(rounds - 1):
        moved = joint @ changes
        joint = np.zeros((k, moved.shape[1], m, k))
        for value, report in enumerate(stored):
            joint[:, :, report, value] = moved[:, :, value]
        joint = joint.reshape(k, -1, k)
    return joint


def _constant_sequence(report: int, m: int, rounds: int) -> int:
    """Return one report for all rounds of a changing answer, a number to the base m."""
    return sum(report * m**place for place in range(rounds))


def privacy_of_changes(attribute: RandomisedAttribute, rounds: int) -> ExactPrivacy:
    """Return the privacy of repeated reports about a changing answer of the first or
    the last round, whichever they tell more about.
    """
    assert attribute.changes is not None
    repeated = _repeated(attribute, rounds)
    sequences = list(product(attribute.reports, repeat=rounds))
    reports = tuple(", ".join(sequence) for sequence in sequences)
    occurs = attribute.changes.start @ matrix_power(
        attribute.changes.matrix, rounds - 1
    )
    values = np.array(attribute.values)
    first = _privacy(attribute.name, attribute.values, reports, repeated.given_first)
    last = _privacy(
        attribute.name, values[occurs > 0].tolist(), reports, repeated.given_last
    )
    return max(first, last, key=lambda privacy: privacy.pure)


def _repeated(attribute: RandomisedAttribute, rounds: int) -> RepeatedReports:
    """Return the repeated reports of an attribute whose answers change; raise where
    they have no matrix.
    """
    assert attribute.changes is not None
    if isinstance(attribute.mechanism, BasicRAPPOR) or attribute.channel is None:
        raise InputError(
            f"{attribute.name!r} must have no changes: they are for one report of few "
            "values that is stored for each value"
        )
    return repeated_reports(attribute.channel, attribute.changes, rounds)


def _privacy(
    name: str, values: Sequence[str], reports: tuple[str, ...], channel: Floats
) -> ExactPrivacy:
    """Return the privacy of one report of an answer that changes."""
    repeated = RandomisedAttribute(name, tuple(values), reports, channel)
    return ExactPrivacy(repeated, 1, memoised=False)


# Two levels: reports drawn anew from a stored response --------------------------------


@dataclass(frozen=True)
class StoredBit:
    """A bit that is stored for each value, and reported with new noise in each round.

    Parameters
    ----------
    flip
        The probability that the stored bit is not the true one.
    one_if_zero, one_if_one
        The probability of a reported 1, if the stored bit is 0 and if it is 1.
    """

    flip: float
    one_if_zero: float
    one_if_one: float

    def path_total(self, rounds: int) -> float:
        """Return what all reports of one bit tell about the path of an answer that
        changes between two values, however it changes.

        Examples
        --------
        >>> e = math.e
        >>> bit = StoredBit(1 / (1 + e**2), 1 / (1 + e), e / (1 + e))  # 2 and 1 nats
        >>> round(bit.path_total(4), 2), round(bit.path_total(12), 2)
        (2.65, 6.61)
        """
        rounds = min(rounds, MAX_PATH_ROUNDS)
        true = self._log_likelihoods(1 - self.flip, rounds)
        other = self._log_likelihoods(self.flip, rounds)
        return max(_path_ratio(true, other, ones) for ones in range(rounds + 1))

    def _log_likelihoods(self, stored_one: float, rounds: int) -> Floats:
        """Return ln P(a given 1 in n rounds of a changing answer) by n and a <= n."""
        n, ones = np.indices((rounds + 1, rounds + 1))
        zeros = np.maximum(n - ones, 0)
        if_one = xlogy(ones, self.one_if_one) + xlogy(zeros, 1 - self.one_if_one)
        if_zero = xlogy(ones, self.one_if_zero) + xlogy(zeros, 1 - self.one_if_zero)
        with np.errstate(divide="ignore"):
            weights = np.log([stored_one, 1 - stored_one])
        return np.asarray(np.logaddexp(weights[0] + if_one, weights[1] + if_zero))


def _path_ratio(true: Floats, other: Floats, ones: int) -> float:
    """Return the largest log-ratio of two paths of a changing answer, for reports with
    so many 1.
    """
    rounds = len(true) - 1
    n, a = np.indices((rounds + 1, rounds + 1))
    possible = (a <= n) & (a <= ones) & (ones - a <= rounds - n)
    n = n[possible]
    a = a[possible]
    paths = true[n, a] + other[rounds - n, ones - a]
    if paths.max() == -math.inf:
        return 0.0
    return float(paths.max() - paths.min())


# In words -----------------------------------------------------------------------------


def change_note(attribute: RandomisedAttribute, rounds: int) -> str:
    """Return what repeating a stored report reveals once the answer changes."""
    name = escaped(attribute.name)
    mechanism = attribute.mechanism
    if isinstance(mechanism, BasicRAPPOR):
        bit = StoredBit(mechanism.f / 2, mechanism.p, mechanism.q)
        odds = odds_at_least(bit.path_total(rounds))
        return (
            f"{name}: this holds only while answers do not change; however they move, "
            f"one bit of all {rounds} reports changes the odds about when at least "
            f"{odds} times"
        )
    if attribute.changes is None:
        return (
            f"{name}: this holds only while answers do not change; a second stored "
            "report reveals that the answer changed, and epsilon is infinite for a "
            "value that cannot be left (the keys changes and start say how answers "
            "change)"
        )
    share = _repeated(attribute, rounds).revealed
    return (
        f"{name}: answers change, so {share:.1%} of people send two different stored "
        "reports, which proves that their answer changed; epsilon is that about the "
        "answer of the first or the last round"
    )
