"""Likelihood of a logit on covariates that are in the reports, under a plan's channel.

A form has cells c, the combinations of its
answers; x(c) are the covariates of a cell and e(c) = 1 where its outcome is the one
that counts.  With y_i the report of person i, C the channel of the form and w_i the
weight of the person, the estimate maximises

    sum_i w_i ln sum_c C[c, y_i] p(c),   p(c) = f(x) P(e given x) q(c given e, x),

with P(1 given x) = mu(x b), over the coefficients b, the distribution f of the
covariates and that of all else the form asks, q, both free on the simplex: nothing is
assumed of them, and each form has its own q.  The channel of a product form is the
product of the likelihoods of its reports, over the asked attributes alone.

Newton's method uses the exact second derivative [Louis 1982], with absolute eigenvalues
where it is not concave.  The covariance is the inverse of the information, the sum of
outer products of the scores, in which f and q may vary to both sides even where they
are 0 (the safe side); with weights it is a sandwich.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from seepage._core.arrays import Booleans, Floats, Integers
from seepage.collection.families import mean_of
from seepage.collection.profile_likelihood import (
    Covariances,
    Derivatives,
    Maximum,
    coefficient_covariances,
    scaled_inverse,
)
from seepage.plan.report_vectors import row_products

CHUNK_ENTRIES = 1 << 18
"""Likelihoods that are summed at once: they fit into the cache."""


NOBODY = 1e-3
"""Estimated numbers of people that count as 0."""


class FormReports(NamedTuple):
    """The distinct reports of one form, as likelihoods over the cells of its answers.

    Parameters
    ----------
    factors
        P(report given value) up to a factor, one array (reports, values) per mechanism;
        the likelihood of a cell is their product.
    weights, squares
        The sums of the weights of people with each report, and of their squares.
    covariates, event
        x(c), the index of the covariates of each cell, and e(c).
    """

    factors: Sequence[Floats]
    weights: Floats
    squares: Floats
    covariates: Integers
    event: Booleans

    def merged(self) -> "FormReports":
        """Return the same logit likelihood, with reports that have equal factors added
        up.

        Reports of local hashing whose bucket has all values or none tell nothing, and
        are equal.
        """
        codes = []
        for factor in self.factors:
            _, rows = np.unique(factor, axis=0, return_inverse=True)
            codes.append(rows.ravel())
        _, first, position = np.unique(
            codes, axis=1, return_index=True, return_inverse=True
        )
        position = position.ravel()
        return self._replace(
            factors=[factor[first] for factor in self.factors],
            weights=np.bincount(position, self.weights).astype(np.float64),
            squares=np.bincount(position, self.squares).astype(np.float64),
        )

    @property
    def groups(self) -> Integers:
        """The index of covariates and event together, of each cell of a logit."""
        return 2 * self.covariates + self.event

    @property
    def free(self) -> Integers:
        """Cells of a logit that share their group, whose distribution q within it is
        estimated.
        """
        return np.flatnonzero(np.bincount(self.groups)[self.groups] > 1)

    def chunks(self) -> Iterator[tuple[Floats, slice]]:
        """Yield logit likelihoods of some reports, one column per cell, and their
        rows.
        """
        size = max(1, CHUNK_ENTRIES // len(self.event))
        for start in range(0, len(self.weights), size):
            rows = slice(start, start + size)
            yield row_products([factor[rows] for factor in self.factors]), rows


class LogitLikelihood(NamedTuple):
    """The likelihood of b, ln f and the ln q of each form, in this order; f and q up to
    factors.

    `design` are the covariates x, one row per combination of their values.
    """

    design: Floats
    forms: Sequence[FormReports]

    @property
    def sum_of_weights(self) -> float:
        """The sum of the weights of the people whose reports the logit likelihood is
        of.
        """
        return float(sum(form.weights.sum() for form in self.forms))

    @property
    def mean_weight(self) -> float:
        """The mean of the weights of people in the logit likelihood, weighted by
        themselves.
        """
        return (
            float(sum(form.squares.sum() for form in self.forms)) / self.sum_of_weights
        )

    def start(self) -> Floats:
        """Return coefficients of 0 and uniform distributions, where the logit
        likelihood starts.
        """
        free = sum(len(form.free) for form in self.forms)
        return np.zeros(sum(self.design.shape) + free)

    def occupied(self, parameters: Floats) -> Booleans:
        """Return which combinations of covariates of the logit somebody has."""
        cells, count = self.design.shape
        logarithms = parameters[count : count + cells]
        raised = np.exp(logarithms - logarithms.max())
        return np.asarray(raised / raised.sum() * self.sum_of_weights > NOBODY)

    def covariances(self, maximum: Maximum) -> Covariances:
        """Return the covariances of the coefficients of the logit."""
        information = maximum.derivatives.information
        return coefficient_covariances(
            information=information,
            scores=self._derivatives(maximum.parameters, squared=True).information,
            bread=scaled_inverse(information, np.diag(information)),
            count=self.design.shape[1],
        )

    def derivatives(self, parameters: Floats) -> Derivatives:
        """Return ln of the logit likelihood with its derivatives."""
        return self._derivatives(parameters)

    def _derivatives(self, parameters: Floats, *, squared: bool = False) -> Derivatives:
        """Return ln of the logit likelihood with its derivatives, summed over
        forms.

        The information is the sum of outer products of scores; `squared` for squares of
        weights.
        """
        value = 0.0
        size = len(parameters)
        gradient = np.zeros(size)
        information = np.zeros((size, size))
        hessian = np.zeros((size, size))
        models = self._models(parameters)
        for form, (probabilities, slopes) in zip(self.forms, models, strict=True):
            weights = form.weights
            if squared:
                weights = form.squares
            first = np.zeros(len(probabilities))
            second = np.zeros((len(first), len(first)))
            for likelihoods, rows in form.chunks():
                total = likelihoods @ probabilities
                ratios = likelihoods / total[:, None]
                value += float(weights[rows] @ np.log(total))
                first += weights[rows] @ ratios
                second += ratios.T @ (ratios * weights[rows, None])
            counts = probabilities * first
            scores = probabilities[:, None] * slopes
            gradient += slopes.T @ counts
            information += scores.T @ second @ scores
            surplus = weights.sum() * probabilities - counts
            hessian += slopes.T @ (slopes * surplus[:, None])
        return Derivatives(value, gradient, information, information + hessian)

    def _models(self, parameters: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Yield the logit's p(c) of each form, and the derivatives of ln p(c), one
        column per parameter.
        """
        cells, count = self.design.shape
        beta = parameters[:count]
        logarithms = parameters[count : count + cells]
        mu = mean_of(self.design @ beta, "logit")[0]
        complement = mean_of(-(self.design @ beta), "logit")[0]
        raised = np.exp(logarithms - logarithms.max())
        frequencies = raised / raised.sum()
        start = count + cells
        for form in self.forms:
            x = form.covariates
            groups = form.groups
            free = form.free
            exponents = np.zeros(len(x))
            exponents[free] = parameters[start : start + len(free)]
            largest = np.full(groups.max() + 1, -np.inf)
            np.maximum.at(largest, groups, exponents)
            raised = np.exp(exponents - largest[groups])
            within = raised / np.bincount(groups, raised)[groups]
            slopes = np.zeros((len(x), len(parameters)))
            slopes[:, :count] = (form.event - mu[x])[:, None] * self.design[x]
            slopes[:, count : count + cells] = (
                x[:, None] == np.arange(cells)
            ) - frequencies
            slopes[:, start : start + len(free)] = (
                np.arange(len(x))[:, None] == free
            ) - within[free] * (groups[:, None] == groups[free])
            yield (
                frequencies[x] * np.where(form.event, mu[x], complement[x]) * within,
                slopes,
            )
            start += len(free)
