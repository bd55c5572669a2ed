"""Reading the JSON of `Analysis.save`, with all types and the checksum checked."""

import base64
import os
import zlib
from typing import Any, Literal

import msgspec
import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage._core.files import read_small
from seepage.analysis.analysis import Analysis, sealed
from seepage.analysis.analysis_options import checked_limits, stated_distances
from seepage.analysis.design_command import UNNAMED, design_command
from seepage.channel.domain import Domain
from seepage.channel.pairs import PairCounts
from seepage.leakage.matrix import LeakageMatrix, leakage_matrix
from seepage.mechanisms.release import View
from seepage.totals.experienced_loss import Experience
from seepage.totals.guarantees import Kind
from seepage.totals.joint_witness import JointWitness
from seepage.totals.total_result import TotalLeakage
from seepage.totals.totals_comparison import TotalsComparison

HINT = "an analysis is written as JSON"
"""Hint of messages about files that are no saved analysis."""


class SavedTotal(msgspec.Struct):
    """A `TotalLeakage` without what it shares with the analysis."""

    kind: Kind
    totals: Floats
    deltas: Floats
    confidence: float | None
    evidence: list[dict[str, Any] | None]
    notes: tuple[str, ...]
    scope: Literal["table", "population"]


class SavedAnalysis(msgspec.Struct):
    """The fields of `Analysis.to_dict` from which an analysis is read."""

    format: Literal["seepage analysis"]
    version: Literal[1]
    seepage: str
    name: str
    command: str
    population: int | None
    pooled: bool
    epsilon: float | list[float | Literal["inf"]]
    delta: float | list[float]
    mechanism: str | list[str | None] | None
    view: View
    smoothing: dict[str, float]
    cpl: Floats
    totals: dict[str, SavedTotal]
    unavailable: dict[str, str]
    refuted: dict[str, tuple[str, ...]]
    experienced: Experience | None
    limit: float | list[float | None] | None
    domain: list[dict[str, Any]]
    counts: str
    checksum: str
    distances: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()
    table: tuple[str, ...] = (UNNAMED,)


def _array(kind: Any, value: Any) -> Floats:
    """Return the numbers of a saved analysis, nested lists in which infinity is "inf";
    msgspec adds the place.
    """
    try:
        return np.array(value, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        raise ValueError("Expected lists of numbers, all of one length") from None


def read_analysis(path: str | os.PathLike[str]) -> Analysis:
    """Return the analysis saved in a file, see `Analysis.load`; raise an InputError for
    any other file.

    Parameters
    ----------
    path
        A file that `Analysis.save` or `seepage analyse --format json` wrote.
    """
    file = str(checks.path(path))
    try:
        content = msgspec.json.decode(read_small(file))
        saved = msgspec.convert(content, SavedAnalysis, dec_hook=_array)
    except msgspec.ValidationError as error:
        raise InputError(f"{file} is no saved result: {error}; {HINT}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{file} is no JSON: {error}; {HINT}") from None
    if content != sealed(content):
        raise InputError(
            f"{file} was edited, its content does not match its checksum; analyse anew"
        )
    epsilons = saved.epsilon
    if isinstance(epsilons, list):
        epsilons = [0.0 if epsilon == "inf" else epsilon for epsilon in epsilons]
    smoothing: dict[str, Any] = saved.smoothing
    matrix = leakage_matrix(
        _pairs(saved),
        epsilons,
        mechanism=saved.mechanism,
        view=saved.view,
        delta=saved.delta,
        **smoothing,
    )
    if not np.allclose(matrix.values, saved.cpl, rtol=1e-9, atol=1e-12):
        raise InputError(
            f"the leakages of {file} are not those of its counts and mechanisms; "
            "analyse anew"
        )
    totals = TotalsComparison(
        tuple(_total(name, total, matrix) for name, total in saved.totals.items()),
        saved.unavailable,
        saved.refuted,
    )
    limits = checked_limits(saved.limit, matrix)
    return Analysis(
        matrix=matrix,
        totals=totals,
        limits=limits,
        distances=stated_distances(saved.distances or 0.0, matrix),
        name=saved.name,
        command=saved.command,
        experienced=saved.experienced,
        version=saved.seepage,
        notes=saved.notes,
        table=saved.table,
        design_step=design_command(saved.table, matrix.domain.names, limits),
        is_saved=True,
    )


def _pairs(saved: SavedAnalysis) -> PairCounts:
    """Return the pair counts of a saved analysis."""
    domain = Domain.from_dicts(saved.domain)
    numbers = np.frombuffer(
        zlib.decompress(base64.b64decode(saved.counts)), dtype="<i8"
    )
    *marginals, counts = np.split(numbers, np.cumsum(domain.sizes))
    return PairCounts(
        domain, marginals, counts, population=saved.population, pooled=saved.pooled
    )


def _total(name: str, saved: SavedTotal, matrix: LeakageMatrix) -> TotalLeakage:
    """Return a total of a saved analysis; infinite numbers of its witnesses are saved
    as text.
    """
    evidence = msgspec.convert(
        saved.evidence, tuple[JointWitness | None, ...], strict=False
    )
    return TotalLeakage(
        guarantee=name,
        kind=saved.kind,
        values=saved.totals,
        deltas=saved.deltas,
        matrix=matrix,
        confidence=saved.confidence,
        evidence=evidence,
        notes=saved.notes,
        scope=saved.scope,
    )
