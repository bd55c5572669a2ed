"""The wire form of a plan: all that a client needs to make reports, in integers and text.

No floating-point number is in it, so that two implementations read the same: chances are integers
out of 2^64 as decimal digits, bin edges are decimal digits too (the shortest that give the double
back).  Plans that share a wire form share the meaning of their reports; its digest is
`Plan.collection`.

A client draws each report from a fixed number of bytes, without rejection, so where k does not
divide 2^64 its uniform choices are uneven by one part in 2^64 or so.  The thresholds are rounded so
that the largest ratio of two chances of one report is still at most e^epsilon, exactly.
`docs/wire.md` specifies how bytes become a report; `collection.wire_draws` is the reference.
"""

import hashlib
import json
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from seepage.errors import InputError
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.direct import (
    GRR,
    ApproximateGRR,
    DirectResponse,
    Exponential,
    SubsetSelection,
)
from seepage.mechanisms.exact_probabilities import CERTAIN, chance
from seepage.mechanisms.transition_matrix import MatrixMechanism, UtilityExponential
from seepage.mechanisms.unary import OUE, RAPPOR, ApproximateSUE, BasicRAPPOR, UnaryEncoding
from seepage.plan.form import Form, MatrixChannel, cumulative

if TYPE_CHECKING:
    from seepage.plan.plan import Plan


DRAWN: frozenset[type[Mechanism]] = frozenset(
    (
        *(GRR, Exponential, ApproximateGRR),
        SubsetSelection,
        *(RAPPOR, OUE, ApproximateSUE, BasicRAPPOR),
        *(MatrixMechanism, UtilityExponential),
    )
)
"""Mechanisms that a client can draw.  Exact types: a subclass may draw otherwise."""


def mechanism_wire(mechanism: Mechanism) -> dict[str, Any]:
    """Return a mechanism as a plain dict of texts, integers and lists, for clients.

    Parameters
    ----------
    mechanism
        Any mechanism.  Those whose draw is `other` (hashing, noisy histograms) cannot be drawn by a
        client; their dict identifies them and no more.

    Notes
    -----
    direct
        Keep the value with chance `keep`, else any of the k values.  Of the M = 2^64 - keep
        words that are left each value gets at least floor(M / k), so with R the ratio of p and q
        every ratio is at most R if keep <= (p - q)(2^64 - k).
    subset
        Put the value in with chance `force`.  A choice among n <= k candidates has chances
        within (1 +- k / 2^64) / n, so a subset of w values has at least (1 - k / 2^64)^w of its
        uniform chance and a forced one at most (1 + k / 2^64)^(w-1); `force` makes up for it.
    bits
        Each bit is 1 with chance `true` or `other`.
    matrix
        Rows of thresholds, one per value, each summing to 2^64.

    Examples
    --------
    >>> from seepage.mechanisms import GRR, OUE
    >>> mechanism_wire(GRR(2, 0.0))
    {'mechanism': 'grr', 'k': 2, 'draw': 'direct', 'keep': '0'}
    >>> mechanism_wire(OUE(3, 0.0))["true"] == str(2**63)
    True
    """
    return {"mechanism": mechanism.name, "k": mechanism.k, **_drawn(mechanism)}


def _drawn(made: Mechanism) -> dict[str, Any]:
    if type(made) not in DRAWN:
        described = [[name, repr(value)] for name, value in sorted(made.describe().items())]
        return {"draw": "other", "described": described}
    if isinstance(made, DirectResponse):
        return {"draw": "direct", "keep": str(_keep(made))}
    if isinstance(made, SubsetSelection):
        return {"draw": "subset", "size": made.size, "force": str(_force(made))}
    if isinstance(made, UnaryEncoding):
        true, other = (str(int(part * CERTAIN)) for part in made.drawn)
        return {"draw": "bits", "true": true, "other": other}
    assert isinstance(made, MatrixMechanism)
    rows = [[str(cell) for cell in row] for row in made.thresholds.tolist()]
    return {"draw": "matrix", "thresholds": rows}


def _keep(made: DirectResponse) -> int:
    """Return the chance to keep the value, the largest by the rule of `mechanism_wire`."""
    contrast = made.true - made.other
    return max(0, int(contrast * (CERTAIN - made.k))) if made.k > 1 else 0


def _force(made: SubsetSelection) -> int:
    """Return the chance to put the value in, so that every ratio is at most R.

    force / (1 - force) * (k / w) * (1 + u)^(w-1) / (1 - u)^w <= R - 1, with u = k / 2^64 and
    (1 - u)^w / (1 + u)^(w-1) >= 1 - (2w - 1) u.
    """
    if made.k == 1:
        return 0
    p, w, k = made.true, made.size, made.k
    excess = p * (k - w) / ((1 - p) * w) - 1
    odds = excess * Fraction(w, k) * (1 - Fraction((2 * w - 1) * k, CERTAIN))
    return chance(max(Fraction(0), odds / (1 + odds)))


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
