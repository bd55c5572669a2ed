"""First and second moments of the reports of each form, by groups of reports.

Given a record, the reports of two attributes are independent, and each gives an unbiased one-hot
vector X^ of its value: (c - b)/a for a contribution c to the mechanism's tally.  So the mean of
X^_u Y^_v is an unbiased estimate of the joint frequency F[u, v]: for two-level mechanisms this
inverts the Kronecker product of the two channels from value to supported values, two parameters
each.  For a matrix form, with one report of all answers, the counts of each report are sufficient.

One pass adds up the sums of up to 128 groups of reports; the variance between groups gives the
standard error of any statistic of the sums.  Frequencies of single attributes need tallies alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Booleans, Floats
from seepage.collection.report_source import open_reports
from seepage.designs.report_channels import REPORT, MatrixChannel
from seepage.errors import InputError
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.direct import DirectResponse
from seepage.mechanisms.reports import Reports
from seepage.mechanisms.transition_matrix import IDENTITY_TOLERANCE, least_squares_inverse
from seepage.plan.plan import Plan
from seepage.plan.plan_parts import wanted_of

MAX_GROUPS = 128
MIN_GROUPS = 16
TARGET_CELLS = 1 << 24
"""Sums over all groups (128 MB): the number of groups is reduced to this, but not below 16."""

MAX_CELLS = 1 << 28
"""Maximum number of sums over all groups: 2 GB."""

CHUNK_ENTRIES = 1 << 23
"""Contributions in a chunk of reports that is added at once."""


def nominal_frequencies(plan: Plan, name: str) -> Floats:
    """Return the nominal frequencies of an attribute; uniform if the plan has none."""
    planned = plan[name]
    size = planned.attribute.size
    return np.array(planned.frequencies) if planned.frequencies else np.full(size, 1.0 / size)


def informative_mechanisms(plan: Plan, index: int) -> dict[str, Mechanism]:
    """Return the mechanisms of a product form whose reports carry information, in plan order."""
    mechanisms = plan.form_mechanisms[index]
    names = [name for name in plan.domain.names if name in mechanisms]
    return {name: mechanisms[name] for name in names if mechanisms[name].informative}


def summing_matrix(shape: Sequence[int], axes: Sequence[int]) -> Floats:
    """Return the 0-1 matrix that sums the cells of a table to those of some of its axes."""
    codes, kept = np.indices(shape), [shape[axis] for axis in axes]
    cells = np.ravel_multi_index([codes[axis].ravel() for axis in axes], kept)
    return np.asarray(cells == np.arange(np.prod(kept))[:, None], dtype=np.float64)


def wanted_rows(plan: Plan, *names: str) -> Floats | None:
    """Return B of one attribute whose mean is wanted; None for frequencies and joint tables."""
    return wanted_of(plan).rows.get(plan.domain.index(names[0])) if len(names) == 1 else None


def product_variance(
    plan: Plan, mechanisms: Mapping[str, Mechanism], names: Sequence[str]
) -> float:
    """Return v(f) of a product form: the variance of one report's vector over the cells, summed.

    At nominal frequencies prod_j (1 + sum_u Var X^_u) - prod_j |f_j|^2; infinite if one of the
    attributes has no mechanism.  For a wanted mean, the variance of direct reports' B X^
    [`designs.wanted`].
    """
    rows, made = wanted_rows(plan, *names), mechanisms.get(names[0])
    if rows is not None and isinstance(made, DirectResponse):
        channel, nominal = made.channel(), nominal_frequencies(plan, names[0])
        moments = ((rows @ np.linalg.inv(channel).T) ** 2).sum(axis=0)
        return float(nominal @ channel @ moments - ((rows @ nominal) ** 2).sum())
    second = squares = 1.0
    for name in names:
        if name not in mechanisms:
            return np.inf
        nominal = nominal_frequencies(plan, name)
        second *= 1.0 + float(mechanisms[name].variance(1, nominal).sum())
        squares *= float(nominal @ nominal)
    return max(0.0, second - squares)


class ProductSums:
    """Sums over the reports of a product form: of contributions c, and of c c' by group.

    c is the concatenation of the contributions of all attributes, and a final 1.

    Parameters
    ----------
    plan, index
        The plan, and the index of the form.
    expected
        The number of reports that will be added; None for the tallies of single attributes alone.
    """

    def __init__(self, plan: Plan, index: int, expected: int | None = None) -> None:
        self.mechanisms = mechanisms = informative_mechanisms(plan, index)
        self._plan, self.records = plan, 0
        self.attributes = self.columns = tuple(mechanisms)
        self.tallies = {name: np.zeros(mechanism.k) for name, mechanism in mechanisms.items()}
        self._adder: _BitSums | _VectorSums | None = None
        if expected is not None:
            ends = np.cumsum([mechanism.k for mechanism in mechanisms.values()]).tolist()
            self._slices = dict(zip(mechanisms, map(slice, [0, *ends], ends), strict=False))
            width = ends[-1] + 1
            two_level = all(mechanism.is_two_level for mechanism in mechanisms.values())
            adder = _BitSums if two_level else _VectorSums
            self._adder = adder(width, _group_count(width, expected))
            self._rows = max(1, CHUNK_ENTRIES // (width * self._adder.cycle)) * self._adder.cycle

    def unit_variance(self, *names: str) -> float:
        """Return v(f), see `product_variance`."""
        return product_variance(self._plan, self.mechanisms, names)

    def add(self, reports: Sequence[Reports]) -> None:
        """Add the reports of some people, one column for each attribute."""
        self.records += len(reports[0])
        for (name, mechanism), column in zip(self.mechanisms.items(), reports, strict=True):
            self.tallies[name] += mechanism.tally(column)
        if self._adder is not None:
            for start in range(0, len(reports[0]), self._rows):
                part = [column[start : start + self._rows] for column in reports]
                self._adder.add(_contributions(self.mechanisms.values(), part))

    @cached_property
    def _sums(self) -> Floats:
        assert self._adder is not None
        sums, self._adder = self._adder.by_group(), None  # as large as the sums themselves
        return sums

    @cached_property
    def sizes(self) -> Floats:
        """The number of reports in each group."""
        return self._sums[:, -1, -1]

    def one_hot_sums(self, *names: str) -> Floats:
        """Return the sum over each group of X^, or of X^ Y^' for two attributes.

        The shape is (groups, k), or (groups, k of the first, k of the second).
        """
        rows = self._slices[names[0]]
        scale, shift = self.mechanisms[names[0]].one_hot_map
        if len(names) == 1:
            return np.asarray((self._sums[:, rows, -1] - shift * self.sizes[:, None]) / scale)
        columns = self._slices[names[1]]
        other_scale, other_shift = self.mechanisms[names[1]].one_hot_map
        products = self._sums[:, rows, columns] - other_shift * self._sums[:, rows, -1:]
        ones = self._sums[:, -1:, columns] - other_shift * self.sizes[:, None, None]
        return np.asarray((products - shift * ones) / (scale * other_scale))


class MatrixSums:
    """Counts of each report of a matrix form by groups, and its weighted least squares estimates.

    With C the channel from cells of answers to reports, and D the diagonal of report probabilities
    at nominal frequencies, A = D^-1/2 (C D^-1/2)^+ B' has C A = B': A[y] is an unbiased estimate of
    the marginal B from one report y.

    Parameters
    ----------
    plan, channel
        The plan, and the channel of the form.
    groups
        The number of groups.
    """

    columns = (REPORT,)

    def __init__(self, plan: Plan, channel: MatrixChannel, groups: int = 1) -> None:
        self.attributes, self._plan = channel.attributes, plan
        self.values = {name: plan.domain[name].size for name in channel.attributes}
        self.records, self.counts = 0, np.zeros((groups, channel.mechanism.outputs))
        self._channel = channel.mechanism.channel()
        if channel.frequencies:
            self._cells = np.array(channel.frequencies)
        else:
            nominal = [nominal_frequencies(plan, name) for name in self.values]
            self._cells = np.asarray(reduce(np.multiply.outer, nominal)).ravel()

    @cached_property
    def _inverse(self) -> Floats:
        """D^-1/2 (C D^-1/2)^+, one row per report and one column per cell."""
        return least_squares_inverse(self._channel, self._cells @ self._channel)

    def marginal_matrix(self, *names: str) -> Floats:
        """Return B, the 0-1 matrix that sums cells of all answers to cells of some attributes."""
        axes = [list(self.values).index(name) for name in names]
        return summing_matrix(tuple(self.values.values()), axes)

    def coefficients(self, *names: str) -> Floats | None:
        """Return A, one row per report and one column per cell of some attributes.

        None if C A = B' has no solution, so that no unbiased estimate exists.
        """
        marginal = self.marginal_matrix(*names).T
        estimator = self._inverse @ marginal
        exact = np.abs(self._channel @ estimator - marginal).max() <= IDENTITY_TOLERANCE
        return np.asarray(estimator) if exact else None

    def unit_variance(self, *names: str) -> float:
        """Return v(f): the variance of one report's estimate, summed, at nominal frequencies.

        Of the frequencies, or of the statistic of an attribute that the plan was designed for.
        """
        return float(self.unit_variances(*names).sum())

    def unit_variances(self, *names: str) -> Floats:
        """Return the parts of `unit_variance`: of each cell, or of each row of the statistic."""
        coefficients, rows = self.coefficients(*names), wanted_rows(self._plan, *names)
        nominal = self.marginal_matrix(*names) @ self._cells
        if coefficients is None:
            return np.full(len(nominal), np.inf)
        if rows is not None:
            coefficients, nominal = coefficients @ rows.T, rows @ nominal
        return np.asarray((self._cells @ self._channel) @ coefficients**2 - nominal**2)

    def entry_noise(self, name: str, *, code: int) -> tuple[float, float]:
        """Return the variance of the estimate of one value, for people without it and with it."""
        coefficients, marginal = self.coefficients(name), self.marginal_matrix(name)
        assert coefficients is not None
        entries, has = coefficients[:, code], marginal[code] > 0
        moments = []
        for group, truth in ((~has, 0.0), (has, 1.0)):
            cells = np.where(group, np.maximum(self._cells, 1e-300), 0.0)
            reports = cells @ self._channel / max(cells.sum(), 1e-300)
            moments.append(float(reports @ entries**2) - truth)
        return moments[0], moments[1]

    def add(self, reports: Sequence[Any]) -> None:
        """Add the reports of some people, one column."""
        groups, outputs = self.counts.shape
        values = reports[0].below(outputs)
        group = (self.records + np.arange(len(values))) % groups
        cells = np.bincount(group * outputs + values, minlength=self.counts.size)
        self.counts += cells.reshape(groups, outputs)
        self.records += len(values)

    @property
    def sizes(self) -> Floats:
        """The number of reports in each group."""
        return np.asarray(self.counts.sum(axis=1))

    def one_hot_sums(self, *names: str) -> Floats:
        """Return the sum over each group of X^, or of X^ Y^'; only where an estimate exists."""
        coefficients = self.coefficients(*names)
        assert coefficients is not None
        shape = [self.values[name] for name in names]
        return np.asarray(self.counts @ coefficients).reshape(-1, *shape)


FormSums = ProductSums | MatrixSums


class PooledSums(NamedTuple):
    """Sums over the reports of each form.

    Parameters
    ----------
    plan
        The plan.
    forms
        The sums of each form with informative reports, by its index.
    records
        The number of people who reported, over all forms.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import seepage as sp
    >>> from seepage.plan import make_plan
    >>> domain = sp.Domain([sp.Attribute("a", ("0", "1")), sp.Attribute("b", ("0", "1"))])
    >>> pairs = sp.PairCounts(domain, [[2, 2], [2, 2]], [2, 0, 0, 2])
    >>> plan = make_plan(pairs, 30.0, limit=60.0, guarantee="worst", totals=[60.0, 60.0])
    >>> reports = plan.perturb(pa.table({"a": [0, 1] * 50, "b": [0, 1] * 50}))
    >>> sums = pool_reports(plan, reports).forms[0]
    >>> sums.one_hot_sums("a", "b").sum(axis=0).round().astype(int).tolist()
    [[50, 0], [0, 50]]
    """

    plan: Plan
    forms: Mapping[int, FormSums]
    records: int


def pool_reports(plan: Plan, reports: Any, *, tallies: bool = False) -> PooledSums:
    """Return the sums over the reports of all forms, in one pass.

    Parameters
    ----------
    plan, reports
        The plan, and its reports.
    tallies
        Whether sums of single attributes alone are needed, in little memory; else of all pairs.

    Notes
    -----
    With K values in all, pairs take K^2 multiplications per report (K^2 / 128 operations on words
    for two-level mechanisms) and 8 K^2 bytes for each of 16 to 128 groups, whatever the number of
    reports.
    """
    source, forms = open_reports(plan, reports), dict[int, FormSums]()
    for index in np.flatnonzero(source.people).tolist():
        channel, people = plan.forms[index].channel, int(source.people[index])
        if isinstance(channel, MatrixChannel):
            forms[index] = MatrixSums(plan, channel, 1 if tallies else min(MAX_GROUPS, people))
        elif informative_mechanisms(plan, index):
            forms[index] = ProductSums(plan, index, None if tallies else people)
    if not (forms or tallies):
        raise InputError("reports at epsilon 0 carry no information")
    for index, batch, _ in source.by_form({index: forms[index].columns for index in forms}):
        forms[index].add(batch)
    return PooledSums(plan, forms, source.records)


def _group_count(width: int, records: int) -> int:
    groups = min(MAX_GROUPS, max(MIN_GROUPS, TARGET_CELLS // width**2), records)
    if groups * width**2 > MAX_CELLS:
        raise InputError(
            f"the attributes have {width - 1:,} values in all, too many for all their pairs at "
            "once; choose fewer attributes"
        )
    return groups


def _contributions(mechanisms: Iterable[Mechanism], reports: Sequence[Reports]) -> NDArray[Any]:
    """Return the contributions of all attributes and a final column of 1, one row per report."""
    parts = [m.contributions(column) for m, column in zip(mechanisms, reports, strict=True)]
    return np.concatenate([*parts, np.ones((len(reports[0]), 1), dtype=np.bool_)], axis=1)


class _BitSums:
    """Sums of products of binary contributions: the number of reports that have both.

    A word holds one contribution of 64 reports of one group, so that an AND and a population count
    compute 64 products: 0.1 ns each, without the threads of a BLAS.
    """

    def __init__(self, width: int, groups: int) -> None:
        self.cycle = 64 * groups
        self._groups = groups
        self._counts = np.zeros((width, width, groups), dtype=np.int64)

    def add(self, matrix: Booleans) -> None:
        """Add reports, cyclically over the groups."""
        padded = _pad_to_cycle(matrix, self.cycle)
        for cycle in padded.reshape(-1, 64, self._groups, matrix.shape[1]):
            octets = np.packbits(cycle, axis=0).transpose(2, 1, 0)
            words = np.ascontiguousarray(octets).view(np.uint64)[:, :, 0]
            for index, word in enumerate(words):
                together = words[: index + 1] & word
                self._counts[index, : index + 1] += np.bitwise_count(together)

    def by_group(self) -> Floats:
        """Return one symmetric matrix per group."""
        lower = np.moveaxis(self._counts, 2, 0).astype(np.float64)
        return np.asarray(lower + np.tril(lower, -1).transpose(0, 2, 1))


class _VectorSums:
    """Sums of products of real contributions, by matrix multiplication."""

    def __init__(self, width: int, groups: int) -> None:
        self.cycle = groups
        self._sums = np.zeros((groups, width, width))

    def add(self, matrix: Floats) -> None:
        """Add reports, cyclically over the groups."""
        cycles = _pad_to_cycle(matrix, self.cycle).reshape(-1, self.cycle, matrix.shape[1])
        self._sums += np.matmul(cycles.transpose(1, 2, 0), cycles.transpose(1, 0, 2))

    def by_group(self) -> Floats:
        """Return one symmetric matrix per group."""
        return self._sums


def _pad_to_cycle(matrix: NDArray[Any], cycle: int) -> NDArray[Any]:
    """Return a matrix padded by rows of zeros to a multiple of the cycle.

    A cycle has the same number of rows of each group, and neighbours are in different groups: a
    sorted or drifting table does not make groups differ.
    """
    missing = -len(matrix) % cycle
    return np.concatenate([matrix, np.zeros((missing, matrix.shape[1]), dtype=matrix.dtype)])
