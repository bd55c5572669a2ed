"""Histogram encoding: report the one-hot vector of a value, with noise on every entry.

`SHE` (`she.py`) adds Laplace noise, `Gaussian` (`gaussian.py`) normal noise.

The last bits of floating-point noise can reveal what it was added to [Mironov 2012].  So without
`rng` the noise is drawn on a grid: a noisy entry is an integer number of cells, drawn by comparing
the operating system's bytes with integer thresholds.  Its probabilities are exact fractions, and
`realised_epsilon` and `realised_delta` state what they satisfy.  Entries of a one-hot vector are 0
or 1; a grid maps onto itself when 0 and 1 trade places (cell c becomes `mirror - c`), so that one
distribution serves both.

With a seed the noise is a NumPy double, for research: fast, but not secure.  Neither protects
against timing, since a draw may be rejected and repeated, or against access to memory.
"""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage import _checks
from seepage._numerics import Floats, Integers
from seepage.data.channel import as_matrix
from seepage.errors import InputError
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.exact_draws import Randomness, Seed, argmax_random_ties, randomness
from seepage.mechanisms.reports import VectorReports

MAX_ENTRY = 1e150
"""Largest magnitude of an entry whose likelihood is computed: its square is a double."""

BLOCK = 1 << 15
"""Entries per block, so that they stay in the cache."""


class NoiseGrid(ABC):
    """Noise in cells of a grid, for the entries of one-hot vectors.

    The noisy 0 has the distribution of `draw`, the noisy 1 that of `mirror` - `draw`.
    """

    mirror: int

    @abstractmethod
    def draw(self, source: Randomness, size: int) -> Integers:
        """Return `size` independent draws of the noisy 0, in cells."""

    @abstractmethod
    def values(self, cells: Integers) -> Floats:
        """Return the numbers that cells represent."""

    def one_hot(self, codes: Integers, k: int, source: Randomness) -> Floats:
        """Return noisy one-hot vectors, shape (n, k)."""
        cells = self.draw(source, len(codes) * k).reshape(-1, k)
        rows = np.arange(len(codes))
        cells[rows, codes] = self.mirror - cells[rows, codes]
        return self.values(cells)


class HistogramEncoding(Mechanism):
    """Report the one-hot vector of a value with independent noise on each entry.

    The noise has mean 0, so the mean of the reports is an unbiased estimate of the frequencies.
    The log-likelihood of value v is that of the zero vector plus the log-likelihood ratio of entry
    v between 1 and 0.
    """

    reports = VectorReports

    reach: float
    """Magnitude that the noise exceeds with probability below 1e-40."""

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
    def grid(self) -> NoiseGrid | None:
        """The grid of secure noise; None where every report is the zero vector."""

    @abstractmethod
    def _fill(self, block: Floats, generator: np.random.Generator) -> None:
        """Fill a block of entries with noise."""

    @abstractmethod
    def _log_likelihood_ratios(self, vectors: Floats) -> Floats:
        """Return ln P(entry given 1) - ln P(entry given 0) of each entry."""

    @abstractmethod
    def _log_density_around_zero(self, vectors: Floats) -> Floats:
        """Return the log-density of each report under noise around the zero vector."""

    def draw(self, codes: Integers, source: Randomness) -> VectorReports:
        """Return noisy one-hot vectors: on the grid, or as doubles for a NumPy generator."""
        vectors = np.empty((len(codes), self.k))
        rows = max(1, BLOCK // self.k)
        for start in range(0, len(codes), rows):
            block, block_codes = vectors[start : start + rows], codes[start : start + rows]
            if self.grid is None:
                block[:] = 0.0
            elif source.generator is None:
                block[:] = self.grid.one_hot(block_codes, self.k, source)
            else:
                self._fill(block, source.generator)
                block[np.arange(len(block_codes)), block_codes] += 1.0
        return VectorReports(self.describe(), vectors)

    def contributions(self, reports: VectorReports) -> Floats:
        """Return the reported vectors; 1 for k = 1."""
        self.check_drawn(reports)
        return reports.vectors if self.k > 1 else np.ones((len(reports), 1))

    def variance(self, n: int, frequency: ArrayLike = 0.0) -> Floats:
        """Return the noise variance over n, for every frequency; 0 for k = 1."""
        count = _checks.integer(n, "n", 1, _checks.MAX_RECORDS)
        share = _checks.probabilities(frequency, "frequency")
        return np.full(share.shape, self.noise_variance / count if self.k > 1 else 0.0)

    def check_reports(self, reports: Any) -> None:
        """Raise where reports are not of this mechanism, or not vectors of k numbers."""
        super().check_reports(reports)
        if reports.vectors.ndim != 2 or reports.vectors.shape[1] != self.k:
            raise InputError(f"reports must hold vectors of {self.k} numbers", parameter="reports")

    def check_drawn(self, reports: Any) -> None:
        """Raise where an entry is outside [-reach, 1 + reach], or NaN."""
        self.check_reports(reports)
        reports.check_within(-self.reach, 1 + self.reach)

    def infer(self, reports: Any, rng: Seed = None, prior: ArrayLike | None = None) -> Integers:
        """Return the value with the largest posterior for each report [paper, Appendix B].

        Parameters
        ----------
        reports
            Reports of this mechanism with these parameters.
        rng
            A seed or generator, to break exact ties of entries, as they occur on a grid.
        prior
            The paper's P_V: a distribution over the k values; uniform if None.

        Notes
        -----
        Laplace noise has the same likelihood ratio for every entry above 1, so posteriors tie; of
        the tied values the one with the largest entry is guessed.  All rules for ties have the hit
        rate of the Bayes-optimal guess; with this one and a uniform prior the guess is the value
        with the largest entry.
        """
        self.check_reports(reports)
        log_prior = None if prior is None else self._log_prior(prior)
        reports.check_within(-MAX_ENTRY, MAX_ENTRY)
        vectors, source = reports.vectors, randomness(rng)
        guesses = np.empty(len(vectors), dtype=np.int64)
        rows = max(1, BLOCK // self.k)
        for start in range(0, len(vectors), rows):
            scores = vectors[start : start + rows]
            if log_prior is not None:
                posterior = self._log_likelihood_ratios(scores) + log_prior
                best = posterior.max(axis=1, keepdims=True)
                scores = np.where(posterior == best, scores, -np.inf)
            guesses[start : start + rows] = argmax_random_ties(scores, source)
        return guesses

    def _log_prior(self, prior: ArrayLike) -> Floats:
        probabilities = as_matrix(np.atleast_2d(np.asarray(prior)), "prior")
        if probabilities.shape != (1, self.k):
            raise InputError(
                f"prior must hold {self.k} probabilities, one for each value", parameter="prior"
            )
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(probabilities[0]))

    @cached_property
    def hit_rate(self) -> float:
        """The probability a = integral of f(y - 1) F(y)^(k-1) dy that the true entry is largest.

        f and F are the noise's density and distribution function [theory: The paper's attacker].
        """
        return 1.0 - self.miss_rate

    def log_likelihood(self, reports: VectorReports) -> Floats:
        """Return the log-density of each report, one column per value u."""
        self.check_reports(reports)
        reports.check_within(-MAX_ENTRY, MAX_ENTRY)
        return self._log_density_around_zero(reports.vectors)[
            :, None
        ] + self._log_likelihood_ratios(reports.vectors)

    def _report(self, vector: Floats) -> VectorReports:
        if vector.shape != (self.k,):
            raise InputError(
                f"likely must hold one boolean for each of {self.k} values", parameter="likely"
            )
        return VectorReports(self.describe(), vector[None].astype(np.float64))
