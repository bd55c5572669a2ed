"""The sums over reports behind joint estimates, and their precision.

Given a record, the reports of two attributes are independent, and each gives an unbiased one-hot
vector X^ of its value: (c - b)/a of what it contributes to the mechanism's tally.  So the mean of
X^_u Y^_v is an unbiased estimate of the joint frequency F[u, v]: for pure mechanisms this inverts
the Kronecker product of the two channels from value to supported values, two parameters each.

`ReportSums` holds all that such estimates need, added up in one pass.  The sums are kept for some
groups of reports, so that the spread between groups gives the precision of whatever is computed
from them.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Booleans, Floats
from seepage.collection.report_source import open_reports
from seepage.errors import InputError
from seepage.mechanisms import Mechanism
from seepage.mechanisms.reports import Reports
from seepage.plan.plan import Plan

MOST_GROUPS = 128
LEAST_GROUPS = 16
CELLS = 1 << 24
"""Sums that are kept in all groups together, if that leaves at least 16 groups: 128 MB."""

MOST_CELLS = 1 << 28
"""Sums that are kept at most: 2 GB."""

ENTRIES = 1 << 23
"""Contributions that are multiplied at once."""


class ReportSums:
    """Sums over groups of reports of every product of two contributions.

    Parameters
    ----------
    mechanisms
        The mechanism of each attribute.
    sums
        One matrix per group: the sum over its reports of c c', where c holds the contributions of
        all attributes one after the other, and a final 1.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import seepage as sp
    >>> from seepage.plan import make_plan
    >>> domain = sp.Domain([sp.Attribute("a", ("0", "1")), sp.Attribute("b", ("0", "1"))])
    >>> pairs = sp.PairCounts(domain, [[2, 2], [2, 2]], [2, 0, 0, 2])
    >>> plan = make_plan(pairs, 30.0, limit=60.0, guarantee="worst", totals=[60.0, 60.0])
    >>> reports = plan.perturb(pa.table({"a": [0, 1] * 50, "b": [0, 1] * 50}))
    >>> sum_reports(plan, reports).joint("a", "b").sum(axis=0).round().astype(int).tolist()
    [[50, 0], [0, 50]]
    """

    def __init__(self, mechanisms: Mapping[str, Mechanism], sums: Floats) -> None:
        self.mechanisms = dict(mechanisms)
        self._sums = sums
        ends = np.cumsum([mechanism.k for mechanism in self.mechanisms.values()])
        self._slices = {
            name: slice(int(end) - mechanism.k, int(end))
            for (name, mechanism), end in zip(self.mechanisms.items(), ends, strict=True)
        }

    @cached_property
    def sizes(self) -> Floats:
        """The number of reports in each group."""
        return self._sums[:, -1, -1]

    @property
    def records(self) -> int:
        """The number of reports."""
        return round(float(self.sizes.sum()))

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

    def terms(self, target: str, source: str) -> tuple[Floats, Floats, Floats]:
        """Return the sums of the two and of the target by group, and the groups' sizes."""
        return self.joint(target, source), self.marginal(target), self.sizes


def sum_reports(
    plan: Plan, reports: Any, names: Iterable[str] | None = None, form: int = 0
) -> ReportSums:
    """Return the sums of the reports of some attributes in one form, from one pass over them.

    Parameters
    ----------
    plan
        The plan that they were collected with.
    reports
        An Arrow table or the path of Parquet files.
    names
        The attributes; by default all whose reports tell anything.
    form
        The place of the form, a product.

    Notes
    -----
    With K values in all, K^2 multiplications per report (K^2 / 128 operations on words for pure
    mechanisms) and 8 K^2 bytes for each of 16 to 128 groups, whatever the number of reports.
    """
    source = open_reports(plan, reports)
    mechanisms = _chosen(plan, names, form)
    records = int(source.people[form])
    if not records:
        raise InputError("there is no estimate without reports, got none")
    width = sum(mechanism.k for mechanism in mechanisms.values()) + 1
    groups = _group_count(width, records)
    pure = all(made.is_two_level for made in mechanisms.values())
    sums = (_BitSums if pure else _VectorSums)(width, groups)
    rows = max(1, ENTRIES // (width * sums.turn)) * sums.turn
    for batch in source.batches(list(mechanisms), form):
        for begin in range(0, len(batch[0]), rows):
            part = [column[begin : begin + rows] for column in batch]
            sums.add(_contributions(mechanisms.values(), part))
    return ReportSums(mechanisms, sums.by_group())


def _chosen(plan: Plan, names: Iterable[str] | None, form: int) -> dict[str, Mechanism]:
    asked = plan.channels[form]
    if names is None:
        chosen = {name: asked[name] for name in plan.domain.names if name in asked}
        chosen = {name: made for name, made in chosen.items() if made.informative}
        if not chosen:
            raise InputError("reports at epsilon 0 carry no information, so nothing is estimated")
        return chosen
    domain = plan.domain.select(asked)
    chosen = {domain[name].name: asked[domain[name].name] for name in names}
    for name, made in chosen.items():
        if not made.informative:
            raise InputError(f"reports of {name!r} at epsilon {made.epsilon:g} tell nothing")
    return chosen


def _group_count(width: int, records: int) -> int:
    groups = min(MOST_GROUPS, max(LEAST_GROUPS, CELLS // width**2), records)
    if groups * width**2 > MOST_CELLS:
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
            for place, word in enumerate(words):
                together = words[: place + 1] & word
                self._counts[place, : place + 1] += np.bitwise_count(together)

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
