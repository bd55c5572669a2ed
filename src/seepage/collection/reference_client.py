"""The reference client: one person's record to a line of JSON."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from seepage._core import checks
from seepage._core.errors import InputError
from seepage.channel.domain import MISSING, PERCENT
from seepage.mechanisms.word_draws import DRAWS_BY_KIND, WordDraw, Words
from seepage.plan.wire import Wire
from seepage.tables.column import key_label
from seepage.tables.labels import field_key, number_label

WORD = 8
"""Bytes of a word."""


def draw_form(wire: Wire, data: bytes) -> int:
    r"""Return the number of the form, from 1, that a client draws with 8 bytes.

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
    ends = [int(form["until"]) for form in wire["forms"]]
    return 1 + bisect_right(ends, word)


def form_bytes(wire: Wire, form: int) -> int:
    """Return the number of random bytes that a client needs for the reports of a
    form.
    """
    asked = _form(wire, form)
    drawn = len(_with_shares(wire, asked))
    words = sum(_draw(channel).words for _, channel in _channels(asked))
    return WORD * (drawn + words)


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
    answers = checks.mapping(record, "record")
    attributes = {attribute["name"]: attribute for attribute in wire["attributes"]}
    channels = _channels(asked)
    codes = _codes(attributes, channels, answers)
    words = iter(_words(data, form_bytes(wire, form) // WORD))
    for name in _with_shares(wire, asked):
        codes[name] = given_answer(attributes[name], codes[name], next(words))
    drawn = []
    for names, channel in channels:
        cell = _cell(attributes, names, codes)
        drawn.append(draw_report(channel, cell, words))
    if asked["type"] == "matrix":
        return {"form": form, "report": drawn[0]}
    names = [question["attribute"] for question in asked["questions"]]
    return {"form": form, "reports": dict(zip(names, drawn, strict=True))}


def draw_report(channel: Wire, code: int, words: Words) -> int | list[int]:
    """Return a client's report of a value's code, consuming as many words as its draw
    needs.
    """
    return _draw(channel).report(code, words)


def _draw(channel: Wire) -> WordDraw:
    """Return how a client draws the reports of a question, or of a form's matrix."""
    draw = DRAWS_BY_KIND.get(channel["draw"])
    if draw is None:
        raise InputError(
            f"clients cannot draw reports of mechanism {channel['mechanism']!r}"
        )
    return draw.from_wire(channel)


def _words(data: bytes, count: int) -> list[int]:
    """Return a client's random bytes as 64-bit words; raise unless they are as many as
    needed.
    """
    octets = checks.instance(data, "data", bytes, "bytes")
    if len(octets) != WORD * count:
        raise InputError(
            f"data must be {WORD * count} bytes, got {len(octets)}", parameter="data"
        )
    starts = range(0, len(octets), WORD)
    return [int.from_bytes(octets[i : i + WORD], "little") for i in starts]


def _form(wire: Wire, form: int) -> Wire:
    """Return a form of the client's plan by its number."""
    forms: list[Wire] = wire["forms"]
    return forms[checks.integer(form, "form", 1, len(forms)) - 1]


def _channels(form: Wire) -> list[tuple[list[str], Wire]]:
    """Return the attributes of each report of a client's form, and how it is drawn."""
    if form["type"] == "matrix":
        return [(form["attributes"], {**form, "draw": "matrix"})]
    return [([question["attribute"]], question) for question in form["questions"]]


def _with_shares(wire: Wire, form: Wire) -> list[str]:
    """Return the attributes of a client's form whose questions a person may leave
    open.
    """
    shared = {a["name"] for a in wire["attributes"] if "shares" in a}
    return [name for names, _ in _channels(form) for name in names if name in shared]


def _codes(
    attributes: Mapping[str, Wire],
    channels: Sequence[tuple[list[str], Wire]],
    answers: Mapping[str, Any],
) -> dict[str, int]:
    """Return the codes of a client's answers to a form; raise if one has no code."""
    codes = dict[str, int]()
    for names, _ in channels:
        for name in names:
            code = None
            if name in answers:
                code = answer_code(attributes[name], answers[name])
            if code is None:
                size = len(attributes[name]["values"])
                raise InputError(
                    f"the answer to {name!r} must be one of its {size} values"
                )
            codes[name] = code
    return codes


def _cell(
    attributes: Mapping[str, Wire], names: list[str], codes: Mapping[str, int]
) -> int:
    """Return the flat row-major index of the codes of a client's answers."""
    cell = 0
    for name in names:
        cell = cell * len(attributes[name]["values"]) + codes[name]
    return cell


def given_answer(attribute: Wire, code: int, word: int) -> int:
    """Return the answer that a client reports of: the person's own, or one that a word
    draws.

    Parameters
    ----------
    attribute
        An attribute of the wire form, with `shares`.
    code
        The code of her answer; the number of values if she has none.
    word
        A uniform integer below 2^64.

    Examples
    --------
    >>> sex = {"values": ["F", "M"], "shares": [40, 60]}
    >>> [given_answer(sex, code, 2**63) for code in (0, 1, 2)]
    [0, 1, 1]
    """
    if code < len(attribute["values"]):
        return code
    ends = list(accumulate(attribute["shares"]))
    return bisect_right(ends, PERCENT * word >> 64)


def answer_code(attribute: Wire, answer: str | float | None) -> int | None:
    """Return the client's code of an answer, also of a raw value that the plan merges
    or never saw.

    Parameters
    ----------
    attribute
        An attribute of the wire form.
    answer
        One of its values; any other value as text, a number or a boolean; None or NaN
        for a missing one.

    Returns
    -------
    int or None
        The first that there is: the index among `values`, or the code in `merged`, of
        the text, or else of its label as a field of a text file (`field_key`); for a
        number within `edges` that of its bin; the code `other`.  With `shares`,
        the number of values is the code of no answer.

    Notes
    -----
    `tables.column.Column` codes columns of tables in the same way, for certificates and
    for `Plan.perturb`, and `seepage.js` for browsers; a test compares all of them.

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
    >>> answer_code({"values": ["0", "1"], "edges": []}, " 1.0")
    1
    >>> answer_code({"values": ["0", "1"], "edges": [], "shares": [50, 50]}, None)
    2
    """
    text = _answer_text(answer)
    if text is None:
        return None
    values: list[str] = attribute["values"]
    if "shares" in attribute:
        values = [*values, MISSING]
    codes = dict(attribute.get("merged", ()))
    codes.update((value, code) for code, value in enumerate(values))
    key = field_key(text)
    for listed in (text, key_label(key)):
        if listed in codes:
            return int(codes[listed])
    edges = attribute.get("edges", ())
    if edges and isinstance(key, float):
        limits = [float(edge) for edge in edges]
        if limits[0] <= key <= limits[-1]:
            return bisect_right(limits[1:-1], key) + int(values[0] == MISSING)
    other: int | None = attribute.get("other")
    return other


def _answer_text(answer: Any) -> str | None:
    """Return a client's answer as text; None if it is no text, number or boolean."""
    if answer is None or answer != answer:
        return MISSING
    if isinstance(answer, bool):
        return str(answer).lower()
    if isinstance(answer, (int, float)):
        return number_label(answer)
    if isinstance(answer, str):
        return answer
    return None
