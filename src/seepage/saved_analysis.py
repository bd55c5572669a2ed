"""Reading the JSON of `Analysis.save`, with all types, sizes and the digest checked."""

import base64
import binascii
import os
import zlib
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
import numpy as np

from seepage import _checks
from seepage._files import read_small
from seepage._numerics import Floats
from seepage.analysis import Analysis, checked_limits
from seepage.data import Attribute, Domain
from seepage.data.pairs import PairCounts, pair_offsets
from seepage.errors import InputError
from seepage.leakage.matrix import LeakageMatrix, leakage_matrix
from seepage.leakage.release import View
from seepage.totals import GUARANTEES, KINDS, Kind, TotalLeakage, TotalsComparison
from seepage.totals.composition import independent_totals, sum_totals, worst_totals
from seepage.totals.experienced import Experience
from seepage.totals.likelihood_columns import JointWitness
from seepage.verdict import lower_bounds

HINT = "an analysis is written as JSON"

AtLeast0: TypeAlias = Annotated[float, msgspec.Meta(ge=0)]
Share: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1)]

SHAPES = {
    "shares": (3,),
    "quantiles": (3, 3),
    "permuted_quantiles": (3,),
    "own": (3,),
    "together": (3,),
}
"""Shape of the entries of each attribute in the arrays of an `Experience`; () for the others."""


class _SavedTotal(msgspec.Struct):
    """A `TotalLeakage` without what it shares with the analysis."""

    kind: Kind
    totals: Floats
    deltas: list[Share]
    confidence: Share | None
    evidence: list[dict[str, Any] | None]
    notes: tuple[str, ...]
    scope: Literal["table", "population"]


class _SavedAnalysis(msgspec.Struct):
    """The fields of `Analysis.to_dict` from which an analysis is read."""

    seepage: str
    name: str
    command: str
    records: int
    population: int | None
    pooled: bool
    digest: str
    attributes: list[str]
    epsilon: AtLeast0 | list[AtLeast0 | Literal["inf"]]
    delta: Share | list[Share]
    mechanism: str | list[str | None] | None
    view: View
    smoothing: dict[Literal["min_count", "prior", "truncate"], AtLeast0]
    cpl: Floats
    totals: dict[str, _SavedTotal]
    unavailable: dict[str, str]
    refuted: dict[str, tuple[str, ...]]
    experienced: Experience | None
    limit: AtLeast0 | list[AtLeast0 | None] | None
    domain: list[dict[str, Any]]
    counts: str
    notes: tuple[str, ...] = ()
    table: tuple[str, ...] = ("DATA",)


def _array(kind: Any, value: Any) -> Floats:
    """Return the numbers of nested lists, in which infinity is "inf"; msgspec adds the place."""
    try:
        numbers = np.array(value, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        raise ValueError("Expected lists of numbers, all of one length") from None
    if not (numbers >= 0).all():
        raise ValueError("Expected numbers >= 0")
    return numbers


def read_analysis(path: str | os.PathLike[str]) -> Analysis:
    """Return the analysis of a file, see `Analysis.load`; raise an InputError for any other file.

    Parameters
    ----------
    path
        A file that `Analysis.save` or `seepage analyse --format json` wrote.
    """
    file = str(_checks.path(path))
    try:
        saved = msgspec.convert(
            msgspec.json.decode(read_small(file)), _SavedAnalysis, dec_hook=_array
        )
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None
    except msgspec.ValidationError as error:
        raise InputError(f"{file} is no saved result: {error}; {HINT}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{file} is no JSON: {error}; {HINT}") from None
    epsilons = saved.epsilon
    if isinstance(epsilons, list):
        epsilons = [0.0 if epsilon == "inf" else epsilon for epsilon in epsilons]
    smoothing: dict[str, Any] = dict(saved.smoothing.items())
    matrix = leakage_matrix(
        _pairs(saved),
        epsilons,
        mechanism=saved.mechanism,
        view=saved.view,
        delta=saved.delta,
        **smoothing,
    )
    if inconsistency := _inconsistency(saved, matrix):
        raise InputError(f"{file} was edited: {inconsistency}")
    totals = TotalsComparison(
        tuple(_total(name, total, matrix) for name, total in saved.totals.items()),
        saved.unavailable,
        saved.refuted,
    )
    if contradiction := _contradiction(totals, matrix):
        raise InputError(f"{file} was edited: {contradiction}")
    return Analysis(
        matrix,
        totals,
        saved.name,
        saved.command,
        checked_limits(saved.limit, matrix),
        saved.experienced,
        saved.seepage,
        saved.notes,
        saved.table,
    )


def _inconsistency(saved: _SavedAnalysis, matrix: LeakageMatrix) -> str:
    """Return the first field that does not fit the leakages of a result; "" if all do."""
    names = matrix.domain.names
    shapes: dict[str, tuple[Any, tuple[int, ...]]] = {"cpl": (saved.cpl, (len(names),) * 2)}
    for name, total in saved.totals.items():
        shapes[f"totals of {name}"] = total.totals, (len(names),)
        shapes[f"deltas of {name}"] = total.deltas, (len(names),)
        if total.evidence:
            shapes[f"evidence of {name}"] = total.evidence, (len(names),)
    for key, values in vars(saved.experienced).items() if saved.experienced else ():
        if isinstance(values, (np.ndarray, list)):
            shapes[f"{key} of experienced"] = values, (len(names), *SHAPES.get(key, ()))
    for key, (values, shape) in shapes.items():
        if (found := np.shape(values)) != shape:
            return f"{key} has the shape {found}, not {shape}"
    if not np.allclose(matrix.values, saved.cpl, rtol=1e-9, atol=1e-12):
        return "the leakages are not those of the saved counts and mechanisms"
    if unknown := {*saved.totals, *saved.unavailable, *saved.refuted} - set(GUARANTEES):
        return f"there is no guarantee {min(unknown)!r}"
    if unknown := {name for refuted in saved.refuted.values() for name in refuted} - set(names):
        return f"there is no attribute {min(unknown)!r}"
    return ""


def _contradiction(totals: TotalsComparison, matrix: LeakageMatrix) -> str:
    """Return the first total that the rest of the file shows to be too small; "" if there is none.

    `worst`, `independent` and `sum` follow from budgets and leakages.  A certified total is at
    least the leakage of every report in the file, see `lower_bounds`, and its own witness's.
    """
    known = {
        "worst": worst_totals(matrix.releases, matrix.view)[0],
        "independent": independent_totals(matrix)[0],
        "sum": sum_totals(matrix)[0],
    }
    attained = np.array([value for value, _ in lower_bounds(matrix, totals)])
    order = list(KINDS)
    for total in totals.totals:
        name, kind = total.guarantee, GUARANTEES[total.guarantee].kind
        if matrix.pairs.population is not None and name != "worst":
            kind = "assumed"
        if total.kind != "assumed" and order.index(total.kind) < order.index(kind):
            return f"{name} totals are {kind}, not {total.kind}"
        least = known.get(name, np.zeros(len(attained)))
        if total.kind == "certified":
            own = [0.0 if witness is None else witness.counted for witness in total.evidence]
            proven = np.maximum(attained, own or 0.0)
            least = np.maximum(least, np.where(total.deltas > 0, 0.0, proven))
        for attribute, value, bound in zip(matrix.domain.names, total.values, least, strict=True):
            if value < bound * (1 - 1e-9) - 1e-12:
                return (
                    f"the {name} total of {attribute!r} must be at least {bound:.6g}, the leakage "
                    f"of reports in the result, got {value:.6g}"
                )
    return ""


def _pairs(saved: _SavedAnalysis) -> PairCounts:
    """Return the pair counts of a saved result, decoded and checked against its digest."""
    try:
        domain = Domain(msgspec.convert(saved.domain, tuple[Attribute, ...], strict=False))
    except msgspec.ValidationError as error:
        raise InputError(f"the result's domain cannot be read: {error}") from None
    if domain.names != tuple(saved.attributes) or not saved.attributes:
        raise InputError("the result was edited: its attributes are not those of the domain")
    ends = np.cumsum(domain.sizes)
    cells = int(ends[-1] + pair_offsets(domain.sizes)[-1])
    try:
        packed = base64.b64decode(saved.counts, validate=True)
        stream = zlib.decompressobj()
        content = stream.decompress(packed, 8 * cells + 1)
    except (ValueError, binascii.Error, zlib.error) as error:
        raise InputError(f"the result's pair counts cannot be read: {error}") from None
    if len(content) != 8 * cells or not stream.eof:
        raise InputError("the result's counts do not fit its domain")
    numbers = np.frombuffer(content, dtype="<i8")
    marginals, counts = np.split(numbers[: ends[-1]], ends[:-1]), numbers[ends[-1] :]
    pairs = PairCounts(domain, marginals, counts, population=saved.population, pooled=saved.pooled)
    if pairs.digest != saved.digest or saved.records != pairs.records:
        raise InputError("the result was edited: its counts do not match its digest")
    return pairs


def _total(name: str, saved: _SavedTotal, matrix: LeakageMatrix) -> TotalLeakage:
    """Return a saved total; infinite numbers of its witnesses are saved as text."""
    try:
        kind = tuple[JointWitness | None, ...]
        evidence = msgspec.convert(saved.evidence, kind, strict=False)
    except msgspec.ValidationError as error:
        raise InputError(f"a witness of the result cannot be read: {error}") from None
    for witness in filter(None, evidence):
        for attribute in (witness.target, *witness.reports):
            matrix.domain.index(attribute)
    values, deltas = saved.totals, np.array(saved.deltas, dtype=np.float64)
    about = saved.confidence, evidence, saved.notes, saved.scope
    return TotalLeakage(name, saved.kind, values, deltas, matrix, *about)
