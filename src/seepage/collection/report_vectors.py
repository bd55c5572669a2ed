"""Unbiased vectors of single reports over the cells of some attributes, and their sums.

A report of a form that asks for some attributes gives an unbiased vector a of the one-hot vector of
the person's cell.  In a product form each report gives an unbiased one-hot vector of its value,
(c - b) / a for a contribution c to the mechanism's tally; given the record, the reports are
independent, so a is the product of these over the attributes.  In a matrix form, with C the channel
from cells of answers to reports, and D the diagonal of report probabilities at nominal frequencies,
A = D^-1/2 (C D^-1/2)^+ B' has C A = B', so that A[y] is an unbiased vector of the marginal B.

The estimated table is the weighted mean over people

    t = sum_i u_i a_i / sum_i u_i,   u_i = w_i / v(f_i),

w_i the weight of a person, 1 by default, and v(f) the variance of one report's vector at nominal
frequencies, summed over the cells.  v(f) is fixed before the collection, so t is unbiased, and
forms are combined by inverse variance.  It is a ratio of sums (Hajek), and linearised its
covariance is

    sum_i u_i^2 (a_i - t)(a_i - t)' / (sum_i u_i)^2,

for the population that people were drawn from, noise and sampling together [Sarndal, Swensson and
Wretman 1992, section 5.7]; it is divided by 1 - sum u^2 / (sum u)^2, so that equal weights give the
sample covariance over n.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, reduce
from typing import Any

import numpy as np

from seepage._numerics import Floats, Integers
from seepage.collection.covariates import report_weights
from seepage.collection.report_source import ReportSource
from seepage.designs.calibration import equal_split
from seepage.designs.report_channels import REPORT, MatrixChannel
from seepage.errors import InputError
from seepage.mechanisms import best_mechanism, mechanism
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.direct import DirectResponse
from seepage.mechanisms.reports import ValueReports
from seepage.mechanisms.transition_matrix import IDENTITY_TOLERANCE, least_squares_inverse
from seepage.plan.plan import Plan
from seepage.plan.plan_parts import wanted_of

MAX_CELLS = 4096
"""Maximum number of cells of a table: its covariance has 128 MB."""

CHUNK_ENTRIES = 1 << 23
"""Entries of the vectors that are added at once."""


def nominal_frequencies(plan: Plan, name: str) -> Floats:
    """Return the nominal frequencies of an attribute; uniform if the plan has none."""
    planned = plan[name]
    size = planned.attribute.size
    return np.array(planned.frequencies) if planned.frequencies else np.full(size, 1.0 / size)


def summing_matrix(shape: Sequence[int], axes: Sequence[int]) -> Floats:
    """Return the 0-1 matrix that sums the cells of a table to those of some of its axes."""
    codes, kept = np.indices(shape), [shape[axis] for axis in axes]
    cells = np.ravel_multi_index([codes[axis].ravel() for axis in axes], kept)
    return np.asarray(cells == np.arange(np.prod(kept))[:, None], dtype=np.float64)


def wanted_rows(plan: Plan, *names: str) -> Floats | None:
    """Return B of one attribute whose mean is wanted; None for frequencies and joint tables."""
    return wanted_of(plan).rows.get(plan.domain.index(names[0])) if len(names) == 1 else None


def product_variances(mechanisms: Sequence[Mechanism], nominal: Sequence[Floats]) -> Floats:
    """Return the variance of one person's vector by cell, noise and sampling together.

    E X^_u^2 = Var X^_u + f_u for each attribute, at nominal frequencies f; moments multiply.
    """
    moments = [one.variance(1, f) + f for one, f in zip(mechanisms, nominal, strict=True)]
    second, first = (reduce(np.multiply.outer, part) for part in (moments, nominal))
    return np.maximum(np.asarray(second - first**2), 0.0).ravel()


def joint_variances(plan: Plan, names: Sequence[str]) -> Floats:
    """Return the variances by cell of a form of these attributes alone, within the smallest limit.

    Each answer has an equal part of the limit as its budget and the best mechanism for it, so that
    the form keeps every limit whoever the people are; `design` finds better ones where it can.  A
    plan has the frequencies of single attributes only, so they are taken as independent.
    """
    limit = min(planned.limit for planned in plan.attributes if planned.limit)
    epsilon, sizes = equal_split(limit, len(names)), [plan.domain[name].size for name in names]
    made = [mechanism(best_mechanism(size, epsilon), size, epsilon) for size in sizes]
    return product_variances(made, [nominal_frequencies(plan, name) for name in names])


class FormVectors(ABC):
    """The vectors of the reports of one form over the cells of some attributes it asks for.

    Attributes
    ----------
    columns
        The names of the form's reports.
    variances
        The parts of v(f): the variance of one report's vector by cell, at nominal frequencies, or
        of the statistic of an attribute that the plan was designed for; infinite where the reports
        do not determine it.
    """

    columns: tuple[str, ...]
    variances: Floats

    @staticmethod
    def of(plan: Plan, index: int, names: Sequence[str], *, margins: bool = False) -> "FormVectors":
        """Return the vectors of a form, by its index.

        Parameters
        ----------
        plan, index
            The plan, and the index of the form.
        names
            The attributes; the last is the fastest in the order of the cells.
        margins
            Whether each axis begins with its sum: the cells of a table then have its marginals too.
        """
        kind = ProductVectors if plan.forms[index].is_product else MatrixVectors
        return kind(plan, index, names, margins)

    @property
    def variance(self) -> float:
        """v(f), the sum of the variances."""
        return float(self.variances.sum())

    @abstractmethod
    def factors(self, reports: Sequence[Any]) -> tuple[Floats, Floats]:
        """Return two factors of the vectors, one row per report: each vector is their product."""

    def vectors(self, reports: Sequence[Any]) -> Floats:
        """Return the vector of each report, one row per report and one column per cell."""
        left, right = self.factors(reports)
        if left.shape[1] == 1:
            return np.asarray(left * right)
        return np.asarray(left[:, :, None] * right[:, None, :]).reshape(len(left), -1)

    @abstractmethod
    def noise(self, code: int) -> tuple[float, float]:
        """Return the variance of one value's entry for people with another value, and with it.

        For one attribute; in a matrix form other answers have nominal frequencies.
        """


class ProductVectors(FormVectors):
    """The vectors of a product form, see `FormVectors.of`."""

    def __init__(self, plan: Plan, index: int, names: Sequence[str], margins: bool = False) -> None:
        self.columns, self._margins = tuple(names), margins
        self._mechanisms = [plan.form_mechanisms[index][name] for name in names]
        nominal, rows = (
            [nominal_frequencies(plan, name) for name in names],
            wanted_rows(plan, *names),
        )
        first = self._mechanisms[0]
        if not all(made.informative for made in self._mechanisms):
            self.variances = np.array([np.inf])
        elif rows is not None and isinstance(first, DirectResponse):
            channel, means = first.channel(), rows @ nominal[0]
            estimates = rows @ np.linalg.inv(channel).T
            self.variances = np.asarray(estimates**2 @ (nominal[0] @ channel) - means**2)
        else:
            self.variances = product_variances(self._mechanisms, nominal)

    def factors(self, reports: Sequence[Any]) -> tuple[Floats, Floats]:
        """Return the product of the unbiased one-hot vectors of all reports but the last."""
        left: Any = np.ones((len(reports[0]), 1))
        right: Any = left
        for made, column in zip(self._mechanisms, reports, strict=True):
            left = (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)
            scale, shift = made.one_hot_map
            right = (made.contributions(column) - shift) / scale
            if self._margins:
                right = np.insert(right, 0, 1.0, axis=1)
        return left, right

    def noise(self, code: int) -> tuple[float, float]:
        """Return the variances of the mechanism, the same for every value."""
        (made,) = self._mechanisms
        other, own = (float(np.mean(made.variance(1, share))) for share in (0.0, 1.0))
        return other, own


class MatrixVectors(FormVectors):
    """The vectors of a matrix form, see `FormVectors.of`.

    `coefficients` are A, one row per report and one column per cell, `marginal` is B.
    """

    columns = (REPORT,)

    def __init__(self, plan: Plan, index: int, names: Sequence[str], margins: bool = False) -> None:
        channel, rows = plan.forms[index].channel, wanted_rows(plan, *names)
        assert isinstance(channel, MatrixChannel)
        nominal = [nominal_frequencies(plan, name) for name in channel.attributes]
        cells = np.asarray(reduce(np.multiply.outer, nominal)).ravel()
        self._cells = np.array(channel.frequencies) if channel.frequencies else cells
        self._channel, shape = channel.mechanism.channel(), [len(f) for f in nominal]
        self.marginal = summing_matrix(shape, [channel.attributes.index(name) for name in names])
        inverse = least_squares_inverse(self._channel, self._cells @ self._channel)
        self.coefficients = found = inverse @ self.marginal.T
        means = self.marginal @ self._cells
        if rows is not None:
            found, means = found @ rows.T, rows @ means
        self.variances = np.asarray((self._cells @ self._channel) @ found**2 - means**2)
        if np.abs(self._channel @ self.coefficients - self.marginal.T).max() > IDENTITY_TOLERANCE:
            self.variances = np.array([np.inf])
        if margins:
            table = self.coefficients.reshape(-1, *(plan.domain[name].size for name in names))
            for axis in range(1, table.ndim):
                table = np.concatenate([table.sum(axis=axis, keepdims=True), table], axis=axis)
            self.coefficients = table.reshape(len(table), -1)

    def factors(self, reports: Sequence[Any]) -> tuple[Floats, Floats]:
        """Return 1, and the row of A of each report."""
        values = reports[0].below(len(self.coefficients))
        return np.ones((len(values), 1)), np.asarray(self.coefficients[values])

    def noise(self, code: int) -> tuple[float, float]:
        """Return the variances of an entry of A over the reports of people without and with it."""
        entries, has, moments = self.coefficients[:, code], self.marginal[code] > 0, []
        for group, truth in ((~has, 0.0), (has, 1.0)):
            cells = np.where(group, np.maximum(self._cells, 1e-300), 0.0)
            reports = cells @ self._channel / max(cells.sum(), 1e-300)
            moments.append(float(reports @ entries**2) - truth)
        return moments[0], moments[1]


def informative_forms(
    plan: Plan, names: Sequence[str], *, margins: bool = False
) -> dict[int, FormVectors]:
    """Return the vectors of each form whose reports determine the table of these attributes."""
    asking = (i for i, form in enumerate(plan.forms) if set(names) <= set(form.attributes))
    vectors = {index: FormVectors.of(plan, index, names, margins=margins) for index in asking}
    return {index: one for index, one in vectors.items() if np.isfinite(one.variance)}


class CellSums:
    """Weighted sums of the vectors of all forms that ask for attributes, and of their products.

    Parameters
    ----------
    plan
        The plan.
    names
        The attributes.
    full
        Whether to sum products of different cells, for the covariance; else squares alone.
    """

    def __init__(self, plan: Plan, names: Sequence[str], *, full: bool = True) -> None:
        cells = int(np.prod([plan.domain[name].size for name in names]))
        self.forms = informative_forms(plan, names)
        if full and cells > MAX_CELLS:
            raise InputError(
                f"a table must have at most {MAX_CELLS:,} cells, got {cells:,} of "
                f"{', '.join(names)}; choose fewer attributes"
            )
        self.people: dict[int, int] = dict.fromkeys(self.forms, 0)
        self._full, self._rows = full, max(1, CHUNK_ENTRIES // cells)
        self._weight = self._square = 0.0
        self._first, self._first_square = np.zeros(cells), np.zeros(cells)
        self._second = np.zeros((cells, cells) if full else cells)

    def add(self, index: int, reports: Sequence[Any], weights: Floats) -> None:
        """Add reports of one form, with the weights of their people."""
        vectors = self.forms[index]
        self.people[index] += len(weights)
        distinct, inverse = _distinct(reports)
        u = weights / (vectors.variance or 1.0)
        powers = [np.bincount(inverse, power) for power in (u, u**2)]
        for start in range(0, len(distinct[0]), self._rows):
            rows = slice(start, start + self._rows)
            once, twice = (power[rows] for power in powers)
            part = vectors.vectors([column[rows] for column in distinct])
            self._weight += float(once.sum())
            self._square += float(twice.sum())
            self._first += once @ part
            self._first_square += twice @ part
            self._second += (part * twice[:, None]).T @ part if self._full else twice @ part**2

    @cached_property
    def mean(self) -> Floats:
        """The estimated frequency of each cell."""
        return np.asarray(self._first / self._weight)

    @cached_property
    def covariance(self) -> Floats:
        """The covariance of the estimates; their variances alone unless `full`."""
        if self.effective < 1 + 1e-9:  # one person
            return np.full_like(self._second, np.inf)
        product = np.multiply.outer if self._full else np.multiply
        cross = product(self._first_square, self.mean)
        centred = self._second - cross - cross.T + self._square * product(self.mean, self.mean)
        return np.asarray(centred / self._weight**2 / (1.0 - 1.0 / self.effective))

    @property
    def squared(self) -> tuple[Floats, Floats]:
        """Means of a and of a a' with weights u^2: their difference for two cells is noise."""
        return self._first_square / self._square, self._second / self._square

    @property
    def effective(self) -> float:
        """The effective number of people, (sum u)^2 / sum u^2 [Kish 1965]."""
        return self._weight**2 / self._square


class GroupSums:
    """Sums of the vectors over two attributes with their margins, by groups of reports.

    Neighbours are in different groups, so that a sorted or drifting table does not make groups
    differ.

    Parameters
    ----------
    plan, names
        The plan, and the two attributes.
    groups
        The number of groups.
    """

    def __init__(self, plan: Plan, names: Sequence[str], groups: int) -> None:
        self.forms = informative_forms(plan, names, margins=True)
        self.sizes, self._people = np.zeros(groups), 0
        self.sums = np.zeros((groups, *(plan.domain[name].size + 1 for name in names)))

    def add(self, index: int, reports: Sequence[Any], weights: Floats) -> None:
        """Add reports of one form; weights are not counted."""
        left, right = self.forms[index].factors(reports)
        u, (groups, *shape) = 1.0 / (self.forms[index].variance or 1.0), self.sums.shape
        for group in range(groups):
            rows = slice((group - self._people) % groups, None, groups)
            self.sums[group] += u * (left[rows].T @ right[rows]).reshape(shape)
            self.sizes[group] += u * len(left[rows])
        self._people += len(left)


def _distinct(reports: Sequence[Any]) -> tuple[list[Any], Integers]:
    """Return distinct reports, and the index of each report among them.

    Only reports of single values are compared; others are returned as they are.
    """
    if not all(isinstance(column, ValueReports) for column in reports):
        return list(reports), np.arange(len(reports[0]))
    codes = np.zeros(len(reports[0]), dtype=np.int64)
    for column in reports:
        codes = codes * (int(column.values.max()) + 1) + column.values
    narrow = codes.astype(np.min_scalar_type(int(codes.max())))  # sorted by radix
    _, first, inverse = np.unique(narrow, return_index=True, return_inverse=True)
    return [column[first] for column in reports], inverse


def read_vectors(
    source: ReportSource, wanted: Sequence[Mapping[int, FormVectors]]
) -> Iterator[tuple[int, int, list[Any], Integers]]:
    """Yield (index of the wanted, index of a form, its reports, their rows), in one pass."""
    columns: dict[int, dict[str, None]] = {}
    for forms in wanted:
        for form, vectors in forms.items():
            columns.setdefault(form, {}).update(dict.fromkeys(vectors.columns))
    names = {form: list(known) for form, known in columns.items()}
    for form, batch, rows in source.by_form(names):
        by_name = dict(zip(names[form], batch, strict=True))
        for index, forms in enumerate(wanted):
            if form in forms:
                yield index, form, [by_name[name] for name in forms[form].columns], rows


def add_reports(
    source: ReportSource, sums: Sequence[CellSums | GroupSums], weights: Any = None
) -> None:
    """Add all reports to the sums of several tables, in one pass."""
    given = None if weights is None else report_weights(source, weights)
    for index, form, reports, rows in read_vectors(source, [one.forms for one in sums]):
        sums[index].add(form, reports, np.ones(len(rows)) if given is None else given[rows])


def sum_table(plan: Plan, source: ReportSource, names: Sequence[str], weights: Any) -> CellSums:
    """Return the sums of one table; raise if the reports do not determine it."""
    sums = CellSums(plan, names)
    add_reports(source, [sums], weights)
    if not any(sums.people.values()):
        raise InputError(f"the reports do not determine the table of {' and '.join(names)}")
    return sums
