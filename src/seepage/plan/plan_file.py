"""Plans as files: versioned JSON, strictly validated, with a digest; and certified again.

The schema is published beside this module as `schema.json`.
"""

import os
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

import msgspec

from seepage import _checks
from seepage._files import whole_file
from seepage._results import json_ready
from seepage.data.inputs import as_counted
from seepage.errors import InputError
from seepage.leakage.release import PUBLIC
from seepage.plan.make_plan import check_limits, check_totals
from seepage.plan.plan import EDITED, Plan, Provenance
from seepage.plan.planned_attribute import PlannedAttribute
from seepage.totals import TotalLeakage, total_leakage
from seepage.totals.total import TotalSettings

VERSION = 1

SCHEMA = Path(__file__).with_name("schema.json")
"""The JSON schema of a plan file."""


class PlanFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a plan file."""

    format: Literal["seepage plan"] = "seepage plan"
    version: Literal[1] = 1
    digest: str
    plan: Plan

    @classmethod
    def of(cls, plan: Plan) -> "PlanFile":
        """Return a plan with its digest."""
        return cls(digest=plan.digest, plan=plan)


class _PlanVersion(msgspec.Struct):
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


def save_plan(plan: Plan, path: str | os.PathLike[str]) -> None:
    """Write a plan to a JSON file, which appears whole or not at all."""
    content = msgspec.json.format(msgspec.json.encode(PlanFile.of(plan)), indent=2)
    with whole_file(path) as file:
        file.write(content + b"\n")


def load_plan(path: str | os.PathLike[str], *, unchecked: bool = False) -> Plan:
    """Return the plan of a file; what is wrong raises an InputError that names the field.

    Parameters
    ----------
    path
        The file.
    unchecked
        Accept a plan whose digest does not match its content; it is good for `certify` only.
    """
    _checks.flag(unchecked, "unchecked")
    place = str(_checks.path(path))
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
        version = msgspec.json.decode(content, type=_PlanVersion).version
        if version != VERSION:
            raise InputError(
                f"{place} has version {version} of the plan format, this seepage reads {VERSION}; "
                "use the seepage that wrote it, or a newer one"
            )
        return msgspec.json.decode(content, type=PlanFile)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise InputError(f"{place} is no valid plan: {problem}") from None


def certify(plan: Plan, data: Any, **options: Any) -> Plan:
    """Return a plan with its totals computed again; a total above its limit raises an InputError.

    This makes a plan valid again that was edited by hand: `save` the plan that is returned.

    Parameters
    ----------
    plan
        The plan, as `Plan.load(path, unchecked=True)` gives it.
    data
        Any table that can be read in the plan's domain, or what is counted in that domain; other
        columns are ignored.  Pair counts suffice for the guarantees `worst`, `independent` and
        `tree`, a sample for `worst` only.
    options
        Options of `total_leakage` (`structure`, `reports`, `seed`, `progress`) and table options.

    Returns
    -------
    Plan
        The same budgets and limits, with new totals, provenance and digest.

    Notes
    -----
    Statistical totals are computed from fresh reports unless a seed is given, so that budgets
    cannot be tried until one seed lets them pass.

    Examples
    --------
    >>> import seepage as sp
    >>> from seepage.plan import make_plan
    >>> adult = sp.load_pairs("adult").select(["sex", "race", "income"])
    >>> plan = make_plan(adult, 1.0, limit=3.1, guarantee="worst", totals=[3.1, 3.1, 3.1])
    >>> certify(plan, adult).totals.round(9).tolist()
    [3.0, 3.0, 3.0]
    """
    found = _totals(plan, data, options)
    check_totals(found, plan.guarantee, plan.domain)
    totals = zip(plan.attributes, found.values.tolist(), found.deltas.tolist(), strict=True)
    certified = msgspec.structs.replace(
        plan,
        attributes=tuple(
            msgspec.structs.replace(planned, total=json_ready(total), total_delta=delta)
            for planned, total, delta in totals
        ),
        provenance=Provenance.of(found.matrix.pairs, plan.provenance.settings),
        notes=tuple(dict.fromkeys((*found.notes, *plan.notes))),
        confidence=found.confidence,
    )
    check_limits(certified)
    return certified


def _totals(plan: Plan, data: Any, options: dict[str, Any]) -> TotalLeakage:
    """Return the totals of a plan's budgets under its guarantee."""
    kept = {field.name for field in fields(TotalSettings)}
    settings = {name: value for name, value in options.items() if name in kept}
    table = {name: value for name, value in options.items() if name not in kept}
    records = plan.guarantee not in ("worst", "independent")
    known = as_counted(data, records=records, within=plan.domain, **table)
    if plan.guarantee == "sampled":
        stated = max(planned.total_delta for planned in plan.attributes)
        settings = {
            "seed": None,
            "confidence": plan.confidence or 0.95,
            **({"target_delta": stated} if 0 < stated < 1 else {}),
            **settings,
        }
    return total_leakage(
        known,
        {planned.name: planned.epsilon for planned in plan.attributes},
        mechanism={planned.name: _released(plan, planned) for planned in plan.attributes},
        guarantee=plan.guarantee,
        delta={planned.name: planned.delta for planned in plan.attributes},
        view=plan.view,
        **settings,
    )


def _released(plan: Plan, planned: PlannedAttribute) -> Any:
    """Return the release of an attribute, as `total_leakage` takes it."""
    if planned.public:
        return PUBLIC
    if plan.basis == "bound":
        return None
    return planned.made if planned.parameters else planned.mechanism
