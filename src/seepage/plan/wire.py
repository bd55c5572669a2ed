"""The wire form of a plan: all that a client needs to draw reports, as integers and
text.

It has no floating-point numbers, so that two implementations read the same:
probabilities are integers out of 2^64 as decimal digits, and bin edges are decimal
digits (the shortest that give the double back).  Plans with the same wire form have
reports of the same meaning; its digest is `Plan.collection`.

A client draws each report from a fixed number of bytes, without rejection, see
`seepage.mechanisms.word_draws`.

`docs/wire.md` is the specification.  Randomness is a sequence of 64-bit words,
little-endian.  One word draws the form.  The answers of a form take a fixed number of
words, question by question: one for `direct` and `matrix`, 1 + size for `subset`, k for
`bits`.  `perturb_table` draws from the same distribution for whole columns, with bytes
in another order; the JavaScript client gives the same report from the same bytes.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from seepage._core.errors import InputError
from seepage.channel.domain import ALL_OTHERS, Attribute, Domain
from seepage.designs.forms.form import Form, cumulative
from seepage.designs.forms.form_channels import MatrixChannel
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.word_draws import WORD_DRAWS, word_draw

Wire = dict[str, Any]
"""A wire form: text, integers, lists and dicts of them."""


def mechanism_wire(mechanism: Mechanism) -> Wire:
    """Return a mechanism as a plain dict of texts, integers and lists, for clients.

    Parameters
    ----------
    mechanism
        Any mechanism.  One whose draw is `other` (hashing, noisy histograms) cannot be
        drawn by a client; its dict only identifies it.

    See Also
    --------
    seepage.mechanisms.word_draws : what the integers of each draw mean.

    Examples
    --------
    >>> from seepage.mechanisms.direct import GRR
    >>> from seepage.mechanisms.unary import OUE
    >>> mechanism_wire(GRR(2, 0.0))
    {'mechanism': 'grr', 'k': 2, 'draw': 'direct', 'keep': '0'}
    >>> mechanism_wire(OUE(3, 0.0))["true"] == str(2**63)
    True
    """
    wire: Wire = {"mechanism": mechanism.name, "k": mechanism.k}
    draw = word_draw(mechanism)
    if draw is not None:
        return wire | {"draw": draw.kind} | draw.to_wire()
    described = [
        [name, repr(value)] for name, value in sorted(mechanism.describe().items())
    ]
    return wire | {"draw": "other", "described": described}


def drawable(wire: Wire) -> Wire:
    """Return a wire form that a client can draw; a mechanism that it cannot draw raises
    an InputError.
    """
    for question in undrawable(wire):
        known = ", ".join(sorted({kind.name for kind in WORD_DRAWS}))
        raise InputError(
            f"{question['attribute']!r} is collected by {question['mechanism']!r}, "
            f"which a client cannot draw; plan one of {known}"
        )
    return wire


def undrawable(wire: Wire) -> list[Wire]:
    """Return the questions of a wire form whose mechanisms a client cannot draw."""
    questions = list[Wire]()
    for form in wire["forms"]:
        for question in form.get("questions", ()):
            if question["draw"] == "other":
                questions.append(question)
    return questions


def described_collection(
    collected: Domain,
    forms: Sequence[Form],
    form_mechanisms: Sequence[Mapping[str, Mechanism]],
) -> Wire:
    """Return the wire form of some forms; a mechanism without one has its parameters as
    text.

    Parameters
    ----------
    collected
        The attributes that some form asks for.
    forms, form_mechanisms
        The forms with their shares, and the mechanisms of each by their report.
    """
    ends = cumulative(forms)
    described = list[Wire]()
    for form, mechanisms, until in zip(forms, form_mechanisms, ends, strict=True):
        described.append({"until": str(until), **_form_fields(form, mechanisms)})
    return {
        "format": "seepage collection",
        "version": 1,
        "attributes": [attribute_wire(attribute) for attribute in collected],
        "forms": described,
    }


def attribute_wire(attribute: Attribute) -> Wire:
    """Return the wire form of an attribute, with the codes of further values and of all
    others, and the shares of its answers, if it has them.

    With shares, the number of values is the code of "no answer".
    """
    coded = attribute.as_coded
    wire: Wire = {
        "name": attribute.name,
        "values": list(attribute.as_reported.values),
        "edges": [repr(float(edge)) for edge in attribute.edges],
    }
    merged = [
        [value, coded.code(answer)]
        for value, answer in attribute.merged
        if value != ALL_OTHERS
    ]
    if merged:
        wire["merged"] = merged
    if attribute.catch_all is not None:
        wire["other"] = coded.code(attribute.catch_all)
    if attribute.shares:
        wire["shares"] = list(attribute.shares)
    return wire


def _form_fields(form: Form, mechanisms: Mapping[str, Mechanism]) -> Wire:
    """Return the wire form of a form, a plain dict, without its share."""
    if isinstance(form.channel, MatrixChannel):
        rows = [list(row) for row in form.channel.thresholds]
        return {
            "type": "matrix",
            "attributes": list(form.attributes),
            "thresholds": rows,
        }
    questions = [
        {"attribute": name, **mechanism_wire(mechanism)}
        for name, mechanism in mechanisms.items()
    ]
    return {"type": "product", "questions": questions}


def wire_digest(wire: Wire) -> str:
    """Return SHA-256 of the canonical JSON of a wire form: sorted keys, no blanks,
    UTF-8.
    """
    content = json.dumps(
        wire, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    return hashlib.sha256(content.encode()).hexdigest()
