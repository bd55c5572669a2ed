"""Plan files of version 1, in which everyone is asked everything: read as plans of one form."""

import hashlib
from typing import Annotated, Any, Literal

import msgspec

from seepage._results import json_ready
from seepage.errors import InputError
from seepage.plan.form import Form, ProductChannel
from seepage.plan.plan import Plan
from seepage.plan.planned_attribute import PlannedAttribute
from seepage.plan.provenance import Provenance
from seepage.plan.question import Budget, Question, Relaxation, Unbounded


class AttributeVersion1(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An attribute with the mechanism that everyone's answer is perturbed by."""

    name: str
    mechanism: str | None
    public: bool = False
    epsilon: Budget
    delta: Relaxation = 0.0
    parameters: dict[str, float] = {}
    limit: Budget | None = None
    total: Unbounded
    total_delta: Budget = 0.0
    values: tuple[str, ...]
    edges: tuple[float | Literal["inf", "-inf"], ...] = ()

    @property
    def question(self) -> Question | None:
        """The question that asks for it; None where it is not collected."""
        if self.mechanism is None:
            if self.epsilon or self.delta:
                raise InputError(
                    f"attribute {self.name!r} is not collected, so its epsilon and delta must be 0"
                )
            return None
        return Question(
            attribute=self.name,
            mechanism=self.mechanism,
            epsilon=self.epsilon,
            delta=self.delta,
            parameters=self.parameters,
        )


class PlanVersion1(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A plan without forms."""

    attributes: tuple[AttributeVersion1, ...]
    guarantee: str
    kind: Literal["certified", "statistical", "assumed"]
    basis: Literal["bound", "mechanism"] = "bound"
    view: Literal["report", "inferred"] = "report"
    confidence: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None
    provenance: Provenance
    notes: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of the content in canonical JSON: sorted keys, no blanks."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()

    @property
    def plan(self) -> Plan:
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
        return Plan(
            attributes=tuple(map(_attribute, self.attributes)),
            forms=(form,),
            guarantee=self.guarantee,
            kind=self.kind,
            basis=self.basis,
            view=self.view,
            confidence=self.confidence,
            provenance=self.provenance,
            notes=self.notes,
        )


def _attribute(earlier: AttributeVersion1) -> PlannedAttribute:
    kept = ("name", "public", "limit", "total", "total_delta", "values", "edges")
    return PlannedAttribute(**{name: getattr(earlier, name) for name in kept})


class FileVersion1(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a plan file of version 1."""

    format: Literal["seepage plan"]
    version: Literal[1]
    digest: str
    plan: PlanVersion1


def decode_version_1(content: bytes) -> tuple[Plan, bool]:
    """Return the plan of a file of version 1, and whether its digest matches its content."""
    found: Any = msgspec.json.decode(content, type=FileVersion1)
    try:
        return found.plan.plan, found.digest == found.plan.digest
    except InputError as problem:
        raise msgspec.ValidationError(str(problem)) from None
