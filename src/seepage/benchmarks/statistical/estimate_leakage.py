"""Leakage estimated from a simulated collection: the statistical method of the paper's
section III.

The paper perturbs r copies of every record, lets an attacker infer each value, and
counts; here the counts are drawn from their distribution given the pair counts, in time
independent of the number of records [theory: The statistical method].  The paper's
plug-in estimate is biased upward; a corrected estimate and a confidence interval
(`simulated_intervals`) and a p-value (`permutation`) are reported with it.
"""

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import permutations
from typing import Any, Unpack

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats, Integers
from seepage._core.errors import DomainError, InputError
from seepage._core.threads import usable_cores
from seepage.benchmarks.statistical.estimates import (
    DecidingCell,
    EstimateSettings,
    LeakageEstimate,
    LeakageEstimates,
)
from seepage.benchmarks.statistical.permutation import significance
from seepage.benchmarks.statistical.simulated_collection import Collection, simulate
from seepage.benchmarks.statistical.simulated_intervals import interval
from seepage.channel.domain import Attribute, Domain
from seepage.channel.pairs import PairCounts
from seepage.channel.records import Records
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.release import releases
from seepage.tables.read import as_pairs, as_records
from seepage.tables.table_options import DataOptions, TableKeywords

Key = tuple[int, ...]
"""The indices of a target and of its sources."""


MAX_REPORTS = 2**53
"""Largest number of reports that float64 represents exactly."""


MAX_PERMUTED = 10**9 - 1
"""Largest number of reports that NumPy's hypergeometric distribution permutes."""


MAX_CHANNEL_CELLS = 1 << 24
"""Maximum number of cells of the channel from source values to reports: 128 MB."""


COLLECTION = 0
"""Number of the random stream of a task's simulated collection."""


SURROGATES = 1
"""Number of the random stream of a task's surrogates, independent of the other."""


def estimate_leakage(
    data: Any,
    epsilon: Any,
    *,
    mechanism: Any,
    target: str | None = None,
    sources: Iterable[str] | None = None,
    pairs: Iterable[tuple[str, str]] | None = None,
    delta: Any = 0.0,
    threads: int | None = None,
    replicas: int = 50,
    surrogates: int = 10_000,
    rng: Any = None,
    confidence: float = 0.95,
    **table: Unpack[TableKeywords],
) -> LeakageEstimates:
    """Return leakages estimated from a simulated collection, with their uncertainty.

    Each of N records reports r times through the mechanism; an attacker infers the
    source's value from each report; P(inferred value given target value) is estimated,
    and the leakage from it [paper, section III].

    Parameters
    ----------
    data
        A frame, the path of a table, the name of a dataset, `PairCounts` or `Records`.
        For `sources`, anything that has records.
    epsilon, delta
        The budget of every attribute, or one for each.
    mechanism
        The name of a registered mechanism, or a mapping from attribute to name or
        `Mechanism`.
    target, sources
        With `sources`, one estimate of the leakage of their *joint* report about the
        target, `estimates[target, *sources]` or `estimates.only`; budgets and
        mechanisms per attribute are those of the target and the sources, in this order.
        With `target` alone, one estimate for each other attribute as source.
    pairs
        The ordered pairs (target, source) to estimate; all by default.
    threads
        The number of pairs estimated concurrently; the number of cores by default.
    replicas
        The number of reports per record, r.
    surrogates
        The number of tables drawn from the permutation null distribution of the
        estimate, for the p-value; 0 for no p-value.
    rng
        The same seed gives the same numbers on any number of threads.  If None it is
        drawn, and kept in the result.
    confidence
        Confidence level of each interval: the minimum probability that it covers the
        leakage.
    **table
        How a table is read: `columns`, `drop`, `bins`, `missing`, `max_values`,
        `missing_markers`, `delimiter`, `column_names`, `encoding`, `domain`, `pool`,
        `person`, `engine`, `progress`; see `TableKeywords`.

    Returns
    -------
    LeakageEstimates
        Indexed by `[target, source]`; its matrices have targets as rows and sources as
        columns.

    Notes
    -----
    Estimates are not clipped to epsilon.  A report observed with one target value and
    never with another makes the plug-in estimate infinite, which `cautions` lists.
    Only target values that occur in the table are compared; `cautions` say so for a
    sample of records.  Costs O(surrogates m l + m t l + m^2 t l) for m target values, t
    source values and l reports;
    0.1 us for each cell of each surrogate.

    Examples
    --------
    >>> import seepage as sp
    >>> estimates = estimate_leakage(
    ...     "adult",
    ...     1.0,
    ...     mechanism="grr",
    ...     pairs=[("sex", "occupation")],
    ...     surrogates=99,
    ...     rng=7,
    ... )
    >>> estimate = estimates["sex", "occupation"]
    >>> exact = sp.leakage_matrix(sp.load_pairs("adult"), 1.0, mechanism="grr")
    >>> (
    ...     estimate.lower < exact["sex", "occupation"].value < estimate.upper,
    ...     estimate.p_value,
    ... )
    (True, 0.01)
    """
    reading = DataOptions.from_keywords(table, estimate_leakage)
    settings = EstimateSettings(
        threads=threads,
        replicas=replicas,
        surrogates=surrogates,
        rng=rng,
        confidence=confidence,
    )
    counted: PairCounts | Records
    if sources is None:
        counted = as_pairs(data, **reading.keywords)
        keys = _ordered_pairs(counted, target, pairs)
    else:
        names = _joint_names(target, sources, pairs)
        counted = as_records(data, **reading.keywords).select(names)
        keys = [tuple(range(len(names)))]
    mechanisms = mechanisms_of(counted.domain, epsilon, mechanism, delta)
    _check_replicas(settings, counted.records)
    estimates: dict[Key, LeakageEstimate] = {}
    make = partial(make_task, counted, mechanisms)
    for key, estimate in _run_tasks(keys, make, settings):
        estimates[key] = replace(estimate, population=counted.population)
        if reading.progress is not None:
            reading.progress(len(estimates), len(keys))
    return LeakageEstimates(counted.domain, dict(sorted(estimates.items())), settings)


def _check_replicas(settings: EstimateSettings, records: int) -> None:
    """Raise if an estimate needs more reports than can be counted or permuted
    exactly.
    """
    reports = MAX_REPORTS
    hint = ""
    if settings.surrogates:
        reports = MAX_PERMUTED
        hint = "; without surrogates there may be more"
    most = reports // max(records, 1)
    if settings.replicas > most:
        rule = f"at most {most:,} for {records:,} records"
        raise checks.violation("replicas", rule, settings.replicas, hint)


def mechanisms_of(
    domain: Domain, epsilon: Any, mechanism: Any, delta: Any = 0.0
) -> list[Mechanism]:
    """Return the mechanism of each attribute whose leakage is estimated; raise an
    InputError if an attribute has none.
    """
    mechanisms = []
    released = releases(domain, epsilon, mechanism, delta)
    for name, release in zip(domain.names, released, strict=True):
        if release.mechanism is None:
            rule = f"given for every attribute, also for {name!r}"
            raise checks.violation("mechanism", rule, None)
        mechanisms.append(release.mechanism)
    return mechanisms


def _joint_names(
    target: str | None,
    sources: Iterable[str],
    pairs: Iterable[tuple[str, str]] | None,
) -> tuple[str, ...]:
    """Return the names of the target and of its joint sources of an estimate."""
    sources = checks.texts(sources, "sources")
    if target is None or pairs is not None:
        raise InputError("sources need a target, and no pairs", parameter="sources")
    names = target, *sources
    if not sources or len(set(names)) < len(names):
        rule = "one or more names, none twice, and not the target"
        raise checks.violation("sources", rule, sources)
    return names


def _ordered_pairs(
    counts: PairCounts, target: str | None, pairs: Iterable[tuple[str, str]] | None
) -> list[Key]:
    """Return the (target, source) indices of the pairs to estimate, without
    duplicates.
    """
    domain = counts.domain
    if not counts.records:
        raise DomainError(
            "there is no leakage without records, and these counts have none"
        )
    if pairs is None:
        ordered: list[Key] = list(permutations(range(len(domain)), 2))
        if target is None:
            return ordered
        index = domain.index(target)
        return [pair for pair in ordered if pair[0] == index]
    if target is not None:
        raise checks.exclusive("target", "pairs", "pairs have their own targets")
    return _named_pairs(domain, pairs)


def _named_pairs(domain: Domain, pairs: Iterable[tuple[str, str]]) -> list[Key]:
    """Return the pairs (target, source) whose leakage is to be estimated, as indices
    without duplicates.
    """
    named = checks.items(pairs, "pairs")
    if any(not isinstance(pair, (tuple, list)) or len(pair) != 2 for pair in named):
        raise checks.violation(
            "pairs", "a list of two names each, (target, source)", named
        )
    indices = dict.fromkeys((domain.index(x), domain.index(u)) for x, u in named)
    for x, u in indices:
        if x == u:
            raise DomainError(f"{domain.names[x]!r} is no source about itself")
    return list(indices)


# One estimate: a target, its sources, and their mechanisms ----------------------------


@dataclass(frozen=True, eq=False)
class Task:
    """A target and one or more sources that are reported together, as one source of
    tuples.

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
    own
        The mechanism of the target's own report.
    values
        The source tuples that occur: codes, one row per tuple and one column per
        source.
    table
        Record counts, target value by source tuple.
    """

    key: Key
    target: Attribute
    sources: tuple[Attribute, ...]
    mechanisms: tuple[Mechanism, ...]
    own: Mechanism
    values: Integers
    table: Integers

    @cached_property
    def channel(self) -> Floats:
        """P(inferred values given source tuple) of an estimate's simulation: each
        source is perturbed independently.
        """
        reports = math.prod(source.size for source in self.sources)
        if len(self.values) * reports > MAX_CHANNEL_CELLS:
            raise InputError(
                f"{len(self.values):,} source values with {reports:,} reports are too "
                f"many for one estimate, at most {MAX_CHANNEL_CELLS:,} cells fit; "
                "choose fewer sources"
            )
        joint = np.ones((len(self.values), 1))
        for mechanism, codes in zip(self.mechanisms, self.values.T, strict=True):
            rows = mechanism.inferred_channel()[codes]
            products = joint[:, :, None] * rows[:, None, :]
            joint = products.reshape(len(self.values), -1)
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))

    def report(self, column: int) -> str:
        """Return the inferred value of a column of the estimate's channel; several are
        joined by "and".
        """
        codes = np.unravel_index(column, [source.size for source in self.sources])
        parts = zip(self.sources, codes, strict=True)
        return " and ".join(source.values[code] for source, code in parts)

    def generator(
        self, rng: int | None, purpose: int, block: int = 0
    ) -> np.random.Generator:
        """Return the random generator of one block of an estimate's stream, whichever
        thread runs it.
        """
        sequence = np.random.SeedSequence(rng, spawn_key=(*self.key, purpose, block))
        return np.random.Generator(np.random.PCG64(sequence))

    def collect(self, settings: EstimateSettings) -> Collection:
        """Return the simulated collection that a leakage is estimated from."""
        generator = self.generator(settings.rng, COLLECTION)
        return simulate(self.table, self.channel, settings.replicas, generator)

    def estimate(
        self, settings: EstimateSettings, cancelled: threading.Event
    ) -> LeakageEstimate:
        """Return the estimate from a simulated collection, with its interval and
        p-value.
        """

        def surrogate_generator(block: int) -> np.random.Generator:
            """Return the generator of one block of an estimate's surrogates."""
            if cancelled.is_set():
                raise CancelledError
            return self.generator(settings.rng, SURROGATES, block)

        collection = self.collect(settings)
        plug_in, deciding = plug_in_estimate(self, collection)
        limits = interval(collection, settings.confidence)
        names = dict.fromkeys(mechanism.name for mechanism in self.mechanisms)
        seen = collection.counts.any(axis=0)
        return LeakageEstimate(
            target=self.target.name,
            sources=tuple(source.name for source in self.sources),
            mechanism=", ".join(names),
            epsilon=sum(mechanism.epsilon for mechanism in self.mechanisms),
            direct=self.own.epsilon,
            plug_in=plug_in,
            corrected=limits.corrected,
            lower=limits.lower,
            upper=limits.upper,
            significance=significance(
                collection, settings.surrogates, surrogate_generator
            ),
            deciding=deciding,
            unseen=int(np.count_nonzero(collection.counts[:, seen] == 0)),
            records=int(self.table.sum()),
            seed=settings.rng,
            delta=sum(mechanism.delta for mechanism in self.mechanisms),
            direct_delta=self.own.delta,
        )


def _run_tasks(
    keys: Sequence[Key], make: Callable[[Key], Task], settings: EstimateSettings
) -> Iterator[tuple[Key, LeakageEstimate]]:
    """Yield the leakage estimate of each task as it completes; an exception cancels all
    threads.
    """
    cancelled = threading.Event()

    def run(key: Key) -> LeakageEstimate:
        """Return the leakage estimate of one task."""
        return make(key).estimate(settings, cancelled)

    with ThreadPoolExecutor(settings.threads or usable_cores()) as pool:
        futures = {pool.submit(run, key): key for key in keys}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            cancelled.set()
            pool.shutdown(cancel_futures=True)


def plug_in_estimate(
    task: Task, collection: Collection
) -> tuple[float, tuple[DecidingCell, ...]]:
    """Return the paper's leakage estimate and the two cells whose ratio it is; none if
    rows are equal.

    It is infinite if a report has an empty cell; then the empty cell with the largest
    expected count is returned.
    """
    counts = collection.counts
    totals = counts.sum(axis=1)
    shares = counts / totals[:, None]
    high = shares.max(axis=0)
    low = shares.min(axis=0)
    if len(counts) < 2 or not np.any(high > low):
        return 0.0, ()
    expected = np.where(counts == 0, high * totals[:, None], 0.0)
    if expected.any():
        value = math.inf
        other, report = divmod(int(expected.argmax()), counts.shape[1])
    else:
        ratios = np.divide(high, low, out=np.ones_like(high), where=high > 0)
        report = int(ratios.argmax())
        value = math.log(ratios[report])
        other = int(shares[:, report].argmin())
    likelier = int(shares[:, report].argmax())

    def cell(x: int) -> DecidingCell:
        """Return the cell of the estimate's ratio in the row of a target value."""
        return DecidingCell(
            value=task.target.values[x],
            report=task.report(report),
            seen=int(counts[x, report]),
            total=int(totals[x]),
        )

    return value, (cell(likelier), cell(other))


def make_task(
    data: PairCounts | Records, mechanisms: Sequence[Mechanism], key: Key
) -> Task:
    """Return the task to estimate the leakage of a target's sources; several sources
    need records.
    """
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
        own=mechanisms[target],
        values=values,
        table=table,
    )
