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
from typing import Any, NamedTuple

import numpy as np

from seepage import _checks
from seepage._numerics import Floats, Integers
from seepage.collection.covariates import (
    checked_weights,
    clear_columns,
    column_names,
    column_texts,
    report_weights,
)
from seepage.collection.cross_table import check_asked_together
from seepage.collection.regression import (
    Formula,
    Regression,
    Variable,
    attribute_variable,
    clear_variable,
    mean_of,
    outcome_scores,
    parse_formula,
)
from seepage.collection.report_source import ReportSource, open_reports
from seepage.collection.report_vectors import (
    informative_forms,
    nominal_frequencies,
    read_vectors,
    sum_table,
)
from seepage.data.domain import Attribute
from seepage.errors import InputError
from seepage.mechanisms.randomiser import Randomiser
from seepage.mechanisms.transition_matrix import least_squares_inverse
from seepage.plan.plan import Plan

MIN_FREQUENCY = 1e-4
"""Minimum nominal frequency of a cell of covariates: plans have whole percent."""

MAX_STEPS, MAX_CHANGE = 100, 2.0
"""Maximum number of steps of Newton's method, and change of a linear predictor in one."""


class Equation(NamedTuple):
    """The estimating equation: unbiased moments and design matrix.

    Rows are people with unperturbed covariates, or one for all; cells those of other covariates.

    Parameters
    ----------
    family, variance
        `"logit"`, or `"linear"` with this variance of the outcome.
    design, frequencies
        x, shape (rows, cells, coefficients), and f, one per cell.
    outcome, mass, weights
        A and B, shape (rows, cells), and u, one per row.
    noise
        N = n0 - 2 n1 mu + n2 mu^2, arrays of shape (rows or 1, cells).
    covariance
        For one row: the covariance of A and B of all cells; None for people.
    """

    family: str
    design: Floats
    frequencies: Floats
    outcome: Floats
    mass: Floats
    weights: Floats
    noise: Sequence[Floats]
    variance: float
    covariance: Floats | None = None

    def solve(self, exact: bool) -> tuple[Floats, Floats]:
        """Return the coefficients and their covariance, from the information where `exact`."""
        beta, largest = np.zeros(self.design.shape[-1]), np.inf
        for _ in range(MAX_STEPS):
            score, derivative, meat = self._at(beta)
            if not np.isfinite(derivative).all():
                break
            eigenvalues = np.linalg.eigvalsh(derivative)
            if eigenvalues[0] <= 1e-15 * eigenvalues[-1]:
                break
            if largest < 1e-10:
                inverse = np.linalg.inv(derivative - self._curvature(beta) if exact else derivative)
                return beta, np.asarray(inverse if exact else inverse @ meat @ inverse)
            step = np.linalg.solve(derivative, score)
            largest = float(np.abs(self.design @ step).max())
            is_long = self.family == "logit" and largest > MAX_CHANGE
            beta = beta + (step * MAX_CHANGE / largest if is_long else step)
        raise InputError(
            "the reports do not determine the coefficients: there are too few for this noise, or "
            "the covariates separate or repeat each other; use fewer covariates or more people"
        )

    def _at(self, beta: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the equation at b, minus its derivative, and its covariance."""
        x, u = self.design, self.weights[:, None]
        mu, slope = mean_of(x @ beta, self.family)
        spread = slope if self.family == "logit" else self.variance
        sampling = self.frequencies * np.maximum(spread, 1e-12)
        weight = sampling / (sampling + self._noise(mu))
        terms = u * weight * (self.outcome - mu * self.mass)
        bread = u * weight * slope * self.mass
        scores = np.einsum("ij,ijp->ip", terms, x)
        flat = x.reshape(-1, len(beta))
        derivative = flat.T @ (flat * bread.reshape(-1, 1))
        if self.covariance is None:
            return scores.sum(axis=0), derivative, scores.T @ scores
        lead = weight[0, :, None] * x[0]
        gradient = np.concatenate([lead, -mu[0, :, None] * lead])
        return scores.sum(axis=0), derivative, gradient.T @ self.covariance @ gradient

    def _curvature(self, beta: Floats) -> Floats:
        """Return the derivative by h of the equation of a logit with unperturbed covariates.

        The information minus this is the observed information.
        """
        mu, slope = mean_of(self.design @ beta, "logit")
        variance, rise = slope + self._noise(mu), -2.0 * self.noise[1]
        growth = (1.0 - 2.0 * mu) - (1.0 - 2.0 * mu + rise) * slope / variance
        terms = self.weights[:, None] * slope / variance * growth * (self.outcome - mu)
        flat = self.design.reshape(-1, len(beta))
        return np.asarray(flat.T @ (flat * terms.reshape(-1, 1)))

    def _noise(self, mu: Floats) -> Floats:
        """Return N, the variance of A - mu B by noise."""
        n0, n1, n2 = self.noise
        return np.maximum(n0 - 2.0 * n1 * mu + n2 * mu**2, 0.0)


class Model(NamedTuple):
    """A formula with its columns, of shape (1, cells of attributes) or (rows of people, 1).

    `outcome` says in words what is explained, `scores` are the numbers of the outcome's values, and
    `frequencies` the nominal ones of the cells.
    """

    formula: Formula
    family: str
    outcome: str
    scores: Floats
    variables: Mapping[str, Variable]
    frequencies: Floats

    @classmethod
    def of(
        cls,
        formula: Formula,
        family: str,
        outcome: Attribute,
        inside: Mapping[Attribute, Floats],
        unperturbed: Mapping[str, Any],
    ) -> "Model":
        """Return a model of attributes with nominal frequencies, and of unperturbed columns."""
        scores, explained = outcome_scores(outcome, formula.event, family)
        frequencies, shape = np.ones(1), [attribute.size for attribute in inside]
        variables = {}
        for codes, (attribute, nominal) in zip(np.indices(shape), inside.items(), strict=True):
            name, cells = attribute.name, codes.reshape(1, -1)
            variables[name] = attribute_variable(attribute, cells, name in formula.categories)
            frequencies = np.multiply.outer(frequencies, np.maximum(nominal, MIN_FREQUENCY)).ravel()
        for name, column in unperturbed.items():
            variables[name] = clear_variable(column[:, None], name in formula.categories)
        return cls(formula, family, explained, scores, variables, frequencies)

    def fit(
        self, records: int, *, exact: bool = False, rows: Integers | None = None, **moments: Any
    ) -> Regression:
        """Return the solution for the moments of an `Equation`, of rows of unperturbed columns."""
        chosen = {
            name: Variable(values if rows is None or len(values) == 1 else values[rows], levels)
            for name, (values, levels) in self.variables.items()
        }
        columns = self.formula.design(chosen)
        arrays = np.broadcast_arrays(moments["outcome"], *columns.values())
        equation = Equation(self.family, np.stack(arrays[1:], axis=-1), self.frequencies, **moments)
        values, covariance = equation.solve(exact)
        levels = {name: variable.levels for name, variable in self.variables.items()}
        how = "information" if exact else "sandwich"
        about = self.formula, self.family, self.outcome, tuple(columns)
        return Regression(*about, values, covariance, records, how, levels)


def regress_reports(
    plan: Plan, reports: Any, formula: str, family: str, covariates: Any, weights: Any
) -> Regression:
    """Return a regression estimated from the reports of a plan.

    Parameters
    ----------
    plan, reports
        The plan; and the table that `perturb` returned, or the path of a file of reports.
    formula
        "ill ~ age + sex": attributes that a form asks for together, or columns of `covariates`.
    family
        `"logit"` or `"linear"`.
    covariates
        A frame or file with unperturbed columns, one row per report in the same order.
    weights
        Survey weights: a column beside the reports or of `covariates`, or one number per report.
    """
    _checks.choice(family, "family", ("logit", "linear"))
    source, collected = open_reports(plan, reports), plan.collected
    beside = () if covariates is None else column_names(covariates)
    parsed = parse_formula(formula, [*collected.names, *beside])
    outcome = collected[parsed.outcome]
    if outcome.name in parsed.names:
        raise InputError(f"the outcome {outcome.name!r} must not explain itself")
    clear = [name for name in parsed.names if name in beside]
    inside = [name for name in parsed.names if name not in beside]
    asked = [outcome.name, *inside]
    check_asked_together(plan, asked)
    if isinstance(weights, str) and weights in beside:
        weights = clear_columns(covariates, [weights])[weights]
    columns = clear_columns(covariates, clear) if clear else {}
    if any(len(column) != source.records for column in columns.values()):
        raise InputError(
            f"covariates must have one row for each of {source.records:,} reports",
            parameter="covariates",
        )
    nominal = {collected[name]: nominal_frequencies(plan, name) for name in inside}
    model = Model.of(parsed, family, outcome, nominal, columns)
    fit = _fit_people if clear else _fit_table
    return fit(plan, source, model, asked, weights)


def _fit_table(
    plan: Plan, source: ReportSource, model: Model, asked: Sequence[str], weights: Any
) -> Regression:
    """Return the regression on covariates that are in the reports, from their table."""
    sums = sum_table(plan, source, asked, weights)
    scores, cells = model.scores, len(model.frequencies)
    linear = np.stack([scores, np.ones(len(scores)), scores**2])
    outcome, mass, second = linear @ sums.mean.reshape(len(scores), cells)
    maps = np.concatenate([np.kron(row, np.eye(cells)) for row in linear[:2]])
    first, moments = sums.squared
    expected = linear @ first.reshape(len(scores), cells)
    whole = (maps @ moments @ maps.T).reshape(2, cells, 2, cells)
    aa, ab, bb = (np.diagonal(whole[i, :, j]) for i, j in ((0, 0), (0, 1), (1, 1)))
    return model.fit(
        sum(sums.people.values()),
        outcome=outcome[None],
        mass=mass[None],
        weights=np.ones(1),
        noise=(aa - expected[2], ab - expected[0], bb - expected[1]),
        variance=max(float(second.sum() - outcome.sum() ** 2), 1e-12),
        covariance=maps @ sums.covariance @ maps.T,
    )


def _fit_people(
    plan: Plan, source: ReportSource, model: Model, asked: Sequence[str], weights: Any
) -> Regression:
    """Return the regression on unperturbed covariates, from the report of each person."""
    given = report_weights(source, weights)
    forms, scores, parts = informative_forms(plan, asked), model.scores, []
    single = len(asked) == 1
    by_noise = single and model.family == "logit"
    for _, form, reports, rows in read_vectors(source, [forms]):
        vectors = forms[form].vectors(reports).reshape(len(rows), len(scores), -1)
        outcome, second = (np.einsum("iyx,y->ix", vectors, s) for s in (scores, scores**2))
        mass = np.ones_like(outcome) if single else vectors.sum(axis=1)
        weight = np.ones(len(rows)) if given is None else given[rows]
        if by_noise:
            other, own = forms[form].noise(int(scores.argmax()))
            noise = np.full((3, len(rows), 1), [[[other]], [[(other - own) / 2]], [[0.0]]])
        else:
            weight = weight / (forms[form].variance or 1.0)
            noise = np.stack([outcome**2 - second, outcome * mass - outcome, mass**2 - mass])
        parts.append((rows, outcome, mass, second, weight, np.moveaxis(noise, 0, 1)))
    if not parts:
        raise InputError(f"the reports do not determine the frequencies of {asked[0]!r}")
    rows, outcome, mass, second, weight, noise = (
        np.concatenate(part) for part in zip(*parts, strict=True)
    )
    if not by_noise:
        noise = np.average(noise, axis=0, weights=weight**2)[None]
    separate = all(plan.forms[f].is_product or len(plan.forms[f].attributes) == 1 for f in forms)
    mean, square = (float(weight @ m.sum(axis=1) / weight.sum()) for m in (outcome, second))
    return model.fit(
        len(rows),
        exact=by_noise and given is None and separate,
        rows=rows,
        outcome=outcome,
        mass=mass,
        weights=weight,
        noise=np.moveaxis(noise, 1, 0),
        variance=max(square - mean**2, 1e-12),
    )


def regress(
    data: Any, formula: str, *, randomiser: Any, family: str = "logit", weights: Any = None
) -> Regression:
    """Return a regression whose outcome was randomised by somebody else's method.

    Parameters
    ----------
    data
        A frame or file: the randomised answers, and unperturbed covariates.
    formula
        "answer ~ age + sex", see `seepage.collection.regression`.
    randomiser
        How the outcome was randomised: what `seepage.Randomiser.read` reads, such as a matrix
        P(report given value) whose rows and columns are the sorted answers, or
        {"p": 2 / 3, "p0": 1 / 6, "p1": 1 / 6} for forced responses.
    family
        `"logit"` or `"linear"`.
    weights
        A column of the data, or one number per row.

    Notes
    -----
    Classic randomised response: for a binary answer this is maximum likelihood, with standard
    errors from the information [Blair, Imai and Zhou 2015].

    Examples
    --------
    >>> import pyarrow as pa
    >>> old = [1] * 26 + [0] * 14 + [0, 1] * 30
    >>> said = pa.table({"said": ["yes"] * 40 + ["no"] * 60, "old": old})
    >>> coin = [[0.75, 0.25], [0.25, 0.75]]
    >>> found = regress(said, "said ~ old", randomiser=coin)
    >>> found["old"].interval[0] < found["old"].value < found["old"].interval[1]
    True
    """
    _checks.choice(family, "family", ("logit", "linear"))
    parsed = parse_formula(formula, column_names(data))
    columns = clear_columns(data, [parsed.outcome, *parsed.names])
    said = column_texts(columns[parsed.outcome])
    given = checked_weights(weights, len(said), data)
    values, labels, matrix = _randomised(randomiser, parsed.outcome, sorted(set(said)))
    position = {label: index for index, label in enumerate(labels)}
    reports = np.array([position[one] for one in said])
    clear = {name: columns[name] for name in parsed.names}
    model = Model.of(parsed, family, Attribute(parsed.outcome, tuple(values)), {}, clear)
    coefficients = least_squares_inverse(matrix, matrix.mean(axis=0))
    entries = coefficients @ model.scores
    noise = matrix @ entries**2 - model.scores**2
    has = model.scores == model.scores.max()
    other, own = (float(noise[group].mean()) for group in (~has, has))
    return model.fit(
        len(said),
        exact=family == "logit" and weights is None and len(values) == 2,
        outcome=entries[reports][:, None],
        mass=np.ones((len(said), 1)),
        weights=given,
        noise=np.array([other, (other - own) / 2, 0.0])[:, None, None],
        variance=max(float(np.var(entries[reports])), 1e-12),
    )


def _randomised(
    randomiser: Any, name: str, said: Sequence[str]
) -> tuple[Sequence[str], Sequence[str], Floats]:
    """Return the values, reports and matrix of the randomiser of an attribute.

    A randomiser without labels of its own has those of the answers, sorted.
    """
    read = Randomiser.read(randomiser)
    how = read[name] if name in read or len(read) > 1 else next(iter(read.values()))
    if set(said) <= set(how.reports):
        return how.values, how.reports, how.matrix
    if how.matrix.shape != (len(said), len(said)):
        raise InputError(
            f"randomiser must have the answers of {name!r} as its reports, {', '.join(said)}, got "
            f"{', '.join(how.reports)}",
            parameter="randomiser",
        )
    return said, said, how.matrix
