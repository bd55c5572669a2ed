"""Regressions from the reports of a plan, or from answers that somebody else
randomised.

The estimates are those of `logit_likelihood`, `entry_likelihood` and
`corrected_equations`; intervals are in `profile_likelihood`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Booleans, Floats, Integers
from seepage._core.errors import InputError
from seepage.channel.domain import Attribute
from seepage.collection.cell_sums import read_vectors, sum_table, undetermined
from seepage.collection.corrected_equations import checked_inverse, fit_linear
from seepage.collection.entry_likelihood import EntryLikelihood
from seepage.collection.estimated_table import check_asked_together
from seepage.collection.formula import (
    Formula,
    Variable,
    cell_variables,
    outcome_scores,
    parse_formula,
    unperturbed_variables,
)
from seepage.collection.logit_likelihood import (
    FormReports,
    LogitLikelihood,
)
from seepage.collection.profile_likelihood import (
    ProfileLikelihood,
    check_design,
    maximise,
)
from seepage.collection.regression_result import Regression, finite_covariance
from seepage.collection.report_batches import ReportSource
from seepage.collection.report_files import open_reports
from seepage.collection.unperturbed_columns import (
    column_names,
    column_texts,
    named_weights,
    unperturbed_columns,
)
from seepage.collection.weights import checked_weights
from seepage.mechanisms.published_randomiser import Randomiser
from seepage.mechanisms.transition_matrix import least_squares_inverse
from seepage.plan.plan_content import PlanContent
from seepage.plan.report_vectors import (
    FormVectors,
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
        """Return the model of a regression: its columns, with this number of rows."""
        scores, explained = outcome_scores(outcome, formula.event, family)
        names, design = formula.design(variables, rows)
        return cls(
            formula=formula,
            family=family,
            outcome=explained,
            scores=scores,
            names=names,
            design=design,
            levels={name: variable.levels for name, variable in variables.items()},
        )

    def fit_linear(
        self, records: int, values: Floats, covariance: Floats
    ) -> Regression:
        """Return the linear regression with these coefficients, and normal
        intervals.
        """
        return Regression(
            formula=self.formula,
            family=self.family,
            outcome=self.outcome,
            names=self.names,
            values=values,
            covariance=covariance,
            records=records,
            errors="sandwich",
            levels=self.levels,
        )

    def fit_logit(
        self,
        records: int,
        likelihood: LogitLikelihood | EntryLikelihood,
        *,
        is_exact: bool,
    ) -> Regression:
        """Return the logit regression: the coefficients of largest likelihood, with
        intervals by its profile.

        `is_exact` says that the likelihood is that of independent people, so that the
        errors are those of the information.
        """
        check_design(self.design)
        maximum = maximise(likelihood)
        covariances = likelihood.covariances(maximum)
        profile = ProfileLikelihood(likelihood, maximum, covariances, is_exact=is_exact)
        values = profile.estimates()
        errors = "sandwich"
        if is_exact:
            errors = "information"
        return Regression(
            formula=self.formula,
            family=self.family,
            outcome=self.outcome,
            names=self.names,
            values=values,
            covariance=finite_covariance(values, profile.covariance),
            records=records,
            errors=errors,
            levels=self.levels,
            profile=profile,
        )


def regress_reports(
    plan: PlanContent,
    reports: Any,
    formula: str,
    *,
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
    beside: tuple[str, ...] = ()
    if covariates is not None:
        beside = column_names(covariates)
    parsed = parse_formula(formula, [*collected.names, *beside])
    outcome = collected[parsed.outcome]
    if outcome.name in parsed.names:
        raise InputError(f"the outcome {outcome.name!r} must not explain itself")
    if isinstance(weights, str) and weights in beside:
        weights = named_weights(weights, covariates)
    if any(name in beside for name in parsed.names):
        variables = _covariate_variables(parsed, covariates, beside, source.records)
        model = Model.of(parsed, family, outcome, variables, source.records)
        return _fit_people(plan, source, model, outcome.name, weights)
    asked = [outcome.name, *parsed.names]
    check_asked_together(plan, asked)
    variables = cell_variables(parsed, [collected[name] for name in parsed.names])
    cells = count_cells(plan, parsed.names)
    model = Model.of(parsed, family, outcome, variables, cells)
    if family == "logit":
        return _fit_cells(plan, source, model, asked, weights)
    return _fit_moments(plan, source, model, asked, weights)


def _covariate_variables(
    formula: Formula, covariates: Any, beside: Sequence[str], records: int
) -> dict[str, Variable]:
    """Return the unperturbed covariates of a regression, one row per report; raise if
    some are in the reports.
    """
    if not set(formula.names) <= set(beside):
        raise InputError(
            "covariates must all be in the reports, or all be unperturbed",
            parameter="covariates",
        )
    columns = unperturbed_columns(covariates, formula.names)
    if any(len(column) != records for column in columns.values()):
        raise InputError(
            f"covariates must have one row for each of {records:,} reports",
            parameter="covariates",
        )
    return unperturbed_variables(formula, columns)


def _fit_cells(
    plan: PlanContent,
    source: ReportSource,
    model: Model,
    asked: Sequence[str],
    weights: Any,
) -> Regression:
    """Return the logit regression on covariates that are in the reports, by maximum
    likelihood.
    """
    check_cells(plan, asked)
    by_person = source.weights(weights)
    forms = informative_forms(plan, asked)
    records = 0
    batches = dict[int, list[DistinctReports]]()
    for _, form, reports, rows in read_vectors(source, [forms]):
        batch = _distinct_reports(forms[form], reports, _weights_of(by_person, rows))
        batches.setdefault(form, []).append(batch)
        records += len(rows)
    if not batches:
        raise undetermined(asked)
    parts = []
    for form, read in batches.items():
        covariates, event = _cells_of_form(plan, form, model, asked)
        parts.append(_joined_reports(read, covariates, event))
    likelihood = LogitLikelihood(model.design, parts)
    return model.fit_logit(records, likelihood, is_exact=by_person is None)


def _weights_of(by_person: Floats | None, rows: Integers) -> Floats | None:
    """Return the weights of some people of a regression; None for 1 each."""
    if by_person is None:
        return None
    return by_person[rows]


class DistinctReports(NamedTuple):
    """The distinct reports of a batch: the sums of the weights of their people and of
    the squares, and the likelihoods of each report of the form up to a factor.
    """

    weights: Floats
    squares: Floats
    factors: list[Floats]


def _distinct_reports(
    vectors: FormVectors, reports: Sequence[Any], weights: Floats | None
) -> DistinctReports:
    """Return the distinct reports of a batch of one form that a regression needs."""
    distinct, sums, squares = vectors.distinct(reports, weights)
    factors = []
    for mechanism, column in zip(vectors.mechanisms, distinct, strict=True):
        logarithms = mechanism.log_likelihood(column)
        factors.append(np.exp(logarithms - logarithms.max(axis=1, keepdims=True)))
    return DistinctReports(sums, squares, factors)


def _joined_reports(
    batches: Sequence[DistinctReports], covariates: Integers, event: Booleans
) -> FormReports:
    """Return the reports of all batches of a form for a regression, equal ones added
    up.
    """
    factors = zip(*(batch.factors for batch in batches), strict=True)
    return FormReports(
        factors=[np.concatenate(column) for column in factors],
        weights=np.concatenate([batch.weights for batch in batches]),
        squares=np.concatenate([batch.squares for batch in batches]),
        covariates=covariates,
        event=event,
    ).merged()


def _cells_of_form(
    plan: PlanContent, form: int, model: Model, asked: Sequence[str]
) -> tuple[Integers, Booleans]:
    """Return the index of the regression's covariates of each cell of a form's answers,
    and whether its outcome is the one that counts.
    """
    names = list(asked)
    if not plan.forms[form].is_product:
        names = list(plan.forms[form].channel.attributes)
    cells = np.indices([plan.domain[name].size for name in names])
    codes = dict(zip(names, cells, strict=True))
    outcome, *explaining = asked
    covariates = np.zeros_like(codes[outcome])
    for name in explaining:
        covariates = covariates * plan.domain[name].size + codes[name]
    event = model.scores[codes[outcome]] > 0
    return covariates.ravel(), event.ravel()


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
    return model.fit_linear(sum(sums.people.values()), values, covariance)


def _fit_people(
    plan: PlanContent, source: ReportSource, model: Model, outcome: str, weights: Any
) -> Regression:
    """Return the regression on unperturbed covariates, from the report of each
    person.
    """
    by_person = source.weights(weights)
    vectors = informative_forms(plan, [outcome])
    entries = list[Floats]()
    people = list[Integers]()
    forms = list[Integers]()
    precisions = list[Floats]()
    for _, form, reports, rows in read_vectors(source, [vectors]):
        precision = 1.0 / (vectors[form].variance or 1.0)
        entries.append(vectors[form].vectors(reports) @ model.scores)
        people.append(rows)
        forms.append(np.full(len(rows), form))
        precisions.append(np.full(len(rows), precision))
    if not entries:
        raise undetermined([outcome])
    rows = np.concatenate(people)
    return _fit_entries(
        model._replace(design=model.design[rows]),
        np.concatenate(entries),
        weights=_weights_of(by_person, rows),
        forms=np.concatenate(forms),
        precisions=np.concatenate(precisions),
    )


def _fit_entries(
    model: Model,
    entries: Floats,
    *,
    weights: Floats | None,
    forms: Integers,
    precisions: Floats,
) -> Regression:
    """Return the regression on unperturbed covariates, from the entry of each person.

    Parameters
    ----------
    model, entries
        The model with one row per person, and the unbiased entry of each.
    weights
        The weights of the people; None for 1 each.
    forms, precisions
        The form of each person, and 1 / v(f) of it.
    """
    if model.family == "linear":
        if weights is not None:
            precisions = precisions * weights
        values, covariance = fit_linear(model.design, entries, precisions)
        return model.fit_linear(len(entries), values, covariance)
    likelihood = EntryLikelihood.of(model.design, entries, weights, forms)
    return model.fit_logit(len(entries), likelihood, is_exact=likelihood.is_exact)


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
    Classic randomised response: for a binary answer this is maximum likelihood, with
    standard errors from the information [Blair, Imai and Zhou 2015].

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
    columns = unperturbed_columns(data, [parsed.outcome, *parsed.names])
    said = column_texts(columns[parsed.outcome])
    if weights is not None:
        weights = checked_weights(named_weights(weights, data), len(said))
    values, labels, matrix = _randomised(randomiser, parsed.outcome, sorted(set(said)))
    position = {label: index for index, label in enumerate(labels)}
    reports = np.array([position[label] for label in said])
    explaining = {name: columns[name] for name in parsed.names}
    variables = unperturbed_variables(parsed, explaining)
    explained = Attribute(parsed.outcome, tuple(values))
    model = Model.of(parsed, family, explained, variables, len(said))
    inverse = least_squares_inverse(matrix, matrix.mean(axis=0))
    return _fit_entries(
        model,
        (inverse @ model.scores)[reports],
        weights=weights,
        forms=np.zeros(len(said), dtype=np.int64),
        precisions=np.ones(len(said)),
    )


def _randomised(
    randomiser: Any, name: str, said: Sequence[str]
) -> tuple[Sequence[str], Sequence[str], Floats]:
    """Return the values, reports and matrix of a regression's randomised outcome.

    A randomiser without labels of its own has those of the answers, sorted.
    """
    by_attribute = Randomiser.read(randomiser)
    if name not in by_attribute and len(by_attribute) == 1:
        (method,) = by_attribute.values()
    else:
        method = by_attribute[name]
    if set(said) <= set(method.reports):
        return method.values, method.reports, method.matrix
    if method.matrix.shape != (len(said), len(said)):
        raise InputError(
            f"randomiser must have the answers of {name!r} as its reports, "
            f"{', '.join(said)}, got {', '.join(method.reports)}",
            parameter="randomiser",
        )
    return said, said, method.matrix
