"""`compute_total`: the totals of a table by one guarantee, each in its own way."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import GuaranteeError
from seepage._core.text import sample_caution
from seepage.channel.pairs import PairCounts
from seepage.channel.records import Records
from seepage.confidence.level_of_maxima import level_of_maxima
from seepage.confidence.total_limits import exact_population_totals
from seepage.leakage.matrix import LeakageMatrix
from seepage.mechanisms.likelihood_columns import pure_columns
from seepage.tables.read import check_domain_stands
from seepage.totals.composition import (
    independent_totals,
    merged_totals,
    sum_totals,
    worst_totals,
)
from seepage.totals.exact_total import exact_totals
from seepage.totals.guarantees import FROM_PAIRS, GUARANTEES, NEEDS_RECORDS
from seepage.totals.joint_witness import JointWitness
from seepage.totals.sampled_total import sampled_totals
from seepage.totals.total_result import TotalLeakage
from seepage.totals.total_settings import TotalSettings
from seepage.totals.witness_search import witness_totals

DECLARED = (
    "for people whose values are in the domain, which is taken as declared beforehand"
)
"""The condition of what is certified on records that came with their domain."""


def _need_records(guarantee: str, data: PairCounts | Records) -> None:
    """Raise a GuaranteeError for pair counts if a guarantee's totals need records."""
    if isinstance(data, PairCounts) and guarantee not in FROM_PAIRS:
        raise GuaranteeError(
            f"guarantee {guarantee!r} {NEEDS_RECORDS}, and pair counts do not tell how "
            "sources act together; give the table itself, or use 'independent' or "
            "'worst'"
        )


def compute_total(
    guarantee: str,
    data: PairCounts | Records,
    matrix: LeakageMatrix,
    settings: TotalSettings,
) -> TotalLeakage:
    """Return the totals of a table; raise a GuaranteeError if they cannot be
    computed.
    """
    _need_records(guarantee, data)
    uncertainty = matrix.uncertainty
    if uncertainty is not None and guarantee not in FROM_PAIRS:
        raise GuaranteeError(
            f"guarantee {guarantee!r} is of the table's own joint distribution, and "
            f"the leakages are for {uncertainty.words}; use 'independent', 'sum' or "
            "'worst'"
        )
    computed = _COMPUTE[guarantee](data, matrix, settings)
    total = TotalLeakage(
        guarantee=guarantee,
        kind=GUARANTEES[guarantee].kind,
        values=computed.values,
        deltas=computed.deltas,
        matrix=matrix,
        confidence=computed.confidence,
        evidence=computed.evidence,
        notes=(*computed.notes, *_assumed_rows(matrix), *_unseen_notes(matrix)),
    )
    caution = sample_caution(data) or sample_caution(matrix.pairs)
    if caution is None:
        return total
    return total.of_sample(caution)


def population_total(
    guarantee: str,
    data: PairCounts | Records,
    matrix: LeakageMatrix,
    settings: TotalSettings,
    claims: int | None = None,
) -> TotalLeakage:
    """Return upper confidence limits of the totals for the population, or raise
    likewise.

    Parameters
    ----------
    guarantee, data, matrix, settings
        As in `compute_total`.
    claims
        F of `level_of_maxima`; by default the number of attributes, whose totals are
        read singly and hold at once.
    """
    _need_records(guarantee, data)
    if isinstance(data, PairCounts) or guarantee not in ("exact", "merged"):
        raise GuaranteeError(
            "scope 'population' needs records and guarantee 'exact' or 'merged', or "
            f"'worst', got {guarantee!r}"
        )
    check_domain_stands(data)
    confidence = settings.confidence
    level = level_of_maxima(claims or len(data.domain), confidence)
    if guarantee == "exact":
        columns = pure_columns(matrix)
        limits = exact_population_totals(data, columns, level, settings.progress)
        values, deltas = _capped(limits, matrix)
    else:
        values, deltas = merged_totals(data, matrix, level, settings.progress)
    notes = [
        f"for the people whom the {data.records:,} records were drawn from at random, "
        "one record per person"
    ]
    if data.origin.fixed:
        notes += data.origin.fixed.notes()
    else:
        notes.append(DECLARED)
    return TotalLeakage(
        guarantee=guarantee,
        kind="statistical",
        values=values,
        deltas=deltas,
        matrix=matrix,
        confidence=confidence,
        notes=tuple(notes),
        scope="population",
    )


def _assumed_rows(matrix: LeakageMatrix) -> Iterator[str]:
    """Yield the note with which totals are computed under an assumption on rows."""
    if matrix.uncertainty is not None:
        yield (
            f"assumed: {matrix.uncertainty.words} of the table's, in total variation, "
            "for every source about every target"
        )


def _unseen_notes(matrix: LeakageMatrix) -> Iterator[str]:
    """Yield a note on computed totals for each attribute that has values which never
    occur.
    """
    of_sample = ""
    if matrix.pairs.population is not None:
        of_sample = " of the sample"
    for name in matrix.domain.names:
        values = matrix.pairs.unseen(name)
        if not values:
            continue
        shown = ", ".join(map(repr, values[:3]))
        if len(values) > 3:
            shown += ", ..."
        yield f"no record{of_sample} has {shown} of {name!r}: excluded from totals"


@dataclass(frozen=True, eq=False)
class ComputedTotals:
    """The totals of one guarantee and what they rest on: fields of `TotalLeakage`."""

    values: Floats
    deltas: Floats
    confidence: float | None = None
    evidence: tuple[JointWitness | None, ...] = ()
    notes: tuple[str, ...] = ()


def _capped(values: Floats, matrix: LeakageMatrix) -> tuple[Floats, Floats]:
    """Return totals with delta 0, and these deltas; at most the sum of budgets if that
    has none.
    """
    worst, deltas = worst_totals(matrix)
    capped = np.where(deltas > 0, values, np.minimum(values, worst))
    return capped, np.zeros_like(values)


def _worst(
    data: PairCounts | Records, matrix: LeakageMatrix, settings: TotalSettings
) -> ComputedTotals:
    """Return the worst-case totals: sums of all direct leakages."""
    values, deltas = worst_totals(matrix)
    return ComputedTotals(values, deltas)


def _sum(
    data: PairCounts | Records, matrix: LeakageMatrix, settings: TotalSettings
) -> ComputedTotals:
    """Return the totals by the sum of the paper, direct and correlation-induced
    leakages.
    """
    values, deltas = sum_totals(matrix)
    return ComputedTotals(values, deltas)


def _independent(
    data: PairCounts | Records, matrix: LeakageMatrix, settings: TotalSettings
) -> ComputedTotals:
    """Return the totals for sources that are independent given the target."""
    values, deltas = independent_totals(matrix)
    return ComputedTotals(values, deltas)


def _merged(
    data: Records, matrix: LeakageMatrix, settings: TotalSettings
) -> ComputedTotals:
    """Return the totals with all other attributes merged into one source."""
    values, deltas = merged_totals(data, matrix, None, settings.progress)
    return ComputedTotals(values, deltas)


def _exact(
    data: Records, matrix: LeakageMatrix, settings: TotalSettings
) -> ComputedTotals:
    """Return the exact totals of the records."""
    totals, evidence = exact_totals(data, pure_columns(matrix), settings.progress)
    values, deltas = _capped(totals, matrix)
    return ComputedTotals(values, deltas, evidence=tuple(evidence))


def _witness(
    data: Records, matrix: LeakageMatrix, settings: TotalSettings
) -> ComputedTotals:
    """Return the lower bounds on totals that witnesses attain."""
    columns = pure_columns(matrix)
    values, evidence, names = witness_totals(
        data, columns, settings.rng, settings.progress
    )
    notes = []
    if names:
        notes.append(
            f"witness: nothing beyond the own report was found for {', '.join(names)}"
        )
    return ComputedTotals(
        values=values,
        deltas=np.zeros_like(values),
        evidence=tuple(evidence),
        notes=tuple(notes),
    )


def _sampled(
    data: Records, matrix: LeakageMatrix, settings: TotalSettings
) -> ComputedTotals:
    """Return the sampled totals, with their delta and confidence."""
    delta = settings.target_delta
    values, rare, sufficient = sampled_totals(
        data, matrix.releases, matrix.view, settings
    )
    own = matrix.direct[0]
    has_unseen_values = np.array(
        [(counts == 0).any() for counts in matrix.pairs.marginals]
    )
    values = np.where(has_unseen_values, np.maximum(values, own), values)
    worst, slack = worst_totals(matrix)
    better = np.isfinite(values) & ((values < worst) | (slack > delta))
    notes = []
    if rare:
        number = f"{sufficient:,}"
        if sufficient > checks.MAX_RECORDS:
            number = f"{sufficient:.0e}"
        notes.append(
            f"values too rare to certify at delta {delta:g}, so that the total is the "
            f"worst one: {', '.join(rare)}; about {number} reports suffice"
        )
    return ComputedTotals(
        values=np.where(better, values, worst),
        deltas=np.where(better, delta, slack),
        confidence=settings.confidence,
        notes=tuple(notes),
    )


_COMPUTE: dict[str, Callable[[Any, LeakageMatrix, TotalSettings], ComputedTotals]] = {
    "worst": _worst,
    "independent": _independent,
    "sum": _sum,
    "exact": _exact,
    "merged": _merged,
    "sampled": _sampled,
    "witness": _witness,
}
"""How the totals of each guarantee are computed."""
