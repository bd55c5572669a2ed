"""`witness`: the most telling reports that a search finds, a lower bound on any total.

Half of the people, at random, serve the search; the reports it ends with are judged on the other
half, and on the whole table.  The smaller of the two counts: the second is at most the supremum
over all reports of the table's own joint distribution, the first is no artefact of searching.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import UNIT, Booleans, Floats, Integers, round_down, rounding
from seepage._results import Progress
from seepage.data.records import Records
from seepage.totals.report_columns import ReportColumns, joint_witness
from seepage.totals.result import JointWitness

Reports = list[int | Booleans]
"""The column of every attribute's report."""

PAIRS = 4
"""Ordered pairs of target values that are searched: the most promising ones."""

PEOPLE = 2
"""Searches for each pair that start at the record of somebody with the first value."""

SWEEPS = 50
"""Rounds through all attributes at most; a handful is usual."""

REACH = 600.0
"""The widest range of likelihoods that the search itself tells apart, in nats."""


def witness_totals(
    data: Records,
    columns: Sequence[ReportColumns],
    seed: int | None,
    progress: Progress | None = None,
) -> tuple[Floats, list[JointWitness | None], list[str]]:
    """Return totals, evidence, and the attributes about which their own report tells as much.

    A total is never below what the own report says, rounded down.
    """
    values, evidence, without = [], [], []
    for target, (name, column) in enumerate(zip(data.domain.names, columns, strict=True)):
        found = search_witness(data, columns, target, seed)
        own = round_down(float(column.own().max()), 8)
        values.append(own if found is None else max(own, found.counted))
        evidence.append(found)
        if found is None or not found.beyond_own:
            without.append(name)
        if progress is not None:
            progress(target + 1, len(columns))
    return np.array(values), evidence, without


def search_witness(
    data: Records, columns: Sequence[ReportColumns], target: int, seed: int | None = 0
) -> JointWitness | None:
    """Return the reports that say the most about a target, as far as coordinate ascent finds them.

    Parameters
    ----------
    data
        The table.
    columns
        What each attribute's report can say.
    target
        The attribute's position.
    seed
        Decides the halves and the people to start from; the same for all targets.

    Returns
    -------
    JointWitness | None
        None where fewer than two values of the target occur in both halves.

    Notes
    -----
    A search starts from the reports that are best one source at a time, or from somebody's
    record, and improves one attribute's report after the other, given the others, until none can
    be.  Each step is one weighted count of the records and the best column for two vectors.
    """
    generator = _checks.generator(seed)
    first = generator.binomial(data.weights, 0.5)
    second = data.weights - first
    search = _Ascent(data, columns, target, first)
    both = (_sums(search.column, part, columns[target].k) > 0 for part in (first, second))
    seen = np.flatnonzero(np.logical_and(*both))
    if len(seen) < 2:
        return None
    best, reports, pair = -math.inf, None, (0, 0)
    for candidate, start in search.starts(seen, generator):
        found = search.ascend(start, candidate)
        value = search.value(found, candidate, first)
        if value > best:
            best, reports, pair = value, found, candidate
    assert reports is not None
    return search.witness(reports, pair, second)


@dataclass
class _Ascent:
    data: Records
    columns: Sequence[ReportColumns]
    target: int
    weights: Integers

    def __post_init__(self) -> None:
        limit = REACH / len(self.columns)
        self.soft = [column.softened(limit) for column in self.columns]
        self.sources = [k for k in range(len(self.columns)) if k != self.target]
        self.own = self.columns[self.target].own()
        self.column = self.data.column(self.target)

    def _tables(self, source: int) -> Floats:
        """Return P(source given target) among those who serve the search."""
        size, values = self.columns[source].k, self.columns[self.target].k
        index = self.column.astype(np.int64) * size + self.data.column(source)
        counts = _sums(index, self.weights, size * values).reshape(values, size)
        return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))

    def starts(
        self, seen: Integers, generator: np.random.Generator
    ) -> Iterator[tuple[tuple[int, int], Reports]]:
        """Yield ordered pairs of target values with reports to start from."""
        tables = [self._tables(source) for source in range(len(self.columns))]
        first, second = (np.ravel(part) for part in np.meshgrid(seen, seen, indexing="ij"))
        first, second = first[first != second], second[first != second]
        scores = self.own[first, second].copy()
        for source in self.sources:
            ratios = self.soft[source].best(tables[source][first], tables[source][second])
            scores += np.log(ratios)
        for index in np.argsort(-scores, kind="stable")[:PAIRS]:
            pair = int(first[index]), int(second[index])
            rows = np.flatnonzero((self.column == pair[0]) & (self.weights > 0))
            ends = [[table[pair[0]] for table in tables]]
            for _ in range(PEOPLE):
                record = self.data.codes[generator.choice(rows)]
                ends.append([np.eye(soft.k)[u] for soft, u in zip(self.soft, record, strict=True)])
            for upper in ends:
                each = zip(self.soft, upper, tables, strict=True)
                yield pair, [soft.choose(high, table[pair[1]]) for soft, high, table in each]

    def ascend(self, start: Reports, pair: tuple[int, int]) -> Reports:
        """Improve one report at a time until none can be; the target's own is left alone.

        The likelihoods of the records carry the columns of all reports; a source's own column
        is divided out of its table, not out of them.
        """
        reports = list(start)
        sides = [np.flatnonzero((self.column == x) & (self.weights > 0)) for x in pair]
        logs = [self.soft[k].logarithms(reports[k]) for k in range(len(reports))]
        codes = [[self.data.column(k)[rows] for rows in sides] for k in range(len(reports))]
        masses = [
            _masses(self.weights[rows], [logs[k][codes[k][side]] for k in self.sources])
            for side, rows in enumerate(sides)
        ]
        for _ in range(SWEEPS):
            improved = False
            for k in self.sources:
                tables = [
                    _sums(codes[k][side], masses[side], self.columns[k].k) * np.exp(-logs[k])
                    for side in (0, 1)
                ]
                better = self.soft[k].choose(*tables)
                change = self.soft[k].logarithms(better) - logs[k]
                if not change.any() or not self._gains(tables, logs[k], change):
                    continue
                improved, reports[k], logs[k] = True, better, logs[k] + change
                for side in (0, 1):
                    masses[side] *= np.exp(change)[codes[k][side]]
            if not improved:
                break
        return reports

    @staticmethod
    def _gains(tables: list[Floats], old: Floats, change: Floats) -> bool:
        """Return whether a change of column raises the ratio by more than rounding."""
        before, after = (
            float(np.log(tables[0] @ weights) - np.log(tables[1] @ weights))
            for weights in (np.exp(old), np.exp(old + change))
        )
        return after > before + 64 * UNIT * (1 + abs(before))

    def value(self, reports: Reports, pair: tuple[int, int], weights: Integers) -> float:
        """Return ln p(y given x) / p(y given x') among some of the people."""
        likelihoods = []
        for x in pair:
            rows = np.flatnonzero((self.column == x) & (weights > 0))
            total = np.log(weights[rows] / weights[rows].sum())
            for k in self.sources:
                total += self.columns[k].logarithms(reports[k])[self.data.column(k)[rows]]
            likelihoods.append(float(np.logaddexp.reduce(total)))
        if likelihoods[0] == -math.inf:
            return -math.inf
        return likelihoods[0] - likelihoods[1] + float(self.own[pair])

    def witness(self, reports: Reports, pair: tuple[int, int], others: Integers) -> JointWitness:
        """Return the evidence by names, judged on the whole table and on others."""
        domain = self.data.domain
        guard = rounding(domain.sizes) + 4 * UNIT * (
            len(self.data) + sum(column.span for column in self.columns)
        )
        return joint_witness(
            domain,
            self.columns,
            self.target,
            pair,
            dict(enumerate(reports)),
            self.value(reports, pair, self.data.weights) - guard,
            held_out=self.value(reports, pair, others) - guard,
            own=float(self.own.max()),
        )


def _sums(index: Any, weights: Any, length: int) -> Floats:
    return np.asarray(np.bincount(index, weights, minlength=length), dtype=np.float64)


def _masses(weights: Integers, logarithms: Sequence[Floats]) -> Floats:
    """Return the records' likelihoods, scaled to a largest of the weights' order."""
    total = np.zeros(len(weights))
    for part in logarithms:
        total += part
    return np.asarray(weights * np.exp(total - total.max()))
