"""Regressions from the reports of a plan, or from answers that somebody else
randomised.

The estimates are those of `logit_likelihood` and `corrected_equations`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage.channel.domain import Attribute
from seepage.collection.cell_sums import read_vectors, sum_table, undetermined
from seepage.collection.corrected_equations import fit_entries
from seepage.collection.estimated_table import check_asked_together
from seepage.collection.formula import (
    Formula,
    Variable,
    cell_variables,
    clear_columns,
    clear_variables,
    column_names,
    column_texts,
    given_weights,
    outcome_scores,
    parse_formula,
)
from seepage.collection.logit_likelihood import (
    FormReports,
    LogitLikelihood,
    checked_inverse,
)
from seepage.collection.regression_result import Regression
from seepage.collection.report_batches import ReportSource, open_reports
from seepage.collection.weights import checked_weights
from seepage.mechanisms.randomiser import Randomiser
from seepage.mechanisms.transition_matrix import least_squares_inverse
from seepage.plan.content import PlanContent
from seepage.plan.report_vectors import (
    check_cells,
    count_cells,
    informative_forms,
)


class Model(NamedTuple):
    """A formula with its design matrix, one row per cell of attributes or per person.

    `outcome` says in words what is explained, `scores` are the numbers of its values,
    and `levels` the values of categorical columns.
    """

    formula: Formula
    family: str
    outcome: str
    scores: Floats
    names: tuple[str, ...]
    design: Floats
    levels: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(
        cls,
        formula: Formula,
        family: str,
        outcome: Attribute,
        variables: Mapping[str, Variable],
        rows: int,
    ) -> "Model":
        """Return a model of columns with this number of rows."""
        scores, explained = outcome_scores(outcome, formula.event, family)
        levels = {name: variable.levels for name, variable in variables.items()}
        design = formula.design(variables, rows)
        return cls(formula, family, explained, scores, *design, levels)

    def result(
        self, records: int, values: Floats, covariance: Floats, errors: str
    ) -> Regression:
        """Return the regression with these coefficients."""
        about = self.formula, self.family, self.outcome, self.names
        return Regression(*about, values, covariance, records, errors, self.levels)


def regress_reports(
    plan: PlanContent,
    reports: Any,
    formula: str,
    family: str,
    covariates: Any,
    weights: Any,
) -> Regression:
    """Return a regression estimated from the reports of a plan.

    Parameters
    ----------
    plan, reports
        The plan; and the table that `perturb` returned, or the path of a file of
        reports.
    formula
        "ill ~ age + sex": attributes that a form asks for together, or columns of
        `covariates`.
    family
        `"logit"`, by maximum likelihood, or `"linear"`, by least squares.
    covariates
        A frame or file with unperturbed columns, one row per report in the same order.
    weights
        Survey weights: a column beside the reports or of `covariates`, or one number
        per report.
    """
    checks.choice(family, "family", ("logit", "linear"))
    source = open_reports(plan, reports)
    collected = plan.collected
    beside = () if covariates is None else column_names(covariates)
    parsed = parse_formula(formula, [*collected.names, *beside])
    outcome = collected[parsed.outcome]
    if outcome.name in parsed.names:
        raise InputError(f"the outcome {outcome.name!r} must not explain itself")
    if isinstance(weights, str) and weights in beside:
        weights = given_weights(weights, covariates)
    clear = [name for name in parsed.names if name in beside]
    if clear:
        if len(clear) < len(parsed.names):
            raise InputError(
                "covariates must all be in the reports, or all be unperturbed",
                parameter="covariates",
            )
        columns = clear_columns(covariates, clear)
        if any(len(column) != source.records for column in columns.values()):
            raise InputError(
                f"covariates must have one row for each of {source.records:,} reports",
                parameter="covariates",
            )
        variables = clear_variables(parsed, columns)
        model = Model.of(parsed, family, outcome, variables, source.records)
        return _fit_people(plan, source, model, outcome.name, weights)
    asked = [outcome.name, *parsed.names]
    check_asked_together(plan, asked)
    variables = cell_variables(parsed, [collected[name] for name in parsed.names])
    model = Model.of(
        parsed, family, outcome, variables, count_cells(plan, parsed.names)
    )
    fit = _fit_cells if family == "logit" else _fit_moments
    return fit(plan, source, model, asked, weights)


def _fit_cells(
    plan: PlanContent,
    source: ReportSource,
    model: Model,
    asked: Sequence[str],
    weights: Any,
) -> Regression:
    """Return the logit on covariates that are in the reports, by maximum likelihood."""
    check_cells(plan, asked)
    given = source.weights(weights)
    forms = informative_forms(plan, asked)
    records = 0
    batches = dict[int, list[Any]]()
    parts = list[FormReports]()
    for _, form, reports, rows in read_vectors(source, [forms]):
        vectors = forms[form]
        people = None if given is None else given[rows]
        distinct, *sums = vectors.distinct(reports, people)
        drawn = zip(vectors.mechanisms, distinct, strict=True)
        found = [made.log_likelihood(column) for made, column in drawn]
        factors = [np.exp(one - one.max(axis=1, keepdims=True)) for one in found]
        batches.setdefault(form, []).append((*sums, *factors))
        records += len(rows)
    for form, read in batches.items():
        once, squares, *factors = (
            np.concatenate(part) for part in zip(*read, strict=True)
        )
        channel = plan.forms[form].channel
        names = list(asked if plan.forms[form].is_product else channel.attributes)
        codes = dict(
            zip(
                names,
                np.indices([plan.domain[name].size for name in names]),
                strict=True,
            )
        )
        x = np.zeros_like(codes[asked[0]])
        for name in asked[1:]:
            x = x * plan.domain[name].size + codes[name]
        event = model.scores[codes[asked[0]]] > 0
        parts.append(
            FormReports(factors, once, squares, x.ravel(), event.ravel()).merged()
        )
    if not parts:
        raise undetermined(asked)
    likelihood = LogitLikelihood(model.design, parts)
    values, covariance = likelihood.maximise(weighted=given is not None)
    errors = "information" if given is None else "sandwich"
    return model.result(records, values, covariance, errors)


def _fit_moments(
    plan: PlanContent,
    source: ReportSource,
    model: Model,
    asked: Sequence[str],
    weights: Any,
) -> Regression:
    """Return the linear regression on covariates that are in the reports, from their
    table.
    """
    sums = sum_table(plan, source, asked, weights)
    scores = model.scores
    table = sums.mean.reshape(len(scores), -1)
    design = model.design
    inverse = checked_inverse(design.T @ (design * table.sum(axis=0)[:, None]))
    values = inverse @ (design.T @ (scores @ table))
    residuals = scores[:, None] - design @ values
    gradient = (residuals[:, :, None] * design).reshape(-1, len(values)) @ inverse
    covariance = gradient.T @ sums.covariance @ gradient
    return model.result(sum(sums.people.values()), values, covariance, "sandwich")


def _fit_people(
    plan: PlanContent, source: ReportSource, model: Model, outcome: str, weights: Any
) -> Regression:
    """Return the regression on unperturbed covariates, from the report of each person."""
    given = source.weights(weights)
    forms = informative_forms(plan, [outcome])
    read = list[Any]()
    for _, form, reports, rows in read_vectors(source, [forms]):
        entries = forms[form].vectors(reports) @ model.scores
        precision = 1.0 / (forms[form].variance or 1.0)
        read.append(
            (entries, rows, np.full(len(rows), form), np.full(len(rows), precision))
        )
    if not read:
        raise undetermined([outcome])
    entries, rows, *by_form = (np.concatenate(part) for part in zip(*read, strict=True))
    people = None if given is None else given[rows]
    fitted = fit_entries(model.family, model.design[rows], entries, people, *by_form)
    return model.result(len(entries), *fitted)


# Other people's randomisers -----------------------------------------------------------


def regress(
    data: Any,
    formula: str,
    *,
    randomiser: Any,
    family: str = "logit",
    weights: Any = None,
) -> Regression:
    """Return a regression whose outcome was randomised by somebody else's method.

    Parameters
    ----------
    data
        A frame or file: the randomised answers, and unperturbed covariates.
    formula
        "answer ~ age + sex", see `seepage.collection.regression_result`.
    randomiser
        How the outcome was randomised: what `seepage.Randomiser.read` reads, such as a
        matrix P(report given value) whose rows and columns are the sorted answers, or
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
    checks.choice(family, "family", ("logit", "linear"))
    parsed = parse_formula(formula, column_names(data))
    columns = clear_columns(data, [parsed.outcome, *parsed.names])
    said = column_texts(columns[parsed.outcome])
    given = (
        None
        if weights is None
        else checked_weights(given_weights(weights, data), len(said))
    )
    values, labels, matrix = _randomised(randomiser, parsed.outcome, sorted(set(said)))
    position = {label: index for index, label in enumerate(labels)}
    reports = np.array([position[one] for one in said])
    variables = clear_variables(parsed, {name: columns[name] for name in parsed.names})
    explained = Attribute(parsed.outcome, tuple(values))
    model = Model.of(parsed, family, explained, variables, len(said))
    entries = (least_squares_inverse(matrix, matrix.mean(axis=0)) @ model.scores)[
        reports
    ]
    alike = np.zeros(len(said), dtype=np.int64)
    fitted = fit_entries(
        family, model.design, entries, given, alike, np.ones(len(said))
    )
    return model.result(len(said), *fitted)


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
