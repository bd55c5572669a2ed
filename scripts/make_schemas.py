"""Write docs/schemas/: JSON schemas of the files that seepage writes, from its types.

`docs/files.md` says which file each of them is of.  A number that may be infinite is
then the text "inf" or "-inf", and an undefined one is null; plans have neither.
"""

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, get_type_hints

import msgspec

from seepage.analysis.saved_analysis import SavedAnalysis, SavedTotal
from seepage.analysis.verdict import Judgement
from seepage.auditing.audit_result import AuditedLeak
from seepage.auditing.claims import AuditedClaim, State
from seepage.plan.plan_file import PlanFile
from seepage.tables.codebooks import CodebookRow
from seepage.tables.data_check import ColumnCheck
from seepage.tables.repeated_people import RepeatedValues

FOLDER = Path(__file__).parents[1] / "docs" / "schemas"

DIALECT = "https://json-schema.org/draft/2020-12/schema"

NULL = {"type": "null"}
"""The schema of a value that is absent."""

ANY_NUMBER = {"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf"]}, NULL]}
"""A number as `json_ready` writes it."""

ARRAY = {"type": "array", "items": {"anyOf": [ANY_NUMBER, {"type": "array"}]}}
"""An array of NumPy, of one or two axes."""

Leak = msgspec.defstruct(
    "Leak",
    [
        *[(name, str) for name in ("target", "source")],
        *[(name, tuple[str, ...]) for name in ("targets", "sources")],
        *[
            (name, float)
            for name in ("lower", "leakage", "delta", "upper", "supported")
        ],
        ("witness", str),
    ],
)
"""One of the strongest leaks of an analysis, see `Leak.to_dict`."""


class Intervals(msgspec.Struct):
    """Confidence limits of the leakages; rows are targets, columns sources."""

    confidence: float
    lower: list[list[float]]
    upper: list[list[float]]
    too_few: list[dict[str, Any]]


class SavedVerdict(msgspec.Struct):
    """The decision of an analysis in sentences, and the state of every limit."""

    decision: str
    basis: str
    settle: str
    attributes: tuple[Judgement, ...]


class Total(SavedTotal, kw_only=True):
    """A total of every attribute, with what it is compared with."""

    sources: tuple[str, ...] | None
    own: bool
    dpl: list[float]
    worst: list[float]


class AnalysisFile(SavedAnalysis, kw_only=True):
    """An analysis: what it is read from, and what was computed from that."""

    totals: dict[str, Total]  # type: ignore[assignment]
    records: int
    digest: str
    attributes: tuple[str, ...]
    direction: str
    cpl_deltas: list[list[float]]
    within: list[list[float]] | None
    interval: Intervals | None
    tcpl: float
    tcpl_delta: float
    verdict: SavedVerdict
    leaks: list[Leak]  # type: ignore[valid-type]
    same: list[tuple[str, ...]]
    unseen: dict[str, tuple[str, ...]]
    constant: tuple[str, ...]


Claim = msgspec.defstruct(
    "Claim",
    [
        *[(f.name, get_type_hints(AuditedClaim)[f.name]) for f in fields(AuditedClaim)],
        ("epsilon", float),
        ("verdict", State),
    ],
)
"""A claim of an audit as one row, see `AuditedClaim.row`."""


class AuditFile(msgspec.Struct):
    """What a randomiser realises beside what is claimed."""

    format: Literal["seepage audit"]
    version: Literal[1]
    seepage: str
    name: str
    verdict: State
    confidence: float
    claims: list[Claim]  # type: ignore[valid-type]
    notes: tuple[str, ...]
    leaks: tuple[AuditedLeak, ...]


class CheckFile(msgspec.Struct):
    """What was found about the columns of a table."""

    format: Literal["seepage check"]
    version: Literal[1]
    columns: tuple[ColumnCheck, ...]
    records: int
    whole: bool
    repeats: tuple[RepeatedValues, ...]


class PlanCheckRow(msgspec.Struct):
    """The total of an attribute on the other table, with the form that attains it."""

    attribute: str
    total: float
    delta: float
    limit: float | None
    within: bool
    form: int
    margin: float | None


class PlanCheckFile(msgspec.Struct):
    """The totals of a plan on another table than its own."""

    format: Literal["seepage plan check"]
    version: Literal[1]
    within: bool
    margin: float | None
    guarantee: str
    kind: str
    records: int
    attributes: tuple[PlanCheckRow, ...]


def schemas() -> dict[str, dict[str, Any]]:
    """Return every schema by the name of its file."""
    computed = {
        "analysis": AnalysisFile,
        "audit": AuditFile,
        "check": CheckFile,
        "plan-check": PlanCheckFile,
    }
    return {
        "plan-1.json": _schema("plan-1", PlanFile),
        "codebook-1.json": _schema("codebook-1", list[CodebookRow]),
        **{
            f"{name}-1.json": _with_infinity(_schema(f"{name}-1", kind))
            for name, kind in computed.items()
        },
    }


def _schema(name: str, kind: Any) -> dict[str, Any]:
    """Return the schema of a type, in which no object has other fields."""
    schema = msgspec.json.schema(kind, schema_hook=lambda _: ARRAY)
    closed = _changed(schema, _closed)
    return {"$schema": DIALECT, "$id": f"{name}.json", **closed}


def _closed(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with named fields as one without others, its
    description in one line; null stands last, whichever msgspec wrote it.
    """
    changed = dict(schema)
    if "properties" in schema:
        changed["additionalProperties"] = False
    if "anyOf" in schema:
        changed["anyOf"] = sorted(schema["anyOf"], key=lambda kind: bool(kind == NULL))
    if isinstance(schema.get("description"), str):
        changed["description"] = schema["description"].split("\n")[0].strip()
    return changed


def _with_infinity(schema: dict[str, Any]) -> dict[str, Any]:
    def changed(part: Mapping[str, Any]) -> dict[str, Any]:
        return dict(ANY_NUMBER if part == {"type": "number"} else part)

    return dict(_changed(schema, changed))


def _changed(part: Any, change: Any) -> Any:
    """Return a schema with every object in it changed, the innermost first."""
    if isinstance(part, list):
        return [_changed(item, change) for item in part]
    if isinstance(part, dict):
        return change({key: _changed(item, change) for key, item in part.items()})
    return part


def texts() -> dict[str, str]:
    """Return the text of every schema by the name of its file."""
    return {
        name: json.dumps(schema, indent=1, sort_keys=True) + "\n"
        for name, schema in schemas().items()
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file, text in texts().items():
        (FOLDER / file).write_text(text, encoding="utf-8")
