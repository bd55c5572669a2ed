"""`total_leakage` and `compare_totals`: from data, budgets and a guarantee's name to the totals."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from itertools import compress
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Floats
from seepage._results import Progress, begin_stage
from seepage.data.domain import sample_caution
from seepage.data.inputs import as_counted, as_pairs
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.errors import InputError
from seepage.leakage import LeakageMatrix, leakage_matrix
from seepage.leakage.release import View
from seepage.totals.composition import (
    check_pure,
    independent_totals,
    merged_may_tell,
    merged_totals,
    worst_totals,
)
from seepage.totals.drawn_reports import simulated
from seepage.totals.exact_total import exact_totals, fits
from seepage.totals.population_totals import SCOPES, exact_population_totals, population_fits
from seepage.totals.report_columns import columns_of
from seepage.totals.result import (
    GUARANTEES,
    KINDS,
    GuaranteeError,
    TotalLeakage,
    TotalsComparison,
)
from seepage.totals.sampled import sampled_totals
from seepage.totals.tree import structure_totals
from seepage.totals.witness_search import witness_totals

FROM_PAIRS = ("worst", "independent", "tree")
"""Guarantees that pair counts suffice for."""


@dataclass(frozen=True)
class TotalSettings:
    """Settings of single guarantees; see `total_leakage`."""

    structure: Any = None
    target_delta: float = 0.01
    confidence: float = 0.95
    reports: int = 20_000
    seed: int | None = 0
    progress: Progress | None = None
    scope: str = "table"

    def __post_init__(self) -> None:
        _checks.choice(self.scope, "scope", SCOPES)
        if _checks.integer(self.reports, "reports", 1) > _checks.MAX_RECORDS:
            raise InputError(f"reports must be at most 2^53, got {_checks.shown(self.reports)}")
        _checks.progress(self.progress)
        _checks.inner_probability(self.target_delta, "target_delta")
        _checks.inner_probability(self.confidence, "confidence")

    @property
    def people(self) -> float | None:
        """The confidence with which totals hold for the people behind the table; else None."""
        return self.confidence if self.scope == "population" else None

    @classmethod
    def split(cls, options: dict[str, Any]) -> tuple["TotalSettings", dict[str, Any]]:
        """Return the settings among some options, and the other options."""
        own = {field.name for field in fields(cls)}
        chosen = {name: options[name] for name in options if name in own}
        return cls(**chosen), {n: value for n, value in options.items() if n not in own}


def total_leakage(
    data: Any,
    epsilon: Any,
    *,
    mechanism: Any = None,
    guarantee: str = "auto",
    delta: Any = 0.0,
    view: View = "report",
    sample: int | None = None,
    structure: Any = None,
    target_delta: float = 0.01,
    confidence: float = 0.95,
    reports: int = 20_000,
    seed: int | None = 0,
    progress: Progress | None = None,
    scope: str = "table",
    **table_options: Any,
) -> TotalLeakage:
    """Return how much each attribute leaks in all, under a named guarantee.

    Parameters
    ----------
    data
        A frame, a path, the name of a dataset, `Records` or `PairCounts`.  Pair counts suffice
        for `"worst"`, `"independent"` and `"tree"` only.
    epsilon, delta
        The budget of every attribute, or one for each (a sequence, or a mapping by name).
    mechanism
        None where only budgets are known: `"exact"` and `"witness"` then range over all
        mechanisms with these budgets, and `"sampled"` takes GRR for binary attributes, of which
        all others are post-processings, and raises for larger ones.  Or a registered name, or one
        for each attribute.
    guarantee
        What the totals rest on [theory-totals]:

        * `"worst"`, `"exact"`, `"merged"`: certified for the table's own joint distribution;
        * `"sampled"`: holds with `target_delta`, and for all attributes at once with
          `confidence` over the reports drawn;
        * `"independent"`, `"tree"`: valid under an assumption only, and kinds say so;
        * `"witness"`: a lower bound, found by search;
        * `"auto"`: with records `"exact"` where it fits, else `"sampled"` (or `"merged"` where
          a mechanism is not known); with pair counts `"independent"`.

        Totals of a sample of records (`sample=n` here or in `Records.from_data`, and pair
        counts of such) are of kind `"assumed"`, all but `"worst"`: the people left out may have
        what leaks most.
    view
        What the adversary keeps: the whole `"report"` or a value `"inferred"` from it.
    sample
        For a table: the number of records to draw from it, see `Records.from_data`.
    structure
        For `"tree"`: edges as pairs of names, a `Forest`, or `IndependentGroups`.
    target_delta, confidence, reports
        For `"sampled"`: the delta of the totals, the confidence of all of them together (also that
        of `scope="population"`), and how many reports are drawn.
    seed
        Of everything that is drawn: the sample, the reports of `"sampled"`, the searches of
        `"witness"`.  The same seed gives the same numbers; None is another one each time.
    progress
        Called with the work done and the work in all.
    scope
        `"table"`: of the table's own joint distribution.  `"population"`: upper limits for the
        people from whom its records were drawn at random, one per person, all at once with
        `confidence` [theory-population]; `"exact"`, `"merged"` and `"worst"`, samples included.
    table_options
        Table options of `count_pairs`, such as `columns` and `bins`.

    Returns
    -------
    TotalLeakage
        Totals in the order of the attributes, with kind, deltas, DPL, CPL, TCPL and evidence.

    Notes
    -----
    A guarantee that lacks what it needs raises a `GuaranteeError` with the size and a way out.
    For costs see the module of each guarantee.

    Examples
    --------
    Two fair coins and whether they differ: each coin alone says nothing about the third
    attribute, both together do.

    >>> import seepage as sp
    >>> domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")])
    >>> coins = sp.Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    >>> total = total_leakage(coins, epsilon=1.0, mechanism="grr")
    >>> total.guarantee, total.kind, total.values.round(4).tolist()
    ('exact', 'certified', [1.4338, 1.4338, 1.4338])
    >>> total_leakage(coins.pairs(), epsilon=1.0, mechanism="grr").values.round(4).tolist()
    [1.0, 1.0, 1.0]
    """
    settings = TotalSettings(structure, target_delta, confidence, reports, seed, progress, scope)
    _checks.choice(guarantee, "guarantee", ("auto", *GUARANTEES))
    if sample is not None:
        table_options |= {"sample": sample, "seed": seed}
    records = sample is not None or guarantee not in ("worst", "independent")
    known = as_counted(data, records=records, **table_options)
    matrix = leakage_matrix(as_pairs(known), epsilon, mechanism=mechanism, view=view, delta=delta)
    chosen = choose_guarantee(known, matrix, scope) if guarantee == "auto" else guarantee
    return compute_total(chosen, known, matrix, settings)


def compare_totals(
    data: Any,
    epsilon: Any,
    *,
    guarantees: Iterable[str] = tuple(GUARANTEES),
    mechanism: Any = None,
    delta: Any = 0.0,
    view: View = "report",
    sample: int | None = None,
    **options: Any,
) -> TotalsComparison:
    """Return the totals under every guarantee that can be computed, side by side.

    Parameters
    ----------
    data, epsilon, mechanism, delta, view, sample
        As in `total_leakage`.
    guarantees
        The guarantees to compare; all by default.
    options
        The other keywords of `total_leakage` (`structure`, `target_delta`, `confidence`,
        `reports`, `seed`, `progress`), and table options of `count_pairs`.

    Returns
    -------
    TotalsComparison
        Sorted into certified, statistical, assumed and lower bounds.  An assumed total with delta
        0 that lies below the witness is refuted: the table itself has reports that say more.

    Examples
    --------
    >>> import seepage as sp
    >>> domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")])
    >>> coins = sp.Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]], [1000] * 4)
    >>> found = compare_totals(coins, epsilon=1.0, mechanism="grr")
    >>> [(total.guarantee, total.kind) for total in found.totals][:3]
    [('exact', 'certified'), ('merged', 'certified'), ('worst', 'certified')]
    >>> found.refuted
    {'independent': ('a', 'b', 'differ')}
    """
    settings, table_options = TotalSettings.split(options)
    names = [
        _checks.choice(name, "guarantee", GUARANTEES)
        for name in _checks.items(guarantees, "guarantees")
    ]
    if sample is not None:
        table_options |= {"sample": sample, "seed": settings.seed}
    known = as_counted(data, **table_options)
    matrix = leakage_matrix(as_pairs(known), epsilon, mechanism=mechanism, view=view, delta=delta)
    return compare_prepared(known, matrix, names, settings)


def compare_prepared(
    known: PairCounts | Records,
    matrix: LeakageMatrix,
    names: Iterable[str],
    settings: TotalSettings,
) -> TotalsComparison:
    """Return the comparison for data that are counted and a matrix that is there already."""
    totals: list[TotalLeakage] = []
    refused: dict[str, str] = {}
    for name in names:
        begin_stage(settings.progress, f"{name} totals")
        try:
            totals.append(compute_total(name, known, matrix, settings))
        except GuaranteeError as reason:
            refused[name] = str(reason)
    order = list(GUARANTEES)
    totals.sort(key=lambda total: (KINDS.index(total.kind), order.index(total.guarantee)))
    return TotalsComparison(tuple(totals), refused, _refuted(totals))


def _refuted(totals: list[TotalLeakage]) -> dict[str, tuple[str, ...]]:
    """Return for each assumed guarantee the attributes whose total the witness exceeds."""
    found: dict[str, tuple[str, ...]] = {}
    for witness in (total for total in totals if total.guarantee == "witness"):
        for total in (total for total in totals if total.kind == "assumed"):
            below = (total.values < witness.values) & (total.deltas == 0)
            if below.any():
                found[total.guarantee] = tuple(compress(total.domain.names, below))
    return found


def choose_guarantee(
    data: PairCounts | Records, matrix: LeakageMatrix, scope: str = "table"
) -> str:
    """Return the name that `"auto"` stands for: the strongest that data and mechanisms allow."""
    people = scope == "population"
    if isinstance(data, PairCounts):
        return "worst" if people else "independent"
    try:
        columns = columns_of(matrix.domain, matrix.releases, matrix.view)
        if population_fits(columns) if people else fits(columns, data.records):
            return "exact"
    except GuaranteeError:
        pass
    if people:
        return "merged" if merged_may_tell(data) else "worst"
    try:
        simulated(matrix.domain, matrix.releases, count=0)
    except GuaranteeError:
        return "merged"
    return "sampled"


def compute_total(
    guarantee: str, data: PairCounts | Records, matrix: LeakageMatrix, settings: TotalSettings
) -> TotalLeakage:
    """Return the totals under one guarantee, or raise a GuaranteeError with what it lacks."""
    if matrix.radius and guarantee not in ("worst", "independent"):
        raise GuaranteeError(
            f"guarantee {guarantee!r} holds for the table's own distribution, and the leakages "
            f"are robust bounds of radius {matrix.radius:g}; use 'independent' or 'worst'"
        )
    if isinstance(data, PairCounts) and guarantee not in FROM_PAIRS:
        raise GuaranteeError(
            f"guarantee {guarantee!r} needs records, and pair counts do not tell how sources act "
            "together; give the table itself, or use 'independent' or 'worst'"
        )
    people = settings.people is not None and guarantee != "worst"
    if people and guarantee not in ("exact", "merged"):
        raise GuaranteeError(
            "scope 'population' needs records and guarantee 'exact' or 'merged', or 'worst', "
            f"got {guarantee!r}"
        )
    values, deltas, more = _COMPUTE[guarantee](data, matrix, settings)
    if people:
        note = (
            f"for the people whom the {data.records:,} records were drawn from at random, one "
            "record per person"
        )
        more = {"confidence": settings.people, "notes": (note,), "scope": "population"}
        return TotalLeakage(guarantee, "statistical", values, deltas, matrix, **more)
    notes = (*more.pop("notes", ()), *_unseen(matrix))
    kind = GUARANTEES[guarantee]
    found = TotalLeakage(guarantee, kind, values, deltas, matrix, notes=notes, **more)
    caution = sample_caution(data) or sample_caution(matrix.pairs)
    return found if caution is None else found.of_sample(caution)


def _unseen(matrix: LeakageMatrix) -> Iterator[str]:
    drawn = "" if matrix.pairs.population is None else " of the sample"
    for name in matrix.domain.names:
        values = matrix.pairs.unseen(name)
        if values:
            shown = ", ".join(map(repr, values[:3])) + (", ..." if len(values) > 3 else "")
            yield f"no record{drawn} has {shown} of {name!r}: excluded from totals"


# One function for each guarantee: values, deltas, and what else the result has ------------------

Found = tuple[Floats, Floats, dict[str, Any]]


def _exact(data: Records, matrix: LeakageMatrix, settings: TotalSettings) -> Found:
    check_pure(matrix)
    columns = columns_of(matrix.domain, matrix.releases, matrix.view)
    if settings.people is None:
        values, evidence = exact_totals(data, columns, settings.progress)
    else:
        values = exact_population_totals(data, columns, settings.people, settings.progress)
        evidence = []
    worst, deltas = worst_totals(matrix.releases, matrix.view)
    capped = np.where(deltas > 0, values, np.minimum(values, worst))
    return capped, np.zeros_like(capped), {"evidence": tuple(evidence)}


def _witness(data: Records, matrix: LeakageMatrix, settings: TotalSettings) -> Found:
    columns = columns_of(matrix.domain, matrix.releases, matrix.view)
    values, evidence, without = witness_totals(data, columns, settings.seed, settings.progress)
    notes = []
    if without:
        notes.append(f"witness: nothing beyond the own report was found for {', '.join(without)}")
    return values, np.zeros_like(values), {"evidence": tuple(evidence), "notes": notes}


def _sampled(data: Records, matrix: LeakageMatrix, settings: TotalSettings) -> Found:
    delta = settings.target_delta
    found = sampled_totals(
        data,
        matrix.releases,
        matrix.view,
        delta=delta,
        confidence=settings.confidence,
        reports=settings.reports,
        seed=settings.seed,
        progress=settings.progress,
    )
    worst, slack = worst_totals(matrix.releases, matrix.view)
    beaten = np.isfinite(found.values) & ((found.values < worst) | (slack > delta))
    notes = []
    if found.rare:
        notes.append(
            f"values too rare to certify at delta {delta:g}, so that the total is the worst one: "
            f"{', '.join(found.rare)}; about {found.enough:,} reports would do for all"
        )
    values, deltas = np.where(beaten, found.values, worst), np.where(beaten, delta, slack)
    return values, deltas, {"confidence": settings.confidence, "notes": notes}


def _merged(data: Records, matrix: LeakageMatrix, settings: TotalSettings) -> Found:
    how = matrix.releases, matrix.view, settings.people, settings.progress
    return *merged_totals(data, *how), {}


def _tree(data: PairCounts | Records, matrix: LeakageMatrix, settings: TotalSettings) -> Found:
    return *structure_totals(data, matrix.releases, matrix.view, settings.structure), {}


_COMPUTE: dict[str, Callable[[Any, LeakageMatrix, TotalSettings], Found]] = {
    "worst": lambda data, matrix, settings: (*worst_totals(matrix.releases, matrix.view), {}),
    "independent": lambda data, matrix, settings: (*independent_totals(matrix), {}),
    "exact": _exact,
    "merged": _merged,
    "sampled": _sampled,
    "witness": _witness,
    "tree": _tree,
}
