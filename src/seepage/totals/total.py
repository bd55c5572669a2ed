"""`total_leakage`: the totals of a table under named guarantees, one or several."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import compress
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Floats
from seepage._options import option, takes
from seepage._results import Result
from seepage.analysis_options import TotalSettings
from seepage.data import sample_caution
from seepage.data.inputs import as_counted, as_pairs
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.errors import GuaranteeError
from seepage.leakage.matrix import LeakageMatrix, leakage_matrix
from seepage.leakage.release import View
from seepage.totals import (
    GUARANTEES,
    KINDS,
    NEEDS_RECORDS,
    TotalLeakage,
    begin_stage,
    check_whole_table,
    independent_totals,
    sum_totals,
    worst_totals,
)
from seepage.totals.drawn_reports import simulated_mechanisms
from seepage.totals.exact_total import check_exact_size, exact_totals
from seepage.totals.likelihood_columns import LikelihoodColumns, likelihood_columns
from seepage.totals.merged import merged_is_informative, merged_totals
from seepage.totals.population_totals import check_population_size, exact_population_totals
from seepage.totals.sampled import sampled_totals
from seepage.totals.witness_search import witness_totals

DECLARED = "for people whose values are in the domain, which is taken as declared beforehand"
"""The condition of what is certified on records that came with their domain."""

FROM_PAIRS = ("worst", "independent", "sum")
"""Guarantees that are computed from pair counts; the others need records."""


@dataclass(frozen=True, kw_only=True)
class TotalOptions(TotalSettings):
    """Options of `total_leakage`.

    Parameters
    ----------
    epsilon, delta
        The budget of every attribute, or one for each (a sequence, or a mapping by name).
    mechanism
        A registered name, or one per attribute.  None if only budgets are known: `"exact"` and
        `"witness"` then maximise over all mechanisms with these budgets; `"sampled"` simulates GRR
        for binary attributes (all others are post-processings of it) and raises for larger ones.
    guarantee
        One of `GUARANTEES`, which say what each promises; or `"auto"`: with records `"exact"` if it
        fits in memory, else `"sampled"` (or `"merged"` if a mechanism is not known); with pair
        counts `"independent"`.

        Totals of a sample of records (`sample=n` here or in `Records.from_data`, or pair counts of
        a sample) are of kind `"assumed"`, except `"worst"`: records left out may leak more.
    view
        What the adversary keeps: the whole `"report"` or the value `"inferred"` from it.
    sample
        For a table: the number of records to draw from it, see `Records.from_data`.
    scope
        `"table"`: totals of the table's own joint distribution.  `"population"`: upper
        confidence limits for the population from which its records were drawn at random, one per
        person, valid at once with probability `confidence` [theory-population]; for `"exact"`,
        `"merged"` and `"worst"`, samples included.
    """

    epsilon: Any = field(kw_only=False)
    mechanism: Any = None
    guarantee: str = "auto"
    delta: Any = 0.0
    view: View = "report"
    sample: int | None = None
    scope: str = option("table", check=partial(_checks.choice, options=("table", "population")))

    @property
    def population_confidence(self) -> float | None:
        """The confidence of totals for the population; None for those of the table."""
        return self.confidence if self.scope == "population" else None


@takes(TotalOptions)
def total_leakage(data: Any, options: TotalOptions) -> TotalLeakage:
    """Return the total privacy leakage of every attribute, under a named guarantee.

    Parameters
    ----------
    data
        A frame, a path, the name of a dataset, `Records` or `PairCounts`.  Pair counts suffice
        for `"worst"`, `"independent"` and `"sum"` only.

    Returns
    -------
    TotalLeakage
        Totals in the order of the attributes, with kind, deltas, DPL, CPL, TCPL and evidence.

    Notes
    -----
    A guarantee that cannot be computed raises a `GuaranteeError` with reason and alternative.
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
    guarantee = _checks.choice(options.guarantee, "guarantee", ("auto", *GUARANTEES))
    records = guarantee not in FROM_PAIRS
    reading = {name: value for name, value in options.reading.items() if name != "progress"}
    scope = {"scope": options.scope} if records and options.scope == "population" else {}
    if scope or options.sample is not None:
        reading |= {"sample": options.sample, "rng": options.rng, **scope}
    counted = as_counted(data, records=records or options.sample is not None, **reading)
    how = {"mechanism": options.mechanism, "view": options.view, "delta": options.delta}
    matrix = leakage_matrix(as_pairs(counted), options.epsilon, **how)
    if guarantee == "auto":
        guarantee = choose_guarantee(counted, matrix, options.scope)
    return compute_total(guarantee, counted, matrix, options)


@dataclass(frozen=True, eq=False, repr=False)
class TotalsComparison(Result):
    """Totals under several guarantees: certified first, then statistical, assumed, lower bounds.

    Parameters
    ----------
    totals
        The totals, in that order.
    unavailable
        The guarantees that could not be computed, with the reason and an alternative.
    refuted
        For each assumed guarantee the attributes whose total lies below the witness: the table
        violates the assumption there.
    """

    totals: tuple[TotalLeakage, ...]
    unavailable: dict[str, str]
    refuted: dict[str, tuple[str, ...]]

    def __getitem__(self, guarantee: str) -> TotalLeakage:
        """Return the totals under one guarantee."""
        by_guarantee = {total.guarantee: total for total in self.totals}
        _checks.choice(guarantee, "guarantee", [*by_guarantee, *self.unavailable])
        if guarantee in self.unavailable:
            raise GuaranteeError(self.unavailable[guarantee])
        return by_guarantee[guarantee]

    def chart(self, name: str = "", limits: Mapping[str, float | None] | None = None) -> Any:
        """Return all totals in one Altair chart, titled with the data's name if given.

        Refuted assumptions are marked.  With `limits` by attribute, these are drawn too, and the
        attributes are in their order.
        """
        from seepage.charts.results import totals_chart

        rows = [r for t in self.totals for r in t.chart_rows(self.refuted.get(t.guarantee, ()))]
        if limits is not None:
            rows = [r | {"limit": limits[k]} for k in limits for r in rows if r["attribute"] == k]
        return totals_chart(rows, _checks.text(name, "name"))

    def _columns(self) -> dict[str, Sequence[Any]]:
        columns: dict[str, list[Any]] = {"attribute": [], "guarantee": []}
        refuted = []
        for total in self.totals:
            for name, values in total._columns().items():
                columns.setdefault(name, []).extend(values)
            refuted_names = self.refuted.get(total.guarantee, ())
            refuted += [name in refuted_names for name in total.domain.names]
        return {**columns, "refuted": refuted}

    def _headline(self) -> str:
        largest = ", ".join(
            f"{t.guarantee} {t.values.max():.4g}{t.delta_text}" for t in self.totals
        )
        refuted = f"; refuted: {', '.join(self.refuted)}" if self.refuted else ""
        return f"TotalsComparison(largest totals: {largest or 'none'}{refuted})"


def compare_totals(
    counted: PairCounts | Records,
    matrix: LeakageMatrix,
    guarantees: Iterable[str],
    settings: TotalSettings,
) -> TotalsComparison:
    """Return the totals under each guarantee that can be computed, side by side.

    Sorted by kind: certified, statistical, assumed, lower bound.  An assumed total with delta 0
    that lies below the witness is refuted: the table violates the assumption.

    Examples
    --------
    >>> import seepage as sp
    >>> domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")])
    >>> coins = sp.Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]], [1000] * 4)
    >>> found = sp.analyse(coins, epsilon=1.0, mechanism="grr", guarantee="all").totals
    >>> [(total.guarantee, total.kind) for total in found.totals][:3]
    [('exact', 'certified'), ('merged', 'certified'), ('worst', 'certified')]
    >>> found.refuted
    {'independent': ('a', 'b', 'differ'), 'sum': ('a', 'b', 'differ')}
    """
    totals: list[TotalLeakage] = []
    unavailable: dict[str, str] = {}
    for guarantee in guarantees:
        begin_stage(settings.progress, f"{guarantee} totals")
        try:
            totals.append(compute_total(guarantee, counted, matrix, settings))
        except GuaranteeError as reason:
            unavailable[guarantee] = reason.text
    kinds, order = list(KINDS), list(GUARANTEES)
    totals.sort(key=lambda total: (kinds.index(total.kind), order.index(total.guarantee)))
    refuted: dict[str, tuple[str, ...]] = {}
    for witness in (total for total in totals if total.guarantee == "witness"):
        for total in (total for total in totals if total.kind == "assumed"):
            below = (total.values < witness.values) & (total.deltas == 0)
            if below.any():
                refuted[total.guarantee] = tuple(compress(total.domain.names, below))
    return TotalsComparison(tuple(totals), unavailable, refuted)


def choose_guarantee(
    data: PairCounts | Records, matrix: LeakageMatrix, scope: str = "table"
) -> str:
    """Return the guarantee that `"auto"` stands for, see `total_leakage`."""
    population = scope == "population"
    if isinstance(data, PairCounts):
        return "worst" if population else "independent"
    with suppress(GuaranteeError):
        columns = _pure_columns(matrix)
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


def compute_total(
    guarantee: str, data: PairCounts | Records, matrix: LeakageMatrix, settings: TotalSettings
) -> TotalLeakage:
    """Return the totals under one guarantee; raise a GuaranteeError if it cannot be computed."""
    if isinstance(data, PairCounts) and guarantee not in FROM_PAIRS:
        raise GuaranteeError(
            f"guarantee {guarantee!r} {NEEDS_RECORDS}, and pair counts do not tell how sources act "
            "together; give the table itself, or use 'independent' or 'worst'"
        )
    population = settings.population_confidence is not None and guarantee != "worst"
    if population:
        if guarantee not in ("exact", "merged"):
            raise GuaranteeError(
                "scope 'population' needs records and guarantee 'exact' or 'merged', or 'worst', "
                f"got {guarantee!r}"
            )
        check_whole_table(data, guarantee, "totals", "population")
    values, deltas, more = _COMPUTE[guarantee](data, matrix, settings)
    if population:
        drawn = f"for the people whom the {data.records:,} records were drawn from at random"
        fixed = getattr(data, "fixed", None)
        notes = (f"{drawn}, one record per person", *(fixed.notes() if fixed else [DECLARED]))
        more = {"confidence": settings.confidence, "scope": "population", "notes": notes}
        return TotalLeakage(guarantee, "statistical", values, deltas, matrix, **more)
    notes = (*more.pop("notes", ()), *_unseen_notes(matrix))
    kind = GUARANTEES[guarantee].kind
    total = TotalLeakage(guarantee, kind, values, deltas, matrix, notes=notes, **more)
    caution = sample_caution(data) or sample_caution(matrix.pairs)
    return total if caution is None else total.of_sample(caution)


def _unseen_notes(matrix: LeakageMatrix) -> Iterator[str]:
    """Yield a note for each attribute that has values which never occur."""
    of_sample = "" if matrix.pairs.population is None else " of the sample"
    for name in matrix.domain.names:
        values = matrix.pairs.unseen(name)
        if values:
            shown = ", ".join(map(repr, values[:3])) + (", ..." if len(values) > 3 else "")
            yield f"no record{of_sample} has {shown} of {name!r}: excluded from totals"


# One function per guarantee: values, deltas, and other fields of the `TotalLeakage` --------------

Computed = tuple[Floats, Floats, dict[str, Any]]


def _pure_columns(matrix: LeakageMatrix) -> list[LikelihoodColumns]:
    """Return the columns of totals with delta 0; raise where a likelihood ratio has no bound."""
    for release in matrix.releases:
        sets = None if release.mechanism is None else release.sets(matrix.view)
        if release.delta and (release.mechanism is None or (sets and sets.contrast == np.inf)):
            raise GuaranteeError(
                f"likelihood ratios of {release.name or 'a mechanism with this delta'} have no "
                "bound, so totals with delta 0 are infinite; use 'merged' or 'worst', which hold "
                "with a delta"
            )
    return likelihood_columns(matrix.domain, matrix.releases, matrix.view)


def _exact(data: Records, matrix: LeakageMatrix, settings: TotalSettings) -> Computed:
    columns, confidence = _pure_columns(matrix), settings.population_confidence
    if confidence is None:
        values, evidence = exact_totals(data, columns, settings.progress)
    else:
        values, evidence = exact_population_totals(data, columns, confidence, settings.progress), []
    worst, deltas = worst_totals(matrix)
    capped = np.where(deltas > 0, values, np.minimum(values, worst))
    return capped, np.zeros_like(capped), {"evidence": tuple(evidence)}


def _witness(data: Records, matrix: LeakageMatrix, settings: TotalSettings) -> Computed:
    columns = _pure_columns(matrix)
    values, evidence, names = witness_totals(data, columns, settings.rng, settings.progress)
    note = f"witness: nothing beyond the own report was found for {', '.join(names)}"
    more = {"evidence": tuple(evidence), "notes": (note,) if names else ()}
    return values, np.zeros_like(values), more


def _sampled(data: Records, matrix: LeakageMatrix, settings: TotalSettings) -> Computed:
    delta = settings.target_delta
    values, rare, sufficient = sampled_totals(data, matrix.releases, matrix.view, settings)
    worst, slack = worst_totals(matrix)
    better = np.isfinite(values) & ((values < worst) | (slack > delta))
    note = (
        f"values too rare to certify at delta {delta:g}, so that the total is the worst one: "
        f"{', '.join(rare)}; about {sufficient:,} reports suffice"
    )
    more = {"confidence": settings.confidence, "notes": (note,) if rare else ()}
    return np.where(better, values, worst), np.where(better, delta, slack), more


def _merged(data: Records, matrix: LeakageMatrix, settings: TotalSettings) -> Computed:
    return *merged_totals(data, matrix, settings.population_confidence, settings.progress), {}


_COMPUTE: dict[str, Callable[[Any, LeakageMatrix, TotalSettings], Computed]] = {
    "worst": lambda data, matrix, settings: (*worst_totals(matrix), {}),
    "independent": lambda data, matrix, settings: (*independent_totals(matrix), {}),
    "sum": lambda data, matrix, settings: (*sum_totals(matrix), {}),
    "exact": _exact,
    "merged": _merged,
    "sampled": _sampled,
    "witness": _witness,
}
