"""`Mechanism`: the interface of every LDP mechanism, vectorised over columns of
reports.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from seepage._core import checks
from seepage._core.arrays import Booleans, Floats, Integers
from seepage._core.errors import InputError
from seepage._core.nearest_distribution import nearest_distribution
from seepage._core.results import Result
from seepage.channel.channel import Channel, as_matrix
from seepage.leakage.bound import relaxed_leakage
from seepage.leakage.delta import (
    budget_profile,
    delta_from_profile,
    delta_of_reports,
)
from seepage.leakage.leakage import Leakage
from seepage.leakage.likely_sets import LikelySets, two_level_leakage
from seepage.mechanisms.randomness import (
    ROWS,
    Randomness,
    Seed,
    guess_supported,
    randomness,
)
from seepage.mechanisms.reports import Reports, ValueReports

PUBLIC = "public"
"""Stands in place of a mechanism's name for a public attribute; no mechanism has it."""


MAX_GUESS_CELLS = 1 << 20
"""Reports times values for which guesses are made at once."""


@dataclass(frozen=True, repr=False)
class Estimate(Result):
    """Estimated frequencies of the k values, with their standard errors.

    Parameters
    ----------
    frequencies
        Unbiased, so they may be negative and need not sum to 1; where `consistent` is
        true, their projection onto the simplex, which is no longer unbiased.
    standard_errors
        Standard errors of the unbiased estimate, conditional on the true values of the
        respondents.
    records
        The number of reports.
    consistent
        Whether the frequencies were projected onto the simplex.

    Examples
    --------
    >>> import seepage as sp
    >>> grr = sp.GRR(2, 20.0)
    >>> grr.estimate(grr.perturb([0, 1, 1, 1], rng=7))
    Estimate(2 values from 4 reports, largest standard error 2.27e-05)
    """

    frequencies: Floats
    standard_errors: Floats
    records: int
    consistent: bool

    def _headline(self) -> str:
        """Return a mechanism's estimated frequencies in one line."""
        error = f"largest standard error {self.standard_errors.max():.3g}"
        return (
            f"Estimate({len(self.frequencies)} values from {self.records:,} reports, "
            f"{error})"
        )

    def _columns(self) -> dict[str, Any]:
        """Return the columns of a mechanism's estimated frequencies in long form."""
        return {
            "value": list(range(len(self.frequencies))),
            "frequency": self.frequencies.tolist(),
            "standard_error": self.standard_errors.tolist(),
        }


def check_needed_delta(name: str, approximate: bool, delta: float) -> None:
    """Raise unless delta is above 0 for an approximate mechanism, and 0 for another."""
    if approximate and checks.delta(delta) == 0:
        raise InputError(
            f"mechanism {name!r} needs a delta above 0, such as 1e-6",
            parameter="delta",
        )
    if not approximate and checks.delta(delta) > 0:
        raise InputError(
            f"mechanism {name!r} has delta 0, got delta {delta}", parameter="mechanism"
        )


class Mechanism(ABC):
    """An LDP mechanism for one attribute with k values.

    A subclass defines the class attributes `name` and `reports`, the constructor `(k,
    epsilon)`, and `epsilon`, `draw`, `contributions`, `variance` and `log_likelihood`.
    Most mechanisms need less: see `TwoLevelMechanism`, and `MatrixMechanism` for a
    transition matrix.

    Parameters
    ----------
    k
        The alphabet size, at least 1.
    parameters
        The parameters as plain JSON; with the name and k they identify the mechanism's
        reports.

    Attributes
    ----------
    outputs
        The number of values of `ValueReports`: k, unless a mechanism sets another.
    """

    name: str
    """The short name in the registry, on the command line and in files."""

    reports: ClassVar[type[Reports]]
    """The type of the reports."""

    approximate: ClassVar[bool] = False
    """Whether the constructor is `(k, epsilon, delta)`, with delta > 0."""

    def __init__(self, k: int, **parameters: Any) -> None:
        """Set the number of values and the parameters of a mechanism."""
        self.k = self.outputs = checks.integer(k, "k", 1)
        for name, check in (("epsilon", checks.epsilon), ("delta", checks.delta)):
            if name in parameters:
                parameters[name] = check(parameters[name])
        self.parameters = parameters

    @classmethod
    def create(cls, k: int, epsilon: float, delta: float = 0.0) -> "Mechanism":
        """Return the mechanism for k values at a budget; delta > 0 if and only if
        `approximate`.
        """
        check_needed_delta(cls.name, cls.approximate, delta)
        if cls.approximate:
            return cls(k, epsilon, delta)  # type: ignore[call-arg]
        return cls(k, epsilon)  # type: ignore[call-arg]

    # Privacy --------------------------------------------------------------------------

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """The mechanism's privacy budget, recomputed from its own probabilities."""

    @property
    def delta(self) -> float:
        """The mechanism's relaxation, recomputed from its own probabilities."""
        return 0.0

    @property
    def realised_epsilon(self) -> float:
        """The epsilon of the distribution that a mechanism draws (integer thresholds),
        rounded up.
        """
        return self.epsilon

    def describe(self) -> dict[str, Any]:
        """Return the mechanism's name and parameters as plain JSON; they identify its
        reports.
        """
        return {"mechanism": self.name, "k": self.k, **self.parameters}

    @property
    def bits(self) -> float:
        """The size of a mechanism's report in bits: log2 of the number of outputs,
        unless it is defined.
        """
        return math.log2(self.outputs)

    # Reports --------------------------------------------------------------------------

    def perturb(self, codes: ArrayLike, rng: Seed = None) -> Any:
        """Return one report of the mechanism for each code.

        Parameters
        ----------
        codes
            Integers from 0 to k - 1.  Other codes raise an InputError; no value is ever
            released unperturbed.
        rng
            None draws from the operating system's secure generator, as a collection
            must.  A seed or NumPy generator is for research: the same seed gives the
            same reports.
        """
        array = checks.array(codes, "codes")
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise InputError(
                "codes must be a one-dimensional array of integers", parameter="codes"
            )
        outside = (array < 0) | (array >= self.k)
        if outside.any():
            row = outside.argmax()
            rule = f"codes must be from 0 to {self.k - 1}; row {row} is outside"
            raise InputError(rule, parameter="codes")
        return self.draw(array.astype(np.int64, copy=False), randomness(rng))

    @abstractmethod
    def draw(self, codes: Integers, source: Randomness) -> Reports:
        """Return the mechanism's report for each code; the codes have been checked."""

    # Estimates ------------------------------------------------------------------------

    @abstractmethod
    def contributions(self, reports: Any) -> Floats | Booleans:
        """Return the term c of each report in the mechanism's tally: one row per
        report, k columns.

        With (a, b) = `one_hot_map`, (c - b) / a is an unbiased one-hot vector of the
        true value.
        """

    @property
    def one_hot_map(self) -> tuple[float, float]:
        """(a, b) of the mechanism's tally such that (c - b) / a is an unbiased one-hot
        vector for a contribution c.
        """
        return 1.0, 0.0

    def tally(self, reports: Any) -> Floats:
        """Return the k sums of contributions, from which a mechanism estimates
        frequencies; additive.
        """
        return np.asarray(self.contributions(reports).sum(axis=0), dtype=np.float64)

    def frequencies(self, tally: Floats, records: int) -> Floats:
        """Return the mechanism's unbiased frequencies from the tally of `records`
        reports.
        """
        scale, shift = self.one_hot_map
        return np.asarray((tally / records - shift) / scale)

    @abstractmethod
    def variance(self, n: int, frequency: ArrayLike = 0.0) -> Floats:
        """Return the variance of a frequency that the mechanism estimates from n
        reports, in closed form.

        Infinite where reports carry no information.
        """

    @property
    def informative(self) -> bool:
        """Whether the mechanism can estimate frequencies: not at epsilon 0, unless
        there is one value.
        """
        return bool(np.isfinite(self.variance(1)).all())

    @property
    def estimable(self) -> str:
        """What can be estimated from the mechanism's reports, in words."""
        return "every frequency" if self.informative else "nothing"

    def estimate(self, reports: Any, *, consistent: bool = False) -> Estimate:
        """Return the mechanism's estimated frequencies with their standard errors.

        Parameters
        ----------
        reports
            Reports of this mechanism with these parameters, or an iterable of batches
            of them.
        consistent
            Project the frequencies onto the probability simplex (Euclidean projection).
        """
        checks.flag(consistent, "consistent")
        batches: Iterable[Any] = reports if isinstance(reports, Iterable) else [reports]
        total = np.zeros(self.k)
        records = 0
        for batch in batches:
            self.check_reports(batch)
            total += self.tally(batch)
            records += len(batch)
        if not records:
            raise InputError("there is no estimate without reports, got none")
        if not self.informative:
            raise InputError(
                f"reports at epsilon {self.epsilon:g} carry no information, so nothing "
                "is estimated"
            )
        frequencies = self.frequencies(total, records)
        variances = self.variance(records, np.clip(frequencies, 0.0, 1.0))
        if consistent:
            frequencies = nearest_distribution(frequencies)
        return Estimate(frequencies, np.sqrt(variances), records, consistent)

    # The adversary --------------------------------------------------------------------

    def infer(self, reports: Any, rng: Seed = None) -> Integers:
        """Return the paper's attack: one guessed code for each report [paper, Appendix
        B].
        """
        self.check_reports(reports)
        source = randomness(rng)
        guesses = np.empty(len(reports), dtype=np.int64)
        step = max(1, min(ROWS, MAX_GUESS_CELLS // self.k))
        for start in range(0, len(reports), step):
            guesses[start : start + step] = self.guess(
                reports[start : start + step], source
            )
        return guesses

    def guess(self, reports: Any, source: Randomness) -> Integers:
        """Return one guess for each of the mechanism's reports: the likeliest value,
        ties at random.
        """
        scores = self.log_likelihood(reports)
        return guess_supported(scores == scores.max(axis=1, keepdims=True), source)

    @property
    def hit_rate(self) -> float:
        """The probability a = P(guess = u given u) under the mechanism [theory: The
        paper's attacker].
        """
        return 1.0 - self.miss_rate

    @cached_property
    def miss_rate(self) -> float:
        """The probability 1 - a of a wrong guess under the mechanism."""
        raise InputError(f"mechanism {self.name!r} does not define miss_rate")

    @property
    def guess_contrast(self) -> float:
        """The mechanism's log-ratio ln a (k - 1)/(1 - a) by which a guess of u favours
        the value u.
        """
        if self.k == 1:
            return 0.0
        if self.miss_rate == 0:
            return math.inf
        return max(0.0, math.log(self.hit_rate * (self.k - 1) / self.miss_rate))

    @property
    def guess_sets(self) -> LikelySets | None:
        """Likely sets of a mechanism's guess: singletons with contrast
        `guess_contrast`.

        None where the distribution of the guess is not symmetric in the values; then
        the leakage of the guess follows from `inferred_channel`.
        """
        return LikelySets("singletons", self.guess_contrast)

    def channel(self) -> Floats:
        """Return P(report given value) of the mechanism, k rows; raise where there are
        too many reports.
        """
        raise InputError(
            f"{self.name} with k = {self.k} has too many reports for a matrix; use "
            "inferred_channel() for the guessed value, or leakage() for the whole "
            "report"
        )

    def inferred_channel(self) -> Floats:
        """Return P(guess given value) of the mechanism, k x k: a on the diagonal, (1 -
        a)/(k - 1) elsewhere.
        """
        channel = np.full((self.k, self.k), self.miss_rate / max(1, self.k - 1))
        np.fill_diagonal(channel, self.hit_rate)
        return channel

    @abstractmethod
    def log_likelihood(self, reports: Any) -> Floats:
        """Return ln P(report given u) of the mechanism, one row per report and one
        column per value u.

        Factors that do not depend on u (the chance of a hash seed) may be left out.
        """

    @property
    def likely_sets(self) -> LikelySets | None:
        """Family of admissible likely sets of a mechanism's report [theory: Whole
        reports].

        None for a mechanism that is not two-level, which then has its own
        `pure_leakage`.
        """
        return None

    def leakage(self, G: Channel | ArrayLike) -> Leakage:
        """Return the exact leakage of the mechanism's whole report about a target, with
        its witness.

        `G` is P(source given target): rows target values, columns the k inputs.  With a
        delta the supremum, `pure_leakage`, may be far above epsilon; then it is the
        pair of l = bound(epsilon) and its delta [theory: The certified delta], a point
        of `profile()`.
        """
        matrix = as_matrix(G)
        if matrix.shape[1] != self.k:
            raise InputError(
                f"the channel must have {self.k} columns, one for each input of the "
                f"mechanism, got {matrix.shape[1]}"
            )
        pure = self.pure_leakage(G)
        return relaxed_leakage(
            G,
            pure,
            partial(self._delta_of_leakage, matrix, pure=pure.value),
            epsilon=self.epsilon,
            delta=self.delta,
        )

    def pure_leakage(self, G: Channel | ArrayLike) -> Leakage:
        """Return the largest two-level ratio over the mechanism's likely sets [theory:
        Whole reports].
        """
        if self.likely_sets is None:
            raise InputError(
                f"mechanism {self.name!r} defines no likely_sets or pure_leakage"
            )
        return two_level_leakage(G, self.likely_sets, report_of=self.report_of)

    def report_of(self, likely: Booleans) -> Reports | None:
        """Return a report of the mechanism with this likely set, for a witness; None
        where none is known.
        """
        return None

    def privacy_profile(self, epsilon: float) -> float:
        """Return the smallest known delta with which the mechanism is (epsilon,
        delta)-LDP.
        """
        return budget_profile(self.epsilon, self.delta, checks.epsilon(epsilon))

    def _delta_of_leakage(self, matrix: Floats, leakage: float, pure: float) -> float:
        """Return the delta of a mechanism's leakage, exact where the transition matrix
        is known.
        """
        try:
            transition = self.channel()
        except InputError:  # too many reports
            return delta_from_profile(matrix, self.privacy_profile, leakage, pure)
        return delta_of_reports(matrix, transition, leakage, pure)

    # Checks ---------------------------------------------------------------------------

    def check_reports(self, reports: Any) -> None:
        """Raise where reports are not of this mechanism with these parameters."""
        own = self.describe()
        if isinstance(reports, self.reports) and dict(reports.origin) == own:
            return
        origin: Any = type(reports).__name__
        if isinstance(reports, Reports):
            origin = dict(reports.origin)
        raise InputError(
            f"reports must come from {own}, got reports of {origin}",
            parameter="reports",
        )

    def check_drawn(self, reports: Any) -> None:
        """Raise where a report is outside the range of this mechanism, as damaged ones
        may be.
        """
        self.check_reports(reports)
        if isinstance(reports, ValueReports):
            reports.below(self.outputs)

    def __repr__(self) -> str:
        """Return the mechanism's name, values and budget in one line."""
        parts = ", ".join(f"{key}={value}" for key, value in self.describe().items())
        return f"{type(self).__name__}({parts})"
