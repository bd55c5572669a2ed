"""Leakage estimated from a simulated collection: the paper's statistical method (section III).

The paper perturbs r copies of every record, lets an attacker guess each value, and counts; the
same distribution is drawn here from pair counts, in time that does not grow with the records
[theory: The statistical method].  Beside the paper's estimate, which reads too high, stand a
corrected one, a confidence interval and a p-value; `statistics` holds the parts.

What is to be estimated: which targets and sources, from which data, released how.
"""

import os
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, cast, overload

from seepage import _checks
from seepage.data.domain import Domain
from seepage.data.pairs import PairCounts
from seepage.errors import DomainError, InputError
from seepage.leakage.release import VIEWS, View, releases
from seepage.mechanisms import Mechanism, registered
from seepage.study.checkpoint import Checkpoint, run_digest
from seepage.study.distinct_records import distinct_records
from seepage.study.estimates import (
    DecidingCells,
    LeakageEstimate,
    LeakageEstimates,
    Method,
    Settings,
)
from seepage.study.estimation_task import Key, Task, joint_task, pair_task
from seepage.study.permutation import Significance
from seepage.study.running import Make, Progress, run

__all__ = [
    "DecidingCells",
    "LeakageEstimate",
    "LeakageEstimates",
    "Released",
    "Settings",
    "Significance",
    "Work",
    "estimate_leakage",
    "joint_work",
    "pair_work",
]

METHODS = ("aggregate", "records")

LARGEST_SEED = 2**63 - 1

MOST_REPORTS = 2**53
"""Shares of reports are taken in double precision, which is exact up to here."""


@overload
def estimate_leakage(
    data: Any,
    mechanism: Any,
    epsilon: Any,
    *,
    target: str,
    sources: Iterable[str],
    replicas: int = ...,
    surrogates: int = ...,
    seed: int | None = ...,
    view: View = ...,
    method: Method = ...,
    population: bool = ...,
    confidence: float = ...,
    delta: Any = ...,
    threads: int | None = ...,
    progress: Progress | None = ...,
    checkpoint: str | Path | None = ...,
) -> LeakageEstimate: ...


@overload
def estimate_leakage(
    data: Any,
    mechanism: Any,
    epsilon: Any,
    *,
    target: str | None = ...,
    sources: None = ...,
    pairs: Iterable[tuple[str, str]] | None = ...,
    replicas: int = ...,
    surrogates: int = ...,
    seed: int | None = ...,
    view: View = ...,
    method: Method = ...,
    population: bool = ...,
    confidence: float = ...,
    delta: Any = ...,
    threads: int | None = ...,
    progress: Progress | None = ...,
    checkpoint: str | Path | None = ...,
) -> LeakageEstimates: ...


def estimate_leakage(
    data: Any,
    mechanism: Any,
    epsilon: Any,
    *,
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
    checkpoint: str | Path | None = None,
) -> LeakageEstimates | LeakageEstimate:
    """Return leakages estimated from a simulated collection, with their uncertainty.

    Each of N records reports r times through the mechanism; an attacker guesses the value from
    each report; P(guess given target value) is estimated, and the leakage from it [paper,
    section III].

    Parameters
    ----------
    data
        Pair counts, or any table that `count_pairs` reads (with its default options).  For
        `sources`, a table or its distinct records (`Records`).
    mechanism
        The name of a registered mechanism, or a mapping from attribute to name or `Mechanism`.
    epsilon, delta
        The budget of every attribute, or one for each.
    target, sources
        With `sources`, what they tell about the target *together*: one `LeakageEstimate` of the
        joint report.  Settings for each attribute are those of the target and the sources, in
        this order.  With `target` alone, every other attribute as its source.
    pairs
        The ordered pairs (target, source) to estimate; all by default.
    replicas
        How often each record reports, r.
    surrogates
        How many surrogates the p-value rests on; 0 for none, and then no p-value.
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
    checkpoint
        A file to which what is done is written, whole, every few seconds and when the run ends,
        Ctrl-C included.  The same call continues from it, with bit for bit the same result.

    Returns
    -------
    LeakageEstimates
        Matrices with targets as rows and sources as columns.
    LeakageEstimate
        With `sources`.

    Notes
    -----
    Nothing is limited to epsilon.  A report that came with one target value and never with
    another makes the plug-in estimate infinite, which is said in `cautions`.  The leakage that is
    estimated is that among target values which occur in the table; of a sample of records,
    `cautions` say so.  Costs
    O(surrogates m l + m t l + m^2 t l) for m target values, t source values and l reports; 0.1 us
    for each cell of each surrogate.

    Examples
    --------
    >>> import seepage as sp
    >>> adult = sp.load_pairs("adult")
    >>> found = estimate_leakage(
    ...     adult, "grr", 1.0, pairs=[("sex", "occupation")], surrogates=99, seed=7
    ... )
    >>> one = found["sex", "occupation"]
    >>> exact = sp.leakage_matrix(adult, 1.0, mechanism="grr")["sex", "occupation"].value
    >>> one.lower < exact < one.upper, one.p_value
    (True, 0.01)
    """
    options = _options(replicas, surrogates, view, method, population, confidence)
    released = Released(epsilon, mechanism, delta, options["view"])
    if sources is not None:
        if target is None or pairs is not None or isinstance(sources, str):
            raise InputError("sources must be a list of names, with a target and without pairs")
        work = joint_work(data, (target, *sources), released)
    else:
        work = pair_work(data, target, pairs, released)
    if work.records * options["replicas"] > MOST_REPORTS:
        raise InputError(
            f"records times replicas must be at most {MOST_REPORTS:,}, "
            f"got {work.records:,} times {replicas:,}"
        )
    file = Checkpoint(checkpoint, run_digest({**options, **work.description}))
    kept, done = file.load(None if seed is None else _checks.integer(seed, "seed", 0, LARGEST_SEED))
    settings = Settings(seed=secrets.randbits(63) if kept is None else kept, **options)
    found = run(
        work.keys,
        work.make,
        settings,
        file,
        done=done,
        threads=_threads(threads),
        progress=progress,
    )
    drawn_from = getattr(data, "population", None)
    found = {key: replace(one, population=drawn_from) for key, one in found.items()}
    if sources is not None:
        return found[work.keys[0]]
    estimates = {(target, source): estimate for (target, source), estimate in found.items()}
    return LeakageEstimates(work.domain, estimates, settings)


def _options(
    replicas: int, surrogates: int, view: str, method: str, population: bool, confidence: float
) -> dict[str, Any]:
    """Return the checked settings but for the seed."""
    share = _checks.probability(confidence, "confidence")
    if not 0 < share < 1:
        raise InputError(f"confidence must be above 0 and below 1, got {confidence!r}")
    if not isinstance(population, bool):
        raise InputError(f"population must be True or False, got {population!r}")
    return {
        "replicas": _checks.integer(replicas, "replicas", 1),
        "surrogates": _checks.integer(surrogates, "surrogates", 0),
        "view": _checks.choice(view, "view", VIEWS),
        "method": _checks.choice(method, "method", METHODS),
        "population": population,
        "confidence": share,
    }


def _threads(threads: int | None) -> int:
    """Return how many threads to use; by default one for each core that this process may use."""
    if threads is not None:
        return _checks.integer(threads, "threads", 1)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Released(NamedTuple):
    """How attributes are released, as the caller said it, and what the adversary keeps."""

    epsilon: Any
    mechanism: Any
    delta: Any
    view: View

    def mechanisms(self, domain: Domain) -> list[Mechanism]:
        """Return the mechanism of each attribute."""
        if self.mechanism is None:
            raise InputError(f"mechanism must be one of {', '.join(registered())}, got None")
        how = [r.mechanism for r in releases(domain, self.epsilon, self.mechanism, self.delta)]
        missing = [name for name, made in zip(domain.names, how, strict=True) if made is None]
        if missing:
            raise InputError(
                f"mechanism must be given for every attribute, {missing[0]!r} has none"
            )
        return cast("list[Mechanism]", how)


class Work(NamedTuple):
    """What is to be estimated, and all that its numbers depend on."""

    domain: Domain
    keys: list[Key]
    make: Make
    records: int
    description: dict[str, Any]


def pair_work(
    data: Any, target: str | None, pairs: Iterable[tuple[str, str]] | None, released: Released
) -> Work:
    """Return the work of single sources about single targets."""
    counts = _counted(data)
    if not counts.records:
        raise DomainError("there is no leakage without records, and these counts have none")
    keys = _ordered_pairs(counts.domain, target, pairs)
    mechanisms = released.mechanisms(counts.domain)

    def make(key: Key) -> Task:
        return pair_task(counts, mechanisms, key[0], key[1], released.view)

    described = {
        "data": counts.digest,
        "keys": keys,
        "mechanisms": [how.describe() for how in mechanisms],
    }
    return Work(counts.domain, keys, make, counts.records, described)


def _counted(data: Any) -> PairCounts:
    """Return the pair counts of a table, of distinct records, or as they are."""
    if isinstance(data, PairCounts):
        return data
    if all(hasattr(data, part) for part in ("codes", "weights", "pairs")):
        return cast("PairCounts", data.pairs())
    from seepage.data.counting import count_pairs

    return count_pairs(data)


def _ordered_pairs(
    domain: Domain, target: str | None, pairs: Iterable[tuple[str, str]] | None
) -> list[Key]:
    """Return the numbers of the pairs to estimate, each once."""
    if pairs is None:
        targets = range(len(domain)) if target is None else [domain.index(target)]
        return [(x, u) for x in targets for u in range(len(domain)) if u != x]
    if target is not None:
        raise InputError("give either a target or pairs, not both")
    named = list(pairs)
    if any(isinstance(pair, str) or len(pair) != 2 for pair in named):
        raise InputError("pairs must be a list of two names each, (target, source)")
    chosen = dict.fromkeys((domain.index(x), domain.index(u)) for x, u in named)
    for x, u in chosen:
        if x == u:
            raise DomainError(f"{domain.names[x]!r} is no source about itself")
    return list(chosen)


def joint_work(data: Any, names: Sequence[str], released: Released) -> Work:
    """Return the work of several sources together about one target."""
    if len(names) < 2 or len(set(names)) < len(names):
        raise InputError("sources must be one or more names, none twice, and not the target")
    domain, codes, weights = distinct_records(data, names)
    mechanisms = released.mechanisms(domain)
    task = joint_task(domain, codes, weights, mechanisms, 0, range(1, len(names)), released.view)
    content = sha256(repr([(a.name, a.values) for a in domain]).encode())
    content.update(codes.tobytes() + weights.tobytes())
    described = {
        "data": content.hexdigest(),
        "mechanisms": [how.describe() for how in mechanisms],
    }
    return Work(domain, [task.key], lambda key: task, int(weights.sum()), described)
