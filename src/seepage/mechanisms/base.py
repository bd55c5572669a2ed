"""What every mechanism can do, on a whole column at a time."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from seepage import _checks
from seepage._numerics import Booleans, Floats, Integers
from seepage.data.channel import Channel, as_matrix
from seepage.errors import InputError
from seepage.leakage.evidence import Leakage, two_level_leakage
from seepage.leakage.likely_sets import LikelySets
from seepage.mechanisms.randomness import Randomness, Seed, randomness
from seepage.mechanisms.reports import Reports

__all__ = ["Estimate", "Mechanism", "PureMechanism", "nearest_distribution"]

ROWS = 1 << 16
"""Reports handled at once, so that memory does not grow with the column."""


@dataclass(frozen=True)
class Estimate:
    """Estimated frequencies of the k values, with their standard errors.

    Parameters
    ----------
    frequencies
        Unbiased, so they may be negative and need not sum to 1; the nearest distribution where
        `consistent` is true, which is no longer unbiased.
    standard_errors
        Of the unbiased estimate, given the true values of the people who reported.
    records
        The number of reports.
    consistent
        Whether the frequencies were moved to the nearest distribution.
    """

    frequencies: Floats
    standard_errors: Floats
    records: int
    consistent: bool


class Mechanism(ABC):
    """An LDP mechanism for one attribute with k values.

    A subclass says what it draws; what follows from that for every mechanism is written here.

    Parameters
    ----------
    k
        The alphabet size, at least 1.
    """

    name: ClassVar[str]
    """The short name in the registry, on the command line and in files."""

    reports: ClassVar[type[Reports]]
    """The type of the reports."""

    approximate: ClassVar[bool] = False
    """Whether the constructor takes a delta > 0."""

    def __init__(self, k: int) -> None:
        self.k = _checks.integer(k, "k", 1)

    @classmethod
    def create(cls, k: int, epsilon: float, delta: float = 0.0) -> "Mechanism":
        """Return the mechanism for k values at a budget; delta > 0 only where `approximate`."""
        if cls.approximate:
            return cls(k, epsilon, delta)  # type: ignore[call-arg]
        if _checks.delta(delta) > 0:
            raise InputError(f"mechanism {cls.name!r} has delta 0, got delta {delta}")
        return cls(k, epsilon)  # type: ignore[call-arg]

    # What it promises ---------------------------------------------------------------------------

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """The privacy budget, recomputed from the mechanism's own probabilities."""

    @property
    def delta(self) -> float:
        """The relaxation, recomputed from the mechanism's own probabilities."""
        return 0.0

    @property
    @abstractmethod
    def realised_epsilon(self) -> float:
        """The epsilon of what is really drawn, from the integer thresholds, rounded up."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return the mechanism's name and parameters, as plain JSON; it identifies its reports."""

    @property
    @abstractmethod
    def bits(self) -> float:
        """The size of one report in bits."""

    # What it does -------------------------------------------------------------------------------

    def perturb(self, codes: ArrayLike, rng: Seed = None, *, secure: bool = False) -> Any:
        """Return one report for each code.

        Parameters
        ----------
        codes
            Integers from 0 to k - 1.  Anything else is refused; no value is ever released
            in clear.
        rng
            A seed or NumPy generator, for research: the same seed gives the same reports.
        secure
            Draw from the operating system instead; what a deployed plan uses.
        """
        return self._perturb(self._codes(codes), randomness(rng, secure))

    @abstractmethod
    def _perturb(self, codes: Integers, source: Randomness) -> Reports:
        """Return one report for each checked code."""

    def perturb_batches(
        self, codes: ArrayLike, rng: Seed = None, *, secure: bool = False, rows: int = ROWS
    ) -> Iterator[Any]:
        """Yield the reports in batches of so many rows, in memory that does not grow."""
        checked = self._codes(codes)
        source = randomness(rng, secure)
        for begin in range(0, len(checked), rows):
            yield self._perturb(checked[begin : begin + rows], source)

    @abstractmethod
    def tally(self, reports: Any) -> Floats:
        """Return k sums over reports that the estimate rests on; tallies of batches add up."""

    @abstractmethod
    def _frequencies(self, tally: Floats, records: int) -> Floats:
        """Return the unbiased frequencies from a tally."""

    @abstractmethod
    def variance(self, n: int, frequency: ArrayLike = 0.0) -> Floats:
        """Return the variance of an estimated frequency from n reports, in closed form."""

    def estimate(self, reports: Any, *, consistent: bool = False) -> Estimate:
        """Return the estimated frequencies with their standard errors.

        Parameters
        ----------
        reports
            Reports of this very mechanism, or an iterable of batches of them.
        consistent
            Move the frequencies to the nearest distribution (Euclidean projection).
        """
        batches: Iterable[Any] = [reports] if isinstance(reports, Reports) else reports
        total, records = np.zeros(self.k), 0
        for batch in batches:
            self._own(batch)
            total += self.tally(batch)
            records += len(batch)
        if not records:
            raise InputError("there is no estimate without reports, got none")
        if not np.isfinite(self.variance(records)).all():
            raise InputError(
                f"reports at epsilon {self.epsilon:g} carry no information, so nothing is estimated"
            )
        frequencies = self._frequencies(total, records)
        variances = self.variance(records, np.clip(frequencies, 0.0, 1.0))
        if consistent:
            frequencies = nearest_distribution(frequencies)
        return Estimate(frequencies, np.sqrt(variances), records, consistent)

    # What an adversary makes of it --------------------------------------------------------------

    def infer(self, reports: Any, rng: Seed = None) -> Integers:
        """Return the paper's attack: one guessed code for each report [paper, Appendix B]."""
        self._own(reports)
        source = randomness(rng, False)
        guesses = np.empty(len(reports), dtype=np.int64)
        for begin in range(0, len(reports), ROWS):
            batch = reports[begin : begin + ROWS]
            guesses[begin : begin + ROWS] = self._infer(batch, source)
        return guesses

    @abstractmethod
    def _infer(self, reports: Any, source: Randomness) -> Integers:
        """Return one guess for each report of a batch."""

    @cached_property
    @abstractmethod
    def hit_rate(self) -> float:
        """The chance a = P(guess = u given u), in closed form [theory: The paper's attacker]."""

    @property
    def guess_contrast(self) -> float:
        """The log-ratio ln a (k - 1)/(1 - a) by which a guess of u favours the value u."""
        rate = self.hit_rate
        if self.k == 1:
            return 0.0
        if rate == 1:
            return math.inf
        return max(0.0, math.log(rate * (self.k - 1) / (1.0 - rate)))

    @property
    def guess_sets(self) -> LikelySets | None:
        """What the guessed value alone favours: one value, by `guess_contrast`.

        None for a mechanism whose guesses are not alike for all values; then the leakage of the
        guess follows from `inferred_channel`.
        """
        return LikelySets("singletons", self.guess_contrast)

    def channel(self) -> Floats:
        """Return P(report given value), k rows, where the reports are few; else refuse."""
        raise InputError(
            f"{self.name} with k = {self.k} has too many reports for a matrix; "
            "use inferred_channel() for the guessed value, or leakage() for the whole report"
        )

    def inferred_channel(self) -> Floats:
        """Return P(guess given value), k x k: a on the diagonal, (1 - a)/(k - 1) elsewhere."""
        if self.k == 1:
            return np.ones((1, 1))
        channel = np.full((self.k, self.k), (1.0 - self.hit_rate) / (self.k - 1))
        np.fill_diagonal(channel, self.hit_rate)
        return channel

    @abstractmethod
    def log_likelihood(self, reports: Any) -> Floats:
        """Return ln P(report given u), one row a report and one column a value u.

        Factors that do not depend on u (the chance of a hash seed) are left out.
        """

    @property
    @abstractmethod
    def likely_sets(self) -> LikelySets | None:
        """Which inputs a report can favour [theory: Whole reports].

        None for a mechanism that is not two-level, which then has its own `leakage`.
        """

    @abstractmethod
    def witness_report(self, likely: Booleans) -> Any:
        """Return one report that makes exactly these values likely."""

    def leakage(self, G: Channel | ArrayLike) -> Leakage:
        """Return the exact leakage of the whole report about a target, with its witness.

        Parameters
        ----------
        G
            P(source given target), rows target values; its k columns are this mechanism's inputs.

        Notes
        -----
        The largest two-level ratio over the likely sets [theory: Whole reports]; rounded up.
        """
        self._check_columns(G)
        if self.likely_sets is None:
            raise InputError(f"{self.name} must say what its whole report leaks, but does not")
        return two_level_leakage(G, self.likely_sets, report=self.witness_report)

    def relaxed_leakage(self, G: Channel | ArrayLike) -> Leakage:
        """Return (l, delta'): the bound at this epsilon with the relaxation it certifies.

        A mechanism with delta > 0 exceeds e^epsilon with a small probability, so its `leakage`
        may be large; this is what holds but for delta' [theory: The certified delta].
        """
        self._check_columns(G)
        return two_level_leakage(G, LikelySets("all", self.epsilon), self.delta)

    # Checks -------------------------------------------------------------------------------------

    def _codes(self, codes: ArrayLike) -> Integers:
        array = np.asarray(codes)
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise InputError("codes must be a one-dimensional array of integers")
        if array.size and (array.min() < 0 or array.max() >= self.k):
            row = int(np.flatnonzero((array < 0) | (array >= self.k))[0])
            raise InputError(f"codes must be from 0 to {self.k - 1}; row {row} is outside")
        return array.astype(np.int64, copy=False)

    def _own(self, reports: Any) -> None:
        if not isinstance(reports, self.reports) or dict(reports.origin) != self.describe():
            origin = (
                dict(reports.origin) if isinstance(reports, Reports) else type(reports).__name__
            )
            raise InputError(f"reports must come from {self.describe()}, got those of {origin}")

    def _check_columns(self, G: Channel | ArrayLike) -> None:
        columns = as_matrix(G).shape[1]
        if columns != self.k:
            raise InputError(
                f"the channel must have {self.k} columns, one for each input of the mechanism, "
                f"got {columns}"
            )

    def __repr__(self) -> str:
        parts = ", ".join(f"{key}={value}" for key, value in self.describe().items())
        return f"{type(self).__name__}({parts})"


class PureMechanism(Mechanism):
    """A mechanism whose estimate rests on how many reports support each value.

    A report supports value v with probability p* if v is the true value and q* otherwise
    [Wang et al. 2017, "pure" protocols]; the unbiased frequency is (C_v / n - q*) / (p* - q*).
    """

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """The probabilities p* and q* that a report supports the true value, and another."""

    def _frequencies(self, tally: Floats, records: int) -> Floats:
        true, other = self.support
        return np.asarray((tally / records - other) / (true - other))

    def variance(self, n: int, frequency: ArrayLike = 0.0) -> Floats:
        """Return (f p*(1-p*) + (1-f) q*(1-q*)) / (n (p* - q*)^2); infinite where p* = q*."""
        count = _checks.integer(n, "n", 1)
        true, other = self.support
        share = np.asarray(frequency, dtype=np.float64)
        spread = share * true * (1 - true) + (1 - share) * other * (1 - other)
        if true == other:
            return np.full(share.shape, np.inf)
        with np.errstate(over="ignore"):
            return np.asarray(spread / count / (true - other) / (true - other))


def nearest_distribution(frequencies: Floats) -> Floats:
    """Return the distribution nearest to a vector in Euclidean distance.

    Projection onto the simplex: subtract the one constant that leaves a sum of 1 after negative
    entries are set to 0, O(k log k).

    Examples
    --------
    >>> nearest_distribution(np.array([0.6, 0.6, -0.1])).tolist()
    [0.5, 0.5, 0.0]
    """
    descending = np.sort(frequencies)[::-1]
    excess = (np.cumsum(descending) - 1.0) / np.arange(1, len(frequencies) + 1)
    kept = int(np.flatnonzero(descending > excess)[-1])
    return np.asarray(np.maximum(frequencies - excess[kept], 0.0))
