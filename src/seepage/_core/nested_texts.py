"""Texts in the lists and mappings of options, whatever names they turn out to be."""

from collections.abc import Iterator, Mapping
from typing import Any

MAX_NESTING = 4
"""Depth of the lists and mappings in options: lists of pairs, by column.  One that
contains itself has no end."""


def nested_texts(value: Any, nesting: int = MAX_NESTING) -> Iterator[str]:
    """Yield the texts in lists, tuples and mappings, these by key and by value.

    Examples
    --------
    >>> list(nested_texts({"a": [("b", "c"), 3], "d": "e"}))
    ['a', 'd', 'b', 'c', 'e']
    """
    if isinstance(value, str):
        yield value
        return
    parts: list[Any] = []
    if isinstance(value, Mapping):
        parts = [*value, *value.values()]
    elif isinstance(value, (list, tuple)):
        parts = list(value)
    if nesting:
        for part in parts:
            yield from nested_texts(part, nesting - 1)
