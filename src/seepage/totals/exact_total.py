"""`exact`: the supremum over all report tuples of the joint channel.

The channel from a target to everyone's reports is the joint table with each source's axis
multiplied by its columns: a Kronecker product, applied one axis at a time.  Every target needs
all axes but its own.  Halving the attributes shares that work: transform one half, then treat
each combination of its reports as a table of the other half, and so on.  That is log2(n) passes
an axis in place of n; below the first halves the tables are cut into blocks that stay in cache.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import NamedTuple

import numpy as np

from seepage._numerics import Booleans, Floats, round_up, rounding
from seepage._results import Progress
from seepage.data.records import Records
from seepage.totals.report_columns import MatrixColumns, Reals, ReportColumns, joint_witness
from seepage.totals.result import GuaranteeError, JointWitness

MAX_CELLS = 1 << 27
"""The most (target value, report tuple) combinations of one target: 1 GB, some 27 binary."""

BLOCK = 1 << 16
"""Cells handled at once below the first halves: 0.5 MB."""

GROUP = 8
"""Axes are multiplied together up to this size, three binary ones: fewer passes over the cells."""


class _Step(NamedTuple):
    """One halving: the sources transformed, the first of their report tuples, the batch before."""

    gone: tuple[int, ...]
    begin: int
    batch: int


Trail = tuple[_Step, ...]


class ExactTotals(NamedTuple):
    """The totals of all attributes with the report tuples that attain them."""

    values: Floats
    evidence: list[JointWitness | None]


def _spared(columns: Sequence[ReportColumns]) -> int | None:
    """Return the source whose best column is computed, not enumerated: that with the most.

    None where no source has more columns than values.
    """
    excess = [column.count / column.k for column in columns]
    most = max(range(len(columns)), key=excess.__getitem__)
    return most if excess[most] > 1 and len(columns) > 1 else None


def exact_size(columns: Sequence[ReportColumns]) -> int:
    """Return the number of cells of the largest table that `exact` has to walk."""
    spared = _spared(columns)
    largest = 0
    for target in range(len(columns)):
        sizes = (
            column.k if source in (target, spared) else column.count
            for source, column in enumerate(columns)
        )
        largest = max(largest, math.prod(sizes))
    return largest


def _precision(columns: Sequence[ReportColumns], records: int) -> type[np.floating] | None:
    """Return the number type whose range holds every likelihood, None where there is none."""
    needed = sum(column.span for column in columns) + math.log(max(records, 1)) + 8
    for kind in (np.float64, np.longdouble):
        if needed < -float(np.log(np.finfo(kind).tiny)):
            return kind
    return None


def _obstacle(columns: Sequence[ReportColumns], records: int) -> str | None:
    """Return why `exact` cannot be computed, with the size and the way out; None where it can."""
    size = exact_size(columns)
    if size > MAX_CELLS:
        shown = f"{size:.3g}" if size < 10**300 else f"10^{len(str(size)) - 1}"
        return (
            f"exact totals of these {len(columns)} attributes need {shown} combinations of "
            f"reports, at most {MAX_CELLS:.3g} fit; use 'sampled' or 'merged', or choose fewer "
            "attributes"
        )
    if _precision(columns, records) is None:
        budgets = sum(column.span for column in columns)
        return (
            f"exact totals need likelihoods down to e^-{budgets:.0f}, beyond this machine's "
            "numbers; use 'merged', which takes any epsilon"
        )
    return None


def fits(columns: Sequence[ReportColumns], records: int) -> bool:
    """Return whether `exact` can be computed."""
    return _obstacle(columns, records) is None


def exact_totals(
    data: Records, columns: Sequence[ReportColumns], progress: Progress | None = None
) -> ExactTotals:
    """Return ln sup over y, x, x' of p(y given x) / p(y given x'), for every attribute.

    Parameters
    ----------
    data
        The joint distribution.
    columns
        What each attribute's report can say.
    progress
        Called with the cells walked so far and in all.

    Notes
    -----
    The target's own report is independent of the others' given the target, so its best log-ratio
    between x and x' is added.  Values are rounded up, also where rounding may hide all that the
    others say: only of what is independent of them do they say nothing.  A target value that
    never occurred has no likelihood; the total is at least what the own report says between any
    two values.

    One source may have far more columns than values (any likely set of 12 values: 4,094): it is
    left untransformed, and its best column found for each combination of the others.

    Cost: O(log2(n)) passes over the cells for each attribute; memory for three tables.
    """
    obstacle = _obstacle(columns, data.records)
    if obstacle is not None:
        raise GuaranteeError(obstacle)
    search = _Enumeration(data, columns, progress)
    search.run()
    guard = rounding(data.domain.sizes)
    values = np.array([float(own.max()) for own in search.own])
    for target, (column, best) in enumerate(zip(columns, search.best, strict=True)):
        rounded = best.value > 0 or (values[target] > 0 and isinstance(column, MatrixColumns))
        if rounded or not _independent(data, target):
            values[target] = round_up(max(values[target], best.value), 8) + guard
    return ExactTotals(values, [search.witness(k) for k in range(len(columns))])


def _independent(data: Records, target: int) -> bool:
    """Return whether all values of a target that occur come with the others in the same shares.

    In integers: in lowest terms, the people in each group of the others are as many.
    """
    others = data.groups(k for k in range(len(data.domain)) if k != target)
    column = data.column(target)
    order = np.lexsort((others, column))
    borders = np.flatnonzero(np.diff(column[order])) + 1
    groups, people = (np.split(part[order], borders) for part in (others, data.weights))
    shares = [part // np.gcd.reduce(part) for part in people]
    return all(
        np.array_equal(groups[0], group) and np.array_equal(shares[0], share)
        for group, share in zip(groups, shares, strict=True)
    )


@dataclass
class _Best:
    """The largest log-ratio of a target so far, and where it was met."""

    value: float = 0.0
    pair: tuple[int, int] = (0, 0)
    row: int = 0
    trail: Trail = ()
    spared: tuple[Reals, Reals] | None = None


@dataclass
class _Enumeration:
    data: Records
    columns: Sequence[ReportColumns]
    progress: Progress | None
    best: list[_Best] = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.columns)
        self.best = [_Best() for _ in range(count)]
        self.own = [column.own() for column in self.columns]
        self.dtype = _precision(self.columns, self.data.records) or np.float64
        self.spared = _spared(self.columns)
        self.matrices = [
            column.matrix(self.dtype) if source != self.spared else np.ones((column.k, 1))
            for source, column in enumerate(self.columns)
        ]
        self.marginals = [self.data.marginal(k).astype(self.dtype) for k in range(count)]
        self.done, self.work = 0, count * exact_size(self.columns)

    def run(self) -> None:
        """Visit every report tuple of every target."""
        members = tuple(k for k in range(len(self.columns)) if k != self.spared)
        order = members if self.spared is None else (*members, self.spared)
        table = self.data.counts(order).astype(self.dtype)
        extra = 1 if self.spared is None else self.columns[self.spared].k
        self._visit(table.reshape(*(self.columns[k].k for k in members), extra, 1), members, ())

    def _visit(self, table: Reals, members: tuple[int, ...], trail: Trail) -> None:
        """Halve the members of a table of shape (members' values..., spared values, batch)."""
        if len(members) == 1:
            self._leaf(table, members[0], trail)
            return
        half = len(members) // 2
        first, second = members[:half], members[half:]
        self._pass(table, first, second, trail)
        ahead = tuple(range(half))
        self._pass(np.moveaxis(table, ahead, range(-2 - half, -2)), second, first, trail)

    def _pass(
        self, table: Reals, gone: tuple[int, ...], kept: tuple[int, ...], trail: Trail
    ) -> None:
        """Transform the leading members, and visit a table of the others block by block."""
        spared, batch = table.shape[-2:]
        shape = tuple(self.columns[k].k for k in kept)
        reports = self._transform(table, gone).reshape(-1, *shape, spared, batch)
        step = max(1, BLOCK // (math.prod(shape) * spared * batch))
        for begin in range(0, len(reports), step):
            block = np.moveaxis(reports[begin : begin + step], 0, -2)
            joined = np.ascontiguousarray(block).reshape(*shape, spared, -1)
            self._visit(joined, kept, (*trail, _Step(gone, begin, batch)))

    def _transform(self, table: Reals, gone: tuple[int, ...]) -> Reals:
        """Multiply the leading axes by their sources' columns; result (reports, rest).

        Small axes are taken together, as the Kronecker product of their matrices.
        """
        done = 1
        flat = np.ascontiguousarray(table).reshape(1, -1)
        for matrix in _grouped([self.matrices[source] for source in gone]):
            product = matrix.T @ flat.reshape(done, len(matrix), -1)
            done *= matrix.shape[1]
            flat = product.reshape(done, -1)
        return flat

    def _leaf(self, table: Reals, target: int, trail: Trail) -> None:
        """Take the maximum over a batch of report tuples, table of shape (k, spared, batch)."""
        if self.spared is None:
            self._compare(table[:, 0, :], target, trail)
        else:
            self._compare(np.ascontiguousarray(table.transpose(0, 2, 1)), target, trail)
            if target == min(k for k in range(len(self.columns)) if k != self.spared):
                spared, batch = table.shape[1:]
                reports = self._transform(table, (target,)).reshape(-1, spared, batch)
                others = np.moveaxis(reports, 0, -2).reshape(spared, -1)
                self._compare(others, self.spared, (*trail, _Step((target,), 0, batch)))
        self.done += table.size
        if self.progress is not None:
            self.progress(min(self.done, self.work), self.work)

    def _compare(self, table: Reals, target: int, trail: Trail) -> None:
        """Offer the best of each two values, table of shape (k, batch) or (k, batch, spared)."""
        seen = np.flatnonzero(self.marginals[target]).tolist()
        people = self.marginals[target][seen].reshape(-1, *[1] * (table.ndim - 1))
        likelihoods, own = table[seen] / people, self.own[target]
        if table.ndim == 2 and np.unique(own[~np.eye(len(own), dtype=np.bool_)]).size <= 1:
            high, low = likelihoods.max(axis=0), likelihoods.min(axis=0)
            row = int(_quotient(high, low).argmax())
            pair = int(likelihoods[:, row].argmax()), int(likelihoods[:, row].argmin())
            self._offer(target, _quotient(high[row], low[row]), seen, pair, row, trail)
            return
        for first, second in permutations(range(len(seen)), 2):
            rows = likelihoods[first], likelihoods[second]
            if table.ndim == 2 or self.spared is None:
                ratios, spared = _quotient(*rows), None
            else:
                ratios, spared = self.columns[self.spared].best(*rows), rows
            row = int(ratios.argmax())
            self._offer(target, ratios[row], seen, (first, second), row, trail, spared)

    def _offer(
        self,
        target: int,
        ratio: Reals,
        seen: list[int],
        pair: tuple[int, int],
        row: int,
        trail: Trail,
        spared: tuple[Reals, Reals] | None = None,
    ) -> None:
        if ratio <= 0 or pair[0] == pair[1]:
            return
        first, second = seen[pair[0]], seen[pair[1]]
        value = float(np.log(ratio)) + float(self.own[target][first, second])
        if value > self.best[target].value:
            kept = None if spared is None else (spared[0][row].copy(), spared[1][row].copy())
            self.best[target] = _Best(value, (first, second), row, trail, kept)

    def witness(self, target: int) -> JointWitness | None:
        """Return the report tuple that attains a target's total, by value names."""
        best = self.best[target]
        if best.value <= 0:
            return None
        reports: dict[int, int | Booleans] = {**self._reports(best)}
        if best.spared is not None and self.spared is not None:
            reports[self.spared] = self.columns[self.spared].choose(*best.spared)
        domain = self.data.domain
        return joint_witness(domain, self.columns, target, best.pair, reports, best.value)

    def _reports(self, best: _Best) -> dict[int, int]:
        """Return the column of each transformed source: unravel the row along the trail."""
        reports: dict[int, int] = {}
        row = best.row
        for step in reversed(best.trail):
            report, row = divmod(row, step.batch)
            report += step.begin
            for source in reversed(step.gone):
                report, reports[source] = divmod(report, self.columns[source].count)
        return reports


def _grouped(matrices: list[Reals]) -> Iterator[Reals]:
    """Yield Kronecker products of neighbouring matrices, as long as they stay small."""
    joined = matrices[0]
    for matrix in matrices[1:]:
        if max(joined.shape) * max(matrix.shape) <= GROUP:
            joined = np.kron(joined, matrix)
        else:
            yield joined
            joined = matrix
    yield joined


def _quotient(high: Reals, low: Reals) -> Reals:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.asarray(np.where(high == 0, 0, high / low))
