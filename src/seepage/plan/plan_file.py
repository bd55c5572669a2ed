"""Plans as files: versioned JSON, strictly validated, with a digest.

The schema is published beside this module as `schema.json`.  Files of version 1, in which everyone
is asked everything, are read as plans of one form.
"""

import hashlib
import os
from pathlib import Path
from typing import Any, Literal

import msgspec

from seepage import _checks
from seepage._files import whole_file
from seepage._results import json_ready
from seepage.errors import InputError
from seepage.mechanisms.exact_probabilities import CERTAIN
from seepage.plan.form import ProductChannel, Stored
from seepage.plan.plan import EDITED, Plan
from seepage.plan.plan_parts import check_promises
from seepage.plan.wire import Wire, has_wire

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


def _read_version_1(content: bytes) -> tuple[Plan, bool]:
    """Return the plan of a file of version 1, and whether its digest matches it."""
    file = msgspec.json.decode(content)
    try:
        digest = hashlib.sha256(msgspec.json.encode(file["plan"], order="sorted")).hexdigest()
        return msgspec.convert(_with_form(file["plan"]), Plan), file["digest"] == digest
    except KeyError as problem:
        raise InputError(f"the field {problem} is missing") from None
    except (TypeError, AttributeError):
        raise InputError("the plan and its attributes must be objects") from None


def _with_form(plan: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON of a plan of version 1, in which everyone is asked everything, with one form.

    There the question of an attribute is part of it; its mechanism is None if it is not collected.
    """
    for name in ("forms", "alternatives"):
        if name in plan:
            raise InputError(f"a plan of version 1 has no field {name!r}")
    parts = [
        {name: attribute.pop(name) for name in ("mechanism", "epsilon", "delta", "parameters")}
        for attribute in plan["attributes"]
    ]
    for attribute, part in zip(plan["attributes"], parts, strict=True):
        if part["mechanism"] is None and (part["epsilon"] or part["delta"]):
            raise InputError(
                f"attribute {attribute['name']!r} is not collected, so its epsilon and delta "
                "must be 0"
            )
    questions = [
        {"attribute": attribute["name"], **part}
        for attribute, part in zip(plan["attributes"], parts, strict=True)
        if part["mechanism"] is not None
    ]
    channel = {"type": "product", "questions": questions}
    form = {
        "share": str(CERTAIN),
        "channel": channel,
        "guarantee": plan["guarantee"],
        "totals": [attribute["total"] for attribute in plan["attributes"]],
        "total_deltas": [attribute["total_delta"] for attribute in plan["attributes"]],
        "record": json_ready(msgspec.convert(channel, ProductChannel).record),
    }
    return {**plan, "forms": [form]}


def _read_version_2(content: bytes) -> tuple[Plan, bool]:
    """Return the plan of a file, and whether digest and wire form match it."""
    file = msgspec.json.decode(content, type=PlanFile)
    plan = file.plan
    intact = (
        file.digest == plan.digest
        and file.collection in ("", plan.collection)
        and (file.wire is None or (has_wire(plan) and file.wire == plan.wire))
    )
    return plan, intact


VERSIONS = {1: _read_version_1, 2: _read_version_2}
"""Function from the content of a plan file to the plan and whether it is intact, by version."""


class _PlanFormat(msgspec.Struct):
    format: Literal["seepage plan"]


class _PlanVersion(_PlanFormat):
    version: int


def is_plan_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file has the format of plans, whatever its version."""
    try:
        msgspec.json.decode(Path(path).read_bytes(), type=_PlanFormat)
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
        hint = "certify it again with `Plan.load(path, unchecked=True).certify(data)`"
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
            plan, intact = VERSIONS[version](content)
            if intact:
                check_promises(plan)
            return plan, intact
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, InputError) as problem:
        raise InputError(f"{file} is no valid plan: {problem}") from None
    raise InputError(
        f"{file} has version {version} of the plan format, this seepage reads up to "
        f"{max(VERSIONS)}; use the seepage that wrote it, or a newer one"
    )
