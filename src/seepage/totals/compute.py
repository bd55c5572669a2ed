"""`total_leakage`: from a table, budgets and a guarantee's name to the totals."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Floats, round_down
from seepage.domain import Domain
from seepage.errors import DomainError
from seepage.leakage import LeakageMatrix, releases
from seepage.leakage.release import VIEWS, View
from seepage.pairs import PairCounts
from seepage.totals.columns import columns_of
from seepage.totals.exact import exact_totals, fits
from seepage.totals.groups import group_totals
from seepage.totals.merged import merged_totals
from seepage.totals.result import (
    GUARANTEES,
    GuaranteeError,
    JointWitness,
    Progress,
    TotalLeakage,
)
from seepage.totals.sampled import Sampled, sampled_totals
from seepage.totals.search import search_witness
from seepage.totals.structure import Forest, read_structure
from seepage.totals.sums import independent_totals, worst_totals
from seepage.totals.tree import forest_totals
from seepage.tuples import Tuples

__all__ = ["Settings", "choose_guarantee", "compute", "prepare", "total_leakage"]

FROM_PAIRS = ("worst", "independent", "tree")
"""Guarantees that pair counts suffice for."""


@dataclass(frozen=True)
class Settings:
    """What the guarantees may be told; see `total_leakage`."""

    structure: Any = None
    target_delta: float = 0.01
    confidence: float = 0.95
    reports: int = 20_000
    seed: int | None = 0
    progress: Progress | None = None

    def __post_init__(self) -> None:
        _checks.whole(self.reports, "reports", 1)
        for name in ("target_delta", "confidence"):
            value = _checks.probability(getattr(self, name), name)
            if value in (0, 1):
                raise DomainError(f"{name} must be above 0 and below 1, got {value:g}")


def total_leakage(
    data: Any,
    epsilon: Any,
    mechanism: Any = None,
    guarantee: str = "auto",
    *,
    delta: Any = 0.0,
    view: View = "report",
    structure: Any = None,
    target_delta: float = 0.01,
    confidence: float = 0.95,
    reports: int = 20_000,
    seed: int | None = 0,
    progress: Progress | None = None,
    **table: Any,
) -> TotalLeakage:
    """Return how much each attribute leaks in all, under a named guarantee.

    Parameters
    ----------
    data
        Records: any table that `count_pairs` takes, or `Tuples`; or `PairCounts`, with which
        only `"worst"`, `"independent"` and `"tree"` can be computed.
    epsilon, delta
        The budget of every attribute, or one for each (a sequence, or a mapping by name).
    mechanism
        None where only budgets are known: `"exact"` and `"witness"` then range over all
        mechanisms with these budgets, and `"sampled"` takes GRR for binary attributes, of which
        all others are post-processings, and refuses larger ones.  Or a registered name, or one
        for each attribute.
    guarantee
        What the totals rest on [THEORY section 7]:

        * `"worst"`, `"exact"`, `"merged"`: certified for the table's own joint distribution;
        * `"sampled"`: holds with `target_delta`, and for all attributes at once with
          `confidence` over the reports drawn;
        * `"independent"`, `"tree"`: right under an assumption only, and kinds say so;
        * `"witness"`: a lower bound, found by search;
        * `"auto"`: with records `"exact"` where it fits, else `"sampled"` (or `"merged"` where
          a mechanism is not known); with pair counts `"independent"`.
    view
        What the adversary keeps: the whole `"report"` or a value `"inferred"` from it.
    structure
        For `"tree"`: edges as pairs of names, a `Forest`, or `Groups`.
    target_delta, confidence, reports
        For `"sampled"`: the delta of the totals, the confidence of all of them together, and how
        many reports are drawn.
    seed
        For `"sampled"` and `"witness"`; the same seed gives the same numbers.
    progress
        Called with the work done and the work in all.
    table
        For a table: options of `seepage.table.TableOptions`, such as `columns` and `bins`.

    Returns
    -------
    TotalLeakage
        Totals in the order of the attributes, with kind, deltas, DPL, CPL, TCPL and evidence.

    Notes
    -----
    A guarantee that lacks what it needs is refused with `GuaranteeError`, the size and a way
    out.  For costs see the module of each guarantee.

    Examples
    --------
    Two fair coins and whether they differ: each coin alone says nothing about the third
    attribute, both together do.

    >>> import seepage as sp
    >>> domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")])
    >>> coins = Tuples(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    >>> total = total_leakage(coins, epsilon=1.0, mechanism="grr")
    >>> total.guarantee, total.kind, total.values.round(4).tolist()
    ('exact', 'certified', [1.4338, 1.4338, 1.4338])
    >>> total_leakage(coins.pairs(), epsilon=1.0, mechanism="grr").values.round(4).tolist()
    [1.0, 1.0, 1.0]
    """
    settings = Settings(structure, target_delta, confidence, reports, seed, progress)
    _checks.choice(guarantee, "guarantee", ("auto", *GUARANTEES))
    known, matrix = prepare(data, epsilon, mechanism, delta, view, guarantee, **table)
    if guarantee == "auto":
        guarantee = _auto(known, matrix)
    return compute(guarantee, known, matrix, settings)


def prepare(
    data: Any,
    epsilon: Any,
    mechanism: Any,
    delta: Any,
    view: View,
    guarantee: str = "auto",
    **table: Any,
) -> tuple[PairCounts | Tuples, LeakageMatrix]:
    """Return the data as pair counts or tuples, and the pairwise leakages at the budgets."""
    _checks.choice(view, "view", VIEWS)
    if isinstance(data, (PairCounts, Tuples)):
        if table:
            raise DomainError(f"{min(table)!r} is an option of tables, and these are counted")
        known = data
    elif guarantee in ("worst", "independent"):
        from seepage.counting import count_pairs

        known = count_pairs(data, **table)
    else:
        known = Tuples.from_records(data, **table)
    if not known.records:
        raise DomainError("there is no leakage without records, and this table has none")
    released = releases(known.domain, epsilon, mechanism, delta)
    pairs = known if isinstance(known, PairCounts) else known.pairs()
    return known, LeakageMatrix(pairs, released, view, {"min_count": 0.0, "prior": 0.0})


def choose_guarantee(
    data: PairCounts | Tuples, domain: Domain, mechanism: Any = None, epsilon: Any = 1.0
) -> str:
    """Return the name that `"auto"` stands for.

    Parameters
    ----------
    data
        Pair counts, or records as tuples.
    domain
        The attributes.
    mechanism, epsilon
        How they are released; budgets matter little for what fits.

    Examples
    --------
    >>> import seepage as sp
    >>> pairs = sp.load_pairs("adult")
    >>> choose_guarantee(pairs, pairs.domain)
    'independent'
    """
    pairs = data if isinstance(data, PairCounts) else data.pairs()
    released = releases(domain, epsilon, mechanism)
    return _auto(data, LeakageMatrix(pairs, released, "report", {"min_count": 0.0, "prior": 0.0}))


def _auto(data: PairCounts | Tuples, matrix: LeakageMatrix) -> str:
    if isinstance(data, PairCounts):
        return "independent"
    named = all(
        release.mechanism is not None or (attribute.size <= 2 and release.delta == 0)
        for attribute, release in zip(matrix.domain, matrix.releases, strict=True)
    )
    try:
        columns = _columns(matrix)
    except GuaranteeError:
        return "sampled" if named else "merged"
    if fits(columns, data.records):
        return "exact"
    return "sampled" if named else "merged"


def compute(
    guarantee: str, data: PairCounts | Tuples, matrix: LeakageMatrix, settings: Settings
) -> TotalLeakage:
    """Return the totals under one guarantee, or refuse with what it lacks."""
    if isinstance(data, PairCounts) and guarantee not in FROM_PAIRS:
        raise GuaranteeError(
            f"guarantee {guarantee!r} needs records, and pair counts do not tell how sources act "
            "together; give the table itself, or use 'independent' or 'worst'"
        )
    return _COMPUTE[guarantee](data, matrix, settings)


def _result(
    guarantee: str,
    matrix: LeakageMatrix,
    values: Floats,
    deltas: Floats | None = None,
    *,
    notes: tuple[str, ...] = (),
    **more: Any,
) -> TotalLeakage:
    return TotalLeakage(
        guarantee,
        GUARANTEES[guarantee],
        np.asarray(values),
        np.zeros_like(values) if deltas is None else deltas,
        matrix,
        notes=(*notes, *_unseen(matrix)),
        **more,
    )


def _unseen(matrix: LeakageMatrix) -> Iterator[str]:
    for name in matrix.domain.names:
        values = matrix.pairs.unseen(name)
        if values:
            shown = ", ".join(map(repr, values[:3])) + (", ..." if len(values) > 3 else "")
            yield f"no record has {shown} of {name!r}: totals do not speak of it"


def _columns(matrix: LeakageMatrix) -> Any:
    return columns_of(matrix.domain, matrix.releases, matrix.view)


def _capped(values: Floats, matrix: LeakageMatrix) -> Floats:
    """Return pure totals, none above the sum of all budgets."""
    worst, deltas = worst_totals(matrix)
    return np.where(deltas > 0, values, np.minimum(values, worst))


def _worst(data: Any, matrix: LeakageMatrix, settings: Settings) -> TotalLeakage:
    return _result("worst", matrix, *worst_totals(matrix))


def _independent(data: Any, matrix: LeakageMatrix, settings: Settings) -> TotalLeakage:
    return _result("independent", matrix, *independent_totals(matrix))


def _exact(data: Tuples, matrix: LeakageMatrix, settings: Settings) -> TotalLeakage:
    for release in matrix.releases:
        if release.mechanism is None and release.delta > 0:
            raise GuaranteeError(
                "exact totals need delta 0 or the mechanism's name: (epsilon, delta) alone bounds "
                "no likelihood ratio; use 'merged'"
            )
    found = exact_totals(data, _columns(matrix), settings.progress)
    values = _capped(found.values, matrix)
    return _result("exact", matrix, values, evidence=tuple(found.evidence))


def _merged(data: Tuples, matrix: LeakageMatrix, settings: Settings) -> TotalLeakage:
    found = merged_totals(data, matrix.releases, matrix.view, settings.progress)
    return _result("merged", matrix, *found)


def _witness(data: Tuples, matrix: LeakageMatrix, settings: Settings) -> TotalLeakage:
    columns = _columns(matrix)
    found: list[JointWitness | None] = []
    for target in range(len(columns)):
        found.append(search_witness(data, columns, target, settings.seed))
        if settings.progress is not None:
            settings.progress(target + 1, len(columns))
    direct = [round_down(float(column.own().max()), 8) for column in columns]
    values = [max(own, _counted(one)) for own, one in zip(direct, found, strict=True)]
    return _result("witness", matrix, np.array(values), evidence=tuple(found))


def _counted(found: JointWitness | None) -> float:
    """Return the smaller of what a witness says of the table and of people held out."""
    if found is None or found.held_out is None:
        return 0.0
    return min(found.value, found.held_out)


def _tree(data: PairCounts | Tuples, matrix: LeakageMatrix, settings: Settings) -> TotalLeakage:
    structure = read_structure(settings.structure)
    if isinstance(structure, Forest):
        found = forest_totals(matrix.pairs, matrix.releases, matrix.view, structure)
    else:
        found = group_totals(data, matrix.releases, matrix.view, structure)
    return _result("tree", matrix, *found)


def _sampled(data: Tuples, matrix: LeakageMatrix, settings: Settings) -> TotalLeakage:
    found = sampled_totals(
        data,
        matrix.releases,
        matrix.view,
        delta=settings.target_delta,
        confidence=settings.confidence,
        reports=settings.reports,
        seed=settings.seed,
        progress=settings.progress,
    )
    worst, slack = worst_totals(matrix)
    beaten = (found.values < worst) | (slack > settings.target_delta)
    beaten &= np.isfinite(found.values)
    return _result(
        "sampled",
        matrix,
        np.where(beaten, found.values, worst),
        np.where(beaten, settings.target_delta, slack),
        confidence=settings.confidence,
        notes=tuple(_rare(matrix.domain, found, settings)),
    )


def _rare(domain: Domain, found: Sampled, settings: Settings) -> Iterator[str]:
    """Yield what is too rare to certify, and how many reports would do."""
    for attribute, rare in zip(domain, found.rare, strict=True):
        if not len(rare):
            continue
        names = ", ".join(repr(attribute.values[x]) for x in rare[:3])
        more = ", ..." if len(rare) > 3 else ""
        yield (
            f"{names}{more} of {attribute.name!r} is too rare to certify at delta "
            f"{settings.target_delta:g}: the total is the worst one; about {found.enough:,} "
            "reports would do for all"
        )


_COMPUTE: dict[str, Callable[[Any, LeakageMatrix, Settings], TotalLeakage]] = {
    "worst": _worst,
    "exact": _exact,
    "merged": _merged,
    "sampled": _sampled,
    "witness": _witness,
    "independent": _independent,
    "tree": _tree,
}
