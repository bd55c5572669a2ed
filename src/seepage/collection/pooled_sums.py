"""Sums over the reports of each form, behind joint estimates and their precision.

Given a record, the reports of two attributes are independent, and each gives an unbiased one-hot
vector X^ of its value: (c - b)/a of what it contributes to the mechanism's tally.  So the mean of
X^_u Y^_v is an unbiased estimate of the joint frequency F[u, v]: for pure mechanisms this inverts
the Kronecker product of the two channels from value to supported values, two parameters each.  Of
a matrix form, whose report is about all answers, the counts of each report are all that is needed.

The sums are added up in one pass and kept for some groups of reports, so that the spread between
groups gives the precision of whatever is computed from them.  Forms have different people:
estimates are combined by inverse variance at nominal frequencies [`form_estimates`]; where the
spread between groups gives the precision, the groups of all forms that ask for a pair stand side
by side, each weighted alike.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Booleans, Floats
from seepage.collection.form_estimates import (
    FormPart,
    MatrixEstimator,
    combine,
    joint_part,
    marginal_part,
)
from seepage.collection.report_source import open_reports
from seepage.errors import InputError
from seepage.mechanisms import Estimate, Mechanism
from seepage.mechanisms.reports import Reports
from seepage.plan.form import REPORT, MatrixChannel
from seepage.plan.plan import Plan

MAX_GROUPS = 128
MIN_GROUPS = 16
CELLS = 1 << 24
"""Sums that are kept in all groups together, if that leaves at least 16 groups: 128 MB."""

MAX_CELLS = 1 << 28
"""Sums that are kept at most: 2 GB."""

ENTRIES = 1 << 23
"""Contributions that are multiplied at once."""

Terms = tuple[Floats, Floats, Floats]
"""Sums of X^ Y^' and of X^ by group, and the number of reports in each group."""


class ProductSums:
    """Sums over the reports of a product form of every product of two contributions, by group.

    For each group the sum over its reports of c c', where c holds the contributions of all
    attributes one after the other, and a final 1.

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
        pure = all(made.is_two_level for made in mechanisms.values())
        self._adder = (_BitSums if pure else _VectorSums)(width, _group_count(width, records))
        self._rows = max(1, ENTRIES // (width * self._adder.turn)) * self._adder.turn
        ends = np.cumsum([mechanism.k for mechanism in mechanisms.values()])
        self._slices = {
            name: slice(int(end) - mechanism.k, int(end))
            for (name, mechanism), end in zip(mechanisms.items(), ends, strict=True)
        }

    @property
    def columns(self) -> list[str]:
        """The reports that are added up."""
        return list(self.mechanisms)

    def add(self, reports: Sequence[Reports]) -> None:
        """Add the reports of some people, one column for each attribute."""
        for begin in range(0, len(reports[0]), self._rows):
            part = [column[begin : begin + self._rows] for column in reports]
            self._adder.add(_contributions(self.mechanisms.values(), part))

    @cached_property
    def _sums(self) -> Floats:
        found = self._adder.by_group()
        del self._adder  # as large as what was made of it
        return found

    @cached_property
    def sizes(self) -> Floats:
        """The number of reports in each group."""
        return self._sums[:, -1, -1]

    def marginal(self, name: str) -> Floats:
        """Return the sum over each group of the unbiased one-hot vectors, shape (groups, k)."""
        scale, shift = self.mechanisms[name].one_hot_map
        own = self._sums[:, self._slices[name], -1]
        return np.asarray((own - shift * self.sizes[:, None]) / scale)

    def joint(self, first: str, second: str) -> Floats:
        """Return the sum over each group of X^ Y^', shape (groups, k of first, k of second)."""
        (scale, shift), (other_scale, other_shift) = (
            self.mechanisms[name].one_hot_map for name in (first, second)
        )
        rows, columns = self._slices[first], self._slices[second]
        products = self._sums[:, rows, columns] - other_shift * self._sums[:, rows, -1:]
        ones = self._sums[:, -1:, columns] - other_shift * self.sizes[:, None, None]
        return np.asarray((products - shift * ones) / (scale * other_scale))

    def part(self, *names: str) -> FormPart | None:
        """Return what the form says about one attribute or two; None where it says nothing."""
        if not set(names) <= set(self.mechanisms):
            return None
        made = [self.mechanisms[name] for name in names]
        means = [self.marginal(name).sum(axis=0) / self.records for name in names]
        if len(names) == 1:
            return marginal_part(self._plan, names[0], made[0], means[0], self.records)
        joint = self.joint(*names).sum(axis=0) / self.records
        return joint_part(self._plan, names, made, joint, means, self.records)


class MatrixSums:
    """How often each report of a matrix form occurs, by groups of reports.

    Parameters
    ----------
    estimator
        Turns counts into estimates.
    groups
        The number of groups.
    """

    columns = (REPORT,)

    def __init__(self, estimator: MatrixEstimator, groups: int = 1) -> None:
        self.estimator, self.records = estimator, 0
        self.counts = np.zeros((groups, estimator.outputs))

    def add(self, reports: Sequence[Any]) -> None:
        """Add the reports of some people, one column."""
        values = reports[0].below(self.estimator.outputs)
        group = (self.records + np.arange(len(values))) % len(self.counts)
        cells = np.bincount(group * self.estimator.outputs + values, minlength=self.counts.size)
        self.counts += cells.reshape(self.counts.shape)
        self.records += len(values)

    @property
    def sizes(self) -> Floats:
        """The number of reports in each group."""
        return np.asarray(self.counts.sum(axis=1))

    def marginal(self, name: str) -> Floats:
        """Return the sum over each group of the unbiased one-hot vectors, shape (groups, k)."""
        return np.asarray(self.counts @ self._told(name))

    def joint(self, first: str, second: str) -> Floats:
        """Return the same of both attributes, shape (groups, k of first, k of second)."""
        shape = [self.estimator.size(name) for name in (first, second)]
        return np.asarray(self.counts @ self._told(first, second)).reshape(-1, *shape)

    def _told(self, *names: str) -> Floats:
        found = self.estimator.coefficients(*names)
        if found is None:
            raise InputError(f"the reports do not tell {' and '.join(map(repr, names))}")
        return found

    def part(self, *names: str) -> FormPart | None:
        """Return what the form says about attributes; None where it says nothing."""
        asked = set(names) <= set(self.estimator.names)
        return self.estimator.part(names, self.counts.sum(axis=0)) if asked else None


FormSums = ProductSums | MatrixSums


class PooledSums:
    """Sums over the reports of each form.

    Parameters
    ----------
    plan
        The plan.
    forms
        The sums of each form that people have and whose reports tell anything, by its index.
    records
        The number of all people who reported.

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
    >>> sums.joint("a", "b").sum(axis=0).round().astype(int).tolist()
    [[50, 0], [0, 50]]
    """

    def __init__(self, plan: Plan, forms: Mapping[int, FormSums], records: int) -> None:
        self._plan = plan
        self.forms = forms
        self.records = records

    @property
    def told(self) -> list[str]:
        """The attributes that some reports tell, in the order of the domain."""
        return [name for name in self._plan.domain.names if self.parts(name)]

    def marginal(self, name: str) -> Estimate:
        """Return the estimated frequencies of an attribute."""
        return combine(self.parts(name), self.records)

    def parts(self, *names: str) -> list[FormPart]:
        """Return what each form says about one attribute, or about two together."""
        return [part for _, part in self._telling(*names)]

    def _telling(self, *names: str) -> list[tuple[FormSums, FormPart]]:
        found = [(sums, sums.part(*names)) for sums in self.forms.values()]
        return [(sums, part) for sums, part in found if part is not None]

    def terms(self, target: str, source: str) -> Terms:
        """Return the terms of two attributes: the groups of all forms, each weighted by 1/v(f)."""
        both = self._telling(target, source)
        least = min(part.spread for _, part in both)
        weighted = []
        for sums, part in both:
            weight = least / part.spread if part.spread else 1.0
            terms = sums.joint(target, source), sums.marginal(target), sums.sizes
            weighted.append([weight * term for term in terms])
        joint, marginal, sizes = (np.concatenate(terms) for terms in zip(*weighted, strict=True))
        return joint, marginal, sizes


def pool_reports(
    plan: Plan,
    reports: Any,
    indices: Iterable[int] | None = None,
    names: Sequence[str] | None = None,
) -> PooledSums:
    """Return the sums over the reports of some forms, from one pass over them.

    Parameters
    ----------
    plan, reports
        The plan and its reports.
    indices
        The indices of the forms; by default all.
    names
        The attributes; by default all, and forms whose reports tell nothing are left out.

    Notes
    -----
    With K values in all, K^2 multiplications per report (K^2 / 128 operations on words for pure
    mechanisms) and 8 K^2 bytes for each of 16 to 128 groups, whatever the number of reports.
    """
    source = open_reports(plan, reports)
    chosen = range(len(plan.forms)) if indices is None else indices
    answered = [index for index in chosen if source.people[index]]
    if not answered:
        raise InputError("there is no estimate without reports, got none")
    telling = [index for index in answered if _tells(plan, index, names)]
    if not telling and names is None:
        raise InputError("reports at epsilon 0 carry no information, so nothing is estimated")
    sums = {
        index: _sums_of(plan, index, names, int(source.people[index]))
        for index in telling or answered
    }
    for index, found in source.by_form({index: sums[index].columns for index in sums}):
        sums[index].add(found)
    return PooledSums(plan, sums, source.records)


def _tells(plan: Plan, index: int, names: Sequence[str] | None) -> bool:
    """Return whether the reports of a form tell all of these attributes, or any one."""
    made = plan.channels[index]
    if not plan.forms[index].is_product:
        return True
    if names is None:
        return any(mechanism.informative for mechanism in made.values())
    return all(made[name].informative for name in names)


def _sums_of(plan: Plan, index: int, names: Sequence[str] | None, records: int) -> FormSums:
    """Return sums to which reports of a form can be added."""
    channel, made = plan.forms[index].channel, plan.channels[index]
    if isinstance(channel, MatrixChannel):
        return MatrixSums(MatrixEstimator(plan, channel), min(MAX_GROUPS, records))
    if names is None:
        told = [name for name in plan.domain.names if name in made and made[name].informative]
        return ProductSums(plan, {name: made[name] for name in told}, records)
    for name in names:
        if not made[name].informative:
            epsilon = made[name].epsilon
            raise InputError(f"reports of {name!r} at epsilon {epsilon:g} tell nothing")
    return ProductSums(plan, {name: made[name] for name in names}, records)


def _group_count(width: int, records: int) -> int:
    groups = min(MAX_GROUPS, max(MIN_GROUPS, CELLS // width**2), records)
    if groups * width**2 > MAX_CELLS:
        raise InputError(
            f"the attributes have {width - 1:,} values in all, too many for all their pairs at "
            "once; choose fewer attributes"
        )
    return groups


def _contributions(mechanisms: Iterable[Mechanism], reports: Sequence[Reports]) -> NDArray[Any]:
    """Return the contributions of all attributes and a final 1, one row per report."""
    parts = [m.contributions(column) for m, column in zip(mechanisms, reports, strict=True)]
    return np.concatenate([*parts, np.ones((len(reports[0]), 1), dtype=np.bool_)], axis=1)


class _BitSums:
    """Sums of products of zeros and ones: how many reports have both.

    A word holds one contribution of 64 reports of one group, so that an AND and a count of bits
    stand for 64 products: a tenth of a nanosecond each, without the threads of a BLAS.
    """

    def __init__(self, width: int, groups: int) -> None:
        self.turn = 64 * groups
        self._groups = groups
        self._counts = np.zeros((width, width, groups), dtype=np.int64)

    def add(self, matrix: Booleans) -> None:
        """Add reports, in turns of 64 for each group."""
        for turn in _turns(matrix, self.turn).reshape(-1, 64, self._groups, matrix.shape[1]):
            octets = np.packbits(turn, axis=0).transpose(2, 1, 0)
            words = np.ascontiguousarray(octets).view(np.uint64)[:, :, 0]
            for index, word in enumerate(words):
                together = words[: index + 1] & word
                self._counts[index, : index + 1] += np.bitwise_count(together)

    def by_group(self) -> Floats:
        """Return one symmetric matrix per group."""
        lower = np.moveaxis(self._counts, 2, 0).astype(np.float64)
        return np.asarray(lower + np.tril(lower, -1).transpose(0, 2, 1))


class _VectorSums:
    """Sums of products of any numbers."""

    def __init__(self, width: int, groups: int) -> None:
        self.turn = groups
        self._sums = np.zeros((groups, width, width))

    def add(self, matrix: Floats) -> None:
        """Add reports, one for each group in turn."""
        turns = _turns(matrix, self.turn).reshape(-1, self.turn, matrix.shape[1])
        self._sums += np.matmul(turns.transpose(1, 2, 0), turns.transpose(1, 0, 2))

    def by_group(self) -> Floats:
        """Return one symmetric matrix per group."""
        return self._sums


def _turns(matrix: NDArray[Any], turn: int) -> NDArray[Any]:
    """Return a matrix padded by rows of zeros to a multiple of the turn.

    Neighbours are in different groups, so that a table that is sorted, or drifts, does not make
    groups differ.
    """
    lacking = -len(matrix) % turn
    return np.concatenate([matrix, np.zeros((lacking, matrix.shape[1]), dtype=matrix.dtype)])
