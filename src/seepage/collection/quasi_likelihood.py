"""Regressions estimated from reports: quasi-likelihood with the noise in the variance.

With x the covariates of a person, y the outcome (0 or 1, or a number) and mu(x b) its mean, the
estimating equation of unperturbed answers is sum_i x_i (y_i - mu_i) = 0.  Reports give unbiased
terms instead: with a the vector of a report over the cells of outcome and covariates
[`report_vectors`],

    sum_i u_i sum_x h(x) x (A_i(x) - mu(x b) B_i(x)) = 0,

with A(x) = sum_y y a(y, x) and B(x) = sum_y a(y, x), has expectation 0 at the true b for every h
that does not depend on the reports (corrected score [Nakamura 1990]).  The weights of the
quasi-likelihood [Wedderburn 1974] are

    h(x) = f(x) V(mu) / (f(x) V(mu) + N(x)),

V the variance of y at mean mu, f(x) the nominal frequency of the covariates and N(x) the variance
of A(x) - mu B(x) by noise: where the noise is large, a cell counts little; without noise h = 1 and
the estimate is that of unperturbed answers.  For unperturbed covariates A is the estimate of a
single answer, B = f = 1, and V + N its variance; for a binary answer under randomised response
(P(report = 1) = q + (p - q) mu) this is maximum likelihood.

The equation is solved by Newton's method with the exact derivative at fixed h.  The covariance of b
is J^-1 M J^-1, J the derivative and M the covariance of the equation (sandwich); for covariates in
clear without weights it is the inverse of the observed information.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from seepage import _checks
from seepage._numerics import Floats
from seepage._results import NORMAL_QUANTILE, Estimated, Result, json_ready
from seepage.collection.estimated_cells import EstimatedCells
from seepage.collection.formula import Formula, Variable, clear_columns
from seepage.data.domain import Attribute
from seepage.errors import InputError

MAX_STEPS = 100
MAX_CHANGE = 2.0
"""Maximum change of a linear predictor in one step of Newton's method."""


class Moments(NamedTuple):
    """Unbiased moments of outcome and covariates, and the design matrix.

    Rows are people with unperturbed covariates, or one row for all; columns are cells of the
    covariates that are in the reports.

    Parameters
    ----------
    design
        x, shape (rows or 1, cells, coefficients).
    outcome, mass
        A and B, shape (rows, cells).
    weights
        u, one per row.
    frequencies
        f, one per cell.
    noise
        N as a polynomial of mu: N = n0 - 2 n1 mu + n2 mu^2, arrays of shape (rows or 1, cells).
    variance
        The variance of the outcome, for the linear family.
    covariance
        For one row: the covariance of A and B of all cells; None for people.
    """

    design: Floats
    outcome: Floats
    mass: Floats
    weights: Floats
    frequencies: Floats
    noise: tuple[Floats, Floats, Floats]
    variance: float
    covariance: Floats | None = None


def mean_of(predictor: Floats, family: str) -> tuple[Floats, Floats]:
    """Return mu and its derivative at a linear predictor."""
    if family == "linear":
        return predictor, np.ones_like(predictor)
    from scipy.special import expit

    mu = expit(predictor)
    return mu, mu * (1.0 - mu)


def solve(moments: Moments, family: str, *, exact: bool) -> tuple[Floats, Floats]:
    """Return the coefficients and their covariance, from the information where `exact`."""
    beta = np.zeros(moments.design.shape[-1])
    for _ in range(MAX_STEPS):
        score, derivative, _ = _equation(moments, beta, family)
        try:
            step = np.linalg.solve(derivative, score)
        except np.linalg.LinAlgError:
            raise _undetermined() from None
        largest = float(np.abs(moments.design @ step).max())
        if not np.isfinite(largest) or np.linalg.eigvalsh(derivative)[0] <= 0:
            raise _undetermined()
        beta = beta + step * (
            min(1.0, MAX_CHANGE / largest) if family == "logit" and largest else 1.0
        )
        if largest < 1e-10:
            break
    else:
        raise _undetermined()
    _, derivative, meat = _equation(moments, beta, family)
    if exact:
        derivative = derivative - _curvature(moments, beta)
    inverse = np.linalg.inv(derivative)
    return beta, np.asarray(inverse if exact else inverse @ meat @ inverse)


def _undetermined() -> InputError:
    return InputError(
        "the reports do not determine the coefficients: there are too few for this noise, or the "
        "covariates separate or repeat each other; use fewer covariates or more people"
    )


def _equation(moments: Moments, beta: Floats, family: str) -> tuple[Floats, Floats, Floats]:
    """Return the estimating equation at b, minus its derivative, and its covariance."""
    mu, slope = mean_of(moments.design @ beta, family)
    sampling = moments.frequencies * np.maximum(
        slope if family == "logit" else moments.variance, 1e-12
    )
    weight = sampling / (sampling + _noise(moments, mu))
    residual = moments.outcome - mu * moments.mass
    x = np.broadcast_to(moments.design, (*residual.shape, len(beta)))
    u = moments.weights[:, None]
    terms = np.einsum("ij,ijp->ip", u * weight * residual, x)
    bread = (u * weight * slope * moments.mass).reshape(-1, 1)
    flat = x.reshape(-1, len(beta))
    derivative = flat.T @ (flat * bread)
    if moments.covariance is None:
        return terms.sum(axis=0), derivative, terms.T @ terms
    lead = weight[0, :, None] * x[0]
    gradient = np.concatenate([lead, -mu[0, :, None] * lead])
    return terms.sum(axis=0), derivative, gradient.T @ moments.covariance @ gradient


def _curvature(moments: Moments, beta: Floats) -> Floats:
    """Return the derivative by h of the equation of a logit with unperturbed covariates.

    The information minus this is the observed information.
    """
    mu, slope = mean_of(moments.design @ beta, "logit")
    variance, rise = slope + _noise(moments, mu), -2.0 * moments.noise[1]
    growth = (1.0 - 2.0 * mu) - (1.0 - 2.0 * mu + rise) * slope / variance
    terms = moments.weights[:, None] * slope / variance * growth * (moments.outcome - mu)
    x = np.broadcast_to(moments.design, (*terms.shape, len(beta))).reshape(-1, len(beta))
    return np.asarray(x.T @ (x * terms.reshape(-1, 1)))


def _noise(moments: Moments, mu: Floats) -> Floats:
    """Return N, the variance of A - mu B by noise."""
    n0, n1, n2 = moments.noise
    return np.maximum(n0 - 2.0 * n1 * mu + n2 * mu**2, 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class Regression(Result):
    """Estimated coefficients with their covariance.

    Parameters
    ----------
    formula, family
        As given.
    outcome
        What is explained: the attribute, with the value that counts as 1.
    names, values, covariance
        The coefficients, in the order of the design matrix, and their covariance.
    records
        The number of reports.
    errors
        `"information"` or `"sandwich"`.
    levels
        The values of categorical columns, and () for numbers, by name: for predictions.
    """

    formula: Formula
    family: str
    outcome: str
    names: tuple[str, ...]
    values: Floats
    covariance: Floats
    records: int
    errors: str
    levels: Mapping[str, tuple[str, ...]]

    def __getitem__(self, name: str) -> Estimated:
        """Return one coefficient, with its standard error and interval."""
        index = self.names.index(_checks.choice(name, "coefficient", self.names))
        return Estimated.normal(self.values[index], self.standard_errors[index])

    @property
    def standard_errors(self) -> Floats:
        """The standard error of each coefficient."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    def _headline(self) -> str:
        return f"Regression({self.formula.text}, {self.family}, {self.records:,} reports)"

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        from scipy.special import ndtr

        errors = self.standard_errors
        z = self.values / errors
        width = NORMAL_QUANTILE * errors
        return {
            "term": list(self.names),
            "coefficient": self.values.tolist(),
            "standard_error": errors.tolist(),
            "z": z.tolist(),
            "p_value": (2.0 * ndtr(-np.abs(z))).tolist(),
            "lower": (self.values - width).tolist(),
            "upper": (self.values + width).tolist(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the coefficients as JSON-compatible data."""
        content = {
            "formula": self.formula.text,
            "family": self.family,
            "outcome": self.outcome,
            "records": self.records,
            "standard_errors_from": self.errors,
            "coefficients": self._columns(),
            "covariance": self.covariance,
        }
        return dict(json_ready(content))

    def summary(self) -> str:
        """Return the coefficients as text, in the shape of a summary of statsmodels."""
        columns = self._columns()
        width = max(map(len, [*self.names, "Dep. Variable:"])) + 2
        head = ["coef", "std err", "z", "P>|z|", "[0.025", "0.975]"]
        line = "=" * (width + 11 * len(head))
        rows = zip(*columns.values(), strict=True)
        about = (
            ("Dep. Variable:", self.outcome),
            ("Model:", self.family),
            ("No. Observations:", f"{self.records:,}"),
            ("Covariance Type:", self.errors),
        )
        return "\n".join(
            [
                line,
                *(f"{label:<20}{value}" for label, value in about),
                line,
                " " * width + "".join(f"{title:>11}" for title in head),
                "-" * len(line),
                *(
                    f"{name:<{width}}{b:>11.4f}{se:>11.4f}{z:>11.3f}{p:>11.3f}{low:>11.4f}{high:>11.4f}"
                    for name, b, se, z, p, low, high in rows
                ),
                line,
            ]
        )

    def predict(self, data: Any) -> EstimatedCells:
        """Return the mean of the outcome for each row of a frame or mapping of columns.

        Intervals are those of x b, transformed: of the mean, not of single answers.
        """
        if isinstance(data, Mapping):
            import pyarrow as pa

            try:
                data = pa.table({name: np.atleast_1d(column) for name, column in data.items()})
            except (pa.ArrowException, TypeError, ValueError):
                raise InputError("data must map columns to values", parameter="data") from None
        columns = clear_columns(data, self.formula.names)
        variables = {name: self._variable(name, column) for name, column in columns.items()}
        rows = max((len(column) for column in columns.values()), default=1)
        made = self.formula.design(variables)
        design = np.stack([np.broadcast_to(made[name], rows) for name in self.names], axis=-1)
        center, half = (
            design @ self.values,
            np.einsum("ij,jk,ik->i", design, self.covariance, design),
        )
        deviations = np.sqrt(half)
        limits = [center + sign * NORMAL_QUANTILE * deviations for sign in (-1, 1)]
        mean, slope = mean_of(center, self.family)
        intervals = np.stack([mean_of(limit, self.family)[0] for limit in limits], axis=-1)
        row = Attribute("row", tuple(map(str, range(rows))))
        return EstimatedCells(
            f"mean of {self.outcome}", (row,), mean, slope * deviations, intervals
        )

    def _variable(self, name: str, column: Any) -> Variable:
        levels = self.levels[name]
        if not levels:
            try:
                return Variable(np.asarray(column, dtype=np.float64))
            except ValueError:
                raise InputError(f"column {name!r} must hold numbers") from None
        attribute = Attribute(name, levels)
        texts = [f"{v:g}" if isinstance(v, float) else str(v) for v in column.tolist()]
        return Variable(np.array([attribute.code(text) for text in texts]), levels)
