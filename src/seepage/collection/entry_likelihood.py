"""Likelihood of a logit on unperturbed covariates, from one entry per report.

With a the entry of the unbiased vector of a report for the outcome [`report_vectors`],
between l and h,

    sum_i u_i ((a_i - l) ln(mu_i - l) + (h - a_i) ln(h - mu_i)) / (h - l)

is maximised: the likelihood where a has two values, as under randomised response with
P(report = 1) = (mu - l) / (h - l); else a quasi-likelihood [Papke and Wooldridge 1996],
whose equations have expectation 0 as E a = mu, with sandwich errors; u_i is the weight
of a person over the variance of the entries of the form.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from seepage._core.arrays import Booleans, Floats, Integers
from seepage.collection.families import mean_of
from seepage.collection.profile_likelihood import (
    Covariances,
    Derivatives,
    Maximum,
    coefficient_covariances,
    scaled_inverse,
)


class EntryLikelihood(NamedTuple):
    """The likelihood of coefficients, from the entry of each person.

    Parameters
    ----------
    design, entries
        x and a, one row per person.
    low, high
        l and h of each person.
    weights
        u of each person.
    is_exact
        Whether the entries have two values and the weights are 1: a likelihood.
    sum_of_weights, mean_weight
        The sum of the weights of people, and their mean, weighted by themselves.
    """

    design: Floats
    entries: Floats
    low: Floats
    high: Floats
    weights: Floats
    is_exact: bool
    sum_of_weights: float
    mean_weight: float

    @classmethod
    def of(
        cls, design: Floats, entries: Floats, weights: Floats | None, forms: Integers
    ) -> "EntryLikelihood":
        """Return the likelihood of one entry per report, people with a form each;
        weights None for 1 each.
        """
        people = np.ones(len(entries))
        if weights is not None:
            people = weights
        low = np.zeros(len(entries))
        high = np.ones(len(entries))
        u = people.copy()
        is_exact = weights is None
        for form in np.unique(forms):
            rows = forms == form
            of_form = entries[rows]
            least = min(of_form.min(), 0.0)
            largest = max(of_form.max(), 1.0)
            low[rows] = least
            high[rows] = largest
            mean = of_form.mean()
            spread = of_form.var()
            if spread > 0:
                # The largest variance within the bounds over that of the entries: 1
                # for two values.
                u[rows] *= (mean - least) * (largest - mean) / spread
            is_exact &= len(np.unique(of_form)) <= 2
        return cls(
            design=design,
            entries=entries,
            low=low,
            high=high,
            weights=u,
            is_exact=bool(is_exact),
            sum_of_weights=float(people.sum()),
            mean_weight=float((people**2).sum() / people.sum()),
        )

    def start(self) -> Floats:
        """Return coefficients of 0, where the likelihood of entries starts."""
        return np.zeros(self.design.shape[1])

    def occupied(self, parameters: Floats) -> Booleans:
        """Return that somebody with an entry has each row of the design."""
        return np.ones(len(self.design), dtype=np.bool_)

    def derivatives(self, parameters: Floats) -> Derivatives:
        """Return the logarithm of the likelihood of all entries, with its derivatives.

        The information is its expectation.
        """
        predictor = self.design @ parameters
        mu, slope = mean_of(predictor, "logit")
        complement = mean_of(-predictor, "logit")[0]
        above = mu - self.low
        below = complement + (self.high - 1.0)
        terms = xlogy(self.entries - self.low, above)
        terms += xlogy(self.high - self.entries, below)
        value = float(self.weights @ (terms / (self.high - self.low)))
        lead = self._lead(slope, above * below)
        residuals = self.entries - mu
        gradient = self.design.T @ (self.weights * lead * residuals)
        expected = self.weights * lead * slope
        turn = residuals * lead * (1.0 - 2.0 * mu - lead * (below - above))
        observed = expected - self.weights * turn
        return Derivatives(
            value=value,
            gradient=gradient,
            information=self.design.T @ (self.design * expected[:, None]),
            hessian=self.design.T @ (self.design * observed[:, None]),
        )

    def covariances(self, maximum: Maximum) -> Covariances:
        """Return the covariances of the coefficients of a logit, by the observed
        information of the entries.
        """
        mu, slope = mean_of(self.design @ maximum.parameters, "logit")
        lead = self._lead(slope, (mu - self.low) * (self.high - mu))
        pull = self.weights * lead * (self.entries - mu)
        scores = self.design * pull[:, None]
        expected = maximum.derivatives.information
        return coefficient_covariances(
            information=maximum.derivatives.hessian,
            scores=scores.T @ scores,
            bread=scaled_inverse(expected, np.diag(expected)),
            count=len(maximum.parameters),
        )

    @staticmethod
    def _lead(slope: Floats, spread: Floats) -> Floats:
        """Return mu' / ((mu - l) (h - mu)) of an entry; 1, its limit, where that is 0 /
        0.
        """
        return np.divide(slope, spread, out=np.ones_like(slope), where=spread > 0)
