"""Plan files: written, read and checked."""

import os
from typing import Literal

import msgspec

from seepage._core import checks
from seepage._core.errors import InputError
from seepage._core.files import read_small, whole_file
from seepage.designs.forms.question import Stored
from seepage.plan.contradictions import check_totals
from seepage.plan.plan_content import PlanContent
from seepage.plan.wire import Wire, undrawable

# Files --------------------------------------------------------------------------------

VERSION: Literal[1] = 1
"""The version of the format."""


class PlanFile(Stored, frozen=True, kw_only=True):
    """The content of a plan file.

    Parameters
    ----------
    digest, plan
        The plan, and SHA-256 of its content.
    collection, wire
        The digest of the wire form, and the wire form, which clients load; both follow
        from the plan.  No wire form if a mechanism has none.
    """

    format: Literal["seepage plan"] = "seepage plan"
    version: Literal[1] = VERSION
    digest: str
    plan: PlanContent
    collection: str
    wire: Wire | None

    @classmethod
    def of(cls, plan: PlanContent) -> "PlanFile":
        """Return a plan as its file has it, with its digest and its wire form."""
        described = plan.description
        wire = None if undrawable(described) else described
        return cls(digest=plan.digest, plan=plan, collection=plan.collection, wire=wire)


class _PlanHeader(msgspec.Struct):
    format: Literal["seepage plan"]
    version: int


def is_plan_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file has the format of plans, whatever its version."""
    try:
        msgspec.json.decode(read_small(path), type=_PlanHeader)
    except (InputError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def save_plan(plan: PlanContent, path: str | os.PathLike[str]) -> None:
    """Write a plan to a JSON file, which appears whole or not at all."""
    content = msgspec.json.format(
        msgspec.json.encode(PlanFile.of(plan), enc_hook=str), indent=2
    )
    with whole_file(path) as file:
        file.write(content + b"\n")


def load_plan(path: str | os.PathLike[str]) -> PlanContent:
    """Return the plan of a file; invalid content raises an InputError that names the
    field.
    """
    file = str(checks.path(path))
    content = read_small(file)
    try:
        version = msgspec.json.decode(content, type=_PlanHeader).version
        if version != VERSION:
            raise InputError(
                f"it has version {version} of the format, seepage reads {VERSION}"
            )
        stored = msgspec.json.decode(content, type=PlanFile)
        if stored != PlanFile.of(stored.plan):
            raise InputError(
                "it was edited, its content does not match its digest; plan anew"
            )
        check_totals(stored.plan)
    except (
        msgspec.DecodeError,
        UnicodeDecodeError,
        RecursionError,
        InputError,
    ) as problem:
        raise InputError(f"{file} is no valid plan: {problem}") from None
    return stored.plan
