"""The wire form of a plan, and the reference client: from answers and random bytes to
reports.

The wire form is everything that a client needs to draw reports, as integers and text.

It has no floating-point numbers, so that two implementations read the same:
probabilities are integers out of 2^64 as decimal digits, and bin edges are decimal
digits (the shortest that give the double back).  Plans with the same wire form have
reports of the same meaning; its digest is `Plan.collection`.

A client draws each report from a fixed number of bytes, without rejection, so if k does
not divide 2^64 its uniform choices deviate by about one part in 2^64.  The thresholds
are rounded so that the largest ratio of two probabilities of one report is still at
most e^epsilon, exactly.

`docs/wire.md` is the specification.  Randomness is a sequence of 64-bit words,
little-endian.  One word draws the form.  The answers of a form take a fixed number of
words, question by question: one for `direct` and `matrix`, 1 + size for `subset`, k for
`bits`.  `perturb_table` draws from the same distribution for whole columns, with bytes
in another order; the JavaScript client gives the same report from the same bytes.
"""

import hashlib
import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from seepage import _checks
from seepage.data import ALL_OTHERS, MISSING, Attribute
from seepage.data.table.text import NUMBER, number_label
from seepage.designs.form import Form, cumulative
from seepage.designs.report_channels import MatrixChannel
from seepage.errors import InputError
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.direct import (
    GRR,
    ApproximateGRR,
    DirectResponse,
    Exponential,
    SubsetSelection,
)
from seepage.mechanisms.exact_draws import CERTAIN, chance
from seepage.mechanisms.transition_matrix import MatrixMechanism
from seepage.mechanisms.unary import (
    OUE,
    RAPPOR,
    ApproximateSUE,
    BasicRAPPOR,
    UnaryEncoding,
)

if TYPE_CHECKING:
    from seepage.plan import Plan


Wire = dict[str, Any]
"""A wire form: text, integers, lists and dicts of them."""

WORD = 8
"""Bytes of a word."""

Words = Iterator[int]

DRAWABLE: frozenset[type[Mechanism]] = frozenset(
    (
        *(GRR, Exponential, ApproximateGRR),
        SubsetSelection,
        *(RAPPOR, OUE, ApproximateSUE, BasicRAPPOR),
        MatrixMechanism,
    )
)
"""Mechanisms that a client can draw.  Exact types: a subclass may draw differently."""


def mechanism_wire(mechanism: Mechanism) -> Wire:
    """Return a mechanism as a plain dict of texts, integers and lists, for clients.

    Parameters
    ----------
    mechanism
        Any mechanism.  One whose draw is `other` (hashing, noisy histograms) cannot be
        drawn by a client; its dict only identifies it.

    Notes
    -----
    direct
        Keep the value with probability `keep`, else any of the k values.  Of the
        remaining M = 2^64 - keep words each value gets at least floor(M / k), so with R
        = p / q every ratio is at most R if keep <= (p - q)(2^64 - k).
    subset
        Include the value with probability `force`.  A choice among n <= k candidates
        has probabilities within (1 +- k / 2^64) / n, so a subset of w values has at
        least (1 - k / 2^64)^w of its uniform probability and a forced one at most (1 +
        k / 2^64)^(w-1); `force` is lowered accordingly.
    bits
        Each bit is 1 with probability `true` or `other`.
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
    wire: Wire = {"mechanism": mechanism.name, "k": mechanism.k}
    if type(mechanism) not in DRAWABLE:
        described = [
            [name, repr(value)] for name, value in sorted(mechanism.describe().items())
        ]
        return wire | {"draw": "other", "described": described}
    if isinstance(mechanism, DirectResponse):
        return wire | {"draw": "direct", "keep": str(_keep(mechanism))}
    if isinstance(mechanism, SubsetSelection):
        return wire | {
            "draw": "subset",
            "size": mechanism.size,
            "force": str(_force(mechanism)),
        }
    if isinstance(mechanism, UnaryEncoding):
        true, other = (str(int(part * CERTAIN)) for part in mechanism.drawn)
        return wire | {"draw": "bits", "true": true, "other": other}
    assert isinstance(mechanism, MatrixMechanism)
    rows = [[str(cell) for cell in row] for row in mechanism.thresholds.tolist()]
    return wire | {"draw": "matrix", "thresholds": rows}


def _keep(mechanism: DirectResponse) -> int:
    """Return the largest `keep` allowed by the rule of `mechanism_wire`."""
    contrast = mechanism.true - mechanism.other
    return max(0, int(contrast * (CERTAIN - mechanism.k))) if mechanism.k > 1 else 0


def _force(mechanism: SubsetSelection) -> int:
    """Return the probability of including the value, so that every ratio is at most R.

    force / (1 - force) * (k / w) * (1 + u)^(w-1) / (1 - u)^w <= R - 1, with u = k /
    2^64 and (1 - u)^w / (1 + u)^(w-1) >= 1 - (2w - 1) u.
    """
    if mechanism.k == 1:
        return 0
    p = mechanism.true
    w = mechanism.size
    k = mechanism.k
    excess = p * (k - w) / ((1 - p) * w) - 1
    odds = excess * Fraction(w, k) * (1 - Fraction((2 * w - 1) * k, CERTAIN))
    return chance(max(Fraction(0), odds / (1 + odds)))


def plan_wire(plan: "Plan") -> Wire:
    """Return the wire form of a plan; a mechanism without one raises an InputError."""
    wire = described_collection(plan)
    for question in undrawable(wire):
        known = ", ".join(sorted({kind.name for kind in DRAWABLE}))
        raise InputError(
            f"{question['attribute']!r} is collected by {question['mechanism']!r}, which a client "
            f"cannot draw; plan one of {known}"
        )
    return wire


def undrawable(wire: Wire) -> list[Wire]:
    """Return the questions whose mechanisms a client cannot draw."""
    questions = [one for form in wire["forms"] for one in form.get("questions", ())]
    return [question for question in questions if question["draw"] == "other"]


def described_collection(plan: "Plan") -> Wire:
    """Return the wire form; a mechanism that has none is described by its parameters as
    text.
    """
    return {
        "format": "seepage collection",
        "version": 1,
        "attributes": [attribute_wire(attribute) for attribute in plan.collected],
        "forms": [
            {"until": str(until), **_form_fields(form, mechanisms)}
            for form, mechanisms, until in zip(
                plan.forms, plan.form_mechanisms, cumulative(plan.forms), strict=True
            )
        ],
    }


def attribute_wire(attribute: Attribute) -> Wire:
    """Return an attribute, with the codes of further values and of all others if it has
    them.
    """
    edges = [repr(float(edge)) for edge in attribute.edges]
    found = {"name": attribute.name, "values": list(attribute.values), "edges": edges}
    merged = [
        [value, attribute.code(to)]
        for value, to in attribute.merged
        if value != ALL_OTHERS
    ]
    other = (
        {}
        if attribute.catch_all is None
        else {"other": attribute.code(attribute.catch_all)}
    )
    return found | ({"merged": merged} if merged else {}) | other


def _form_fields(form: Form, mechanisms: Mapping[str, Mechanism]) -> Wire:
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


# The reference client -----------------------------------------------------------------


def draw_form(wire: Wire, data: bytes) -> int:
    r"""Return the number of the form, from 1, that 8 bytes draw.

    Parameters
    ----------
    wire
        The wire form, see `Plan.wire`.
    data
        8 uniform bytes.

    Examples
    --------
    >>> wire = {"forms": [{"until": str(2**63)}, {"until": str(2**64)}]}
    >>> draw_form(wire, bytes(8)), draw_form(wire, b"\xff" * 8)
    (1, 2)
    """
    (word,) = _words(data, 1)
    return 1 + bisect_right([int(form["until"]) for form in wire["forms"]], word)


def form_bytes(wire: Wire, form: int) -> int:
    """Return the number of random bytes that the reports of a form take."""
    return WORD * sum(
        _word_count(channel) for _, channel in _channels(_form(wire, form))
    )


def perturb_record(
    wire: Wire, form: int, record: Mapping[str, Any], data: bytes
) -> dict[str, Any]:
    r"""Return the reports of one person's answers, as in a line of JSON Lines.

    Parameters
    ----------
    wire
        The wire form, see `Plan.wire`.
    form
        The number of the person's form, from 1.
    record
        A value for each attribute that the form asks, as `answer_code` takes it; other
        attributes are ignored.  One without a code raises an InputError, and nothing is
        drawn.
    data
        As many uniform bytes as `form_bytes` says.

    Returns
    -------
    dict
        `form` and `reports` by attribute, or one `report` of all answers together.

    Examples
    --------
    >>> question = {"attribute": "ill", "draw": "direct", "k": 2, "keep": str(2**63)}
    >>> form = {"until": str(2**64), "type": "product", "questions": [question]}
    >>> wire = {
    ...     "attributes": [{"name": "ill", "values": ["no", "yes"]}],
    ...     "forms": [form],
    ... }
    >>> perturb_record(wire, 1, {"ill": "yes"}, bytes(8))
    {'form': 1, 'reports': {'ill': 1}}
    >>> perturb_record(wire, 1, {"ill": "yes"}, bytes(7) + b"\x80")
    {'form': 1, 'reports': {'ill': 0}}
    """
    asked = _form(wire, form)
    answers = _checks.mapping(record, "record")
    attributes = {attribute["name"]: attribute for attribute in wire["attributes"]}
    channels = [
        (one, _cell(attributes, names, answers)) for names, one in _channels(asked)
    ]
    words = iter(_words(data, form_bytes(wire, form) // WORD))
    drawn = [draw_report(channel, cell, words) for channel, cell in channels]
    if asked["type"] == "matrix":
        return {"form": form, "report": drawn[0]}
    names = [question["attribute"] for question in asked["questions"]]
    return {"form": form, "reports": dict(zip(names, drawn, strict=True))}


def draw_report(channel: Wire, code: int, words: Words) -> int | list[int]:
    """Return one report of a value's code, consuming as many words as its draw needs."""
    draw = DRAWS.get(channel["draw"])
    if draw is None:
        raise InputError(
            f"clients cannot draw reports of mechanism {channel['mechanism']!r}"
        )
    return draw(channel, code, words)


def _direct(channel: Wire, code: int, words: Words) -> int:
    """Return the value if the word is below `keep`, else one uniform over all k values."""
    word = next(words)
    keep = int(channel["keep"])
    return (
        code if word < keep else (word - keep) * int(channel["k"]) // (CERTAIN - keep)
    )


def _subset(channel: Wire, code: int, words: Words) -> list[int]:
    """Return a random subset, which contains the value if the first word is below
    `force`.

    The other values are chosen by the shuffle of Fisher and Yates.
    """
    k = int(channel["k"])
    size = int(channel["size"])
    values = list(range(k))
    taken = 0
    if next(words) < int(channel["force"]):
        values[0], values[code], taken = values[code], values[0], 1
    for index in range(size):
        word = next(words)
        if index >= taken:
            chosen = index + (word * (k - index) >> 64)
            values[index], values[chosen] = values[chosen], values[index]
    return sorted(values[:size])


def _bits(channel: Wire, code: int, words: Words) -> list[int]:
    """Return the values whose word is below `true` (the person's value) or `other` (all
    others).
    """
    true = int(channel["true"])
    other = int(channel["other"])
    bits = [
        next(words) < (true if v == code else other) for v in range(int(channel["k"]))
    ]
    return [value for value, bit in enumerate(bits) if bit]


def _matrix(channel: Wire, code: int, words: Words) -> int:
    """Return the index of the first cumulative threshold of the value's row above the
    word.
    """
    return bisect_right(
        list(accumulate(map(int, channel["thresholds"][code]))), next(words)
    )


DRAWS: dict[str, Callable[[Wire, int, Words], int | list[int]]] = {
    "direct": _direct,
    "subset": _subset,
    "bits": _bits,
    "matrix": _matrix,
}


def _word_count(channel: Wire) -> int:
    if channel["draw"] == "subset":
        return 1 + int(channel["size"])
    return int(channel["k"]) if channel["draw"] == "bits" else 1


def _words(data: bytes, count: int) -> list[int]:
    octets = _checks.instance(data, "data", bytes, "bytes")
    if len(octets) != WORD * count:
        raise InputError(
            f"data must be {WORD * count} bytes, got {len(octets)}", parameter="data"
        )
    return [
        int.from_bytes(octets[i : i + WORD], "little")
        for i in range(0, len(octets), WORD)
    ]


def _form(wire: Wire, form: int) -> Wire:
    forms: list[Wire] = wire["forms"]
    return forms[_checks.integer(form, "form", 1, len(forms)) - 1]


def _channels(form: Wire) -> list[tuple[list[str], Wire]]:
    """Return the attributes of each report of a form, and how it is drawn."""
    if form["type"] == "matrix":
        return [(form["attributes"], {**form, "draw": "matrix"})]
    return [([question["attribute"]], question) for question in form["questions"]]


def _cell(
    attributes: Mapping[str, Wire], names: list[str], answers: Mapping[str, Any]
) -> int:
    """Return the flat row-major index of the codes of answers; raise if one has no
    code.
    """
    cell = 0
    for name in names:
        size = len(attributes[name]["values"])
        code = answer_code(attributes[name], answers[name]) if name in answers else None
        if code is None:
            raise InputError(f"the answer to {name!r} must be one of its {size} values")
        cell = cell * size + code
    return cell


def answer_code(attribute: Wire, answer: str | float | None) -> int | None:
    """Return the code of an answer, also of a raw value that the plan merges or never
    saw.

    Parameters
    ----------
    attribute
        An attribute of the wire form.
    answer
        One of its values; any other value as text, or a number; None or NaN for a
        missing one.

    Returns
    -------
    int or None
        The first that there is: the index among `values`; the code in `merged`; for a
        number within `edges` that of its bin; the code `other`.

    Examples
    --------
    >>> days = {
    ...     "values": ["0", "1 to 5", "6 or more"],
    ...     "edges": ["-inf", "1.0", "6.0", "inf"],
    ... }
    >>> [answer_code(days, answer) for answer in ("6 or more", 5, "31", "none")]
    [2, 1, 2, None]
    >>> answer_code({"values": ["nurse", "(other)"], "edges": [], "other": 1}, "pilot")
    1
    """
    if answer is None or answer != answer:
        answer = MISSING
    elif isinstance(answer, (int, float)) and not isinstance(answer, bool):
        answer = number_label(answer)
    if not isinstance(answer, str):
        return None
    values = attribute["values"]
    edges = [float(edge) for edge in attribute.get("edges", ())]
    merged = dict(attribute.get("merged", ()))
    if answer in values or answer in merged:
        return int(values.index(answer) if answer in values else merged[answer])
    if edges and NUMBER.fullmatch(answer) and edges[0] <= float(answer) <= edges[-1]:
        return bisect_right(edges[1:-1], float(answer)) + int(values[0] == MISSING)
    other: int | None = attribute.get("other")
    return other
