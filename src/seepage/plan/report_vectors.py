"""Unbiased vectors of single reports over the cells of some attributes.

A report of a form that asks for some attributes gives an unbiased vector a of the
one-hot vector of the person's cell.  In a product form each report gives an unbiased
one-hot vector of its value, (c - b) / a for a contribution c to the mechanism's tally;
given the record, the reports are independent, so a is the product of these over the
attributes.  In a matrix form, with C the channel from cells of answers to reports, and
D the diagonal of report probabilities at nominal frequencies, A = D^-1/2 (C D^-1/2)^+
B' has C A = B', so that A[y] is an unbiased vector of the marginal B.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np

from seepage._core.arrays import Floats, Integers
from seepage._core.errors import InputError
from seepage.designs.forms.form_channels import REPORT, MatrixChannel
from seepage.designs.forms.form_problem import equal_split
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.direct import DirectResponse
from seepage.mechanisms.hashing import LocalHashing
from seepage.mechanisms.reports import BitReports, ValueReports
from seepage.mechanisms.subset_selection import best_mechanism
from seepage.mechanisms.transition_matrix import (
    IDENTITY_TOLERANCE,
    least_squares_inverse,
)
from seepage.plan.plan_content import PlanContent, wanted_of

MAX_VECTOR_CELLS = 4096
"""Maximum number of cells of a table: its covariance has 128 MB."""


MAX_DISTINCT = 1 << 22
"""Number of possible reports from which on they are not searched for equal ones."""


def nominal_frequencies(plan: PlanContent, name: str) -> Floats:
    """Return the nominal frequencies that an attribute's report vectors are of; uniform
    if the plan has none.
    """
    planned = plan[name]
    if planned.frequencies:
        return np.array(planned.frequencies)
    size = planned.attribute.size
    return np.full(size, 1.0 / size)


def summing_matrix(shape: Sequence[int], axes: Sequence[int]) -> Floats:
    """Return the 0-1 matrix that sums the cells of report vectors to those of some
    axes.
    """
    codes = np.indices(shape)
    kept = [shape[axis] for axis in axes]
    cells = np.ravel_multi_index([codes[axis].ravel() for axis in axes], kept)
    return np.asarray(cells == np.arange(np.prod(kept))[:, None], dtype=np.float64)


def wanted_rows(plan: PlanContent, *names: str) -> Floats | None:
    """Return B of the report vectors of an attribute whose mean is wanted; None for
    frequencies and joint tables.
    """
    if len(names) != 1:
        return None
    return wanted_of(plan).rows.get(plan.domain.index(names[0]))


def product_variances(
    mechanisms: Sequence[Mechanism], nominal: Sequence[Floats]
) -> Floats:
    """Return the variance of one person's report vector by cell, noise and sampling
    together.

    E X^_u^2 = Var X^_u + f_u for each attribute, at nominal frequencies f; moments
    multiply.
    """
    moments = [
        mechanism.variance(1, frequencies) + frequencies
        for mechanism, frequencies in zip(mechanisms, nominal, strict=True)
    ]
    second = np.asarray(reduce(np.multiply.outer, moments))
    first = np.asarray(reduce(np.multiply.outer, nominal))
    return np.maximum(second - first**2, 0.0).ravel()


def joint_variances(plan: PlanContent, names: Sequence[str]) -> Floats:
    """Return the variances by cell of the report vectors of a form of these attributes
    alone, within the smallest limit.

    Each answer has an equal part of the limit as its budget and the best mechanism for
    it, so that the form keeps every limit whoever the people are; `design` finds better
    ones where it can.  A plan has the frequencies of single attributes only, so they
    are taken as independent.
    """
    limit = min(planned.limit for planned in plan.attributes if planned.limit)
    epsilon = equal_split(limit, len(names))
    sizes = [plan.domain[name].size for name in names]
    mechanisms = [best_mechanism(size, epsilon) for size in sizes]
    nominal = [nominal_frequencies(plan, name) for name in names]
    return product_variances(mechanisms, nominal)


class FormVectors(NamedTuple):
    """The vectors of the reports of one form over the cells of some attributes it asks
    for.

    Parameters
    ----------
    columns, mechanisms
        The names of the form's reports, and the mechanisms that drew them.
    entries
        For each column, the function from its reports to vectors, one row per report;
        their products are the vectors over the cells.
    variances
        The parts of v(f): the variance of one report's vector by cell, at nominal
        frequencies, or of the statistic of an attribute that the plan was designed for;
        infinite where the reports do not determine it.
    """

    columns: Sequence[str]
    mechanisms: Sequence[Mechanism]
    entries: Sequence[Callable[[Any], Floats]]
    variances: Floats

    @classmethod
    def of(
        cls,
        plan: PlanContent,
        index: int,
        names: Sequence[str],
        *,
        margins: bool = False,
    ) -> "FormVectors":
        """Return the report vectors of a form, by its index.

        Parameters
        ----------
        plan, index
            The plan, and the index of the form.
        names
            The attributes; the last is the fastest in the order of the cells.
        margins
            Whether each axis begins with its sum: the cells of a table then have its
            marginals too.
        """
        if plan.forms[index].is_product:
            mechanisms = [plan.form_mechanisms[index][name] for name in names]
            entries = [
                partial(_one_hot_vectors, mechanism, margins)
                for mechanism in mechanisms
            ]
            variances = _mechanism_variances(plan, names, mechanisms)
            return cls(names, mechanisms, entries, variances)
        coefficients, variances = matrix_coefficients(plan, index, names)
        if margins:
            shape = [plan.domain[name].size for name in names]
            coefficients = _with_sums(coefficients, shape)
        mechanisms = list(plan.form_mechanisms[index].values())
        entry = partial(_rows, coefficients)
        return cls((REPORT,), mechanisms, [entry], variances)

    @property
    def variance(self) -> float:
        """v(f), the sum of the variances of a form's report vectors."""
        return float(self.variances.sum())

    def vectors(self, reports: Sequence[Any]) -> Floats:
        """Return the vector of each report, one row per report and one column per
        cell.
        """
        parts = [
            entry(column) for entry, column in zip(self.entries, reports, strict=True)
        ]
        return row_products(parts)

    def distinct(
        self, reports: Sequence[Any], weights: Floats | None
    ) -> tuple[list[Any], Floats, Floats]:
        """Return distinct reports, with the sums of the weights of their people and of
        the squares.

        Reports are equal if their likelihoods are: single values, and sets of up to 64
        values that they have or hash to; others are returned as they are.
        """
        weight = weights
        if weight is None:
            weight = np.ones(len(reports[0]))
        codes = np.zeros(len(weight), dtype=np.int64)
        size = 1
        for mechanism, column in zip(self.mechanisms, reports, strict=True):
            values, outputs = _coded(mechanism, column)
            if size * outputs >= MAX_DISTINCT:
                codes, size = _numbered(codes)
            size *= outputs
            if size >= MAX_DISTINCT:
                return list(reports), weight, weight**2
            codes = codes * outputs + values
        last = np.zeros(size, dtype=np.int64)
        last[codes] = np.arange(len(codes))
        sums = np.bincount(codes, weight).astype(np.float64)
        squares = np.bincount(codes, weight**2).astype(np.float64)
        kept = np.flatnonzero(sums)
        return [column[last[kept]] for column in reports], sums[kept], squares[kept]


def _with_sums(coefficients: Floats, shape: Sequence[int]) -> Floats:
    """Return the rows of report vectors over the cells of a table with the sum of each
    axis before it.
    """
    table = coefficients.reshape(-1, *shape)
    for axis in range(1, table.ndim):
        sums = table.sum(axis=axis, keepdims=True)
        table = np.concatenate([sums, table], axis=axis)
    return table.reshape(len(table), -1)


def _coded(mechanism: Mechanism, reports: Any) -> tuple[Any, int]:
    """Return an integer for each report, equal for equal vectors, and their number.

    `MAX_DISTINCT` for reports that are not compared.
    """
    if isinstance(reports, ValueReports):
        return reports.values, int(reports.values.max()) + 1
    if isinstance(reports, BitReports) and mechanism.k <= 64:
        return _numbered(reports.words[:, 0])
    if isinstance(mechanism, LocalHashing) and mechanism.k <= 64:
        words = BitReports.pack_blocks(mechanism.k, reports, mechanism.supported)
        return _numbered(words[:, 0])
    return 0, MAX_DISTINCT


def _numbered(values: Any) -> tuple[Integers, int]:
    """Return codes of report vectors as their positions in the order of distinct ones,
    and how many these are.
    """
    distinct, positions = np.unique(values, return_inverse=True)
    return positions, len(distinct)


def _rows(coefficients: Floats, reports: Any) -> Floats:
    """Return the vector of each report of a matrix, a row."""
    return np.asarray(coefficients[reports.below(len(coefficients))])


def row_products(parts: Sequence[Floats]) -> Floats:
    """Return the outer products of the report vectors of several answers, flattened."""
    products = parts[0]
    for part in parts[1:]:
        outer = products[:, :, None] * part[:, None]
        products = outer.reshape(len(part), -1)
    return products


def _one_hot_vectors(mechanism: Mechanism, margins: bool, reports: Any) -> Floats:
    """Return an unbiased one-hot vector of each report, after its expected sum 1 if
    `margins`.
    """
    scale, shift = mechanism.one_hot_map
    vectors = np.asarray((mechanism.contributions(reports) - shift) / scale)
    if not margins:
        return vectors
    return np.insert(vectors, 0, 1.0, axis=1)


def _mechanism_variances(
    plan: PlanContent, names: Sequence[str], mechanisms: Sequence[Mechanism]
) -> Floats:
    """Return the variances of the report vectors of a product form."""
    nominal = [nominal_frequencies(plan, name) for name in names]
    rows = wanted_rows(plan, *names)
    if not all(mechanism.informative for mechanism in mechanisms):
        return np.array([np.inf])
    if rows is None or not isinstance(mechanisms[0], DirectResponse):
        return product_variances(mechanisms, nominal)
    channel = mechanisms[0].channel()
    means = rows @ nominal[0]
    estimates = rows @ np.linalg.inv(channel).T
    return np.asarray(estimates**2 @ (nominal[0] @ channel) - means**2)


def matrix_coefficients(
    plan: PlanContent, index: int, names: Sequence[str]
) -> tuple[Floats, Floats]:
    """Return the report vectors A of a matrix form, one row per report and one column
    per cell, and their variances.
    """
    form_channel = plan.forms[index].channel
    assert isinstance(form_channel, MatrixChannel)
    asked = form_channel.attributes
    nominal = [nominal_frequencies(plan, name) for name in asked]
    if form_channel.frequencies:
        cells = np.array(form_channel.frequencies)
    else:
        cells = np.ravel(reduce(np.multiply.outer, nominal))
    channel = form_channel.mechanism.channel()
    shape = [len(frequencies) for frequencies in nominal]
    marginal = summing_matrix(shape, [asked.index(name) for name in names])
    coefficients = least_squares_inverse(channel, cells @ channel) @ marginal.T
    if np.abs(channel @ coefficients - marginal.T).max() > IDENTITY_TOLERANCE:
        return coefficients, np.array([np.inf])
    statistics = coefficients
    means = marginal @ cells
    rows = wanted_rows(plan, *names)
    if rows is not None:
        statistics = coefficients @ rows.T
        means = rows @ means
    variances = np.asarray((cells @ channel) @ statistics**2 - means**2)
    return coefficients, variances


def informative_forms(
    plan: PlanContent, names: Sequence[str], *, margins: bool = False
) -> dict[int, FormVectors]:
    """Return the report vectors of each form whose reports determine the table of these
    attributes.
    """
    informative = dict[int, FormVectors]()
    for index, form in enumerate(plan.forms):
        if not set(names) <= set(form.attributes):
            continue
        vectors = FormVectors.of(plan, index, names, margins=margins)
        if np.isfinite(vectors.variance):
            informative[index] = vectors
    return informative


def count_cells(plan: PlanContent, names: Sequence[str]) -> int:
    """Return the number of cells of report vectors of some attributes."""
    return math.prod(plan.domain[name].size for name in names)


def check_cells(plan: PlanContent, names: Sequence[str]) -> int:
    """Return the number of cells of report vectors; raise if there are too many for the
    covariance.
    """
    cells = count_cells(plan, names)
    if cells > MAX_VECTOR_CELLS:
        raise InputError(
            f"a table must have at most {MAX_VECTOR_CELLS:,} cells, got {cells:,} of "
            f"{', '.join(names)}; choose fewer attributes"
        )
    return cells
