"""Regressions from the reports of a plan, or from answers that somebody else randomised.

The estimates are those of `maximum_likelihood`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from seepage import _checks
from seepage._numerics import Floats, Integers
from seepage.collection import ReportSource, open_reports
from seepage.collection.covariates import (
    checked_weights,
    clear_columns,
    column_names,
    column_texts,
)
from seepage.collection.cross_table import check_asked_together
from seepage.collection.maximum_likelihood import (
    FormReports,
    LogitLikelihood,
    checked_inverse,
    solve_equations,
)
from seepage.collection.regression import (
    Formula,
    Regression,
    Variable,
    attribute_variable,
    clear_variable,
    outcome_scores,
    parse_formula,
)
from seepage.collection.report_vectors import (
    check_cells,
    informative_forms,
    read_vectors,
    report_weights,
    sum_table,
)
from seepage.data import Attribute
from seepage.errors import InputError
from seepage.mechanisms.randomiser import Randomiser
from seepage.mechanisms.transition_matrix import least_squares_inverse
from seepage.plan import Plan


class Model(NamedTuple):
    """A formula with its columns, of shape (1, cells of attributes) or (people, 1).

    `outcome` says in words what is explained, and `scores` are the numbers of its values.
    """

    formula: Formula
    family: str
    outcome: str
    scores: Floats
    variables: Mapping[str, Variable]

    @classmethod
    def of(
        cls,
        formula: Formula,
        family: str,
        outcome: Attribute,
        inside: Sequence[Attribute],
        unperturbed: Mapping[str, Any],
    ) -> "Model":
        """Return a model of attributes and of unperturbed columns."""
        scores, explained = outcome_scores(outcome, formula.event, family)
        variables, shape = {}, [attribute.size for attribute in inside]
        for codes, attribute in zip(np.indices(shape), inside, strict=True):
            is_category = attribute.name in formula.categories
            variables[attribute.name] = attribute_variable(
                attribute, codes.reshape(1, -1), is_category
            )
        for name, column in unperturbed.items():
            variables[name] = clear_variable(column[:, None], name in formula.categories)
        return cls(formula, family, explained, scores, variables)

    def design(self, shape: tuple[int, ...], rows: Any = slice(None)) -> Floats:
        """Return the design matrix, shape (*shape, coefficients), of some people."""
        chosen = {
            name: Variable(values if len(values) == 1 else values[rows], levels)
            for name, (values, levels) in self.variables.items()
        }
        columns = self.formula.design(chosen).values()
        stacked = np.stack([np.broadcast_to(column, shape) for column in columns], axis=-1)
        return np.asarray(stacked, dtype=np.float64)

    def result(self, values: Floats, covariance: Floats, records: int, errors: str) -> Regression:
        """Return the regression with these coefficients."""
        levels = {name: variable.levels for name, variable in self.variables.items()}
        about = self.formula, self.family, self.outcome, tuple(self.formula.design(self.variables))
        return Regression(*about, values, covariance, records, errors, levels)

    def fit_people(
        self,
        outcome: Floats,
        mass: Floats | None,
        weights: Floats | None,
        forms: Integers,
        precisions: Floats,
        rows: Any = slice(None),
    ) -> Regression:
        """Return the regression on unperturbed columns, see `solve_equations`.

        Parameters
        ----------
        outcome, mass
            A and B by person and cell; None for unperturbed columns alone, B = 1.
        weights
            The weights of the people; None for 1 each.
        forms, precisions
            The index of the form of each person, and 1 / v(f) by index.
        rows
            The rows of the people in the unperturbed columns.
        """
        u = np.ones(len(outcome)) if weights is None else weights.copy()
        bounds, is_exact = None, False
        if self.family == "logit" and mass is None:
            bounds, is_exact = np.zeros((len(outcome), 2)), weights is None
            for form in np.unique(forms):
                rows_of_form = forms == form
                entries = outcome[rows_of_form]
                low, high = min(entries.min(), 0.0), max(entries.max(), 1.0)
                bounds[rows_of_form] = low, high
                mean, spread = entries.mean(), entries.var()
                # The largest variance within the bounds over that of the entries: 1 for two values.
                u[rows_of_form] *= (mean - low) * (high - mean) / spread if spread > 0 else 1.0
                is_exact &= len(np.unique(entries)) <= 2
        else:
            u = u * precisions[forms]
        b = np.ones_like(outcome) if mass is None else mass
        design = self.design(outcome.shape, rows)
        values, information, sandwich = solve_equations(self.family, design, outcome, b, u, bounds)
        if is_exact:
            return self.result(values, information, len(outcome), "information")
        return self.result(values, sandwich, len(outcome), "sandwich")


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
        `"logit"`, by maximum likelihood, or `"linear"`, by least squares.
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
    model = Model.of(parsed, family, outcome, [collected[name] for name in inside], columns)
    fit = _fit_people if clear else _fit_cells if family == "logit" else _fit_moments
    return fit(plan, source, model, asked, weights)


def _fit_cells(
    plan: Plan, source: ReportSource, model: Model, asked: Sequence[str], weights: Any
) -> Regression:
    """Return the logit on covariates that are in the reports, by maximum likelihood."""
    given, forms = report_weights(source, weights), informative_forms(plan, asked)
    cells, records = check_cells(plan, asked) // len(model.scores), 0
    batches, parts = dict[int, list[Any]](), list[FormReports]()
    for _, form, reports, rows in read_vectors(source, [forms]):
        vectors, people = forms[form], None if given is None else given[rows]
        distinct, *sums = vectors.distinct(reports, people)
        drawn = zip(vectors.mechanisms, distinct, strict=True)
        found = [made.log_likelihood(column) for made, column in drawn]
        factors = [np.exp(one - one.max(axis=1, keepdims=True)) for one in found]
        batches.setdefault(form, []).append((*sums, *factors))
        records += len(rows)
    for form, read in batches.items():
        once, squares, *factors = (np.concatenate(part) for part in zip(*read, strict=True))
        channel = plan.forms[form].channel
        names = list(asked if plan.forms[form].is_product else channel.attributes)
        codes = dict(
            zip(names, np.indices([plan.domain[name].size for name in names]), strict=True)
        )
        x = np.zeros_like(codes[asked[0]])
        for name in asked[1:]:
            x = x * plan.domain[name].size + codes[name]
        event = model.scores[codes[asked[0]]] > 0
        parts.append(FormReports(factors, once, squares, x.ravel(), event.ravel()).merged())
    if not parts:
        raise InputError(f"the reports do not determine the table of {' and '.join(asked)}")
    likelihood = LogitLikelihood(model.design((1, cells))[0], parts)
    values, covariance = likelihood.maximise(weighted=given is not None)
    errors = "information" if given is None else "sandwich"
    return model.result(values, covariance, records, errors)


def _fit_moments(
    plan: Plan, source: ReportSource, model: Model, asked: Sequence[str], weights: Any
) -> Regression:
    """Return the linear regression on covariates that are in the reports, from their table."""
    sums, scores = sum_table(plan, source, asked, weights), model.scores
    table = sums.mean.reshape(len(scores), -1)
    design = model.design((1, table.shape[1]))[0]
    inverse = checked_inverse(design.T @ (design * table.sum(axis=0)[:, None]))
    values = inverse @ (design.T @ (scores @ table))
    residuals = scores[:, None] - design @ values
    gradient = (residuals[:, :, None] * design).reshape(-1, len(values)) @ inverse
    covariance = gradient.T @ sums.covariance @ gradient
    return model.result(values, covariance, sum(sums.people.values()), "sandwich")


def _fit_people(
    plan: Plan, source: ReportSource, model: Model, asked: Sequence[str], weights: Any
) -> Regression:
    """Return the regression on unperturbed covariates, from the report of each person."""
    given = report_weights(source, weights)
    forms, scores, read = informative_forms(plan, asked), model.scores, list[Any]()
    for _, form, reports, rows in read_vectors(source, [forms]):
        vectors = forms[form].vectors(reports).reshape(len(rows), len(scores), -1)
        outcome = np.einsum("iyx,y->ix", vectors, scores)
        read.append((rows, np.full(len(rows), form), outcome, vectors.sum(axis=1)))
    if not read:
        raise InputError(f"the reports do not determine the frequencies of {asked[0]!r}")
    rows, asking, outcome, mass = (np.concatenate(part) for part in zip(*read, strict=True))
    precisions = np.ones(len(plan.forms))
    for index, one in forms.items():
        precisions[index] = 1.0 / (one.variance or 1.0)
    people = None if given is None else given[rows]
    parts = outcome, None if len(asked) == 1 else mass, people, asking, precisions, rows
    return model.fit_people(*parts)


# Other people's randomisers ----------------------------------------------------------------------


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
    given = None if weights is None else checked_weights(weights, len(said), data)
    values, labels, matrix = _randomised(randomiser, parsed.outcome, sorted(set(said)))
    position = {label: index for index, label in enumerate(labels)}
    reports = np.array([position[one] for one in said])
    clear = {name: columns[name] for name in parsed.names}
    model = Model.of(parsed, family, Attribute(parsed.outcome, tuple(values)), [], clear)
    entries = (least_squares_inverse(matrix, matrix.mean(axis=0)) @ model.scores)[reports]
    alike = np.zeros(len(said), dtype=np.int64)
    return model.fit_people(entries[:, None], None, given, alike, np.ones(1))


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
