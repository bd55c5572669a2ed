"""`witness`: the report tuple of largest log-likelihood ratio that a search finds, a
lower bound.

A random half of the people serves the search; the report tuple it ends with is
evaluated on the other half and on the whole table, and the smaller value counts: the
latter is at most the supremum over all report tuples of the table's own joint
distribution, the former is not biased by the search.  In a large table the searches
start on a part of that half, and the best ones continue on the half.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from itertools import permutations
from operator import itemgetter
from typing import Any

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Booleans, Floats, Integers
from seepage._core.progress import Progress
from seepage._core.rounding import UNIT, round_down, rounding
from seepage.channel.records import Records
from seepage.mechanisms.likelihood_columns import LikelihoodColumns, best_column
from seepage.totals.joint_witness import JointWitness, joint_witness

Reports = list[int | Booleans]
"""A report tuple: the likelihood column of each attribute, by index or likely set."""


Candidate = tuple[float, Reports, tuple[int, int]]
"""Log-likelihood ratio, report tuple and ordered pair of target values."""


MAX_PAIRS = 4
"""Ordered pairs of target values that are searched: those with the largest sum of
bounds."""


RANDOM_STARTS = 2
"""Searches per pair that start at the record of a random person with the first
value."""


MAX_DISTINCT = 16_384
"""Number of distinct records of the half up to which searches start on all of it."""


SEARCHED = 4_096
"""Number of people with each value of the target on whom searches start otherwise."""


PRIOR = 30.0
"""Number of people like all others that are added to those with each value, where pairs
of values are chosen: few people seem to differ by chance."""


CONTINUED = 1
"""Number of searches that continue on the half, where they started on a part of it: the
best ones."""


MAX_SWEEPS = 50
"""Maximum number of coordinate-ascent sweeps over all attributes; a handful usually
suffice."""


MAX_SPAN = 600.0
"""Range of likelihoods of a report tuple within the search, in nats; columns are
clipped to it."""


def witness_totals(
    data: Records,
    columns: Sequence[LikelihoodColumns],
    rng: int | None,
    progress: Progress | None = None,
) -> tuple[Floats, list[JointWitness | None], list[str]]:
    """Return totals by the search for witnesses, witnesses, and the attributes whose
    witness does not exceed their own report.

    A total is at least the own report's maximum log-ratio, rounded down.
    """
    values = []
    evidence = []
    not_exceeded = []
    for target, (name, column) in enumerate(
        zip(data.domain.names, columns, strict=True)
    ):
        witness = search_witness(data, columns, target, rng)
        own = round_down(float(column.max_log_ratios().max()), 8)
        values.append(own if witness is None else max(own, witness.counted))
        evidence.append(witness)
        if witness is None or not witness.beyond_own:
            not_exceeded.append(name)
        if progress is not None:
            progress(target + 1, len(columns))
    return np.array(values), evidence, not_exceeded


def search_witness(
    data: Records,
    columns: Sequence[LikelihoodColumns],
    target: int,
    rng: int | None = 0,
) -> JointWitness | None:
    """Return the witness found by coordinate ascent: the report tuple of largest
    log-likelihood ratio.

    Parameters
    ----------
    data
        The table.
    columns
        The likelihood columns of each attribute.
    target
        The index of the target.
    rng
        Of the split into halves and of the random starts; the same for all targets.

    Returns
    -------
    JointWitness | None
        None if fewer than two values of the target occur in both halves.

    Notes
    -----
    A search starts from the reports that are best for each source alone, or from a
    person's record, and maximises over one attribute's report at a time, given the
    others, until none improves.  Each step is one weighted count of the records and the
    best column for two vectors.
    """
    generator = checks.generator(rng)
    search_weights = generator.binomial(data.weights, 0.5)
    held_out_weights = data.weights - search_weights
    size = columns[target].k
    search = _CoordinateAscent(data, columns, target, search_weights)
    in_search = _weighted_counts(search.column, search_weights, size) > 0
    in_held_out = _weighted_counts(search.column, held_out_weights, size) > 0
    seen = np.flatnonzero(in_search & in_held_out)
    if len(seen) < 2:
        return None
    part = search.part(generator)
    candidates = [
        part.ascended(start, pair) for pair, start in search.starts(seen, generator)
    ]
    if part is not search:
        best = nlargest(CONTINUED, candidates, key=itemgetter(0))
        candidates = [search.ascended(reports, pair) for _, reports, pair in best]
    _, reports, pair = max(candidates, key=itemgetter(0))
    return search.witness(reports, pair, held_out_weights)


@dataclass
class _CoordinateAscent:
    """Coordinate ascent over the reports of all sources about one target.

    `weights` are the weights of the distinct records in the half that serves the
    search.
    """

    data: Records
    columns: Sequence[LikelihoodColumns]
    target: int
    weights: Integers

    def __post_init__(self) -> None:
        """Prepare the search of a target's witness: clipped columns, sources, own
        log-ratios.
        """
        limit = MAX_SPAN / len(self.columns)
        self.clipped = [column.clipped(limit) for column in self.columns]
        self.sources = [k for k in range(len(self.columns)) if k != self.target]
        self.own = self.columns[self.target].max_log_ratios()
        self.column = self.data.column(self.target)

    def part(self, generator: np.random.Generator) -> "_CoordinateAscent":
        """Return the witness search on a random part of the people with each value of
        the target; itself if they have few distinct records.
        """
        if np.count_nonzero(self.weights) <= MAX_DISTINCT:
            return self
        size = self.columns[self.target].k
        people = _weighted_counts(self.column, self.weights, size)
        shares = np.minimum(1.0, SEARCHED / np.maximum(people, 1.0))
        drawn = generator.binomial(self.weights, shares[self.column])
        return replace(self, weights=drawn)

    def _channel(self, source: int) -> Floats:
        """Return P(source given target) in the half that serves the witness search."""
        size = self.columns[source].k
        values = self.columns[self.target].k
        index = self.column.astype(np.int64) * size + self.data.column(source)
        counts = _weighted_counts(index, self.weights, size * values).reshape(
            values, size
        )
        everybody = counts.sum(axis=0) / counts.sum()
        counts += PRIOR * everybody
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    def starts(
        self, seen: Integers, generator: np.random.Generator
    ) -> Iterator[tuple[tuple[int, int], Reports]]:
        """Yield where the witness search starts: ordered pairs (x, x') of target values
        with report tuples.
        """
        channels = [self._channel(source) for source in range(len(self.columns))]
        for likelier, other in self._pairs(seen, channels):
            records = np.flatnonzero((self.column == likelier) & (self.weights > 0))
            numerators = [[channel[likelier] for channel in channels]]
            for _ in range(RANDOM_STARTS):
                record = self.data.codes[generator.choice(records)]
                one_hot = zip(self.clipped, record, strict=True)
                numerators.append([np.eye(column.k)[u] for column, u in one_hot])
            denominators = [channel[other] for channel in channels]
            for upper in numerators:
                sources = zip(self.clipped, upper, denominators, strict=True)
                reports = [best_column(*source) for source in sources]
                yield (likelier, other), reports

    def _pairs(
        self, seen: Integers, channels: Sequence[Floats]
    ) -> Iterator[tuple[int, int]]:
        """Yield the ordered pairs of values to search a witness for, of the largest sum
        of bounds.
        """
        grid = np.array(list(permutations(seen.tolist(), 2)))
        first = grid[:, 0]
        second = grid[:, 1]
        scores = self.own[first, second].copy()
        for source in self.sources:
            channel = channels[source]
            scores += self.clipped[source].best(channel[first], channel[second])[0]
        for index in np.argsort(-scores, kind="stable")[:MAX_PAIRS]:
            yield int(first[index]), int(second[index])

    def ascended(self, start: Reports, pair: tuple[int, int]) -> Candidate:
        """Return the reports that a witness search ends with, and their log-likelihood
        ratio.
        """
        reports = self.ascend(start, pair)
        return self.log_ratio(reports, pair, self.weights), reports, pair

    def ascend(self, start: Reports, pair: tuple[int, int]) -> Reports:
        """Maximise a witness over one source's report at a time until none improves.

        The likelihood of a record includes the columns of all sources; to choose the
        column of one source, its present column is divided out of the two vectors of
        sums by its values.
        """
        reports = list(start)
        logs = [self.clipped[k].logarithms(reports[k]) for k in range(len(reports))]
        sides = [self._side(x, logs) for x in pair]
        for _ in range(MAX_SWEEPS):
            improved = False
            for k in self.sources:
                size = self.columns[k].k
                upper = sides[0].sums(k, size) * np.exp(-logs[k])
                lower = sides[1].sums(k, size) * np.exp(-logs[k])
                column = best_column(self.clipped[k], upper, lower)
                change = self.clipped[k].logarithms(column) - logs[k]
                before = _log_ratio_of_sums(upper, lower, logs[k])
                after = _log_ratio_of_sums(upper, lower, logs[k] + change)
                if after <= before + 64 * UNIT * (1 + abs(before)):
                    continue
                improved = True
                reports[k] = column
                logs[k] = logs[k] + change
                for side in sides:
                    side.likelihoods *= np.exp(change)[side.codes[k]]
            if not improved:
                break
        return reports

    def _side(self, value: int, logs: Sequence[Floats]) -> "_Side":
        """Return the people with one value of a witness's target, and their
        likelihoods.
        """
        rows = np.flatnonzero((self.column == value) & (self.weights > 0))
        codes = [self.data.column(k)[rows] for k in range(len(self.columns))]
        total = np.zeros(len(rows))
        for k in self.sources:
            total += logs[k][codes[k]]
        return _Side(codes, self.weights[rows] * np.exp(total - total.max()))

    def log_ratio(
        self, reports: Reports, pair: tuple[int, int], weights: Integers
    ) -> float:
        """Return a witness's ln p(y given x) / p(y given x') under the given weights of
        the records.
        """
        likelihoods = []
        for x in pair:
            rows = np.flatnonzero((self.column == x) & (weights > 0))
            total = np.log(weights[rows] / weights[rows].sum())
            for k in self.sources:
                total += self.columns[k].logarithms(reports[k])[
                    self.data.column(k)[rows]
                ]
            likelihoods.append(float(np.logaddexp.reduce(total)))
        if likelihoods[0] == -math.inf:
            return -math.inf
        return likelihoods[0] - likelihoods[1] + float(self.own[pair])

    def witness(
        self, reports: Reports, pair: tuple[int, int], held_out_weights: Integers
    ) -> JointWitness:
        """Return the witness found by the search, by names, evaluated on the whole
        table and on held-out records.
        """
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
            value=self.log_ratio(reports, pair, self.data.weights) - guard,
            held_out=self.log_ratio(reports, pair, held_out_weights) - guard,
            own=float(self.own.max()),
        )


@dataclass
class _Side:
    """The people with one value of the target, by distinct record: their codes of each
    attribute, and the likelihoods of the reports, weighted and up to a factor.
    """

    codes: Sequence[Any]
    likelihoods: Floats

    def sums(self, source: int, size: int) -> Floats:
        """Return the likelihoods of a witness summed by the values of a source."""
        return _weighted_counts(self.codes[source], self.likelihoods, size)


def _log_ratio_of_sums(upper: Floats, lower: Floats, logs: Floats) -> float:
    """Return a witness's ln (upper . c) / (lower . c) for the column c with these
    logarithms.
    """
    column = np.exp(logs)
    return float(np.log(upper @ column) - np.log(lower @ column))


def _weighted_counts(index: Any, weights: Any, length: int) -> Floats:
    """Return the weighted number of records by index, for the witness search."""
    return np.asarray(np.bincount(index, weights, minlength=length), dtype=np.float64)
