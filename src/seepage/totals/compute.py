"""How the totals of each guarantee are computed, from data at hand to the result."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Floats, round_down
from seepage.data.domain import Domain, sample_caution
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.errors import InputError
from seepage.leakage import LeakageMatrix
from seepage.totals.composition import independent_totals, merged_totals, worst_totals
from seepage.totals.exact_total import exact_totals
from seepage.totals.groups import group_totals
from seepage.totals.report_columns import columns_of
from seepage.totals.result import (
    GUARANTEES,
    GuaranteeError,
    JointWitness,
    Progress,
    TotalLeakage,
)
from seepage.totals.sampled import Sampled, sampled_totals
from seepage.totals.tree import Forest, forest_totals, read_structure
from seepage.totals.witness_search import search_witness

__all__ = ["Settings", "compute"]

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
        _checks.integer(self.reports, "reports", 1)
        for name in ("target_delta", "confidence"):
            value = _checks.probability(getattr(self, name), name)
            if value in (0, 1):
                raise InputError(f"{name} must be above 0 and below 1, got {value:g}")


def compute(
    guarantee: str, data: PairCounts | Records, matrix: LeakageMatrix, settings: Settings
) -> TotalLeakage:
    """Return the totals under one guarantee, or refuse with what it lacks."""
    if isinstance(data, PairCounts) and guarantee not in FROM_PAIRS:
        raise GuaranteeError(
            f"guarantee {guarantee!r} needs records, and pair counts do not tell how sources act "
            "together; give the table itself, or use 'independent' or 'worst'"
        )
    found = _COMPUTE[guarantee](data, matrix, settings)
    caution = sample_caution(data) or sample_caution(matrix.pairs)
    return found if caution is None else _of_sample(found, caution)


def _of_sample(found: TotalLeakage, caution: str) -> TotalLeakage:
    """Return totals of a sample for what they are: right if it is like the whole table.

    The sum of all budgets holds whatever the records; the leakages beside it are the sample's.
    """
    if found.guarantee == "worst":
        return replace(found, notes=(f"leakages of pairs: {caution}", *found.notes))
    return replace(found, kind="assumed", notes=(caution, *found.notes))


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
    drawn = "" if matrix.pairs.population is None else " of the sample"
    for name in matrix.domain.names:
        values = matrix.pairs.unseen(name)
        if values:
            shown = ", ".join(map(repr, values[:3])) + (", ..." if len(values) > 3 else "")
            yield f"no record{drawn} has {shown} of {name!r}: totals do not speak of it"


def _capped(values: Floats, matrix: LeakageMatrix) -> Floats:
    """Return pure totals, none above the sum of all budgets."""
    worst, deltas = worst_totals(matrix)
    return np.where(deltas > 0, values, np.minimum(values, worst))


def _worst(data: Any, matrix: LeakageMatrix, settings: Settings) -> TotalLeakage:
    return _result("worst", matrix, *worst_totals(matrix))


def _independent(data: Any, matrix: LeakageMatrix, settings: Settings) -> TotalLeakage:
    return _result("independent", matrix, *independent_totals(matrix))


def _exact(data: Records, matrix: LeakageMatrix, settings: Settings) -> TotalLeakage:
    for release in matrix.releases:
        if release.mechanism is None and release.delta > 0:
            raise GuaranteeError(
                "exact totals need delta 0 or the mechanism's name: (epsilon, delta) alone bounds "
                "no likelihood ratio; use 'merged'"
            )
    found = exact_totals(
        data, columns_of(matrix.domain, matrix.releases, matrix.view), settings.progress
    )
    values = _capped(found.values, matrix)
    return _result("exact", matrix, values, evidence=tuple(found.evidence))


def _merged(data: Records, matrix: LeakageMatrix, settings: Settings) -> TotalLeakage:
    found = merged_totals(data, matrix.releases, matrix.view, settings.progress)
    return _result("merged", matrix, *found)


def _witness(data: Records, matrix: LeakageMatrix, settings: Settings) -> TotalLeakage:
    columns = columns_of(matrix.domain, matrix.releases, matrix.view)
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


def _tree(data: PairCounts | Records, matrix: LeakageMatrix, settings: Settings) -> TotalLeakage:
    structure = read_structure(settings.structure)
    if isinstance(structure, Forest):
        found = forest_totals(matrix.pairs, matrix.releases, matrix.view, structure)
    else:
        found = group_totals(data, matrix.releases, matrix.view, structure)
    return _result("tree", matrix, *found)


def _sampled(data: Records, matrix: LeakageMatrix, settings: Settings) -> TotalLeakage:
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
            f"{attribute.name!r}: {names}{more} too rare to certify at delta "
            f"{settings.target_delta:g}, so its total is the worst one; about {found.enough:,} "
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
