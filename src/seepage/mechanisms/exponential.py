"""The exponential mechanism: outputs that are more useful to a value are likelier.

[paper, Appendix A]: output r is drawn with probability proportional to

    exp( eps u(x, r) / (2 D) ),   D = max over x, x', r of |u(x, r) - u(x', r)|,

where u(x, r) is the utility of r for the true value x and D its sensitivity.
"""

import hashlib
import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage import _checks
from seepage._numerics import UNIT, Booleans, Floats, Integers
from seepage.data.channel import Channel, as_matrix
from seepage.errors import InputError
from seepage.leakage.evidence import Leakage, Witness, labels
from seepage.mechanisms.base import Mechanism, nearest_distribution
from seepage.mechanisms.chances import draw_outputs, largest_ratio, whole_chances
from seepage.mechanisms.direct import DirectResponse, checked_values, pack_values, truthful
from seepage.mechanisms.exact_math import exp_below, log_above
from seepage.mechanisms.randomness import Randomness
from seepage.mechanisms.reports import ValueReports

__all__ = ["Exponential", "UtilityExponential"]

IDENTITY_TOLERANCE = 1e-6
"""How far the channel times its inverse may be from the identity."""


class Exponential(DirectResponse):
    """The exponential mechanism whose utility is 1 for the true value and 0 otherwise.

    Its sensitivity is 1, so it is direct response with p = e^(eps/2) / (e^(eps/2) + k - 1) and
    realises half of its budget: `epsilon` is eps/2 [theory: Whole reports].

    Parameters
    ----------
    k
        The alphabet size.
    epsilon
        The stated budget eps.

    See Also
    --------
    UtilityExponential : any other utility.

    Examples
    --------
    >>> mechanism = Exponential(4, epsilon=1.0)
    >>> round(mechanism.hit_rate, 4), mechanism.epsilon
    (0.3547, 0.5)
    """

    name = "exp"

    def __init__(self, k: int, epsilon: float) -> None:
        self._stated = _checks.epsilon(epsilon)
        super().__init__(k, truthful(k, self._stated / 2))

    def describe(self) -> dict[str, Any]:
        """Return name, k and the stated epsilon."""
        return {"mechanism": self.name, "k": self.k, "epsilon": self._stated}


class UtilityExponential(Mechanism):
    """The exponential mechanism with any utility.

    Parameters
    ----------
    utility
        u(x, r): one row a value x, one column an output r; finite.  Two values must differ in
        some column.  A single row is allowed: every output is then equally likely.
    epsilon
        The stated budget eps.

    Notes
    -----
    Log-probabilities are kept relative to the first value's, ln C[x, r] = ln C[0, r] + a[x, r],
    so that small budgets keep their precision; `epsilon` is the largest difference of a within a
    column, rounded up: at most eps but for that rounding, and often less.

    Drawn in whole chances out of 2^62 that keep e^epsilon exactly (`whole_chances`).

    Examples
    --------
    >>> near = [[0, -1, -2], [-1, 0, -1], [-2, -1, 0]]
    >>> mechanism = UtilityExponential(near, epsilon=2.0)
    >>> mechanism.sensitivity, mechanism.channel().round(3).tolist()[0]
    (2.0, [0.506, 0.307, 0.186])
    >>> round(mechanism.epsilon, 4), round(mechanism.leakage([[1, 0, 0], [0, 0.5, 0.5]]).value, 4)
    (1.0, 0.7886)
    """

    name = "exp-utility"
    reports = ValueReports

    def __init__(self, utility: ArrayLike, epsilon: float) -> None:
        self.utility = _checked_utility(utility)
        super().__init__(len(self.utility))
        self.outputs = self.utility.shape[1]
        self._stated = _checks.epsilon(epsilon)
        self.sensitivity = float(np.ptp(self.utility, axis=0).max())
        if self.k > 1 and not self.sensitivity:
            raise InputError("two values must differ in their utility, got a sensitivity of 0")
        self._first, self._relative = _log_probabilities(
            self.utility, self._stated, self.sensitivity
        )
        self._slack = 16 * (self.k + self.outputs + 64) * UNIT * self._stated

    @cached_property
    def epsilon(self) -> float:
        """The privacy budget max ln C[x, r] / C[x', r], recomputed and rounded up."""
        spread = float(np.ptp(self._relative, axis=0).max())
        return spread + self._slack if self.k > 1 else 0.0

    @property
    def realised_epsilon(self) -> float:
        """The largest log-ratio of the whole chances that are drawn, at most `epsilon`."""
        return log_above(largest_ratio(self._chances))

    def describe(self) -> dict[str, Any]:
        """Return name, k, the number of outputs, the stated epsilon and the utility's SHA-256."""
        content = (self.utility + 0.0).astype("<f8").tobytes()
        return {
            "mechanism": self.name,
            "k": self.k,
            "outputs": self.outputs,
            "epsilon": self._stated,
            "utility": hashlib.sha256(content).hexdigest(),
        }

    @property
    def bits(self) -> float:
        """The size of one report: log2 of the number of outputs."""
        return math.log2(self.outputs)

    @cached_property
    def _chances(self) -> Integers:
        limit = exp_below(min(self.epsilon, self._stated))
        return whole_chances(self.channel(), limit)

    def _perturb(self, codes: Integers, source: Randomness) -> ValueReports:
        outputs = draw_outputs(self._chances, codes, source)
        return pack_values(self.describe(), outputs, self.outputs)

    # Estimates ----------------------------------------------------------------------------------

    @cached_property
    def _inverse(self) -> Floats:
        """R, outputs x k, with C R the identity: the least-squares inverse at uniform values.

        Outputs are weighted by their average probability, which minimises the variance when all
        values are equally frequent.
        """
        channel = self.channel()
        scale = np.sqrt(channel.mean(axis=0))
        weights = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
        inverse = weights[:, None] * np.linalg.pinv(channel * weights)
        if np.abs(channel @ inverse - np.eye(self.k)).max() > IDENTITY_TOLERANCE:
            raise InputError(
                f"the outputs of this utility do not tell its {self.k} values apart, so "
                "frequencies cannot be estimated; use a utility whose channel can be inverted"
            )
        return np.asarray(inverse)

    def tally(self, reports: ValueReports) -> Floats:
        """Return the sum over reports r of R[r, v]."""
        counts = np.bincount(checked_values(reports, self.outputs), minlength=self.outputs)
        return np.asarray(counts @ self._inverse)

    def _frequencies(self, tally: Floats, records: int) -> Floats:
        return tally / records

    def variance(self, n: int, frequency: ArrayLike = 0.0) -> Floats:
        """Return the variance of each of the k estimated frequencies from n reports.

        (sum_u f_u S[u, v] - f_v) / n,  S[u, v] = sum_r C[u, r] R[r, v]^2

        Parameters
        ----------
        n
            The number of reports.
        frequency
            All k frequencies f, moved to the nearest distribution; or one frequency, taken for
            each value in turn with the rest spread evenly over the others.
        """
        count = _checks.integer(n, "n", 1)
        share = np.asarray(frequency, dtype=np.float64)
        squares = self.channel() @ self._inverse**2
        if share.shape == (self.k,):
            share = nearest_distribution(share)
            second = share @ squares
        elif share.ndim == 0:
            own = np.diag(squares)
            second = share * own + (1 - share) * (squares.sum(axis=0) - own) / max(1, self.k - 1)
        else:
            raise InputError(f"frequency must be one number or {self.k}, got {share.size}")
        return np.maximum(second - share, 0.0) / count

    # What an adversary makes of it --------------------------------------------------------------

    @cached_property
    def _guesses(self) -> Integers:
        """The guess for each output: itself if outputs are values, else the likeliest value.

        Where several values are equally likely, the first.
        """
        if self.outputs == self.k:
            return np.arange(self.k)
        return np.asarray(self._relative.argmax(axis=0))

    def _infer(self, reports: ValueReports, source: Randomness) -> Integers:
        return np.asarray(self._guesses[checked_values(reports, self.outputs)])

    def inferred_channel(self) -> Floats:
        """Return P(guess given value), k x k."""
        guessed = np.zeros((self.outputs, self.k))
        guessed[np.arange(self.outputs), self._guesses] = 1.0
        return np.asarray(self.channel() @ guessed)

    @cached_property
    def hit_rate(self) -> float:
        """The probability of a right guess, averaged over the values."""
        return float(np.diag(self.inferred_channel()).mean())

    @property
    def guess_sets(self) -> None:
        """None: guesses are not alike for all values."""
        return

    def channel(self) -> Floats:
        """Return P(output given value), k x outputs."""
        matrix = np.exp(self._first + self._relative)
        return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))

    def log_likelihood(self, reports: ValueReports) -> Floats:
        """Return ln C[u, r] for each reported r."""
        self._own(reports)
        table = (self._first + self._relative).T
        return np.asarray(table[checked_values(reports, self.outputs)])

    @property
    def likely_sets(self) -> None:
        """None: an output's likelihood may take many levels."""
        return

    def _likely(self) -> Booleans:
        """Return which values (rows) each output (column) makes likeliest."""
        return np.asarray(self._relative == self._relative.max(axis=0))

    def witness_report(self, likely: Booleans) -> ValueReports:
        """Return an output that is likeliest under exactly these values."""
        matches = np.flatnonzero((self._likely() == np.asarray(likely)[:, None]).all(axis=0))
        if not len(matches):
            raise InputError("no output is likeliest under exactly these values")
        return pack_values(self.describe(), matches[:1], self.outputs)

    def leakage(self, G: Channel | ArrayLike) -> Leakage:
        """Return the exact leakage ln max_r max_x W[x, r] / min_x W[x, r], W = G C, rounded up.

        Its witness names the output, and the values under which that output is likeliest.

        Notes
        -----
        With c the smallest entry of a column of C, W is c + G (C - c): only the excess over c is
        summed, so small leakages keep their precision.  Where the smallest entry is below the
        largest by more than e^700 the value may be as cautious as `epsilon`.  O(m k r) for m
        target values.
        """
        self._check_columns(G)
        if self.outputs == 1:  # the only report says nothing; rounding must not make it speak
            return Leakage(0.0, None)
        matrix = as_matrix(G)
        high, low = self._relative.max(axis=0), self._relative.min(axis=0)
        excess = np.exp(self._relative - high) * -np.expm1(low - self._relative)
        seen = matrix @ excess
        gap = np.ptp(seen, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.log1p(gap / (np.exp(low - high) + seen.min(axis=0)))
        ratios = np.where(gap > 0, ratios, 0.0)
        output = int(ratios.argmax())
        if ratios[output] == 0:
            return Leakage(0.0, None)
        targets, sources = labels(G, 0, len(matrix)), labels(G, 1, self.k)
        witness = Witness(
            targets[int(seen[:, output].argmax())],
            targets[int(seen[:, output].argmin())],
            tuple(sources[u] for u in np.flatnonzero(self._likely()[:, output])),
            pack_values(self.describe(), np.array([output]), self.outputs),
        )
        return Leakage(min(float(ratios[output]) + self._slack, self.epsilon), witness)


def _checked_utility(utility: ArrayLike) -> Floats:
    try:
        matrix = np.array(utility, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("utility must be a matrix of numbers") from None
    with np.errstate(over="ignore", invalid="ignore"):
        usable = matrix.ndim == 2 and matrix.size and np.isfinite(np.ptp(matrix))
    if not usable:
        raise InputError(
            "utility must be a matrix with a finite range, one row a value and one column an "
            f"output, got shape {matrix.shape}"
        )
    matrix.flags.writeable = False
    return matrix


def _log_probabilities(
    utility: Floats, epsilon: float, sensitivity: float
) -> tuple[Floats, Floats]:
    """Return ln C[0, r], and a[x, r] = ln C[x, r] - ln C[0, r]."""
    if not sensitivity:
        first = np.full(utility.shape[1], -math.log(utility.shape[1]))
        return first, np.zeros_like(utility)
    with np.errstate(over="ignore"):
        first = (utility[0] - utility[0].max()) * (epsilon / 2) / sensitivity
    first = first - np.logaddexp.reduce(first)
    shifts = (utility - utility[0]) / sensitivity * (epsilon / 2)
    if np.abs(shifts).max() <= 1:
        norms = np.log1p(np.expm1(shifts) @ np.exp(first))
    else:
        norms = np.logaddexp.reduce(first + shifts, axis=1)
    return first, shifts - norms[:, None]
