"""Leakage estimated from a simulated collection: the paper's statistical method (section III).

The paper perturbs r copies of every record, lets an attacker infer each value, and counts; here
the counts are drawn from their distribution given the pair counts, in time independent of the
number of records [theory: The statistical method].  The paper's plug-in estimate is biased upward;
a corrected estimate and a confidence interval (`confidence`) and a p-value (`simulation`) are
reported with it.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

from seepage import _checks
from seepage._options import changed, takes
from seepage.data.counting.count import usable_cores
from seepage.data.domain import Domain
from seepage.data.inputs import as_pairs, as_records
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.data.table.options import DataOptions
from seepage.errors import DomainError, InputError
from seepage.leakage.release import releases
from seepage.mechanisms import registered
from seepage.mechanisms.base import Mechanism
from seepage.study.estimates import EstimateSettings, LeakageEstimate, LeakageEstimates
from seepage.study.estimation_task import Key, Task, make_task

MAX_REPORTS = 2**53
"""Largest number of reports that float64 represents exactly."""


@dataclass(frozen=True, kw_only=True)
class EstimateOptions(EstimateSettings, DataOptions):
    """Options of `estimate_leakage`.

    Parameters
    ----------
    epsilon, delta
        The budget of every attribute, or one for each.
    mechanism
        The name of a registered mechanism, or a mapping from attribute to name or `Mechanism`.
    target, sources
        With `sources`, one estimate of the leakage of their *joint* report about the target,
        `estimates[target, *sources]` or `estimates.only`; budgets and mechanisms per attribute are
        those of the target and the sources, in this order.  With `target` alone, one estimate for
        each other attribute as source.
    pairs
        The ordered pairs (target, source) to estimate; all by default.
    threads
        The number of pairs estimated concurrently; the number of cores by default.
    """

    epsilon: Any = field(kw_only=False)
    mechanism: Any
    target: str | None = None
    sources: Iterable[str] | None = None
    pairs: Iterable[tuple[str, str]] | None = None
    delta: Any = 0.0
    threads: int | None = None

    def __post_init__(self) -> None:
        DataOptions.__post_init__(self)
        EstimateSettings.__post_init__(self)


@takes(EstimateOptions)
def estimate_leakage(data: Any, options: EstimateOptions) -> LeakageEstimates:
    """Return leakages estimated from a simulated collection, with their uncertainty.

    Each of N records reports r times through the mechanism; an attacker infers the source's value
    from each report; P(inferred value given target value) is estimated, and the leakage from it
    [paper, section III].

    Parameters
    ----------
    data
        A frame, the path of a table, the name of a dataset, `PairCounts` or `Records`.  For
        `sources`, anything that has records.

    Returns
    -------
    LeakageEstimates
        Indexed by `[target, source]`; its matrices have targets as rows and sources as columns.

    Notes
    -----
    Estimates are not clipped to epsilon.  A report observed with one target value and never with
    another makes the plug-in estimate infinite, which `cautions` lists.  Only target values that
    occur in the table are compared; `cautions` say so for a sample of records.  Costs
    O(surrogates m l + m t l + m^2 t l) for m target values, t source values and l reports;
    0.1 us for each cell of each surrogate.

    Examples
    --------
    >>> import seepage as sp
    >>> estimates = estimate_leakage(
    ...     "adult", 1.0, mechanism="grr", pairs=[("sex", "occupation")], surrogates=99, rng=7
    ... )
    >>> estimate = estimates["sex", "occupation"]
    >>> exact = sp.leakage_matrix(sp.load_pairs("adult"), 1.0, mechanism="grr")
    >>> estimate.lower < exact["sex", "occupation"].value < estimate.upper, estimate.p_value
    (True, 0.01)
    """
    settings = EstimateSettings(**changed(options, EstimateSettings))
    counted: PairCounts | Records
    if options.sources is None:
        counted = as_pairs(data, **options.reading)
        keys = _ordered_pairs(counted, options.target, options.pairs)
    else:
        if options.target is None or options.pairs is not None or isinstance(options.sources, str):
            raise InputError(
                "sources must be a list of names, with a target and without pairs",
                parameter="sources",
            )
        names = (options.target, *options.sources)
        counted = as_records(data, **_options_for(names, options.reading)).select(names)
        keys = [tuple(range(len(names)))]
    mechanisms = mechanisms_of(counted.domain, options.epsilon, options.mechanism, options.delta)
    if counted.records * settings.replicas > MAX_REPORTS:
        raise InputError(
            f"records times replicas must be at most {MAX_REPORTS:,}, "
            f"got {counted.records:,} times {_checks.shown(options.replicas)}"
        )
    threads = options.threads
    workers = usable_cores() if threads is None else _checks.integer(threads, "threads", 1)
    make = partial(make_task, counted, mechanisms, settings.view)
    estimates: dict[Key, LeakageEstimate] = {}
    for key, estimate in _run_tasks(keys, make, settings, workers):
        estimates[key] = replace(estimate, population=counted.population)
        if options.progress is not None:
            options.progress(len(estimates), len(keys))
    return LeakageEstimates(counted.domain, estimates, settings)


def mechanisms_of(
    domain: Domain, epsilon: Any, mechanism: Any, delta: Any = 0.0
) -> list[Mechanism]:
    """Return the mechanism of each attribute; raise an InputError if an attribute has none."""
    if mechanism is None:
        raise InputError(
            f"mechanism must be one of {', '.join(registered())}, got None", parameter="mechanism"
        )
    mechanisms = [release.mechanism for release in releases(domain, epsilon, mechanism, delta)]
    missing = [name for name, used in zip(domain.names, mechanisms, strict=True) if used is None]
    if missing:
        raise InputError(
            f"mechanism must be given for every attribute, {missing[0]!r} has none",
            parameter="mechanism",
        )
    return cast("list[Mechanism]", mechanisms)


def _options_for(names: Sequence[str], table_options: dict[str, Any]) -> dict[str, Any]:
    """Return the table options restricted to these attributes, in this order."""
    if len(names) < 2 or len(set(names)) < len(names):
        raise InputError(
            "sources must be one or more names, none twice, and not the target", parameter="sources"
        )
    all_renamed = table_options.get("rename") or {}
    rename = {old: new for old, new in all_renamed.items() if new in names}
    original = {new: old for old, new in rename.items()}
    columns = [original.get(name, name) for name in names]
    drop = [name for name in table_options.get("drop") or () if name in columns]
    options = {**table_options, "columns": columns, "rename": rename, "drop": drop}
    if isinstance(options.get("bins"), Mapping):
        options["bins"] = {name: b for name, b in options["bins"].items() if name in names}
    return options


def _ordered_pairs(
    counts: PairCounts, target: str | None, pairs: Iterable[tuple[str, str]] | None
) -> list[Key]:
    """Return the (target, source) indices of the pairs to estimate, without duplicates."""
    domain = counts.domain
    if not counts.records:
        raise DomainError("there is no leakage without records, and these counts have none")
    if pairs is None:
        targets = range(len(domain)) if target is None else [domain.index(target)]
        return [(x, u) for x in targets for u in range(len(domain)) if u != x]
    if target is not None:
        raise InputError("give either a target or pairs, not both")
    named = _checks.items(pairs, "pairs")
    if any(not isinstance(pair, (tuple, list)) or len(pair) != 2 for pair in named):
        raise InputError(
            "pairs must be a list of two names each, (target, source)", parameter="pairs"
        )
    chosen = dict.fromkeys((domain.index(x), domain.index(u)) for x, u in named)
    for x, u in chosen:
        if x == u:
            raise DomainError(f"{domain.names[x]!r} is no source about itself")
    return list(chosen)


def _run_tasks(
    keys: Sequence[Key], make: Callable[[Key], Task], settings: EstimateSettings, threads: int
) -> Iterator[tuple[Key, LeakageEstimate]]:
    """Yield the estimate of each task as it completes; an exception cancels all threads."""
    cancelled = threading.Event()

    def check_cancelled() -> None:
        if cancelled.is_set():
            raise CancelledError

    def run(key: Key) -> LeakageEstimate:
        return make(key).estimate(settings, check_cancelled)

    with ThreadPoolExecutor(threads) as pool:
        futures = {pool.submit(run, key): key for key in keys}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            cancelled.set()
            pool.shutdown(cancel_futures=True)
