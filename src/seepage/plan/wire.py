"""The wire form of a plan: all that a client needs to make reports, in integers and text.

No floating-point number is in it, so that two implementations read the same: chances are integers
out of 2^64 as decimal digits, bin edges are decimal digits too (the shortest that give the double
back).  Plans that share a wire form share the meaning of their reports; its digest is
`Plan.collection`.

`mechanisms.wire_format` has what a question says about its mechanism, `docs/wire.md` how bytes
become a report, and `collection.wire_draws` the reference.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from seepage.errors import InputError
from seepage.mechanisms import Mechanism
from seepage.mechanisms.wire_format import DRAWN, mechanism_wire
from seepage.plan.form import Form, MatrixChannel, cumulative

if TYPE_CHECKING:
    from seepage.plan.plan import Plan

Wire = dict[str, Any]


def plan_wire(plan: "Plan") -> Wire:
    """Return the wire form of a plan; a mechanism without one raises an InputError."""
    for name, mechanism in _undrawn(plan):
        known = ", ".join(sorted({kind.name for kind in DRAWN}))
        raise InputError(
            f"{name!r} is collected by {mechanism.name!r}, which a client cannot draw; "
            f"plan one of {known}"
        )
    return described_collection(plan)


def has_wire(plan: "Plan") -> bool:
    """Say whether clients can draw all reports of a plan."""
    return not _undrawn(plan)


def _undrawn(plan: "Plan") -> list[tuple[str, Mechanism]]:
    """Return the mechanisms that a client cannot draw, by attribute."""
    return [
        (name, mechanism)
        for form, made in zip(plan.forms, plan.channels, strict=True)
        for name, mechanism in made.items()
        if form.is_product and type(mechanism) not in DRAWN
    ]


def described_collection(plan: "Plan") -> Wire:
    """Return the wire form, a mechanism that has none described by its parameters as text."""
    return {
        "format": "seepage collection",
        "version": 1,
        "attributes": [
            {
                "name": attribute.name,
                "values": list(attribute.values),
                "edges": [repr(float(edge)) for edge in attribute.edges],
            }
            for attribute in plan.collected
        ],
        "forms": [
            {"until": str(until), **_form(form, made)}
            for form, made, until in zip(
                plan.forms, plan.channels, cumulative(plan.forms), strict=True
            )
        ],
    }


def _form(form: Form, made: Mapping[str, Mechanism]) -> Wire:
    if isinstance(form.channel, MatrixChannel):
        rows = [list(row) for row in form.channel.thresholds]
        return {"type": "matrix", "attributes": list(form.attributes), "thresholds": rows}
    questions = [
        {"attribute": name, **mechanism_wire(mechanism)} for name, mechanism in made.items()
    ]
    return {"type": "product", "questions": questions}


def wire_digest(wire: Wire) -> str:
    """Return SHA-256 of the canonical JSON of a wire form: sorted keys, no blanks, UTF-8."""
    content = json.dumps(wire, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()
