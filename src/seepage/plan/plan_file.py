"""Plans as files: versioned JSON, strictly validated, with a digest of the content.

The schema is published beside this module as `schema.json`.
"""

import os
from pathlib import Path
from typing import Any, Literal

import msgspec

from seepage._files import whole_file
from seepage.errors import InputError
from seepage.plan.model import EDITED, Plan

__all__ = ["SCHEMA", "load_plan", "plan_schema", "save_plan", "to_file"]

VERSION = 1

SCHEMA = Path(__file__).with_name("schema.json")
"""The JSON schema of a plan file."""


class PlanFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a plan file."""

    format: Literal["seepage plan"] = "seepage plan"
    version: Literal[1] = 1
    digest: str
    plan: Plan


class _Version(msgspec.Struct):
    format: Literal["seepage plan"]
    version: int


def plan_schema() -> dict[str, Any]:
    """Return the JSON schema of plan files, as `schema.json` must have it.

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
    return dict(msgspec.json.decode(msgspec.json.encode(schema)))


def to_file(plan: Plan) -> PlanFile:
    """Return a plan with its digest."""
    return PlanFile(digest=plan.digest, plan=plan)


def save_plan(plan: Plan, path: str | os.PathLike[str]) -> None:
    """Write a plan to a JSON file, which appears whole or not at all."""
    content = msgspec.json.format(msgspec.json.encode(to_file(plan)), indent=2)
    with whole_file(path) as file:
        file.write(content + b"\n")


def load_plan(path: str | os.PathLike[str], *, unchecked: bool = False) -> Plan:
    """Return the plan of a file, or refuse it in one line that names the field.

    Parameters
    ----------
    path
        The file.
    unchecked
        Take a plan whose digest does not match its content; it is good for `certify` only.
    """
    place = os.fspath(path)
    found = _decode(place, _read(place))
    if found.digest != found.plan.digest:
        if not unchecked:
            raise InputError(
                f"{place} was edited: its content does not match its digest; certify it again "
                f"with `seepage calibrate --check {place} DATA`"
            )
        found.plan.__dict__[EDITED] = True
    return found.plan


def _read(place: str) -> bytes:
    try:
        return Path(place).read_bytes()
    except OSError as problem:
        raise InputError(f"{place} cannot be read: {problem.strerror}") from None


def _decode(place: str, content: bytes) -> PlanFile:
    try:
        version = msgspec.json.decode(content, type=_Version).version
        if version != VERSION:
            raise InputError(
                f"{place} has version {version} of the plan format, this seepage reads {VERSION}; "
                "use the seepage that wrote it, or a newer one"
            )
        return msgspec.json.decode(content, type=PlanFile)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise InputError(f"{place} is no valid plan: {problem}") from None
