"""One estimate of the statistical method: a target, its sources, and their mechanisms.

Reports are drawn given the table's counts, or record by record, which is slow and serves to test
the former.  A report is an index: that of its column in `report_channel`.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np

from seepage._numerics import Booleans, Floats, Integers
from seepage.data.channel import ROW_SUM_TOLERANCE
from seepage.data.domain import Attribute
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.errors import InputError, Setting
from seepage.leakage.release import View
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.reports import BitReports, ValueReports
from seepage.study.confidence import interval
from seepage.study.estimates import DecidingCells, EstimateSettings, LeakageEstimate
from seepage.study.simulation import Collection, significance, simulate

Key = tuple[int, ...]
"""The indices of a target and of its sources."""

MAX_CELLS = 1 << 24
"""Maximum number of cells of the channel from source values to reports: 128 MB."""

MAX_BITS = 12
"""Maximum number of bits of reports that are enumerated: 4,096 reports."""

REPORTS_PER_BLOCK = 1 << 18
"""Reports perturbed at once, so that memory does not grow with records times replicas."""

COLLECTION, SURROGATES = 0, 1
"""Independent random streams of a task: the simulated collection, and its surrogates."""

CancelCheck = Callable[[], None]
"""Called regularly during long computations; may raise to cancel them."""


def never_cancel() -> None:
    """Do nothing: the default `CancelCheck`."""


@dataclass(frozen=True, eq=False)
class Task:
    """A target and one or more sources that are reported together, as one source of tuples.

    Parameters
    ----------
    key
        The indices of the target and of the sources, which the seeds depend on.
    target
        The target's attribute, restricted to values that occur.
    sources
        The sources' attributes.
    mechanisms
        The mechanism of each source.
    direct
        The budget of the target's own report.
    values
        The source tuples that occur: codes, one row per tuple and one column per source.
    table
        Record counts, target value by source tuple.
    view
        What the adversary keeps: the whole report, or the value inferred from it.
    """

    key: Key
    target: Attribute
    sources: tuple[Attribute, ...]
    mechanisms: tuple[Mechanism, ...]
    direct: float
    values: Integers
    table: Integers
    view: View

    @cached_property
    def channels(self) -> tuple[Floats, ...]:
        """P(report given value) of each source."""
        return tuple(
            report_channel(mechanism) if self.view == "report" else mechanism.inferred_channel()
            for mechanism in self.mechanisms
        )

    @cached_property
    def channel(self) -> Floats:
        """P(all reports given source tuple): each source is perturbed independently."""
        reports = math.prod(part.shape[1] for part in self.channels)
        if len(self.values) * reports > MAX_CELLS:
            raise InputError(
                f"{len(self.values):,} source values with {reports:,} reports are too many for "
                f"one estimate, at most {MAX_CELLS:,} cells fit; choose fewer sources"
            )
        rows = [part[self.values[:, index]] for index, part in enumerate(self.channels)]
        joint = reduce(
            lambda left, right: (left[:, :, None] * right[:, None, :]).reshape(len(left), -1), rows
        )
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))

    @property
    def _report_counts(self) -> list[int]:
        return [part.shape[1] for part in self.channels]

    def report(self, column: int) -> str | tuple[str, ...]:
        """Return the name of a report, by index: the inferred value, or its likeliest values."""
        codes = np.unravel_index(column, self._report_counts)
        names = tuple(
            source.values[code]
            if self.view == "inferred"
            else report_name(part, int(code), source.values)
            for source, part, code in zip(self.sources, self.channels, codes, strict=True)
        )
        return names[0] if len(names) == 1 else names

    def generator(self, rng: int | None, purpose: int, block: int = 0) -> np.random.Generator:
        """Return the random generator of one block of a stream, whichever thread runs it."""
        sequence = np.random.SeedSequence(rng, spawn_key=(*self.key, purpose, block))
        return np.random.Generator(np.random.PCG64(sequence))

    def collect(
        self, settings: EstimateSettings, check_cancelled: CancelCheck = never_cancel
    ) -> Collection:
        """Return a simulated collection."""
        generator = self.generator(settings.rng, COLLECTION)
        if settings.method == "aggregate":
            return simulate(self.table, self.channel, settings.replicas, generator)
        return self.collect_records(settings.replicas, generator, check_cancelled)

    def collect_records(
        self,
        replicas: int,
        generator: np.random.Generator,
        check_cancelled: CancelCheck = never_cancel,
    ) -> Collection:
        """Return a collection simulated record by record, in blocks.

        Costs O(N r), tens of nanoseconds per report for GRR, more for others.
        """
        tuples, reports = self.channel.shape
        counts = np.zeros(len(self.table) * reports, dtype=np.int64)
        pooled = np.zeros(tuples * reports, dtype=np.int64)
        whole = self.view == "report"
        indexers = [report_indexer(mechanism) for mechanism in self.mechanisms if whole]
        for target, source in _expanded_records(self.table, replicas):
            check_cancelled()
            joint = np.zeros(len(source), dtype=np.int64)
            for k, mechanism in enumerate(self.mechanisms):
                perturbed = mechanism.perturb(self.values[source, k], generator)
                index = indexers[k](perturbed) if whole else mechanism.infer(perturbed, generator)
                joint = joint * self._report_counts[k] + index
            counts += np.bincount(target * reports + joint, minlength=len(counts))
            pooled += np.bincount(source * reports + joint, minlength=len(pooled))
        shape = -1, reports
        return Collection(
            self.table, self.channel, replicas, counts.reshape(shape), pooled.reshape(shape)
        )

    def estimate(
        self, settings: EstimateSettings, check_cancelled: CancelCheck = never_cancel
    ) -> LeakageEstimate:
        """Return the estimate from a simulated collection, with its interval and p-value."""

        def surrogate_generator(block: int) -> np.random.Generator:
            check_cancelled()
            return self.generator(settings.rng, SURROGATES, block)

        collection = self.collect(settings, check_cancelled)
        plug_in, deciding = _plug_in(self, collection)
        seen = collection.counts.any(axis=0)
        limits = interval(collection, settings.confidence, settings.scope)
        return LeakageEstimate(
            target=self.target.name,
            sources=tuple(source.name for source in self.sources),
            mechanism=", ".join(dict.fromkeys(mechanism.name for mechanism in self.mechanisms)),
            epsilon=sum(mechanism.epsilon for mechanism in self.mechanisms),
            direct=self.direct,
            plug_in=plug_in,
            corrected=limits.corrected,
            lower=limits.lower,
            upper=limits.upper,
            significance=significance(
                collection, settings.surrogates, surrogate_generator, settings.scope
            ),
            deciding=deciding,
            unseen=int(np.count_nonzero(collection.counts[:, seen] == 0)),
            records=int(self.table.sum()),
            settings=settings,
        )


def _expanded_records(table: Integers, replicas: int) -> Iterator[tuple[Integers, Integers]]:
    """Yield blocks of (target values, source tuples) of all records, each `replicas` times."""
    target, source = np.nonzero(table)
    ends = replicas * np.cumsum(table[target, source])
    starts = np.concatenate([[0], ends[:-1]])
    for first in range(0, int(ends[-1]), REPORTS_PER_BLOCK):
        last = first + REPORTS_PER_BLOCK
        repeats = np.clip(ends, first, last) - np.clip(starts, first, last)
        yield np.repeat(target, repeats), np.repeat(source, repeats)


def _plug_in(task: Task, collection: Collection) -> tuple[float, DecidingCells | None]:
    """Return the paper's estimate and the two cells whose ratio it is.

    It is infinite if a report has an empty cell; then the empty cell with the largest expected
    count is returned.
    """
    counts = collection.counts
    totals = counts.sum(axis=1)
    shares = counts / totals[:, None]
    high, low = shares.max(axis=0), shares.min(axis=0)
    if len(counts) < 2 or not np.any(high > low):
        return 0.0, None
    expected = np.where(counts == 0, high * totals[:, None], 0.0)
    if expected.any():
        value = math.inf
        other, report = divmod(int(expected.argmax()), counts.shape[1])
    else:
        ratios = np.divide(high, low, out=np.ones_like(high), where=high > 0)
        report = int(ratios.argmax())
        value, other = math.log(ratios[report]), int(shares[:, report].argmin())
    likelier = int(shares[:, report].argmax())
    return value, DecidingCells(
        likelier=task.target.values[likelier],
        other=task.target.values[other],
        report=task.report(report),
        likelier_count=int(counts[likelier, report]),
        other_count=int(counts[other, report]),
        likelier_total=int(totals[likelier]),
        other_total=int(totals[other]),
    )


def make_task(
    data: PairCounts | Records, mechanisms: Sequence[Mechanism], view: View, key: Key
) -> Task:
    """Return the task of a target and its sources; several sources need records."""
    target, *sources = key
    if isinstance(data, PairCounts):
        seen = np.flatnonzero(data.marginal(target))
        values = np.arange(data.domain[sources[0]].size)[:, None]
        table = np.ascontiguousarray(data.table(target, sources[0])[seen])
    else:
        codes = data.codes.astype(np.int64)
        values, tuples = np.unique(codes[:, sources], axis=0, return_inverse=True)
        seen, targets = np.unique(codes[:, target], return_inverse=True)
        cells = targets * len(values) + tuples.reshape(-1)
        counts = np.bincount(cells, data.weights, minlength=len(seen) * len(values))
        table = counts.astype(np.int64).reshape(len(seen), len(values))
    return Task(
        key=key,
        target=data.domain[target].restrict(seen),
        sources=tuple(data.domain[source] for source in sources),
        mechanisms=tuple(mechanisms[source] for source in sources),
        direct=mechanisms[target].epsilon,
        values=values,
        table=table,
        view=view,
    )


# Reports by index --------------------------------------------------------------------------------


def report_channel(mechanism: Mechanism) -> Floats:
    """Return P(report given value), one column per report.

    The mechanism's own `channel` if it has one.  Otherwise reports of up to 12 bits are enumerated:
    column y is the report whose bit v is bit v of y.

    Examples
    --------
    >>> from seepage.mechanisms import OUE
    >>> report_channel(OUE(2, 1.0)).round(3).tolist()
    [[0.366, 0.366, 0.134, 0.134], [0.366, 0.134, 0.366, 0.134]]
    """
    try:
        return mechanism.channel()
    except InputError:
        if mechanism.reports is not BitReports or mechanism.k > MAX_BITS:
            raise
    bits = np.arange(1 << mechanism.k)[:, None] >> np.arange(mechanism.k) & 1
    reports = BitReports(mechanism.describe(), BitReports.pack(bits.astype(np.bool_)))
    channel = np.exp(mechanism.log_likelihood(reports)).T
    if np.abs(channel.sum(axis=1) - 1.0).max() > ROW_SUM_TOLERANCE:
        text = f"the reports of {mechanism.name} cannot be enumerated; use "
        raise InputError(text, Setting("view", "inferred"))
    return np.asarray(channel)


def report_indexer(mechanism: Mechanism) -> Callable[[Any], Integers]:
    """Return the function from reports to the indices of their columns in `report_channel`.

    Examples
    --------
    >>> from seepage.mechanisms import OUE
    >>> reports = OUE(2, 1.0).perturb([0, 1, 0, 1], rng=4)
    >>> (report_indexer(OUE(2, 1.0))(reports) == reports.bits() @ [1, 2]).all()
    np.True_
    """
    if mechanism.reports is ValueReports:
        return lambda reports: np.asarray(reports.values, dtype=np.int64)
    channel = report_channel(mechanism)
    weights = 1 << np.arange(mechanism.k, dtype=np.int64)
    if channel.shape[1] == 1 << mechanism.k:
        return lambda reports: np.asarray(reports.bits() @ weights)
    bit_codes = weights @ _likeliest_values(channel)
    order = np.argsort(bit_codes)
    ascending = bit_codes[order]
    if mechanism.reports is not BitReports or np.any(ascending[1:] == ascending[:-1]):
        raise InputError(
            f"the reports of {mechanism.name} cannot be identified by their likeliest values; use ",
            Setting("method", "aggregate"),
            ", or ",
            Setting("view", "inferred"),
        )
    return lambda reports: np.asarray(order[np.searchsorted(ascending, reports.bits() @ weights)])


def report_name(channel: Floats, column: int, values: tuple[str, ...]) -> str:
    """Return the likeliest values of a report, or its index if all values are equally likely.

    Examples
    --------
    >>> report_name(np.array([[0.7, 0.3], [0.3, 0.7]]), 1, ("no", "yes"))
    'yes'
    """
    likeliest = _likeliest_values(channel)[:, column]
    if likeliest.all():
        return f"number {column}"
    return "+".join(value for value, likely in zip(values, likeliest, strict=True) if likely)


def _likeliest_values(channel: Floats) -> Booleans:
    """Return a mask of the values (rows) under which each report (column) is likeliest."""
    return np.asarray(channel == channel.max(axis=0))
