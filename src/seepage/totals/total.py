"""`total_leakage`: the totals of a table by a guarantee, of all reports or of some."""

import math
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Unpack

import numpy as np

from seepage._core import checks
from seepage._core.errors import GuaranteeError
from seepage.channel.pairs import PairCounts
from seepage.channel.records import Records
from seepage.confidence.total_limits import check_population_size
from seepage.leakage.matrix import LeakageMatrix, matrix_of
from seepage.leakage.release_options import ReleaseOptions
from seepage.mechanisms.likelihood_columns import pure_columns
from seepage.mechanisms.release import Release, View
from seepage.tables.read import as_counted, as_pairs
from seepage.tables.table_options import TableKeywords, check_keywords
from seepage.totals.composition import MAX_RADIUS
from seepage.totals.compute_total import compute_total, population_total
from seepage.totals.drawn_reports import simulated_mechanisms
from seepage.totals.exact_total import check_exact_size
from seepage.totals.guarantees import FROM_PAIRS, GUARANTEES
from seepage.totals.joint_witness import JointWitness
from seepage.totals.total_result import TotalLeakage
from seepage.totals.total_settings import TotalSettings

CONSTRAINTS: dict[str, checks.Check] = {
    "scope": partial(checks.choice, options=("table", "population")),
    "sources": checks.texts,
    "own": checks.flag,
}
"""What each option of `total_leakage` alone must be; guarantees depend on the data."""


@dataclass(frozen=True, kw_only=True)
class TotalOptions(ReleaseOptions, TotalSettings):
    """Options of `total_leakage`, which describes them."""

    guarantee: str = "auto"
    sources: Sequence[str] | None = None
    own: bool = True
    sample: int | None = None
    scope: str = "table"

    def __post_init__(self) -> None:
        """Check the options of totals."""
        super().__post_init__()
        checks.constrain(self, CONSTRAINTS)


def total_leakage(
    data: Any,
    epsilon: Any,
    *,
    mechanism: Any = None,
    view: View = "report",
    delta: Any = 0.0,
    guarantee: str = "auto",
    sources: Sequence[str] | None = None,
    own: bool = True,
    sample: int | None = None,
    scope: str = "table",
    target_delta: float = 0.01,
    confidence: float = 0.95,
    reports: int = 20_000,
    rng: Any = 0,
    **table: Unpack[TableKeywords],
) -> TotalLeakage:
    """Return the total privacy leakage of every attribute, under a named guarantee.

    Parameters
    ----------
    data
        A frame, a path, the name of a dataset, `Records` or `PairCounts`.  Pair counts
        suffice for `"worst"`, `"independent"` and `"sum"` only.
    epsilon
        The privacy budget of every attribute.  Or one for each: a sequence, or a
        mapping by name, with `"*"` for all others.
    mechanism
        A mechanism, such as `"grr"`; by default the bound over all with this budget.  A
        registered name or an object, or one for each attribute.
    view
        `"report"`: the adversary keeps the whole report; `"inferred"`: only the
        inferred value. Privacy claims are of the report; the paper's attacker keeps the
        value.
    delta
        Delta of (epsilon, delta)-LDP.  Or one for each attribute.
    guarantee
        One of `GUARANTEES`, which say what each promises; or `"auto"`: with records
        `"exact"` if it fits in memory, else `"sampled"` (or `"merged"` if a mechanism
        is not known); with pair counts `"independent"`.  If only budgets are known,
        `"exact"` and `"witness"` maximise over all mechanisms with these; `"sampled"`
        simulates GRR for binary attributes (all others are post-processings of it) and
        raises for larger ones.

        Totals of a sample of records (`sample=n` here or in `Records.from_data`, or
        pair counts of a sample) are of kind `"assumed"`, except `"worst"`: records left
        out may leak more.
    sources
        The attributes whose reports the adversary sees; all by default.  Public
        attributes are always seen.
    own
        Whether these include the target's own report.  Without it the total is that of
        other sources, L(Z -> X_k) [paper, II-D].
    sample
        For a table: the number of records to draw from it, see `Records.from_data`.
    scope
        `"table"`: totals of the table's own joint distribution.  `"population"`: upper
        confidence limits for the population from which its records were drawn at
        random, one per person, valid at once with probability `confidence`
        [theory-population]; for `"exact"`, `"merged"` and `"worst"`, samples included.
    target_delta
        The delta of sampled totals.
    confidence
        The confidence of all totals together, if they are sampled or for the
        population.
    reports
        Number of reports drawn for sampled totals.
    rng
        Seed of the sample, of sampled and witness totals, and of people drawn.
    **table
        How the data are read: `columns`, `drop`, `bins`, `missing`, `max_values`,
        `missing_markers`, `delimiter`, `column_names`, `encoding`, `domain`, `pool`,
        `person`, `engine`, `progress`; see `TableKeywords`.

    Returns
    -------
    TotalLeakage
        Totals in the order of the attributes, with kind, deltas, DPL, CPL, TCPL and
        evidence.

    Notes
    -----
    A guarantee that cannot be computed raises a `GuaranteeError` with reason and
    alternative. For costs see the module of each guarantee; without the own report one
    total for each attribute that is a source.

    Examples
    --------
    Two fair coins and whether they differ: each coin alone says nothing about the third
    attribute, both together do.

    >>> import seepage as sp
    >>> domain = sp.Domain(
    ...     [sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")]
    ... )
    >>> coins = sp.Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    >>> total = total_leakage(coins, epsilon=1.0, mechanism="grr")
    >>> total.guarantee, total.kind, total.values.round(4).tolist()
    ('exact', 'certified', [1.4338, 1.4338, 1.4338])
    >>> total_leakage(coins.pairs(), epsilon=1.0, mechanism="grr").values.round(
    ...     4
    ... ).tolist()
    [1.0, 1.0, 1.0]

    What the two coins together tell about whether they differ, and each about itself
    without its own report:

    >>> others = total_leakage(
    ...     coins, epsilon=1.0, mechanism="grr", sources=["a", "b"], own=False
    ... )
    >>> others.values.round(4).tolist()
    [0.0, 0.0, 0.4338]
    """
    check_keywords(table, total_leakage)
    options = TotalOptions(
        epsilon=epsilon,
        mechanism=mechanism,
        view=view,
        delta=delta,
        guarantee=guarantee,
        sources=sources,
        own=own,
        sample=sample,
        scope=scope,
        target_delta=target_delta,
        confidence=confidence,
        reports=reports,
        rng=rng,
        **table,
    )
    return total_of_data(data, options)


def total_of_data(data: Any, options: TotalOptions) -> TotalLeakage:
    """Return the totals of a table under the guarantee of the options."""
    names = ("auto", *GUARANTEES)
    guarantee = checks.choice(options.guarantee, "guarantee", names)
    counted = _counted(data, options, needs_records=guarantee not in FROM_PAIRS)
    matrix = matrix_of(as_pairs(counted), options)
    if options.sources is not None or not options.own:
        return _total_of_sources(guarantee, counted, matrix, options)
    if guarantee == "auto":
        guarantee = choose_guarantee(counted, matrix, options.scope)
    return _total_of_releases(guarantee, counted, matrix, options)


def _total_of_releases(
    guarantee: str,
    counted: PairCounts | Records,
    matrix: LeakageMatrix,
    options: TotalOptions,
    claims: int | None = None,
) -> TotalLeakage:
    """Return the totals of all reports of a matrix, for the scope of the options."""
    if options.scope == "population" and guarantee != "worst":
        return population_total(guarantee, counted, matrix, options, claims)
    return compute_total(guarantee, counted, matrix, options)


def _total_of_sources(
    guarantee: str,
    counted: PairCounts | Records,
    matrix: LeakageMatrix,
    options: TotalOptions,
) -> TotalLeakage:
    """Return the totals of the reports of some sources, with or without the own one."""
    names = matrix.domain.names
    sources = tuple(names if options.sources is None else options.sources)
    seen = [matrix.domain.index(name) for name in dict.fromkeys(sources)]
    seen += [k for k, release in enumerate(matrix.releases) if release.public]
    runs = _runs(sorted(set(seen)), len(names), options.own)
    shared = options
    if options.scope != "population":
        shared = replace(options, confidence=1 - (1 - options.confidence) / len(runs))
    base = only(matrix, seen)
    if guarantee == "auto":
        try:
            totals = [_total_of_run("exact", counted, matrix, shared, r) for r in runs]
        except GuaranteeError:
            guarantee = choose_guarantee(counted, base, options.scope)
        else:
            return _joined(totals, runs, base, options)
    totals = [_total_of_run(guarantee, counted, matrix, shared, run) for run in runs]
    return _joined(totals, runs, base, options)


@dataclass(frozen=True)
class Run:
    """The reports of some attributes, and the targets whose totals they are for.

    Parameters
    ----------
    seen
        The attributes whose reports are seen.
    targets
        The targets.
    """

    seen: tuple[int, ...]
    targets: tuple[int, ...]


def _runs(seen: Sequence[int], count: int, own: bool) -> list[Run]:
    """Return a run for each set of reports that totals are of: for a target that is not
    a source, and without its own report for one that is.
    """
    runs = [Run(tuple(seen), (k,)) for k in range(count) if k not in seen]
    if own and seen:
        return [Run(tuple(seen), tuple(seen)), *runs]
    without_own = [Run(tuple(j for j in seen if j != k), (k,)) for k in seen]
    return [*runs, *without_own]


def _total_of_run(
    guarantee: str,
    counted: PairCounts | Records,
    matrix: LeakageMatrix,
    options: TotalOptions,
    run: Run,
) -> TotalLeakage:
    """Return the totals of a run, from the attributes that it is about only."""
    needed = sorted({*run.seen, *run.targets})
    part = only(matrix, run.seen)
    selected = LeakageMatrix(
        part.pairs.select(needed),
        [part.releases[k] for k in needed],
        part.view,
        part.smoothing,
    )
    claims = len(matrix.domain)  # a total of each attribute is read, in one of the runs
    return _total_of_releases(
        guarantee, counted.select(needed), selected, options, claims
    )


def _joined(
    totals: Sequence[TotalLeakage],
    runs: Sequence[Run],
    matrix: LeakageMatrix,
    options: TotalOptions,
) -> TotalLeakage:
    """Return the totals of all runs as one result."""
    names = matrix.domain.names
    values = np.zeros(len(names))
    deltas = np.zeros(len(names))
    evidence: list[JointWitness | None] = [None] * len(names)
    notes = dict[str, None]()
    for run, total in zip(runs, totals, strict=True):
        notes |= dict.fromkeys(total.notes)
        for k in run.targets:
            place = total.domain.index(names[k])
            values[k] = total.values[place]
            deltas[k] = total.deltas[place]
            if total.evidence:
                evidence[k] = total.evidence[place]
    confidence = None
    if totals[0].confidence is not None:
        confidence = options.confidence
    return replace(
        totals[0],
        values=values,
        deltas=deltas,
        matrix=matrix,
        confidence=confidence,
        evidence=tuple(evidence),
        notes=tuple(notes),
        sources=None if options.sources is None else tuple(options.sources),
        own=options.own,
    )


def only(matrix: LeakageMatrix, seen: Collection[int]) -> LeakageMatrix:
    """Return the matrix for a total in which the attributes that are not seen have
    budget 0.
    """
    released = [
        release if k in seen or release.public else Release(0.0)
        for k, release in enumerate(matrix.releases)
    ]
    return LeakageMatrix(
        matrix.pairs, released, matrix.view, matrix.smoothing, matrix.uncertainty
    )


def _counted(
    data: Any, options: TotalOptions, needs_records: bool
) -> PairCounts | Records:
    """Return the records or pair counts that totals are computed from."""
    reading = dict(options.reading)
    reading.pop("progress", None)
    for_population = needs_records and options.scope == "population"
    is_sampled = options.sample is not None
    if for_population or is_sampled:
        reading["sample"] = options.sample
        reading["rng"] = options.rng
    if for_population:
        reading["scope"] = options.scope
    return as_counted(data, records=needs_records or is_sampled, **reading)


def choose_guarantee(
    data: PairCounts | Records, matrix: LeakageMatrix, scope: str = "table"
) -> str:
    """Return the guarantee of totals that `"auto"` stands for, see `total_leakage`."""
    population = scope == "population"
    if isinstance(data, PairCounts):
        return "worst" if population else "independent"
    with suppress(GuaranteeError):
        columns = pure_columns(matrix)
        if population:
            check_population_size(columns)
        else:
            check_exact_size(columns, data.records)
        return "exact"
    if population:
        return "merged" if merged_is_informative(data) else "worst"
    with suppress(GuaranteeError):
        simulated_mechanisms(matrix.domain, matrix.releases, count=0)
        return "sampled"
    return "merged"


def merged_is_informative(data: Records) -> bool:
    """Return whether `merged` totals for the population are computed, see
    `MAX_RADIUS`.
    """
    sizes = data.domain.sizes
    cells = min(math.prod(sizes) / size for size in sizes)
    return cells * math.log(2.0) <= MAX_RADIUS * data.records


# Totals by guarantee ------------------------------------------------------------------
