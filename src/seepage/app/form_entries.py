"""What a form of the app sends: texts by the name of their field."""

from collections.abc import Mapping, Sequence
from typing import TypeVar
from urllib.parse import parse_qsl

from starlette.requests import Request

from seepage._core.errors import InputError
from seepage._core.number_grammar import is_count

MAX_FORM_BYTES = 1 << 20
"""Maximum size of a form."""

MAX_COUNT = 1 << 40
"""Largest integer that can be entered."""

Choice = TypeVar("Choice")


async def form_entries(request: Request) -> dict[str, str]:
    """Return the entries of a form as texts, their lines ending in a line feed."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            raise InputError("a form must have at most 1 MB")
    fields = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)
    return {name: text.replace("\r\n", "\n") for name, text in fields}


def entry(form: Mapping[str, str], name: str) -> str:
    """Return an entry of a form without blanks around it; empty if there is none."""
    return form.get(name, "").strip()


def entry_at(
    form: Mapping[str, str], name: str, choices: Sequence[Choice], what: str
) -> Choice:
    """Return the choice whose position an entry of a form gives.

    Examples
    --------
    >>> entry_at({"plan": "1"}, "plan", ["a", "b"], "plan")
    'b'
    """
    text = entry(form, name)
    is_position = is_count(text) and len(text) < 8
    if not is_position or int(text) >= len(choices):
        raise InputError(f"there is no such {what}", parameter=name)
    return choices[int(text)]


def entered_count(text: str, what: str, parameter: str) -> int:
    """Return an entry of a form as an integer of at least 1, also with commas.

    Examples
    --------
    >>> entered_count("12,000", "people", "amount")
    12000
    """
    plain = text.replace(",", "").replace(" ", "")
    is_integer = plain.isascii() and plain.isdigit() and len(plain) < 16
    if not is_integer or not 1 <= int(plain) <= MAX_COUNT:
        raise InputError(
            f"the number of {what} must be an integer of at least 1, got {text!r}",
            parameter=parameter,
        )
    return int(plain)
