"""The wire form of a plan: all that a client needs to make reports, in integers and text.

No floating-point number is in it, so that two implementations read the same: chances are integers
out of 2^64 as decimal digits, bin edges are decimal digits too (the shortest that give the double
back).  Plans that share a wire form share the meaning of their reports; its digest is
`Plan.collection`.

How each kind of mechanism draws, w a fresh uniform 64-bit word and T a threshold; "w < T" happens
with chance T / 2^64 exactly:

* `direct`: keep the code if w < keep, else a uniform code of 0 to k - 1.  Report: the code.
* `bits`: the bit of the own code is set if w < true, each other one if w < other, all on their
  own.  Report: the codes whose bits are set, ascending.
* `subset`: if w < force the own code and size - 1 of the other k - 1 codes, all choices alike;
  else any size of all k codes.  Report: the codes chosen, ascending.
* `hash`: a uniform 64-bit seed; the code's bucket (SplitMix64, see `mechanisms.hashing`) is kept
  if w < keep, else a uniform bucket of 0 to buckets - 1.  Report: the seed as decimal digits, and
  the bucket.
* `matrix`: the cell of all answers in mixed radix, the last attribute the fastest; the first
  report whose running sum of the cell's row is above w.  Report: its number.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from seepage.errors import InputError
from seepage.mechanisms import (
    BLH,
    GRR,
    OLH,
    OUE,
    RAPPOR,
    ApproximateGRR,
    ApproximateSUE,
    BasicRAPPOR,
    Exponential,
    Mechanism,
    SubsetSelection,
)
from seepage.mechanisms.randomness import CERTAIN
from seepage.plan.form import Form, MatrixChannel, cumulative

if TYPE_CHECKING:
    from seepage.plan.plan import Plan

Wire = dict[str, Any]


def _chance(probability: Fraction) -> str:
    """Return a probability that is a multiple of 2^-64 as digits."""
    threshold = probability * CERTAIN
    assert threshold.denominator == 1
    return str(threshold.numerator)


def _direct(made: Any) -> Wire:
    true, other = made.drawn
    return {"draw": "direct", "keep": _chance(true - other if made.k > 1 else Fraction(1))}


def _bits(made: Any) -> Wire:
    true, other = made.drawn
    return {"draw": "bits", "true": _chance(true), "other": _chance(other)}


def _subset(made: Any) -> Wire:
    uniform = Fraction(made.size, made.k)
    force = (made.drawn[0] - uniform) / (1 - uniform) if made.k > 1 else Fraction(0)
    return {"draw": "subset", "size": made.size, "force": _chance(force)}


def _hash(made: Any) -> Wire:
    uniform = Fraction(1, made.buckets)
    keep = (made.drawn[0] - uniform) / (1 - uniform)
    return {"draw": "hash", "buckets": made.buckets, "keep": _chance(keep)}


DRAWN: Mapping[type[Mechanism], Callable[[Any], Wire]] = {
    GRR: _direct,
    Exponential: _direct,
    ApproximateGRR: _direct,
    RAPPOR: _bits,
    OUE: _bits,
    ApproximateSUE: _bits,
    BasicRAPPOR: _bits,
    SubsetSelection: _subset,
    BLH: _hash,
    OLH: _hash,
}
"""The mechanisms that have a wire form.  Exact types: a subclass may draw otherwise."""


def plan_wire(plan: "Plan") -> Wire:
    """Return the wire form of a plan; a mechanism without one raises an InputError."""
    for made in plan.channels:
        for name, mechanism in made.items():
            if type(mechanism) not in DRAWN and name != "report":
                known = ", ".join(sorted(kind.name for kind in DRAWN))
                raise InputError(
                    f"{name!r} is collected by {mechanism.name!r}, which a client cannot draw: it "
                    f"is not made of integer chances; plan one of {known}"
                )
    return described_collection(plan)


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
        {"attribute": name, "mechanism": mechanism.name, **_mechanism(mechanism)}
        for name, mechanism in made.items()
    ]
    return {"type": "product", "questions": questions}


def _mechanism(made: Mechanism) -> Wire:
    drawn = DRAWN.get(type(made))
    if drawn is not None:
        return drawn(made)
    return {"described": [[name, repr(value)] for name, value in sorted(made.describe().items())]}


def wire_digest(wire: Wire) -> str:
    """Return SHA-256 of the canonical JSON of a wire form: sorted keys, no blanks, UTF-8."""
    content = json.dumps(wire, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()
