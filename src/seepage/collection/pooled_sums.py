"""First and second moments of the reports of each form, by groups of reports.

Given a record, the reports of two attributes are independent, and each gives an unbiased one-hot
vector X^ of its value: (c - b)/a for a contribution c to the mechanism's tally.  So the mean of
X^_u Y^_v is an unbiased estimate of the joint frequency F[u, v]: for two-level mechanisms this
inverts the Kronecker product of the two channels from value to supported values, two parameters
each.  For a matrix form, with one report of all answers, the counts of each report are sufficient.

One pass adds up the sums of up to 128 groups of reports; the variance between groups gives the
standard error of any statistic of the sums.  Forms have different people: estimates are combined by
inverse variance at nominal frequencies [`frequencies`]; for standard errors, the groups of all
forms that ask for a pair are concatenated, each weighted by 1/v(f).
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Booleans, Floats
from seepage.collection.frequencies import (
    FormEstimate,
    MatrixSums,
    combine,
    informative_mechanisms,
    marginal_estimate,
    nominal_frequencies,
)
from seepage.collection.report_source import open_reports
from seepage.errors import InputError
from seepage.mechanisms import Estimate, Mechanism
from seepage.mechanisms.reports import Reports
from seepage.plan.form import MatrixChannel
from seepage.plan.plan import Plan

MAX_GROUPS = 128
MIN_GROUPS = 16
TARGET_CELLS = 1 << 24
"""Sums over all groups (128 MB): the number of groups is reduced to this, but not below 16."""

MAX_CELLS = 1 << 28
"""Maximum number of sums over all groups: 2 GB."""

CHUNK_ENTRIES = 1 << 23
"""Contributions in a chunk of reports that is added at once."""

Terms = tuple[Floats, Floats, Floats]
"""Sums of X^ Y^' and of X^ by group, and the number of reports in each group."""


class ProductSums:
    """Sums of c c' over the reports of a product form, by group.

    c is the concatenation of the contributions of all attributes, and a final 1.

    Parameters
    ----------
    plan
        The plan.
    mechanisms
        The mechanism of each attribute.
    records
        The number of reports that will be added.
    """

    def __init__(self, plan: Plan, mechanisms: Mapping[str, Mechanism], records: int) -> None:
        self._plan, self.mechanisms, self.records = plan, mechanisms, records
        width = sum(mechanism.k for mechanism in mechanisms.values()) + 1
        two_level = all(mechanism.is_two_level for mechanism in mechanisms.values())
        self._adder = (_BitSums if two_level else _VectorSums)(width, _group_count(width, records))
        self._rows = max(1, CHUNK_ENTRIES // (width * self._adder.cycle)) * self._adder.cycle
        ends = np.cumsum([mechanism.k for mechanism in mechanisms.values()])
        self._slices = {
            name: slice(int(end) - mechanism.k, int(end))
            for (name, mechanism), end in zip(mechanisms.items(), ends, strict=True)
        }

    @property
    def columns(self) -> list[str]:
        """The names of the reports that `add` takes."""
        return list(self.mechanisms)

    def add(self, reports: Sequence[Reports]) -> None:
        """Add the reports of some people, one column for each attribute."""
        for start in range(0, len(reports[0]), self._rows):
            part = [column[start : start + self._rows] for column in reports]
            self._adder.add(_contributions(self.mechanisms.values(), part))

    @cached_property
    def _sums(self) -> Floats:
        sums = self._adder.by_group()
        del self._adder  # as large as the sums themselves
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

    def estimate(self, *names: str) -> FormEstimate | None:
        """Return the form's estimate of one attribute, or of two jointly; None if not asked."""
        if not set(names) <= set(self.mechanisms):
            return None
        mechanisms = [self.mechanisms[name] for name in names]
        means = [self.one_hot_sums(name).sum(axis=0) / self.records for name in names]
        if len(names) == 1:
            return marginal_estimate(self._plan, names[0], mechanisms[0], means[0], self.records)
        joint = self.one_hot_sums(*names).sum(axis=0) / self.records
        return _joint_estimate(self._plan, names, mechanisms, joint, means, self.records)


def _joint_estimate(
    plan: Plan,
    names: Sequence[str],
    mechanisms: Sequence[Mechanism],
    joint: Floats,
    marginals: Sequence[Floats],
    records: int,
) -> FormEstimate:
    """Return a form's estimate of the joint frequencies of two attributes, in row-major order.

    Notes
    -----
    The estimates are means of X^_u Y^_v over all reports.  Given the people, the variance of a
    cell is (M[u, v] - F[u, v]) / n, with M the mean of the second moment s(u) t(v): s is
    1 + Var(X^_u given u) for people with the value u and Var(X^_u given another) for others, from
    the mechanism's own closed form; t likewise.
    """
    noise = _joint_variances(mechanisms, joint, marginals) / records
    nominal = [nominal_frequencies(plan, name) for name in names]
    product = np.outer(*nominal)
    noise_alone = _joint_variances(mechanisms, product, nominal).sum()
    unit_variance = float(noise_alone + 1.0 - (product**2).sum())
    return FormEstimate(joint.ravel(), noise.ravel(), records, unit_variance)


def _joint_variances(
    mechanisms: Sequence[Mechanism], joint: Floats, marginals: Sequence[Floats]
) -> Floats:
    """Return the variance of X^_u Y^_v of one report, for given joint and marginal frequencies."""
    rows, columns = (np.clip(marginal, 0.0, 1.0) for marginal in marginals)
    cells = np.clip(joint, 0.0, 1.0)
    row = np.maximum(rows[:, None], cells)
    column = np.maximum(columns[None, :], cells)
    neither = np.clip(1.0 - row - column + cells, 0.0, 1.0)
    (s_own, s_other), (t_own, t_other) = (_second_moments(mechanism) for mechanism in mechanisms)
    second_moment = (
        cells * s_own * t_own
        + (row - cells) * s_own * t_other
        + (column - cells) * s_other * t_own
        + neither * s_other * t_other
    )
    return np.asarray(np.maximum(second_moment - cells, 0.0))


def _second_moments(mechanism: Mechanism) -> tuple[float, float]:
    """Return E[X^_u^2] for people with the value u, and for people with another value."""
    own, other = (float(np.mean(mechanism.variance(1, share))) for share in (1.0, 0.0))
    return 1.0 + own, other


FormSums = ProductSums | MatrixSums


class PooledSums:
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

    def __init__(self, plan: Plan, forms: Mapping[int, FormSums], records: int) -> None:
        self._plan = plan
        self.forms = forms
        self.records = records

    @property
    def names(self) -> list[str]:
        """The attributes that some form estimates, in the order of the domain."""
        return [name for name in self._plan.domain.names if self.estimates(name)]

    def marginal(self, name: str) -> Estimate:
        """Return the estimated frequencies of an attribute, combined over forms."""
        return combine(self.estimates(name), self.records)

    def estimates(self, *names: str) -> list[FormEstimate]:
        """Return the estimate of each form, of one attribute or of two jointly."""
        return [estimate for _, estimate in self._with_sums(*names)]

    def _with_sums(self, *names: str) -> list[tuple[FormSums, FormEstimate]]:
        estimates = [(sums, sums.estimate(*names)) for sums in self.forms.values()]
        return [(sums, estimate) for sums, estimate in estimates if estimate is not None]

    def terms(self, target: str, source: str) -> Terms:
        """Return the terms of two attributes: the groups of all forms, each weighted by 1/v(f)."""
        both = self._with_sums(target, source)
        minimum = min(estimate.unit_variance for _, estimate in both)
        weighted = []
        for sums, estimate in both:
            weight = minimum / estimate.unit_variance if estimate.unit_variance else 1.0
            terms = sums.one_hot_sums(target, source), sums.one_hot_sums(target), sums.sizes
            weighted.append([weight * term for term in terms])
        joint, marginal, sizes = (np.concatenate(terms) for terms in zip(*weighted, strict=True))
        return joint, marginal, sizes


def pool_reports(
    plan: Plan,
    reports: Any,
    indices: Iterable[int] | None = None,
    names: Sequence[str] | None = None,
) -> PooledSums:
    """Return the sums over the reports of some forms, in one pass.

    Parameters
    ----------
    plan, reports
        The plan and its reports.
    indices
        The indices of the forms; by default all.
    names
        The attributes; by default all, and forms without informative reports are left out.

    Notes
    -----
    With K values in all, K^2 multiplications per report (K^2 / 128 operations on words for
    two-level mechanisms) and 8 K^2 bytes for each of 16 to 128 groups, whatever the number of
    reports.
    """
    source = open_reports(plan, reports)
    chosen = range(len(plan.forms)) if indices is None else indices
    answered = [index for index in chosen if source.people[index]]
    if not answered:
        raise InputError("reports must not be empty, got none")
    sums = dict[int, FormSums]()
    for index in answered:
        channel, records = plan.forms[index].channel, int(source.people[index])
        mechanisms = informative_mechanisms(plan, index)
        if isinstance(channel, MatrixChannel):
            sums[index] = MatrixSums(plan, channel, min(MAX_GROUPS, records))
        elif mechanisms and all(name in mechanisms for name in names or ()):
            wanted = list(mechanisms) if names is None else names
            sums[index] = ProductSums(plan, {name: mechanisms[name] for name in wanted}, records)
    if not sums:
        silent = [
            name for name in names or () if not plan.form_mechanisms[answered[0]][name].informative
        ]
        of_name = f" of {silent[0]!r}" if silent else ""
        raise InputError(f"reports{of_name} at epsilon 0 carry no information")
    for index, batch in source.by_form({index: sums[index].columns for index in sums}):
        sums[index].add(batch)
    return PooledSums(plan, sums, source.records)


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
