"""Reading the JSON of `Analysis.save`, with all types, sizes and the digest checked."""

import base64
import binascii
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
import numpy as np

from seepage import _checks
from seepage._results import from_json_number
from seepage.analysis import Analysis, checked_limits
from seepage.data.domain import Domain
from seepage.data.pairs import PairCounts, pair_offsets
from seepage.errors import InputError
from seepage.leakage.matrix import LeakageMatrix, leakage_matrix
from seepage.leakage.release import View
from seepage.totals import GUARANTEES, JointWitness, TotalLeakage, TotalsComparison
from seepage.totals.experienced import read_experience
from seepage.totals.result import Kind

HINT = "write it with `seepage analyse DATA --format json --output result.json`"

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
    beyond_own: bool = True


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
    refused: dict[str, str] | None = None
    refuted: dict[str, Names] | None = None
    limit: AtLeast0 | list[AtLeast0 | None] | None = None
    experienced: _SavedExperience | None = None


def read_result(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the saved result of a file; raise an InputError for any other file.

    Parameters
    ----------
    path
        A file that `Analysis.save` or `seepage analyse --format json` wrote.
    """
    file = str(_checks.path(path))
    try:
        return as_result(msgspec.json.decode(Path(file).read_bytes()), file)
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{file} is no JSON: {error}; {HINT}") from None


def as_result(result: Any, file: str = "the result") -> dict[str, Any]:
    """Return the output of `Analysis.to_dict` after checking the types and sizes of its fields."""
    try:
        saved = msgspec.convert(result, _SavedResult)
    except (msgspec.ValidationError, RecursionError) as error:
        raise InputError(f"{file} is no saved result: {error}; {HINT}") from None
    inconsistency = _inconsistency(saved)
    if inconsistency:
        raise InputError(f"{file} was edited: {inconsistency}")
    return dict(result)


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
    guarantees = {*saved.totals, *(saved.refused or ()), *(saved.refuted or ())}
    if unknown := guarantees - set(GUARANTEES):
        return f"there is no guarantee {min(unknown)!r}"
    if unknown := set(_named_attributes(saved)) - set(names):
        return f"there is no attribute {min(unknown)!r}"
    return ""


def _named_attributes(saved: _SavedResult) -> chain[str]:
    """Return the names of attributes in witnesses and in refuted totals."""
    witnesses = [w for total in saved.totals.values() for w in total.evidence or () if w]
    return chain(
        (name for witness in witnesses for name in (witness.target, *witness.reports)),
        chain.from_iterable((saved.refuted or {}).values()),
    )


def pairs_of(result: Mapping[str, Any]) -> PairCounts:
    """Return the pair counts of a saved result, decoded and checked against its digest."""
    domain = Domain.from_dicts(result["domain"])
    ends = np.cumsum(domain.sizes)
    cells = int(ends[-1] + pair_offsets(domain.sizes)[-1])
    try:
        packed = base64.b64decode(result["counts"], validate=True)
        stream = zlib.decompressobj()
        content = stream.decompress(packed, 8 * cells + 1)
    except (ValueError, binascii.Error, zlib.error) as error:
        raise InputError(f"the result's pair counts cannot be read: {error}") from None
    if len(content) != 8 * cells or not stream.eof:
        raise InputError("the result's counts do not fit its domain")
    numbers = np.frombuffer(content, dtype="<i8")
    pairs = PairCounts(
        domain,
        np.split(numbers[: ends[-1]], ends[:-1]),
        numbers[ends[-1] :],
        population=result.get("population"),
    )
    records = result.get("records")
    if pairs.digest != result["digest"] or records not in (None, pairs.records):
        raise InputError("the result was edited: its counts do not match its digest")
    return pairs


def analysis_of(saved: Mapping[str, Any], file: str = "the result") -> Analysis:
    """Return the analysis of a saved result that `as_result` has checked."""
    matrix = leakage_matrix(
        pairs_of(saved),
        saved["epsilon"],
        mechanism=saved["mechanism"],
        view=saved["view"],
        delta=saved.get("delta") or 0.0,
        radius=saved.get("radius") or 0.0,
        **saved.get("smoothing") or {},
    )
    cpl = [[from_json_number(value) for value in row] for row in saved["cpl"]]
    if not np.allclose(matrix.values, cpl, rtol=1e-9, atol=1e-12):
        raise InputError(f"{file}: the leakages are not those of the saved counts and mechanisms")
    totals = tuple(_read_total(name, t, matrix) for name, t in saved["totals"].items())
    refuted = {name: tuple(names) for name, names in (saved.get("refuted") or {}).items()}
    comparison = TotalsComparison(totals, dict(saved.get("refused") or {}), refuted)
    name, command = saved.get("name") or "", saved.get("command") or ""
    experienced = saved.get("experienced")
    return Analysis(
        matrix,
        comparison,
        name,
        command,
        checked_limits(saved.get("limit"), matrix),
        None if experienced is None else read_experience(experienced),
    )


def _read_total(name: str, saved: Mapping[str, Any], matrix: LeakageMatrix) -> TotalLeakage:
    values, deltas = (
        np.array([from_json_number(value) for value in saved[key]]) for key in ("totals", "deltas")
    )
    evidence = tuple(part and _read_witness(part) for part in saved.get("evidence") or ())
    notes = tuple(saved.get("notes") or ())
    return TotalLeakage(
        name,
        saved["kind"],
        values,
        deltas,
        matrix,
        saved.get("confidence"),
        evidence,
        notes,
        saved.get("scope") or "table",
    )


def _read_witness(saved: Mapping[str, Any]) -> JointWitness:
    values = {
        field.name: saved[field.name] for field in fields(JointWitness) if field.name in saved
    }
    values["reports"] = {name: tuple(likely) for name, likely in saved["reports"].items()}
    for name in ("value", "held_out", "own"):
        values[name] = None if saved.get(name) is None else from_json_number(saved[name])
    return JointWitness(**values)
