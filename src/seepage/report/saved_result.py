"""Reading the JSON of `Analysis.save`, with all types, sizes and the digest checked."""

import base64
import binascii
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
import numpy as np

from seepage import _checks
from seepage.analysis import Analysis, checked_limits
from seepage.data.domain import Domain
from seepage.data.pairs import PairCounts, pair_offsets
from seepage.errors import InputError
from seepage.leakage.matrix import LeakageMatrix, leakage_matrix
from seepage.leakage.release import View
from seepage.totals import GUARANTEES, JointWitness, TotalLeakage, TotalsComparison
from seepage.totals.experienced import read_experience
from seepage.totals.guarantees import Kind

HINT = "an analysis is written as JSON"

AtLeast0: TypeAlias = Annotated[float, msgspec.Meta(ge=0)]
Share: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1)]
Nats: TypeAlias = AtLeast0 | Literal["inf"]
LogRatio: TypeAlias = float | Literal["inf", "-inf"]
Names: TypeAlias = list[str]
Limited: TypeAlias = tuple[Share, Share, Share]
LimitedNats: TypeAlias = tuple[Nats, Nats, Nats]


class _SavedAttribute(msgspec.Struct):
    name: str
    values: Names
    edges: list[LogRatio]


class _SavedWitness(msgspec.Struct):
    target: str
    likelier: str
    other: str
    reports: dict[str, Names]
    value: LogRatio
    held_out: LogRatio | None = None
    own: LogRatio | None = None


class _SavedTotal(msgspec.Struct):
    kind: Kind
    totals: list[Nats]
    deltas: list[Share]
    confidence: Share | None = None
    evidence: list[_SavedWitness | None] | None = None
    notes: Names | None = None
    scope: Literal["table", "population"] | None = None


class _SavedExperience(msgspec.Struct):
    attributes: Names
    epsilons: list[Nats]
    mechanisms: list[str | None]
    view: View
    people: Annotated[int, msgspec.Meta(ge=1)]
    confidence: Share
    rare: Annotated[int, msgspec.Meta(ge=1)]
    compared: list[int]
    left_out: list[int]
    shares: list[Limited]
    permuted_shares: list[Share]
    quantiles: list[tuple[LimitedNats, LimitedNats, LimitedNats]]
    permuted_quantiles: list[tuple[Nats, Nats, Nats]]
    before: list[Share]
    own: list[Limited]
    together: list[Limited]
    notes: Names | None = None


class _SavedSmoothing(msgspec.Struct, forbid_unknown_fields=True):
    min_count: AtLeast0 = 0.0
    prior: AtLeast0 = 0.0


class _SavedResult(msgspec.Struct):
    """The fields of `Analysis.to_dict` that are read; version 0.1 lacks some with defaults."""

    attributes: Names
    epsilon: AtLeast0 | list[AtLeast0]
    mechanism: str | list[str | None] | None
    view: View
    cpl: list[list[Nats]]
    totals: dict[str, _SavedTotal]
    domain: list[_SavedAttribute]
    counts: str
    digest: str
    seepage: str | None = None
    name: str | None = None
    command: str | None = None
    records: int | None = None
    population: int | None = None
    delta: Share | list[Share] | None = None
    smoothing: _SavedSmoothing | None = None
    radius: Share | None = None
    unavailable: dict[str, str] | None = None
    refuted: dict[str, Names] | None = None
    limit: AtLeast0 | list[AtLeast0 | None] | None = None
    experienced: _SavedExperience | None = None


def read_analysis(path: str | os.PathLike[str]) -> Analysis:
    """Return the analysis of a file, see `Analysis.load`; raise an InputError for any other file.

    Parameters
    ----------
    path
        A file that `Analysis.save` or `seepage analyse --format json` wrote.
    """
    file = str(_checks.path(path))
    try:
        saved = msgspec.convert(msgspec.json.decode(Path(file).read_bytes()), _SavedResult)
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None
    except msgspec.ValidationError as error:
        raise InputError(f"{file} is no saved result: {error}; {HINT}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{file} is no JSON: {error}; {HINT}") from None
    inconsistency = _inconsistency(saved)
    if inconsistency:
        raise InputError(f"{file} was edited: {inconsistency}")
    matrix = leakage_matrix(
        _pairs(saved),
        saved.epsilon,
        mechanism=saved.mechanism,
        view=saved.view,
        delta=saved.delta or 0.0,
        radius=saved.radius or 0.0,
        **msgspec.structs.asdict(saved.smoothing or _SavedSmoothing()),
    )
    cpl = [[float(value) for value in row] for row in saved.cpl]
    if not np.allclose(matrix.values, cpl, rtol=1e-9, atol=1e-12):
        raise InputError(f"{file}: the leakages are not those of the saved counts and mechanisms")
    experienced = None
    if saved.experienced is not None:
        experienced = read_experience(msgspec.structs.asdict(saved.experienced))
    return Analysis(
        matrix,
        TotalsComparison(
            tuple(_total(name, total, matrix) for name, total in saved.totals.items()),
            saved.unavailable or {},
            {name: tuple(names) for name, names in (saved.refuted or {}).items()},
        ),
        saved.name or "",
        saved.command or "",
        checked_limits(saved.limit, matrix),
        experienced,
        saved.seepage,
    )


def _inconsistency(saved: _SavedResult) -> str:
    """Return the first field that does not fit the domain of a result, as text; "" if all do."""
    names = [attribute.name for attribute in saved.domain]
    count = len(names)
    lists: dict[str, Sequence[Any] | None] = {
        "attributes": saved.attributes,
        "cpl": saved.cpl,
        **{f"row {number} of cpl": row for number, row in enumerate(saved.cpl)},
        **{
            key: values
            for key in ("epsilon", "mechanism", "delta", "limit")
            if isinstance(values := getattr(saved, key), list)
        },
    }
    if saved.experienced is not None:
        for key, values in msgspec.structs.asdict(saved.experienced).items():
            if isinstance(values, list) and key != "notes":
                lists[f"{key} of experienced"] = values
    for name, total in saved.totals.items():
        lists |= {f"totals of {name}": total.totals, f"deltas of {name}": total.deltas}
        lists |= {f"evidence of {name}": total.evidence} if total.evidence else {}
    for key, entries in lists.items():
        if entries is not None and len(entries) != count:
            return f"{key} has {len(entries)} entries, the domain {count} attributes"
    if saved.attributes != names:
        return "attributes are not those of the domain"
    guarantees = {*saved.totals, *(saved.unavailable or ()), *(saved.refuted or ())}
    if unknown := guarantees - set(GUARANTEES):
        return f"there is no guarantee {min(unknown)!r}"
    witnesses = [w for total in saved.totals.values() for w in total.evidence or () if w]
    named = {name for witness in witnesses for name in (witness.target, *witness.reports)}
    if unknown := named.union(*(saved.refuted or {}).values()) - set(names):
        return f"there is no attribute {min(unknown)!r}"
    return ""


def _pairs(saved: _SavedResult) -> PairCounts:
    """Return the pair counts of a saved result, decoded and checked against its digest."""
    domain = Domain.from_dicts(msgspec.to_builtins(saved.domain))
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
    pairs = PairCounts(domain, marginals, counts, population=saved.population)
    if pairs.digest != saved.digest or saved.records not in (None, pairs.records):
        raise InputError("the result was edited: its counts do not match its digest")
    return pairs


def _total(name: str, saved: _SavedTotal, matrix: LeakageMatrix) -> TotalLeakage:
    return TotalLeakage(
        name,
        saved.kind,
        np.array([float(total) for total in saved.totals]),
        np.array(saved.deltas, dtype=np.float64),
        matrix,
        saved.confidence,
        tuple(None if part is None else _witness(part) for part in saved.evidence or ()),
        tuple(saved.notes or ()),
        saved.scope or "table",
    )


def _witness(saved: _SavedWitness) -> JointWitness:
    value, held_out, own = (
        None if number is None else float(number)
        for number in (saved.value, saved.held_out, saved.own)
    )
    assert value is not None
    reports = {name: tuple(likely) for name, likely in saved.reports.items()}
    names = saved.target, saved.likelier, saved.other
    return JointWitness(*names, reports, value, held_out, own)
