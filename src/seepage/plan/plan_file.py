"""Plans as files: versioned JSON, strictly validated, with a digest.

The schema is published beside this module as `schema.json`.  Files of version 1, in which everyone
is asked everything, are read as plans of one form.
"""

import hashlib
import os
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from seepage import _checks
from seepage._files import whole_file
from seepage._results import json_ready
from seepage.errors import InputError
from seepage.plan.form import Budget, Form, ProductChannel, Question, Relaxation, Stored, Unbounded
from seepage.plan.plan import EDITED, Plan
from seepage.plan.plan_parts import PlannedAttribute, Provenance, check_promises
from seepage.plan.wire import Wire, has_wire


class AttributeVersion1(Stored, frozen=True, kw_only=True):
    """An attribute of version 1, with the one mechanism that perturbs it for everyone."""

    name: str
    mechanism: str | None
    public: bool = False
    epsilon: Budget
    delta: Relaxation = 0.0
    parameters: dict[str, float] = msgspec.field(default_factory=dict)
    limit: Budget | None = None
    total: Unbounded
    total_delta: Budget = 0.0
    values: tuple[str, ...]
    edges: tuple[float | Literal["inf", "-inf"], ...] = ()

    @property
    def question(self) -> Question | None:
        """The question of the attribute; None if it is not collected."""
        if self.mechanism is None:
            return None
        return Question(
            attribute=self.name,
            mechanism=self.mechanism,
            epsilon=self.epsilon,
            delta=self.delta,
            parameters=self.parameters,
        )

    @property
    def planned(self) -> PlannedAttribute:
        """The attribute in version 2, where its question is part of a form."""
        names = ("name", "public", "limit", "total", "total_delta", "values", "edges")
        return PlannedAttribute(**{name: getattr(self, name) for name in names})


class PlanVersion1(Stored, frozen=True, kw_only=True):
    """A plan of version 1, without forms."""

    attributes: tuple[AttributeVersion1, ...]
    guarantee: str
    kind: Literal["certified", "statistical", "assumed"]
    basis: Literal["bound", "mechanism"] = "bound"
    view: Literal["report", "inferred"] = "report"
    confidence: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None
    provenance: Provenance
    notes: tuple[str, ...] = ()

    @property
    def upgraded(self) -> Plan:
        """The same collection as a plan of one form."""
        questions = [attribute.question for attribute in self.attributes]
        channel = ProductChannel(questions=tuple(q for q in questions if q is not None))
        form = Form(
            share=str(1 << 64),
            channel=channel,
            guarantee=self.guarantee,
            totals=tuple(attribute.total for attribute in self.attributes),
            total_deltas=tuple(attribute.total_delta for attribute in self.attributes),
            record=json_ready(channel.record),
        )
        names = ("guarantee", "kind", "basis", "view", "confidence", "provenance", "notes")
        return Plan(
            attributes=tuple(attribute.planned for attribute in self.attributes),
            forms=(form,),
            **{name: getattr(self, name) for name in names},
        )


class FileVersion1(Stored, frozen=True, kw_only=True):
    """The content of a plan file of version 1."""

    format: Literal["seepage plan"]
    version: Literal[1]
    digest: str
    plan: PlanVersion1

    @property
    def loaded(self) -> tuple[Plan, bool]:
        """The plan, and whether the digest matches its content."""
        content = msgspec.json.encode(self.plan, order="sorted")
        return self.plan.upgraded, self.digest == hashlib.sha256(content).hexdigest()


SCHEMA = Path(__file__).with_name("schema.json")
"""The JSON schema of a plan file."""


class PlanFile(Stored, frozen=True, kw_only=True):
    """The content of a plan file.

    Parameters
    ----------
    digest, plan
        The plan, and SHA-256 of its content.
    collection, wire
        The digest of the wire form, and the wire form, which clients load; both follow from the
        plan.  No wire form if a mechanism has none.
    """

    format: Literal["seepage plan"] = "seepage plan"
    version: Literal[2] = 2
    digest: str
    plan: Plan
    collection: str = ""
    wire: Wire | None = None

    @classmethod
    def of(cls, plan: Plan) -> "PlanFile":
        """Return a plan with its digest and its wire form."""
        wire = plan.wire if has_wire(plan) else None
        return cls(digest=plan.digest, plan=plan, collection=plan.collection, wire=wire)

    @property
    def loaded(self) -> tuple[Plan, bool]:
        """The plan, and whether digest and wire form match its content."""
        intact = (
            self.digest == self.plan.digest
            and self.collection in ("", self.plan.collection)
            and (self.wire is None or (has_wire(self.plan) and self.wire == self.plan.wire))
        )
        return self.plan, intact


VERSIONS: dict[int, type[FileVersion1 | PlanFile]] = {1: FileVersion1, 2: PlanFile}
"""The content of a plan file by version of the format."""


class _PlanVersion(msgspec.Struct):
    format: Literal["seepage plan"]
    version: int


def is_plan_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file has the format of plans, whatever its version."""
    try:
        msgspec.json.decode(Path(path).read_bytes(), type=_PlanVersion)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def plan_schema() -> dict[str, Any]:
    """Return the JSON schema of plan files, the content of `schema.json`.

    Examples
    --------
    >>> plan_schema() == msgspec.json.decode(SCHEMA.read_bytes())
    True
    """
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "seepage plan",
        **msgspec.json.schema(PlanFile),
    }
    plain = dict(msgspec.json.decode(msgspec.json.encode(schema)))
    for described in plain["$defs"].values():
        if "description" in described:  # the first line of the docstring
            described["description"] = described["description"].partition("\n")[0]
    return plain


def save_plan(plan: Plan, path: str | os.PathLike[str]) -> None:
    """Write a plan to a JSON file, which appears whole or not at all."""
    content = msgspec.json.format(msgspec.json.encode(PlanFile.of(plan)), indent=2)
    with whole_file(path) as file:
        file.write(content + b"\n")


def load_plan(path: str | os.PathLike[str], *, unchecked: bool = False) -> Plan:
    """Return the plan of a file; invalid content raises an InputError that names the field.

    Parameters
    ----------
    path
        The file.
    unchecked
        Accept a plan whose digest does not match its content; it can only be used by `certify`.
    """
    _checks.flag(unchecked, "unchecked")
    file = str(_checks.path(path))
    plan, intact = _decode(file, _read(file))
    if intact:
        return plan
    if not unchecked:
        hint = f"certify it again with `seepage calibrate --check {file} DATA`"
        if plan.scope == "population":
            hint = "limits for the population cannot be checked again: design the plan anew"
        raise InputError(f"{file} was edited: its content does not match its digest; {hint}")
    plan.__dict__[EDITED] = True
    return plan


def _read(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as problem:
        raise InputError(f"{file} cannot be read: {problem.strerror}") from None


def _decode(file: str, content: bytes) -> tuple[Plan, bool]:
    """Return the plan of a file, and whether its digest matches its content.

    A matching digest does not prove the totals, so they are checked against the forms.
    """
    try:
        version = msgspec.json.decode(content, type=_PlanVersion).version
        if version in VERSIONS:
            plan, intact = msgspec.json.decode(content, type=VERSIONS[version]).loaded
            if intact:
                check_promises(plan)
            return plan, intact
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, InputError) as problem:
        raise InputError(f"{file} is no valid plan: {problem}") from None
    raise InputError(
        f"{file} has version {version} of the plan format, this seepage reads up to "
        f"{max(VERSIONS)}; use the seepage that wrote it, or a newer one"
    )
