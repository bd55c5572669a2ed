"""Regressions as users see them: the formula, "ill ~ age + sex", its columns, and the
result.

The grammar is a part of that of R and patsy: `+` adds a term, `a:b` is an interaction,
`1` stands for the intercept alone, and `C(x)` treats numbers as categories.  A name is
a column as it is written, also with dots, dashes or blanks (the longest known name
counts), or in backticks. Categories have treatment coding: one column for each value
but the first, `sex[T.m]`.  The outcome may name the value that counts, `job[nurse] ~
age`.  The estimator is in `logit_likelihood`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage._core.results import Result, json_ready
from seepage.channel.domain import Attribute
from seepage.collection.clear_columns import clear_columns, column_texts
from seepage.collection.estimated_cells import (
    NORMAL_QUANTILE,
    Estimated,
    EstimatedCells,
)
from seepage.collection.formula import Formula, Variable

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
        index = self.names.index(checks.choice(name, "coefficient", self.names))
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
        titles = ["coef", "std err", "z", "P>|z|", "[0.025", "0.975]"]
        rule = "=" * (width + 11 * len(titles))
        lines = [rule]
        lines.append(f"{'Dep. Variable:':<20}{self.outcome}")
        lines.append(f"{'Model:':<20}{self.family}")
        lines.append(f"{'No. Observations:':<20}{self.records:,}")
        lines.append(f"{'Covariance Type:':<20}{self.errors}")
        lines.append(rule)
        lines.append(" " * width + "".join(f"{title:>11}" for title in titles))
        lines.append("-" * len(rule))
        for name, b, se, z, p, low, high in zip(*self._columns().values(), strict=True):
            lines.append(
                f"{name:<{width}}{b:>11.4f}{se:>11.4f}{z:>11.3f}{p:>11.3f}"
                f"{low:>11.4f}{high:>11.4f}"
            )
        lines.append(rule)
        return "\n".join(lines)

    def predict(self, data: Any) -> EstimatedCells:
        """Return the mean of the outcome for each row of a frame or mapping of columns.

        Intervals are those of x b, transformed: of the mean, not of single answers.
        """
        if isinstance(data, Mapping):
            data = _mapped_columns(data)
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
        return EstimatedCells(
            what=f"mean of {self.outcome}",
            attributes=(Attribute("row", tuple(map(str, range(rows)))),),
            values=mean,
            standard_errors=slope * deviations,
            intervals=mean_of(limits, self.family)[0],
        )

    def _variable(self, name: str, column: Any) -> Variable:
        levels = self.levels[name]
        if not levels:
            try:
                return Variable(np.asarray(column, dtype=np.float64))
            except ValueError:
                raise InputError(f"column {name!r} must hold numbers") from None
        attribute = Attribute(name, levels)
        codes = [attribute.code(text) for text in column_texts(column)]
        return Variable(np.array(codes), levels)


def _mapped_columns(columns: Mapping[str, Any]) -> pa.Table:
    """Return a mapping from columns to values, or to one value, as a table."""
    try:
        return pa.table({name: np.atleast_1d(c) for name, c in columns.items()})
    except (pa.ArrowException, TypeError, ValueError):
        raise InputError("data must map columns to values", parameter="data") from None
