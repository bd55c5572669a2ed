"""`Regression`: the coefficients of a formula such as "ill ~ age + sex", as a result.

The grammar of formulas is in `formula`, the estimator in `logit_likelihood`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage._core.results import Result, json_ready
from seepage.channel.domain import Attribute
from seepage.collection.estimated_cells import (
    NORMAL_QUANTILE,
    Estimated,
    EstimatedCells,
)
from seepage.collection.families import mean_of
from seepage.collection.formula import Formula, Variable
from seepage.collection.profile_likelihood import ProfileLikelihood
from seepage.collection.unperturbed_columns import column_texts, unperturbed_columns

AGREEMENT = 0.1
"""Largest difference of the ends of nearly normal intervals from normal ones, in widths
of these."""


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
        Where covariates separate the outcome a coefficient is infinite, and NaN where
        the reports tell nothing of it.
    records
        The number of reports.
    errors
        `"information"` or `"sandwich"`.
    levels
        The values of categorical columns, and () for numbers, by name: for predictions.
    profile
        The profile likelihood, for predictions; None for the family `"linear"`.
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
    profile: ProfileLikelihood | None = None

    def __getitem__(self, name: str) -> Estimated:
        """Return one coefficient of a regression, with its standard error and
        interval.
        """
        index = self.names.index(checks.choice(name, "coefficient", self.names))
        low, high = self.intervals[index].tolist()
        return Estimated(
            float(self.values[index]), float(self.standard_errors[index]), (low, high)
        )

    @property
    def standard_errors(self) -> Floats:
        """The standard error of each coefficient of the regression."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @cached_property
    def intervals(self) -> Floats:
        """The 95 % interval of each coefficient of the regression, one row each; ends
        may be infinite.

        They are by the profile likelihood, and normal for the family `"linear"`.
        """
        if self.profile is None:
            return normal_intervals(self.values, self.standard_errors)
        limits = [self.profile.limits(row) for row in np.eye(len(self.names))]
        return np.array([(limit.lower, limit.upper) for limit in limits])

    @cached_property
    def p_values(self) -> Floats:
        """The p-value of the test that a regression's coefficient is 0: of the
        likelihood ratio, and normal for the family `"linear"`.
        """
        if self.profile is None:
            return normal_p_values(self.values, self.standard_errors)
        rows = np.eye(len(self.names))
        return np.array([self.profile.p_value(row) for row in rows])

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on a regression's coefficients without a finite estimate."""
        notes = []
        infinite = [
            n for n, b in zip(self.names, self.values, strict=True) if np.isinf(b)
        ]
        unknown = [
            n for n, b in zip(self.names, self.values, strict=True) if np.isnan(b)
        ]
        if infinite:
            notes.append(
                f"no finite estimate of {', '.join(infinite)}: the covariates separate "
                f"{self.outcome}, as far as these reports tell; see the intervals"
            )
        if unknown:
            notes.append(f"the reports tell nothing of {', '.join(unknown)}")
        return tuple(notes)

    def chart(self) -> Any:
        """Return a regression as an Altair chart: coefficients with 95 % intervals
        beside 0.
        """
        from seepage.charts.estimate_charts import coefficients_chart

        columns = self._columns()
        names = ("term", "coefficient", "lower", "upper")
        rows = [
            dict(zip(names, row, strict=True))
            for row in zip(*(columns[name] for name in names), strict=True)
        ]
        return coefficients_chart(rows, self.outcome)

    def _headline(self) -> str:
        """Return a regression in one line."""
        left_out = ""
        count = int((~np.isfinite(self.values)).sum())
        if count:
            left_out = f", {count} of {len(self.names)} coefficients not finite"
        return (
            f"Regression({self.formula.text}, {self.family}, {self.records:,} reports"
            f"{left_out})"
        )

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the columns of a regression in long form."""
        errors = self.standard_errors
        with np.errstate(invalid="ignore"):
            z = self.values / errors
        return {
            "term": list(self.names),
            "coefficient": self.values.tolist(),
            "standard_error": errors.tolist(),
            "z": z.tolist(),
            "p_value": self.p_values.tolist(),
            "lower": self.intervals[:, 0].tolist(),
            "upper": self.intervals[:, 1].tolist(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the regression's coefficients as JSON-compatible data."""
        content = {
            "formula": self.formula.text,
            "family": self.family,
            "outcome": self.outcome,
            "records": self.records,
            "standard_errors_from": self.errors,
            "coefficients": self._columns(),
            "covariance": self.covariance,
            "notes": list(self.notes),
        }
        return dict(json_ready(content))

    def summary(self) -> str:
        """Return the regression's coefficients as text, in the shape of a summary of
        statsmodels.
        """
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
        return "\n".join([*lines, *self.notes])

    def predict(self, data: Any) -> EstimatedCells:
        """Return the regression's mean of the outcome for each row of a frame or
        mapping of columns.

        Intervals are those of x b, transformed: of the mean, not of single answers.
        They are by the profile likelihood, which is maximised some twenty times for
        each distinct row, where intervals of coefficients are not nearly normal.
        """
        if isinstance(data, Mapping):
            data = _mapped_columns(data)
        columns = unperturbed_columns(data, self.formula.names)
        variables = {
            name: self._variable(name, column) for name, column in columns.items()
        }
        rows = max((len(column) for column in columns.values()), default=1)
        _, design = self.formula.design(variables, rows)
        if self.profile is None or self._has_normal_intervals:
            means, errors, intervals = self._normal_means(design)
        else:
            means, errors, intervals = _profile_means(self.profile, design)
        return EstimatedCells(
            what=f"mean of {self.outcome}",
            attributes=(Attribute("row", tuple(map(str, range(rows)))),),
            values=means,
            standard_errors=errors,
            intervals=intervals,
        )

    def _normal_means(self, design: Floats) -> tuple[Floats, Floats, Floats]:
        """Return a regression's means of the outcome, errors and intervals by the delta
        method.
        """
        predictors = design @ self.values
        squares = np.einsum("ij,jk,ik->i", design, self.covariance, design)
        deviations = np.sqrt(squares)
        means, slopes = mean_of(predictors, self.family)
        limits = normal_intervals(predictors, deviations)
        return means, slopes * deviations, mean_of(limits, self.family)[0]

    @property
    def _has_normal_intervals(self) -> bool:
        """Whether the interval of each coefficient of the regression is nearly that of
        a normal estimate.
        """
        if not np.isfinite(self.values).all():
            return False
        normal = normal_intervals(self.values, self.standard_errors)
        tolerance = AGREEMENT * np.ptp(normal, axis=1, keepdims=True)
        return bool((np.abs(normal - self.intervals) <= tolerance).all())

    def _variable(self, name: str, column: Any) -> Variable:
        """Return a column to predict at as the regression's variable."""
        levels = self.levels[name]
        if not levels:
            try:
                return Variable(np.asarray(column, dtype=np.float64))
            except ValueError:
                raise InputError(f"column {name!r} must hold numbers") from None
        attribute = Attribute(name, levels)
        codes = [attribute.code(text) for text in column_texts(column)]
        return Variable(np.array(codes), levels)


def _profile_means(
    profile: ProfileLikelihood, design: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return means predicted by a logit regression, errors and intervals by the profile
    likelihood.

    An error is half the width of the interval in normal quantiles.
    """
    distinct, rows = np.unique(design, axis=0, return_inverse=True)
    rows = rows.ravel()
    limits = [profile.limits(row) for row in distinct]
    predictors = np.array([limit.value for limit in limits])
    ends = np.array([(limit.lower, limit.upper) for limit in limits])
    intervals = mean_of(ends, "logit")[0]
    errors = np.ptp(intervals, axis=1) / (2.0 * NORMAL_QUANTILE)
    return mean_of(predictors, "logit")[0][rows], errors[rows], intervals[rows]


def normal_intervals(values: Floats, errors: Floats) -> Floats:
    """Return the 95 % intervals of normal coefficients of a regression, one row
    each.
    """
    return values[:, None] + np.outer(errors, [-NORMAL_QUANTILE, NORMAL_QUANTILE])


def normal_p_values(values: Floats, errors: Floats) -> Floats:
    """Return the p-values of the tests that normal coefficients of a regression are
    0.
    """
    from scipy.special import ndtr

    return np.asarray(2.0 * ndtr(-np.abs(values / errors)))


def finite_covariance(values: Floats, covariance: Floats) -> Floats:
    """Return a regression's covariance with infinite variances of coefficients that are
    not finite.
    """
    infinite = ~np.isfinite(values)
    covariance = covariance.copy()
    covariance[infinite] = np.nan
    covariance[:, infinite] = np.nan
    covariance[infinite, infinite] = np.inf
    return covariance


def _mapped_columns(columns: Mapping[str, Any]) -> pa.Table:
    """Return the columns to predict a regression at as a table, from a mapping to
    values, or to one value.
    """
    try:
        return pa.table(
            {name: _column_values(column) for name, column in columns.items()}
        )
    except (pa.ArrowException, TypeError, ValueError):
        raise InputError("data must map columns to values", parameter="data") from None


def _column_values(column: Any) -> npt.NDArray[Any]:
    """Return the values of a column to predict a regression at, or its one value, as an
    array.

    A TypeError if a value is a collection: Arrow would follow one that contains itself
    until the process ends.
    """
    values = np.atleast_1d(column)
    for value in values.flat:
        if isinstance(value, Collection) and not isinstance(value, str | bytes):
            raise TypeError("a value is a collection")
    return values
