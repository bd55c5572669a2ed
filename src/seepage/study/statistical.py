"""Leakage estimated from a simulated collection: the paper's statistical method (section III).

The paper perturbs r copies of every record, lets an attacker guess each value, and counts; the
same distribution is drawn here from pair counts, in time that does not grow with the records
[theory: The statistical method].  Beside the paper's estimate, which is biased upward, stand a
corrected one and a confidence interval (`confidence`) and a p-value (`simulation`).
"""

import os
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from dataclasses import replace
from functools import partial
from typing import Any, cast

from seepage import _checks
from seepage._results import Progress
from seepage.data.domain import Domain
from seepage.data.inputs import as_pairs, as_records
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.errors import DomainError, InputError
from seepage.leakage.release import View, releases
from seepage.mechanisms import Mechanism, registered
from seepage.study.estimates import EstimateSettings, LeakageEstimate, LeakageEstimates, Method
from seepage.study.estimation_task import Key, Task, make_task

MAX_REPORTS = 2**53
"""Shares of reports are taken in double precision, which is exact up to here."""


def estimate_leakage(
    data: Any,
    epsilon: Any,
    *,
    mechanism: Any,
    target: str | None = None,
    sources: Iterable[str] | None = None,
    pairs: Iterable[tuple[str, str]] | None = None,
    replicas: int = 50,
    surrogates: int = 10_000,
    seed: int | None = None,
    view: View = "inferred",
    method: Method = "aggregate",
    population: bool = False,
    confidence: float = 0.95,
    delta: Any = 0.0,
    threads: int | None = None,
    progress: Progress | None = None,
    **table_options: Any,
) -> LeakageEstimates:
    """Return leakages estimated from a simulated collection, with their uncertainty.

    Each of N records reports r times through the mechanism; an attacker guesses the value from
    each report; P(guess given target value) is estimated, and the leakage from it [paper,
    section III].

    Parameters
    ----------
    data
        A frame, the path of a table, the name of a dataset, `PairCounts` or `Records`.  For
        `sources`, anything that has records.
    epsilon, delta
        The budget of every attribute, or one for each.
    mechanism
        The name of a registered mechanism, or a mapping from attribute to name or `Mechanism`.
    target, sources
        With `sources`, what they tell about the target *together*: one estimate of the joint
        report, `found[target, *sources]` or `found.only`.  Settings for each attribute are those
        of the target and the sources, in this order.  With `target` alone, every other attribute
        as its source.
    pairs
        The ordered pairs (target, source) to estimate; all by default.
    replicas
        How often each record reports, r.
    surrogates
        The number of tables drawn from the permutation null distribution of the estimate, which
        the p-value rests on; 0 for none, and then no p-value.
    seed
        The same seed gives the same numbers on any number of threads.  Drawn and kept in the
        result where not given.
    view
        What the adversary keeps: the value `"inferred"` (the paper's attacker) or the whole
        `"report"`, where the mechanism's reports are few.
    method
        `"aggregate"`: multinomials on the counts, in time that does not grow with N or r;
        `"records"`: every report is perturbed and guessed from, in blocks.  Same distribution.
    population
        Estimate the leakage of the distribution that the table was drawn from, rather than the
        table's own: wider intervals, and surrogates that permute records rather than reports.
    confidence
        The probability with which each interval covers the true leakage, at least.
    threads
        How many pairs run at once; as many as there are cores by default.
    progress
        Called with the number of estimates done and of those in all.
    table_options
        Table options of `count_pairs`.

    Returns
    -------
    LeakageEstimates
        Indexed by `[target, source]`; its matrices have targets as rows and sources as columns.

    Notes
    -----
    Nothing is limited to epsilon.  A report that came with one target value and never with
    another makes the plug-in estimate infinite, which `cautions` lists.  The leakage that is
    estimated is that among target values which occur in the table; of a sample of records,
    `cautions` say so.  Costs O(surrogates m l + m t l + m^2 t l) for m target values, t source
    values and l reports; 0.1 us for each cell of each surrogate.

    Examples
    --------
    >>> import seepage as sp
    >>> found = estimate_leakage(
    ...     "adult", 1.0, mechanism="grr", pairs=[("sex", "occupation")], surrogates=99, seed=7
    ... )
    >>> one = found["sex", "occupation"]
    >>> exact = sp.leakage_matrix(sp.load_pairs("adult"), 1.0, mechanism="grr")
    >>> one.lower < exact["sex", "occupation"].value < one.upper, one.p_value
    (True, 0.01)
    """
    _checks.progress(progress)
    drawn = secrets.randbits(63) if seed is None else seed
    settings = EstimateSettings(replicas, surrogates, drawn, view, method, population, confidence)
    known: PairCounts | Records
    if sources is None:
        known = as_pairs(data, **table_options)
        keys = _ordered_pairs(known, target, pairs)
    else:
        if target is None or pairs is not None or isinstance(sources, str):
            raise InputError("sources must be a list of names, with a target and without pairs")
        names = (target, *sources)
        known = as_records(data, **_only(names, table_options)).select(names)
        keys = [tuple(range(len(names)))]
    mechanisms = mechanisms_of(known.domain, epsilon, mechanism, delta)
    if known.records * settings.replicas > MAX_REPORTS:
        raise InputError(
            f"records times replicas must be at most {MAX_REPORTS:,}, "
            f"got {known.records:,} times {_checks.shown(replicas)}"
        )
    make = partial(make_task, known, mechanisms, settings.view)
    found: dict[Key, LeakageEstimate] = {}
    for key, estimate in _estimates(keys, make, settings, _threads(threads)):
        found[key] = replace(estimate, population=known.population)
        if progress is not None:
            progress(len(found), len(keys))
    return LeakageEstimates(known.domain, found, settings)


def mechanisms_of(
    domain: Domain, epsilon: Any, mechanism: Any, delta: Any = 0.0
) -> list[Mechanism]:
    """Return the mechanism of each attribute; an attribute without one raises an InputError."""
    if mechanism is None:
        raise InputError(f"mechanism must be one of {', '.join(registered())}, got None")
    how = [release.mechanism for release in releases(domain, epsilon, mechanism, delta)]
    missing = [name for name, made in zip(domain.names, how, strict=True) if made is None]
    if missing:
        raise InputError(f"mechanism must be given for every attribute, {missing[0]!r} has none")
    return cast("list[Mechanism]", how)


def _only(names: Sequence[str], table_options: dict[str, Any]) -> dict[str, Any]:
    """Return table options that read these attributes alone, the target first."""
    if len(names) < 2 or len(set(names)) < len(names):
        raise InputError("sources must be one or more names, none twice, and not the target")
    renamed = table_options.get("rename") or {}
    rename = {old: new for old, new in renamed.items() if new in names}
    back = {new: old for old, new in rename.items()}
    columns = [back.get(name, name) for name in names]
    drop = [name for name in table_options.get("drop") or () if name in columns]
    options = {**table_options, "columns": columns, "rename": rename, "drop": drop}
    if isinstance(options.get("bins"), Mapping):
        options["bins"] = {name: b for name, b in options["bins"].items() if name in names}
    return options


def _ordered_pairs(
    counts: PairCounts, target: str | None, pairs: Iterable[tuple[str, str]] | None
) -> list[Key]:
    """Return the numbers of the pairs to estimate, each once."""
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
        raise InputError("pairs must be a list of two names each, (target, source)")
    chosen = dict.fromkeys((domain.index(x), domain.index(u)) for x, u in named)
    for x, u in chosen:
        if x == u:
            raise DomainError(f"{domain.names[x]!r} is no source about itself")
    return list(chosen)


def _threads(threads: int | None) -> int:
    """Return how many threads to use; by default one for each core that this process may use."""
    if threads is not None:
        return _checks.integer(threads, "threads", 1)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _estimates(
    keys: Sequence[Key], make: Callable[[Key], Task], settings: EstimateSettings, threads: int
) -> Iterator[tuple[Key, LeakageEstimate]]:
    """Yield each task's estimate as soon as it is there; an exception ends all threads."""
    stopped = threading.Event()

    def pulse() -> None:
        if stopped.is_set():
            raise CancelledError

    with ThreadPoolExecutor(threads) as pool:
        running = {
            pool.submit(lambda key: make(key).estimate(settings, pulse), key): key for key in keys
        }
        try:
            for future in as_completed(running):
                yield running[future], future.result()
        finally:
            stopped.set()
            pool.shutdown(cancel_futures=True)
