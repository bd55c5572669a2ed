"""Unbiased estimates from the one report of a matrix form.

With C the channel from cells z of the answers to reports y and B the wanted marginal, a table A
with C A = B' gives an unbiased estimate for any distribution: a report y counts A[y].  Of all such
tables the one with the least variance at nominal frequencies p of the cells is taken (generalised
least squares),

    A = D^-1/2 (C D^-1/2)^+ B',   D = diag(p C),

and its summed variance for one report is sum_y (p C)_y |A[y]|^2 - |B p|^2.
"""

from functools import cached_property, reduce

import numpy as np

from seepage._numerics import Floats
from seepage.collection.form_estimates import FormPart, nominal_frequencies
from seepage.mechanisms.reports import ValueReports
from seepage.plan.form import MatrixChannel
from seepage.plan.plan import Plan

TOLERANCE = 1e-6
"""How far C A may be from B' by rounding; further off, the reports do not tell the marginal."""


class MatrixEstimator:
    """Estimates from the reports of one matrix form.

    Parameters
    ----------
    plan
        The plan.
    channel
        The channel of the form.
    """

    def __init__(self, plan: Plan, channel: MatrixChannel) -> None:
        self.names = channel.attributes
        self.sizes = [plan.domain[name].size for name in self.names]
        self._channel = channel.made.channel()
        self.outputs = channel.made.outputs
        if channel.frequencies:
            self._cells = np.array(channel.frequencies)
        else:
            nominal = [nominal_frequencies(plan, name) for name in self.names]
            self._cells = np.asarray(reduce(np.multiply.outer, nominal)).ravel()

    def size(self, name: str) -> int:
        """Return the number of values of an attribute."""
        return self.sizes[self.names.index(name)]

    @cached_property
    def _inverse(self) -> Floats:
        """D^-1/2 (C D^-1/2)^+, one row per report and one column per cell."""
        chances = self._cells @ self._channel
        scale = np.zeros_like(chances)
        np.divide(1.0, np.sqrt(chances), out=scale, where=chances > 0)
        return np.asarray(scale[:, None] * np.linalg.pinv(self._channel * scale))

    def marginal_of(self, *names: str) -> Floats:
        """Return B: for each cell of some attributes' values, the cells of all answers in it."""
        places = [self.names.index(name) for name in names]
        codes = np.unravel_index(np.arange(len(self._cells)), self.sizes)
        shape = [self.sizes[place] for place in places]
        own = np.ravel_multi_index([codes[place] for place in places], shape)
        return np.asarray(own == np.arange(np.prod(shape))[:, None], dtype=np.float64)

    def coefficients(self, *names: str) -> Floats | None:
        """Return A: what each report counts for the joint values of some attributes.

        None where the reports do not tell them.
        """
        wanted = self.marginal_of(*names).T
        found = self._inverse @ wanted
        exact = np.abs(self._channel @ found - wanted).max() <= TOLERANCE
        return np.asarray(found) if exact else None

    def count(self, reports: ValueReports) -> Floats:
        """Return how often each report occurs."""
        found = np.bincount(reports.below(self.outputs), minlength=self.outputs)
        return found.astype(np.float64)

    def part(self, names: tuple[str, ...], counts: Floats) -> FormPart | None:
        """Return what so many reports of each kind say about the joint values of attributes.

        Notes
        -----
        The variance of an estimated frequency f given the people is (m - f) / n, with m the mean
        of A[y]^2, which is its own unbiased estimate.
        """
        found = self.coefficients(*names)
        if found is None:
            return None
        records = int(counts.sum())
        frequencies = counts @ found / records
        noise = np.maximum(counts @ found**2 / records - np.clip(frequencies, 0.0, 1.0), 0.0)
        return FormPart(frequencies, noise / records, records, self.spread(*names))

    def spread(self, *names: str) -> float:
        """Return the variance of one report's estimate, summed, at nominal frequencies."""
        found = self.coefficients(*names)
        if found is None:
            return np.inf
        nominal = self.marginal_of(*names) @ self._cells
        second = float((self._cells @ self._channel) @ (found**2).sum(axis=1))
        return second - float(nominal @ nominal)
