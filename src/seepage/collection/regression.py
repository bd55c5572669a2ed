"""Regressions on attributes of a form, or on unperturbed covariates, estimated from reports.

The estimator is in `quasi_likelihood`, the grammar of formulas in `formula`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from seepage import _checks
from seepage._numerics import Floats, Integers
from seepage.collection.cross_table import check_asked_together
from seepage.collection.formula import (
    Formula,
    Variable,
    clear_columns,
    clear_variable,
    column_names,
    parse_formula,
)
from seepage.collection.quasi_likelihood import Moments, Regression, solve
from seepage.collection.report_source import ReportSource, open_reports
from seepage.collection.report_sums import nominal_frequencies
from seepage.collection.report_vectors import (
    checked_weights,
    informative_forms,
    read_vectors,
    report_weights,
    sum_cells,
)
from seepage.data.domain import Attribute
from seepage.designs.wanted import attribute_scores
from seepage.errors import InputError
from seepage.mechanisms.randomiser import Randomiser
from seepage.mechanisms.transition_matrix import least_squares_inverse
from seepage.plan.plan import Plan

FAMILIES = ("logit", "linear")

MIN_FREQUENCY = 1e-4
"""Minimum nominal frequency of a cell of covariates: plans have whole percent."""


class Model(NamedTuple):
    """A formula with its columns: cells of attributes, rows of people.

    Parameters
    ----------
    formula, family
        As given.
    outcome
        What is explained, in words.
    scores
        The number of each value of the outcome.
    variables
        The columns of the terms, of shape (1, cells) or (rows, 1).
    frequencies
        Nominal frequencies of the cells.
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
        scores, explained = _outcome_scores(outcome, formula.event, family)
        frequencies, shape = np.ones(1), [attribute.size for attribute in inside]
        variables = {}
        for index, (attribute, nominal) in enumerate(inside.items()):
            codes = np.unravel_index(np.arange(int(np.prod(shape))), shape)[index]
            variables[attribute.name] = _attribute_variable(attribute, codes[None])
            frequencies = np.multiply.outer(frequencies, np.maximum(nominal, MIN_FREQUENCY)).ravel()
        for name, column in unperturbed.items():
            made = clear_variable(column)
            variables[name] = Variable(made.values[:, None], made.levels)
        return cls(formula, family, explained, scores, variables, frequencies)

    def design(self, rows: Integers | None = None) -> dict[str, Floats]:
        """Return the columns of the design matrix, of some rows; one row if none is of people."""
        chosen = {
            name: Variable(
                v.values if rows is None or len(v.values) == 1 else v.values[rows], v.levels
            )
            for name, v in self.variables.items()
        }
        return self.formula.design(chosen)

    def fit(
        self, columns: Mapping[str, Floats], records: int, exact: bool, **moments: Any
    ) -> Regression:
        """Return the solution for a design matrix and moments."""
        shape = np.broadcast_shapes(
            (1, len(self.frequencies)), *(np.shape(c) for c in columns.values())
        )
        design = np.stack([np.broadcast_to(column, shape) for column in columns.values()], axis=-1)
        known = Moments(design=design, frequencies=self.frequencies, **moments)
        values, covariance = solve(known, self.family, exact=exact)
        levels = {name: variable.levels for name, variable in self.variables.items()}
        how = "information" if exact else "sandwich"
        about = self.formula, self.family, self.outcome, tuple(columns)
        return Regression(*about, values, covariance, records, how, levels)


def _outcome_scores(outcome: Attribute, event: str | None, family: str) -> tuple[Floats, str]:
    """Return the number of each value of the outcome, and what is explained in words."""
    if family == "linear" and event is None:
        return attribute_scores(outcome), outcome.name
    if event is None and outcome.size != 2:
        raise InputError(
            f"the outcome {outcome.name!r} has {outcome.size} values: name the one that counts, as "
            f"in {outcome.name}[{outcome.values[-1]}] ~ ..."
        )
    code = outcome.code(outcome.values[1] if event is None else event)
    return np.eye(outcome.size)[code], f"{outcome.name}[{outcome.values[code]}]"


def _attribute_variable(attribute: Attribute, codes: Integers) -> Variable:
    """Return the column of an attribute: numbers if all its values are, else categories."""
    try:
        numbers = np.array([float(value) for value in attribute.values])
    except ValueError:
        numbers = np.array([np.nan])
    if np.isfinite(numbers).all():
        return Variable(numbers[codes])
    return Variable(codes, attribute.values)


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
    _checks.choice(family, "family", FAMILIES)
    source, collected = open_reports(plan, reports), plan.collected
    if not source.records:
        raise InputError("reports must not be empty, got none", parameter="reports")
    beside = () if covariates is None else column_names(covariates)
    parsed = parse_formula(formula, [*collected.names, *beside])
    outcome = collected[parsed.outcome]
    if outcome.name in parsed.names:
        raise InputError(f"the outcome {outcome.name!r} must not explain itself")
    clear = [name for name in parsed.names if name in beside]
    inside = {
        collected[name]: nominal_frequencies(plan, name)
        for name in parsed.names
        if name not in beside
    }
    asked = [outcome.name, *(attribute.name for attribute in inside)]
    check_asked_together(plan, asked)
    if isinstance(weights, str) and weights in beside:
        weights = clear_columns(covariates, [weights])[weights]
    columns = clear_columns(covariates, clear) if clear else {}
    if any(len(column) != source.records for column in columns.values()):
        raise InputError(
            f"covariates must have one row for each of {source.records:,} reports",
            parameter="covariates",
        )
    model = Model.of(parsed, family, outcome, inside, columns)
    if clear:
        return _fit_people(plan, source, model, asked, weights)
    return _fit_table(plan, source, model, asked, weights)


def _fit_table(
    plan: Plan, source: ReportSource, model: Model, asked: Sequence[str], weights: Any
) -> Regression:
    """Return the regression on covariates that are in the reports, from their table."""
    (sums,) = sum_cells(plan, source, [asked], weights)
    records = sum(sums.people.values())
    if not records:
        raise InputError(f"the reports do not determine the table of {' and '.join(asked)}")
    scores, cells = model.scores, len(model.frequencies)
    linear = np.stack([scores, np.ones(len(scores)), scores**2])
    outcome, mass, second = linear @ sums.mean.reshape(len(scores), cells)
    maps = np.concatenate([np.kron(row, np.eye(cells)) for row in linear[:2]])
    first, moments = sums.squared
    expected = linear @ first.reshape(len(scores), cells)
    whole = (maps @ moments @ maps.T).reshape(2, cells, 2, cells)
    aa, ab, bb = (np.diagonal(whole[i, :, j]) for i, j in ((0, 0), (0, 1), (1, 1)))
    return model.fit(
        model.design(),
        records,
        False,
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
        noise = (weight**2 / (weight**2).sum()) @ noise.reshape(len(rows), -1)
        noise = noise.reshape(1, 3, -1)
    exact = (
        by_noise
        and given is None
        and all(plan.forms[f].is_product or len(plan.forms[f].attributes) == 1 for f in forms)
    )
    mean, square = (float(weight @ m.sum(axis=1) / weight.sum()) for m in (outcome, second))
    return model.fit(
        model.design(rows),
        len(rows),
        exact,
        outcome=outcome,
        mass=mass,
        weights=weight,
        noise=tuple(np.moveaxis(noise, 1, 0)),
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
        "answer ~ age + sex", see `seepage.collection.formula`.
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
    _checks.choice(family, "family", FAMILIES)
    parsed = parse_formula(formula, column_names(data))
    named = [weights] if isinstance(weights, str) else []
    columns = clear_columns(data, [parsed.outcome, *parsed.names, *named])
    said = [f"{v:g}" if isinstance(v, float) else v for v in columns[parsed.outcome].tolist()]
    if named:
        weights = columns[weights]
    given = np.ones(len(said)) if weights is None else checked_weights(weights, len(said))
    values, labels, matrix = _randomised(randomiser, parsed.outcome, sorted(set(said)))
    position = {label: index for index, label in enumerate(labels)}
    reports = np.array([position[one] for one in said])
    clear = {name: columns[name] for name in parsed.names}
    model = Model.of(parsed, family, Attribute(parsed.outcome, values), {}, clear)
    coefficients = least_squares_inverse(matrix, matrix.mean(axis=0))
    entries = coefficients @ model.scores
    noise = matrix @ entries**2 - model.scores**2
    has = model.scores == model.scores.max()
    other, own = (float(noise[group].mean()) for group in (~has, has))
    return model.fit(
        model.design(),
        len(said),
        family == "logit" and weights is None and len(values) == 2,
        outcome=entries[reports][:, None],
        mass=np.ones((len(said), 1)),
        weights=given,
        noise=tuple(np.full((1, 1), n) for n in (other, (other - own) / 2, 0.0)),
        variance=max(float(np.var(entries[reports])), 1e-12),
    )


def _randomised(
    randomiser: Any, name: str, said: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...], Floats]:
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
    return tuple(said), tuple(said), how.matrix
