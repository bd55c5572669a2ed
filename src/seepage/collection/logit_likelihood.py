"""Maximum likelihood of a logit under the channel of a plan, and corrected equations.

*Covariates in the reports, logit.*  A form has cells c, the combinations of its
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
are 0 (the safe side); with weights it is a sandwich.  Where the maximum is at infinite
coefficients, nothing is estimated.

*Unperturbed covariates, logit.*  With a the entry of the unbiased vector of a report
for the outcome [`report_vectors`], between l and h,

    sum_i w_i ((a_i - l) ln(mu_i - l) + (h - a_i) ln(h - mu_i)) / (h - l)

is maximised: the likelihood where a has two values, as under randomised response with
P(report = 1) = (mu - l) / (h - l); else a quasi-likelihood [Papke and Wooldridge 1996],
whose equations have expectation 0 as E a = mu, with sandwich errors; forms are then
weighted by inverse variance.

*The family "linear".*  There is no likelihood without a model of the outcome.  Least
squares with unbiased vectors in place of the answers (corrected score [Nakamura 1990]):
with the moments of the estimated table, or for unperturbed covariates sum_i u_i x_i
(a_i - x_i b) = 0; sandwich errors.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from seepage._core.arrays import Booleans, Floats, Integers
from seepage._core.errors import InputError
from seepage.collection.regression_result import mean_of
from seepage.plan.report_vectors import row_products

MAX_STEPS = 100
"""Maximum number of steps of Newton's method."""


MAX_CHANGE = 4.0
"""Maximum change of a linear predictor in one step."""


MAX_PREDICTOR = 20.0
"""Linear predictors above which coefficients are not determined."""


MAX_ERROR = 1e3
"""Standard errors of linear predictors above which coefficients are not determined."""


NO_RISE = 1e-5
"""Rise of the logarithm of the likelihood of one person's weight: 0.005 standard errors
or less."""


CHUNK_ENTRIES = 1 << 18
"""Likelihoods that are summed at once: they fit into the cache."""


NEGLIGIBLE = 1e-10
"""Eigenvalues of scaled second derivatives that count as 0."""


def undetermined_coefficients() -> InputError:
    """Return the error of a likelihood without a unique maximum."""
    return InputError(
        "the reports do not determine the coefficients: there are too few for this noise, or "
        "the covariates separate or repeat each other; use fewer covariates or more people"
    )


# Covariates in the reports ------------------------------------------------------------


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
        """Return the same likelihood, with reports that have equal factors added up.

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
        """The index of covariates and event together, of each cell."""
        return 2 * self.covariates + self.event

    @property
    def free(self) -> Integers:
        """Cells that share their group, whose distribution q within it is estimated."""
        return np.flatnonzero(np.bincount(self.groups)[self.groups] > 1)

    def chunks(self) -> Iterator[tuple[Floats, slice]]:
        """Yield likelihoods of some reports, one column per cell, and their rows."""
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

    def maximise(self, weighted: bool) -> tuple[Floats, Floats]:
        """Return the coefficients and their covariance."""
        count = self.design.shape[1]
        records = sum(form.weights.sum() for form in self.forms)
        parameters = np.zeros(
            sum(self.design.shape) + sum(len(form.free) for form in self.forms)
        )
        value, gradient, information, hessian = self.derivatives(parameters)
        small = NO_RISE * sum(form.squares.sum() for form in self.forms) / records
        for _ in range(MAX_STEPS):
            diagonal = np.maximum(np.diag(information), np.abs(np.diag(hessian)))
            step = _inverse(hessian, diagonal) @ gradient
            length = max(
                np.abs(step[count:]).max(), np.abs(self.design @ step[:count]).max()
            )
            step = step * min(1.0, MAX_CHANGE / length)
            while (found := self.derivatives(parameters + step))[
                0
            ] < value - 1e-12 * records:
                step = step / 2.0
            rise = gradient @ step
            parameters = parameters + step
            stalled = rise < small and found[0] < value + 1e-12 * records
            value, gradient, information, hessian = found
            if (
                rise < 1e-14 * records or stalled
            ):  # frequencies of 0 may fall without an end
                break
        if rise > small:
            raise undetermined_coefficients()
        beta = parameters[:count]
        covariance = _inverse(information, np.diag(information))
        known = (covariance @ information)[:count, :count]
        if weighted:
            meat = self.derivatives(parameters, squared=True)[2]
            covariance = covariance @ meat @ covariance
        covariance = covariance[:count, :count]
        errors = np.sqrt(np.einsum("xi,ij,xj->x", self.design, covariance, self.design))
        if (
            np.abs(known - np.eye(count)).max() > 1e-6
            or np.abs(self.design @ beta).max() > MAX_PREDICTOR
            or not errors.max() < MAX_ERROR
        ):
            raise undetermined_coefficients()
        return beta, covariance

    def derivatives(
        self, parameters: Floats, *, squared: bool = False
    ) -> tuple[float, Floats, Floats, Floats]:
        """Return ln of the likelihood, its gradient, the information, minus the second
        derivative.

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
        return value, gradient, information, information + hessian

    def _models(self, parameters: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Yield p(c) of each form, and the derivatives of ln p(c), one column per
        parameter.
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
            raised = np.ones(len(x))
            raised[free] = np.exp(parameters[start : start + len(free)])
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


def _inverse(matrix: Floats, diagonal: Floats) -> Floats:
    """Return the pseudo-inverse with absolute eigenvalues, of the matrix scaled by a
    diagonal.

    Scaled, parameters of cells that hardly occur have second derivatives as large as
    others.
    """
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
    kept = np.abs(values) > NEGLIGIBLE
    roots = vectors[:, kept] / scale[:, None]
    return np.asarray((roots / np.abs(values[kept])) @ roots.T)


def checked_inverse(matrix: Floats) -> Floats:
    """Return the inverse of minus a second derivative; raise where it is not positive
    definite.
    """
    if np.isfinite(matrix).all():
        eigenvalues = np.linalg.eigvalsh(matrix)
        if eigenvalues[0] > 1e-15 * eigenvalues[-1]:
            return np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    raise undetermined_coefficients()
