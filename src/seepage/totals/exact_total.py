"""`exact` and `merged`: certified totals from the joint table of the records.

`exact` is the supremum over all report tuples of the joint channel; `merged` the bound
for all sources as one attribute, released with the sum of their budgets.

The channel from a target to all reports is the joint table with each source's axis
multiplied by its likelihood columns: a Kronecker product, applied one axis at a time.
Every target needs all axes but its own.  Divide and conquer shares that work: transform
one half of the attributes, then treat each of its report tuples as a table of the other
half, and recurse.  That is log2(n) passes per axis instead of n; below the first level
the tables are processed in blocks that stay in cache.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import NamedTuple

import numpy as np

from seepage._core.arrays import Booleans, Floats
from seepage._core.errors import GuaranteeError
from seepage._core.log_ratios import quotient
from seepage._core.progress import Progress
from seepage._core.rounding import round_up, rounding
from seepage.channel.records import Records
from seepage.mechanisms.likelihood_columns import LikelihoodColumns, MatrixColumns
from seepage.totals.joint_witness import JointWitness, joint_witness

MAX_TARGET_CELLS = 1 << 27
"""Maximum number of cells per target: 1 GB, 27 binary attributes."""


MAX_SPAN = 700.0
"""Maximum of -ln of the smallest likelihood: smaller ones are no normal numbers."""


BLOCK = 1 << 16
"""Cells per block below the first level of the recursion: 0.5 MB."""


MAX_PRODUCT_SIZE = 8
"""Maximum size of a Kronecker product of neighbouring axes: fewer passes over the
cells."""


class _Step(NamedTuple):
    """One level: its sources, the first report tuple of its block, and the batch size
    above it.
    """

    transformed: tuple[int, ...]
    start: int
    batch: int


Path = tuple[_Step, ...]
"""The levels of the recursion from the root, to recover a report tuple from a batch
index."""


def _maximised_source(columns: Sequence[LikelihoodColumns]) -> int | None:
    """Return the source of an exact total whose column is chosen by maximisation, not
    enumerated.

    It is the one with the most columns per value; None if no source has more columns
    than values.
    """
    ratios = [column.count / column.k for column in columns]
    largest = max(range(len(columns)), key=ratios.__getitem__)
    return largest if ratios[largest] > 1 and len(columns) > 1 else None


def exact_size(columns: Sequence[LikelihoodColumns]) -> int:
    """Return the number of cells of the largest table that exact totals enumerate."""
    maximised = _maximised_source(columns)
    counts = [column.count for column in columns]
    if maximised is not None:
        counts[maximised] = columns[maximised].k
    reports = math.prod(counts)
    largest = 0
    for count, column in zip(counts, columns, strict=True):
        largest = max(largest, reports // count * column.k)
    return largest


def check_exact_size(columns: Sequence[LikelihoodColumns], records: int) -> None:
    """Raise a GuaranteeError if `exact` exceeds memory or the range of floats."""
    size = exact_size(columns)
    if size > MAX_TARGET_CELLS:
        shown = f"10^{len(str(size)) - 1}"
        if size < 10**300:
            shown = f"{size:.3g}"
        raise GuaranteeError(
            f"exact totals of these {len(columns)} attributes need {shown} "
            f"combinations of reports, at most {MAX_TARGET_CELLS:.3g} fit; use "
            "'sampled' or 'merged', or choose fewer attributes"
        )
    budgets = sum(column.span for column in columns)
    if budgets + math.log(max(records, 1)) > MAX_SPAN:
        raise GuaranteeError(
            f"exact totals need likelihoods down to e^-{budgets:.0f}, beyond the range "
            "of floats; use 'merged', which takes any epsilon"
        )


def exact_totals(
    data: Records,
    columns: Sequence[LikelihoodColumns],
    progress: Progress | None = None,
) -> tuple[Floats, list[JointWitness | None]]:
    """Return exact totals, ln sup over y, x, x' of p(y given x) / p(y given x'), and y,
    for every attribute.

    Parameters
    ----------
    data
        The joint distribution.
    columns
        The likelihood columns of each attribute.
    progress
        Called with the number of cells done and of all cells.

    Notes
    -----
    The target's own report is independent of the others' given the target, so its
    largest log-ratio between x and x' is added.  Values are rounded up by more than
    their rounding errors, unless the target or all others are constant.  A target value
    that never occurs has no likelihood under the others; the total is at least the own
    report's log-ratio between any two values.

    One source may have far more columns than values (any likely set of 12 values:
    4,094): it is left untransformed, and its best column found for each report tuple of
    the others.

    Cost: O(log2(n)) passes over the cells for each attribute; memory for three tables.
    """
    check_exact_size(columns, data.records)
    search = _Enumeration(data, columns, progress)
    search.run()
    guard = 2 * rounding(data.domain.sizes)
    operations = 3 * max(data.domain.sizes) + 8
    values = np.array([float(ratios.max()) for ratios in search.own])
    varies = [np.count_nonzero(marginal) > 1 for marginal in search.marginals]
    for target, (column, best) in enumerate(zip(columns, search.best, strict=True)):
        own_is_rounded = values[target] > 0 and isinstance(column, MatrixColumns)
        if own_is_rounded or (varies[target] and sum(varies) > 1):
            values[target] = (
                round_up(max(values[target], best.value), operations) + guard
            )
    return values, [search.witness(k) for k in range(len(columns))]


@dataclass
class _Best:
    """The largest log-ratio of a target so far, and the target values and reports that
    attain it.

    A report is the index of its column, or a likely set for the maximised source.
    """

    value: float = 0.0
    pair: tuple[int, int] = (0, 0)
    reports: Mapping[int, int | Booleans] = field(default_factory=dict)


@dataclass
class _Enumeration:
    """Divide-and-conquer enumeration of the report tuples of all targets; see the
    module.
    """

    data: Records
    columns: Sequence[LikelihoodColumns]
    progress: Progress | None
    best: list[_Best] = field(init=False)

    def __post_init__(self) -> None:
        """Prepare the enumeration of report tuples for exact totals."""
        count = len(self.columns)
        self.best = [_Best() for _ in range(count)]
        self.own = [column.max_log_ratios() for column in self.columns]
        self.maximised = _maximised_source(self.columns)
        self.enumerated = tuple(k for k in range(count) if k != self.maximised)
        self.matrices = [self._matrix(source) for source in range(count)]
        self.marginals = [
            self.data.marginal(k).astype(np.float64) for k in range(count)
        ]
        self.done = 0
        self.work = count * exact_size(self.columns)

    def _matrix(self, source: int) -> Floats:
        """Return the columns of a source of an exact total; one constant column where
        it is maximised.
        """
        column = self.columns[source]
        if source == self.maximised:
            return np.ones((column.k, 1))
        return column.matrix()

    def run(self) -> None:
        """Enumerate the report tuples of every target for exact totals."""
        order = list(self.enumerated)
        shape = [self.columns[k].k for k in self.enumerated]
        if self.maximised is None:
            shape.append(1)
        else:
            order.append(self.maximised)
            shape.append(self.columns[self.maximised].k)
        table = self.data.counts(order).astype(np.float64)
        self._recurse(table.reshape(*shape, 1), self.enumerated, ())

    def _recurse(self, table: Floats, members: tuple[int, ...], path: Path) -> None:
        """Halve the members of an exact total's table of shape (members' values...,
        maximised values, batch).
        """
        if len(members) == 1:
            self._evaluate(table, members[0], path)
            return
        half = len(members) // 2
        first = members[:half]
        second = members[half:]
        self._transform_half(table, first, second, path)
        swapped = np.moveaxis(table, tuple(range(half)), range(-2 - half, -2))
        self._transform_half(swapped, second, first, path)

    def _transform_half(
        self,
        table: Floats,
        transformed: tuple[int, ...],
        remaining: tuple[int, ...],
        path: Path,
    ) -> None:
        """Transform the leading members of an exact total's table, and recurse on the
        remaining ones block by block.
        """
        values, batch = table.shape[-2:]
        shape = tuple(self.columns[k].k for k in remaining)
        reports = self._transform(table, transformed).reshape(-1, *shape, values, batch)
        step = max(1, BLOCK // (math.prod(shape) * values * batch))
        for start in range(0, len(reports), step):
            block = np.moveaxis(reports[start : start + step], 0, -2)
            joined = np.ascontiguousarray(block).reshape(*shape, values, -1)
            self._recurse(joined, remaining, (*path, _Step(transformed, start, batch)))

    def _transform(self, table: Floats, sources: tuple[int, ...]) -> Floats:
        """Multiply the leading axes of an exact total's table by the sources' columns;
        shape (report tuples, rest).

        Small axes are combined, as the Kronecker product of their matrices.
        """
        reports = 1
        flat = np.ascontiguousarray(table).reshape(1, -1)
        for matrix in _kronecker_groups([self.matrices[source] for source in sources]):
            product = matrix.T @ flat.reshape(reports, len(matrix), -1)
            reports *= matrix.shape[1]
            flat = product.reshape(reports, -1)
        return flat

    def _evaluate(self, table: Floats, target: int, path: Path) -> None:
        """Maximise an exact total over a batch of report tuples, table of shape (k,
        maximised values, batch).
        """
        if self.maximised is None:
            self._compare(table[:, 0, :], target, path)
        else:
            self._compare(np.ascontiguousarray(table.transpose(0, 2, 1)), target, path)
            if target == self.enumerated[0]:
                values, batch = table.shape[1:]
                reports = self._transform(table, (target,)).reshape(-1, values, batch)
                others = np.moveaxis(reports, 0, -2).reshape(values, -1)
                self._compare(
                    others, self.maximised, (*path, _Step((target,), 0, batch))
                )
        self.done += table.size
        if self.progress is not None:
            self.progress(min(self.done, self.work), self.work)

    @np.errstate(divide="ignore")
    def _compare(self, table: Floats, target: int, path: Path) -> None:
        """Maximise an exact total over ordered pairs of target values.

        The table has the shape (k, batch), or (k, batch, values of the maximised
        source).
        """
        seen = np.flatnonzero(self.marginals[target]).tolist()
        counts = self.marginals[target][seen].reshape(-1, *[1] * (table.ndim - 1))
        likelihoods = table[seen] / counts
        own = self.own[target]
        pairs: Iterable[tuple[int, int]] = permutations(range(len(seen)), 2)
        offset = 0
        if table.ndim == 2 and _is_constant_off_diagonal(own):
            high = likelihoods.max(axis=0)
            low = likelihoods.min(axis=0)
            offset = int(quotient(high, low).argmax())
            likelihoods = likelihoods[:, [offset]]  # the best report of all pairs
            pairs = [(int(likelihoods.argmax()), int(likelihoods.argmin()))]
        for first, second in pairs:
            upper = likelihoods[first]
            lower = likelihoods[second]
            pair = (seen[first], seen[second])
            best_sets = None
            if table.ndim == 2 or self.maximised is None:
                values = np.log(quotient(upper, lower))
            else:
                values, best_sets = self.columns[self.maximised].best(upper, lower)
            index = int(values.argmax())
            value = float(values[index]) + float(own[pair])
            if value <= self.best[target].value or first == second:
                continue
            reports: dict[int, int | Booleans] = {}
            reports.update(self._report_indices(offset + index, path))
            if best_sets is not None and self.maximised is not None:
                reports[self.maximised] = best_sets[index].copy()
            self.best[target] = _Best(value, pair, reports)

    def witness(self, target: int) -> JointWitness | None:
        """Return the report tuple that attains a target's exact total, by value
        names.
        """
        best = self.best[target]
        if best.value <= 0:
            return None
        return joint_witness(
            self.data.domain,
            self.columns,
            target,
            best.pair,
            best.reports,
            value=best.value,
        )

    def _report_indices(self, index: int, path: Path) -> dict[int, int]:
        """Return the column of each transformed source of an exact total: unravel the
        index along the path.
        """
        reports: dict[int, int] = {}
        for step in reversed(path):
            report, index = divmod(index, step.batch)
            report += step.start
            for source in reversed(step.transformed):
                report, reports[source] = divmod(report, self.columns[source].count)
        return reports


def _is_constant_off_diagonal(ratios: Floats) -> bool:
    """Return whether an exact total needs only one pair of values, as all have the same
    log-ratio.
    """
    different = ~np.eye(len(ratios), dtype=np.bool_)
    return bool(np.unique(ratios[different]).size <= 1)


def _kronecker_groups(matrices: list[Floats]) -> Iterator[Floats]:
    """Yield Kronecker products of sources' matrices for exact totals, of size at most
    `MAX_PRODUCT_SIZE`.
    """
    product = matrices[0]
    for matrix in matrices[1:]:
        if max(product.shape) * max(matrix.shape) <= MAX_PRODUCT_SIZE:
            product = np.asarray(np.kron(product, matrix), dtype=np.float64)
        else:
            yield product
            product = matrix
    yield product
