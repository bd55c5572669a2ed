"""`EstimatedCells`: estimated numbers by cells, each with a 95 % interval."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage._core.results import Result, json_ready
from seepage.channel.domain import Attribute
from seepage.tables.labels import value_label

NORMAL_QUANTILE = 1.959963984540054
"""Half-width of a 95 % interval of a normal distribution, in standard errors."""


class Estimated(NamedTuple):
    """An estimated number with its standard error and a 95 % confidence interval.

    Parameters
    ----------
    value
        The estimate.
    standard_error
        Its standard error, for the population that the people were drawn from.
    interval
        The limits of a 95 % confidence interval.

    Examples
    --------
    >>> share = Estimated.normal(0.25, 0.01)
    >>> share
    0.25 (standard error 0.01, 95 % interval 0.2304 to 0.2696)
    >>> share.interval[0] < share.value < share.interval[1], float(share)
    (True, 0.25)
    """

    value: float
    standard_error: float
    interval: tuple[float, float]

    @classmethod
    def normal(cls, value: float, standard_error: float) -> "Estimated":
        """Return an estimated number with a normal interval, value -+ 1.96 standard
        errors.
        """
        width = NORMAL_QUANTILE * standard_error
        return cls(
            float(value),
            float(standard_error),
            (float(value - width), float(value + width)),
        )

    def widened(self, error: float) -> "Estimated":
        """Return the estimated number with a further standard error, independent of its
        own.

        Examples
        --------
        >>> Estimated.normal(2.0, 0.3).widened(0.4)
        2 (standard error 0.5, 95 % interval 1.02 to 2.98)
        """
        low, high = self.interval
        further = NORMAL_QUANTILE * error
        return Estimated(
            self.value,
            math.hypot(self.standard_error, error),
            (
                self.value - math.hypot(self.value - low, further),
                self.value + math.hypot(high - self.value, further),
            ),
        )

    def __repr__(self) -> str:
        """Return an estimated number with its interval in one line."""
        low, high = self.interval
        error = f"standard error {self.standard_error:.4g}"
        return f"{self.value:.4g} ({error}, 95 % interval {low:.4g} to {high:.4g})"

    def __float__(self) -> float:
        """Return the estimated number without its error."""
        return self.value


Labels = str | float | Sequence[str | float]


def as_texts(value: Any, name: str) -> list[str]:
    """Return the names that select estimated cells, one text or several, as a list."""
    if isinstance(value, str):
        return [value]
    return checks.texts(value, name)


def as_labels(value: Any, name: str) -> list[str]:
    """Return the labels that select estimated cells, one value or several, which may be
    numbers, as a list.
    """
    if isinstance(value, (str, bool, int, float, np.generic)):
        return [value_label(value)]
    return [value_label(each) for each in checks.items(value, name)]


class IndependenceTest(NamedTuple):
    """Wald test that two attributes are independent.

    Parameters
    ----------
    statistic
        g' Cov(g)^-1 g of g = t[i, j] - t[i, .] t[., j], without the last row and
        column.
    degrees
        Degrees of freedom of its chi-squared distribution.
    p_value
        The probability of a larger statistic if the attributes are independent.
    """

    statistic: float
    degrees: int
    p_value: float


@dataclass(frozen=True, eq=False, repr=False)
class EstimatedCells(Result):
    """One estimated number for each combination of values of some attributes.

    Parameters
    ----------
    what
        What the numbers are, such as "share of ill given income".
    attributes
        The attributes; the last is the fastest in the order of the cells.
    values, standard_errors, intervals
        The numbers, their standard errors and their 95 % intervals (one row per cell).

    Examples
    --------
    >>> sex = Attribute("sex", ("f", "m"))
    >>> errors, limits = np.array([0.1, 0.1]), np.array([[0.2, 0.6], [0.4, 0.8]])
    >>> EstimatedCells("share", (sex,), np.array([0.4, 0.6]), errors, limits)[
    ...     "m"
    ... ].interval
    (0.4, 0.8)
    """

    what: str
    attributes: tuple[Attribute, ...]
    values: Floats
    standard_errors: Floats
    intervals: Floats

    def __getitem__(self, labels: Labels) -> Estimated:
        """Return the estimated number of one cell, by the values of the attributes in
        order.
        """
        values = as_labels(labels, "labels")
        if len(values) != len(self.attributes):
            names = ", ".join(attribute.name for attribute in self.attributes)
            raise InputError(
                f"a cell must be given by one value of each of {names}, got {values!r}"
            )
        labelled = zip(self.attributes, values, strict=True)
        codes = [attribute.code(value) for attribute, value in labelled]
        return self._number(int(np.ravel_multi_index(codes, self._shape)))

    def _number(self, cell: int) -> Estimated:
        """Return the estimated number of a cell by its flat index."""
        low, high = self.intervals[cell].tolist()
        return Estimated(
            float(self.values[cell]), float(self.standard_errors[cell]), (low, high)
        )

    @property
    def _shape(self) -> tuple[int, ...]:
        """The number of values of each attribute of the estimated cells."""
        return tuple(attribute.size for attribute in self.attributes)

    def _headline(self) -> str:
        """Return estimated cells in one line."""
        return f"EstimatedCells({self.what}, {len(self.values)} numbers)"

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the columns of estimated cells in long form."""
        codes = np.unravel_index(np.arange(len(self.values)), self._shape)
        labels = {
            attribute.name: [attribute.values[code] for code in column]
            for attribute, column in zip(self.attributes, codes, strict=True)
        }
        return {
            **labels,
            "estimate": self.values.tolist(),
            "standard_error": self.standard_errors.tolist(),
            "lower": self.intervals[:, 0].tolist(),
            "upper": self.intervals[:, 1].tolist(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the estimated cells as JSON-compatible data."""
        return dict(json_ready({"what": self.what, "cells": self._columns()}))

    def chart(self) -> Any:
        """Return the estimated cells as an Altair chart: one point with its interval
        per cell.
        """
        from seepage.charts.result_charts import estimates_chart

        columns = self._columns()
        names = [attribute.name for attribute in self.attributes]
        rows = [
            dict(zip(columns, row, strict=True))
            for row in zip(*columns.values(), strict=True)
        ]
        for row in rows:
            row["colour"] = row[names[0]]
            row["label"] = ", ".join(row[name] for name in names[1:]) or row[names[0]]
        return estimates_chart(rows, self.what, names)
