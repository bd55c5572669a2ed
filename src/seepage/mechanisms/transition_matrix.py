"""Mechanisms given by a transition matrix, drawn from exact integer thresholds."""

import hashlib
import math
from abc import abstractmethod
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from seepage._core import checks
from seepage._core.arrays import Booleans, Floats, Integers
from seepage._core.errors import InputError
from seepage._core.nearest_distribution import nearest_distribution
from seepage._core.rounding import UNIT
from seepage.channel.channel import Channel, as_matrix
from seepage.leakage.delta import delta_of_reports
from seepage.leakage.exact_leakage import largest_mixed_ratio
from seepage.leakage.leakage import Leakage, named_witness
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.exact_probabilities import (
    CERTAIN,
    Thresholds,
    exact_cells,
    exp_below,
    float_above,
    integer_thresholds,
    largest_ratio,
    log_above,
    round_rows,
)
from seepage.mechanisms.randomness import Randomness, draw_outputs, guess_supported
from seepage.mechanisms.reports import ValueReports

MAX_EXACT_CELLS = 1 << 20
"""Differences of thresholds up to which a delta is computed in exact integers."""


IDENTITY_TOLERANCE = 1e-6
"""Largest entry of |C R - I| for which R counts as a right inverse of C."""


TIE_TOLERANCE = 1e-9
"""Log-likelihoods within this of the largest are tied: equal but for rounding of the
matrix."""


class ListedMechanism(Mechanism):
    """A mechanism with few outputs, all of which are listed: its transition matrix is
    `channel`.
    """

    reports = ValueReports
    guess_sets = None

    @cached_property
    @abstractmethod
    def _relative(self) -> Floats:
        """The logarithms of C[x, r] / C[0, r] for the transition matrix C of `channel`,
        k x outputs.
        """

    @property
    def _pure_epsilon(self) -> float:
        """The epsilon of a transition matrix with delta 0; infinite where an output is
        possible under some values only.
        """
        return self.epsilon

    @property
    def _largest_finite_ratio(self) -> float:
        """The largest finite log-ratio within a column of the transition matrix."""
        if math.isfinite(self._pure_epsilon):
            return self._pure_epsilon
        spreads = self._relative.max(axis=0) - self._relative
        return float(spreads[np.isfinite(spreads)].max(initial=0.0))

    @cached_property
    def _tied(self) -> Booleans:
        """The values of maximum likelihood by the transition matrix for each output, up
        to rounding, outputs x k.
        """
        return np.asarray(
            self._relative >= self._relative.max(axis=0) - TIE_TOLERANCE
        ).T

    def guess(self, reports: ValueReports, source: Randomness) -> Integers:
        """Return the likeliest value of each report by the transition matrix, ties at
        random.
        """
        return guess_supported(self._tied[reports.below(self.outputs)], source)

    def inferred_channel(self) -> Floats:
        """Return P(guess given value) of a transition matrix, k x k: uniform among tied
        values [paper, Appendix B].
        """
        guesses = self._tied / self._tied.sum(axis=1, keepdims=True)
        return np.asarray(self.channel() @ guesses)

    @cached_property
    def miss_rate(self) -> float:
        """The probability of a wrong guess by the transition matrix, averaged over the
        values.
        """
        return 1.0 - float(np.diag(self.inferred_channel()).mean())

    def pure_leakage(self, G: Channel | ArrayLike) -> Leakage:
        """Return a transition matrix C's exact leakage ln max_r max_x W[x, r] / min_x
        W[x, r], W = G C, rounded up.

        Notes
        -----
        With c the smallest entry of a column of C, W is c + G (C - c): only the excess
        over c is summed, so small leakages keep their precision.  Where the entries of
        a column differ by a factor above e^700 the value may be as large as `epsilon`.
        """
        matrix = as_matrix(G)
        if self.outputs == 1 or (matrix == matrix[0]).all():
            return Leakage(0.0, None)  # exactly 0, without rounding errors
        high = self._relative.max(axis=0)
        low = self._relative.min(axis=0)
        excess = np.exp(self._relative - high)
        bounded = np.isfinite(low)
        excess[:, bounded] *= -np.expm1(low[bounded] - self._relative[:, bounded])
        best = largest_mixed_ratio(matrix, excess, np.exp(low - high))
        terms = self.k + self.outputs + 64
        span = self._largest_finite_ratio
        guard = UNIT * (16 * terms * min(span, 1.0) + 8 * span)
        value = min(best.value + guard, self._pure_epsilon)
        if best.likelier == best.other or not self._pure_epsilon:
            return Leakage(value, None)
        witness = named_witness(
            G,
            best.likelier,
            best.other,
            self._relative[:, best.report] == high[best.report],
            report=ValueReports.of(
                self.describe(), np.array([best.report]), self.outputs
            ),
        )
        return Leakage(value, witness)


class MatrixMechanism(ListedMechanism):
    """The mechanism of a transition matrix.

    Parameters
    ----------
    matrix
        P(output given value): one row per value and one column per output, rows summing
        to 1.
    name
        The mechanism's name in files and messages.
    epsilon
        The epsilon of (epsilon, delta)-LDP; by default the smallest one with delta 0.
        An output that is possible under one value and impossible under another has no
        finite epsilon with delta 0; it needs a stated one.

    Attributes
    ----------
    thresholds
        The integers out of 2^64 with which outputs are drawn, one row per value: a
        read-only array of Python integers; each row sums to 2^64.

    Notes
    -----
    Each row is rounded to integers out of 2^64 (`thresholds`) whose ratios within a
    column never exceed the largest ratio of the matrix (`integer_thresholds`).  All
    else, `epsilon` included, is computed from these integers, so it holds for the
    distribution that is drawn.

    With a stated epsilon the mechanism is (epsilon, delta)-LDP with the hockey-stick
    divergence

        delta = max over x, x' of sum_r max(0, C[x, r] - e^epsilon C[x', r]),

    which no smaller delta satisfies; 0 where the ratios are within e^epsilon.

    Frequencies are estimated by generalised least squares, with the covariance of the
    outputs at equally frequent values: with C the matrix and D the diagonal of its mean
    row, R = D^-1 C' (C D^-1 C')^-1.  C R = I, so the estimate is unbiased for every
    distribution; where C has deficient rank there is none, and an InputError is raised.

    The leakage is that of `exact_leakage`, rounded up.  O(m k r) for m target values, r
    outputs.

    Examples
    --------
    >>> import seepage as sp
    >>> survey = sp.MatrixMechanism([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]], name="survey")
    >>> (
    ...     round(survey.epsilon, 4),
    ...     round(survey.leakage([[0.9, 0.1], [0.2, 0.8]]).value, 4),
    ... )
    (1.6094, 1.0986)
    >>> reports = survey.perturb([0] * 30_000 + [1] * 10_000, rng=7)
    >>> survey.estimate(reports).frequencies.round(1).tolist()
    [0.7, 0.3]
    >>> again = sp.MatrixMechanism.from_thresholds(survey.thresholds, name="survey")
    >>> again.describe() == survey.describe()
    True

    Randomised response that gives the value away with probability 0.1:

    >>> rows = [[0.1, 0.6, 0.3, 0.0], [0.0, 0.3, 0.6, 0.1]]
    >>> telling = sp.MatrixMechanism(rows, epsilon=0.7)
    >>> telling.epsilon, round(telling.delta, 4)
    (0.7, 0.1)
    """

    name = "matrix"
    stated_epsilon: float | None = None

    def __init__(
        self,
        matrix: Channel | ArrayLike,
        name: str = "matrix",
        *,
        epsilon: float | None = None,
    ) -> None:
        """Round a transition matrix to integer thresholds."""
        channel = as_matrix(matrix, "matrix")
        cells = exact_cells(Fraction, channel)
        if epsilon is None:
            limit = largest_ratio(_possible_under_all(cells))
            self._set_thresholds(integer_thresholds(channel, limit), name)
            return
        budget = checks.epsilon(epsilon)
        thresholds = round_rows(channel)
        if _is_possible_under_all(cells):
            pure = integer_thresholds(channel, largest_ratio(cells))
            if log_above(largest_ratio(pure)) <= budget:
                thresholds = pure
        self._set_thresholds(thresholds, name, epsilon=budget)

    @classmethod
    def from_thresholds(
        cls,
        thresholds: ArrayLike,
        name: str = "matrix",
        *,
        epsilon: float | None = None,
    ) -> "MatrixMechanism":
        """Return the mechanism whose transition matrix is exactly these integers out of
        2^64.

        `thresholds` has one row per value and one column per output; each row sums to
        2^64.  `epsilon` is that of the class.
        """
        mechanism = MatrixMechanism.__new__(MatrixMechanism)
        rows = checks.items(thresholds, "thresholds", "rows of integers")
        cells = np.array(rows, dtype=object)
        if not _are_thresholds(cells):
            raise InputError(
                "thresholds must be rows of integers >= 0 that sum to 2^64 each"
            )
        integers = exact_cells(int, cells)
        if epsilon is None:
            mechanism._set_thresholds(_possible_under_all(integers), name)
        else:
            budget = checks.epsilon(epsilon)
            mechanism._set_thresholds(integers, name, epsilon=budget)
        return mechanism

    def _set_thresholds(
        self, thresholds: Thresholds, name: str, *, epsilon: float | None = None
    ) -> None:
        """Set the integer thresholds that draw a transition matrix, and its epsilon."""
        digest = hashlib.sha256(
            ",".join(map(str, thresholds.ravel().tolist())).encode()
        )
        k, outputs = thresholds.shape
        parameters = {"outputs": outputs, "thresholds": digest.hexdigest()}
        if epsilon is not None:
            parameters["epsilon"] = epsilon
        super().__init__(k, **parameters)
        self.stated_epsilon = epsilon
        self.name = name
        self.outputs = outputs
        self.thresholds = thresholds
        self.thresholds.flags.writeable = False

    @cached_property
    def _relative(self) -> Floats:
        """The logarithms of T[x, r] / T[0, r] for the transition thresholds T, from
        exact differences where a ratio is near 1; relative to the likeliest value where
        T[0, r] is 0.
        """
        possible = (self.thresholds > 0).any(axis=0)
        ratios = np.zeros(self.thresholds.shape)
        cells = self.thresholds[:, possible]
        first = self._references[possible]
        reference = cells[first, np.arange(len(first))]
        difference = np.asarray((cells - reference) / reference, dtype=np.float64)
        with np.errstate(divide="ignore"):
            logarithms = np.log(cells.astype(np.float64))
            near_one = np.log1p(difference)
        of_logs = logarithms - logarithms[first, np.arange(len(first))]
        ratios[:, possible] = np.where(np.abs(difference) < 0.5, near_one, of_logs)
        return ratios

    @cached_property
    def _references(self) -> Integers:
        """The value of each column of the transition matrix that `_relative` refers to:
        the first one, or the likeliest where the first one is impossible.
        """
        likeliest = self.thresholds.argmax(axis=0)
        return np.where(self.thresholds[0] > 0, 0, likeliest).astype(np.int64)

    @cached_property
    def _pure_epsilon(self) -> float:
        """Ln max T[x, r] / T[x', r] of the transition thresholds T, rounded up;
        infinite where an output is possible under some values only.
        """
        if not _is_possible_under_all(self.thresholds):
            return math.inf
        return log_above(largest_ratio(self.thresholds))

    @cached_property
    def epsilon(self) -> float:
        """The privacy budget ln max T[x, r] / T[x', r] of the transition thresholds T,
        rounded up; the stated one if that is smaller.
        """
        if self.stated_epsilon is None:
            return self._pure_epsilon
        return min(self.stated_epsilon, self._pure_epsilon)

    @cached_property
    def delta(self) -> float:
        """The hockey-stick divergence of two rows of the transition thresholds at
        `epsilon`, rounded up; 0 where no ratio exceeds e^epsilon.
        """
        return self.privacy_profile(self.epsilon)

    def privacy_profile(self, epsilon: float) -> float:
        """Return a transition matrix's max over x, x' of sum_r max(0, C[x, r] -
        e^epsilon C[x', r]), rounded up: exact for up to `MAX_EXACT_CELLS` differences.
        """
        budget = checks.epsilon(epsilon)
        if budget >= self._pure_epsilon:
            return 0.0
        if self.k * self.thresholds.size > MAX_EXACT_CELLS:
            return delta_of_reports(np.eye(self.k), self.channel(), budget)
        factor = exp_below(budget)
        scaled = self.thresholds * factor.denominator
        largest = 0
        for row in self.thresholds * factor.numerator:
            gains = np.maximum(scaled - row, 0).sum(axis=1)
            largest = max(largest, *gains.tolist())
        return min(1.0, float_above(Fraction(largest, CERTAIN * factor.denominator)))

    def channel(self) -> Floats:
        """Return the transition matrix P(output given value), k x outputs."""
        return np.asarray(self.thresholds / CERTAIN, dtype=np.float64)

    def draw(self, codes: Integers, source: Randomness) -> ValueReports:
        """Return one output for each value, by exactly the transition probabilities
        thresholds / 2^64.
        """
        outputs = draw_outputs(self.thresholds, codes, source)
        return ValueReports.of(self.describe(), outputs, self.outputs)

    # Estimates ------------------------------------------------------------------------

    @cached_property
    def _inverse(self) -> Floats | None:
        """The inverse R of a transition matrix C, outputs x k, with C R = I; None where
        C has deficient row rank.
        """
        if self.k == 1:
            return np.ones((self.outputs, 1))
        channel = self.channel()
        inverse = least_squares_inverse(channel, channel.mean(axis=0))
        full_rank = (
            np.abs(channel @ inverse - np.eye(self.k)).max() <= IDENTITY_TOLERANCE
        )
        if not full_rank:
            return None
        return inverse

    @property
    def informative(self) -> bool:
        """Whether frequencies can be estimated: the transition matrix has full row
        rank.
        """
        return self._inverse is not None

    @property
    def estimable(self) -> str:
        """What can be estimated from reports by the transition matrix, in words: with
        rank r, r - 1 combinations.

        They are the means over the records of C[value, output], such as the mean of
        numbers to which a column of C is proportional up to a constant [Duchi, Jordan
        and Wainwright 2018].
        """
        combinations = int(np.linalg.matrix_rank(self.channel())) - 1
        if self._inverse is not None or not combinations:
            return super().estimable
        noun = "linear combination" if combinations == 1 else "linear combinations"
        return f"{combinations} {noun} of the {self.k} frequencies"

    def _weights(self) -> Floats:
        """Return the inverse transition matrix; raise where it has none."""
        if self._inverse is None:
            raise InputError(
                f"frequencies cannot be estimated from {self.name}, whose reports "
                f"estimate {self.estimable}: its matrix must have full row rank to "
                f"distinguish {self.k} values"
            )
        return self._inverse

    def contributions(self, reports: ValueReports) -> Floats:
        """Return the row R[r, :] of the transition matrix's inverse for each reported
        output r, an unbiased one-hot vector.
        """
        self.check_reports(reports)
        return np.asarray(self._weights()[reports.below(self.outputs)])

    def tally(self, reports: ValueReports) -> Floats:
        """Return the sum over reports r of R[r, v], R the inverse transition matrix."""
        counts = np.bincount(reports.below(self.outputs), minlength=self.outputs)
        return np.asarray(counts @ self._weights())

    def variance(self, n: int, frequency: ArrayLike = 0.0) -> Floats:
        """Return the variance of each of the k frequencies that the inverse transition
        matrix estimates from n reports.

        (sum_u f_u S[u, v] - f_v) / n,  S[u, v] = sum_r C[u, r] R[r, v]^2

        Parameters
        ----------
        n
            The number of reports.
        frequency
            All k frequencies f, projected onto the simplex; or one frequency, assumed
            for each value in turn with the rest spread evenly over the others.
        """
        count = checks.integer(n, "n", 1, checks.MAX_RECORDS)
        share = checks.probabilities(frequency, "frequency")
        squares = self.channel() @ self._weights() ** 2
        if share.shape not in ((), (self.k,)):
            raise InputError(
                f"frequency must be one number or {self.k}, got {share.size}"
            )
        if share.ndim:
            share = nearest_distribution(share)
            second = share @ squares
        else:
            true = np.diag(squares)
            others = (squares.sum(axis=0) - true) / max(1, self.k - 1)
            second = share * true + (1 - share) * others
        return np.maximum(second - share, 0.0) / count

    def log_likelihood(self, reports: ValueReports) -> Floats:
        """Return ln C[u, r] of the transition matrix C for each reported r."""
        self.check_reports(reports)
        outputs = np.arange(self.outputs)
        with np.errstate(divide="ignore"):
            reference = np.log(self.channel()[self._references, outputs])
        return np.asarray((reference + self._relative).T[reports.below(self.outputs)])


def least_squares_inverse(
    channel: Floats, probabilities: Floats, cutoff: float = 1e-15
) -> Floats:
    """Return D^-1/2 (C D^-1/2)^+ of a transition matrix C: weighted least squares.

    Row r is the estimate from output r, of least variance among the unbiased ones.

    Parameters
    ----------
    channel
        C = P(output given value).
    probabilities
        The diagonal of D: the probability of each output, at the frequencies assumed.
    cutoff
        Singular values up to this share of the largest count as 0.
    """
    scale = np.sqrt(probabilities)
    weights = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    return np.asarray(
        weights[:, None] * np.linalg.pinv(channel * weights, rcond=cutoff)
    )


def _are_thresholds(cells: Thresholds) -> bool:
    """Return whether cells of a transition matrix are rows of integers >= 0 that sum to
    2^64 each.
    """
    if cells.ndim != 2 or not cells.size:
        return False
    for cell in cells.flat:
        if not isinstance(cell, (int, np.integer)) or cell < 0:
            return False
    return bool((cells.sum(axis=1) == CERTAIN).all())


def _is_possible_under_all(matrix: Thresholds) -> bool:
    """Return whether no column of a transition matrix holds both zeros and positive
    numbers.
    """
    partly_empty = (matrix == 0).any(axis=0) & (matrix > 0).any(axis=0)
    return not partly_empty.any()


def _possible_under_all(matrix: Thresholds) -> Thresholds:
    """Return the transition matrix; raise where a column holds both zeros and positive
    numbers.
    """
    if not _is_possible_under_all(matrix):
        raise InputError(
            "an output that is possible under one value must be possible under all; a "
            "column holds zeros and other numbers, which no finite epsilon allows with "
            "delta 0; state an epsilon, which computes the delta"
        )
    return matrix
