"""One thing to estimate: a target, one or more sources, and how they are released.

Its reports are drawn from the table's counts, or record by record, which is slow and tests the fast
way.  Reports are numbered: the columns of `report_channel`.
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
from seepage.errors import InputError
from seepage.leakage.release import View
from seepage.mechanisms import Mechanism
from seepage.mechanisms.reports import BitReports, ValueReports
from seepage.study.confidence import interval
from seepage.study.estimates import DecidingCells, EstimateSettings, LeakageEstimate
from seepage.study.simulation import Collection, significance, simulate

Key = tuple[int, ...]
"""The numbers of a target and of its sources."""

MAX_CELLS = 1 << 24
"""The largest channel from source values to reports: 128 MB."""

MAX_BITS = 12
"""Reports of so many bits are told apart, 4,096 of them."""

ROWS = 1 << 18
"""Records perturbed at once, so that memory does not grow with the expanded data set."""

COLLECTION, SURROGATES = 0, 1
"""What the randomness of a task is for."""

Pulse = Callable[[], None]
"""Called now and then during long work; it may raise to end it."""


def no_pulse() -> None:
    """Let the work go on."""


@dataclass(frozen=True, eq=False)
class Task:
    """A target and the sources that are released together, as one source of tuples.

    Parameters
    ----------
    key
        The numbers of the target and of the sources, which the seeds depend on.
    target
        The target's attribute, values that occurred only.
    sources
        The sources' attributes.
    mechanisms
        How each source is released.
    direct
        The budget with which the target itself is released.
    values
        The source tuples that occurred: codes, one row per tuple and one column per source.
    table
        Records, target value by source tuple.
    view
        What the adversary keeps of a report.
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
            report_channel(how) if self.view == "report" else how.inferred_channel()
            for how in self.mechanisms
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
            lambda one, two: (one[:, :, None] * two[:, None, :]).reshape(len(one), -1), rows
        )
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))

    @property
    def _sizes(self) -> list[int]:
        return [part.shape[1] for part in self.channels]

    def report(self, column: int) -> str | tuple[str, ...]:
        """Return the name of a report: the guessed value, or the values that it favours."""
        codes = np.unravel_index(column, self._sizes)
        names = tuple(
            source.values[code]
            if self.view == "inferred"
            else report_name(part, int(code), source.values)
            for source, part, code in zip(self.sources, self.channels, codes, strict=True)
        )
        return names[0] if len(names) == 1 else names

    def generator(self, seed: int, purpose: int, block: int = 0) -> np.random.Generator:
        """Return the source of randomness of one part of the work, wherever it runs."""
        sequence = np.random.SeedSequence(seed, spawn_key=(*self.key, purpose, block))
        return np.random.Generator(np.random.PCG64(sequence))

    def collect(self, settings: EstimateSettings, pulse: Pulse = no_pulse) -> Collection:
        """Return a simulated collection."""
        generator = self.generator(settings.seed, COLLECTION)
        if settings.method == "aggregate":
            return simulate(self.table, self.channel, settings.replicas, generator)
        return self.collect_records(settings.replicas, generator, pulse)

    def collect_records(
        self, replicas: int, generator: np.random.Generator, pulse: Pulse = no_pulse
    ) -> Collection:
        """Return a collection made record by record, in blocks.

        Costs O(N r), tens of nanoseconds per report for GRR, more for others.
        """
        tuples, reports = self.channel.shape
        counts = np.zeros(len(self.table) * reports, dtype=np.int64)
        pooled = np.zeros(tuples * reports, dtype=np.int64)
        whole = [report_columns(how) for how in self.mechanisms if self.view == "report"]
        for target, source in _expanded(self.table, replicas):
            pulse()
            joint = np.zeros(len(source), dtype=np.int64)
            for index, how in enumerate(self.mechanisms):
                released = how.perturb(self.values[source, index], generator)
                told = whole[index](released) if whole else how.infer(released, generator)
                joint = joint * self._sizes[index] + told
            counts += np.bincount(target * reports + joint, minlength=len(counts))
            pooled += np.bincount(source * reports + joint, minlength=len(pooled))
        shape = -1, reports
        return Collection(
            self.table, self.channel, replicas, counts.reshape(shape), pooled.reshape(shape)
        )

    def estimate(self, settings: EstimateSettings, pulse: Pulse = no_pulse) -> LeakageEstimate:
        """Return the estimate from a simulated collection, with its interval and surrogates.

        `pulse` is called now and then; it may raise to end the work.
        """

        def surrogate_generator(block: int) -> np.random.Generator:
            pulse()
            return self.generator(settings.seed, SURROGATES, block)

        collection = self.collect(settings, pulse)
        plug_in, deciding = _plug_in(self, collection)
        seen = collection.counts.any(axis=0)
        found = interval(collection, settings.confidence, settings.population)
        return LeakageEstimate(
            target=self.target.name,
            sources=tuple(source.name for source in self.sources),
            mechanism=", ".join(dict.fromkeys(how.name for how in self.mechanisms)),
            epsilon=sum(how.epsilon for how in self.mechanisms),
            direct=self.direct,
            plug_in=plug_in,
            corrected=found.corrected,
            lower=found.lower,
            upper=found.upper,
            significance=significance(
                collection, settings.surrogates, surrogate_generator, settings.population
            ),
            deciding=deciding,
            unseen=int(np.count_nonzero(collection.counts[:, seen] == 0)),
            records=int(self.table.sum()),
            settings=settings,
        )


def _expanded(table: Integers, replicas: int) -> Iterator[tuple[Integers, Integers]]:
    """Yield the target values and source tuples of all records, each `replicas` times."""
    target, source = np.nonzero(table)
    ends = replicas * np.cumsum(table[target, source])
    starts = np.concatenate([[0], ends[:-1]])
    for begin in range(0, int(ends[-1]), ROWS):
        inside = np.clip(ends, begin, begin + ROWS) - np.clip(starts, begin, begin + ROWS)
        yield np.repeat(target, inside), np.repeat(source, inside)


def _plug_in(task: Task, collection: Collection) -> tuple[float, DecidingCells | None]:
    """Return the paper's estimate and the cells that decide it.

    Where cells are empty it is infinite, and decided by the one where most reports were to be
    expected.
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
    known: PairCounts | Records, mechanisms: Sequence[Mechanism], view: View, key: Key
) -> Task:
    """Return the task of a target and its sources; several sources need records."""
    target, *sources = key
    if isinstance(known, PairCounts):
        seen = np.flatnonzero(known.marginal(target))
        values = np.arange(known.domain[sources[0]].size)[:, None]
        table = np.ascontiguousarray(known.table(target, sources[0])[seen])
    else:
        codes = known.codes.astype(np.int64)
        values, tuples = np.unique(codes[:, sources], axis=0, return_inverse=True)
        seen, targets = np.unique(codes[:, target], return_inverse=True)
        cells = targets * len(values) + tuples.reshape(-1)
        counts = np.bincount(cells, known.weights, minlength=len(seen) * len(values))
        table = counts.astype(np.int64).reshape(len(seen), len(values))
    return Task(
        key=key,
        target=known.domain[target].restrict(seen),
        sources=tuple(known.domain[source] for source in sources),
        mechanisms=tuple(mechanisms[source] for source in sources),
        direct=mechanisms[target].epsilon,
        values=values,
        table=table,
        view=view,
    )


# Reports by number -------------------------------------------------------------------------------


def report_channel(how: Mechanism) -> Floats:
    """Return P(report given value), one column per report.

    The mechanism's own `channel` where it has one.  Reports of up to 12 bits are enumerated:
    column y is the report whose bit v is bit v of y.

    Examples
    --------
    >>> from seepage.mechanisms import OUE
    >>> report_channel(OUE(2, 1.0)).round(3).tolist()
    [[0.366, 0.366, 0.134, 0.134], [0.366, 0.134, 0.366, 0.134]]
    """
    try:
        return how.channel()
    except InputError:
        if how.reports is not BitReports or how.k > MAX_BITS:
            raise
    sets = np.arange(1 << how.k)[:, None] >> np.arange(how.k) & 1
    reports = BitReports(how.describe(), BitReports.pack(sets.astype(np.bool_)))
    channel = np.exp(how.log_likelihood(reports)).T
    if np.abs(channel.sum(axis=1) - 1.0).max() > ROW_SUM_TOLERANCE:
        raise InputError(f'the reports of {how.name} cannot be enumerated; use view="inferred"')
    return np.asarray(channel)


def report_columns(how: Mechanism) -> Callable[[Any], Integers]:
    """Return the function from reports to their columns in `report_channel`.

    Examples
    --------
    >>> from seepage.mechanisms import OUE
    >>> reports = OUE(2, 1.0).perturb([0, 1, 0, 1], rng=4)
    >>> (report_columns(OUE(2, 1.0))(reports) == reports.bits() @ [1, 2]).all()
    np.True_
    """
    if how.reports is ValueReports:
        return lambda reports: np.asarray(reports.values, dtype=np.int64)
    channel = report_channel(how)
    weights = 1 << np.arange(how.k, dtype=np.int64)
    if channel.shape[1] == 1 << how.k:
        return lambda reports: np.asarray(reports.bits() @ weights)
    favoured = weights @ _favoured(channel)
    order = np.argsort(favoured)
    ascending = favoured[order]
    if how.reports is not BitReports or np.any(ascending[1:] == ascending[:-1]):
        raise InputError(
            f"the reports of {how.name} cannot be told apart by what they favour; "
            'use method="aggregate", or view="inferred"'
        )
    return lambda reports: np.asarray(order[np.searchsorted(ascending, reports.bits() @ weights)])


def report_name(channel: Floats, column: int, values: tuple[str, ...]) -> str:
    """Return what a report favours, or its number where it favours nothing.

    Examples
    --------
    >>> report_name(np.array([[0.7, 0.3], [0.3, 0.7]]), 1, ("no", "yes"))
    'yes'
    """
    favoured = _favoured(channel)[:, column]
    if favoured.all():
        return f"number {column}"
    return "+".join(value for value, likely in zip(values, favoured, strict=True) if likely)


def _favoured(channel: Floats) -> Booleans:
    """Return which values (rows) make each report (column) likeliest."""
    return np.asarray(channel == channel.max(axis=0))
