"""Histogram encoding: report the one-hot vector of a value, with noise on every entry."""

import math
from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage import _checks
from seepage._numerics import Floats, Integers
from seepage.data.channel import as_matrix
from seepage.errors import InputError
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.noise import GaussianGrid, LaplaceGrid
from seepage.mechanisms.randomness import Randomness, Seed, randomness
from seepage.mechanisms.reports import VectorReports

__all__ = ["HistogramEncoding"]

BLOCK = 1 << 15
"""Entries handled at once, so that they stay in the cache."""


class HistogramEncoding(Mechanism):
    """Report the one-hot vector of a value with independent noise on each entry.

    The mean of the reports is an unbiased estimate of the frequencies, since the noise has mean
    0.  An adversary weighs value v by `_evidence`, how much likelier entry v is around 1 than
    around 0.
    """

    reports = VectorReports

    @property
    def bits(self) -> float:
        """The size of one report: k doubles."""
        return 64.0 * self.k

    @property
    @abstractmethod
    def noise_variance(self) -> float:
        """The variance of the noise on one entry."""

    @property
    @abstractmethod
    def grid(self) -> LaplaceGrid | GaussianGrid | None:
        """The noise of `secure=True`; None where every report is the zero vector."""

    @abstractmethod
    def _fill(self, block: Floats, generator: np.random.Generator) -> None:
        """Write noise into a block of entries."""

    @abstractmethod
    def _evidence(self, vectors: Floats) -> Floats:
        """Return ln P(entry given 1) - ln P(entry given 0) of each entry."""

    @abstractmethod
    def _around_zero(self, vectors: Floats) -> Floats:
        """Return the log-density of each report if no entry were 1."""

    @property
    @abstractmethod
    def _miss_rate(self) -> float:
        """The probability 1 - a that the guess is wrong, without cancellation."""

    # What it does -------------------------------------------------------------------------------

    def _perturb(self, codes: Integers, source: Randomness) -> VectorReports:
        vectors = np.empty((len(codes), self.k))
        rows = max(1, BLOCK // self.k)
        for begin in range(0, len(codes), rows):
            block, own = vectors[begin : begin + rows], codes[begin : begin + rows]
            if self.grid is None:
                block[:] = 0.0
            elif source.generator is None:
                block[:] = self._on_grid(self.grid, own, source)
            else:
                self._fill(block, source.generator)
                block[np.arange(len(own)), own] += 1.0
        return VectorReports(self.describe(), vectors)

    def _on_grid(
        self, grid: LaplaceGrid | GaussianGrid, codes: Integers, source: Randomness
    ) -> Floats:
        """Return reports from the grid: draws around 0, the true entry's mirrored to around 1."""
        cells = grid.draw(source, len(codes) * self.k).reshape(-1, self.k)
        every = np.arange(len(codes))
        cells[every, codes] = grid.mirror - cells[every, codes]
        return grid.values(cells)

    def tally(self, reports: VectorReports) -> Floats:
        """Return the sum of each entry over the reports; with one value, their number."""
        self._own(reports)
        if self.k == 1:
            return np.array([float(len(reports))])
        return _finite(reports.vectors.sum(axis=0))

    def _frequencies(self, tally: Floats, records: int) -> Floats:
        return tally / records

    def variance(self, n: int, frequency: ArrayLike = 0.0) -> Floats:
        """Return the variance of one entry's noise over n, at any frequency; 0 for one value."""
        count = _checks.integer(n, "n", 1)
        return np.full(np.shape(frequency), self.noise_variance / count if self.k > 1 else 0.0)

    def _own(self, reports: Any) -> None:
        super()._own(reports)
        if reports.vectors.ndim != 2 or reports.vectors.shape[1] != self.k:
            raise InputError(f"reports must hold vectors of {self.k} numbers")

    # What an adversary makes of it --------------------------------------------------------------

    def infer(self, reports: Any, rng: Seed = None, prior: ArrayLike | None = None) -> Integers:
        """Return the value with the largest posterior for each report [paper, Appendix B].

        Parameters
        ----------
        reports
            Reports of this very mechanism.
        rng
            A seed or generator, for entries that tie exactly, as they do on a grid.
        prior
            The paper's P_V: a distribution over the k values; uniform if None.

        Notes
        -----
        Laplace noise has the same likelihood ratio for every entry above 1, so posteriors tie;
        among tied values the one with the largest entry is guessed.  No rule among tied values
        is better than another, so this has the hit rate of any Bayes-optimal guess, and with a
        uniform prior it is the value with the largest entry.
        """
        self._own(reports)
        logarithms = None if prior is None else self._log_prior(prior)
        return self._infer(reports, randomness(rng, False), logarithms)

    def _infer(
        self, reports: VectorReports, source: Randomness, log_prior: Floats | None = None
    ) -> Integers:
        vectors = reports.vectors
        guesses = np.empty(len(vectors), dtype=np.int64)
        rows = max(1, BLOCK // self.k)
        for begin in range(0, len(vectors), rows):
            scores = vectors[begin : begin + rows]
            if log_prior is not None:
                posterior = self._evidence(scores) + log_prior
                best = posterior.max(axis=1, keepdims=True)
                scores = np.where(posterior == best, scores, -np.inf)
            guesses[begin : begin + rows] = _largest(scores, source)
        return guesses

    def _log_prior(self, prior: ArrayLike) -> Floats:
        probabilities = as_matrix(np.atleast_2d(np.asarray(prior)), "prior")
        if probabilities.shape != (1, self.k):
            raise InputError(f"prior must hold {self.k} probabilities, one for each value")
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(probabilities[0]))

    @cached_property
    def hit_rate(self) -> float:
        """The probability a = integral of f(y - 1) F(y)^(k-1) dy that the true entry is largest.

        f and F are the noise's density and distribution function [theory: The paper's attacker].
        """
        return 1.0 - self._miss_rate

    @property
    def guess_contrast(self) -> float:
        """The log-ratio ln a (k - 1)/(1 - a) by which a guess favours its value."""
        if self._miss_rate == 0:
            return 0.0 if self.k == 1 else math.inf
        return max(0.0, math.log(self.hit_rate * (self.k - 1) / self._miss_rate))

    def inferred_channel(self) -> Floats:
        """Return P(guess given value), k x k: a on the diagonal, (1 - a)/(k - 1) elsewhere."""
        channel = np.full((self.k, self.k), self._miss_rate / max(1, self.k - 1))
        np.fill_diagonal(channel, self.hit_rate)
        return channel

    def log_likelihood(self, reports: VectorReports) -> Floats:
        """Return the log-density of each report, one column a value u."""
        self._own(reports)
        vectors = _finite(reports.vectors)
        return self._around_zero(vectors)[:, None] + self._evidence(vectors)

    def _report(self, vector: Floats) -> VectorReports:
        if vector.shape != (self.k,):
            raise InputError(f"likely must say yes or no for each of {self.k} values")
        return VectorReports(self.describe(), vector[None].astype(np.float64))


def _finite(numbers: Floats) -> Floats:
    if not np.isfinite(numbers).all():
        raise InputError("reports must hold finite numbers")
    return numbers


def _largest(scores: Floats, source: Randomness) -> Integers:
    """Return the column of the largest score of each row, any one where several are equal."""
    chosen = scores.argmax(axis=1)
    best = _finite(scores[np.arange(len(scores)), chosen])
    equal = scores == best[:, None]
    tied = np.flatnonzero(np.count_nonzero(equal, axis=1) > 1)
    if len(tied):
        keys = source.words(len(tied) * scores.shape[1]).reshape(len(tied), -1) | np.uint64(1)
        chosen[tied] = np.where(equal[tied], keys, np.uint64(0)).argmax(axis=1)
    return np.asarray(chosen)
