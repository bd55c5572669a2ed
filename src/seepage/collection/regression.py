"""Regressions as users see them: the formula, "ill ~ age + sex", its columns, and the
result.

The grammar is a part of that of R and patsy: `+` adds a term, `a:b` is an interaction,
`1` stands for the intercept alone, and `C(x)` treats numbers as categories.  A name is
a column as it is written, also with dots, dashes or blanks (the longest known name
counts), or in backticks. Categories have treatment coding: one column for each value
but the first, `sex[T.m]`.  The outcome may name the value that counts, `job[nurse] ~
age`.  The estimator is in `maximum_likelihood`.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seepage import _checks
from seepage._numerics import Floats
from seepage._results import Result, json_ready
from seepage.collection.estimated_cells import (
    NORMAL_QUANTILE,
    Estimated,
    EstimatedCells,
)
from seepage.data import Attribute
from seepage.data.table import TableOptions
from seepage.data.table.sources import open_source
from seepage.designs.wanted import attribute_scores
from seepage.errors import InputError


class Variable(NamedTuple):
    """The values of a column: numbers, or codes of `levels`."""

    values: NDArray[Any]
    levels: tuple[str, ...] = ()

    def columns(self, name: str) -> dict[str, Floats]:
        """Return the columns of a term by label."""
        if not self.levels:
            return {name: self.values}
        return {
            f"{name}[T.{level}]": (self.values == code).astype(np.float64)
            for code, level in enumerate(self.levels)
            if code
        }


class Formula(NamedTuple):
    """A parsed formula.

    Examples
    --------
    >>> formula = parse_formula("ill ~ age + sex + age:sex", ["ill", "age", "sex"])
    >>> formula.outcome, formula.names
    ('ill', ('age', 'sex'))
    >>> columns = {
    ...     "age": Variable(np.array([1.0, 2.0])),
    ...     "sex": Variable(np.array([0, 1]), ("f", "m")),
    ... }
    >>> formula.design(columns, 2)[0]
    ('Intercept', 'age', 'sex[T.m]', 'age:sex[T.m]')
    """

    text: str
    outcome: str
    event: str | None
    terms: tuple[tuple[str, ...], ...]
    categories: frozenset[str]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of all terms."""
        return tuple(dict.fromkeys(name for term in self.terms for name in term))

    def design(
        self, variables: Mapping[str, Variable], rows: int
    ) -> tuple[tuple[str, ...], Floats]:
        """Return the design matrix with this number of rows, and the names of its
        columns.
        """
        columns: dict[str, Floats] = {"Intercept": np.ones(rows)}
        for term in self.terms:
            products: dict[str, Floats] = {"": np.ones(rows)}
            for name in term:
                products = {
                    f"{left}:{right}" if left else right: one * two
                    for left, one in products.items()
                    for right, two in variables[name].columns(name).items()
                }
            columns.update(products)
        return tuple(columns), np.stack(list(columns.values()), axis=-1)


def parse_formula(text: str, known: Iterable[str]) -> Formula:
    """Return a parsed formula of known columns; a mistake raises in one line."""
    columns = sorted(known, key=len, reverse=True)
    name = f"(?:{'|'.join(map(re.escape, columns))})(?![\\w.])|`[^`]*`|[^\\W\\d][\\w.]*"
    factor = re.compile(rf"\s*(?:1(?![\w.])|(C\()?\s*({name})\s*(?(1)\)))\s*")
    left, sign, right = _checks.text(text, "formula").partition("~")
    outcome = re.fullmatch(rf"\s*({name})(?:\[(.*)\])?\s*", left)
    if not sign or "~" in right or outcome is None:
        raise _mistake(text, "it must be OUTCOME ~ TERMS, such as ill ~ age + sex")
    terms = list[tuple[str, ...]]()
    categories = set[str]()
    position = 0
    joined = "+"
    while joined:
        found = factor.match(right, position)
        if found is None:
            rest = right[position:].strip() or "the end"
            raise _mistake(text, f"a column is expected at {rest!r}")
        if found[2]:  # else it is the intercept, which every regression has
            column = _known(found[2], columns, text)
            categories |= {column} if found[1] else set()
            before = terms.pop() if joined == ":" and terms else ()
            terms.append((*before, column))
        joined = right[found.end() : found.end() + 1]
        position = found.end() + 1
        if joined not in "+:":
            raise _mistake(text, f"'+' is expected at {right[found.end() :].strip()!r}")
    explained = _known(outcome[1], columns, text)
    ordered = sorted(dict.fromkeys(terms), key=len)
    return Formula(
        text.strip(), explained, outcome[2], tuple(ordered), frozenset(categories)
    )


def _known(name: str, columns: Sequence[str], text: str) -> str:
    bare = name.strip("`")
    if bare not in columns:
        raise _mistake(
            text, f"there is no column {bare!r}{_checks.near_miss(bare, columns)}"
        )
    return bare


def _mistake(text: str, what: str) -> InputError:
    return InputError(
        f"formula {_checks.shown(text)} cannot be read: {what}", parameter="formula"
    )


def outcome_scores(
    outcome: Attribute, event: str | None, family: str
) -> tuple[Floats, str]:
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


def cell_variables(
    formula: Formula, attributes: Sequence[Attribute]
) -> dict[str, Variable]:
    """Return attributes by the cells of their table: numbers if all values are, else
    categories.
    """
    variables = {}
    for attribute, codes in zip(
        attributes, np.indices([a.size for a in attributes]), strict=True
    ):
        variables[attribute.name] = Variable(codes.ravel(), attribute.values)
        with suppress(ValueError):
            numbers = np.array([float(value) for value in attribute.values])
            if attribute.name not in formula.categories and np.isfinite(numbers).all():
                variables[attribute.name] = Variable(numbers[codes.ravel()])
    return variables


def clear_variables(
    formula: Formula, columns: Mapping[str, NDArray[Any]]
) -> dict[str, Variable]:
    """Return unperturbed columns as numbers, or as codes of their sorted values."""
    variables = {}
    for name, column in columns.items():
        if column.dtype.kind == "f" and name not in formula.categories:
            variables[name] = Variable(column)
        else:
            levels, codes = np.unique(column, return_inverse=True)
            variables[name] = Variable(codes, tuple(column_texts(levels)))
    return variables


# Unperturbed columns ------------------------------------------------------------------


def column_names(data: Any) -> tuple[str, ...]:
    """Return the names of the columns of a frame or file."""
    return tuple(open_source(data, TableOptions()).names)


def clear_columns(data: Any, names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Return columns of a frame or file: numbers as floats, anything else as texts.

    Texts of a file are numbers if all of them are.  A missing value raises an
    InputError.
    """
    source = open_source(data, TableOptions())
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        if name not in source.names:
            hint = _checks.near_miss(name, source.names)
            raise InputError(f"the covariates have no column {name!r}{hint}")
    if not wanted:
        return {}
    table = pa.Table.from_batches(list(source.batches(wanted)))
    is_file = isinstance(data, (str, os.PathLike))
    return {name: _clear_column(name, table.column(name), is_file) for name in wanted}


def _clear_column(name: str, column: Any, is_file: bool) -> NDArray[Any]:
    values = [None if value == "" else value for value in column.to_pylist()]
    found = np.array([None if value is None else str(value) for value in values])
    if is_file or pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        with suppress(ValueError, TypeError):
            found = np.array(
                [np.nan if value is None else float(value) for value in values]
            )
    missing = sum(value is None or value != value for value in found.tolist())
    if missing:
        raise InputError(
            f"column {name!r} has {missing:,} missing values; leave out these rows, of the reports "
            "too"
        )
    return found


def given_weights(weights: Any, data: Any) -> Any:
    """Return weights, those of a column of the data if they are its name."""
    return (
        clear_columns(data, [weights])[weights] if isinstance(weights, str) else weights
    )


def column_texts(column: NDArray[Any]) -> list[str]:
    """Return the values of an unperturbed column as texts, 2.0 as "2"."""
    return [f"{v:g}" if isinstance(v, float) else str(v) for v in column.tolist()]


# Results ------------------------------------------------------------------------------


def mean_of(predictor: Floats, family: str) -> tuple[Floats, Floats]:
    """Return mu and its derivative at a linear predictor."""
    if family == "linear":
        return predictor, np.ones_like(predictor)
    from scipy.special import expit

    mu = expit(predictor)
    return mu, mu * (1.0 - mu)


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
        return (
            f"Regression({self.formula.text}, {self.family}, {self.records:,} reports)"
        )

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
        width = max(map(len, [*self.names, "Dep. Variable:"])) + 2
        head = ["coef", "std err", "z", "P>|z|", "[0.025", "0.975]"]
        line = "=" * (width + 11 * len(head))
        rows = zip(*self._columns().values(), strict=True)
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
            try:
                data = pa.table(
                    {name: np.atleast_1d(column) for name, column in data.items()}
                )
            except (pa.ArrowException, TypeError, ValueError):
                raise InputError(
                    "data must map columns to values", parameter="data"
                ) from None
        columns = clear_columns(data, self.formula.names)
        variables = {
            name: self._variable(name, column) for name, column in columns.items()
        }
        rows = max((len(column) for column in columns.values()), default=1)
        _, design = self.formula.design(variables, rows)
        center = design @ self.values
        deviations = np.sqrt(np.einsum("ij,jk,ik->i", design, self.covariance, design))
        limits = center[:, None] + np.outer(
            deviations, [-NORMAL_QUANTILE, NORMAL_QUANTILE]
        )
        mean, slope = mean_of(center, self.family)
        intervals = mean_of(limits, self.family)[0]
        row = Attribute("row", tuple(map(str, range(rows))))
        what = f"mean of {self.outcome}"
        return EstimatedCells(what, (row,), mean, slope * deviations, intervals)

    def _variable(self, name: str, column: Any) -> Variable:
        levels = self.levels[name]
        if not levels:
            try:
                return Variable(np.asarray(column, dtype=np.float64))
            except ValueError:
                raise InputError(f"column {name!r} must hold numbers") from None
        attribute = Attribute(name, levels)
        return Variable(
            np.array([attribute.code(text) for text in column_texts(column)]), levels
        )
